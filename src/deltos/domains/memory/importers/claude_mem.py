"""Read data of claude-mem: the database `~/.claude-mem/claude-mem.db`, or a JSON export.

The format is that of claude-mem 13.25.3: plugin/sqlite/SessionStore.js and scripts/export-memories.ts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from deltos.domains.memory.capture.drafts import extract_draft
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.payload import Payload
from deltos.domains.memory.importers.records import (
    ImportedRecord,
    ImportItem,
    Record,
    RejectedRecord,
    append_tags,
    redacted,
    redacted_field,
    stable_id,
    text_field,
)
from deltos.text.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KINDS = {"decision": "decision", "feature": "change", "refactor": "change", "change": "change"}
_SUMMARY_FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_MAX_MILLISECONDS = 253_402_300_799_000  # time at the end of the year 9999
SOURCE = "claude-mem"


class ClaudeMemTables(Protocol):
    """The tables of a claude-mem database."""

    def rows(self, table: str) -> Iterator[Record]:
        """Yield the rows of a table; none if the table does not exist."""


class ExportedTables:
    """The tables in a JSON export of claude-mem."""

    def __init__(self, exported: object) -> None:
        self._exported: Record = exported if isinstance(exported, dict) else {}

    def rows(self, table: str) -> Iterator[Record]:
        """Yield the rows of a table; none if the export does not contain the table."""
        names = {"sdk_sessions": "sessions", "session_summaries": "summaries", "user_prompts": "prompts"}
        rows = self._exported.get(names.get(table, table))
        yield from (row for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict))


def is_export(value: object) -> bool:
    """Whether a JSON document is an export of claude-mem."""
    return isinstance(value, dict) and isinstance(value.get("observations"), list) and "exportedAt" in value


def read_items(tables: ClaudeMemTables) -> Iterator[ImportItem]:
    """Yield the observations, summaries and prompts in the tables."""
    sessions = list(tables.rows("sdk_sessions"))
    by_memory = {text_field(row, "memory_session_id"): row for row in sessions}
    by_content = {text_field(row, "content_session_id"): row for row in sessions}
    for row in tables.rows("observations"):
        yield _observation_item(row, by_memory)
    for row in tables.rows("session_summaries"):
        yield _summary_item(row, by_memory)
    for row in tables.rows("user_prompts"):
        yield _prompt_item(row, by_content)


def _observation_item(row: Record, sessions: dict[str, Record]) -> ImportItem:
    facts = [f"- {redacted(fact)}" for fact in _text_list(row.get("facts"))]
    fields = [redacted_field(row, name) for name in ("title", "subtitle", "narrative", "text")]
    text = append_tags("\n".join(filter(None, (*fields, *facts))), _text_list(row.get("concepts")))
    name = f"observation {row.get('id')}"
    if not any(fields) and not facts:
        return RejectedRecord(name, "no text")
    kind = _KINDS.get(text_field(row, "type"), "finding")
    files = [*_text_list(row.get("files_modified")), *_text_list(row.get("files_read"))]
    return _imported_record(name, row, sessions, text=text, kind=kind, files=list(dict.fromkeys(files)))


def _summary_item(row: Record, sessions: dict[str, Record]) -> ImportItem:
    parts = [
        f"{part.replace('_', ' ').capitalize()}: {text}"
        for part in _SUMMARY_FIELDS
        if (text := redacted_field(row, part))
    ]
    name = f"summary {row.get('id')}"
    if not parts:
        return RejectedRecord(name, "no text")
    return _imported_record(name, row, sessions, text="\n".join(parts), kind="summary")


def _prompt_item(row: Record, sessions: dict[str, Record]) -> ImportItem:
    """Return a record for a prompt, classified like a prompt from a hook."""
    name = f"prompt {row.get('id')}"
    event = read_event("UserPromptSubmit", Payload({"prompt": text_field(row, "prompt_text")}))
    draft = extract_draft(event) if event else None
    if draft is None:
        return RejectedRecord(name, "too short to be remembered")
    score = {} if draft.score is None else {"score": draft.score}
    session = sessions.get(text_field(row, "content_session_id"), {})
    fields = {**row, "memory_session_id": text_field(session, "memory_session_id"), "project": session.get("project")}
    imported = _imported_record(
        name, fields, {text_field(session, "memory_session_id"): session}, text=draft.text, kind=draft.kind
    )
    return imported._replace(record={**imported.record, **score, "source": "user"})


def _imported_record(name: str, row: Record, sessions: dict[str, Record], **fields: object) -> ImportedRecord:
    """Convert a row of a claude-mem table to a record for import."""
    session = sessions.get(text_field(row, "memory_session_id"), {})
    session_id = text_field(session, "content_session_id") or text_field(row, "memory_session_id")
    record = {
        "id": stable_id(SOURCE, session_id, row.get("created_at_epoch"), fields["text"]),
        "source": SOURCE,
        "project_id": text_field(row, "merged_into_project") or text_field(row, "project"),
        **({"session_id": session_id} if session_id else {}),
        **_created_at(row),
        **fields,
    }
    return ImportedRecord(name, record)


def _created_at(row: Record) -> dict[str, str]:
    moment = row.get("created_at_epoch")
    if isinstance(moment, int) and 0 < moment < _MAX_MILLISECONDS:
        return {"created_at": iso(moment * 1_000)}
    return {"created_at": text_field(row, "created_at")} if text_field(row, "created_at") else {}


def _text_list(value: object) -> list[str]:
    """Return the texts in a list, which may be encoded as a JSON string."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    items: Iterable[object] = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str) and item.strip()]
