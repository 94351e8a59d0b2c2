"""How many tokens `tools/list` costs a client before it has asked anything, beside what peers were measured at."""

from __future__ import annotations

import json

from deltos.budget import estimate_tokens
from deltos.config import TOOLSETS
from deltos.server.manifest import Manifest

# Characters / 4 of the `tools/list` result, as published with the issue that asked for this table.
PEERS = {"code-review-graph": 9_734, "MemPalace": 8_641, "mcp-memory-service": 10_494}


def main() -> None:
    """Print a table."""
    print("| server | tools | tokens |\n|---|---|---|")
    for toolsets in (TOOLSETS, *((name,) for name in TOOLSETS)):
        result = Manifest.load(toolsets).tools_result()
        tokens = estimate_tokens(json.dumps(result, ensure_ascii=False, separators=(",", ":")))
        name = "deltos" if toolsets == TOOLSETS else f"deltos --toolsets {toolsets[0]}"
        print(f"| {name} | {len(result['tools'])} | {tokens:,} |")
    for name, tokens in PEERS.items():
        print(f"| {name} | | {tokens:,} |")


if __name__ == "__main__":
    main()
