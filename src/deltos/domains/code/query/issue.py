"""Split a bug report or feature request (issue) into title, prose, code, names and mentioned files.

Text from issue templates is ignored. The caller checks which of the mentioned files exist.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from deltos.text.identifiers import NAME_OR_PATH, SYMBOL_SIGNS

if TYPE_CHECKING:
    from collections.abc import Sequence

# Numbers of characters kept from the start and from the end of a long text; stack traces are often at the end.
_HEAD_CHARACTERS, _TAIL_CHARACTERS = 5_000, 2_500
_MIN_CHARACTERS = 200  # minimum length of a text that is parsed as an issue
_MAX_MENTIONS = 60
_MAX_SPAN_CHARACTERS = 120
_PUNCTUATION = ".,;:!?\"'"
_MAX_NAME_CHARACTERS = 100
_MAX_PATH_CHARACTERS = 300
_MAX_HEADING_CHARACTERS = 80
_MAX_DIGITS = 8
_MAX_FRAME_CHARACTERS = 400  # maximum length of a function name or source line in a frame
_FUNCTION_ABOVE_SUFFIXES = (".go", ".rs")  # stack traces of Go and Rust print the function above the location
_TRACE_HEADERS = ("Traceback (most recent", "goroutine ", "stack backtrace:", "Exception in thread ")
_RUST_HASH_CHARACTERS, _HEXADECIMAL = 17, frozenset("0123456789abcdef")

# Headings in issue templates. The text of these sections is ignored.
_IRRELEVANT_HEADINGS = tuple(
    "environment|version|system info|your system|platform|checklist|prerequisite|additional context|screenshots|"
    "code of conduct|are you willing|contact|os|dependencies|installation method|conda|pip list|pip freeze|software|"
    "desktop|smartphone|provide verbose|guidelines|acceptance|installed".split("|")
)
# Headings in issue templates. The heading is ignored, but the text of the section is used.
_TEMPLATE_HEADINGS = tuple(
    "bug report|describe|expected|actual|current|steps to|to reproduce|repro|minimal|how to reproduce|what|summary|"
    "description|feature request|is your feature|proposed|motivation|possible solution|context|issue|code|logs|"
    "relevant|error|traceback|observed|output|example|problem|details|notes|background|additional".split("|")
)
# Words that occur in the labels of issue trackers, such as `[Bug]`.
_LABEL_WORDS = frozenset(
    "bug report feature request feat fix enhancement question issue regression perf performance docs proposal idea "
    "improvement chore discussion help wanted crash error problem task".split()
)
_MAX_LABEL_CHARACTERS = 40
_CHECKBOX_PREFIXES = ("- [ ]", "- [x]", "- [X]", "* [ ]", "* [x]", "* [X]", "[ ]", "[x]", "[X]")
_NON_PROSE_PREFIXES = ("<img", "<details", "</details", "<summary", "</summary", "![", "_No response_")
_SOURCE_SUFFIXES = frozenset(
    """py pyi pyx js jsx mjs cjs ts tsx vue svelte java kt kts scala groovy go rs rb php cs fs vb c h cc cpp cxx hpp m
    mm swift ex exs erl hs ml lua pl pm r jl dart sh sql html css scss json yaml yml toml cfg ini xml proto graphql tf
    zig nim""".split()
)
# Punctuation around file names in stack frames of all languages.
_FRAME_PUNCTUATION = str.maketrans(dict.fromkeys("()\"'`<>[]{},;|*=", " "))


@dataclass(frozen=True, slots=True)
class FileMention:
    """A file that a text mentions; `line` is 0 if the text contains no line number.

    `frame_weight` is 1 for the innermost stack frame and lower for outer frames. `function`, `container` and `source`
    (the source line) come from the stack frame and may be empty.
    """

    path: str
    line: int = 0
    frame_weight: float = 1.0
    function: str = ""
    container: str = ""
    source: str = ""


@dataclass(slots=True)
class Issue:
    """The parts of an issue's text, most important part first."""

    title: str
    prose: list[str] = field(default_factory=list)
    quoted: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    mentions: list[FileMention] = field(default_factory=list)

    def names(self) -> list[str]:
        """Return the names in title, prose and quotations, most frequent first."""
        return _identifiers_in([self.title, *self.prose, *self.quoted])

    def code_names(self) -> list[str]:
        """Return the names in code blocks, most frequent first."""
        return _identifiers_in(self.code)


def is_issue(text: str) -> bool:
    """Whether a query looks like an issue: a long text of several lines."""
    return len(text) > _MIN_CHARACTERS and "\n" in text


def parse_frames(text: str) -> list[FileMention]:
    """Return the frames of a stack trace, innermost first, or a single `file:line`; an empty result for other texts."""
    lines = [line for line in truncate_query(text).split("\n") if line.strip()]
    framed: list[FileMention] = []
    trace_lines = 0  # number of lines that belong to the stack trace
    for number, line in enumerate(lines):
        mention, count = _parse_frame(line, lines[number - 1] if number else "", lines[number + 1 : number + 3])
        framed += [mention] if mention else []
        trace_lines += count or line.strip().startswith(_TRACE_HEADERS)
    if trace_lines * 2 <= len(lines):
        return []
    return list(dict.fromkeys(reversed(framed) if _are_python_files(framed) else framed))[:_MAX_MENTIONS]


def _parse_frame(line: str, above: str, below: Sequence[str]) -> tuple[FileMention | None, int]:
    """Return the stack frame on a line, and the number of its lines.

    Go and Rust print the function on the line above the location; Python prints the source on the line below.
    """
    mention = next(iter(_mentions_in(line)), None)
    if mention is None or not mention.line:
        return None, 0
    stripped = line.strip()
    if stripped.startswith('File "'):
        source = [text.strip() for text in below[:1] if not _mentions_in(text)]
        has_marks = bool(source) and len(below) > 1 and not below[1].strip("~^ \t")
        return _add_function(mention, stripped.rpartition(" in ")[2], source), 1 + len(source) + has_marks
    if mention.path.endswith(_FUNCTION_ABOVE_SUFFIXES) and above.strip() and not _mentions_in(above):
        return _add_function(mention, _bare_function_name(above.strip())), 2
    return _add_function(mention, _function_name_in(stripped)), 1


def _add_function(mention: FileMention, function: str, source: Sequence[str] = ()) -> FileMention:
    """Return the mentioned file with the function, container (such as a class) and source line of the stack frame."""
    container, name = _split_qualified_name(function[:_MAX_FRAME_CHARACTERS])
    return replace(mention, function=name, container=container, source="".join(source)[:_MAX_FRAME_CHARACTERS])


def _bare_function_name(text: str) -> str:
    """Remove the frame number (Rust) or the goroutine information (Go) from a function name."""
    number, colon, rest = text.partition(": ")
    text = rest if colon and number.strip().isdigit() else text
    return text.removeprefix("created by ").partition(" in goroutine")[0].strip()


def _function_name_in(frame: str) -> str:
    """Return the function name in a one-line stack frame, as written there; an empty string if there is none."""
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


def _split_qualified_name(spelling: str) -> tuple[str, str]:
    r"""Split a function's qualified name, in the notation of any language, into container (such as a class) and name.

    Examples: `gin.(*Context).Next(0x1)`, `tokio::task::spawn::{{closure}}`, `Shop\\Basket->total()`.
    """
    text = spelling.strip("`'\" ").rpartition("/")[2].replace("(*", "").replace(").", ".").partition("(")[0]
    for separator in ("::", "->", "#", "\\", "$"):
        text = text.replace(separator, ".")
    named = [
        part
        for part in _remove_type_parameters(text).split(".")
        if part.isidentifier() and not _is_generated_name(part)
    ]
    return (named[-2] if len(named) > 1 else "", named[-1] if named else "")


def _remove_type_parameters(text: str) -> str:
    """Remove type parameters such as `<T>` from a text."""
    kept: list[str] = []
    depth = 0
    for char in text:
        depth += char in "<[{"
        kept += [char] if not depth else []
        depth = max(0, depth - (char in ">]}"))
    return "".join(kept)


def _is_generated_name(part: str) -> bool:
    """Whether a part of a qualified name was generated by a compiler, such as `func1` in Go or a hash in Rust."""
    return part.removeprefix("func").isdigit() or (
        len(part) == _RUST_HASH_CHARACTERS and part[0] == "h" and _HEXADECIMAL.issuperset(part[1:])
    )


def truncate_query(text: str) -> str:
    """Return the beginning and the end of a long query."""
    if len(text) <= _HEAD_CHARACTERS + _TAIL_CHARACTERS:
        return text
    return f"{text[:_HEAD_CHARACTERS]}\n{text[-_TAIL_CHARACTERS:]}"


def parse_issue(text: str) -> Issue:
    """Parse an issue in linear time."""
    first, *lines = _remove_comments(text).strip().split("\n")
    issue = Issue(_clean_title(first))
    is_irrelevant = is_fenced = False
    frames: list[FileMention] = []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped.startswith(("```", "~~~")):
            is_fenced = not is_fenced
            continue
        if mentions := _mentions_in(line):
            framed, _ = _parse_frame(line, lines[number - 1] if number else "", lines[number + 1 : number + 3])
            frames += [framed, *mentions[1:]] if framed else mentions
            issue.functions += _functions_in_frame(stripped)
        if is_fenced:
            issue.code += [] if is_irrelevant or mentions else [line]
            continue
        heading = _heading_text(stripped)
        if heading:
            is_irrelevant = _is_irrelevant_heading(heading)
            issue.prose += [] if is_irrelevant or heading.startswith(_TEMPLATE_HEADINGS) else [heading]
        elif not is_irrelevant:
            _add_line(issue, line, stripped)
    issue.mentions = [*map(FileMention, _paths_in(issue.title)), *_weigh_mentions(frames[:_MAX_MENTIONS])]
    return issue


def _clean_title(line: str) -> str:
    """Return an issue title without links and labels such as `[Bug]: `, `🐛 Bug Report: `, `FEAT: `."""
    words = [word for word in line.strip("# \t").split() if "://" not in word]
    title = " ".join(words)
    label, colon, rest = title.partition(":")
    if title.startswith("[") and "]" in title[:_MAX_LABEL_CHARACTERS]:
        label, colon, rest = title.partition("]")
    is_label = _LABEL_WORDS.issuperset("".join(char if char.isalpha() else " " for char in label.lower()).split())
    return rest.strip(": ") or title if colon and is_label else title


def _add_line(issue: Issue, line: str, stripped: str) -> None:
    """Add a line outside code fences to the issue: prose with its quotations, or indented code."""
    if not stripped or stripped.startswith((*_CHECKBOX_PREFIXES, *_NON_PROSE_PREFIXES)):
        return
    if line.startswith(("    ", "\t")) or stripped.startswith(">>>"):
        issue.code.append(line)
        return
    quoted = stripped.split("`")[1::2]
    issue.quoted += [span for span in quoted if span and len(span) < _MAX_SPAN_CHARACTERS]
    issue.prose.append(" ".join(word for word in stripped.split() if "://" not in word))


def _remove_comments(text: str) -> str:
    """Remove HTML comments, which contain template instructions."""
    kept: list[str] = []
    at = 0
    while (opened := text.find("<!--", at)) >= 0:
        kept.append(text[at:opened])
        closed = text.find("-->", opened)
        if closed < 0:
            return "".join(kept)
        at = closed + 3
    return "".join((*kept, text[at:]))


def _heading_text(stripped: str) -> str:
    """Return the text of a Markdown heading or bold line in lower case; an empty string for any other line."""
    is_bold = (
        stripped.startswith("**") and stripped.rstrip(":").endswith("**") and len(stripped) < _MAX_HEADING_CHARACTERS
    )
    return stripped.strip("#*: ").lower() if stripped.startswith("#") or is_bold else ""


def _is_irrelevant_heading(heading: str) -> bool:
    """Whether the heading belongs to a section of an issue template that is ignored."""
    return heading.startswith(_IRRELEVANT_HEADINGS) or "version" in heading or "environment" in heading


def _mentions_in(line: str) -> list[FileMention]:
    """Return the files that a line mentions, in a stack frame of any language or as `path:12`."""
    if "." not in line:
        return []
    words = line.translate(_FRAME_PUNCTUATION).split()
    found = []
    for number, word in enumerate(words):
        if "." not in word:
            continue
        path, *rest = word.removeprefix("file://").split(":")
        if len(path) == 1 and rest:  # Windows drive letter
            path, *rest = rest
        if not _is_path(path):
            continue
        following = [*rest, *words[number + 1 : number + 3]]
        numbers = list(filter(None, map(_line_number, following)))
        has_line_word = bool(rest) or "line" in following
        has_line = bool(numbers) and (has_line_word or _line_number(following[0]) == numbers[0])
        found.append(FileMention(path, int(numbers[0]) if has_line else 0))
    return found


def _line_number(text: str) -> str:
    """Return the digits of a line number or of the first line in a range such as `12-40`, else an empty string."""
    first = text.partition("-")[0]
    return first if first.isascii() and first.isdigit() and len(first) < _MAX_DIGITS else ""


def _paths_in(text: str) -> list[str]:
    return [mention.path for mention in _mentions_in(text)]


def _is_path(word: str) -> bool:
    name = word.replace("\\", "/").rsplit("/", 1)[-1]
    stem, _, suffix = name.rpartition(".")
    return bool(stem) and suffix.lower() in _SOURCE_SUFFIXES and len(word) < _MAX_PATH_CHARACTERS


def _functions_in_frame(frame: str) -> list[str]:
    """Return the function name after `in` or `at` in a stack frame, as a list with at most one name."""
    words = frame.replace("(", " ").split()
    for mark in ("in", "at"):
        if mark in words[:-1]:
            name = words[words.index(mark) + 1].strip("`'\",:")
            if name.replace(".", "").replace("_", "").isalnum() and len(name) < _MAX_NAME_CHARACTERS:
                return [name]
    return []


def _are_python_files(mentions: list[FileMention]) -> bool:
    return sum(mention.path.endswith(".py") for mention in mentions) * 2 > len(mentions)


def _weigh_mentions(mentions: list[FileMention]) -> list[FileMention]:
    """Return the mentioned files with weights that decrease with the distance from the innermost frame."""
    is_python = _are_python_files(mentions)  # only Python prints the innermost stack frame last
    frames = [mention for mention in mentions if mention.line]
    order = list(dict.fromkeys(mention.path for mention in (reversed(frames) if is_python else frames)))
    frame_weight = {path: 1 / (1 + number) for number, path in enumerate(order)}
    unique = {mention.path: mention for mention in (mentions if is_python else reversed(mentions))}
    return [replace(mention, frame_weight=frame_weight.get(path, 1.0)) for path, mention in unique.items()]


def _identifiers_in(texts: list[str]) -> list[str]:
    """Return the identifiers in the texts, most frequent first."""
    counted: Counter[str] = Counter()
    for word in " ".join(texts).split():
        if word.strip(_PUNCTUATION).isalpha() and _is_plain_word(word.strip(_PUNCTUATION)):
            continue  # for speed, because most words are not identifiers
        for match in NAME_OR_PATH.finditer(word):
            name = match[0]
            if 2 < len(name) < _MAX_NAME_CHARACTERS and _is_name(name, word[match.end() : match.end() + 1]):
                counted[name] += 1
    return [name for name, _ in counted.most_common()]


def _is_plain_word(letters: str) -> bool:
    return letters[1:].islower() or letters.isupper()


def _is_name(name: str, following: str) -> bool:
    if name.isalpha() and _is_plain_word(name) and following != "(":
        return False
    return "." in name or SYMBOL_SIGNS.search(name + following) is not None
