"""Backfills memory from the session files of agents.

Each event is processed like a hook call (read_event, extract_draft, store_event), with the time when it happened.
Imported events are recorded in the same transaction, so that an interrupted run can continue and nothing is imported
twice.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.digest import sha256
from deltos.domains.memory.capture.extract import extract_draft, may_be_answer, may_be_fix
from deltos.domains.memory.capture.hook_events import read_event
from deltos.domains.memory.capture.hooks import is_folder as is_folder_there
from deltos.domains.memory.capture.hooks import prepare_draft, project_root, store_event, with_relative_files
from deltos.domains.memory.capture.payload import MAX_INPUT_BYTES, Payload
from deltos.domains.memory.core.memory import CLOCK_TOLERANCE, derive_id
from deltos.domains.memory.core.model import ObservationOrigin
from deltos.domains.memory.transcripts import claude, codex, copilot, gemini, opencode
from deltos.errors import FileRefused, NotFound, SourceError
from deltos.files import FileTree
from deltos.folder_walk import walk_entries
from deltos.store.observations import MinedFile
from deltos.text.times import micros, parse_iso
from deltos.workspace.identity import folder_in_checkout, normalise_remote, path_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.domains.memory.capture.events import Event
    from deltos.domains.memory.core.memory import Memory, PreparedDraft
    from deltos.domains.memory.transcripts.events import Record, TranscriptEvent, TranscriptReader
    from deltos.hook_settings import HookSettings
    from deltos.progress import Progress

AGENTS = ("claude", "codex", "gemini", "copilot", "opencode")
_PIECE_BYTES = 262_144
_MAX_JSON_FILE_BYTES = 64_000_000  # session files that are one JSON document
_MAX_LINES_TO_DETECT_AGENT = 50
_BATCH_EVENTS = 40  # short enough that no hook waits long for the writer
_MAX_PROBLEMS = 20
_MAX_FOLDER_DEPTH = 12
_MAX_FILES = 200_000
_ROOT_FILE = ".project_root"
_MAX_ROOT_FILE_BYTES = 4_096
_SUBAGENT_PREFIXES = ("agent-",)


class Transcript(NamedTuple):
    """A file that may be a session; `path` is relative to `root`."""

    root: Path
    path: str
    size_bytes: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """Return the full path, as shown to users."""
        return str(self.root / self.path)


class _ProjectFolder(NamedTuple):
    """Project of the folder in which a session ran; `root` is None if the folder no longer exists."""

    project_id: str
    root: Path | None
    folder: str
    top: Path


class _Candidate(NamedTuple):
    """An event that may become an observation."""

    event: Event
    origin: ObservationOrigin
    prepared: PreparedDraft | None
    at: int
    key: bytes
    id_text: str


@dataclass(slots=True)
class MiningReport:
    """Counts of a run, updated while it runs."""

    sessions: Counter[str] = field(default_factory=Counter)  # by agent
    unchanged: int = 0  # files that were imported before and have not changed
    kinds: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)
    roots: dict[str, Path] = field(default_factory=dict)  # the folder of each project
    merged: int = 0
    known: int = 0
    older: int = 0
    switched_off: int = 0
    without_folder: int = 0  # events of sessions without a folder
    unread: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def added(self) -> int:
        """Return the number of new observations."""
        return self.kinds.total()

    def fail(self, name: str, why: str) -> None:
        """Count a file or line that could not be read; the first problems are also listed."""
        self.unread += 1
        if len(self.problems) < _MAX_PROBLEMS:
            self.problems.append(f"{name}: {why}")


def session_folders(environ: Mapping[str, str], project_folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the folders in which each agent stores its sessions."""
    codex_home = Path(environ.get("CODEX_HOME") or project_folder / ".codex")
    return {
        "claude": (Path(environ.get("CLAUDE_CONFIG_DIR") or project_folder / ".claude") / "projects",),
        "codex": (codex_home / "sessions", codex_home / "archived_sessions"),
        "gemini": (project_folder / ".gemini" / "tmp",),
        "copilot": (Path(environ.get("COPILOT_HOME") or project_folder / ".copilot") / "session-state",),
        "opencode": (Path(environ.get("XDG_DATA_HOME") or project_folder / ".local" / "share") / "opencode",),
    }


def find_transcripts(place: Path, report: MiningReport) -> list[Transcript]:
    """Return the files that may be sessions: the files of a folder, or the file itself. Links are reported and not
    followed."""
    try:
        real = place.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise NotFound(f"No such file or folder: {str(place)[:200]}", hint="Give a session file or a folder.") from None
    if not real.is_dir():
        status = real.stat()
        return [Transcript(real.parent, real.name, status.st_size, status.st_mtime_ns)]
    with FileTree(real) as tree:
        return _walk(tree, real, report)


def _walk(tree: FileTree, root: Path, report: MiningReport) -> list[Transcript]:
    found: list[Transcript] = []
    for path, entry in walk_entries(
        tree,
        enters=lambda folder: folder.name != "subagents",
        refused=lambda folder, reason: report.fail(str(root / folder), reason),
        deepest=_MAX_FOLDER_DEPTH,
    ):
        if entry.is_folder or not _may_be_session(path):
            continue
        if len(found) >= _MAX_FILES:
            report.fail(str(root), f"more than {_MAX_FILES:,} files; the others are ignored")
            break
        found.append(Transcript(root, path, entry.size_bytes, entry.mtime_ns))
    return found


def _may_be_session(path: str) -> bool:
    """Whether a file name is one of an agent's session files."""
    *folders, name = path.split("/")
    if _is_database(name):
        return True
    if name.endswith(".jsonl"):
        return not name.startswith(_SUBAGENT_PREFIXES)
    return name == "logs.json" or (name.startswith("session-") and name.endswith(".json") and "chats" in folders[-1:])


def _is_database(path: str) -> bool:
    """Whether a file has a name of OpenCode's database; each release channel has its own."""
    name = path.rsplit("/", 1)[-1]
    return name.startswith("opencode") and name.endswith(".db")


@contextmanager
def _no_tables(path: Path) -> Iterator[opencode.OpenCodeTables]:
    raise SourceError(f"Databases cannot be read here: {path.name}")
    yield


class Miner:
    """Imports sessions into memory, file by file."""

    def __init__(
        self,
        memory: Memory,
        *,
        identify: Callable[[Path], str],
        settings: HookSettings,
        since: int = 0,
        agents: Sequence[str] = AGENTS,
        dry_run: bool = False,
        open_tables: Callable[[Path], AbstractContextManager[opencode.OpenCodeTables]] = _no_tables,
    ) -> None:
        self._memory = memory
        self._open_tables = open_tables
        self._identify = identify
        self._settings = settings
        self._since = since
        self._agents = agents
        self._dry_run = dry_run
        self._project_folders: dict[str, _ProjectFolder | None] = {}
        self._roots_by_hash: dict[str, str] | None = None
        self.report = MiningReport()

    def mine(self, transcripts: Sequence[Transcript], progress: Progress) -> None:
        """Import all files, oldest first; imported files stay imported if the run is cancelled."""
        total = sum(one.size_bytes for one in transcripts)
        done = 0
        for transcript in sorted(transcripts, key=lambda one: (one.mtime_ns, one.path)):
            if progress.cancelled():
                return
            self._mine_file(transcript)
            done += transcript.size_bytes
            progress.report(done // 1_000, total // 1_000, "kB of sessions")

    def _mine_file(self, transcript: Transcript) -> None:
        """Import one file unless it was imported before and has not changed."""
        key = _digest(transcript.name)
        noted = self._memory.store.mined_file(key)
        state = MinedFile(key, transcript.size_bytes, transcript.mtime_ns, self._since)
        # Recent changes of a database are in its write-ahead log, so its size and time do not show whether it changed.
        if (
            noted is not None
            and not _is_database(transcript.path)
            and noted[:3] == state[:3]
            and noted.since <= self._since
        ):
            self.report.unchanged += 1
            return
        older = self.report.older
        try:
            if _is_database(transcript.path):
                agent = self._mine_database(transcript)
            else:
                with FileTree(transcript.root) as tree:
                    agent = self._mine_transcript(transcript, tree)
        except FileRefused as exc:
            self.report.fail(transcript.name, exc.reason)
            return
        except SourceError as exc:
            self.report.fail(transcript.name, exc.message)
            return
        if agent and not self._dry_run:
            since = self._since if self.report.older > older else 0
            with self._memory.store.writing() as writer:
                writer.note_mined_file(state._replace(since=since))

    def _mine_transcript(self, transcript: Transcript, tree: FileTree) -> str:
        """Import one file and return its agent; empty if the agent is unknown or was not selected."""
        agent, events = self._detect_and_read(transcript, tree)
        return self._mine_events(agent, events)

    def _mine_database(self, transcript: Transcript) -> str:
        """Import an OpenCode database and return its agent; empty if OpenCode was not selected."""
        if "opencode" not in self._agents:
            return ""
        with self._open_tables(transcript.root / transcript.path) as tables:
            return self._mine_events("opencode", opencode.events_in(tables))

    def _mine_events(self, agent: str, events: Iterator[TranscriptEvent]) -> str:
        """Import events in batches and return the agent; empty if it was not selected."""
        if agent not in self._agents:
            return ""
        batch: list[TranscriptEvent] = []
        for one in events:
            batch.append(one)
            if len(batch) >= _BATCH_EVENTS:
                self._store_batch(batch)
                batch = []
        self._store_batch(batch)
        self.report.sessions[agent] += 1
        return agent

    def _detect_and_read(self, transcript: Transcript, tree: FileTree) -> tuple[str, Iterator[TranscriptEvent]]:
        """Return the agent of a session file and its events."""
        records = self._records(transcript, tree)
        first: list[Record] = []
        for record in records:
            first.append(record)
            if (agent := _agent_of(record)) or len(first) >= _MAX_LINES_TO_DETECT_AGENT:
                break
        else:
            agent = ""
        if not agent:
            if first:
                self.report.fail(transcript.name, "not a session of a known agent")
            return "", iter(())
        return agent, _events(self._session(agent, transcript, tree), first, records)

    def _session(self, agent: str, transcript: Transcript, tree: FileTree) -> TranscriptReader:
        """Return the reader for the session files of an agent."""
        if agent == "claude":
            return claude.ClaudeReader()
        if agent == "codex":
            return codex.CodexReader()
        if agent == "copilot":
            return copilot.CopilotReader()
        noted = _noted_root(tree, transcript.path)
        return gemini.GeminiReader(lambda project_hash: noted or self._root_by_hash(project_hash))

    def _root_by_hash(self, project_hash: str) -> str:
        """Return the root of a known project by the hash of its path, which Gemini CLI stores; empty if unknown."""
        if self._roots_by_hash is None:
            roots = {row.root for row in self._memory.store.projects() if row.root}
            self._roots_by_hash = {sha256(root.encode("utf-8", "surrogatepass")).hexdigest(): root for root in roots}
        return self._roots_by_hash.get(project_hash, "")

    def _records(self, transcript: Transcript, tree: FileTree) -> Iterator[Record]:
        """Yield the JSON objects of a file; unreadable lines are counted."""
        if transcript.path.endswith(".json"):
            yield from self._json_records(transcript, tree)
            return
        for number, line in enumerate(_lines(tree.pieces(transcript.path, _PIECE_BYTES)), start=1):
            name = f"{transcript.name}:{number}"
            if line is None:
                self.report.fail(name, f"a line of more than {MAX_INPUT_BYTES:,} bytes")
            elif line.text.strip():
                try:
                    record = json.loads(line.text.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    if line.is_finished:  # an unfinished last line of a running session is read by the next run
                        self.report.fail(name, "not JSON")
                    continue
                if isinstance(record, dict):
                    yield record

    def _json_records(self, transcript: Transcript, tree: FileTree) -> Iterator[Record]:
        """Yield the objects of a file that is one JSON document."""
        try:
            value = json.loads(tree.read(transcript.path, _MAX_JSON_FILE_BYTES).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self.report.fail(transcript.name, "not JSON")
            return
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))

    def _store_batch(self, events: Sequence[TranscriptEvent]) -> None:
        """Store a few events: slow work is done before the transaction, to keep it short."""
        known = self._memory.store.mined([_digest(one.key) for one in events])
        self.report.known += sum(_digest(one.key) in known for one in events)
        found = (self._candidate(one) for one in events if _digest(one.key) not in known)
        candidates = {one.key: one for one in found if one is not None}
        if self._dry_run:
            for one in candidates.values():
                self._count(one, merged=False)
            return
        if not candidates:
            return
        with self._memory.store.writing() as writer:
            for one in candidates.values():
                past = self._memory.as_of(one.at, derive_id(one.id_text))
                if (stored := store_event(past, writer, one.event, one.origin, one.prepared)) is not None:
                    self._count(one, merged=stored.merged)
            writer.note_mined(candidates)

    def _count(self, one: _Candidate, *, merged: bool) -> None:
        """Count a stored event in the report."""
        if one.origin.root is not None:
            self.report.roots[one.origin.project_id] = one.origin.root
        if merged:
            self.report.merged += 1
        elif one.prepared is not None:
            self.report.kinds[one.prepared.new.kind] += 1
            self.report.projects[one.origin.project_id] += 1
        elif not self._dry_run:  # a fix or an answer, which store_event recognises from earlier observations
            self.report.kinds["finding" if one.event.tool is not None else "note"] += 1
            self.report.projects[one.origin.project_id] += 1

    def _candidate(self, events: TranscriptEvent) -> _Candidate | None:
        """Return the candidate for an event; None if there is nothing to store."""
        at = self._time(events)
        if at < self._since:
            self.report.older += 1
            return None
        event = read_event(events.event_name, Payload(events.fields))
        if event is None:
            return None
        project_folder = self._project_folder(event.folder, events.repository)
        if project_folder is None:
            self.report.without_folder += 1
            return None
        if self._settings.is_off(project_folder.project_id, project_folder.top):
            self.report.switched_off += 1
            return None
        event = with_relative_files(project_folder.top, event)
        draft = extract_draft(event)
        if draft is None and not may_be_fix(event) and not may_be_answer(event):
            return None
        origin = ObservationOrigin(
            project_folder.project_id, project_folder.root, event.session_id or None, event.agent, project_folder.folder
        )
        id_text = f"{event.agent}:{events.key}"
        past = self._memory.as_of(at, derive_id(id_text))
        prepared = None if draft is None else prepare_draft(past, draft, origin)
        return _Candidate(event, origin, prepared, at, _digest(events.key), id_text)

    def _time(self, events: TranscriptEvent) -> int:
        """Return the time of an event; the current time if it has none, or one in the future."""
        now = micros(self._memory.clock())
        at = parse_iso(events.at) if events.at else None
        return now if at is None or at > now + CLOCK_TOLERANCE else at

    def _project_folder(self, folder: Path | None, repository: str) -> _ProjectFolder | None:
        """Return the project of a folder, cached; None if the folder is missing or invalid."""
        if folder is None or not folder.is_absolute() or "\0" in str(folder):
            return None
        name = str(folder)
        if name not in self._project_folders:
            self._project_folders[name] = self._find_project_folder(folder, repository)
        return self._project_folders[name]

    def _find_project_folder(self, folder: Path, repository: str) -> _ProjectFolder:
        """Return the project of a folder.

        For a folder that no longer exists: the checkout around it, a known project with that path, the session's
        remote, or an id derived from the path.
        """
        if is_folder_there(folder):
            real = folder.resolve()
            root = project_root(real)
            return _ProjectFolder(self._identify(root), root, folder_in_checkout(real), root)
        above = next(parent for parent in folder.parents if is_folder_there(parent)).resolve()
        root = project_root(above)
        if (root / ".git").exists():
            nested = (above / folder.relative_to(next(p for p in folder.parents if is_folder_there(p)))).relative_to(
                root
            )
            return _ProjectFolder(self._identify(root), root, nested.as_posix(), root)
        for gone in self._project_folders.values():
            if gone is not None and gone.root is None and folder.is_relative_to(gone.top):
                return gone
        known = next((row.project_id for row in self._memory.store.projects() if row.root == str(folder)), None)
        project_id = known or normalise_remote(repository) or path_identity(folder)
        return _ProjectFolder(project_id, None, "", folder)


class _TranscriptLine(NamedTuple):
    """A line of a session file; `is_finished` is False for a last line without a line break."""

    text: bytes
    is_finished: bool = True


def _lines(pieces: Iterator[bytes]) -> Iterator[_TranscriptLine | None]:
    """Yield the lines of a file; None for a line that is too long."""
    rest = b""
    is_skipping = False
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield None if is_skipping or len(line) > MAX_INPUT_BYTES else _TranscriptLine(line)
            is_skipping = False
        if len(rest) > MAX_INPUT_BYTES:
            rest, is_skipping = b"", True
    if rest or is_skipping:
        yield None if is_skipping else _TranscriptLine(rest, is_finished=False)


def _events(session: TranscriptReader, first: Sequence[Record], rest: Iterator[Record]) -> Iterator[TranscriptEvent]:
    """Yield the events of all records, then the pending ones."""
    for records in (first, rest):
        for record in records:
            yield from session.read(record)
    yield from session.end()


def _agent_of(record: Record) -> str:
    """Return the agent whose sessions contain such a record; empty if undecided."""
    if codex.is_session(record):
        return "codex"
    if gemini.is_session(record):
        return "gemini"
    if copilot.is_session(record):
        return "copilot"
    return "claude" if claude.is_session(record) else ""


def _noted_root(tree: FileTree, path: str) -> str:
    """Return the project root that Gemini CLI wrote to a file in the folder of its chats or above it."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        try:
            noted = tree.read("/".join((*folders[:depth], _ROOT_FILE)), _MAX_ROOT_FILE_BYTES)
        except FileRefused:
            continue
        return noted.decode("utf-8", "replace").strip()
    return ""


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def mining_report_json(report: MiningReport) -> dict[str, Any]:
    """Return the report as JSON, for scripts."""
    return {
        "added": report.added,
        "merged": report.merged,
        "known": report.known,
        "sessions": dict(report.sessions),
        "unchanged_files": report.unchanged,
        "kinds": dict(report.kinds.most_common()),
        "projects": dict(report.projects.most_common()),
        "older": report.older,
        "switched_off": report.switched_off,
        "without_folder": report.without_folder,
        "unread": report.unread,
        "problems": report.problems,
    }
