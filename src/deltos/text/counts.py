"""Format a number with its noun: `1 file`, `2 files`."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun; the plural ends in s unless given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
