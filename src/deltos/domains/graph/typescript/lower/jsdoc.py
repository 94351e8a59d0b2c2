"""Record the references in the links and types of JSDoc comments, and declare the types that comments define."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript import nodes
from deltos.domains.graph.typescript.facts import MemberUse, NameUse
from deltos.domains.graph.typescript.lower.annotations import child_after
from deltos.languages.grammar import parse
from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.typescript.lower.walk import Walk
    from deltos.domains.graph.typescript.nodes import Term

_LINK = re.compile(r"\{@link(?:code|plain)?\s+([\w$]+(?:[.#][\w$]+)*)|@see\s+([A-Za-z_$][\w$]*(?:[.#][\w$]+)*)")
_MAX_NAME_PARTS = 30  # maximum number of parts in a dotted name
_MAX_TYPE_CHARACTERS = 1_000  # maximum length of a type; longer types are unknown
_MAX_UNCLOSED_CHARACTERS = 500  # maximum length of a type without a closing brace
_TAG = re.compile(r"@(\w+)\s*(\{)?")
_NAME = re.compile(r"\[?([\w$.]+)")
_TYPEDEF = re.compile(r"@typedef\s*(\{)?")
_BRACE = re.compile(r"[{}]")
LINE_MARK = re.compile(r"\n[ \t]*+\*")
# No declaration in a file has this name, because the name contains no letters.
_TYPE_PREFIX = "type $$$="
_TYPE_TAGS = frozenset(
    (
        "type param arg argument returns return typedef property prop extends augments implements template satisfies "
        "this enum callback yields throws"
    ).split()
)
_BARE_TYPE_TAGS = frozenset(("extends", "augments", "implements"))


def _record_comment_type(walk: Walk, text: str, offset: int) -> None:
    """Record the references in a JSDoc type at an offset in the file."""
    if len(text) > _MAX_TYPE_CHARACTERS or text.strip() == "*":
        return
    data = f"{_TYPE_PREFIX}{_as_typescript(text.lstrip('.'))}".encode("latin-1")
    language = detect("type.ts")
    tree = parse(language, data) if language is not None else None
    if tree is None:
        return
    inner = walk.inside_comment(data, offset)
    if tree.root_node.has_error:
        inner.record_plain_names(tree.root_node)
    elif (value := child_after(tree.root_node.children[0])) is not None:
        inner.lower_type(value)


def _as_typescript(text: str) -> str:
    """Convert a JSDoc type to TypeScript syntax with the same number of lines."""
    return LINE_MARK.sub("\n", text).replace("!", " ").replace(".<", "<").rstrip().removesuffix("=")


def _braced_tags(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each tag with braces, and the start and end of the text in the braces."""
    closing = _closing_braces(text)
    inside_until = 0
    for match in _TAG.finditer(text):
        if match[2] and match.start() >= inside_until:
            start = match.end()
            end = closing.get(start - 1, -1)
            if end < 0:  # if a closing brace is missing, read up to the next tag
                following = text.find("@", start, start + _MAX_UNCLOSED_CHARACTERS)
                end = following if following >= 0 else min(start + _MAX_UNCLOSED_CHARACTERS, len(text))
            else:
                inside_until = end
            yield match[1], start, end


def _closing_braces(text: str) -> dict[int, int]:
    """Return the position of each closing brace, keyed by the position of its opening brace."""
    found: dict[int, int] = {}
    open_braces: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            open_braces.append(match.start())
        elif open_braces:
            found[open_braces.pop()] = match.start()
    return found


def comments(text: str) -> Iterator[tuple[int, str]]:
    """Yield every JSDoc comment with its start offset."""
    start = text.find("/**")
    while start >= 0:
        end = text.find("*/", start + 3)
        if end < 0:
            return
        yield start, text[start : end + 2]
        start = text.find("/**", end + 2)


def record_comment_references(walk: Walk) -> None:
    """Record the references in all JSDoc comments of the file."""
    for start, text in comments(walk.source.text):
        if "@" not in text:
            continue
        for match in _LINK.finditer(text):
            group = 1 if match[1] else 2
            _record_link(walk, start + match.start(group), *re.split("[.#]", match[group]))
        if walk.source.is_javascript:
            spans = [(begin, end) for tag, begin, end in _braced_tags(text) if tag in _TYPE_TAGS]
            for begin, end in sorted((*spans, *_bare_tags(text))):
                _record_comment_type(walk, text[begin:end], start + begin)


def declare_typedefs(walk: Walk, text: str, start: int) -> None:
    """Declare the names in the `@typedef` tags of a comment."""
    for type_end in _typedef_tags(text):
        name = _NAME.match(text, _skip_blanks(text, type_end + 1))
        if name is None or name[1] in walk.findings.declarations:
            continue
        walk.scopes.bind_type(name[1], name[1])
        key = walk.findings.add_plain_symbol(name[1], "type", start + name.start(1))
        walk.findings.declare(name[1], nodes.AliasDeclaration(key, (), None))
        walk.findings.exports.setdefault(name[1], name[1])


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _typedef_tags(text: str) -> Iterator[int]:
    """Yield the end offset of the type of each `@typedef` tag."""
    closing = _closing_braces(text)
    inside_until = 0
    for match in _TYPEDEF.finditer(text):
        if match.start() >= inside_until:
            type_end = closing.get(match.end() - 1, len(text)) if match[1] else match.end() - 1
            if match[1] and type_end < len(text):
                inside_until = type_end
            yield type_end


def _bare_tags(text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of the type after each tag without braces.

    A type ends at the next tag or the end of the line.
    """
    for match in _TAG.finditer(text):
        if match[1] in _BARE_TYPE_TAGS and not match[2]:
            next_tag = text.find("@", match.end())
            end = next_tag if next_tag >= 0 else len(text) - len("*/")
            line_end = text.find("\n", match.end(), end)
            yield match.end(), line_end if line_end >= 0 else end


def _record_link(walk: Walk, offset: int, first: str, *rest: str) -> None:
    """Record the references in a link to a dotted name."""
    binding = walk.scopes.types.get(first)
    if binding is None:
        binding = walk.scopes.values.get(first)
    if type(binding) is not str:
        return
    use = NameUse(walk.source.line_at(offset), "", "type", binding)
    walk.findings.names.append(use)
    walk.findings.type_names.append(use)
    owner: Term = nodes.OneOf((binding, nodes.TypeReference(binding)))
    for name in rest[:_MAX_NAME_PARTS]:
        walk.findings.members.append(MemberUse(use.line, "", "type", name))
        walk.findings.owners.append(owner)
        owner = nodes.MemberAccess(owner, name)
