"""Download of references and commits from git repositories over https.

git runs with isolated settings. It may use only one protocol, one host and the checked addresses of the host
(`http.curloptResolve`). It follows no redirects, uses no credential helper and checks out no files.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.errors import AddressRefused, FetchFailed, NotFound, SourceError
from deltos.fetch.address import checked_addresses, is_public, require_web_address
from deltos.fetch.user_agent import USER_AGENT
from deltos.logins import HOW_TO_LOG_IN, site_of
from deltos.workspace.git import (
    GitFailed,
    GitStopped,
    find_git,
    is_reference_name,
    isolated_environment,
    start_git,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.fetch.http import HttpClient
    from deltos.logins import Login
    from deltos.private_hosts import PrivateHosts

FETCHED = "refs/deltos/fetched"
_MIN_GIT_VERSION = (2, 37)  # first git version with http.curloptResolve; older versions resolve the host name again
_DISCOVERY = "/info/refs?service=git-upload-pack"
_ADVERTISEMENT = "application/x-git-upload-pack-advertisement"
_MAX_REFERENCES_BYTES = 16_000_000  # maximum size of the output of `git ls-remote`
_LISTING_TIMEOUT_SECONDS = 60.0  # timeout of `git ls-remote`
_MAX_SHOWN_REFERENCES = 8  # maximum number of branches and tags listed in an error message
_CANCELLED_REASON = "the fetch was cancelled"
_git_versions: dict[str, tuple[int, ...]] = {}
_CONFIG_TEMPLATE = """\
[core]
	repositoryFormatVersion = 0
	bare = true
	attributesFile = {nothing}
	excludesFile = {nothing}
	hooksPath = {nothing}
	fsmonitor = false
	pager = cat
	askPass =
	sshCommand = false
	gitProxy =
	bigFileThreshold = 16m
	packedGitLimit = 512m
	packedGitWindowSize = 32m
	quotePath = false
	logAllRefUpdates = false
[protocol]
	allow = never
[protocol "{scheme}"]
	allow = always
[http]
	followRedirects = false
	proxy =
	sslVerify = true
	emptyAuth = false
	delegation = none
	saveCookies = false
	lowSpeedLimit = 1000
	lowSpeedTime = 30
	maxRequests = 1
	userAgent = {agent}
	curloptResolve = {resolved}
[credential]
	helper =
[fetch]
	unpackLimit = 1
	writeCommitGraph = false
	recurseSubmodules = false
[transfer]
	credentialsInUrl = die
	bundleURI = false
	advertiseSID = false
[pack]
	threads = 1
[gc]
	auto = 0
[maintenance]
	auto = false
[submodule]
	recurse = false
"""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Size and time limits for fetching a repository."""

    max_bytes: int = 1_000_000_000
    max_seconds: float = 600.0


DEFAULT_LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote repository: the URL, the checked addresses of the host, and the login."""

    url: str
    addresses: tuple[str, ...]
    login: Login | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A branch or tag, identified by the full reference name, such as `refs/heads/main`."""

    name: str

    @property
    def version(self) -> str:
        """The short name of the branch or tag."""
        return self.name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def open_remote(url: str, client: HttpClient, private_hosts: PrivateHosts, login: Login | None) -> Remote:
    """Check that a readable git repository exists at `url`. Redirects to other hosts are not followed."""
    require_web_address(url)
    try:
        answer = client.get(url.rstrip("/") + _DISCOVERY, accept=_ADVERTISEMENT, headers={"Git-Protocol": "version=2"})
    except FetchFailed as exc:
        if exc.status in (401, 403, 404):
            raise NotFound(f"No public git repository at {url} (HTTP {exc.status})", hint=HOW_TO_LOG_IN) from exc
        raise
    if site_of(answer.url) != site_of(url):
        raise AddressRefused(f"{url} redirects to another host", hint="Add the URL that it redirects to.")
    if answer.media_type != _ADVERTISEMENT or not answer.url.endswith(_DISCOVERY):
        raise SourceError(f"{url} is not a git repository", hint="Pass the URL that `git clone` accepts.")
    parts = urlsplit(answer.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = checked_addresses(parts.hostname or "", port, private_hosts)
    if parts.scheme != "https" and any(map(is_public, addresses)):
        raise AddressRefused(f"{url} is not https", hint="Only private hosts that you have allowed may use http.")
    return Remote(answer.url.removesuffix(_DISCOVERY), tuple(addresses), login)


def never_stops() -> bool:
    """Return False. This default value of `stopping` never stops an operation."""
    return False


def find_reference(remote: Remote, wanted: str, folder: Path, stopping: Callable[[], bool] = never_stops) -> Reference:
    """Return the remote branch or tag `wanted`, or the default branch if `wanted` is empty."""
    if not wanted:
        for line in _list_references(remote, folder, stopping, "--symref", "HEAD"):
            target, _, name = line.partition("\t")
            if name == "HEAD" and target.startswith("ref: ") and is_reference_name(target.removeprefix("ref: ")):
                return Reference(target.removeprefix("ref: "))
        raise SourceError(
            "The repository has no default branch", hint="Pass a branch or tag as the repository's version."
        )
    known = [line.partition("\t")[2] for line in _list_references(remote, folder, stopping, "--heads", "--tags")]
    return choose_reference(wanted, known)


def choose_reference(wanted: str, known: list[str]) -> Reference:
    """Return the branch or tag `wanted` from the full reference names in `known`. Raise NotFound if it is missing."""
    names = (wanted, f"refs/tags/{wanted}", f"refs/heads/{wanted}", f"refs/tags/v{wanted}")
    found = next((name for name in names if name in known and is_reference_name(name)), "")
    if found:
        return Reference(found)
    known_versions = [Reference(name).version for name in known if is_reference_name(name)]
    shown = ", ".join(known_versions[-_MAX_SHOWN_REFERENCES:]) or "none"
    raise NotFound(
        f"The repository has no branch or tag '{wanted[:100]}'",
        hint=f"The last of the {len(known_versions):,} branches and tags: {shown}.",
    )


def fetch(
    remote: Remote, reference: Reference, folder: Path, limits: FetchLimits, stopping: Callable[[], bool]
) -> None:
    """Fetch one commit without history into the git folder `folder`, as the reference `refs/deltos/fetched`."""

    def stop_reason() -> str:
        if stopping():
            return _CANCELLED_REASON
        size = size_of(folder)
        return f"git fetched more than {limits.max_bytes // 1_000_000} MB" if size > limits.max_bytes else ""

    arguments = (
        "fetch", "--quiet", "--no-progress", "--depth=1", "--no-tags", "--force", "--no-recurse-submodules",
        "--no-auto-maintenance", "--no-write-fetch-head", "--no-show-forced-updates",
        "--", remote.url, f"+{reference.name}:{FETCHED}",
    )  # fmt: skip
    for _ in _run_git(remote, folder, arguments, limits.max_seconds, stop_reason):
        pass
    if reason := stop_reason():
        raise GitStopped(reason)


def prepare_folder(folder: Path, remote: Remote) -> None:
    """Create a git folder for a remote repository, or reset its settings. Existing objects and references are kept."""
    for name in ("refs", "objects"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    parts = urlsplit(remote.url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = ",".join(f"[{address}]" if ":" in address else address for address in remote.addresses)
    settings = _CONFIG_TEMPLATE.format(
        nothing=os.devnull,
        scheme=parts.scheme,
        agent=USER_AGENT.split()[0],
        resolved=f"{parts.hostname}:{port}:{addresses}",
    )
    (folder / "config").write_text(settings, "utf-8")
    (folder / "HEAD").write_text("ref: refs/heads/none\n", "utf-8")


def size_of(folder: Path) -> int:
    """Return the total size in bytes of the files in a folder."""
    total, pending = 0, [str(folder)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:  # git may be renaming and removing files at the same time
            continue
    return total


def _list_references(remote: Remote, folder: Path, stopping: Callable[[], bool], *arguments: str) -> Iterator[str]:
    """Yield the output lines of `git ls-remote`: an object id or a target, then a tab and a reference name."""
    *options, last = arguments
    words = ("ls-remote", "--quiet", *options, "--", remote.url, last) if last == "HEAD" else (
        "ls-remote", "--quiet", *arguments, "--", remote.url)  # fmt: skip
    output = b"".join(
        _run_git(remote, folder, words, _LISTING_TIMEOUT_SECONDS, lambda: _CANCELLED_REASON if stopping() else "")
    )
    yield from output.decode("utf-8", "replace").splitlines()


def _run_git(
    remote: Remote, folder: Path, arguments: tuple[str, ...], timeout_seconds: float, stop_reason: Callable[[], str]
) -> Iterator[bytes]:
    """Run git with network access only to the remote repository, and yield the output."""
    require_web_address(remote.url)  # git may use only the scheme of this URL
    program = _find_git_program(folder)
    environment = isolated_environment(program, folder)
    environment["GIT_ALLOW_PROTOCOL"] = urlsplit(remote.url).scheme
    for at, (name, value) in enumerate(remote.login.headers if remote.login else ()):
        # Pass the login in the environment: all users can see command lines, and settings are stored on disk.
        environment |= {
            "GIT_CONFIG_COUNT": str(at + 1),
            f"GIT_CONFIG_KEY_{at}": f"http.{remote.url}.extraHeader",
            f"GIT_CONFIG_VALUE_{at}": f"{name}: {value}",
        }
    pieces = start_git(
        program, arguments, folder=folder, environment=environment, max_bytes=_MAX_REFERENCES_BYTES,
        timeout_seconds=timeout_seconds, stop_reason=stop_reason,
    )  # fmt: skip
    try:
        with closing(pieces):
            yield from pieces
    except GitStopped:
        raise
    except GitFailed as exc:
        raise FetchFailed(f"The repository could not be fetched ({exc.message})", retryable=False) from None


def _find_git_program(folder: Path) -> str:
    program = find_git(folder)
    if not program:
        raise GitFailed("git is not installed", hint="Install git, or add a folder with the documentation.")
    if _git_version(program, folder) < _MIN_GIT_VERSION:
        raise GitFailed("git is too old to fetch repositories safely", hint="Install git 2.37 or newer.")
    return program


def _git_version(program: str, folder: Path) -> tuple[int, ...]:
    if known := _git_versions.get(program):
        return known
    environment = isolated_environment(program, folder)
    printed = b"".join(start_git(program, ("version",), folder=folder, environment=environment))
    words = printed.decode("ascii", "replace").split()
    numbers = words[2].split(".")[:2] if len(words) > 2 else []
    _git_versions[program] = tuple(int(number) for number in numbers if number.isdecimal())
    return _git_versions[program]
