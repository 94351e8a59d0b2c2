"""HTML to a document: decode, parse, find the main part, walk it. The walking itself is html_walk's."""

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
_TITLE_SEPARATORS = re.compile(r" [|·»—–] | - (?=\S+$)")  # in a title whose white space is single blanks
_REFRESH_URL = re.compile(r"^\s*[0-2]\s*;\s*url\s*=\s*['\"]?([^'\"]+)", re.IGNORECASE)
_FEW_CHARACTERS = 1_500  # a page with a password field, or a refresh, and no more text than this is nothing else
# The parser looks through all open elements at many a tag, so its time grows with the square of the depth. Browsers
# nest no deeper than 512 elements, either.
_DEEPEST = 1_000
_TAG = re.compile(r"<(/?)([A-Za-z][^<>\s/]*+)[^<>]*+>")
_EMPTY_TAG = re.compile(r"<[^<>]*+(?<=/)>")
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
# Elements that have no end tag, or may go without: they nest only where others do.
_UNCLOSED = frozenset(
    """area base br col embed hr img input link meta param source track wbr html head body p li dt dd option optgroup
    tr td th thead tbody tfoot colgroup caption rt rp""".split()
)
# Python calls these encodings too; a page that claims one wants escapes read that make no text, or much time.
_NOT_FOR_PAGES = frozenset(("punycode", "idna", "unicode-escape", "unicode_escape", "raw-unicode-escape", "utf-7"))


def parse_html(data: bytes, *, url: str, charset: str = "") -> Document:
    """The page at `url` as sections with anchors. Never fails: broken markup is read as browsers read it."""
    from selectolax.lexbor import LexborHTMLParser  # deferred: commands that parse no page need not load it

    tree = LexborHTMLParser(_flattened(decode(data, charset)))
    base_url = _base_url(tree, url)
    canonical, robots, moved_to = _head_facts(tree, base_url)
    links = LinkCollector(base_url)
    for node in tree.css("a[href], area[href]"):  # navigation included: the crawl follows it, the text leaves it out
        links.note(node.attributes.get("href"))
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
        wants_login=has_password and size < _FEW_CHARACTERS,
        asks_not_to_index="noindex" in robots,
        moved_to=moved_to if size < _FEW_CHARACTERS else "",
    )


def decode(data: bytes, charset: str = "") -> str:
    """`data` as text: byte-order mark, the server's charset, the page's own, UTF-8, Windows-1252."""
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            return data.decode(name, "replace")
    for name in (charset, _declared_charset(data[:4096]), "utf-8"):
        try:
            if name and codecs.lookup(name).name not in _NOT_FOR_PAGES:
                return data.decode(name)
        except (LookupError, ValueError):
            continue  # a wrong declaration: try the next
    return data.decode("cp1252", "replace")


def _flattened(text: str) -> str:
    """The text without the tags of elements that are nested beyond reason."""
    steps = (-1 if piece.startswith("/") else 1 for piece in text.split("<")[1:])
    if max(accumulate(steps), default=0) <= _DEEPEST:  # at once: every tag counts here
        return text
    # There alone `<path … />` ends by itself; elsewhere, as browsers read it, it is open.
    text = _changed_inside(text, "math", lambda inside: _EMPTY_TAG.sub("", inside))
    text = _changed_inside(text, "svg", lambda _: "")  # drawings are not shown anyway
    depth = 0

    def kept(tag: re.Match[str]) -> str:
        nonlocal depth
        if tag[2].lower() in _UNCLOSED:
            return tag[0]
        is_kept = depth <= _DEEPEST - (not tag[1])
        depth = max(0, depth - 1) if tag[1] else depth + 1
        return tag[0] if is_kept else ""

    return _TAG.sub(kept, text)


def _changed_inside(text: str, name: str, change: Callable[[str], str]) -> str:
    """The text with what stands between each start tag of `name` and the end tag after it changed."""
    folded = text.translate(_LOWER)  # as long as the text, which `lower` may lengthen
    start, end = f"<{name}", f"</{name}"
    pieces: list[str] = []
    at = 0
    while (begins := folded.find(start, at)) >= 0 and (ends := folded.find(end, begins)) >= 0:
        opened = folded.find(">", begins, ends) + 1 or ends
        pieces += (text[at:opened], change(text[opened:ends]))
        at = ends
    return "".join((*pieces, text[at:])) if pieces else text


def _declared_charset(data: bytes) -> str:
    found = next(filter(None, map(_CHARSET.search, _META.findall(data))), None)
    return found.group(1).decode("ascii") if found else ""


def _base_url(tree: LexborHTMLParser, url: str) -> str:
    base = tree.css_first("base[href]")
    return (join_url(url, base.attributes.get("href") or "") or url) if base is not None else url


def _head_facts(tree: LexborHTMLParser, base_url: str) -> tuple[str, str, str]:
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
    tops = {section.path[0] for section in sections if section.path}
    if len(tops) == 1:
        return next(iter(tops))
    short = _TITLE_SEPARATORS.split(page_title)[0] if page_title else ""
    return short or next((section.path[0] for section in sections if section.path), "")
