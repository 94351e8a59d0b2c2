"""Fixtures that several packages of tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.loopback import Site, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback without any page yet."""
    with serving() as running:
        yield running
