"""One real event of each kind and agent, with the file and version that its shape was learned from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.memory.agents import HAPPENINGS
from deltos.domains.memory.capture import capture
from deltos.domains.memory.tool_use import key_of

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory

FOLDER = Path(__file__).parent / "told"
TOLD = [
    (file.stem, number, row)
    for file in sorted(FOLDER.glob("*.json"))
    for number, row in enumerate(json.loads(file.read_text()))
]


def told_name(item: object) -> str:
    return item["event"] if isinstance(item, dict) else str(item)


@pytest.mark.parametrize(("agent", "number", "row"), TOLD, ids=told_name)
def test_an_event_is_kept_as_what_it_tells(
    agent: str, number: int, row: dict[str, Any], memory: Memory, tmp_path: Path
) -> None:
    root = tmp_path / "app"
    (root / "src").mkdir(parents=True)
    raw = json.dumps(row["payload"]).replace("ROOT", str(root)).encode()
    capture(memory, row["event"], raw, folder=tmp_path, identify=lambda root: f"id:{root.name}")
    kept = [[found.kind, found.text] for found in memory.store.all()]
    assert kept == ([row["kept"]] if row["kept"] else [])
    assert [session.agent for session in memory.store.sessions()] in ([], [agent])
    assert row["learned_from"], f"{agent} {number} says where it was learned"


def test_every_event_that_memory_hears_was_learned_from_an_agent() -> None:
    learned = {key_of(row["event"]) for _, _, row in TOLD}
    windsurf = {"preuserprompt", "postwritecode", "postruncommand", "postcascaderesponse"}
    assert set(HAPPENINGS) - learned == windsurf | {"agentturncomplete"}, "those have tests of their own"
