"""The outline of a file: its definitions in document order, read off a syntax tree with one query."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from deltos.languages import wording
from deltos.languages.grammar import definitions_query
from deltos.languages.model import Definition

if TYPE_CHECKING:
    import tree_sitter

    from deltos.languages.table import Language

_CALLABLE = frozenset({"function", "method", "component"})
_CLASS_LIKE = frozenset({"class", "interface", "enum", "type"})
_LEADING = frozenset({"comment", "decorator"})
_OPEN = frozenset({"", "namespace"})  # a method here is a plain function
_LOCAL = frozenset({"variable", "type"})  # local to the function: not part of the outline
_WHOLE = frozenset({"function", "method", "type"})  # without a body, the whole of it is the signature
_FREE_TEXT = frozenset({"section", "property"})  # names that may hold dots and spaces
_NAMELESS = frozenset({"this", "exports", "module", "prototype"})  # parts of a path that name nothing
_QUOTES = ('"', "'", "`")
_SPACE = frozenset(b" \t\r\n\f")
_SEPARATOR = re.compile(r"::|[.:]")
_KEYWORDS = re.compile(rb"(?:[ \t]*+,)?[\w \t.]*+(?:<[^>]*+>[\w \t]*+)?")
_KEYWORD_BYTES = 300  # before a definition on its line
_TYPE_PATH = re.compile(r"\w+(?:(?:::|\.)\w+)*")
_CAPITALISED = re.compile(r"[A-Z]\w*")
_MARKUP = re.compile(r"[<\[\]`*]")  # in a heading
_NAME_CHARACTERS = 1_000  # of a heading; what is longer is no name
# Each node is compared with all matches that have begun around it: without a limit, time grows with the square of the
# nesting. What people write has fewer than 64; beyond the limit the outermost one is given up.
_MOST_PENDING_MATCHES = 128

_Captures: TypeAlias = "dict[str, list[tree_sitter.Node]]"


class _Finding(NamedTuple):
    """A match of the query; sorts by position, outer before inner."""

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
    """An enclosing definition while the file is read from top to bottom."""

    start: int
    end: int
    path: str
    kind: str
    position: int  # of the definition among all; -1 if the scope is none


_FILE = _OutlineScope(0, 0, "", "", -1)


def outline(language: Language, tree: tree_sitter.Tree, data: bytes) -> list[Definition]:
    """The definitions in a file, in document order."""
    from tree_sitter import QueryCursor  # deferred: importing the package must not load a parser

    query = definitions_query(language)
    if query is None:
        return []
    cursor = QueryCursor(query, match_limit=_MOST_PENDING_MATCHES)
    if language.top_level_only:
        cursor.set_max_start_depth(1)
    definitions = _OutlineReader(language, data).read(cursor.matches(tree.root_node))
    return _join_clauses(definitions) if language.joins_clauses else definitions


class _OutlineReader:
    """Reads one file's matches into definitions."""

    def __init__(self, language: Language, data: bytes) -> None:
        self._language = language
        self._data = data
        self._style = wording.style(language)
        self._scopes: list[_OutlineScope] = []
        self._definitions: list[Definition] = []
        # by the row they end on: comments (True) and decorators
        self._leading: dict[int, tuple[tree_sitter.Node, bool]] = {}

    def read(self, matches: list[tuple[int, _Captures]]) -> list[Definition]:
        """All definitions among the matches, in document order."""
        for finding in self._collect(matches):
            ended = self._leave_scopes(finding.start, -finding.negative_end)
            definition = self._define(finding)
            if definition is not None:
                self._end_before(definition.start_line, ended)
                self._definitions.append(definition)
        return self._definitions

    def _collect(self, matches: list[tuple[int, _Captures]]) -> list[_Finding]:
        """The findings in document order, one per name; comments and decorators are put aside by row."""
        claimed: dict[int, _Finding] = {}
        for pattern, captures in matches:
            if "comment" in captures or "decorator" in captures:
                self._put_aside(captures)
                continue
            name = _name(captures)
            if name is None:
                continue
            name_start = name.start_byte
            earlier = claimed.get(name_start)
            if earlier is None or pattern < earlier.pattern:
                claimed[name_start] = _finding(pattern, name_start, name, captures)
        return sorted(finding for finding in claimed.values() if finding.kind)

    def _put_aside(self, captures: _Captures) -> None:
        for capture, nodes in captures.items():
            if capture in _LEADING:
                row, column = nodes[0].end_point
                # a node that ends at the start of a row has swallowed the line break
                self._leading[row if column else row - 1] = (nodes[0], capture == "comment")

    def _leave_scopes(self, start: int, end: int) -> list[int]:
        """Leave the scopes that do not enclose a span; the positions of their definitions."""
        ended = []
        while self._scopes:
            scope = self._scopes[-1]
            if scope.end > start and (scope.start, scope.end) != (start, end):
                break
            ended.append(self._scopes.pop().position)
        return ended

    def _end_before(self, line: int, positions: list[int]) -> None:
        """End definitions before a line: some grammars let a block run on over comments to the next token."""
        for position in positions:
            if position >= 0:
                definition = self._definitions[position]
                if definition.line < line <= definition.end_line:
                    self._definitions[position] = replace(definition, end_line=line - 1)

    def _define(self, finding: _Finding) -> Definition | None:
        """The definition of a finding, which opens its scope; None for a mere scope and for what is local."""
        name, container = self._names(finding)
        outer = self._scopes[-1] if self._scopes else _FILE
        kind = self._kind(finding, name, container, outer)
        if outer.kind in _CALLABLE and kind in _LOCAL:
            return None
        if kind == outer.kind and kind in _CLASS_LIKE and name == outer.path.rpartition(".")[2]:
            self._begin_at(outer.position, finding)  # typedef struct node {…} node
            return None
        container = _nest(container, _enclosing(outer, kind))
        is_definition = not finding.is_scope and name not in ("", "_")
        path = f"{container}.{name}" if container else name
        position = len(self._definitions) if is_definition else -1
        self._scopes.append(_OutlineScope(finding.start, -finding.negative_end, path, kind, position))
        return self._definition(finding, name, kind, container) if is_definition else None

    def _begin_at(self, position: int, finding: _Finding) -> None:
        """A definition that is named at both ends is looked for at the first."""
        if position >= 0:
            line = finding.name.start_point[0] + 1
            self._definitions[position] = replace(self._definitions[position], line=line)

    def _definition(self, finding: _Finding, name: str, kind: str, container: str) -> Definition:
        node = finding.node
        row, column = node.start_point
        body = finding.body or _body(node)
        starts_line = not column or self._follows_keywords(finding.start, column)
        start_row, doc = self._lead(row, finding.start) if starts_line else (row, "")
        if body is not None and self._style.docstring is not None:
            doc = wording.docstring(self._data, body.start_byte, self._style) or doc
        last = body if body is not None and body.end_byte > node.end_byte else node
        return Definition(
            name=name,
            kind=kind,
            line=finding.name.start_point[0] + 1,
            start_line=start_row + 1,
            end_line=max(self._end_row(last), row) + 1,
            container=container,
            signature=self._signature(finding, column if starts_line else 0, body),
            doc=doc,
        )

    def _follows_keywords(self, start: int, column: int) -> bool:
        """Whether nothing but keywords stands before a definition on its line."""
        return column <= _KEYWORD_BYTES and _KEYWORDS.fullmatch(self._data[start - column : start]) is not None

    def _names(self, finding: _Finding) -> tuple[str, str]:
        """A finding's name, and the container that is written with it: `Foo::bar`, `res.redirect`."""
        name = self._text(finding.name)
        if finding.kind == "namespace":
            return name.replace("::", "."), ""
        if finding.is_scope:
            return _type_name(name), ""
        if finding.kind in _FREE_TEXT:
            return " ".join(_without_markup(name[:_NAME_CHARACTERS]).strip("\"':$").split()), ""
        written = self._text(finding.container) if finding.container is not None else ""
        if not written and name.isidentifier():
            return name, ""
        parts = [part for part in _SEPARATOR.split(written) if part and part not in _NAMELESS]
        parts += _name_parts(name)
        return parts[-1], ".".join(parts[:-1])

    def _kind(self, finding: _Finding, name: str, container: str, outer: _OutlineScope) -> str:
        """A finding's kind in its place: a function in a class is a method, one with markup a component."""
        kind = finding.kind
        if kind == "method" and not container and outer.kind in _OPEN:
            return "function"
        if kind == "function" and outer.kind in _CLASS_LIKE:
            return "method"
        if self._language.components and kind in ("function", "variable") and name[:1].isupper():
            text = self._data[finding.start : -finding.negative_end]
            if b"/>" in text or b"</" in text:
                return "component"
        return kind

    def _lead(self, row: int, start: int) -> tuple[int, str]:
        """The first row of the comments and decorators directly above a row, and what the comments say."""
        comments = []
        if row - 1 not in self._leading and self._is_doc_block(self._leading.get(row - 2), start):
            row -= 1  # a doc block may stand a blank line above what it describes
        while entry := self._leading.get(row - 1):
            node, is_comment = entry
            node_row, column = node.start_point
            start = node.start_byte
            if is_comment and self._is_about_nothing_below(start, column):
                break
            if is_comment:
                comments.append(node)
            row = node_row
        if not comments:
            return row, ""
        return row, wording.comment(self._data, comments[-1].start_byte, comments[0].end_byte, self._style)

    def _is_about_nothing_below(self, start: int, column: int) -> bool:
        """Whether a comment ends a line of code, or names the interpreter."""
        if not start:
            return self._data.startswith(b"#!")
        return bool(self._data[start - column : start].strip())

    def _is_doc_block(self, entry: tuple[tree_sitter.Node, bool] | None, start: int) -> bool:
        """Whether a doc comment, and nothing after it, stands before the byte at `start`."""
        if entry is None or not self._data.startswith(b"/**", entry[0].start_byte):
            return False
        return not self._data[entry[0].end_byte : start].strip()

    def _end_row(self, node: tree_sitter.Node) -> int:
        """The last row of a node that holds more than white space."""
        end = last = node.end_byte
        row = node.end_point[0]
        while last and self._data[last - 1] in _SPACE:
            last -= 1
        return row if last == end else row - self._data.count(b"\n", last, end)

    def _signature(self, finding: _Finding, indent: int, body: tree_sitter.Node | None) -> str:
        """The header of a finding without its body; the `indent` bytes before it are part of it."""
        end = -finding.negative_end
        if body is not None:
            end = body.start_byte
        elif finding.kind not in _WHOLE:
            line_end = self._data.find(b"\n", finding.name_start, end)
            end = line_end if line_end >= 0 else end
        header = wording.signature(self._data, finding.start - indent, end, self._style)
        # typedef struct {…} name
        return f"{header} {self._text(finding.name)}" if end < finding.name_start else header

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _name(captures: _Captures) -> tree_sitter.Node | None:
    """The node that names a match: captured, or the `name` field of what was captured."""
    if "name" in captures:
        return captures["name"][0]
    return next(iter(captures.values()))[0].child_by_field_name("name")


def _finding(pattern: int, name_start: int, name: tree_sitter.Node, captures: _Captures) -> _Finding:
    """What a match found; without a kind if it only claims the name (@ignored)."""
    container = captures.get("container")
    body = captures.get("body")
    node, kind, is_scope = name, "", False
    for capture, nodes in captures.items():
        role, _, rest = capture.partition(".")
        if rest:
            node, kind, is_scope = nodes[0], rest, role == "scope"
    return _Finding(
        node.start_byte,
        -max(node.end_byte, body[0].end_byte if body else 0),
        name_start,
        pattern,
        is_scope,
        kind,
        node,
        name,
        container[0] if container else None,
        body[0] if body else None,
    )


def _name_parts(name: str) -> list[str]:
    """A written name, split where it names its container: `Foo<T>::bar` is `Foo`, `bar`."""
    first = name[:1]
    if first in _QUOTES:
        return [name.strip(first)]
    if first == "(":
        name = name.strip("()")  # an operator, written as a function
    if not any(character.isalnum() for character in name):
        return [name]
    if "operator" not in name:
        # no type arguments, and none of the macros that C allows before a name
        name = _without_generics(name).rpartition(" ")[2]
    return _SEPARATOR.split(name.lstrip(":"))


def _type_name(text: str) -> str:
    """The bare name of a type: `Foo` of `&mut fmt::Foo<T>` and of `(Data.Foo a)`."""
    for path in _TYPE_PATH.finditer(text):
        parts = path[0].replace("::", ".").split(".")
        if name := next((part for part in reversed(parts) if "A" <= part[0] <= "Z"), ""):
            return name
        if inner := _CAPITALISED.search(path[0]):
            return inner[0]
    return _SEPARATOR.split(text)[-1]


def _without_generics(name: str) -> str:
    """A written name without type arguments: from the first `<` of a line to the last `>` that ends a part."""
    lines = name.split("\n")
    for position, line in enumerate(lines):
        first = line.find("<")
        is_end = position == len(lines) - 1 and line.endswith(">")
        last = len(line) - 1 if is_end else line.rfind(">::")
        if 0 <= first < last:
            lines[position] = line[:first] + line[last + 1 :]
    return "\n".join(lines)


def _without_markup(text: str) -> str:
    """The words of a heading without tags, addresses of links and marks of emphasis."""
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


def _enclosing(outer: _OutlineScope, kind: str) -> str:
    """The path that encloses a definition: a property declared in a constructor belongs to its class."""
    return outer.path.rpartition(".")[0] if kind == "property" and outer.kind in _CALLABLE else outer.path


def _nest(container: str, path: str) -> str:
    """A written container inside the path that encloses it."""
    if not container or not path or f"{container}.".startswith(f"{path}."):
        return container or path
    return f"{path}.{container}"


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The node's body: the field of that name, or a last child that is called one."""
    body = node.child_by_field_name("body")
    if body is None and node.child_count:
        last = node.child(node.child_count - 1)
        return last if last is not None and last.type.endswith(("body", "block")) else None
    return body


def _join_clauses(definitions: list[Definition]) -> list[Definition]:
    """Neighbouring definitions of one name as one: the type signature and all equations of a function."""
    joined: list[Definition] = []
    for definition in definitions:
        last = joined[-1] if joined else None
        if last and _identity(last) == _identity(definition):
            joined[-1] = replace(last, end_line=definition.end_line, doc=last.doc or definition.doc)
        else:
            joined.append(definition)
    return joined


def _identity(definition: Definition) -> tuple[str, str, str]:
    return definition.name, definition.kind, definition.container
