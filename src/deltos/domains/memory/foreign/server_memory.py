"""The official MCP server-memory: JSON Lines of entities with observations, and relations. Learned from
@modelcontextprotocol/server-memory 2026.8.31: dist/index.js, which wrote the file of our tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.foreign.record import Found, Record, Refused, Taken, foreign_id, said, said_in

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = "server-memory"


def is_line(record: Record) -> bool:
    """Whether a record is a line of its file."""
    return record.get("type") in ("entity", "relation") and "text" not in record


def found_in(name: str, record: Record) -> Iterator[Found]:
    """Each observation of an entity, named after it; a relation as a sentence."""
    if record["type"] == "relation":
        yield _relation(name, record)
        return
    entity, kind = said_in(record, "name"), said_in(record, "entityType")
    observations = record.get("observations")
    texts = [text for text in (observations if isinstance(observations, list) else []) if isinstance(text, str)]
    told = [said(text.strip()) for text in texts if text.strip()]
    if not entity or not told:
        yield Refused(name, f"the entity '{entity[:80]}' has no observations")
    for text in told if entity else ():
        head = f"{entity} ({kind})" if kind else entity
        yield _taken(name, f"{head}: {text}", entity, text)


def _relation(name: str, record: Record) -> Found:
    parts = [said_in(record, part) for part in ("from", "relationType", "to")]
    return _taken(name, " ".join(parts), *parts) if all(parts) else Refused(name, "a relation without both ends")


def _taken(name: str, text: str, *told: str) -> Taken:
    return Taken(name, {"id": foreign_id(SOURCE, *told), "text": text, "kind": "finding", "source": SOURCE})
