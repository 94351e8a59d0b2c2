"""What people exclude: nested .gitignore files where git cannot be asked, and our own .deltosignore files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pathspec

IGNORE_FILE = ".deltosignore"


@dataclass(frozen=True, slots=True)
class GitIgnores:
    """The .gitignore files that hold for a folder, outermost first, each with the folder it stands in."""

    levels: tuple[tuple[str, pathspec.GitIgnoreSpec], ...] = ()

    def inside(self, root: Path, folder: str) -> GitIgnores:
        """The same and what the folder's own .gitignore says."""
        lines = _read_lines(root / folder / ".gitignore")
        if not lines:
            return self
        return GitIgnores((*self.levels, (folder, _specification(lines))))

    def exclude(self, path: str, *, is_folder: bool) -> bool:
        """Whether the path is ignored; deeper files come later and win."""
        verdict = False
        for folder, spec in self.levels:
            relative = path[len(folder) + 1 :] if folder else path
            result = spec.check_file(f"{relative}/" if is_folder else relative)
            if result.include is not None:
                verdict = result.include
        return verdict


def own_ignores(root: Path, files: Iterable[str]) -> pathspec.GitIgnoreSpec | None:
    """All .deltosignore files as one specification, nested ones confined to their folder, deeper ones last."""
    lines: list[str] = []
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        folder = path[: -len(IGNORE_FILE)]
        lines += [_confine(line, folder) for line in _read_lines(root / path)]
    return _specification(lines) if lines else None


def _specification(lines: list[str]) -> pathspec.GitIgnoreSpec:
    import pathspec  # deferred: in a repository, git itself is asked

    return pathspec.GitIgnoreSpec.from_lines(lines)


def _confine(line: str, folder: str) -> str:
    """A pattern of a nested file as the root's file would have to say it."""
    text = line.strip()
    negation, pattern = ("!", text[1:]) if text.startswith("!") else ("", text)
    if not folder or pattern.startswith("#") or not pattern.strip("/"):
        return line
    anchored = "/" in pattern.rstrip("/")
    prefix = re.sub(r"([\\*?\[\]])", r"\\\1", folder)
    return f"{negation}/{prefix}{'' if anchored else '**/'}{pattern.lstrip('/')}"


def _read_lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
