"""Parse the declared types and class names in PHPDoc comments.

Only the first `MAX_COMMENT_CHARACTERS` characters of a comment are read, in a single pass.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.graph.declared.facts import UNKNOWN
from deltos.domains.graph.declared.types import parse_type

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_COMMENT_CHARACTERS = 20_000
"""Maximum number of characters that are read from a comment."""
_MAX_TYPE_CHARACTERS = 400
_MAX_DEPTH = 10
_MAX_ARGUMENTS = 4
_TOKEN = re.compile(r"[A-Za-z_\\\x80-\U0010ffff][\w\\]*(?:-\w+)*|\$\w+|\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\"|::|\.\.\.|\S")
_TAG = re.compile(r"@(?:phpstan-|psalm-|phan-)?([A-Za-z]+(?:-[A-Za-z]+)*)")
_END_OF_TEXT = ""
SCALARS = frozenset(
    "null string int integer float double bool boolean true false void never array callable resource scalar "
    "numeric".split()
)
"""Types without members. A union of such types with one class is treated as the class."""
_LIST_TYPES = frozenset(
    "array list iterable non-empty-array non-empty-list associative-array Traversable Iterator IteratorAggregate "
    "Generator ArrayIterator ArrayObject ArrayAccess SplObjectStorage SplFixedArray".split()
)
_CALLABLE_TYPES = frozenset({"callable", "closure", "pure-callable", "pure-closure"})
_BUILT_IN_TYPES = (
    SCALARS
    | _CALLABLE_TYPES
    | frozenset(
        "mixed object iterable list static self parent this class-string interface-string trait-string enum-string "
        "literal-string numeric-string non-empty-string positive-int negative-int array-key key-of value-of int-mask "
        "int-mask-of no-return max min empty is of as covariant".split()
    )
)
_UNSPECIFIC_TYPES = frozenset({"", UNKNOWN, "array", "iterable", "mixed", "object", "callable"})
_TAGS_NAMING_TYPES = frozenset({"throws", "extends", "implements", "use", "mixin", "uses"})
_PROPERTY_TAGS = frozenset({"property", "property-read", "property-write"})
_TEMPLATE_TAGS = frozenset({"template", "template-covariant", "template-contravariant"})
_ALIAS_TAGS = frozenset({"type", "import-type"})


class PhpDocName(NamedTuple):
    """A class name in a comment, and the class member after the name, if any. `line` is relative to the comment."""

    line: int
    name: str
    member: str = ""


@dataclass(slots=True)
class DocComment:
    """Contents of one comment. Types have the form that `NodeText.type_text` returns."""

    names: list[PhpDocName] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """Types by name; the empty name refers to the declaration below the comment."""
    properties: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    returns: str = UNKNOWN


NO_COMMENT = DocComment()


class Documentation:
    """Associates the comments of a file with the nodes directly below them."""

    def __init__(self) -> None:
        self._pending = NO_COMMENT
        self._attached = NO_COMMENT
        self._attached_start = -1
        self._parameters: Mapping[str, str] = {}
        self._templates: dict[str, str] = {}

    def read(self, text: str) -> DocComment:
        """Read a comment, which the next call of `attach_to_node` attaches to a node."""
        self._pending = read_comment(text, self._templates)
        return self._pending

    def attach_to_node(self, start: int) -> None:
        """Attach the pending comment to the node that starts at this offset."""
        if self._pending is not NO_COMMENT:
            self._attached, self._attached_start, self._pending = self._pending, start, NO_COMMENT

    def comment_above(self, start: int) -> DocComment:
        """Return the comment attached to the node that starts at this offset."""
        return self._attached if start == self._attached_start else NO_COMMENT

    def enter_class(self, start: int) -> DocComment:
        """Return the comment of a class and make its template types available to its members."""
        found = self.comment_above(start)
        self._templates = found.templates
        return found

    def enter_function(self, start: int) -> DocComment:
        """Return the comment of a function and make its parameter types available to `variable_type`."""
        found = self.comment_above(start)
        self._parameters = found.parameters
        return found

    def variable_type(self, start: int, name: str, *, is_parameter: bool) -> str:
        """Return the documented type of a variable, property or parameter, or `UNKNOWN` if there is none."""
        comment = self.comment_above(start)
        found = comment.variables.get(name) or comment.variables.get("", UNKNOWN)
        return self._parameters.get(name, UNKNOWN) if is_parameter and found == UNKNOWN else found


def more_specific_type(native: str, documented: str) -> str:
    """Return the documented type if it is more specific than the declared (native) type, otherwise the native type."""
    if documented == UNKNOWN:
        return native
    parsed = parse_type(documented)
    is_same = parsed.arguments and parsed.name.rpartition(".")[2] == native.rpartition(".")[2]
    return documented if native in _UNSPECIFIC_TYPES or is_same else native


def read_comment(text: str, templates: Mapping[str, str]) -> DocComment:
    """Return the contents of a comment `/** … */`; `templates` contains the type parameters of the enclosing class."""
    lines = [_line_text(line) for line in text[3:MAX_COMMENT_CHARACTERS].removesuffix("*/").split("\n")]
    cleaned = "\n".join(lines)
    found = DocComment()
    if "@" not in cleaned:
        return found
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    tags = [at for at, line in zip(starts, lines, strict=False) if line.startswith("@")]
    _read_templates(cleaned, tags, found)
    known = {**templates, **found.templates}
    for at, end in pairwise([*tags, len(cleaned)]):
        tag = _TAG.match(cleaned, at)
        if tag is not None:
            _TagParser(cleaned, tag.end(), end, known, found, starts).read(tag[1].lower())
    return found


def _line_text(line: str) -> str:
    """Return a line of a comment without its leading asterisk."""
    bare = line.strip()
    return bare[1:].lstrip() if bare.startswith("*") else bare


def _read_templates(text: str, tags: list[int], found: DocComment) -> None:
    """Record the bounds of type parameters, `@template T of Foo`; aliased types are unknown."""
    for at in tags:
        tag = _TAG.match(text, at)
        words = text[at : at + _MAX_TYPE_CHARACTERS].partition("\n")[0].split()
        if tag is not None and len(words) > 1 and tag[1].lower() in _TEMPLATE_TAGS | _ALIAS_TAGS:
            is_bound = tag[1].lower() in _TEMPLATE_TAGS and len(words) > 3 and words[2] in ("of", "as")
            found.templates[words[1]] = _dotted(words[3]) if is_bound else UNKNOWN


class _NotATypeError(Exception):
    """Raised if the text after a tag is not a type."""


class _TagParser:
    """Parser of the text between one tag and the next."""

    def __init__(
        self, text: str, start: int, end: int, templates: Mapping[str, str], found: DocComment, starts: list[int]
    ) -> None:
        self._text = text
        self._at = start
        self._end = end
        self._templates = templates
        self._found = found
        self._starts = starts

    def read(self, tag: str) -> None:
        """Record the type and the name that a tag declares."""
        read = {
            "param": self._read_param_tag,
            "var": self._read_var_tag,
            "return": self._read_return_tag,
            "method": self._read_method_tag,
        }.get(tag)
        try:
            if read is not None:
                read()
            elif tag in _PROPERTY_TAGS:
                self._read_property_tag()
            elif tag in _TEMPLATE_TAGS:
                self._read_template_tag()
            elif tag in _ALIAS_TAGS:
                self._read_alias_tag()
            elif tag == "see":
                self._read_see_tag()
            elif tag in _TAGS_NAMING_TYPES:
                self._parse_union(0)
        except _NotATypeError:
            return

    def _read_param_tag(self) -> None:
        type_text = self._parse_union(0)
        name = self._variable_name()
        if name:
            self._found.parameters.setdefault(name, type_text)

    def _read_var_tag(self) -> None:
        if self._peek().startswith("$"):
            name, type_text = self._take(), self._parse_union(0)
        else:
            type_text = self._parse_union(0)
            name = self._variable_name()
        self._found.variables.setdefault(name, type_text)

    def _read_return_tag(self) -> None:
        self._found.returns = self._parse_union(0)

    def _read_property_tag(self) -> None:
        type_text = self._parse_union(0)
        name = self._variable_name()
        if name:
            self._found.properties.setdefault(name[1:], type_text)

    def _read_template_tag(self) -> None:
        self._take()
        if self._peek() in ("of", "as"):
            self._take()
            self._parse_union(0)

    def _read_alias_tag(self) -> None:
        """Read the tags of type aliases: `@phpstan-type Row array<Foo>`, `@phpstan-import-type Row from Foo`."""
        self._take()
        if self._peek() in ("=", "from"):
            self._take()
        self._parse_union(0)

    def _read_method_tag(self) -> None:
        """Read `@method static Foo find(int $id)`; the type is optional."""
        if self._peek() == "static" and not self._is_called(len("static")):
            self._take()
        named = len(self._found.names)
        type_text = self._parse_union(0)
        if self._peek() == "(":
            del self._found.names[named:]  # the parsed type name is in fact the method name
            type_text = UNKNOWN
        else:
            self._found.methods.setdefault(self._take(), type_text)
        self._parse_parameters()

    def _is_called(self, length: int) -> bool:
        """Whether a parenthesis follows the next word (of `length` characters), which is then a method name."""
        self._skip_blanks()
        return self._text.startswith("(", self._at + length)

    def _read_see_tag(self) -> None:
        name = self._peek()
        if not _is_name(name) or name.lower() in _BUILT_IN_TYPES:
            return
        self._note_name(name)
        self._take()
        if self._take_if("::"):
            member = self._peek().removeprefix("$")
            if member.isidentifier():
                noted = self._found.names[-1]
                self._found.names.append(noted._replace(member=member))

    # --- types

    def _parse_union(self, depth: int) -> str:
        """Parse alternatives (`A|B`, `A&B`) and return the only class among them, or `UNKNOWN` if there are several."""
        if depth > _MAX_DEPTH:
            raise _NotATypeError
        members = [self._parse_array(depth)]
        is_joined = False
        while self._peek() in ("|", "&") and not self._is_by_reference():
            is_joined = self._take() == "&"
            members.append(self._parse_array(depth))
        known = list(dict.fromkeys(member for member in members if member.lower() not in SCALARS))
        if not known:
            return members[0]
        return known[0] if (len(known) == 1 or is_joined) and len(known[0]) <= _MAX_TYPE_CHARACTERS else UNKNOWN

    def _is_by_reference(self) -> bool:
        """Whether an `&` belongs to the variable that follows it."""
        return self._text.startswith(("&$", "&..."), self._at)

    def _parse_array(self, depth: int) -> str:
        """Read a type and the `[]` suffixes after it."""
        self._take_if("?")
        type_text = self._parse_single(depth)
        dimensions = 0
        while self._follows("["):
            self._take()
            if not self._take_if("]"):
                self._parse_union(depth + 1)
                self._expect("]")
                type_text = UNKNOWN
            dimensions += 1
        return "[]<" * dimensions + type_text + ">" * dimensions if dimensions <= _MAX_DEPTH else UNKNOWN

    def _parse_single(self, depth: int) -> str:
        """Parse a type without alternatives and array suffixes."""
        if self._take_if("("):
            inner = self._parse_union(depth + 1)
            self._expect(")")
            return inner
        word = self._peek()
        if word == "$this":
            self._take()
            return "static"
        if word[:1] in ("'", '"', "-") or word[:1].isdigit():
            self._take()
            if word[0] == "-":
                self._take()
            return "string"  # a literal has no members
        if not _is_name(word):
            raise _NotATypeError
        if word.lower() not in _BUILT_IN_TYPES and word not in self._templates:
            self._note_name(word)
        self._take()
        return self._with_arguments(word, depth)

    def _with_arguments(self, name: str, depth: int) -> str:
        """Parse the arguments, array shape or parameters after a type name."""
        bare = name.rpartition("\\")[2]
        if self._follows("::"):  # a class constant, whose value is the type
            self._take()
            while (_is_name(self._peek()) or self._peek() == "*") and not self._has_blank():
                self._take()
            return "string"
        if self._follows("<"):
            return _generic_text(name, self._parse_list("<", ">", depth), self._templates)
        if self._follows("{"):
            self._parse_array_shape(depth)
            return UNKNOWN
        if bare.lower() in _CALLABLE_TYPES and self._follows("("):
            self._parse_parameters(depth)
            self._skip_blanks()
            return f"fn<{self._parse_union(depth + 1)}>" if self._take_if(":") else UNKNOWN
        return self._templates.get(name) or _dotted(name)

    def _parse_list(self, opening: str, closing: str, depth: int) -> list[str]:
        """Parse a comma-separated list of types in brackets."""
        self._expect(opening)
        type_text = [self._parse_union(depth + 1)]
        while self._take_if(","):
            if self._peek() == closing:
                break
            type_text.append(self._parse_union(depth + 1))
        self._expect(closing)
        return type_text

    def _parse_array_shape(self, depth: int) -> None:
        """Read `array{name: Foo, 1?: Bar}` and record the class names in it."""
        self._expect("{")
        while self._peek() not in ("}", _END_OF_TEXT):
            if self._take_if("..."):
                continue
            noted = len(self._found.names)
            self._parse_union(depth + 1)
            self._take_if("?")
            if self._take_if(":"):
                del self._found.names[noted:]
                self._parse_union(depth + 1)
            if not self._take_if(","):
                break
        self._expect("}")

    def _parse_parameters(self, depth: int = 0) -> None:
        """Read a parameter list, `(Foo $a, int ...$b = 1)`, and record the class names in it."""
        self._expect("(")
        while self._peek() not in (")", _END_OF_TEXT):
            if not self._peek().startswith(("$", "&", "...")):
                self._parse_union(depth + 1)
            while self._peek() not in (",", ")", _END_OF_TEXT):
                self._take()
            self._take_if(",")
        self._expect(")")

    # --- tokens

    def _note_name(self, name: str) -> None:
        """Record a class name at the current position."""
        line = bisect_right(self._starts, self._at) - 1
        self._found.names.append(PhpDocName(line, name))

    def _variable_name(self) -> str:
        """Read the name of a variable with its dollar sign, or return an empty string if there is none."""
        while self._peek() in ("&", "..."):
            self._take()
        return self._take() if self._peek().startswith("$") else ""

    def _skip_blanks(self) -> None:
        text, at, end = self._text, self._at, self._end
        while at < end and text[at].isspace():
            at += 1
        self._at = at

    def _has_blank(self) -> bool:
        return self._at < self._end and self._text[self._at].isspace()

    def _follows(self, token: str) -> bool:
        """Whether a token is at the current position, without blanks before it."""
        return self._at < self._end and self._text.startswith(token, self._at)

    def _peek(self) -> str:
        """Return the next token without consuming it."""
        self._skip_blanks()
        token = _TOKEN.match(self._text, self._at, self._end)
        return token[0] if token is not None else _END_OF_TEXT

    def _take(self) -> str:
        """Consume and return the next token."""
        token = self._peek()
        self._at += len(token)
        return token

    def _take_if(self, token: str) -> bool:
        """Consume the next token if it equals `token`, and return whether it did."""
        self._skip_blanks()
        if not self._follows(token):
            return False
        self._at += len(token)
        return True

    def _expect(self, token: str) -> None:
        """Consume the next token, or raise `_NotATypeError` if it does not equal `token`."""
        if not self._take_if(token):
            raise _NotATypeError


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] in ("_", "\\")


def _dotted(name: str) -> str:
    """Return a PHP name with dots instead of backslashes."""
    return name.rstrip("\\").replace("\\", ".")  # a fully qualified name starts with a dot


def _generic_text(name: str, arguments: list[str], templates: Mapping[str, str]) -> str:
    """Return the text of a generic type; collection types become lists."""
    bare = name.rpartition("\\")[2]
    if bare in _LIST_TYPES:
        return f"[]<{arguments[1] if len(arguments) > 1 else arguments[0]}>"
    if name.lower() in _BUILT_IN_TYPES:
        return UNKNOWN if name.lower() not in ("static", "self") else name.lower()
    base = templates.get(name) or _dotted(name)
    return f"{base}<{','.join(arguments[:_MAX_ARGUMENTS])}>"


def split_qualified_name(name: str) -> tuple[tuple[str, ...] | None, str]:
    """Split a PHP name into its qualifier and last part; an empty first step means the global namespace."""
    before, dot, last = _dotted(name).rpartition(".")
    return (tuple(before.split(".")) if dot else None), last
