"""Table of fuzzing results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzz.campaign import Result

HEADING = (
    "| target | CPU s | executions | edges | crashes | too slow | too much memory | ended at the parser's limits | slowest, ms/KB "
    "| most memory, MB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def format_row(result: Result) -> str:
    """Format the table row of one target."""
    cells = (
        result.target,
        f"{result.cpu_seconds:.0f}",
        f"{result.executions:,}",
        f"{result.edges:,}",
        str(result.count("crash", "died")),
        str(result.count("slow", "hang")),
        str(result.count("memory")),
        str(result.at_parser_limits),
        f"{result.slowest_ms_per_kb:.1f}",
        f"{result.largest_growth / 1e6:.0f}",
    )
    return f"| {' | '.join(cells)} |"
