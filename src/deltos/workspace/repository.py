"""Git repositories on disk: location, settings and links between work trees, read without starting git.

Links are not trusted: a link to a git folder is followed only if that git folder links back.
"""

# Do not import `annotations` from `__future__` here. With this import, Python compiles each annotation of a named tuple
# at import, which slows down the start of hooks.
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from deltos.errors import FileRefused
from deltos.files import FileTree, read_below

# Metadata key of the value that `worktrees_listed_at` returned at the last update of an index.
WORKTREES_LISTED_AT = "worktrees_listed_at"
MAX_SETTINGS_BYTES = 1_000_000
_MAX_LINK_BYTES = 8_192
_SHA1_BYTES = 20
_SHA256_BYTES = 32


class Repository(NamedTuple):
    """A git work tree and its git folder. `common` is the git folder that all work trees of the repository share."""

    top: Path
    git_folder: Path
    common: Path

    def settings(self) -> list["Setting"]:
        """Return the settings in the repository's own configuration file. Included files are not read."""
        return list(parse_settings(_read_text(self.common, "config", MAX_SETTINGS_BYTES)))

    @property
    def hash_bytes(self) -> int:
        """Length of the object ids of the repository in bytes."""
        name = ("extensions", "", "objectformat")
        is_sha256 = any(setting.value == "sha256" for setting in self.settings() if setting[:3] == name)
        return _SHA256_BYTES if is_sha256 else _SHA1_BYTES


class Setting(NamedTuple):
    """One setting in a git configuration file. Section and key are in lower case."""

    section: str
    subsection: str
    key: str
    value: str


def find_repository(folder: Path) -> Repository | None:
    """Return the repository that contains a folder, or None if there is no trusted repository."""
    for parent in (folder, *folder.parents):
        with FileTree(parent) as tree:
            try:
                tree.status(".git")
            except FileRefused:
                continue
        return open_repository(parent)
    return None


def open_repository(top: Path) -> Repository | None:
    """Return the repository with the work tree `top`, or None if `.git` is not valid."""
    with FileTree(top) as tree:
        if tree.is_folder(".git"):
            return Repository(top, top / ".git", top / ".git") if _is_git_folder(tree, ".git/") else None
    return _open_from_git_file(top)


def shared_git_folder(folder: Path) -> str:
    """Return the git folder that all worktrees of a folder's repository share, or an empty string if there is none."""
    repository = find_repository(folder)
    return str(repository.common) if repository else ""


def worktrees_listed_at(folder: Path) -> str:
    """Return the time when git last changed the list of linked worktrees, or an empty string if there are none."""
    repository = find_repository(folder)
    if repository is None:
        return ""
    with FileTree(repository.common) as tree:
        try:
            return str(tree.status("worktrees").st_mtime_ns)
        except FileRefused:
            return ""


def work_trees(common: Path) -> set[Path]:
    """Return the top folders of the linked worktrees that a shared git folder lists, whether they exist or not."""
    with FileTree(common) as tree:
        try:
            names = [entry.name for entry in tree.entries("worktrees")]
        except FileRefused:
            return set()
    targets = (_read_text(common, f"worktrees/{name}/gitdir", _MAX_LINK_BYTES).strip() for name in names)
    return {Path(target).parent for target in targets if target}


def parse_settings(text: str) -> Iterator[Setting]:
    """Yield the settings in the text of a git configuration file in order. Invalid lines are skipped."""
    section = subsection = ""
    for line in _joined_lines(text):
        if line.startswith("["):
            header, _, line = line[1:].partition("]")
            name, _, quoted = header.partition('"')
            section, subsection = name.strip().lower(), quoted.rpartition('"')[0]
            line = line.strip()
        if line and line[0].isalpha():
            key, _, value = line.partition("=")
            yield Setting(section, subsection, key.strip().lower(), _unquote_value(value.strip()))


def _joined_lines(text: str) -> Iterator[str]:
    """Yield the lines of a configuration file. A line that ends in a backslash is joined with the next line."""
    continued = ""
    for line in text.split("\n"):
        line = continued + line.strip()
        backslashes = len(line) - len(line.rstrip("\\"))
        continued = line[:-1] if backslashes % 2 else ""
        if not continued and line and line[0] not in "#;":
            yield line


def _unquote_value(text: str) -> str:
    """Return the value of a setting without quotes, escapes and comments."""
    if not any(character in text for character in '"\\#;'):
        return text
    unquoted: list[str] = []
    is_quoted = False
    characters = iter(text)
    for character in characters:
        if character == '"':
            is_quoted = not is_quoted
        elif character == "\\":
            following = next(characters, "")
            unquoted.append({"n": "\n", "t": "\t", "b": "\b"}.get(following, following))
        elif character in "#;" and not is_quoted:
            break
        else:
            unquoted.append(character)
    return "".join(unquoted).strip()


def _is_git_folder(tree: FileTree, prefix: str = "") -> bool:
    return tree.is_file(f"{prefix}HEAD") and tree.is_folder(f"{prefix}objects") and tree.is_folder(f"{prefix}refs")


def _open_from_git_file(top: Path) -> Repository | None:
    """Return the repository that a `.git` file links to, or None if the git folder does not link back."""
    word, _, target = _read_text(top, ".git", _MAX_LINK_BYTES).partition(":")
    if word != "gitdir" or not target.strip():
        return None
    try:
        git_folder = (top / target.strip()).resolve()
        return _open_linked_work_tree(top, git_folder) or _open_submodule(top, git_folder)
    except (OSError, RuntimeError, ValueError):  # the path has a loop of links or an invalid name
        return None


def _open_linked_work_tree(top: Path, git_folder: Path) -> Repository | None:
    back = _read_text(git_folder, "gitdir", _MAX_LINK_BYTES).strip()
    common = git_folder.parent.parent
    if not back or (git_folder / back).parent.resolve() != top.resolve() or git_folder.parent.name != "worktrees":
        return None
    with FileTree(common) as tree:
        return Repository(top, git_folder, common) if _is_git_folder(tree) else None


def _open_submodule(top: Path, git_folder: Path) -> Repository | None:
    """Return the repository of a submodule or of a separate git folder with `core.worktree`, or None."""
    found = Repository(top, git_folder, git_folder)
    back = [setting.value for setting in found.settings() if setting[:3] == ("core", "", "worktree")]
    if not back or (git_folder / back[-1]).resolve() != top.resolve():
        return None
    with FileTree(git_folder) as tree:
        return found if _is_git_folder(tree) else None


def _read_text(folder: Path, path: str, max_bytes: int) -> str:
    try:
        return read_below(folder, path, max_bytes).decode("utf-8", "replace")
    except FileRefused:
        return ""
