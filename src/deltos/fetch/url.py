"""Normalisation of URLs, and the set of URLs that belong to a website source."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from deltos.globs import matches_glob
from deltos.private_hosts import canonical_name

_TRACKING_PARAMETER = re.compile(r"^(?:utm_\w+|gclid|fbclid|msclkid|mc_[ce]id|ref_src|_ga|_gl|hsa_\w+|igshid|yclid)$")
INDEX_PAGE = "index.html"  # name of the file that servers return for a folder
_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNESCAPED_CHARACTERS = "/:@!$&'()*+,;=~-._"
_MAX_URL_CHARACTERS = 2_000  # longer URLs are ignored, because broken links create endless URLs
# Maximum number of repetitions of a path segment. Broken relative links create endless URLs such as /a/b/a/b/a/b/…
_MAX_SEGMENT_REPEATS = 3
_NON_PAGE_SUFFIX = re.compile(
    r"\.(?:png|jpe?g|gif|svg|webp|ico|bmp|avif|css|js|mjs|map|woff2?|ttf|eot|otf|mp[34]|webm|ogg|wav|avi|mov|zip|gz|tgz|bz2|xz|7z|tar"
    r"|exe|dmg|deb|rpm|msi|whl|jar|war|iso|bin|epub|mobi|docx?|xlsx?|pptx?|odt|ps|eps|atom|rss|xml|inv|py|c|h|cpp|sql|sh|diff|patch)$",
    re.IGNORECASE,
)


def normalise(url: str) -> str:
    """Normalise a URL: host in lower-case ASCII, clean path, and no default port, fragment or tracking parameters."""
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    host = host if host.isascii() else canonical_name(host) or host
    if ":" in host:
        host = f"[{host}]"
    port = parts.port
    if port is not None and port != _DEFAULT_PORTS.get(parts.scheme):
        host = f"{host}:{port}"
    query = parts.query
    if query:
        kept = [(k, v) for k, v in parse_qsl(query, keep_blank_values=True) if not _TRACKING_PARAMETER.match(k.lower())]
        query = urlencode(sorted(kept))
    return urlunsplit((parts.scheme.lower(), host, _clean_path(parts.path), query, ""))


def _clean_path(path: str) -> str:
    path = quote(unquote(path), safe=_UNESCAPED_CHARACTERS) or "/"
    if "//" in path or "/." in path:
        trailing = "/" if path.endswith(("/", "/.", "/..")) else ""
        path = posixpath.normpath("/" + path.lstrip("/"))
        path += trailing if path != "/" else ""
    return path


@dataclass(frozen=True, slots=True)
class SiteScope:
    """The URLs that belong to a website source: URLs below the start path, or URLs selected by globs."""

    start: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def admits(self, url: str) -> bool:
        """Whether a normalised URL belongs to the source."""
        if not url.startswith(("http://", "https://")) or looks_endless(url):
            return False
        if url == self.start:
            return True
        parts, start_parts = urlsplit(url), urlsplit(self.start)
        if _NON_PAGE_SUFFIX.search(parts.path) or _matches_any(url, parts.path, self.exclude):
            return False
        same_host = parts.netloc == start_parts.netloc
        if self.include:
            return any(_matches_glob(url, parts.path, glob) and (same_host or "://" in glob) for glob in self.include)
        return same_host and f"{parts.path}/".startswith(folder_of(start_parts.path))

    def canonical_form(self, url: str) -> str:
        """Return the canonical URL of a page: `dir/` instead of `dir/index.html`, unless the page is the start page."""
        short = url.removesuffix(INDEX_PAGE) if url.endswith(f"/{INDEX_PAGE}") else url
        form = self.start if short in (self.start, self.start.removesuffix(INDEX_PAGE)) else short
        return form if self.admits(form) else url


def folder_of(path: str) -> str:
    """Return the folder of a start path: `/guide/` for both `/guide/a.html` and `/guide`."""
    head, _, tail = path.rpartition("/")
    return f"{head}/{tail}/" if tail and "." not in tail else f"{head}/"


def looks_endless(url: str) -> bool:
    """Whether a URL is very long or repeats a path segment, like the endless URLs of broken links."""
    if len(url) > _MAX_URL_CHARACTERS:
        return True
    segments = [segment for segment in urlsplit(url).path.split("/") if segment]
    return any(segments.count(segment) > _MAX_SEGMENT_REPEATS for segment in set(segments))


def _matches_any(url: str, path: str, globs: tuple[str, ...]) -> bool:
    return any(_matches_glob(url, path, glob) for glob in globs)


def _matches_glob(url: str, path: str, glob: str) -> bool:
    if "://" in glob:
        return matches_glob(url, glob)
    return matches_glob(path, glob) or matches_glob(path, f"*/{glob.lstrip('/')}")
