"""Extract plain text of limited length from API descriptions, and derive missing names and summaries from paths."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from deltos.html_entities import unescape_html
from deltos.text.identifiers import spaced

if TYPE_CHECKING:
    from deltos.domains.apis.model import Json

MAX_SUMMARY_CHARACTERS = 140
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<!--.*?(?:-->|\Z)", re.DOTALL)
_MARKDOWN_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\[\]]*\)")
_SENTENCE_END = re.compile(r"(?<=[^.\s])(?<!e\.g)(?<!i\.e)(?<!etc)[.!?](?=\s|$)|\n\s*\n|\n(?=[#*\-|])")
_PARAMETER_SEGMENT = re.compile(r"^[:{<].*|.*[}>]$")
_MEANINGLESS_SEGMENT = re.compile(
    r"^(?:v\d+(?:[._]\d+)*(?:(?:alpha|beta|rc)\d*)?|api|apis|rest|latest)$", re.IGNORECASE
)
_VERB_BY_METHOD = {
    "POST": "Create",
    "PUT": "Replace",
    "PATCH": "Update",
    "DELETE": "Delete",
    "HEAD": "Check",
    "OPTIONS": "Describe",
}


def text_of(value: Json) -> str:
    """Return a scalar as text, or "" for any other value."""
    if isinstance(value, str):
        return value
    return "" if value is None or isinstance(value, (dict, list, bool)) else str(value)


def mapping(value: Json) -> dict[str, Json]:
    """Return `value` if it is a mapping, or an empty mapping."""
    return value if isinstance(value, dict) else {}


def sequence(value: Json) -> list[Json]:
    """Return `value` if it is a list, or an empty list."""
    return value if isinstance(value, list) else []


def is_flag_set(value: Json) -> bool:
    """Whether a flag is set, as a JSON boolean or as text from YAML."""
    return value is True or value == "true"


def strip_markup(text: str) -> str:
    """Return a text without HTML markup."""
    if "<" in text:
        text = _HTML_TAG.sub("", text)
    if "&" in text:
        text = unescape_html(text)
    return text


def one_line(text: str, characters: int) -> str:
    """Return text as one line of at most `characters` characters."""
    line = " ".join(strip_markup(text).split())
    if len(line) > characters and "](" in line:
        line = _MARKDOWN_LINK.sub(r"\1", line)  # link URLs are dropped, because they would displace other text
    if len(line) <= characters:
        return line
    return line[: characters - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"


def first_sentence(text: str) -> str:
    """Return the first sentence of a description."""
    if not text:
        return ""
    head = strip_markup(text[:2_000]).lstrip(" #*\n\r\t")
    end = _SENTENCE_END.search(head)
    return one_line(head[: end.start()] if end else head, MAX_SUMMARY_CHARACTERS)


def split_words(identifier: str) -> str:
    """Return an identifier as separate words: `Get Pull Requests by ID` for `GetPullRequests_byID`."""
    return spaced(identifier).replace("_", " ").replace("-", " ").replace(".", " ")


@lru_cache(maxsize=50_000)
def index_words(identifier: str) -> str:
    """Return an identifier split into words for the full-text index."""
    # Split at capital letters here, because the index splits only at punctuation.
    return identifier if identifier.islower() else spaced(identifier)


def is_parameter_segment(segment: str) -> bool:
    """Whether a path segment is a placeholder such as `{id}`, `:id` or `<id>`."""
    return bool(_PARAMETER_SEGMENT.match(segment))


def path_segments(path: str) -> list[str]:
    """Return the meaningful segments of a path, without versions and `api`."""
    return [part for part in path.split("?")[0].split("/") if part and not _MEANINGLESS_SEGMENT.match(part)]


def summary_from_path(method: str, path: str) -> str:
    """Return a summary derived from a method and a path, such as `Create refund` for `POST /v1/refunds`."""
    segments = path_segments(path)
    words = [split_words(part) for part in segments if not is_parameter_segment(part)]
    by_key = bool(segments) and is_parameter_segment(segments[-1])
    verb = _VERB_BY_METHOD.get(method, method.capitalize()) if method != "GET" else ("Get" if by_key else "List")
    key = f" by {split_words(segments[-1].strip('{}:<>'))}" if by_key else ""
    noun = " of ".join(reversed(words[-2:])) or path
    return f"{verb} {noun}{key}"


def name_from_path(method: str, path: str) -> str:
    """Return an operation id derived from a method and a path."""
    parts = [re.sub(r"\W+", "_", part).strip("_") for part in path.split("/")]
    return "_".join([method.lower(), *(part for part in parts if part)])


def group_from_path(path: str) -> str:
    """Return the group of an operation without tags: the first meaningful path segment."""
    for segment in path_segments(path):
        if not is_parameter_segment(segment):
            return segment
    return "other"
