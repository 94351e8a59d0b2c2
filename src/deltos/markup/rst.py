"""Parser of reStructuredText titles, labels, directives and literal blocks. Directives are not executed."""

from __future__ import annotations

import re
import string
from itertools import takewhile

from deltos.markup.links import LinkCollector
from deltos.markup.model import Document
from deltos.markup.outline import Outline, first_heading
from deltos.markup.text import collapse, fenced

_DIRECTIVE = re.compile(r"^\.\. ++(?:\|[^|]+\| ++)?+([\w:+.-]++)(.*)")
_LABEL = re.compile(r"^\.\. _`?([^`:]+)`?: *(\S*)")
_OPTION = re.compile(r"^:[\w -]+:(?: |$)")
_REVERSED_ROLE = re.compile(r":[\w:+.-]*")
_LINK_WITH_TARGET = re.compile(r"`([^`<]+)<([^`>]+)>`__?")
_ITEM = re.compile(r"^(?:[-*+•]|\d+[.)]|#\.)\s+\S")
_CODE_DIRECTIVES = frozenset(
    "code code-block sourcecode highlight-block parsed-literal literalinclude ipython doctest testcode".split()
)
_SKIPPED_DIRECTIVES = frozenset(
    "toctree contents index image figure highlight module currentmodule py:module py:currentmodule raw meta"
    " only sectionauthor moduleauthor default-role role testsetup testcleanup".split()
)
# Include directives. They remain in the text only if the included file could not be read.
_INCLUDE_DIRECTIVES = frozenset(("include", "literalinclude"))
_DEFINITIONS = frozenset(
    """function class method attribute data exception classmethod staticmethod property decorator decoratormethod
    option cmdoption envvar macro type var member setting django-admin confval describe object""".split()
)
_DEFINITION_RANK = 50
_AUTODOC_PREFIX = "auto"  # prefix of directives that show docstrings, such as autofunction and autoclass
_MAX_DEPTH = 20  # maximum nesting depth of directives, because nested lines are parsed again at each level


def parse_rst(text: str, *, url: str, title: str = "") -> Document:
    """Parse the reStructuredText page at `url`. Labels and definitions become anchors."""
    reader = _RstReader(url)
    reader.read(text.expandtabs(8).replace("\r\n", "\n").split("\n"), depth=0)
    sections = reader.outline.sections()
    return Document(title=title or first_heading(sections), sections=sections, links=reader.links.links())


def is_definition(directive: str) -> bool:
    """Whether a directive documents an object, as `py:function` does."""
    return directive.rsplit(":", 1)[-1] in _DEFINITIONS


def named_object(directive: str, argument: str, body: list[str]) -> str:
    """Return the names of the object and members of an autodoc directive, or an empty string for other directives."""
    if not argument or not directive.rsplit(":", 1)[-1].startswith(_AUTODOC_PREFIX):
        return ""
    options = takewhile(_OPTION.match, body)
    named = [line.partition(":members:")[2] for line in options if line.startswith(":members:")]
    members = [member for line in named for member in line.replace(",", " ").split()]
    return ", ".join(f"`{name}`" for name in (argument, *members))


class _RstReader:
    """Reads a page and adds headings and blocks to an outline. The body of a directive is read like a page."""

    def __init__(self, url: str) -> None:
        self.outline = Outline()
        self.links = LinkCollector(url)
        self._styles: list[str] = []

    def read(self, lines: list[str], *, depth: int) -> None:
        """Add `lines` to the outline, as plain text if they are nested too deeply."""
        if depth > _MAX_DEPTH:
            self.outline.add_block("\n".join(lines))
            return
        at = 0
        while at < len(lines):
            if not lines[at].strip():
                at += 1
            elif (taken := self._read_title(lines, at)) or (taken := self._read_explicit_markup(lines, at, depth)):
                at += taken
            else:
                at += self._read_paragraph(lines, at, depth)

    def _read_title(self, lines: list[str], at: int) -> int:
        """Add the title at line `at`. Return its number of lines, or 0 if there is no title."""
        line = lines[at].rstrip()
        after = lines[at + 1].rstrip() if at + 1 < len(lines) else ""
        last = lines[at + 2].rstrip() if at + 2 < len(lines) else ""
        if _is_adornment(line):
            if after and last == line and len(line) >= len(after.strip()):
                self._start_titled_section(after.strip(), line[0] * 2)
                return 3
            return 1 if len(line) >= 4 and not after else 0
        if not line[0].isspace() and _is_adornment(after) and len(after) >= max(3, len(line)):
            self._start_titled_section(line, after[0])
            return 2
        return 0

    def _start_titled_section(self, text: str, style: str) -> None:
        if style not in self._styles:
            self._styles.append(style)
        plain = self._convert_inline(text).replace("`", "")
        anchor = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
        self.outline.start_section(1 + self._styles.index(style), plain, [anchor] if anchor else [])

    def _read_explicit_markup(self, lines: list[str], at: int, depth: int) -> int:
        """Read the directive, label or comment at line `at`. Return its number of lines, or 0 if there is none."""
        line = lines[at]
        if not line.startswith(".."):
            return 0
        body, taken = _indented_block(lines, at + 1)
        if label := _LABEL.match(line):
            if label.group(2):
                self.links.add(label.group(2), label.group(1))
            else:
                self.outline.add_anchor(label.group(1).strip().lower().replace("_", "-"))
            return 1
        if directive := _DIRECTIVE.match(line):
            name, rest = directive.groups()
            colons = name.find("::", 1)
            if colons > 0:
                self._read_directive(name[:colons].lower(), (name[colons + 2 :] + rest).strip(), body, depth)
        return 1 + taken

    def _read_directive(self, name: str, argument: str, body: list[str], depth: int) -> None:
        kind = name.rsplit(":", 1)[-1]
        content = _without_options(body)
        if kind in _INCLUDE_DIRECTIVES and not any(line.strip() for line in content):
            # This line shows readers that the included file is missing.
            self.outline.add_block(f"`.. {name}:: {argument}`")
        elif kind in _CODE_DIRECTIVES:
            language = argument if kind in ("code", "code-block", "sourcecode") else ""
            if code := "\n".join(content).strip("\n"):
                self.outline.add_block(fenced(code, language), "code")
        elif name in _SKIPPED_DIRECTIVES:
            return
        elif shown := named_object(name, argument, body):
            self.outline.add_block(shown)
            self.read(content, depth=depth + 1)
        elif kind in _DEFINITIONS and argument:
            self._read_definition(argument, body, depth)
        else:
            title = kind.replace("-", " ").capitalize()
            self.outline.add_block(f"**{title}** {self._convert_inline(argument)}".rstrip())
            self.read(content, depth=depth + 1)

    def _read_definition(self, argument: str, body: list[str], depth: int) -> None:
        more = list(takewhile(lambda line: line.strip() and not _OPTION.match(line), body))
        signatures = [argument, *(line.strip() for line in more)]
        anchors = [re.split(r"[\s(\[=]", signature)[0] for signature in signatures]
        rank = _DEFINITION_RANK + depth
        self.outline.start_section(rank, " / ".join(signatures), [a for a in anchors if a], is_definition=True)
        content = _without_options(body[len(more) :])
        if not any(line.strip() for line in content):
            content = [f"``{signature}``" for signature in signatures]  # without this text, the passage would be empty
        self.read(content, depth=depth + 1)
        self.outline.close_sections(rank)

    def _read_paragraph(self, lines: list[str], at: int, depth: int) -> int:
        """Read the paragraph, list item, table or quoted block at line `at`. Return its number of lines."""
        if lines[at].startswith(" "):
            body, taken = _indented_block(lines, at)
            self.read(body, depth=depth + 1)
            return max(taken, 1)
        end = at + 1
        is_item = bool(_ITEM.match(lines[at]))
        while end < len(lines) and lines[end].strip() and not (is_item and _ITEM.match(lines[end])):
            end += 1
        text = "\n".join(lines[at:end]).rstrip()
        if text.startswith(("+-", "====", "|")):
            self.outline.add_block(text)
        elif text.startswith(">>>"):
            self.outline.add_block(fenced(text), "code")
        else:
            self._add_prose(text, is_item=is_item)
        if text.endswith("::"):
            body, taken = _indented_block(lines, end)
            if code := "\n".join(body).strip("\n"):
                self.outline.add_block(fenced(code), "code")
            return end - at + taken
        return end - at

    def _add_prose(self, text: str, *, is_item: bool) -> None:
        text = collapse(self._convert_inline(text[:-1] if text.endswith("::") else text))
        if text.strip(":"):
            self.outline.add_block(text, "item" if is_item else "prose")

    def _convert_inline(self, text: str) -> str:
        """Convert inline markup: remove roles and link targets, and use single instead of double backquotes."""
        text = _LINK_WITH_TARGET.sub(self._extract_link, _without_roles(text))
        return text.replace("``", "`")

    def _extract_link(self, found: re.Match[str]) -> str:
        """Collect the link in a match, and return the text of the link."""
        title = found.group(1).rstrip() or " "
        self.links.add(found.group(2), collapse(title))
        return title


def _is_adornment(line: str) -> bool:
    """Whether a line consists of one repeated punctuation character, ignoring trailing white space."""
    return len(line) > 1 and line[0] in string.punctuation and line == line[0] * len(line)


def _without_roles(text: str) -> str:
    """Replace each role with its text in backquotes."""
    parts = text.split("`")
    shown: list[str] = []
    at = 0
    while at + 1 < len(parts):
        role = _role_length(parts[at]) if at + 2 < len(parts) and parts[at + 1] else 0
        if role:
            shown += (parts[at][:-role], "`", _role_text(parts[at + 1]), "`")
            at += 2
        else:
            shown += (parts[at], "`")
            at += 1
    return "".join((*shown, *parts[at:]))


def _role_length(text: str) -> int:
    """Return the number of characters of a role such as `:py:class:` at the end of the text, or 0."""
    found = _REVERSED_ROLE.match(text[::-1])
    colon = found.group().rfind(":") if found else 0
    return colon + 1 if colon > 1 else 0


def _role_text(text: str) -> str:
    """Return the text that readers see in place of a role: its title, or the name of its target."""
    return text.split("<", 1)[0].strip() if "<" in text else text.lstrip("~!")


def _indented_block(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the unindented block of indented or blank lines that starts at line `at`, and its number of lines."""
    end = at
    while end < len(lines) and (not lines[end].strip() or lines[end].startswith(" ")):
        end += 1
    body = lines[at:end]
    margin = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    return [line[margin:].rstrip() for line in body], end - at


def _without_options(body: list[str]) -> list[str]:
    """Return the body of a directive without its option lines."""
    at = 0
    while at < len(body) and _OPTION.match(body[at]):
        at += 1
    return body[at:]
