"""Ignore rules of .gitignore, git's other exclude files and .deltosignore, with git's semantics.

No pattern can backtrack: plain names are looked up, all other patterns run on RE2.
"""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from deltos.workspace.git_globs import compile_globs, translate

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

IGNORE_FILE = ".deltosignore"
GIT_IGNORE_FILE = ".gitignore"
# Limits per file.
MAX_IGNORE_BYTES = 2_000_000
MAX_RULES = 50_000
MAX_WILDCARD_RULES = 20_000
MAX_PATTERN_BYTES = 2_000
# Patterns that are matched as one expression before each is matched separately.
_GROUP_RULES = 50
_GROUP_BYTES = 4_000
# Names that no wildcard matches, cached per ignore file: most names recur, and all of them in the next listing.
_MAX_PLAIN_NAMES = 50_000
_SPECIAL = frozenset("*?[\\")
# git's default on case-insensitive file systems.
IGNORES_CASE = sys.platform in ("win32", "darwin")


class _LastRule(NamedTuple):
    """Number of the last rule for a name, for folders and for other files; -1 if there is none."""

    folder: int = -1
    file: int = -1


_Table = dict[str, _LastRule]


class _Wildcard(NamedTuple):
    """A rule with wildcards; every match begins with `literal`."""

    number: int
    only_folders: bool
    literal: str
    regex: bytes


@dataclass(slots=True)
class _Group:
    """Some wildcard rules, last one first; compiled on first use."""

    rules: list[_Wildcard]
    literals: tuple[str, ...]
    any_of: re.Pattern[bytes] | None = None
    each: dict[int, re.Pattern[bytes]] = field(default_factory=dict)

    def may_begin(self, prefix: str) -> bool:
        """Whether a path that begins with `prefix` can match."""
        return any(prefix.startswith(literal) or literal.startswith(prefix) for literal in self.literals)

    def matches_of(self, listed: bytes) -> Iterator[bytes]:
        """Yield the matching texts of a list in which each is between two zero bytes."""
        if self.any_of is None:
            self.any_of = compile_globs(b"\\x00(?:" + b"|".join(rule.regex for rule in self.rules) + b")\\x00")
        if self.any_of.search(listed):  # half the cost of finditer
            for match in self.any_of.finditer(listed):
                yield match.group()[1:-1]

    def last_match(self, text: bytes, after: int, *, is_folder: bool) -> int:
        """Return the number of the last matching rule after rule `after`, otherwise `after`."""
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
    """The rules of one ignore file, for paths relative to its folder."""

    def __init__(self, data: bytes = b"", *, ignores_case: bool = IGNORES_CASE) -> None:
        self.digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        self._ignores_case = ignores_case
        self._negated: list[bool] = []
        self._names: _Table = {}
        self._paths: dict[str, _Table] = {}  # names by folder
        self._name_wildcards: list[_Wildcard] = []
        self._path_wildcards: list[_Wildcard] = []
        self.notes = tuple(self._add_rules(data))
        self._name_groups = _grouped(self._name_wildcards)
        self._path_groups = _grouped(self._path_wildcards)
        self._plain_names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._negated)

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return the names in a folder that a rule may match; may include others. All names are checked together."""
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
            self._plain_names = set()  # not cleared in place, because other threads may be reading it
        self._plain_names |= names - found
        return found

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Whether the last matching rule excludes the path; None if no rule matches."""
        last = self._last(path.lower() if self._ignores_case else path, is_folder=is_folder)
        return None if last < 0 else not self._negated[last]

    def _last(self, path: str, *, is_folder: bool) -> int:
        """Return the number of the last matching rule; -1 for none."""
        folder, _, name = path.rpartition("/")
        last = -1
        for table in (self._names, self._paths.get(folder, {})):
            if (known := table.get(name)) is not None:
                last = max(last, known.folder if is_folder else known.file)
        for groups, text in ((self._name_groups, name), (self._path_groups, path)):
            if groups:
                last = _last_match(groups, os.fsencode(text), last, is_folder=is_folder)
        return last

    def _add_rules(self, data: bytes) -> Iterator[str]:
        """Add all rules within the limits; yield notes on skipped ones."""
        skipped = too_long = 0
        for line in _lines(data[:MAX_IGNORE_BYTES]):
            wildcards = len(self._name_wildcards) + len(self._path_wildcards)
            if len(self._negated) >= MAX_RULES or wildcards >= MAX_WILDCARD_RULES:
                skipped += 1
            elif len(line) > MAX_PATTERN_BYTES:
                too_long += 1
            else:
                self._add(_trimmed(line))
        if len(data) > MAX_IGNORE_BYTES:
            yield f"only its first {MAX_IGNORE_BYTES:,} bytes are used"
        if skipped:
            yield f"its last {skipped:,} patterns are ignored because there are too many"
        if too_long:
            yield f"{too_long:,} patterns of more than {MAX_PATTERN_BYTES:,} bytes are ignored"

    def _add(self, pattern: bytes) -> None:
        is_negated = pattern.startswith(b"!")
        text = os.fsdecode(pattern.removeprefix(b"!"))
        text = text.lower() if self._ignores_case else text
        if text not in ("", "/"):
            number = len(self._negated)
            self._negated.append(is_negated)
            self._store_rule(text.removesuffix("/"), number, only_folders=text.endswith("/"))

    def _store_rule(self, pattern: str, number: int, *, only_folders: bool) -> None:
        """Store a rule in the table or list where it is matched fastest."""
        is_path = "/" in pattern
        pattern = pattern.removeprefix("/")
        if _SPECIAL.isdisjoint(pattern):
            folder, slash, name = pattern.rpartition("/")
            if slash and not folder:
                return  # two leading slashes match nothing
            table = self._paths.setdefault(folder, {}) if is_path else self._names
            known = table.get(name, _LastRule())
            table[name] = _LastRule(number, known.file if only_folders else number)
        elif (regex := translate(os.fsencode(pattern), is_path=is_path)) is not None:
            wildcards = self._path_wildcards if is_path else self._name_wildcards
            wildcards.append(_Wildcard(number, only_folders, _literal_prefix(pattern), regex))


@lru_cache(maxsize=16)
def rules_in(data: bytes) -> IgnoreRules:
    """Return the rules of an ignore file's content; cached, because a project is listed again after every change."""
    return IgnoreRules(data)


class _IgnoreLevel(NamedTuple):
    """Rules with their folder, and the prefix that makes a path relative to it."""

    folder: str
    above: str
    rules: IgnoreRules


@dataclass(frozen=True, slots=True)
class Ignores:
    """The ignore files that apply in a folder, outermost first. Paths are relative to one root."""

    levels: tuple[_IgnoreLevel, ...] = ()

    def inside(self, folder: str, rules: IgnoreRules) -> Ignores:
        """Return these rules with those of the folder's own file added."""
        return Ignores((*self.levels, _IgnoreLevel(folder, "", rules))) if rules else self

    def seen_from(self, root: str) -> Ignores:
        """Return the same rules for paths relative to `root`, which is inside all of the folders."""
        if not root:
            return self
        return Ignores(
            tuple(_IgnoreLevel("", f"{_relative(root, level.folder)}/", level.rules) for level in self.levels)
        )

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return the names in a folder that need a check by `exclude`; no rule matches the others."""
        found: set[str] = set()
        for level in self.levels:
            found |= level.rules.may_match((level.above + _relative(folder, level.folder)).rstrip("/"), names)
        return found

    def exclude(self, path: str, *, is_folder: bool) -> bool:
        """Whether the path is ignored; deeper files take precedence. Parent folders are not checked."""
        for level in reversed(self.levels):
            verdict = level.rules.verdict(level.above + _relative(path, level.folder), is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


NO_IGNORES = Ignores()


def _relative(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path


def _literal_prefix(pattern: str) -> str:
    """Return the part of a pattern before the first wildcard."""
    return pattern[: next(at for at, character in enumerate(pattern) if character in _SPECIAL)]


def _lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines that are not empty or comments, split as git does."""
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line.removesuffix(b"\r")
        if line and not line.startswith(b"#"):
            yield line


def _trimmed(line: bytes) -> bytes:
    """Return a pattern without trailing spaces; a space after a backslash stays."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _grouped(wildcards: list[_Wildcard]) -> list[_Group]:
    """Group wildcard rules for matching as one expression, last rules first."""
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
    """Return the texts that any rule of the groups matches."""
    listed = os.fsencode("\0" + "\0\0".join(texts) + "\0")
    return {os.fsdecode(text) for group in groups for text in group.matches_of(listed)}


def _last_match(groups: list[_Group], text: bytes, after: int, *, is_folder: bool) -> int:
    """Return the number of the last rule in all groups that matches after rule `after`, otherwise `after`."""
    for group in groups:
        if group.rules[0].number <= after:
            break
        found = group.last_match(text, after, is_folder=is_folder)
        if found != after:
            return found
    return after
