"""HTML pages become sections with anchors; boilerplate and hidden text are left out."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.markup.html import decode, parse_html
from deltos.markup.model import Document, join_blocks

URL = "https://example.org/guide/page.html"


def parse(body: str, head: str = "<title>Page | Site</title>") -> Document:
    return parse_html(f"<html><head>{head}</head><body>{body}</body></html>".encode(), url=URL)


def text_of(document: Document) -> str:
    return "\n\n".join(join_blocks(section.blocks) for section in document.sections)


def test_headings_start_sections_with_their_parent_headings() -> None:
    document = parse("<h1>Top</h1><p>a</p><h2>Sub</h2><p>b</p><h3>Leaf</h3><p>c</p><h2>Next</h2><p>d</p>")
    assert [section.path for section in document.sections] == [
        ("Top",),
        ("Top", "Sub"),
        ("Top", "Sub", "Leaf"),
        ("Top", "Next"),
    ]


def test_every_id_is_an_anchor_of_its_section() -> None:
    document = parse(
        '<section id="outer"><span id="before"></span><h1 id="own">T</h1><p id="para">x</p><p>y <a name="old"></a>z</p>'
        '</section><section id="second"><h2>U</h2><p>v</p></section>'
    )
    first, second = document.sections
    assert first.anchors == ("own", "before", "outer")
    assert [block.anchors for block in first.blocks] == [("para",), ("old",)]
    assert second.anchors == ("second",)


def test_the_anchor_of_a_removed_permalink_is_kept() -> None:
    document = parse('<h2>Event: end<span><a class="mark" href="#event-end" id="event-end">#</a></span></h2><p>x</p>')
    assert document.sections[0].path == ("Event: end",)
    assert document.sections[0].anchors == ("event-end",)


def test_code_blocks_stay_verbatim_with_their_language() -> None:
    code = "def f(x):\n    return  x   # two  blanks\n\n\nf(1)"
    document = parse(f'<h1>T</h1><div class="highlight-python3 notranslate"><pre><span>{code}</span>\n</pre></div>')
    assert document.sections[0].blocks[0].text == f"```python3\n{code}\n```"


def test_two_code_elements_in_one_pre_are_two_blocks() -> None:
    document = parse(
        '<pre><input type="checkbox"><code class="language-mjs">import a\nb</code>'
        '<code class="language-cjs">const a\nb</code>'
        '<button class="copy-button">copy</button></pre>'
    )
    assert [block.text for block in document.sections[0].blocks] == [
        "```mjs\nimport a\nb\n```",
        "```cjs\nconst a\nb\n```",
    ]


def test_a_fence_inside_code_does_not_end_the_code_block() -> None:
    document = parse("<pre>```\ninner\n```</pre>")
    assert document.sections[0].blocks[0].text.startswith("````\n```")


def test_line_numbers_are_removed_from_code() -> None:
    document = parse('<pre><span class="linenos">1</span>a = 1\n<span class="linenos">2</span>b = 2</pre>')
    assert document.sections[0].blocks[0].text == "```\na = 1\nb = 2\n```"


def test_inline_code_keeps_its_quotes_and_inner_links_are_collected() -> None:
    document = parse('<p>Use <code>open()</code> or <code><a href="other.html#x">copy</a></code>.</p>')
    assert text_of(document) == "Use `open()` or `copy`."
    assert "https://example.org/guide/other.html#x" in {link.url for link in document.links}


def test_tables_become_rows_with_a_header() -> None:
    document = parse(
        "<table><tr><th>Name</th><th>Use</th></tr>"
        "<tr><td id='r'>a|b</td><td><p>first</p><p>second</p></td></tr></table>"
    )
    header, row = document.sections[0].blocks
    assert header.text == "| Name | Use |\n| --- | --- |"
    assert row.text == "| a\\|b | first second |"
    assert row.anchors == ("r",)


def test_a_layout_table_around_code_is_ignored() -> None:
    document = parse("<table><caption>C</caption><tr><td>1</td><td><pre>code</pre></td></tr></table>")
    assert "```\ncode\n```" in [block.text for block in document.sections[0].blocks]


def test_a_table_caption_is_text() -> None:
    assert text_of(parse("<table><caption>Sizes</caption><tr><td>1</td></tr></table>")) == "Sizes\n\n| 1 |"


def test_definitions_with_ids_become_sections() -> None:
    document = parse(
        '<h1>os</h1><dl><dt id="os.open">os.open(path)<a class="headerlink" href="#os.open">¶</a></dt><dd><p>Opens.</p>'
        '<dl><dt id="os.open.flags">flags</dt><dd>Bits.</dd></dl></dd>'
        '<dt id="os.read">os.read(fd)</dt><dt id="os.pread">os.pread(fd)</dt><dd>Reads.</dd></dl><p>After.</p>'
    )
    paths = [(section.path, section.anchors, section.is_definition) for section in document.sections]
    assert paths == [
        (("os",), (), False),
        (("os", "os.open(path)"), ("os.open",), True),
        (("os", "os.open(path)", "flags"), ("os.open.flags",), True),
        (("os", "os.read(fd) / os.pread(fd)"), ("os.read", "os.pread"), True),
        (("os",), (), False),
    ]
    assert join_blocks(document.sections[-1].blocks) == "After."


def test_a_definition_without_id_is_text() -> None:
    assert text_of(parse("<dl><dt>--all</dt><dd>Everything.</dd></dl>")) == "**--all**\n\nEverything."


def test_lists_keep_their_nesting() -> None:
    document = parse("<ul><li>one<ul><li>two</li></ul></li><li>three</li></ul>")
    assert text_of(document) == "- one\n  - two\n- three"


def test_line_breaks_and_alternative_texts_are_kept() -> None:
    document = parse('<p>one<br>two <img src="a.png" alt="A diagram of it"> <img alt="logo.png"></p>')
    assert text_of(document) == "one\ntwo [A diagram of it]"


def test_formulas_are_replaced_by_their_alternative_text() -> None:
    assert text_of(parse('<p><math alttext="x^2"><mi>x</mi></math></p>')) == "x^2"


def test_navigation_footers_and_edit_links_are_removed() -> None:
    document = parse(
        '<nav>Menu</nav><header>Site</header><div class="related">next</div><main><h1>T</h1><p>Text of it.</p>'
        '<div class="edit-this-page">Edit</div><p>Edit this page</p><p>Next →</p></main><footer>Bye</footer>'
    )
    assert text_of(document) == "Text of it."


def test_an_article_keeps_its_own_header() -> None:
    document = parse("<main><article><header><h1>Title</h1></header><p>Text.</p></article></main>")
    assert document.sections[0].path == ("Title",)


def test_a_small_main_element_never_hides_other_content_of_the_page() -> None:
    document = parse("<main><p>Little.</p></main><div><p>" + "Much more text of the page. " * 20 + "</p></div>")
    assert "Much more text" in text_of(document)


def test_a_title_next_to_the_content_element_is_kept() -> None:
    document = parse(
        "<div id='header'><h1>tool(1)</h1><p>tool - does it</p></div><div id='content'><h2>Use</h2><p>" + "text " * 50
    )
    assert [section.path[-1] for section in document.sections] == ["tool(1)", "Use"]


def test_hidden_text_is_not_indexed() -> None:
    document = parse(
        "<p>seen</p><!-- comment --><p hidden>a</p><p style='display: none'>b</p>"
        "<p style='position:absolute;left:-9999px'>c</p>"
        "<p aria-hidden='true'>d</p><span class='sr-only'>e</span><p>zero\u200bwidth\u2060</p><template>f</template>"
        "<p style='font-size:0'>g</p><p style='opacity: 0.5'>half</p><p style='font-size:0.9em'>small</p>"
    )
    assert text_of(document) == "seen\n\nzerowidth\n\nhalf\n\nsmall"


def test_inactive_tab_panels_are_indexed() -> None:
    assert text_of(parse("<div role='tabpanel' hidden><p>Windows way</p></div>")) == "Windows way"


def test_the_title_is_the_only_top_heading_or_the_title_element() -> None:
    assert parse("<h1>Only</h1><p>x</p>").title == "Only"
    assert parse("<h1>One</h1><p>x</p><h1>Two</h1><p>y</p>").title == "Page"
    assert parse("<p>x</p>", head="").title == ""


def test_the_head_contains_canonical_url_robots_rules_and_redirect() -> None:
    document = parse(
        "<p>x</p>",
        head="<base href='/base/'><link rel=canonical href='c.html'><meta name=robots content='NOINDEX'>"
        "<meta http-equiv=refresh content='0; url=new.html'>",
    )
    assert document.canonical_url == "https://example.org/base/c.html"
    assert document.is_noindex
    assert document.moved_to == "https://example.org/base/new.html"


def test_a_short_page_with_a_password_field_requires_a_login() -> None:
    form = "<form><input type=password></form>"
    assert parse(f"<p>Sign in</p>{form}").requires_login
    assert not parse(f"<p>{'Documentation. ' * 200}</p>{form}").requires_login


def test_navigation_links_are_followed_but_not_indexed() -> None:
    document = parse(
        "<nav><a href='next.html'>Next</a></nav><p><a href='http://[bad'>x</a><a href='mailto:a@b'>y</a>text</p>"
    )
    assert [link.url for link in document.links] == ["https://example.org/guide/next.html"]


def test_a_very_deeply_nested_page_is_parsed() -> None:
    document = parse("<div>" * 3000 + "deep text" + "</div>" * 3000)
    assert "deep text" in text_of(document)


def test_headings_inside_cells_and_empty_headings_are_ignored() -> None:
    document = parse(
        "<h2></h2><dl><dt id='a'><h3>In a term</h3><pre>x</pre><table><tr><td>c</td></tr></table></dt></dl>"
    )
    assert document.sections[0].path == ("In a term x c",)


def test_charsets_are_found_in_the_order_that_browsers_use() -> None:
    assert decode("ä".encode("utf-8-sig")) == "ä"
    assert decode("ä".encode("utf-16")) == "ä"
    assert decode("ä".encode("latin-1"), "latin-1") == "ä"
    assert decode(b"<meta charset='iso-8859-1'>\xe4").endswith("ä")
    assert decode("ä".encode(), "no-such-charset") == "ä"
    assert decode(b"\xe4\xff ") == "äÿ "


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="<>/=\"' abdhilprtu123&;#-!\n", max_size=400))
def test_broken_markup_never_raises(markup: str) -> None:
    parse_html(markup.encode(), url=URL)


@pytest.mark.parametrize("shapes", ["<svg>{}</svg>", "<SVG viewBox='0 0 1 1'>{}</SVG>", "<math><mi>x</mi>{}</math>"])
def test_text_after_a_drawing_with_many_shapes_is_parsed(shapes: str) -> None:
    """`<path />` is self-closing inside drawings and formulas, so thousands of them are not nested."""
    drawing = shapes.format("<path d='M1,2'/>" * 3_000)
    document = parse_html(f"<main><h1>Select</h1>{drawing}<p>After ü it.</p></main>".encode(), url="")
    text = join_blocks(document.sections[0].blocks)
    assert "After ü it." in text
    assert ("x" in text) == ("math" in shapes)


@pytest.mark.parametrize("part", ["<svg", "<svg</svg", "<svg>", "<math></math", "<path/>", "<svg><div/>"])
def test_unclosed_drawings_are_parsed_in_linear_time(part: str) -> None:
    began = time.process_time()
    parse_html(f"<main>{part * 60_000}<p>text</p></main>".encode(), url="")
    assert time.process_time() - began < 5


def test_a_manual_in_one_preformatted_block_is_split_at_its_anchors() -> None:
    message = "  It tells how long a session may last\n  before it is closed by the server.\n"
    document = parse(
        f'<h1>Manual</h1><pre>Two settings.\n\n1. <a name="1-timeout">timeout</a>\n{message}\n'
        f'<b id="2-retries">2. retries</b>\n{message}see <i id="id7">more</i>\n</pre>'
    )
    assert [(block.text, block.anchors) for block in document.sections[-1].blocks] == [
        ("```\nTwo settings.\n```", ()),
        (f"```\n1. timeout\n{message}```", ("1-timeout",)),
        (f"```\n2. retries\n{message}see more\n```", ("2-retries", "id7")),
    ]


def test_code_with_anchors_is_one_block_with_its_lines() -> None:
    document = parse('<pre><a name="f"></a>f(x);<br>g(y);<ol><li id="L3">h(z);</li><li>i();</li></ol></pre>')
    assert [(block.text, block.anchors) for block in document.sections[-1].blocks] == [
        ("```\nf(x);\ng(y);\nh(z);\ni();\n```", ("f", "L3"))
    ]


def test_a_unique_anchor_comes_first() -> None:
    keyword = '<a name="option"></a><a name="4-option"></a><a name="option {0}"></a><div><a name="option {0}"></a>option {0}</div>'
    document = parse("<h1>Keywords</h1>" + "".join(map(keyword.format, ("redispatch", "httpchk", "tcplog"))))
    assert [(block.text, block.anchors) for block in document.sections[-1].blocks] == [
        ("option redispatch", ("option%20redispatch", "option", "4-option")),
        ("option httpchk", ("option%20httpchk",)),
        ("option tcplog", ("option%20tcplog",)),
    ]


def test_a_repeated_anchor_is_kept_at_its_first_occurrence() -> None:
    document = parse(
        '<h2 id="a">One</h2><p id="b">x</p><h2 id="b">Two</h2><p>y</p><h2 id="c">Three</h2><p id="a">z</p>'
    )
    assert [section.anchors for section in document.sections] == [("a",), (), ("c",)]
    assert [block.anchors for section in document.sections for block in section.blocks] == [("b",), (), ()]


def test_images_in_table_cells_are_replaced_by_their_labels() -> None:
    mark = '<img src="check.png" alt="X" title="yes">'
    document = parse(
        f"<h1>Keywords</h1><table><tr><th>keyword</th><th>frontend</th><th>backend</th><th>listen</th></tr>"
        f'<tr><td>acl</td><td>{mark}</td><td>yes<br><img alt="yes" title="yes"></td><td><img alt="" src="b.png"></td></tr>'
        f'<tr><td>log</td><td><img alt="no"></td><td><img alt="*"></td><td><img alt="only in named ones"></td></tr></table>'
    )
    assert [block.text for block in document.sections[-1].blocks][1:] == [
        "| acl | yes | yes |  |",
        "| log | no |  | [only in named ones] |",
    ]


def test_a_short_image_label_is_used_only_without_other_text() -> None:
    document = parse('<p><img alt="OK"></p><p><img alt="new"> A function. <img alt="A figure"> <img alt="a.png"></p>')
    assert text_of(document) == "OK\n\nA function. [A figure]"


MENU = (
    '<span class="dropdown"><a href="#x">maxconn<span class="caret"></span></a><ul class="dropdown-menu">'
    '<li class="dropdown-header">This keyword is in :</li><li><a href="#y">Bind options</a></li></ul></span>'
)


def test_drop_down_menus_are_removed() -> None:
    document = parse(f"<h1>Keywords</h1><div>See also : {MENU} and backlog.</div><pre>No further {MENU} rules.</pre>")
    assert text_of(document) == "See also : maxconn and backlog.\n\n```\nNo further maxconn rules.\n```"


def test_items_inside_other_elements_are_separated_from_the_preceding_text() -> None:
    document = parse("<h1>T</h1><div>one<ul><li>two</li><li>three</li></ul>four</div><p><code>a<br>b</code></p>")
    assert text_of(document) == "one\n\n- two\n- three\n\nfour\n\n`a b`"
    listed = parse("<h1>T</h1><pre>one<ul><li>two</li><li>three</li></ul>four</pre>")
    assert text_of(listed) == "```\none\ntwo\nthree\nfour\n```"
