"""Only the owner can read the data folder, for any umask and for folders of older versions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from deltos.store.private_files import make_private_folder, open_private, restrict_folder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="user folders are already private on Windows")


def mode_bits(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def paths_below(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): mode_bits(path) for path in folder.rglob("*")}


SCRIPT_THAT_CREATES_ALL_FILES = """
import os, sys
os.umask(int(sys.argv[1], 8))
from pathlib import Path
from deltos.app import App
from deltos.config import Config
from deltos.store.sqlite.tokens import SqliteTokens
app = App(Config(Path(sys.argv[2])))
index = app.domains.projects.index_of(Path(sys.argv[3]))
index.freshen()
app.domains.memory.store.database.read().execute("SELECT 1")
app.domains.docs.library.statuses()
SqliteTokens(Path(sys.argv[2]))
os._exit(0)  # as a crash would: the side files of SQLite stay
"""


@pytest.mark.parametrize("umask", ["000", "022", "777"])
def test_everything_created_in_the_data_folder_is_private(tmp_path: Path, umask: str) -> None:
    home, project = tmp_path / "some" / "home", tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text("def f(): ...\n")
    command = [sys.executable, "-c", SCRIPT_THAT_CREATES_ALL_FILES, umask, str(home), str(project)]
    subprocess.run(command, check=True, timeout=120)
    assert mode_bits(home) == 0o700
    modes = paths_below(home)
    assert {"memory.db", "library.db", "access.db", "projects"} <= modes.keys()
    assert any(name.endswith("-wal") for name in modes)
    wrong = {name: oct(found) for name, found in modes.items() if found not in (0o600, 0o700)}
    assert wrong == {}


def test_an_open_data_folder_is_restricted_with_its_files(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "projects").mkdir(parents=True)
    files = [home / "memory.db", home / "memory.db-wal", home / "toolsets", home / "projects" / "x.db"]
    for path in files:
        path.touch()
        path.chmod(0o644)
    home.chmod(0o755)
    restrict_folder(home)
    assert (mode_bits(home), mode_bits(home / "projects")) == (0o700, 0o700)
    assert {mode_bits(path) for path in files} == {0o600}


def test_our_files_are_restricted_in_a_folder_with_other_files(tmp_path: Path) -> None:
    home = tmp_path / "work"
    home.mkdir()
    home.chmod(0o755)
    script, memory = home / "run.sh", home / "memory.db"
    for path in (script, memory):
        path.touch()
        path.chmod(0o755)
    make_private_folder(home)
    assert (mode_bits(home), mode_bits(script), mode_bits(memory)) == (0o755, 0o755, 0o700)


def test_a_shared_folder_is_never_restricted(tmp_path: Path) -> None:
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    make_private_folder(shared)
    assert mode_bits(shared) == 0o1777


def test_a_readable_file_is_restricted_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.touch()
    path.chmod(0o666)
    os.close(open_private(path))
    assert mode_bits(path) == 0o600
