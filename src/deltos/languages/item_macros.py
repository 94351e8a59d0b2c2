"""Opens the macros of Rust whose braces hold items, such as `cfg_unix! { pub fn f() {} }`: the grammar would give mere
tokens. Knows how they are written, not what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import tree_sitter

_ITEM_LISTS = frozenset({"source_file", "declaration_list"})
_ITEMS_WITH_ITEMS = frozenset({"mod_item", "impl_item", "trait_item", "foreign_mod_item"})
_COMMENTS = frozenset({"line_comment", "block_comment"})
_FIRST_TOKENS = frozenset(
    "pub fn struct enum union trait impl mod use const static type unsafe extern async crate".split()
)
_FIRST_WORDS = frozenset({b"macro_rules", b"union", b"crate", b"auto"})  # that the grammar takes for names
_BETWEEN_CASES = frozenset({"if", "#", ":", ",", "=>", "identifier"})
_END_OF_PART = b";"  # in place of a brace: the last item may go without it
_EMPTY_CALL = b"!{}"  # stays after the name of a macro, which is used here


@dataclass(frozen=True, slots=True)
class ItemMacro:
    """A macro at the level of items; `parts` are the byte ranges of what its braces hold, one for each of its cases."""

    name_start: int
    name_end: int
    end: int
    parts: tuple[tuple[int, int], ...]


def find_item_macros(root: tree_sitter.Node, data: bytes) -> list[ItemMacro]:
    """The macros at the level of items whose braces may hold items, in order."""
    return [found for node in item_level_macros(root) if (found := _opened(node, data)) is not None]


def item_level_macros(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The invocations that stand where items do: at the top of a file, a module, an implementation or a trait."""
    pending = [root]
    while pending:
        for node in pending.pop().children:
            if node.type == "macro_invocation":
                yield node
            elif node.type == "expression_statement" and node.children[0].type == "macro_invocation":
                yield node.children[0]  # with a semicolon
            elif node.type in _ITEMS_WITH_ITEMS:
                pending += [child for child in node.children if child.type in _ITEM_LISTS]


def with_opened(data: bytes, macros: Sequence[ItemMacro]) -> bytes:
    """The source with the macros' braces, and whatever else stands outside their parts, replaced by blanks: every other
    byte keeps its place. Where there is room the name stays, as a call without content."""
    out = bytearray(data)
    for macro in macros:
        first = macro.parts[0][0]
        call_end = macro.name_end + len(_EMPTY_CALL)
        has_room = call_end <= first and b"\n" not in data[macro.name_end : call_end]
        at = macro.name_end if has_room else macro.name_start
        for start, end in macro.parts:
            _blank(out, at, start)
            out[end : end + 1] = _END_OF_PART
            at = end + 1
        _blank(out, at, macro.end)
        if has_room:
            out[macro.name_end : call_end] = _EMPTY_CALL
    return bytes(out)


def content(data: bytes, macro: ItemMacro) -> bytes:
    """What the braces of a macro hold."""
    return b"".join(data[start:end] + _END_OF_PART for start, end in macro.parts)


def open_item_macros(
    data: bytes, root: tree_sitter.Node, refused: set[int], is_code: Callable[[bytes], bool]
) -> bytes | None:
    """The source with all macros opened that hold items; None where there are none. Those that do not are `refused`."""
    opened = []
    for macro in find_item_macros(root, data):
        if macro.name_start in refused:
            continue
        if is_code(content(data, macro)):
            opened.append(macro)
        else:
            refused.add(macro.name_start)
    return with_opened(data, opened) if opened else None


def _blank(out: bytearray, start: int, end: int) -> None:
    out[start:end] = b"\n".join(b" " * len(line) for line in bytes(out[start:end]).split(b"\n"))


def _opened(node: tree_sitter.Node, data: bytes) -> ItemMacro | None:
    """A macro with braces whose first token begins an item, or in which cases do: `if #[cfg(…)] {…} else {…}`,
    `stable: {…}, unstable: {…}`."""
    name, body = node.child_by_field_name("macro"), node.children[-1]
    if name is None or body.type != "token_tree" or body.children[0].type != "{":
        return None
    tokens = _significant(body.children[1:-1])
    if not tokens:
        return None
    held = [body] if _begins_item(tokens, data) else _cases(tokens, data)
    parts = tuple((tree.start_byte + 1, tree.end_byte - 1) for tree in held)
    return ItemMacro(name.start_byte, name.end_byte, body.end_byte, parts) if parts else None


def _significant(tokens: Sequence[tree_sitter.Node]) -> list[tree_sitter.Node]:
    """Tokens without comments and without the attributes that come first."""
    kept = [token for token in tokens if token.type not in _COMMENTS]
    at = 0
    while at < len(kept) and kept[at].type == "#":
        at += 1
        if at < len(kept) and kept[at].type == "!":
            at += 1
        if at < len(kept) and kept[at].type == "token_tree":
            at += 1
    return kept[at:]


def _begins_item(tokens: Sequence[tree_sitter.Node], data: bytes) -> bool:
    if not tokens:
        return False
    first = tokens[0]
    if first.type in _FIRST_TOKENS or data[first.start_byte : first.end_byte] in _FIRST_WORDS:
        return True
    is_macro = first.type == "identifier" and len(tokens) > 2 and tokens[1].type == "!"
    return is_macro and data[tokens[2].start_byte : tokens[2].start_byte + 1] == b"{"


def _cases(tokens: Sequence[tree_sitter.Node], data: bytes) -> list[tree_sitter.Node]:
    """The braces of several cases, of which those that hold anything hold items; none where anything else is written
    than what tells the cases apart."""
    cases, has_items = [], False
    for token in tokens:
        opening = data[token.start_byte : token.start_byte + 1]
        if token.type == "token_tree" and opening == b"{":
            inside = _significant(token.children[1:-1])
            if inside and not _begins_item(inside, data):
                return []
            has_items = has_items or bool(inside)
            cases.append(token)
        elif token.type not in _BETWEEN_CASES and opening != b"[":
            return []
    return cases if has_items else []
