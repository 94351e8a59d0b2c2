"""Fuzz targets for the code graph.

They extract the facts of a file, encode them as the store does, and resolve them together with a few fixed files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.languages.table import LANGUAGES, Language
from fuzz.target import Run, Target, without_cleanup
from fuzz.targets.languages import COMMON, parse_file

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from deltos.domains.graph.kernel.resolver import FileFacts, NamedSymbol

_PYTHON = (
    b"with m, \\\n", b"async ", b"await ", b"lambda x: ", b"match x:\n  case ", b"try:\n", b"except* A:\n", b"global x\n", b"del x\n", b"yield ", b"*args",
    b"**kw", b":=", b"from . import ", b"from lib import *\n", b"import a.b as c\n", b"__all__ = [", b"@property\n", b"@overload\n", b"class A(B, C):\n",
    b"TypeVar('T')", b"def f[T](x: T) -> T:\n", b"f'{", b"if TYPE_CHECKING:\n", b"self.", b"super().", b"\\N{", b"u'", b"type X = ",
)  # fmt: skip
_SCRIPT = (
    b"/** @import ", b"/** @type {", b"/** @param {", b"/** @typedef {", b"*/", b"@template T", b"import {", b"export * from './lib';", b"export default ",
    b"require('./lib')", b"module.exports = ", b"async ", b"await ", b"=> {", b"${", b"`", b"<T>", b"<T extends ", b"keyof ", b"infer ", b"declare module 'x' {",
    b"namespace A {", b"interface A extends B {", b"type A = ", b" as const", b"?.", b"...", b"<div>", b"</div>", b"<A.B x={", b"@dec\n", b"get x() {", b"/re/",
    b"enum E {", b"satisfies ", b"abstract class ", b"// @ts-", b"/// <reference path='", b"new ", b"function* ", b"static {", b"#x",
)  # fmt: skip
_DECLARED_TOKENS = (
    b"package a\n", b"import ", b"using A;\n", b"#include <a.h>\n", b"#define A(x) \\\n", b"#if 0\n", b"#endif\n", b"impl A for B {", b"use a::{b, c};\n", b"trait ",
    b"extends ", b"implements ", b"func (a *A) ", b"fun ", b"companion object {", b"namespace A;\n", b"template<typename T>", b"module A\n", b"require_relative '", b"<?php ",
    b"$this->", b"self::", b"&mut ", b"'a", b"where T: ", b"@Override\n", b"[Attribute]\n", b"operator<<", b"go.mod", b"mod a;\n",
)  # fmt: skip
_FIXED_FILES = {
    "python": ("lib.py", b"class Base:\n    def go(self) -> 'Base':\n        return self\n\ndef helper(x: int) -> Base:\n    return Base()\n"),
    "typescript": ("src/lib.ts", b"export interface Base { go(): Base }\nexport function helper(x: number): Base { return null! }\nexport default class A {}\n"),
    "go": ("src/lib.go", b"package a\n\ntype Base struct{}\n\nfunc (b *Base) Go() *Base { return b }\n"),
}  # fmt: skip


def targets() -> Iterator[Target]:
    """Return one target for each language that the graph resolves."""
    from deltos.domains.graph.languages import FAMILIES

    exposed = {"python", "typescript", "javascript"}
    by_name = {language.name: language for language in LANGUAGES}
    for family, tokens in zip(FAMILIES, (_PYTHON, _SCRIPT, _DECLARED_TOKENS), strict=True):
        for name in sorted(family.languages - {"json"}):
            yield Target(
                f"graph-{name}",
                without_cleanup(_resolve_target(by_name[name])),
                seeds=(f"tests/languages/samples/{name}.sample", *_seed_folders(name)),
                suffixes=by_name[name].extensions,
                tokens=(*tokens, *COMMON),
                is_exposed=name in exposed,
                is_bounded=True,
            )
    yield Target(
        "tsconfig", without_cleanup(_manifest_target("src/tsconfig.json")), ("tsconfig",), ("tsconfig.json",), (b'"paths"', b'"@/*"', b'"baseUrl"', b'"extends"', b"//", b"/*", b"*/", b",}", b'"references"'), is_json=True
    )  # fmt: skip
    yield Target(
        "package-json-graph", without_cleanup(_manifest_target("package.json")), ("package-json",), ("package.json",), (b'"exports"', b'"./*"', b'"imports"', b'"#a"', b'"types"', b'"default"', b'"import"', b"..", b"./"), is_json=True
    )  # fmt: skip
    yield Target(
        "go-mod",
        without_cleanup(_go_mod),
        ("go-mod",),
        ("go.mod",),
        (b"module ", b"require (", b")", b"//", b'"', b"replace "),
    )


def _seed_folders(name: str) -> tuple[str, ...]:
    return (f"graph-{name}",) if name in ("python", "typescript", "javascript") else ()


class InMemoryFacts:
    """Implements `ProjectFacts` in memory, with facts encoded and decoded as in the store."""

    def __init__(self) -> None:
        self._facts: dict[str, FileFacts] = {}
        self._languages: dict[str, str] = {}

    def add(self, path: str, language: str, facts: FileFacts) -> None:
        """Add the facts of a file."""
        from deltos.domains.graph.facts import encode
        from deltos.domains.graph.kernel.resolver import FileFacts
        from deltos.domains.graph.languages import codec_of

        encode(language, facts)
        for symbol in facts.symbols:
            # The store accepts only valid UTF-8.
            "\n".join((symbol.key, symbol.name, symbol.signature, symbol.doc)).encode()
        codec = codec_of(language)
        interface, body = codec.encode(facts.interface), codec.encode(facts.body)
        self._facts[path] = FileFacts(facts.symbols, codec.interface(interface), codec.body(body), facts.parts)
        self._languages[path] = language

    def paths(self) -> Collection[str]:
        """Return the paths of all files."""
        return self._facts.keys()

    def facts(self, path: str) -> FileFacts | None:
        """Return the facts of one file."""
        return self._facts.get(path)

    def interface(self, path: str) -> Any | None:
        """Return the interface of one file."""
        sample_files = self._facts.get(path)
        return sample_files.interface if sample_files else None

    def language(self, path: str) -> str:
        """Return the language of one file."""
        return self._languages.get(path, "")

    def named(self, name: str) -> Collection[NamedSymbol]:
        """Return all symbols with a name."""
        from deltos.domains.graph.kernel.resolver import NamedSymbol

        return [
            NamedSymbol(path, symbol.key, symbol.kind)
            for path, facts in self._facts.items()
            for symbol in facts.symbols
            if symbol.name == name
        ]


def _resolve_target(language: Language) -> Callable[[Path], Run]:
    def make(_scratch: Path) -> Run:
        from deltos.domains.graph.languages import resolver_of
        from deltos.languages.table import detect

        resolver = resolver_of(language.name)
        assert resolver is not None
        around = [(path, detect(path), data) for path, data in _FIXED_FILES.values()]
        path = f"src/main{language.extensions[0]}"

        def run(data: bytes) -> None:
            files = InMemoryFacts()
            for name, known, text in around:
                if known is not None and known.name in resolver.languages:
                    files.add(name, known.name, resolver.extract(parse_file(known, text, name)))
            files.add(path, language.name, resolver.extract(parse_file(language, data, path)))
            for _ in resolver.resolve(files, [path]):
                pass

        return run

    return make


def _manifest_target(path: str) -> Callable[[Path], Run]:
    source = b"import a from '@app/a'; import b from '#b'; import c from 'pkg/sub'; import d from './lib'; import e from '@/x/y';\n"

    def make(_scratch: Path) -> Run:
        from deltos.domains.graph.languages import resolver_of
        from deltos.languages.table import detect

        resolver = resolver_of("typescript")
        json_language, script = detect(path), detect("a.ts")
        assert resolver is not None
        assert json_language is not None
        assert script is not None

        def run(data: bytes) -> None:
            files = InMemoryFacts()
            for name, text in (
                ("src/main.ts", source),
                _FIXED_FILES["typescript"],
                ("src/x/y.ts", b"export default 1\n"),
            ):
                files.add(name, "typescript", resolver.extract(parse_file(script, text, name)))
            files.add(path, "json", resolver.extract(parse_file(json_language, data, path)))
            for _ in resolver.resolve(files, ["src/main.ts"]):
                pass

        return run

    return make


def _go_mod(_scratch: Path) -> Run:
    from deltos.domains.graph.declared.manifest import MANIFEST_LANGUAGE, manifest_facts

    def run(data: bytes) -> None:
        InMemoryFacts().add("go.mod", MANIFEST_LANGUAGE, manifest_facts(data))

    return run
