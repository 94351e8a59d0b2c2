"""AsciiDoc parser: attributes, tables, anchors, one-line and two-line headings."""

from __future__ import annotations

import time

from deltos.markup.asciidoc import MAX_SUBSTITUTED_CHARACTERS, MAX_VALUE_CHARACTERS, parse_asciidoc
from deltos.markup.model import join_blocks


def sections_with_text(text: str) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, join_blocks(section.blocks)) for section in parse_asciidoc(text).sections]


def test_attribute_references_are_replaced_and_definitions_are_removed() -> None:
    page = (
        "= Guide\n:product: Frobnix\n:long: one \\\n  two\n:full: {product} 2\n\n"
        "== Installing {product}\n\nGet {full}, {long}, {unknown}; {cpp}.\n\n"
        ":!product:\n\nNow {product}.\n\n----\n:kept: as it is {full}\n----"
    )
    sections = parse_asciidoc(page).sections
    assert sections[1].path == ("Guide", "Installing Frobnix")
    assert sections[1].anchors == ("_installing_frobnix",)
    assert join_blocks(sections[1].blocks) == (
        "Get Frobnix 2, one two, {unknown}; C++.\n\nNow {product}.\n\n```\n:kept: as it is {full}\n```"
    )


def test_recursive_attribute_values_are_truncated() -> None:
    lines = [":a0: xxxxxxxxxx", *(f":a{n}: {{a{n - 1}}}{{a{n - 1}}}{{a{n - 1}}}" for n in range(1, 60))]
    began = time.process_time()
    (section,) = parse_asciidoc("\n".join(lines) + "\n\n" + "{a59}" * 20_000).sections
    assert len(section.blocks[0].text) <= MAX_SUBSTITUTED_CHARACTERS + MAX_VALUE_CHARACTERS + 100_000
    assert time.process_time() - began < 2


def test_tables_become_rows_with_a_header() -> None:
    page = (
        ':product: Frobnix\n\n.Options\n[cols="1,2a", options="header"]\n|===\n|Name |Meaning\n\n|timeout\n'
        "|How long {product} waits,\nin seconds\n\na|a\\|b s|strong\n2+|wide\n|===\n\nAfter."
    )
    assert sections_with_text(page) == [
        (
            (),
            (
                "Options\n\n| Name | Meaning |\n| --- | --- |\n| timeout | How long Frobnix waits, in seconds |\n"
                "| a\\|b | strong |\n| wide |  |\n\nAfter."
            ),
        )
    ]


def test_a_first_row_followed_by_a_blank_line_is_the_header() -> None:
    assert (
        sections_with_text("|===\n|A |B\n\n|1 |2\n|3 |4\n|===")[0][1]
        == "| A | B |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    )
    assert sections_with_text("|===\n|1 |2\n|3 |4\n|===")[0][1] == "| 1 | 2 |\n| 3 | 4 |"


def test_underlined_titles_are_headings_and_do_not_start_a_listing() -> None:
    page = "git-frob(1)\n===========\n\nNAME\n----\ngit-frob - frob it\n\nOPTIONS\n-------\n--deep::\n\tDeeply.\n"
    assert sections_with_text(page) == [
        (("git-frob(1)",), ""),
        (("git-frob(1)", "NAME"), "git-frob - frob it"),
        (("git-frob(1)", "OPTIONS"), "--deep::\n\tDeeply."),
    ]


def test_an_explicit_id_is_the_anchor_of_a_heading() -> None:
    sections = parse_asciidoc("[#first]\n== One\n\na\n\n[[second]]\n== Two\n\nb\n\n== Three\n\nc").sections
    assert [section.anchors for section in sections] == [("first",), ("second",), ("_three",)]


def test_block_delimiters_are_removed_and_admonitions_are_kept() -> None:
    page = "[NOTE]\n====\nMind the gap.\n====\n\nifdef::env[]\n[.lead]\nLead.\nendif::[]\n\n[source,ruby]\n----\nputs 1\n----"
    assert sections_with_text(page)[0][1] == "NOTE:\nMind the gap.\n\nLead.\n\n```ruby\nputs 1\n```"


def test_an_unclosed_table_is_kept_as_text() -> None:
    assert sections_with_text("|===\n|a |b\n|c")[0][1] == "|a |b\n|c"
