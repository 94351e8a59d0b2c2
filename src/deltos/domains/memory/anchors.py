"""Ties observations to the code they speak of: a hash of the file, or of the lines of one symbol, and
whether it still holds."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.redact import is_secret_file
from deltos.errors import FileRefused
from deltos.files import FileTree, read_below
from deltos.store.observations import Anchor, Clean
from deltos.text.identifiers import names_in_prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LARGEST_FILE = 2_000_000
_MOST_FILES = 20
_MOST_SYMBOLS = 20
_LONGEST_LINE = 500  # of those that may define something
_DIGEST_BYTES = 16
_CALL = r"\b([A-Za-z_]\w*)\("
_QUOTED = r"`([A-Za-z_][\w.]*)(?:\(\))?`"
_LAST_WORD = re.compile(r"[a-z]{2,12}$")
_MODIFIERS = re.compile(r"[\w@<>\[\],*& \t]*+")
_DEFINING = frozenset("def class func fn function interface struct enum trait type impl module object".split())
_ASSIGNING = frozenset("export const let var val static pub".split())
_ASSIGNMENTS = (
    [],
    ["export"],
    *([word] for word in sorted(_ASSIGNING)),
    *(["export", word] for word in sorted(_ASSIGNING)),
)
_PATH_LIKE = r"[\w./-]*\w\.\w{1,8}$"


def files_in(text: Clean, root: Path | None) -> list[Clean]:
    """The files of the project that a text names."""
    if root is None:
        return []
    candidates = [name for name in names_in_prose(text) if re.fullmatch(_PATH_LIKE, name)]
    return [Clean(name) for name in candidates[:_MOST_FILES] if _is_file(root, name)]


def symbols_in(text: Clean) -> list[Clean]:
    """The names of code that a text speaks of: in backquotes, called, or spelled like code; files are no symbols."""
    quoted = re.findall(_QUOTED, text) + re.findall(_CALL, text)
    spelled = [name for name in names_in_prose(text) if "/" not in name and not re.search(r"\.\w{1,4}$", name)]
    found = (Clean(name.rsplit(".", 1)[-1]) for name in quoted + spelled)
    return list(dict.fromkeys(name for name in found if len(name) > 2))[:_MOST_SYMBOLS]


def relative_files(files: Iterable[Clean], root: Path | None) -> tuple[Clean, ...]:
    """Paths as they are kept: relative to the project root, with `/`; those outside stay as given."""
    return tuple(dict.fromkeys(Clean(_relative(path, root)) for path in files))


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
    at = source.find(symbol)
    while at >= 0:
        start = source.rfind("\n", max(0, at - _LONGEST_LINE), at) + 1
        after = source[at + len(symbol) : at + _LONGEST_LINE].partition("\n")[0]
        if at - start < _LONGEST_LINE and _defines(source[start:at], after):
            return _block(source[start:])
        at = source.find(symbol, at + len(symbol))
    return ""


def _defines(before: str, after: str) -> bool:
    """Whether a name is defined between these parts of a line: after a word such as `def`, or before a `=`."""
    words = before.split()
    if not words or words[-1] in _ASSIGNING or before.isspace():
        equals = after.find("=")
        between = after[: max(0, equals)].lstrip(" \t")
        if equals >= 0 and (not between or (between[0] == ":" and len(between) > 1)) and words in _ASSIGNMENTS:
            return True
    if after[:1].isalnum() or after[:1] == "_":
        return False
    lead = before.rstrip(" \t")
    if lead.endswith(")") and "(" in lead:  # Go's receiver
        lead = lead[: lead.rfind("(")].rstrip(" \t")
    keyword = _LAST_WORD.search(lead[-20:])
    if keyword is None or keyword[0] not in _DEFINING or len(lead) == len(before):
        return False
    rest = lead[: -len(keyword[0])]
    return _MODIFIERS.fullmatch(rest) is not None and rest[-1:] in ("", " ", "\t", "*", "&")


def _block(source: str) -> str:
    """The first line of a source with all that is indented deeper, and the line that closes it."""
    lines = source.splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip(" \t"))
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
    if root is None or is_secret_file(path):
        return None
    try:
        data = read_below(root, _inside(root, path), _LARGEST_FILE)
    except FileRefused:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _is_file(root: Path, path: str) -> bool:
    """Whether a path is a file under the project root that no link leads to."""
    with FileTree(root) as tree:
        return tree.is_file(_inside(root, path))


def _inside(root: Path, path: str) -> str:
    """A path as it is from the root, without detours; what leads out of it stays so, and is refused when it is read."""
    return posixpath.normpath(_relative(path, root))


def _relative(path: str, root: Path | None) -> str:
    plain = path.replace("\\", "/")
    if root is None or not Path(plain).is_absolute():
        return plain.removeprefix("./")
    for base in (root, root.resolve()):
        if Path(plain).is_relative_to(base):
            return Path(plain).relative_to(base).as_posix()
    return plain


def _digest(text: str) -> bytes:
    from deltos.digest import sha256  # deferred: hooks rarely need it

    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
