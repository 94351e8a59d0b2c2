"""Print the tokens of Deltos' `tools/list` result, and the published numbers of other servers."""

from __future__ import annotations

from deltos.budget import estimate_tokens
from deltos.config import TOOLSETS
from deltos.server.manifest import Manifest
from deltos.tool import compact_json

# Tokens of the `tools/list` result, as published: a quarter of the number of characters.
OTHER_SERVERS = {"code-review-graph": 9_734, "MemPalace": 8_641, "mcp-memory-service": 10_494}


def main() -> None:
    """Print a table."""
    print("| server | tools | tokens |\n|---|---|---|")
    offers = {"deltos": Manifest.load(TOOLSETS), "deltos --profile lean": Manifest.load(TOOLSETS, lean=True)}
    offers |= {f"deltos --toolsets {name}": Manifest.load((name,)) for name in TOOLSETS}
    for name, manifest in offers.items():
        result = manifest.tools_result()
        print(f"| {name} | {len(result['tools'])} | {estimate_tokens(compact_json(result)):,} |")
    for name, tokens in OTHER_SERVERS.items():
        print(f"| {name} | | {tokens:,} |")


if __name__ == "__main__":
    main()
