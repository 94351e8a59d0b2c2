"""Outline of a source file: its definitions in document order, found with one tree-sitter query."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from deltos.languages import signatures
from deltos.languages.grammar import definitions_query
from deltos.languages.model import Definition

if TYPE_CHECKING:
    from collections.abc import Callable

    import tree_sitter

    from deltos.languages.table import Language

_CALLABLE_KINDS = frozenset({"function", "method", "component"})
_CLASS_LIKE_KINDS = frozenset({"class", "interface", "enum", "type"})
_LEADING_CAPTURES = frozenset({"comment", "decorator"})
_PLAIN_FUNCTION_SCOPES = frozenset({"", "namespace"})  # scopes in which the kind "method" is changed to "function"
_LOCAL_KINDS = frozenset({"variable", "type"})  # kinds of definitions that are omitted inside functions
# Types of syntax nodes that define macros, which have file scope wherever they are defined.
_MACRO_NODE_TYPES = frozenset({"preproc_def", "preproc_function_def"})
# Kinds for which the signature is the entire definition if the definition has no body.
_KINDS_WITH_FULL_SIGNATURE = frozenset({"function", "method", "type"})
_FREE_TEXT_KINDS = frozenset({"section", "property"})  # kinds of definitions whose names may contain dots and spaces
# Containers that are omitted from qualified names, as in JavaScript's `module.exports.run`.
_OMITTED_CONTAINERS = frozenset({"this", "exports", "module", "prototype"})
_QUOTE_CHARACTERS = ('"', "'", "`")
_WHITE_SPACE = frozenset(b" \t\r\n\f")
_SEPARATOR = re.compile(r"::|[.:]")
_KEYWORDS = re.compile(rb"(?:[ \t]*+,)?[\w \t.]*+(?:<[^>]*+>[\w \t]*+)?")
_MAX_KEYWORD_BYTES = 300  # maximum number of bytes before a definition on the same line
_TYPE_PATH = re.compile(r"\w+(?:(?:::|\.)\w+)*")
_CAPITALISED = re.compile(r"[A-Z]\w*")
_MARKUP = re.compile(r"[<\[\]`*]")  # characters that may be markup in a heading
_MAX_NAME_CHARACTERS = 1_000  # maximum length of a heading; longer text is truncated
# Maximum number of pending query matches, because the time of a query is quadratic in the nesting depth. If there are
# more, tree-sitter drops the outermost match. Ordinary source has fewer than 64.
_MAX_PENDING_MATCHES = 128
# End offset of a scope that extends to the end of the file, such as Perl's `package A;`.
_OPEN_END = 1 << 60

_Captures: TypeAlias = "dict[str, list[tree_sitter.Node]]"


class _DefinitionMatch(NamedTuple):
    """A query match. Matches are ordered by position, and an outer match precedes the matches inside it."""

    start: int
    negative_end: int
    name_start: int
    pattern: int
    is_scope: bool
    kind: str
    node: tree_sitter.Node
    name: tree_sitter.Node
    container: tree_sitter.Node | None
    body: tree_sitter.Node | None


class _OutlineScope(NamedTuple):
    """A scope that contains the current position while the file is read from top to bottom."""

    start: int
    end: int
    path: str
    kind: str
    position: int  # index of the scope's definition, or -1 if the scope has none


_FILE_SCOPE = _OutlineScope(0, 0, "", "", -1)


def outline(language: Language, tree: tree_sitter.Tree, data: bytes) -> list[Definition]:
    """Return the definitions in a file, in document order."""
    from tree_sitter import QueryCursor  # deferred import: importing the package must not load a parser

    query = definitions_query(language)
    if query is None:
        return []
    cursor = QueryCursor(query, match_limit=_MAX_PENDING_MATCHES)
    if language.top_level_only:
        cursor.set_max_start_depth(1)
    definitions = _OutlineReader(language, data).read(cursor.matches(tree.root_node))
    return _join_clauses(definitions) if language.joins_clauses else definitions


class _OutlineReader:
    """Reader that converts the query matches of one file to definitions."""

    def __init__(self, language: Language, data: bytes) -> None:
        self._language = language
        self._data = data
        self._style = signatures.comment_style(language)
        self._scopes: list[_OutlineScope] = []
        self._definitions: list[Definition] = []
        # Comments (True) and decorators (False), keyed by their last row.
        self._leading: dict[int, tuple[tree_sitter.Node, bool]] = {}

    def read(self, matches: list[tuple[int, _Captures]]) -> list[Definition]:
        """Return the definitions of all matches, in document order."""
        for definition_match in self._collect(matches):
            ended = self._close_scopes(definition_match.start, -definition_match.negative_end)
            definition = self._open_definition(definition_match)
            if definition is not None:
                self._end_definitions_before(definition.start_line, ended)
                self._definitions.append(definition)
        return self._definitions

    def _collect(self, matches: list[tuple[int, _Captures]]) -> list[_DefinitionMatch]:
        """Return the matches in document order, at most one per name, and record comments and decorators by row."""
        best_by_name: dict[int, _DefinitionMatch] = {}
        for pattern, captures in matches:
            if "comment" in captures or "decorator" in captures:
                self._record_leading(captures)
                continue
            name = _name_node(captures)
            if name is None:
                continue
            name_start = name.start_byte
            earlier = best_by_name.get(name_start)
            if earlier is None or pattern < earlier.pattern:
                best_by_name[name_start] = _definition_match(pattern, name_start, name, captures)
        return sorted(definition_match for definition_match in best_by_name.values() if definition_match.kind)

    def _record_leading(self, captures: _Captures) -> None:
        """Record comments and decorators, keyed by their last row."""
        for capture, nodes in captures.items():
            if capture in _LEADING_CAPTURES:
                row, column = nodes[0].end_point
                # A node that ends in column 0 includes the preceding line break.
                self._leading[row if column else row - 1] = (nodes[0], capture == "comment")

    def _close_scopes(self, start: int, end: int) -> list[int]:
        """Close the scopes that do not contain a byte range, and return the indexes of the scopes' definitions."""
        ended = []
        while self._scopes:
            scope = self._scopes[-1]
            if scope.end > start and (scope.start, scope.end) != (start, end) and not scope.end == end == _OPEN_END:
                break
            ended.append(self._scopes.pop().position)
        return ended

    def _end_definitions_before(self, line: int, positions: list[int]) -> None:
        """End definitions before the given line if their scope was closed there.

        Some grammars extend a block across comments to the next token.
        """
        for position in positions:
            if position >= 0:
                definition = self._definitions[position]
                if definition.line < line <= definition.end_line:
                    self._definitions[position] = replace(definition, end_line=line - 1)

    def _open_definition(self, definition_match: _DefinitionMatch) -> Definition | None:
        """Open the scope of a match and return its definition, or None for unnamed scopes and local names."""
        name, container = self._split_written_name(definition_match)
        is_in_scope = self._scopes and definition_match.node.type not in _MACRO_NODE_TYPES
        outer = self._scopes[-1] if is_in_scope else _FILE_SCOPE
        kind = self._scoped_kind(definition_match, name, container, outer)
        if outer.kind in _CALLABLE_KINDS and kind in _LOCAL_KINDS:
            return None
        if kind == outer.kind and kind in _CLASS_LIKE_KINDS and name == outer.path.rpartition(".")[2]:
            self._move_name_line(outer.position, definition_match)  # example: typedef struct node {…} node
            return None
        container = _join_container(container, _enclosing_path(outer, kind))
        is_definition = not definition_match.is_scope and name not in ("", "_")
        path = f"{container}.{name}" if container else name
        position = len(self._definitions) if is_definition else -1
        self._scopes.append(_OutlineScope(definition_match.start, -definition_match.negative_end, path, kind, position))
        return self._build_definition(definition_match, name, kind, container) if is_definition else None

    def _move_name_line(self, position: int, definition_match: _DefinitionMatch) -> None:
        """Set the line of a definition to the line of the name in a match."""
        if position >= 0:
            line = definition_match.name.start_point[0] + 1
            self._definitions[position] = replace(self._definitions[position], line=line)

    def _build_definition(self, definition_match: _DefinitionMatch, name: str, kind: str, container: str) -> Definition:
        """Return the definition that a query match describes."""
        node = definition_match.node
        row, column = node.start_point
        body = definition_match.body or _body_node(node)
        starts_line = not column or self._follows_keywords(definition_match.start, column)
        start_row, doc = self._leading_comments(row, definition_match.start) if starts_line else (row, "")
        if body is not None and self._style.docstring is not None:
            doc = signatures.docstring(self._data, body.start_byte, self._style) or doc
        last = body if body is not None and body.end_byte > node.end_byte else node
        return Definition(
            name=name,
            kind=kind,
            line=definition_match.name.start_point[0] + 1,
            start_line=start_row + 1,
            end_line=max(self._last_row(last), row) + 1,
            container=container,
            signature=self._signature(definition_match, column if starts_line else 0, body),
            doc=doc,
        )

    def _follows_keywords(self, start: int, column: int) -> bool:
        """Whether only keywords precede a definition on its line."""
        return column <= _MAX_KEYWORD_BYTES and _KEYWORDS.fullmatch(self._data[start - column : start]) is not None

    def _split_written_name(self, definition_match: _DefinitionMatch) -> tuple[str, str]:
        """Return the name and the container as written in the source: `bar` and `Foo` for `Foo::bar`."""
        name = self._text(definition_match.name)
        if self._language.selectors and definition_match.kind == "method":
            return _objc_selector(definition_match.node, self._text) or name, ""
        if definition_match.kind == "namespace":
            return name.replace("::", "."), ""
        if definition_match.is_scope:
            return _type_name(name), ""
        if definition_match.kind in _FREE_TEXT_KINDS:
            return " ".join(_without_markup(name[:_MAX_NAME_CHARACTERS]).strip("\"':$").split()), ""
        written = self._text(definition_match.container) if definition_match.container is not None else ""
        if not written and name.isidentifier():
            return name, ""
        parts = [part for part in _SEPARATOR.split(written) if part and part not in _OMITTED_CONTAINERS]
        parts += _name_parts(name)
        return parts[-1], ".".join(parts[:-1])

    def _scoped_kind(self, definition_match: _DefinitionMatch, name: str, container: str, outer: _OutlineScope) -> str:
        """Return the kind of a definition, which may depend on its scope: a function in a class is a method."""
        kind = definition_match.kind
        if kind == "method" and not container and outer.kind in _PLAIN_FUNCTION_SCOPES:
            return "function"
        if kind == "function" and outer.kind in _CLASS_LIKE_KINDS:
            return "method"
        if self._language.components and kind in ("function", "variable") and name[:1].isupper():
            text = self._data[definition_match.start : -definition_match.negative_end]
            if b"/>" in text or b"</" in text:
                return "component"
        return kind

    def _leading_comments(self, row: int, start: int) -> tuple[int, str]:
        """Return the first row of the comments and decorators above a definition, and the text of the comments."""
        comments = []
        if row - 1 not in self._leading and self._is_doc_block(self._leading.get(row - 2), start):
            row -= 1  # one blank line may separate a doc comment from its definition
        while entry := self._leading.get(row - 1):
            node, is_comment = entry
            node_row, column = node.start_point
            start = node.start_byte
            if is_comment and self._is_unrelated_comment(start, column):
                break
            if is_comment:
                comments.append(node)
            row = node_row
        if not comments:
            return row, ""
        return row, signatures.comment(self._data, comments[-1].start_byte, comments[0].end_byte, self._style)

    def _is_unrelated_comment(self, start: int, column: int) -> bool:
        """Whether a comment follows code on its line, or is a shebang."""
        if not start:
            return self._data.startswith(b"#!")
        return bool(self._data[start - column : start].strip())

    def _is_doc_block(self, entry: tuple[tree_sitter.Node, bool] | None, start: int) -> bool:
        """Whether only white space is between a doc comment (`/**`) and the byte at `start`."""
        if entry is None or not self._data.startswith(b"/**", entry[0].start_byte):
            return False
        return not self._data[entry[0].end_byte : start].strip()

    def _last_row(self, node: tree_sitter.Node) -> int:
        """Return the last row of a node, ignoring trailing white space."""
        end = last = node.end_byte
        row = node.end_point[0]
        while last and self._data[last - 1] in _WHITE_SPACE:
            last -= 1
        return row if last == end else row - self._data.count(b"\n", last, end)

    def _signature(self, definition_match: _DefinitionMatch, indent: int, body: tree_sitter.Node | None) -> str:
        """Return the header of a definition without its body. The header starts `indent` bytes before the node."""
        end = -definition_match.negative_end
        if body is not None:
            end = body.start_byte
        elif definition_match.kind not in _KINDS_WITH_FULL_SIGNATURE:
            line_end = self._data.find(b"\n", definition_match.name_start, end)
            end = line_end if line_end >= 0 else end
        header = signatures.signature(self._data, definition_match.start - indent, end, self._style)
        # The name follows the body in: typedef struct {…} name
        return f"{header} {self._text(definition_match.name)}" if end < definition_match.name_start else header

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _name_node(captures: _Captures) -> tree_sitter.Node | None:
    """Return the captured name node of a match, or the `name` field of the captured node."""
    if "name" in captures:
        return captures["name"][0]
    return next(iter(captures.values()))[0].child_by_field_name("name")


def _definition_match(pattern: int, name_start: int, name: tree_sitter.Node, captures: _Captures) -> _DefinitionMatch:
    """Build a match from captures. The kind of the match is empty if the query ignores the name (@ignored)."""
    container = captures.get("container")
    body = captures.get("body")
    node, kind, is_scope, is_clause = name, "", False, False
    for capture, nodes in captures.items():
        role, _, rest = capture.partition(".")
        if rest:
            node, kind, is_scope, is_clause = nodes[0], rest, role == "scope", role == "clause"
    return _DefinitionMatch(
        node.start_byte,
        -_OPEN_END if is_clause else -max(node.end_byte, body[0].end_byte if body else 0),
        name_start,
        pattern,
        is_scope,
        kind,
        node,
        name,
        container[0] if container else None,
        body[0] if body else None,
    )


def _objc_selector(method: tree_sitter.Node, text: Callable[[tree_sitter.Node], str]) -> str:
    """Return the selector of an Objective-C method, such as `setX:y:`, or an empty string if it has no parameters."""
    children = method.children
    named = [first for first, second in pairwise(children) if second.type == "method_parameter"]
    return "".join(f"{text(each) if each.type == 'identifier' else ''}:" for each in named)


def _name_parts(name: str) -> list[str]:
    """Split a written name into its containers and its last name: `Foo<T>::bar` into `Foo` and `bar`."""
    first = name[:1]
    if first in _QUOTE_CHARACTERS:
        return [name.strip(first)]
    if first == "(":
        name = name.strip("()")  # an operator is written in parentheses, such as (+)
    if not any(character.isalnum() for character in name):
        return [name]
    if "operator" not in name:
        # Remove type arguments and, in C, macros before the name.
        name = _without_generics(name).rpartition(" ")[2]
    return _SEPARATOR.split(name.lstrip(":"))


def _type_name(text: str) -> str:
    """Return the bare name of a type: `Foo` for `&mut fmt::Foo<T>` and for `(Data.Foo a)`."""
    for path in _TYPE_PATH.finditer(text):
        parts = path[0].replace("::", ".").split(".")
        if name := next((part for part in reversed(parts) if "A" <= part[0] <= "Z"), ""):
            return name
        if inner := _CAPITALISED.search(path[0]):
            return inner[0]
    return _SEPARATOR.split(text)[-1]


def _without_generics(name: str) -> str:
    """Return a written name without type arguments: `Foo::bar` for `Foo<T>::bar`."""
    lines = name.split("\n")
    for position, line in enumerate(lines):
        first = line.find("<")
        is_end = position == len(lines) - 1 and line.endswith(">")
        last = len(line) - 1 if is_end else line.rfind(">::")
        if 0 <= first < last:
            lines[position] = line[:first] + line[last + 1 :]
    return "\n".join(lines)


def _without_markup(text: str) -> str:
    """Return the text of a heading without tags, link addresses and emphasis."""
    last_angle, last_parenthesis = text.rfind(">"), text.rfind(")")
    out: list[str] = []
    at = 0
    while mark := _MARKUP.search(text, at):
        start = mark.start()
        out.append(text[at:start])
        at = start + 1
        if mark[0] == "<" and start < last_angle:
            at = text.index(">", start) + 1
        elif mark[0] == "<":
            out.append("<")
        elif text.startswith("](", start) and start < last_parenthesis:
            at = text.index(")", start) + 1
    out.append(text[at:])
    return "".join(out)


def _enclosing_path(outer: _OutlineScope, kind: str) -> str:
    """Return the container of a definition in the scope `outer`.

    A property assigned in a method belongs to the class.
    """
    return outer.path.rpartition(".")[0] if kind == "property" and outer.kind in _CALLABLE_KINDS else outer.path


def _join_container(container: str, path: str) -> str:
    """Return `container` with `path` before it, unless it already starts with `path`."""
    if not container or not path or f"{container}.".startswith(f"{path}."):
        return container or path
    return f"{path}.{container}"


def _body_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the body of a syntax node: its `body` field, or its last child whose type is a body or a block."""
    body = node.child_by_field_name("body")
    if body is None and node.child_count:
        last = node.child(node.child_count - 1)
        return last if last is not None and last.type.endswith(("body", "block")) else None
    return body


def _join_clauses(definitions: list[Definition]) -> list[Definition]:
    """Merge adjacent definitions with the same name, such as the signature and equations of a Haskell function."""
    joined: list[Definition] = []
    for definition in definitions:
        at = _find_same_name(joined, definition)
        if at is None:
            joined.append(definition)
        else:
            joined[at] = replace(joined[at], end_line=definition.end_line, doc=joined[at].doc or definition.doc)
    return joined


def _find_same_name(joined: list[Definition], definition: Definition) -> int | None:
    """Return the index of an equal definition that starts on the same line as the last one, or None.

    Definitions are equal if they have the same name, kind and container.
    """
    for at in range(len(joined) - 1, -1, -1):
        if joined[at].start_line != joined[-1].start_line:
            return None
        if _identity(joined[at]) == _identity(definition):
            return at
    return None


def _identity(definition: Definition) -> tuple[str, str, str]:
    """Return the name, kind and container of a definition, which identify it within its file."""
    return definition.name, definition.kind, definition.container
