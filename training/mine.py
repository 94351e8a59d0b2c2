"""Mine training pairs from downloaded packages.

python -m training.mine OUT FOLDER...     archives of any kind; one OUT/part-*.jsonl.gz per few hundred packages
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import tarfile
import zipfile
import zlib
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path
from subprocess import CalledProcessError
from typing import TYPE_CHECKING

from training.archives import Member, members, project_name
from training.excluded import is_excluded
from training.mine_apis import api_pairs
from training.mine_code import code_pairs
from training.mine_docs import docs_pairs, read_page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from training.pairs import Pair

MAX_CODE_BYTES = 1_200_000  # maximum per package, so that no package dominates
MAX_PAGES = 200
MAX_PAIRS = 2_000
MAX_OPERATIONS = 8_000  # Few packages describe APIs, so this limit is higher.
_PROSE = (".md", ".rst", ".html", ".htm", ".adoc", ".markdown", ".mdx")
_MIN_DESCRIPTION_BYTES = 2_000
_PACKAGES_PER_PART = 100
READ_ERRORS = (
    OSError,
    EOFError,
    RecursionError,
    ValueError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    CalledProcessError,
)


def mine_package(archive: Path) -> list[Pair]:
    """Return a sample of the pairs of one package, without duplicates."""
    files = list(members(archive))
    random.Random(archive.name).shuffle(files)
    written = _sample_pairs([*_pairs_from_pages(files), *_pairs_from_code(files)], MAX_PAIRS)
    return written + _sample_pairs(list(_pairs_from_descriptions(files)), MAX_OPERATIONS)


def _sample_pairs(pairs: list[Pair], most: int) -> list[Pair]:
    """Return a random sample of at most `most` pairs, without repeated questions."""
    unique = list({pair.query.lower(): pair for pair in pairs}.values())
    random.Random(8).shuffle(unique)
    return unique[:most]


def _pairs_from_pages(files: Iterable[Member]) -> Iterator[Pair]:
    prose = [file for file in files if file.path.lower().endswith(_PROSE) and "license" not in file.path.lower()]
    read = [(page, file.path) for file in prose[:MAX_PAGES] if (page := read_page(file))]
    yield from docs_pairs([page for page, _ in read], [path for _, path in read])


def _pairs_from_code(files: Iterable[Member]) -> Iterator[Pair]:
    left = MAX_CODE_BYTES
    for file in files:
        if file.path.lower().endswith(
            (*_PROSE, ".json", ".txt", ".svg", ".css", ".map", ".po", ".xml", ".yml", ".yaml")
        ):
            continue
        if file.path.endswith((".min.js", ".d.ts")) or left <= 0:
            continue
        found = list(code_pairs(file, shorten_path(file.path)))
        left -= len(file.data) if found else 0
        yield from found


def _pairs_from_descriptions(files: Iterable[Member]) -> Iterator[Pair]:
    for file in files:
        service = file.path.rpartition("/")[2].partition(".")[0]
        if file.path.endswith(".json") and len(file.data) > _MIN_DESCRIPTION_BYTES and not is_excluded(service):
            yield from api_pairs(file)


def shorten_path(path: str) -> str:
    """Return the last folders and the file name of a path, because the first folders depend on the package format."""
    return "/".join(path.split("/")[-3:])


def mine_all(archives: list[Path], out: Path) -> None:
    """Mine every archive, and list archives that cannot be read."""
    seen: set[bytes] = set()
    for start in range(0, len(archives), _PACKAGES_PER_PART):
        part = out / f"part-{start // _PACKAGES_PER_PART:03}.jsonl.gz"
        with gzip.open(part, "wt", encoding="utf-8", compresslevel=3) as sink:
            for archive in archives[start : start + _PACKAGES_PER_PART]:
                sink.writelines(_distinct_lines(archive, seen))
        print(part.name, len(seen), flush=True)


def _distinct_lines(archive: Path, seen: set[bytes]) -> Iterator[str]:
    try:
        pairs = mine_package(archive)
    except READ_ERRORS as exc:
        print(f"{archive.name}: {exc}", flush=True)
        return
    for pair in pairs:
        key = blake2b(pair.text.encode("utf-8", "replace"), digest_size=8).digest()
        if key not in seen:
            seen.add(key)
            yield json.dumps({"package": project_name(archive), **asdict(pair)}) + "\n"


def main() -> None:
    """Mine the packages in the folders that the command line names, in random order."""
    out, *folders = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    archives = [path for folder in folders for path in sorted(folder.iterdir()) if not is_excluded(project_name(path))]
    random.Random(8).shuffle(archives)
    mine_all(archives, out)


if __name__ == "__main__":
    main()
