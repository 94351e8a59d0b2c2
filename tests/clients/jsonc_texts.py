"""Random JSON with comments, blanks and trailing commas in every allowed position, and a form of it for comparison."""

from __future__ import annotations

import json
import re

from hypothesis import strategies as st

_COMMENTS = ("", "", "", " ", "\n", "\n  ", " // note\n", " /* a, b */ ", "\n/* { */\n", "\n// }\n\t", "\r\n")
_keys = st.sampled_from(["mcpServers", "hooks", "SessionStart", "deltos", "other", "a//b", 'q"', "", "ü"])
_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 10**9), st.sampled_from(["", "// no comment", "/*", "],}", '\\"', "\n"])
)


@st.composite
def jsonc(draw: st.DrawFn, depth: int = 3) -> str:
    """Text of one value."""
    kind = draw(st.sampled_from(["scalar", "object", "list"])) if depth else "scalar"
    if kind == "scalar":
        return json.dumps(draw(_scalars), ensure_ascii=draw(st.booleans()))
    is_object = kind == "object"
    parts: list[str] = draw(st.lists(jsonc(depth - 1), max_size=3))
    if is_object:
        parts = [f"{json.dumps(draw(_keys))}{_gap(draw)}:{_gap(draw)}{part}" for part in parts]
    body = ",".join(f"{_gap(draw)}{part}{_gap(draw)}" for part in parts)
    wants_comma = draw(st.booleans())
    trailing = "," + _gap(draw) if parts and wants_comma else ""
    body = body or _gap(draw)
    return f"{{{body}{trailing}}}" if is_object else f"[{body}{trailing}]"


@st.composite
def jsonc_objects(draw: st.DrawFn) -> str:
    """Text of a whole file whose value is an object."""
    inner = draw(st.lists(st.tuples(_keys, jsonc()), max_size=4))
    members = ",".join(f"{_gap(draw)}{json.dumps(key)}:{_gap(draw)}{text}{_gap(draw)}" for key, text in inner)
    trailing = "," if members and draw(st.booleans()) else ""
    return f"{_gap(draw)}{{{members}{trailing}{_gap(draw)}}}{_gap(draw)}"


def comments(text: str) -> list[str]:
    """All comments of a text, in order."""
    found = re.finditer(r'"(?:[^"\\]|\\.)*"|(//[^\n]*|/\*.*?\*/)', text, re.DOTALL)
    return [match[1].rstrip() for match in found if match[1]]


def _gap(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(_COMMENTS))
