"""Text from API specifications: plain, bounded, and derived from the path if the author wrote none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.html_entities import unescape_html
from deltos.text.identifiers import spaced

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json

SUMMARY_CHARACTERS = 140
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?(?:-->|\Z)", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\[\]]*\)")
_SENTENCE_END = re.compile(r"(?<=[^.\s])(?<!e\.g)(?<!i\.e)(?<!etc)[.!?](?=\s|$)|\n\s*\n|\n(?=[#*\-|])")
_PARAMETER_SEGMENT = re.compile(r"^[:{<].*|.*[}>]$")
_PLAIN_SEGMENTS = re.compile(r"^(?:v\d+(?:[._]\d+)*(?:(?:alpha|beta|rc)\d*)?|api|apis|rest|latest)$", re.IGNORECASE)
_VERBS = {
    "POST": "Create",
    "PUT": "Replace",
    "PATCH": "Update",
    "DELETE": "Delete",
    "HEAD": "Check",
    "OPTIONS": "Describe",
}


def text_of(value: Json) -> str:
    """Return a scalar as text; an empty string for any other value."""
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, (dict, list, bool)) else str(value)


def mapping(value: Json) -> dict[str, Json]:
    """Return `value` if it is a mapping, else an empty mapping."""
    return value if isinstance(value, dict) else {}


def sequence(value: Json) -> list[Json]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def is_true(value: Json) -> bool:
    """Whether a flag is set in JSON, or in YAML whose scalars are text."""
    return value is True or value == "true"


def plain(text: str) -> str:
    """Remove HTML markup."""
    if "<" in text:
        text = _TAG.sub("", text)
    if "&" in text:
        text = unescape_html(text)
    return text


def one_line(text: str, characters: int) -> str:
    """Return text as one line of at most `characters` characters."""
    line = " ".join(plain(text).split())
    if len(line) > characters and "](" in line:
        line = _LINK.sub(r"\1", line)  # a link address would use up the space of the words after it
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    if not text:
        return ""
    head = plain(text[:2_000]).lstrip(" #*\n\r\t")
    end = _SENTENCE_END.search(head)
    return one_line(head[: end.start()] if end else head, SUMMARY_CHARACTERS)


def split_words(identifier: str) -> str:
    """`GetPullRequests_byID` as `Get Pull Requests by ID`."""
    return spaced(identifier).replace("_", " ").replace("-", " ").replace(".", " ")


@lru_cache(maxsize=50_000)
def index_words(identifier: str) -> str:
    """Split an identifier into words for the index, which already splits at punctuation."""
    return identifier if identifier.islower() else spaced(identifier)


def is_parameter_segment(segment: str) -> bool:
    """Whether a path segment is a placeholder: `{id}`, `:id`, `<id>`."""
    return bool(_PARAMETER_SEGMENT.match(segment))


def path_segments(path: str) -> list[str]:
    """Return the meaningful segments of a path, without versions and `api`."""
    return [part for part in path.split("?")[0].split("/") if part and not _PLAIN_SEGMENTS.match(part)]


def summary_from_path(method: str, path: str) -> str:
    """Derive a summary for an operation without one: `Create refund` for `POST /v1/refunds`."""
    segments = path_segments(path)
    words = [split_words(part) for part in segments if not is_parameter_segment(part)]
    by_key = bool(segments) and is_parameter_segment(segments[-1])
    verb = _VERBS.get(method, method.capitalize()) if method != "GET" else ("Get" if by_key else "List")
    key = f" by {split_words(segments[-1].strip('{}:<>'))}" if by_key else ""
    noun = " of ".join(reversed(words[-2:])) or path
    return f"{verb} {noun}{key}"


def name_from_path(method: str, path: str) -> str:
    """Derive an operation id for an operation without one."""
    parts = [re.sub(r"\W+", "_", part).strip("_") for part in path.split("/")]
    return "_".join([method.lower(), *(part for part in parts if part)])


def group_from_path(path: str) -> str:
    """Return the group of an untagged operation: the first meaningful path segment."""
    for segment in path_segments(path):
        if not is_parameter_segment(segment):
            return segment
    return "other"
