# `make demo` and `make test` work on a new machine with Python >= 3.11; both install everything that they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
NODE := tests/node
NODE_STAMP := $(NODE)/node_modules/.installed

UI_STAMP := ui/node_modules/.installed

# Tests start hundreds of processes, and without bytecode files each would compile our sources again.
unexport PYTHONDONTWRITEBYTECODE
# One more than the number of cores, because many tests wait for a signal, a timeout or a process start.
TEST_PROCESSES ?= $(shell $(PYTHON) -c "import os; print(min(8, (os.cpu_count() or 1) + 1))")

.PHONY: venv versions node browser shells ui pictures reference demo test tests coverage check postgres conformance clients wheels prove prove-all sweep fuzz manifest package dist site clean

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV): pip installs the dependencies of Deltos and its tests. This takes some minutes the first time."
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable . --group dev
	touch $@

node: $(NODE_STAMP)

# Node is one of the Python packages; the lock file pins the clients with which the tests call the server.
# `npm ci` is not used: it refuses a lock file without the binaries of every platform, which a registry may lack.
$(NODE_STAMP): $(STAMP) $(NODE)/package.json $(NODE)/package-lock.json
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/npm install --no-save --prefix $(NODE) --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $@

# Tests render pages with a real Chromium. If it is neither installed nor installable, the tests that need it fail.
browser:
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends chromium; } \
		|| echo "Chromium was not found and could not be installed: some tests will fail. Install Chromium." >&2

# Completion is tested in real shells. Depends on `browser` because only one apt process can run at a time.
shells: browser
	command -v zsh >/dev/null && command -v fish >/dev/null \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends zsh fish; } \
		|| echo "zsh or fish was not found and could not be installed: some tests will fail. Install both." >&2

# Build tools of the web UI. The built files are committed, so installing Deltos does not need these tools.
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

# Pictures and examples for README.md and docs, from real output and a real browser.
pictures: venv browser
	$(BIN)/python -m scripts.pictures
	$(BIN)/python -m tests.ui.pictures docs/pictures

# Generates docs/modules.md and docs/tools.md from docstrings and tool definitions.
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

# In parallel, because mypy takes minutes on one core, and installing Node packages mostly waits for the network.
test: venv
	$(MAKE) --jobs=3 check tests

# Files run in order of their names: ordered by number of tests, files with one long test would run last.
# On a new checkout, one process rewrites the asserts of all tests first, so that not every process does.
tests: node browser shells $(UI_STAMP)
	$(BIN)/python -m compileall -q src
	test -d tests/__pycache__ || $(BIN)/python -m pytest --collect-only > /dev/null || true
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

# The same tests with coverage, which take longer because every process that they start is traced.
coverage: check node browser shells $(UI_STAMP)
	$(BIN)/python -m compileall -q src
	$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --cov --cov-report=term --cov-fail-under=95

# Runs the store tests on Debian's PostgreSQL, which is the oldest supported version.
postgres: venv
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 \
		|| { apt-get update --quiet --quiet; apt-get install --quiet --yes --no-install-recommends postgresql; }
	programs=$$(dirname $$(ls /usr/lib/postgresql/*/bin/initdb | head -1)); $$programs/postgres --version; \
	DELTOS_TEST_POSTGRES=$$programs $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile tests/store

conformance: node
	$(BIN)/python -m tests.conformance

# Adds Deltos to the newest versions of real clients from npm and lets them connect; writes the table in docs/clients.md.
clients: venv
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/try_clients.py build/clients

# Lists dependencies without a wheel by platform and Python version in docs/install.md. Fetches only metadata.
wheels: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/python scripts/check_wheels.py $(BIN)/uv

# Repeats the published figures: `prove` in less than an hour with packages from registries only, `prove-all` with all data.
prove: venv
	$(BIN)/python -m benchmarks prove

prove-all: venv
	$(BIN)/python -m benchmarks prove-all

# make sweep FOLDER=/var/tmp/sweep LIMIT=50: downloads source packages, checks invariants on them, and prints a table.
# A second run continues the first; CPU_MINUTES=60 stops it after 60 minutes of CPU time.
FOLDER ?= .sweep
LIMIT ?= 0
CPU_MINUTES ?= 0
sweep: venv
	$(BIN)/python -m benchmarks.sweep $(FOLDER) --limit $(LIMIT) --cpu-minutes $(CPU_MINUTES)
	$(BIN)/python -m benchmarks.sweep $(FOLDER) --table

# make fuzz MINUTES=2 TARGET='graph-*': CPU minutes for each matching target; findings are saved in fuzz/findings.
fuzz: venv
	$(BIN)/python -m fuzz --minutes $(or $(MINUTES),2) $(if $(TARGET),--target '$(TARGET)')

manifest: venv
	$(BIN)/python -P -m deltos.server.describe

package: venv
	$(BIN)/python scripts/package.py dist

# Builds and checks everything that is published, then uses the wheel in an empty environment.
dist: package
	rm -rf build/publish build/empty && $(PYTHON) -m venv build/publish && $(PYTHON) -m venv build/empty
	build/publish/bin/pip install --quiet --disable-pip-version-check build twine check-wheel-contents
	rm -f dist/*.whl dist/*.tar.gz
	build/publish/bin/python -m build --outdir dist
	build/publish/bin/twine check --strict dist/*.whl dist/*.tar.gz
	build/publish/bin/check-wheel-contents dist/*.whl
	build/empty/bin/pip install --quiet --disable-pip-version-check dist/*.whl
	DELTOS_HOME=$(CURDIR)/build/empty/home build/empty/bin/deltos doctor
	cd scripts && DELTOS_HOME=$(CURDIR)/build/empty/home $(CURDIR)/build/empty/bin/deltos code search "check wording" --limit 1

# Builds the documentation site in build/site; fails on broken links.
site: venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group site
	PYTHONPATH=. $(BIN)/python -P -m scripts.site_pages build/site-pages
	$(BIN)/python -m mkdocs build --quiet

clean:
	rm -rf $(VENV) dist build
