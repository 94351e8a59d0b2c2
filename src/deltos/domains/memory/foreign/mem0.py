"""mem0: the JSON that `get_all` and an export give. Learned from mem0ai 2.2.1: mem0/memory/main.py, mem0/client/main.py
and its documentation of exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.foreign.record import Found, Record, Refused, Taken, foreign_id, said_in, tagged, text_in
from deltos.text.times import parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "mem0"
_LISTS = ("results", "memories")


def is_export(value: object) -> bool:
    """Whether a JSON document is a list of mem0's memories."""
    return any("memory" in row for row in _rows(value)[:20])


def found_in(value: object) -> Iterator[Found]:
    """Each memory."""
    for number, row in enumerate(_rows(value), start=1):
        name = f"memory {number}"
        text = said_in(row, "memory")
        if not text:
            yield Refused(name, "it says nothing")
            continue
        categories = row.get("categories")
        tags = [tag for tag in (categories if isinstance(categories, list) else []) if isinstance(tag, str)]
        whose = said_in(row, "user_id") or said_in(row, "agent_id")
        times = {part: text_in(row, part) for part in ("created_at", "updated_at") if parse_iso(text_in(row, part))}
        session = {"session_id": run} if (run := text_in(row, "run_id")) else {}
        record = {
            "id": text_in(row, "id") or foreign_id(SOURCE, whose, text),
            "text": tagged(text, tags),
            "kind": "finding",
            "source": f"{SOURCE}, {whose}" if whose else SOURCE,
        }
        yield Taken(name, {**record, **times, **session})


def _rows(value: object) -> list[Record]:
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [])
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
