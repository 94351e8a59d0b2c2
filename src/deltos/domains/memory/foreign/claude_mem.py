"""claude-mem: its database `~/.claude-mem/claude-mem.db` and the JSON that its export writes. Learned from claude-mem
13.25.3: plugin/sqlite/SessionStore.js and scripts/export-memories.ts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Protocol

from deltos.domains.memory.admit import admit
from deltos.domains.memory.agents import read_event
from deltos.domains.memory.foreign.record import (
    Found,
    Record,
    Refused,
    Taken,
    foreign_id,
    said,
    said_in,
    tagged,
    text_in,
)
from deltos.domains.memory.payload import Payload
from deltos.text.times import iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_KINDS = {"decision": "decision", "feature": "change", "refactor": "change", "change": "change"}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_MOST_MILLISECONDS = 253_402_300_799_000  # the year 9999
SOURCE = "claude-mem"


class Tables(Protocol):
    """Gives the rows of tables by name."""

    def rows(self, table: str) -> Iterator[Record]:
        """The rows of a table; none where there is no such table."""


class ExportedTables:
    """The tables of an export."""

    def __init__(self, exported: object) -> None:
        self._exported: Record = exported if isinstance(exported, dict) else {}

    def rows(self, table: str) -> Iterator[Record]:
        names = {"sdk_sessions": "sessions", "session_summaries": "summaries", "user_prompts": "prompts"}
        rows = self._exported.get(names.get(table, table))
        yield from (row for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict))


def is_export(value: object) -> bool:
    """Whether a JSON document is an export of claude-mem."""
    return isinstance(value, dict) and isinstance(value.get("observations"), list) and "exportedAt" in value


def found_in(tables: Tables) -> Iterator[Found]:
    """The observations, summaries and prompts."""
    sessions = list(tables.rows("sdk_sessions"))
    by_memory = {text_in(row, "memory_session_id"): row for row in sessions}
    by_content = {text_in(row, "content_session_id"): row for row in sessions}
    for row in tables.rows("observations"):
        yield _observation(row, by_memory)
    for row in tables.rows("session_summaries"):
        yield _summary(row, by_memory)
    for row in tables.rows("user_prompts"):
        yield _prompt(row, by_content)


def _observation(row: Record, sessions: dict[str, Record]) -> Found:
    facts = [f"- {said(fact)}" for fact in _list(row.get("facts"))]
    told = [said_in(row, name) for name in ("title", "subtitle", "narrative", "text")]
    text = tagged("\n".join(filter(None, (*told, *facts))), _list(row.get("concepts")))
    name = f"observation {row.get('id')}"
    if not any(told) and not facts:
        return Refused(name, "it says nothing")
    kind = _KINDS.get(text_in(row, "type"), "finding")
    files = [*_list(row.get("files_modified")), *_list(row.get("files_read"))]
    return _taken(name, row, sessions, text=text, kind=kind, files=list(dict.fromkeys(files)))


def _summary(row: Record, sessions: dict[str, Record]) -> Found:
    parts = [f"{part.replace('_', ' ').capitalize()}: {text}" for part in _SUMMARY if (text := said_in(row, part))]
    name = f"summary {row.get('id')}"
    if not parts:
        return Refused(name, "it says nothing")
    return _taken(name, row, sessions, text="\n".join(parts), kind="summary")


def _prompt(row: Record, sessions: dict[str, Record]) -> Found:
    """A prompt, judged as one that a hook tells."""
    name = f"prompt {row.get('id')}"
    event = read_event("UserPromptSubmit", Payload({"prompt": text_in(row, "prompt_text")}))
    draft = admit(event) if event else None
    if draft is None:
        return Refused(name, "a prompt that says too little to be kept")
    score = {} if draft.score is None else {"score": draft.score}
    session = sessions.get(text_in(row, "content_session_id"), {})
    told = {**row, "memory_session_id": text_in(session, "memory_session_id"), "project": session.get("project")}
    taken = _taken(name, told, {text_in(session, "memory_session_id"): session}, text=draft.text, kind=draft.kind)
    return taken._replace(record={**taken.record, **score, "source": "user"})


def _taken(name: str, row: Record, sessions: dict[str, Record], **told: object) -> Taken:
    session = sessions.get(text_in(row, "memory_session_id"), {})
    session_id = text_in(session, "content_session_id") or text_in(row, "memory_session_id")
    record = {
        "id": foreign_id(SOURCE, session_id, row.get("created_at_epoch"), told["text"]),
        "source": SOURCE,
        "project_id": text_in(row, "merged_into_project") or text_in(row, "project"),
        **({"session_id": session_id} if session_id else {}),
        **_created_at(row),
        **told,
    }
    return Taken(name, record)


def _created_at(row: Record) -> dict[str, str]:
    moment = row.get("created_at_epoch")
    if isinstance(moment, int) and 0 < moment < _MOST_MILLISECONDS:
        return {"created_at": iso(moment * 1_000)}
    return {"created_at": text_in(row, "created_at")} if text_in(row, "created_at") else {}


def _list(value: object) -> list[str]:
    """A list of texts, or the JSON of one."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    items: Iterable[object] = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str) and item.strip()]
