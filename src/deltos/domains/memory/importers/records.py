"""Records read from the data of another memory program, and functions that build such records."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from deltos.domains.memory.core.memory import derive_id
from deltos.redaction.redact import redact, redact_tags

Record: TypeAlias = dict[str, Any]


class ImportedRecord(NamedTuple):
    """A record with the fields of Deltos JSON Lines; `name` identifies it in the imported data."""

    name: str
    record: Record


class RejectedRecord(NamedTuple):
    """A record that cannot be imported, and the reason."""

    name: str
    why: str


ImportItem: TypeAlias = ImportedRecord | RejectedRecord


def stable_id(*parts: object) -> str:
    """Return an id for a record; the same record gets the same id on every import and every machine.

    The id is derived from redacted text, so that no secret can be guessed from it.
    """
    return derive_id("\n".join(redact(str(part)).text for part in parts))


def text_field(row: Record, name: str) -> str:
    """Return the text of a field, or an empty string if the field contains no text."""
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def redacted(text: str) -> str:
    """Redact the secrets in a text; texts must be redacted before they are combined."""
    return redact(text).text


def redacted_field(row: Record, name: str) -> str:
    """Return the text of a field of a record, with secrets redacted."""
    return redacted(text_field(row, name))


def append_tags(text: str, tags: list[str]) -> str:
    """Return a text with its tags appended as `#tag`."""
    words = [f"#{'-'.join(tag.split())}" for tag in redact_tags(tags) if tag.strip()]
    missing = [word for word in dict.fromkeys(words) if word not in text.split()]
    return "\n".join(filter(None, (text, " ".join(missing))))
