"""Stored tokens: kept until they are revoked, and revoked once."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.store.tokens import StoredToken

if TYPE_CHECKING:
    from deltos.store.tokens import TokenRecords
    from tests.store.engines import Engine

TOKEN = StoredToken("a1", "ci", b"hash", "read", ("/srv/app",), created_at=10, expires_at=60)


def test_a_token_is_read_back_as_it_was_added(engine: Engine, tokens: TokenRecords) -> None:
    tokens.add(TOKEN)
    with closing(engine.tokens()) as other:
        assert other.get("a1") == TOKEN
        assert other.get("a2") is None


def test_tokens_are_listed_oldest_first(tokens: TokenRecords) -> None:
    tokens.add(replace(TOKEN, id="b", created_at=20))
    tokens.add(TOKEN)
    assert [token.id for token in tokens.all()] == ["a1", "b"]


def test_a_token_is_revoked_once(tokens: TokenRecords) -> None:
    tokens.add(TOKEN)
    tokens.add(replace(TOKEN, id="b", name="laptop"))
    assert tokens.revoke("a1", 30)
    assert not tokens.revoke("a1", 40)
    assert not tokens.revoke("ci", 40)
    assert [token.revoked_at for token in tokens.all()] == [30, None]
