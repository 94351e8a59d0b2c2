"""Tell a question that asks for two things from one that asks for one. Knows text only; splits in no doubtful case."""

from __future__ import annotations

from deltos.text.stop_words import QUESTION_WORDS, STOP_WORDS
from deltos.text.words import plain_words

_ASKING = ("how", "where", "what", "which", "why", "when", "who")
_JOINTS = ("? ", "; ", ". ", ", and ", " and ")
_POINTING = frozenset("it its they them their this that these those he she".split())
_OPEN_ENDS = tuple(f" {word}" for word in (*_ASKING, "whether", "if"))
_LEAST_WORDS = 2  # that tell something, in each part


def parts_of(question: str) -> list[str]:
    """The two questions in one, each as it can be asked alone; nothing where it is one."""
    flat = " ".join(question.split())
    if not _asks(flat):
        return []
    for joint in _JOINTS:
        at = flat.find(joint)
        while at >= 0:
            first, second = flat[:at], flat[at + len(joint) :].removeprefix("and ")
            if _asks(second) and not parts_of(second) and (parts := _parts(first, second)):
                return parts
            at = flat.find(joint, at + 1)
    return []


def _asks(text: str) -> bool:
    """Whether a text begins like a question of its own: `when is`, not `when to`."""
    words = text.lower().split(maxsplit=2)
    return len(words) > 2 and words[0] in _ASKING and words[1] != "to"


def _parts(first: str, second: str) -> list[str]:
    """Both parts; a second one that points back gets what the first is about, without what it says of that."""
    before = _telling(first)
    if first.lower().endswith(_OPEN_ENDS):
        return []
    if _POINTING.intersection(second.lower().rstrip("?").split()):
        second = f"{second.rstrip('?')} {' '.join(before[:-1] or before)}"
    is_told = len(before) >= _LEAST_WORDS and len(_telling(second)) >= _LEAST_WORDS
    return [first, second] if is_told else []


def _telling(text: str) -> list[str]:
    left_out = STOP_WORDS | QUESTION_WORDS | _POINTING
    return [word for word in plain_words(text) if word.lower() not in left_out]
