"""Download source packages from Debian, PyPI and npm, and unpack them without running any of their code."""

from __future__ import annotations

import contextlib
import hashlib
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from packaging.utils import InvalidSdistFilename, parse_sdist_filename
from packaging.version import InvalidVersion
from pip._internal.network.session import PipSession
from selectolax.lexbor import LexborHTMLParser as HTMLParser

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGES = Path(__file__).with_name("packages.toml")
MAX_ARCHIVE_BYTES = 60_000_000
DOWNLOAD_TIMEOUT_SECONDS = 300
HELD_OUT_SHARE = 3  # one package in 3 is held out, chosen by a digest of its name


@dataclass(frozen=True, slots=True)
class Repository:
    """An unpacked source tree."""

    name: str
    registry: str
    root: Path

    @property
    def is_held_out(self) -> bool:
        """Whether the repository is held out: its violations are counted but not examined."""
        return is_held_out(self.name)


def is_held_out(name: str) -> bool:
    """Return whether a package belongs to the held-out third."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT_SHARE == 0


def repositories(folder: Path, *, limit: int = 0, download: bool = True) -> Iterator[Repository]:
    """Yield the packages, unpacked below `folder`. Packages that cannot be downloaded are reported and skipped."""
    listed = tomllib.loads(PACKAGES.read_text("utf-8"))
    names = [(registry, name) for registry, packages in listed.items() for name in packages]
    # The order is that of a digest, so that a limited run covers all registries and languages. Downloaded packages come
    # first, the smallest before all others.
    names.sort(key=lambda each: hashlib.sha256(f"order {each}".encode()).digest())
    names = names[: limit or None]
    present = {each: size for each in names if (size := _package_size(_package_folder(folder, *each))) is not None}
    for registry, name in sorted(names, key=lambda each: present.get(each, sys.maxsize)):
        root = _package_folder(folder, registry, name)
        if not (root / ".complete").exists():
            if not download:
                continue
            try:
                _download(registry, name, root, folder / "cache")
            except (OSError, subprocess.SubprocessError, tarfile.TarError, lzma.LZMAError, ValueError) as exc:
                print(f"skipped {registry}:{name}: {type(exc).__name__}: {str(exc)[:200]}", file=sys.stderr)
                shutil.rmtree(root, ignore_errors=True)
                continue
        yield Repository(name, registry, root / "source")


def _package_folder(folder: Path, registry: str, name: str) -> Path:
    return folder / registry / name.replace("/", "+")


def _package_size(root: Path) -> int | None:
    """Return the size of an unpacked package in bytes, or None if it is not unpacked.

    The size is computed only once.
    """
    complete = root / ".complete"
    if not complete.exists():
        return None
    if not (counted := complete.read_text("utf-8")):
        entries = (os.scandir(folder) for folder, _, _ in os.walk(root))
        counted = str(sum(entry.stat(follow_symlinks=False).st_size for each in entries for entry in each))
        complete.write_text(counted, "utf-8")
    return int(counted)


def _download(registry: str, name: str, root: Path, cache: Path) -> None:
    """Download and unpack one package."""
    shutil.rmtree(root, ignore_errors=True)
    archives = root / "archives"
    archives.mkdir(parents=True)
    {"debian": _from_debian, "pypi": _from_pypi, "npm": _from_npm}[registry](name, archives, cache)
    source = root / "source"
    source.mkdir()
    for archive in sorted(archives.iterdir()):
        if archive.stat().st_size > MAX_ARCHIVE_BYTES:
            raise ValueError(f"{archive.name} has {archive.stat().st_size:,} bytes")
        _unpack(archive, source)
    shutil.rmtree(archives)
    if not any(source.iterdir()):
        raise ValueError("the archive is empty")
    (root / ".complete").touch()


def _from_debian(name: str, archives: Path, cache: Path) -> None:
    """Fetch the original source in the newest version that the mirror serves.

    Mirrors drop files of a suite that their lists still name, so each version of each suite is tried.
    """
    options = _apt_options(cache)
    failure: Exception = ValueError("no such source package")
    for version in _debian_versions(_run(["apt-cache", *options, "showsrc", "--only-source", name], archives), name):
        command = ["apt-get", *options, "source", "--download-only", "--tar-only", "--only-source", f"{name}={version}"]
        try:
            _run(command, archives)
            break
        except subprocess.SubprocessError as exc:
            failure = exc
    else:
        raise failure
    for path in archives.iterdir():
        if not path.name.endswith((".tar.xz", ".tar.gz", ".tar.bz2", ".tar.zst")):
            path.unlink()


def _debian_versions(printed: str, name: str) -> list[str]:
    """Return the versions of a package in the order of `apt-cache showsrc`, without duplicates."""
    stanzas = [dict(re.findall(r"^(Package|Version): (.*)$", each, re.MULTILINE)) for each in printed.split("\n\n")]
    return list(dict.fromkeys(each["Version"] for each in stanzas if each.get("Package") == name))


def _apt_options(cache: Path) -> list[str]:
    """Return apt options that use separate source lists, so that the lists of the machine stay unchanged."""
    state = cache.resolve() / "apt"
    lists = state / "sources.list"
    options = [
        f"-oDir::Etc::SourceList={lists}",
        "-oDir::Etc::SourceParts=/dev/null",
        f"-oDir::State::Lists={state / 'lists'}",
        f"-oDir::Cache={state / 'cache'}",
        "-oAPT::Sandbox::User=root",
    ]
    if not lists.exists():
        (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (state / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        lists.write_text("\n".join(dict.fromkeys(_source_lines())) + "\n", "utf-8")
        _run(["apt-get", *options, "update", "--quiet"], state)
    return options


def _source_lines() -> Iterator[str]:
    """Return `deb-src` lines for the Debian archive of the machine, for its own suite and the newer ones."""
    for path in (Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("debian*"))):
        text = path.read_text("utf-8") if path.is_file() else ""
        yield from (f"deb-src{line[3:]}" for line in text.splitlines() if line.startswith("deb "))
        for stanza in text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[0] != "#")
            if "Suites" in fields and not fields["URIs"].rstrip("/").endswith("-security"):
                suite = fields["Suites"].split()[0]
                for each in (suite, "stable", "testing", "unstable"):
                    yield f"deb-src [signed-by={fields['Signed-By']}] {fields['URIs']} {each} main"


def _from_pypi(name: str, archives: Path, cache: Path) -> None:
    """Download the newest source archive. `pip download` is not used, because it would run the build of the package."""
    del cache
    configured = _run([sys.executable, "-m", "pip", "config", "get", "global.index-url"], archives, check=False).strip()
    address = f"{(configured or 'https://pypi.org/simple').rstrip('/')}/{name}/"
    links = [link.attributes.get("href") or "" for link in HTMLParser(_fetch_url(address)).css("a")]
    versions = {}
    for link in links:
        file = link.partition("#")[0].rpartition("/")[2]
        with contextlib.suppress(InvalidSdistFilename, InvalidVersion):
            version = parse_sdist_filename(file)[1]
            if not version.is_prerelease and file.endswith(".tar.gz"):
                versions[version] = urljoin(address, link)
    if not versions:
        raise ValueError("no source archive")
    newest = versions[max(versions)]
    (archives / newest.partition("#")[0].rpartition("/")[2]).write_bytes(_fetch_url(newest))


def _from_npm(name: str, archives: Path, cache: Path) -> None:
    _run(["npm", "pack", "--ignore-scripts", "--silent", "--cache", str(cache / "npm"), name], archives)


def _fetch_url(address: str) -> bytes:
    """Fetch a URL through pip's session, which uses the certificates and proxies of the machine."""
    answer = PipSession().get(address, timeout=DOWNLOAD_TIMEOUT_SECONDS)
    answer.raise_for_status()
    return answer.content


def _unpack(archive: Path, target: Path) -> None:
    """Unpack an archive, except links, devices and paths outside of the target folder."""
    name = archive.name
    if name.endswith(".zst"):
        plain = archive.with_suffix("")
        _run(["zstd", "-d", "-q", str(archive), "-o", str(plain)], archive.parent)
        archive = plain
    with tarfile.open(archive) as files:
        for member in files:
            if member.isfile() or member.isdir():
                try:
                    files.extract(member, target, filter="data", set_attrs=False)
                except (tarfile.FilterError, OSError):
                    continue


def _run(command: list[str], folder: Path, *, check: bool = True) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=DOWNLOAD_TIMEOUT_SECONDS, check=False,
        env={**os.environ, "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if check and done.returncode:
        raise subprocess.SubprocessError(done.stderr.strip()[-300:])
    return done.stdout


if __name__ == "__main__":
    for repository in repositories(Path(sys.argv[1])):
        print(repository.registry, repository.name, "held out" if repository.is_held_out else "")
