"""Recognition of git repository URLs, and construction of URLs for citing the files of a repository."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from deltos.errors import BadArgument
from deltos.private_hosts import canonical_name

_GIT_PREFIX = "git+"
_GIT_SUFFIX = ".git"
_HTTPS_HINT = "Pass the https URL. Set DELTOS_AUTH_NAME='HOST Header: value' if the repository requires a login."
# Text between the repository URL and the path in the URL of a file, by host. {} is replaced by the branch or tag.
_FILE_PATHS = {
    "github.com": "/blob/{}/",
    "gitlab.com": "/-/blob/{}/",
    "bitbucket.org": "/src/{}/",
    "codeberg.org": "/src/{}/",
}
# Path segments between the repository and the branch in the URL of a folder, grouped by host.
_FOLDER_SEGMENTS = {"github.com": ("tree",), "gitlab.com": ("-", "tree"), "bitbucket.org": ("src",)}
_RESERVED_PATHS = frozenset(
    """
    about apps blog codespaces collections contact customer-stories enterprise events explore features issues join login
    marketplace new notifications orgs organizations pricing pulls readme search security sessions settings signup site
    solutions sponsors stars team topics trending users help dashboard groups projects product -
    """.split()
)


@dataclass(frozen=True, slots=True)
class RepositoryAddress:
    """A remote repository, with the branch and folder if the URL contains them."""

    url: str
    reference: str = ""
    folder: str = ""


def parse_repository(text: str) -> RepositoryAddress | None:
    """Parse the http(s) URL of a git repository.

    Returns None for web pages, and raises BadArgument for other transports such as ssh.
    """
    is_plain = not text.lower().startswith(_GIT_PREFIX)
    text = text if is_plain else text[len(_GIT_PREFIX) :]
    _refuse_other_transports(text)
    if not text.lower().startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(text)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return None
    segments = [segment for segment in unquote(parts.path).split("/") if segment]
    if not is_plain or (segments and segments[-1].endswith(_GIT_SUFFIX)):
        return RepositoryAddress(_canonical_url(parts.scheme, host, port, segments))
    return _repository_at_known_host(parts.scheme, host, segments)


def local_path_of(text: str) -> str | None:
    """Return the path in a `file:` URL, or None for any other URL."""
    text = text[len(_GIT_PREFIX) :] if text.lower().startswith(_GIT_PREFIX) else text
    if not text.lower().startswith("file:"):
        return None
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost"):
        raise BadArgument("A file: URL cannot refer to another machine", hint="Pass file:///path/to/repository.")
    return unquote(parts.path)


def file_address(repository: str, reference: str, path: str) -> str:
    """Return the URL for citing a file: the page of the file on a known host, or the repository URL with the path."""
    host = urlsplit(repository).hostname or ""
    known = _FILE_PATHS.get(host)
    if known is None:
        return f"{repository}@{reference}/{path}"
    return f"{repository.removesuffix(_GIT_SUFFIX)}{known.format(quote(reference))}{quote(path)}"


def _refuse_other_transports(text: str) -> None:
    scheme = text.partition("://")[0].lower() if "://" in text else ""
    user, at, rest = text.partition("@")
    is_scp_like = bool(at) and "/" not in user and ":" in rest and not scheme
    if scheme in ("ssh", "git", "git+ssh", "ssh+git") or is_scp_like:
        raise BadArgument("Repositories are only fetched over https", hint=_HTTPS_HINT)


def _repository_at_known_host(scheme: str, host: str, segments: list[str]) -> RepositoryAddress | None:
    """Return the repository to which a URL on a known host belongs, or None if the page belongs to no repository."""
    host = host.removeprefix("www.")
    if host not in _FILE_PATHS or len(segments) < 2 or segments[0].lower() in _RESERVED_PATHS:
        return None
    marker = _FOLDER_SEGMENTS.get(host, ())
    at = next((at for at in range(2, len(segments)) if marker and tuple(segments[at : at + len(marker)]) == marker), 0)
    name = segments[:at] if at else segments
    if len(name) > 2 and (host != "gitlab.com" or "-" in name):
        return None
    reference, *folder = segments[at + len(marker) :] if at else [""]
    return RepositoryAddress(_canonical_url(scheme, host, None, name), reference, "/".join(folder))


def _canonical_url(scheme: str, host: str, port: int | None, segments: list[str]) -> str:
    """Return the canonical URL of a repository, without user name and password."""
    # The host must be ASCII, because git may connect only to the checked addresses of exactly this host name.
    host = host if host.isascii() else canonical_name(host) or host
    host = f"[{host}]" if ":" in host else host
    netloc = f"{host}:{port}" if port is not None else host
    return f"{scheme.lower()}://{netloc}/{quote('/'.join(segments))}"
