"""Colours, tables and progress bars. Interactive terminals use rich; other streams receive plain text."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from deltos.cli.terminal import SanitizedStream, escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from rich.console import Console
    from rich.text import Text

# Names of text styles in the library rich.
HIGHLIGHT, GOOD, BAD, QUIET = "bold cyan", "green", "bold red", "dim"
_BAR_WIDTH = 28


class Styled(NamedTuple):
    """A text with a style."""

    text: str
    style: str = ""


class Column(NamedTuple):
    """A column of a table."""

    heading: str
    style: str = ""
    is_number: bool = False


def is_interactive(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal that supports cursor movement and colours."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]], plain: Iterable[str]) -> None:
    """Print the rows as a table on a terminal, or the lines in `plain` if stdout is not a terminal."""
    if not is_interactive(sys.stdout):
        for line in plain:
            print(line)
        return
    from rich.table import Table  # deferred import, like all of rich: only needed on a terminal

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column.heading, justify="right" if column.is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_text(Styled(cell, column.style)) for cell, column in zip(row, columns, strict=True)))
    _console(sys.stdout).print(table)


def print_styled(*texts: Styled, to_stderr: bool = False) -> None:
    """Print several styled texts as one line."""
    stream = sys.stderr if to_stderr else sys.stdout
    if not is_interactive(stream):
        print("".join(styled.text for styled in texts), file=stream)
        return
    whole = _text(*texts)
    _console(stream).print(whole, soft_wrap=True)


def print_answer(text: str, heads: Iterable[str]) -> None:
    """Print an answer, highlighting lines that begin with one of `heads`."""
    marks = tuple(heads)
    if not marks or not is_interactive(sys.stdout):
        print(text)
        return
    for line in text.splitlines():
        print_styled(Styled(line, HIGHLIGHT if line.startswith(marks) else ""))


def progress_line(done: int, total: int, text: str) -> str:
    """Return a progress bar with a text, at most as wide as the terminal."""
    from rich.progress_bar import ProgressBar as Bar
    from rich.table import Table

    console = _console(sys.stderr)
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=_BAR_WIDTH)
    row.add_column(no_wrap=True, overflow="ellipsis")
    row.add_row(Bar(total=max(total, 1), completed=done, width=_BAR_WIDTH), _text(Styled(text.replace("\n", " "))))
    with console.capture() as drawn:
        console.print(row, end="")
    return drawn.get().rstrip("\n")


def _text(*texts: Styled) -> Text:
    from rich.text import Text

    return Text.assemble(*((escape_controls(styled.text).expandtabs(4), styled.style) for styled in texts))


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    # The text is already escaped, and rich must write its own escape sequences.
    raw = stream.inner if isinstance(stream, SanitizedStream) else stream
    return Console(
        file=raw,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        force_terminal=True,
        force_jupyter=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
