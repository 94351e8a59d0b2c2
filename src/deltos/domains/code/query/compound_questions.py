"""Split a question that asks for two things into two questions."""

from __future__ import annotations

from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words

_QUESTION_STARTS = ("how", "where", "what", "which", "why", "when", "who")
_SEPARATORS = ("? ", "; ", ". ", ", and ", " and ")
_PRONOUNS = frozenset("it its they them their this that these those he she".split())
_INCOMPLETE_ENDINGS = tuple(f" {word}" for word in (*_QUESTION_STARTS, "whether", "if"))
_MIN_CONTENT_WORDS = 2  # minimum number of words in each part, not counting stop words


def split_question(question: str) -> list[str]:
    """Return the two parts of a compound question as self-contained questions; empty for other questions."""
    flat = " ".join(question.split())
    if not _starts_question(flat):
        return []
    for joint in _SEPARATORS:
        at = flat.find(joint)
        while at >= 0:
            first, second = flat[:at], flat[at + len(joint) :].removeprefix("and ")
            if _starts_question(second) and not split_question(second) and (parts := _complete_parts(first, second)):
                return parts
            at = flat.find(joint, at + 1)
    return []


def _starts_question(text: str) -> bool:
    """Whether a text begins like a complete question: `when is`, but not `when to`."""
    words = text.lower().split(maxsplit=2)
    return len(words) > 2 and words[0] in _QUESTION_STARTS and words[1] != "to"


def _complete_parts(first: str, second: str) -> list[str]:
    """Return both parts as self-contained questions; empty if one is incomplete.

    If the second part contains a pronoun, words of the first part are appended to it.
    """
    first_words = _content_words(first)
    if first.lower().endswith(_INCOMPLETE_ENDINGS):
        return []
    if _PRONOUNS.intersection(second.lower().rstrip("?").split()):
        second = f"{second.rstrip('?')} {' '.join(first_words[:-1] or first_words)}"
    have_content = len(first_words) >= _MIN_CONTENT_WORDS and len(_content_words(second)) >= _MIN_CONTENT_WORDS
    return [first, second] if have_content else []


def _content_words(text: str) -> list[str]:
    """Return the words without stop words and pronouns."""
    ignored = STOP_WORDS | QUESTION_WORDS | _PRONOUNS
    return [word for word in plain_words(text) if word.lower() not in ignored]
