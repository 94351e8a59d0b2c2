"""Tags: words with a number sign before them, `#auth` or `#123`, as people write them in notes and commit messages."""

from __future__ import annotations

LONGEST_TAG = 60
_ALSO_INSIDE = "_-/."


def tag_of(text: str) -> str:
    """A tag as it is compared: without its sign, in small letters, blanks as hyphens."""
    words = "-".join(text.strip().lstrip("#").lower().split())
    return "".join(character for character in words if _is_inside(character)).strip(_ALSO_INSIDE)[:LONGEST_TAG]


def has_tag(text: str, tag: str) -> bool:
    """Whether a text has a tag."""
    lowered = text.lower()
    sign = f"#{tag}"
    at = lowered.find(sign)
    while at >= 0:
        after = lowered[at + len(sign) : at + len(sign) + 2]
        if not (after and _goes_on(after)) and not (at and lowered[at - 1].isalnum()):
            return True
        at = lowered.find(sign, at + 1)
    return False


def with_tags(text: str, tags: list[str]) -> str:
    """A text with the tags that it lacks behind it."""
    missing = [tag for tag in dict.fromkeys(map(tag_of, tags)) if tag and not has_tag(text, tag)]
    return f"{text.rstrip()}\n{' '.join(f'#{tag}' for tag in missing)}" if missing else text


def _goes_on(after: str) -> bool:
    """Whether a tag is longer than what was found of it: a full stop or hyphen ends it where no word follows."""
    if after[0] in _ALSO_INSIDE:
        return after[0] == "_" or after[1:].isalnum()
    return after[0].isalnum()


def _is_inside(character: str) -> bool:
    return character.isalnum() or character in _ALSO_INSIDE
