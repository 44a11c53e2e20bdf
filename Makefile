# Needs make and Python 3.11 or newer, nothing else. Another interpreter: make PYTHON=python3.12 test
# Written for POSIX sh and GNU Make 3.81, the one macOS has.

PYTHON = python3
VENV = .venv
BIN = $(VENV)/bin
# Twice quiet: errors only.
PIP = $(BIN)/python -m pip -qq --disable-pip-version-check
ARGS =
# Of pytest; a file's tests stay with one of them.
WORKERS = 2

# Installed for use, installed for development; both follow pyproject.toml.
USE = $(VENV)/.installed
DEV = $(VENV)/.installed-dev

# "venv" when there is no environment, or when the interpreter it links to has gone.
MISSING := $(shell test -x $(BIN)/python || echo venv)

.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test setup lint types bench docs clean venv

help:
	@echo 'make demo    install and run the demonstration'
	@echo 'make test    install for development, then ruff, mypy and pytest'
	@echo 'make setup   install for development into $(VENV)'
	@echo 'make lint    ruff check and ruff format --check'
	@echo 'make types   mypy'
	@echo 'make bench   speed of the compiler beside its peers, as a table'
	@echo 'make docs    build the documentation into docs/_build'
	@echo 'make clean   remove caches and build products, keep $(VENV)'
	@echo 'Options for demo, test (pytest) and bench: make test ARGS="-k polynomial"'

demo: $(USE)
	@$(BIN)/isinglearn demo $(ARGS)

test: lint types
	@echo 'pytest'
	@$(BIN)/python -m pytest --quiet --numprocesses $(WORKERS) --dist loadfile $(ARGS)

setup: $(DEV)
	@:

lint: $(DEV)
	@echo 'ruff check'
	@$(BIN)/ruff check --quiet .
	@echo 'ruff format --check'
	@$(BIN)/ruff format --check .

types: $(DEV)
	@echo 'mypy'
	@$(BIN)/mypy --no-error-summary

bench: $(USE)
	@$(BIN)/python benchmarks/compile.py $(ARGS)

docs: $(DEV)
	@$(BIN)/python -m sphinx -q -W docs docs/_build

clean:
	@rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build
	@find . \( -path ./.git -o -path ./$(VENV) \) -prune -o \
	    -type d -name __pycache__ -prune -exec rm -rf {} +

$(USE): pyproject.toml $(MISSING)
	@echo 'Installing isinglearn into $(VENV) (once; it may take some minutes)'
	@$(PIP) install --editable .
	@touch $@

# A development installation is also one for use.
$(DEV): pyproject.toml $(MISSING)
	@echo 'Installing isinglearn with its development tools into $(VENV) (once; it may take some minutes)'
	@$(PIP) install --editable '.[dev]'
	@touch $(USE) $@

venv:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	    echo 'error: $(PYTHON) not found; isinglearn needs Python 3.11 or newer.' >&2; \
	    echo 'Install it, or name another one: make PYTHON=/path/to/python3' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: isinglearn needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) -V 2>&1`." >&2; \
	    echo 'Name a newer one: make PYTHON=python3.12' >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -f $(BIN)/python; \
	    echo 'error: $(PYTHON) could not create $(VENV).' >&2; \
	    echo 'On Debian and Ubuntu the package python3-venv is needed.' >&2; exit 1; }
