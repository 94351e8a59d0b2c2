"""Find the files to which imports refer, and the definitions to which module-level names refer."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from deltos.domains.graph.kernel.dependencies import all_names, external_package, files_named, missing_name
from deltos.domains.graph.kernel.memo import memoized
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.entities import External, ModuleInfo, NamespaceFolder, assignment_bindings
from deltos.domains.graph.python.layout import SUFFIXES, Layout
from deltos.domains.graph.python.nodes import BoundClass, BoundFunction, BoundImport, BoundModule

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.memo import DepthMemo
    from deltos.domains.graph.kernel.resolver import ProjectFacts
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.nodes import Binding


class Names:
    """Resolver of imported modules and module-level names."""

    def __init__(self, project: ProjectFacts, memo: DepthMemo) -> None:
        self.memo = memo
        self._project = project
        self._layout = Layout(project.paths())
        self._modules: dict[str, ModuleInfo | None] = {}
        self._bits: dict[str, int] = {}

    # --- dependencies

    def bit(self, dependency: str) -> int:
        """Return the bit that represents a dependency (a file or a looked-up name) in a bit set."""
        found = self._bits.get(dependency)
        if found is None:
            found = self._bits[dependency] = 1 << len(self._bits)
        return found

    def dependency_names(self, bits: int) -> frozenset[str]:
        """Return the files and names that a bit set of dependencies contains."""
        names = tuple(self._bits)
        digits = f"{bits:b}"[::-1]
        found: list[str] = []
        position = digits.find("1")
        while position >= 0:
            found.append(names[position])
            position = digits.find("1", position + 1)
        return frozenset(found)

    # --- modules

    def module(self, path: str) -> ModuleInfo | None:
        """Return the module that a file contains, or None if the file does not exist or has no facts."""
        self.memo.dependencies |= self.bit(path)
        if path not in self._modules:
            interface = self._project.interface(path)
            found = None
            if isinstance(interface, nodes.ModuleInterface):
                found = ModuleInfo(path, path.rpartition("/")[0], self.bit(path), interface)
            self._modules[path] = found
        return self._modules[path]

    def module_entities(self, stem: str) -> tuple[Entity, ...]:
        """Return the module or namespace folder at a path without its suffix."""
        self._depend_on_name(stem.rpartition("/")[2])
        return self._entity_at(self._layout.find_module(stem))

    def _entity_at(self, path: str | None) -> tuple[Entity, ...]:
        """Return the module at a file path, or the namespace folder at a folder path."""
        if path is None:
            return ()
        if not path.endswith(SUFFIXES):
            return (NamespaceFolder(path),)
        module = self.module(path)
        return () if module is None else (module,)

    def _depend_on_name(self, name: str) -> None:
        """Record a dependency on all files and folders with this name, including files that may be added later."""
        self.memo.dependencies |= self.bit(files_named(name))

    def imported_module(self, module: str, level: int, importer: ModuleInfo) -> tuple[Entity, ...]:
        """Return the module to which an import statement refers."""
        top, _, last = module.partition(".")[0], "", module.rpartition(".")[2]
        self._depend_on_name(last)
        if level:
            path = self._layout.resolve_relative(module, level, importer.path)
            return self._entity_at(path) if path is not None else (External(f".{module}", is_missing=True),)
        self._depend_on_name(top)
        path = self._layout.resolve_absolute(module, importer.path)
        if path is not None:
            return self._entity_at(path)
        self.memo.dependencies |= self.bit(external_package(top))
        is_missing = top != module and self._layout.resolve_absolute(top, importer.path) is not None
        return (External(module, is_missing=is_missing),)

    def imported_name(self, module: str, level: int, name: str, importer: ModuleInfo) -> tuple[Entity, ...]:
        """Return the definitions to which `from module import name` binds the name."""
        found: list[Entity] = []
        for origin in self.imported_module(module, level, importer):
            match origin:
                case ModuleInfo() if origin is importer:
                    found.extend(self.module_entities(f"{origin.package}/{name}" if origin.package else name))
                case ModuleInfo():
                    found.extend(self.name_in(origin, name, imported=True))
                case NamespaceFolder():
                    found.extend(self.module_entities(f"{origin.folder}/{name}"))
                case External():
                    found.append(origin.member(name))
        return tuple(found) or (External(f"{module}.{name}", is_missing=True),)

    def certainly_lacks(self, origin: Entity, name: str) -> bool:
        """Whether a package or namespace folder certainly lacks a name, even if its code creates names at run time."""
        if type(origin) is NamespaceFolder:
            return not self.module_entities(f"{origin.folder}/{name}")
        if type(origin) is not ModuleInfo or not origin.is_package:
            return False
        if name.startswith("__") or not origin.bindings.keys().isdisjoint((name, "__getattr__")):
            return False
        return not self.name_in(origin, name, imported=True) and all(
            type(each) is ModuleInfo
            for star, level in origin.stars
            for each in self.imported_module(star, level, origin)
        )

    @memoized
    def exported_names(self, module: ModuleInfo) -> tuple[str, ...]:
        """Return the names that `from module import *` binds."""
        self.memo.dependencies |= module.bit
        if module.exported is not None:
            return module.exported
        self.memo.dependencies |= self.bit(all_names(module.path))
        names = [name for name in module.bindings if not name.startswith("_")]
        for origin, level in module.stars:
            for other in self.imported_module(origin, level, module):
                if type(other) is ModuleInfo:
                    names.extend(self.exported_names(other))
        return tuple(dict.fromkeys(names))

    def name_in(self, module: ModuleInfo, name: str, *, imported: bool = False) -> tuple[Entity, ...]:
        """Return the definitions of a module-level name, or a builtin if there are none and `imported` is false."""
        found = self._find_name(module, name)
        if not found and not imported:
            return (External(f"builtins.{name}"),) if hasattr(builtins, name) else ()
        return found

    @memoized
    def _find_name(self, module: ModuleInfo, name: str) -> tuple[Entity, ...]:
        """Look up a module-level name in bindings, star imports and submodules."""
        self.memo.dependencies |= module.bit
        bindings = module.bindings.get(name)
        if bindings:
            return self._entities_bound_by(module, name, bindings)
        if not hasattr(builtins, name):
            self.memo.dependencies |= self.bit(missing_name(module.path, name))
        for origin, level in module.stars:
            for other in self.imported_module(origin, level, module):
                if type(other) is ModuleInfo and other is not module and name in self.exported_names(other):
                    found = self.name_in(other, name, imported=True)
                    if found:
                        return found
        if module.is_package:
            return self.module_entities(f"{module.package}/{name}" if module.package else name)
        return ()

    def _entities_bound_by(self, module: ModuleInfo, name: str, bindings: tuple[Binding, ...]) -> tuple[Entity, ...]:
        """Return the variable, definitions and imports to which the given bindings of a name refer."""
        found: dict[Entity, None] = {}
        for binding in bindings:
            if type(binding) in nodes.ASSIGNMENTS:
                found[module.variable(name, assignment_bindings(bindings))] = None
            else:
                found.update(dict.fromkeys(self.bound_entities(module, binding)))
        return tuple(found)

    def bound_entities(self, module: ModuleInfo, binding: Binding) -> tuple[Entity, ...]:
        """Return the definition or import to which a binding refers."""
        if type(binding) is BoundClass:
            info = module.find_class(binding.key)
            return () if info is None else (info,)
        if type(binding) is BoundFunction:
            function = module.find_function(binding.key)
            return () if function is None else (function,)
        if type(binding) is BoundModule:
            return self.imported_module(binding.module, 0, module)
        if type(binding) is BoundImport:
            return self.imported_name(binding.module, binding.level, binding.name, module)
        return ()
