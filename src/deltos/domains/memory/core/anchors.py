"""Link observations to code: the stored hash of a file or symbol shows whether the code has changed since then."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import FileRefused
from deltos.files import FileTree, read_below
from deltos.model import Clean
from deltos.redaction.secret_files import is_secret_file
from deltos.store.observations import Anchor
from deltos.text.identifiers import names_in_prose

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_FILE_BYTES = 2_000_000
_MAX_ANCHORED_FILES = 20
_MAX_SYMBOLS_PER_TEXT = 20
_MAX_DEFINITION_LINE_CHARACTERS = 500  # longer lines are not searched for definitions
_DIGEST_BYTES = 16
_CALLED_NAME = r"\b([A-Za-z_]\w*)\("
_QUOTED_NAME = r"`([A-Za-z_][\w.]*)(?:\(\))?`"
_LAST_WORD = re.compile(r"[a-z]{2,12}$")
_MODIFIERS = re.compile(r"[\w@<>\[\],*& \t]*+")
_DEFINITION_KEYWORDS = frozenset(
    "def class func fn function interface struct enum trait type impl module object".split()
)
_ASSIGNMENT_KEYWORDS = frozenset("export const let var val static pub".split())
_ASSIGNMENT_PREFIXES = (
    [],
    ["export"],
    *([word] for word in sorted(_ASSIGNMENT_KEYWORDS)),
    *(["export", word] for word in sorted(_ASSIGNMENT_KEYWORDS)),
)
_FILE_NAME = r"[\w./-]*\w\.\w{1,8}$"


def files_in(text: Clean, root: Path | None) -> list[Clean]:
    """Return the project files that a text mentions."""
    if root is None:
        return []
    candidates = [name for name in names_in_prose(text) if re.fullmatch(_FILE_NAME, name)]
    return [Clean(name) for name in candidates[:_MAX_ANCHORED_FILES] if _is_file(root, name)]


def symbols_in(text: Clean) -> list[Clean]:
    """Return the code identifiers in a text: names in backquotes, called names, and names spelled like code."""
    quoted = re.findall(_QUOTED_NAME, text) + re.findall(_CALLED_NAME, text)
    spelled = [name for name in names_in_prose(text) if "/" not in name and not re.search(r"\.\w{1,4}$", name)]
    found = (Clean(name.rsplit(".", 1)[-1]) for name in quoted + spelled)
    return list(dict.fromkeys(name for name in found if len(name) > 2))[:_MAX_SYMBOLS_PER_TEXT]


def relative_files(files: Iterable[Clean], root: Path | None) -> tuple[Clean, ...]:
    """Return paths relative to the project root, with `/` as separator; paths outside the project are unchanged."""
    return tuple(dict.fromkeys(Clean(_relative_path(path, root)) for path in files))


def anchor(files: Sequence[str], symbols: Sequence[str], root: Path | None) -> tuple[Anchor, ...]:
    """Return an anchor for each symbol defined in the files, or for a whole file that defines none of the symbols."""
    anchors: list[Anchor] = []
    for path in files[:_MAX_ANCHORED_FILES]:
        source = _read_source(root, path)
        if source is None:
            continue
        blocks = [(symbol, block) for symbol in symbols if (block := symbol_lines(source, symbol))]
        anchors += [Anchor(path, symbol, _digest(block)) for symbol, block in blocks] or [
            Anchor(path, "", _digest(source))
        ]
    return tuple(anchors)


def has_changed(anchors: Iterable[Anchor], root: Path) -> bool:
    """Whether any of the anchored code was changed or deleted since the anchors were created."""
    return any(_current_digest(root, anchor) != anchor.digest for anchor in anchors)


def symbol_lines(source: str, symbol: str) -> str:
    """Return the source lines that define `symbol`, up to the end of the indented block, or an empty string."""
    at = source.find(symbol)
    while at >= 0:
        start = source.rfind("\n", max(0, at - _MAX_DEFINITION_LINE_CHARACTERS), at) + 1
        after = source[at + len(symbol) : at + _MAX_DEFINITION_LINE_CHARACTERS].partition("\n")[0]
        if at - start < _MAX_DEFINITION_LINE_CHARACTERS and _defines(source[start:at], after):
            return _indented_block(source[start:])
        at = source.find(symbol, at + len(symbol))
    return ""


def _defines(before: str, after: str) -> bool:
    """Whether a line `before NAME after` defines the name, by a keyword such as `def` or by an assignment."""
    words = before.split()
    if not words or words[-1] in _ASSIGNMENT_KEYWORDS or before.isspace():
        equals = after.find("=")
        between = after[: max(0, equals)].lstrip(" \t")
        if equals >= 0 and (not between or (between[0] == ":" and len(between) > 1)) and words in _ASSIGNMENT_PREFIXES:
            return True
    if after[:1].isalnum() or after[:1] == "_":
        return False
    lead = before.rstrip(" \t")
    if lead.endswith(")") and "(" in lead:  # skip the receiver of a Go method
        lead = lead[: lead.rfind("(")].rstrip(" \t")
    keyword = _LAST_WORD.search(lead[-20:])
    if keyword is None or keyword[0] not in _DEFINITION_KEYWORDS or len(lead) == len(before):
        return False
    rest = lead[: -len(keyword[0])]
    return _MODIFIERS.fullmatch(rest) is not None and rest[-1:] in ("", " ", "\t", "*", "&")


def _indented_block(source: str) -> str:
    """Return the block at the start of a source text: first line, more deeply indented lines, and closing line."""
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


def _current_digest(root: Path, anchor: Anchor) -> bytes:
    """Return the current hash of the anchored code, or empty bytes if the file cannot be read."""
    source = _read_source(root, anchor.path)
    if source is None:
        return b""
    return _digest(symbol_lines(source, anchor.symbol) if anchor.symbol else source)


def _read_source(root: Path | None, path: str) -> str | None:
    r"""Return the text of a project file with `\n` line ends, or None if the file cannot or must not be read."""
    if root is None or is_secret_file(path):
        return None
    try:
        data = read_below(root, _normalized_path(root, path), _MAX_FILE_BYTES)
    except FileRefused:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _is_file(root: Path, path: str) -> bool:
    """Whether a path is a regular file below the project root and contains no symbolic links."""
    with FileTree(root) as tree:
        return tree.is_file(_normalized_path(root, path))


def _normalized_path(root: Path, path: str) -> str:
    """Return a path relative to the root without `.` and `..` parts.

    A path outside the root remains outside, so that FileTree refuses to read it.
    """
    return posixpath.normpath(_relative_path(path, root))


def _relative_path(path: str, root: Path | None) -> str:
    plain = path.replace("\\", "/")
    if root is None or not Path(plain).is_absolute():
        return plain.removeprefix("./")
    for base in (root, root.resolve()):
        if Path(plain).is_relative_to(base):
            return Path(plain).relative_to(base).as_posix()
    return plain


def _digest(text: str) -> bytes:
    from deltos.digest import sha256  # imported late: hooks rarely need it

    return sha256(text.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES]
