"""The output of clients about a server is interpreted correctly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from scripts.try_clients import CONNECTED, Sandbox, connection_status

from tests.platforms import is_missing

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.skipif(is_missing("printf"), reason="Windows has no printf program")
@pytest.mark.parametrize(
    ("report", "is_connected"),
    [
        ("deltos: /usr/bin/deltos mcp - ✓ Connected", True),
        ("●  ✓ deltos connected", True),
        ("●  ✓ deltos \x1b[90mconnected\x1b[0m", True),
        ("✗ deltos: deltos mcp (stdio) - Disconnected", False),
        ("deltos: not connected", False),
        ("deltos is not yet connected", False),
        ("○ deltos isn't connected", False),
        ("deltos: ✗ Failed to connect", False),
        ("other: connected\ndeltos: ✗ failed", False),
        ("", False),
    ],
)
def test_a_client_is_connected_if_its_report_on_deltos_says_so(report: str, is_connected: bool, tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, tmp_path, tmp_path)
    assert (connection_status(sandbox, "printf", "%s", report) == CONNECTED) == is_connected
