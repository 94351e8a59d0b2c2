"""The one table of languages: how a file's language is told and which grammar and queries serve it.

Names grammars without importing them; grammar.py loads them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Language:
    """A kind of file.

    `grammar` is `module.function` of a tree-sitter wheel, empty for languages that are indexed by lines. `queries` name
    the files under queries/ that find its definitions, read as one; a language that only shows another's files names
    those. `sample` is a line that the grammar must parse without an error.
    """

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: str = ""
    queries: tuple[str, ...] = ()
    line_comments: tuple[str, ...] = ()
    sample: str = ""
    docstrings: bool = False  # the doc is a string at the start of the body
    joins_clauses: bool = False  # neighbouring clauses of one name are one definition
    components: bool = False  # a capitalised function that returns markup is a component
    top_level_only: bool = False  # definitions stand near the root: the query need not descend


_SLASHES = ("//",)
_HASH = ("#",)

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        extensions=(".py", ".pyi", ".pyw"),
        filenames=("SConstruct", "SConscript", "wscript"),
        interpreters=("python", "pypy"),
        grammar="tree_sitter_python.language",
        queries=("python",),
        line_comments=_HASH,
        sample="def f(a): return a",
        docstrings=True,
    ),
    Language(
        "javascript",
        extensions=(".js", ".mjs", ".cjs"),
        interpreters=("node", "nodejs", "bun"),
        grammar="tree_sitter_javascript.language",
        queries=("ecmascript", "javascript"),
        line_comments=_SLASHES,
        sample="const f = (a) => a;",
        components=True,
    ),
    Language(
        "jsx",
        extensions=(".jsx",),
        grammar="tree_sitter_javascript.language",
        queries=("ecmascript", "javascript"),
        line_comments=_SLASHES,
        sample="const F = () => <p>hi</p>;",
        components=True,
    ),
    Language(
        "typescript",
        extensions=(".ts", ".mts", ".cts"),
        interpreters=("deno", "ts-node", "tsx"),
        grammar="tree_sitter_typescript.language_typescript",
        queries=("ecmascript", "typescript"),
        line_comments=_SLASHES,
        sample="const f = (a: number): number => a;",
    ),
    Language(
        "tsx",
        extensions=(".tsx",),
        grammar="tree_sitter_typescript.language_tsx",
        queries=("ecmascript", "typescript"),
        line_comments=_SLASHES,
        sample="const F = (p: Props) => <p>hi</p>;",
        components=True,
    ),
    Language(
        "java",
        extensions=(".java",),
        grammar="tree_sitter_java.language",
        queries=("java",),
        line_comments=_SLASHES,
        sample="class A { int f() { return 1; } }",
    ),
    Language(
        "go",
        extensions=(".go",),
        grammar="tree_sitter_go.language",
        queries=("go",),
        line_comments=_SLASHES,
        sample="package a\nfunc f() int { return 1 }\n",
    ),
    Language(
        "rust",
        extensions=(".rs",),
        grammar="tree_sitter_rust.language",
        queries=("rust",),
        line_comments=_SLASHES,
        sample="fn f() -> i32 { 1 }",
    ),
)

_CPP_HEADER = re.compile(
    rb"^\s*(?:class|namespace|template|using)\b|^\s*(?:public|private|protected):|\bstd::|#include <[a-z_]+>", re.MULTILINE
)
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z+-]+)")


def detect(path: str, head: bytes = b"") -> Language | None:
    """The language of a file, told by its name, its extension, or the first bytes of it."""
    filename = path.replace("\\", "/").rsplit("/", 1)[-1]
    if found := _by_filename().get(filename):
        return found
    stem, dot, extension = filename.rpartition(".")
    if dot and stem:
        if extension == "h":
            return language("cpp" if _CPP_HEADER.search(head) else "c")
        if found := _by_extension().get(f".{extension.lower()}"):
            return found
    if match := _SHEBANG.match(head):
        return _by_interpreter().get(match[1].decode("ascii").rstrip("-"))
    return None


def language(name: str) -> Language | None:
    """The language of this name."""
    return _by_name().get(name)


@cache
def _by_name() -> dict[str, Language]:
    return {language.name: language for language in LANGUAGES}


@cache
def _by_filename() -> dict[str, Language]:
    return {filename: language for language in LANGUAGES for filename in language.filenames}


@cache
def _by_extension() -> dict[str, Language]:
    return {extension: language for language in LANGUAGES for extension in language.extensions}


@cache
def _by_interpreter() -> dict[str, Language]:
    return {interpreter: language for language in LANGUAGES for interpreter in language.interpreters}
