"""Creation, storage and verification of tokens."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.server.access import Level, Tokens
from deltos.store.sqlite.tokens import FILE_NAME, SqliteTokens
from deltos.store.sqlite.workspaces import SqliteWorkspaces

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteTokens]:
    """A token store on disk."""
    opened = SqliteTokens(tmp_path)
    yield opened
    opened.close()


def test_a_token_grants_the_rights_it_was_created_with(store: SqliteTokens) -> None:
    tokens = Tokens(store, lambda: 100.0)
    token_id, text = tokens.create("ci", Level.WRITE, ["/srv/app"], 50)
    grant = tokens.verify(text)
    assert grant
    assert (grant.token_id, grant.level, grant.projects, grant.expires_at) == (
        token_id,
        Level.WRITE,
        ("/srv/app",),
        150,
    )


def test_a_token_for_all_projects_differs_from_one_without_any_project(store: SqliteTokens, tmp_path: Path) -> None:
    with closing(SqliteWorkspaces(tmp_path)) as workspaces:
        tokens = Tokens(store, lambda: 100.0, workspaces)
        texts = [tokens.create("ci", Level.READ, projects, None)[1] for projects in ([], ["workspace:shop"])]
        grants = [tokens.verify(text) for text in texts]
        assert [(grant.projects, grant.missing_workspaces) for grant in grants if grant] == [
            (None, ()),
            ((), ("shop",)),
        ]
        workspaces.add("shop", ["/srv/app"])
        grant = tokens.verify(texts[1])
    assert grant
    assert (grant.projects, grant.missing_workspaces) == (("/srv/app",), ())


def test_the_secret_is_not_stored(store: SqliteTokens, tmp_path: Path) -> None:
    _, text = Tokens(store, lambda: 0.0).create("ci", Level.READ, [], None)
    secret = text.split("_", 2)[2].encode()
    assert not any(secret in path.read_bytes() for path in tmp_path.iterdir())
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert len(connection.execute("SELECT secret_hash FROM token").fetchone()[0]) == 32


def test_a_token_is_invalid_after_expiry_or_revocation(store: SqliteTokens) -> None:
    now = [100.0]
    tokens = Tokens(store, lambda: now[0])
    token_id, text = tokens.create("ci", Level.READ, [], 50)
    now[0] = 149.9
    assert tokens.verify(text)
    now[0] = 150.0
    assert tokens.verify(text) is None
    now[0] = 120.0
    assert store.revoke(token_id, 120)
    assert tokens.verify(text) is None
    assert not store.revoke(token_id, 121)


@pytest.mark.parametrize("text", ["", "_", "dlt", "dlt__", "dlt_nobody_x", "dlt_\xff_\xff", "x" * 10_000])
def test_invalid_tokens_are_rejected(store: SqliteTokens, text: str) -> None:
    assert Tokens(store, lambda: 0.0).verify(text) is None
