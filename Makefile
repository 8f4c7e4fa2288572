# Everything sets itself up: a fresh machine needs Python 3.11+ and nothing else.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: search tables test test-all test-ecosystem test-release test-slurm test-htcondor lint format docs dist

search: $(READY)
	$(BIN)/pangaea search

test: $(READY)
	$(BIN)/python -m pytest -n auto

# The tables in these files, made from the runs in results/.
tables: $(READY)
	$(BIN)/pangaea paper fill README.md docs/paper_map.md

# The long campaigns too: about ten minutes on two cores.
test-all: $(READY)
	$(BIN)/python -m pytest -n auto -m "not gpu and not slurm and not htcondor and not ecosystem and not release"

# Other people's packages beside ours (transformers, Lightning, JAX, Keras, TensorFlow, …), and the
# examples. Every file has a process of its own: TensorFlow and Triton in one end it. A file whose
# package is not here has no tests, which pytest answers with 5.
test-ecosystem: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test,ecosystem]"
	for file in tests/ecosystem/test_*.py; do \
		$(BIN)/python -m pytest -m ecosystem $$file || [ $$? = 5 ] || exit 1; \
	done

# The wheel in two empty environments, with the lowest and the newest versions of what it needs:
# torch with CUDA each time, eight minutes and eleven gigabytes.
test-release: $(READY)
	$(BIN)/python -m pytest -m release tests/test_release.py

# Real batch systems, as root on Debian: Slurm takes a minute, HTCondor five with its chroot.
test-slurm: $(READY)
	$(BIN)/python -m pytest -m slurm tests/cluster

test-htcondor: $(READY)
	$(BIN)/python -m pytest -m htcondor tests/cluster

# The site, in build/site: what is made from the code first, then the pages, where every warning is
# an error, then a look at them in a browser. Two minutes, a part of it a search for the figures.
docs: $(READY)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[docs]"
	$(BIN)/python -m pages
	$(BIN)/zensical build --strict --clean
	$(BIN)/python -m pytest tests/docs/test_site.py

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What goes to the package index: the wheel is built from the sdist, so that both are whole.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m pip install --quiet -c constraints.txt twine
	$(BIN)/python -m build --no-isolation
	$(BIN)/python -m twine check --strict dist/*

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[test]"
	touch $@
