"""Add Deltos to real clients from npm, let each client connect, and write the results to docs/clients.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
CLIENTS_PAGE = ROOT / "docs" / "clients.md"
BEGIN, END = "<!-- make clients -->", "<!-- /make clients -->"
PACKAGES = (
    "@anthropic-ai/claude-code",
    "@openai/codex",
    "@google/gemini-cli",
    "opencode-ai",
    "@modelcontextprotocol/inspector",
    "@qwen-code/qwen-code",
    "@github/copilot",
    "@ampcode/cli",
    "cline",
)
CONNECTED, LISTED = "connected", "reads the entry"
COLOUR = re.compile("\x1b\\[[0-9;]*m")  # colour codes, which some clients print despite NO_COLOR
NOT_TRIED = "not tried: npm has no build for this machine"
DELTOS = Path(sys.executable).with_name("deltos")
TIMEOUT_SECONDS = 240
NEGATIONS = frozenset("not never no cannot isn't isn’t wasn't wasn’t couldn't couldn’t".split())


@dataclass(frozen=True, slots=True)
class Sandbox:
    """Folder of the installed clients, and the temporary home folder and project in which they run."""

    programs: Path
    home: Path
    project: Path

    def environment(self) -> dict[str, str]:
        """Return environment variables with a temporary home folder and without colours."""
        folders = {"HOME": str(self.home), "DELTOS_HOME": str(self.home / "deltos"), "NO_COLOR": "1"}
        settings = {
            "DISABLE_AUTOUPDATER": "1",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "CODEX_HOME": str(self.home / ".codex"),
        }
        return {"PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", **folders, **settings}

    def can_start(self, program: str) -> bool:
        """Return whether a program runs. Some packages only contain a downloader for certain platforms."""
        command = (self.programs / program, "--version")
        try:
            done = subprocess.run(
                command,
                cwd=self.project,
                env=self.environment(),
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0

    def run(self, *command: str, stdin: str | None = None) -> str:
        """Run a client and return the contents of its standard output and standard error."""
        with subprocess.Popen(
            command, cwd=self.project, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            try:
                return process.communicate(stdin or "", timeout=TIMEOUT_SECONDS)[0]
            except subprocess.TimeoutExpired:
                # Keep the output before the timeout, because OpenCode may wait for its packages.
                process.kill()
                return process.communicate()[0]

    def version(self, package: str) -> str:
        """Return the version of an installed package."""
        return str(json.loads((self.programs.parent / package / "package.json").read_text("utf-8"))["version"])


def connection_status(sandbox: Sandbox, *command: str) -> str:
    """Return `connected` if the client reports a connection to Deltos, otherwise `not connected` and its output."""
    lines = [line.strip() for line in COLOUR.sub("", sandbox.run(*command)).splitlines() if "deltos" in line]
    report = " ".join(lines).lower()
    return CONNECTED if is_connected(report) else f"not connected: {report[:200]}"


def is_connected(report: str) -> bool:
    """Return whether a client's report contains `connected` without a negation."""
    words = re.findall(r"[\w'’]+", report.lower())
    positions = [position for position, word in enumerate(words) if word == "connected"]
    negated = any(NEGATIONS.intersection(words[max(0, position - 2) : position]) for position in positions)
    return bool(positions) and not negated and "disconnected" not in words


def listing_status(sandbox: Sandbox, *command: str) -> str:
    """Return `reads the entry` if the client lists Deltos. The client does not start the servers that it lists."""
    lines = [line for line in sandbox.run(*command).splitlines() if "deltos" in line]
    return LISTED if lines else "does not list it"


def codex_status(sandbox: Sandbox) -> str:
    """Return the status that Codex's app server reports for Deltos."""
    # Standard input must stay open until the app server has answered.
    requests = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "deltos", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "mcpServerStatus/list", "params": {}},
    ]
    with subprocess.Popen(
        ["codex", "app-server"], cwd=sandbox.project, env=sandbox.environment(), stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as server:  # fmt: skip
        assert server.stdin  # noqa: S101 - a pipe
        assert server.stdout  # noqa: S101 - a pipe
        server.stdin.write("".join(json.dumps(request) + "\n" for request in requests))
        server.stdin.flush()
        try:
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == 2:
                    found = [row for row in answer["result"]["data"] if row["name"] == "deltos"]
                    return f"{CONNECTED}, {len(found[0]['tools'])} tools" if found else "not listed"
        finally:
            server.kill()
    return "no answer"


def inspector_status(sandbox: Sandbox) -> str:
    """Return the number of tools that the MCP Inspector lists."""
    output = sandbox.run("mcp-inspector", "--cli", str(DELTOS), "mcp", "--method", "tools/list")
    listed, _ = json.JSONDecoder().raw_decode(output, output.index("{"))  # warnings follow the object
    tools = listed["tools"]
    return f"{CONNECTED}, {len(tools)} tools"


CLIENT_TRIALS: tuple[tuple[str, str, str, str, Callable[[Sandbox], str]], ...] = (
    (
        "Claude Code",
        PACKAGES[0],
        "claude-code",
        "`claude mcp list`",
        lambda box: connection_status(box, "claude", "mcp", "list"),
    ),
    ("Codex", PACKAGES[1], "codex", "`codex app-server`, `mcpServerStatus/list`", codex_status),
    (
        "Gemini CLI",
        PACKAGES[2],
        "gemini-cli",
        "`gemini mcp list`",
        lambda box: connection_status(box, "gemini", "mcp", "list"),
    ),
    (
        "OpenCode",
        PACKAGES[3],
        "opencode",
        "`opencode mcp list`",
        lambda box: connection_status(box, "opencode", "mcp", "list"),
    ),
    (
        "Qwen Code",
        PACKAGES[5],
        "qwen-code",
        "`qwen mcp list`",
        lambda box: connection_status(box, "qwen", "mcp", "list"),
    ),
    (
        "Copilot CLI",
        PACKAGES[6],
        "copilot-cli",
        "`copilot mcp list`",
        lambda box: listing_status(box, "copilot", "mcp", "list"),
    ),
    ("Amp", PACKAGES[7], "amp", "`amp mcp list`", lambda box: listing_status(box, "amp", "mcp", "list")),
    ("Cline", PACKAGES[8], "cline", "`cline config mcp`", lambda box: listing_status(box, "cline", "config", "mcp")),
    ("MCP Inspector", PACKAGES[4], "", "`mcp-inspector --cli … --method tools/list`", inspector_status),
)


def install_clients(folder: Path) -> None:
    """Install the newest version of each client, and report clients that cannot be installed."""
    folder.mkdir(parents=True, exist_ok=True)
    npm = Path(sys.executable).with_name("npm")
    for package in PACKAGES:
        command = (npm, "install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error", package)
        if subprocess.run(command, check=False).returncode:
            print(f"{package} cannot be installed", file=sys.stderr, flush=True)


def main(folder: Path) -> int:
    """Try all clients. Return 1 if a client starts but neither connects to nor lists Deltos."""
    install_clients(folder)
    programs = folder.resolve() / "node_modules" / ".bin"
    rows, failed = [], False
    with tempfile.TemporaryDirectory(prefix="deltos-clients-") as temporary:
        sandbox = Sandbox(programs, Path(temporary) / "home", Path(temporary) / "project")
        sandbox.home.mkdir()
        sandbox.project.mkdir()
        (sandbox.project / "shop.py").write_text("def total(): ...\n")
        for title, package, name, command, get_status in CLIENT_TRIALS:
            if name:
                sandbox.run(str(DELTOS), "install", name)
            try:
                program = command.strip("`").split()[0]
                result = get_status(sandbox) if not name or sandbox.can_start(program) else NOT_TRIED
            except (OSError, ValueError, KeyError) as exc:
                result = f"not tried: {type(exc).__name__}"
            failed |= not result.startswith((CONNECTED, LISTED, NOT_TRIED))
            rows.append(f"| {title} | {sandbox.version(package)} | {command} | {result} |")
            print(rows[-1], flush=True)
    table = "\n".join(["| client | version | command | result |", "|---|---|---|---|", *rows])
    before, _, rest = CLIENTS_PAGE.read_text("utf-8").partition(BEGIN)
    CLIENTS_PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}", "utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
