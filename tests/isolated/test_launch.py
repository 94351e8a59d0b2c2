"""Startup flags of Python processes for every way of installing Deltos."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import deltos
from deltos.isolated.launch import find_module_command

SOURCES = Path(deltos.__file__).parents[1]
PACKAGES = [folder for folder in sys.path if Path(folder).name == "site-packages"]
BASE_PYTHON = (
    Path(sys.base_prefix, "python.exe") if sys.platform == "win32" else Path(sys.base_prefix, "bin", "python3")
)
# Every installation must be able to run a task in a child process and to print its startup flags.
PROBE_SCRIPT = """
import json
from deltos.isolated.launch import find_module_command
from deltos.isolated.process_pool import ProcessPool
from deltos.isolated.wire import TaskLimits
from deltos.languages.table import detect
workers = ProcessPool()
language = workers.run(detect, "a.py", b"", limits=TaskLimits())
workers.close()
print(json.dumps([language.name, find_module_command()]))
"""


def probe_start_flags(python: Path, folder: Path, **variables: str) -> list[str]:
    """Run a task in a child process and return the flags with which `-m deltos` is started."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    done = subprocess.run(
        [python, "-c", PROBE_SCRIPT], cwd=folder, env=kept | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    language, command = json.loads(done.stdout)
    assert language == "python"
    started = subprocess.run([*command, "--version"], cwd=folder, env=kept | variables, capture_output=True, text=True)
    assert started.stdout == f"deltos {deltos.__version__}\n"
    return [word for word in command[1:] if word not in ("-m", "deltos")]


def test_an_ordinary_installation_is_started_isolated() -> None:
    assert find_module_command() == [sys.executable, "-I", "-m", "deltos"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has another location for user packages")
def test_an_installation_in_the_user_site_packages_is_started_without_pythonpath(tmp_path: Path) -> None:
    packages = tmp_path / ".local" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "linked.pth").write_text("\n".join([str(SOURCES), *PACKAGES]))
    assert probe_start_flags(BASE_PYTHON, tmp_path, HOME=str(tmp_path)) == ["-E", "-P"]


def test_an_installation_on_pythonpath_is_started_with_pythonpath(tmp_path: Path) -> None:
    assert probe_start_flags(BASE_PYTHON, tmp_path, PYTHONPATH=os.pathsep.join([str(SOURCES), *PACKAGES])) == ["-P"]


def test_running_the_module_in_a_folder_that_shadows_modules_is_refused(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text("raise SystemExit('ran')")
    refused = subprocess.run(
        [sys.executable, "-m", "deltos", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "python -P -m deltos" in refused.stderr
    for flag in ("-P", "-I"):
        done = subprocess.run(
            [sys.executable, flag, "-m", "deltos", "--version"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.stdout == f"deltos {deltos.__version__}\n"
