"""The part of JavaScript's standard library through which types flow: collections, promises, utility types.

It is written in TypeScript (library.d.ts) and read like any file; nothing in it is ever reported as a target.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from deltos.domains.graph.typescript.project.module import Module
from deltos.domains.graph.typescript.syntax.extract import extract_module
from deltos.languages.grammar import parse
from deltos.languages.table import detect


@cache
def library() -> Module:
    """The library as a module, read once."""
    data = (files("deltos.domains.graph.typescript.typing") / "library.d.ts").read_bytes()
    language = detect("library.d.ts")
    tree = parse(language, data) if language is not None else None
    if tree is None:
        raise LookupError("no grammar for TypeScript")
    return Module("", extract_module("", data, tree.root_node).interface, is_library=True)
