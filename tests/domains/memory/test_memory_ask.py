"""`deltos memory ask on`: hooks ask the agent, once per session and only after work, to remember what matters."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from deltos.budget import estimate_tokens
from deltos.cli.hook import main as run_hook
from deltos.cli.main import main as run_deltos
from deltos.domains.memory.capture.journal import Journal

if TYPE_CHECKING:
    from pathlib import Path


class Session:
    """A session of Claude Code in a project whose hooks ask the agent."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home

    def send(self, event: str, **fields: object) -> str:
        """Send an event to the hook and return its output."""
        payload = {"session_id": "s1", "cwd": str(self.root), **fields}
        output = io.StringIO()
        environ = {"DELTOS_HOME": str(self.home)}
        run_hook([event], stdin=io.BytesIO(json.dumps(payload).encode()), stdout=output, environ=environ)
        return output.getvalue()

    def edit_file(self, **fields: object) -> None:
        """Report an edit of a file to the hook."""
        edit = {"file_path": str(self.root / "a.py"), "old_string": "a", "new_string": "b"}
        self.send("PostToolUse", tool_name="Edit", tool_input=edit, tool_response={}, **fields)

    def end_turn(self, **fields: object) -> str:
        """Report the end of a turn to the hook and return its output."""
        return self.send("Stop", last_assistant_message="The parser is fixed now.", **fields)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    assert run_deltos(["memory", "ask", "on"]) == 0
    root = tmp_path / "app"
    root.mkdir()
    return Session(root, tmp_path / "home")


def test_the_agent_is_asked_once_per_session_to_remember_when_it_stops_after_work(session: Session) -> None:
    session.edit_file()
    answer = json.loads(session.end_turn())
    assert answer["decision"] == "block"
    assert "`remember`" in answer["reason"]
    assert estimate_tokens(answer["reason"]) <= 300
    session.edit_file()
    assert session.end_turn() == "", "a session is asked only once"
    session.edit_file(session_id="s2")
    assert session.end_turn(session_id="s2") != "", "another session is asked too"


def test_the_agent_is_not_asked_to_remember_after_little_work(session: Session) -> None:
    assert session.end_turn() == ""
    session.send("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response={"stdout": "a.py"})
    assert session.end_turn() == ""


def test_the_agent_is_not_asked_to_remember_while_it_answers_a_hook_or_when_a_subagent_stops(session: Session) -> None:
    session.edit_file()
    assert session.end_turn(stop_hook_active=True) == ""
    assert session.send("SubagentStop", last_assistant_message="Found it.") == ""


def test_agents_that_cannot_continue_after_stopping_are_not_asked_to_remember(session: Session) -> None:
    session.send("afterFileEdit", conversation_id="s1", file_path="a.py", edits=[{"old_string": "", "new_string": "b"}])
    assert session.send("afterAgentResponse", conversation_id="s1", text="Done.") == ""


def test_before_compaction_the_agent_is_asked_to_summarise_decisions(session: Session) -> None:
    assert "decisions with their reasons" in session.send("PreCompact", trigger="auto", custom_instructions="")


def test_the_turn_is_recorded_even_if_the_agent_is_asked_to_remember(session: Session) -> None:
    session.edit_file()
    before = len(Journal(session.home).names())
    session.end_turn()
    assert len(Journal(session.home).names()) == before + 1


def test_the_command_ask_off_stops_the_hooks_from_asking_the_agent_to_remember(session: Session) -> None:
    assert run_deltos(["memory", "ask", "off"]) == 0
    session.edit_file()
    assert session.end_turn() == ""
    assert session.send("PreCompact", trigger="auto") == ""
    assert not (session.home / "asked").exists()


def test_the_files_contain_no_session_id(session: Session) -> None:
    session.edit_file()
    session.end_turn()
    names = [path.name for path in (session.home / "asked").iterdir()]
    assert len(names) == 1
    assert names[0].endswith(".asked")
    assert "s1" not in names[0][:4]
