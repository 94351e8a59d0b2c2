"""Find `$ref` references in raw bytes, follow them across documents, and report unresolved references."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from deltos.domains.apis.json_yaml import load_tree
from deltos.errors import SourceError
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.document import ReadDocument
    from deltos.domains.apis.model import Json

MAX_HOPS = 16  # maximum number of references in a chain; longer chains are treated as cycles
MAX_DOCUMENTS = 50_000  # maximum number of referenced documents; the caller limits bytes and time
MAX_NAMED_REFERENCES = 3
_ENTRY_TOKEN_COUNT = 3  # number of slash-separated tokens in a reference such as `#/definitions/Pet`
_DEFINITION_LISTS = frozenset(
    "schemas definitions $defs responses parameters requestBodies headers messages types components".split()
)
_REFERENCE = re.compile(rb"""\$ref['"]?[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s'"#{}\[\],][^\s{}\[\],]*))""")
_EXTERNAL_TARGET = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*:|//|/|\\)")


def find_references(data: bytes) -> list[str]:
    """Return the distinct `$ref` targets in a document, in order."""
    found = dict.fromkeys(_REFERENCE.findall(data))
    return [b"".join(target).decode("utf-8", errors="replace") for target in found]


@dataclass(slots=True)
class ReferenceFollower:
    """Follows references from a root document to itself and to other documents.

    References have the form `#/pointer` for the root document and `path/to/file.yaml#/pointer` for other documents.
    References inside other documents are rewritten to this form when they are loaded.
    """

    root: Json
    root_name: str = ""
    read: ReadDocument | None = None
    targets: list[str] = field(default_factory=list)  # targets of references in loaded documents, in rewritten form
    # Paths of documents that were not read; some paths are followed by the reason.
    refused: list[str] = field(default_factory=list)
    dangling: list[str] = field(default_factory=list)  # references whose targets do not exist
    _documents: dict[str, Json] = field(default_factory=dict)
    _resolved: dict[str, Json] = field(default_factory=dict)

    def follow(self, value: Json) -> Json:
        """Return the target of `value` if it is a reference, or `value` itself if it is not.

        The result is an empty mapping if the target is missing or the references form a cycle.
        """
        hops = 0
        while isinstance(value, dict) and isinstance(target := value.get("$ref"), str):
            hops += 1
            value = self.resolve(target) if hops <= MAX_HOPS else {}
        return value

    def resolve(self, target: str) -> Json:
        """Return the value at a reference target, or an empty mapping if it does not exist."""
        if target in self._resolved:
            return self._resolved[target]
        path, _, pointer = target.partition("#")
        document = self._document(path)
        found = walk_pointer(document, pointer) if document is not None else None
        if found is None and document is not None:
            self.dangling.append(target)
        self._resolved[target] = {} if found is None else found
        return self._resolved[target]

    def warnings(self) -> list[str]:
        """Return warnings about refused and unresolved references."""
        lines = []
        if self.refused:
            lines.append(
                f"{counted(len(self.refused), 'external reference')} not followed: {_list_some(self.refused)}."
            )
        if self.dangling:
            lines.append(f"{counted(len(self.dangling), 'reference')} without a target: {_list_some(self.dangling)}.")
        return lines

    def _document(self, path: str) -> Json:
        """Return the parsed document at a path, or None if it cannot be read; each document is loaded once."""
        if not path or posixpath.normpath(path) == self.root_name:
            return self.root
        if path not in self._documents:
            self._documents[path] = self._load(path)
        return self._documents[path]

    def _load(self, path: str) -> Json:
        """Read and parse a referenced document, or record it as refused and return None."""
        if self.read is None or _EXTERNAL_TARGET.match(path):
            self.refused.append(path)
            return None
        if len(self._documents) >= MAX_DOCUMENTS:
            self.refused.append(f"{path} (more than {MAX_DOCUMENTS:,} documents)")
            return None
        try:
            value = load_tree(self.read(posixpath.normpath(unquote(path)))).value
        except SourceError as exc:
            self.refused.append(f"{path} ({exc.message})")
            return None
        self.targets.extend(_rewrite_references(value, path, self.root_name))
        return value


def referenced_path(target: str, path: str, root_name: str) -> str:
    """Return the path of a referenced document, relative to the root document.

    `path` is the document that contains the reference. The result is empty for the root document and for targets that
    are not allowed.
    """
    if not path and "#" in target and not target.partition("#")[0]:
        return ""
    if _EXTERNAL_TARGET.match(target):
        return ""
    whole = _absolute_target(target, path, posixpath.dirname(path), root_name) if path else target
    file = whole.partition("#")[0]
    return "" if not file or posixpath.normpath(file) == root_name else posixpath.normpath(unquote(file))


def walk_pointer(document: Json, pointer: str) -> Json:
    """Return the value at a JSON pointer, or None if it does not exist."""
    value = document
    for raw in pointer.split("/")[1:]:
        token = unquote(raw).replace("~1", "/").replace("~0", "~") if "~" in raw or "%" in raw else raw
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdigit() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    return value


def escape_token(token: str) -> str:
    """Return a key escaped for use in a JSON pointer."""
    return token.replace("~", "~0").replace("/", "~1") if "/" in token or "~" in token else token


def reference_name(target: str) -> str:
    """Return the short name of a reference target, which is the last token of the pointer."""
    name = target.rstrip("/").rsplit("/", 1)[-1].rsplit("#", 1)[-1] or target
    return unquote(name).replace("~1", "/").replace("~0", "~")


def names_type(target: str) -> bool:
    """Whether the last token of a reference is the name of a document or definition.

    Targets inside a schema, such as `…/schema/allOf/0`, have no name.
    """
    tokens = target.rstrip("/").partition("#")[2].split("/")
    return len(tokens) < _ENTRY_TOKEN_COUNT or tokens[-2] in _DEFINITION_LISTS


def _rewrite_references(document: Json, path: str, root_name: str) -> Iterator[str]:
    """Rewrite the references in a document relative to the root document, and yield the new targets."""
    folder = posixpath.dirname(path)
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if isinstance(target := value.get("$ref"), str) and not _EXTERNAL_TARGET.match(target):
                value["$ref"] = target = _absolute_target(target, path, folder, root_name)
                yield target
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)


def _absolute_target(target: str, path: str, folder: str, root_name: str) -> str:
    """Return a target in the document at `path`, rewritten relative to the root document."""
    file, _, pointer = target.partition("#")
    whole = posixpath.normpath(posixpath.join(folder, file)) if file else path
    return f"{'' if whole == root_name else whole}#{pointer}"


def _list_some(names: list[str]) -> str:
    """Return the first names, separated by commas, with an ellipsis if names are omitted."""
    shown = ", ".join(names[:MAX_NAMED_REFERENCES])
    return f"{shown}, …" if len(names) > MAX_NAMED_REFERENCES else shown
