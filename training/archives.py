"""Read downloaded packages (wheels, npm tarballs, Debian packages, source archives) as files in memory."""

from __future__ import annotations

import gzip
import io
import re
import subprocess
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_FILE_BYTES = 300_000
MAX_DESCRIPTION_BYTES = 4_000_000  # limit for API descriptions in JSON, which are large single files
_PROJECT = re.compile(r"^(.+?)[-_]v?\d")
_TARBALL = re.compile(r"\.(?:tgz|tar\.(?:gz|xz|bz2))$")


@dataclass(frozen=True, slots=True)
class Member:
    """One file of a package."""

    path: str
    data: bytes


def project_name(archive: Path) -> str:
    """Return the project name of an archive, without the version."""
    if archive.suffix == ".deb":
        return archive.name.partition("_")[0]
    match = _PROJECT.match(archive.name)
    return (match[1] if match else archive.stem).lower()


def members(archive: Path) -> Iterator[Member]:
    """Yield the regular files of an archive, except large ones."""
    if archive.suffix == ".whl":
        yield from _zip_members(archive)
    elif archive.suffix == ".deb":
        unpacked = subprocess.run(["dpkg-deb", "--fsys-tarfile", str(archive)], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(unpacked.stdout)) as tar:
            yield from _tar_members(tar)
    elif _TARBALL.search(archive.name):
        with tarfile.open(archive) as tar:
            yield from _tar_members(tar)


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as bundle:
        for info in bundle.infolist():
            if 0 < info.file_size <= _max_bytes(info.filename):
                yield _decompress(info.filename, bundle.read(info))


def _tar_members(tar: tarfile.TarFile) -> Iterator[Member]:
    for info in tar:
        if info.isreg() and 0 < info.size <= _max_bytes(info.name) and (file := tar.extractfile(info)):
            yield _decompress(info.name.removeprefix("./"), file.read())


def _max_bytes(path: str) -> int:
    return MAX_DESCRIPTION_BYTES if path.endswith(".json") else MAX_FILE_BYTES


def _decompress(path: str, data: bytes) -> Member:
    """Decompress a file that is compressed inside its package, as in packages of Debian and AWS."""
    if not path.endswith(".gz"):
        return Member(path, data)
    try:
        return Member(path.removesuffix(".gz"), gzip.decompress(data))
    except (OSError, EOFError, zlib.error):
        return Member(path, b"")
