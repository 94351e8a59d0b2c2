"""Replacement of include directives with the contents of the included files.

Supported are the directives of reStructuredText, AsciiDoc and MyST, MkDocs snippets, and code imports of VitePress and
FastAPI. Each directive is on a separate line. Lines are scanned without regular expressions.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from deltos.markup.text import fenced, split_front_matter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.markup.formats import Format

MAX_PAGE_CHARACTERS = 2_000_000  # include directives are not replaced in pages with more characters
MAX_INCLUDES = 200  # maximum number of files that one page includes
MAX_INCLUDED_CHARACTERS = 2_000_000  # maximum total number of characters that one page includes
MAX_INCLUDE_DEPTH = 5  # maximum nesting depth of files that include other files
_MAX_ATTRIBUTES = 200  # maximum number of attributes of an AsciiDoc page
_MAX_LINE_CHARACTERS = 1_000  # maximum number of characters of a line with a directive
_LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "rb": "ruby", "sh": "bash", "yml": "yaml",
    "cs": "csharp", "kt": "kotlin", "md": "markdown",
}  # fmt: skip
_PROSE_SUFFIXES = (".md", ".mdx", ".markdown", ".rst", ".rest", ".txt", ".inc", ".adoc", ".asciidoc", ".asc")
_FENCES = ("```", "~~~")
_REGION_STARTS = ("#region ", "tag::", "[start:", "anchor: ")
_REGION_ENDS = ("#endregion", "end::", "[end:", "anchor_end: ")


class _Include(NamedTuple):
    """An include directive: the included file, the selected lines or region, and whether the text is a code block."""

    path: str
    is_code: bool = False
    language: str = ""
    lines: str = ""  # "3-7,9-"
    region: str = ""
    start_after: str = ""
    end_before: str = ""
    indent: str = ""


@dataclass(slots=True)
class Includer:
    """Replacement of the include directives of one page with the contents of the included files.

    `read` returns the text of a file in the folder, or None if the file cannot be read; in this case the directive is
    left unchanged. `attempts` counts the requested files.
    """

    read: Callable[[str], str | None]
    attempts: int = 0
    _characters: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the page has reached the maximum number of included files or characters."""
        return self.attempts >= MAX_INCLUDES or self._characters >= MAX_INCLUDED_CHARACTERS

    def expand(self, text: str, form: Format, path: str, depth: int = 0) -> str:
        """Return the text of the file at `path` with its include directives replaced by the included files."""
        find = {"markdown": _markdown_includes, "rst": _rst_includes, "asciidoc": _asciidoc_includes}.get(form)
        if find is None or depth > MAX_INCLUDE_DEPTH or len(text) > MAX_PAGE_CHARACTERS:
            return text
        lines = text.split("\n")
        pieces: list[str] = []
        at = 0
        for start, end, include in find(lines):
            if self.is_full:
                break
            if (found := self._render_include(include, form, path, depth)) is not None:
                pieces += lines[at:start]
                pieces.append(found)
                at = end
        return "\n".join(pieces + lines[at:]) if at else text

    def _render_include(self, include: _Include, form: Format, path: str, depth: int) -> str | None:
        """Return the text that replaces a directive, or None if its file cannot be read."""
        found = self._read_first_candidate(include.path, path)
        if found is None:
            return None
        name, text = found
        text = _select_part(text, include)
        if not include.is_code and name.endswith(_PROSE_SUFFIXES):
            text = self.expand(text, form, name, depth + 1)
            text = split_front_matter(text)[1].lstrip("\n") if form == "markdown" else text
        if include.is_code:
            language = include.language or _language_of_suffix(name)
            text = _rst_code_block(text, language) if form == "rst" else fenced(text, language)
        return "\n".join(include.indent + line if line else line for line in text.split("\n"))

    def _read_first_candidate(self, wanted: str, path: str) -> tuple[str, str] | None:
        """Return the path and text of an included file from the first location that can be read, or None."""
        self.attempts += 1
        for candidate in _candidate_paths(wanted, path):
            text = self.read(candidate)
            if text is not None:
                self._characters += len(text)
                return candidate, text
        return None


def _candidate_paths(wanted: str, path: str) -> Iterator[str]:
    """Yield the possible paths of an included file: first in the page's folder, then in the folders above it."""
    folder = "" if wanted.startswith(("/", "@/")) else posixpath.dirname(path)
    target = wanted.removeprefix("@").lstrip("/")
    seen = set()
    while True:
        candidate = posixpath.normpath(posixpath.join(folder, target))
        if not candidate.startswith("..") and candidate not in seen and candidate != path:
            seen.add(candidate)
            yield candidate
        if not folder:
            return
        folder = posixpath.dirname(folder)


def _language_of_suffix(name: str) -> str:
    """Return the language of a file, determined by its suffix."""
    suffix = posixpath.splitext(name)[1][1:].lower()
    return _LANGUAGES.get(suffix, suffix)


def _rst_code_block(text: str, language: str) -> str:
    """Return the text as a code block of reStructuredText."""
    body = "\n".join(f"    {line}" if line else line for line in text.split("\n"))
    return f".. code-block:: {language or 'text'}\n\n{body}\n"


# ---------------------------------------------------------------------- selection of the included part


def _select_part(text: str, include: _Include) -> str:
    """Return the part of the included text that the directive selects."""
    lines = text.split("\n")
    if include.region:
        lines = _select_region(lines, include.region)
    if include.start_after:
        lines = lines[next((n + 1 for n, line in enumerate(lines) if include.start_after in line), 0) :]
    if include.end_before:
        lines = lines[: next((n for n, line in enumerate(lines) if include.end_before in line), len(lines))]
    if include.lines:
        chosen = _line_numbers(include.lines, len(lines))
        lines = [lines[n - 1] for n in chosen] or lines
    return "\n".join(lines).strip("\n")


def _select_region(lines: list[str], name: str) -> list[str]:
    """Return the lines of the region `name`, or all lines if the region does not exist."""
    start = next((n for n, line in enumerate(lines) if _is_region_marker(line, _REGION_STARTS, name)), None)
    if start is None:
        return lines
    end = next((n for n in range(start + 1, len(lines)) if _is_region_marker(lines[n], _REGION_ENDS, name)), len(lines))
    return [line for line in lines[start + 1 : end] if not any(mark in line for mark in ("tag::", "end::"))]


def _is_region_marker(line: str, marks: tuple[str, ...], name: str) -> bool:
    """Whether a line marks the start or end of the region `name`."""
    lowered = line.lower()
    for mark in marks:
        at = lowered.find(mark)
        if at >= 0:
            rest = line[at + len(mark) :].strip()
            if not rest or rest.split("[")[0].split("]")[0].split()[:1] == [name]:
                return True
    return False


def _line_numbers(spec: str, last: int) -> list[int]:
    """Return the line numbers in a text such as `2-4,7-`, which means 2, 3, 4, and 7 to `last`."""
    chosen: list[int] = []
    for part in spec.split(",")[:100]:
        first, dash, end = part.strip().partition("-")
        if first.isdecimal() or (dash and not first):
            begin = int(first[:9]) if first else 1
            stop = (int(end[:9]) if end.isdecimal() else last) if dash else begin
            chosen += range(max(begin, 1), min(stop, last) + 1)
        if len(chosen) > last:
            break
    return chosen[:last]


# ---------------------------------------------------------------------- syntax of each format

_LocatedInclude = tuple[int, int, _Include]


def _rst_includes(lines: list[str]) -> Iterator[_LocatedInclude]:
    at = 0
    while at < len(lines):
        stripped = lines[at].lstrip()
        name = next((word for word in ("literalinclude", "include") if stripped.startswith(f".. {word}::")), "")
        if not name or len(stripped) > _MAX_LINE_CHARACTERS:
            at += 1
            continue
        indent = lines[at][: len(lines[at]) - len(stripped)]
        options, end = _read_options(lines, at + 1)
        is_code = name == "literalinclude" or "literal" in options or "code" in options
        yield (
            at,
            end,
            _Include(
                stripped.partition("::")[2].strip(),
                is_code=is_code,
                language=options.get("language", options.get("code", "")),
                lines=options.get("lines", ""),
                start_after=options.get("start-after", ""),
                end_before=options.get("end-before", ""),
                indent=indent,
            ),
        )
        at = end


def _read_options(lines: list[str], at: int) -> tuple[dict[str, str], int]:
    """Return the options (`:name: value` lines) of a directive and the index of the next line."""
    options = {}
    while at < len(lines) and lines[at][:1] in (" ", "\t") and lines[at].lstrip().startswith(":"):
        name, _, value = lines[at].strip()[1:].partition(":")
        options[name.strip()] = value.strip()
        at += 1
    return options, at


def _asciidoc_includes(lines: list[str]) -> Iterator[_LocatedInclude]:
    values: dict[str, str] = {}
    for at, line in enumerate(lines):
        if len(line) > _MAX_LINE_CHARACTERS:
            continue
        if line.startswith(":") and line[1:2].isalnum():
            name, _, value = line[1:].partition(":")
            if len(values) < _MAX_ATTRIBUTES:
                values[name] = value.strip()
        elif line.startswith("include::") and line.rstrip().endswith("]"):
            path, _, given = line.removeprefix("include::").rstrip().removesuffix("]").partition("[")
            for name in values if "{" in path else ():
                path = path.replace(f"{{{name}}}", values[name])
            attributes = dict(_parse_attribute(part) for part in given.split(",") if "=" in part)
            numbers = attributes.get("lines", "").replace("..", "-").replace(";", ",")
            region = attributes.get("tag", attributes.get("tags", "")).split(";")[0]
            yield at, at + 1, _Include(path.strip(), lines=numbers, region=region)


def _parse_attribute(part: str) -> tuple[str, str]:
    name, _, value = part.partition("=")
    return name.strip(), value.strip().strip('"')


def _markdown_includes(lines: list[str]) -> Iterator[_LocatedInclude]:
    fence = ""
    at = 0
    while at < len(lines):
        stripped = lines[at].strip()
        end, include = at + 1, None
        if len(stripped) <= _MAX_LINE_CHARACTERS:
            if stripped.startswith(_FENCES):
                end, include = _parse_myst_include(lines, at) if not fence else (end, None)
                if include is None:
                    fence = _open_fence(fence, stripped)
            else:
                include = _parse_markdown_include(stripped)
        if include is not None:
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
            yield at, end, include._replace(indent=indent, is_code=include.is_code and not fence)
        at = end


def _open_fence(fence: str, stripped: str) -> str:
    """Return the code fence that is open after a line, or an empty string if the line closes the fence."""
    if not fence:
        return stripped[:3]
    return "" if stripped.startswith(fence) and not stripped.strip(fence[0]) else fence


def _parse_markdown_include(stripped: str) -> _Include | None:
    """Parse an include directive of MkDocs, VitePress, FastAPI or markdown-include, or return None."""
    if stripped.startswith('--8<-- "') and stripped.endswith('"'):
        return _parse_snippet(stripped[8:-1])
    if stripped.startswith("--8<-- '") and stripped.endswith("'"):
        return _parse_snippet(stripped[8:-1])
    if stripped.startswith("<<< "):
        location = stripped[4:].split("{")[0].split(" [")[0].strip()
        path, _, region = location.partition("#")
        return _Include(path, is_code=True, region=region)
    if stripped.startswith("{* ") and stripped.endswith(" *}"):
        path, *settings = stripped[3:-3].split() or [""]
        chosen = next((each[3:-1] for each in settings if each.startswith("ln[") and each.endswith("]")), "")
        return _Include(path, is_code=True, lines=chosen.replace(":", "-"))
    if stripped.startswith("{!") and stripped.endswith("!}"):
        return _Include(stripped[2:-2].lstrip("> ").split(" [")[0].strip())
    return None


def _parse_snippet(location: str) -> _Include:
    """Parse the location of an MkDocs snippet: `path`, `path:region` or `path:first:last`."""
    path, *rest = location.split(":")
    if rest and all(not part or part.isdecimal() for part in rest[:2]):
        return _Include(path, lines=f"{rest[0] or 1}-{rest[1] if len(rest) > 1 else ''}")
    return _Include(path, region=rest[0] if rest else "")


def _parse_myst_include(lines: list[str], at: int) -> tuple[int, _Include | None]:
    """Parse a fenced MyST include. Return the index of the next line, and the include or None."""
    stripped = lines[at].strip()
    head = stripped.lstrip("`~")
    name, _, path = head.partition("}")
    if name not in ("{include", "{literalinclude") or not path.strip():
        return at + 1, None
    mark = stripped[: len(stripped) - len(head)]
    end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == mark), len(lines) - 1)
    options = {}
    for line in lines[at + 1 : end]:
        option, _, value = line.strip()[1:].partition(":")
        options[option] = value.strip()
    is_code = name == "{literalinclude"
    return end + 1, _Include(
        path.strip(),
        is_code,
        options.get("language", ""),
        options.get("lines", ""),
        start_after=options.get("start-after", ""),
        end_before=options.get("end-before", ""),
    )
