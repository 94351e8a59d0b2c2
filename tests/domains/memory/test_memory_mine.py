"""Import of session files that agents left on disk."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.memory.capture.hooks import capture
from deltos.domains.memory.mine import Miner, MiningReport, find_transcripts
from deltos.hook_settings import OFF_FILE, HookSettings
from deltos.open_stores import open_foreign_tables
from deltos.progress import Silent
from deltos.text.times import iso, micros
from deltos.workspace.identity import path_identity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock

SESSIONS = Path(__file__).parent / "sessions"


class Disk:
    """A home folder with agents' session files, and a project."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "user"
        self.root = folder / "app"
        (self.root / "src").mkdir(parents=True)
        (self.root / ".git").mkdir()

    def put(self, fixture: str, path: str) -> Path:
        """Copy a fixture to a path in the home folder, with paths adapted to the project."""
        text = (SESSIONS / fixture).read_text().replace("ROOT", str(self.root))
        return self.write(path, text.replace("HASH", hashlib.sha256(str(self.root).encode()).hexdigest()))

    def write(self, path: str, text: str) -> Path:
        target = self.home / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return target

    def claude(self) -> Path:
        return self.put("claude.jsonl", ".claude/projects/-app/5f0c2d1e-0001.jsonl")


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


@pytest.fixture(autouse=True)
def _late_clock(clock: Clock) -> None:
    clock.now = clock.now.replace(year=2026, month=11)


def mine(memory: Memory, *places: Path, home: Path = Path("/nowhere"), **options: Any) -> MiningReport:
    """Import the sessions at these places."""
    miner = Miner(memory, identify=lambda root: f"id:{root.name}", settings=HookSettings(home), **options)
    miner.mine([one for place in places for one in find_transcripts(place, miner.report)], Silent())
    return miner.report


def stored(memory: Memory) -> list[tuple[str, str]]:
    return [(row.kind, row.text) for row in memory.store.all()]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def prompt(text: str, number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a prompt record in the format of Claude Code."""
    base = {"parentUuid": None, "sessionId": "s1", "type": "user", "uuid": f"p{number}", "cwd": "/gone/app"}
    return {**base, "timestamp": "2026-02-01T10:00:00Z", "message": {"role": "user", "content": text}, **more}


def test_a_session_of_claude_code_is_imported_like_hook_events(memory: Memory, disk: Disk) -> None:
    disk.claude()
    report = mine(memory, disk.home)
    assert stored(memory) == [
        ("request", "Why does the parser hang on empty input?"),
        (
            "error",
            "`pytest -q` failed:\nExit code 1\nE       RecursionError: maximum recursion depth exceeded\n1 failed in 0.12s",
        ),
        ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
        (
            "finding",
            (
                "Fixed: `pytest -q` works now.\nFixed by: Edited src/a.py: - x = 1 + x = 2\nIt had failed with: "
                "Exit code 1\nE       RecursionError: maximum recursion depth exceeded\n1 failed in 0.12s"
            ),
        ),
        ("preference", "Always use ruff for formatting in this repository."),
        (
            "finding",
            "The root cause was the missing base case: `parse` called itself on an empty token list.",
        ),
        ("request", "Now deploy it with [redacted:github-pat] please"),
        (
            "decision",
            (
                "Which database should the service use?\nThe user decided: SQLite (One file, no server)\n"
                "Offered as well: PostgreSQL"
            ),
        ),
    ]
    assert (report.added, report.unread) == (8, 0)
    [session] = [row for row in memory.store.sessions() if row.session_id]
    assert (session.session_id, session.agent, session.project_id) == ("5f0c2d1e-0001", "claude", "id:app")
    assert [iso(row.created_at) for row in memory.store.all()][:2] == ["2026-03-02T09:01:00Z", "2026-03-02T09:06:00Z"]


def test_a_session_of_codex_is_imported_like_hook_events(memory: Memory, disk: Disk) -> None:
    disk.put("codex.jsonl", ".codex/sessions/2026/03/03/rollout-2026-03-03T10-00-00-0199-aa.jsonl")
    disk.put("codex-subagent.jsonl", ".codex/sessions/2026/03/03/rollout-2026-03-03T10-30-00-0199-bb.jsonl")
    report = mine(memory, disk.home)
    assert stored(memory) == [
        ("request", "Why is the total rounded twice?"),
        ("error", "`cargo build` failed:\nerror[E0308]: mismatched types\n --> src/main.rs:4:5"),
        ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
        (
            "finding",
            (
                "Fixed: `cargo build` works now.\nFixed by: Edited src/a.py: - x = 1 + x = 2\n"
                "It had failed with: error[E0308]: mismatched types\n --> src/main.rs:4:5"
            ),
        ),
        ("decision", "Which database should the service use?\nThe user decided: SQLite (One file, no server)"),
        ("finding", "The bug was caused by rounding in `total` and again in `invoice`."),
    ]
    assert (report.sessions["codex"], report.unread) == (2, 0)
    assert {row.agent for row in memory.store.sessions()} == {"codex"}


GEMINI = [
    ("request", "Why does the parser hang on empty input?"),
    ("error", "`make` failed:\nmake: *** [all] Error 2\nExit Code: 2"),
    ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
    ("finding", "It turns out that the lexer never emits an end token."),
]


def test_a_session_of_copilot_cli_is_imported_like_hook_events(memory: Memory, disk: Disk) -> None:
    disk.put("copilot.jsonl", ".copilot/session-state/cp-1/events.jsonl")
    report = mine(memory, disk.home)
    assert stored(memory) == [
        ("request", "Why does the parser hang on empty input?"),
        ("error", "`pytest -q` failed:\nE   RecursionError: maximum depth\n1 failed in 0.1s"),
        ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
        ("decision", "Plan that the user approved:\n1. Stop at the end of the input\n2. Test empty files"),
        ("summary", "Summary: the parser stops at the end of the input."),
        ("finding", "The parser hangs because read_token returns nothing at the end of the input."),
    ]
    assert (report.sessions["copilot"], report.unread) == (1, 0)


def opencode_database(disk: Disk) -> Path:
    """Create a database in the format of OpenCode with the rows of the fixture."""
    path = disk.write(".local/share/opencode/opencode.db", "")
    tables = json.loads((SESSIONS / "opencode.json").read_text().replace("ROOT", str(disk.root)))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL)")
        for name, columns in (("message", ""), ("part", "message_id text NOT NULL, ")):
            connection.execute(
                f"CREATE TABLE {name} (id text PRIMARY KEY, {columns}session_id text NOT NULL, time_created integer, data text)"
            )
        for name in ("session", "message", "part"):
            for number, row in enumerate(tables[name]):
                timed = {} if name == "session" else {"time_created": 1772442000000 + number * 1000}
                values = {**row, **timed, **({"data": json.dumps(row["data"])} if "data" in row else {})}
                marks = ", ".join("?" for _ in values)
                connection.execute(f"INSERT INTO {name} ({', '.join(values)}) VALUES ({marks})", [*values.values()])
        connection.commit()
    return path


def test_sessions_of_opencode_are_imported_like_hook_events(memory: Memory, disk: Disk) -> None:
    path = opencode_database(disk)
    report = mine(memory, disk.home, open_tables=open_foreign_tables)
    assert stored(memory) == [
        ("request", "Why does the parser hang on empty input?"),
        ("error", "`go test ./...` failed:\n--- FAIL: TestA (0.00s)\nFAIL\tapp\t0.1s"),
        ("change", "Edited src/a.py\n- x = 1\n+ x = 2"),
        ("error", "Editing src/b.py failed: oldString not found in content"),
        ("finding", "The parser hangs because read_token returns nothing at the end of the input."),
        ("summary", "Summary: the parser stops at the end."),
    ]
    assert (report.sessions["opencode"], report.unread) == (1, 0)
    assert iso(next(iter(memory.store.all())).created_at) == "2026-03-02T09:00:00Z"
    assert mine(memory, disk.home, open_tables=open_foreign_tables).added == 0
    path.write_bytes(b"no database at all" * 100)
    report = mine(memory, disk.home, open_tables=open_foreign_tables)
    assert (report.added, report.unread) == (0, 1)


def test_the_last_message_of_copilot_cli_is_read_from_its_session_file(memory: Memory, disk: Disk) -> None:
    transcript = disk.put("copilot.jsonl", ".copilot/session-state/cp-1/events.jsonl")
    for path in (transcript, transcript.with_name("gone.jsonl"), transcript.parent, "events.jsonl"):
        payload = {"sessionId": "cp-1", "cwd": str(disk.root), "transcriptPath": str(path), "stopReason": "end_turn"}
        capture(memory, "agentStop", json.dumps(payload).encode(), folder=disk.root, identify=lambda root: root.name)
    assert stored(memory) == [
        ("finding", "The parser hangs because read_token returns nothing at the end of the input.")
    ]


def test_imported_statements_are_superseded_by_later_ones(memory: Memory, disk: Disk) -> None:
    def say(text: str) -> None:
        payload = {"session_id": "new", "cwd": str(disk.root), "prompt": text}
        capture(
            memory,
            "UserPromptSubmit",
            json.dumps(payload).encode(),
            folder=disk.root,
            identify=lambda r: f"id:{r.name}",
        )

    say("Correction to the limit on the public search routes: 20 rps per API key, not 50.")
    say("Correction to the limit on the public search routes: 10 rps per API key, not 20.")
    say("By the way, I changed my mind about the dual write of the queue: skip it.")
    limit = "We decided to allow 50 rps per API key on the public search routes."
    steps = "The plan:\n1. Add the table for the moorings\n2. Dual-write the queue for one release\n3. Drop Redis"
    old = (prompt(limit, cwd=str(disk.root)), prompt(steps, 2, cwd=str(disk.root)))
    disk.write(".claude/projects/-app/s1.jsonl", lines(*old))
    mine(memory, disk.home)
    by_text = {str(row.text): row for row in memory.store.all()}
    assert by_text[limit].superseded_by is not None
    (plan,) = (row for row in by_text.values() if row.text.startswith("The plan"))
    assert "2. Dual-write the queue for one release (no longer: By the way" in plan.text


@pytest.mark.parametrize("name", ["gemini.jsonl", "gemini.json"])
def test_a_session_of_gemini_cli_is_imported_like_hook_events(memory: Memory, disk: Disk, name: str) -> None:
    disk.put(name, f".gemini/tmp/app/chats/session-2026-03-04-{name}")
    report = mine(memory, disk.home)
    assert (stored(memory), report.unread) == (GEMINI, 0)
    assert {(row.agent, row.project_id) for row in memory.store.sessions()} == {("gemini", "id:app")}


def test_geminis_log_adds_only_prompts_missing_from_its_chats(memory: Memory, disk: Disk) -> None:
    disk.put("gemini.jsonl", ".gemini/tmp/app/chats/session-1.jsonl")
    disk.put("gemini-logs.json", ".gemini/tmp/app/logs.json")
    disk.write(".gemini/tmp/app/.project_root", str(disk.root))
    mine(memory, disk.home)
    assert sorted(stored(memory)) == sorted([*GEMINI, ("request", "Please use the staging bucket for the uploads")])


def test_a_second_run_adds_only_new_events(memory: Memory, disk: Disk) -> None:
    file = disk.claude()
    disk.put("codex.jsonl", ".codex/sessions/rollout-1.jsonl")
    disk.put("gemini.jsonl", ".gemini/tmp/app/chats/session-1.jsonl")
    first = mine(memory, disk.home)
    again = mine(memory, disk.home)
    assert (first.added, first.merged) == (15, 3)
    assert (again.added, again.merged, again.unchanged) == (0, 0, 3)
    with file.open("a") as out:
        out.write(lines(prompt("Please rename the module to lexing", 99, cwd=str(disk.root))))
    later = mine(memory, disk.home)
    assert (later.added, later.unchanged) == (1, 2)
    copied = shutil.copy(file, disk.home / ".claude" / "copy.jsonl")
    assert mine(memory, Path(copied)).added == 0, "a copied session, as made on resume, is the same"


def test_observations_stored_by_hooks_are_not_imported_again(memory: Memory, disk: Disk, clock: Clock) -> None:
    file = disk.claude()
    clock.now = clock.now.replace(month=3, day=2, hour=9, minute=1)
    payload = {
        "session_id": "5f0c2d1e-0001",
        "cwd": str(disk.root),
        "prompt": "Why does the parser hang on empty input?",
    }
    raw = json.dumps(payload).encode()
    capture(memory, "UserPromptSubmit", raw, folder=disk.root, identify=lambda root: f"id:{root.name}")
    clock.now = clock.now.replace(month=11)
    report = mine(memory, file)
    assert (report.added, report.merged) == (7, 1)
    assert [text for _, text in stored(memory)].count("Why does the parser hang on empty input?") == 1


def test_forgotten_and_purged_observations_are_not_imported_again(memory: Memory, disk: Disk) -> None:
    file = disk.claude()
    mine(memory, file)
    memory.forget([row.id for row in memory.store.all()])
    file.touch()
    assert mine(memory, file).added == 0
    memory.purge()
    os.utime(file, (1, 1))
    assert mine(memory, file).added == 0
    assert list(memory.store.all()) == []


def test_a_dry_run_reports_and_stores_nothing(memory: Memory, disk: Disk) -> None:
    disk.claude()
    report = mine(memory, disk.home, dry_run=True)
    assert report.kinds == {"request": 2, "error": 1, "change": 1, "preference": 1, "finding": 1, "decision": 1}
    assert (list(memory.store.all()), memory.store.projects()) == ([], [])
    assert mine(memory, disk.home).added == 8


def test_since_leaves_older_events_for_a_later_run(memory: Memory, disk: Disk, clock: Clock) -> None:
    disk.claude()
    noon = micros(clock.now.replace(month=3, day=2, hour=9, minute=13, second=30))
    first = mine(memory, disk.home, since=noon)
    assert next(text for _, text in stored(memory)).startswith("Always use ruff")
    assert first.older > 0
    assert mine(memory, disk.home, since=noon).unchanged == 1
    mine(memory, disk.home)
    assert len(stored(memory)) == 8


def test_only_the_selected_agents_are_imported(memory: Memory, disk: Disk) -> None:
    disk.claude()
    disk.put("codex.jsonl", ".codex/sessions/rollout-1.jsonl")
    assert set(mine(memory, disk.home, agents=("codex",)).sessions) == {"codex"}


def test_a_project_where_memory_is_off_is_left_out(memory: Memory, disk: Disk, tmp_path: Path) -> None:
    disk.claude()
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / OFF_FILE).write_text("id:app\n")
    report = mine(memory, disk.home, home=tmp_path / "settings")
    assert (report.added, report.switched_off > 5) == (0, True)


class TestDeletedFolder:
    def test_is_identified_by_its_path_including_subfolders(self, memory: Memory, disk: Disk) -> None:
        payload = lines(
            prompt("Why is the total wrong?"),
            prompt("And where is the tax added?", 2, cwd="/gone/app/src"),
        )
        mine(memory, disk.write("a.jsonl", payload))
        assert {row.project_id for row in memory.store.all()} == {path_identity(Path("/gone/app"))}

    def test_belongs_to_the_checkout_around_it(self, memory: Memory, disk: Disk) -> None:
        worktree = disk.root / ".worktrees" / "fix"
        mine(memory, disk.write("a.jsonl", lines(prompt("Why is the total wrong?", cwd=str(worktree)))))
        [row] = memory.store.all()
        assert (row.project_id, row.folder) == ("id:app", ".worktrees/fix")

    def test_is_identified_by_the_remote_that_codex_recorded(self, memory: Memory, disk: Disk) -> None:
        text = (SESSIONS / "codex.jsonl").read_text().replace("ROOT", "/gone/shop")
        mine(memory, disk.write("rollout-1.jsonl", text))
        assert {row.project_id for row in memory.store.all()} == {"github.com/acme/shop"}

    def test_is_the_project_that_memory_knows_by_that_path(self, memory: Memory, disk: Disk, tmp_path: Path) -> None:
        folder = tmp_path / "once"
        with memory.store.writing() as writer:
            writer.project("host/once", root=str(folder), now=1)
        mine(memory, disk.write("a.jsonl", lines(prompt("Why is the total wrong?", cwd=str(folder)))))
        assert {row.project_id for row in memory.store.all()} == {"host/once"}


def test_an_event_time_in_the_future_is_replaced_by_the_current_time(memory: Memory, disk: Disk, clock: Clock) -> None:
    mine(memory, disk.write("a.jsonl", lines(prompt("Why is the total wrong?", timestamp="2099-01-01T00:00:00Z"))))
    [row] = memory.store.all()
    assert row.created_at == micros(clock.now)


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_event_keys_do_not_depend_on_secrets(memory: Memory, disk: Disk, tmp_path: Path, agent: str) -> None:
    reports = []
    for number, secret in enumerate(("hunter2horse", "hunter3horse")):
        text = f"Please log in with DB_PASSWORD={secret} and look at the logs"
        payload = {
            "claude": [prompt(text, uuid="")],
            "codex": [
                {"type": "session_meta", "payload": {"id": "c1", "cwd": "/gone/app"}},
                {"type": "event_msg", "payload": {"type": "user_message", "message": text}},
            ],
            "gemini": [{"sessionId": "g1", "messageId": 0, "type": "user", "message": text}],
        }[agent]
        disk.write(".project_root", "/gone/app")
        file = disk.write(f"{number}.jsonl", lines(*payload))
        reports.append(mine(memory, file))
    assert [(one.added, one.known) for one in reports] == [(1, 0), (0, 1)]
    [(_, text)] = stored(memory)
    assert "hunter" not in text


def test_an_event_without_a_folder_is_counted(memory: Memory, disk: Disk) -> None:
    report = mine(memory, disk.write("a.jsonl", lines(prompt("Why is the total wrong?", cwd="not/absolute"))))
    assert (report.added, report.without_folder) == (0, 1)


def test_hostile_files_are_reported_and_do_not_stop_the_run(memory: Memory, disk: Disk, tmp_path: Path) -> None:
    folder = disk.claude().parent
    good = lines(prompt("Why is the total wrong?"))
    disk.write(".claude/projects/-app/long.jsonl", '"' + "x" * 9_000_000 + '"\n' + good)
    disk.write(".claude/projects/-app/deep.jsonl", "[" * 200_000 + "\n" + lines(prompt("Where is the tax added?", 2)))
    disk.write(".claude/projects/-app/cut.jsonl", lines(prompt("When is the report sent?", 3)) + '{"type": "us')
    disk.write(".claude/projects/-app/other.jsonl", lines({"kind": "something else"}, {"a": 1}))
    disk.write(".claude/projects/-app/numbers.jsonl", "1\n[2]\nnull\n")
    disk.write(".claude/projects/-app/odd.jsonl", lines(*_odd_records()))
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\0\n" * 9)
    (folder / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "secret.jsonl").write_text(lines(prompt("Secret plans of another folder", 5)))
    os.mkfifo(folder / "pipe.jsonl")
    report = mine(memory, disk.home)
    texts = [text for _, text in stored(memory)]
    assert {"Why is the total wrong?", "Where is the tax added?", "When is the report sent?"} <= set(texts)
    assert not any("Secret plans" in text for text in texts)
    named = "\n".join(report.problems)
    for name in ("long.jsonl:1: a line of more", "deep.jsonl:1: not JSON", "other.jsonl: not a session", "link.jsonl: a link",
                 "pipe.jsonl: not a regular file", "binary.jsonl:1: not JSON"):  # fmt: skip
        assert name in named
    assert "cut.jsonl" not in named, "the last line of a running session is incomplete"


def _odd_records() -> Iterable[dict[str, Any]]:
    """Yield records with unexpected values in every field."""
    whole = prompt("Odd", 7, toolUseResult={}, origin={"kind": "human"}, attachment={"type": "queued_command"})
    yield whole
    odd_values: tuple[Any, ...] = (
        None,
        7,
        [],
        {},
        [[{}]],
        {"content": [None, {"type": "tool_result"}, {"type": "text"}]},
    )
    for name in whole:
        for value in odd_values:
            for kind in ("user", "assistant", "attachment"):
                yield {**whole, "type": kind, name: value}


@pytest.mark.parametrize("fixture", ["claude.jsonl", "codex.jsonl", "gemini.jsonl", "copilot.jsonl"])
def test_a_truncated_session_is_read_up_to_its_end(memory: Memory, disk: Disk, fixture: str) -> None:
    whole = disk.put(fixture, f"x/{fixture}").read_text()
    for end in range(0, len(whole), max(1, len(whole) // 25)):
        report = mine(memory, disk.write(f"x/{fixture}", whole[:end]))
        assert report.problems == []
    disk.write(f"x/{fixture}", whole)
    mine(memory, disk.home)
    assert len({text for _, text in stored(memory)}) == len(stored(memory))


_KILLED = """
import os, signal, sys
from pathlib import Path
from deltos.domains.memory import mine as module
from deltos.domains.memory.core.memory import Memory
from deltos.hook_settings import HookSettings
from deltos.open_stores import open_foreign_tables
from deltos.progress import Silent
from deltos.store.sqlite.memory.reader import SqliteObservations

home, place, batches = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
module._BATCH_EVENTS = 2
memory = Memory(SqliteObservations(home / "memory.db"))
miner = module.Miner(memory, identify=lambda root: "p", settings=HookSettings(home))
writing, left = memory.store.writing, [batches]
def counted():
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return writing()
memory.store.writing = counted
miner.mine(module.find_transcripts(place, miner.report), Silent())
print(miner.report.added)
"""


def test_a_killed_run_can_be_continued_without_duplicates(disk: Disk, tmp_path: Path) -> None:
    disk.claude()
    disk.put("codex.jsonl", ".codex/sessions/rollout-1.jsonl")

    def run(home: str, batches: int) -> int:
        command = [sys.executable, "-c", _KILLED, str(tmp_path / home), str(disk.home), str(batches)]
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode

    assert run("whole", 1_000) == 0
    for batches in (1, 2, 3):
        assert run("killed", batches) == -signal.SIGKILL
    assert run("killed", 1_000) == 0
    assert _texts(tmp_path / "killed") == _texts(tmp_path / "whole") != []


def _texts(home: Path) -> list[tuple[str, str]]:
    from deltos.store.sqlite.memory.reader import SqliteObservations

    store = SqliteObservations(home / "memory.db")
    try:
        return sorted((row.id, row.text) for row in store.all())
    finally:
        store.close()
