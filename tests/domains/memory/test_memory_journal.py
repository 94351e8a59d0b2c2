"""The journal: hooks append redacted events durably, and distillation turns each into observations exactly once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.capture.distill import distill
from deltos.domains.memory.capture.journal import FOLDER, Journal
from deltos.domains.memory.core.memory import Memory
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from pathlib import Path

HOOK_SCRIPT = "import sys; from deltos.cli.hook import run; run(sys.argv[1:])"
# Sends numbered prompts through the code of the hook and acknowledges each recorded prompt.
SENDER_SCRIPT = """
import io, json, sys
from deltos.cli.hook import main
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    prompt = f"We decided that {sys.argv[4]} gets the port {number}, as agreed with operations."
    payload = {"session_id": sys.argv[4], "cwd": sys.argv[1], "prompt": prompt}
    main(["UserPromptSubmit"], stdin=io.BytesIO(json.dumps(payload).encode()))
    print(number, flush=True)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("DELTOS_HOME", str(folder))
    monkeypatch.delenv("DELTOS_DATABASE", raising=False)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def run_hook(root: Path, event: str, **fields: object) -> str:
    """Run the hook in a separate process and return its output."""
    payload = json.dumps({"session_id": "s1", "cwd": str(root), **fields})
    command = [sys.executable, "-c", HOOK_SCRIPT, event]
    return subprocess.run(command, input=payload, capture_output=True, text=True, check=True).stdout


def distill_journal(home: Path) -> list[str]:
    """Distill the journal and return all texts."""
    with closing(SqliteObservations(home / "memory.db")) as store:
        assert distill(Memory(store), Journal(home)) == 0
        return [row.text for row in store.all()]


def test_a_hook_records_a_redacted_event_without_classifying_it(home: Path, root: Path) -> None:
    run_hook(root, "UserPromptSubmit", prompt="We always deploy with the password=marigold-4711, agreed.")
    [record] = (home / FOLDER).iterdir()
    assert "marigold" not in record.read_text()
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert not (home / "memory.db").exists()
    assert len(distill_journal(home)) == 1
    assert list((home / FOLDER).iterdir()) == []


def test_recording_loads_no_database_and_no_numpy(home: Path, root: Path) -> None:
    code = (
        "import io, json, sys; from deltos.cli.hook import main;"
        f"main(['Stop'], stdin=io.BytesIO(json.dumps({{'cwd': {str(root)!r}, 'last_assistant_message': 'It is done.'}})"
        ".encode())); print(sorted({'numpy', 'sqlite3', 'pydantic'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_acknowledged_events_survive_killed_hooks(home: Path, root: Path) -> None:
    chance = random.Random(5)
    acknowledged = 0
    for name in ("alpha", "beta"):
        done = 0
        for kill in (True, True, False):
            command = [sys.executable, "-c", SENDER_SCRIPT, str(root), str(done), "20", name]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            last = done + chance.randrange(2, 6)
            for line in process.stdout:
                done = int(line) + 1
                if kill and done >= last:
                    process.send_signal(signal.SIGKILL)
                    break
            done = max([done, *(int(line) + 1 for line in process.stdout)])
            process.stdout.close()
            process.wait()
        acknowledged += done
    texts = distill_journal(home)
    assert acknowledged == 40
    for name in ("alpha", "beta"):
        for number in range(20):
            assert any(f"{name} gets the port {number}," in text for text in texts)


def test_records_that_were_not_removed_are_not_stored_twice(home: Path, root: Path) -> None:
    run_hook(root, "UserPromptSubmit", prompt="We decided to use SQLite instead of files.")
    shutil.copytree(home / FOLDER, home / "copy")
    assert len(distill_journal(home)) == 1
    shutil.copytree(
        home / "copy", home / FOLDER, dirs_exist_ok=True
    )  # simulates a process that was killed before it removed the records
    assert len(distill_journal(home)) == 1


def test_a_damaged_record_is_set_aside_and_the_others_are_stored(home: Path, root: Path) -> None:
    run_hook(root, "UserPromptSubmit", prompt="We decided to use SQLite instead of files.")
    (home / FOLDER / "00000000000000000001-aa.json").write_text('{"at": 1')
    assert len(distill_journal(home)) == 1
    assert [path.name for path in (home / FOLDER).iterdir()] == ["00000000000000000001-aa.unreadable"]


def test_a_new_session_shows_records_from_earlier_sessions(home: Path, root: Path) -> None:
    run_hook(root, "UserPromptSubmit", prompt="We always use tabs in this repository, never spaces.")
    assert "never spaces" in run_hook(root, "SessionStart", source="startup")


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write to every folder")
def test_a_read_only_data_folder_is_reported_and_does_not_stop_the_agent(home: Path, root: Path) -> None:
    home.mkdir(mode=0o500)
    assert run_hook(root, "UserPromptSubmit", prompt="We decided to use SQLite instead of files.") == ""


def test_files_with_secrets_and_own_tools_are_not_recorded(home: Path, root: Path) -> None:
    run_hook(root, "PostToolUse", tool_name="Bash", tool_input={"command": "cat .env"}, tool_response={"stdout": "A=b"})
    run_hook(root, "PostToolUse", tool_name="Write", tool_input={"file_path": "deploy.pem", "content": "x"})
    run_hook(root, "PostToolUse", tool_name="mcp__deltos__search", tool_input={"query": "x"})
    run_hook(root, "PostToolUse", tool_name="Read", tool_input={"file_path": "a.py"}, tool_response="x = 2")
    assert not (home / FOLDER).exists()
