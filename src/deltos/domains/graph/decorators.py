"""Decorators and annotations that may register a definition with a framework, read from the lines above the definition.

Calls made by a framework do not appear in the code, so a list of references to such a definition cannot be complete.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.source_lines import occurrences
from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.graph.source_lines import SourceLines
    from deltos.store.symbols import Symbol

_MAX_LINES_ABOVE, _MAX_CHARACTERS = 60, 400
_DECORATED_KINDS = frozenset({"function", "method", "component", "class", "interface"})
_DECORATOR_MARKS = {
    **dict.fromkeys(("python", "typescript", "tsx", "javascript", "jsx", "java", "kotlin"), "@"),
    "csharp": "[",
    "php": "#[",
}
_COMMENT_PREFIXES = ("#", "//", "/*", "*")
_STRING_OR_ARGUMENTS = re.compile(r"\"[^\"]*\"|'[^']*'|\([^()]*\)")
_AT_DECORATOR = re.compile(r"@([A-Za-z_][\w.]*)")
_BRACKETED_ATTRIBUTE = re.compile(r"(?:\[|,)\s*([A-Za-z_][\w.\\]*)")
# Unqualified names of decorators that are known not to register a definition with a framework.
_TRANSPARENT_PYTHON_DECORATORS = frozenset(
    "property staticmethod classmethod abstractmethod abstractproperty override overload wraps cache lru_cache"
    " cached_property contextmanager asynccontextmanager dataclass dataclass_transform final total_ordering"
    " singledispatch singledispatchmethod deprecated runtime_checkable no_type_check unique setter getter deleter"
    " fixture yield_fixture coroutine define frozen mutable attrs".split()
)
_TRANSPARENT_ANNOTATIONS = frozenset(
    "Override Deprecated SuppressWarnings SafeVarargs FunctionalInterface Nullable NonNull NotNull Nonnull interface"
    " VisibleForTesting Suppress JvmStatic JvmOverloads JvmName JvmField Throws Data Getter Setter Builder Value"
    " ToString EqualsAndHashCode NoArgsConstructor AllArgsConstructor RequiredArgsConstructor Obsolete MethodImpl Pure"
    " Conditional DebuggerStepThrough DebuggerDisplay DebuggerNonUserCode Serializable Flags EditorBrowsable"
    " CLSCompliant ExcludeFromCodeCoverage SuppressMessage GeneratedCode CompilerGenerated StructLayout AttributeUsage"
    " ReturnTypeWillChange AllowDynamicProperties Attribute".split()
)
_PYTEST_MARK_PREFIX = "pytest.mark."


class Decorator(NamedTuple):
    """The name of a decorator without arguments, and the line number of the decorator."""

    text: str
    line: int


def opaque_decorators(symbol: Symbol, source: SourceLines) -> list[Decorator]:
    """Return the decorators that may register a definition with a framework, in source order."""
    language = detect(symbol.path)
    mark = _DECORATOR_MARKS.get(language.name, "") if language is not None else ""
    if not mark or symbol.kind not in _DECORATED_KINDS:
        return []
    first = max(1, symbol.line - _MAX_LINES_ABOVE)
    *above, own = source.block(symbol.path, first, symbol.line) or [""]
    found = [Decorator(text, symbol.line) for text in _decorators_on_line(_text_before_name(own, symbol.name), mark)]
    for distance, line in enumerate(_decorator_lines(above, own, mark), 1):
        found += [Decorator(text, symbol.line - distance) for text in _decorators_on_line(line, mark)]
    return [each for each in sorted(found, key=lambda each: each.line) if not _is_transparent(each.text)]


def _text_before_name(line: str, name: str) -> str:
    """Return the part of a line before the last occurrence of a name."""
    offsets = occurrences(line, name)
    return line[: offsets[-1]] if offsets else ""


def _decorator_lines(above: Sequence[str], own: str, mark: str) -> Iterator[str]:
    """Yield the lines of decorators and comments above a definition, nearest first.

    A line with a different indentation, such as the arguments of a decorator, is yielded as an empty string.
    """
    indentation = _indentation(own)
    closing = (")", "]", "}") if mark == "@" else (")", "]")
    for line in reversed(above):
        text = line.strip()
        is_part = text.startswith((mark, *_COMMENT_PREFIXES)) or (text.startswith(closing) and text != "}")
        is_other = not is_part or (text.startswith(mark) and _contains_definition(text, mark))
        if text and (_indentation(line) < indentation or (_indentation(line) == indentation and is_other)):
            return
        yield line if _indentation(line) == indentation else ""


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _decorators_on_line(line: str, mark: str) -> list[str]:
    """Return the decorators at the beginning of a line."""
    text = line.strip()
    if not text.startswith(mark):
        return []
    bare = _strip_arguments(text)
    if mark == "@":
        return [f"@{name}" for name in _AT_DECORATOR.findall(bare)]
    return [f"{mark}{name}]" for name in _BRACKETED_ATTRIBUTE.findall(bare.partition("]")[0])]


def _contains_definition(text: str, mark: str) -> bool:
    """Whether a line that begins with a decorator also contains the decorated definition."""
    bare = _strip_arguments(text)
    rest = _AT_DECORATOR.sub("", bare) if mark == "@" else bare.rpartition("]")[2]
    return rest.lstrip()[:1].isalpha()


def _strip_arguments(text: str) -> str:
    """Remove strings and parenthesized arguments from a decorator."""
    text = text[:_MAX_CHARACTERS]  # the limit bounds the loop, which removes one level of parentheses per iteration
    while (shorter := _STRING_OR_ARGUMENTS.sub("", text)) != text:
        text = shorter
    return text


def _is_transparent(decorator: str) -> bool:
    """Whether a decorator is known not to register the definition with a framework."""
    name = decorator.strip("@#[]")
    last = re.split(r"[.\\]", name)[-1]
    return (
        last in _TRANSPARENT_PYTHON_DECORATORS
        or last in _TRANSPARENT_ANNOTATIONS
        or name.startswith(_PYTEST_MARK_PREFIX)
    )
