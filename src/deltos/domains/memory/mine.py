"""Backfills memory from session files that agents left: each event goes the way of a hook's (read_event, admit,
keep_event), at the time when it happened. What was taken in is noted in the same transaction, so that a run that is
killed goes on and nothing comes twice."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from deltos.digest import sha256
from deltos.domains.memory.admit import admit, may_answer, may_fix
from deltos.domains.memory.agents import read_event
from deltos.domains.memory.capture import is_folder as is_folder_there
from deltos.domains.memory.capture import keep_event, prepare_draft, project_root, relative_to
from deltos.domains.memory.memory import CLOCK_TOLERANCE, id_from
from deltos.domains.memory.model import ObservationOrigin
from deltos.domains.memory.payload import LARGEST_INPUT, Payload
from deltos.domains.memory.transcripts import claude, codex, copilot, gemini, opencode
from deltos.errors import FileRefused, NotFound, SourceError
from deltos.files import FileTree
from deltos.folders import walk_entries
from deltos.store.observations import MinedFile
from deltos.text.times import micros, parse_iso
from deltos.workspace.identity import folder_in_checkout, normalise_remote, path_identity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from deltos.domains.memory.events import Event
    from deltos.domains.memory.memory import Memory, PreparedDraft
    from deltos.domains.memory.transcripts.told import Record, Session, Told
    from deltos.hook_settings import HookSettings
    from deltos.progress import Progress

AGENTS = ("claude", "codex", "gemini", "copilot", "opencode")
_PIECE_BYTES = 262_144
_LARGEST_WHOLE_FILE = 64_000_000  # a session in a single JSON object
_LINES_TO_RECOGNISE = 50
_BATCH_EVENTS = 40  # short enough that no hook waits long for the writer
_MOST_NAMED = 20
_DEEPEST_FOLDER = 12
_MOST_FILES = 200_000
_ROOT_FILE = ".project_root"
_LONGEST_ROOT = 4_096
_OF_SUBAGENTS = ("agent-",)


class Transcript(NamedTuple):
    """A file that may be a session, below the folder that was given."""

    root: Path
    path: str
    size_bytes: int
    mtime_ns: int

    @property
    def name(self) -> str:
        """How the file is named to people."""
        return str(self.root / self.path)


class _Home(NamedTuple):
    """The project of a folder that a session was in; `root` is None where the folder is gone."""

    project_id: str
    root: Path | None
    folder: str
    top: Path


class _Candidate(NamedTuple):
    """An event that may be kept."""

    event: Event
    origin: ObservationOrigin
    prepared: PreparedDraft | None
    at: int
    key: bytes
    id_text: str


@dataclass(slots=True)
class Mined:
    """What a run did, counted while it goes on."""

    sessions: Counter[str] = field(default_factory=Counter)  # by agent
    unchanged: int = 0  # files that were taken in before and have not changed
    kinds: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)
    roots: dict[str, Path] = field(default_factory=dict)  # the folder of each project
    merged: int = 0
    known: int = 0
    older: int = 0
    switched_off: int = 0
    homeless: int = 0  # events of sessions that do not tell their folder
    unread: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def added(self) -> int:
        """How many observations are new."""
        return self.kinds.total()

    def fail(self, name: str, why: str) -> None:
        """Count what could not be read, and name the first of it."""
        self.unread += 1
        if len(self.problems) < _MOST_NAMED:
            self.problems.append(f"{name}: {why}")


def known_places(environ: Mapping[str, str], home: Path) -> dict[str, tuple[Path, ...]]:
    """Where each agent keeps its sessions."""
    codex_home = Path(environ.get("CODEX_HOME") or home / ".codex")
    return {
        "claude": (Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",),
        "codex": (codex_home / "sessions", codex_home / "archived_sessions"),
        "gemini": (home / ".gemini" / "tmp",),
        "copilot": (Path(environ.get("COPILOT_HOME") or home / ".copilot") / "session-state",),
        "opencode": (Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "opencode",),
    }


def find_transcripts(place: Path, report: Mined) -> list[Transcript]:
    """The files of a folder, or the file itself, that may be sessions; links are named, not followed."""
    try:
        real = place.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        raise NotFound(f"No such file or folder: {str(place)[:200]}", hint="Give a session file or a folder.") from None
    if not real.is_dir():
        status = real.stat()
        return [Transcript(real.parent, real.name, status.st_size, status.st_mtime_ns)]
    with FileTree(real) as tree:
        return _walk(tree, real, report)


def _walk(tree: FileTree, root: Path, report: Mined) -> list[Transcript]:
    found: list[Transcript] = []
    for path, entry in walk_entries(
        tree,
        enters=lambda folder: folder.name != "subagents",
        refused=lambda folder, reason: report.fail(str(root / folder), reason),
        deepest=_DEEPEST_FOLDER,
    ):
        if entry.is_folder or not _may_be_session(path):
            continue
        if len(found) >= _MOST_FILES:
            report.fail(str(root), f"more than {_MOST_FILES:,} files; the rest is not looked at")
            break
        found.append(Transcript(root, path, entry.size_bytes, entry.mtime_ns))
    return found


def _may_be_session(path: str) -> bool:
    *folders, name = path.split("/")
    if _is_database(name):
        return True
    if name.endswith(".jsonl"):
        return not name.startswith(_OF_SUBAGENTS)
    return name == "logs.json" or (name.startswith("session-") and name.endswith(".json") and "chats" in folders[-1:])


def _is_database(path: str) -> bool:
    """Whether a file is named as OpenCode names its database, one for each channel of its releases."""
    name = path.rsplit("/", 1)[-1]
    return name.startswith("opencode") and name.endswith(".db")


@contextmanager
def _no_tables(path: Path) -> Iterator[opencode.Tables]:
    raise SourceError(f"Databases are not read here: {path.name}")
    yield


class Miner:
    """Takes sessions into memory, one file after the other."""

    def __init__(
        self,
        memory: Memory,
        *,
        identify: Callable[[Path], str],
        settings: HookSettings,
        since: int = 0,
        agents: Sequence[str] = AGENTS,
        dry_run: bool = False,
        open_tables: Callable[[Path], AbstractContextManager[opencode.Tables]] = _no_tables,
    ) -> None:
        self._memory = memory
        self._open_tables = open_tables
        self._identify = identify
        self._settings = settings
        self._since = since
        self._agents = agents
        self._dry_run = dry_run
        self._homes: dict[str, _Home | None] = {}
        self._roots_by_hash: dict[str, str] | None = None
        self.report = Mined()

    def mine(self, transcripts: Sequence[Transcript], progress: Progress) -> None:
        """Take in all files, oldest first; what was taken in stays when it is stopped."""
        total = sum(one.size_bytes for one in transcripts)
        done = 0
        for transcript in sorted(transcripts, key=lambda one: (one.mtime_ns, one.path)):
            if progress.cancelled():
                return
            self._mine_file(transcript)
            done += transcript.size_bytes
            progress.report(done // 1_000, total // 1_000, "kB of sessions")

    def _mine_file(self, transcript: Transcript) -> None:
        key = _digest(transcript.name)
        noted = self._memory.store.mined_file(key)
        state = MinedFile(key, transcript.size_bytes, transcript.mtime_ns, self._since)
        # What a database got last stands in a file beside it: its own size and time tell nothing.
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
                agent = self._take_database(transcript)
            else:
                with FileTree(transcript.root) as tree:
                    agent = self._take(transcript, tree)
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

    def _take(self, transcript: Transcript, tree: FileTree) -> str:
        """Take one file in; the agent whose it is, empty where it is nobody's or was not asked for."""
        agent, told = self._told(transcript, tree)
        return self._take_events(agent, told)

    def _take_database(self, transcript: Transcript) -> str:
        if "opencode" not in self._agents:
            return ""
        with self._open_tables(transcript.root / transcript.path) as tables:
            return self._take_events("opencode", opencode.events_in(tables))

    def _take_events(self, agent: str, told: Iterator[Told]) -> str:
        if agent not in self._agents:
            return ""
        batch: list[Told] = []
        for one in told:
            batch.append(one)
            if len(batch) >= _BATCH_EVENTS:
                self._keep(batch)
                batch = []
        self._keep(batch)
        self.report.sessions[agent] += 1
        return agent

    def _told(self, transcript: Transcript, tree: FileTree) -> tuple[str, Iterator[Told]]:
        """Whose session a file is, and what it tells."""
        records = self._records(transcript, tree)
        first: list[Record] = []
        for record in records:
            first.append(record)
            if (agent := _agent_of(record)) or len(first) >= _LINES_TO_RECOGNISE:
                break
        else:
            agent = ""
        if not agent:
            if first:
                self.report.fail(transcript.name, "no session of an agent that is known")
            return "", iter(())
        return agent, _events(self._session(agent, transcript, tree), first, records)

    def _session(self, agent: str, transcript: Transcript, tree: FileTree) -> Session:
        if agent == "claude":
            return claude.ClaudeSession()
        if agent == "codex":
            return codex.CodexSession()
        if agent == "copilot":
            return copilot.CopilotSession()
        noted = _noted_root(tree, transcript.path)
        return gemini.GeminiSession(lambda project_hash: noted or self._root_by_hash(project_hash))

    def _root_by_hash(self, project_hash: str) -> str:
        if self._roots_by_hash is None:
            roots = {row.root for row in self._memory.store.projects() if row.root}
            self._roots_by_hash = {sha256(root.encode("utf-8", "surrogatepass")).hexdigest(): root for root in roots}
        return self._roots_by_hash.get(project_hash, "")

    def _records(self, transcript: Transcript, tree: FileTree) -> Iterator[Record]:
        """The JSON objects of a file; what cannot be read is counted and named."""
        if transcript.path.endswith(".json"):
            yield from self._whole(transcript, tree)
            return
        for number, line in enumerate(_lines(tree.pieces(transcript.path, _PIECE_BYTES)), start=1):
            name = f"{transcript.name}:{number}"
            if line is None:
                self.report.fail(name, f"a line of more than {LARGEST_INPUT:,} bytes")
            elif line.text.strip():
                try:
                    record = json.loads(line.text.decode("utf-8", "replace"))
                except (ValueError, RecursionError):
                    if line.is_finished:  # the last line of a session that goes on is read next time
                        self.report.fail(name, "no JSON")
                    continue
                if isinstance(record, dict):
                    yield record

    def _whole(self, transcript: Transcript, tree: FileTree) -> Iterator[Record]:
        try:
            value = json.loads(tree.read(transcript.path, _LARGEST_WHOLE_FILE).decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            self.report.fail(transcript.name, "no JSON")
            return
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))

    def _keep(self, told: Sequence[Told]) -> None:
        """Take a few events in: outside the transaction whatever takes time, inside it what has to be one."""
        known = self._memory.store.mined([_digest(one.key) for one in told])
        self.report.known += sum(_digest(one.key) in known for one in told)
        found = (self._candidate(one) for one in told if _digest(one.key) not in known)
        candidates = {one.key: one for one in found if one is not None}
        if self._dry_run:
            for one in candidates.values():
                self._count(one, merged=False)
            return
        if not candidates:
            return
        with self._memory.store.writing() as writer:
            for one in candidates.values():
                past = self._memory.as_of(one.at, id_from(one.id_text))
                if (kept := keep_event(past, writer, one.event, one.origin, one.prepared)) is not None:
                    self._count(one, merged=kept.merged)
            writer.note_mined(candidates)

    def _count(self, one: _Candidate, *, merged: bool) -> None:
        if one.origin.root is not None:
            self.report.roots[one.origin.project_id] = one.origin.root
        if merged:
            self.report.merged += 1
        elif one.prepared is not None:
            self.report.kinds[one.prepared.new.kind] += 1
            self.report.projects[one.origin.project_id] += 1
        elif not self._dry_run:  # only the session tells: a command that works again, an answer to a question
            self.report.kinds["finding" if one.event.tool is not None else "note"] += 1
            self.report.projects[one.origin.project_id] += 1

    def _candidate(self, told: Told) -> _Candidate | None:
        """What may be kept of an event; None when that is nothing."""
        at = self._time(told)
        if at < self._since:
            self.report.older += 1
            return None
        event = read_event(told.event_name, Payload(told.fields))
        if event is None:
            return None
        home = self._home(event.folder, told.repository)
        if home is None:
            self.report.homeless += 1
            return None
        if self._settings.is_off(home.project_id, home.top):
            self.report.switched_off += 1
            return None
        event = relative_to(home.top, event)
        draft = admit(event)
        if draft is None and not may_fix(event) and not may_answer(event):
            return None
        origin = ObservationOrigin(home.project_id, home.root, event.session_id or None, event.agent, home.folder)
        id_text = f"{event.agent}:{told.key}"
        past = self._memory.as_of(at, id_from(id_text))
        prepared = None if draft is None else prepare_draft(past, draft, origin)
        return _Candidate(event, origin, prepared, at, _digest(told.key), id_text)

    def _time(self, told: Told) -> int:
        """When an event happened: never later than now, whatever its clock said."""
        now = micros(self._memory.clock())
        at = parse_iso(told.at) if told.at else None
        return now if at is None or at > now + CLOCK_TOLERANCE else at

    def _home(self, folder: Path | None, repository: str) -> _Home | None:
        if folder is None or not folder.is_absolute() or "\0" in str(folder):
            return None
        name = str(folder)
        if name not in self._homes:
            self._homes[name] = self._found_home(folder, repository)
        return self._homes[name]

    def _found_home(self, folder: Path, repository: str) -> _Home:
        """The project of a folder; of one that is gone, by what still tells: the checkout around it, a project that was
        there, the session's remote, or its path."""
        if is_folder_there(folder):
            real = folder.resolve()
            root = project_root(real)
            return _Home(self._identify(root), root, folder_in_checkout(real), root)
        above = next(parent for parent in folder.parents if is_folder_there(parent)).resolve()
        root = project_root(above)
        if (root / ".git").exists():
            inside = (above / folder.relative_to(next(p for p in folder.parents if is_folder_there(p)))).relative_to(
                root
            )
            return _Home(self._identify(root), root, inside.as_posix(), root)
        for gone in self._homes.values():
            if gone is not None and gone.root is None and folder.is_relative_to(gone.top):
                return gone
        known = next((row.project_id for row in self._memory.store.projects() if row.root == str(folder)), None)
        project_id = known or normalise_remote(repository) or path_identity(folder)
        return _Home(project_id, None, "", folder)


class _Line(NamedTuple):
    text: bytes
    is_finished: bool = True


def _lines(pieces: Iterator[bytes]) -> Iterator[_Line | None]:
    """The lines of a file; None for one that is too long to be read."""
    rest = b""
    is_skipping = False
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield None if is_skipping or len(line) > LARGEST_INPUT else _Line(line)
            is_skipping = False
        if len(rest) > LARGEST_INPUT:
            rest, is_skipping = b"", True
    if rest or is_skipping:
        yield None if is_skipping else _Line(rest, is_finished=False)


def _events(session: Session, first: Sequence[Record], rest: Iterator[Record]) -> Iterator[Told]:
    for records in (first, rest):
        for record in records:
            yield from session.read(record)
    yield from session.end()


def _agent_of(record: Record) -> str:
    """The agent whose sessions have such a record; empty when it tells none."""
    if codex.is_session(record):
        return "codex"
    if gemini.is_session(record):
        return "gemini"
    if copilot.is_session(record):
        return "copilot"
    return "claude" if claude.is_session(record) else ""


def _noted_root(tree: FileTree, path: str) -> str:
    """The root of the project that Gemini CLI noted in the folder of its chats, or the one above."""
    folders = path.split("/")[:-1]
    for depth in range(len(folders), -1, -1):
        try:
            noted = tree.read("/".join((*folders[:depth], _ROOT_FILE)), _LONGEST_ROOT)
        except FileRefused:
            continue
        return noted.decode("utf-8", "replace").strip()
    return ""


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def mined_json(report: Mined) -> dict[str, Any]:
    """What a run did, for scripts."""
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
        "without_folder": report.homeless,
        "unread": report.unread,
        "problems": report.problems,
    }
