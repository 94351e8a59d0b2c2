"""Index this very repository and ask it three questions through a real MCP client. Run by `make demo`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parent
DELTOS = Path(sys.executable).with_name("deltos")
QUESTIONS: tuple[tuple[str, dict[str, object]], ...] = (
    ("search_code", {"query": "how are changed files noticed", "limit": 2}),
    ("find_references", {"symbol": "LinearRanker"}),
    ("search_code", {"query": '"BEGIN IMMEDIATE"', "directory": "src", "limit": 3, "concise": True}),
)


def bold(text: str) -> str:
    """A heading, set off on a terminal alone."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


async def ask(environment: dict[str, str]) -> None:
    """Start the server as a client would, and print its answers."""
    from mcp import ClientSession
    from mcp.client.stdio import StdioServerParameters, stdio_client

    server = StdioServerParameters(command=str(DELTOS), args=["mcp", str(REPOSITORY)], env=environment)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        for tool, arguments in QUESTIONS:
            print(bold(f"\n▶ {tool} {json.dumps(arguments, ensure_ascii=False)}"))
            result = await session.call_tool(tool, arguments)
            print("\n".join(block.text for block in result.content if block.type == "text"))


def main() -> None:
    """Show the main job: index, ask, connect."""
    with tempfile.TemporaryDirectory(prefix="deltos-demo-") as home:
        environment = {**os.environ, "DELTOS_HOME": home}
        print(bold("▶ deltos index (about a minute)"), flush=True)
        subprocess.run([DELTOS, "index", REPOSITORY], env=environment, check=True)
        asyncio.run(ask(environment))
    print(bold("\nTo use it in your agent, paste this into its MCP configuration:"))
    print(json.dumps({"mcpServers": {"deltos": {"command": str(DELTOS), "args": ["mcp"]}}}, indent=2))
    print(f"or, for Claude Code:  claude mcp add deltos -- {DELTOS} mcp")


if __name__ == "__main__":
    main()
