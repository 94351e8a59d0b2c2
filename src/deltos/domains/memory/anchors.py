"""Ties observations to the code they speak of: a hash of the file, or of the lines of one symbol, and
whether it still holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.redact import is_secret_file
from deltos.domains.memory.words import identifiers
from deltos.store.memory import Anchor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LARGEST_FILE = 2_000_000
_MOST_FILES = 20
_MOST_SYMBOLS = 20
_DIGEST_BYTES = 16
_CALL = r"\b([A-Za-z_]\w*)\("
_QUOTED = r"`([A-Za-z_][\w.]*)(?:\(\))?`"
_PATH_LIKE = r"[\w./-]*\w\.\w{1,8}$"


def files_in(text: str, root: Path | None) -> list[str]:
    """The files of the project that a text names."""
    if root is None:
        return []
    candidates = [name for name in identifiers(text) if re.fullmatch(_PATH_LIKE, name)]
    return [name for name in candidates[:_MOST_FILES] if _inside(root, name) is not None]


def symbols_in(text: str) -> list[str]:
    """The names of code that a text speaks of: in backquotes, called, or spelled like code; files are no symbols."""
    quoted = re.findall(_QUOTED, text) + re.findall(_CALL, text)
    spelled = [name for name in identifiers(text) if "/" not in name and not re.search(r"\.\w{1,4}$", name)]
    found = (name.rsplit(".", 1)[-1] for name in quoted + spelled)
    return list(dict.fromkeys(name for name in found if len(name) > 2))[:_MOST_SYMBOLS]


def relative_files(files: Iterable[str], root: Path | None) -> tuple[str, ...]:
    """Paths as they are kept: relative to the project root, with `/`; those outside stay as given."""
    return tuple(dict.fromkeys(_relative(path, root) for path in files))


def anchor(files: Sequence[str], symbols: Sequence[str], root: Path | None) -> tuple[Anchor, ...]:
    """What the named code looks like now: its symbols' lines where they are found, otherwise the whole file."""
    anchors: list[Anchor] = []
    for path in files[:_MOST_FILES]:
        source = _read(root, path)
        if source is None:
            continue
        blocks = [(symbol, block) for symbol in symbols if (block := symbol_lines(source, symbol))]
        anchors += [Anchor(path, symbol, _digest(block)) for symbol, block in blocks] or [
            Anchor(path, "", _digest(source))
        ]
    return tuple(anchors)


def changed(anchors: Iterable[Anchor], root: Path) -> bool:
    """Whether any of the code has changed, or gone, since it was written about."""
    return any(_state(root, anchor) != anchor.digest for anchor in anchors)


def symbol_lines(source: str, symbol: str) -> str:
    """The lines that define `symbol`: from the line that names it to the end of its indented block; empty
    when not found."""
    pattern = (
        r"(?m)^([ \t]*)(?:[\w@<>\[\],*& \t]+[ \t*&])?"
        r"(?:def|class|func|fn|function|interface|struct|enum|trait|type|impl|module|object)"
        rf"[ \t]+(?:\([^)\n]*\)[ \t]*)?{re.escape(symbol)}\b"
        r"|^([ \t]*)(?:export[ \t]+)?(?:const|let|var|val|static|pub)?[ \t]*"
        rf"{re.escape(symbol)}[ \t]*(?::[^=\n]+)?="
    )
    match = re.search(pattern, source)
    if match is None:
        return ""
    indent = len(match[1] if match[1] is not None else match[2])
    lines = source[match.start() :].splitlines()
    kept = [lines[0]]
    for line in lines[1:]:
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= indent:
            if line.strip()[0] in "})]":
                kept.append(line)
            break
        kept.append(line)
    return "\n".join(kept).rstrip()


def _state(root: Path, anchor: Anchor) -> bytes:
    source = _read(root, anchor.path)
    if source is None:
        return b""
    return _digest(symbol_lines(source, anchor.symbol) if anchor.symbol else source)


def _read(root: Path | None, path: str) -> str | None:
    target = _inside(root, path) if root is not None else None
    if target is None or is_secret_file(path):
        return None
    try:
        return target.read_text("utf-8", "replace") if target.stat().st_size <= _LARGEST_FILE else None
    except OSError:
        return None


def _inside(root: Path, path: str) -> Path | None:
    """The file behind a path, if it exists under the project root."""
    try:
        target = (root / path).resolve()
        return target if target.is_relative_to(root.resolve()) and target.is_file() else None
    except (OSError, ValueError):
        return None


def _relative(path: str, root: Path | None) -> str:
    plain = path.replace("\\", "/")
    if root is None or not Path(plain).is_absolute():
        return plain.removeprefix("./")
    for base in (root, root.resolve()):
        if Path(plain).is_relative_to(base):
            return Path(plain).relative_to(base).as_posix()
    return plain


def _digest(text: str) -> bytes:
    import hashlib  # deferred: hooks rarely need it, and it loads a large library

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
