"""Index this repository and ask three questions about it with a real MCP client; run by `make demo`."""

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
    """Return the text in bold if standard output is a terminal."""
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() else text


async def ask(environment: dict[str, str]) -> None:
    """Start the server as an MCP client does, and print its answers to the questions."""
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
    """Index the repository, ask the questions, and print how to connect an agent."""
    with tempfile.TemporaryDirectory(prefix="deltos-demo-") as home:
        environment = {**os.environ, "DELTOS_HOME": home}
        print(bold("▶ deltos index (takes about a minute)"), flush=True)
        subprocess.run([DELTOS, "index", REPOSITORY], env=environment, check=True)
        asyncio.run(ask(environment))
    print(bold("\nTo connect your agent, add this to its MCP configuration:"))
    print(json.dumps({"mcpServers": {"deltos": {"command": str(DELTOS), "args": ["mcp"]}}}, indent=2))
    print(f"Or, for Claude Code, run:  claude mcp add deltos -- {DELTOS} mcp")


if __name__ == "__main__":
    main()
