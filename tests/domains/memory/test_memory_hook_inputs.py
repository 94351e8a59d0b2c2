"""Hook inputs of every agent and event; each example names the file and version that document its format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.hook_capture import capture

from deltos.domains.memory.capture.agents import agent_names
from deltos.domains.memory.capture.tool_use import normalize_name

if TYPE_CHECKING:
    from deltos.domains.memory.core.memory import Memory

FOLDER = Path(__file__).parent / "hook_inputs"
EXAMPLES = [
    (file.stem, number, row)
    for file in sorted(FOLDER.glob("*.json"))
    for number, row in enumerate(json.loads(file.read_text()))
]


def example_name(item: object) -> str:
    return item["event"] if isinstance(item, dict) else str(item)


@pytest.mark.parametrize(("agent", "number", "row"), EXAMPLES, ids=example_name)
def test_an_example_produces_the_expected_observation(
    agent: str, number: int, row: dict[str, Any], memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "app"
    (root / "src").mkdir(parents=True)
    raw = json.dumps(row["payload"]).replace("ROOT", str(root)).encode()
    capture(memory, row["event"], raw, folder=tmp_path, identify=lambda root: f"id:{root.name}")
    stored = [[found.kind, found.text] for found in memory.store.all()]
    assert stored == ([row["kept"]] if row["kept"] else [])
    assert [session.agent for session in memory.store.sessions()] in ([], [agent])
    assert row["learned_from"], f"example {number} of {agent} names no source"


def test_every_supported_event_has_an_example() -> None:
    learned = {normalize_name(row["event"]) for _, _, row in EXAMPLES}
    windsurf = {"preuserprompt", "postwritecode", "postruncommand", "postcascaderesponse"}
    assert set(agent_names().events) - learned == windsurf | {"agentturncomplete"}, (
        "every event needs an example, except events tested in other files"
    )
