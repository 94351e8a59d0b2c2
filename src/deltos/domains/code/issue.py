"""Read a text of the size of an issue: its title, what it says, the names and places it mentions, without its template.

Knows text only; which of the places lie in the project is left to the search.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltos.text.identifiers import NAME_OR_PATH, SYMBOL_SIGNS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Read of a longer one: its beginning, and its end, where stack traces are.
_HEAD_CHARACTERS, _TAIL_CHARACTERS = 5_000, 2_500
_LEAST_CHARACTERS = 200
_MOST_PLACES = 60
_LONGEST_SPAN = 120
_PUNCTUATION = ".,;:!?\"'"
_LONGEST_NAME = 100
_LONGEST_PATH = 300
_LONGEST_HEADING = 80
_MOST_DIGITS = 8
_LONGEST_SPELLING = 400  # of a function in a frame
_NAMED_ABOVE = (".go", ".rs")  # languages whose frames name the function in the line above
_TRACE_HEADS = ("Traceback (most recent", "goroutine ", "stack backtrace:", "Exception in thread ")
_RUST_HASH, _HEXADECIMAL = 17, frozenset("0123456789abcdef")

# Under such headings templates ask for what has nothing to do with the cause.
_ASIDE_HEADINGS = tuple(
    "environment|version|system info|your system|platform|checklist|prerequisite|additional context|screenshots|"
    "code of conduct|are you willing|contact|os|dependencies|installation method|conda|pip list|pip freeze|software|"
    "desktop|smartphone|provide verbose|guidelines|acceptance|installed".split("|")
)
# Headings that a template gives and that say nothing themselves; what stands below them does.
_TEMPLATE_HEADINGS = tuple(
    "bug report|describe|expected|actual|current|steps to|to reproduce|repro|minimal|how to reproduce|what|summary|"
    "description|feature request|is your feature|proposed|motivation|possible solution|context|issue|code|logs|"
    "relevant|error|traceback|observed|output|example|problem|details|notes|background|additional".split("|")
)
# What a tracker's labels are made of.
_LABELS = frozenset(
    "bug report feature request feat fix enhancement question issue regression perf performance docs proposal idea "
    "improvement chore discussion help wanted crash error problem task".split()
)
_LONGEST_LABEL = 40
_CHECKBOXES = ("- [ ]", "- [x]", "- [X]", "* [ ]", "* [x]", "* [X]", "[ ]", "[x]", "[X]")
_NO_PROSE = ("<img", "<details", "</details", "<summary", "</summary", "![", "_No response_")
_SOURCE_SUFFIXES = frozenset(
    """py pyi pyx js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy go rs rb php cs fs vb c h cc cpp cxx hpp m
    mm swift ex exs erl hs ml lua pl pm r jl dart sh sql html css scss json yaml yml toml cfg ini xml proto graphql tf
    zig nim""".split()
)
# What stands around a place in a stack frame, in any language.
_AROUND_PLACES = str.maketrans(dict.fromkeys("()\"'`<>[]{},;|*=", " "))


@dataclass(frozen=True, slots=True)
class Place:
    """A file that a text mentions, with a line in a stack frame (else 0); `nearness` is 1 for the innermost frame.

    A frame may name its function, with what that belongs to, and show the source of its line.
    """

    path: str
    line: int = 0
    nearness: float = 1.0
    function: str = ""
    container: str = ""
    source: str = ""


@dataclass(slots=True)
class Issue:
    """What a text of several lines says, by what it is worth."""

    title: str
    prose: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def names(self) -> list[str]:
        """The names in title, prose and quotations, the most frequent first."""
        return _names([self.title, *self.prose, *self.quoted])

    def code_names(self) -> list[str]:
        """The names in blocks of code, the most frequent first."""
        return _names(self.code)


def is_issue(text: str) -> bool:
    """Whether a query is so long, and of several lines, that it has to be read like an issue."""
    return len(text) > _LEAST_CHARACTERS and "\n" in text


def frames_of(text: str) -> list[Place]:
    """The stack frames of a text that is little else, or the place that is all of it; the innermost first."""
    lines = [line for line in shortened(text).split("\n") if line.strip()]
    framed: list[Place] = []
    told = 0  # lines that belong to the trace
    for number, line in enumerate(lines):
        place, count = _frame(line, lines[number - 1] if number else "", lines[number + 1 : number + 3])
        framed += [place] if place else []
        told += count or line.strip().startswith(_TRACE_HEADS)
    if told * 2 <= len(lines):
        return []
    return list(dict.fromkeys(reversed(framed) if _are_python(framed) else framed))[:_MOST_PLACES]


def _frame(line: str, above: str, below: Sequence[str]) -> tuple[Place | None, int]:
    """The frame that a line tells, and over how many lines: Go and Rust name the function above, Python has the source
    below."""
    place = next(iter(_places_in(line)), None)
    if place is None or not place.line:
        return None, 0
    stripped = line.strip()
    if stripped.startswith('File "'):
        source = [text.strip() for text in below[:1] if not _places_in(text)]
        has_marks = bool(source) and len(below) > 1 and not below[1].strip("~^ \t")
        return _naming(place, stripped.rpartition(" in ")[2], source), 1 + len(source) + has_marks
    if place.path.endswith(_NAMED_ABOVE) and above.strip() and not _places_in(above):
        return _naming(place, _without_number(above.strip())), 2
    return _naming(place, _function_in(stripped)), 1


def _naming(place: Place, function: str, source: Sequence[str] = ()) -> Place:
    container, name = _qualified(function[:_LONGEST_SPELLING])
    return replace(place, function=name, container=container, source="".join(source)[:_LONGEST_SPELLING])


def _without_number(text: str) -> str:
    """What a frame calls its function, without the number before it (Rust) and what made it a goroutine (Go)."""
    number, colon, rest = text.partition(": ")
    text = rest if colon and number.strip().isdigit() else text
    return text.removeprefix("created by ").partition(" in goroutine")[0].strip()


def _function_in(frame: str) -> str:
    """How a frame of one line spells its function; empty where it names none."""
    if ":in " in frame:  # Ruby: `from a.rb:4:in 'block in total'`
        return frame.partition(":in ")[2].rpartition(" ")[2]
    if frame.startswith("#"):
        called = frame.partition("): ")[2]  # PHP: `#0 /src/Basket.php(41): Shop\\Basket->total()`
        before = frame.partition(" at ")[0].partition("(")[0].split()  # gdb: `#0  0x1 in total (a=1) at a.c:41`
        return called or (before[-1] if len(before) > 1 else "")
    if not frame.startswith("at "):
        return ""
    name, opened, _ = frame.removeprefix("at ").partition("(")
    words = name.partition(" [")[0].split()
    return words[-1] if opened and words else ""


def _qualified(spelling: str) -> tuple[str, str]:
    """What a function belongs to and its name, however a language spells that: `gin.(*Context).Next(0x1)`,
    `tokio::task::spawn::{{closure}}`, `Shop\\Basket->total()`; empty where it has no name."""
    text = spelling.strip("`'\" ").rpartition("/")[2].replace("(*", "").replace(").", ".").partition("(")[0]
    for separator in ("::", "->", "#", "\\", "$"):
        text = text.replace(separator, ".")
    named = [part for part in _without_brackets(text).split(".") if part.isidentifier() and not _is_made(part)]
    return (named[-2] if len(named) > 1 else "", named[-1] if named else "")


def _without_brackets(text: str) -> str:
    """The text without type parameters."""
    kept: list[str] = []
    depth = 0
    for char in text:
        depth += char in "<[{"
        kept += [char] if not depth else []
        depth = max(0, depth - (char in ">]}"))
    return "".join(kept)


def _is_made(part: str) -> bool:
    """Whether a compiler made a part of a name: `func1` of Go, the hash of Rust."""
    return part.removeprefix("func").isdigit() or (
        len(part) == _RUST_HASH and part[0] == "h" and _HEXADECIMAL.issuperset(part[1:])
    )


def shortened(text: str) -> str:
    """What is read of a query, however long it is."""
    if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        return text
    return f"{text[:_HEAD_CHARACTERS]}\n{text[-_TAIL_CHARACTERS:]}"


def read_issue(text: str) -> Issue:
    """Take an issue apart. Linear in its length."""
    first, *lines = _without_comments(text).strip().split("\n")
    issue = Issue(_title(first))
    is_aside = is_fenced = False
    frames: list[Place] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            is_fenced = not is_fenced
            continue
        if places := _places_in(line):
            framed, _ = _frame(line, lines[number - 1] if number else "", lines[number + 1 : number + 3])
            frames += [framed, *places[1:]] if framed else places
            issue.functions += _function_of(stripped)
        if is_fenced:
            issue.code += [] if is_aside or places else [line]
            continue
        heading = _heading(stripped)
        if heading:
            is_aside = _is_aside(heading)
            issue.prose += [] if is_aside or heading.startswith(_TEMPLATE_HEADINGS) else [heading]
        elif not is_aside:
            _read_line(issue, line, stripped)
    issue.places = [*map(Place, _paths_in(issue.title)), *_by_nearness(frames[:_MOST_PLACES])]
    return issue


def _title(line: str) -> str:
    """A title without links and without what a tracker puts before it: `[Bug]: `, `🐛 Bug Report: `, `FEAT: `."""
    words = [word for word in line.strip("# \t").split() if "://" not in word]
    title = " ".join(words)
    label, colon, rest = title.partition(":")
    if title.startswith("[") and "]" in title[:_LONGEST_LABEL]:
        label, colon, rest = title.partition("]")
    is_label = _LABELS.issuperset("".join(char if char.isalpha() else " " for char in label.lower()).split())
    return rest.strip(": ") or title if colon and is_label else title


def _read_line(issue: Issue, line: str, stripped: str) -> None:
    """Add a line outside of fences: prose with its quotations, or indented code."""
    if not stripped or stripped.startswith((*_CHECKBOXES, *_NO_PROSE)):
        return
    if line.startswith(("    ", "\t")) or stripped.startswith(">>>"):
        issue.code.append(line)
        return
    quoted = stripped.split("`")[1::2]
    issue.quoted += [span for span in quoted if span and len(span) < _LONGEST_SPAN]
    issue.prose.append(" ".join(word for word in stripped.split() if "://" not in word))


def _without_comments(text: str) -> str:
    """The text without HTML comments: the instructions of templates."""
    kept: list[str] = []
    at = 0
    while (opened := text.find("<!--", at)) >= 0:
        kept.append(text[at:opened])
        closed = text.find("-->", opened)
        if closed < 0:
            return "".join(kept)
        at = closed + 3
    return "".join((*kept, text[at:]))


def _heading(stripped: str) -> str:
    """A heading in lower case, as Markdown or as a bold line; empty for any other line."""
    is_bold = stripped.startswith("**") and stripped.rstrip(":").endswith("**") and len(stripped) < _LONGEST_HEADING
    return stripped.strip("#*: ").lower() if stripped.startswith("#") or is_bold else ""


def _is_aside(heading: str) -> bool:
    return heading.startswith(_ASIDE_HEADINGS) or "version" in heading or "environment" in heading


def _places_in(line: str) -> list[Place]:
    """The files that a line mentions with a line number: a stack frame of any language, or `path:12`."""
    if "." not in line:
        return []
    words = line.translate(_AROUND_PLACES).split()
    found = []
    for number, word in enumerate(words):
        if "." not in word:
            continue
        path, *rest = word.removeprefix("file://").split(":")
        if len(path) == 1 and rest:  # a drive
            path, *rest = rest
        if not _is_path(path):
            continue
        following = [*rest, *words[number + 1 : number + 3]]
        numbers = list(filter(None, map(_line_number, following)))
        says_line = bool(rest) or "line" in following
        is_counted = bool(numbers) and (says_line or _line_number(following[0]) == numbers[0])
        found.append(Place(path, int(numbers[0]) if is_counted else 0))
    return found


def _line_number(text: str) -> str:
    """The digits of a line, or of the first of several (`12-40`); empty for anything else."""
    first = text.partition("-")[0]
    return first if first.isascii() and first.isdigit() and len(first) < _MOST_DIGITS else ""


def _paths_in(text: str) -> list[str]:
    return [place.path for place in _places_in(text)]


def _is_path(word: str) -> bool:
    name = word.replace("\\", "/").rsplit("/", 1)[-1]
    stem, _, suffix = name.rpartition(".")
    return bool(stem) and suffix.lower() in _SOURCE_SUFFIXES and len(word) < _LONGEST_PATH


def _function_of(frame: str) -> list[str]:
    """The function that a stack frame names: after `in` or `at`, or none."""
    words = frame.replace("(", " ").split()
    for mark in ("in", "at"):
        if mark in words[:-1]:
            name = words[words.index(mark) + 1].strip("`'\",:")
            if name.replace(".", "").replace("_", "").isalnum() and len(name) < _LONGEST_NAME:
                return [name]
    return []


def _are_python(places: list[Place]) -> bool:
    return sum(place.path.endswith(".py") for place in places) * 2 > len(places)


def _by_nearness(places: list[Place]) -> list[Place]:
    """Places with how near the innermost frame they are; Python alone prints that one last."""
    is_python = _are_python(places)
    frames = [place for place in places if place.line]
    order = list(dict.fromkeys(place.path for place in (reversed(frames) if is_python else frames)))
    nearness = {path: 1 / (1 + number) for number, path in enumerate(order)}
    unique = {place.path: place for place in (places if is_python else reversed(places))}
    return [replace(place, nearness=nearness.get(path, 1.0)) for path, place in unique.items()]


def _names(texts: list[str]) -> list[str]:
    counted: Counter[str] = Counter()
    for word in " ".join(texts).split():
        if word.strip(_PUNCTUATION).isalpha() and _is_plain(word.strip(_PUNCTUATION)):
            continue  # as most words are
        for match in NAME_OR_PATH.finditer(word):
            name = match[0]
            if 2 < len(name) < _LONGEST_NAME and _is_name(name, word[match.end() : match.end() + 1]):
                counted[name] += 1
    return [name for name, _ in counted.most_common()]


def _is_plain(letters: str) -> bool:
    return letters[1:].islower() or letters.isupper()


def _is_name(name: str, following: str) -> bool:
    if name.isalpha() and _is_plain(name) and following != "(":
        return False
    return "." in name or SYMBOL_SIGNS.search(name + following) is not None
