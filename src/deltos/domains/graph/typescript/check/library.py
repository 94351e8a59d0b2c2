"""Declarations of JavaScript's standard library that type inference needs: collections, promises, utility types.

The library is written in TypeScript (library.d.ts). Its definitions are never reported as reference targets.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from deltos.domains.graph.typescript.facts import TypeScriptModule
from deltos.domains.graph.typescript.lower.extract import extract_module
from deltos.domains.graph.typescript.modules.module import Module
from deltos.languages.grammar import parse
from deltos.languages.table import detect


@cache
def library() -> Module:
    """Return the cached library module."""
    data = (files("deltos.domains.graph.typescript.check") / "library.d.ts").read_bytes()
    language = detect("library.d.ts")
    tree = parse(language, data) if language is not None else None
    interface = extract_module("", data, tree.root_node).interface if tree is not None else None
    if not isinstance(interface, TypeScriptModule):
        raise LookupError("The TypeScript grammar is not available.")  # noqa: TRY004 - the grammar is missing
    return Module("", interface, is_library=True)
