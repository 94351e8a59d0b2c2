"""Read data of mcp-memory-service: the database `sqlite_vec.db`, or a JSON export.

The format is that of mcp-memory-service 12.4.0: storage/mixins/migrations.py and sync/exporter.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.core.model import KINDS
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
from deltos.text.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.memory.importers.claude_mem import ClaudeMemTables

SOURCE = "mcp-memory-service"
_MAX_TIMESTAMP_SECONDS = 253_402_300_799  # time at the end of the year 9999


def is_export(value: object) -> bool:
    """Whether a JSON document is an export of mcp-memory-service."""
    return isinstance(value, dict) and isinstance(value.get("memories"), list) and "export_metadata" in value


def read_export(value: object) -> Iterator[ImportItem]:
    """Yield the memories in a JSON export."""
    memories = value.get("memories") if isinstance(value, dict) else None
    return _read_items(row for row in (memories if isinstance(memories, list) else []) if isinstance(row, dict))


def read_tables(tables: ClaudeMemTables) -> Iterator[ImportItem]:
    """Yield the memories in a database, unless it belongs to another program."""
    return _read_items(
        row for row in tables.rows("memories") if "content_hash" in row and row.get("deleted_at") is None
    )


def _read_items(rows: Iterable[Record]) -> Iterator[ImportItem]:
    for number, row in enumerate(rows, start=1):
        name = f"memory {number}"
        text = redacted_field(row, "content")
        if not text:
            yield RejectedRecord(name, "no text")
            continue
        kind = text_field(row, "memory_type")
        times = {part: iso(moment) for part in ("created_at", "updated_at") if (moment := _micros(row.get(part)))}
        record = {
            "id": stable_id(SOURCE, text),
            "text": append_tags(text, _tags(row.get("tags"))),
            "kind": kind if kind in KINDS else "finding",
            "source": SOURCE,
        }
        yield ImportedRecord(name, {**record, **times})


def _micros(seconds: object) -> int:
    """Return a time in seconds as microseconds, or 0 if it is not a valid time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < _MAX_TIMESTAMP_SECONDS:
        return 0
    return int(seconds * 1_000_000)


def _tags(value: object) -> list[str]:
    """Return the tags of a record, which are a list in exports and a comma-separated string in the database."""
    tags = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    return [tag.strip() for tag in tags if isinstance(tag, str) and tag.strip()]
