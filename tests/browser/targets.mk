# The page in a browser: part of the Makefile. docs/page.md says what is tested.

SCREENSHOTS := docs/images

.PHONY: browser browser-tools screenshots

browser-tools: setup
	@$(BIN)/python -m tests.browser.missing

browser: browser-tools ## The page in Chromium: live, without script, 1,000 subjects, axe (about 2 min; CHROMIUM)
	$(BIN)/python -m pytest -o 'python_files=browser_*.py' tests/browser $(ARGS)

screenshots: browser-tools ## Make the pictures of docs/page.md
	$(BIN)/python -m tests.browser.screenshots $(SCREENSHOTS)
