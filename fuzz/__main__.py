"""Run fuzz targets with `python -m fuzz [--minutes M] [--target NAME …]`.

The command prints a table of the results. It returns 1 if an input failed.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from fuzz.campaign import FINDINGS, Campaign, Result, scratch_folder
from fuzz.report import HEADING, format_row
from fuzz.targets import all_targets


def main() -> int:
    """Fuzz the selected targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="CPU minutes per target (2)")
    parser.add_argument(
        "--exposed-minutes", type=float, help="CPU minutes per exposed target; default: the value of --minutes"
    )
    parser.add_argument(
        "--target", action="append", default=[], metavar="GLOB", help="fuzz only this target; may be repeated"
    )
    parser.add_argument(
        "--corpus", action="append", default=[], type=Path, metavar="FOLDER", help="folder with more real files"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="list the targets and exit")
    given = parser.parse_args()
    wanted = [
        target
        for name, target in all_targets().items()
        if not given.target or any(fnmatch(name, glob) for glob in given.target)
    ]
    if given.list or not wanted:
        print("\n".join(target.name + (" (exposed)" if target.is_exposed else "") for target in wanted))
        return 0 if wanted else 2
    results: list[Result] = []
    print(HEADING, flush=True)
    for target in wanted:
        minutes = given.exposed_minutes if target.is_exposed and given.exposed_minutes else given.minutes
        with scratch_folder() as scratch:
            results.append(Campaign(target, scratch, seed=given.seed, corpora=given.corpus).run(minutes * 60))
        print(format_row(results[-1]), flush=True)
    for finding in (finding for result in results for finding in result.findings):
        print(f"{finding.target}: {finding.kind} {finding.place}: {FINDINGS / finding.target / finding.name}")
    return int(any(result.findings for result in results))


if __name__ == "__main__":
    sys.exit(main())
