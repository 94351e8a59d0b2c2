"""Tags: words with a number sign, such as `#auth` or `#123`, in notes and commit messages."""

from __future__ import annotations

MAX_TAG_CHARACTERS = 60
_INNER_SIGNS = "_-/."


def tag_of(text: str) -> str:
    """Normalise a tag to lower case, with hyphens instead of spaces and without a number sign."""
    words = "-".join(text.strip().lstrip("#").lower().split())
    return "".join(character for character in words if _is_tag_character(character)).strip(_INNER_SIGNS)[
        :MAX_TAG_CHARACTERS
    ]


def has_tag(text: str, tag: str) -> bool:
    """Whether a text contains a tag."""
    lowered = text.lower()
    sign = f"#{tag}"
    at = lowered.find(sign)
    while at >= 0:
        after = lowered[at + len(sign) : at + len(sign) + 2]
        if not (after and _tag_continues(after)) and not (at and lowered[at - 1].isalnum()):
            return True
        at = lowered.find(sign, at + 1)
    return False


def with_tags(text: str, tags: list[str]) -> str:
    """Append the tags to a text that the text does not contain yet."""
    missing = [tag for tag in dict.fromkeys(map(tag_of, tags)) if tag and not has_tag(text, tag)]
    return f"{text.rstrip()}\n{' '.join(f'#{tag}' for tag in missing)}" if missing else text


def _tag_continues(after: str) -> bool:
    """Whether a tag continues in the text `after`. A full stop or hyphen continues it only if a word follows."""
    if after[0] in _INNER_SIGNS:
        return after[0] == "_" or after[1:].isalnum()
    return after[0].isalnum()


def _is_tag_character(character: str) -> bool:
    return character.isalnum() or character in _INNER_SIGNS
