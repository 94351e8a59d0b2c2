"""Random JSON with comments, blanks and trailing commas in every allowed position."""

from __future__ import annotations

import json
import re

from hypothesis import strategies as st

_COMMENTS = ("", "", "", " ", "\n", "\n  ", " // note\n", " /* a, b */ ", "\n/* { */\n", "\n// }\n\t", "\r\n")
_key_strategy = st.sampled_from(["mcpServers", "hooks", "SessionStart", "deltos", "other", "a//b", 'q"', "", "ü"])
_scalar_strategy = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 10**9), st.sampled_from(["", "// no comment", "/*", "],}", '\\"', "\n"])
)


@st.composite
def jsonc(draw: st.DrawFn, depth: int = 3) -> str:
    """Generate the text of a JSON value with comments."""
    kind = draw(st.sampled_from(["scalar", "object", "list"])) if depth else "scalar"
    if kind == "scalar":
        return json.dumps(draw(_scalar_strategy), ensure_ascii=draw(st.booleans()))
    is_object = kind == "object"
    parts: list[str] = draw(st.lists(jsonc(depth - 1), max_size=3))
    if is_object:
        parts = [
            f"{json.dumps(draw(_key_strategy))}{_blanks_or_comment(draw)}:{_blanks_or_comment(draw)}{part}"
            for part in parts
        ]
    body = ",".join(f"{_blanks_or_comment(draw)}{part}{_blanks_or_comment(draw)}" for part in parts)
    wants_comma = draw(st.booleans())
    trailing = "," + _blanks_or_comment(draw) if parts and wants_comma else ""
    body = body or _blanks_or_comment(draw)
    return f"{{{body}{trailing}}}" if is_object else f"[{body}{trailing}]"


@st.composite
def jsonc_objects(draw: st.DrawFn) -> str:
    """Generate the text of a file that contains a JSON object with comments."""
    inner = draw(st.lists(st.tuples(_key_strategy, jsonc()), max_size=4))
    members = ",".join(
        f"{_blanks_or_comment(draw)}{json.dumps(key)}:{_blanks_or_comment(draw)}{text}{_blanks_or_comment(draw)}"
        for key, text in inner
    )
    trailing = "," if members and draw(st.booleans()) else ""
    return f"{_blanks_or_comment(draw)}{{{members}{trailing}{_blanks_or_comment(draw)}}}{_blanks_or_comment(draw)}"


def comments(text: str) -> list[str]:
    """Return all comments of a text in order."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(//[^\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [match[1].rstrip() for match in found if match[1]]


def _blanks_or_comment(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(_COMMENTS))
