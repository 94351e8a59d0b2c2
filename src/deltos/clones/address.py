"""Which addresses mean a git repository, and under which address a file of one is cited."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from deltos.errors import BadArgument
from deltos.private_hosts import canonical_name

_PREFIX = "git+"
_SUFFIX = ".git"
_USE_HTTPS = "Give its https address; a login is configured with DELTOS_AUTH_NAME='HOST Header: value'."
# How a host names a file of a repository, between the repository's address and the path; {} is the branch or tag.
_FILE_PATHS = {
    "github.com": "/blob/{}/",
    "gitlab.com": "/-/blob/{}/",
    "bitbucket.org": "/src/{}/",
    "codeberg.org": "/src/{}/",
}
# What stands between a repository's address and a branch in the address of a folder.
_FOLDER_MARKS = {"github.com": ("tree",), "gitlab.com": ("-", "tree"), "bitbucket.org": ("src",)}
_PAGES_OF_HOST = frozenset(
    """
    about apps blog codespaces collections contact customer-stories enterprise events explore features issues join login
    marketplace new notifications orgs organizations pricing pulls readme search security sessions settings signup site
    solutions sponsors stars team topics trending users help dashboard groups projects product -
    """.split()
)


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """A repository elsewhere; `reference` and `folder` where the address names a branch and a folder of it."""

    url: str
    reference: str = ""
    folder: str = ""


def parse_repository(text: str) -> RepositoryAddress | None:
    """The repository that an http(s) address means; None when it is a page. Other transports are refused."""
    is_plain = not text.lower().startswith(_PREFIX)
    text = text if is_plain else text[len(_PREFIX) :]
    _refuse_other_transports(text)
    if not text.lower().startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    steps = [step for step in unquote(parts.path).split("/") if step]
    if not is_plain or (steps and steps[-1].endswith(_SUFFIX)):
        return RepositoryAddress(_written(parts.scheme, host, port, steps))
    return _at_known_host(parts.scheme, host, steps)


def local_path_of(text: str) -> str | None:
    """The path that a file address means; None when it is none."""
    text = text[len(_PREFIX) :] if text.lower().startswith(_PREFIX) else text
    if not text.lower().startswith("file:"):
        return None
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise BadArgument("A file address names no other machine", hint="Give file:///path/to/repository.")
    return unquote(parts.path)


def file_address(repository: str, reference: str, path: str) -> str:
    """Where a file is cited: as its host shows it, or after the repository's own address."""
    host = urlsplit(repository).hostname or ""
    known = _FILE_PATHS.get(host)
    if known is None:
        return f"{repository}@{reference}/{path}"
    return f"{repository.removesuffix(_SUFFIX)}{known.format(quote(reference))}{quote(path)}"


def _refuse_other_transports(text: str) -> None:
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    user, at, rest = text.partition("@")
    is_scp_like = bool(at) and "/" not in user and ":" in rest and not scheme
    if scheme in ("ssh", "git", "git+ssh", "ssh+git") or is_scp_like:
        raise BadArgument("Repositories are fetched by https alone", hint=_USE_HTTPS)


def _at_known_host(scheme: str, host: str, steps: list[str]) -> RepositoryAddress | None:
    """A repository at a host whose addresses are known; every other page of such a host is a page."""
    host = host.removeprefix("www.")
    if host not in _FILE_PATHS or len(steps) < 2 or steps[0].lower() in _PAGES_OF_HOST:
        return None
    mark = _FOLDER_MARKS.get(host, ())
    at = next((at for at in range(2, len(steps)) if mark and tuple(steps[at : at + len(mark)]) == mark), 0)
    name = steps[:at] if at else steps
    if len(name) > 2 and (host != "gitlab.com" or "-" in name):
        return None
    reference, *folder = steps[at + len(mark) :] if at else [""]
    return RepositoryAddress(_written(scheme, host, None, name), reference, "/".join(folder))


def _written(scheme: str, host: str, port: int | None, steps: list[str]) -> str:
    """The one form of an address; a name and a password in it are left out.

    A host is written in ASCII: git is held to a checked address by its name, which must be the one that git asks for.
    """
    host = host if host.isascii() else canonical_name(host) or host
    host = f"[{host}]" if ":" in host else host
    place = f"{host}:{port}" if port is not None else host
    return f"{scheme.lower()}://{place}/{quote('/'.join(steps))}"
