# Everything that a person types. `make demo` and `make test` need nothing but Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
FLOORS := events worlds agents engine learn
# Tests run in so many processes; `make test JOBS=0` for one.
JOBS ?= auto
SEED ?= 0

.PHONY: demo learn-demo test check format lint types contracts docs bench setup setup-dev clean

setup: $(VENV)/base.stamp
setup-dev: $(VENV)/dev.stamp

$(VENV)/base.stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	"coworkenv needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: setup
	$(BIN)/coworkenv demo

$(VENV)/learn.stamp: $(VENV)/base.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[learn]'
	touch $@

# The whole way from environments to a trained policy; `make learn-demo SEED=3` for another seed.
learn-demo: $(VENV)/learn.stamp
	$(BIN)/coworkenv learn demo --seed $(SEED) --out learn-demo-$(SEED)

test: setup-dev
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile

check: format lint types contracts test

format: setup-dev
	$(BIN)/ruff format --check .

lint: setup-dev
	$(BIN)/ruff check .

# An editable install is a namespace package that type checkers cannot follow; these links are one that they can.
build/typed/coworkenv:
	mkdir -p $@ && cd $@ && for floor in $(FLOORS); do ln -sfn ../../../$$floor $$floor; done

types: setup-dev build/typed/coworkenv
	MYPYPATH=build/typed $(BIN)/mypy

contracts: setup-dev
	$(BIN)/lint-imports

# Makes the generated parts of README.md and docs/ anew; the tests fail while they are stale.
docs: setup-dev
	$(BIN)/python -m tests.docs --write

bench: setup-dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf build dist *.egg-info $(VENV)
