"""Detect the format of an API description from its content."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json

Format = Literal["openapi", "swagger", "asyncapi", "postman", "introspection", "graphql", "protobuf"]

_MAX_HEAD_BYTES = 65_536
_TREE_KEY = re.compile(rb"""^["']?(?:openapi|swagger|asyncapi)["']?[ \t]*:""", re.MULTILINE)
_JSON_MARKS = (
    b'"openapi"',
    b'"swagger"',
    b'"asyncapi"',
    b'"__schema"',
    b'"_postman_id"',
    b"getpostman.com",
)
_PROTO_DECLARATION = re.compile(
    rb"^[ \t]*(?:syntax|edition)[ \t]*=[ \t]*[\"']|^[ \t]*(?:service|message)[ \t]+\w+\s{0,80}\{", re.MULTILINE
)
_SDL_ROOT = re.compile(
    rb"^[ \t]*(?:extend[ \t]+)?type[ \t]+(?:Query|Mutation|Subscription)\b[^;={\n]*+\s*+\{"
    rb"|^[ \t]*schema[ \t]*+(?:@[^{\n]*+)?+\s*+\{",
    re.MULTILINE,
)
_SDL_TYPE = re.compile(
    rb"^[ \t]*(?:extend[ \t]+)?"
    rb"(?:(?:type|interface|input|enum)[ \t]+\w++[^;={\n]*+\s*+\{"
    rb"|union[ \t]+\w++[^;={\n]*+=|scalar[ \t]+\w+[ \t]*$)",
    re.MULTILINE,
)
_LEADING_COMMENTS = re.compile(rb"(?:\xef\xbb\xbf|\s|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))*+", re.DOTALL)
_YAML_START = re.compile(rb"""---|%YAML|["']?[\w$.-]+["']?[ \t]*:(?:\s|$)""")
_PROTO_START = re.compile(rb"(?:syntax|edition|package|import|option|message|service|enum|extend)\b")
_SDL_START = re.compile(
    rb'(?:type|interface|input|enum|scalar)\b[^;=\n]*+$|(?:union|schema|directive|extend)\b[^;\n]*+$|"', re.MULTILINE
)
_PROGRAM_STATEMENT = re.compile(
    rb"""^[ \t]*(?:import|export|const|let|function|class|package|public|def)[ \t]+["'{*\w]|;[ \t]*$|=>""", re.MULTILINE
)
_MARKDOWN_FENCE = re.compile(rb"^(?:```|~~~)", re.MULTILINE)


def sniff(data: bytes, *, lax: bool = True) -> Format | Literal["tree"] | None:
    """Guess the format from the raw bytes; return `tree` for JSON and YAML, whose format is known only after parsing.

    `lax` accepts more files, such as GraphQL files without a root type; it is used for files given by the user.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", errors="replace").encode()
    head = data[:_MAX_HEAD_BYTES]
    if b"\x00" in head:
        return None
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return "tree" if lax or any(mark in data for mark in _JSON_MARKS) else None
    first_statement = _first_statement(data)
    if _YAML_START.match(first_statement) and not _MARKDOWN_FENCE.search(data) and _is_yaml(data, lax=lax):
        return "tree"
    if _PROTO_START.match(first_statement) and _PROTO_DECLARATION.search(_without_strings(head)):
        return "protobuf"
    if _SDL_START.match(first_statement) and (lax or _SDL_ROOT.search(data)):
        plain = _without_strings(data)
        declares = _SDL_TYPE.search(plain) or _SDL_ROOT.search(plain)
        return "graphql" if declares and not _PROGRAM_STATEMENT.search(plain) else None
    return None


def kind_of(lax: bool, data: bytes) -> str:
    """Return the detected format, or "" if `data` is not an API description."""
    return sniff(data, lax=lax) or ""


def _first_statement(data: bytes) -> bytes:
    """Return up to 200 bytes of the data, starting after leading blank lines and comments."""
    return data[_LEADING_COMMENTS.match(data).end() :][:200]  # type: ignore[union-attr]


def _is_yaml(data: bytes, *, lax: bool) -> bool:
    """Whether a YAML file has a top-level key of a supported format."""
    return bool(_TREE_KEY.search(data) or (lax and re.search(rb"^paths[ \t]*:", data, re.MULTILINE)))


def kind_of_tree(root: Json) -> Format | None:
    """Return the format of a parsed JSON or YAML document, or None if it is not an API description."""
    if not isinstance(root, dict):
        return None
    for kind in ("openapi", "swagger", "asyncapi"):
        if kind in root:
            return kind
    if "__schema" in root or (isinstance(data := root.get("data"), dict) and "__schema" in data):
        return "introspection"
    if isinstance(root.get("item"), list) or ("requests" in root and "order" in root):
        return "postman"
    return "openapi" if isinstance(root.get("paths"), dict) else None


def _without_strings(data: bytes) -> bytes:
    """Return the data without the contents of strings and comments."""
    data = b"".join(data.split(b'"""')[::2])
    return re.sub(rb'#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z)|"[^"\n]*"(?=[ \t]*\n)', b"", data, flags=re.DOTALL)
