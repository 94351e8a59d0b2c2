"""The API of npm packages: declarations in .d.ts and JavaScript files with the comments above them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from itertools import groupby
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.node_comment import apart
from deltos.domains.docs.node_links import DEFAULT, EVERYTHING, NAMELESS, exports_of
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.domains.docs.node_imports import ImportedName
    from deltos.domains.docs.node_links import Export
    from deltos.languages.model import Definition

_LARGE_LINES = 60  # of code: the members of what is longer have passages of their own
_LONGEST_CODE = 12_000
_FUNCTIONS = ("function", "method")
_LONGEST_STATEMENT = 400
_RANK = 5


_MOST_LINES_MORE = 60
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_IN_TEXT = re.compile(r"""=>|//[^\n]*+|"[^"\n]*+"|'[^'\n]*+'|`[^`]*+`|[][(){}<>]""")
_INTERNAL = re.compile(r"@(?:internal|private|hidden|ignore)\b")


class PublicNames(NamedTuple):
    """How users know what a file defines: by name, the other names that it is passed on as, and its nearest import.

    `knows_imports` says that a name without an import cannot be imported.
    """

    known_as: Mapping[str, Sequence[str]]
    imports: Mapping[str, ImportedName]
    knows_imports: bool = False


NOTHING_KNOWN = PublicNames({}, {})


def describe_declarations(name: str, data: bytes, public: PublicNames = NOTHING_KNOWN) -> Document:
    """Every definition in a declaration file: its comment, how it is imported, then the declaration itself."""
    language = detect(name)
    text = data.decode("utf-8", "replace")
    data = text.encode()  # some thousand bytes that are no UTF-8 crash the parser
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return Document(title=name, sections=())
    lines = text.splitlines()
    writer = Outline()
    opened: dict[str, Trait] = {}
    written: set[str] = set()
    definitions = outline(language, tree, data)
    starts = sorted(definition.start_line for definition in definitions if not definition.container)
    members: defaultdict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        members[definition.container].append(definition)
    for definition, *others in _with_overloads(definitions):
        if definition.container and definition.container not in opened:
            continue  # shown inside its container's declaration
        known_as = [] if definition.container else public.known_as.get(definition.name, [])
        if definition.name.startswith(("_", "#")) and not known_as:
            continue
        following = bisect_right(starts, definition.start_line)
        end = starts[following] - 1 if following < len(starts) else len(lines)
        shown = _shown(definition, lines, end, public)
        inherited = opened.get(definition.container, NO_TRAITS)
        own = definition.qualified_name
        is_large = shown.code.count("\n") >= _LARGE_LINES
        if own in members and (definition.kind == "module" or is_large):
            opened[own] = (shown.traits | inherited) & ~Trait.TYPE
            code = definition.signature if definition.kind == "module" else _beside(members[own], definition, lines)
            shown = shown._replace(code=code, traits=shown.traits & ~Trait.TYPE)
        shown = _merged([shown, *(_shown(other, lines, other.end_line, public) for other in others)])
        written.update((definition.name, *known_as))
        names = [own, *known_as] if _is_called_so(definition, shown, public) else [*known_as, own]
        _write(writer, names, shown._replace(traits=shown.traits | inherited))
    undefined = [(export.alias, export.statement) for export in exports_of(tree) if _is_defined_elsewhere(export)]
    undefined += [(alias, text.strip()) for alias in public.known_as.get(NAMELESS, [])]
    for alias, statement in undefined:
        if alias not in written:
            written.add(alias)
            writer.heading(_RANK, alias, [alias], is_definition=True)
            writer.block(fenced(statement[:_LONGEST_STATEMENT], "typescript"), "code")
    return Document(title=name, sections=writer.sections())


class _Shown(NamedTuple):
    """What a passage shows of a definition."""

    comment: str
    code: str
    import_statement: str
    traits: Trait


def _shown(definition: Definition, lines: list[str], end: int, public: PublicNames) -> _Shown:
    told, code = apart(lines[definition.start_line - 1 : definition.end_line])
    text = _whole("\n".join(code), lines[definition.end_line : min(end, definition.end_line + _MOST_LINES_MORE)])
    imported = None if definition.container else public.imports.get(definition.name)
    is_type = definition.kind in ("interface", "type")
    traits = NO_TRAITS
    if is_type:
        traits |= Trait.TYPE
    if "@deprecated" in told:
        traits |= Trait.DEPRECATED
    if _INTERNAL.search(told) or (public.knows_imports and not definition.container and not imported):
        traits |= Trait.INTERNAL
    if imported and (imported.is_elsewhere or definition.name.startswith("$")):
        traits |= Trait.ELSEWHERE
    if not told.strip():
        traits |= Trait.BARE
    return _Shown(told, dedent(text), imported.statement(definition.name, is_type=is_type) if imported else "", traits)


def _beside(members: Iterable[Definition], container: Definition, lines: list[str]) -> str:
    """The code of a definition without the members that have passages of their own."""
    apart_from_it = {line for each in members for line in range(each.start_line, each.end_line + 1)}
    numbers = range(container.start_line, container.end_line + 1)
    _, code = apart([lines[number - 1] for number in numbers if number not in apart_from_it])
    return dedent("\n".join(line for line in code if line.strip()))


def _with_overloads(definitions: Iterable[Definition]) -> Iterator[tuple[Definition, ...]]:
    """Definitions in their order; the overloads of a function together."""
    for (kind, _), group in groupby(definitions, lambda each: (each.kind, each.qualified_name)):
        together = tuple(group)
        yield from [together] if kind in _FUNCTIONS else ((each,) for each in together)


def _merged(overloads: Sequence[_Shown]) -> _Shown:
    """The overloads of a function as one: of what says the same at its beginning, the longest."""
    first, *others = overloads
    comments: dict[str, str] = {}
    for each in overloads:
        beginning = each.comment.partition("\n")[0]
        comments[beginning] = max(comments.get(beginning, ""), each.comment, key=len)
    traits = first.traits
    for each in others:
        traits &= each.traits
    code = "\n".join(each.code for each in overloads)
    told = "\n\n".join(filter(None, comments.values()))
    return _Shown(told, code, first.import_statement, traits)


def _is_called_so(definition: Definition, shown: _Shown, public: PublicNames) -> bool:
    """Whether users know a definition by its own name, whatever else it is passed on as."""
    imported = public.imports.get(definition.name)
    return shown.code.lstrip().startswith("export ") or (imported is not None and imported.name == definition.name)


def _whole(code: str, following: Sequence[str]) -> str:
    """A declaration with the lines that its open brackets still need: grammars do not know every form of a type."""
    open_brackets: list[str] = []
    _follow(code, open_brackets)
    added: list[str] = []
    for line in following:
        if not open_brackets:
            break
        added.append(line)
        _follow(line, open_brackets)
    return "\n".join((code, *added)) if added and not open_brackets else code


def _follow(text: str, open_brackets: list[str]) -> None:
    """Keep what is open after a text."""
    for found in _IN_TEXT.findall(text):
        if found in "([{<":
            open_brackets.append(found)
        elif open_brackets and _BRACKETS.get(found) == open_brackets[-1]:
            open_brackets.pop()


def _is_defined_elsewhere(export: Export) -> bool:
    """Whether no file of the package that is read says more of an exported name than the statement that names it."""
    if export.alias in ("", DEFAULT):
        return False
    return not export.module or not export.module.startswith(".") or export.name == EVERYTHING


def _write(writer: Outline, names: list[str], shown: _Shown) -> None:
    """A section: what is said of a definition, then its import above its code."""
    writer.heading(_RANK + names[0].count("."), names[0], names, is_definition=True, traits=shown.traits)
    for paragraph in shown.comment.split("\n\n"):
        writer.block(paragraph.strip("\n"))
    code = "\n".join(filter(None, (shown.import_statement, shown.code)))
    if len(code) > _LONGEST_CODE:
        code = f"{code[:_LONGEST_CODE].rstrip()} …"
    writer.block(fenced(code, "typescript"), "code")
