"""Which kind of API description a file is, told by its content alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pinakes.domains.apis.model import Json

Kind = Literal["openapi", "swagger", "asyncapi", "postman", "introspection", "graphql", "protobuf"]

_HEAD_BYTES = 65_536
_TREE_KEY = re.compile(rb"""^["']?(?:openapi|swagger|asyncapi)["']?[ \t]*:""", re.MULTILINE)
_JSON_MARKS = (
    b'"openapi"',
    b'"swagger"',
    b'"asyncapi"',
    b'"__schema"',
    b'"_postman_id"',
    b"getpostman.com",
)
_PROTO = re.compile(rb"^\s*(?:syntax|edition)\s*=\s*[\"']|^\s*(?:service|message)\s+\w+\s*\{", re.MULTILINE)
_SDL_ROOT = re.compile(
    rb"^[ \t]*(?:extend[ \t]+)?type[ \t]+(?:Query|Mutation|Subscription)\b[^;={]*\{"
    rb"|^[ \t]*schema[ \t]*(?:@[^{]*)?\{",
    re.MULTILINE,
)
_SDL_TYPE = re.compile(
    rb"^[ \t]*(?:extend[ \t]+)?"
    rb"(?:(?:type|interface|input|enum)[ \t]+\w+[^;={]*\{|union[ \t]+\w+[^;={\n]*=|scalar[ \t]+\w+[ \t]*$)",
    re.MULTILINE,
)
_PROGRAM = re.compile(
    rb"""^[ \t]*(?:import|export|const|let|function|class|package|public|def)[ \t]+["'{*\w]|;[ \t]*$|=>""",
    re.MULTILINE,
)


def sniff(data: bytes, *, lax: bool = True) -> Kind | Literal["tree"] | None:
    """What the raw bytes look like; `tree` means JSON or YAML whose kind shows once it is read.

    With `lax`, a GraphQL file need not declare a root type: right for a file that was named, wrong for code.
    """
    head = data[:_HEAD_BYTES]
    if b"\x00" in head and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return None
    if head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return "tree" if lax or any(mark in data for mark in _JSON_MARKS) else None
    if _TREE_KEY.search(head):
        return "tree"
    if _SDL_ROOT.search(data) and not _PROGRAM.search(_without_strings(data)):
        return "graphql"
    if _PROTO.search(_without_strings(head)):
        return "protobuf"
    if lax and _SDL_TYPE.search(data) and not _PROGRAM.search(_without_strings(data)):
        return "graphql"
    return "tree" if _TREE_KEY.search(data) or (lax and re.search(rb"^paths:", data, re.MULTILINE)) else None


def kind_of_tree(root: Json) -> Kind | None:
    """The kind of a parsed JSON or YAML document."""
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
    """The text without GraphQL's block strings and anyone's comments: prose may say anything."""
    if b'"""' in data:
        data = re.sub(rb'"""(?:[^"]|"(?!""))*"""', b"", data)
    return re.sub(rb'#[^\n]*|//[^\n]*|/\*.*?\*/|"[^"\n]*"(?=\s*\n)', b"", data, flags=re.DOTALL)
