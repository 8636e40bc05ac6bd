# Releases: part of the Makefile. docs/release.md says what is in one.

# Where the files will be downloaded from; by default nobody can.
RELEASE_URL ?= https://release.invalid/productionstack-status-reporter
# auto: an image if an engine and the base image are there; required: no release without one; off.
RELEASE_IMAGE ?= auto
# podman or docker; the one that runs if empty.
RELEASE_ENGINE ?=

RELEASE = $(BIN)/python -m release --url '$(RELEASE_URL)' --image $(RELEASE_IMAGE) --engine '$(RELEASE_ENGINE)' --image-flags='$(IMAGE_FLAGS)'

.PHONY: release release-check release-try

release: setup ## Write all files of a release of the last commit into dist/ (two minutes; RELEASE_URL, RELEASE_IMAGE)
	$(RELEASE)

release-check: setup ## The same twice, in other circumstances; fails unless both have the same checksums
	$(RELEASE) --twice

release-try: setup ## Install what is in dist/ into an empty environment, and run the demo
	$(BIN)/python -m release.trial dist
