"""What people exclude: the rules of .gitignore, of git's other exclude files and of .deltosignore, read as git reads
them. No pattern can backtrack: plain names are looked up, everything else runs on RE2."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.workspace.globs import compile_globs, translate

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

IGNORE_FILE = ".deltosignore"
GIT_IGNORE_FILE = ".gitignore"
# Of one file:
MAX_IGNORE_BYTES = 2_000_000
MAX_RULES = 50_000
MAX_WILDCARD_RULES = 20_000
MAX_PATTERN_BYTES = 2_000
# Patterns that are tried together before each is tried alone.
_GROUP_RULES = 50
_GROUP_BYTES = 4_000
# Names that no wildcard speaks of, kept for each ignore file: most names come again, and all in the next listing.
_MAX_PLAIN_NAMES = 50_000
_SPECIAL = frozenset("*?[\\")
# git's own default where the file system does not tell upper case from lower case.
IGNORES_CASE = sys.platform in ("win32", "darwin")


class _Last(NamedTuple):
    """The number of the last rule that speaks of a name: for folders, and for everything else; -1 where none does."""

    folder: int = -1
    file: int = -1


_Table = dict[str, _Last]


class _Wildcard(NamedTuple):
    """A rule that needs a pattern; whatever it matches begins with `literal`."""

    number: int
    only_folders: bool
    literal: str
    regex: bytes


@dataclass(slots=True)
class _Group:
    """Some wildcard rules, last one first. Compiled when first asked."""

    rules: list[_Wildcard]
    literals: tuple[str, ...]
    any_of: re.Pattern[bytes] | None = None
    each: dict[int, re.Pattern[bytes]] = field(default_factory=dict)

    def may_begin(self, prefix: str) -> bool:
        """Whether anything that begins with `prefix` can match."""
        return any(prefix.startswith(literal) or literal.startswith(prefix) for literal in self.literals)

    def matches_of(self, listed: bytes) -> Iterator[bytes]:
        """Those that match, of texts that each stand between two zero bytes."""
        if self.any_of is None:
            self.any_of = compile_globs(b"\\x00(?:" + b"|".join(rule.regex for rule in self.rules) + b")\\x00")
        if self.any_of.search(listed):  # which costs half as much as looking for all of them
            for match in self.any_of.finditer(listed):
                yield match.group()[1:-1]

    def last_match(self, text: bytes, after: int, *, is_folder: bool) -> int:
        """The number of the last rule that matches and comes after rule `after`; otherwise `after`."""
        for rule in self.rules:
            if rule.number <= after:
                break
            if (is_folder or not rule.only_folders) and self._matches(rule, text):
                return rule.number
        return after

    def _matches(self, rule: _Wildcard, text: bytes) -> bool:
        if rule.number not in self.each:
            self.each[rule.number] = compile_globs(rule.regex)
        return bool(self.each[rule.number].fullmatch(text))


class IgnoreRules:
    """The rules of one ignore file, for paths relative to the folder that it stands in."""

    def __init__(self, data: bytes = b"", *, ignores_case: bool = IGNORES_CASE) -> None:
        self.digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        self._ignores_case = ignores_case
        self._negated: list[bool] = []
        self._names: _Table = {}
        self._paths: dict[str, _Table] = {}  # names by their folders
        self._name_wildcards: list[_Wildcard] = []
        self._path_wildcards: list[_Wildcard] = []
        self.notes = tuple(self._take_in(data))
        self._name_groups = _grouped(self._name_wildcards)
        self._path_groups = _grouped(self._path_wildcards)
        self._plain_names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._negated)

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """The names in a folder that some rule speaks of, and perhaps others; all of them looked at together."""
        if self._ignores_case:
            return {name for name in names if self._last(f"{folder}/{name}".lstrip("/").lower(), is_folder=True) >= 0}
        found = self._names.keys() & names
        if folder in self._paths:
            found |= self._paths[folder].keys() & names
        if self._name_groups and (others := set(names) - self._plain_names):
            found |= self._matching_names(others)
        prefix = f"{folder}/" if folder else ""
        if groups := [group for group in self._path_groups if group.may_begin(prefix)]:
            found |= {path[len(prefix) :] for path in _matching(groups, [prefix + name for name in names])}
        return found

    def _matching_names(self, names: set[str]) -> set[str]:
        found = _matching(self._name_groups, list(names))
        if len(self._plain_names) > _MAX_PLAIN_NAMES:
            self._plain_names = set()  # another one: others may be reading this
        self._plain_names |= names - found
        return found

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether the last rule that matches excludes the path; None where no rule does."""
        last = self._last(path.lower() if self._ignores_case else path, is_folder=is_folder)
        return None if last < 0 else not self._negated[last]

    def _last(self, path: str, *, is_folder: bool) -> int:
        """The number of the last rule that matches; -1 for none."""
        folder, _, name = path.rpartition("/")
        last = -1
        for table in (self._names, self._paths.get(folder, {})):
            if (known := table.get(name)) is not None:
                last = max(last, known.folder if is_folder else known.file)
        for groups, text in ((self._name_groups, name), (self._path_groups, path)):
            if groups:
                last = _last_match(groups, os.fsencode(text), last, is_folder=is_folder)
        return last

    def _take_in(self, data: bytes) -> Iterator[str]:
        """Sort all rules in, up to the bounds; yields what was left out."""
        left_out = too_long = 0
        for line in _lines(data[:MAX_IGNORE_BYTES]):
            wildcards = len(self._name_wildcards) + len(self._path_wildcards)
            if len(self._negated) >= MAX_RULES or wildcards >= MAX_WILDCARD_RULES:
                left_out += 1
            elif len(line) > MAX_PATTERN_BYTES:
                too_long += 1
            else:
                self._add(_trimmed(line))
        if len(data) > MAX_IGNORE_BYTES:
            yield f"only its first {MAX_IGNORE_BYTES:,} bytes count"
        if left_out:
            yield f"its last {left_out:,} patterns are left out because there are too many"
        if too_long:
            yield f"{too_long:,} patterns of more than {MAX_PATTERN_BYTES:,} bytes are left out"

    def _add(self, pattern: bytes) -> None:
        is_negated = pattern.startswith(b"!")
        text = os.fsdecode(pattern.removeprefix(b"!"))
        text = text.lower() if self._ignores_case else text
        if text not in ("", "/"):
            number = len(self._negated)
            self._negated.append(is_negated)
            self._sort_in(text.removesuffix("/"), number, only_folders=text.endswith("/"))

    def _sort_in(self, pattern: str, number: int, *, only_folders: bool) -> None:
        """Put a rule where it is found fastest."""
        is_path = "/" in pattern
        pattern = pattern.removeprefix("/")
        if _SPECIAL.isdisjoint(pattern):
            folder, slash, name = pattern.rpartition("/")
            if slash and not folder:
                return  # two slashes at the start: nothing is called so
            table = self._paths.setdefault(folder, {}) if is_path else self._names
            known = table.get(name, _Last())
            table[name] = _Last(number, known.file if only_folders else number)
        elif (regex := translate(os.fsencode(pattern), is_path=is_path)) is not None:
            wildcards = self._path_wildcards if is_path else self._name_wildcards
            wildcards.append(_Wildcard(number, only_folders, _literal_head(pattern), regex))


@lru_cache(maxsize=16)
def rules_in(data: bytes) -> IgnoreRules:
    """The rules of an ignore file with this content. Kept: a project is listed again after every change in it."""
    return IgnoreRules(data)


class _Level(NamedTuple):
    """Rules, the folder that they stand in, and what has to be put before a path to see it from there."""

    folder: str
    above: str
    rules: IgnoreRules


@dataclass(frozen=True, slots=True)
class Ignores:
    """The ignore files that hold in a folder, outermost first. Paths are relative to one root."""

    levels: tuple[_Level, ...] = ()

    def inside(self, folder: str, rules: IgnoreRules) -> Ignores:
        """The same and what the folder's own file says."""
        return Ignores((*self.levels, _Level(folder, "", rules))) if rules else self

    def seen_from(self, root: str) -> Ignores:
        """The same for paths relative to `root`, which lies in all of the folders; "" changes nothing."""
        if not root:
            return self
        return Ignores(tuple(_Level("", f"{_relative(root, level.folder)}/", level.rules) for level in self.levels))

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """The names in a folder that `exclude` has to be asked about; no rule speaks of the others."""
        found: set[str] = set()
        for level in self.levels:
            found |= level.rules.may_match((level.above + _relative(folder, level.folder)).rstrip("/"), names)
        return found

    def exclude(self, path: str, *, is_folder: bool) -> bool:
        """Whether the path is ignored; deeper files win. Asks nothing about the folders above it."""
        for level in reversed(self.levels):
            verdict = level.rules.verdict(level.above + _relative(path, level.folder), is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


NO_IGNORES = Ignores()


def _relative(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path


def _literal_head(pattern: str) -> str:
    """What comes before the first wildcard."""
    return pattern[: next(at for at, character in enumerate(pattern) if character in _SPECIAL)]


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines that say something, as git splits them."""
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line.removesuffix(b"\r")
        if line and not line.startswith(b"#"):
            yield line


def _trimmed(line: bytes) -> bytes:
    """A pattern without the blanks after it; one behind a backslash stays."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _grouped(wildcards: list[_Wildcard]) -> list[_Group]:
    """Wildcard rules in groups that one pattern can try at once, last rules first."""
    groups: list[list[_Wildcard]] = []
    size_bytes = 0
    for rule in reversed(wildcards):
        size_bytes += len(rule.regex)
        if not groups or len(groups[-1]) >= _GROUP_RULES or size_bytes > _GROUP_BYTES:
            groups.append([])
            size_bytes = len(rule.regex)
        groups[-1].append(rule)
    return [_Group(rules, tuple({rule.literal for rule in rules})) for rules in groups]


def _matching(groups: list[_Group], texts: Sequence[str]) -> set[str]:
    """The texts that any rule of the groups matches."""
    listed = os.fsencode("\0" + "\0\0".join(texts) + "\0")
    return {os.fsdecode(text) for group in groups for text in group.matches_of(listed)}


def _last_match(groups: list[_Group], text: bytes, after: int, *, is_folder: bool) -> int:
    """The number of the last rule of all groups that matches and comes after rule `after`; otherwise `after`."""
    for group in groups:
        if group.rules[0].number <= after:
            break
        found = group.last_match(text, after, is_folder=is_folder)
        if found != after:
            return found
    return after
