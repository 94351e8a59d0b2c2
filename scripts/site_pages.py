"""Copy the Markdown pages of the repository into one folder for the documentation site, and adapt their links.

    python -P -m scripts.site_pages build/site-pages

Links to pages of the site stay relative; links to other files of the repository become links to the public repository.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Maps a page of the site to its file in the repository. Pages in docs/ keep their names and are not listed.
OTHER_PAGES = {
    "index.md": "README.md",
    "architecture.md": "ARCHITECTURE.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "results.md": "benchmarks/RESULTS.md",
    "sweep.md": "benchmarks/sweep/TABLE.md",
}
_LINK = re.compile(r"(?<=\]\()([^()\s#]++)(#[^()\s]*+)?(?=\))")


def page_sources() -> dict[str, Path]:
    """Return the file of each page of the site."""
    pages = {path.name: path for path in sorted((ROOT / "docs").glob("*.md"))}
    return pages | {name: ROOT / source for name, source in OTHER_PAGES.items()}


def adapt_links(text: str, source: Path, pages: dict[str, Path], repository: str) -> str:
    """Return a page whose links work on the site."""
    names = {path: name for name, path in pages.items()}

    def adapt(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if "://" in target or target.startswith("mailto:"):
            return link[0]
        path = (source.parent / target).resolve()
        if path in names:
            return names[path] + anchor
        relative = path.relative_to(ROOT).as_posix()
        if relative.startswith("docs/pictures/"):
            return relative.removeprefix("docs/")
        return f"{repository}/{'tree' if path.is_dir() else 'blob'}/main/{relative}{anchor}"

    return _LINK.sub(adapt, text)


def write_pages(folder: Path) -> None:
    """Write all pages and pictures into `folder`, which is emptied first."""
    repository = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Source"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pages = page_sources()
    for name, source in pages.items():
        (folder / name).write_text(adapt_links(source.read_text("utf-8"), source, pages, repository), "utf-8")
    shutil.copytree(ROOT / "docs/pictures", folder / "pictures")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]).resolve())
