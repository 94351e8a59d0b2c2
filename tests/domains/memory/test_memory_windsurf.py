"""Hook input of Windsurf, which wraps its fields in `tool_info`."""

from __future__ import annotations

from pathlib import Path

from deltos.domains.memory.capture.events import Action, Event, EventType
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.payload import Payload

COMMON = {
    "trajectory_id": "t1",
    "execution_id": "e1",
    "timestamp": "2026-02-09T10:30:00Z",
    "model_name": "any",
}


def read_windsurf_event(action: str, **tool_info: object) -> Event:
    event = read_event(action, Payload({"agent_action_name": action, **COMMON, "tool_info": tool_info}))
    assert event is not None
    assert (event.agent, event.session_id) == ("windsurf", "t1")
    return event


def test_a_windsurf_prompt_and_answer_are_read() -> None:
    prompt = read_windsurf_event("pre_user_prompt", user_prompt="Use SQLite from now on")
    assert (prompt.event_type, prompt.text) == (EventType.PROMPTED, "Use SQLite from now on")
    answer = read_windsurf_event("post_cascade_response", response="We decided to use SQLite.")
    assert (answer.event_type, answer.text) == (EventType.ANSWERED, "We decided to use SQLite.")


def test_a_windsurf_edit_is_read_with_its_file_and_lines() -> None:
    tool = read_windsurf_event(
        "post_write_code", file_path="/p/a.py", edits=[{"old_string": "a", "new_string": "b"}]
    ).tool
    assert tool is not None
    assert (tool.action, tool.files, tool.edits) == (Action.EDIT, ("/p/a.py",), (("a", "b"),))


def test_a_windsurf_command_is_read_with_its_text_and_folder() -> None:
    event = read_windsurf_event("post_run_command", command_line="npm install zod", cwd="/p")
    assert event.folder == Path("/p")
    assert event.tool is not None
    assert (event.tool.action, event.tool.subject) == (Action.COMMAND, "npm install zod")
