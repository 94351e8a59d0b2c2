"""Parser of robots.txt rules for one user agent (RFC 9309). Patterns are matched without backtracking."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELD_SPELLINGS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawl delay"), "delay"),
    "host": "host",
}
_SITE_WIDE_FIELDS = ("sitemap", "host")  # fields that apply to the whole site, not to a group of user agents
_TOKEN = re.compile(r"[a-z0-9_-]*")
_INDEX_PAGE = "index.html"
# Escaped characters that must not be decoded, because they have a special meaning in paths and patterns.
_ESCAPED_IN_PATH = re.compile(r"%(2[fF]|25)")
_ESCAPED_IN_PATTERN = re.compile(r"%(2[fF]|25|2[aA])")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Path pattern of a robots.txt rule: literal texts separated by wildcards.

    If `is_anchored`, the pattern must match the entire path.
    """

    parts: tuple[str, ...]
    is_anchored: bool
    is_allowed: bool

    @property
    def rank(self) -> tuple[int, bool]:
        """Precedence of the rule: longer patterns come first, and `Allow` before a `Disallow` of equal length."""
        return sum(map(len, self.parts)) + len(self.parts) - 1 + self.is_anchored, self.is_allowed

    def matches(self, path: str) -> bool:
        """Whether the pattern matches a path."""
        first, *middle = self.parts
        if not path.startswith(first):
            return False
        if not middle:
            return not self.is_anchored or len(path) == len(first)
        at = len(first)
        last = middle.pop()
        for part in middle:  # the first occurrence of each part is sufficient, so no backtracking is needed
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if self.is_anchored:
            return path.endswith(last) and len(path) - len(last) >= at
        return path.find(last, at) >= 0


@dataclass(slots=True)
class RuleGroup:
    """The path patterns and the crawl delay for one user agent."""

    patterns: list[PathPattern] = field(default_factory=list)
    delay_seconds: float = 0.0

    def allows(self, path: str) -> bool:
        """Whether the path may be fetched. The matching pattern with the highest rank decides."""
        return next((pattern.is_allowed for pattern in self.patterns if pattern.matches(path)), True)


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """The robots.txt rules that apply to our user agent, and the sitemaps of the site."""

    group: RuleGroup
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether our user agent may fetch `url`."""
        parts = urlsplit(url.partition("#")[0])
        if parts.path == "/robots.txt":
            return True
        path = parts.path + (f"?{parts.query}" if "?" in url.partition("#")[0] else "")
        path = _normalise_escapes(path, _ESCAPED_IN_PATH, "/%=")
        return self.group.allows(path if path.startswith("/") else f"/{path}")


def rules_for(agent: str, text: str) -> RobotsRules:
    """Return the rules for `agent` (in lower case), or the rules for all agents if the file has none for `agent`."""
    groups: dict[str, RuleGroup] = {}
    sitemaps: list[str] = []
    current_agents: set[str] = set()  # the agents in the current group: `agent`, `*` or both
    after_agent = False
    for name, value in _parse_lines(text):
        if name == "agent":
            current_agents = current_agents if after_agent else set()
            if (product_token := _product_token(value)) in ("*", agent):
                groups.setdefault(product_token, RuleGroup())
                current_agents.add(product_token)
        elif name == "sitemap" and value:
            sitemaps.append(value)
        for product_token in current_agents if value else ():
            _add_rule(groups[product_token], name, value)
        after_agent = name == "agent" if name not in _SITE_WIDE_FIELDS else after_agent
    for group in groups.values():
        group.patterns.sort(key=lambda pattern: pattern.rank, reverse=True)
    return RobotsRules(groups.get(agent) or groups.get("*") or RuleGroup(), tuple(sitemaps))


def _parse_lines(text: str) -> Iterator[tuple[str, str]]:
    """Yield the normalised field name and the value of each line. Unknown fields have an empty name."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, colon, value = line.partition(":")
        known = _FIELD_SPELLINGS.get(name.strip().lower())
        # The colon after the field name may be missing, as in `Disallow /a` and `Sitemap https://…`.
        if not known and (not colon or value[:1].strip()):
            known, value = _split_without_colon(line)
        if known or colon:
            yield known or "", value.strip()


def _split_without_colon(line: str) -> tuple[str, str]:
    """Split a line without a colon into field name and value."""
    words = line.split(None, 2)
    for count in (1, 2):
        if known := _FIELD_SPELLINGS.get(" ".join(words[:count]).lower()):
            return known, " ".join(words[count:])
    return "", ""


def _product_token(value: str) -> str:
    """Return the product token in a user-agent line, or `*` if the line applies to all agents."""
    value = value.lower()
    found = _TOKEN.match(value.replace("*", ""))
    return "*" if value == "*" else found.group() if found else ""


def _add_rule(group: RuleGroup, name: str, value: str) -> None:
    if name == "delay":
        group.delay_seconds = _parse_seconds(value, group.delay_seconds)
    elif name in ("allow", "disallow"):
        group.patterns += _parse_patterns(value, is_allowed=name == "allow")


def _parse_patterns(value: str, *, is_allowed: bool) -> Iterator[PathPattern]:
    value = f"/{value}" if value.startswith(("http://", "https://")) else value
    is_anchored = value.endswith("$")
    text = _normalise_escapes(value[:-1] if is_anchored else value, _ESCAPED_IN_PATTERN, "/%=*")
    yield _build_pattern(text, is_anchored=is_anchored, is_allowed=is_allowed)
    if is_anchored:  # the `$` at the end may also be a literal character
        yield _build_pattern(f"{text}%24", is_anchored=False, is_allowed=is_allowed)
    if is_allowed and text.endswith(f"/{_INDEX_PAGE}"):  # servers return the index page also for the folder
        yield _build_pattern(text.removesuffix(_INDEX_PAGE), is_anchored=True, is_allowed=True)


def _build_pattern(text: str, *, is_anchored: bool, is_allowed: bool) -> PathPattern:
    first, *rest = text.split("*")
    middle = tuple(part for part in rest[:-1] if part)
    return PathPattern((first, *middle, *rest[-1:]), is_anchored, is_allowed)


def _normalise_escapes(text: str, kept: re.Pattern[str], safe: str) -> str:
    """Escape only the characters that must be escaped, so that equivalent URLs are equal strings."""
    if "%" in text:
        text = unquote(kept.sub(lambda found: f"%25{found.group(1).upper()}", text))
    return quote(text, safe=safe)


def _parse_seconds(value: str, default: float) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return default
    return seconds if math.isfinite(seconds) and seconds >= 0 else default
