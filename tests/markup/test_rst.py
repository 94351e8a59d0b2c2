"""reStructuredText becomes sections without running any directive."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.markup.model import Document, join_blocks
from deltos.markup.rst import parse_rst


def parse(text: str) -> Document:
    return parse_rst(text, url="/docs/page.rst")


def sections_with_text(document: Document) -> list[tuple[tuple[str, ...], str]]:
    return [(section.path, join_blocks(section.blocks)) for section in document.sections]


def test_title_levels_follow_the_order_of_their_styles() -> None:
    document = parse("=====\nTitle\n=====\n\nintro\n\nPart\n----\n\na\n\nSub\n~~~\n\nb\n\nNext\n----\n\nc")
    assert sections_with_text(document) == [
        (("Title",), "intro"),
        (("Title", "Part"), "a"),
        (("Title", "Part", "Sub"), "b"),
        (("Title", "Next"), "c"),
    ]
    assert document.title == "Title"


def test_labels_are_anchors_of_the_next_block() -> None:
    document = parse(".. _my_label:\n\nTitle\n=====\n\ntext")
    assert document.sections[0].anchors == ("title", "my-label")


def test_code_directives_literal_blocks_and_sessions_become_code() -> None:
    document = parse(
        "Title\n=====\n\n.. code-block:: python\n   :linenos:\n\n   def f():\n       pass\n\n"
        "Like this::\n\n    raw\n      deeper\n\n"
        ">>> 1 + 1\n2\n\n::\n\n    alone"
    )
    texts = [block.text for block in document.sections[-1].blocks]
    assert texts == [
        "```python\ndef f():\n    pass\n```",
        "Like this:",
        "```\nraw\n  deeper\n```",
        "```\n>>> 1 + 1\n2\n```",
        "```\nalone\n```",
    ]


def test_definitions_become_sections_with_their_names_as_anchors() -> None:
    document = parse(
        "Mod\n===\n\n.. py:function:: open(path, mode)\n              open2(path)\n   :module: m\n\n   Opens it.\n\n"
        "   .. method:: close()\n\n      Closes.\n\nAfter."
    )
    assert [(s.path, s.anchors, s.is_definition) for s in document.sections] == [
        (("Mod",), ("mod",), False),
        (("Mod", "open(path, mode) / open2(path)"), ("open", "open2"), True),
        (("Mod", "open(path, mode) / open2(path)", "close()"), ("close",), True),
        (("Mod",), (), False),
    ]


def test_notes_are_kept_and_comments_toctrees_and_images_are_removed() -> None:
    document = parse(
        ".. note:: Careful\n   with this.\n\n.. a comment\n   goes on\n\n.. toctree::\n   :maxdepth: 2\n\n   other\n\n"
        ".. image:: x.png\n\n----\n\ntext"
    )
    assert sections_with_text(document) == [((), "**Note** Careful\n\nwith this.\n\ntext")]


def test_autodoc_directives_show_the_names_of_their_objects() -> None:
    document = parse(
        "Threads\n=======\n\n.. autofunction:: start_thread_soon\n\nLocks\n=====\n\n"
        ".. autoclass:: Lock(name='')\n   :members: acquire, release\n\n   Text of its own.\n\n"
        ".. automodule:: trio.testing\n   :members:\n\n.. autoexception:: Busy\n.. py:autodata:: LIMIT"
    )
    assert sections_with_text(document) == [
        (("Threads",), "`start_thread_soon`"),
        (
            ("Locks",),
            "`Lock(name='')`, `acquire`, `release`\n\nText of its own.\n\n`trio.testing`\n\n`Busy`\n\n`LIMIT`",
        ),
    ]


def test_a_definition_without_text_shows_its_signature() -> None:
    document = parse("Mod\n===\n\n.. py:function:: open(path)\n   :noindex:\n")
    assert sections_with_text(document)[1:] == [(("Mod", "open(path)"), "`open(path)`")]


def test_roles_and_targets_are_reduced_to_their_text() -> None:
    document = parse("Use :func:`~os.open`, :ref:`the guide <guide>`, ``x = 1`` or `site <https://example.org/>`_.")
    assert sections_with_text(document)[0][1] == "Use `os.open`, `the guide`, `x = 1` or site."
    assert [link.url for link in document.links] == ["https://example.org/"]


def test_lists_tables_and_quotes_keep_their_form() -> None:
    document = parse("- one\n  more\n- two\n\n+---+\n| a |\n+---+\n\n    quoted text")
    kinds = [(block.kind, block.text) for block in document.sections[0].blocks]
    assert kinds == [
        ("item", "- one more"),
        ("item", "- two"),
        ("prose", "+---+\n| a |\n+---+"),
        ("prose", "quoted text"),
    ]


def test_named_targets_are_links() -> None:
    assert [link.url for link in parse(".. _Site: https://example.org/\n\ntext").links] == ["https://example.org/"]


def test_deeply_nested_quotes_are_parsed() -> None:
    text = "".join(" " * (4 * depth) + f"level{depth}\n\n" for depth in range(40))
    assert "level39" in sections_with_text(parse(text))[0][1]


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="=-~.:_`|+ \nabc>", max_size=300))
def test_arbitrary_text_never_raises(text: str) -> None:
    parse(text)


def test_an_include_that_was_not_resolved_keeps_its_directive() -> None:
    document = parse(
        "Title\n=====\n\n.. include:: ../secret.txt\n\n.. literalinclude:: ../a.py\n   :lines: 1-3\n\nafter"
    )
    assert sections_with_text(document) == [
        (("Title",), "`.. include:: ../secret.txt`\n\n`.. literalinclude:: ../a.py`\n\nafter")
    ]
