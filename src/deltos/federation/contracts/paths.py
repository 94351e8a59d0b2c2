"""Convert the paths of all frameworks to templates with the same notation for parameters, and compare templates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

PARAMETER = "{}"
UNKNOWN = "{?"  # start of a placeholder for a value that is unknown
WILDCARD = "{*}"  # matches one or more segments
_MAX_PATH_CHARACTERS = 2_000
_MAX_SEGMENTS = 60
_LOCAL_DOMAINS = frozenset({"local", "internal", "localhost", "test", "example", "lan", "svc", "cluster"})


def join_paths(*parts: str) -> str:
    """Join path templates with single slashes. A final slash is kept."""
    kept = [part for part in parts if part.strip("/")]
    ends_with_slash = bool(parts) and parts[-1].endswith("/") and bool(kept)
    joined = "/".join(part.strip("/") for part in kept)
    return f"/{joined}/" if ends_with_slash else f"/{joined}"


def url_path(url: str) -> tuple[str, bool]:
    """Return the path of a URL template, and whether the template has a host or base URL.

    A placeholder at the beginning is the base URL: `{base}/orders` and `{base}orders` have the path `/orders`.
    """
    text = url[:_MAX_PATH_CHARACTERS].strip()
    for mark in ("?", "#"):
        text = _cut(text, mark)
    _, mark, rest = text.partition("://")
    if mark:
        return f"/{rest.partition('/')[2]}", True
    if text.startswith("{"):
        end = _closing(text, 0)
        rest = text[end + 1 :]
        return (f"/{rest.lstrip('/')}", True) if rest[:1] == "/" or rest[:1].isalpha() else (text, True)
    return text, False


def has_literal_word(path: str) -> bool:
    """Whether a path contains a literal word. Other paths would match too many operations."""
    return any(part and "{" not in part and any(each.isalnum() for each in part) for part in path.split("/"))


def url_host(url: str) -> str:
    """Return the host of a URL template without the port, or an empty string if it is unknown."""
    _, mark, rest = url.strip().partition("://")
    host = rest.partition("/")[0].rpartition("@")[2].partition(":")[0] if mark else ""
    return "" if "{" in host else host.lower()


def is_public_host(host: str) -> bool:
    """Whether a host is a public domain name, and not a service name, a local name or an IP address."""
    last = host.rpartition(".")[2]
    return "." in host and last.isalpha() and last not in _LOCAL_DOMAINS


def without_unknown_base(text: str) -> tuple[str, bool]:
    """Remove an unknown value at the start of a template, and return whether all parts of the template were known."""
    is_known = UNKNOWN not in text
    if text.startswith(UNKNOWN):
        text = text[_closing(text, 0) + 1 :]
    return text, is_known


def without_query(path: str) -> tuple[str, bool]:
    """Remove a placeholder at the end of the last segment, because its value is probably a query string.

    Also return whether the value may be a part of the path instead.
    """
    at = path.rfind(UNKNOWN)
    if at < 1 or not path.endswith("}") or path[at - 1] == "/" or _closing(path, at) != len(path) - 1:
        return path, False
    name = path[at + len(UNKNOWN) : -1].lower()
    return path[:at], not any(word in name for word in ("query", "params", "search", "qs"))


def camel_case(name: str) -> str:
    """Return a name in the notation of GraphQL: `all_orders` becomes `allOrders`."""
    first, *rest = name.split("_")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def _cut(text: str, delimiter: str) -> str:
    """Return the text before the first `mark` outside braces."""
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == delimiter and depth <= 0:
            return text[:position]
    return text


def _closing(text: str, start: int) -> int:
    """Return the position of the brace that closes the brace at `start`, or the length of the text."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return position
    return len(text)


@lru_cache(maxsize=16_384)
def template(path: str) -> str:
    """Return a path in OpenAPI notation: `/users/:id`, `/users/<int:id>` and `/users/{id:int}` become `/users/{id}`."""
    # Remove the query parameters of Rocket: `/users?<page>`.
    segments = _split(path[:_MAX_PATH_CHARACTERS].partition("?<")[0])[:_MAX_SEGMENTS]
    last = len(segments) - 1
    return "/" + "/".join(_segment(each, is_last=at == last) for at, each in enumerate(segments))


def _split(path: str) -> list[str]:
    """Split a path at slashes outside brackets."""
    segments, depth, current = [], 0, ""
    for character in path:
        depth += (character in "{<(") - (character in "}>)")
        if character == "/" and depth <= 0:
            segments.append(current)
            current = ""
        else:
            current += character
    return [each for each in (*segments, current) if each]


def _segment(segment: str, *, is_last: bool = False) -> str:
    """Convert one path segment to OpenAPI notation, with parameters in braces."""
    if segment.startswith(":"):
        return _colon_parameter(segment[1:])
    if segment.startswith("*"):
        is_one = segment == "*" and not is_last
        return "{value}" if is_one else f"{{{segment.lstrip('*') or 'path'}*}}"
    out, at = "", 0
    while at < len(segment):
        character = segment[at]
        end = segment.find(">", at) if character == "<" else _closing(segment, at) if character == "{" else -1
        if end > at:
            out += _parameter(segment[at + 1 : end], is_angle=character == "<")
            at = end + 1
        elif character == ":" and out and out[-1] in ".-~(" and segment[at + 1 : at + 2].isalpha():
            return out + _colon_parameter(segment[at + 1 :])
        else:
            out += character
            at += 1
    return out


def _colon_parameter(text: str) -> str:
    """Convert a parameter such as `:id` or `:id?` to the notation `{id}`."""
    name = ""
    for character in text:
        if not (character.isalnum() or character == "_"):
            break
        name += character
    rest = text[len(name) :]
    if rest.startswith("("):
        rest = rest[rest.rfind(")") + 1 :]
    if rest[:1] in ("*", "+") and len(rest) == 1:
        return f"{{{name}*}}"
    return f"{{{name}}}{_segment(rest.lstrip('?')) if rest.lstrip('?') else ''}"


def _parameter(inside: str, *, is_angle: bool) -> str:
    """Convert a parameter to `{name}`. Flask and Django write the type before the name, other frameworks after it."""
    first, mark, second = inside.partition(":")
    kind, name = (first, second) if is_angle and mark else (second, first)
    many = kind == "path" or name.startswith("*") or name.endswith(("*", ".."))
    bare = name.strip("*.?=& ").partition("=")[0].partition("(")[0] or "value"
    return f"{{{bare}{'*' if many else ''}}}"


def from_regex(pattern: str) -> str:
    """Convert a regular expression to a path template: `^users/(?P<id>\\d+)/$` becomes `users/{id}/`."""
    text = pattern[:_MAX_PATH_CHARACTERS].lstrip("^").removesuffix("$").removesuffix("\\Z").replace("\\A", "")
    out, at = "", 0
    while at < len(text):
        if text[at] == "(":
            end = _closing_group(text, at)
            group = text[at + 1 : end]
            name = group[3 : group.find(">")] if group.startswith(("?P<", "?<")) and ">" in group else "value"
            is_optional = text[end + 1 : end + 2] == "?"
            out += "" if group.startswith("?:") or is_optional else f"{{{name.lstrip('<')}}}"
            at = end + 1 + is_optional
        elif text[at] == "\\":
            out += text[at + 1 : at + 2] if text[at + 1 : at + 2] in "./-" else ""
            at += 2
        else:
            out += "" if text[at] in "?+*" else text[at]
            at += 1
    return out


def _closing_group(text: str, start: int) -> int:
    depth = 0
    for position in range(start, len(text)):
        is_escaped = position > 0 and text[position - 1] == "\\"
        depth += 0 if is_escaped else (text[position] == "(") - (text[position] == ")")
        if depth == 0:
            return position
    return len(text)


@lru_cache(maxsize=16_384)
def shape(path: str) -> tuple[str, ...]:
    """Return the segments of a path template for comparison: lower-case words, and parameters without names."""
    return tuple(_shape(each) for each in _split(template(path)))


def _shape(segment: str) -> str:
    if "{" not in segment:
        return segment.lower()
    return WILDCARD if segment.startswith("{") and segment.endswith("*}") else PARAMETER


@dataclass(frozen=True, slots=True)
class PathMatch:
    """The way in which two paths match. `rule` is an explanation for users."""

    rule: str
    certain: bool


def match_paths(one: str, other: str, bases: tuple[str, ...] = ()) -> PathMatch | None:
    """Compare the path of an operation with a path in code. Return None if they differ.

    `bases` are the base paths of the operation's servers.
    """
    left, right = shape(one), shape(other)
    if _without_wildcard(left) == _without_wildcard(right):
        return PathMatch("same path", certain=True)
    for base in bases:
        if base.strip("/") and _without_wildcard((*shape(base), *left)) == _without_wildcard(right):
            return PathMatch("same path below the server's base path", certain=True)
    if is_same_shape(left, right):
        return PathMatch("a value matches a parameter", certain=False)
    longer, shorter = (left, right) if len(left) > len(right) else (right, left)
    extra = longer[: len(longer) - len(shorter)]
    words = [each for each in shorter if "{" not in each]
    if extra and len(extra) <= 3 and words and PARAMETER not in extra and longer[len(extra) :] == shorter:
        return PathMatch(f"same path below /{'/'.join(extra)}", certain=False)
    return None


def _without_wildcard(path: tuple[str, ...]) -> tuple[str, ...]:
    """Replace a final wildcard by a parameter, because API descriptions have no wildcards."""
    return (*path[:-1], PARAMETER) if path[-1:] == (WILDCARD,) else path


def is_same_shape(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether two path shapes may match the same URL. A parameter matches one segment, and a wildcard all remaining."""
    for number, (one, other) in enumerate(zip(left, right, strict=False)):
        if WILDCARD in (one, other):
            return number > 0
        if one != other and PARAMETER not in (one, other):
            return False
    return len(left) == len(right) and any("{" not in a and a == b for a, b in zip(left, right, strict=True))
