"""Splitting of text into sentences, without code, logs and quotations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.text.language_table import markers

if TYPE_CHECKING:
    from collections.abc import Iterator

# Only the start and end of a long text are used, because most of it was probably pasted between them.
_MAX_START_CHARACTERS = 12_000
_MAX_END_CHARACTERS = 4_000
_MAX_START_SENTENCES = 30
_MAX_END_SENTENCES = 15
_MIN_QUOTED_WORDS = 4  # texts in quotation marks with fewer words are names, not quotations
_CJK_CHARACTERS_PER_WORD = 2  # number of characters that count as one word, in scripts without spaces
_SPACELESS_CHARACTER = r"[\u3040-\u30ff\u3400-\u9fff]"
_SENTENCE_END = r"[.!?。！？…]"
_QUOTE_MARK = "$QUOTE"
_CLOSING_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
# Maximum length of an ordinary word. A longer first word with a typical ending is the name of an exception in a log.
_MAX_ORDINARY_WORD_CHARACTERS = 6


def count_words(text: str) -> int:
    """Count the words of a text. In scripts without spaces, two characters count as one word."""
    if text.isascii():
        return len(text.split())
    spaced, spaceless = re.subn(_SPACELESS_CHARACTER, " ", text)
    return len(spaced.split()) + -(-spaceless // _CJK_CHARACTERS_PER_WORD)


def own_sentences(text: str) -> tuple[list[str], list[str], bool]:
    """Split a text into sentences without code and logs.

    The result has three parts: the sentences with placeholders for quotations, the original sentences, and whether the
    text contains code, logs or quotations.
    """
    if len(text) > _MAX_START_CHARACTERS + _MAX_END_CHARACTERS:
        text = f"{text[:_MAX_START_CHARACTERS]}\n{text[-_MAX_END_CHARACTERS:]}"
    marked: list[str] = []
    quotations: list[str] = []
    lines, has_other_material = prose_lines(text)
    for line in lines:
        if _is_log(line.lower()):
            has_other_material = True
            continue
        unquoted, quoted = _extract_quotations(line)
        quotations += quoted
        marked += split_sentences(unquoted)
    remaining = iter(quotations)
    shown = [_restore_quotations(sentence, remaining) for sentence in marked]
    if len(marked) > _MAX_START_SENTENCES + _MAX_END_SENTENCES:
        marked, shown = (some[:_MAX_START_SENTENCES] + some[-_MAX_END_SENTENCES:] for some in (marked, shown))
    return marked, shown, has_other_material or bool(quotations)


def prose_lines(text: str) -> tuple[list[str], bool]:
    """Return the lines outside code fences (without list marks), and whether the text has code fences."""
    lines: list[str] = []
    in_fence = has_fence = False
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("```"):
            in_fence, has_fence = not in_fence, True
        elif bare and not in_fence:
            lines.append(bare.lstrip("-* \t"))
    return lines, has_fence


def split_sentences(line: str) -> list[str]:
    """Split a line into sentences."""
    sentences: list[str] = []
    start = 0
    for found in re.finditer(_SENTENCE_END, line):
        end = found.end()
        if _ends_sentence(line, start, found.start()):
            sentences.append(line[start:end].strip())
            start = end
    sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends_sentence(line: str, start: int, at: int) -> bool:
    """Whether the punctuation mark at `at` ends a sentence, not an abbreviation, a list number or part of a date."""
    mark, after = line[at], line[at + 1 : at + 2]
    if mark in "。！？":
        return True
    if after and after not in ' ")”':
        return False
    if mark == "…":
        return after == " "
    is_list_number = line[at - 1 : at].isdigit() and at - start < 4
    abbreviated = line[max(0, at - 3) : at].strip().lower() in markers("abbreviation")
    is_date = line[at - 1 : at].isdigit() and line[at + 2 : at + 5].lower() in markers("month after day")
    return not (mark == "." and (at - start < 2 or is_list_number or abbreviated or is_date))


def _is_log(line: str) -> bool:
    """Whether a line (in lower case) belongs to a log, a table or markup."""
    first = line.partition(" ")[0]
    return (
        line.startswith(tuple(markers("log line")))
        or (len(first) > _MAX_ORDINARY_WORD_CHARACTERS and first.endswith(tuple(markers("log name"))))
        or (line.startswith("<") and line.endswith(">"))
        or (first.count("/") > 0 and ":in" in line)
    )


def _extract_quotations(line: str) -> tuple[str, list[str]]:
    """Replace the quotations in a line with placeholders. Return the line and the quotations.

    Short quotations are names; they remain in the line, without quotation marks.
    """
    if not any(opening in line for opening in _CLOSING_QUOTES):
        return line, []
    kept: list[str] = []
    quotations: list[str] = []
    # Closing marks that do not occur in the rest of the line. Searching for them again would take quadratic time.
    unclosed: set[str] = set()
    at = start = 0
    while at < len(line):
        closing = _CLOSING_QUOTES.get(line[at], "")
        end = line.find(closing, at + 1) if closing and closing not in unclosed else -1
        if end < 0:
            unclosed.add(closing)
            at += 1
            continue
        inner = line[at + 1 : end]
        if count_words(inner) >= _MIN_QUOTED_WORDS:
            kept += [line[start:at], f" {_QUOTE_MARK} "]
            quotations.append(line[at : end + 1])
        else:
            kept += [line[start:at], f" {inner} "]
        at = start = end + 1
    return "".join([*kept, line[start:]]), quotations


def _restore_quotations(sentence: str, remaining: Iterator[str]) -> str:
    """Replace each placeholder in a sentence with the next of the remaining quotations."""
    first, *others = (part.strip() for part in sentence.split(_QUOTE_MARK))
    return " ".join([first, *(f"{next(remaining, _QUOTE_MARK)} {other}" for other in others)]).strip()
