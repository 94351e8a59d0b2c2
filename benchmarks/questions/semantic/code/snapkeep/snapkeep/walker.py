import fnmatch
import os
import stat
from pathlib import Path
from typing import Iterator


def excluded(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def has_cachedir_tag(folder: Path) -> bool:
    """See bford.info/cachedir: such folders may be skipped."""
    try:
        with open(folder / "CACHEDIR.TAG", "rb") as f:
            return f.read(43) == b"Signature: 8a477f597d28d172789f06886806bc55"
    except OSError:
        return False


def walk(top: Path, patterns: list[str], one_fs: bool = True) -> Iterator[tuple[Path, os.stat_result]]:
    device = top.lstat().st_dev
    stack = [top]
    while stack:
        folder = stack.pop()
        if has_cachedir_tag(folder):
            continue
        with os.scandir(folder) as it:
            for e in sorted(it, key=lambda e: e.name):
                if excluded(e.name, patterns):
                    continue
                st = e.stat(follow_symlinks=False)
                yield Path(e.path), st
                if stat.S_ISDIR(st.st_mode) and (not one_fs or st.st_dev == device):
                    stack.append(Path(e.path))
