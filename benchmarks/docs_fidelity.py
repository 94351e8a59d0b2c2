"""Compare parsed pages with their raw HTML, as a Markdown table.

    python -m benchmarks.docs_fidelity [SITES]

`SITES` is a folder with one site in each subfolder, as created by shared/bench/docs/lay_out.py. The raw pages are read
without code of Deltos: content element, every <pre>, every heading, every word, and navigation.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from benchmarks.paths import SCRATCH, SHARED
from deltos.domains.docs.chunk import chunk_document
from deltos.markup.html import parse_html

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

CONTENT = "[role=main], #apicontent, main, article"
BOILERPLATE = (
    "script, style, noscript, template, svg, nav, footer, button, input, select, form, [role=navigation], .related,"
    " .navheader, .navfooter, .sphinxsidebar, #column2, #toc, .fancy_toc, .headerlink, a.mark, .linenos, .nosearch,"
    " [aria-hidden=true],"
    " body > header, .header, #footer, #footer-text, #sidebar, .menu, .mobile-nav, .searchmenu, .viewcode-link"
)
NAVIGATION = "nav, [role=navigation], .related, .navheader, .navfooter, .sphinxsidebar, #column2, footer, #footer"
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class PreservedCounts:
    """Numbers of elements on the pages of a site that were preserved, and of all elements."""

    pages: int = 0
    code: int = 0
    code_preserved: int = 0
    headings: int = 0
    headings_preserved: int = 0
    words: int = 0
    words_preserved: int = 0
    with_navigation: int = 0

    def row(self, name: str) -> str:
        code = self.code_preserved / max(self.code, 1)
        headings = self.headings_preserved / max(self.headings, 1)
        words = self.words_preserved / max(self.words, 1)
        left_in = self.with_navigation / max(self.pages, 1)
        return f"| {name} | {self.pages} | {code:.1%} of {self.code} | {headings:.1%} | {words:.1%} | {left_in:.1%} |"


def main() -> None:
    sites = Path(sys.argv[1]) if sys.argv[1:] else SCRATCH / "docs-sites"
    if not sites.exists():
        subprocess.run([sys.executable, SHARED / "docs/lay_out.py", sites], check=True)
    total = PreservedCounts()
    print("| site | pages | code blocks verbatim | headings | words | pages with remaining navigation |")
    print("|---|---|---|---|---|---|")
    for site in sorted(path for path in sites.iterdir() if path.is_dir()):
        preserved = PreservedCounts()
        for page in sorted(site.rglob("*.html")):
            if page.name != "start.html":
                check_page(page.read_bytes(), preserved)
        print(preserved.row(site.name), flush=True)
        for field in preserved.__slots__:
            setattr(total, field, getattr(total, field) + getattr(preserved, field))
    print(total.row("all"))


def check_page(data: bytes, preserved: PreservedCounts) -> None:
    """Compare a page with the text that Deltos parsed from it."""
    chunks = chunk_document(parse_html(data, url="https://example.org/"))
    text = "\n\n".join(chunk.text for chunk in chunks)
    trails = {collapse_whitespace(heading) for chunk in chunks for heading in chunk.path} | set(
        map(collapse_whitespace, text.split("\n"))
    )
    everything = text + "\n" + "\n".join(" ".join(chunk.path) for chunk in chunks)
    preserved.pages += 1
    preserved.with_navigation += has_navigation(data, text)
    content = content_element(data)
    for pre in content.css("pre"):
        code = pre.text().strip("\n").rstrip()
        preserved.code += bool(code)
        preserved.code_preserved += bool(code) and is_verbatim(pre, code, text)
    for heading in content.css("h1, h2, h3, h4, h5, h6"):
        words = collapse_whitespace(re.sub(r"[¶#]$|\[src\]", "", heading.text().strip()))
        preserved.headings += bool(words)
        preserved.headings_preserved += bool(words) and any(words in trail for trail in trails)
    wanted = Counter(_WORD.findall(content.text(separator=" ").lower()))
    found = Counter(_WORD.findall(everything.lower()))
    preserved.words += wanted.total()
    preserved.words_preserved += (wanted & found).total()


def content_element(data: bytes) -> LexborNode:
    """Return the content element of a page without boilerplate, or the body if the page has no such element."""
    tree = LexborHTMLParser(data)
    for node in tree.css(BOILERPLATE):
        node.decompose()
    content = tree.css_first(CONTENT) or tree.body
    assert content is not None
    return content


def is_verbatim(pre: LexborNode, code: str, text: str) -> bool:
    """Return whether the text contains the code unchanged.

    If a <pre> contains several listings, the text must contain all of them.
    """
    listings = [node.text().strip("\n").rstrip() for node in pre.css("code")]
    return code in text or (len(listings) > 1 and all(listing in text for listing in listings))


def has_navigation(data: bytes, text: str) -> bool:
    """Return whether the text contains several navigation entries on lines of their own."""
    tree = LexborHTMLParser(data)
    labels = {collapse_whitespace(link.text()) for part in tree.css(NAVIGATION) for link in part.css("a")}
    labels = {label for label in labels if len(label) > 8}
    lines = {collapse_whitespace(line.lstrip("-* |").rstrip(" |")) for line in text.split("\n")}
    return len(labels & lines) > max(2, len(labels) // 3)


def collapse_whitespace(text: str) -> str:
    return "".join(text.replace("`", "").split()).lower()


if __name__ == "__main__":
    main()
