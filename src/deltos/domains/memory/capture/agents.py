"""Read agents.json: each agent's names of events and tools, and the texts that agent programs insert."""

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from deltos.domains.memory.capture.events import Action, EventType


class AgentNames(NamedTuple):
    """Event types and tool actions by the names that agents use for them (lower case, no punctuation).

    Prompts that start with one of `program_prompts` were written by the agent's program. Outputs that start with one of
    `stopped_outputs` come from tools that the user stopped or refused, or that continue in the background.
    """

    events: dict[str, EventType]
    actions: dict[str, Action]
    actions_by_ending: dict[str, Action]
    program_prompts: tuple[str, ...]
    stopped_outputs: tuple[str, ...]


@cache
def agent_names() -> AgentNames:
    """Return the contents of agents.json; cached."""
    data = json.loads(Path(__file__).with_name("agents.json").read_text("utf-8"))
    return AgentNames(
        {name: EventType(kind) for kind, names in data["events"].items() for name in names.split()},
        {name: Action(kind) for kind, names in data["actions"].items() for name in names.split()},
        {name: Action(kind) for kind, names in data["actions_by_ending"].items() for name in names.split()},
        tuple(data["program_prompts"]),
        tuple(data["stopped_outputs"]),
    )
