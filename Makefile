PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help install demo gallery test test-all lint format bench reproduce docs lock clean

help: ## Show the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "tsnl needs Python 3.11 or newer; try make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	@touch $@

install: $(STAMP) ## Make .venv with the package (editable) and the development tools

demo: $(STAMP) ## Infer a linear model's noise and draw it beside the exact posterior
	$(BIN)/python examples/demo.py

gallery: $(STAMP) ## Run the worked analyses that are out of date and write docs/gallery (about 25 minutes for all)
	$(BIN)/python -m examples.gallery

test: $(STAMP) ## Fast tests
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-all: $(STAMP) ## All tests, the slow statistical ones too
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(STAMP) ## Style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP) ## Put the code in its format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Measure against other packages (in virtual environments of their own)
	$(BIN)/python benchmarks/foundation.py

reproduce: $(STAMP) ## Run the paper's experiments in full (hours; goes on where it was) and write their report
	$(BIN)/python -m paper all
	$(BIN)/python -m paper report

docs: $(STAMP) ## Build the documentation into site/
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/mkdocs build --strict

lock: ## Pin today's newest versions of everything into constraints.txt
	rm -rf .venv-lock && $(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet --upgrade ".[dev,dask,docs]"
	.venv-lock/bin/python -m pip freeze --exclude tsnl > constraints.txt
	rm -rf .venv-lock

clean: ## Remove what the other commands made
	rm -rf .venv .venv-* build dist site out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
