"""Reading of both versions of each file that differs between a git revision and the working tree or another revision.

Revisions are read through the module `git`, so no setting, filter or hook of the repository has an effect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.errors import BadArgument
from deltos.files import FileTree
from deltos.text.counts import counted
from deltos.workspace.changes import RevisionComparison
from deltos.workspace.commits import prefix_in_repository
from deltos.workspace.git import GitFailed, open_git
from deltos.workspace.repository import Repository, find_repository

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from deltos.workspace.git import Git
    from deltos.workspace.walk import WalkedFiles

MAX_CHANGED_FILES = 1_000
MAX_RENAME_CANDIDATES = 400  # maximum number of deleted or added files for detecting renames
MIN_RENAME_SIMILARITY_PERCENT = 60
_REVISION = re.compile(r"[\w./@{}~^-]{1,200}")
_DEFAULT_BRANCHES = (
    "refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main",
    "refs/heads/master", "refs/heads/trunk",
)  # fmt: skip
_RENAME_FOLDERS = ("deleted", "added")
_SHORT_ID_CHARACTERS = 10


@dataclass(frozen=True, slots=True)
class FileVersions:
    """Path and content of a file before and after a change. A missing version has an empty path and empty content."""

    path_before: str
    path: str
    before: bytes | None
    after: bytes | None

    @property
    def name(self) -> str:
        """The current path, or the former path of a deleted file."""
        return self.path or self.path_before


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """The files that differ between two versions of a project. `base` and `head` describe the versions."""

    base: str
    head: str
    files: tuple[FileVersions, ...]
    notes: tuple[str, ...] = ()
    is_working_tree: bool = True


@dataclass(frozen=True, slots=True)
class _ChangedPaths:
    """Git object ids of the changed files in both versions, and the contents of changed files on disk."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    on_disk: Mapping[str, bytes]


def compare_versions(root: Path, changes: str = "", found: WalkedFiles | None = None) -> VersionComparison:
    """Return both versions of each changed file below `root`. Raise BadArgument if git cannot compare.

    `changes` is a revision, a range (`A..B`, or `A...B` from the merge base) or `working` for uncommitted changes. By
    default, the working tree is compared with HEAD or, if there are no uncommitted changes, with the merge base of HEAD
    and the default branch.
    """
    repository = repository_to_compare(root, changes)
    try:
        with open_git(repository) as git, FileTree(root) as tree:
            comparison = RevisionComparison(root, repository, git, tree)
            return _VersionReader(git, comparison, prefix_in_repository(root, repository)).compare(changes, found)
    except GitFailed as failed:
        raise BadArgument(
            f"git cannot compare with '{changes or 'HEAD'}' here ({failed.message})",
            hint="Use a git repository, and give a commit, branch or tag that exists in it.",
        ) from None


def repository_to_compare(root: Path, changes: str) -> Repository:
    """Return the repository of a folder. Raise BadArgument if there is none, or if `changes` names no revisions."""
    _check_revisions(changes)
    repository = find_repository(root)
    if repository is None:
        raise BadArgument("This is not a git repository", hint="Review a folder of a git repository.")
    return repository


def _check_revisions(changes: str) -> None:
    """Raise BadArgument if a text is not a revision or a range of revisions."""
    # Only commits are allowed, because `HEAD:path` and `HEAD^{/text}` would reveal other contents of the repository.
    for revision in filter(None, re.split(r"\.{2,3}", changes.strip())):
        if revision.startswith("-") or "^{" in revision or not _REVISION.fullmatch(revision):
            raise BadArgument(f"Not a revision: {revision[:80]!r}", hint="Give a commit or branch, such as main.")


class _VersionReader:
    """Reads both versions of changed files from git and from the disk."""

    def __init__(self, git: Git, comparison: RevisionComparison, prefix: str) -> None:
        self._git = git
        self._comparison = comparison
        self._prefix = prefix

    def compare(self, changes: str, found: WalkedFiles | None) -> VersionComparison:
        """Return the files that differ between the versions that `changes` selects."""
        changes = changes.strip()
        if ".." in changes:
            return self._compare_range(changes)
        if changes and changes != "working":
            return self._compare_with_disk(self._commit_id(changes), changes, found)
        uncommitted = self._compare_with_disk(self._commit_id("HEAD"), "HEAD", found)
        if uncommitted.files or changes:
            return uncommitted
        return self._compare_with_default_branch(uncommitted, found)

    def _compare_with_default_branch(
        self, uncommitted: VersionComparison, found: WalkedFiles | None
    ) -> VersionComparison:
        """Compare with the merge base of HEAD and the default branch, or return `uncommitted` if there is none."""
        for name in _DEFAULT_BRANCHES:
            if (tip := self._find_commit(name)) and (base := self._merge_base(tip, "HEAD")):
                short = name.removeprefix("refs/heads/").removeprefix("refs/remotes/")
                return self._compare_with_disk(base, f"the merge base with {short}", found)
        return uncommitted

    def _compare_range(self, changes: str) -> VersionComparison:
        """Compare two commits."""
        separator = "..." if "..." in changes else ".."
        first, _, second = changes.partition(separator)
        base, head = self._commit_id(first or "HEAD"), self._commit_id(second or "HEAD")
        if separator == "...":
            base = self._merge_base(base, head) or base
        before, after = self._comparison.object_ids_in(base), self._comparison.object_ids_in(head)
        differ = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        paths = _ChangedPaths(
            {path: before[path] for path in differ if path in before},
            {path: after[path] for path in differ if path in after},
            {},
        )
        names = _describe_revision(first or "HEAD", base), _describe_revision(second or "HEAD", head)
        return replace(self._read_contents(paths, *names), is_working_tree=head == self._git.head())

    def _compare_with_disk(self, base: str, name: str, found: WalkedFiles | None) -> VersionComparison:
        """Compare a commit with the working tree."""
        comparison = self._comparison
        before, now = comparison.object_ids_in(base), comparison.files_on_disk(found)
        modified = comparison.modified_files({path: now[path] for path in now if path in before}, before)
        contents = {each.path: each.after for each in modified}
        for path in now.keys() - before.keys():
            if (data := comparison.read_content(path)) is not None:
                contents[path] = data
        gone = [path for path in before.keys() - now.keys() if comparison.is_missing(path)]
        blobs = {path: before[path] for path in [*(each.path for each in modified), *gone]}
        return self._read_contents(
            _ChangedPaths(blobs, {}, contents), _describe_revision(name, base), "the working tree"
        )

    def _read_contents(self, paths: _ChangedPaths, base: str, head: str) -> VersionComparison:
        """Read the contents of changed files and find renames."""
        names = sorted({*paths.before, *paths.after, *paths.on_disk})
        notes = list(self._comparison.notes)
        self._comparison.notes.clear()
        if len(names) > MAX_CHANGED_FILES:
            left_out = len(names) - MAX_CHANGED_FILES
            notes.append(
                f"Note: {counted(left_out, 'changed file')} beyond the limit of {MAX_CHANGED_FILES:,} were omitted."
            )
            names = names[:MAX_CHANGED_FILES]
        ids = {blob for name in names for blob in (paths.before.get(name), paths.after.get(name)) if blob}
        texts = self._comparison.read_blobs(ids) if ids else {}
        before = {name: texts[paths.before[name]] for name in names if paths.before.get(name) in texts}
        after = {name: texts[paths.after[name]] for name in names if paths.after.get(name) in texts}
        after |= {name: paths.on_disk[name] for name in names if name in paths.on_disk}
        files = _pair_versions(before, after, self._find_renames(before, after))
        return VersionComparison(base, head, tuple(files), tuple(notes))

    def _find_renames(self, before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, str]:
        """Return the former path of each renamed file."""
        deleted, added = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
        if not deleted or not added or max(len(deleted), len(added)) > MAX_RENAME_CANDIDATES:
            return {}
        # The copied files are named by folder and number, so that git does not pair files because of equal names.
        for folder, names, contents in zip(_RENAME_FOLDERS, (deleted, added), (before, after), strict=True):
            (self._git.folder / folder).mkdir()
            for number, name in enumerate(names):
                (self._git.folder / folder / f"{folder}-{number}").write_bytes(contents[name])
        output = self._git.run(
            "diff", "--no-index", "--name-status", "-z", f"--find-renames={MIN_RENAME_SIMILARITY_PERCENT}%",
            "--no-color", "--no-ext-diff", "--no-textconv", *_RENAME_FOLDERS,
            accepted=(0, 1),
        )  # fmt: skip
        return {
            added[int(new.rpartition("-")[2])]: deleted[int(old.rpartition("-")[2])]
            for old, new in _renamed_pairs(output.decode("utf-8", "replace").split("\0"))
        }

    def _commit_id(self, revision: str) -> str:
        """Return the id of a commit. Raise GitFailed if the commit does not exist."""
        if revision == "HEAD" and (head := self._git.head()):
            return head
        if commit := self._find_commit(revision):
            return commit
        raise GitFailed("there is no such commit")

    def _find_commit(self, revision: str) -> str:
        """Return the id of a commit, or an empty string if the commit does not exist."""
        arguments = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return self._git.run(*arguments, accepted=(0, 1, 128)).decode("ascii", "replace").strip()

    def _merge_base(self, first: str, second: str) -> str:
        """Return the id of the best common ancestor, or an empty string if there is none."""
        found = self._git.run("merge-base", self._commit_id(first), self._commit_id(second), accepted=(0, 1))
        return found.decode("ascii", "replace").partition("\n")[0].strip()


def _describe_revision(name: str, commit: str) -> str:
    """Return the name of a revision followed by the abbreviated commit id."""
    return commit[:_SHORT_ID_CHARACTERS] if commit.startswith(name) else f"{name} ({commit[:_SHORT_ID_CHARACTERS]})"


def _renamed_pairs(fields: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of names in the output of `git diff --name-status -z`."""
    pairs: list[tuple[str, str]] = []
    at = 0
    while at + 1 < len(fields):
        is_pair = fields[at][:1] in ("R", "C")
        if fields[at].startswith("R") and at + 2 < len(fields):
            pairs.append((fields[at + 1], fields[at + 2]))
        at += 3 if is_pair else 2
    return pairs


def _pair_versions(
    before: Mapping[str, bytes], after: Mapping[str, bytes], renames: Mapping[str, str]
) -> list[FileVersions]:
    """Return the pairs of versions of each file, sorted by path. Both versions of a renamed file form one pair."""
    former = set(renames.values())
    files = [
        FileVersions(old := renames.get(path, path if path in before else ""), path, before.get(old), data)
        for path, data in after.items()
    ]
    files += [FileVersions(path, "", data, None) for path, data in before.items() if path not in after.keys() | former]
    return sorted(files, key=lambda file: file.name)
