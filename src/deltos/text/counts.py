"""Numbers of things as people say them: `1 file`, `2 files`."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun, which takes an s unless its plural is given."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
