"""Convert a document to an `ApiDescription`: detect the format, parse the document and collect reference targets."""

from __future__ import annotations

import posixpath
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.apis.detect import kind_of_tree, sniff
from deltos.domains.apis.json_yaml import decode_text, load_tree
from deltos.domains.apis.parse.asyncapi import parse_asyncapi
from deltos.domains.apis.parse.graphql_introspection import parse_introspection
from deltos.domains.apis.parse.graphql_sdl import parse_sdl
from deltos.domains.apis.parse.openapi import parse_openapi
from deltos.domains.apis.parse.postman import parse_postman
from deltos.domains.apis.parse.protobuf import parse_protobuf
from deltos.domains.apis.parse.swagger import parse_swagger
from deltos.domains.apis.refs import ReferenceFollower, find_references
from deltos.errors import SourceError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.domains.apis.document import ApiDocument
    from deltos.domains.apis.model import ApiDescription, Json

MAX_IMPORT_LEVELS = 8
_NON_SCHEMA_SECTIONS = frozenset(
    ("parameters", "responses", "requestBodies", "headers", "examples", "links", "callbacks")
)
_SUPPORTED_FORMATS_HINT = (
    "OpenAPI, Swagger 2.0, AsyncAPI, GraphQL, Protocol Buffers and Postman collections are supported."
)


def read_description(document: ApiDocument, references: Iterable[str] | None = None) -> ApiDescription:
    """Parse a document in any supported format; raise SourceError if the format is unsupported or parsing fails.

    `references` contains the `$ref` targets in the document, if the caller has already extracted them.
    """
    data = document.data
    if len(data) > MAX_DESCRIPTION_BYTES:
        raise SourceError(
            f"The description has {len(data):,} bytes", hint=f"The limit is {MAX_DESCRIPTION_BYTES:,} bytes."
        )
    if not (data[:1_000].strip() or data.strip()):
        raise SourceError("The file is empty", hint=_SUPPORTED_FORMATS_HINT)
    try:
        match sniff(data):
            case "graphql":
                return parse_sdl(decode_text(data))
            case "protobuf":
                return parse_protobuf(decode_text(data), lambda name: _read_import(document, name))
            case "tree":
                return _read_tree(document, find_references(data) if references is None else references)
            case _:
                raise SourceError("Not an API description", hint=_SUPPORTED_FORMATS_HINT)
    except RecursionError:
        raise SourceError("The description is nested too deeply to be read") from None


def _read_tree(document: ApiDocument, targets: Iterable[str]) -> ApiDescription:
    """Parse a JSON or YAML document; `targets` contains the `$ref` targets in the document."""
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
            raise SourceError("Not an API description", hint=_SUPPORTED_FORMATS_HINT)
    fragments = collect_fragments(found, references, targets)
    return replace(found, fragments=fragments, warnings=(*tree.warnings, *found.warnings, *references.warnings()))


def collect_fragments(found: ApiDescription, references: ReferenceFollower, targets: Iterable[str]) -> dict[str, Json]:
    """Return the values needed to resolve the references of a stored API; named schemas are stored separately."""
    stored = {schema.pointer for schema in found.schemas}
    fragments: dict[str, Json] = {}
    pending = [*targets, *references.targets]
    while pending:
        references.targets.clear()
        for target in pending:
            if target in stored or target in fragments:
                continue
            value = references.resolve(target)
            if value != {} and not _is_shared_component(target):
                fragments[target] = value
        pending = list(references.targets)
    return fragments


def _is_shared_component(target: str) -> bool:
    """Whether a reference leads to a shared component, such as a parameter, that is copied into operations."""
    parts = target.partition("#")[2].removeprefix("/components").split("/")
    return len(parts) == 3 and parts[1] in _NON_SCHEMA_SECTIONS


def _read_import(document: ApiDocument, name: str) -> str | None:
    """Return the content of an imported file in the folder of the document or in one of the parent folders."""
    if document.read is None:
        return None
    for path in import_paths(name):
        try:
            return decode_text(document.read(path))
        except SourceError:
            continue
    return None


def import_paths(name: str) -> tuple[str, ...]:
    """Return candidate paths of an imported file relative to the document, most probable first.

    The result is empty for `google/protobuf/*`, whose types are built in.
    """
    if name.startswith("google/protobuf/"):
        return ()
    return tuple(posixpath.normpath("../" * level + name) for level in range(MAX_IMPORT_LEVELS))
