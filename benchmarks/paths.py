"""Folders of benchmark data and scratch data; environment variables override them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
SHARED = Path(os.environ.get("DELTOS_BENCH", REPOSITORY.parent / "shared" / "bench"))
SCRATCH = Path(os.environ.get("DELTOS_BENCH_SCRATCH", Path(tempfile.gettempdir()) / "deltos-bench"))
MIRRORS = Path(os.environ.get("DELTOS_BENCH_MIRRORS", REPOSITORY.parent / ".mirror"))
CORPORA = Path(os.environ.get("DELTOS_BENCH_CORPORA", REPOSITORY.parent / "corpora"))
RESULTS = REPOSITORY / "benchmarks" / "RESULTS.md"
