"""Removal of boilerplate from HTML pages (navigation, footers, buttons, hidden elements) to find the main part."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

SKIPPED_TAGS = frozenset(
    "script style noscript template iframe object embed svg canvas audio video map nav footer form button input select"
    " textarea label dialog head title link meta base -comment -doctype".split()
)
_STRUCTURE = (
    "script, style, noscript, template, iframe, svg, nav, footer, dialog, "
    "[role=navigation], [role=search], [role=banner], [role=contentinfo], [role=complementary]:has(nav)"
)
_MAIN = (
    "main, [role=main], article, #main-content, #content, #main, .markdown-body, .theme-doc-markdown, .rst-content, "
    ".document .body, .md-content, .page-content, .post-content"
)
_DROPPED_CLASSES = frozenset(
    """headerlink hash-link heading-anchor anchor-link header-anchor permalink anchorjs-link viewcode-link mark related
    sphinxsidebar navheader navfooter breadcrumb breadcrumbs theme-doc-breadcrumbs pagination pagination-nav pager
    prev-next-area prev-next-footer rst-footer-buttons wy-breadcrumbs edit-this-page theme-edit-this-page edit-link
    edit-page-link toc-drawer page-toc bd-toc on-this-page table-of-contents local-toc toc-sidebar fancy_toc sidebar
    theme-doc-toc-mobile md-sidebar skip-link skip-to-content skipnav sr-only visually-hidden screen-reader-text
    linenos gutter lineno linenumber hljs-ln-numbers line-numbers-rows copybtn copy-button cookie-banner feedback
    helpful version-switcher picker-header search-box searchbox announcement last-updated theme-last-updated
    contributors navbar topnav bottomnav site-footer site-header newsletter share-buttons mw-editsection noprint ad
    ads advert dropdown-menu""".split()
)
_DROPPED_IDS = frozenset("toc toc_sub column2 alt-docs footer footer-text navbar sidebar breadcrumbs searchbox".split())
_DROPPED_ROLES = frozenset("navigation search banner contentinfo toolbar menu menubar dialog alertdialog".split())
_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9])|opacity\s*:\s*0(?![.\d]*[1-9])"
    r"|(?:left|top|right|text-indent|margin-left)\s*:\s*-\d{3,}|clip\s*:\s*rect\(0",
    re.IGNORECASE,
)
_CHROME_TEXT = re.compile(
    r"(?:✎ |✏️? ?)?(?:edit|improve|view|show|suggest)\b.{0,12}\b(?:this page|(?:page )?source|on git(?:hub|lab)|edits?)"
    r"|on this page|table of contents|contents|(?:←|«|<)? ?(?:previous|prev)(?: page)?|next(?: page)? ?(?:→|»|>)?"
    r"|back to top|skip to .{0,20}content|copy(?: link| code)?|was this (?:page|article|helpful).*"
    r"|report (?:a bug|an issue)|last updated.*",
    re.IGNORECASE,
)
MIN_MAIN_COVERAGE = 0.5
# If more elements look like the main part, none covers most of the page. Each check reads the element's entire text.
_MAX_CANDIDATES = 50


def strip_structure(tree: LexborHTMLParser) -> None:
    """Remove scripts, navigation and other boilerplate that is identified by element name or role."""
    for node in tree.css(_STRUCTURE):
        node.decompose()
    for header in _page_headers(tree.css("header")):
        header.decompose()


def _page_headers(headers: list[LexborNode]) -> list[LexborNode]:
    """Return the outermost `header` elements outside the main part; the header of an article contains its title.

    Each ancestor is visited once, because hostile pages have thousands of deeply nested headers.
    """
    is_text: dict[int, bool | None] = {}  # None for elements inside a header that is removed
    found = []
    for header in headers:
        visited = [header.mem_id]
        parent = header.parent
        while parent is not None and parent.mem_id not in is_text:
            visited.append(parent.mem_id)
            if parent.tag in ("main", "article") or parent.attributes.get("role") == "main":
                is_text[parent.mem_id] = True
                break
            parent = parent.parent
        is_inside_text = False if parent is None else is_text[parent.mem_id]
        is_text.update(dict.fromkeys(visited, is_inside_text))
        if is_inside_text is False:
            found.append(header)
            is_text[header.mem_id] = None
    return found


def main_part(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the element that contains the page's text: the body, unless a main element covers most of its text."""
    body = tree.body
    if body is None:
        return tree.root
    total = _text_length(body)
    best, best_length = body, 0
    for node in islice(tree.css(_MAIN), _MAX_CANDIDATES):
        length = _text_length(node)
        if length > best_length:
            best, best_length = node, length
    if best_length < MIN_MAIN_COVERAGE * total or _lacks_title(best, body):
        return body
    return best


def _lacks_title(part: LexborNode, body: LexborNode) -> bool:
    """Whether a part that is recognised only by its name does not contain the page's title."""
    if part.tag in ("main", "article") or part.attributes.get("role") == "main":
        return False
    return part.css_first("h1") is None and body.css_first("h1") is not None


def _text_length(node: LexborNode) -> int:
    """Return the number of characters in an element."""
    return len(node.text(skip_empty=True))


def is_chrome(attributes: dict[str, str | None]) -> bool:
    """Whether an element is boilerplate or hidden, judging by its attributes."""
    if not attributes:
        return False
    classes = attributes.get("class")
    if classes and not _DROPPED_CLASSES.isdisjoint(classes.split()):
        return True
    role = attributes.get("role")
    if role in _DROPPED_ROLES or attributes.get("id") in _DROPPED_IDS:
        return True
    if role == "tabpanel":  # inactive tabs are hidden until clicked, but they are part of the text
        return False
    style = attributes.get("style")
    return (
        "hidden" in attributes or attributes.get("aria-hidden") == "true" or bool(style and _HIDING_STYLE.search(style))
    )


def is_chrome_text(text: str) -> bool:
    """Whether a paragraph only contains a link such as "Edit this page", "Copy" or "Next page"."""
    return len(text) < 60 and _CHROME_TEXT.fullmatch(text) is not None
