"""The outline of a file: its definitions in document order, read off a syntax tree with one query."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pinakes.languages.grammar import definitions_query
from pinakes.languages.model import Definition

if TYPE_CHECKING:
    import tree_sitter

    from pinakes.languages.table import Language

SIGNATURE_CHARS = 200
DOC_CHARS = 300

_CALLABLE = frozenset({"function", "method"})
_CLASS_LIKE = frozenset({"class", "interface", "enum", "type"})
_LEADING = frozenset({"comment", "decorator"})
_OPEN = frozenset({"", "namespace"})  # a method here is a plain function
_LOCAL = frozenset({"variable", "type"})  # inside a function they are nobody else's business
_WHOLE = frozenset({"function", "method", "type"})  # without a body, the whole of it is the signature
_FREE_TEXT = frozenset({"section", "property"})  # names that may hold dots and spaces
_EXPORTS = frozenset({"this", "exports", "module.exports"})


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


class _Scope(NamedTuple):
    """An enclosing definition while the file is read from top to bottom."""

    end: int
    path: str
    kind: str


_FILE = _Scope(0, "", "")


def outline(language: Language, tree: tree_sitter.Tree, data: bytes) -> list[Definition]:
    """The definitions in a file, in document order."""
    # deferred: importing the package must not load a parser
    from tree_sitter import QueryCursor

    query = definitions_query(language)
    if query is None:
        return []
    cursor = QueryCursor(query)
    if language.top_level_only:
        cursor.set_max_start_depth(1)
    reader = _Reader(language, data)
    definitions = reader.read(cursor.matches(tree.root_node))
    return _join_clauses(definitions) if language.joins_clauses else definitions


class _Reader:
    """Reads one file's matches into definitions."""

    def __init__(self, language: Language, data: bytes) -> None:
        self._language = language
        self._data = data
        self._markers = _comment_markers(language.line_comments)
        self._remark = _remark(language.line_comments)
        self._docstring_opening = _docstring_opening(language.docstring)
        self._leading: dict[int, tuple[tree_sitter.Node, bool]] = {}  # by the row it ends on; whether it is a comment

    def read(self, matches: list[tuple[int, dict[str, list[tree_sitter.Node]]]]) -> list[Definition]:
        """All definitions among the matches, in document order."""
        findings = self._collect(matches)
        scopes: list[_Scope] = []
        definitions = []
        for finding in findings:
            while scopes and scopes[-1].end <= finding.start:
                scopes.pop()
            definition = self._define(finding, scopes)
            if definition is not None:
                _end_before(definition, definitions)
                definitions.append(definition)
        return definitions

    def _collect(self, matches: list[tuple[int, dict[str, list[tree_sitter.Node]]]]) -> list[_Finding]:
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

    def _put_aside(self, captures: dict[str, list[tree_sitter.Node]]) -> None:
        for capture, nodes in captures.items():
            row, column = nodes[0].end_point
            # a node that ends at the start of a row has swallowed the line break
            if capture in _LEADING:
                self._leading[row if column else row - 1] = (nodes[0], capture == "comment")

    def _define(self, finding: _Finding, scopes: list[_Scope]) -> Definition | None:
        """The definition of a finding, which opens its scope; None for a mere scope and for what is local."""
        name, container = self._names(finding)
        outer = scopes[-1] if scopes else _FILE
        kind = self._kind(finding, name, container, outer)
        if outer.kind in _CALLABLE and kind in _LOCAL:
            return None
        container = _nest(container, _enclosing(outer, kind))
        scope = _Scope(-finding.negative_end, f"{container}.{name}" if container else name, kind)
        if scope.kind == outer.kind and name == outer.path.rpartition(".")[2]:
            return None  # typedef struct node {…} node
        scopes.append(scope)
        if finding.is_scope or name in ("", "_"):
            return None
        return self._definition(finding, name, kind, container)

    def _definition(self, finding: _Finding, name: str, kind: str, container: str) -> Definition:
        node = finding.node
        row, column = node.start_point
        body = finding.body or _body(node)
        start_row, doc = self._lead(row)
        if self._docstring_opening is not None and body is not None:
            doc = self._docstring(body.start_byte) or doc
        return Definition(
            name=name,
            kind=kind,
            line=finding.name.start_point[0] + 1,
            start_line=start_row + 1,
            end_line=max(self._end_row(node), row) + 1,
            container=container,
            signature=self._signature(finding, column, body),
            doc=doc,
        )

    def _end_row(self, node: tree_sitter.Node) -> int:
        """The last row of a node that holds more than white space."""
        end = last = node.end_byte
        row = node.end_point[0]
        while last and self._data[last - 1] in _SPACE:
            last -= 1
        return row if last == end else row - self._data.count(b"\n", last, end)

    def _names(self, finding: _Finding) -> tuple[str, str]:
        """A finding's name, and the container that is written with it: `Foo::bar`, `res.redirect`."""
        name = self._text(finding.name)
        if finding.is_scope:
            return _type_name(name), ""
        name = name.strip("\"':")
        if finding.kind in _FREE_TEXT:
            return " ".join(name.split()), ""
        name = _bare(name)
        if finding.container is None and name.isidentifier():
            return name, ""
        parts = _SEPARATOR.split(name)
        if finding.container is not None:
            parts[:0] = _container_parts(self._text(finding.container))
        return parts[-1], ".".join(parts[:-1])

    def _kind(self, finding: _Finding, name: str, container: str, outer: _Scope) -> str:
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

    def _lead(self, row: int) -> tuple[int, str]:
        """The first row of the comments and decorators directly above a row, and what the comments say."""
        comments = []
        if row - 1 not in self._leading and self._is_doc_block(self._leading.get(row - 2)):
            row -= 1  # a doc block may stand a blank line above what it describes
        while entry := self._leading.get(row - 1):
            node, is_comment = entry
            node_row, column = node.start_point
            start = node.start_byte
            if is_comment and column and self._data[start - column : start].strip():
                break  # it ends a line of code: not about what follows
            if is_comment:
                comments.append(node)
            row = node_row
        if not comments:
            return row, ""
        start = comments[-1].start_byte
        return row, self._prose(start, min(comments[0].end_byte, start + 4 * DOC_CHARS))

    def _is_doc_block(self, entry: tuple[tree_sitter.Node, bool] | None) -> bool:
        return entry is not None and self._data.startswith(b"/**", entry[0].start_byte)

    def _prose(self, start: int, end: int) -> str:
        """The words of a comment, without its markers."""
        text = self._data[start:end].decode("utf-8", "replace")
        if text[:1] == "@":
            text = _DOC_ATTRIBUTE.sub("", text)
        text = " ".join([line.strip(self._markers) for line in text.split("\n")])
        return " ".join(text.split())[:DOC_CHARS].rstrip()

    def _docstring(self, start: int) -> str:
        """The docstring that starts a body, empty if something else does."""
        opening = self._docstring_opening.match(self._data, start) if self._docstring_opening else None
        if opening is None:
            return ""
        quote = opening[1]
        end = self._data.find(quote, opening.end())
        limit = opening.end() + 4 * DOC_CHARS
        text = self._data[opening.end() : limit if end < 0 else min(end, limit)].decode("utf-8", "replace")
        return " ".join(text.split())[:DOC_CHARS].rstrip()

    def _signature(self, finding: _Finding, column: int, body: tree_sitter.Node | None) -> str:
        """The header of a definition on one line, without its body."""
        start = finding.start
        if column and _KEYWORDS.fullmatch(self._data, start - column, start):
            start -= column
        end = -finding.negative_end
        if body is not None:
            end = body.start_byte
        elif finding.kind not in _WHOLE:
            line_end = self._data.find(b"\n", finding.name_start, end)
            end = line_end if line_end >= 0 else end
        text = self._data[start : min(end, start + 4 * SIGNATURE_CHARS)].decode("utf-8", "replace")
        if "\n" in text:
            text = self._remark.sub("", text)
        text = " ".join(text.split())
        if text[:1] in "@[#":
            text = _ATTRIBUTES.sub("", text) or text
        if text.endswith(_HEADER_ENDS):
            text = _HEADER_END.sub("", text)
        return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"

    def _text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


_SPACE = frozenset(b" \t\r\n\f")
_SEPARATOR = re.compile(r"::|[.:]")
_GENERICS = re.compile(r"<.*>(?=::|$)")
_DOC_ATTRIBUTE = re.compile(r'@\w+\s+(?:~[sS])?"+|"+\s*$')
_KEYWORDS = re.compile(rb"[\w \t]*")
_ATTRIBUTES = re.compile(r"(?:(?:@(?!(?:type|typep|opaque|callback|macrocallback)\b)[\w.:]+(?:\((?:[^()]|\([^()]*\))*\))?|#?\[[^\]]*\])\s*)+")
_HEADER_ENDS = ("=>", "{", ":", "=", ";", " do", " where", " end")
_HEADER_END = re.compile(r"\s*(?:=>|[{:=;]|\b(?:do|where|end))$")
_TYPE_NAME = re.compile(r"[\w:.]+(?=\W*(?:<|$))")


def _name(captures: dict[str, list[tree_sitter.Node]]) -> tree_sitter.Node | None:
    """The node that names a match: captured, or the `name` field of what was captured."""
    if "name" in captures:
        return captures["name"][0]
    return next(iter(captures.values()))[0].child_by_field_name("name")


def _finding(
    pattern: int, name_start: int, name: tree_sitter.Node, captures: dict[str, list[tree_sitter.Node]]
) -> _Finding:
    container = captures.get("container")
    body = captures.get("body")
    node, kind, is_scope = name, "", False
    for capture, nodes in captures.items():
        role, _, rest = capture.partition(".")
        if rest:
            node, kind, is_scope = nodes[0], rest, role == "scope"
    return _Finding(
        node.start_byte,
        -node.end_byte,
        name_start,
        pattern,
        is_scope,
        kind,
        node,
        name,
        container[0] if container else None,
        body[0] if body else None,
    )


def _bare(name: str) -> str:
    """A name without type arguments and without the macros that C allows before it."""
    if ("<" not in name and " " not in name) or "operator" in name:
        return name
    return _GENERICS.sub("", name).rpartition(" ")[2]


def _enclosing(outer: _Scope, kind: str) -> str:
    """The path that encloses a definition: a property declared in a constructor belongs to its class."""
    return outer.path.rpartition(".")[0] if kind == "property" and outer.kind in _CALLABLE else outer.path


def _nest(container: str, path: str) -> str:
    """A written container inside the path that encloses it."""
    if not container or not path or f"{container}.".startswith(f"{path}."):
        return container or path
    return f"{path}.{container}"


def _container_parts(text: str) -> list[str]:
    """The parts of a written container that name something: `Foo.prototype` is `Foo`, `exports` is nothing."""
    if text in _EXPORTS:
        return []
    return [part for part in _SEPARATOR.split(text) if part not in ("prototype", "this", "exports", "module")]


def _type_name(text: str) -> str:
    """The bare name of a type: `Foo` of `&mut fmt::Foo<T>`."""
    match = _TYPE_NAME.search(text)
    return _SEPARATOR.split(match[0])[-1] if match else text


@cache
def _comment_markers(line_comments: tuple[str, ...]) -> str:
    """The characters that a comment's lines start and end with, besides its words."""
    characters = " \t\r/*!" + "".join(line_comments)
    return characters + "{}|^" if "--" in line_comments else characters


@cache
def _remark(line_comments: tuple[str, ...]) -> re.Pattern[str]:
    """A comment inside a header."""
    prefixes = "|".join(map(re.escape, line_comments)) or r"\Z"
    return re.compile(rf"(?:^|\s)(?:{prefixes}).*$", re.MULTILINE)


@cache
def _docstring_opening(prefix: str | None) -> re.Pattern[bytes] | None:
    return None if prefix is None else re.compile(prefix.encode() + rb"(\"\"\"|'''|\"|')")


def _body(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The node's body: the field of that name, or a last child that is called one."""
    body = node.child_by_field_name("body")
    if body is None and (last := node.child(node.child_count - 1)) and last.type.endswith(("body", "block")):
        return last
    return body


def _end_before(definition: Definition, earlier: list[Definition]) -> None:
    """End the sibling above before a definition's own comment: some grammars let a block run up to the next token."""
    if not earlier:
        return
    last = earlier[-1]
    if last.line < definition.start_line <= last.end_line < definition.line:
        earlier[-1] = replace(last, end_line=definition.start_line - 1)


def _join_clauses(definitions: list[Definition]) -> list[Definition]:
    """Neighbouring definitions of one name as one: the type signature and all equations of a function."""
    joined: list[Definition] = []
    for definition in definitions:
        last = joined[-1] if joined else None
        if last and _is_clause(definition, last):
            joined[-1] = replace(last, end_line=definition.end_line, doc=last.doc or definition.doc)
        else:
            joined.append(definition)
    return joined


def _is_clause(definition: Definition, last: Definition) -> bool:
    return definition.name == last.name and definition.kind == last.kind and definition.container == last.container
