# Two commands on a fresh machine with Python >= 3.11: `make demo` and `make test`. Both set up everything they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: venv demo test check bench manifest package clean

venv: $(STAMP)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@

demo: venv
	$(BIN)/python -m demo

check: venv
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --cov --cov-report=term --cov-fail-under=95

bench: venv
	$(BIN)/python -m benchmarks

manifest: venv
	$(BIN)/python -m pinakes.server.manifest

package: venv
	$(BIN)/python scripts/package.py dist

clean:
	rm -rf $(VENV) dist build
