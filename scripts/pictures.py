"""Generate the terminal picture and the examples of README.md from real output over this repository.

Run `make pictures`, or `python -m scripts.pictures`.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
README = ROOT / "README.md"
COLUMNS = 112
MAX_LINES = 8  # maximum number of output lines in an example
MAX_COLUMNS = 150  # maximum length of an output line in an example
RECORDINGS = {
    "terminal": (
        'deltos code search "where is a damaged file moved aside" --limit 3',
        "deltos graph impact move_aside --limit 8",
    ),
}
# Commands that the examples depend on but README.md does not show.
PREPARATION = (
    "deltos docs add docs --name deltos-docs --wait",
    "deltos api add docs/examples/orders.openapi.yaml",
    'deltos memory add --kind decision "Orders move from SQLite to PostgreSQL: two servers write at the same time."',
)
EXAMPLES = {
    "code": 'deltos code search "where is a damaged file moved aside" --limit 1',
    "graph": "deltos graph refs move_aside",
    "docs": 'deltos docs search "use one PostgreSQL database for a team" --source deltos-docs --limit 1',
    "apis": 'deltos api search "cancel an order" --limit 1',
    "memory": 'deltos memory search "why PostgreSQL"',
}
_FONT_FACE = re.compile(r"@font-face \{[^}]*\}\s*")


class Checkout:
    """A copy of the tracked files, optionally only below `paths`, with a separate data folder."""

    def __init__(self, folder: Path, *paths: str) -> None:
        self._folder = folder / "deltos"
        listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, check=True, capture_output=True).stdout
        for name in filter(None, listed.decode().split("\0")):
            if (ROOT / name).is_file():  # Skip files that were deleted since the last commit.
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, self._folder / name)
        programs = Path(sys.executable).parent
        self._environment = {
            **os.environ,
            "DELTOS_HOME": str(folder / "home"),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm-256color",
        }
        self.run("deltos index .")
        for command in PREPARATION:
            self.run(command)

    def run(self, command: str) -> str:
        """Run a command without a terminal and return its output."""
        done = subprocess.run(
            shlex.split(command),
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def run_on_terminal(self, command: str) -> str:
        """Run a command in a terminal and return its output with colours."""
        parent_end, child_end = pty.openpty()
        process = subprocess.Popen(
            shlex.split(command),
            cwd=self._folder,
            env=self._environment,
            stdin=child_end,
            stdout=child_end,
            stderr=child_end,
        )
        os.close(child_end)
        printed = b""
        try:
            while chunk := os.read(parent_end, 65_536):
                printed += chunk
        except OSError:  # Linux raises EIO when the other end of the terminal is closed
            pass
        os.close(parent_end)
        if process.wait():
            raise RuntimeError(f"{command} failed: {printed.decode('utf-8', 'replace')}")
        return printed.decode("utf-8").replace("\r\n", "\n")


def render_terminal(checkout: Checkout, commands: Sequence[str]) -> str:
    """Return an SVG picture of a terminal after running the commands, without references to external fonts."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for command in commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(checkout.run_on_terminal(command).rstrip()))
        console.print()
    return _FONT_FACE.sub("", console.export_svg(title="deltos", unique_id="recording"))


def format_example(checkout: Checkout, command: str) -> str:
    """Return a command and the first lines of its output as a code block."""
    lines = checkout.run(command).rstrip().split("\n")
    shown = [line if len(line) <= MAX_COLUMNS else f"{line[: MAX_COLUMNS - 1]}…" for line in lines[:MAX_LINES]]
    if len(lines) > len(shown):
        shown.append(f"… ({len(lines) - len(shown)} more lines)")
    return "\n".join(("```console", f"$ {command}", *shown, "```", ""))


def replace_example(text: str, name: str, content: str) -> str:
    """Return the page with `content` between the markers of the example called `name`."""
    begin, end = f"<!-- example {name}: begin -->", f"<!-- example {name}: end -->"
    before, _, rest = text.partition(begin)
    old, _, after = rest.partition(end)
    if not old:
        raise RuntimeError(f"README.md has no markers for the example {name}")
    return f"{before}{begin}\n{content}{end}{after}"


def main() -> None:
    """Generate the pictures and examples."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        checkout = Checkout(Path(folder))
        for name, commands in RECORDINGS.items():
            (PICTURES / f"{name}.svg").write_text(render_terminal(checkout, commands), "utf-8")
        text = README.read_text("utf-8")
        for name, command in EXAMPLES.items():
            text = replace_example(text, name, format_example(checkout, command))
        README.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
