"""Every test that SECURITY.md refers to exists."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


def test_every_test_that_the_threat_table_names_exists() -> None:
    rows = [line for line in (REPOSITORY / "SECURITY.md").read_text().splitlines() if line.startswith("| ")][1:]
    named = 0
    for row in rows:
        folder = Path()
        for name in re.findall(r"`((?:tests/|test_)[^`]*)`", row.rpartition(" | ")[2]):
            path = REPOSITORY / (name if name.startswith("tests/") else folder / name)
            assert path.exists(), f"{name} does not exist; it is named in: {row}"
            folder = path if path.is_dir() else path.parent
            named += 1
    assert named > len(rows)
