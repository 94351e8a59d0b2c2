"""Starts a server the way a client would, to see that it answers; nothing is asked of it but to introduce itself."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TRIAL_SECONDS = 20.0
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "deltos-doctor", "version": "1"},
    },
}


def trouble_starting(words: Sequence[str], variables: Mapping[str, str]) -> str:
    """Why this command gives no MCP server; empty when it does."""
    try:
        # In a folder of its own: `uv run` and `python -m` would take code from the one where we are.
        with tempfile.TemporaryDirectory(prefix="deltos-trial-", ignore_cleanup_errors=True) as folder:
            done = subprocess.run(
                words,
                input=json.dumps(_INITIALIZE).encode() + b"\n",
                cwd=folder,
                env={**os.environ, **variables},
                capture_output=True,
                timeout=TRIAL_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        return f"it did not answer within {TRIAL_SECONDS:.0f} seconds"
    except (OSError, ValueError) as exc:
        return f"it does not start ({getattr(exc, 'strerror', None) or exc})"
    if _is_greeting(done.stdout.partition(b"\n")[0]):
        return ""
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"it ended with exit code {done.returncode}{f': {said[-1][:200]}' if said else ''}"


def _is_greeting(line: bytes) -> bool:
    try:
        answer = json.loads(line)
    except ValueError:
        return False
    return isinstance(answer, dict) and isinstance(answer.get("result"), dict)
