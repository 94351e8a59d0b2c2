"""Makes what the README shows out of real output: `python -m scripts.pictures` writes docs/pictures/*.svg, the
transcript and the example in README.md, from the commit that is checked out."""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from deltos.budget import CHARACTERS_PER_TOKEN

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
README = ROOT / "README.md"
COLUMNS = 112
SHOWN_LINES = 6
SHOWN_COLUMNS = 118
RECORDINGS = {
    "terminal": (
        'deltos code search "where is a damaged file moved aside" --limit 3',
        "deltos graph impact move_aside --limit 8",
    ),
}
# What somebody wants to know before changing a method with a common name, and how one finds out either way. It has one
# definition, and both ways look at the whole repository and show all that they find.
QUESTION = "I want to change `FileTree.read`. Who calls it?"
WITHOUT = ("grep -rn '\\bread(' . --include=*.py",)
WITH = ("deltos graph refs FileTree.read --limit 100",)
EXAMPLE = 'deltos code search "where is a damaged file moved aside" --limit 1'
_FONT_FACE = re.compile(r"@font-face \{[^}]*\}\s*")


@dataclass(frozen=True, slots=True)
class Look:
    """A command and what it printed."""

    command: str
    output: str

    @property
    def tokens(self) -> int:
        """What reading it costs, command included."""
        return (len(self.command) + len(self.output)) // CHARACTERS_PER_TOKEN


class Checkout:
    """The files of the commit that is checked out, in a folder of their own, with an index of their own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "deltos"
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(self._folder, filter="data")
        programs = Path(sys.executable).parent
        self._environment = {
            **os.environ,
            "DELTOS_HOME": str(folder / "home"),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": str(COLUMNS),
            "TERM": "xterm-256color",
        }
        self.run("deltos index .")

    def run(self, command: str) -> Look:
        """A command as a program calls it."""
        done = subprocess.run(
            shlex.split(command), cwd=self._folder, env=self._environment, capture_output=True, text=True, check=True
        )
        return Look(command, done.stdout)

    def run_on_terminal(self, command: str) -> str:
        """A command as a person sees it, colours included."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            shlex.split(command), cwd=self._folder, env=self._environment, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        printed = b""
        try:
            while piece := os.read(ours, 65_536):
                printed += piece
        except OSError:  # Linux says so when the other side is closed
            pass
        os.close(ours)
        if process.wait():
            raise RuntimeError(f"{command} failed: {printed.decode('utf-8', 'replace')}")
        return printed.decode("utf-8").replace("\r\n", "\n")


def recording(checkout: Checkout, commands: Sequence[str]) -> str:
    """A terminal in which the commands were run, as SVG; it asks for no font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for command in commands:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(checkout.run_on_terminal(command).rstrip()))
        console.print()
    return _FONT_FACE.sub("", console.export_svg(title="deltos", unique_id="recording"))


def transcript(checkout: Checkout) -> str:
    """The question answered without and with us, with what each look cost."""
    lines = [f"> {QUESTION}", ""]
    for title, commands in (("Without", WITHOUT), ("With Deltos", WITH)):
        looks = [checkout.run(command) for command in commands]
        total = sum(look.tokens for look in looks)
        lines += [f"**{title}**: {len(looks)} look{'s' * (len(looks) != 1)}, {total:,} tokens.", "", "```console"]
        for look in looks:
            lines += [f"$ {look.command}", *_beginning(look.output)]
        lines += ["```", ""]
    return "\n".join(lines)


def example(checkout: Checkout) -> str:
    """A question and its whole answer."""
    return f"```console\n$ {EXAMPLE}\n{checkout.run(EXAMPLE).output.rstrip()}\n```\n"


def between_marks(text: str, name: str, content: str) -> str:
    """The text with `content` between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = text.partition(begin)
    old, _, after = rest.partition(end)
    if not old:
        raise RuntimeError(f"README.md has no marks for {name}")
    return f"{before}{begin}\n{content}{end}{after}"


def _beginning(output: str) -> list[str]:
    lines = output.rstrip().split("\n")
    shown = [line if len(line) <= SHOWN_COLUMNS else line[: SHOWN_COLUMNS - 1] + "…" for line in lines[:SHOWN_LINES]]
    left = len(lines) - len(shown)
    return [*shown, f"… ({left} more lines)"] if left else shown


def main() -> None:
    """Make everything anew."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        checkout = Checkout(Path(folder))
        for name, commands in RECORDINGS.items():
            (PICTURES / f"{name}.svg").write_text(recording(checkout, commands), "utf-8")
        text = between_marks(README.read_text("utf-8"), "transcript", transcript(checkout))
        README.write_text(between_marks(text, "example", example(checkout)), "utf-8")


if __name__ == "__main__":
    main()
