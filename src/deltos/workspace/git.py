"""Access to git. Only this module starts git, to fetch clones and to read commits, trees and blobs.

When reading, git never uses the repository's own git folder. It uses a temporary git folder with our settings, the
references as plain text, and the path of the objects. Settings, hooks, filters, attributes, includes and aliases of the
repository therefore have no effect, and git has no work tree and no remote.
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
from deltos.folder_walk import walk_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from deltos.workspace.repository import Repository

TIMEOUT_SECONDS = 60.0
MAX_OUTPUT_BYTES = 100_000_000
MAX_REFERENCES = 100_000
_MAX_REFERENCES_BYTES = 32_000_000
_MAX_REFERENCE_BYTES = 1_000
_MAX_ALTERNATES = 5  # maximum depth of chains of alternate object folders, the same as in git
_MAX_ALTERNATES_BYTES = 100_000
_MAX_MEMORY_BYTES = 4 << 30
_CHUNK_BYTES = 1 << 16
_WATCH_INTERVAL_SECONDS = 0.25
_HEX_DIGITS = frozenset("0123456789abcdef")
_INVALID_NAME_CHARACTERS = frozenset(' ~^:?*[\\"')
_running_processes: set[subprocess.Popen[bytes]] = set()
_start_lock = threading.Lock()
_HEAD_WITHOUT_COMMITS = "ref: refs/heads/none"
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
    """Error raised if git is missing, fails, times out or prints too much."""


class GitStopped(GitFailed):
    """Error raised if git was stopped because of a timeout or too much output. The output before the stop is valid."""


@dataclass(frozen=True, slots=True)
class Git:
    """Runner of git commands on the objects of one repository. `folder` is the temporary git folder."""

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
        """Run git with `given` as standard input and return the output. Raise GitFailed on failure.

        `accepted` contains the exit codes that do not count as a failure.
        """
        chunks = self.stream(
            *arguments, given=given, accepted=accepted, max_bytes=max_bytes, timeout_seconds=timeout_seconds
        )
        output = bytearray()
        with closing(chunks):
            for chunk in chunks:
                output += chunk
        return bytes(output)

    def stream(
        self,
        *arguments: str,
        given: bytes = b"",
        accepted: Sequence[int] = (0,),
        max_bytes: int = MAX_OUTPUT_BYTES,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> Generator[bytes]:
        """Run git and yield its output in chunks. Raise GitFailed at the end, or GitStopped at a limit.

        Closing the generator stops git.
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

    def shallow_commits(self) -> frozenset[str]:
        """Return the commits at which a shallow clone ends, or an empty set for a full clone."""
        try:
            return frozenset((self.folder / "shallow").read_text("utf-8").split())
        except FileNotFoundError:
            return frozenset()

    def head(self) -> str:
        """Return the id of the checked-out commit, or an empty string before the first commit."""
        text = (self.folder / "HEAD").read_text("utf-8").strip()
        return text if _is_object_id(text) else ""

    def _environment(self) -> dict[str, str]:
        return isolated_environment(self.program, self.folder) | {"GIT_OBJECT_DIRECTORY": str(self.objects)}


def isolated_environment(program: str, folder: Path) -> dict[str, str]:
    """Return environment variables for git without protocols, user settings and other variables."""
    folder_path = str(folder)
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "COMSPEC", "PATHEXT") if name in os.environ}
    return kept | {
        "PATH": str(Path(program).parent),
        "HOME": folder_path,
        "XDG_CONFIG_HOME": folder_path,
        "USERPROFILE": folder_path,
        "TMPDIR": folder_path,
        "TEMP": folder_path,
        "TMP": folder_path,
        "LC_ALL": "C",
        "GIT_DIR": folder_path,
        "GIT_CEILING_DIRECTORIES": folder_path,
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
    stop_reason: Callable[[], str] = lambda: "",
) -> Generator[bytes]:
    """Run git in `folder` and yield its output in chunks. Closing the generator stops the process.

    `stop_reason` is called repeatedly; git is stopped when it returns a non-empty reason.
    """
    source = folder / "input"
    source.write_bytes(given)
    with source.open("rb") as stdin:
        with _start_lock:  # the lock is held so that `stop_all` does not miss the new process
            process = subprocess.Popen(
                [program, "--no-pager", *arguments],
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # discarded, because error output may contain local paths
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
            _running_processes.add(process)
        try:
            yield from _output_chunks(process, max_bytes, timeout_seconds, stop_reason)
        finally:
            _running_processes.discard(process)
    if process.returncode not in accepted:
        raise GitFailed(f"git failed with exit status {process.returncode}")


@contextmanager
def open_git(repository: Repository) -> Iterator[Git]:
    """Open git for reading the objects of `repository`. Raise GitFailed on failure."""
    program = find_git(repository.top)
    if not program:
        raise GitFailed("git is not installed", hint="Install git to use history and change analysis.")
    settings = repository.settings()
    if any(setting[:3] == ("extensions", "", "refstorage") and setting.value != "files" for setting in settings):
        raise GitFailed("The repository stores its references in an unsupported format (reftable)")
    _check_objects(repository.common / "objects", _MAX_ALTERNATES)
    with tempfile.TemporaryDirectory(prefix="deltos-git-", ignore_cleanup_errors=True) as folder:
        _write_git_folder(Path(folder), repository)
        yield Git(program, Path(folder), repository.common / "objects")


def stop_all() -> None:
    """Stop all running git processes when this process ends. Calls that wait for them raise GitFailed."""
    with _start_lock:
        running = tuple(_running_processes)
    for process in running:
        _kill_process(process)


def find_git(project: Path) -> str:
    """Return the path of the git program, or an empty string if git is not found.

    Programs in the project and in relative folders of PATH are ignored.
    """
    names = ("git.exe", "git.com") if os.name == "nt" else ("git",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            if os.access(f"{folder}{os.sep}{name}", os.X_OK):
                path = Path(folder, name)
                if path.is_absolute() and not path.is_relative_to(project) and path.is_file():
                    return str(path)
    return ""


def _output_chunks(
    process: subprocess.Popen[bytes], max_bytes: int, timeout_seconds: float, stop_reason: Callable[[], str]
) -> Generator[bytes]:
    """Yield the output of a process in chunks. Closing the generator stops the process."""
    if process.stdout is None:  # this cannot happen, because stdout is a pipe
        raise GitFailed("Cannot read git's output")
    has_ended, stopped = threading.Event(), list[str]()

    def watch() -> None:
        deadline = time.monotonic() + timeout_seconds
        while not has_ended.wait(min(_WATCH_INTERVAL_SECONDS, max(0.0, deadline - time.monotonic()))):
            is_late = time.monotonic() >= deadline
            reason = f"git took longer than {timeout_seconds:g} seconds" if is_late else stop_reason()
            if reason:
                stopped.append(reason)
                _kill_process(process)
                return

    threading.Thread(target=watch, name="deltos-git", daemon=True).start()
    remaining_bytes = max_bytes
    try:
        _limit_memory(process.pid)
        with process.stdout as pipe:
            while remaining_bytes >= 0 and (chunk := os.read(pipe.fileno(), _CHUNK_BYTES)):
                remaining_bytes -= len(chunk)
                if remaining_bytes >= 0:
                    yield chunk
            if remaining_bytes < 0:
                _kill_process(process)
        process.wait()
    except BaseException:
        _kill_process(process)
        process.wait()
        raise
    finally:
        has_ended.set()
    if stopped:
        raise GitStopped(f"{stopped[0]} and was stopped")
    if remaining_bytes < 0:
        raise GitStopped(f"git printed more than {max_bytes // 1_000_000} MB and was stopped")


def _kill_process(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its children."""
    if process.returncode is not None:  # the process has already ended, so its id may belong to another process
        return
    if os.name == "nt":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)  # kills the children as well, because the process leads its own session
    except ProcessLookupError:
        return


def _limit_memory(pid: int) -> None:
    """Limit the memory of the git process, because a git object may declare any size."""
    if sys.platform == "linux":
        import resource  # deferred import, because the module is not available on every platform

        try:
            resource.prlimit(pid, resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
        except OSError:  # the process has already ended, or the limit is not permitted
            return


def _write_git_folder(folder: Path, repository: Repository) -> None:
    """Write the temporary git folder, which contains our settings and the references of the repository."""
    is_sha256 = repository.hash_bytes * 2 == 64
    settings = _SETTINGS.format(version=1 if is_sha256 else 0, nothing=os.devnull)
    (folder / "config").write_text(settings + ("[extensions]\n\tobjectFormat = sha256\n" if is_sha256 else ""), "utf-8")
    (folder / "refs").mkdir()
    (folder / "objects").mkdir()
    references = _read_references(repository)
    with FileTree(repository.git_folder) as tree:
        head = _read_reference(tree, "HEAD")
    commit = references.get(head, head)
    (folder / "HEAD").write_text(f"{commit if _is_object_id(commit) else _HEAD_WITHOUT_COMMITS}\n", "utf-8")
    lines = [f"{target} {name}\n" for name, target in sorted(references.items()) if _is_object_id(target)]
    (folder / "packed-refs").write_text("".join(lines), "utf-8")
    with FileTree(repository.common) as tree:
        shallow = [line for line in _read_text(tree, "shallow").split() if _is_object_id(line)]
    if shallow:
        (folder / "shallow").write_text("\n".join([*shallow, ""]), "utf-8")


def _read_references(repository: Repository) -> dict[str, str]:
    """Return the object id of each reference. Symbolic references are resolved."""
    found: dict[str, str] = {}
    with FileTree(repository.common) as tree:
        for line in _read_text(tree, "packed-refs").split("\n"):
            target, _, name = line.partition(" ")
            if _is_object_id(target) and is_reference_name(name):
                found[name] = target
        for name in _loose_reference_names(tree):
            if target := _read_reference(tree, name):
                found[name] = target
    return {name: found.get(target, target) for name, target in found.items()}


def _loose_reference_names(tree: FileTree) -> Iterator[str]:
    for seen, (name, entry) in enumerate(walk_entries(tree, top="refs")):
        if seen >= MAX_REFERENCES:
            raise GitFailed(f"The repository has more than {MAX_REFERENCES:,} references")
        if entry.is_file and is_reference_name(name):
            yield name


def _read_reference(tree: FileTree, name: str) -> str:
    """Return the object id or the referenced name in a reference file, or an empty string if the content is invalid."""
    text = _read_text(tree, name, _MAX_REFERENCE_BYTES).strip()
    target = text.removeprefix("ref:").strip()
    is_valid = is_reference_name(target) if text.startswith("ref:") else _is_object_id(target)
    return target if is_valid else ""


def _is_object_id(text: str) -> bool:
    return len(text) in (40, 64) and _HEX_DIGITS.issuperset(text)


def is_reference_name(name: str) -> bool:
    """Whether a text is a valid name of a git reference."""
    parts = name.split("/")
    if len(parts) < 2 or parts[0] != "refs" or ".." in name or "@{" in name or not name.isprintable():
        return False
    return _INVALID_NAME_CHARACTERS.isdisjoint(name) and not any(
        not part or part.startswith(".") or part.endswith((".lock", ".")) for part in parts
    )


def _check_objects(objects: Path, depth: int) -> None:
    """Raise GitFailed if an object store contains special files or has alternates outside the allowed folders."""
    with FileTree(objects.parent) as tree:
        if not tree.is_folder(objects.name):
            raise GitFailed("The repository's objects are not in its folder")
        _check_regular_files(tree, objects.name)
        alternates = _read_text(tree, f"{objects.name}/info/alternates", _MAX_ALTERNATES_BYTES, must_be_readable=True)
    for line in alternates.split("\n"):
        if not line or line.startswith("#"):
            continue
        other = (objects / line).resolve()
        if not depth or not may_read(other):
            raise GitFailed("The repository uses git alternates outside the allowed folders")
        if other.is_dir():
            _check_objects(other, depth - 1)


def _check_regular_files(tree: FileTree, folder: str) -> None:
    """Raise GitFailed if a folder with git objects contains a link or a pipe at any depth."""
    pending = [folder]
    while pending:
        try:
            pending += tree.plain_folders(pending.pop())
        except FileRefused as refused:
            raise GitFailed(f"The repository's objects are not all regular files ({refused.reason})") from None


def _read_text(
    tree: FileTree, path: str, max_bytes: int = _MAX_REFERENCES_BYTES, *, must_be_readable: bool = False
) -> str:
    """Return the text of a file, or an empty string if the file is missing.

    The result for an unreadable file is also an empty string, unless `must_be_readable` is true.
    """
    try:
        return tree.read(path, max_bytes).decode("utf-8", "replace")
    except FileRefused as refused:
        if must_be_readable and refused.reason != MISSING:
            raise GitFailed(f"The repository cannot be read ({refused.message})") from None
        return ""
