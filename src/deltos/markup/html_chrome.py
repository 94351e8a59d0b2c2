"""Removal of boilerplate (navigation, footers, buttons, hidden elements) from HTML pages to find the main part."""

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
_STRUCTURE_SELECTOR = (
    "script, style, noscript, template, iframe, svg, nav, footer, dialog, "
    "[role=navigation], [role=search], [role=banner], [role=contentinfo], [role=complementary]:has(nav)"
)
_MAIN_PART_SELECTOR = (
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
MIN_MAIN_COVERAGE = 0.5  # minimum share of the page's text in the element that is used as the main part
# Maximum number of elements that are considered as the main part. Each of them is read completely.
_MAX_CANDIDATES = 50


def strip_structure(tree: LexborHTMLParser) -> None:
    """Remove scripts, navigation and other boilerplate that is identified by element name or role."""
    for node in tree.css(_STRUCTURE_SELECTOR):
        node.decompose()
    for header in _page_headers(tree.css("header")):
        header.decompose()


def _page_headers(headers: list[LexborNode]) -> list[LexborNode]:
    """Return the outermost `header` elements outside the main part. They are headers of the page, not of an article."""
    # Each ancestor is visited only once, because hostile pages have thousands of deeply nested headers. The dictionary
    # stores whether an element is inside the main part, or None if the element is inside a page header.
    is_text: dict[int, bool | None] = {}
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
    """Return the main element if it contains most of the page's text, otherwise the body."""
    body = tree.body
    if body is None:
        return tree.root
    total = _text_length(body)
    best, best_length = body, 0
    for node in islice(tree.css(_MAIN_PART_SELECTOR), _MAX_CANDIDATES):
        length = _text_length(node)
        if length > best_length:
            best, best_length = node, length
    if best_length < MIN_MAIN_COVERAGE * total or _lacks_title(best, body):
        return body
    return best


def _lacks_title(part: LexborNode, body: LexborNode) -> bool:
    """Whether an element lacks the page's h1 heading and is neither a `main` nor an `article` element."""
    if part.tag in ("main", "article") or part.attributes.get("role") == "main":
        return False
    return part.css_first("h1") is None and body.css_first("h1") is not None


def _text_length(node: LexborNode) -> int:
    """Return the number of characters in an element."""
    return len(node.text(skip_empty=True))


def is_chrome(attributes: dict[str, str | None]) -> bool:
    """Whether the attributes of an element mark the element as boilerplate or as hidden."""
    if not attributes:
        return False
    classes = attributes.get("class")
    if classes and not _DROPPED_CLASSES.isdisjoint(classes.split()):
        return True
    role = attributes.get("role")
    if role in _DROPPED_ROLES or attributes.get("id") in _DROPPED_IDS:
        return True
    if role == "tabpanel":  # The content of inactive tabs is hidden, but should be indexed.
        return False
    style = attributes.get("style")
    return (
        "hidden" in attributes or attributes.get("aria-hidden") == "true" or bool(style and _HIDING_STYLE.search(style))
    )


def is_chrome_text(text: str) -> bool:
    """Whether a paragraph contains only interface text such as "Edit this page", "Copy" or "Next page"."""
    return len(text) < 60 and _CHROME_TEXT.fullmatch(text) is not None
