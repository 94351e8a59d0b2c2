"""Table of the top-level commands: the module that implements each one, and its summary.

The table lets `deltos --help` and `deltos --version` run without importing any command.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing is not imported, to keep the start fast
if TYPE_CHECKING:
    from collections.abc import Mapping

# Command: (module in deltos.cli, summary in the help).
COMMANDS: Mapping[str, tuple[str, str]] = {
    "index": ("index", "index a repository; only changed files are parsed"),
    "search": ("search", "search code, documentation, APIs, commits and memory at once"),
    "fetch": ("search", "show the full text of a search result"),
    "explore": ("code", "answer a question with the relevant code"),
    "code": ("code", "search code by meaning, name or pattern"),
    "graph": ("graph", "query the code graph: definitions, references, impact, cycles"),
    "review": ("review", "show the effects of a change, the tests to run and breaking changes"),
    "docs": ("docs", "manage documentation of websites, folders and installed packages"),
    "api": ("api", "manage API descriptions: OpenAPI, GraphQL, AsyncAPI, Protocol Buffers, Postman"),
    "memory": ("memory", "manage observations that are kept between sessions"),
    "ui": ("ui", "open the web UI for indexes and memory in a browser"),
    "workspace": ("workspace", "manage named sets of projects that can be searched together"),
    "status": ("status", "list the indexed projects"),
    "forget-project": ("forget_project", "remove the index of a project; source code and memory are kept"),
    "gc": ("forget_project", "remove damaged indexes and indexes of deleted folders"),
    "doctor": ("doctor", "check versions, folders, indexes, grammars and configured clients"),
    "install": ("install", "add Deltos to coding agents and editors; asks which clients if none is given"),
    "uninstall": ("install", "remove Deltos from the configuration of clients"),
    "token": ("token", "create, list and revoke tokens for `deltos mcp --http`"),
    "db": ("db", "manage the PostgreSQL database of DELTOS_DATABASE"),
    "worker": ("worker", "run the jobs that servers queue in DELTOS_DATABASE until a signal arrives"),
    "jobs": ("worker", "manage the jobs of workers"),
    "toolsets": ("toolsets", "show or choose the toolsets that servers offer"),
    "completion": ("completion", "print a completion script for your shell"),
}
