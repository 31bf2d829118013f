# Every target is what CI runs and what a person types. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NOTEBOOKS := $(sort $(wildcard notebooks/*.ipynb))
BENCHMARKS := $(sort $(wildcard benchmarks/bench_*.py))
PAGE_SCRIPTS := $(sort $(wildcard scripts/build_*_page.py scripts/build_*_schemas.py))
PEERS := .peers
CCUSAGE_VERSION := 20.0.24
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
           --no-header --no-annotate --no-emit-index-url --no-emit-find-links

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# Hundreds of tests start ledgerkit in a process of its own: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo lab test long slow browser browser-deps fuzz coverage lint format types notebooks mutation bench docs smoke pythons peers lock clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done

setup: $(READY) ## Make .venv with everything in it, pinned and verified by hash

$(READY): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)'; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo 'Installing into $(VENV): some minutes the first time.'
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## Make example runs, import them and show what ledgerkit says about them
	$(BIN)/ledgerkit demo

lab: setup ## Open JupyterLab on the notebooks, with the demo ledger ready
	$(BIN)/ledgerkit lab

test: setup ## Run the fast tests and every docstring example
	$(BIN)/pytest -n auto --dist worksteal -m 'not long and not slow and not browser'

long: setup ## Run the tests that take a second or more each, which CI runs too
	$(BIN)/pytest -n auto --dist worksteal -m 'long and not slow and not browser'

slow: setup ## Run the slow tests
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -n auto --dist worksteal -m slow

browser: setup browser-deps ## Run the tests that drive Chromium and JupyterLab, one after the other
	sh scripts/without_network.sh $(BIN)/pytest -m 'browser and not slow'

browser-deps: ## Install Chromium for these tests, where that can be done here
	@command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	    || { echo 'The browser tests need Chromium: apt-get install chromium, or brew install --cask chromium.'; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core fonts-noto-core; }

fuzz: setup ## Fuzz the reader and the importers for SECONDS (300); FUZZED keeps the files that reach new code
	$(BIN)/python -m scripts.fuzz_reader $(FUZZED) -max_total_time=$(or $(SECONDS),300)

coverage: setup ## Run the fast and the long tests and show the lines that none of them ran
	$(BIN)/pytest -n auto --dist worksteal -m 'not slow and not browser' --cov --cov-report term

lint: setup ## Check style, format and who imports whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

format: setup ## Mend style and format where that is safe
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: setup ## Check types (pyright, strict)
	NODE_OPTIONS=--max-old-space-size=6144 $(BIN)/pyright

notebooks: setup ## Run every notebook from top to bottom, and check that none holds outputs
ifeq ($(NOTEBOOKS),)
	@echo 'There are no notebooks yet.'
else
	# One after the other: a kernel's ports are found, let go and bound again, and a kernel beside it may take one.
	$(BIN)/pytest --nbmake --nbmake-timeout=120 $(NOTEBOOKS)
	$(BIN)/nbstripout --verify $(NOTEBOOKS)
endif

mutation: setup ## Change the code of claims, costs and integrity bit by bit, and see what the tests notice (slow)
	$(BIN)/python scripts/mutation.py

peers: setup ## Install what benchmarks measure against, in .peers: Inspect Scout, and ccusage where npm is
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --require-hashes -r requirements/peers.txt
	@if command -v npm > /dev/null; then npm install --prefix $(PEERS) --no-fund --no-audit --silent ccusage@$(CCUSAGE_VERSION); \
	else echo 'npm is not installed: benchmarks go without ccusage.'; fi

bench: export LEDGERKIT_SCOUT_PYTHON ?= $(wildcard $(PEERS)/bin/python)
bench: export LEDGERKIT_CCUSAGE ?= $(abspath $(wildcard $(PEERS)/node_modules/.bin/ccusage))
bench: setup ## Run the benchmarks (half an hour on two cores), beside the peers that `make peers` installed
ifeq ($(BENCHMARKS),)
	@echo 'There are no benchmarks yet.'
else
	@set -e; for file in $(BENCHMARKS); do echo "$$file"; PYTHONPATH=. $(BIN)/python "$$file"; done
endif

docs: setup ## Write the pages made from code again, and run the examples in all pages
	@set -e; for script in $(PAGE_SCRIPTS); do echo "$$script"; $(BIN)/python "$$script"; done
	LEDGERKIT_REDACTION_KEY=public $(BIN)/pytest -q --doctest-glob='*.md' --ignore docs/reference docs || test $$? -eq 5 # 5: no page holds an example

smoke: setup ## Install the built wheel with its runtime dependencies only, and use it
	sh scripts/smoke.sh "$(PYTHON)"

pythons: setup ## The same with every supported Python that this machine has
	@set -e; for python in $$(sh scripts/pythons.sh "$(PYTHON)"); do sh scripts/smoke.sh "$$python"; done

lock: setup ## Resolve requirements/*.txt again, with hashes, for every supported Python and platform
	test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	$(COMPILE) pyproject.toml --upgrade --all-extras --output-file requirements/dev.txt
	$(COMPILE) pyproject.toml --constraints requirements/dev.txt --output-file requirements/runtime.txt
	$(COMPILE) requirements/peers.in --upgrade --output-file requirements/peers.txt

clean: ## Remove caches and built files (not .venv)
	rm -rf build dist *.egg-info .pytest_cache .ruff_cache .import_linter_cache .hypothesis .coverage htmlcov
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
