"""Replace C and C++ macros that the grammars cannot parse.

Macros are recognised by syntax, not expanded.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.languages.c_conditionals import unbalanced_conditional_ranges

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_WORD = rb"[A-Z][A-Z0-9_]{3,}+"
_ARGUMENTS = rb'\((?:"[^"\n]*+"|[^()"\n])*+\)'  # arguments of a macro, such as `("use f(int)")` after DEPRECATED
_CALL = _WORD + rb"(?:" + _ARGUMENTS + rb")?+"
_DECLARATION_KEYWORDS = (
    rb"static|inline|constexpr|virtual|explicit|template|class|struct|void|bool|int|const|auto|friend|using|typename"
    rb"|extern|unsigned|enum|namespace"
)
# Start of a line that begins with a macro, or with a keyword such as `class`.
_LINE = re.compile(rb"^(?:([ \t]*+)(" + _CALL + rb")[ \t\r]*+|[ \t]*+(?:class|struct|union|enum)[ \t]++)", re.MULTILINE)
_BARE_MACRO = re.compile(_WORD)
_DECLARATION = re.compile(rb"\n[ \t]*+[A-Za-z_~]|(?:" + _DECLARATION_KEYWORDS + rb")\b")
# Return type and name of a function, as in `lua_Integer lua_len (`.
_FUNCTION = re.compile(rb"[A-Za-z_]\w*+[ \t*&]++[A-Za-z_]\w*+[ \t]*+\(")
_CALL_BEFORE_NAME = re.compile(rb"(?<![A-Z0-9_])" + _CALL + rb"[ \t]++")
_CLASS_NAME = re.compile(rb"\w++")
_CLASS_BODY = re.compile(rb"\s*+(?:final\s*+)?(?:\{|:[^:])")
_BASES_AFTER_ARGUMENTS = re.compile(rb">\s*+(?:final\s*+)?:[^:]")
_BODY_AFTER_ARGUMENTS = re.compile(rb">\s*(?:final\s*)?\{")
# The last backslash of a macro definition that ends with an empty line. The grammar would treat the first word of the
# next declaration as part of the definition.
_LAST_CONTINUATION = re.compile(rb"\\(?=\r?+\n\r?+\n)")
_STRUCT_WORDS = (b"struct ", b"union ", b"class ")
_STATEMENT_END = re.compile(rb"[;{}]")
# A macro after a declarator, as in: int count GUARDED_BY(mutex); void run() REQUIRES(mutex) {
_MACRO_AFTER_DECLARATOR = re.compile(rb"(?<=[\w)])\s++(" + _WORD + _ARGUMENTS + rb")")
# A macro before a function name, as in: static FORCE_INLINE int mix(int x), char *ZEXPORT message(int code)
_MACRO_BEFORE_NAME = re.compile(rb"(?<=[ \t*&])(" + _WORD + rb")(?=\s)")
_NAME_AFTER = re.compile(rb"\s++([A-Za-z_]\w*+)[ \t*&]*+([A-Za-z_]\w*+)?+[ \t]*+\(")
_TAG_KEYWORDS = frozenset({b"struct", b"union", b"enum", b"class"})
_SPECIFIERS = frozenset(
    b"static inline extern const volatile register virtual explicit constexpr friend thread_local".split()
)
_FUNCTION_CONTINUATIONS = (b"{", b"override", b"final", b"const", b"noexcept")
_MACRO_CALL = re.compile(_CALL)
_VARIABLE = re.compile(rb"[\w:<>,*& \t]++")
_STATEMENT_START = re.compile(
    rb"(?:#|(?:[{}]\s*+)*+(?:else\b\s*+)?(?:if|for|while|switch|catch|do|return|case|throw|goto|new|delete)\b)"
)
_TYPE_WORDS = frozenset(
    b"int char short long float double bool void unsigned signed auto static inline const extern virtual explicit else "
    b"return typedef struct union enum class constexpr volatile register do".split()
)
_MAX_HEAD_BYTES = 300  # maximum number of bytes examined before a macro on the same line
_MAX_BLANK_BYTES = 200  # maximum number of white-space bytes between a class name and its body, and after a macro
_MAX_ARGUMENT_BYTES = 2_000  # maximum number of bytes between `<` and `>` after a class name


def mask_macros(data: bytes) -> bytes:
    """Replace macros that the grammars cannot parse with spaces, so that all other bytes keep their positions."""
    ends = [found.span() for found in _LAST_CONTINUATION.finditer(data)]
    data = _blank_ranges(data, sorted(unbalanced_conditional_ranges(data)))
    data = _blank_ranges(data, sorted({*_macros_before_declarations(data), *_macros_after_declarators(data), *ends}))
    return _blank_ranges(data, _macros_before_function_names(data))


def _blank_ranges(data: bytes, ranges: Iterable[tuple[int, int]]) -> bytes:
    """Replace the byte ranges with spaces, except for line breaks."""
    out: list[bytes] = []
    at = 0
    for start, end in ranges:
        if start < at:
            continue
        blank = b"\n".join(b" " * len(line) for line in data[start:end].split(b"\n"))
        out += (data[at:start], blank)
        at = end
    return b"".join([*out, data[at:]]) if out else data


def _macros_before_declarations(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of macros before declarations, in order."""
    last = -1  # end of the previous macro
    for line in _LINE.finditer(data):
        if line[2] is None:
            # This is a macro before a class name: class EXPORT Queue {
            end = _macros_before_name(data, line.end())
            if end > line.end():
                yield line.end(), end
        # Macros are recognised in three positions: alone on a line (`NAMESPACE_BEGIN`), alone on a line among the
        # fields of a struct (`HANDLE_FIELDS`), or before a declaration on the same or the next line (`ALWAYS_INLINE
        # void f()`).
        elif _is_alone_on_line(data, line) or _is_field(data, line, last) or _is_declaration(data, line.end()):
            yield line.span(2)
            last = line.end(2)


def _macros_after_declarators(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of macros after a declarator.

    The grammar would parse such a macro as the declared name.
    """
    for found in _MACRO_AFTER_DECLARATOR.finditer(data):
        if data[found.start(1) - 1 : found.start(1)] == b"\n":
            continue  # a macro at the start of a line, such as TEST_CASE(one) {, is a definition
        head = _line_before(data, found.start())
        if _is_comment(head) or _STATEMENT_START.match(head) or _MACRO_CALL.fullmatch(head):
            continue
        after = data[found.end() : found.end() + _MAX_BLANK_BYTES].lstrip()
        if (
            _continues_function(after)
            if head.endswith(b")")
            else _continues_variable(after) and _declares_variable(head)
        ):
            yield found.span(1)


def _macros_before_function_names(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of macros between the return type and the name of a function."""
    last = (0, 0)
    for found in _MACRO_BEFORE_NAME.finditer(data):
        name = _NAME_AFTER.match(data[found.end() : found.end() + _MAX_HEAD_BYTES])
        head = _line_before(data, found.start()) if name else b""
        if (
            name is None
            or not _VARIABLE.fullmatch(head)
            or _STATEMENT_START.match(head)
            or last[1] > found.start() - len(head)
        ):
            continue
        words = head.replace(b"*", b" ").replace(b"&", b" ").split()
        has_type = not _SPECIFIERS.issuperset(words) and words[-1] not in _TAG_KEYWORDS
        if has_type or (name[2] and not _BARE_MACRO.fullmatch(name[1])):
            last = found.span(1)
            yield last


def _line_before(data: bytes, end: int) -> bytes:
    """Return the text between the start of a line and an offset in the line, at most `_MAX_HEAD_BYTES` bytes."""
    first = max(0, end - _MAX_HEAD_BYTES)
    return data[max(first, data.rfind(b"\n", first, end) + 1) : end].strip()


def _is_comment(head: bytes) -> bool:
    """Whether the text before a macro on its line contains the start of a comment, or belongs to a block comment."""
    return b"//" in head or head.startswith(b"*") or head.rfind(b"/*") > head.rfind(b"*/")


def _continues_function(after: bytes) -> bool:
    is_pure = after.startswith(b"=") and after[1:].lstrip().startswith(b"0")
    return is_pure or after.startswith(_FUNCTION_CONTINUATIONS)


def _continues_variable(after: bytes) -> bool:
    return after.startswith((b";", b"=")) and not after.startswith(b"==")


def _declares_variable(head: bytes) -> bool:
    """Whether the text before a macro on its line consists of a type and a name."""
    words = head.replace(b"*", b" ").replace(b"&", b" ").replace(b">", b"> ").split()
    if len(words) < 2 or _VARIABLE.fullmatch(head) is None:
        return False
    return words[-1] not in _TYPE_WORDS and not words[-1].endswith(b"_t") and words[-1][:1].islower()


def _is_declaration(data: bytes, start: int) -> bool:
    return bool(_DECLARATION.match(data, start) or _FUNCTION.match(data[start : start + _MAX_HEAD_BYTES]))


def _is_alone_on_line(data: bytes, line: re.Match[bytes]) -> bool:
    return (
        not line[1] and _BARE_MACRO.fullmatch(line[2]) is not None and data[line.end() : line.end() + 1] in (b"", b"\n")
    )


def _is_field(data: bytes, line: re.Match[bytes], last: int) -> bool:
    """Whether a macro is the only text on its line, among the fields of a struct."""
    if not line[1] or data[line.end() : line.end() + 1] not in (b"", b"\n"):
        return False
    first = max(0, line.start() - _MAX_HEAD_BYTES)
    before = data[first : line.start()].rstrip()
    if before.endswith(b"*/"):
        before = before[: max(0, before.rfind(b"/*"))].rstrip()
    if before.endswith(b";") or first + len(before) == last:
        return True
    head = before[max(map(before.rfind, _STRUCT_WORDS)) :]
    return head.endswith(b"{") and head.startswith(_STRUCT_WORDS) and not any(sign in head[:-1] for sign in b"(){}=;")


def _macros_before_name(data: bytes, start: int) -> int:
    """Return the offset after the macros before a class name, or `start` if there are none."""
    ends = []
    at = start
    while call := _CALL_BEFORE_NAME.match(data, at):
        at = call.end()
        ends.append(at)
    # The last word in capitals may be the class name itself instead of a macro.
    return next((end for end in reversed(ends) if _is_class_head(data, end)), start)


def _is_class_head(data: bytes, start: int) -> bool:
    """Whether a class name at this offset is followed by type arguments, base classes or a body."""
    name = _CLASS_NAME.match(data, start)
    if name is None:
        return False
    if data[name.end() : name.end() + 1] == b";" and name[0][:1].isupper():
        # `class EXPORT Queue;` declares a class, but `struct LIST Head;` declares a variable.
        return _line_before(data, start).startswith(b"class")
    if _CLASS_BODY.match(data[name.end() : name.end() + _MAX_BLANK_BYTES]):
        return True
    if data[name.end() : name.end() + 1] != b"<":
        return False
    arguments = data[name.end() : name.end() + _MAX_ARGUMENT_BYTES]
    stop = _STATEMENT_END.search(arguments)
    head = arguments[: stop.end()] if stop else arguments
    if _BASES_AFTER_ARGUMENTS.search(head):
        return True
    last = head.rfind(b">")
    return last >= 0 and _BODY_AFTER_ARGUMENTS.fullmatch(head[last:]) is not None
