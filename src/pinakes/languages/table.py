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
    docstring: str | None = None  # what stands between the start of a body and the string that documents it
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
        docstring="[rRuU]?",
    ),
    Language(
        "javascript",
        extensions=(".js", ".mjs", ".cjs"),
        interpreters=("node", "nodejs", "bun"),
        grammar="tree_sitter_javascript.language",
        queries=("javascript", "ecmascript"),
        line_comments=_SLASHES,
        sample="const f = (a) => a;",
        components=True,
    ),
    Language(
        "jsx",
        extensions=(".jsx",),
        grammar="tree_sitter_javascript.language",
        queries=("javascript", "ecmascript"),
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
    Language(
        "c",
        extensions=(".c",),
        grammar="tree_sitter_c.language",
        queries=("c",),
        line_comments=_SLASHES,
        sample="int f(void) { return 1; }",
    ),
    Language(
        "cpp",
        extensions=(".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl", ".tpp", ".cu", ".cuh"),
        grammar="tree_sitter_cpp.language",
        queries=("cpp", "c"),
        line_comments=_SLASHES,
        sample="class A { int f() { return 1; } };",
    ),
    Language(
        "csharp",
        extensions=(".cs", ".csx"),
        grammar="tree_sitter_c_sharp.language",
        queries=("csharp",),
        line_comments=_SLASHES,
        sample="class A { int F() { return 1; } }",
    ),
    Language(
        "ruby",
        extensions=(".rb", ".rake", ".gemspec", ".ru", ".rbi"),
        filenames=("Gemfile", "Rakefile", "Guardfile", "Podfile", "Vagrantfile", "Fastfile", "Brewfile", "Capfile"),
        interpreters=("ruby", "jruby"),
        grammar="tree_sitter_ruby.language",
        queries=("ruby",),
        line_comments=_HASH,
        sample="def f(a) = a",
    ),
    Language(
        "php",
        extensions=(".php", ".phtml", ".php5", ".phpt"),
        interpreters=("php",),
        grammar="tree_sitter_php.language_php",
        queries=("php",),
        line_comments=("//", "#"),
        sample="<?php function f($a) { return $a; }",
    ),
    Language(
        "kotlin",
        extensions=(".kt", ".kts"),
        interpreters=("kotlin",),
        grammar="tree_sitter_kotlin.language",
        queries=("kotlin",),
        line_comments=_SLASHES,
        sample="fun f(a: Int): Int = a",
    ),
    Language(
        "swift",
        extensions=(".swift",),
        interpreters=("swift",),
        grammar="tree_sitter_swift.language",
        queries=("swift",),
        line_comments=_SLASHES,
        sample="func f(a: Int) -> Int { a }",
    ),
    Language(
        "scala",
        extensions=(".scala", ".sc", ".sbt"),
        interpreters=("scala", "amm"),
        grammar="tree_sitter_scala.language",
        queries=("scala",),
        line_comments=_SLASHES,
        sample="object A { def f(a: Int): Int = a }",
    ),
    Language(
        "bash",
        extensions=(".sh", ".bash", ".zsh", ".ksh", ".bats", ".ebuild"),
        filenames=(".bashrc", ".bash_profile", ".bash_aliases", ".profile", ".zshrc", ".zshenv", "PKGBUILD", "APKBUILD"),
        interpreters=("sh", "bash", "zsh", "dash", "ksh", "ash", "bats"),
        grammar="tree_sitter_bash.language",
        queries=("bash",),
        line_comments=_HASH,
        sample="f() { echo hi; }",
    ),
    Language(
        "lua",
        extensions=(".lua", ".rockspec"),
        interpreters=("lua", "luajit"),
        grammar="tree_sitter_lua.language",
        queries=("lua",),
        line_comments=("--",),
        sample="local function f(a) return a end",
    ),
    Language(
        "elixir",
        extensions=(".ex", ".exs"),
        filenames=("mix.lock",),
        interpreters=("elixir",),
        grammar="tree_sitter_elixir.language",
        queries=("elixir",),
        line_comments=_HASH,
        sample="defmodule A do\n  def f(a), do: a\nend\n",
        docstring=r"do\s+@moduledoc\s+(?:~[sS])?",
        joins_clauses=True,
    ),
    Language(
        "haskell",
        extensions=(".hs", ".hsc"),
        interpreters=("runhaskell", "runghc", "stack"),
        grammar="tree_sitter_haskell.language",
        queries=("haskell",),
        line_comments=("--",),
        sample="f :: Int -> Int\nf a = a\n",
        joins_clauses=True,
    ),
    Language(
        "zig",
        extensions=(".zig",),
        grammar="tree_sitter_zig.language",
        queries=("zig",),
        line_comments=_SLASHES,
        sample="fn f(a: u8) u8 { return a; }",
    ),
    Language(
        "sql",
        extensions=(".sql", ".ddl", ".psql", ".pgsql"),
        grammar="tree_sitter_sql.language",
        queries=("sql",),
        line_comments=("--",),
        sample="CREATE TABLE a (id INT);",
    ),
    Language(
        "html",
        extensions=(".html", ".htm", ".xhtml"),
        grammar="tree_sitter_html.language",
        queries=("html",),
        sample='<p id="a">hi</p>',
    ),
    Language(
        "css",
        extensions=(".css",),
        grammar="tree_sitter_css.language",
        queries=("css",),
        sample="a { color: red; }",
    ),
    Language(
        "json",
        extensions=(".json", ".jsonc", ".json5", ".webmanifest"),
        filenames=(".babelrc", ".eslintrc", ".prettierrc", "composer.lock"),
        grammar="tree_sitter_json.language",
        queries=("json",),
        sample='{"a": 1}',
        top_level_only=True,
    ),
    Language(
        "yaml",
        extensions=(".yaml", ".yml"),
        filenames=(".clang-format", ".clang-tidy"),
        grammar="tree_sitter_yaml.language",
        queries=("yaml",),
        line_comments=_HASH,
        sample="a: 1\n",
        top_level_only=True,
    ),
    Language(
        "toml",
        extensions=(".toml",),
        filenames=("Pipfile", "Cargo.lock", "poetry.lock", "uv.lock"),
        grammar="tree_sitter_toml.language",
        queries=("toml",),
        line_comments=_HASH,
        sample="a = 1\n",
        top_level_only=True,
    ),
    Language(
        "markdown",
        extensions=(".md", ".markdown", ".mdx", ".mkd"),
        grammar="tree_sitter_markdown.language",
        queries=("markdown",),
        sample="# A\n\ntext\n",
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
