"""The official MCP server-memory: JSON Lines of entities with observations, and of relations.

The format was learned from @modelcontextprotocol/server-memory 2026.8.31: dist/index.js, which wrote the file in the
tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.importers.records import (
    ImportedRecord,
    ImportItem,
    Record,
    RejectedRecord,
    redacted,
    redacted_field,
    stable_id,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "server-memory"


def is_line(record: Record) -> bool:
    """Whether a record is a line of server-memory's file."""
    return record.get("type") in ("entity", "relation") and "text" not in record


def read_items(name: str, record: Record) -> Iterator[ImportItem]:
    """Yield the observations of an entity, each prefixed with its name, or a relation as a sentence."""
    if record["type"] == "relation":
        yield _relation(name, record)
        return
    entity, kind = redacted_field(record, "name"), redacted_field(record, "entityType")
    observations = record.get("observations")
    texts = [text for text in (observations if isinstance(observations, list) else []) if isinstance(text, str)]
    statements = [redacted(text.strip()) for text in texts if text.strip()]
    if not entity or not statements:
        yield RejectedRecord(name, f"the entity '{entity[:80]}' has no observations")
    for text in statements if entity else ():
        head = f"{entity} ({kind})" if kind else entity
        yield _record(name, f"{head}: {text}", entity, text)


def _relation(name: str, record: Record) -> ImportItem:
    parts = [redacted_field(record, part) for part in ("from", "relationType", "to")]
    return (
        _record(name, " ".join(parts), *parts) if all(parts) else RejectedRecord(name, "a relation without both ends")
    )


def _record(name: str, text: str, *statements: str) -> ImportedRecord:
    return ImportedRecord(
        name, {"id": stable_id(SOURCE, *statements), "text": text, "kind": "finding", "source": SOURCE}
    )
