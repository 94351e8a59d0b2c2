"""Ignore rules from .gitignore, git's other exclude files and .deltosignore, with the same semantics as in git.

Matching takes linear time: plain names are looked up in tables, and all other patterns are matched by RE2.
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
# Limits for each ignore file.
MAX_IGNORE_BYTES = 2_000_000
MAX_RULES = 50_000
MAX_WILDCARD_RULES = 20_000
MAX_PATTERN_BYTES = 2_000
# Maximum size of a group of patterns. All patterns of a group are first tested with one expression, then separately.
_MAX_GROUP_RULES = 50
_MAX_GROUP_BYTES = 4_000
# Maximum number of names per ignore file that are remembered because no wildcard matches them. Most names recur in the
# next listing.
_MAX_PLAIN_NAMES = 50_000
_WILDCARD_CHARACTERS = frozenset("*?[\\")
# Git ignores case by default on file systems that ignore case.
IGNORES_CASE = sys.platform in ("win32", "darwin")


class _LastRule(NamedTuple):
    """Numbers of the last rules for a name: one rule for folders and one for files. -1 means that there is no rule."""

    folder: int = -1
    file: int = -1


_RuleTable = dict[str, _LastRule]


class _WildcardRule(NamedTuple):
    """A rule with wildcards. Every path that the rule matches begins with `literal`."""

    number: int
    only_folders: bool
    literal: str
    regex: bytes


@dataclass(slots=True)
class _RuleGroup:
    """Group of wildcard rules, last rule first, compiled on first use.

    `any_of` matches if any rule of the group matches. `each` contains the compiled rules by number.
    """

    rules: list[_WildcardRule]
    literals: tuple[str, ...]
    any_of: re.Pattern[bytes] | None = None
    each: dict[int, re.Pattern[bytes]] = field(default_factory=dict)

    def can_match_prefix(self, prefix: str) -> bool:
        """Whether a path that begins with `prefix` can match a rule of the group."""
        return any(prefix.startswith(literal) or literal.startswith(prefix) for literal in self.literals)

    def matches_of(self, listed: bytes) -> Iterator[bytes]:
        """Yield the matching names in `listed`, in which each name is enclosed in NULs."""
        if self.any_of is None:
            self.any_of = compile_globs(b"\\x00(?:" + b"|".join(rule.regex for rule in self.rules) + b")\\x00")
        if self.any_of.search(listed):  # without a match, search takes half the time of finditer
            for match in self.any_of.finditer(listed):
                yield match.group()[1:-1]

    def last_match(self, text: bytes, after: int, *, is_folder: bool) -> int:
        """Return the number of the last matching rule after rule number `after`, or `after` if there is none."""
        for rule in self.rules:
            if rule.number <= after:
                break
            if (is_folder or not rule.only_folders) and self._matches(rule, text):
                return rule.number
        return after

    def _matches(self, rule: _WildcardRule, text: bytes) -> bool:
        if rule.number not in self.each:
            self.each[rule.number] = compile_globs(rule.regex)
        return bool(self.each[rule.number].fullmatch(text))


class IgnoreRules:
    """Rules of one ignore file, for paths relative to the folder of the file."""

    def __init__(self, data: bytes = b"", *, ignores_case: bool = IGNORES_CASE) -> None:
        self.digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        self._ignores_case = ignores_case
        self._negated: list[bool] = []
        self._names: _RuleTable = {}
        self._paths: dict[str, _RuleTable] = {}  # tables of rules by name, keyed by folder
        self._name_wildcards: list[_WildcardRule] = []
        self._path_wildcards: list[_WildcardRule] = []
        self.notes = tuple(self._add_rules(data))
        self._name_groups = _group_rules(self._name_wildcards)
        self._path_groups = _group_rules(self._path_wildcards)
        self._plain_names: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._negated)

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return the names in a folder that a rule may match, possibly including some names that no rule matches."""
        if self._ignores_case:
            return {
                name for name in names if self._last_rule(f"{folder}/{name}".lstrip("/").lower(), is_folder=True) >= 0
            }
        found = self._names.keys() & names
        if folder in self._paths:
            found |= self._paths[folder].keys() & names
        if self._name_groups and (others := set(names) - self._plain_names):
            found |= self._matching_names(others)
        prefix = f"{folder}/" if folder else ""
        if groups := [group for group in self._path_groups if group.can_match_prefix(prefix)]:
            found |= {path[len(prefix) :] for path in _matching_texts(groups, [prefix + name for name in names])}
        return found

    def _matching_names(self, names: set[str]) -> set[str]:
        found = _matching_texts(self._name_groups, list(names))
        if len(self._plain_names) > _MAX_PLAIN_NAMES:
            self._plain_names = set()  # the set is not cleared in place, because other threads may be reading it
        self._plain_names |= names - found
        return found

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether the last matching rule excludes the path, or None if no rule matches."""
        last = self._last_rule(path.lower() if self._ignores_case else path, is_folder=is_folder)
        return None if last < 0 else not self._negated[last]

    def _last_rule(self, path: str, *, is_folder: bool) -> int:
        """Return the number of the last matching rule, or -1 if no rule matches."""
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
        """Add all rules in an ignore file within the limits, and yield notes about skipped rules."""
        skipped = too_long = 0
        for line in _pattern_lines(data[:MAX_IGNORE_BYTES]):
            wildcards = len(self._name_wildcards) + len(self._path_wildcards)
            if len(self._negated) >= MAX_RULES or wildcards >= MAX_WILDCARD_RULES:
                skipped += 1
            elif len(line) > MAX_PATTERN_BYTES:
                too_long += 1
            else:
                self._add_rule(_trim_pattern(line))
        if len(data) > MAX_IGNORE_BYTES:
            yield f"only its first {MAX_IGNORE_BYTES:,} bytes are used"
        if skipped:
            yield f"its last {skipped:,} patterns are ignored because there are too many"
        if too_long:
            yield f"{too_long:,} patterns of more than {MAX_PATTERN_BYTES:,} bytes are ignored"

    def _add_rule(self, pattern: bytes) -> None:
        is_negated = pattern.startswith(b"!")
        text = os.fsdecode(pattern.removeprefix(b"!"))
        text = text.lower() if self._ignores_case else text
        if text not in ("", "/"):
            number = len(self._negated)
            self._negated.append(is_negated)
            self._store_rule(text.removesuffix("/"), number, only_folders=text.endswith("/"))

    def _store_rule(self, pattern: str, number: int, *, only_folders: bool) -> None:
        """Store a rule in the table or list in which it can be matched fastest."""
        is_path = "/" in pattern
        pattern = pattern.removeprefix("/")
        if _WILDCARD_CHARACTERS.isdisjoint(pattern):
            folder, slash, name = pattern.rpartition("/")
            if slash and not folder:
                return  # a pattern with two leading slashes matches nothing
            table = self._paths.setdefault(folder, {}) if is_path else self._names
            known = table.get(name, _LastRule())
            table[name] = _LastRule(number, known.file if only_folders else number)
        elif (regex := translate(os.fsencode(pattern), is_path=is_path)) is not None:
            wildcards = self._path_wildcards if is_path else self._name_wildcards
            wildcards.append(_WildcardRule(number, only_folders, _literal_prefix(pattern), regex))


@lru_cache(maxsize=16)
def rules_in(data: bytes) -> IgnoreRules:
    """Return the rules in an ignore file's content. The rules are cached for the next listing."""
    return IgnoreRules(data)


class _IgnoreLevel(NamedTuple):
    """Rules of an ignore file in `folder`.

    `above` is prepended to paths relative to `folder` before they are matched.
    """

    folder: str
    above: str
    rules: IgnoreRules


@dataclass(frozen=True, slots=True)
class Ignores:
    """Ignore files that apply in a folder, outermost file first. All paths are relative to the same root."""

    levels: tuple[_IgnoreLevel, ...] = ()

    def with_rules(self, folder: str, rules: IgnoreRules) -> Ignores:
        """Return a copy of these ignore files with one more file, which is in `folder` and contains `rules`."""
        return Ignores((*self.levels, _IgnoreLevel(folder, "", rules))) if rules else self

    def relative_to(self, root: str) -> Ignores:
        """Return the same rules for paths relative to `root`, which is below the folder of every ignore file."""
        if not root:
            return self
        return Ignores(
            tuple(_IgnoreLevel("", f"{_relative_path(root, level.folder)}/", level.rules) for level in self.levels)
        )

    def may_match(self, folder: str, names: Sequence[str]) -> set[str]:
        """Return the names in a folder that must be checked with `is_ignored`. No rule matches any other name."""
        found: set[str] = set()
        for level in self.levels:
            found |= level.rules.may_match((level.above + _relative_path(folder, level.folder)).rstrip("/"), names)
        return found

    def is_ignored(self, path: str, *, is_folder: bool) -> bool:
        """Whether a path is ignored.

        Rules in deeper folders take precedence. Parent folders of the path are not checked.
        """
        for level in reversed(self.levels):
            verdict = level.rules.verdict(level.above + _relative_path(path, level.folder), is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


NO_IGNORES = Ignores()


def _relative_path(path: str, folder: str) -> str:
    return path[len(folder) + 1 :] if folder else path


def _literal_prefix(pattern: str) -> str:
    """Return the text that precedes the first wildcard of a pattern."""
    return pattern[: next(at for at, character in enumerate(pattern) if character in _WILDCARD_CHARACTERS)]


def _pattern_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines of an ignore file that are neither empty nor comments."""
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = line.removesuffix(b"\r")
        if line and not line.startswith(b"#"):
            yield line


def _trim_pattern(line: bytes) -> bytes:
    """Strip trailing spaces from a pattern, except a space after a backslash."""
    bare = line.rstrip(b" ")
    backslashes = len(bare) - len(bare.rstrip(b"\\"))
    return line[: len(bare) + 1] if backslashes % 2 else bare


def _group_rules(wildcards: list[_WildcardRule]) -> list[_RuleGroup]:
    """Return groups of wildcard rules, last rules first, such that each group is matched as one expression."""
    groups: list[list[_WildcardRule]] = []
    size_bytes = 0
    for rule in reversed(wildcards):
        size_bytes += len(rule.regex)
        if not groups or len(groups[-1]) >= _MAX_GROUP_RULES or size_bytes > _MAX_GROUP_BYTES:
            groups.append([])
            size_bytes = len(rule.regex)
        groups[-1].append(rule)
    return [_RuleGroup(rules, tuple({rule.literal for rule in rules})) for rules in groups]


def _matching_texts(groups: list[_RuleGroup], texts: Sequence[str]) -> set[str]:
    """Return the texts that match any rule of the groups."""
    listed = os.fsencode("\0" + "\0\0".join(texts) + "\0")
    return {os.fsdecode(text) for group in groups for text in group.matches_of(listed)}


def _last_match(groups: list[_RuleGroup], text: bytes, after: int, *, is_folder: bool) -> int:
    """Return the number of the last matching rule after rule number `after`, or `after` if there is none."""
    for group in groups:
        if group.rules[0].number <= after:
            break
        found = group.last_match(text, after, is_folder=is_folder)
        if found != after:
            return found
    return after
