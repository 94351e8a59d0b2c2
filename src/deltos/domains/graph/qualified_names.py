"""Qualified names of definitions in the notation of each language: by package, crate, namespace or module path."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import GoModule, PackageDeclaration, SourceInterface
from deltos.domains.graph.declared.languages import traits_of
from deltos.domains.graph.declared.languages.rust import crate_of
from deltos.languages.table import detect
from deltos.text.identifiers import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.store.symbols import Symbol

_PACKAGE_STEM = re.compile(r"(?:^|\.)(?:__init__|index|mod)$")
_MEMBER_KINDS = frozenset({"method", "property"})


class QualifiedNames:
    """Qualified names of the definitions in one project."""

    def __init__(self, facts: ProjectFacts) -> None:
        self._facts = facts
        self.packages = cache(self._packages)

    def matches(self, row: Symbol, name: str) -> bool:
        """Whether a symbol's name, qualified by its path or by its package, ends with a dotted name.

        If a file has the same name as the type in it, `name` needs to contain the name only once: `shop.Cart.add` for
        `shop/Cart.ts`.
        """
        if ends_with(qualified_name(row), name):
            return True
        folder, _, file = row.path.rpartition("/")
        head = row.key.partition(".")[0].partition("#")[0]
        if file.partition(".")[0] == head and ends_with(f"{folder.replace('/', '.')}.{row.key}", name):
            return True
        return any(
            name.endswith(f".{label}") and f".{package}".endswith(f".{name[: -len(label) - 1]}")
            for label in self._labels(row)
            for package in self.packages(row.path)
        )

    def _labels(self, row: Symbol) -> Iterator[str]:
        """Yield the label of a symbol and, for an extension function, also its label without the receiver's type."""
        yield row.label
        language = detect(row.path)
        owner = row.label.rpartition(".")[0]
        if language is not None and language.has_extension_functions and owner:
            interface = self._facts.interface(row.path)
            if isinstance(interface, SourceInterface) and owner not in interface.type_keys:
                yield f"{owner.rpartition('.')[0]}.{row.name}".strip(".")

    def modules(self, path: str) -> tuple[str, ...]:
        """Return the dotted names of a file: its path and its packages."""
        return module_name(path), *self.packages(path)

    def written_name(self, row: Symbol) -> str:
        """Return the name of a symbol as its language writes it: `caddyhttp.MatchHost`, `crate::mod::f`, `A::B#m`."""
        language = detect(row.path)
        if language is None or not row.key:
            return qualified_name(row)
        label, packages = row.label, self.packages(row.path)
        if packages and not label.startswith(f"{packages[0]}."):
            label = f"{packages[0]}.{label}"
        elif not packages and not language.names_are_global and language.separator == ".":
            return qualified_name(row)
        *before, last = label.split(".")
        separator = language.separator if before else ""
        if row.kind in _MEMBER_KINDS and "." in row.key:
            separator = language.member_separator or separator
        if separator == "#" and row.signature.startswith("def self."):
            separator = "."  # separator for Ruby class methods
        elif separator == "#" and last[:1].isupper():
            separator = "::"  # separator for Ruby constants
        return f"{language.root}{language.separator.join(before)}{separator}{last}"

    def _packages(self, path: str) -> tuple[str, ...]:
        """Return the dotted packages of a file.

        A Rust file has two names: one below `crate` and one below the crate name.
        """
        traits = traits_of(path)
        if traits.has_module_tree:
            return self._rust_packages(path)
        interface = self._facts.interface(path)
        package = interface.package if isinstance(interface, SourceInterface) else ""
        if package and traits.has_packages_by_path:
            return (package, *self._go_import_path(path))
        return (package,) if package else ()

    def _go_import_path(self, path: str) -> Iterator[str]:
        """Yield the dotted import path of a Go file's package if a `go.mod` in a parent folder declares the module."""
        folder = inner = posixpath.dirname(path)
        while True:
            module = self._facts.interface(posixpath.join(folder, "go.mod"))
            if isinstance(module, GoModule):
                inner = inner.removeprefix(folder).strip("/")
                yield dotted(f"{module.name}/{inner}".strip("/"))
                return
            if not folder:
                return
            folder = posixpath.dirname(folder)

    def _rust_packages(self, path: str) -> tuple[str, ...]:
        root = crate_of(path)
        inner = traits_of(path).file_package(path, "").removeprefix(root).strip(".")
        folder = posixpath.dirname(root.replace(".", "/"))
        manifest = self._facts.interface(posixpath.join(folder, "Cargo.toml"))
        crates = ("crate", manifest.name) if isinstance(manifest, PackageDeclaration) else ("crate",)
        return tuple(f"{crate}.{inner}".strip(".") for crate in crates)


def qualified_name(row: Symbol) -> str:
    """Return a symbol's name qualified by its file path: `django.db.models.query.QuerySet.filter`."""
    return ".".join(filter(None, (module_name(row.path), row.key)))


def module_name(path: str) -> str:
    """Return the path of a file as a dotted name: `a/b/__init__.py` becomes `a.b`."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return _PACKAGE_STEM.sub("", f"{folder}/{stem}".strip("/").replace("/", "."))


def ends_with(name: str, suffix: str) -> bool:
    """Whether a dotted name ends with the parts of `suffix`, ignoring the numbers of repeated definitions (`#2`)."""
    bare = re.sub(r"#\d+", "", name)
    return bare == suffix or bare.endswith(f".{suffix}")
