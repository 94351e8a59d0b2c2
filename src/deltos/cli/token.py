"""`deltos token`: manage access tokens for HTTP servers."""

from __future__ import annotations

import re
import time
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deltos.cli.command import add_command_group, add_verb, print_json
from deltos.config import Config
from deltos.errors import BadArgument, NoSuchFolder, NotFound
from deltos.files import given_path
from deltos.open_stores import open_tokens, open_workspaces
from deltos.server.access import SCOPES, Level, Tokens, is_valid
from deltos.store.tokens import WORKSPACE_PREFIX

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.cli.command import Subparsers
    from deltos.store.tokens import StoredToken, TokenRecords

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_DEFAULT_LIFETIME = "90d"


def add_commands(subparsers: Subparsers) -> None:
    """Add the command `token` with the subcommands `create`, `list` and `revoke`."""
    verbs = add_command_group(subparsers, "token")
    create = add_verb(verbs, "create", _create, "create a token; its text is shown once and not stored")
    create.add_argument("name", help="name of the user or program")
    create.add_argument(
        "--scope",
        choices=SCOPES,
        default="read",
        help="permissions; each level includes the previous one; default: read",
    )
    create.add_argument(
        "--project", action="append", default=[], metavar="PATH", help="limit to this project; may be repeated"
    )
    create.add_argument(
        "--workspace", action="append", default=[], metavar="NAME",
        help="limit to the current projects of this workspace; may be repeated",
    )  # fmt: skip
    create.add_argument(
        "--expires",
        default=_DEFAULT_LIFETIME,
        metavar="TIME",
        help="lifetime: 30m, 12h, 90d, 4w or never; default: 90d",
    )
    add_verb(verbs, "list", _list, "list all tokens, without their texts")
    revoke = add_verb(verbs, "revoke", _revoke, "make a token invalid")
    revoke.add_argument("token", metavar="ID_OR_NAME", help="id of the token, or its name if no other token has it")


def _create(arguments: argparse.Namespace) -> int:
    projects = [
        *(str(_resolve_project(path)) for path in arguments.project),
        *map(_require_workspace, arguments.workspace),
    ]
    lifetime = lifetime_seconds(arguments.expires)
    with _open_tokens() as store:
        token_id, text = Tokens(store, time.time).create(
            arguments.name, Level.from_name(arguments.scope), projects, lifetime
        )
        created = store.get(token_id)
    assert created  # noqa: S101 - it was just added
    if arguments.json:
        print_json({**_as_data(created), "token": text})
    else:
        print(
            f"{_token_line(created)}\n\n{text}\n\nThis text is not stored and cannot be shown again. Clients send it as"
        )
        print("  Authorization: Bearer TOKEN")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    with _open_tokens() as store:
        tokens = store.all()
    for token in tokens:
        if arguments.json:
            print_json(_as_data(token))
        else:
            print(_token_line(token))
    if not tokens and not arguments.json:
        print("No tokens yet. `deltos token create NAME` creates one.")
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    with _open_tokens() as store:
        token = _find_token(store, arguments.token)
        store.revoke(token.id, int(time.time()))
    if arguments.json:
        print_json({"id": token.id, "status": "revoked"})
    else:
        print(f"Revoked {token.id}  {token.name}")
    return 0


def _find_token(store: TokenRecords, id_or_name: str) -> StoredToken:
    """Return the unrevoked token with this id, or the only unrevoked token with this name."""
    found = [each for each in store.all() if each.revoked_at is None and id_or_name in (each.id, each.name)]
    if not found:
        raise NotFound(f"No valid token is called '{id_or_name}'", hint="See `deltos token list`.")
    if len(found) > 1 and id_or_name not in (each.id for each in found):
        made = ", ".join(f"{each.id} (created {_format_time(each.created_at)})" for each in found)
        raise BadArgument(f"{len(found)} tokens are called '{id_or_name}': {made}", hint="Pass the id of the token.")
    return next((each for each in found if each.id == id_or_name), found[0])


def lifetime_seconds(text: str) -> int | None:
    """Return the number of seconds in `30m`, `12h`, `90d` or `4w`, or None for `never`."""
    if text == "never":
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,5})([smhdw])", text)
    if not match:
        raise BadArgument(f"Invalid value of --expires: {text}", hint="Give 30m, 12h, 90d, 4w or never.")
    return int(match[1]) * _UNIT_SECONDS[match[2]]


@contextmanager
def _open_tokens() -> Iterator[TokenRecords]:
    config = Config.from_environment()
    store = open_tokens(config.home, config.database)
    try:
        yield store
    finally:
        store.close()


def _require_workspace(name: str) -> str:
    config = Config.from_environment()
    with closing(open_workspaces(config.home, config.database)) as records:
        found = records.get(name)
    if found is None:
        raise NotFound(f"No workspace is called '{name}'", hint="See `deltos workspace list`.")
    return f"{WORKSPACE_PREFIX}{found.name}"


def _resolve_project(text: str) -> Path:
    path = given_path(text).resolve()
    if not path.is_dir():
        raise NoSuchFolder(f"No such folder: {text}", hint="Give the root of a project.")
    return path


def _as_data(token: StoredToken) -> dict[str, object]:
    return {
        "id": token.id,
        "name": token.name,
        "scope": token.level,
        "projects": list(token.projects),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "status": _status(token),
    }


def _status(token: StoredToken) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "valid" if is_valid(token, time.time()) else "expired"


def _token_line(token: StoredToken) -> str:
    until = ", never expires" if token.expires_at is None else f" until {_format_time(token.expires_at)}"
    projects, status = ", ".join(token.projects) or "all projects", _status(token)
    return f"{token.id}  {token.name}  {token.level}  {projects}  {status}{until if status == 'valid' else ''}"


def _format_time(moment: int) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
