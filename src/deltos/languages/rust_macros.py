"""Replace Rust macro calls with the items inside their braces, so that the grammar can parse the items.

An item is a definition such as `pub fn f() {}` in `cfg_unix! { pub fn f() {} }`. Only the syntax of macro calls is
examined; macros are not expanded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import tree_sitter

_ITEM_LISTS = frozenset({"source_file", "declaration_list"})
_CONTAINER_ITEMS = frozenset({"mod_item", "impl_item", "trait_item", "foreign_mod_item"})
_COMMENTS = frozenset({"line_comment", "block_comment"})
_FIRST_TOKENS = frozenset(
    "pub fn struct enum union trait impl mod use const static type unsafe extern async crate".split()
)
_FIRST_WORDS = frozenset(
    {b"macro_rules", b"union", b"crate", b"auto"}
)  # Rust keywords that the grammar parses as identifiers
_CASE_SEPARATORS = frozenset({"if", "#", ":", ",", "=>", "identifier"})
_PART_TERMINATOR = b";"  # written over the closing brace, because the last item may lack a semicolon
_EMPTY_CALL = b"!{}"  # written after the macro name, so that the name remains a macro call


@dataclass(frozen=True, slots=True)
class ItemMacro:
    """A macro call where items are allowed.

    `parts` are the byte ranges of the cases inside its braces. A macro without cases has one part.
    """

    name_start: int
    name_end: int
    end: int
    parts: tuple[tuple[int, int], ...]


def find_item_macros(root: tree_sitter.Node, data: bytes) -> list[ItemMacro]:
    """Return the macro calls that may contain items, in source order."""
    return [found for node in item_level_macros(root) if (found := _parse_item_macro(node, data)) is not None]


def item_level_macros(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the macro calls where items are allowed: at the top level of a file, module, implementation or trait."""
    pending = [root]
    while pending:
        for node in pending.pop().children:
            if node.type == "macro_invocation":
                yield node
            elif node.type == "expression_statement" and node.children[0].type == "macro_invocation":
                yield node.children[0]  # the expression statement is a macro call with a semicolon
            elif node.type in _CONTAINER_ITEMS:
                pending += [child for child in node.children if child.type in _ITEM_LISTS]


def unwrap_macros(data: bytes, macros: Sequence[ItemMacro]) -> bytes:
    """Replace macro calls with their contents, so that all other bytes keep their positions.

    If there is enough space, the name of the macro is kept as an empty call.
    """
    out = bytearray(data)
    for macro in macros:
        first = macro.parts[0][0]
        call_end = macro.name_end + len(_EMPTY_CALL)
        has_room = call_end <= first and b"\n" not in data[macro.name_end : call_end]
        at = macro.name_end if has_room else macro.name_start
        for start, end in macro.parts:
            _blank_range(out, at, start)
            out[end : end + 1] = _PART_TERMINATOR
            at = end + 1
        _blank_range(out, at, macro.end)
        if has_room:
            out[macro.name_end : call_end] = _EMPTY_CALL
    return bytes(out)


def macro_content(data: bytes, macro: ItemMacro) -> bytes:
    """Return the source code inside the braces of a macro call."""
    return b"".join(data[start:end] + _PART_TERMINATOR for start, end in macro.parts)


def unwrap_item_macros(
    data: bytes, root: tree_sitter.Node, rejected: set[int], is_code: Callable[[bytes], bool]
) -> bytes | None:
    """Replace all macro calls that contain items, and return the source or None if there are no such calls.

    The offsets of other macro calls are added to `rejected`.
    """
    unwrapped = []
    for macro in find_item_macros(root, data):
        if macro.name_start in rejected:
            continue
        if is_code(macro_content(data, macro)):
            unwrapped.append(macro)
        else:
            rejected.add(macro.name_start)
    return unwrap_macros(data, unwrapped) if unwrapped else None


def _blank_range(out: bytearray, start: int, end: int) -> None:
    out[start:end] = b"\n".join(b" " * len(line) for line in bytes(out[start:end]).split(b"\n"))


def _parse_item_macro(node: tree_sitter.Node, data: bytes) -> ItemMacro | None:
    """Return the macro call if its braces contain items or cases with items, otherwise None.

    Cases look like `if #[cfg(…)] {…} else {…}` or `stable: {…}, unstable: {…}`.
    """
    name, body = node.child_by_field_name("macro"), node.children[-1]
    if name is None or body.type != "token_tree" or body.children[0].type != "{":
        return None
    tokens = _significant_tokens(body.children[1:-1])
    if not tokens:
        return None
    bodies = [body] if _begins_item(tokens, data) else _item_cases(tokens, data)
    parts = tuple((tree.start_byte + 1, tree.end_byte - 1) for tree in bodies)
    return ItemMacro(name.start_byte, name.end_byte, body.end_byte, parts) if parts else None


def _significant_tokens(tokens: Sequence[tree_sitter.Node]) -> list[tree_sitter.Node]:
    """Return the tokens without comments and leading attributes."""
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


def _item_cases(tokens: Sequence[tree_sitter.Node], data: bytes) -> list[tree_sitter.Node]:
    """Return the body of each case, or an empty list if the macro contains anything except cases with items."""
    cases, has_items = [], False
    for token in tokens:
        opening = data[token.start_byte : token.start_byte + 1]
        if token.type == "token_tree" and opening == b"{":
            inside = _significant_tokens(token.children[1:-1])
            if inside and not _begins_item(inside, data):
                return []
            has_items = has_items or bool(inside)
            cases.append(token)
        elif token.type not in _CASE_SEPARATORS and opening != b"[":
            return []
    return cases if has_items else []
