# Every target makes .venv itself when it is missing or older than pyproject.toml.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One release by number: a newer one may come with gigabytes for GPUs. Empty: no tests of torch.
TORCH ?= torch==2.13.0
# How to become root where one is not.
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
.PHONY: help demo app reproduce test slow adapters lint style types quick browser docs bench fuzz house clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 8

$(VENV)/pip:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	@touch $@

$(VENV)/demo: $(VENV)/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[boost,tune]'
	@touch $@

$(VENV)/app: $(VENV)/demo
	$(BIN)/pip install --quiet --editable '.[app]'
	@touch $@

$(VENV)/paper: $(VENV)/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[paper]'
	@touch $@

$(VENV)/dev: $(VENV)/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[dev]'
	test -z '$(TORCH)' || $(BIN)/pip install --quiet '$(TORCH)' || echo 'no torch: its tests skip'
	@touch $@

$(VENV)/docs: $(VENV)/dev
	$(BIN)/pip install --quiet --editable '.[docs]'
	@touch $@

$(VENV)/bench: $(VENV)/pip pyproject.toml
	$(BIN)/pip install --quiet --editable '.[bench]'
	@touch $@

# A place of its own: what it holds wants older versions of pandas and pyarrow than the tests of all else.
$(VENV)/adapters: pyproject.toml
	$(PYTHON) -m venv $(VENV)/adapters-env
	$(VENV)/adapters-env/bin/pip install --quiet --upgrade pip
	$(VENV)/adapters-env/bin/pip install --quiet --editable '.[dev,adapters]'
	@touch $@

demo: $(VENV)/demo  ## the main job, end to end: orders and a report in out/
	$(BIN)/unmet demo --output out

app: $(VENV)/app  ## the what-if page, in your browser
	$(BIN)/unmet app

reproduce: $(VENV)/paper  ## the whole paper beside the published numbers, in out/reproduce (long)
	$(BIN)/unmet paper reproduce --resume

lint: style types  ## ruff, mypy, import directions

style: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/dev
	$(BIN)/mypy

# Bytecode is kept: otherwise each worker, and each interpreter that a test starts, compiles it anew.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 \
	$(BIN)/pytest -n auto --dist loadfile

# mypy runs on one core and takes a minute: beside the tests that costs half a minute.
test: style  ## lint; every test, doctest and documented example but the slow ones
	+@$(MAKE) --no-print-directory --jobs 2 types quick

quick: $(VENV)/dev
	$(PYTEST) -m 'not slow'

# --lines: coverage, see tests/covered_lines.py.
slow: $(VENV)/dev  ## the slow tests, too, and more examples of every property; coverage
	$(PYTEST) --hypothesis-profile=many --lines

adapters: $(VENV)/adapters  ## ONNX, skpro, MLflow, forecasters and Spark (Java), the real ones (2.3 GB)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(VENV)/adapters-env/bin/pytest \
		tests/adapters tests/forecasting src/unmet/adapters src/unmet/forecasting \
		docs/how-to/adapters.md docs/how-to/forecasting.md

browser:  ## Debian's chromium, for the tests of the report and of the page
	command -v chromium > /dev/null || { $(ROOT) apt-get update -qq && $(ROOT) apt-get install -y -qq --no-install-recommends chromium; }

docs: $(VENV)/docs  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/bench  ## us and the peers on the same data (long; see benchmarks/README.md)
	$(BIN)/python benchmarks/linear.py

# Ends with an error if anything fails; can be stopped at any moment, and goes on where it was.
fuzz: $(VENV)/dev  ## hostile problems by the thousand, every answer judged in exact arithmetic (long)
	$(BIN)/python tests/fuzz/fuzz.py --page docs/explanation/promises.md

house: $(VENV)/dev  ## how much a reader must hold in the head: lines, files, calls
	$(BIN)/python benchmarks/house.py

clean:  ## remove everything that can be made again
	rm -rf $(VENV) out docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
