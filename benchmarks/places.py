"""Where benchmark material lies and where scratch data goes; both can be moved by the environment."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
SHARED = Path(os.environ.get("PINAKES_BENCH", REPOSITORY.parent / "shared" / "bench"))
SCRATCH = Path(os.environ.get("PINAKES_BENCH_SCRATCH", Path(tempfile.gettempdir()) / "pinakes-bench"))
MIRRORS = Path(os.environ.get("PINAKES_BENCH_MIRRORS", REPOSITORY.parent / ".mirror"))
RESULTS = REPOSITORY / "benchmarks" / "RESULTS.md"
