"""Pages built to slow a parser down are parsed in linear time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.markup.formats import parse
from deltos.markup.markdown_hidden import identifiers, without_comments, without_hidden_elements, without_tags
from deltos.markup.markdown_links import defined_links, inline_links, without_links

if TYPE_CHECKING:
    from deltos.markup.formats import Format
    from tests.attacks import LimitedProcess

MARKDOWN = {
    "an opening tag again and again": "<a" * 100_000,
    "an opening tag with a blank": "<a " * 75_000,
    "a link that never ends": "[a](" * 62_000,
    "a link whose title never ends": "[a](b 'c" * 37_000,
    "links without a blank between them": "[a](b)" * 40_000,
    "links in one another": "[" * 25_000 + "](" * 25_000,
    "opening brackets": "[" * 1_000_000,
    "opening and closing brackets": "[" * 100_000 + "]" * 100_000,
    "definitions that never end": "[a\n" * 75_000,
    "a definition, then blanks": "[a]:" + "\n" * 250_000,
    "a heading of blanks": "# a" + " " * 1_000_000 + "b",
    "a heading of number signs": "# a" + " #" * 125_000 + "b",
    "a heading of brackets": "# " + "[" * 125_000 + "](" * 50_000,
    "a heading of angle brackets": "# " + "<" * 1_000_000,
    "a heading of names": "# a" + " {#b" * 62_000 + "}c",
    "MDX comments": "{/*" * 75_000,
    "HTML comments": "<!--" * 62_000 + "-->",
    "hidden elements that never end": "<b hidden>" * 25_000,
    "hidden elements of many names": "".join(f"<b{number} hidden>" for number in range(20_000)),
    "hiding words in one tag": "<b" + " hidden" * 37_000 + "<b" * 25_000 + ">",
    "automatic links": "<https://" * 30_000,
    "identifiers": "<a id='b'" * 30_000,
    "identifiers without an end": "<a id='" + " id=" * 62_000,
    "badges": "[![a](b)](c) " * 20_000 + "x",
    "front matter": "---\n" + "title:\n" * 37_000,
    "fences": "   ```\n" * 37_000,
    "blanks before a fence": " " * 1_000_000 + "``",
    "rules": "a\n" + "-" * 1_000_000 + "b",
    "imports": "import " + " from" * 50_000,
    "rows": "|" * 1_000_000,
}
RST = {
    "roles that never end": ":a" * 125_000 + "`",
    "colons": ":" * 1_000_000,
    "back-quotes": "`" * 1_000_000,
    "a target of blanks": "`a" + " " * 1_000_000 + "b",
    "targets that never end": "`a <b" * 50_000,
    "an adornment that is none": "a\n" + "=" * 1_000_000 + "-",
    "a directive without a name": ".. " + "a:" * 100_000,
    "signatures": ".. function:: a\n" + "   b\n" * 50_000,
    "nested directives": "".join(" " * 3 * depth + ".. note::\n\n" for depth in range(700)),
    "nested definitions": "".join(" " * 3 * depth + ".. class:: A\n\n" for depth in range(700)),
    "nested quotations": "".join(" " * depth + "a\n\n" for depth in range(1_400)),
    "labels over blanks": ".. _a:\n" * 2 + "\n" * 125_000 + ".. _a:\n",
    "comments": "..\n" * 75_000,
    "titles": "".join(f"t\n{mark * 3}\n\n" for mark in "=-~^*+#" * 5_000),
}
ASCIIDOC = {
    "a heading of equals signs": "== a" + " =" * 125_000 + "b",
    "a heading of blanks": "= a" + " " * 1_000_000 + "b",
    "an anchor that never ends": "[[" + "a" * 1_000_000,
    "a source line": "[source" + " " * 1_000_000,
    "delimiters": "----\n....\n" * 25_000,
}
HTML = {
    "lists in one another": "<ul>" * 60_000,
    "lists and entries in one another": "<ul><li>" * 30_000,
    "elements in one another, closed": "<div>" * 200_000 + "x" + "</div>" * 200_000,
    "terms of one definition": "<dl>" + "<dt id=x>" * 60_000 + "<dl>",
    "paragraphs deep inside": "<span>" * 40_000 + "<p></p>" * 40_000,
}
TEXT = {"blank lines": "\n" * 1_000_000, "lines of blanks": ("\n" + " " * 50) * 20_000}
MAN = {
    "tags of one entry": ".TP\na\n" + ".TQ\nb\n" * 30_000,
    "entries in one another": ".RS\n.TP\na\n" * 30_000,
    "brackets in one another": ".Op " + "Op Fl " * 80_000,
    "escapes that never end": "\\f[\\h'" * 60_000,
    "quotes": '.B "' + '""' * 300_000,
    "cells that never end": ".TS\nl.\n" + "aT{\n" * 60_000,
    "lines of one paragraph": "a\n.br\n" * 60_000,
}
FORMATS = {"markdown": MARKDOWN, "rst": RST, "asciidoc": ASCIIDOC, "html": HTML, "text": TEXT, "man": MAN}


@pytest.mark.parametrize(
    ("form", "text"),
    [
        pytest.param(form, text, id=f"{form}-{name}")
        for form, attacks in FORMATS.items()
        for name, text in attacks.items()
    ],
)
def test_parsing_time_is_linear_in_the_length_of_a_page(
    limited_process: LimitedProcess, form: Format, text: str
) -> None:
    limited_process.check_completes(parse, text.encode(), form, url="https://example.org/page")


def test_inline_links_with_nested_and_unbalanced_brackets_are_parsed() -> None:
    text = "[a](b) ![c](d) [e [f] g](<h> 'title') [i](j k) [[l](m) [n]( o) [p](<) [](q)"
    expected = [("a", "b"), ("e [f] g", "h"), ("l", "m"), ("n", "o"), ("p", "<"), ("", "q")]
    assert list(inline_links(text)) == expected


def test_link_definitions_are_found_at_the_beginning_of_lines() -> None:
    text = "[a]: b\n  [c]: <d> 'title'\n x [e]: f\n[g]:\n  h\n[i\n[j]: k\n[]: l\n[m]:"
    assert list(defined_links(text)) == ["b", "d", "h", "k"]


def test_a_link_is_replaced_by_its_label() -> None:
    assert without_links("see [a](b) and ![c](d), [e] (f) [g](h") == "see a and c, [e] (f) [g](h"


def test_hidden_elements_are_removed() -> None:
    assert without_comments("a<!-- b -->c{/* d */}e{/* f <!-- g") == "ace{/* f "
    assert (
        without_hidden_elements("a<b hidden>c</B >d<i style='display : none'>e<b>f")
        == "ad<i style='display : none'>e<b>f"
    )
    assert without_tags("a<b>c<>d</b>e<f") == "ac<>de<f"


def test_the_first_identifier_of_each_tag_is_an_anchor() -> None:
    assert identifiers("<a id='b' name='c'> id='d' <e f><g\tname = \"h\"><i id='j") == ["b", "h"]


def test_a_deeply_nested_page_keeps_its_text_and_the_text_after_it() -> None:
    data = (
        b"<h1>Title</h1>"
        + b"<div>" * 5_000
        + b"<p>deep <a href='/b'>link</a></p>"
        + b"</div>" * 5_000
        + b"<p>after</p>"
    )
    page = parse(data, "html", url="https://example.org/page")
    (section,) = page.sections
    assert section.path == ("Title",)
    text = " ".join(block.text for block in section.blocks)
    assert "deep" in text
    assert "after" in text
