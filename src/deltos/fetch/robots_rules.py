"""The rules of a robots.txt that concern us (RFC 9309): parsed in one pass, matched without backtracking."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_FIELDS = {
    **dict.fromkeys(("user-agent", "useragent", "user agent"), "agent"),
    **dict.fromkeys(("disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"), "disallow"),
    "allow": "allow",
    **dict.fromkeys(("sitemap", "sitemaps", "site-map"), "sitemap"),
    **dict.fromkeys(("crawl-delay", "crawl delay"), "delay"),
    "host": "host",
}
_OF_THE_SITE = ("sitemap", "host")  # fields that belong to no group of agents
_TOKEN = re.compile(r"[a-z0-9_-]*")
_INDEX_PAGE = "index.html"
# Escapes that stay escapes, as the character itself would mean something else: of a path, and of a pattern.
_KEPT_IN_PATH = re.compile(r"%(2[fF]|25)")
_KEPT_IN_PATTERN = re.compile(r"%(2[fF]|25|2[aA])")


@dataclass(frozen=True, slots=True)
class PathPattern:
    """Paths that a rule is about: texts in this order with anything between them, the last one perhaps at the end."""

    parts: tuple[str, ...]
    at_end: bool
    is_allowed: bool

    @property
    def rank(self) -> tuple[int, bool]:
        """The longest pattern decides; of two the one that allows."""
        return sum(map(len, self.parts)) + len(self.parts) - 1 + self.at_end, self.is_allowed

    def matches(self, path: str) -> bool:
        """Whether the rule is about this path. The earliest place for each part leaves most room for the rest."""
        first, *middle = self.parts
        if not path.startswith(first):
            return False
        if not middle:
            return not self.at_end or len(path) == len(first)
        at = len(first)
        last = middle.pop()
        for part in middle:
            found = path.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        if self.at_end:
            return path.endswith(last) and len(path) - len(last) >= at
        return path.find(last, at) >= 0


@dataclass(slots=True)
class Group:
    """What is said to one agent."""

    patterns: list[PathPattern] = field(default_factory=list)
    delay_seconds: float = 0.0

    def allows(self, path: str) -> bool:
        """Whether the path may be fetched: the first of the ranked patterns that is about it decides."""
        return next((pattern.is_allowed for pattern in self.patterns if pattern.matches(path)), True)


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What a robots.txt says to us."""

    group: Group
    sitemaps: tuple[str, ...] = ()

    def allows(self, url: str) -> bool:
        """Whether the address may be fetched."""
        parts = urlsplit(url.partition("#")[0])
        if parts.path == "/robots.txt":
            return True
        path = parts.path + (f"?{parts.query}" if "?" in url.partition("#")[0] else "")
        path = _canonical(path, _KEPT_IN_PATH, "/%=")
        return self.group.allows(path if path.startswith("/") else f"/{path}")


def rules_for(agent: str, text: str) -> RobotsRules:
    """What the text says to `agent`, a lower-case name, or to everybody if it is not named."""
    groups: dict[str, Group] = {}
    sitemaps: list[str] = []
    addressed: set[str] = set()  # whom of us and everybody the open group is for
    after_agent = False
    for name, value in _statements(text):
        if name == "agent":
            addressed = addressed if after_agent else set()
            if (who := _addressee(value)) in ("*", agent):
                groups.setdefault(who, Group())
                addressed.add(who)
        elif name == "sitemap" and value:
            sitemaps.append(value)
        for who in addressed if value else ():
            _add(groups[who], name, value)
        after_agent = name == "agent" if name not in _OF_THE_SITE else after_agent
    for group in groups.values():
        group.patterns.sort(key=lambda pattern: pattern.rank, reverse=True)
    return RobotsRules(groups.get(agent) or groups.get("*") or Group(), tuple(sitemaps))


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Field and value of each line, the field by its one name; unknown fields are an empty name."""
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, colon, value = line.partition(":")
        known = _FIELDS.get(name.strip().lower())
        if not known and (not colon or value[:1].strip()):  # `Disallow /a`, `User agent *`, `Sitemap https://…`
            known, value = _without_colon(line)
        if known or colon:
            yield known or "", value.strip()


def _without_colon(line: str) -> tuple[str, str]:
    words = line.split(None, 2)
    for count in (1, 2):
        if known := _FIELDS.get(" ".join(words[:count]).lower()):
            return known, " ".join(words[count:])
    return "", ""


def _addressee(value: str) -> str:
    value = value.lower()
    found = _TOKEN.match(value.replace("*", ""))
    return "*" if value == "*" else found.group() if found else ""


def _add(group: Group, name: str, value: str) -> None:
    if name == "delay":
        group.delay_seconds = _seconds(value, group.delay_seconds)
    elif name in ("allow", "disallow"):
        group.patterns += _patterns(value, is_allowed=name == "allow")


def _patterns(value: str, *, is_allowed: bool) -> Iterator[PathPattern]:
    value = f"/{value}" if value.startswith(("http://", "https://")) else value
    at_end = value.endswith("$")
    text = _canonical(value[:-1] if at_end else value, _KEPT_IN_PATTERN, "/%=*")
    yield _pattern(text, at_end=at_end, is_allowed=is_allowed)
    if at_end:  # the sign may have been meant as such
        yield _pattern(f"{text}%24", at_end=False, is_allowed=is_allowed)
    if is_allowed and text.endswith(f"/{_INDEX_PAGE}"):  # the page of a folder is the folder
        yield _pattern(text.removesuffix(_INDEX_PAGE), at_end=True, is_allowed=True)


def _pattern(text: str, *, at_end: bool, is_allowed: bool) -> PathPattern:
    first, *rest = text.split("*")
    middle = tuple(part for part in rest[:-1] if part)
    return PathPattern((first, *middle, *rest[-1:]), at_end, is_allowed)


def _canonical(text: str, kept: re.Pattern[str], safe: str) -> str:
    """The text with everything escaped that has to be, and nothing else, so that equal addresses are equal."""
    if "%" in text:
        text = unquote(kept.sub(lambda found: f"%25{found.group(1).upper()}", text))
    return quote(text, safe=safe)


def _seconds(value: str, otherwise: float) -> float:
    try:
        seconds = float(value)
    except ValueError:
        return otherwise
    return seconds if math.isfinite(seconds) and seconds >= 0 else otherwise
