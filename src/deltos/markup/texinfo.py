"""Parser of Texinfo, the source format of GNU manuals.

Nodes become anchors; definitions and items become reference entries. Macros are not expanded: definitions of macros,
conditional text and includes are ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import collapse, fenced, unique_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_HEADING_RANKS = {
    **dict.fromkeys(("top", "chapter", "unnumbered", "appendix", "majorheading", "chapheading", "part"), 2),
    **dict.fromkeys(("section", "unnumberedsec", "appendixsec", "heading"), 3),
    **dict.fromkeys(("subsection", "unnumberedsubsec", "appendixsubsec", "subheading"), 4),
    **dict.fromkeys(("subsubsection", "unnumberedsubsubsec", "appendixsubsubsec", "subsubheading"), 5),
}
_ENTRY_RANK = 10  # deeper than the rank of any heading; each level of nested tables adds 1
_MAX_ENTRY_DEPTH = 20
_CODE_ENVIRONMENTS = frozenset(
    "example smallexample lisp smalllisp display smalldisplay format smallformat verbatim".split()
)
_TABLES = frozenset("table ftable vtable".split())
_LISTS = frozenset("itemize enumerate multitable".split())
_SKIPPED_ENVIRONMENTS = frozenset(
    "menu detailmenu ignore tex iftex html ifhtml xml ifxml docbook ifdocbook macro rmacro".split()
)
_SKIPPED_ENVIRONMENTS |= frozenset("direntry copying titlepage ifset ifclear documentdescription".split())
_MAX_NAMED_VALUES = 1_000  # maximum number of values that @set commands may define
_MAX_BRACES = 100  # maximum nesting depth of braces in a line of text
# Number of arguments before the name in definition commands: 0 in `@defun NAME …`, 1 in `@deffn CATEGORY NAME …`.
_DEFINITIONS = {
    **dict.fromkeys("defun defmac defspec defvar defopt".split(), 0),
    **dict.fromkeys("deffn defvr deftypefun deftypevar deftp defcv defop".split(), 1),
    **dict.fromkeys("deftypefn deftypevr deftypeop deftypecv".split(), 2),
}
_CODE_COMMANDS = frozenset("code samp kbd command option file env verb t key".split())
_EMPHASIS_COMMANDS = frozenset("emph strong i b".split())
_REFERENCES = frozenset("xref ref pxref inforef link".split())
_SYMBOLS = {
    "dots": "…", "enddots": "…", "copyright": "©", "bullet": "•", "minus": "-", "result": "⇒", "expansion": "↦",
    "print": "⊣", "error": "error→", "equiv": "≡", "point": "⋆", "TeX": "TeX", "LaTeX": "LaTeX", "arrow": "→",
    "registeredsymbol": "®", "euro": "€", "pounds": "£", "tie": " ", "atchar": "@", "lbracechar": "{",
    "rbracechar": "}", "comma": ",",
}  # fmt: skip
_ARGUMENT = re.compile(r"(?:[^ {}]|\{[^{}]*+\}|[{}])++")
_TOKEN = re.compile(r"@(?P<name>[A-Za-z]++)(?P<brace>\{?)|@(?P<sign>.?)|(?P<text>[^@{}]++)|[{}]", re.DOTALL)
_OMITTED_COMMANDS = frozenset("anchor cindex footnote image".split())


def parse_texinfo(text: str, *, title: str = "") -> Document:
    """Parse a Texinfo file into sections."""
    reader = _TexinfoReader()
    for line in text.replace("\r\n", "\n").split("\n"):
        reader.process_line(line)
    reader.flush()
    sections = reader.outline.sections()
    return Document(title=reader.title or title or first_heading(sections), sections=sections)


class _TexinfoReader:
    """Line-by-line reader that builds an outline and tracks the open paragraph, code block and lists."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.title = ""
        self._values: dict[str, str] = {}
        self._slugs: dict[str, int] = {}
        self._open: list[str] = []
        self._code: list[str] | None = None
        self._environment = ""  # name of the open environment whose lines are skipped or contain code
        self._lists: list[str] = []
        self._handlers: dict[str, Callable[[str, str], None]] = {
            **dict.fromkeys(_SKIPPED_ENVIRONMENTS, self._start_skipping),
            **dict.fromkeys(_CODE_ENVIRONMENTS, self._start_code),
            **dict.fromkeys(_HEADING_RANKS, self._add_heading),
            **dict.fromkeys(_TABLES | _LISTS, self._start_list),
            **{f"{name}{further}": self._start_definition for name in _DEFINITIONS for further in ("", "x")},
            **dict.fromkeys(("item", "itemx"), self._start_item),
            **dict.fromkeys(("settitle", "title"), self._set_title),
            "end": self._close_list,
            "node": self._add_node_anchor,
            "anchor": self._add_node_anchor,
            "set": self._set_value,
            "tab": self._add_cell,
        }

    def process_line(self, line: str) -> None:
        """Process the next line of the file."""
        command, rest = _split_command(line)
        if self._environment:
            self._process_environment_line(line, command, rest)
        elif handler := self._handlers.get(command):
            handler(command, rest)
        elif not command:
            self._process_text_line("" if line.startswith("\\input ") else line)

    def flush(self) -> None:
        """Add the open paragraph or list item to the outline."""
        text = collapse(" ".join(self._open))
        is_item = bool(self._lists) and self._lists[-1] in _LISTS
        self.outline.add_block(f"- {text}" if is_item and text else text, "item" if is_item else "prose")
        self._open = []

    def _process_environment_line(self, line: str, command: str, rest: str) -> None:
        """Process a line of an environment that is skipped or contains code."""
        if command == "end" and rest == self._environment:
            self._environment = ""
            if self._code is not None:
                text = "\n".join(self._code).strip("\n")
                self.outline.add_block(fenced(text) if text else "", "code")
                self._code = None
        elif self._code is not None and self._environment == "verbatim":
            self._code.append(line)
        elif self._code is not None and command not in ("c", "comment", "group", "end", "cindex", "findex", "noindent"):
            self._code.append(self._convert_inline(line, is_code=True))

    def _process_text_line(self, line: str) -> None:
        if line.strip():
            self._open.append(self._convert_inline(line))
        else:
            self.flush()

    def _start_skipping(self, command: str, _rest: str) -> None:
        self._environment = command

    def _start_code(self, command: str, _rest: str) -> None:
        self.flush()
        self._environment, self._code = command, []

    def _start_list(self, command: str, _rest: str) -> None:
        self.flush()
        self._lists.append(command)

    def _add_node_anchor(self, _split_command: str, rest: str) -> None:
        self.flush()
        self.outline.add_anchor(self._convert_inline(rest.strip("{}").partition(",")[0]).replace(" ", "-"))

    def _set_title(self, _split_command: str, rest: str) -> None:
        self.title = self.title or self._convert_inline(rest)

    def _set_value(self, _split_command: str, rest: str) -> None:
        name, _, value = rest.partition(" ")
        if len(self._values) < _MAX_NAMED_VALUES:
            self._values[name] = value.strip()

    def _add_cell(self, _split_command: str, rest: str) -> None:
        self._open.append(f"| {self._convert_inline(rest)}")

    def _add_heading(self, command: str, rest: str) -> None:
        self.flush()
        self._lists = []
        if text := self._convert_inline(rest):
            self.outline.start_section(_HEADING_RANKS[command], text, [unique_slug(text, self._slugs)])

    @property
    def _entry_rank(self) -> int:
        return _ENTRY_RANK + min(sum(name in _TABLES for name in self._lists), _MAX_ENTRY_DEPTH)

    def _start_entry(self, name: str, *, is_further: bool) -> None:
        """Start a reference entry, or add another name to the last entry."""
        self.flush()
        anchors = [unique_slug(name, self._slugs)]
        if not (is_further and self.outline.add_heading_name(self._entry_rank, name, anchors)):
            self.outline.start_section(self._entry_rank, name, anchors, is_definition=True)

    def _start_definition(self, command: str, rest: str) -> None:
        is_further = command.endswith("x") and command not in _DEFINITIONS
        arguments = list(_split_arguments(rest))
        name = " ".join(arguments[_DEFINITIONS[command.removesuffix("x") if is_further else command] :])
        if name := self._convert_inline(name):
            self._start_entry(name, is_further=is_further)
        if not is_further:
            self._lists.append(command)

    def _start_item(self, command: str, rest: str) -> None:
        if self._lists and self._lists[-1] in _TABLES:
            self._start_entry(self._convert_inline(rest), is_further=command == "itemx")
        else:
            self.flush()
            self._open.append(self._convert_inline(rest))

    def _close_list(self, _split_command: str, name: str) -> None:
        """Close the innermost open list or definition called `name`."""
        self.flush()
        if name in self._lists:
            while self._lists:
                closed = self._lists.pop()
                if closed in _TABLES or closed in _DEFINITIONS:
                    self.outline.close_sections(self._entry_rank + (closed in _TABLES))
                if closed == name:
                    break

    def _convert_inline(self, text: str, *, is_code: bool = False) -> str:
        """Convert a text to Markdown: remove commands, and replace cross-references with the target's title."""
        pieces: list[list[str]] = [[]]
        commands: list[str] = []
        for kind, token in _tokenize(text):
            if kind == "open":
                if len(commands) < _MAX_BRACES:
                    commands.append(token)
                    pieces.append([])
            elif kind == "close":
                if commands:
                    inside = "".join(pieces.pop())
                    pieces[-1].append(self._format_command(commands.pop(), inside, is_code=is_code))
            elif kind == "command":
                pieces[-1].append(_SYMBOLS.get(token, ""))
            else:
                pieces[-1].append(token)
        joined = "".join("".join(piece) for piece in pieces)
        return joined if is_code else collapse(joined)

    def _format_command(self, command: str, inside: str, *, is_code: bool) -> str:
        parts = [part.strip() for part in inside.split(",")]
        if command in _SYMBOLS:
            return _SYMBOLS[command]
        if command == "value":
            return self._values.get(inside.strip(), "")
        if command in _OMITTED_COMMANDS:
            return ""
        if command in _REFERENCES:
            return next((part for part in (*parts[2:3], *parts[1:2], parts[0]) if part), "")
        if command in ("url", "uref", "email"):
            return f"{parts[1]} ({parts[0]})" if len(parts) > 1 and parts[1] else parts[0]
        if command == "acronym" or command == "abbr":
            return parts[0]
        if is_code or not inside.strip():
            return inside
        if command in _CODE_COMMANDS:
            return f"`{inside}`"
        return f"*{inside}*" if command in _EMPHASIS_COMMANDS else inside


def _split_command(line: str) -> tuple[str, str]:
    """Split a line into its command and the rest. The command is empty if the line is text such as `@code{x} is`."""
    if not line.startswith("@"):
        return "", line
    end = 1
    while end < len(line) and line[end].isalpha():
        end += 1
    name = line[1:end]
    is_line_command = name and (name == "anchor" or not line[end:].startswith("{"))
    return (name, line[end:].partition(" @c ")[0].strip()) if is_line_command else ("", line)


def _split_arguments(text: str) -> Iterator[str]:
    """Yield the arguments of a definition; an argument is a word or a group of words in braces."""
    for found in _ARGUMENT.finditer(text):
        argument = found[0]
        yield argument[1:-1] if argument.startswith("{") and argument.endswith("}") else argument


def _tokenize(text: str) -> Iterator[tuple[str, str]]:
    """Yield the type and text of each token: text, command, or opening or closing brace."""
    for found in _TOKEN.finditer(text):
        if name := found["name"]:
            yield ("open" if found["brace"] else "command"), name
        elif (sign := found["sign"]) is not None:  # one of `@@`, `@{`, `@}`, or a spacing command
            yield "text", sign if sign in "@{}" else ""
        elif found["text"]:
            yield "text", found["text"]
        else:
            yield ("open", "") if found[0] == "{" else ("close", "}")
