# `make demo` and `make test` set up what they need in .venv, on a fresh machine too.

PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint .ci/constraints.txt
WORKERS ?= 2

.PHONY: demo test explore lint docs clean

demo: .venv/demo  ## an agent plays, errs, goes back and wins
	@$(BIN)/rollback-gym demo

test: .venv/dev  ## the whole test suite
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(WORKERS)

explore: .venv/dev  ## the laws, on examples that no run has tried before
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=explore

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

docs: .venv/docs  ## the site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open site/index.html."

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo: pyproject.toml | .venv/bin/python
	$(INSTALL) --editable .
	@touch $@

.venv/dev: pyproject.toml .ci/constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[dev]'
	@touch $@ .venv/demo

.venv/docs: pyproject.toml .ci/constraints.txt | .venv/bin/python
	$(INSTALL) --editable '.[docs]'
	@touch $@

clean:
	rm -rf .venv site build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
