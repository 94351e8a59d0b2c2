"""Markdown and MDX become sections; the text is kept as it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.markup.markdown import parse_markdown
from deltos.markup.model import Document, join_blocks

URL = "/docs/guide.md"


def parse(text: str) -> Document:
    return parse_markdown(text, url=URL)


def sections_with_text(document: Document) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, join_blocks(section.blocks)) for section in document.sections]


def test_both_kinds_of_headings_start_sections() -> None:
    document = parse("Intro.\n\n# Top #\n\ntext\n\nSub\n---\n\nmore\n\nOther\n=====\nend")
    assert sections_with_text(document) == [
        ((), "Intro."),
        (("Top",), "text"),
        (("Top", "Sub"), "more"),
        (("Other",), "end"),
    ]


@pytest.mark.parametrize(
    ("heading", "displayed_text", "anchor"),
    [
        ("Top { #top .wide }", "Top", "top"),
        ("Top {: .wide #top }", "Top", "top"),
        ("Top { .wide }", "Top", "top"),
        ("The set { a b }", "The set { a b }", "the-set--a-b-"),
    ],
)
def test_heading_attributes_set_the_anchor_and_are_removed(heading: str, displayed_text: str, anchor: str) -> None:
    (section,) = parse_markdown(f"# {heading}\n\nText.", url="", title="").sections
    assert (section.path, section.anchors[0]) == ((displayed_text,), anchor)


def test_anchors_are_slugs_numbered_when_repeated_and_explicit_ids_win() -> None:
    document = parse("# Use `it`, now!\n\na\n\n# Use it now\n\nb\n\n## Setup {#install}\n\nc")
    assert [section.anchors for section in document.sections] == [
        ("use-it-now",),
        ("use-it-now-1",),
        ("install",),
    ]


def test_code_is_verbatim_and_its_comments_are_not_headings() -> None:
    code = "```sh\n# not a heading\n<!-- kept -->\n\nls\n```"
    assert sections_with_text(parse(f"# T\n\n{code}\n\n~~~\n```\n~~~")) == [(("T",), f"{code}\n\n~~~\n```\n~~~")]


def test_an_unclosed_code_block_extends_to_the_end() -> None:
    assert sections_with_text(parse("# T\n\n```\ncode\n# still code"))[0][1] == "```\ncode\n# still code"


def test_rows_and_items_are_separate_blocks() -> None:
    document = parse("| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n  continued\n- two\n\n1. first\n2. second")
    assert [block.kind for block in document.sections[0].blocks] == ["row"] * 3 + ["item"] * 4
    assert document.sections[0].blocks[3].text == "- one\n  continued"


def test_front_matter_sets_the_title() -> None:
    document = parse('---\ntitle: "The Guide"\nsidebar: x\n---\n\n# Heading\n\ntext')
    assert document.title == "The Guide"
    assert sections_with_text(document) == [(("Heading",), "text")]


def test_front_matter_without_a_title_is_removed() -> None:
    assert parse("---\nsidebar: x\n---\n# Heading\n\ntext").title == "Heading"


def test_comments_hidden_elements_and_mdx_statements_are_removed() -> None:
    text = (
        "import Tabs from '@theme/Tabs'\nexport const x = 1\n\n# T\n\n<!-- secret\nnote -->visible {/* gone */}\n\n"
        '<div style="display:none">hidden</div>\n\n<Tabs>\n\ninside\n\n</Tabs>\n\nzero\u200bwidth'
    )
    assert sections_with_text(parse(text)) == [(("T",), "visible\n\ninside\n\nzerowidth")]


def test_ids_of_raw_html_are_anchors() -> None:
    document = parse('# T\n\n<a id="here"></a>\n\ntext')
    assert document.sections[0].blocks[0].anchors == ("here",)


def test_links_of_every_form_are_collected_and_images_are_not() -> None:
    document = parse("[a](b.md#c) ![i](i.png) [ref][r] <https://example.org/x>\n\n[r]: ../up.md")
    assert {(link.url, link.text) for link in document.links} == {
        ("/docs/b.md#c", "a"),
        ("/up.md", ""),
        ("https://example.org/x", ""),
    }


def test_a_linked_heading_is_reduced_to_its_text() -> None:
    assert sections_with_text(parse("# [**Name**](x.md) <b>bold</b>\n\nt"))[0][0] == ("Name bold",)


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="#`~-=|*<>[]()!{} \nab:", max_size=300))
def test_arbitrary_text_never_raises(text: str) -> None:
    parse(text)


def test_badge_lines_are_removed() -> None:
    text = "# Tool\n\n[![CI](a.svg)](https://ci.test)\n[![Docs][badge]][docs] [![x](b.svg)](c)\n\n[![Diagram](d.svg)](e) shows it.\n"
    (section,) = parse_markdown(text, url="https://a.test/").sections
    assert [block.text for block in section.blocks] == ["[![Diagram](d.svg)](e) shows it."]


def test_myst_directives_without_code_are_converted() -> None:
    document = parse_markdown(
        "# Threads\n\n```{autofunction} start_thread_soon\n```\n\n# Locks\n\n"
        "```{eval-rst}\n.. autoclass:: Lock\n   :members: acquire\n\n.. py:function:: f(x)\n\n   Does it.\n```\n\n"
        "# Open\n\n```{py:function} open(path)\n:noindex:\n\nOpens *it*.\n```\n\n```{code-block} python\nx = 1\n```",
        url="/docs/page.md",
    )
    assert [(section.path[-1], join_blocks(section.blocks)) for section in document.sections] == [
        ("Threads", "`start_thread_soon`"),
        ("Locks", "`Lock`, `acquire`\n\n`f(x)`\n\nDoes it."),
        ("Open", "`open(path)`\n\nOpens *it*.\n\n```{code-block} python\nx = 1\n```"),
    ]


def test_fences_inside_other_fences_are_not_directives() -> None:
    text = "````markdown\n```{autofunction} f\n```\n````"
    document = parse_markdown(text, url="/docs/page.md")
    assert join_blocks(document.sections[0].blocks) == text


def test_many_unclosed_fences_are_parsed_quickly() -> None:
    text = "```{autofunction} f\n" * 100_000
    assert join_blocks(parse(text).sections[0].blocks).startswith("```{autofunction} f")


def test_myst_labels_are_anchors() -> None:
    document = parse_markdown("(my-place)=\n# Title\n\nText.\n\n(other)=\nSub\n---\n\nMore.", url="/docs/page.md")
    assert [(section.path, section.anchors) for section in document.sections] == [
        (("Title",), ("title", "my-place")),
        (("Title", "Sub"), ("sub", "other")),
    ]
