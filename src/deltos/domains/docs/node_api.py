"""Document the API of npm packages from the declarations and comments in .d.ts and JavaScript files."""

from __future__ import annotations

import re
from itertools import groupby
from textwrap import dedent
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.node_exports import read_statements
from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.table import detect
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.docs.node_exports import ImportableNames
    from deltos.languages.model import Definition

_MIN_LARGE_LINES = 60  # a definition with at least this number of lines is split into passages for its members
_MAX_CODE_CHARACTERS = 12_000
_HEADING_RANK = 5  # heading level of top-level definitions
_COMMENT_MARK = re.compile(r"\s*+(?:/\*\*?+|\*|//++) ?")
_LINK = re.compile(r"\{@link(?:code|plain)?+\s([^{}|\s]*+)([^{}]*+)\}")
_INTERNAL_TAG = re.compile(r"@(?:internal|private|hidden|ignore)\b")
_DEFAULT = "default"


class _Declaration(NamedTuple):
    """Comment and code of a declaration, and properties that lower its rank."""

    comment: str
    code: str
    traits: Trait


def describe_declarations(name: str, data: bytes, public: ImportableNames) -> Document:
    """Return a document with the comment, import statement and declaration of every definition in a file."""
    language = detect(name)
    text = data.decode("utf-8", "replace")
    data = text.encode()  # invalid UTF-8 is replaced, because thousands of invalid bytes crash the parser
    tree = parse(language, data) if language else None
    if language is None or tree is None:
        return Document(title=name, sections=())
    lines = text.split("\n")
    writer = Outline()
    names: dict[str, str] = {}  # public names of definitions whose members have separate passages
    definitions = outline(language, tree, data)
    containers = {definition.container for definition in definitions}
    for (_, own), group in groupby(definitions, lambda each: (each.kind, each.qualified_name)):
        first, *_ = overloads = list(group)
        if first.name.startswith(("_", "#")) and first.name not in public.names:
            continue
        if first.container:
            if first.container not in names:
                continue  # the declaration that contains this definition already includes it
            shown = f"{names[first.container]}.{first.name}"
        else:
            shown = _default_name(first, lines, public) or public.public_name(first.name) or own
        declaration = _join_overloads([_read_declaration(each, lines) for each in overloads])
        is_large = first.kind == "module" or first.end_line - first.start_line >= _MIN_LARGE_LINES
        if is_large and own in containers:
            names[own] = shown
            declaration = declaration._replace(code=first.signature, traits=declaration.traits & ~Trait.TYPE)
        traits = declaration.traits | _import_traits(first, shown, public)
        code = declaration.code if first.container else _import_statement(shown, first, public) + declaration.code
        anchors = dict.fromkeys((shown, own if not first.container else shown))
        writer.start_section(_HEADING_RANK + shown.count("."), shown, anchors, is_definition=True, traits=traits)
        for paragraph in declaration.comment.split("\n\n"):
            writer.add_block(paragraph.strip("\n"))
        is_long = len(code) > _MAX_CODE_CHARACTERS
        code = f"{code[:_MAX_CODE_CHARACTERS].rstrip()} …" if is_long else code
        writer.add_block(fenced(code, "typescript"), "code")
    for alias, statement in _names_of_other_packages(text):
        writer.start_section(_HEADING_RANK, alias, [alias], is_definition=True)
        writer.add_block(fenced(statement, "typescript"), "code")
    return Document(title=name, sections=writer.sections())


def _names_of_other_packages(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a file exports from other packages or as namespaces, with the export statement."""
    for each in read_statements(text):
        if each.is_export and each.namespace:
            yield each.namespace, f'export * as {each.namespace} from "{each.module}";'
        elif each.is_export and each.module and not each.module.startswith("."):
            for alias, name in (each.names or {}).items():
                yield alias, f'export {{ {name if name == alias else f"{name} as {alias}"} }} from "{each.module}";'


def _default_name(definition: Definition, lines: Sequence[str], public: ImportableNames) -> str:
    """Return the public name of a default export, or "" if the definition is not the default export."""
    is_default = "export default" in lines[definition.line - 1]
    return public.names[_DEFAULT] if is_default and _DEFAULT in public.names else ""


def _import_traits(definition: Definition, shown: str, public: ImportableNames) -> Trait:
    """Return the properties that lower the rank of a definition with a long import path or without any."""
    if definition.container:
        return NO_TRAITS
    is_importable = public.public_name(definition.name) or (shown != definition.name)
    if not is_importable:
        return Trait.INTERNAL
    return Trait.DEEP_IMPORT if public.is_deep or definition.name.startswith("$") else NO_TRAITS


def _import_statement(shown: str, definition: Definition, public: ImportableNames) -> str:
    """Return the statement that imports a definition, or "" if users cannot import it."""
    if not public.specifier or (shown == definition.name and not public.public_name(definition.name)):
        return ""
    keyword = "import type" if definition.kind in ("interface", "type") else "import"
    name, _, member = shown.partition(".")
    comment = f"  // {shown}" if member else ""
    return f'{keyword} {{ {name} }} from "{public.specifier}";{comment}\n'


def _read_declaration(definition: Definition, lines: Sequence[str]) -> _Declaration:
    """Return the comment and code of a definition."""
    own = list(lines[definition.start_line - 1 : definition.end_line])
    comment, rest = [], own
    is_open = False
    for number, line in enumerate(own):
        stripped = line.strip()
        if not is_open and stripped and not stripped.startswith(("//", "/*")):
            rest = own[number:]
            break
        comment.append(_comment_text(line))
        before, _, after = stripped.partition("*/")
        is_open = (is_open or before.startswith("/*")) and "*/" not in stripped.removeprefix("/*")
        if after.strip():
            comment[-1] = _comment_text(before)
            rest = [after.strip(), *own[number + 1 :]]
            break
    text = _LINK.sub(lambda found: found[2].strip("| ") or found[1], "\n".join(comment)).strip("\n")
    traits = Trait.TYPE if definition.kind in ("interface", "type") else NO_TRAITS
    traits |= Trait.DEPRECATED if "@deprecated" in text else NO_TRAITS
    traits |= Trait.INTERNAL if _INTERNAL_TAG.search(text) else NO_TRAITS
    traits |= Trait.UNDOCUMENTED if not text.strip() else NO_TRAITS
    return _Declaration(text, dedent("\n".join(rest)), traits)


def _comment_text(line: str) -> str:
    """Return the text of a line of a comment, without comment marks."""
    text = line.rstrip().removesuffix("*/").rstrip()
    mark = _COMMENT_MARK.match(text)
    return text[mark.end() :] if mark else text


def _join_overloads(overloads: Sequence[_Declaration]) -> _Declaration:
    """Join the overloads of a function. Of comments that start with the same line, only the longest is kept."""
    comments: dict[str, str] = {}
    traits = overloads[0].traits
    for each in overloads:
        beginning = each.comment.partition("\n")[0]
        comments[beginning] = max(comments.get(beginning, ""), each.comment, key=len)
        traits &= each.traits
    code = "\n".join(each.code for each in overloads)
    return _Declaration("\n\n".join(filter(None, comments.values())), code, traits)
