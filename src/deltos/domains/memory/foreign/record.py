"""What a file of another program gives: records to take in, and what cannot be, with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from deltos.domains.memory.memory import id_from
from deltos.domains.memory.redact import redact, redact_tags

Record: TypeAlias = dict[str, Any]


class Taken(NamedTuple):
    """A record in the form of our own JSON Lines; `name` says where it comes from."""

    name: str
    record: Record


class Refused(NamedTuple):
    """What cannot be taken in."""

    name: str
    why: str


Found: TypeAlias = Taken | Refused


def foreign_id(*told: object) -> str:
    """An id that is the same whenever, and on whatever machine, this is taken in. Made of what is kept, so that no
    secret can be guessed from it."""
    return id_from("\n".join(redact(str(part)).text for part in told))


def text_in(row: Record, name: str) -> str:
    """The text of a field; empty when it has none."""
    value = row.get(name)
    return value.strip() if isinstance(value, str) else ""


def said(text: str) -> str:
    """A text without its secrets: before it is put beside others, behind which a rule would not know them."""
    return redact(text).text


def said_in(row: Record, name: str) -> str:
    """The text of a field, without its secrets."""
    return said(text_in(row, name))


def tagged(text: str, tags: list[str]) -> str:
    """A text with its tags, as memory keeps them."""
    words = [f"#{'-'.join(tag.split())}" for tag in redact_tags(tags) if tag.strip()]
    missing = [word for word in dict.fromkeys(words) if word not in text.split()]
    return "\n".join(filter(None, (text, " ".join(missing))))
