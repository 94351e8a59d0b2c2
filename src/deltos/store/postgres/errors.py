"""PostgreSQL's errors as ours, and the name of a database without its password."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deltos.errors import BadArgument, StoreBusy, StoreError, StoreUnwritable

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRY_AGAIN = "Try again in a moment."
# By the beginning of PostgreSQL's error code.
_BUSY: Mapping[str, str] = {
    "40": _TRY_AGAIN,  # a deadlock or a conflict with another transaction
    "53300": "Its server has no connection left: raise its max_connections, or let fewer servers of Deltos use it.",
    "55P03": _TRY_AGAIN,  # a lock was not given within our patience
    "57014": _TRY_AGAIN,  # a limit of time that the server sets
}
_UNWRITABLE: Mapping[str, str] = {
    "25006": "It is read-only: a standby, say. Set DELTOS_DATABASE to the server that takes writes.",
    "42501": "Its user needs the right to create a schema, and to read and write what is in it.",
    "53100": "Free disk space on its server.",
    "53200": "Its server has no memory left.",
}
_REFUSED: Mapping[str, str] = {
    "28": "Check the user and the password in DELTOS_DATABASE.",
    "3D000": "Create the database, or name another one in DELTOS_DATABASE.",
}
_AS_OWNER = "Set DELTOS_DATABASE to the address of the owner of the tables for this command."
_LOST = ("08", "57P")
WHEN_GONE = "Is its server running, and can it be reached from here? What was being written is not kept."


class NamedErrors:
    """Turns psycopg's errors in a block into ours; one object serves any number of blocks."""

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, psycopg.Error):
            raise translated(exc, self._place) from exc


def _hint_of_missing_right(text: str) -> str:
    """What the user lacks, where the server's words tell it."""
    if "create role" in text or "CREATEROLE" in text:
        return "Its user may make no roles: have one who may make it (CREATE ROLE name LOGIN), then run this again."
    if "permission denied for schema" in text:
        return "Give the role its rights as the owner of the tables: deltos db init --role NAME."
    return ""


def translated(exc: psycopg.Error, place: str) -> StoreError:
    """Our error for one of psycopg's; its text names hosts and users, never a password."""
    code, text = exc.sqlstate or "", _first_line(exc)
    if hint := _hint(_BUSY, code) or _hint_of_fullness(text):
        return StoreBusy(f"{place} is busy ({text})", hint=hint)
    if "row-level security" in text and "COPY" in text:
        return StoreUnwritable(f"{place} takes no copies from a role of servers", hint=_AS_OWNER)
    if hint := (_hint_of_missing_right(text) if code == "42501" else "") or _hint(_UNWRITABLE, code):
        return StoreUnwritable(f"Cannot write to {place} ({text})", hint=hint)
    if hint := _hint(_REFUSED, code) or _hint_of_refusal(text):
        return StoreError(f"{place} refuses us ({text})", hint=hint)
    if code.startswith(_LOST) or (isinstance(exc, psycopg.OperationalError) and not code):
        return StoreError(f"{place} cannot be reached ({text})", hint=WHEN_GONE)
    return StoreError(f"{place}: {text}")


def place_of(url: str) -> str:
    """What a database is called for a person: user, host, port and name, never the password."""
    try:
        parts = {name: str(value or "") for name, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:
        parts = {"port": "?"}
    host, port, name = (parts.get(part, "") for part in ("host", "port", "dbname"))
    if port.strip("0123456789,") or "@" in host + name or "/" in name:
        # A sign of the password that was not escaped ends it early: no part of the address can be shown then.
        raise BadArgument(
            "DELTOS_DATABASE is not understood",
            hint="Set it to postgresql://USER:PASSWORD@HOST:5432/NAME; in a password, @ is %40 and / is %2F.",
        )
    user = f"{parts['user']}@" if parts.get("user") else ""
    return f"postgresql://{user}{_servers(host or 'localhost', port)}/{name}"


def _servers(hosts: str, ports: str) -> str:
    """Each server with its port: an address may name several, of which the one is used that takes writes."""
    named, numbers = hosts.split(","), ports.split(",")
    if len(numbers) == 1:
        numbers *= len(named)
    return ",".join(f"{host}:{port}" if port else host for host, port in zip(named, numbers, strict=False))


def _hint(hints: Mapping[str, str], code: str) -> str:
    return next((hint for start, hint in hints.items() if code.startswith(start)), "") if code else ""


def _hint_of_refusal(text: str) -> str:
    """A connection that is refused while it is made has no code, only the server's words."""
    if "password authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return _REFUSED["28"]
    if "database" in text and "does not exist" in text:
        return _REFUSED["3D000"]
    return ""


def _hint_of_fullness(text: str) -> str:
    """The same where the server has no connection left."""
    is_full = "too many clients" in text or "too many connections" in text or "connection slots are reserved" in text
    return _BUSY["53300"] if is_full else ""


def _first_line(exc: psycopg.Error) -> str:
    return next((line.strip() for line in str(exc).splitlines() if line.strip()), type(exc).__name__)
