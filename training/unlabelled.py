"""Extract texts and query-like texts from downloaded packages, for distill_questions.py.

Texts are passages of documentation, definitions of source files and entries of change logs. Query-like texts are
headings, sentences, and words in the order of a passage.
"""

from __future__ import annotations

import html
import random
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from training.archives import members, project_name
from training.excluded import is_excluded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from training.archives import Member

MEMORY, DOCS, CODE = 1, 2, 3  # as in distill.py
MAX_TEXTS = {DOCS: 1_500, CODE: 600, MEMORY: 80}  # per package
MAX_CHANGES_PER_FILE = 40
_CODE_SUFFIXES = frozenset(
    ".py .rb .js .ts .mjs .go .rs .php .pm .pl .lua .java .c .h .cpp .hpp .sh .scala .kt .cs".split()
)
_TEXT_SUFFIXES = frozenset(".md .rst .txt .adoc".split())
_PASSAGE_CHARACTERS = (350, 600, 800, 1_000, 1_200)
_MAX_SECTION_CHARACTERS = 1_100  # longer sections are split into passages
_MAX_DEFINITION_LINES = 50
_MAX_LINE_CHARACTERS = 1_500

_HEADING = re.compile(r"<h([1-6])\b[^>]*>(.*?)</h[1-6]>", re.DOTALL | re.IGNORECASE)
_DROPPED = re.compile(r"<(script|style|nav|header|footer|head)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_LINE_END = re.compile(r"</(?:p|div|li|tr|pre|dt|dd|table|ul|ol)>|<br[^>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_SPACES = re.compile(r"[ \t\xa0]+")
_MARKED_HEADING = re.compile(r"(#{1,6}|={1,5}) +(\S.*)")
_ROFF_HEADING = re.compile(r'^\.S[HS]\s+"?(.*?)"?\s*$', re.MULTILINE)
_ROFF_COMMAND = re.compile(r"^\.[A-Za-z]+[ \t]*", re.MULTILINE)
_ROFF_FONT = re.compile(r"\\f[A-Z]|\\f\(..|\\&")
_CHANGE_START = re.compile(r"\n\s*(?:[*+-]|\d+\.)\s+")
_KEYWORDS = "def|class|fn|func|function|impl|struct|interface|type|trait|module|sub|enum|object|record|package"
_MODIFIERS = "pub|async|export|default|static|public|private|protected|final|abstract|inline|const|unsafe|override"
_DEFINITION = re.compile(rf"^\s{{0,8}}(?:(?:{_MODIFIERS})\s+)*(?:{_KEYWORDS})\s+(?:\([^)]*\)\s*)?([A-Za-z_$][\w$.:]*)")
_COMMENT = re.compile(r"^\s*(?://+|#+(?!\[|include|define|if|endif)|--+|;+|/?\*+/?)\s?(.*)$")
_SENTENCE_END = re.compile(r"(?<=[a-z)`0-9][.!?])\s+(?=[A-Z`])")
_WORD = re.compile(r"[A-Za-z][\w.-]*[A-Za-z]")
_QUESTION_STARTS = ("how to", "how do I", "why does", "where is", "what happens when", "can I", "what is")


@dataclass(slots=True)
class Extracted:
    """Texts of a package with their domain, and query-like texts."""

    texts: list[tuple[int, str]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)


def extract(archive: Path) -> Extracted:
    """Return the texts of a package, or nothing if the package is excluded."""
    found, name = Extracted(), project_name(archive)
    if is_excluded(name):
        return found
    rng, counts = random.Random(name), dict.fromkeys(MAX_TEXTS, 0)
    seen: set[str] = set()
    files = list(members(archive))
    rng.shuffle(files)
    for file in files:
        for domain, text, queries in _texts_of(file, rng):
            key = text[-150:]
            if counts[domain] < MAX_TEXTS[domain] and key not in seen:
                seen.add(key)
                counts[domain] += 1
                found.texts.append((domain, text))
                found.queries += queries
    return found


def _texts_of(file: Member, rng: random.Random) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the texts of a file with their domain and their queries."""
    try:
        data = file.data.decode("utf-8")
    except UnicodeDecodeError:
        return
    path = Path(file.path)
    suffix = path.suffix.lower()
    if path.name.startswith(("changelog", "NEWS", "CHANGES", "History")) and suffix != ".html":
        changes = [_SPACES.sub(" ", change.replace("\n", " ")).strip()[:600] for change in _CHANGE_START.split(data)]
        for change in rng.sample(changes, min(len(changes), MAX_CHANGES_PER_FILE)):
            if _is_prose(change):
                yield MEMORY, change, [change[:200]]
    elif suffix in _CODE_SUFFIXES:
        for symbol, comment, body in _definitions(data):
            yield CODE, f"{file.path} {symbol} {body}", list(_queries(comment, rng)) if len(comment) > 25 else []
    elif sections := _sections(path, data):
        for trail, section in sections:
            for passage in _passages(section, rng):
                if _is_prose(passage):
                    heading = trail.rpartition(" > ")[2]
                    yield DOCS, f"{trail}\n{passage}", [*filter(None, [heading]), *_queries(passage, rng)]


def _sections(path: Path, data: str) -> Iterator[tuple[str, str]] | None:
    """Return the sections of a document with their trails of headings, or None for other files."""
    if path.suffix.lower() in (".html", ".htm"):
        return _html_sections(data)
    if "/man/man" in path.as_posix():
        return _manual_sections(path.name.partition(".")[0], data)
    if path.suffix.lower() in _TEXT_SUFFIXES or path.name.startswith("README"):
        return _text_sections(data)
    return None


def _html_sections(data: str) -> Iterator[tuple[str, str]]:
    parts = _HEADING.split(_DROPPED.sub("", data))
    trail: dict[int, str] = {}
    yield "", _plain_text(parts[0])
    for level, heading, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        trail = {key: value for key, value in trail.items() if key < int(level)}
        trail[int(level)] = _plain_text(heading).replace("\n", " ")[:100]
        yield " > ".join(trail[key] for key in sorted(trail)), _plain_text(body)


def _plain_text(fragment: str) -> str:
    text = html.unescape(_TAG.sub("", _LINE_END.sub("\n", fragment))).replace("¶", "")
    return "\n".join(line for line in (_SPACES.sub(" ", each).strip() for each in text.split("\n")) if line)


def _text_sections(data: str) -> Iterator[tuple[str, str]]:
    trail: dict[int, str] = {}
    lines: list[str] = []
    for line in data.split("\n"):
        if heading := _MARKED_HEADING.match(line):
            yield " > ".join(trail[key] for key in sorted(trail)), "\n".join(lines)
            trail = {key: value for key, value in trail.items() if key < len(heading[1])}
            trail[len(heading[1])] = heading[2].strip("# =")[:100]
            lines = []
        elif line.strip():
            lines.append(line.rstrip())
    yield " > ".join(trail[key] for key in sorted(trail)), "\n".join(lines)


def _manual_sections(name: str, data: str) -> Iterator[tuple[str, str]]:
    parts = _ROFF_HEADING.split(data)
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        text = _ROFF_FONT.sub("", _ROFF_COMMAND.sub("", body)).replace("\\-", "-")
        yield f"{name} > {heading.title()}", "\n".join(line for line in text.split("\n") if line.strip())


def _passages(section: str, rng: random.Random) -> Iterator[str]:
    """Yield a short section, or passages of a long section from two different starting points."""
    if len(section) <= _MAX_SECTION_CHARACTERS:
        yield section
        return
    for start in (0, rng.randrange(400)):
        at = start
        while at < len(section):
            size = rng.choice(_PASSAGE_CHARACTERS)
            end = section.rfind("\n", at + size // 2, at + size)
            end = end if end > at else at + size
            yield section[at:end].strip()
            at = end


def _is_prose(text: str) -> bool:
    letters = sum(character.isascii() and (character.isalpha() or character == " ") for character in text)
    return len(text) >= 50 and letters >= 0.62 * len(text)


def _definitions(data: str) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the comment before, and the lines of each definition of a source file."""
    lines = data.split("\n")
    if max(map(len, lines)) > _MAX_LINE_CHARACTERS:
        return
    starts = [(number, match[1]) for number, line in enumerate(lines) if (match := _DEFINITION.match(line))]
    begins = []
    for number, name in starts:
        begin = number
        while begin and _COMMENT.match(lines[begin - 1]):
            begin -= 1
        begins.append((begin, number, name))
    for (begin, number, name), (end, _, _) in pairwise([*begins, (len(lines), 0, "")]):
        comment = " ".join(match[1] for line in lines[begin:number] if (match := _COMMENT.match(line)))
        if end - begin >= 3:
            yield name, comment, "\n".join(lines[begin : min(end, begin + _MAX_DEFINITION_LINES)])


def _queries(text: str, rng: random.Random) -> Iterator[str]:
    """Yield texts of the length of queries: sentences, some of them as questions, and words in order."""
    sentences = _SENTENCE_END.split(text.replace("\n", " "))
    for sentence in rng.sample(sentences, min(5, len(sentences))):
        if 3 <= len(sentence.split()) <= 28 and _is_prose(sentence.ljust(50)):
            asked = rng.random() < 0.2
            bare = sentence.rstrip(".")
            yield f"{rng.choice(_QUESTION_STARTS)} {bare[:1].lower()}{bare[1:]}" if asked else bare
    words = _WORD.findall(text)
    if len(words) > 14:
        yield " ".join(words[index] for index in sorted(rng.sample(range(len(words)), rng.randint(2, 7))))
        start = rng.randrange(len(words) - 8)
        yield " ".join(words[start : start + rng.randint(3, 8)])
