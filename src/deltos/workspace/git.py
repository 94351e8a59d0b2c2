"""The one place that starts git; `clones` has it fetch, all others read objects: commits, trees, blobs.

To read, git never sees the repository's own folder as such. It is pointed at a temporary one that holds our settings,
the repository's references as plain text, and the way to its objects. So no setting, hook, filter, attribute, include
or alias of the repository exists for it, it finds no repository by itself, has no work tree and no remote.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read
from deltos.errors import FileRefused, SourceError
from deltos.files import MISSING, FileTree
from deltos.folders import walk_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from deltos.workspace.repository import Repository

TIMEOUT_SECONDS = 60.0
MAX_OUTPUT_BYTES = 100_000_000
MAX_REFERENCES = 100_000
_MAX_REFERENCES_BYTES = 32_000_000
_MAX_REFERENCE_BYTES = 1_000
_MAX_ALTERNATES = 5  # git follows them no deeper, either
_MAX_ALTERNATES_BYTES = 100_000
_LARGEST_MEMORY_BYTES = 4 << 30
_PIECE_BYTES = 1 << 16
_WATCH_SECONDS = 0.25
_HEX = frozenset("0123456789abcdef")
_ODD_IN_NAMES = frozenset(' ~^:?*[\\"')
_running: set[subprocess.Popen[bytes]] = set()
_starting = threading.Lock()
_UNBORN = "ref: refs/heads/none"
_SETTINGS = """\
[core]
	repositoryFormatVersion = {version}
	bare = true
	attributesFile = {nothing}
	excludesFile = {nothing}
	hooksPath = {nothing}
	fsmonitor = false
	pager = cat
	askPass =
	sshCommand = false
	bigFileThreshold = 16m
	packedGitLimit = 512m
	packedGitWindowSize = 32m
	quotePath = false
[protocol]
	allow = never
[credential]
	helper =
[diff]
	external =
[gc]
	auto = 0
[maintenance]
	auto = false
[submodule]
	recurse = false
"""


class GitFailed(SourceError):
    """git is not there, failed, took too long or said too much."""


class GitStopped(GitFailed):
    """git took too long or said too much: what it said before is true."""


@dataclass(frozen=True, slots=True)
class Git:
    """git, reading the objects of one repository. `folder` is the temporary folder that it sees instead."""

    program: str
    folder: Path
    objects: Path

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        accepted: Sequence[int] = (0,),
        max_bytes: int = MAX_OUTPUT_BYTES,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> bytes:
        """What git prints when `given` is its input; raises GitFailed."""
        pieces = self.stream(
            *arguments, given=given, accepted=accepted, max_bytes=max_bytes, timeout_seconds=timeout_seconds
        )
        output = bytearray()
        with closing(pieces):
            for piece in pieces:
                output += piece
        return bytes(output)

    def stream(
        self,
        *arguments: str,
        given: bytes = b"",
        accepted: Sequence[int] = (0,),
        max_bytes: int = MAX_OUTPUT_BYTES,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> Generator[bytes]:
        """What git prints, piece by piece; raises GitFailed at the end, or GitStopped once it is too much or too late.

        Whoever no longer reads closes it, which ends git.
        """
        return start_git(
            self.program,
            arguments,
            folder=self.folder,
            environment=self._environment(),
            given=given,
            accepted=accepted,
            max_bytes=max_bytes,
            timeout_seconds=timeout_seconds,
        )

    def shallow(self) -> frozenset[str]:
        """The commits where a shallow clone ends: their parents are not there. None of a whole clone."""
        try:
            return frozenset((self.folder / "shallow").read_text("utf-8").split())
        except FileNotFoundError:
            return frozenset()

    def head(self) -> str:
        """The id of the commit that is checked out; empty before the first one."""
        text = (self.folder / "HEAD").read_text("utf-8").strip()
        return text if _is_id(text) else ""

    def _environment(self) -> dict[str, str]:
        return closed_environment(self.program, self.folder) | {"GIT_OBJECT_DIRECTORY": str(self.objects)}


def closed_environment(program: str, folder: Path) -> dict[str, str]:
    """All that git may know; nothing of our own environment but where programs are. No protocol is allowed."""
    nowhere = str(folder)
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "COMSPEC", "PATHEXT") if name in os.environ}
    return kept | {
        "PATH": str(Path(program).parent),
        "HOME": nowhere,
        "XDG_CONFIG_HOME": nowhere,
        "USERPROFILE": nowhere,
        "TMPDIR": nowhere,
        "TEMP": nowhere,
        "TMP": nowhere,
        "LC_ALL": "C",
        "GIT_DIR": nowhere,
        "GIT_CEILING_DIRECTORIES": nowhere,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "false",
    }


def start_git(
    program: str,
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    given: bytes = b"",
    accepted: Sequence[int] = (0,),
    max_bytes: int = MAX_OUTPUT_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
    too_much: Callable[[], str] = lambda: "",
) -> Generator[bytes]:
    """What a git that runs in `folder` prints, piece by piece; it ends with this, and with the program.

    `too_much` is asked again and again while it runs, and says why it is to be stopped.
    """
    source = folder / "input"
    source.write_bytes(given)
    with source.open("rb") as stdin:
        with _starting:  # `stop_all` must not miss one that has just been started
            process = subprocess.Popen(
                [program, "--no-pager", *arguments],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # it names folders of this machine
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
            _running.add(process)
        try:
            yield from _pieces(process, max_bytes, timeout_seconds, too_much)
        finally:
            _running.discard(process)
    if process.returncode not in accepted:
        raise GitFailed(f"git has no answer (exit status {process.returncode})")


@contextmanager
def reading(repository: Repository) -> Iterator[Git]:
    """git for the objects of `repository`; raises GitFailed where it cannot be asked."""
    program = find_git(repository.top)
    if not program:
        raise GitFailed("git is not installed", hint="Install git, or do without what needs it.")
    settings = repository.settings()
    if any(setting[:3] == ("extensions", "", "refstorage") and setting.value != "files" for setting in settings):
        raise GitFailed("The repository keeps its references in a form that is not read here (reftable)")
    _check_objects(repository.common / "objects", _MAX_ALTERNATES)
    with tempfile.TemporaryDirectory(prefix="deltos-git-", ignore_cleanup_errors=True) as folder:
        _write_folder(Path(folder), repository)
        yield Git(program, Path(folder), repository.common / "objects")


def stop_all() -> None:
    """End every git that runs: a process that ends leaves none behind. Whoever waits for one is told that it failed."""
    with _starting:
        running = tuple(_running)
    for process in running:
        _kill(process)


def find_git(project: Path) -> str:
    """The path of the git program; empty without one. Nothing inside the project counts, nor a relative folder."""
    names = ("git.exe", "git.com") if os.name == "nt" else ("git",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            if os.access(f"{folder}{os.sep}{name}", os.X_OK):
                place = Path(folder, name)
                if place.is_absolute() and not place.is_relative_to(project) and place.is_file():
                    return str(place)
    return ""


def _pieces(
    process: subprocess.Popen[bytes], max_bytes: int, timeout_seconds: float, too_much: Callable[[], str]
) -> Generator[bytes]:
    """What a process prints; it ends with this, whatever happens."""
    if process.stdout is None:  # never: it is a pipe
        raise GitFailed("git cannot be heard")
    ended, stopped = threading.Event(), list[str]()

    def watch() -> None:
        deadline = time.monotonic() + timeout_seconds
        while not ended.wait(min(_WATCH_SECONDS, max(0.0, deadline - time.monotonic()))):
            is_late = time.monotonic() >= deadline
            reason = f"git took longer than {timeout_seconds:g} seconds" if is_late else too_much()
            if reason:
                stopped.append(reason)
                _kill(process)
                return

    threading.Thread(target=watch, name="deltos-git", daemon=True).start()
    left = max_bytes
    try:
        _limit_memory(process.pid)
        with process.stdout as pipe:
            while left >= 0 and (piece := os.read(pipe.fileno(), _PIECE_BYTES)):
                left -= len(piece)
                if left >= 0:
                    yield piece
            if left < 0:
                _kill(process)
        process.wait()
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        ended.set()
    if stopped:
        raise GitStopped(f"{stopped[0]} and was stopped")
    if left < 0:
        raise GitStopped(f"git answered more than {max_bytes // 1_000_000} MB and was stopped")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it has started, unless it was waited for already: then its number is free."""
    if process.returncode is not None:
        return
    if os.name == "nt":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
    except ProcessLookupError:
        return


def _limit_memory(pid: int) -> None:
    """Objects may claim to be of any size."""
    if sys.platform == "linux":
        import resource  # deferred: not everywhere

        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (_LARGEST_MEMORY_BYTES, _LARGEST_MEMORY_BYTES))
        except OSError:  # it has ended already, or we may not
            return


def _write_folder(folder: Path, repository: Repository) -> None:
    """A git folder that knows nothing but our settings and the repository's references."""
    is_sha256 = repository.hash_bytes * 2 == 64
    settings = _SETTINGS.format(version=1 if is_sha256 else 0, nothing=os.devnull)
    (folder / "config").write_text(settings + ("[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""), "utf-8")
    (folder / "refs").mkdir()
    (folder / "objects").mkdir()
    references = _references(repository)
    with FileTree(repository.git_folder) as tree:
        head = _reference(tree, "HEAD")
    commit = references.get(head, head)
    (folder / "HEAD").write_text(f"{commit if _is_id(commit) else _UNBORN}\n", "utf-8")
    lines = [f"{target} {name}\n" for name, target in sorted(references.items()) if _is_id(target)]
    (folder / "packed-refs").write_text("".join(lines), "utf-8")
    with FileTree(repository.common) as tree:
        shallow = [line for line in _read(tree, "shallow").split() if _is_id(line)]
    if shallow:
        (folder / "shallow").write_text("\n".join([*shallow, ""]), "utf-8")


def _references(repository: Repository) -> dict[str, str]:
    """The object that each reference means; those that mean others are followed."""
    found: dict[str, str] = {}
    with FileTree(repository.common) as tree:
        for line in _read(tree, "packed-refs").split("\n"):
            target, _, name = line.partition(" ")
            if _is_id(target) and is_reference_name(name):
                found[name] = target
        for name in _loose_names(tree):
            if target := _reference(tree, name):
                found[name] = target
    return {name: found.get(target, target) for name, target in found.items()}


def _loose_names(tree: FileTree) -> Iterator[str]:
    for seen, (name, entry) in enumerate(walk_entries(tree, top="refs")):
        if seen >= MAX_REFERENCES:
            raise GitFailed(f"The repository has more than {MAX_REFERENCES:,} references")
        if entry.is_file and is_reference_name(name):
            yield name


def _reference(tree: FileTree, name: str) -> str:
    """The id in a reference's file, or the name of another reference; empty when it holds neither."""
    text = _read(tree, name, _MAX_REFERENCE_BYTES).strip()
    target = text.removeprefix("ref:").strip()
    is_valid = is_reference_name(target) if text.startswith("ref:") else _is_id(target)
    return target if is_valid else ""


def _is_id(text: str) -> bool:
    return len(text) in (40, 64) and _HEX.issuperset(text)


def is_reference_name(name: str) -> bool:
    """Whether git would take a name for that of a reference."""
    parts = name.split("/")
    if len(parts) < 2 or parts[0] != "refs" or ".." in name or "@{" in name or not name.isprintable():
        return False
    return _ODD_IN_NAMES.isdisjoint(name) and not any(
        not part or part.startswith(".") or part.endswith((".lock", ".")) for part in parts
    )


def _check_objects(objects: Path, depth: int) -> None:
    """Refuse a store of objects in which git would wait, or that leads to one that the caller may not read."""
    with FileTree(objects.parent) as tree:
        if not tree.is_folder(objects.name):
            raise GitFailed("The repository's objects are not in its folder")
        _check_plain(tree, objects.name)
        alternates = _read(tree, f"{objects.name}/info/alternates", _MAX_ALTERNATES_BYTES, missing_only=True)
    for line in alternates.split("\n"):
        if not line or line.startswith("#"):
            continue
        other = (objects / line).resolve()
        if not depth or not may_read(other):
            raise GitFailed("The repository borrows objects from a place that may not be read")
        if other.is_dir():
            _check_objects(other, depth - 1)


def _check_plain(tree: FileTree, folder: str) -> None:
    """Refuse a folder of objects in which anything is a link or a pipe, at any depth."""
    pending = [folder]
    while pending:
        try:
            pending += tree.plain_folders(pending.pop())
        except FileRefused as refused:
            raise GitFailed(f"The repository's objects are not all regular files ({refused.reason})") from None


def _read(tree: FileTree, path: str, max_bytes: int = _MAX_REFERENCES_BYTES, *, missing_only: bool = False) -> str:
    """The text of a file; empty when there is none, or unless `missing_only` when it cannot be read."""
    try:
        return tree.read(path, max_bytes).decode("utf-8", "replace")
    except FileRefused as refused:
        if missing_only and refused.reason != MISSING:
            raise GitFailed(f"The repository cannot be read ({refused.message})") from None
        return ""
