"""Character references of HTML (`&amp;`, `&#39;`) as the characters that they mean."""

from __future__ import annotations

import html


def unescaped(text: str) -> str:
    """The text with its references replaced; as it is where one has thousands of digits, which Python refuses."""
    try:
        return html.unescape(text)
    except ValueError:
        return text
