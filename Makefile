# One verb for each need; `make help` lists them.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= auto
CHARTS := helm

# Tests start the program hundreds of times, and compiling it would be a third of each start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
include image/targets.mk
include tests/browser/targets.mk
include release/targets.mk
include e2e/cluster/targets.mk
include e2e/controllers/targets.mk
.PHONY: help setup demo test check format lint type contracts docs cover bench lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## Create the virtual environment from the lock file

$(VENV)/.installed: requirements-dev.lock pyproject.toml lab/pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "setup: there is no $(PYTHON): install Python 3.11 or newer, or name it: make setup PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -m locks setup $(VENV)
	@touch $@

demo: setup ## Run the demo: a stack, its faults and their Events, in about half a minute once .venv exists
	$(BIN)/status-reporter demo $(ARGS)

test: setup ## Run the tests, except the long ones
	$(BIN)/python -m pytest -n $(JOBS) -m "not long" $(ARGS)

.PHONY: test-long
test-long: setup ## Run what `make test` leaves out: daemons in real time, and properties with many examples
	PROPERTY_PROFILE=many $(BIN)/python -m pytest -n $(JOBS) -m "long or hypothesis" --ignore tests/scenarios/test_typed.py $(ARGS)

.PHONY: again
again: setup ## Rerun the tests that failed, one at a time: a test that passes now depends on load, and needs fixing
	$(BIN)/python -m pytest tests e2e --last-failed --last-failed-no-failures=none -n0

.PHONY: typed
typed: setup ## Run each command in the scenarios, with kubectl, against the sandbox (about 7 min)
	$(BIN)/python -m pytest -n $(JOBS) tests/scenarios/test_typed.py $(ARGS)

check: lint type contracts locks docs-check phrases chart-lint image-lint workflow-lint ## Lint, format, types, import contracts, locks, generated pages, phrases, charts, Dockerfile, workflows

lint: setup ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Rewrite to the format
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .

type: setup ## mypy, strict
	$(BIN)/mypy

contracts: setup ## Check import contracts
	$(BIN)/lint-imports --no-cache

.PHONY: readme-check
readme-check: envtest ## Run each command of README and docs, and each story of the demo (3 min)
	$(BIN)/python -m tests.reader

.PHONY: locks fresh-check
fresh-check: setup ## Install the last commit as a year from now: pip 23.0.1 and the newest, an index of newer releases (2 to 3 min)
	$(BIN)/python -m locks.fresh

locks: setup ## Fail if a lock file lacks what one of its packages needs
	@$(BIN)/python -m locks check

docs: setup ## Render generated files: pages, the chart's schema and ClusterRole
	$(BIN)/python -m tools.generated

.PHONY: docs-check
docs-check: setup ## Fail if a generated file is outdated
	$(BIN)/python -m tools.generated --check

# mkdocs has its own environment, as nothing else needs it.
build/site-tools: requirements-site.lock $(VENV)/.installed
	@$(PYTHON) -m venv --clear $@
	@$(BIN)/python -m pip --python $@ install -q --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: -r requirements-site.lock
	@touch $@

.PHONY: site
site: build/site-tools ## Build the static site of docs/ in build/site (SITE_REPOSITORY: address for links to files)
	@NO_MKDOCS_2_WARNING=1 build/site-tools/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

.PHONY: phrases
phrases: setup ## Fail on phrases that an operator would not say (CONTRIBUTING, "Words")
	@$(BIN)/python -m tools.phrases

.PHONY: chart-lint
chart-lint: setup ## helm lint, strict, of both charts
	$(BIN)/helm dependency build $(CHARTS)/productionstack >/dev/null
	$(BIN)/helm lint --strict --quiet $(CHARTS)/productionstack-status-reporter $(CHARTS)/productionstack

.PHONY: workflow-lint
workflow-lint: setup ## actionlint of .github: ACTIONLINT, or a binary built once per machine (a minute)
	$(BIN)/python -m tests.workflows

.PHONY: envtest e2e e2e-upgrade chaos
envtest: setup ## Build etcd and kube-apiserver for the end-to-end tests (once per machine, about 5 min on 2 cores)
	@$(BIN)/python -m e2e.envtest.binaries

e2e: envtest ## End-to-end tests, a real control plane for each worker (about 12 minutes on 2 cores)
	@echo "end-to-end tests: about 12 minutes on two cores"
	$(BIN)/python -m pytest e2e -n $(JOBS) --dist loadgroup $(ARGS)

e2e-upgrade: envtest ## helm upgrade from the previous release while faults go on, and helm rollback (needs git history)
	$(BIN)/python -m pytest -o 'python_files=upgrade_*.py' -n0 --timeout=300 e2e/upgrade_former.py $(ARGS)

chaos: envtest ## Faults on a real control plane, and the table of docs/performance.md (15 to 20 min)
	@echo "faults on a real control plane: 15 to 20 minutes"
	$(BIN)/python -m e2e.chaos $(ARGS)

cover: setup ## All tests, long ones too, with branch coverage; fails below the floor of pyproject.toml
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term-missing:skip-covered $(ARGS)

.PHONY: rules
rules: setup ## Test alert rules with promtool and routes with amtool: from PATH, PROMTOOL and AMTOOL, or built once (minutes)
	$(BIN)/python -m tests.rules

.PHONY: fuzz
FUZZ_SECONDS ?= 60
fuzz: setup ## Fuzz the reader of pods' pages for FUZZ_SECONDS (60), guided by coverage if atheris is installed
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS) $(ARGS)

.PHONY: attacks
attacks: setup ## Attacks by tenants, foreign dumps and clients: HELD or BROKEN with a figure (ARGS="dumps", ARGS=--quick)
	$(BIN)/python -m tests.attacks $(ARGS)

.PHONY: mutants
mutants: setup ## Mutate the resolution in one place at a time; fails if no test notices (under an hour on 2 free cores, hours on busy ones; ARGS="hold mute")
	$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: soak
soak: setup ## Scrape 500 simulated pods, a tenth of which misbehave, for minutes (ARGS="--minutes 1")
	$(BIN)/python -m tests.soak $(ARGS)

.PHONY: engine-check
engine-check: setup ## A real vLLM under load, as seen by the daemon (installs its CPU build once per machine, 6 GB; 10 min)
	$(BIN)/python -m tests.engine $(ARGS)

bench: setup ## Measure passes, memory, latency and requests (about 10 minutes)
	$(BIN)/python -m tests.bench $(ARGS)

IN_REQUIREMENTS = $(shell sed -n 's/^\([a-z0-9.-]*\)==.*/\1/p' requirements.lock)
lock: setup ## Resolve the lock files again, to the newest releases
	$(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra mcp --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements-dev.lock
	$(BIN)/uv pip compile --group browser --constraint requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements-browser.lock
	$(BIN)/uv pip compile --group site --constraint requirements-dev.lock --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements-site.lock
	$(BIN)/uv pip compile pyproject.toml --extra mcp --constraint requirements-dev.lock $(IN_REQUIREMENTS:%=--no-emit-package %) --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o requirements-mcp.lock
	$(BIN)/uv pip compile image/build-requirements.in --constraint requirements-dev.lock --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o image/build-requirements.lock
	$(BIN)/uv pip compile tests/engine/requirements.in --overrides tests/engine/overrides.txt --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade -q -o tests/engine/requirements.lock

clean: ## Remove what was built
	rm -rf $(VENV) build dist $(CHARTS)/*/charts .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage
