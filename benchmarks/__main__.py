"""Run the commands that print the published figures, or list these commands.

python -m benchmarks --list
python -m benchmarks prove        run the commands that need only package registries (less than an hour)
python -m benchmarks prove-all    run all commands, except those whose data is missing
python -m benchmarks NAME …       run the commands of these modules
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

from benchmarks.paths import SHARED

FIGURES_FILE = Path(__file__).with_name("prove.toml")


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure and the command that prints it."""

    subject: str
    command: str
    needs: str
    hour: bool = False

    @property
    def module(self) -> str:
        """Name of the module in `benchmarks`."""
        return self.command.split()[0]


def read_figures() -> list[Figure]:
    """Return the figures in `prove.toml`."""
    return [Figure(**row) for row in tomllib.loads(FIGURES_FILE.read_text("utf-8"))["figure"]]


def choose_figures(figures: list[Figure], names: list[str]) -> list[Figure]:
    """Return the figures selected by `prove`, by `prove-all`, or by module names."""
    if names == ["prove"]:
        return [figure for figure in figures if figure.hour]
    if names == ["prove-all"]:
        return figures
    return [figure for figure in figures if figure.module in names]


def run(figure: Figure) -> bool:
    """Run the command of a figure in its own process, and print its duration."""
    print(f"\n## {figure.subject}\n\n`python -m benchmarks.{figure.command}`\n", flush=True)
    started = time.monotonic()
    code = subprocess.run([sys.executable, "-m", f"benchmarks.{figure.module}", *figure.command.split()[1:]]).returncode
    print(f"\n({time.monotonic() - started:.0f} s{'' if code == 0 else f', exit code {code}'})", flush=True)
    return code == 0


def main() -> int:
    """Run the chosen figures. Return 1 if a command failed, else 0."""
    figures = read_figures()
    modules = sorted({figure.module for figure in figures})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"prove, prove-all, or some of: {', '.join(modules)}")
    parser.add_argument("--list", action="store_true", help="print the commands without running them")
    given = parser.parse_args()
    names = given.names or ["prove"]
    if unknown := set(names) - {"prove", "prove-all", *modules}:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if given.list:
        for figure in figures:
            print(f"{figure.needs:10}  python -m benchmarks.{figure.command:60}  {figure.subject}")
        return 0
    chosen = choose_figures(figures, names)
    skipped = [figure for figure in chosen if figure.needs == "shared" and not SHARED.is_dir()]
    failed = [figure for figure in chosen if figure not in skipped and not run(figure)]
    for title, listed in (("Skipped, because DELTOS_BENCH names no folder", skipped), ("Failed", failed)):
        if listed:
            print(f"{title}: {', '.join(figure.command for figure in listed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
