# Everything sets itself up: a fresh machine needs Python 3.11+ and nothing else.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: search test test-all test-ecosystem test-slurm test-htcondor lint format

search: $(READY)
	$(BIN)/pangaea search

test: $(READY)
	$(BIN)/python -m pytest -n auto

# The long campaigns too: about ten minutes on two cores.
test-all: $(READY)
	$(BIN)/python -m pytest -n auto -m "not gpu and not slurm and not htcondor and not ecosystem"

# Other people's packages beside ours: transformers, JAX, Flax, Keras, onnxruntime, SymPy.
test-ecosystem: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test,ecosystem]"
	$(BIN)/python -m pytest -m ecosystem tests/ecosystem

# Real batch systems, as root on Debian: Slurm takes a minute, HTCondor five with its chroot.
test-slurm: $(READY)
	$(BIN)/python -m pytest -m slurm tests/cluster

test-htcondor: $(READY)
	$(BIN)/python -m pytest -m htcondor tests/cluster

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@
