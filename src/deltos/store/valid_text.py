"""Check of texts before they are stored."""

from __future__ import annotations


def check_text(*texts: str) -> None:
    """Raise UnicodeEncodeError if a text cannot be stored."""
    # Texts are checked early, because rows are buffered and written in bulk later.
    for text in texts:
        if not text.isascii():
            text.encode()
