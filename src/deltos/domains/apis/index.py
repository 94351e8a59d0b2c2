"""The write path of APIs: find, read, chunk and store documents; read them again and tell what changed."""

from __future__ import annotations

import gc
import re
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.confinement import told
from deltos.domains.apis.chunk import chunk_api, encode
from deltos.domains.apis.description import Document, read_description
from deltos.domains.apis.diff import Reading, compare
from deltos.domains.apis.library import ApiLibrary, api_of, decode_operation, is_shown
from deltos.domains.apis.model import Api, ApiChanges, ApiDescription
from deltos.domains.apis.source import Fetched, fetched_document, find_documents, is_address
from deltos.errors import BadArgument, SourceError
from deltos.files import given_path
from deltos.store.apis import ApiRow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from deltos.domains.apis.source import Network
    from deltos.store.apis import ApiStore

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
    ]
)
_SUFFIXES = frozenset("yaml yml json graphql graphqls gql proto swagger openapi postman_collection".split())
MAX_NAME_CHARACTERS = 60
MAX_WARNINGS = 20


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that could not be read."""

    document: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What adding a source gave."""

    apis: tuple[Api, ...]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadDescription:
    """A description together with the document it was read from."""

    document: Document
    description: ApiDescription


class ApiIndexer:
    """Adds, refreshes and removes APIs."""

    def __init__(self, store: ApiStore, *, network: Network | None, clock: Callable[[], float]) -> None:
        self._store = store
        self._network = network
        self._clock = clock

    def add(self, location: str, name: str = "", *, root: Path | None = None) -> AddReport:
        """Index every description at `location`; raises when there is none that can be read."""
        location = location if is_address(location) else str(given_path(location).absolute())
        source_name = name.strip()
        self._refuse_taken(source_name, location)
        documents = find_documents(location, network=self._network, root=root)
        return self._add_documents(documents, location, source_name)

    def add_found(self, data: bytes, url: str, name: str = "") -> AddReport:
        """Index a description that somebody else read from `url`, such as a crawl of documentation."""
        if not is_address(url):
            return self.add(url, name)
        source_name = name.strip()
        self._refuse_taken(source_name, url)
        return self._add_documents([fetched_document(Fetched(data, url), self._network)], url, source_name)

    def _add_documents(self, documents: Iterable[Document], location: str, source_name: str) -> AddReport:
        readings, failures = _read(documents)
        if not readings:
            raise SourceError(f"{failures[0].document}: {failures[0].reason}")
        apis = []
        for reading in readings:
            api_name, warnings = self._choose_name(reading, source_name, location, alone=len(readings) == 1)
            apis.append(self._store_reading(reading, api_name, source_name or api_name, location, warnings))
        return AddReport(tuple(apis), tuple(failures))

    def refresh(self, name: str, *, root: Path | None = None) -> list[ApiChanges]:
        """Read a source again, by its name or that of one of its APIs; tells what changed in each API."""
        rows = self._rows(name)
        before = {row.name: self._stored_reading(row) for row in rows}
        old_versions = {row.name: api_of(row).overview.version for row in rows}
        source, source_name = rows[0].source, rows[0].source_name
        readings, failures = _read(find_documents(source, network=self._network, root=root))
        if not readings:
            raise SourceError(f"{failures[0].document}: {failures[0].reason}", hint="The old index was kept.")
        changes = []
        for reading in readings:
            api_name = self._known_name(reading, rows, alone=len(readings) == len(rows) == 1)
            if not api_name:
                api_name, _ = self._choose_name(reading, source_name, source, alone=False)
            api = self._store_reading(reading, api_name, source_name, source, ())
            row = ApiLibrary(self._store).row(api_name)
            changes.append(
                _changes(api, old_versions.get(api_name, ""), before.get(api_name), self._stored_reading(row))
            )
        return changes

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

    def _store_reading(
        self, reading: ReadDescription, name: str, source_name: str, source: str, warnings: Iterable[str]
    ) -> Api:
        description = reading.description
        webhooks = sum(operation.webhook for operation in description.operations)
        row = ApiRow(
            name=name,
            source_name=source_name,
            source=source,
            citation=reading.document.citation,
            overview=encode(description.overview),
            operations=len(description.operations) - webhooks,
            schemas=sum(not schema.message for schema in description.schemas),
            webhooks=webhooks,
            warnings=encode((*warnings, *description.warnings)[:MAX_WARNINGS]),
            indexed_at=self._clock(),
        )
        try:
            with _garbage_collection_paused():
                self._store.replace(row, chunk_api(description))
        except RecursionError:
            raise SourceError(f"{reading.document.citation} is nested too deeply to be stored") from None
        return api_of(row)

    def _refuse_taken(self, name: str, location: str) -> None:
        taken = self._store.api(name) if name else None
        if taken is not None and taken.source != location:
            origin = f", from {told(taken.source)}" if is_shown(taken) else ""
            raise BadArgument(
                f"There is already an API called '{name}'{origin}", hint="Choose another name, or remove it first."
            )

    def _choose_name(
        self, reading: ReadDescription, source_name: str, location: str, *, alone: bool
    ) -> tuple[str, tuple[str, ...]]:
        """A name that no other API has; a warning when it is not the first choice."""
        own = slug(reading.description.overview.title) or slug(_file_stem(reading.document))
        wanted = source_name if source_name and alone else "-".join(filter(None, (source_name, own)))
        version = slug(reading.description.overview.version)
        numbered = (f"{wanted}-{number}" for number in range(2, 1_000))
        for name in chain((wanted,), [f"{wanted}-{version}"] if version else (), numbered):
            taken = self._store.api(name)
            if taken is None or (taken.source, taken.citation) == (location, reading.document.citation):
                warning = f"Another API is called '{wanted}'; this one was named '{name}'."
                return name, () if name == wanted else (warning,)
        raise BadArgument(f"Too many APIs are called '{wanted}'", hint="Give this one a name.")

    def _known_name(self, reading: ReadDescription, rows: list[ApiRow], *, alone: bool) -> str:
        for row in rows:
            if alone or row.citation == reading.document.citation:
                return row.name
        return ""

    def _stored_reading(self, row: ApiRow) -> Reading:
        bodies = dict(self._store.bodies(row.id))
        schemas = self._store.units(row.id, ("schema", "message", "fragment"))
        return Reading(
            operations={key: decode_operation(body) for key, body in bodies.items()},
            encoded_operations=bodies,
            encoded_schemas={unit.pointer: self._store.body(unit.id) for unit in schemas},
            resolve=_warm(ApiLibrary(self._store).resolver(row.id), (unit.pointer for unit in schemas)),
        )


def _read(documents: Iterable[Document]) -> tuple[list[ReadDescription], list[Failure]]:
    """Every document that can be read, and why the others cannot."""
    readings: list[ReadDescription] = []
    failures: list[Failure] = []
    for document in documents:
        try:
            with _garbage_collection_paused():
                description = read_description(document)
        except SourceError as exc:
            failures.append(Failure(document.citation, str(exc)))
            continue
        readings.append(ReadDescription(replace(document, data=b""), description))
    return _merge_packages(readings), failures


def _warm(resolve: Callable[[str], object], targets: Iterable[str]) -> Callable[[str], object]:
    """A resolver that has read everything before the store is written again."""
    for target in targets:
        resolve(target)
    return resolve


def _changes(api: Api, old_version: str, old: Reading | None, new: Reading) -> ApiChanges:
    if old is None:
        old = Reading({}, {}, {}, lambda _: None)
    gained = [pointer for pointer in new.encoded_schemas if pointer not in old.encoded_schemas]
    lost = [pointer for pointer in old.encoded_schemas if pointer not in new.encoded_schemas]
    return ApiChanges(api.name, old_version, api.overview.version, compare(old, new), tuple(gained), tuple(lost))


def _merge_packages(readings: list[ReadDescription]) -> list[ReadDescription]:
    """Files of one protobuf package are one API; packages without services only lend types to those with."""
    merged: dict[str, ReadDescription] = {}
    for reading in readings:
        overview = reading.description.overview
        is_proto = overview.kind.startswith("Protocol")
        key = f"proto {overview.title}" if is_proto else reading.document.citation
        merged[key] = _joined(merged[key], reading) if key in merged else reading
    useful = [
        reading for key, reading in merged.items() if not key.startswith("proto ") or reading.description.operations
    ]
    return useful or list(merged.values())


def _joined(first: ReadDescription, second: ReadDescription) -> ReadDescription:
    one, two = first.description, second.description
    schemas = {schema.pointer: schema for schema in (*one.schemas, *two.schemas)}
    fragments = {pointer: value for pointer, value in (one.fragments | two.fragments).items() if pointer not in schemas}
    description = ApiDescription(
        one.overview,
        tuple({operation.key: operation for operation in (*one.operations, *two.operations)}.values()),
        tuple(schemas.values()),
        fragments,
        tuple(dict.fromkeys((*one.warnings, *two.warnings))) if not (one.operations or two.operations) else (),
    )
    folder = str(PurePosixPath(first.document.citation).parent)
    return ReadDescription(replace(first.document, citation=folder), description)


def slug(text: str) -> str:
    """A short name out of a title: `The Stripe API` as `stripe`."""
    words = re.findall(r"[^\W_]+(?:\.[^\W_]+)*", re.sub(r"['’]s\b", "", text.lower()))
    telling = [word for word in words if word not in _SAYS_NOTHING] or words
    return "-".join(telling)[:MAX_NAME_CHARACTERS].strip("-")


def _file_stem(document: Document) -> str:
    name = document.name or urlsplit(document.citation).hostname or document.citation
    end = len(name)
    while (dot := name.rfind(".", 0, end)) >= 0 and name[dot + 1 : end] in _SUFFIXES:
        end = dot
    return name[:end]


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """Nothing here makes cycles, and walking a million fresh objects repeatedly doubles the cost."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
