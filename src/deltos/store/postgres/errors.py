"""Translation of PostgreSQL errors, and descriptions of database addresses without passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import conninfo_to_dict

from deltos.errors import BadArgument, StoreBusy, StoreError, StoreUnwritable

if TYPE_CHECKING:
    from collections.abc import Mapping

_RETRY_HINT = "Try again in a moment."
# Hints for users, by prefix of PostgreSQL's error code.
_BUSY_HINTS: Mapping[str, str] = {
    "40": _RETRY_HINT,  # deadlock or conflict with another transaction
    "53300": "The database server has no free connection: raise max_connections, or run fewer Deltos servers.",
    "55P03": _RETRY_HINT,  # a lock was not available within lock_timeout
    "57014": _RETRY_HINT,  # a statement exceeded statement_timeout of the server
}
_UNWRITABLE_HINTS: Mapping[str, str] = {
    "25006": "It is read-only, for example a standby. Set DELTOS_DATABASE to the primary server.",
    "42501": "The database user needs permission to create a schema and to read and write its tables.",
    "53100": "Free disk space on the database server.",
    "53200": "The database server has no free memory.",
}
_REFUSAL_HINTS: Mapping[str, str] = {
    "28": "Check the user and the password in DELTOS_DATABASE.",
    "3D000": "Create the database, or set DELTOS_DATABASE to another database.",
}
_OWNER_HINT = "For this command, set DELTOS_DATABASE to a connection string with the owner of the tables as user."
_CONNECTION_LOST_CODES = ("08", "57P")
UNREACHABLE_HINT = "Check that the database server is running and reachable. Uncommitted writes are lost."


class PostgresErrorTranslator:
    """Reusable context manager that translates psycopg errors into `StoreError`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, psycopg.Error):
            raise translate_error(exc, self._address) from exc


def _permission_hint(text: str) -> str:
    """Return a hint about the permission that the server error names, or an empty string."""
    if "create role" in text or "CREATEROLE" in text:
        return "The user may not create roles: let an administrator run CREATE ROLE name LOGIN, then run this again."
    if "permission denied for schema" in text:
        return "As the owner of the tables, grant the permissions to the role: deltos db init --role NAME."
    return ""


def translate_error(exc: psycopg.Error, address: str) -> StoreError:
    """Return the StoreError for a psycopg error. The text may contain hosts and user names, but no password."""
    code, text = exc.sqlstate or "", _first_line(exc)
    if hint := _hint_for_code(_BUSY_HINTS, code) or _connection_limit_hint(text):
        return StoreBusy(f"{address} is busy ({text})", hint=hint)
    if "row-level security" in text and "COPY" in text:
        return StoreUnwritable(f"{address} does not allow COPY for this role", hint=_OWNER_HINT)
    if hint := (_permission_hint(text) if code == "42501" else "") or _hint_for_code(_UNWRITABLE_HINTS, code):
        return StoreUnwritable(f"Cannot write to {address} ({text})", hint=hint)
    if hint := _hint_for_code(_REFUSAL_HINTS, code) or _refusal_hint(text):
        return StoreError(f"{address} refused the connection ({text})", hint=hint)
    if code.startswith(_CONNECTION_LOST_CODES) or (isinstance(exc, psycopg.OperationalError) and not code):
        return StoreError(f"{address} cannot be reached ({text})", hint=UNREACHABLE_HINT)
    return StoreError(f"{address}: {text}")


def describe_address(url: str) -> str:
    """Return a database address for display: user, host, port and name, but not the password."""
    try:
        parts = {name: str(value or "") for name, value in conninfo_to_dict(url).items()}
    except psycopg.ProgrammingError:
        parts = {"port": "?"}
    host, port, name = (parts.get(part, "") for part in ("host", "port", "dbname"))
    if port.strip("0123456789,") or "@" in host + name or "/" in name:
        # An unescaped special character may end the password early, so no part of the address is safe to show.
        raise BadArgument(
            "DELTOS_DATABASE is not a valid connection string",
            hint="Set it to postgresql://USER:PASSWORD@HOST:5432/NAME; in a password, write @ as %40 and / as %2F.",
        )
    user = f"{parts['user']}@" if parts.get("user") else ""
    return f"postgresql://{user}{_describe_servers(host or 'localhost', port)}/{name}"


def _describe_servers(hosts: str, ports: str) -> str:
    """Return each server with its port. An address may contain several servers, of which the writable one is used."""
    named, numbers = hosts.split(","), ports.split(",")
    if len(numbers) == 1:
        numbers *= len(named)
    return ",".join(f"{host}:{port}" if port else host for host, port in zip(named, numbers, strict=False))


def _hint_for_code(hints: Mapping[str, str], code: str) -> str:
    return next((hint for start, hint in hints.items() if code.startswith(start)), "") if code else ""


def _refusal_hint(text: str) -> str:
    """Return a hint for a refused connection, or an empty string."""
    # The error has no code, so the message is compared.
    if "password authentication failed" in text or "no password supplied" in text or "no pg_hba.conf entry" in text:
        return _REFUSAL_HINTS["28"]
    if "database" in text and "does not exist" in text:
        return _REFUSAL_HINTS["3D000"]
    return ""


def _connection_limit_hint(text: str) -> str:
    """Return a hint if the server error says that no connection is free, or an empty string."""
    is_full = "too many clients" in text or "too many connections" in text or "connection slots are reserved" in text
    return _BUSY_HINTS["53300"] if is_full else ""


def _first_line(exc: psycopg.Error) -> str:
    return next((line.strip() for line in str(exc).splitlines() if line.strip()), type(exc).__name__)
