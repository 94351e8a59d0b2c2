"""Document the API of npm packages from the declarations and comments in .d.ts and JavaScript files."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from itertools import groupby
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.node_comment import split_comment
from deltos.domains.docs.node_links import ALL_NAMES, DEFAULT, NAMELESS, exports_of
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.domains.docs.node_imports import PackageImport
    from deltos.domains.docs.node_links import Export
    from deltos.languages.model import Definition

_MIN_LARGE_LINES = 60  # definitions with at least this number of lines have separate passages for their members
_MAX_CODE_CHARACTERS = 12_000
_FUNCTION_KINDS = ("function", "method")
_MAX_STATEMENT_CHARACTERS = 400
_HEADING_RANK = 5  # heading level of top-level definitions
_MAX_ADDED_LINES = 60  # maximum number of lines appended to complete a declaration
_OPENING_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}
_BRACKET_OR_STRING = re.compile(r"""=>|//[^\n]*+|"[^"\n]*+"|'[^'\n]*+'|`[^`]*+`|[][(){}<>]""")
_INTERNAL_TAG = re.compile(r"@(?:internal|private|hidden|ignore)\b")


class PublicNames(NamedTuple):
    """Names under which users can import the definitions in a file, and the shortest import statement of each.

    `aliases` and `imports` map the name in the file to exported names and to the shortest import. If `knows_imports` is
    set, a name without an import is internal.
    """

    aliases: Mapping[str, Sequence[str]]
    imports: Mapping[str, PackageImport]
    knows_imports: bool = False


NO_PUBLIC_NAMES = PublicNames({}, {})


def describe_declarations(name: str, data: bytes, public: PublicNames = NO_PUBLIC_NAMES) -> Document:
    """Return a document with the comment, import statement and declaration of every definition in a file."""
    language = detect(name)
    text = data.decode("utf-8", "replace")
    data = text.encode()  # this replaces invalid UTF-8, because thousands of invalid bytes crash the parser
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return Document(title=name, sections=())
    lines = text.splitlines()
    writer = Outline()
    container_traits: dict[str, Trait] = {}
    written: set[str] = set()
    definitions = outline(language, tree, data)
    starts = sorted(definition.start_line for definition in definitions if not definition.container)
    members: defaultdict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        members[definition.container].append(definition)
    for definition, *others in _group_overloads(definitions):
        if definition.container and definition.container not in container_traits:
            continue  # the declaration of its container already includes this definition
        aliases = [] if definition.container else public.aliases.get(definition.name, [])
        if definition.name.startswith(("_", "#")) and not aliases:
            continue
        following = bisect_right(starts, definition.start_line)
        end = starts[following] - 1 if following < len(starts) else len(lines)
        declaration = _declaration_text(definition, lines, end, public)
        inherited = container_traits.get(definition.container, NO_TRAITS)
        own = definition.qualified_name
        is_large = declaration.code.count("\n") >= _MIN_LARGE_LINES
        if own in members and (definition.kind == "module" or is_large):
            container_traits[own] = (declaration.traits | inherited) & ~Trait.TYPE
            code = (
                definition.signature
                if definition.kind == "module"
                else _code_without_members(members[own], definition, lines)
            )
            declaration = declaration._replace(code=code, traits=declaration.traits & ~Trait.TYPE)
        declaration = _merge_overloads(
            [declaration, *(_declaration_text(other, lines, other.end_line, public) for other in others)]
        )
        written.update((definition.name, *aliases))
        names = [own, *aliases] if _has_own_name(definition, declaration, public) else [*aliases, own]
        _write_section(writer, names, declaration._replace(traits=declaration.traits | inherited))
    undefined = [(export.alias, export.statement) for export in exports_of(tree) if _is_defined_elsewhere(export)]
    undefined += [(alias, text.strip()) for alias in public.aliases.get(NAMELESS, [])]
    for alias, statement in undefined:
        if alias not in written:
            written.add(alias)
            writer.start_section(_HEADING_RANK, alias, [alias], is_definition=True)
            writer.add_block(fenced(statement[:_MAX_STATEMENT_CHARACTERS], "typescript"), "code")
    return Document(title=name, sections=writer.sections())


class _DeclarationText(NamedTuple):
    """Text of a passage that documents a definition, and traits that lower its rank, such as "deprecated"."""

    comment: str
    code: str
    import_statement: str
    traits: Trait


def _declaration_text(definition: Definition, lines: list[str], end: int, public: PublicNames) -> _DeclarationText:
    """Return the text and traits for a definition whose code ends at line `end` or earlier."""
    comment, code = split_comment(lines[definition.start_line - 1 : definition.end_line])
    text = _complete_brackets(
        "\n".join(code), lines[definition.end_line : min(end, definition.end_line + _MAX_ADDED_LINES)]
    )
    imported = None if definition.container else public.imports.get(definition.name)
    is_type = definition.kind in ("interface", "type")
    traits = NO_TRAITS
    if is_type:
        traits |= Trait.TYPE
    if "@deprecated" in comment:
        traits |= Trait.DEPRECATED
    if _INTERNAL_TAG.search(comment) or (public.knows_imports and not definition.container and not imported):
        traits |= Trait.INTERNAL
    if imported and (imported.has_shorter_import or definition.name.startswith("$")):
        traits |= Trait.DEEP_IMPORT
    if not comment.strip():
        traits |= Trait.UNDOCUMENTED
    return _DeclarationText(
        comment, dedent(text), imported.statement(definition.name, is_type=is_type) if imported else "", traits
    )


def _code_without_members(members: Iterable[Definition], container: Definition, lines: list[str]) -> str:
    """Return the code of a definition without the members that have separate passages."""
    member_lines = {line for each in members for line in range(each.start_line, each.end_line + 1)}
    numbers = range(container.start_line, container.end_line + 1)
    _, code = split_comment([lines[number - 1] for number in numbers if number not in member_lines])
    return dedent("\n".join(line for line in code if line.strip()))


def _group_overloads(definitions: Iterable[Definition]) -> Iterator[tuple[Definition, ...]]:
    """Yield the definitions in order, with the overloads of a function in one group."""
    for (kind, _), group in groupby(definitions, lambda each: (each.kind, each.qualified_name)):
        overloads = tuple(group)
        yield from [overloads] if kind in _FUNCTION_KINDS else ((each,) for each in overloads)


def _merge_overloads(overloads: Sequence[_DeclarationText]) -> _DeclarationText:
    """Merge the overloads of a function; if several comments start with the same line, keep only the longest."""
    first, *others = overloads
    comments: dict[str, str] = {}
    for each in overloads:
        beginning = each.comment.partition("\n")[0]
        comments[beginning] = max(comments.get(beginning, ""), each.comment, key=len)
    traits = first.traits
    for each in others:
        traits &= each.traits
    code = "\n".join(each.code for each in overloads)
    comment = "\n\n".join(filter(None, comments.values()))
    return _DeclarationText(comment, code, first.import_statement, traits)


def _has_own_name(definition: Definition, declaration: _DeclarationText, public: PublicNames) -> bool:
    """Whether a definition is exported under its own name."""
    imported = public.imports.get(definition.name)
    return declaration.code.lstrip().startswith("export ") or (
        imported is not None and imported.name == definition.name
    )


def _complete_brackets(code: str, following: Sequence[str]) -> str:
    """Append the following lines to `code` until all brackets are closed, because the parser may end too early."""
    open_brackets: list[str] = []
    _track_brackets(code, open_brackets)
    added: list[str] = []
    for line in following:
        if not open_brackets:
            break
        added.append(line)
        _track_brackets(line, open_brackets)
    return "\n".join((code, *added)) if added and not open_brackets else code


def _track_brackets(text: str, open_brackets: list[str]) -> None:
    """Update the stack of open brackets with the brackets in `text`."""
    for found in _BRACKET_OR_STRING.findall(text):
        if found in "([{<":
            open_brackets.append(found)
        elif open_brackets and _OPENING_BRACKETS.get(found) == open_brackets[-1]:
            open_brackets.pop()


def _is_defined_elsewhere(export: Export) -> bool:
    """Whether another file may declare an exported name, so that only the export statement is shown."""
    if export.alias in ("", DEFAULT):
        return False
    return not export.module or not export.module.startswith(".") or export.name == ALL_NAMES


def _write_section(writer: Outline, names: list[str], declaration: _DeclarationText) -> None:
    """Write a section with the comment, import and code of a definition."""
    writer.start_section(
        _HEADING_RANK + names[0].count("."), names[0], names, is_definition=True, traits=declaration.traits
    )
    for paragraph in declaration.comment.split("\n\n"):
        writer.add_block(paragraph.strip("\n"))
    code = "\n".join(filter(None, (declaration.import_statement, declaration.code)))
    if len(code) > _MAX_CODE_CHARACTERS:
        code = f"{code[:_MAX_CODE_CHARACTERS].rstrip()} …"
    writer.add_block(fenced(code, "typescript"), "code")
