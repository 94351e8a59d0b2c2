"""PHPDoc comments: the types that they declare, and the names that stand in them.

A comment is read once, from front to back; of one that is longer than `LONGEST_COMMENT` only the beginning.
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

LONGEST_COMMENT = 20_000
"""Characters of a comment that are read."""
_LONGEST_TYPE = 400
_DEEPEST = 10
_MOST_ARGUMENTS = 4
_TOKEN = re.compile(r"[A-Za-z_\\\x80-\U0010ffff][\w\\]*(?:-\w+)*|\$\w+|\d[\w.]*|'[^'\n]*'|\"[^\"\n]*\"|::|\.\.\.|\S")
_TAG = re.compile(r"@(?:phpstan-|psalm-|phan-)?([A-Za-z]+(?:-[A-Za-z]+)*)")
_END = ""
SCALARS = frozenset(
    "null string int integer float double bool boolean true false void never array callable resource scalar "
    "numeric".split()
)
"""Types without members: of a union with one class, that class is meant."""
_LISTS = frozenset(
    "array list iterable non-empty-array non-empty-list associative-array Traversable Iterator IteratorAggregate "
    "Generator ArrayIterator ArrayObject ArrayAccess SplObjectStorage SplFixedArray".split()
)
_CALLABLES = frozenset({"callable", "closure", "pure-callable", "pure-closure"})
_BUILT_IN = (
    SCALARS
    | _CALLABLES
    | frozenset(
        "mixed object iterable list static self parent this class-string interface-string trait-string enum-string "
        "literal-string numeric-string non-empty-string positive-int negative-int array-key key-of value-of int-mask "
        "int-mask-of no-return max min empty is of as covariant".split()
    )
)
_VAGUE = frozenset({"", UNKNOWN, "array", "iterable", "mixed", "object", "callable"})
_NAMED = frozenset({"throws", "extends", "implements", "use", "mixin", "uses"})
_PROPERTIES = frozenset({"property", "property-read", "property-write"})
_TEMPLATES = frozenset({"template", "template-covariant", "template-contravariant"})
_ALIASES = frozenset({"type", "import-type"})


class DocumentedName(NamedTuple):
    """A class that a comment names, on which line of it; `member` where it names one of its members."""

    line: int
    name: str
    member: str = ""


@dataclass(slots=True)
class DocComment:
    """What one comment says. Types are written as `Written` writes them."""

    names: list[DocumentedName] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    """By name; the empty name is what stands below the comment."""
    properties: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    returns: str = UNKNOWN


NO_COMMENT = DocComment()


class Documentation:
    """The comments of one file while it is read: each says something of what stands right below it."""

    def __init__(self) -> None:
        self._pending = NO_COMMENT
        self._below = NO_COMMENT
        self._start = -1
        self._parameters: Mapping[str, str] = {}
        self._templates: dict[str, str] = {}

    def read(self, text: str) -> DocComment:
        """Read a comment; it belongs to the node that `place` is told of next."""
        self._pending = read_comment(text, self._templates)
        return self._pending

    def place(self, start: int) -> None:
        """A node starts here: the comment before it is about it."""
        if self._pending is not NO_COMMENT:
            self._below, self._start, self._pending = self._pending, start, NO_COMMENT

    def above(self, start: int) -> DocComment:
        """The comment right above what starts here."""
        return self._below if start == self._start else NO_COMMENT

    def enter_class(self, start: int) -> DocComment:
        """The comment of a class, whose templates hold for its members."""
        found = self.above(start)
        self._templates = found.templates
        return found

    def enter_function(self, start: int) -> DocComment:
        """The comment of a function, whose parameters are read next."""
        found = self.above(start)
        self._parameters = found.parameters
        return found

    def of_variable(self, start: int, name: str, *, is_parameter: bool) -> str:
        """The type that comments give to a variable, a property or a parameter; unknown where none does."""
        above = self.above(start)
        found = above.variables.get(name) or above.variables.get("", UNKNOWN)
        return self._parameters.get(name, UNKNOWN) if is_parameter and found == UNKNOWN else found


def more_telling(native: str, documented: str) -> str:
    """Of the type that code declares and the one that its comment tells, the one that says more."""
    if documented == UNKNOWN:
        return native
    told = parse_type(documented)
    is_same = told.arguments and told.name.rpartition(".")[2] == native.rpartition(".")[2]
    return documented if native in _VAGUE or is_same else native


def read_comment(text: str, templates: Mapping[str, str]) -> DocComment:
    """What a comment `/** … */` says; `templates` are the type parameters of the class around it."""
    lines = [_content(line) for line in text[3:LONGEST_COMMENT].removesuffix("*/").split("\n")]
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
            _Tag(cleaned, tag.end(), end, known, found, starts).read(tag[1].lower())
    return found


def _content(line: str) -> str:
    """A line of a comment without the sign that it starts with."""
    bare = line.strip()
    return bare[1:].lstrip() if bare.startswith("*") else bare


def _read_templates(text: str, tags: list[int], found: DocComment) -> None:
    """`@template T of Foo`: T is at least a Foo; what aliases stand for is not known."""
    for at in tags:
        tag = _TAG.match(text, at)
        words = text[at : at + _LONGEST_TYPE].partition("\n")[0].split()
        if tag is not None and len(words) > 1 and tag[1].lower() in _TEMPLATES | _ALIASES:
            is_bound = tag[1].lower() in _TEMPLATES and len(words) > 3 and words[2] in ("of", "as")
            found.templates[words[1]] = _dotted(words[3]) if is_bound else UNKNOWN


class _Unreadable(Exception):
    """What follows a tag is no type."""


class _Tag:
    """Reads what follows one tag, up to the next."""

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
        """Note the type and the name that a tag tells."""
        read = {"param": self._parameter, "var": self._variable, "return": self._result, "method": self._method}.get(
            tag
        )
        try:
            if read is not None:
                read()
            elif tag in _PROPERTIES:
                self._property()
            elif tag in _TEMPLATES:
                self._template()
            elif tag in _ALIASES:
                self._alias()
            elif tag == "see":
                self._see()
            elif tag in _NAMED:
                self._union(0)
        except _Unreadable:
            return

    def _parameter(self) -> None:
        told = self._union(0)
        name = self._variable_name()
        if name:
            self._found.parameters.setdefault(name, told)

    def _variable(self) -> None:
        if self._peek().startswith("$"):
            name, told = self._take(), self._union(0)
        else:
            told = self._union(0)
            name = self._variable_name()
        self._found.variables.setdefault(name, told)

    def _result(self) -> None:
        self._found.returns = self._union(0)

    def _property(self) -> None:
        told = self._union(0)
        name = self._variable_name()
        if name:
            self._found.properties.setdefault(name[1:], told)

    def _template(self) -> None:
        self._take()
        if self._peek() in ("of", "as"):
            self._take()
            self._union(0)

    def _alias(self) -> None:
        """`@phpstan-type Row array<Foo>`, `@phpstan-import-type Row from Foo`: names of types that are no classes."""
        self._take()
        if self._peek() in ("=", "from"):
            self._take()
        self._union(0)

    def _method(self) -> None:
        """`@method static Foo find(int $id)`; the type may be left out."""
        if self._peek() == "static" and not self._is_called(len("static")):
            self._take()
        named = len(self._found.names)
        told = self._union(0)
        if self._peek() == "(":
            del self._found.names[named:]  # what looked like a type is the name
            told = UNKNOWN
        else:
            self._found.methods.setdefault(self._take(), told)
        self._parameters()

    def _is_called(self, length: int) -> bool:
        """Whether the word that comes next is followed by a parenthesis: it is a name then."""
        self._skip_blanks()
        return self._text.startswith("(", self._at + length)

    def _see(self) -> None:
        name = self._peek()
        if not _is_name(name) or name.lower() in _BUILT_IN:
            return
        self._note(name)
        self._take()
        if self._take_if("::"):
            member = self._peek().removeprefix("$")
            if member.isidentifier():
                noted = self._found.names[-1]
                self._found.names.append(noted._replace(member=member))

    # --- types

    def _union(self, depth: int) -> str:
        if depth > _DEEPEST:
            raise _Unreadable
        members = [self._listed(depth)]
        is_joined = False
        while self._peek() in ("|", "&") and not self._is_by_reference():
            is_joined = self._take() == "&"
            members.append(self._listed(depth))
        known = list(dict.fromkeys(member for member in members if member.lower() not in SCALARS))
        if not known:
            return members[0]
        return known[0] if (len(known) == 1 or is_joined) and len(known[0]) <= _LONGEST_TYPE else UNKNOWN

    def _is_by_reference(self) -> bool:
        """Whether an `&` belongs to the variable after it."""
        return self._text.startswith(("&$", "&..."), self._at)

    def _listed(self, depth: int) -> str:
        """A type, and how often it is a list of it."""
        self._take_if("?")
        told = self._single(depth)
        dimensions = 0
        while self._follows("["):
            self._take()
            if not self._take_if("]"):
                self._union(depth + 1)
                self._expect("]")
                told = UNKNOWN
            dimensions += 1
        return "[]<" * dimensions + told + ">" * dimensions if dimensions <= _DEEPEST else UNKNOWN

    def _single(self, depth: int) -> str:
        if self._take_if("("):
            inner = self._union(depth + 1)
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
            return "string"  # a literal, which has no members
        if not _is_name(word):
            raise _Unreadable
        if word.lower() not in _BUILT_IN and word not in self._templates:
            self._note(word)
        self._take()
        return self._with_arguments(word, depth)

    def _with_arguments(self, name: str, depth: int) -> str:
        bare = name.rpartition("\\")[2]
        if self._follows("::"):  # the value of a constant
            self._take()
            while (_is_name(self._peek()) or self._peek() == "*") and not self._has_blank():
                self._take()
            return "string"
        if self._follows("<"):
            return _generic(name, self._list_of("<", ">", depth), self._templates)
        if self._follows("{"):
            self._shape(depth)
            return UNKNOWN
        if bare.lower() in _CALLABLES and self._follows("("):
            self._parameters(depth)
            self._skip_blanks()
            return f"fn<{self._union(depth + 1)}>" if self._take_if(":") else UNKNOWN
        return self._templates.get(name) or _dotted(name)

    def _list_of(self, opening: str, closing: str, depth: int) -> list[str]:
        self._expect(opening)
        told = [self._union(depth + 1)]
        while self._take_if(","):
            if self._peek() == closing:
                break
            told.append(self._union(depth + 1))
        self._expect(closing)
        return told

    def _shape(self, depth: int) -> None:
        """`array{name: Foo, 1?: Bar}`: only the names in it are read."""
        self._expect("{")
        while self._peek() not in ("}", _END):
            if self._take_if("..."):
                continue
            noted = len(self._found.names)
            self._union(depth + 1)
            self._take_if("?")
            if self._take_if(":"):
                del self._found.names[noted:]
                self._union(depth + 1)
            if not self._take_if(","):
                break
        self._expect("}")

    def _parameters(self, depth: int = 0) -> None:
        """`(Foo $a, int ...$b = 1)`."""
        self._expect("(")
        while self._peek() not in (")", _END):
            if not self._peek().startswith(("$", "&", "...")):
                self._union(depth + 1)
            while self._peek() not in (",", ")", _END):
                self._take()
            self._take_if(",")
        self._expect(")")

    # --- tokens

    def _note(self, name: str) -> None:
        line = bisect_right(self._starts, self._at) - 1
        self._found.names.append(DocumentedName(line, name))

    def _variable_name(self) -> str:
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

    def _follows(self, sign: str) -> bool:
        """Whether a sign stands right here, without a blank."""
        return self._at < self._end and self._text.startswith(sign, self._at)

    def _peek(self) -> str:
        self._skip_blanks()
        token = _TOKEN.match(self._text, self._at, self._end)
        return token[0] if token is not None else _END

    def _take(self) -> str:
        token = self._peek()
        self._at += len(token)
        return token

    def _take_if(self, sign: str) -> bool:
        self._skip_blanks()
        if not self._follows(sign):
            return False
        self._at += len(sign)
        return True

    def _expect(self, sign: str) -> None:
        if not self._take_if(sign):
            raise _Unreadable


def _is_name(token: str) -> bool:
    return token[:1].isalpha() or token[:1] in ("_", "\\")


def _dotted(name: str) -> str:
    return name.rstrip("\\").replace("\\", ".")  # what starts at the root starts with a dot


def _generic(name: str, arguments: list[str], templates: Mapping[str, str]) -> str:
    bare = name.rpartition("\\")[2]
    if bare in _LISTS:
        return f"[]<{arguments[1] if len(arguments) > 1 else arguments[0]}>"
    if name.lower() in _BUILT_IN:
        return UNKNOWN if name.lower() not in ("static", "self") else name.lower()
    base = templates.get(name) or _dotted(name)
    return f"{base}<{','.join(arguments[:_MOST_ARGUMENTS])}>"


def qualified(name: str) -> tuple[tuple[str, ...] | None, str]:
    """A name of PHP as what it is qualified by and its last part; an empty step is the root of all namespaces."""
    before, dot, last = _dotted(name).rpartition(".")
    return (tuple(before.split(".")) if dot else None), last
