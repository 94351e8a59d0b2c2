"""The write path of APIs: find, read, chunk and store documents; read them again and tell what changed."""

from __future__ import annotations

import logging
import pickle
import re
import time
import zlib
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from deltos.confinement import told, whole_store
from deltos.domains.apis.chunk import encode
from deltos.domains.apis.library import ApiLibrary, api_of, is_shown
from deltos.domains.apis.model import Api, ApiChanges
from deltos.domains.apis.prepare import PreparedDocuments, RawDocument, StoredApi, changes_between, prepare
from deltos.domains.apis.source import Fetched, fetched_document, find_documents, is_address, is_same_place
from deltos.errors import BadArgument, DeltosError, ReadingStopped, SourceError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES
from deltos.files import given_path
from deltos.progress import Silent
from deltos.store.apis import ApiRow, NewUnit, UnitRow, UnreadRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deltos.domains.apis.document import ApiDocument, ReadDocument
    from deltos.domains.apis.prepare import Neighbours, PreparedApi, Wanted
    from deltos.domains.apis.source import Network
    from deltos.guarded import Parser
    from deltos.progress import Progress
    from deltos.store.apis import ApiDescriptions

_SAYS_NOTHING = frozenset(
    [
        "the",
        "api",
        "apis",
        "rest",
        "http",
        "web",
        "openapi",
        "swagger",
        "specification",
        "spec",
        "documentation",
        "reference",
        "public",
        "official",
        "extension",
        "extensions",
    ]
)
_FILES_ARE_CALLED = frozenset(
    "v schema schemas index main service services doc docs asyncapi graphql proto postman collection introspection"
    " definition description json yaml bundle bundled full latest".split()
)
_SUFFIXES = frozenset("yaml yml json graphql graphqls gql proto swagger openapi postman_collection".split())
MAX_NAME_CHARACTERS = 60
MAX_WARNINGS = 20
MAX_ROUNDS = 40  # levels of references from document to document
NEIGHBOURS_SECONDS = 120.0  # for reading the other documents that one refers to
_TOO_LATE = f"reading all of them takes more than {NEIGHBOURS_SECONDS:.0f} s"
MOST_STOPPED = (
    20  # documents that exceed their limits, each at the cost of many others: the source is hostile or broken
)
_TOLD = "deltos:told"  # where an API keeps what its last refresh told of, while that is not what it is now
MAX_UNREAD = 100  # documents of a source that are remembered by name
_log = logging.getLogger(__name__)


class _ToldState(msgspec.Struct, frozen=True):
    """An API as it was when its changes were last told, or when it was added."""

    version: str
    stored: StoredApi


@dataclass(frozen=True, slots=True)
class UnreadDocument:
    """A document that could not be read."""

    document: str
    reason: str


@dataclass(frozen=True, slots=True)
class Bringer:
    """The source of documentation that a description was met in, and goes with; its name tells namesakes apart."""

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class AddReport:
    """What adding a source gave."""

    apis: tuple[Api, ...]
    failures: tuple[UnreadDocument, ...] = ()


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What reading a source again gave."""

    changes: tuple[ApiChanges, ...]
    failures: tuple[UnreadDocument, ...] = ()


@dataclass(slots=True)
class _SourceReading:
    """The documents of one source, read as far as they can be. `stopped` counts those that exceeded their limits."""

    parser: Parser
    apis: list[PreparedApi] = field(default_factory=list)
    failures: list[UnreadDocument] = field(default_factory=list)
    stopped: int = 0

    @property
    def is_given_up(self) -> bool:
        """Whether so many documents exceeded their limits that no other is tried."""
        return self.stopped >= MOST_STOPPED

    def take(self, documents: Sequence[ApiDocument]) -> None:
        """Read documents that belong together; where that fails, those that are to blame are left out."""
        if not documents or self.is_given_up:
            return
        result = self._try(documents)
        if isinstance(result, PreparedDocuments):
            self.apis += result.apis
            self.failures += [UnreadDocument(citation, reason) for citation, reason in result.failures]
        elif len(documents) == 1:
            self.blame(documents[0], result)
        elif len(good := self._bearable(documents)) < len(documents):
            self.take(good)
        else:  # each is bearable, all together are not
            self.failures += [UnreadDocument(document.citation, str(result)) for document in documents]

    def _bearable(self, documents: Sequence[ApiDocument]) -> list[ApiDocument]:
        """Those that can be read alone, up to where the source is given up."""
        good: list[ApiDocument] = []
        for document in documents:
            if self.is_given_up:
                break
            result = self._try([document])
            if isinstance(result, PreparedDocuments):
                good.append(document)
            else:
                self.blame(document, result)
        return good

    def useful(self) -> list[PreparedApi]:
        """The APIs that were read; those that only lend types to others do not count beside them."""
        return [api for api in self.apis if not api.only_lends_types] or self.apis

    def error(self, hint: str = "") -> SourceError:
        """Why nothing could be read; it tells whether limits were exceeded."""
        kind = ReadingStopped if self.stopped else SourceError
        return kind(f"{self.failures[0].document}: {self.failures[0].reason}", hint=hint)

    def blame(self, document: ApiDocument, error: SourceError) -> None:
        """Name a document that could not be read."""
        self.stopped += isinstance(error, ReadingStopped)
        self.failures.append(UnreadDocument(document.citation, str(error)))

    def _try(self, documents: Sequence[ApiDocument]) -> PreparedDocuments | SourceError:
        """What came of the documents, or the error that kept all of them from being read."""
        try:
            return self._prepare(documents)
        except ReadingStopped as exc:
            return exc
        except DeltosError:
            raise  # not theirs: cancelled, or the store is full
        except Exception as exc:  # noqa: BLE001 (one strange document must not take the others along)
            _log.warning("Reading %s broke", documents[0].citation, exc_info=True)
            return SourceError(f"It could not be understood ({type(exc).__name__}: {exc})")

    def _prepare(self, documents: Sequence[ApiDocument]) -> PreparedDocuments:
        """Parse and chunk documents in a child process, and read the neighbours that it asks for."""
        raw = [RawDocument(each.data, each.citation, each.name, each.read is not None) for each in documents]
        neighbours: Neighbours = {}
        rounds = 1
        deadline = time.monotonic() + NEIGHBOURS_SECONDS
        while True:
            others = (text for text in neighbours.values() if isinstance(text, bytes))
            content = (*(each.data for each in documents), *others)
            is_last = rounds >= MAX_ROUNDS
            result = self.parser.run(prepare, raw, neighbours, is_last, content=content)
            if isinstance(result, PreparedDocuments):
                return result
            is_more = _read_wanted(documents, result.wanted, neighbours, deadline)
            rounds = rounds + 1 if is_more else MAX_ROUNDS


class ApiIndexer:
    """Adds, refreshes and removes APIs."""

    def __init__(
        self, store: ApiDescriptions, *, network: Network | None, parser: Parser, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._parser = parser
        self._network = network
        self._clock = clock

    def add(
        self,
        location: str,
        name: str = "",
        *,
        root: Path | None = None,
        brought_by: Bringer | None = None,
        progress: Progress | None = None,
    ) -> AddReport:
        """Index every description at `location`; raises when there is none that can be read.

        A `name` that somebody gave is kept to; that of a description which was brought is what it may be called. What
        was added from the same place before is read again, under the name that it has where none is given.
        """
        location = location if is_address(location) else _absolute(location)
        source_name = name.strip()
        if brought_by is None:
            self._refuse_taken(source_name, location)
        documents = find_documents(location, network=self._network, parser=self._parser, root=root)
        return self._add_documents(documents, location, source_name, brought_by, progress or Silent())

    def add_found(
        self,
        data: bytes,
        url: str,
        name: str = "",
        *,
        brought_by: Bringer | None = None,
        read: ReadDocument | None = None,
    ) -> AddReport:
        """Index a description that somebody else read from `url`, such as a crawl of documentation.

        `read` reads what it refers to, where nobody else can: in a commit of a repository.
        """
        if read is None and not is_address(url):
            return self.add(url, name, brought_by=brought_by)
        source_name = name.strip()
        if brought_by is None:
            self._refuse_taken(source_name, url)
        document = fetched_document(Fetched(data, url), self._network)
        if read is not None:
            citation = url if is_address(url) else Path(url).name
            document = replace(document, citation=citation, read=read)
        documents = [document]
        return self._add_documents(documents, url, source_name, brought_by, Silent())

    def _add_documents(
        self,
        documents: Iterable[ApiDocument],
        location: str,
        source_name: str,
        brought_by: Bringer | None,
        progress: Progress,
    ) -> AddReport:
        read_at = self._clock()  # before: what changes meanwhile is read again
        reading = self._read(_told(documents, progress))
        readings = reading.useful()
        if not readings:
            raise reading.error()
        self._record_unread(location, reading.failures)
        apis = []
        before = _known_rows(readings, [] if brought_by else self._added_from(location), source_name)
        for number, (each, known) in enumerate(zip(readings, before, strict=True)):
            progress.report(number, len(readings), "APIs stored")
            alone = len(readings) == 1
            warnings: tuple[str, ...] = ()
            if known and source_name in ("", known.source_name, known.name if alone else ""):
                api_name, belongs_to = known.name, known.source_name
            elif brought_by is None:
                api_name, warnings = self._choose_name(each, source_name, location, alone=alone)
                belongs_to = source_name or api_name
            else:
                api_name, warnings = self._name_of_brought(each, source_name, location, brought_by, alone=alone)
                belongs_to = brought_by.id
            # Nobody is told what a crawl changes: the next refresh tells it.
            told_state = self._told_state(row) if brought_by and (row := self._store.api(api_name)) else None
            apis.append(self._store_reading(each, api_name, belongs_to, location, warnings, read_at, told_state))
            if known:
                self._replaced(known, api_name, location)
        return AddReport(tuple(apis), tuple(reading.failures))

    def _added_from(self, location: str) -> list[ApiRow]:
        """The APIs that somebody added from a place, whatever the place was called; not those that a source brought."""
        rows = ApiLibrary(self._store).rows()
        own = [row for row in rows if row.name == row.source_name or row.name.startswith(f"{row.source_name}-")]
        return sorted(
            (row for row in own if is_same_place(row.source, location)), key=lambda row: row.source != location
        )

    def _replaced(self, before: ApiRow, name: str, location: str) -> None:
        """Forget what an API was called before, and what could not be read under another name of its place."""
        if before.name != name:
            self._store.remove(before.name)
        if before.source != location:
            self._store.replace_unread(before.source, ())

    def refresh(self, name: str, *, root: Path | None = None) -> RefreshReport:
        """Read a source again, by its name or that of one of its APIs; tells what changed in each since last time."""
        rows = self._rows(name)
        before = {row.name: self._told_state(row) for row in rows}
        apis, failures = self._read_again(rows, {}, root)
        changes = [self._changes(api, before.get(api.name) or _ToldState("", StoredApi())) for api in apis]
        return RefreshReport(tuple(changes), failures)

    def read_quietly(self, name: str) -> None:
        """Read a source again without telling what changed: that is left for the next refresh."""
        rows = self._rows(name)
        self._read_again(rows, {row.name: self._told_state(row) for row in rows}, None)

    def _read_again(
        self, rows: list[ApiRow], told_states: Mapping[str, _ToldState], root: Path | None
    ) -> tuple[list[Api], tuple[UnreadDocument, ...]]:
        """The APIs of a source as they are now, and what could not be read."""
        source, source_name = rows[0].source, rows[0].source_name
        documents = find_documents(source, network=self._network, parser=self._parser, root=root)
        read_at = self._clock()
        reading = self._read(documents)
        readings = reading.useful()
        self._record_unread(source, reading.failures)
        if not readings:
            raise reading.error(hint="The old index was kept.")
        apis = []
        for each, known in zip(readings, _known_rows(readings, rows), strict=True):
            api_name = known.name if known else self._choose_name(each, source_name, source, alone=False)[0]
            told_state = told_states.get(api_name)
            apis.append(self._store_reading(each, api_name, source_name, source, (), read_at, told_state))
        return apis, tuple(reading.failures)

    def remove(self, name: str) -> tuple[str, ...]:
        """Forget a source's APIs, or one API; tells the names of those that are gone."""
        rows = self._rows(name)
        for row in rows:
            self._store.remove(row.name)
        return tuple(row.name for row in rows)

    def _rows(self, name: str) -> list[ApiRow]:
        library = ApiLibrary(self._store)
        exact = library.known(name.strip())
        if exact is not None:
            return [exact]
        return [row for row in self._store.of_source(name.strip()) if is_shown(row)] or [library.row(name)]

    def _read(self, documents: Iterable[ApiDocument]) -> _SourceReading:
        """Every document that can be read, and why the others cannot. Protobuf files may be parts of one API."""
        reading = _SourceReading(self._parser)
        protobuf: list[ApiDocument] = []
        for document in documents:
            if document.problem:
                reading.blame(document, document.problem)
            elif document.kind == "protobuf":
                protobuf.append(document)
            else:
                reading.take([document])
            if reading.is_given_up:
                break
        reading.take(protobuf)
        if reading.is_given_up:
            reason = f"{MOST_STOPPED} documents could not be read within their limits; the rest was not tried."
            reading.failures.append(UnreadDocument("further documents", reason))
        return reading

    def _record_unread(self, source: str, failures: Sequence[UnreadDocument]) -> None:
        """Remember what is missing, so that lists of APIs say it."""
        named = [UnreadRow(source, failure.document, failure.reason) for failure in failures[:MAX_UNREAD]]
        if (more := len(failures) - MAX_UNREAD) > 0:
            named.append(UnreadRow(source, "further documents", f"{more} more could not be read."))
        self._store.replace_unread(source, named)

    def _store_reading(
        self,
        reading: PreparedApi,
        name: str,
        source_name: str,
        source: str,
        warnings: Iterable[str],
        read_at: float,
        told_state: _ToldState | None = None,
    ) -> Api:
        row = ApiRow(
            name=name,
            source_name=source_name,
            source=source,
            citation=reading.citation,
            overview=encode(reading.overview),
            operations=reading.operations,
            schemas=reading.schemas,
            webhooks=reading.webhooks,
            warnings=encode(_named(warnings, reading.warnings)),
            indexed_at=read_at,
        )
        units = (unit for piece in reading.units for unit in pickle.loads(piece))  # noqa: S301 (from our own child)
        kept = [NewUnit(UnitRow("fragment", _TOLD, _TOLD), _packed(told_state), None)] if told_state else []
        self._store.replace(row, chain(units, kept))
        return api_of(row)

    def _named(self, name: str) -> ApiRow | None:
        """The API of a name, whoever may be shown it: names are given once."""
        with whole_store():
            return self._store.api(name)

    def _refuse_taken(self, name: str, location: str) -> None:
        taken = self._named(name) if name else None
        if taken is not None and not is_same_place(taken.source, location):
            origin = f", from {told(taken.source)}" if is_shown(taken) else ""
            raise BadArgument(
                f"There is already an API called '{name}'{origin}",
                hint="Give another (on the command line: --name), or remove it.",
            )

    def _choose_name(
        self, reading: PreparedApi, source_name: str, location: str, *, alone: bool
    ) -> tuple[str, tuple[str, ...]]:
        """A name that no other API has; a warning when it is not the first choice."""
        own = slug(reading.overview.title) or slug(_file_stem(reading))
        wanted = source_name if source_name and alone else "-".join(filter(None, (source_name, own)))
        version = slug(reading.overview.version)
        names = [wanted, f"{wanted}-{version}"] if version else [wanted]
        return self._first_free(reading, location, names, numbered=wanted)

    def _name_of_brought(
        self, reading: PreparedApi, file_name: str, location: str, bringer: Bringer, *, alone: bool
    ) -> tuple[str, tuple[str, ...]]:
        """The name of a description that a source brought: the one it has; else what its file is called, where that
        says anything, or its title; with the source's name before it where another API has that."""
        known = (row for row in self._store.of_source(bringer.id) if row.source == location)
        if kept := next((row.name for row in known if row.citation == reading.citation), ""):
            return kept, ()
        title, source = slug(reading.overview.title), slug(bringer.name)
        stem = file_name if _is_telling(file_name) else ""
        wanted = "-".join(filter(None, (stem, title))) if not alone else stem or title
        wanted = wanted or source or file_name
        qualified = f"{source}-{wanted}" if source and source != wanted else wanted
        return self._first_free(reading, location, [wanted, qualified], numbered=qualified)

    def _first_free(
        self, reading: PreparedApi, location: str, names: Sequence[str], *, numbered: str
    ) -> tuple[str, tuple[str, ...]]:
        """The first of some names that no other API has, or else one with a number."""
        wanted = names[0]
        further = (f"{numbered}-{number}" for number in range(2, 1_000))
        for name in chain(names, further):
            taken = self._named(name)
            if taken is None or (taken.citation == reading.citation and is_same_place(taken.source, location)):
                warning = f"Another API is called '{wanted}'; this one was named '{name}'."
                return name, () if name == wanted else (warning,)
        raise BadArgument(f"Too many APIs are called '{wanted}'", hint="Give this one a name.")

    def _stored(self, row: ApiRow) -> StoredApi:
        schemas = self._store.units(row.id, ("schema", "message", "fragment"))
        return StoredApi(
            tuple(self._store.bodies(row.id)),
            tuple((unit.pointer, self._store.body(unit.id)) for unit in schemas if unit.pointer != _TOLD),
        )

    def _told_state(self, row: ApiRow) -> _ToldState:
        kept = self._store.target(row.id, _TOLD)
        return _unpacked(kept) if kept else _ToldState(api_of(row).overview.version, self._stored(row))

    def _changes(self, api: Api, told_state: _ToldState) -> ApiChanges:
        old_version, old = told_state.version, told_state.stored
        new = self._stored(ApiLibrary(self._store).row(api.name))
        content = (body for side in (old, new) for part in side for _, body in part)
        try:
            changes = self._parser.run(changes_between, old, new, content=content)
        except ReadingStopped as exc:
            note = f"It was read anew, but not compared with what was known: {exc}"
            return ApiChanges(api.name, old_version, api.overview.version, (), note=note)
        return ApiChanges(api.name, old_version, api.overview.version, *changes)


def _known_rows(readings: Sequence[PreparedApi], rows: Sequence[ApiRow], name: str = "") -> list[ApiRow | None]:
    """Which of the APIs of one place each reading is anew: the one that is called `name` where several are the same.

    Packages of one folder are cited alike and told apart by their titles; a title may also have changed.
    """
    if len(readings) == 1 and len({row.citation for row in rows}) == 1:
        return [next((row for row in rows if row.name == name), rows[0])]
    left = sorted(rows, key=lambda row: row.name != name)
    known: dict[int, ApiRow] = {}
    for is_title_kept in (True, False):
        for place, reading in enumerate(readings):
            if place not in known and (row := _row_of(reading, left, is_title_kept=is_title_kept)):
                known[place] = row
                left.remove(row)
    return [known.get(place) for place in range(len(readings))]


def _row_of(reading: PreparedApi, rows: Iterable[ApiRow], *, is_title_kept: bool) -> ApiRow | None:
    cited = (row for row in rows if row.citation == reading.citation)
    title = reading.overview.title
    return next((row for row in cited if not is_title_kept or api_of(row).overview.title == title), None)


def _absolute(location: str) -> str:
    """A path from the root; `..` is followed through links, which a later reading could not do otherwise."""
    path = given_path(location).absolute()
    return str(path.resolve() if ".." in path.parts else path)


def _packed(state: _ToldState) -> bytes:
    """A state as a JSON text, which every body of a unit is."""
    return msgspec.json.encode(zlib.compress(msgspec.msgpack.encode(state)))


def _unpacked(body: bytes) -> _ToldState:
    packed = msgspec.json.decode(body, type=bytes)
    return msgspec.msgpack.decode(zlib.decompress(packed), type=_ToldState)


def _told(documents: Iterable[ApiDocument], progress: Progress) -> Iterator[ApiDocument]:
    """The documents, each told to who waits for them; that there is one more is all that is known of their number."""
    for number, document in enumerate(documents, 1):
        progress.report(number, number + 1, "descriptions found")
        yield document


def _read_wanted(
    documents: Sequence[ApiDocument], wanted: Iterable[Wanted], neighbours: Neighbours, deadline: float
) -> bool:
    """Read what a child asked for, as far as all of it is bearable; False when nothing new came of it."""
    before = len(neighbours)
    room = MAX_DESCRIPTION_BYTES - sum(len(text) for text in neighbours.values() if isinstance(text, bytes))
    for position, paths in wanted:
        read = documents[position].read
        for path in paths:
            if (position, path) not in neighbours:
                is_late = time.monotonic() > deadline
                neighbours[position, path] = found = _TOO_LATE if is_late else _neighbour(read, path, room)
                room -= len(found) if isinstance(found, bytes) else 0
            if isinstance(neighbours[position, path], bytes):
                break
    return len(neighbours) > before


def _neighbour(read: ReadDocument | None, path: str, room: int) -> bytes | str:
    """A document that another one refers to, or why it cannot be had."""
    try:
        data = read(path) if read else b""
    except SourceError as exc:
        return exc.message
    return data if len(data) <= room else f"all together has more than {MAX_DESCRIPTION_BYTES:,} bytes"


def _named(*warnings: Iterable[str]) -> list[str]:
    """As many warnings as are kept, and how many there were beyond."""
    every = list(chain(*warnings))
    more = len(every) - MAX_WARNINGS
    return every if more <= 0 else [*every[:MAX_WARNINGS], f"{more} more warnings were left out."]


def slug(text: str) -> str:
    """A short name out of a title: `The Stripe API v3` as `stripe`; what is added by `+` is no part of it."""
    titles = (text.partition(" + ")[0], text)
    words = [re.findall(r"[^\W_]+(?:\.[^\W_]+)*", re.sub(r"['’]s\b", "", title.lower())) for title in titles]
    telling = next(filter(None, ([word for word in each if _is_telling_word(word)] for each in words)), words[-1])
    return "-".join(telling)[:MAX_NAME_CHARACTERS].strip("-")


def _is_telling_word(word: str) -> bool:
    return word not in _SAYS_NOTHING and not re.fullmatch(r"v\d+", word)


def _is_telling(file_name: str) -> bool:
    """Whether the name of a file says which API it describes: `openapi` and `api-v2` do not."""
    words = re.findall(r"[^\W\d_]+", file_name.lower())
    return any(word not in _SAYS_NOTHING and word not in _FILES_ARE_CALLED for word in words)


def _file_stem(reading: PreparedApi) -> str:
    name = reading.name or urlsplit(reading.citation).hostname or reading.citation
    end = len(name)
    while (dot := name.rfind(".", 0, end)) >= 0 and name[dot + 1 : end] in _SUFFIXES:
        end = dot
    return name[:end]
