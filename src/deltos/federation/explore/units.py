"""Division of a file into code blocks: functions, class headers, and paragraphs of other statements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.store.code import DefinitionRecord

CALLABLE_KINDS = frozenset({"function", "method", "component"})
CONTAINER_KINDS = frozenset({"class", "interface", "enum", "type", "module", "namespace"})
# Maximum number of comment and decorator lines above a definition that belong to the definition.
_MAX_COMMENT_LINES = 12
_MAX_PARAGRAPH_LINES = 40
_MIN_SPLIT_LINES = 20  # minimum number of lines of a class whose members are separate code blocks
_COMMENT_MARKERS = ("#", "//", "/*", "*", "--", "@")


@dataclass(frozen=True, slots=True)
class Unit:
    """Code block: lines of a definition or paragraph. `head` is the line of the definition, or the first line."""

    path: str
    symbol: str
    kind: str
    start: int
    end: int
    head: int

    @property
    def location(self) -> tuple[str, int]:
        """Path and first line, which identify the code block."""
        return self.path, self.start


def split_units(path: str, lines: Sequence[str], definitions: Sequence[DefinitionRecord]) -> list[Unit]:
    """Divide a file into code blocks, in order. Every line that is not blank belongs to a code block."""
    containers = [each for each in definitions if each.kind in CONTAINER_KINDS and _is_split(each, definitions)]
    units: list[Unit] = []
    next_line = 1
    for definition in _unsplit_definitions(definitions, containers):
        start = _start_with_comments(lines, definition.line, next_line)
        end = min(definition.end_line, len(lines))
        if start < next_line or end < start:
            continue  # the definition is on the same lines as the previous one
        units += _units_between(path, lines, (next_line, start - 1), containers, definitions)
        units.append(Unit(path, qualified_name(definition), definition.kind, start, end, definition.line))
        next_line = end + 1
    units += _units_between(path, lines, (next_line, len(lines)), containers, definitions)
    return _join_brackets(lines, units)


def _join_brackets(lines: Sequence[str], units: Sequence[Unit]) -> list[Unit]:
    """Append code blocks that contain only closing brackets to the preceding code blocks."""
    joined: list[Unit] = []
    for unit in units:
        is_word = any(character.isalnum() for line in lines[unit.start - 1 : unit.end] for character in line)
        if is_word or not joined:
            joined.append(unit)
        else:
            joined[-1] = replace(joined[-1], end=unit.end)
    return joined


def qualified_name(definition: DefinitionRecord) -> str:
    """Return the name of a definition, prefixed with the name of the container."""
    return f"{definition.container}.{definition.name}" if definition.container else definition.name


def _is_split(container: DefinitionRecord, definitions: Sequence[DefinitionRecord]) -> bool:
    """Whether the members of a class are separate code blocks."""
    return container.end_line - container.line >= _MIN_SPLIT_LINES and any(
        each.kind in CALLABLE_KINDS | CONTAINER_KINDS
        and container.line < each.line
        and each.end_line <= container.end_line
        for each in definitions
    )


def _unsplit_definitions(
    definitions: Sequence[DefinitionRecord], containers: Sequence[DefinitionRecord]
) -> Iterator[DefinitionRecord]:
    """Yield the outermost definitions that are not divided further, in order."""
    last = 0
    kinds = CALLABLE_KINDS | CONTAINER_KINDS | {"section"}
    for each in sorted(definitions, key=lambda each: (each.line, -each.end_line)):
        if each.line > last and each.kind in kinds and each not in containers:
            yield each
            last = each.end_line


def _start_with_comments(lines: Sequence[str], line: int, first: int) -> int:
    """Return the first of the comment and decorator lines above a definition, but at least line `first`."""
    start = line
    while start > max(first, line - _MAX_COMMENT_LINES) and lines[start - 2].lstrip().startswith(_COMMENT_MARKERS):
        start -= 1
    return start


def _units_between(
    path: str,
    lines: Sequence[str],
    bounds: tuple[int, int],
    containers: Sequence[DefinitionRecord],
    definitions: Sequence[DefinitionRecord],
) -> Iterator[Unit]:
    """Yield the code blocks between two definitions: class headers and paragraphs."""
    start = bounds[0]
    heads = [each for each in containers if bounds[0] <= each.line <= bounds[1]]
    for number, head in enumerate(heads, 1):
        begin = _start_with_comments(lines, head.line, start)
        yield from _split_paragraphs(path, lines, (start, begin - 1), containers, definitions)
        following = heads[number].line if number < len(heads) else bounds[1] + 1
        end = _last_nonblank_line(lines, begin, following - 1)
        yield Unit(path, qualified_name(head), head.kind, begin, end, head.line)
        start = following
    yield from _split_paragraphs(path, lines, (start, bounds[1]), containers, definitions)


def _last_nonblank_line(lines: Sequence[str], start: int, end: int) -> int:
    while end > start and not lines[end - 1].strip():
        end -= 1
    return end


def _split_paragraphs(
    path: str,
    lines: Sequence[str],
    bounds: tuple[int, int],
    containers: Sequence[DefinitionRecord],
    definitions: Sequence[DefinitionRecord],
) -> Iterator[Unit]:
    """Yield paragraphs, which are separated by blank lines.

    A paragraph has the name of its first definition or, if it has none, of the enclosing class.
    """
    start = 0
    for number in range(bounds[0], bounds[1] + 2):
        is_written = number <= bounds[1] and bool(lines[number - 1].strip())
        if is_written and not start:
            start = number
        if start and (not is_written or number - start >= _MAX_PARAGRAPH_LINES):
            end = number - 1 if not is_written else number
            named = next((each for each in definitions if start <= each.line <= end), None)
            around = [each for each in containers if each.line <= start <= each.end_line]
            symbol = qualified_name(named) if named else qualified_name(around[-1]) if around else ""
            yield Unit(path, symbol, named.kind if named else "", start, end, named.line if named else start)
            start = 0
