"""The modules of a project during resolution: reads them on demand, and looks up names through imports and exports."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from deltos.domains.graph.kernel.memo import FixpointMemo
from deltos.domains.graph.typescript.facts import ImportOrigin, TypeScriptModule
from deltos.domains.graph.typescript.modules.ambient import Ambient
from deltos.domains.graph.typescript.modules.locate import Locator
from deltos.domains.graph.typescript.modules.module import Module
from deltos.domains.graph.typescript.nodes import EXPORTED_VALUE, NAMESPACE, InterfaceDeclaration
from deltos.domains.graph.typescript.types import NamespaceType, Property

if TYPE_CHECKING:
    from collections.abc import Callable

    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.typescript.nodes import Term
    from deltos.domains.graph.typescript.types import DeclaredEntity

    MemberOfValue = Callable[[Module, Term, str], Property | None]

LookupResult: TypeAlias = "DeclaredEntity | NamespaceType | Property"


class Program:
    """All modules of a project."""

    def __init__(self, project: ProjectFacts, library: Module, member_of_value: MemberOfValue) -> None:
        self._project = project
        self.memo = FixpointMemo()
        self.library = library
        self._modules: dict[str, Module | None] = {}
        self._library_members: frozenset[str] | None = None
        self.locator = Locator(project, self.memo.depend_on_all)
        self._ambient = Ambient(project.paths(), self._read, self.memo.depend_on_all)
        self._member_of_value = member_of_value

    def module(self, path: str) -> Module | None:
        """Return the interface of a file and record the file as a dependency."""
        self.memo.depend(path)
        return self._read(path)

    def _read(self, path: str) -> Module | None:
        if path not in self._modules:
            interface = self._project.interface(path)
            self._modules[path] = Module(path, interface) if isinstance(interface, TypeScriptModule) else None
        return self._modules[path]

    def import_module(self, module: Module, specifier: str) -> Module | None:
        """Return the module to which a specifier refers."""
        path = self.locator.locate(module.path, specifier).path
        return self.module(path) if path is not None else None

    def lookup(self, module: Module, name: str) -> LookupResult | None:
        """Return the declaration or module to which a module-level name refers."""
        origin = module.imports.get(name)
        if origin is not None:
            found = self.imported_entity(module, origin)
            return found if found is not None else module.declared_entity(name)
        found = module.declared_entity(name)
        if found is not None or module.is_library:
            return found
        found = self.library.declared_entity(name)
        return (
            found if found is not None else self.memo.ask(("global", name), lambda: self._ambient.declared_entity(name))
        )

    def is_library_member(self, name: str) -> bool:
        """Whether a type of the standard library has a member with this name."""
        if self._library_members is None:
            parts = [part for parts in self.library.declarations.values() for part in parts]
            tables = [part.members for part in parts if isinstance(part, InterfaceDeclaration)]
            self._library_members = frozenset(member for table in tables for member in table)
        return name in self._library_members

    def imported_entity(self, module: Module, origin: ImportOrigin) -> LookupResult | None:
        """Return the declaration or module to which an imported name refers."""
        target = self.import_module(module, origin.specifier)
        if target is None:
            return self._ambient.exported_entity(origin.specifier, origin.name)
        if origin.name == NAMESPACE:
            return NamespaceType(target)
        if origin.name == EXPORTED_VALUE:
            return self._required_value(target)
        return self.exported_entity(target, origin.name)

    def is_certain(self, module: Module, origin: ImportOrigin) -> bool:
        """Whether an imported name certainly refers to the exported declaration.

        A default or CommonJS import is uncertain if the exported value has several names.
        """
        if origin.name not in (EXPORTED_VALUE, "default"):
            return True
        target = self.import_module(module, origin.specifier)
        return target is None or not target.has_chained_exports

    def _required_value(self, target: Module) -> LookupResult | None:
        """Return the result of `require`: the exported value, or the module as a namespace if it exports no value."""
        if isinstance(target.exported_value, str):
            return self.lookup(target, target.exported_value)
        if target.exported_value is not None:
            return Property(target, "", target.exported_value)
        return NamespaceType(target)

    def exported_entity(self, module: Module, name: str) -> LookupResult | None:
        """Return the declaration or module that a module exports under a name, following re-exports."""
        return self.memo.ask(("export", module.path, name), lambda: self._find_exported_entity(module, name))

    def _find_exported_entity(self, module: Module, name: str) -> LookupResult | None:
        entry = module.exports.get(name)
        if isinstance(entry, str):
            return self.lookup(module, entry)
        if entry is not None:
            return self.imported_entity(module, entry)
        if module.exported_value is not None:
            return self._member_of_exported_value(module, name)
        if name == "default":
            return None
        for specifier in module.star_exports:
            target = self.import_module(module, specifier)
            found = self.exported_entity(target, name) if target is not None else None
            if found is not None:
                return found
        return None

    def _member_of_exported_value(self, module: Module, name: str) -> LookupResult | None:
        """Return a member of the value that a CommonJS module exports, or the value itself for `default`."""
        exported_value = self._required_value(module)
        return exported_value if name == "default" else self._member_of_value(module, module.exported_value, name)
