"""Code of a repository that shadows every Python module is never executed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.isolated.launch import find_module_command
from tests.e2e.every_tool import call_every_tool, write_project
from tests.repositories import git, write_files
from tests.server.over_http.served import Served
from tests.server.raw import RawClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    JsonObject = dict[str, Any]

SCRIPT = Path(sys.executable).with_name("deltos.exe" if sys.platform == "win32" else "deltos")
# Enough source code to need several child processes.
LONG_TEXT = ("much to read " * 8 + "\n") * 2_650
BULK_FILES = {
    f"bulk/f{n}.py": f"def function_{n}():\n    call_{n}(1)\n\n\nTEXT = '''\n{LONG_TEXT}'''\n" for n in range(6)
}


@pytest.fixture(scope="module")
def marker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File to which a module of the repository writes its name when it runs."""
    return tmp_path_factory.mktemp("marker") / "ran"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory, marker: Path) -> Path:
    root = write_project(tmp_path_factory.mktemp("hostile") / "site-packages")
    statement = f"open({str(marker)!r}, 'a').write(__name__ + '\\n')\n"
    names = {*sys.stdlib_module_names, *packages_distributions(), "deltos", "sitecustomize", "usercustomize"}
    modules: dict[str, str | bytes] = {f"{name}.py": statement for name in names if name.isidentifier()}
    modules |= {f"docs/{name}": text for name, text in modules.items()}
    write_files(root, modules | BULK_FILES)
    hook = f"import sys; open({str(marker)!r}, 'a').write('pth\\n')\n"
    packages = ".venv/lib/python3.11/site-packages"
    info = f"{packages}/toy-1.0.dist-info"
    write_files(
        root,
        {
            "requirements.txt": "toy\n",
            "evil.pth": hook,
            f"{packages}/evil.pth": hook,
            f"{packages}/sitecustomize.py": statement,
            f"{packages}/toy/__init__.py": statement + 'def play():\n    """Play with wombats."""\n',
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n\nA toy.\n",
            f"{info}/RECORD": "toy/__init__.py,,\ntoy-1.0.dist-info/METADATA,,\n",
        },
    )
    git(root, "init", "-q")
    return root


@pytest.fixture(autouse=True)
def _no_module_ran(marker: Path) -> Iterator[None]:
    yield
    assert not marker.exists(), marker.read_text()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run_command(folder: Path, home: Path, command: list[str | Path], stdin: str = "") -> str:
    """Run a command in a folder as a user does, check that it succeeds, and return its output."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    variables = kept | {"DELTOS_HOME": str(home), "HOME": str(home)}
    done = subprocess.run(command, cwd=folder, env=variables, input=stdin, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_modules_run_if_python_is_started_without_protection(repository: Path, marker: Path) -> None:
    subprocess.run([sys.executable, "-c", "import argparse"], cwd=repository, check=False, capture_output=True)
    assert marker.read_text()
    marker.unlink()


def test_no_command_runs_code_of_the_project(repository: Path, home: Path) -> None:
    event = json.dumps({"session_id": "s", "cwd": str(repository), "prompt": "We decided to use SQLite."})
    for words in (
        ["index"],
        ["code", "search", "function_3"],
        ["search", "ledger"],
        ["graph", "find", "Ledger"],
        ["docs", "add", "pypi:toy", "--wait"],
        ["docs", "add", "deps:", "--wait"],
        ["api", "add", "openapi.yaml"],
        ["status"],
        ["install", "claude-code"],
        ["doctor"],  # this command starts the newly installed server
        ["hook", "UserPromptSubmit"],
        ["memory", "search", "SQLite"],
    ):
        run_command(repository, home, [SCRIPT, *words], event)
    run_command(repository, home, [sys.executable, SCRIPT, "--version"])


def test_a_background_crawl_runs_no_code_of_the_folder(repository: Path, home: Path) -> None:
    run_command(repository, home, [SCRIPT, "docs", "add", "./docs", "--name", "guide"])
    deadline = time.monotonic() + 60
    state = ""
    while state != "READY" and time.monotonic() < deadline:
        state = json.loads(run_command(repository, home, [SCRIPT, "docs", "status", "guide", "--json"]))["status"]
    assert state == "READY"


def test_the_installed_command_without_a_script_runs_no_code_of_the_project(repository: Path, home: Path) -> None:
    run_command(repository, home, [*find_module_command(), "index", "--force"])
    shown = run_command(repository, home, [*find_module_command(), "mcp", "--help"])
    assert shown.startswith("usage: deltos mcp")


def test_the_server_over_stdio_runs_no_code_of_the_project(repository: Path, tmp_path: Path) -> None:
    client = RawClient([str(SCRIPT), "mcp"], home=tmp_path / "home", cwd=repository)
    try:
        client.initialize()

        def call(name: str, arguments: JsonObject) -> JsonObject:
            return client.call(name, **arguments)

        call_every_tool(call, repository)
    finally:
        client.shut_down()


def test_the_server_over_http_runs_no_code_of_the_project(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    served = Served([str(SCRIPT), "mcp", "--http", "127.0.0.1:0"], tmp_path / "home")
    try:
        session = served.open_session()
        assert served.call("index_repository", session)["structuredContent"]["files_indexed"] > len(BULK_FILES)
        assert "function_3" in served.text("search_code", session, query="function_3")
    finally:
        served.shut_down()
