"""Conversion of the main part of an HTML page to sections, without the boilerplate that `html_chrome` recognises."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.markup.html_chrome import SKIPPED_TAGS, is_chrome, is_chrome_text
from deltos.markup.outline import Outline
from deltos.markup.text import collapse, fenced, is_named_anchor, reads_as_prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selectolax.lexbor import LexborNode

    from deltos.markup.links import LinkCollector
    from deltos.markup.model import Section

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_DEFINITION_RANK = 10  # rank of definitions, below all headings; each level of nested definition lists adds 1
_INLINE_TAGS = frozenset(
    "a abbr b bdi bdo big cite del dfn em font i ins label mark q s small span strike strong sub sup u wbr var".split()
)
# Elements that start a new line inside a preformatted block.
_LINE_TAGS = frozenset("div p li ul ol dl dt dd tr h1 h2 h3 h4 h5 h6 blockquote".split())
_LINE_BREAKING_TAGS = "br, li, p, div"
_PREFORMATTED_CHROME = "button, input, .linenos, .lineno, .gutter, .dropdown-menu, [role=menu], [aria-hidden=true]"
_CODE_TAGS = frozenset("code kbd samp tt".split())
_BREAK = "\x1e"  # placeholder for <br> until white space has been collapsed
_PERMALINK_TEXTS = frozenset(("", "¶", "#", "§", "🔗", "link", "permalink", "[source]", "[src]"))
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight|brush|src)[-: ]+([A-Za-z][\w+#.]*)")
_NON_LANGUAGE_CLASSES = frozenset(("default", "none", "text", "plaintext", "notranslate", "wrapper", "highlight"))
_MAX_BULLET_CHARACTERS = 3  # an image with a longer label is not a bullet such as `*` or `new`
_MAX_DEPTH = 200  # maximum recursion depth; the content of deeper elements becomes plain text


class HtmlWalker:
    """Converts the element tree of one page to sections."""

    def __init__(self, links: LinkCollector) -> None:
        self._links = links
        self._outline = Outline()
        self._inline: list[str] = []
        self._item_prefix = ""
        self._list_depth = 0
        self._definition_depth = 0
        self._flat_depth = 0
        self._cell_depth = 0
        self._depth = 0
        self._handlers: dict[str, Callable[[LexborNode, dict[str, str | None]], None]] = {
            "pre": self._walk_preformatted,
            "table": self._walk_table,
            "ul": self._walk_list,
            "ol": self._walk_list,
            "li": self._walk_item,
            "dl": self._walk_definitions,
            "dt": self._walk_term,
            "a": self._walk_anchor,
            "img": self._walk_image,
            "br": self._walk_line_break,
            "math": self._walk_math,
        }
        self._handlers.update(dict.fromkeys(_HEADINGS, self._walk_heading))
        self._handlers.update(dict.fromkeys(_CODE_TAGS, self._walk_inline_code))

    def sections(self, root: LexborNode) -> tuple[Section, ...]:
        """Return all sections in the element `root` in reading order."""
        self._walk(root)
        self._end_block()
        return self._outline.sections()

    def _walk(self, node: LexborNode) -> None:
        self._depth += 1
        for child in node.iter(include_text=True):
            tag = child.tag
            if tag == "-text":
                self._inline.append(child.text_content or "")
            elif tag is not None and tag not in SKIPPED_TAGS:
                self._walk_element(child, tag)
        self._depth -= 1

    def _walk_element(self, node: LexborNode, tag: str) -> None:
        attributes = node.attributes
        if attributes:
            # The id is read even from boilerplate, because the anchor is often in a permalink, which is removed.
            if identifier := attributes.get("id"):
                self._outline.add_anchor(identifier)
            if is_chrome(attributes):
                return
        if self._depth > _MAX_DEPTH:
            self._inline.append(node.text())
        elif handler := self._handlers.get(tag):
            handler(node, attributes)
        elif tag in _INLINE_TAGS:
            self._walk(node)
        else:
            self._walk_paragraph(node, attributes)

    # ------------------------------------------------------------------ blocks

    def _walk_paragraph(self, node: LexborNode, _: dict[str, str | None]) -> None:
        self._end_block()
        self._walk(node)
        self._end_block()

    def _end_block(self) -> None:
        """End the current paragraph. Inside a table cell or heading, add a space instead."""
        if self._flat_depth:
            self._inline.append(" ")
            return
        text = self._take_inline()
        if not text or is_chrome_text(text):
            return
        if self._item_prefix:
            self._outline.add_block(self._item_prefix + text, "item")
            self._item_prefix = ""
        else:
            self._outline.add_block(text, "prose")

    def _take_inline(self) -> str:
        """Remove and return the collected inline text, with white space collapsed."""
        if not self._inline:
            return ""
        text = "".join(self._inline)
        self._inline = []
        if _BREAK not in text:
            return collapse(text)
        return "\n".join(line for line in map(collapse, text.split(_BREAK)) if line)

    def _capture(self, node: LexborNode) -> str:
        """Return the text of an element as one line, and collect the anchors and links inside the element."""
        outer, self._inline = self._inline, []
        self._flat_depth += 1
        self._walk(node)
        self._flat_depth -= 1
        text = collapse("".join(self._inline).replace(_BREAK, " "))
        self._inline = outer
        return text

    def _walk_preformatted(self, node: LexborNode, _attributes: dict[str, str | None]) -> None:
        for boilerplate in node.css(_PREFORMATTED_CHROME):
            boilerplate.decompose()
        parts = node.css("code") if len(node.css("code")) > 1 else [node]
        texts = [_preformatted_text(part) for part in parts]
        if len(parts) > 1 and (self._flat_depth or not all("\n" in text for text, _ in texts)):
            parts, texts = [node], [_preformatted_text(node)]
        if self._flat_depth:
            [(text, anchor_offsets)] = texts
            for _, name in anchor_offsets:
                self._outline.add_anchor(name)
            self._inline.append(f" {text} ")
            return
        self._end_block()
        for part, (text, anchor_offsets) in zip(parts, texts, strict=True):
            language = _language(part, node)
            is_prose = reads_as_prose(fenced(text, language))
            for piece, anchors in _split_at_anchors(text, anchor_offsets, is_prose=is_prose):
                for name in anchors:
                    self._outline.add_anchor(name)
                if piece.strip():
                    self._outline.add_block(fenced(piece.strip("\n").rstrip(), language), "code")

    def _walk_inline_code(self, node: LexborNode, _: dict[str, str | None]) -> None:
        text = node.text() if node.css_first(_LINE_BREAKING_TAGS) is None else collapse(_preformatted_text(node)[0])
        self._inline.append(f"`{text}`" if text.strip() and "`" not in text and not self._flat_depth else text)
        if node.css_first("a, [id]") is not None:
            self._collect_anchors_and_links(node)

    def _collect_anchors_and_links(self, node: LexborNode) -> None:
        for inner in node.css("a, [id]"):
            if identifier := inner.id:
                self._outline.add_anchor(identifier)
            self._links.add(inner.attributes.get("href"), inner.text())

    def _walk_line_break(self, _node: LexborNode, _attributes: dict[str, str | None]) -> None:
        self._inline.append(_BREAK)

    def _walk_image(self, node: LexborNode, attributes: dict[str, str | None]) -> None:
        alt, title = ((attributes.get(name) or "").strip() for name in ("alt", "title"))
        label = title if len(alt) <= _MAX_BULLET_CHARACTERS and title else alt
        if not re.search(r"\w", label) or re.fullmatch(r"[\w./-]+\.\w{3,4}", label):
            return
        if len(alt) > _MAX_BULLET_CHARACTERS:
            self._inline.append(f" [{label}] ")
        elif self._is_image_instead_of_word(node) and label not in "".join(self._inline).split():
            self._inline.append(f" {label} ")

    def _is_image_instead_of_word(self, node: LexborNode) -> bool:
        """Whether an image is used like a word: in a table cell, or as the only content of its parent."""
        return self._cell_depth > 0 or (node.parent is not None and not node.parent.text().strip())

    def _walk_math(self, node: LexborNode, attributes: dict[str, str | None]) -> None:
        self._inline.append(attributes.get("alttext") or node.text(separator=" "))

    def _walk_anchor(self, node: LexborNode, attributes: dict[str, str | None]) -> None:
        if name := attributes.get("name"):
            self._outline.add_anchor(name)
        start = len(self._inline)
        self._walk(node)
        text = collapse("".join(self._inline[start:]))
        if text in _PERMALINK_TEXTS:
            del self._inline[start:]
        self._links.add(attributes.get("href"), text.strip("`"))

    # ------------------------------------------------------------------ lists and tables

    def _walk_list(self, node: LexborNode, _: dict[str, str | None]) -> None:
        self._end_block()
        self._list_depth += 1
        self._walk(node)
        self._list_depth -= 1
        self._end_block()

    def _walk_item(self, node: LexborNode, _: dict[str, str | None]) -> None:
        self._end_block()
        self._item_prefix = "  " * max(0, self._list_depth - 1) + "- "
        self._walk(node)
        self._end_block()
        self._item_prefix = ""

    def _walk_table(self, node: LexborNode, _: dict[str, str | None]) -> None:
        self._end_block()
        if self._flat_depth or node.css_first("pre, table table, ul, ol, dl, h1, h2, h3, h4, h5, h6") is not None:
            self._walk(node)
            self._end_block()
            return
        for caption in node.css("caption"):
            if title := self._capture(caption):
                self._outline.add_block(title, "prose")
        for index, row in enumerate(node.css("tr")):
            self._add_row(row, is_first=index == 0)

    def _add_row(self, row: LexborNode, *, is_first: bool) -> None:
        cells: list[str] = []
        is_header = is_first
        for cell in row.iter():
            if cell.tag in ("td", "th") and not is_chrome(cell.attributes):
                if identifier := cell.id:
                    self._outline.add_anchor(identifier)
                self._cell_depth += 1
                cells.append(self._capture(cell).replace("|", "\\|"))
                self._cell_depth -= 1
                is_header = is_header and cell.tag == "th"
        if not any(cells):
            return
        line = f"| {' | '.join(cells)} |"
        self._outline.add_block(f"{line}\n|{' --- |' * len(cells)}" if is_header else line, "row")

    # ------------------------------------------------------------------ sections

    def _walk_heading(self, node: LexborNode, attributes: dict[str, str | None]) -> None:
        if self._flat_depth:
            self._walk(node)
            return
        self._end_block()
        before = self._outline.pending_count() - bool(attributes.get("id"))
        text = self._capture(node)
        if text:
            own = self._outline.take_pending(before)
            self._outline.start_section(_HEADINGS[node.tag or "h6"], text, own)

    def _walk_definitions(self, node: LexborNode, _: dict[str, str | None]) -> None:
        self._end_block()
        self._definition_depth += 1
        self._walk(node)
        self._end_block()
        self._outline.close_sections(_DEFINITION_RANK + self._definition_depth)
        self._definition_depth -= 1

    def _walk_term(self, node: LexborNode, _: dict[str, str | None]) -> None:
        if self._flat_depth:
            self._walk(node)
            return
        self._end_block()
        text = self._capture(node)
        rank = _DEFINITION_RANK + self._definition_depth
        if not self._outline.pending_count():
            self._outline.close_sections(rank)
            self._outline.add_block(f"**{text}**" if text else "")
            return
        anchors = self._outline.take_pending()
        if not self._outline.add_heading_name(rank, text, anchors):
            self._outline.start_section(rank, text, anchors, is_definition=True)


def _preformatted_text(node: LexborNode) -> tuple[str, list[tuple[int, str]]]:
    """Return the text of a preformatted block, and the anchors in the block with their offsets in this text.

    Block elements inside the preformatted block start on new lines.
    """
    pieces: list[str] = []
    anchor_offsets: list[tuple[int, str]] = []
    size = 0

    def add(text: str) -> None:
        nonlocal size
        pieces.append(text)
        size += len(text)

    def end_line() -> None:
        if pieces and not pieces[-1].endswith("\n"):
            add("\n")

    open_elements = [("", node.iter(include_text=True))]
    while open_elements:
        tag, children = open_elements[-1]
        child = next(children, None)
        if child is None:
            open_elements.pop()
            if tag in _LINE_TAGS:
                end_line()
        elif child.tag == "-text":
            if text := child.text_content:
                add(text)
        elif child.tag == "br":
            add("\n")
        elif child.tag and child.tag not in SKIPPED_TAGS:
            if child.tag in _LINE_TAGS:
                end_line()
            anchor_offsets += ((size, name) for name in dict.fromkeys((child.id, _anchor_name(child))) if name)
            open_elements.append((child.tag, child.iter(include_text=True)))
    return "".join(pieces), anchor_offsets


def _anchor_name(node: LexborNode) -> str | None:
    return node.attributes.get("name") if node.tag == "a" else None


def _split_at_anchors(
    text: str, anchor_offsets: list[tuple[int, str]], *, is_prose: bool
) -> Iterator[tuple[str, list[str]]]:
    """Split preformatted prose at lines with named anchors. Yield each part with its anchors.

    Code is not split.
    """
    start = 0
    anchors: list[str] = []
    for at, name in anchor_offsets:
        line = text.rfind("\n", 0, at) + 1
        if is_prose and is_named_anchor(name) and text[start:line].strip():
            yield text[start:line], anchors
            start, anchors = line, []
        anchors.append(name)
    yield text[start:], anchors


def _language(part: LexborNode, pre: LexborNode) -> str:
    """Return the programming language of a code block, from the attributes of its elements, or an empty string."""
    inner = part.css_first("code")
    elements = [inner, part, pre, pre.parent, pre.parent.parent if pre.parent else None]
    for node in elements:
        if node is None:
            continue
        named = node.attributes.get("data-language") or node.attributes.get("data-lang")
        found = _LANGUAGE.search(node.attributes.get("class") or "")
        name = named or (found.group(1) if found else "")
        if name and name.lower() not in _NON_LANGUAGE_CLASSES:
            return name.lower()
    return ""
