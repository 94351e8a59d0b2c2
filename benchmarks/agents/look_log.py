"""Log of the commands that agents ran (one JSON object per line), and the number of tokens of each output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CHARACTERS_PER_TOKEN = 4
MAX_OUTPUT_CHARACTERS = 30_000  # the same limit as in the shell tools of agents


@dataclass(frozen=True, slots=True)
class Look:
    """A command of an agent and its output.

    `resident` marks the tool list, which is sent to the model without a command.
    """

    task: str
    command: str
    shown: str
    resident: bool = False

    @property
    def tokens(self) -> int:
        return tokens(self.command) + tokens(self.shown)


def tokens(text: str) -> int:
    """Return the estimated number of tokens in a text: a quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def truncate_output(text: str) -> str:
    """Truncate a text as shell tools do, and append the number of omitted characters."""
    if len(text) <= MAX_OUTPUT_CHARACTERS:
        return text
    return f"{text[:MAX_OUTPUT_CHARACTERS]}\n[{len(text) - MAX_OUTPUT_CHARACTERS} more characters not shown]"


def write(log: Path, look: Look) -> None:
    """Append an entry to a log."""
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(look), ensure_ascii=False) + "\n")


def read(log: Path) -> list[Look]:
    """Return the entries of a log, in order."""
    if not log.exists():
        return []
    return [Look(**json.loads(line)) for line in log.read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True)
class Cost:
    """Total number of calls and tokens of commands."""

    calls: int = 0
    tokens: int = 0
    resident_tokens: int = 0

    @property
    def all_tokens(self) -> int:
        return self.tokens + self.resident_tokens


def total_cost(looks: Iterable[Look]) -> Cost:
    """Return the total calls and tokens of log entries. The tool list counts once."""
    looked = list(looks)
    calls = [look for look in looked if not look.resident]
    resident = max((tokens(look.shown) for look in looked if look.resident), default=0)
    return Cost(len(calls), sum(look.tokens for look in calls), resident)


def format_tool_list(tools: list[dict[str, Any]], instructions: str) -> str:
    """Format the tools as a client sends them to the model: instructions, names, descriptions and input schemas."""
    shown = [
        {"name": tool["name"], "description": tool.get("description", ""), "input_schema": tool["inputSchema"]}
        for tool in tools
    ]
    return instructions + "\n" + json.dumps(shown, ensure_ascii=False, separators=(",", ":"))


def visible_result(result: dict[str, Any]) -> str:
    """Return the part of a tool result that clients send to the model.

    This is the structured content, or the text if there is no structured content.
    """
    structured = result.get("structuredContent")
    if structured is not None and not result.get("isError"):
        return json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    return "\n".join(part.get("text", "") for part in result.get("content", ()) if part.get("type") == "text")
