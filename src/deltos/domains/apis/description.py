"""One document to one `ApiDescription`: detect the kind, parse it, collect what its references lead to."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.apis.detect import kind_of_tree, sniff
from deltos.domains.apis.parse.asyncapi import parse_asyncapi
from deltos.domains.apis.parse.graphql_introspection import parse_introspection
from deltos.domains.apis.parse.graphql_sdl import parse_sdl
from deltos.domains.apis.parse.openapi import parse_openapi
from deltos.domains.apis.parse.postman import parse_postman
from deltos.domains.apis.parse.protobuf import parse_protobuf
from deltos.domains.apis.parse.swagger import parse_swagger
from deltos.domains.apis.refs import ReferenceFollower, find_references
from deltos.domains.apis.tree import decode_text, load_tree
from deltos.errors import SourceError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.apis.document import ApiDocument
    from deltos.domains.apis.model import ApiDescription, Json

MAX_IMPORT_LEVELS = 8
_NOT_SCHEMAS = frozenset(("parameters", "responses", "requestBodies", "headers", "examples", "links", "callbacks"))
_KNOWN = "OpenAPI, Swagger 2.0, AsyncAPI, GraphQL, Protocol Buffers and Postman collections are understood."


def read_description(document: ApiDocument, references: Iterable[str] | None = None) -> ApiDescription:
    """Parse a document of any known kind; raises SourceError when it is none or cannot be read at all.

    `references` are those written in it, where somebody has looked for them already.
    """
    data = document.data
    if len(data) > MAX_DESCRIPTION_BYTES:
        raise SourceError(
            f"The description has {len(data):,} bytes", hint=f"At most {MAX_DESCRIPTION_BYTES:,} are read."
        )
    if not (data[:1_000].strip() or data.strip()):
        raise SourceError("The file is empty", hint=_KNOWN)
    try:
        match sniff(data):
            case "graphql":
                return parse_sdl(decode_text(data))
            case "protobuf":
                return parse_protobuf(decode_text(data), lambda name: _read_import(document, name))
            case "tree":
                return _read_tree(document, find_references(data) if references is None else references)
            case _:
                raise SourceError("Not an API description", hint=_KNOWN)
    except RecursionError:
        raise SourceError("The description is nested too deeply to be read") from None


def _read_tree(document: ApiDocument, targets: Iterable[str]) -> ApiDescription:
    tree = load_tree(document.data)
    root = tree.value
    references = ReferenceFollower(root, document.name, document.read)
    match kind_of_tree(root):
        case "openapi":
            found = parse_openapi(root, references)
        case "swagger":
            found = parse_swagger(root, references)
        case "asyncapi":
            found = parse_asyncapi(root, references)
        case "introspection":
            found = parse_introspection(root)
        case "postman":
            found = parse_postman(root)
        case _:
            raise SourceError("Not an API description", hint=_KNOWN)
    fragments = collect_fragments(found, references, targets)
    return replace(found, fragments=fragments, warnings=(*tree.warnings, *found.warnings, *references.warnings()))


def collect_fragments(found: ApiDescription, references: ReferenceFollower, targets: Iterable[str]) -> dict[str, Json]:
    """The targets of references that are not stored as schemas: a stored API needs them too."""
    stored = {schema.pointer for schema in found.schemas}
    fragments: dict[str, Json] = {}
    pending = [*targets, *references.targets]
    while pending:
        references.targets.clear()
        for target in pending:
            if target in stored or target in fragments:
                continue
            value = references.resolve(target)
            if value != {} and not _is_shared_part(target):
                fragments[target] = value
        pending = list(references.targets)
    return fragments


def _is_shared_part(target: str) -> bool:
    """Whether a reference leads to a parameter, a response or their like as such, which operations have in them."""
    parts = target.partition("#")[2].removeprefix("/components").split("/")
    return len(parts) == 3 and parts[1] in _NOT_SCHEMAS


def _read_import(document: ApiDocument, name: str) -> str | None:
    """An imported file, looked for beside the document and in the folders above it."""
    if document.read is None:
        return None
    for path in import_paths(name):
        try:
            return decode_text(document.read(path))
        except SourceError:
            continue
    return None


def import_paths(name: str) -> tuple[str, ...]:
    """Where an imported file may lie, as seen from the document, likeliest first; what protobuf brings is known."""
    if name.startswith("google/protobuf/"):
        return ()
    return tuple(posixpath.normpath("../" * level + name) for level in range(MAX_IMPORT_LEVELS))
