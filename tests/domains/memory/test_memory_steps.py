"""The agent's list of steps: stored as one observation per session, and shown when the next session starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from benchmarks.hook_capture import capture

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock

STEPS = (
    ("completed", "Read the parser"),
    ("completed", "Add the flag"),
    ("in_progress", "Test it"),
    ("pending", "Ship"),
)


def send(memory: Memory, root: Path, event: str, **fields: object) -> str:
    raw = json.dumps({"session_id": "s1", "cwd": str(root), **fields}).encode()
    return capture(memory, event, raw, folder=root, identify=lambda _: "p")


def send_steps(memory: Memory, root: Path, steps: tuple[tuple[str, str], ...], session: str = "s1") -> None:
    todos = [{"content": text, "status": status, "activeForm": text} for status, text in steps]
    send(memory, root, "PostToolUse", session_id=session, tool_name="TodoWrite", tool_input={"todos": todos})


def test_the_next_session_learns_how_many_steps_are_done_and_which_is_next(memory: Memory, tmp_path: Path) -> None:
    send_steps(memory, tmp_path, STEPS)
    context = send(memory, tmp_path, "SessionStart", session_id="s2")
    assert "2 of 4 steps done, in progress: Test it, next: Ship." in context


def test_a_later_state_of_the_steps_replaces_the_earlier_one(memory: Memory, tmp_path: Path, clock: Clock) -> None:
    for done in range(4):
        clock.pass_time(minutes=1)
        send_steps(memory, tmp_path, tuple(("completed" if at < done else "pending", f"Step {at}") for at in range(4)))
    rows = list(memory.store.all())
    assert [row.text.splitlines()[0] for row in rows] == ["3 of 4 steps done, next: Step 3."]


def test_finished_steps_are_not_shown(memory: Memory, tmp_path: Path) -> None:
    send_steps(memory, tmp_path, tuple(("completed", text) for _, text in STEPS))
    assert "steps done" not in send(memory, tmp_path, "SessionStart", session_id="s2")


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("PostToolUse", {"tool_name": "update_plan", "tool_input": {"plan": [{"step": "Ship", "status": "pending"}]}}),
        (
            "AfterTool",
            {"tool_name": "write_todos", "tool_input": {"todos": [{"description": "Ship", "status": "pending"}]}},
        ),
        ("tool.execute.after", {"tool": "todowrite", "args": {"todos": [{"content": "Ship", "status": "pending"}]}}),
        ("postToolUse", {"toolName": "update_todo", "toolArgs": json.dumps({"todos": "- [ ] Ship"})}),
    ],
)
def test_the_steps_of_other_agents_are_stored(
    memory: Memory, tmp_path: Path, event: str, fields: dict[str, object]
) -> None:
    send(memory, tmp_path, event, **fields)
    assert [row.text for row in memory.store.all()] == ["0 of 1 steps done, next: Ship."]


def test_a_secret_in_a_step_is_redacted(memory: Memory, tmp_path: Path) -> None:
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    send_steps(memory, tmp_path, (("pending", f"Deploy with {token}"),))
    assert token not in "".join(row.text for row in memory.store.all())
