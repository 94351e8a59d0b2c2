"""Parse the types and class names in PHPDoc comments.

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
_MAX_TYPE_CHARACTERS = 400  # maximum length of a type expression; longer ones are treated as unknown
_MAX_SPAN_CHARACTERS = 4_000  # maximum length of a type whose names are recorded
_MAX_DEPTH = 10
_MAX_ARGUMENTS = 4
_TAG = re.compile(r"@(?:phpstan-|psalm-|phan-)?([A-Za-z]+(?:-[A-Za-z]+)*)")
_NAME = re.compile(r"(?<![\w\\$'-])(?<!::)[A-Za-z_\\\x80-\U0010ffff][\w\\]*(?:-\w+)*")
_ARRAY_SHAPE_KEY = re.compile(r"\??:(?!:)")
_DEFAULT_VALUE = re.compile(r"=[^,)]*")
_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_BLANK = re.compile(r"\s+")
_OPERATOR = re.compile(r"\||&(?![$.])")
_VARIABLE = re.compile(r"&?(?:\.\.\.)?(\$\w++)")
_METHOD = re.compile(r"(?<!\w)(\w++)\s{0,4}(?=\()")
_MEMBER = re.compile(r"(?<![\w\\])([A-Za-z_\\\x80-\U0010ffff][\w\\]*+)(?:::\$?+([A-Za-z_]\w*+))?+")
_WORD_BEFORE_TYPE = re.compile(r"(?<![\w-])[\w-]++(?:\s{0,4}(?:=|of\b|as\b|from\b))?")
_STATIC = re.compile(r"static\b(?!\s{0,4}\()")
_OPENING, _CLOSING = "<({[", ">)}]"
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
    """A class name in a comment, with the class member that follows it, if any.

    `line` is relative to the first line of the comment.
    """

    line: int
    name: str
    member: str = ""


@dataclass(slots=True)
class DocComment:
    """Contents of one comment. Types have the same form as the results of `NodeText.type_text`."""

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
    """Association of the comments in a file with the nodes directly below them."""

    def __init__(self) -> None:
        self._pending = NO_COMMENT
        self._attached = NO_COMMENT
        self._attached_start = -1
        self._parameters: Mapping[str, str] = {}
        self._templates: dict[str, str] = {}

    def read(self, text: str) -> DocComment:
        """Read a comment; the next call of `attach_to_node` attaches it to a node."""
        self._pending = read_comment(text, self._templates)
        return self._pending

    def attach_to_node(self, start: int) -> None:
        """Attach the comment that was read last to the node that starts at this offset."""
        if self._pending is not NO_COMMENT:
            self._attached, self._attached_start, self._pending = self._pending, start, NO_COMMENT

    def comment_above(self, start: int) -> DocComment:
        """Return the comment attached to the node that starts at this offset, if any."""
        return self._attached if start == self._attached_start else NO_COMMENT

    def enter_class(self, start: int) -> DocComment:
        """Return the comment of a class, and make the class's template types available to its members."""
        found = self.comment_above(start)
        self._templates = found.templates
        return found

    def enter_function(self, start: int) -> DocComment:
        """Return the comment of a function, and make the documented parameter types available to `variable_type`."""
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
            _TagReader(cleaned, tag.end(), end, known, found, starts).read(tag[1].lower())
    return found


def _line_text(line: str) -> str:
    """Return a line of a comment without its leading asterisk."""
    bare = line.strip()
    return bare[1:].lstrip() if bare.startswith("*") else bare


def _read_templates(text: str, tags: list[int], found: DocComment) -> None:
    """Record the upper bounds of type parameters (`@template T of Foo`); aliased types are unknown."""
    for at in tags:
        tag = _TAG.match(text, at)
        words = text[at : at + _MAX_TYPE_CHARACTERS].partition("\n")[0].split()
        if tag is not None and len(words) > 1 and tag[1].lower() in _TEMPLATE_TAGS | _ALIAS_TAGS:
            is_bound = tag[1].lower() in _TEMPLATE_TAGS and len(words) > 3 and words[2] in ("of", "as")
            found.templates[words[1]] = _dotted(words[3]) if is_bound else UNKNOWN


class _TagReader:
    """Reader of the text between a tag and the following tag."""

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
        """Record the names after a tag, and the type that the tag declares."""
        found = self._found
        self._skip_blanks()
        if tag == "see":
            self._read_reference()
        elif tag == "method":
            self._read_method()
        elif tag == "return":
            found.returns = self._read_type() or found.returns
        elif tag == "var":
            name = self._read_variable()
            declared = self._read_type()
            if declared:
                found.variables.setdefault(name or self._read_variable(), declared)
        elif tag in ("param", *_PROPERTY_TAGS):
            declared = self._read_type()
            name = self._read_variable()
            if declared and name and tag == "param":
                found.parameters.setdefault(name, declared)
            elif declared and name:
                found.properties.setdefault(name[1:], declared)
        elif tag in _TEMPLATE_TAGS | _ALIAS_TAGS:
            word = _WORD_BEFORE_TYPE.match(self._text, self._at, self._end)
            if word is not None and (tag in _ALIAS_TAGS or word[0].endswith(("of", "as"))):
                self._at = word.end()
                self._read_type()
        elif tag in _TAGS_NAMING_TYPES:
            self._read_type()

    def _read_reference(self) -> None:
        """Read the name of a class or of one of its members: `Foo::bar()`."""
        target = _MEMBER.match(self._text, self._at, self._end)
        if target is None or target[1].lower() in _BUILT_IN_TYPES:
            return
        self._note_name(target.start(1), target[1])
        if target[2]:
            self._note_name(target.start(1), target[1], target[2])

    def _read_method(self) -> None:
        """Read the declaration in a `@method` tag: `static Foo find(int $id)`, where the type is optional."""
        if modifier := _STATIC.match(self._text, self._at, self._end):
            self._at = modifier.end()
            self._skip_blanks()
        declared = "" if _METHOD.match(self._text, self._at, self._end) else self._read_type()
        name = _METHOD.match(self._text, self._at, self._end)
        if name is None:
            return
        if declared:
            self._found.methods.setdefault(name[1], declared)
        self._note_names(name.end(), self._end_of_type(name.end()))

    def _read_variable(self) -> str:
        """Read the name of a variable with its dollar sign, or return an empty string if there is none."""
        self._skip_blanks()
        variable = _VARIABLE.match(self._text, self._at, self._end)
        if variable is None or variable[1] == "$this":
            return ""
        self._at = variable.end()
        return variable[1]

    def _read_type(self) -> str:
        """Read a type and record its names. Return an empty string if there is no type."""
        self._skip_blanks()
        start, end = self._at, self._end_of_type(self._at)
        self._at = end
        self._skip_blanks()
        self._note_names(start, end)
        return _type_text(_mask_strings(self._text[start:end]), self._templates) if end > start else ""

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self._at, self._end)
        self._at = blank.end() if blank is not None else self._at

    def _end_of_type(self, at: int) -> int:
        """Return the offset after a type, which ends at whitespace outside brackets and not next to an operator."""
        text, depth, last = self._text, 0, ""
        end = min(self._end, at + _MAX_SPAN_CHARACTERS)
        while at < end:
            character = text[at]
            if blank := _BLANK.match(text, at, end):
                is_continued = last in ("|", "&", ":", "?") or _OPERATOR.match(text, blank.end(), end)
                if not depth and not is_continued:
                    break
                at = blank.end()
                continue
            if quoted := _QUOTED.match(text, at, end):
                at, last = quoted.end(), character
                continue
            depth += (character in _OPENING) - (character in _CLOSING)
            is_variable = text.startswith(("$", "&$", "&...", "..."), at) and not text.startswith("$this", at)
            if depth < 0 or (not depth and is_variable):
                break
            at, last = at + 1, character
        return at

    def _note_names(self, start: int, end: int) -> None:
        """Record the class names in a type or in a list of parameters."""
        text = _DEFAULT_VALUE.sub(lambda value: " " * len(value[0]), _mask_strings(self._text[start:end]))
        for name in _NAME.finditer(text):
            is_known = name[0].lower() in _BUILT_IN_TYPES or name[0] in self._templates
            if not is_known and not _ARRAY_SHAPE_KEY.match(text, name.end()):
                self._note_name(start + name.start(), name[0])

    def _note_name(self, at: int, name: str, member: str = "") -> None:
        self._found.names.append(PhpDocName(bisect_right(self._starts, at) - 1, name, member))


def _mask_strings(text: str) -> str:
    """Replace the characters inside string literals, so that they are not parsed."""
    return _QUOTED.sub(lambda quoted: f"'{'_' * (len(quoted[0]) - 2)}'", text)


def _split(text: str, separators: str) -> list[str]:
    """Split a text at separators outside of brackets."""
    parts: list[str] = []
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING)
        if not depth and character in separators:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def _type_text(text: str, templates: Mapping[str, str], depth: int = 0) -> str:
    """Return a written type in the form of `NodeText.type_text`.

    A union or intersection (`A|B`, `A&B`) becomes the only class in it, or unknown if it contains several classes.
    """
    text = text.strip()
    if depth > _MAX_DEPTH or len(text) > _MAX_TYPE_CHARACTERS:
        return UNKNOWN
    members = _split(text, "|&")
    if len(members) > 1:
        types = [_type_text(each, templates, depth + 1) for each in members]
        known = list(dict.fromkeys(each for each in types if each.lower() not in SCALARS))
        is_joined = "|" not in text
        return types[0] if not known else known[0] if len(known) == 1 or is_joined else UNKNOWN
    text = text.removeprefix("?")
    if text.endswith("[]"):
        return f"[]<{_type_text(text[:-2], templates, depth + 1)}>"
    if text.startswith("(") and text.endswith(")"):
        return _type_text(text[1:-1], templates, depth + 1)
    if text[:1] in ("'", "-") or text[:1].isdigit():
        return "string"  # treated as a string, because a literal has no members
    name = _NAME.match(text)
    if name is None:
        return "static" if text == "$this" else UNKNOWN
    return _named_type(name[0], text[name.end() :].strip(), templates, depth)


def _named_type(name: str, rest: str, templates: Mapping[str, str], depth: int) -> str:
    """Return the text of a type, given its name and the arguments, array shape or parameters that follow it."""
    if not rest:
        return templates.get(name) or _dotted(name)
    if rest.startswith("::"):
        return "string"  # treated as a string, because the type is the value of a class constant
    if rest.startswith("<") and rest.endswith(">"):
        arguments = [_type_text(each, templates, depth + 1) for each in _split(rest[1:-1], ",") if each.strip()]
        return _generic_text(name, arguments, templates) if arguments else UNKNOWN
    _, *returned = _split(rest, ":")
    if name.rpartition("\\")[2].lower() in _CALLABLE_TYPES and rest.startswith("(") and returned:
        return f"fn<{_type_text(':'.join(returned), templates, depth + 1)}>"
    return UNKNOWN


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
    """Split a PHP name into its qualifier and last part.

    The qualifier of a name in the global namespace begins with an empty string.
    """
    before, dot, last = _dotted(name).rpartition(".")
    return (tuple(before.split(".")) if dot else None), last
