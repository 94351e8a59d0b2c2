"""Parse and index all files in folders of real source code; report failures, speed and memory use.

    python -m benchmarks.source_corpora [--resolve] [--facts FILE] FOLDER …

Each folder has its own process, which passes every file that Deltos would index to every indexer. A file is lost if it
was not skipped and no indexer extracted anything from it. Skipped files are counted by reason. CPU time includes child
processes, memory does not. The slowest file is the file with the most CPU time per KB, among files that took 50 ms or
more.

`--resolve` also builds the whole index of the folder, with all edges, in a temporary folder. `--facts FILE` writes one
line per file with a digest of the extracted facts of each indexer; compare two such files with `diff` before and after
a change
of a parser. The exit status is 1 if an indexer failed or a file was lost.
"""

from __future__ import annotations

import argparse
import hashlib
import resource
import sys
import tempfile
import time
import traceback
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from benchmarks.processes import cpu_seconds_with_children
from deltos.app import App
from deltos.config import Config
from deltos.domains.code.index import CodeIndexer
from deltos.domains.graph.index import GraphFacts, GraphIndexer
from deltos.domains.graph.languages import FAMILIES, codec_of
from deltos.files import FileTree
from deltos.languages.grammar import self_test
from deltos.workspace.admission import admit
from deltos.workspace.extract import parse_file
from deltos.workspace.walk import walk

if TYPE_CHECKING:
    from deltos.workspace.indexer import ParsedFile

INDEXERS = (CodeIndexer(), GraphIndexer())
SLOW_SECONDS = 0.05
SHOWN_FAILURES = 20


@dataclass(slots=True)
class FolderReport:
    """Counts and measurements for one folder."""

    folder: Path
    files: int = 0
    bytes: int = 0
    lost: list[str] = field(default_factory=list)
    failures: dict[str, list[str]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    slowest: tuple[float, float, str] = (0.0, 0.0, "")  # seconds per KB, seconds, and path of the slowest file
    longest: tuple[float, str] = (0.0, "")
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    digests: list[str] = field(default_factory=list)
    resolved: str = ""


def main() -> int:
    """Print one row per folder; return 1 if something failed or was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--resolve", action="store_true", help="also build the entire index, with all edges")
    parser.add_argument("--facts", type=Path, metavar="FILE", help="write a digest of each file's facts")
    chosen = parser.parse_args()
    readings = []
    for folder in chosen.folders:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
            readings.append(process.submit(read_folder, folder.resolve(), resolve=chosen.resolve).result())
        print(f"{folder}: {readings[-1].files:,} files", file=sys.stderr, flush=True)
    if chosen.facts:
        chosen.facts.write_text("".join(f"{line}\n" for reading in readings for line in reading.digests))
    print_table(readings)
    return any(reading.failures or reading.lost for reading in readings)


def read_folder(folder: Path, *, resolve: bool) -> FolderReport:
    """Parse every indexable file of a folder, and extract its facts."""
    self_test()  # Load every grammar and resolver now, so that the measurements do not include it.
    for family in FAMILIES:
        family.resolver()
    reading = FolderReport(folder)
    started = cpu_seconds_with_children()
    found = walk(folder)
    reading.refused += found.refused
    with FileTree(folder) as tree:
        for path, stamp in sorted(found.files.items()):
            read_file(reading, tree, path, stamp.size)
    if resolve:
        reading.resolved = index(reading)
    reading.cpu_seconds = cpu_seconds_with_children() - started
    reading.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return reading


def read_file(reading: FolderReport, tree: FileTree, path: str, size: int) -> None:
    """Pass one file to every indexer, and record time and failures."""
    started = time.process_time()
    admitted = admit(tree, path, size)
    if isinstance(admitted, str):
        reading.refused[admitted] += 1
        return
    reading.files += 1
    reading.bytes += len(admitted.data)
    file = parse_file(path, admitted)
    digests = [extract(reading, indexer, file) for indexer in INDEXERS]
    seconds = time.process_time() - started
    if not any(digests):
        reading.lost.append(path)
    if seconds >= SLOW_SECONDS:
        reading.slowest = max(reading.slowest, (seconds / (len(admitted.data) / 1024), seconds, path))
    reading.longest = max(reading.longest, (seconds, path))
    reading.digests.append(" ".join([f"{reading.folder.name}/{path}", *(digest or "failed" for digest in digests)]))


def extract(reading: FolderReport, indexer: CodeIndexer | GraphIndexer, file: ParsedFile) -> str | None:
    """Return a digest of the facts that one indexer extracts, or record the failure and return None."""
    try:
        facts = indexer.extract(file)
    except Exception as exc:  # noqa: BLE001 (the benchmark counts failures of any kind)
        frame = traceback.extract_tb(exc.__traceback__)[-1]
        where = f"{Path(frame.filename).stem}.{frame.name}:{frame.lineno}"
        reading.failures.setdefault(f"{indexer.name}: {type(exc).__name__}: {exc} ({where})", []).append(file.path)
        return None
    return digest_of(facts)


def digest_of(facts: Any) -> str:
    """Return a digest of extracted facts that does not depend on compression or object identity."""
    if isinstance(facts, GraphFacts):
        record = facts.facts
        codec = codec_of(record.language)
        parts = [codec.interface(zlib.decompress(record.interface)), codec.body(zlib.decompress(record.body))]
        named = repr((facts.symbols, sorted(record.parts.items()))).encode("utf-8", "surrogatepass")
        content = b"".join([msgspec.msgpack.encode(part) for part in parts]) + named
    else:
        content = repr(facts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def index(reading: FolderReport) -> str:
    """Build the entire index of the folder, record failures, and return a summary with the time."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        app = App(Config(home=Path(home)))
        try:
            report = app.domains.projects.index_of(reading.folder).index()
        finally:
            app.close()
    for error in report.errors:
        path, _, message = error.partition(": ")
        reading.failures.setdefault(f"index: {message}", []).append(path)
    return f"{report.files_written:,} in {time.monotonic() - started:.0f} s"


def print_table(readings: list[FolderReport]) -> None:
    """Print one row per folder, then the failures."""
    print("| folder | files | MB | failed | lost | slowest: ms per KB | most CPU: ms | CPU s | peak MB | resolved |")
    print("|---|--:|--:|--:|--:|---|---|--:|--:|--:|")
    for reading in readings:
        failed = sum(map(len, reading.failures.values()))
        per_kb, seconds, slow_path = reading.slowest
        longest, long_path = reading.longest
        print(
            f"| {reading.folder.name} | {reading.files:,} | {reading.bytes / 1e6:.1f} | {failed} | {len(reading.lost)} "
            f"| {slow_path}: {per_kb * 1000:.1f} ({seconds * 1000:.0f} ms) | {long_path}: {longest * 1000:.0f} "
            f"| {reading.cpu_seconds:.0f} | {reading.peak_mb:.0f} | {reading.resolved or '–'} |"
        )
    for reading in readings:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in reading.refused.most_common())
        print(f"\n{reading.folder.name}: not admitted: {reasons or 'none'}")
        for cause, paths in sorted(reading.failures.items(), key=lambda item: -len(item[1]))[:SHOWN_FAILURES]:
            print(f"  {len(paths)} × {cause[:300]}: {', '.join(paths[:3])}")
        for path in reading.lost[:SHOWN_FAILURES]:
            print(f"  lost: {path}")


if __name__ == "__main__":
    sys.exit(main())
