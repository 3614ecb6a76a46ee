# Every target sets up what it needs in .venv, from nothing. Exact versions are in constraints.txt.
PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
# For the newest versions that pip finds: make test CONSTRAINTS=
CONSTRAINTS ?= constraints.txt
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile $(addprefix --constraint ,$(CONSTRAINTS))
# As pip does without --no-compile, but on all cores. Some packages have files that are no Python of today.
COMPILE := $(BIN)/python -m compileall -q -j 0 .venv/lib > /dev/null 2>&1 || true
PYTEST := $(BIN)/python -m pytest --numprocesses logical --dist loadfile --no-loadscope-reorder
SOURCES := pyproject.toml constraints.txt
# For the experiments: a folder with MNIST's IDX files (if none, it is fetched) and, for three of them, CIFAR-10's batches;
# and, if there is one, a folder with other networks' score files, and one with BANKING77's train.csv and test.csv.
DATA ?=
SCORES ?=
TEXT ?=
MNIST = $(if $(DATA),--data "$(DATA)")

.PHONY: demo test test-all test-apart test-minimum lint bench installs fuzz arrays kills soak mutants vmnist cifar models training-samples loss recipes choosing shift money vendor characters trust abstention costs priors zeroshot prompts few-labels layers docs clean
.DELETE_ON_ERROR:

demo: .venv/demo.installed
	$(BIN)/aftermax demo --out results/demo

test: .venv/dev.installed
	$(PYTEST)

# Everything: browser, documentation, every bridge, the experiments' slow tests. CI runs this. At least 95 % of the
# branches must be covered (pyproject.toml); what runs in processes of its own is not counted.
test-all: .venv/dev.installed
	$(PYTEST) -m "slow or not slow" --durations 40 --cov --cov-report=

# What needs libraries that do not fit beside those of the other tests: MLflow, Keras on JAX, QuaPy.
APART := tests/test_docs.py tests/bridges/test_keras_jax.py tests/experiments/priors/test_measure.py
test-apart: .venv-apart/installed
	.venv-apart/$(SCRIPTS)/python -m pytest -m "slow or not slow" -k "mlflow or jax or measure" $(APART)

.venv-apart/installed: pyproject.toml constraints-apart.txt
	$(PYTHON) -m venv --clear .venv-apart
	.venv-apart/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-apart.txt \
		--editable ".[cli,keras,onnx,plots,torch]" abstention hypothesis jax mlflow pytest quapy
	@touch $@

# With the lowest versions that pyproject.toml allows; all but PyTorch, whose old builds are gigabytes, and Keras.
MINIMUM := tests/sph tests/residual tests/auto tests/audit tests/posthoc tests/storage tests/utils \
	tests/plots tests/scorefiles tests/cli --ignore tests/posthoc/test_model_response.py
test-minimum:
	$(PYTHON) -m venv --clear .venv-minimum
	.venv-minimum/$(SCRIPTS)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-minimum.txt \
		--editable ".[cli,plots,onnx]" hypothesis lightgbm pandas polars pytest pytest-xdist
	.venv-minimum/$(SCRIPTS)/python -m pytest --numprocesses logical --dist loadfile -W ignore::DeprecationWarning $(MINIMUM)

lint: .venv/dev.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/dev.installed
	$(BIN)/python -m benchmarks

# Other Pythons to install with: make installs PYTHONS="python3.12 python3.13".
PYTHONS ?=
installs: .venv/dev.installed
	$(BIN)/python -m hardening installs $(addprefix --python ,$(PYTHONS))

vmnist: .venv/dev.installed
	$(BIN)/python -m experiments vmnist $(MNIST)

cifar: .venv/dev.installed
	$(BIN)/python -m experiments cifar $(MNIST) $(if $(SCORES),--scores "$(SCORES)")

models training-samples loss layers: .venv/dev.installed
	$(BIN)/python -m experiments $@ $(MNIST)

recipes: .venv/dev.installed
	$(BIN)/python -m experiments recipes $(MNIST)

choosing: .venv/dev.installed
	$(BIN)/python -m experiments choosing $(MNIST) $(if $(SCORES),--scores "$(SCORES)")

shift: .venv/dev.installed
	$(BIN)/python -m experiments shift $(MNIST)

money: .venv/dev.installed
	$(BIN)/python -m experiments money $(MNIST) $(if $(SCORES),--scores "$(SCORES)") $(if $(TEXT),--text "$(TEXT)")

vendor characters trust abstention: .venv/dev.installed
	$(BIN)/python -m experiments $@

zeroshot prompts: .venv/dev.installed
	$(BIN)/python -m experiments $@ $(if $(TEXT),--text "$(TEXT)")

priors: .venv/dev.installed
	$(BIN)/python -m experiments priors $(if $(SCORES),--scores "$(SCORES)")

few-labels: .venv/dev.installed
	$(BIN)/python -m experiments few-labels $(MNIST) $(if $(SCORES),--scores "$(SCORES)")

costs: .venv/dev.installed
	$(BIN)/python -m experiments costs $(if $(SCORES),--scores "$(SCORES)")

# Hostile files and arrays, kills, an hour of load, and mutation tests of the core: results/hardening.
fuzz arrays kills soak mutants: .venv/dev.installed
	$(BIN)/python -m hardening $@

docs: .venv/dev.installed
	$(BIN)/mkdocs build --strict --quiet
	@echo "build/site/index.html"

clean:
	rm -rf .venv .venv-apart .venv-minimum .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "aftermax needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Name another with: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv .venv

# The demo needs the core, the command and the plots only; everything else needs all of it.
.venv/demo.installed: $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable ".[cli,plots]"
	@$(COMPILE)
	@touch $@

.venv/dev.installed: $(SOURCES) | $(BIN)/python
	$(INSTALL) --editable ".[dev]"
	@$(COMPILE)
	@touch $@ .venv/demo.installed
