# Two commands on a fresh machine with Python >= 3.11: `make demo` and `make test`. Both set up everything they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NODE := tests/node
NODE_STAMP := $(NODE)/node_modules/.installed

UI_STAMP := ui/node_modules/.installed

# Tests start processes by the hundred: each would compile our sources again where a machine is told to keep no bytecode.
unexport PYTHONDONTWRITEBYTECODE
# One more than there are cores: many tests wait for a signal, a limit or a process that starts.
TEST_PROCESSES ?= $(shell $(PYTHON) -c "import os; print(min(8, (os.cpu_count() or 1) + 1))")

.PHONY: venv versions node browser shells ui pictures reference demo test tests coverage check postgres conformance clients wheels bench sweep fuzz manifest package clean

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV): pip downloads and installs what Deltos and its tests need, which takes some minutes the first time."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	touch $@

node: $(NODE_STAMP)

# Node itself came with the Python packages; what the tests drive the server with is pinned by the lock file.
# Not `npm ci`: it refuses a lock without the binaries of every platform, which no registry need hold.
$(NODE_STAMP): $(STAMP) $(NODE)/package.json $(NODE)/package-lock.json
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm install --no-save --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# Pages are rendered by the real thing. Where it is neither there nor can be installed, the tests that need it fail.
browser:
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends chromium; } \
		|| echo "No Chromium: install one, or tests fail" >&2

# Completion is tried in the shells that it is written for. After the browser: apt lets one at a time install.
shells: browser
	command -v zsh >/dev/null && command -v fish >/dev/null \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends zsh fish; } \
		|| echo "No zsh or no fish: install them, or tests fail" >&2

# What the page for people is built with; the built files are committed, so that nobody needs it to install Deltos.
$(UI_STAMP): $(STAMP) ui/package.json ui/package-lock.json
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm install --no-save --prefix ui --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

ui: $(UI_STAMP)
	$(BIN)/python -P scripts/ui_types.py
	cd ui && PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin/tsc --noEmit
	cd ui && "$(CURDIR)/$(BIN)/node" build.mjs

# Install the newest versions of all dependencies, and record them in constraints.txt.
versions:
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade --upgrade-strategy eager --editable . --group dev
	(head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable) > constraints.new
	mv constraints.new constraints.txt

# What README and docs show, out of real output and a real browser.
pictures: venv browser
	$(BIN)/python -m scripts.pictures
	$(BIN)/python -m tests.ui.pictures docs/pictures

# docs/modules.md and docs/tools.md, from docstrings and tool definitions.
reference: venv
	PYTHONPATH=. $(BIN)/python -P -m scripts.reference_pages

demo: venv
	$(BIN)/python -m demo

check: venv
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check_patterns.py
	$(BIN)/python -P scripts/ui_types.py --check
	$(BIN)/python scripts/check_words.py
	PYTHONPATH=. $(BIN)/python -P -m scripts.reference_pages --check

# All at the same time: mypy alone takes minutes on one core, and packages of Node are mostly waited for.
test: venv
	$(MAKE) --jobs=3 check tests

# In the order of their names: by the number of tests, the long ones that are alone in their file would come last.
# On a fresh checkout pytest rewrites the asserts of all tests first, once instead of in each process.
tests: node browser shells $(UI_STAMP)
	$(BIN)/python -m compileall -q src
	test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only > /dev/null || true
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

# The same tests, half as fast again: every process that they start is traced.
coverage: check node browser shells $(UI_STAMP)
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --cov --cov-report=term --cov-fail-under=95

# What the stores promise, once more on the PostgreSQL that Debian has, which is the oldest that we take.
postgres: venv
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends postgresql; }
	programs=$$(dirname $$(ls /usr/lib/postgresql/*/bin/initdb | head -1)); $$programs/postgres --version; \
	DELTOS_TEST_POSTGRES=$$programs $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile tests/store

conformance: node
	$(BIN)/python -m tests.conformance

# Real clients, newest versions, from npm: each is installed into, connects and lists; the table is in docs/clients.md.
clients: venv
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/try_clients.py build/clients

# Which dependencies have no wheel for which platform and Python; the table is in docs/install.md. Fetches metadata only.
wheels: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python scripts/check_wheels.py $(BIN)/uv

bench: venv
	$(BIN)/python -m benchmarks

# make sweep FOLDER=/var/tmp/sweep LIMIT=50: downloads source packages, checks invariants on them, prints the table.
# A second run continues the first; CPU_MINUTES=60 ends it when that is used.
FOLDER ?= .sweep
LIMIT ?= 0
CPU_MINUTES ?= 0
sweep: venv
	$(BIN)/python -m benchmarks.sweep $(FOLDER) --limit $(LIMIT) --cpu-minutes $(CPU_MINUTES)
	$(BIN)/python -m benchmarks.sweep $(FOLDER) --table

# make fuzz MINUTES=2 TARGET='graph-*': minutes of CPU for each target that fits; fuzz/findings has what broke.
fuzz: venv
	$(BIN)/python -m fuzz --minutes $(or $(MINUTES),2) $(if $(TARGET),--target '$(TARGET)')

manifest: venv
	$(BIN)/python -P -m deltos.server.describe

package: venv
	$(BIN)/python scripts/package.py dist

clean:
	rm -rf $(VENV) dist build
