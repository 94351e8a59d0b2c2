"""Settings of the whole suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import settings

if TYPE_CHECKING:
    import pytest

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our own options."""
    parser.addoption("--rewrite-goldens", action="store_true", help="write what is found as the expected rankings")
