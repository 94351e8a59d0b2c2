"""Extract the declarations from one version of a file, in a child process."""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import DeltosError
from deltos.federation.review.signature import name_nodes, read_parameters
from deltos.languages.table import detect
from deltos.workspace.admission import to_utf8
from deltos.workspace.batches import file_limits

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import tree_sitter

    from deltos.federation.review.signature import DeclaredParameter
    from deltos.isolated.process_pool import ProcessPool
    from deltos.isolated.wire import TaskLimits
    from deltos.languages.model import Definition
    from deltos.languages.table import Language

CALLABLE_KINDS = frozenset({"function", "method", "component"})
TYPE_KINDS = frozenset({"class", "interface", "enum", "type", "struct", "trait", "protocol"})
NOT_CODE = frozenset({"markdown", "json", "yaml", "toml", "html", "css", "scss", "text", "restructuredtext", "xml", ""})
_DETECTION_BYTES = 8_192
_FINGERPRINT_BYTES = 16
_MAX_VARIANTS = 2_000  # maximum number of enum variants
_WORD = re.compile(r"[^\W\d]\w*")
_ATTRIBUTE = re.compile(r"self\.([^\W\d]\w*)(?:: | = )")
_EXPORT_NODE_TYPES = ("export_statement", "export_clause")


class VersionToRead(NamedTuple):
    """Content of one version of a file, to be parsed."""

    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Declaration:
    """A definition in one version of a file.

    `key` is unique in the file. `body` is a fingerprint of the lines without comments and nested definitions.
    `members` are the names of members that are not definitions, such as variants of an enum. `attributes` are the names
    that methods of a Python class assign to `self`.
    """

    key: str
    name: str
    kind: str
    line: int
    end_line: int
    header: str
    body: bytes
    parameters: tuple[DeclaredParameter, ...] | None = None
    members: tuple[str, ...] = ()
    attributes: frozenset[str] = frozenset()
    is_decorated: bool = False

    @property
    def label(self) -> str:
        """Qualified name, without the suffix that distinguishes repeated definitions."""
        return self.key.partition("#")[0]

    @property
    def container(self) -> str:
        """Qualified name of the enclosing definition, or an empty string at the top level."""
        return self.label.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class FileDeclarations:
    """The declarations of one version of a file.

    `exported` contains the names in `__all__`, `module.exports` and export statements. `outside_fingerprint` covers the
    lines outside all definitions, without imports and comments.
    """

    language: str = ""
    declarations: tuple[Declaration, ...] = ()
    exported: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    outside_fingerprint: bytes = b""


NO_DECLARATIONS = FileDeclarations()


def read_all(versions: Sequence[VersionToRead], workers: ProcessPool | None) -> list[FileDeclarations]:
    """Return the declarations of each version. A version that cannot be parsed has no declarations."""
    if workers is None:
        return [read_declarations(version) for version in versions]
    replies = workers.run_each(read_declarations, (), versions, _limits)
    return [reply.value if reply.error is None else NO_DECLARATIONS for reply in replies]


def read_declarations(version: VersionToRead) -> FileDeclarations:
    """Return the declarations of one version of a file. Runs in a child process."""
    from deltos.languages.grammar import parse  # deferred import: loads the parser library in child processes only
    from deltos.languages.outline import outline

    language = detect(version.path, version.data[:_DETECTION_BYTES])
    if language is None or language.name in NOT_CODE:
        return NO_DECLARATIONS
    data = to_utf8(version.data)
    try:
        tree = parse(language, data)
    except DeltosError:
        return NO_DECLARATIONS
    if tree is None:
        return NO_DECLARATIONS
    return _DeclarationReader(language, tree, data).read(outline(language, tree, data))


class _DeclarationReader:
    """Converter of the definitions in one file version to declarations."""

    def __init__(self, language: Language, tree: tree_sitter.Tree, data: bytes) -> None:
        self._language = language
        self._root = tree.root_node
        self._lines = data.split(b"\n")
        self._comments = tuple(mark.encode() for mark in (*language.line_comments, "/*", "*/", "* "))

    def read(self, definitions: Sequence[Definition]) -> FileDeclarations:
        """Return all declarations with their fingerprints."""
        counts: Counter[str] = Counter()
        declarations = []
        for at, definition in enumerate(definitions):
            counts[definition.qualified_name] += 1
            number = counts[definition.qualified_name]
            key = definition.qualified_name if number == 1 else f"{definition.qualified_name}#{number}"
            declarations.append(self._build_declaration(definition, key, _nested_definitions(definitions, at)))
        import_lines = self._import_lines()
        outside = set(range(1, len(self._lines) + 1)) - import_lines
        for definition in definitions:
            outside -= set(range(definition.start_line, definition.end_line + 1))
        return FileDeclarations(
            self._language.name,
            tuple(declarations),
            frozenset(self._exported_names()),
            frozenset(_words(self._lines[line - 1] for line in import_lines)),
            self._fingerprint(sorted(outside)),
        )

    def _build_declaration(self, definition: Definition, key: str, nested: Iterable[Definition]) -> Declaration:
        own = set(range(definition.start_line, definition.end_line + 1))
        for inner in nested:
            own -= set(range(inner.start_line, inner.end_line + 1))
        own.add(definition.line)
        parameters = self._parameters(definition)
        return Declaration(
            key,
            definition.name,
            definition.kind,
            definition.line,
            definition.end_line,
            definition.signature,
            self._fingerprint(sorted(own)),
            parameters,
            self._members(definition) if definition.kind == "enum" else (),
            self._attributes(definition)
            if definition.kind == "class" and self._language.name == "python"
            else frozenset(),
            definition.line > 1 and self._lines[definition.line - 2].lstrip().startswith(b"@"),
        )

    def _parameters(self, definition: Definition) -> tuple[DeclaredParameter, ...] | None:
        is_type = definition.kind in TYPE_KINDS
        if definition.kind not in CALLABLE_KINDS and not is_type:
            return None
        row = definition.line - 1
        for node in name_nodes(self._root, row, self._lines[row], definition.name):
            found = read_parameters(node, self._language.name, is_type=is_type)
            if found is not None:
                return found
        return None

    def _members(self, definition: Definition) -> tuple[str, ...]:
        """Return the names of the variants of an enum."""
        row = definition.line - 1
        for node in name_nodes(self._root, row, self._lines[row], definition.name):
            body = node.parent.child_by_field_name("body") if node.parent is not None else None
            if body is not None:
                children = body.named_children[:_MAX_VARIANTS]
                texts = [(each.child_by_field_name("name") or each).text or b"" for each in children]
                return tuple(dict.fromkeys(found[0] for text in texts if (found := _WORD.match(_decode(text)))))
        return ()

    def _attributes(self, definition: Definition) -> frozenset[str]:
        """Return the names that methods of a class assign to `self`."""
        lines = self._lines[definition.line - 1 : definition.end_line]
        found = (_ATTRIBUTE.match(_decode(line).strip()) for line in lines)
        return frozenset(match[1] for match in found if match)

    def _fingerprint(self, numbers: Iterable[int]) -> bytes:
        """Return a digest of the given lines. Comments, blank lines and common indentation are ignored."""
        kept = []
        for number in numbers:
            line = self._lines[number - 1].rstrip() if number <= len(self._lines) else b""
            if line and not line.lstrip().startswith(self._comments):
                kept.append(_decode(line))
        text = textwrap.dedent("\n".join(kept))
        return hashlib.sha256(text.encode("utf-8", "replace")).digest()[:_FINGERPRINT_BYTES] if text else b""

    def _import_lines(self) -> set[int]:
        """Return the line numbers of import and export statements at the top level."""
        lines: set[int] = set()
        for node in self._root.named_children:
            if any(word in node.type for word in ("import", "use_declaration", "using", "include", "package")) or (
                node.type in _EXPORT_NODE_TYPES and node.child_by_field_name("declaration") is None
            ):
                lines |= set(range(node.start_point[0] + 1, node.end_point[0] + 2))
        return lines

    def _exported_names(self) -> set[str]:
        """Return the names in `__all__`, in `module.exports` and in export statements that contain no definition."""
        names: set[str] = set()
        for node in self._root.named_children:
            text = node.text or b""
            is_export = node.type in _EXPORT_NODE_TYPES and node.child_by_field_name("declaration") is None
            if is_export or text.startswith((b"module.exports", b"exports.", b"__all__")):
                names |= _words([text])
        return names


def _nested_definitions(definitions: Sequence[Definition], at: int) -> list[Definition]:
    """Return the definitions inside the definition with this index."""
    outer, found = definitions[at], []
    for inner in definitions[at + 1 :]:
        if inner.start_line > outer.end_line:
            break
        if inner.end_line <= outer.end_line and (inner.line, inner.end_line) != (outer.line, outer.end_line):
            found.append(inner)
    return found


def _words(texts: Iterable[bytes]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(_decode(text))}


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _limits(version: VersionToRead) -> TaskLimits:
    return file_limits(len(version.data))
