"""A memory server reduced to `remember`: reads JSON-RPC lines, answers each once the observation is on
disk."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pinakes.domains.memory.memory import Memory
from pinakes.domains.memory.model import Draft, Place
from pinakes.store.memory import MemoryStore


def main() -> None:
    """Serve until standard input ends; the argument is the data folder."""
    memory = Memory(MemoryStore(Path(sys.argv[1]) / "memory.db"))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result: dict[str, object] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "serverInfo": {"name": "w", "version": "0"},
        }
        if request["method"] == "tools/call":
            done = memory.remember(Draft(request["params"]["arguments"]["text"]), Place("bench"))
            result = {"content": [{"type": "text", "text": done.id}]}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
