"""Check that a configured server starts and answers the `initialize` request of a client."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TRIAL_TIMEOUT_SECONDS = 20.0
_INITIALIZE_REQUEST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "deltos-doctor", "version": "1"},
    },
}


def find_start_problem(words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run the command and return the reason why it is not a working MCP server, or an empty string."""
    try:
        # Run in an empty folder, because `uv run` and `python -m` would import code from the current folder.
        with tempfile.TemporaryDirectory(prefix="deltos-trial-", ignore_cleanup_errors=True) as folder:
            done = subprocess.run(
                words,
                input=json.dumps(_INITIALIZE_REQUEST).encode() + b"\n",
                cwd=folder,
                env={**os.environ, **variables},
                capture_output=True,
                timeout=TRIAL_TIMEOUT_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {TRIAL_TIMEOUT_SECONDS:.0f} seconds"
    except (OSError, ValueError) as exc:
        return f"it does not start ({getattr(exc, 'strerror', None) or exc})"
    if _is_initialize_result(done.stdout.partition(b"\n")[0]):
        return ""
    errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"it exited with code {done.returncode}{f': {errors[-1][:200]}' if errors else ''}"


def _is_initialize_result(line: bytes) -> bool:
    try:
        answer = json.loads(line)
    except ValueError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("result"), dict)
