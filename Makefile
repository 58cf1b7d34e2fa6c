# Every target works from a fresh checkout; it installs what it needs into .venv first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install java demo test soak lint bench docs format clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## Create .venv with the locked dependencies (PYTHON=... to choose a Python)

java: ## Check that Spark will find Java 17 or newer
	@sh scripts/check_java.sh

demo: install java ## Show how a burst to three times what this machine can take is met
	$(BIN)/penstock demo overload

test: install java ## Run all tests but the long ones, the documentation's examples included
	@sh scripts/test.sh $(BIN)/pytest

soak: install java ## Run the long tests: killed drivers, nodes and brokers, and commands as a user runs them
	$(BIN)/pytest -m soak

lint: install ## Check style, types and the direction of imports
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: install java ## Compare the speed of windows with Spark's own
	$(BIN)/penstock bench windows

docs: install ## Build the documentation as a site, in site/
	$(BIN)/mkdocs build --strict

format: install ## Format the code and apply safe fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## Remove .venv, caches and build output
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log .kafka
	find src tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml requirements.lock
	@command -v $(PYTHON) >/dev/null || { \
	    echo "penstock needs Python 3.11 or newer, but there is no $(PYTHON): name one, as in 'make install PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "penstock needs Python 3.11 or newer, but $(PYTHON) is $$($(PYTHON) -V 2>&1): name another, as in 'make install PYTHON=python3.12'" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "penstock needs Python with venv and pip, but $(PYTHON) lacks them: on Debian and Ubuntu, 'apt-get install python3-venv'" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --editable .
	@touch $@
