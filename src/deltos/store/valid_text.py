"""Check and conversion of texts before they are stored or compared."""

from __future__ import annotations


def check_text(*texts: str) -> None:
    """Raise UnicodeEncodeError if a text cannot be stored."""
    # Texts are checked early, because rows are buffered and written in bulk later.
    for text in texts:
        if not text.isascii():
            text.encode()


def ascii_lower(text: str) -> str:
    """Convert ASCII letters to lower case, like SQLite's `lower`, and PostgreSQL's `lower` with collation "C"."""
    return text.encode().lower().decode()
