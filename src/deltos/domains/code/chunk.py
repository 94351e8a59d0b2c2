"""Split a source file into chunks, with boundaries at definitions."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING

from deltos.domains.code.model import CodeChunk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.languages.model import Definition

# Maximum size of a chunk. A larger definition is split between its members, or at the limit if it has none.
MAX_CHUNK_LINES = 50
MAX_CHUNK_CHARACTERS = 2_600
# Maximum number of lines of a chunk that contains several small definitions.
MAX_SHARED_CHUNK_LINES = 18
_BOUNDARY_KINDS = frozenset(
    {"function", "method", "class", "interface", "enum", "type", "module", "component", "section"}
)
# Maximum number of lines of a variable definition that is put into one chunk with adjacent code.
_MAX_SHARED_VARIABLE_LINES = 8


@dataclass(slots=True)
class _OutlineNode:
    """Node of the definition tree: a line range, its definition (if any), and the nested line ranges."""

    definition: Definition | None
    start: int
    end: int
    children: list[_OutlineNode] = field(default_factory=list)


def lines_of(data: bytes) -> list[str]:
    """Split a file into lines without line endings. The parser splits lines in the same way."""
    lines = data.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def chunk_lines(lines: Sequence[str], definitions: Sequence[Definition]) -> list[CodeChunk]:
    """Return chunks that together cover every non-blank line of the file exactly once."""
    root = _definition_tree(definitions, len(lines))
    line_ranges = [
        line_range
        for line_range in _leaf_ranges(root, lines)
        if any(line.strip() for line in lines[line_range.start - 1 : line_range.end])
    ]
    names = _names_by_line(definitions)
    return [_build_chunk(group, lines, names) for group in _group_small_ranges(line_ranges, lines)]


def _definition_tree(definitions: Sequence[Definition], line_count: int) -> _OutlineNode:
    """Return a tree of the definitions that may be chunks of their own. Overlapping line ranges are shortened."""
    root = _OutlineNode(None, 1, line_count)
    path = [root]
    for definition in definitions:
        if not _is_boundary(definition):
            continue
        while len(path) > 1 and definition.start_line > path[-1].end:
            path.pop()
        parent = path[-1]
        previous_end = parent.children[-1].end if parent.children else parent.start - 1
        start, end = max(definition.start_line, previous_end + 1), min(definition.end_line, parent.end)
        if start > end:
            continue  # the definition is on the same lines as the previous one
        node = _OutlineNode(definition, start, end)
        parent.children.append(node)
        path.append(node)
    return root


def _is_boundary(definition: Definition) -> bool:
    return (
        definition.kind in _BOUNDARY_KINDS or definition.end_line - definition.start_line >= _MAX_SHARED_VARIABLE_LINES
    )


def _leaf_ranges(node: _OutlineNode, lines: Sequence[str]) -> Iterator[_OutlineNode]:
    """Yield consecutive line ranges: small definitions, parts of long definitions, and code between definitions."""
    pending = [node]
    while pending:
        current = pending.pop()
        if current.definition is not None and _is_small_enough(current, lines):
            yield replace(current, children=[])
        elif not current.children:
            yield from _split_into_windows(current, lines)
        else:
            pending += reversed(_children_and_gaps(current))


def _children_and_gaps(node: _OutlineNode) -> list[_OutlineNode]:
    """Return the children of a node and the line ranges between them, in order."""
    parts: list[_OutlineNode] = []
    next_line = node.start
    for child in node.children:
        if child.start > next_line:
            parts.append(_OutlineNode(node.definition, next_line, child.start - 1))
        parts.append(child)
        next_line = child.end + 1
    if next_line <= node.end:
        parts.append(_OutlineNode(node.definition, next_line, node.end))
    return parts


def _is_small_enough(node: _OutlineNode, lines: Sequence[str]) -> bool:
    """Whether a definition is small enough for one chunk."""
    if node.end - node.start >= MAX_CHUNK_LINES:
        return False
    return _character_count(lines, node.start, node.end) <= MAX_CHUNK_CHARACTERS


def _character_count(lines: Sequence[str], start: int, end: int) -> int:
    return sum(map(len, lines[start - 1 : end]))


def _split_into_windows(node: _OutlineNode, lines: Sequence[str]) -> Iterator[_OutlineNode]:
    """Split a line range into parts that do not exceed the maximum chunk size, preferably at blank lines."""
    start = node.start
    while start <= node.end:
        end, size = start, len(lines[start - 1])
        while end < node.end and end - start + 1 < MAX_CHUNK_LINES and size + len(lines[end]) <= MAX_CHUNK_CHARACTERS:
            size += len(lines[end])
            end += 1
        end = _last_blank_line(lines, start, end) if end < node.end else end
        yield _OutlineNode(node.definition, start, end)
        start = end + 1


def _last_blank_line(lines: Sequence[str], start: int, end: int) -> int:
    """Return the number of the last blank line in the last third of a line range, or of the last line."""
    for line in range(end, start + (end - start) * 2 // 3, -1):
        if not lines[line - 1].strip():
            return line
    return end


def _group_small_ranges(line_ranges: Sequence[_OutlineNode], lines: Sequence[str]) -> list[list[_OutlineNode]]:
    """Group small adjacent line ranges that have the same enclosing definition."""
    groups: list[list[_OutlineNode]] = []
    for line_range in line_ranges:
        if groups and _can_extend_group(groups[-1], line_range, lines):
            groups[-1].append(line_range)
        else:
            groups.append([line_range])
    return groups


def _can_extend_group(group: list[_OutlineNode], line_range: _OutlineNode, lines: Sequence[str]) -> bool:
    """Whether a line range fits into the same chunk as a group, and belongs to the same enclosing definition."""
    if line_range.end - group[0].start >= MAX_SHARED_CHUNK_LINES:
        return False
    if _container_of(group[0]) != _container_of(line_range) and group[-1].definition is not line_range.definition:
        return False
    return _character_count(lines, group[0].start, line_range.end) <= MAX_CHUNK_CHARACTERS


def _container_of(node: _OutlineNode) -> str:
    return node.definition.container if node.definition else ""


def _names_by_line(definitions: Sequence[Definition]) -> list[tuple[int, str]]:
    """Return the line number and the name of each definition, sorted by line number."""
    return sorted((definition.line, definition.name) for definition in definitions)


def _build_chunk(group: list[_OutlineNode], lines: Sequence[str], names: list[tuple[int, str]]) -> CodeChunk:
    """Build the chunk for a group of line ranges; name it after the longest definition in the group."""
    start, end = _trim_blank_lines(lines, group[0].start, group[-1].end)
    first, last = (bisect_left(names, line, key=itemgetter(0)) for line in (start, end + 1))
    inside = tuple(dict.fromkeys(name for _, name in names[first:last]))
    main = max(group, key=lambda node: (node.definition is not None, node.end - node.start)).definition
    if main is None:
        return CodeChunk(start, end, names=inside)
    return CodeChunk(start, end, main.qualified_name, main.kind, main.signature, main.doc, inside)


def _trim_blank_lines(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Return a line range without its leading and trailing blank lines."""
    while not lines[start - 1].strip():
        start += 1
    while not lines[end - 1].strip():
        end -= 1
    return start, end
