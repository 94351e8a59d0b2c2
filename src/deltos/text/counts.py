"""Formatting of numbers with nouns: `1 file`, `2 files`."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun. By default, the plural ends in s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
