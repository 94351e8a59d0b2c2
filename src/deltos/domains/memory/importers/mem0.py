"""mem0: the JSON of `get_all` or of an export.

The format was learned from mem0ai 2.2.1: mem0/memory/main.py, mem0/client/main.py and the documentation of exports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.importers.records import (
    ImportedRecord,
    ImportItem,
    Record,
    RejectedRecord,
    append_tags,
    redacted_field,
    stable_id,
    text_field,
)
from deltos.text.times import parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "mem0"
_LISTS = ("results", "memories")


def is_export(value: object) -> bool:
    """Whether a JSON document is a list of mem0's memories."""
    return any("memory" in row for row in _rows(value)[:20])


def read_items(value: object) -> Iterator[ImportItem]:
    """Yield each memory."""
    for number, row in enumerate(_rows(value), start=1):
        name = f"memory {number}"
        text = redacted_field(row, "memory")
        if not text:
            yield RejectedRecord(name, "no text")
            continue
        categories = row.get("categories")
        tags = [tag for tag in (categories if isinstance(categories, list) else []) if isinstance(tag, str)]
        whose = redacted_field(row, "user_id") or redacted_field(row, "agent_id")
        times = {
            part: text_field(row, part) for part in ("created_at", "updated_at") if parse_iso(text_field(row, part))
        }
        session = {"session_id": run} if (run := text_field(row, "run_id")) else {}
        record = {
            "id": text_field(row, "id") or stable_id(SOURCE, whose, text),
            "text": append_tags(text, tags),
            "kind": "finding",
            "source": f"{SOURCE}, {whose}" if whose else SOURCE,
        }
        yield ImportedRecord(name, {**record, **times, **session})


def _rows(value: object) -> list[Record]:
    """Return the memories in a document, which may be nested in an object."""
    if isinstance(value, dict):
        value = next((value[name] for name in _LISTS if isinstance(value.get(name), list)), [])
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
