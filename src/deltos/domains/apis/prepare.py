"""Documents to what the store keeps of them: detect, parse, merge, chunk. Runs in a child process, which reads no file.

Where a document refers to others that the child was not given, it names them; the parent reads them and asks again.
Parsers are imported where they run: the parent needs none of them.
"""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.model import ApiDescription, Operation
from deltos.errors import SourceError
from deltos.garbage_collection import garbage_collection_paused

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.domains.apis.diff import ApiState
    from deltos.domains.apis.document import ReadDocument
    from deltos.domains.apis.model import Json, OperationChange, Overview

_decode_operation = msgspec.json.Decoder(Operation).decode
# So many units at a time are unpickled: other threads can go on in between.
_UNITS_PER_PIECE = 200
_IMPORT = re.compile(rb"""^[ \t]*import[ \t]+(?:public[ \t]+|weak[ \t]+)?["']([^"'\n]*)["']""", re.MULTILINE)


class RawDocument(NamedTuple):
    """A document as it came; `refers` tells whether others can be read for it."""

    data: bytes
    citation: str
    name: str
    refers: bool


# By the position of a document and a path from it: what lies there, or why it cannot be read.
Neighbours = dict[tuple[int, str], bytes | str]


class Wanted(NamedTuple):
    """Paths from one document, of which the first that can be read is meant."""

    position: int
    paths: tuple[str, ...]


class Missing(NamedTuple):
    """Other documents are needed first."""

    wanted: tuple[Wanted, ...]


class PreparedApi(NamedTuple):
    """One API as the store keeps it; `units` are pickled lists of new units."""

    citation: str
    name: str
    overview: Overview
    operations: int
    schemas: int
    webhooks: int
    warnings: tuple[str, ...]
    units: tuple[bytes, ...]

    @property
    def only_lends_types(self) -> bool:
        """Whether it is a protobuf package without services."""
        return _is_protobuf(self.overview) and not self.operations


class Failed(NamedTuple):
    """A document that could not be read, and why."""

    citation: str
    reason: str


class PreparedDocuments(NamedTuple):
    """What came of some documents."""

    apis: tuple[PreparedApi, ...]
    failures: tuple[Failed, ...]


class _ReadDescription(NamedTuple):
    """A description together with the document it was read from."""

    document: ApiDocument
    description: ApiDescription


def prepare(documents: Sequence[RawDocument], neighbours: Neighbours, is_last: bool) -> PreparedDocuments | Missing:
    """Read documents that may be parts of one API; `is_last`: no more neighbours can be asked for."""
    from deltos.domains.apis.description import read_description

    references: dict[int, list[str]] = {}
    wanted = tuple(_unread(documents, neighbours, references))
    if wanted and not is_last:
        return Missing(wanted)
    with garbage_collection_paused():
        if len(documents) > 1 and all(_is_proto(raw) for raw in documents):
            return _prepare_protobuf(documents, neighbours)
        missing: list[Wanted] = []
        readings: list[_ReadDescription] = []
        failures: list[Failed] = []
        for position, raw in enumerate(documents):
            read = _reader(position, neighbours, missing) if raw.refers else None
            document = ApiDocument(raw.data, raw.citation, raw.name, read)
            try:
                description = read_description(document, references.get(position))
                readings.append(_ReadDescription(replace(document, data=b""), description))
            except SourceError as exc:
                failures.append(Failed(raw.citation, str(exc)))
        if missing and not is_last:
            return Missing(tuple(dict.fromkeys(missing)))
        apis = [_prepared(reading, failures) for reading in readings]
        return PreparedDocuments(tuple(api for api in apis if api), tuple(failures))


def _prepared(reading: _ReadDescription, failures: list[Failed]) -> PreparedApi | None:
    description = reading.description
    webhooks = sum(operation.webhook for operation in description.operations)
    try:
        units = tuple(_pieces(description))
    except RecursionError:
        failures.append(Failed(reading.document.citation, "It is nested too deeply to be stored"))
        return None
    return PreparedApi(
        citation=reading.document.citation,
        name=reading.document.name,
        overview=description.overview,
        operations=len(description.operations) - webhooks,
        schemas=sum(not schema.message for schema in description.schemas),
        webhooks=webhooks,
        warnings=description.warnings,
        units=units,
    )


def _pieces(description: ApiDescription) -> Iterator[bytes]:
    from deltos.domains.apis.chunk import chunk_api

    units = iter(chunk_api(description))
    while piece := list(islice(units, _UNITS_PER_PIECE)):
        yield pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)


# ---------------------------------------------------------------------- neighbours


def _unread(
    documents: Sequence[RawDocument], neighbours: Neighbours, references: dict[int, list[str]]
) -> Iterator[Wanted]:
    """What the documents, and the neighbours read so far, plainly refer to and that were not read yet.

    Looks at the raw bytes: to parse everything once for each level of references would be slow. The references of the
    documents themselves are left in `references`.
    """
    from deltos.domains.apis.refs import MAX_DOCUMENTS, find_references

    here = _paths_here(documents) if len(documents) > 1 else frozenset()
    for position, raw in enumerate(documents):
        if not raw.refers:
            continue
        seen: set[str] = set()
        pending = [("", raw.data)]
        while pending:
            path, data = pending.pop()
            targets = find_references(data) if b"$ref" in data else []
            references.setdefault(position, targets)
            for paths in (*_referred(targets, path, raw.name), *_imported(data, here)):
                if paths[0] in seen or len(seen) >= MAX_DOCUMENTS:
                    continue
                seen.add(paths[0])
                known = [neighbours.get((position, one)) for one in paths]
                found = next(((one, text) for one, text in zip(paths, known, strict=True) if _is_read(text)), None)
                if found is not None and isinstance(found[1], bytes):
                    pending.append((found[0], found[1]))
                elif None in known:
                    yield Wanted(position, paths)


def _is_read(text: bytes | str | None) -> bool:
    return isinstance(text, bytes)


def _referred(targets: list[str], path: str, root_name: str) -> Iterator[tuple[str, ...]]:
    """The other documents that references in the one at `path` lead to."""
    from deltos.domains.apis.refs import neighbour_of

    for target in targets:
        if neighbour := neighbour_of(target, path, root_name):
            yield (neighbour,)


def _paths_here(documents: Sequence[RawDocument]) -> frozenset[str]:
    """All that an import may say to mean one of these documents: the ends of their paths."""
    parts = [raw.citation.split("/") for raw in documents]
    return frozenset("/".join(path[start:]) for path in parts for start in range(len(path)))


def _imported(data: bytes, here: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """The files beyond those `here` that a protobuf file imports, each with its alternatives."""
    from deltos.domains.apis.description import import_paths

    if data.lstrip()[:1] not in (b"{", b"["):
        for raw in dict.fromkeys(_IMPORT.findall(data)):
            name = raw.decode("utf-8", "replace")
            if name not in here and (paths := import_paths(name)):
                yield paths


def _reader(position: int, neighbours: Neighbours, missing: list[Wanted]) -> ReadDocument:
    def read(path: str) -> bytes:
        found = neighbours.get((position, path))
        if isinstance(found, bytes):
            return found
        if found is None:
            missing.append(Wanted(position, (path,)))
        raise SourceError(found or "too many documents refer on to one another")

    return read


# ---------------------------------------------------------------------- protobuf packages


def _is_proto(raw: RawDocument) -> bool:
    from deltos.domains.apis.detect import sniff

    return sniff(raw.data) == "protobuf"


def _prepare_protobuf(documents: Sequence[RawDocument], neighbours: Neighbours) -> PreparedDocuments:
    """Files of one package are one API; packages without services only lend types to those with."""
    from deltos.domains.apis.parse.protobuf import parse_protobuf_files
    from deltos.domains.apis.tree import decode_text

    imported = {text: decode_text(text) for text in neighbours.values() if isinstance(text, bytes)}
    packages = parse_protobuf_files([decode_text(raw.data) for raw in documents], imported.values())
    useful = [package for package in packages if package.description.operations] or packages
    failures: list[Failed] = []
    apis = []
    for package in useful:
        first = documents[package.positions[0]]
        alone = len(package.positions) == 1
        citation = first.citation if alone else str(PurePosixPath(first.citation).parent)
        reading = _ReadDescription(ApiDocument(b"", citation, first.name), package.description)
        apis.append(_prepared(reading, failures))
    return PreparedDocuments(tuple(api for api in apis if api), tuple(failures))


def _is_protobuf(overview: Overview) -> bool:
    return overview.kind.startswith("Protocol")


# ---------------------------------------------------------------------- what changed


class StoredApi(NamedTuple):
    """An API as the store has it: the bodies of its operations by key, and of its schemas by pointer."""

    operations: tuple[tuple[str, bytes], ...] = ()
    schemas: tuple[tuple[str, bytes], ...] = ()

    def reading(self) -> ApiState:
        """The same, decoded as far as comparing needs it."""
        from deltos.domains.apis.diff import ApiState

        bodies = dict(self.operations)
        schemas: dict[str, bytes] = {}
        for pointer, body in self.schemas:
            schemas.setdefault(pointer, body)  # a reference means the first of several
        known: dict[str, Json] = {}

        def resolve(target: str) -> Json:
            if target not in known:
                body = schemas.get(target)
                known[target] = None if body is None else msgspec.json.decode(body)
            return known[target]

        return ApiState({key: _decode_operation(body) for key, body in bodies.items()}, bodies, schemas, resolve)


class ReadingChanges(NamedTuple):
    """What a new reading of an API changed."""

    operations: tuple[OperationChange, ...]
    schemas_added: tuple[str, ...]
    schemas_removed: tuple[str, ...]


def changes_between(old: StoredApi, new: StoredApi) -> ReadingChanges:
    """Compare two stored readings."""
    from deltos.domains.apis.diff import compare

    before, after = old.reading(), new.reading()
    gained = _without(after.encoded_schemas, before.encoded_schemas)
    lost = _without(before.encoded_schemas, after.encoded_schemas)
    return ReadingChanges(compare(before, after), gained, lost)


def _without(schemas: Mapping[str, bytes], others: Mapping[str, bytes]) -> tuple[str, ...]:
    return tuple(pointer for pointer in schemas if pointer not in others)
