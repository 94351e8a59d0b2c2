"""Convert documents to searchable entries: parse documents and split each API into operations, schemas and tags.

This runs in a child process that reads no files. If a document refers to other documents, the child returns their
paths; the parent reads them and calls again. Parsers are imported lazily, because the parent does not need them.
"""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.apis.document import ApiDocument
from deltos.errors import SourceError
from deltos.garbage_collection import garbage_collection_paused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.apis.document import ReadDocument
    from deltos.domains.apis.model import ApiDescription, Overview

# The parent process unpickles entries in batches, so that other threads can run between the batches.
_UNITS_PER_BATCH = 200
_IMPORT_STATEMENT = re.compile(rb"""^[ \t]*import[ \t]+(?:public[ \t]+|weak[ \t]+)?["']([^"'\n]*)["']""", re.MULTILINE)


class RawDocument(NamedTuple):
    """Content of a document, and whether the documents to which it refers can be read."""

    data: bytes
    citation: str
    name: str
    can_follow_references: bool


# Keys are the position of a document and a relative path. Values are the content of the referenced document, or the
# reason why it cannot be read.
ReferencedDocuments = dict[tuple[int, str], bytes | str]


class WantedDocument(NamedTuple):
    """Candidate paths of one document to which another document refers; the first readable file is used."""

    position: int
    paths: tuple[str, ...]


class MissingDocuments(NamedTuple):
    """Documents that the parent process must read before the preparation can continue."""

    wanted: tuple[WantedDocument, ...]


class PreparedApi(NamedTuple):
    """An API ready to store; `units` contains pickled batches of operations, schemas and tags."""

    citation: str
    name: str
    overview: Overview
    operation_count: int
    schema_count: int
    webhook_count: int
    warnings: tuple[str, ...]
    units: tuple[bytes, ...]

    @property
    def has_only_types(self) -> bool:
        """Whether the API is a protobuf package without services."""
        return _is_protobuf(self.overview) and not self.operation_count


class UnreadDocument(NamedTuple):
    """A document that could not be read, and the reason."""

    document: str
    reason: str


class PreparedDocuments(NamedTuple):
    """Result of preparing documents: APIs, and documents that could not be read."""

    apis: tuple[PreparedApi, ...]
    failures: tuple[UnreadDocument, ...]


class _ParsedDocument(NamedTuple):
    """A parsed API description, and the document from which it was parsed."""

    document: ApiDocument
    description: ApiDescription


def prepare(
    documents: Sequence[RawDocument], referenced: ReferencedDocuments, is_last_round: bool
) -> PreparedDocuments | MissingDocuments:
    """Parse documents that may form one API, and split them into operations, schemas and tags.

    If `is_last_round` is set, missing documents can no longer be requested from the parent process.
    """
    from deltos.domains.apis.description import read_description

    references: dict[int, list[str]] = {}
    wanted = tuple(_missing_documents(documents, referenced, references))
    if wanted and not is_last_round:
        return MissingDocuments(wanted)
    with garbage_collection_paused():
        if len(documents) > 1 and all(_is_proto_file(raw) for raw in documents):
            return _prepare_protobuf(documents, referenced)
        missing: list[WantedDocument] = []
        parsed_documents: list[_ParsedDocument] = []
        failures: list[UnreadDocument] = []
        for position, raw in enumerate(documents):
            read = _referenced_document_reader(position, referenced, missing) if raw.can_follow_references else None
            document = ApiDocument(raw.data, raw.citation, raw.name, read)
            try:
                description = read_description(document, references.get(position))
                parsed_documents.append(_ParsedDocument(replace(document, data=b""), description))
            except SourceError as exc:
                failures.append(UnreadDocument(raw.citation, str(exc)))
        if missing and not is_last_round:
            return MissingDocuments(tuple(dict.fromkeys(missing)))
        apis = [_prepare_api(parsed, failures) for parsed in parsed_documents]
        return PreparedDocuments(tuple(api for api in apis if api), tuple(failures))


def _prepare_api(parsed: _ParsedDocument, failures: list[UnreadDocument]) -> PreparedApi | None:
    """Return an API ready to store; if it is nested too deeply, record a failure and return None."""
    description = parsed.description
    webhooks = sum(operation.webhook for operation in description.operations)
    try:
        units = tuple(_pickle_units(description))
    except RecursionError:
        failures.append(UnreadDocument(parsed.document.citation, "The description is nested too deeply to be stored"))
        return None
    return PreparedApi(
        citation=parsed.document.citation,
        name=parsed.document.name,
        overview=description.overview,
        operation_count=len(description.operations) - webhooks,
        schema_count=sum(not schema.message for schema in description.schemas),
        webhook_count=webhooks,
        warnings=description.warnings,
        units=units,
    )


def _pickle_units(description: ApiDescription) -> Iterator[bytes]:
    """Yield the operations, schemas and tags of an API in pickled batches."""
    from deltos.domains.apis.chunk import chunk_api

    units = iter(chunk_api(description))
    while batch := list(islice(units, _UNITS_PER_BATCH)):
        yield pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)


# ---------------------------------------------------------------------- referenced documents


def _missing_documents(
    documents: Sequence[RawDocument], referenced: ReferencedDocuments, references: dict[int, list[str]]
) -> Iterator[WantedDocument]:
    """Yield the referenced documents that have not been read yet.

    References are found in the raw bytes, because parsing the documents in every round would be slow. The
    reference targets in the documents are added to `references`.
    """
    from deltos.domains.apis.refs import MAX_DOCUMENTS, find_references

    local_names = _import_names(documents) if len(documents) > 1 else frozenset()
    for position, raw in enumerate(documents):
        if not raw.can_follow_references:
            continue
        seen: set[str] = set()
        pending = [("", raw.data)]
        while pending:
            path, data = pending.pop()
            targets = find_references(data) if b"$ref" in data else []
            references.setdefault(position, targets)
            for paths in (*_referenced_paths(targets, path, raw.name), *_imported_paths(data, local_names)):
                if paths[0] in seen or len(seen) >= MAX_DOCUMENTS:
                    continue
                seen.add(paths[0])
                known = [referenced.get((position, each)) for each in paths]
                found = next(
                    ((each, text) for each, text in zip(paths, known, strict=True) if _is_available(text)), None
                )
                if found is not None and isinstance(found[1], bytes):
                    pending.append((found[0], found[1]))
                elif None in known:
                    yield WantedDocument(position, paths)


def _is_available(text: bytes | str | None) -> bool:
    """Whether the parent process was able to read a referenced document."""
    return isinstance(text, bytes)


def _referenced_paths(targets: list[str], path: str, root_name: str) -> Iterator[tuple[str, ...]]:
    """Yield the paths of the other documents to which the document at `path` refers."""
    from deltos.domains.apis.refs import referenced_path

    for target in targets:
        if other_path := referenced_path(target, path, root_name):
            yield (other_path,)


def _import_names(documents: Sequence[RawDocument]) -> frozenset[str]:
    """Return every suffix of the paths of the documents, because import statements may use any of them."""
    parts = [raw.citation.split("/") for raw in documents]
    return frozenset("/".join(path[start:]) for path in parts for start in range(len(path)))


def _imported_paths(data: bytes, local_names: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """Yield the candidate paths of each imported protobuf file that is not one of the documents."""
    from deltos.domains.apis.description import import_paths

    if data.lstrip()[:1] not in (b"{", b"["):
        for raw in dict.fromkeys(_IMPORT_STATEMENT.findall(data)):
            name = raw.decode("utf-8", "replace")
            if name not in local_names and (paths := import_paths(name)):
                yield paths


def _referenced_document_reader(
    position: int, referenced: ReferencedDocuments, missing: list[WantedDocument]
) -> ReadDocument:
    """Return a function that reads referenced documents; documents that have not been read are added to `missing`."""

    def read(path: str) -> bytes:
        found = referenced.get((position, path))
        if isinstance(found, bytes):
            return found
        if found is None:
            missing.append(WantedDocument(position, (path,)))
        raise SourceError(found or "the chain of references between documents is too long")

    return read


# ---------------------------------------------------------------------- protobuf packages


def _is_proto_file(raw: RawDocument) -> bool:
    from deltos.domains.apis.detect import sniff

    return sniff(raw.data) == "protobuf"


def _prepare_protobuf(documents: Sequence[RawDocument], referenced: ReferencedDocuments) -> PreparedDocuments:
    """Prepare protobuf packages for storage; packages without services are omitted if other packages have services."""
    from deltos.domains.apis.json_yaml import decode_text
    from deltos.domains.apis.parse.protobuf import parse_protobuf_files

    imported = {text: decode_text(text) for text in referenced.values() if isinstance(text, bytes)}
    packages = parse_protobuf_files([decode_text(raw.data) for raw in documents], imported.values())
    useful = [package for package in packages if package.description.operations] or packages
    failures: list[UnreadDocument] = []
    apis = []
    for package in useful:
        first = documents[package.positions[0]]
        is_only = len(package.positions) == 1
        citation = first.citation if is_only else str(PurePosixPath(first.citation).parent)
        parsed = _ParsedDocument(ApiDocument(b"", citation, first.name), package.description)
        apis.append(_prepare_api(parsed, failures))
    return PreparedDocuments(tuple(api for api in apis if api), tuple(failures))


def _is_protobuf(overview: Overview) -> bool:
    return overview.kind.startswith("Protocol")
