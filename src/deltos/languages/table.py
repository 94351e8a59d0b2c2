"""Table of languages with their detection rules, grammars and queries. Grammars are imported by grammar.py."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Language:
    """A programming language or file format.

    `grammar` is the `module.function` of a tree-sitter wheel, or empty if files are indexed by lines. `queries` are the
    names of the files below `queries/` whose queries find definitions. `sample` is code that the grammar parses without
    an error.
    """

    name: str
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    grammar: str = ""
    queries: tuple[str, ...] = ()
    line_comments: tuple[str, ...] = ()
    sample: str = ""
    docstring: str = ""  # docstring syntax: "plain", or "moduledoc" for the attribute `@moduledoc` of Elixir
    joins_clauses: bool = False  # whether adjacent clauses with the same name are one definition
    components: bool = False  # whether capitalised functions that contain markup are components
    macros: bool = False  # whether macros that cannot be parsed are replaced with spaces, see c_macros.py
    directives: bool = False  # whether preprocessor lines are replaced with spaces, so that all branches are parsed
    item_macros: bool = False  # whether macro calls may contain definitions, see rust_macros.py
    top_level_only: bool = False  # whether the query finds only definitions at the top level of a file
    selectors: bool = False  # whether methods are named by selectors: `setX:y:`
    package_clause: str = ""  # type of the top-level node with the package name, for languages without a resolver
    separator: str = "."  # separator between the parts of a qualified name
    member_separator: str = ""  # separator before a method or property; defaults to `separator`
    root: str = ""  # prefix that marks a fully qualified name
    test_suffixes: tuple[str, ...] = ()  # endings of test file names, if the language allows no other names for tests
    has_extension_functions: bool = False  # whether extension functions are imported without the receiver's type
    names_are_global: bool = False  # whether qualified names are independent of the file's path


_SLASHES = ("//",)
_HASH = ("#",)
_DASHES = ("--",)


def _parsed_language(
    name: str,
    extensions: tuple[str, ...],
    *,
    grammar: str = "",
    queries: tuple[str, ...] = (),
    **details: Any,
) -> Language:
    """Return a language with a grammar. By default, its wheel and query file have the name of the language."""
    return Language(
        name,
        extensions,
        grammar=grammar or f"tree_sitter_{name}.language",
        queries=queries or (name,),
        **details,
    )


LANGUAGES: tuple[Language, ...] = (
    _parsed_language(
        "python",
        (".py", ".pyi", ".pyw"),
        filenames=("SConstruct", "SConscript", "wscript"),
        interpreters=("python", "pypy"),
        line_comments=_HASH,
        sample="def f(a): return a",
        docstring="plain",
    ),
    _parsed_language(
        "starlark",
        (".bzl", ".bazel", ".star"),
        filenames=("BUILD", "WORKSPACE", "Tiltfile"),
        grammar="tree_sitter_python.language",
        queries=("python",),
        line_comments=_HASH,
        sample="def f(a): return a",
        docstring="plain",
    ),
    _parsed_language(
        "javascript",
        (".js", ".mjs", ".cjs"),
        interpreters=("node", "nodejs", "bun"),
        queries=("javascript", "ecmascript"),
        line_comments=_SLASHES,
        sample="const f = (a) => a;",
        components=True,
    ),
    _parsed_language(
        "jsx",
        (".jsx",),
        grammar="tree_sitter_javascript.language",
        queries=("javascript", "ecmascript"),
        line_comments=_SLASHES,
        sample="const F = () => <p>hi</p>;",
        components=True,
    ),
    _parsed_language(
        "typescript",
        (".ts", ".mts", ".cts"),
        interpreters=("deno", "ts-node", "tsx"),
        grammar="tree_sitter_typescript.language_typescript",
        queries=("ecmascript", "typescript"),
        line_comments=_SLASHES,
        sample="const f = (a: number): number => a;",
    ),
    _parsed_language(
        "tsx",
        (".tsx",),
        grammar="tree_sitter_typescript.language_tsx",
        queries=("ecmascript", "typescript"),
        line_comments=_SLASHES,
        sample="const F = (p: Props) => <p>hi</p>;",
        components=True,
    ),
    _parsed_language("java", (".java",), line_comments=_SLASHES, sample="class A { int f() { return 1; } }"),
    _parsed_language(
        "go",
        (".go",),
        line_comments=_SLASHES,
        sample="package a\nfunc f() int { return 1 }\n",
        test_suffixes=("_test.go",),
    ),
    _parsed_language(
        "rust", (".rs",), line_comments=_SLASHES, sample="fn f() -> i32 { 1 }", item_macros=True, separator="::"
    ),
    _parsed_language(
        "c",
        (".c",),
        line_comments=_SLASHES,
        sample="int f(void) { return 1; }",
        macros=True,
        names_are_global=True,
    ),
    _parsed_language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl", ".tpp", ".cu", ".cuh"),
        queries=("cpp", "c"),
        line_comments=_SLASHES,
        sample="class A { int f() { return 1; } };",
        macros=True,
        separator="::",
    ),
    _parsed_language(
        "csharp",
        (".cs", ".csx"),
        grammar="tree_sitter_c_sharp.language",
        line_comments=_SLASHES,
        sample="class A { int F() { return 1; } }",
    ),
    _parsed_language(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru", ".rbi"),
        filenames=(
            "Gemfile",
            "Rakefile",
            "Guardfile",
            "Podfile",
            "Vagrantfile",
            "Fastfile",
            "Brewfile",
            "Capfile",
        ),
        interpreters=("ruby", "jruby"),
        line_comments=_HASH,
        sample="def f(a) = a",
        separator="::",
        member_separator="#",
    ),
    _parsed_language(
        "php",
        (".php", ".phtml", ".php5", ".phpt"),
        interpreters=("php",),
        grammar="tree_sitter_php.language_php",
        line_comments=("//", "#"),
        sample="<?php function f($a) { return $a; }",
        separator="\\",
        member_separator="::",
        root="\\",
    ),
    _parsed_language(
        "kotlin",
        (".kt", ".kts"),
        interpreters=("kotlin",),
        line_comments=_SLASHES,
        sample="fun f(a: Int): Int = a",
        has_extension_functions=True,
    ),
    _parsed_language(
        "swift",
        (".swift",),
        interpreters=("swift",),
        line_comments=_SLASHES,
        sample="func f(a: Int) -> Int { a }",
    ),
    _parsed_language(
        "scala",
        (".scala", ".sc", ".sbt"),
        interpreters=("scala", "amm"),
        line_comments=_SLASHES,
        sample="object A { def f(a: Int): Int = a }",
        package_clause="package_clause",
    ),
    _parsed_language(
        "bash",
        (".sh", ".bash", ".zsh", ".ksh", ".bats", ".ebuild"),
        filenames=(
            ".bashrc",
            ".bash_profile",
            ".bash_aliases",
            ".profile",
            ".zshrc",
            ".zshenv",
            "PKGBUILD",
            "APKBUILD",
        ),
        interpreters=("sh", "bash", "zsh", "dash", "ksh", "ash", "bats"),
        line_comments=_HASH,
        sample="f() { echo hi; }",
    ),
    _parsed_language(
        "lua",
        (".lua", ".rockspec"),
        interpreters=("lua", "luajit"),
        line_comments=_DASHES,
        sample="local function f(a) return a end",
    ),
    _parsed_language(
        "elixir",
        (".ex", ".exs"),
        filenames=("mix.lock",),
        interpreters=("elixir",),
        line_comments=_HASH,
        sample="defmodule A do\n  def f(a), do: a\nend\n",
        docstring="moduledoc",
        joins_clauses=True,
        names_are_global=True,
    ),
    _parsed_language(
        "haskell",
        (".hs", ".hsc"),
        interpreters=("runhaskell", "runghc", "stack"),
        line_comments=_DASHES,
        sample="f :: Int -> Int\nf a = a\n",
        joins_clauses=True,
        directives=True,
    ),
    _parsed_language("zig", (".zig",), line_comments=_SLASHES, sample="fn f(a: u8) u8 { return a; }"),
    _parsed_language(
        "sql", (".sql", ".ddl", ".psql", ".pgsql"), line_comments=_DASHES, sample="CREATE TABLE a (id INT);"
    ),
    _parsed_language("html", (".html", ".htm", ".xhtml"), sample='<p id="a">hi</p>'),
    _parsed_language("css", (".css",), sample="a { color: red; }"),
    _parsed_language(
        "json",
        (".json", ".jsonc", ".json5", ".webmanifest"),
        filenames=(".babelrc", ".eslintrc", ".prettierrc", "composer.lock"),
        sample='{"a": 1}',
        top_level_only=True,
    ),
    _parsed_language(
        "yaml",
        (".yaml", ".yml"),
        filenames=(".clang-format", ".clang-tidy"),
        line_comments=_HASH,
        sample="a: 1\n",
        top_level_only=True,
    ),
    _parsed_language(
        "toml",
        (".toml",),
        filenames=("Pipfile", "Cargo.lock", "poetry.lock", "uv.lock"),
        line_comments=_HASH,
        sample="a = 1\n",
        top_level_only=True,
    ),
    _parsed_language("markdown", (".md", ".markdown", ".mdx", ".mkd"), sample="# A\n\ntext\n"),
    _parsed_language("dart", (".dart",), line_comments=_SLASHES, sample="int f(int a) => a;"),
    _parsed_language(
        "hcl", (".tf", ".hcl", ".tfvars", ".nomad"), line_comments=("#", "//"), sample='variable "a" {\n}\n'
    ),
    _parsed_language("julia", (".jl",), interpreters=("julia",), line_comments=_HASH, sample="f(a) = a\n"),
    _parsed_language(
        "make",
        (".mk", ".mak", ".make"),
        filenames=("Makefile", "makefile", "GNUmakefile"),
        line_comments=_HASH,
        sample="all: a\n\techo hi\n",
    ),
    _parsed_language(
        "objc",
        (".mm",),
        queries=("objc", "c"),
        line_comments=_SLASHES,
        sample="@interface A : B\n@end\n",
        macros=True,
        selectors=True,
        names_are_global=True,
    ),
    _parsed_language(
        "ocaml",
        (".ml", ".mll", ".mly"),
        interpreters=("ocaml",),
        grammar="tree_sitter_ocaml.language_ocaml",
        queries=("ocaml", "ocaml-interface"),
        sample="let f a = a\n",
    ),
    _parsed_language(
        "ocaml-interface",
        (".mli",),
        grammar="tree_sitter_ocaml.language_ocaml_interface",
        sample="val f : int -> int\n",
    ),
    _parsed_language(
        "perl",
        (".pl", ".pm", ".t"),
        interpreters=("perl",),
        line_comments=_HASH,
        sample="sub f { return 1; }\n",
        separator="::",
    ),
    _parsed_language(
        "powershell",
        (".ps1", ".psm1", ".psd1"),
        interpreters=("pwsh",),
        line_comments=_HASH,
        sample="function Get-A { 1 }\n",
    ),
    _parsed_language("scss", (".scss",), line_comments=_SLASHES, sample="@mixin m { color: red; }\n"),
    _parsed_language("solidity", (".sol",), line_comments=_SLASHES, sample="contract A { uint x; }\n"),
    # These languages have no grammar, so their files are indexed by lines.
    Language("ada", (".adb", ".ads"), line_comments=_DASHES),
    Language("assembly", (".s", ".asm", ".nasm"), line_comments=(";", "#", "//")),
    Language("asciidoc", (".adoc", ".asciidoc")),
    Language("astro", (".astro",), line_comments=_SLASHES),
    Language("awk", (".awk",), interpreters=("awk", "gawk"), line_comments=_HASH),
    Language("clojure", (".clj", ".cljs", ".cljc", ".edn"), interpreters=("clojure", "bb"), line_comments=(";",)),
    Language("cmake", (".cmake",), ("CMakeLists.txt",), line_comments=_HASH),
    Language("coffeescript", (".coffee",), interpreters=("coffee",), line_comments=_HASH),
    Language("common-lisp", (".lisp", ".lsp", ".cl", ".asd"), interpreters=("sbcl",), line_comments=(";",)),
    Language("crystal", (".cr",), interpreters=("crystal",), line_comments=_HASH),
    Language("cython", (".pyx", ".pxd", ".pxi"), line_comments=_HASH),
    Language("d", (".d",), interpreters=("rdmd",), line_comments=_SLASHES),
    Language("dockerfile", (".dockerfile",), ("Dockerfile", "Containerfile"), line_comments=_HASH),
    Language("elm", (".elm",), line_comments=_DASHES),
    Language("emacs-lisp", (".el",), interpreters=("emacs",), line_comments=(";",)),
    Language("erlang", (".erl", ".hrl"), ("rebar.config",), interpreters=("escript",), line_comments=("%",)),
    Language("fish", (".fish",), interpreters=("fish",), line_comments=_HASH),
    Language("fortran", (".f", ".f90", ".f95", ".f03", ".f08", ".for"), line_comments=("!",)),
    Language("fsharp", (".fs", ".fsi", ".fsx"), line_comments=_SLASHES),
    Language("gleam", (".gleam",), line_comments=_SLASHES),
    Language(
        "glsl",
        (".glsl", ".vert", ".frag", ".geom", ".comp", ".wgsl", ".hlsl", ".metal"),
        line_comments=_SLASHES,
    ),
    Language("graphql", (".graphql", ".gql", ".graphqls"), line_comments=_HASH),
    Language("groovy", (".groovy", ".gradle", ".gvy"), ("Jenkinsfile",), ("groovy",), line_comments=_SLASHES),
    Language(
        "ini",
        (".ini", ".cfg", ".conf", ".properties", ".editorconfig"),
        (".gitconfig",),
        line_comments=("#", ";"),
    ),
    Language("latex", (".tex", ".sty", ".cls", ".bib"), line_comments=("%",)),
    Language("less", (".less", ".sass", ".styl"), line_comments=_SLASHES),
    Language("matlab", (".matlab", ".mlx"), line_comments=("%",)),
    Language("nim", (".nim", ".nims"), line_comments=_HASH),
    Language("nix", (".nix",), line_comments=_HASH),
    Language("pascal", (".pas", ".dpr", ".lpr"), line_comments=_SLASHES),
    Language("protobuf", (".proto",), line_comments=_SLASHES),
    Language("purescript", (".purs",), line_comments=_DASHES),
    Language("r", (".r", ".rmd"), (".Rprofile",), ("Rscript",), line_comments=_HASH),
    Language("racket", (".rkt",), interpreters=("racket",), line_comments=(";",)),
    Language("restructuredtext", (".rst", ".rest")),
    Language("scheme", (".scm", ".ss", ".sld"), interpreters=("guile",), line_comments=(";",)),
    Language("svelte", (".svelte",), line_comments=_SLASHES),
    Language("tcl", (".tcl",), interpreters=("tclsh", "wish"), line_comments=_HASH),
    Language(
        "text",
        (".txt", ".org"),
        ("README", "LICENSE", "CHANGELOG", "NOTICE", "AUTHORS"),
    ),
    Language("thrift", (".thrift",), line_comments=_SLASHES),
    Language("verilog", (".v", ".vh", ".sv", ".svh"), line_comments=_SLASHES),
    Language("vhdl", (".vhd", ".vhdl"), line_comments=_DASHES),
    Language("vim", (".vim",), (".vimrc", "vimrc"), line_comments=('"',)),
    Language("visual-basic", (".vb", ".bas", ".vbs"), line_comments=("'",)),
    Language("vue", (".vue",), line_comments=_SLASHES),
    Language("xml", (".xml", ".xsd", ".xsl", ".xslt", ".svg", ".plist", ".csproj", ".props", ".targets", ".wsdl")),
)

# Languages of text files that contain prose instead of code.
PROSE_LANGUAGES = frozenset({"asciidoc", "markdown", "restructuredtext", "text"})
PROSE_EXTENSIONS = tuple(
    each for language in LANGUAGES if language.name in PROSE_LANGUAGES for each in language.extensions
)

_CPP_HEADER = re.compile(
    rb"^[ \t\r\f\v]*(?:(?:class|namespace|template|using)\b|(?:public|private|protected):)|\bstd::|#include <[a-z_]+>",
    re.MULTILINE,
)
_OBJC_LINE = re.compile(
    rb"^[ \t\r\f\v]*(?:@(?:interface|implementation|protocol|class|import)\b|#import\b)", re.MULTILINE
)
_AMBIGUOUS_EXTENSIONS = frozenset({"h", "m"})
_INTERPRETER = re.compile(rb"[A-Za-z+-]+")


def detect(path: str, head: bytes = b"") -> Language | None:
    """Return the language of a file, detected by its name, extension or first bytes, or None."""
    filename = path.replace("\\", "/").rsplit("/", 1)[-1]
    if found := _by_filename().get(filename):
        return found
    stem, dot, extension = filename.rpartition(".")
    if dot and stem:
        if extension in _AMBIGUOUS_EXTENSIONS:
            return _by_name().get(_language_of_shared_extension(extension, head))
        if found := _by_extension().get(f".{extension.lower()}"):
            return found
    return _by_interpreter().get(_shebang_program(head)) if head.startswith(b"#!") else None


def _shebang_program(head: bytes) -> str:
    """Return the program name in a shebang line without its folder and version, or an empty string."""
    words = iter(head[2:].partition(b"\n")[0].split())
    program = _program_name(next(words, b""))
    if program == b"env":
        # Skip the options and variables that follow `env`.
        program = _program_name(next((word for word in words if not word.startswith(b"-") and b"=" not in word), b""))
    found = _INTERPRETER.match(program)
    return found[0].decode("ascii").rstrip("-") if found else ""


def _program_name(word: bytes) -> bytes:
    return word.rpartition(b"/")[2]


def _language_of_shared_extension(extension: str, head: bytes) -> str:
    """Return the language of a file with an ambiguous extension (.h or .m), detected by its contents."""
    if _OBJC_LINE.search(head):
        return "objc"
    if extension == "m":
        return "matlab"
    return "cpp" if _CPP_HEADER.search(head) else "c"


def language(name: str) -> Language | None:
    """Return the language called `name`, or None if there is none."""
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
