"""Convert JSDoc comments: references in links and types, and the types that JavaScript comments declare."""

from __future__ import annotations

import re
from itertools import zip_longest
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
_MAX_CAST_CHARACTERS = 300  # maximum length of a type cast comment
_MAX_NAME_PARTS = 30  # maximum number of parts in a dotted name
_MAX_TYPE_CHARACTERS = 1_000  # maximum length of a type; longer types are unknown
_MAX_UNCLOSED_CHARACTERS = 500  # maximum length of a type without a closing brace
_TAG = re.compile(r"@(\w+)\s*(\{)?")
_NAME = re.compile(r"\[?([\w$.]+)")
_TYPEDEF = re.compile(r"@typedef\s*(\{)?")
_BRACE = re.compile(r"[{}]")
LINE_MARK = re.compile(r"\n[ \t]*+\*")
# A declaration in the file never has this name, because it contains no letters.
_TYPE_PREFIX = "type $$$="
_TYPE_TAGS = frozenset(
    (
        "type param arg argument returns return typedef property prop extends augments implements template satisfies "
        "this enum callback yields throws"
    ).split()
)
_BARE_TYPE_TAGS = frozenset(("extends", "augments", "implements"))


def cast_term(walk: Walk, start: int) -> Term:
    """Return the type of a JSDoc cast such as `/** @type {T} */ (value)`, or None if there is no cast."""
    before = walk.source.text[max(0, start - _MAX_CAST_CHARACTERS) : start].rstrip()
    if not before.endswith("*/"):
        return None
    opening = before.rfind("/**")
    return _declared_comment_type(walk, before[opening:]) if opening >= 0 and "@type" in before[opening:] else None


def documented_term(walk: Walk) -> Term:
    """Return the type that the comment above a JavaScript declaration declares."""
    node = walk.comment
    if node is None or not walk.source.is_javascript:
        return None
    start = node.start_byte
    if walk.documented[0] != start:  # cached, because all variables of a declaration share a comment
        text = walk.source.text[start : node.end_byte]
        declares_type = text.startswith("/**") and "{" in text
        walk.documented = (start, _declared_comment_type(walk, text) if declares_type else None)
    return walk.documented[1]


def _declared_comment_type(walk: Walk, text: str) -> Term:
    """Return the type that the tags in a comment declare: a variable type or a function type."""
    parameters: list[nodes.FunctionParameter] = []
    result: Term = None
    for tag, type_text, rest in _type_tags(text):
        if tag == "type":
            return _lower_comment_type(walk, type_text)
        if tag in ("param", "arg", "argument"):
            name = _NAME.match(rest.lstrip())
            if name is not None and "." not in name[1]:
                flags = nodes.IS_OPTIONAL if rest.lstrip().startswith("[") else 0
                parameters.append(nodes.FunctionParameter(name[1], _lower_comment_type(walk, type_text), flags))
        elif tag in ("returns", "return"):
            result = _lower_comment_type(walk, type_text)
    if parameters or result is not None:
        return nodes.FunctionTerm((), tuple(parameters), result)
    return None


def _lower_comment_type(walk: Walk, text: str, offset: int | None = None) -> Term:
    """Return the type expression of a JSDoc type; record its references if its offset in the file is given."""
    if len(text) > _MAX_TYPE_CHARACTERS or text.strip() == "*":
        return nodes.ANY
    if text.startswith("..."):
        return nodes.ArrayType(_lower_comment_type(walk, text.lstrip("."), offset))
    data = f"{_TYPE_PREFIX}{_as_typescript(text)}".encode("latin-1")
    language = detect("type.ts")
    tree = parse(language, data) if language is not None else None
    inner = walk.inside_comment(data, offset)
    if tree is None or tree.root_node.has_error:
        inner.record_plain_names(tree.root_node) if tree is not None else None
        return None
    value = child_after(tree.root_node.children[0])
    return inner.lower_type(value) if value is not None else None


def _as_typescript(text: str) -> str:
    """Convert a JSDoc type to TypeScript syntax with the same number of lines."""
    return LINE_MARK.sub("\n", text).replace("!", " ").replace(".<", "<").rstrip().removesuffix("=")


def _type_tags(text: str) -> list[tuple[str, str, str]]:
    """Return the tags in a comment that declare a type, as (tag, type, following text)."""
    return [
        (tag, text[start:end], text[end + 1 : end + 80]) for tag, start, end in _braced_tags(text) if tag in _TYPE_TAGS
    ]


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
                _lower_comment_type(walk, text[begin:end], start + begin)


def declare_typedefs(walk: Walk, text: str, start: int) -> None:
    """Declare the types in the `@typedef` tags of a comment."""
    for match, section_end, type_end in _typedef_tags(text):
        name = _NAME.match(text, _skip_blanks(text, type_end + 1))
        if name is None or name[1] in walk.findings.declarations:
            continue
        walk.scopes.bind_type(name[1], name[1])
        term = _typedef_properties(walk, text[match.end() : section_end])
        if term is None and match[1]:
            term = _lower_comment_type(walk, text[match.end() : type_end])
        key = walk.findings.add_plain_symbol(name[1], "type", start + name.start(1))
        walk.findings.declare(name[1], nodes.AliasDeclaration(key, (), term))
        walk.findings.exports.setdefault(name[1], name[1])


def _skip_blanks(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def _typedef_tags(text: str) -> Iterator[tuple[re.Match[str], int, int]]:
    """Yield each `@typedef` tag, the end offset of its section, and the end offset of its type."""
    closing = _closing_braces(text)
    tags = list(_TYPEDEF.finditer(text))
    inside_until = 0
    for match, following in zip_longest(tags, tags[1:]):
        if match.start() < inside_until:
            continue
        section_end = following.start() if following is not None else len(text)
        type_end = closing.get(match.end() - 1, len(text)) if match[1] else match.end() - 1
        if match[1] and type_end < len(text):
            inside_until = type_end
        yield match, section_end, type_end


def _typedef_properties(walk: Walk, text: str) -> Term:
    """Return the object type that `@property` tags declare, or unknown if there are none."""
    members: list[nodes.ObjectMember] = []
    for tag, type_text, rest in _type_tags(text):
        if tag in ("property", "prop"):
            name = _NAME.match(rest.lstrip())
            if name is not None:
                is_optional = rest.lstrip().startswith("[")
                members.append(nodes.ObjectMember(name[1], _lower_comment_type(walk, type_text), None, is_optional))
    return nodes.ObjectTerm(tuple(members)) if members else None


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
