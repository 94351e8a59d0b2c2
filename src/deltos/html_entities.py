"""Character references of HTML, such as `&amp;` and `&#39;`."""

from __future__ import annotations

import html


def unescape_html(text: str) -> str:
    """Replace character references; return the text unchanged if a number is too long for Python."""
    try:
        return html.unescape(text)
    except ValueError:
        return text
