"""Replace comments and string literals in source code with spaces, fast but only approximately.

All other characters keep their positions. Strings that contain only one word are kept, because they may be names
(`"run"`, `'app.models'`).
"""

from __future__ import annotations

import re

_PYTHON = re.compile("#|\"\"\"|'''|\"|'")
_RUBY = re.compile("#|\"|'")
_PHP = re.compile("//|/\\*|#|\"|'")
_GO = re.compile("//|/\\*|\"|`|'")
_JVM = re.compile('//|/\\*|"""|"|\'')
_OTHER_LANGUAGES = re.compile("//|/\\*|\"|'")  # template literals are not replaced, because they may contain code
_OPENING_MARKS = {
    "python": _PYTHON,
    "ruby": _RUBY,
    "php": _PHP,
    "go": _GO,
    **dict.fromkeys(("java", "kotlin", "csharp", "scala", "groovy"), _JVM),
}
_CHARACTER_LITERAL_LANGUAGES = frozenset(
    "go java kotlin csharp scala groovy rust c cpp".split()
)  # languages in which single quotes enclose one character
_CLOSING_MARKS = {"//": "\n", "#": "\n", "/*": "*/", '"""': '"""', "'''": "'''", "`": "`"}
_QUOTED_END = {'"': re.compile(r'["\\\n]'), "'": re.compile(r"['\\\n]")}
_ONE_WORD = re.compile(r"[\w.:$\\/>-]{1,200}")
_NOT_LINE_END = re.compile(r"[^\n]++")
_MAX_CHARACTER_LITERAL_LENGTH = 12  # maximum length of a character literal with its quotes, such as '\u{10ffff}'


def code_text(text: str, language: str) -> str:
    """Replace comments, and string literals that contain several words, with spaces."""
    opening = _OPENING_MARKS.get(language, _OTHER_LANGUAGES)
    found: list[str] = []
    at = 0
    while mark := opening.search(text, at):
        start, opener = mark.start(), mark[0]
        end = _literal_end(text, start, opener, has_character_literals=language in _CHARACTER_LITERAL_LANGUAGES)
        inside = text[start + len(opener) : max(start + len(opener), end - len(opener))]
        is_kept = end == start + 1 or (opener[0] in "\"'`" and _ONE_WORD.fullmatch(inside) is not None)
        if opener == "#" and language == "php" and text[start + 1 : start + 2] == "[":
            is_kept, end = True, start + 1
        found += (text[at:start], text[start:end] if is_kept else _blank_token(text[start:end]))
        at = end
    return "".join([*found, text[at:]])


def _literal_end(text: str, start: int, opener: str, *, has_character_literals: bool) -> int:
    """Return the offset at which a comment or string literal ends."""
    if closing := _CLOSING_MARKS.get(opener):
        end = text.find(closing, start + len(opener))
        return len(text) if end < 0 else end if closing == "\n" else end + len(closing)
    if opener == "'" and has_character_literals:
        end = text.find(
            "'", start + (3 if text[start + 1 : start + 2] == "\\" else 2), start + _MAX_CHARACTER_LITERAL_LENGTH
        )
        is_one = end == start + 2 or (end > 0 and text[start + 1] == "\\")
        return end + 1 if is_one else start + 1
    at = start + 1
    while mark := _QUOTED_END[opener].search(text, at):
        if mark[0] != "\\":
            return mark.end() if mark[0] == opener else mark.start()
        at = mark.end() + 1
    return len(text)


def _blank_token(token: str) -> str:
    """Replace all characters except line breaks with spaces."""
    return _NOT_LINE_END.sub(lambda line: " " * len(line[0]), token)
