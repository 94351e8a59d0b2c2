"""Memory as JSON Lines, out and in again, exactly. One bad line never stops an import: it is counted and named."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from deltos.domains.memory import anchors
from deltos.domains.memory.foreign import server_memory
from deltos.domains.memory.foreign.record import Refused
from deltos.domains.memory.memory import CLOCK_TOLERANCE, id_from, words_of_names
from deltos.domains.memory.merge import as_new, has_same_content, is_same, merged
from deltos.domains.memory.model import MAX_TEXT_CHARACTERS
from deltos.domains.memory.redact import redact, redact_name, storable
from deltos.errors import SourceError
from deltos.store.observations import Anchor, Clean, NewObservation, Observation, session_of
from deltos.text.times import iso, micros, parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.domains.memory.foreign.record import Found
    from deltos.domains.memory.memory import Memory
    from deltos.store.observations import ObservationsWriter, ProjectRow, SessionRow

_BATCH = 200
_MOST_PROBLEMS = 20
_LONGEST_NAME = 4_000


@dataclass(slots=True)
class Imported:
    """What an import did, counted while it goes on."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    purged: int = 0  # known here once and removed for good, so not taken in again
    failed: int = 0
    problems: list[str] = field(default_factory=list)

    def fail(self, name: str, why: str) -> None:
        """Count what could not be taken, and name the first of it."""
        self.failed += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(f"{name}: {why}")


def export(memory: Memory) -> Iterator[str]:
    """Every project, session and observation, forgotten ones too, one JSON object a line."""
    yield from map(_project_line, memory.store.projects())
    yield from map(_session_line, memory.store.sessions())
    for observation in memory.store.all():
        yield _observation_line(memory, observation)


def export_changes(memory: Memory, *, after: int = 0, since: int | None = None) -> Iterator[str]:
    """The observations that were written or marked after a change, or at a time, each after its project and session."""
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
    """When an observation was last written or marked."""
    marked = (row.deleted_at, row.restored_at, row.pinned_at, row.unpinned_at, row.superseded_at)
    return max(row.created_at, row.updated_at, *(time for time in marked if time is not None))


def _project_line(project: ProjectRow) -> str:
    return _line(
        {
            "type": "project",
            "project_id": project.project_id,
            "folder": project.folder,
            "root": project.root,
            "created_at": iso(project.created_at),
        }
    )


def _session_line(session: SessionRow) -> str:
    return _line(
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


def observation_line(observation: Observation, noted: Iterable[Anchor]) -> str:
    """One observation, with its anchors, as a line."""
    return _line({"type": "observation", **as_json(observation), "anchors": [_anchor_json(anchor) for anchor in noted]})


def as_json(observation: Observation) -> dict[str, Any]:
    """An observation as a JSON object, without its anchors."""
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
    """The marks of an observation and when they changed, as far as there are any."""
    times = {name: getattr(observation, name) for name in ("pinned_at", "restored_at", "unpinned_at", "superseded_at")}
    by = observation.superseded_by
    return {
        **{name: iso(time) for name, time in times.items() if time is not None},
        **({} if by is None else {"superseded_by": by}),
    }


def import_lines(
    memory: Memory, lines: Iterable[str], *, project_id: str, overwrite: bool = True, report: Imported | None = None
) -> Imported:
    """Take JSON Lines in; what has no project goes to `project_id`. Ids, times and sessions stay as given; what is
    known already becomes what changed last, on either side."""
    report = Imported() if report is None else report
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, _BATCH)):
        with memory.store.writing() as writer:
            importer = _Importer(memory, writer, project_id, report, overwrite=overwrite)
            for number, line in batch:
                if line.strip():
                    importer.take(number, line)
    return report


def import_records(memory: Memory, found: Iterable[Found], *, project_id: str, report: Imported) -> None:
    """Take in what another program kept; what is known by its id, in whatever project, stays where it is."""
    remaining = iter(found)
    while batch := list(islice(remaining, _BATCH)):
        with memory.store.writing() as writer:
            importer = _Importer(memory, writer, project_id, report, overwrite=True)
            for one in batch:
                importer.take_found(one)


class _Importer:
    """Takes lines inside one transaction."""

    def __init__(
        self, memory: Memory, writer: ObservationsWriter, project_id: str, report: Imported, *, overwrite: bool
    ) -> None:
        self._memory = memory
        self._writer = writer
        self._project_id = project_id
        self._report = report
        self._overwrite = overwrite

    def take(self, number: int, line: str) -> None:
        """Store one line, or count it as failed."""
        name = f"line {number}"
        try:
            record = _object(json.loads(line))
            if server_memory.is_line(record):
                for one in server_memory.found_in(name, record):
                    self.take_found(one)
                return
            match record.get("type", "observation"):
                case "project":
                    created_at = self._time(record, "created_at")
                    key = self._project(record, created_at)
                    self._writer.describe_project(key, root=_text(record, "root"), created_at=created_at)
                case "session":
                    self._session(record)
                case "observation":
                    self._observation(record)
                case other:
                    self._report.fail(name, f"unknown type {redact(str(other)[:_LONGEST_NAME]).text!r}")
        except (ValueError, SourceError, RecursionError) as exc:
            self._report.fail(name, str(exc))

    def take_found(self, one: Found) -> None:
        """Store what another program kept, or count it as failed."""
        if isinstance(one, Refused):
            self._report.fail(redact_name(one.name), redact(one.why).text)
            return
        try:
            self._observation(one.record, is_anywhere=True)
        except (ValueError, SourceError) as exc:
            self._report.fail(redact_name(one.name), str(exc))

    def _session(self, record: dict[str, Any]) -> None:
        started_at = self._time(record, "started_at")
        project = self._project(record, started_at)
        key = self._writer.session(project, _session_id(record), agent=_text(record, "agent"), now=started_at)
        self._writer.describe_session(
            key, agent=_text(record, "agent"), started_at=started_at, ended_at=self._time_if_any(record, "ended_at")
        )

    def _observation(self, record: dict[str, Any], *, is_anywhere: bool = False) -> None:
        new = self._new(record)
        elsewhere = self._writer.with_id(new.id) if is_anywhere else []
        project = -1 if elsewhere else self._project(record, new.created_at)
        known = elsewhere[0] if elsewhere else self._writer.find(project, new.id)
        if known is not None:
            self._meet(known, new, record)
        elif self._writer.was_purged(new.id):
            self._report.purged += 1
        else:
            session = self._writer.session(project, _session_id(record), agent="", now=new.created_at)
            self._writer.insert(project, session, new)
            self._report.added += 1

    def _meet(self, row: Observation, new: NewObservation, record: dict[str, Any]) -> None:
        """Bring what is known and what is given together."""
        known = as_new(row)
        new = new._replace(**{name: getattr(known, name) for name in _untold(record, self._now())})
        if not has_same_content(known, new) and record.get("updated_at") is None:
            new = new._replace(updated_at=max(self._now(), row.updated_at + 1))  # written by hand: said now
        both = merged(known, new)
        if not self._overwrite or is_same(known, both):
            self._report.unchanged += 1
            return
        if has_same_content(known, both):
            self._writer.replace_marks(row.place, both)
        else:
            self._writer.replace(row.place, both)
        self._report.updated += 1

    def _new(self, record: dict[str, Any]) -> NewObservation:
        text = redact(_raw(record, "text", most=MAX_TEXT_CHARACTERS)).text
        if not text.strip():
            raise SourceError("no text")
        files = tuple(_texts(record, "files"))
        symbols = tuple(_texts(record, "symbols")) if "symbols" in record else tuple(anchors.symbols_in(text))
        created_at = self._time(record, "created_at")
        return NewObservation(
            id=_text(record, "id") or self._id_of(record, text),
            text=text,
            kind=_text(record, "kind") or Clean("finding"),
            source=redact(_raw(record, "source", most=MAX_TEXT_CHARACTERS)).text,
            created_at=created_at,
            names=words_of_names(text, files),
            files=files,
            symbols=symbols,
            updated_at=self._time_if_any(record, "updated_at"),
            deleted_at=self._time_if_any(record, "deleted_at"),
            embedding=_bytes(record, "embedding"),
            embedding_model=_text(record, "embedding_model") or None,
            anchors=tuple(_anchor(item) for item in record.get("anchors") or ()),
            pinned_at=self._time_if_any(record, "pinned_at"),
            superseded_by=_text(record, "superseded_by") or None,
            score=_score(record),
            restored_at=self._time_if_any(record, "restored_at"),
            unpinned_at=self._time_if_any(record, "unpinned_at"),
            superseded_at=self._time_if_any(record, "superseded_at"),
        )

    def _id_of(self, record: dict[str, Any], text: Clean) -> Clean:
        """The id of a record that has none: the same whenever it is taken in again. Made of what is kept, so that no
        secret can be guessed from it."""
        told = [_text(record, name) for name in ("project_id", "session_id", "kind", "created_at")]
        return id_from("\n".join((redact_name(self._project_id), *told, text)))

    def _project(self, record: dict[str, Any], now: int) -> int:
        project_id = _text(record, "project_id") or redact_name(self._project_id)
        return self._writer.project(project_id, root="", now=now, folder=_text(record, "folder"))

    def _time(self, record: dict[str, Any], name: str) -> int:
        """A time of a record; now where it has none, or one that no clock can have shown yet."""
        moment = self._time_if_any(record, name)
        return self._now() if moment is None else moment

    def _time_if_any(self, record: dict[str, Any], name: str) -> int | None:
        moment, now = _moment(record, name), self._now()
        return now if moment is not None and moment > now + CLOCK_TOLERANCE else moment

    def _now(self) -> int:
        return micros(self._memory.clock())


_TIMES = (
    "created_at",
    "updated_at",
    "deleted_at",
    "restored_at",
    "pinned_at",
    "unpinned_at",
    "superseded_at",
)


def _untold(record: dict[str, Any], now: int) -> list[str]:
    """The parts that a record does not tell, or that no clock can have shown yet: there what is known stays."""
    untold = [
        name for name in ("kind", "source", "files", "symbols", "created_at", "score") if record.get(name) is None
    ]
    return untold + [
        name for name in _TIMES if (moment := _moment(record, name)) is not None and moment > now + CLOCK_TOLERANCE
    ]


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _anchor_json(anchor: Anchor) -> dict[str, str]:
    return {"path": anchor.path, "symbol": anchor.symbol, "digest": anchor.digest.hex()}


def _anchor(item: object) -> Anchor:
    if not isinstance(item, dict):
        raise SourceError("an anchor is not an object")
    return Anchor(_text(item, "path"), _text(item, "symbol"), _harmless(bytes.fromhex(_raw(item, "digest"))))


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SourceError("not a JSON object")
    return value


def _text(record: dict[str, Any], name: str) -> Clean:
    """A field that holds a name, an id or a path, without what is certainly a secret."""
    return redact_name(_raw(record, name))


def _raw(record: dict[str, Any], name: str, *, most: int = _LONGEST_NAME) -> str:
    value = record.get(name)
    if value is None:
        return ""
    if not isinstance(value, str | int):
        raise SourceError(f"'{name}' is not a text")
    if len(text := storable(str(value))) > most:
        raise SourceError(f"{name} longer than {most:,} characters")
    return text


def _texts(record: dict[str, Any], name: str) -> list[Clean]:
    value = record.get(name) or []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SourceError(f"'{name}' is not a list of texts")
    return [redact_name(storable(item)) for item in value]


def _session_id(record: dict[str, Any]) -> str | None:
    return None if record.get("session_id") is None else _text(record, "session_id")


def _moment(record: dict[str, Any], name: str) -> int | None:
    value = record.get(name)
    if value is None:
        return None
    moment = parse_iso(value) if isinstance(value, str) else None
    if moment is None:
        raise SourceError(f"'{name}' is not an ISO 8601 time")
    return moment


def _score(record: dict[str, Any]) -> float | None:
    value = record.get("score")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SourceError("'score' is not a number from 0 to 1")
    return float(value)


def _bytes(record: dict[str, Any], name: str) -> bytes | None:
    if record.get(name) is None:
        return None
    return _harmless(base64.b64decode(_raw(record, name, most=MAX_TEXT_CHARACTERS), validate=True))


def _harmless(data: bytes) -> bytes:
    """Bytes that do not spell a secret."""
    if redact(data.decode("latin-1")).kinds:
        raise SourceError("a secret where a vector or a digest should be")
    return data
