"""JSDoc comments: the names they link to, and in JavaScript the types they declare."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.graph.typescript.syntax.jsdoc_types import parse_type
from deltos.domains.graph.typescript.terms import (
    ALIAS_DECLARATION,
    ANY_NAME,
    EITHER,
    FUNCTION,
    IMPORT,
    IS_OPTIONAL,
    MEMBER,
    NAMESPACE,
    OBJECT,
    REF,
    Term,
)

if TYPE_CHECKING:
    from deltos.domains.graph.typescript.syntax.walk import Walk

_COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)
_LINK = re.compile(r"\{@link(?:code|plain)?\s+([\w$]+(?:[.#][\w$]+)*)|@see\s+([A-Za-z_$][\w$]*(?:[.#][\w$]+)*)")
_MAX_CAST = 300  # characters of a comment that casts
_TAG = re.compile(r"@(\w+)\s*(\{)?")
_NAME = re.compile(r"\s*\[?([\w$.]+)")
_IDENTIFIER = re.compile(
    r"import\s*\(\s*['\"]([^'\"]+)['\"]\s*\)((?:\.[\w$]+)*)"
    r"|(?<![\w$.'\"])([A-Za-z_$][\w$]*)((?:\.[\w$]+)*)(?!['\"\w$]|\s*\??:)"
)
_IMPORT = re.compile(r"@import\s+([^'\"]+?)\s+from\s+['\"]([^'\"]+)['\"]")
_IMPORTED = re.compile(r"(\*|[A-Za-z_$][\w$]*)(?:\s+as\s+([\w$]+))?")
_TYPE_TAGS = frozenset(
    (
        "type",
        "param",
        "arg",
        "argument",
        "returns",
        "return",
        "typedef",
        "property",
        "prop",
        "extends",
        "augments",
        "implements",
        "template",
        "satisfies",
        "this",
        "enum",
        "callback",
        "yields",
        "throws",
    )
)
_BARE_TYPE_TAGS = frozenset(("extends", "augments", "implements"))


def cast_term(walk: Walk, start: int) -> Term:
    """The type that a comment right before a parenthesis casts to."""
    before = walk.text[max(0, start - _MAX_CAST) : start].rstrip()
    if not before.endswith("*/"):
        return None
    opening = before.rfind("/**")
    return _stated_type(walk, before[opening:]) if opening >= 0 and "@type" in before[opening:] else None


def documented_term(walk: Walk) -> Term:
    """The type that the comment above a JavaScript declaration states for it."""
    node = walk.comment
    if node is None or not walk.is_javascript:
        return None
    text = walk.slice(node.start_byte, node.end_byte)
    if not text.startswith("/**") or "{" not in text:
        return None
    return _stated_type(walk, text)


def _stated_type(walk: Walk, text: str) -> Term:
    parameters: list[Term] = []
    result: Term = None
    for tag, type_text, rest in _tags(text):
        if tag == "type":
            return parse_type(walk, type_text)
        if tag in ("param", "arg", "argument"):
            name = _NAME.match(rest)
            if name is not None and "." not in name[1]:
                parameters.append(
                    (
                        name[1],
                        parse_type(walk, type_text),
                        IS_OPTIONAL if rest.lstrip().startswith("[") else 0,
                    )
                )
        elif tag in ("returns", "return"):
            result = parse_type(walk, type_text)
    if parameters or result is not None:
        return (FUNCTION, (), tuple(parameters), result, (), 0)
    return None


def _tags(text: str) -> list[tuple[str, str, str]]:
    """The tags of a comment that state a type: (tag, type, what follows it)."""
    found = []
    for match in _TAG.finditer(text):
        if match[2] and match[1] in _TYPE_TAGS:
            end = _closing_brace(text, match.end())
            found.append((match[1], text[match.end() : end], text[end + 1 : end + 80]))
    return found


def _closing_brace(text: str, start: int) -> int:
    depth = 1
    for place in range(start, len(text)):
        if text[place] == "{":
            depth += 1
        elif text[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return len(text)


def note_comments(walk: Walk) -> None:
    """Note what all JSDoc comments of the file refer to; declare the types that they define."""
    for comment in _COMMENT.finditer(walk.text):
        text = comment.group()
        if "@" not in text:
            continue
        for match in _LINK.finditer(text):
            group = 1 if match[1] else 2
            _note_dotted(walk, comment.start() + match.start(group), *re.split("[.#]", match[group]))
        if walk.is_javascript:
            _note_types(walk, text, comment.start())


def declare_typedefs(walk: Walk) -> None:
    """Declare the types that `@import` and `@typedef` comments of a JavaScript file bring."""
    if not walk.is_javascript or ("@typedef" not in walk.text and "@import" not in walk.text):
        return
    for comment in _COMMENT.finditer(walk.text):
        text = comment.group()
        for match in _IMPORT.finditer(text):
            _declare_imports(walk, match, comment.start())
        if "@typedef" in text:
            _declare_typedefs(walk, text, comment.start())


def _declare_imports(walk: Walk, statement: re.Match[str], start: int) -> None:
    """`@import { A, B as C } from './module'`."""
    clause, specifier = statement[1], statement[2]
    for match in _IMPORTED.finditer(clause):
        name, local = match[1], match[2] or match[1]
        named = "{" in clause[: match.start()]
        imported = NAMESPACE if name == "*" else name if named else "default"
        walk.bind_type(local, local)
        walk.imports[local] = (specifier, imported)
        line = walk.line_at(start + statement.start(1) + match.start())
        walk.links.append((line, "", specifier, imported, True))


def _declare_typedefs(walk: Walk, text: str, start: int) -> None:
    for match in re.finditer(r"@typedef\s*(\{)?", text):
        end = _closing_brace(text, match.end()) if match[1] else match.end() - 1
        name = _NAME.match(text, end + 1)
        if name is None or name[1] in walk.declarations:
            continue
        walk.bind_type(name[1], name[1])
        term = _listed_properties(walk, text)
        if term is None and match[1]:
            term = parse_type(walk, text[match.end() : end])
        key = walk.add_plain_symbol(name[1], "type", start + name.start(1))
        walk.declare(name[1], (ALIAS_DECLARATION, key, (), term))
        walk.exports.setdefault(name[1], name[1])


def _listed_properties(walk: Walk, text: str) -> Term:
    members = []
    for tag, type_text, rest in _tags(text):
        if tag in ("property", "prop"):
            name = _NAME.match(rest)
            if name is not None:
                members.append((name[1], parse_type(walk, type_text), None, rest.lstrip().startswith("[")))
    return (OBJECT, tuple(members), (), (), None) if members else None


def _note_types(walk: Walk, text: str, start: int) -> None:
    """Note the names in the braces of tags."""
    for match in _TAG.finditer(text):
        if match[1] not in (_TYPE_TAGS if match[2] else _BARE_TYPE_TAGS):
            continue
        end = _closing_brace(text, match.end()) if match[2] else (text + "\n").index("\n", match.end())
        for name in _IDENTIFIER.finditer(text, match.end(), end):
            if name[1]:
                _note_import(walk, start + name.start(), name[1], name[2].split(".")[1:])
            else:
                _note_dotted(walk, start + name.start(3), name[3], *name[4].split(".")[1:], is_type=True)


def _note_import(walk: Walk, offset: int, specifier: str, names: list[str]) -> None:
    """`import('./module').Name` in a comment."""
    if names:
        _note_members(walk, offset, (IMPORT, specifier), names)
    else:
        walk.links.append((walk.line_at(offset), "", specifier, ANY_NAME, True))


def _note_dotted(walk: Walk, offset: int, first: str, *rest: str, is_type: bool = False) -> None:
    binding = walk.types.get(first)
    if binding is None:
        binding = walk.values.get(first)
    if type(binding) is not str:
        return
    if not is_type or rest:
        walk.names.append((walk.line_at(offset), "", "type", binding))
    walk.type_names.append((walk.line_at(offset), "", "type", binding))
    _note_members(walk, offset, (EITHER, binding, (REF, binding, ())), list(rest))


def _note_members(walk: Walk, offset: int, owner: Term, names: list[str]) -> None:
    for name in names:
        walk.members.append((walk.line_at(offset), "", "type", owner, name))
        owner = (MEMBER, owner, name)
