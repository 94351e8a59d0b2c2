"""Fuzz targets for every grammar and every text format with headings: find definitions and split files into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.languages.sections import HEADED_LANGUAGES
from deltos.languages.table import LANGUAGES, Language
from fuzz.target import Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from deltos.workspace.indexer import ParsedFile

COMMON = (
    b"{", b"}", b"(", b")", b"[", b"]", b"<", b">", b";", b",", b"=", b"\n", b"\n\n", b"    ", b"\t", b"//", b"/*", b"*/", b"/**", b"#", b"--", b'"', b"'",
    b'"""', b"`", b"\\", b"\\\n", b"@", b"::", b".", b"->", b"=>", b"function ", b"class ", b"def ", b"fn ", b"return ", b"if ", b"else ", b"import ",
    b"struct ", b"enum ", b"type ", b"interface ", b"public ", b"static ", b"const ", b"end\n", b"begin\n", b"module ", b"namespace ", b"a", b"A", b"0",
)  # fmt: skip
_HEADED_TOKENS = (
    b"====\n",
    b"----\n",
    b"~~~~\n",
    b"= ",
    b"== ",
    b"=== ",
    b"\n",
    b"\n\n",
    b"    ",
    b"A title\n",
    b"a",
    b"`",
    b".. ",
)
_HEADED_SEEDS = {"restructuredtext": "rst", "asciidoc": "asciidoc"}
_SAMPLES = "tests/languages/samples"


def targets() -> Iterator[Target]:
    """Return one target for each language with definitions, and one for code blocks in texts."""
    exposed = {"python", "typescript", "javascript"}
    yield Target(
        "code-text",
        without_cleanup(_code_text),
        seeds=tuple(f"{_SAMPLES}/{name}.sample" for name in ("python", "c", "php", "java", "rust", "go", "ruby")),
        suffixes=(".py", ".c", ".php", ".java", ".rs", ".go", ".rb"),
        tokens=(*COMMON, b"'''", b"#[", b"'a"),
    )
    for language in LANGUAGES:
        if language.grammar:
            yield Target(
                f"outline-{language.name}",
                without_cleanup(_outline_target(language)),
                seeds=(f"{_SAMPLES}/{language.name}.sample",),
                suffixes=language.extensions,
                tokens=(*COMMON, *(comment.encode() for comment in language.line_comments)),
                is_exposed=language.name in exposed,
                is_bounded=True,
            )
        elif language.name in HEADED_LANGUAGES:
            yield Target(
                f"outline-{language.name}",
                without_cleanup(_outline_target(language)),
                seeds=(_HEADED_SEEDS[language.name],),
                suffixes=language.extensions,
                tokens=_HEADED_TOKENS,
            )


def parse_file(language: Language, data: bytes, path: str = "") -> ParsedFile:
    """Parse a file as the indexers do."""
    from deltos.languages.grammar import parse
    from deltos.workspace.admission import to_utf8
    from deltos.workspace.indexer import ParsedFile

    data = to_utf8(data)
    return ParsedFile(path or f"src/main{language.extensions[0]}", data, language, parse(language, data))


def _code_text(_scratch: Path) -> Run:
    from deltos.languages.code_text import code_text

    def run(data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        for language in ("python", "ruby", "php", "go", "java", "rust", "javascript"):
            assert len(code_text(text, language)) == len(text)

    return run


def _outline_target(language: Language) -> Callable[[Path], Run]:
    def make(_scratch: Path) -> Run:
        import pickle

        from deltos.domains.code.index import CodeIndexer

        indexer = CodeIndexer()

        def run(data: bytes) -> None:
            facts = indexer.extract(parse_file(language, data))
            pickle.dumps(facts)  # Facts must be picklable, because they are sent between processes.
            for chunk in facts.chunks:
                "\n".join((chunk.symbol, chunk.signature)).encode()  # The store accepts only valid UTF-8.

        return run

    return make
