"""The part of JavaScript's standard library through which types flow: collections, promises, utility types.

It is written in TypeScript (library.d.ts) and read like any file; nothing in it is ever reported as a target.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from deltos.domains.graph.typescript.facts import ModuleInterface
from deltos.domains.graph.typescript.lower.extract import extract_module
from deltos.domains.graph.typescript.modules.module import Module
from deltos.languages.grammar import parse
from deltos.languages.table import detect


@cache
def library() -> Module:
    """The library as a module, read once."""
    data = (files("deltos.domains.graph.typescript.check") / "library.d.ts").read_bytes()
    language = detect("library.d.ts")
    tree = parse(language, data) if language is not None else None
    interface = extract_module("", data, tree.root_node).interface if tree is not None else None
    if not isinstance(interface, ModuleInterface):
        raise LookupError("no grammar for TypeScript")  # noqa: TRY004 - it is the grammar that is missing
    return Module("", interface, is_library=True)
