"""Decoding of HTML character references such as `&amp;` and `&#39;`."""

from __future__ import annotations

import html


def unescape_html(text: str) -> str:
    """Replace HTML character references. The text is unchanged if a numeric reference is too long for Python."""
    try:
        return html.unescape(text)
    except ValueError:
        return text
