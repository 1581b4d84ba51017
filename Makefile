# Every target makes .venv itself when it is missing or older than pyproject.toml or the lock.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One release by number: a newer one may come with gigabytes for GPUs. Empty: no tests of torch.
TORCH ?= torch==2.13.0
# How to become root where one is not.
ROOT := $(if $(filter 0,$(shell id -u)),,sudo)

.DEFAULT_GOAL := help
.PHONY: help demo app reproduce test test-min test-new test-kernels slow archives adapters lint style types quick browser \
	docs links results bench fuzz metrics vega build lock licences clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# The versions and hashes that were tested; `make lock` takes newer ones. torch stands apart: it is asked for by name.
LOCK := packaging/ci-requirements.txt
UV := $(BIN)/uv
export UV_SYSTEM_CERTS := 1

$(VENV)/uv: packaging/uv-requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --requirement $<
	@touch $@

$(VENV)/torch: $(VENV)/uv
	test -z '$(TORCH)' || $(BIN)/pip install --quiet --no-compile '$(TORCH)' || echo 'no torch: its tests skip'
	@touch $@

$(VENV)/demo: EXTRAS := boost,tune
$(VENV)/app: EXTRAS := app
$(VENV)/paper: EXTRAS := paper
$(VENV)/dev: EXTRAS := dev
$(VENV)/docs: EXTRAS := docs
$(VENV)/bench: EXTRAS := bench

# Where the lock cannot be had (another index, a newer Python): pip, by the ranges of pyproject.toml;
# but not where a file came that is not the one of the lock.
$(VENV)/demo $(VENV)/app $(VENV)/paper $(VENV)/dev $(VENV)/docs $(VENV)/bench: $(VENV)/uv pyproject.toml $(LOCK)
	$(UV) pip install --quiet --python $(BIN)/python --constraints $(LOCK) --build-constraints $(LOCK) \
		--editable '.[$(EXTRAS)]' 2> $@.log || \
	{ cat $@.log; ! grep -q 'Hash mismatch' $@.log && $(BIN)/pip install --quiet --editable '.[$(EXTRAS)]'; }
	@touch $@

$(VENV)/app: $(VENV)/demo
$(VENV)/dev: $(VENV)/torch
$(VENV)/docs: $(VENV)/dev

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
	$(BIN)/python -m paper reproduce --resume

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
test: style  ## lint; every test, doctest and documented example but those marked slow or fuzz
	+@$(MAKE) --no-print-directory --jobs 2 types quick

quick: $(VENV)/dev
	$(PYTEST) -m 'not slow and not fuzz'

slow: $(VENV)/dev  ## the slow tests, too, and more examples of every property
	$(PYTEST) --hypothesis-profile=many

# Which kernel OpenBLAS takes follows the processor, and the last bits of every product with it. A kernel that this
# processor cannot run (SkylakeX wants AVX-512; 132 is an illegal instruction) is left out. NUMERIC=tests/costs tries
# fewer tests.
KERNELS ?= Prescott Haswell SkylakeX Zen
NUMERIC ?= tests/solvers tests/censoring tests/estimators tests/planning tests/properties tests/parity src docs README.md
define PROBE
import scipy.linalg, numpy as np
from threadpoolctl import threadpool_info
one = np.ones((300, 300)); one @ one; scipy.linalg.blas.dgemm(1.0, one, one)
print(*{each["architecture"] for each in threadpool_info() if each["internal_api"] == "openblas"})
endef
export PROBE

test-kernels: $(VENV)/dev  ## the numeric tests under four kernels of OpenBLAS, with one thread and with two (long)
	@said=; failed=0; \
	for kernel in $(KERNELS); do for threads in 1 2; do \
		export OPENBLAS_CORETYPE=$$kernel; \
		runs_as=$$($(BIN)/python -c "$$PROBE"); code=$$?; \
		if [ $$code = 132 ]; then result='left out: this processor cannot run it'; \
		elif [ $$code = 0 ] && $(subst OPENBLAS_NUM_THREADS=1,OPENBLAS_NUM_THREADS=$$threads,$(PYTEST)) \
			--quiet -m 'not slow and not fuzz' $(NUMERIC); then result="passed (runs as $$runs_as)"; \
		else result="FAILED (runs as $$runs_as)"; failed=1; fi; \
		line="$$kernel, threads $$threads: $$result"; echo "$$line"; said="$$said\n$$line"; \
	done; done; printf "$$said\n"; exit $$failed

# What an old release says of its own old age is no fault of ours; every other warning stays an error.
AGED := $(foreach kind,Deprecation PendingDeprecation Future,-W ignore::$(kind)Warning)

test-min: RESOLVE := --resolution lowest-direct
test-min: TAKE := $(AGED)
test-min: .venv-min  ## the quick tests with the lowest versions that pyproject.toml allows
test-new: RESOLVE := --prerelease allow
test-new: .venv-new  ## the quick tests with the newest versions there are, betas too
test-min test-new:
	$(subst $(BIN),$</bin,$(PYTEST)) -m 'not slow and not fuzz' $(TAKE)

# No torch: of what stands in an index, only `make test` knows the form without gigabytes for GPUs.
.venv-min .venv-new: $(VENV)/uv pyproject.toml
	$(PYTHON) -m venv --clear $@
	$(UV) pip compile --quiet --python $@/bin/python pyproject.toml --extra dev $(RESOLVE) --output-file $@/versions.txt
	$(UV) pip install --quiet --python $@/bin/python --requirements $@/versions.txt
	$(UV) pip install --quiet --python $@/bin/python --no-deps --editable .
	@touch $@

archives: $(VENV)/dev  ## wheel and sdist, built twice, installed where nothing else is, every command tried
	$(BIN)/pytest tests/packaging

adapters: $(VENV)/adapters  ## ONNX, skpro, MLflow, forecasters and Spark (Java), the real ones (2.3 GB)
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(VENV)/adapters-env/bin/pytest \
		tests/adapters src/unmet/adapters \
		docs/guides/deploy.md docs/guides/forecasting.md

browser:  ## Debian's chromium, for the tests of the report and of the page
	command -v chromium > /dev/null || { $(ROOT) apt-get update -qq && $(ROOT) apt-get install -y -qq --no-install-recommends chromium; }

docs: $(VENV)/docs  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -b html docs docs/_build/html

links: $(VENV)/docs  ## check the links of the documentation to other sites
	$(BIN)/sphinx-build --keep-going -D nb_execution_mode=off -b linkcheck docs docs/_build/links

# DATA: a folder with sets that are not bundled; QUICK=--quick: about ten minutes of CPU.
DATA ?= $(UNMET_DATA)
results: $(VENV)/demo  ## the suite, prices and ages, and every number that README and docs show (long)
	UNMET_DATA=$(DATA) $(BIN)/python -m benchmarks.suite $(QUICK)
	$(BIN)/python benchmarks/plain_models.py $(if $(QUICK),--seeds 2)
	$(BIN)/python -m benchmarks.figures

bench: $(VENV)/bench  ## us and the peers on the same data (long; see benchmarks/README.md)
	$(BIN)/python benchmarks/linear.py

# Ends with an error if anything fails.
fuzz: $(VENV)/dev  ## hostile files, kills, dying clusters; ordinary problems by the thousand (long)
	$(BIN)/pytest -m fuzz tests
	$(BIN)/python tests/fuzz/fuzz.py --page docs/concepts/promises.md

metrics: $(VENV)/dev  ## what a reader must hold in the head: lines, files, records, names, calls
	$(BIN)/python benchmarks/metrics.py

# Charts in a page: Vega, Vega-Lite and Vega's interpreter, in one file (needs npm).
vega:  ## src/unmet/vega.min.js from the newest releases
	cd $$(mktemp -d) && npm install --silent vega vega-lite vega-interpreter esbuild && \
	printf "%s\n" "export {View, parse} from 'vega';" "export {expressionInterpreter} from 'vega-interpreter';" \
		"export {compile} from 'vega-lite';" > entry.js && \
	npx esbuild entry.js --bundle --minify --format=iife --global-name=vl --legal-comments=none \
		--outfile=$(CURDIR)/src/unmet/vega.min.js

# The dates in the archives are that of the commit: the same commit gives the same bytes.
build: $(VENV)/uv  ## wheel and sdist into dist/, the same bytes every time
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2> /dev/null || echo 1580601600) \
	$(UV) build --quiet --python $(BIN)/python --build-constraints $(LOCK) --require-hashes --out-dir dist
	cd dist && sha256sum *.whl *.tar.gz

LOCKED := $(foreach extra,all dev docs,--extra $(extra))
COMPILE = UV_CUSTOM_COMPILE_COMMAND='make lock' $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url

lock: $(VENV)/uv  ## the newest versions and their hashes into packaging/
	echo uv | $(COMPILE) --output-file packaging/uv-requirements.txt -
	$(COMPILE) $(LOCKED) --output-file $(LOCK) pyproject.toml packaging/build-requirements.txt

define LICENCES
# Licences

Made by `make licences` from what the packages that `unmet[all]` installs on Linux say of themselves, with the
versions of the lock. unmet itself: BSD-3-Clause (`LICENSE`). Data in the package: `src/unmet/data/LICENSE.*.txt`;
Vega in it: `src/unmet/LICENSE.vega.txt`.
skops names its licence in a file only: MIT.

endef
export LICENCES

# An environment of its own: the development environment holds tools that users do not install.
licences: $(VENV)/dev  ## the licences of dependencies into packaging/LICENCES.md
	$(UV) venv --quiet --clear --python $(BIN)/python $(VENV)/licences
	$(UV) pip install --quiet --python $(VENV)/licences/bin/python --constraints $(LOCK) --build-constraints $(LOCK) '.[all]'
	echo "$$LICENCES" > packaging/LICENCES.md
	$(BIN)/pip-licenses --python $(VENV)/licences/bin/python --from mixed --format markdown --with-system --no-version \
		--ignore-packages unmet >> packaging/LICENCES.md

clean:  ## remove everything that can be made again
	rm -rf $(VENV) .venv-min .venv-new dist out docs/_build docs/reference/generated mlruns mlflow.db .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache .coverage*
