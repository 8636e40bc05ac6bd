# The page in a browser: part of the Makefile. docs/page.md says what is tested.

SCREENSHOTS ?= docs/images

.PHONY: browser screenshots chromium

# Playwright brings a driver of 160 MB and no browser: it is installed only for these targets.
$(VENV)/.browser: requirements-browser.lock $(VENV)/.installed
	@$(BIN)/python -m locks install requirements-browser.lock
	@touch $@

chromium: setup
	@$(BIN)/python -m tests.browser.chromium

browser: chromium $(VENV)/.browser ## The page in Chromium: live, without script, 1,000 subjects, axe (about 2 min; CHROMIUM)
	$(BIN)/python -m pytest -o 'python_files=browser_*.py' tests/browser $(ARGS)

screenshots: chromium $(VENV)/.browser ## Make the pictures of docs/page.md in Chromium (CHROMIUM; SCREENSHOTS is where)
	$(BIN)/python -m tests.browser.screenshots $(SCREENSHOTS)
