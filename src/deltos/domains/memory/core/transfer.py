"""Export memory as JSON Lines and import it again without loss; invalid lines do not stop an import."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from deltos.domains.memory.core import anchors
from deltos.domains.memory.core.memory import CLOCK_TOLERANCE, derive_id, words_of_names
from deltos.domains.memory.core.merge import has_same_content, is_same, merge_states, to_new_observation
from deltos.domains.memory.core.model import MAX_TEXT_CHARACTERS
from deltos.domains.memory.importers.records import RejectedRecord
from deltos.errors import SourceError
from deltos.model import Clean
from deltos.redaction.redact import redact, redact_name, storable
from deltos.store.observation_rows import MARK_COLUMNS
from deltos.store.observations import Anchor, NewObservation, Observation, session_of
from deltos.text.times import iso, micros, parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.memory.core.memory import Memory
    from deltos.domains.memory.importers.records import ImportItem
    from deltos.store.observations import ObservationsWriter, ProjectRow, SessionRow

_BATCH_SIZE = 200
_MAX_LISTED_PROBLEMS = 20
_MAX_NAME_CHARACTERS = 4_000


@dataclass(slots=True)
class ImportReport:
    """The counts of an import, updated while it runs."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    purged: int = 0  # observations not imported because they were permanently removed earlier
    failed: int = 0
    problems: list[str] = field(default_factory=list)

    def fail(self, name: str, why: str) -> None:
        """Count a record that cannot be imported; list the problem if few problems are listed so far."""
        self.failed += 1
        if len(self.problems) < _MAX_LISTED_PROBLEMS:
            self.problems.append(f"{name}: {why}")


def export(memory: Memory) -> Iterator[str]:
    """Yield all projects, sessions and observations as JSON lines, including forgotten observations."""
    yield from map(_project_line, memory.store.projects())
    yield from map(_session_line, memory.store.sessions())
    for observation in memory.store.all():
        yield _observation_line(memory, observation)


def export_changes(memory: Memory, *, after: int = 0, since: int | None = None) -> Iterator[str]:
    """Yield changed observations as JSON lines, each preceded by its project and session if these are new."""
    projects = {(row.project_id, row.folder): row for row in memory.store.projects()}
    sessions = {row.key: row for row in memory.store.sessions()}
    for observation in memory.store.changed_after(after):
        if since is not None and last_change_of(observation) < since:
            continue
        if project := projects.pop((observation.project_id, observation.folder), None):
            yield _project_line(project)
        if session := sessions.pop(session_of(observation.place), None):
            yield _session_line(session)
        yield _observation_line(memory, observation)


def last_change_of(row: Observation) -> int:
    """Return the time at which an observation was last written or marked."""
    marked = (row.deleted_at, row.restored_at, row.pinned_at, row.unpinned_at, row.superseded_at)
    return max(row.created_at, row.updated_at, *(time for time in marked if time is not None))


def _project_line(project: ProjectRow) -> str:
    return _json_line(
        {
            "type": "project",
            "project_id": project.project_id,
            "folder": project.folder,
            "root": project.root,
            "created_at": iso(project.created_at),
        }
    )


def _session_line(session: SessionRow) -> str:
    return _json_line(
        {
            "type": "session",
            "project_id": session.project_id,
            "folder": session.folder,
            "session_id": session.session_id,
            "agent": session.agent,
            "started_at": iso(session.started_at),
            "ended_at": None if session.ended_at is None else iso(session.ended_at),
        }
    )


def _observation_line(memory: Memory, observation: Observation) -> str:
    return observation_line(observation, memory.store.anchors([observation.place]).get(observation.place, []))


def observation_line(observation: Observation, anchors: Iterable[Anchor]) -> str:
    """Return an observation with its anchors as a JSON line."""
    return _json_line(
        {"type": "observation", **as_json(observation), "anchors": [_anchor_json(anchor) for anchor in anchors]}
    )


def as_json(observation: Observation) -> dict[str, Any]:
    """Return an observation as a JSON object without its anchors."""
    embedding = observation.embedding
    return {
        "id": observation.id,
        "text": observation.text,
        "kind": observation.kind,
        "source": observation.source,
        "project_id": observation.project_id,
        "folder": observation.folder,
        "session_id": observation.session_id,
        "files": list(observation.files),
        "symbols": list(observation.symbols),
        "created_at": iso(observation.created_at),
        "updated_at": iso(observation.updated_at),
        "deleted_at": None if observation.deleted_at is None else iso(observation.deleted_at),
        "embedding": None if embedding is None else base64.b64encode(embedding).decode("ascii"),
        "embedding_model": observation.embedding_model,
        **_marks(observation),
        **({} if observation.score is None else {"score": observation.score}),
    }


def _marks(observation: Observation) -> dict[str, str]:
    """Return the marks of an observation and the times when they were changed, without empty fields."""
    times = {name: getattr(observation, name) for name in ("pinned_at", "restored_at", "unpinned_at", "superseded_at")}
    by = observation.superseded_by
    return {
        **{name: iso(time) for name, time in times.items() if time is not None},
        **({} if by is None else {"superseded_by": by}),
    }


def import_lines(
    memory: Memory, lines: Iterable[str], *, project_id: str, overwrite: bool = True, report: ImportReport | None = None
) -> ImportReport:
    """Import memory from JSON Lines; ids, times and sessions are preserved.

    Records without a project are stored in `project_id`. If an observation exists already, the latest changes are kept.
    """
    report = ImportReport() if report is None else report
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, _BATCH_SIZE)):
        with memory.store.writing() as writer:
            importer = _Importer(memory, writer, project_id, report, overwrite=overwrite)
            for number, line in batch:
                if line.strip():
                    importer.import_line(number, line)
    return report


def import_records(memory: Memory, found: Iterable[ImportItem], *, project_id: str, report: ImportReport) -> None:
    """Import the records of another program; an observation with the same id in any project is updated."""
    remaining = iter(found)
    while batch := list(islice(remaining, _BATCH_SIZE)):
        with memory.store.writing() as writer:
            importer = _Importer(memory, writer, project_id, report, overwrite=True)
            for one in batch:
                importer.import_item(one)


class _Importer:
    """Imports records in one transaction."""

    def __init__(
        self, memory: Memory, writer: ObservationsWriter, project_id: str, report: ImportReport, *, overwrite: bool
    ) -> None:
        self._memory = memory
        self._writer = writer
        self._project_id = project_id
        self._report = report
        self._overwrite = overwrite

    def import_line(self, number: int, line: str) -> None:
        """Import one JSON line, or count the line as failed."""
        name = f"line {number}"
        try:
            record = _require_object(json.loads(line))
            match record.get("type", "observation"):
                case "project":
                    created_at = self._time(record, "created_at")
                    key = self._project_key(record, created_at)
                    self._writer.update_project(key, root=_name_field(record, "root"), created_at=created_at)
                case "session":
                    self._store_session(record)
                case "observation":
                    self._store_observation(record)
                case other:
                    self._report.fail(name, f"unknown type {redact(str(other)[:_MAX_NAME_CHARACTERS]).text!r}")
        except (ValueError, SourceError, RecursionError) as exc:
            self._report.fail(name, str(exc))

    def import_item(self, item: ImportItem) -> None:
        """Import a record of another program, or count the record as failed."""
        if isinstance(item, RejectedRecord):
            self._report.fail(redact_name(item.name), redact(item.why).text)
            return
        try:
            self._store_observation(item.record, is_anywhere=True)
        except (ValueError, SourceError) as exc:
            self._report.fail(redact_name(item.name), str(exc))

    def _store_session(self, record: dict[str, Any]) -> None:
        """Store the session in a record with its start and end."""
        started_at = self._time(record, "started_at")
        project = self._project_key(record, started_at)
        key = self._writer.upsert_session(
            project, _session_id(record), agent=_name_field(record, "agent"), now=started_at
        )
        self._writer.update_session(
            key,
            agent=_name_field(record, "agent"),
            started_at=started_at,
            ended_at=self._time_if_any(record, "ended_at"),
        )

    def _store_observation(self, record: dict[str, Any], *, is_anywhere: bool = False) -> None:
        """Store an observation, or merge it into an existing one (of any project if `is_anywhere` is set)."""
        new = self._parse_observation(record)
        store = self._memory.store
        known = store.by_ids([new.id]) if is_anywhere else []
        project = -1 if known else self._project_key(record, new.created_at)
        known = known or store.by_ids([new.id], project=project)
        if known:
            self._merge_into(known[0], new, record)
        elif store.was_purged(new.id):
            self._report.purged += 1
        else:
            session = self._writer.upsert_session(project, _session_id(record), agent="", now=new.created_at)
            self._writer.insert(project, session, new)
            self._report.added += 1

    def _merge_into(self, row: Observation, new: NewObservation, record: dict[str, Any]) -> None:
        """Merge an imported record into the existing observation with the same id."""
        known = to_new_observation(row)
        new = new._replace(**{name: getattr(known, name) for name in _missing_fields(record, self._now())})
        if not has_same_content(known, new) and record.get("updated_at") is None:
            # A changed record without a time of change was edited by hand, so it counts as changed now.
            new = new._replace(updated_at=max(self._now(), row.updated_at + 1))
        both = merge_states(known, new)
        if not self._overwrite or is_same(known, both):
            self._report.unchanged += 1
            return
        if has_same_content(known, both):
            self._writer.update(row.place, **{name: getattr(both, name) for name in MARK_COLUMNS})
        else:
            self._writer.replace(row.place, both)
        self._report.updated += 1

    def _parse_observation(self, record: dict[str, Any]) -> NewObservation:
        """Convert a record to a redacted observation."""
        text = redact(_text_field(record, "text", max_characters=MAX_TEXT_CHARACTERS)).text
        if not text.strip():
            raise SourceError("no text")
        files = tuple(_text_list(record, "files"))
        symbols = tuple(_text_list(record, "symbols")) if "symbols" in record else tuple(anchors.symbols_in(text))
        created_at = self._time(record, "created_at")
        return NewObservation(
            id=_name_field(record, "id") or self._derive_id_of(record, text),
            text=text,
            kind=_name_field(record, "kind") or Clean("finding"),
            source=redact(_text_field(record, "source", max_characters=MAX_TEXT_CHARACTERS)).text,
            created_at=created_at,
            names=words_of_names(text, files),
            files=files,
            symbols=symbols,
            updated_at=self._time_if_any(record, "updated_at"),
            deleted_at=self._time_if_any(record, "deleted_at"),
            embedding=_decode_bytes(record, "embedding"),
            embedding_model=_name_field(record, "embedding_model") or None,
            anchors=tuple(_parse_anchor(item) for item in record.get("anchors") or ()),
            pinned_at=self._time_if_any(record, "pinned_at"),
            superseded_by=_name_field(record, "superseded_by") or None,
            score=_parse_score(record),
            restored_at=self._time_if_any(record, "restored_at"),
            unpinned_at=self._time_if_any(record, "unpinned_at"),
            superseded_at=self._time_if_any(record, "superseded_at"),
        )

    def _derive_id_of(self, record: dict[str, Any], text: Clean) -> Clean:
        """Return an id for a record without an id; the same record gets the same id on every import.

        The id is derived from the redacted text, so that no secret can be guessed from it.
        """
        id_parts = [_name_field(record, name) for name in ("project_id", "session_id", "kind", "created_at")]
        return derive_id("\n".join((redact_name(self._project_id), *id_parts, text)))

    def _project_key(self, record: dict[str, Any], now: int) -> int:
        """Return the database key of the project in a record; create the project if necessary."""
        project_id = _name_field(record, "project_id") or redact_name(self._project_id)
        return self._writer.upsert_project(project_id, root="", now=now, folder=_name_field(record, "folder"))

    def _time(self, record: dict[str, Any], name: str) -> int:
        """Return the time in a field of a record, or the current time if the field is missing or in the future."""
        moment = self._time_if_any(record, name)
        return self._now() if moment is None else moment

    def _time_if_any(self, record: dict[str, Any], name: str) -> int | None:
        """Return the time in a field of a record, at most the current time, or None if the field is missing."""
        moment, now = _parse_time(record, name), self._now()
        return now if moment is not None and moment > now + CLOCK_TOLERANCE else moment

    def _now(self) -> int:
        return micros(self._memory.clock())


_TIME_FIELDS = (
    "created_at",
    "updated_at",
    "deleted_at",
    "restored_at",
    "pinned_at",
    "unpinned_at",
    "superseded_at",
)


def _missing_fields(record: dict[str, Any], now: int) -> list[str]:
    """Return the names of fields that are missing in the record or contain a future time."""
    missing = [
        name for name in ("kind", "source", "files", "symbols", "created_at", "score") if record.get(name) is None
    ]
    return missing + [
        name
        for name in _TIME_FIELDS
        if (moment := _parse_time(record, name)) is not None and moment > now + CLOCK_TOLERANCE
    ]


def _json_line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _anchor_json(anchor: Anchor) -> dict[str, str]:
    return {"path": anchor.path, "symbol": anchor.symbol, "digest": anchor.digest.hex()}


def _parse_anchor(item: object) -> Anchor:
    if not isinstance(item, dict):
        raise SourceError("an anchor is not an object")
    return Anchor(
        _name_field(item, "path"),
        _name_field(item, "symbol"),
        _reject_secrets(bytes.fromhex(_text_field(item, "digest"))),
    )


def _require_object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError("not a JSON object")
    return value


def _name_field(record: dict[str, Any], name: str) -> Clean:
    """Return a name, id or path of a record; unmistakable secrets are redacted."""
    return redact_name(_text_field(record, name))


def _text_field(record: dict[str, Any], name: str, *, max_characters: int = _MAX_NAME_CHARACTERS) -> str:
    """Return the text of a field; raise SourceError if the field has another type or is too long."""
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int):
        raise SourceError(f"'{name}' is not a text")
    if len(text := storable(str(value))) > max_characters:
        raise SourceError(f"{name} is longer than {max_characters:,} characters")
    return text


def _text_list(record: dict[str, Any], name: str) -> list[Clean]:
    value = record.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SourceError(f"'{name}' is not a list of strings")
    return [redact_name(storable(item)) for item in value]


def _session_id(record: dict[str, Any]) -> str | None:
    return None if record.get("session_id") is None else _name_field(record, "session_id")


def _parse_time(record: dict[str, Any], name: str) -> int | None:
    """Return the time in a field of a record in microseconds, or None if the field is missing."""
    value = record.get(name)
    if value is None:
        return None
    moment = parse_iso(value) if isinstance(value, str) else None
    if moment is None:
        raise SourceError(f"'{name}' is not an ISO 8601 time")
    return moment


def _parse_score(record: dict[str, Any]) -> float | None:
    value = record.get("score")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SourceError("'score' is not a number from 0 to 1")
    return float(value)


def _decode_bytes(record: dict[str, Any], name: str) -> bytes | None:
    if record.get(name) is None:
        return None
    return _reject_secrets(
        base64.b64decode(_text_field(record, name, max_characters=MAX_TEXT_CHARACTERS), validate=True)
    )


def _reject_secrets(data: bytes) -> bytes:
    """Return binary data unchanged, or raise an error if the data contains a secret as text."""
    if redact(data.decode("latin-1")).kinds:
        raise SourceError("a vector or digest contains a secret")
    return data
