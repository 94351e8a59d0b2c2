"""Parse HTML pages: find the main part of a page, and convert it to sections."""

from __future__ import annotations

import codecs
import re
from itertools import accumulate
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING

from deltos.markup.html_chrome import main_part, strip_structure
from deltos.markup.html_walk import HtmlWalker
from deltos.markup.links import LinkCollector, join_url
from deltos.markup.model import Document
from deltos.markup.text import collapse, visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborHTMLParser

    from deltos.markup.model import Section

_META = re.compile(rb"<meta([^<>]*)", re.IGNORECASE)
_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?+\s*+([\w-]+)", re.IGNORECASE)
_TITLE_SEPARATORS = re.compile(r" [|·»—–] | - (?=\S+$)")  # matches only if white space has been collapsed
_REFRESH_URL = re.compile(r"^\s*[0-2]\s*;\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
# A page with a password field or a refresh element is a login page or a redirect, unless it has more characters of
# text.
_MAX_NOTICE_CHARACTERS = 1_500
# Maximum nesting depth of elements. The parsing time grows with the square of the depth. The limit in browsers is 512.
_MAX_DEPTH = 1_000
_TAG = re.compile(r"<(/?)([A-Za-z][^<>\s/]*+)[^<>]*+>")
_EMPTY_TAG = re.compile(r"<[^<>]*+(?<=/)>")
_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
# Elements without a required end tag. They do not increase the nesting depth.
_OPTIONAL_END_TAGS = frozenset(
    """area base br col embed hr img input link meta param source track wbr html head body p li dt dd option optgroup
    tr td th thead tbody tfoot colgroup caption rt rp""".split()
)
# Python codecs that are not used even if a page declares them, because they are slow or produce no readable text.
_UNSAFE_ENCODINGS = frozenset(("punycode", "idna", "unicode-escape", "unicode_escape", "raw-unicode-escape", "utf-7"))


def parse_html(data: bytes, *, url: str, charset: str = "") -> Document:
    """Parse the HTML page at `url`. Invalid markup is repaired as in browsers, so parsing never fails."""
    # The library is imported here, because most commands do not parse pages.
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_limit_depth(decode(data, charset)))
    base_url = _base_url(tree, url)
    canonical, robots, moved_to = _read_metadata(tree, base_url)
    links = LinkCollector(base_url)
    # Links are collected before navigation is removed, because the crawl also follows navigation links.
    for node in tree.css("a[href], area[href]"):
        links.add(node.attributes.get("href"))
    has_password = tree.css_first("input[type=password]") is not None
    title_node = tree.css_first("title")
    page_title = collapse(visible(title_node.text())) if title_node is not None else ""
    strip_structure(tree)
    root = main_part(tree)
    sections = HtmlWalker(links).sections(root) if root is not None else ()
    size = sum(len(block.text) for section in sections for block in section.blocks)
    return Document(
        title=_title(page_title, sections),
        window_title=page_title,
        sections=sections,
        links=links.links(),
        canonical_url=canonical,
        requires_login=has_password and size < _MAX_NOTICE_CHARACTERS,
        is_noindex="noindex" in robots,
        moved_to=moved_to if size < _MAX_NOTICE_CHARACTERS else "",
    )


def decode(data: bytes, charset: str = "") -> str:
    """Decode a page with the first suitable charset: byte-order mark, server, page, UTF-8, Windows-1252."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    for name in (charset, _declared_charset(data[:4096]), "utf-8"):
        try:
            if name and codecs.lookup(name).name not in _UNSAFE_ENCODINGS:
                return data.decode(name)
        except (LookupError, ValueError):
            continue  # the declared charset is wrong, so the next charset is tried
    return data.decode("cp1252", "replace")


def _limit_depth(text: str) -> str:
    """Remove the tags of elements nested deeper than `_MAX_DEPTH`."""
    steps = (-1 if piece.startswith("/") else 1 for piece in text.split("<")[1:])
    if max(accumulate(steps), default=0) <= _MAX_DEPTH:  # counting all tags is fast and never yields too low a depth
        return text
    # Tags such as `<path … />` close themselves only in MathML and SVG. In HTML, browsers treat them as start tags.
    text = _replace_inside(text, "math", lambda inside: _EMPTY_TAG.sub("", inside))
    text = _replace_inside(text, "svg", lambda _: "")  # the text in SVG drawings is not indexed
    depth = 0

    def filter_tag(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[2].lower() in _OPTIONAL_END_TAGS:
            return tag[0]
        is_within_limit = depth <= _MAX_DEPTH - (not tag[1])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        return tag[0] if is_within_limit else ""

    return _TAG.sub(filter_tag, text)


def _replace_inside(text: str, name: str, change: Callable[[str], str]) -> str:
    """Replace the content of each element called `name` with the result of `change`."""
    lowered = text.translate(_ASCII_LOWER)  # `str.lower` is not used, because it can change the length of the text
    start, end = f"<{name}", f"</{name}"
    pieces: list[str] = []
    at = 0
    while (start_at := lowered.find(start, at)) >= 0 and (end_at := lowered.find(end, start_at)) >= 0:
        opened = lowered.find(">", start_at, end_at) + 1 or end_at
        pieces += (text[at:opened], change(text[opened:end_at]))
        at = end_at
    return "".join((*pieces, text[at:])) if pieces else text


def _declared_charset(data: bytes) -> str:
    """Return the charset that a `meta` element declares, or an empty string."""
    found = next(filter(None, map(_CHARSET.search, _META.findall(data))), None)
    return found.group(1).decode("ascii") if found else ""


def _base_url(tree: LexborHTMLParser, url: str) -> str:
    """Return the base URL of the page's relative links."""
    base = tree.css_first("base[href]")
    return (join_url(url, base.attributes.get("href") or "") or url) if base is not None else url


def _read_metadata(tree: LexborHTMLParser, base_url: str) -> tuple[str, str, str]:
    """Return the canonical URL, the contents of the robots meta element, and the target of an immediate refresh."""
    canonical, robots, moved_to = "", "", ""
    for node in tree.css("link[rel=canonical][href], meta[name=robots], meta[http-equiv=refresh i]"):
        attributes = node.attributes
        content = attributes.get("content") or ""
        if node.tag == "link":
            canonical = join_url(base_url, attributes.get("href") or "")
        elif (attributes.get("name") or "").lower() == "robots":
            robots = content.lower()
        elif found := _REFRESH_URL.match(content):
            moved_to = join_url(base_url, found.group(1))
    return canonical, robots, moved_to


def _title(page_title: str, sections: tuple[Section, ...]) -> str:
    """Return the title of a page: its only top-level heading, or its `title` element without the site name."""
    tops = {section.path[0] for section in sections if section.path}
    if len(tops) == 1:
        return next(iter(tops))
    short = _TITLE_SEPARATORS.split(page_title)[0] if page_title else ""
    return short or next((section.path[0] for section in sections if section.path), "")
