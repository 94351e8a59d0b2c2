"""Fuzz targets for pages of every format, which are parsed and split into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.target import Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.markup.formats import Format

URL = "https://docs.example.org/guide/page.html"

_HTML = (
    b"<div>", b"</div>", b"<p>", b"<a href='x'>", b"<a name=\"", b"<h1>", b"</h1>", b"<pre>", b"<code>", b"</code>", b"<table>", b"<tr>",
    b"<td>", b"<li>", b"<ul>", b"<dl>", b"<dt id=x>", b"<dd>", b"<script>", b"</script>", b"<style>", b"<template>", b"<nav>", b"<main>",
    b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<!DOCTYPE html>", b"<meta charset=utf-16>", b"<meta http-equiv=refresh content='0;url=x'>",
    b"<base href='", b"<link rel=canonical href='", b"&amp;", b"&#x", b"<svg>", b"<math>", b"<select>", b"<br>", b"<span class='", b"<form>",
    b"<input type=password>", b"<b>", b"<i>", b"<frameset>", b"<plaintext>", b"<noscript>", b"<details>", b"<summary>", b"<", b">", b"='",
)  # fmt: skip
_MARKDOWN = (
    b"# ", b"## ", b"#", b"```", b"~~~", b"`", b"[", b"](", b")", b"![", b"[a](", b"[a]: ", b"<a", b"<a name=\"", b"<!--", b"-->", b"{/*",
    b"*/}", b"{#", b"}", b"- ", b"* ", b"1. ", b"| a | b |\n", b"|---|---|\n", b"|", b"> ", b"---\n", b"===\n", b":::", b"\n\n", b"    ",
    b"\t", b"**", b"__", b"\\", b"<div>", b"</div>", b"import x from 'y'\n", b"export const a = {\n", b"<Tabs>", b"</Tabs>", b"[^1]", b"&lt;",
    b"---\ntitle: x\n---\n", b"!!! note\n", b"??? \n", b"=== \"Tab\"\n", b"{% ", b"%}", b"{{", b"}}", b"{: #id }", b"$$", b"<https://a>",
)  # fmt: skip
_RST = (
    b".. ", b"::", b"::\n\n", b".. code-block:: ", b".. _a:\n", b"`a <b>`_", b":ref:`", b"`", b"``", b"====\n", b"----\n", b"~~~~\n", b"|a|",
    b".. |a| replace:: b\n", b".. class:: A\n", b".. py:function:: f(a)\n", b".. toctree::\n", b".. note::\n", b":param a:", b"\n\n", b"   ",
    b"+--+--+\n", b"| a|b |\n", b"=== ===\n", b"* ", b"#. ", b".. image:: a\n", b".. include:: /etc/passwd\n", b".. [1] ", b"[1]_", b"__ a\n", b"_",
)  # fmt: skip
_ASCIIDOC = (
    b"= ", b"== ", b"=== ", b"----\n", b"....\n", b"====\n", b"|===\n", b"[source,python]\n", b"[[a]]", b"[#a]", b"<<a,b>>", b"link:a[b]",
    b"xref:a[b]", b"include::a[]\n", b"ifdef::a[]\n", b"endif::[]\n", b":a: b\n", b"{a}", b"* ", b". ", b"a:: b\n", b"`", b"*", b"++++\n", b"//", b"////\n",
)  # fmt: skip
_PDF = (
    b"obj", b"endobj", b"stream\n", b"endstream", b"<<", b">>", b"/Type", b"/Pages", b"/Kids", b"/Count 99999999", b"/Length ", b"/Filter /FlateDecode",
    b"/ASCIIHexDecode", b"/LZWDecode", b"/Parent", b"1 0 R", b"2 0 R", b"xref\n", b"trailer", b"startxref\n", b"%%EOF", b"BT", b"ET", b"Tj", b"/Prev 0",
    b"/ObjStm", b"/XRef", b"/Encrypt", b"/ToUnicode", b"/Contents", b"(", b")", b"[", b"]",
)  # fmt: skip
_MAN = (
    b".TH A 1\n", b".SH NAME\n", b".SS a\n", b".TP\n", b".TQ\n", b".IP \\(bu 2\n", b".IP -a 4\n", b".PP\n", b".B a\n", b".BR a (1)\n", b".nf\n", b".fi\n",
    b".EX\n", b".EE\n", b".RS\n", b".RE\n", b".TS\nl l.\n", b".TE\n", b"T{\n", b"T}\t", b".de X\n", b"..\n", b".ig\n", b"\\fB", b"\\fR", b"\\-", b"\\e", b"\\(em",
    b"\\[aq]", b"\\*(lq", b"\\s-1", b"\\h'", b"\\n(", b'\\"', b'"', b".Dd\n", b".Dt A 1\n", b".Sh NAME\n", b".Bl -tag\n", b".It Fl a Ar b\n", b".El\n", b".Op Fl a\n",
    b".Oo\n", b".Xr a 1 ,\n", b".Nm\n", b".Bd -literal\n", b".Ed\n", b".Dl a\n", b"\n", b".so a.1\n", b"'",
)  # fmt: skip


_INCLUDES = (
    b'--8<-- "a.md"', b"--8<-- 'a.py:go'", b'--8<-- "a.py:1:2"', b"<<< @/a.js#go{1}", b"{* a.py ln[1:2] hl[1] *}", b"{!> a.md!}", b"```{include} a.md\n```",
    b"```{literalinclude} a.py\n:lines: 1-2,4-\n```", b".. include:: a.rst\n", b".. literalinclude:: /a.py\n   :lines: -3\n   :start-after: x\n", b"   :end-before: y\n",
    b":name: ..\n", b"include::{name}/a.adoc[tag=go,lines=1..3;5]\n", b"```", b"~~~", b"  ", b"\n",
)  # fmt: skip


def _open_includes(_scratch: Path) -> Run:
    from deltos.markup.includes import Includer

    formats: tuple[Format, ...] = ("markdown", "rst", "asciidoc")

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for form in formats:
            Includer({"a.md": text, "a.rst": text, "a.adoc": text, "a.py": text}.get).expand(text, form, "b/page")

    return run


def targets() -> Iterator[Target]:
    """Return one target per format."""
    yield _page_target("html", _HTML, (".html", ".htm"), is_exposed=True)
    yield _page_target("markdown", _MARKDOWN, (".md", ".mdx"), is_exposed=True)
    yield _page_target("rst", _RST, (".rst",), is_exposed=True)
    yield _page_target("asciidoc", _ASCIIDOC, (".adoc", ".asciidoc"))
    yield _page_target(
        "notebook", (b'"cells"', b'"source"', b'"cell_type"', b'"outputs"', *_MARKDOWN[:12]), (".ipynb",), is_json=True
    )
    yield Target(
        "includes",
        without_cleanup(_open_includes),
        seeds=("markdown", "rst", "asciidoc"),
        suffixes=(".md", ".rst", ".adoc"),
        tokens=_INCLUDES,
    )
    yield _page_target("text", (b"\n\n", b"====\n", b"- ", b"    ", b"1. "), (".txt",))
    yield _page_target("pdf", _PDF, (".pdf",))
    yield _page_target("man", _MAN, (".1", ".3", ".8"))


def _page_target(
    form: Format,
    tokens: tuple[bytes, ...],
    suffixes: tuple[str, ...],
    *,
    is_json: bool = False,
    is_exposed: bool = False,
) -> Target:
    def make(_scratch: Path) -> Run:
        from deltos.domains.docs.chunk import chunk_document
        from deltos.markup.formats import parse
        from deltos.text.words import shared_words

        words = shared_words()

        def run(data: bytes) -> None:
            document = parse(data, form, url=URL, title="Page")
            for chunk in chunk_document(document):
                words.of(chunk.text)
                "\n".join((chunk.text, *chunk.path, *chunk.anchors)).encode()  # The store accepts only valid UTF-8.
            "\n".join((document.title, *(link.url + link.text for link in document.links))).encode()

        return run

    return Target(
        form,
        without_cleanup(make),
        seeds=(form,),
        suffixes=suffixes,
        tokens=tokens,
        is_json=is_json,
        is_exposed=is_exposed,
    )
