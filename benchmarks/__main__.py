"""Run all benchmarks, or the given ones.

python -m benchmarks [NAME …]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

# Modules of this package, with their arguments.
COMMANDS = (
    "code_search",
    "localize",
    "query_speed",
    "index_speed",
    "index_kills",
    "startup",
    "http_load",
    "http_surface",
    "http_sessions",
    "generated_calls",
    "listing",
    "answers",
    "graph",
    "graph_text",
    "docs",
    "docs_fidelity",
    "apis",
    "federation",
    "workspaces",
    "calibration",
    "memory recall",
    "memory durability",
    "memory latency",
    "memory hook",
    "memory_secrets leaks",
    "memory_secrets false",
    "memory_folds",
    "linearity",
    "page",
    "agents prepare",
    "agents floor",
)


def main() -> int:
    """Run each benchmark in its own process; return 0 if all succeeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = sorted({command.split()[0] for command in COMMANDS})
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}; default: all")
    chosen = parser.parse_args().names or names
    if unknown := set(chosen) - set(names):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    failed = [command for command in COMMANDS if command.split()[0] in chosen and not run(command)]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


def run(command: str) -> bool:
    """Print a heading with the command, run it, and return whether it succeeded."""
    print(f"\n## {command}\n\n`python -m benchmarks.{command}`\n", flush=True)
    return subprocess.run([sys.executable, "-m", *f"benchmarks.{command}".split()]).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
