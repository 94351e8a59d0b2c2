"""Names and members: which definitions a name of a module or a member of a class refers to."""

from __future__ import annotations

import builtins
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeVar, cast

from deltos.domains.graph.python.entities import ClassInfo, External, ModuleInfo, Namespace, Scope, assignments
from deltos.domains.graph.python.layout import SUFFIXES, Layout
from deltos.domains.graph.python.nodes import (
    ASSIGNMENTS,
    BoundClass,
    BoundFunction,
    BoundImport,
    BoundModule,
    last_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.graph.model import ProjectFacts
    from deltos.domains.graph.python.entities import Entity
    from deltos.domains.graph.python.nodes import Binding, Expression
    from deltos.domains.graph.python.values import Types

FUEL = 12
"""How many steps of inference one answer may be built on."""

_CUT_SHORT = 1 << 20

Answer = TypeVar("Answer")


_ENUMS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


class Memory:
    """Remembers answers with the depth they needed and the files they read."""

    def __init__(self) -> None:
        self.dependencies = 0
        self._fuel = FUEL
        self._needed = 0
        self._whole: dict[Any, tuple[Any, int, int]] = {}
        self._cut: dict[Any, tuple[Any, int]] = {}

    def recall(self, key: tuple[Any, ...], compute: Callable[..., Answer], *arguments: Any) -> Answer:
        """The remembered answer, or a new one; an empty tuple, whatever the type, where the depth is spent."""
        known = self._whole.get(key)
        if known is not None and known[1] <= self._fuel:
            self.dependencies |= known[2]
            if known[1] > self._needed:
                self._needed = known[1]
            return cast("Answer", known[0])
        cut = self._cut.get((key, self._fuel))
        if cut is not None:
            self.dependencies |= cut[1]
            self._needed = _CUT_SHORT
            return cast("Answer", cut[0])
        if self._fuel == 0:
            self._needed = _CUT_SHORT
            return cast("Answer", ())
        return self._compute(key, compute, arguments)

    def _compute(self, key: tuple[Any, ...], compute: Callable[..., Answer], arguments: tuple[Any, ...]) -> Answer:
        outer_dependencies, outer_needed = self.dependencies, self._needed
        self.dependencies = self._needed = 0
        self._fuel -= 1
        answer = compute(*arguments)
        self._fuel += 1
        needed = self._needed + 1
        if needed < _CUT_SHORT:
            self._whole[key] = (answer, needed, self.dependencies)
        else:
            needed = _CUT_SHORT
            self._cut[(key, self._fuel)] = (answer, self.dependencies)
        self.dependencies |= outer_dependencies
        self._needed = max(outer_needed, needed)
        return answer


class Lookup(Memory, ABC):
    """Finds entities by name."""

    def __init__(self, project: ProjectFacts) -> None:
        super().__init__()
        self._project = project
        self.layout = Layout(project.paths())
        self._modules: dict[str, ModuleInfo | None] = {}
        self._bits: dict[str, int] = {}

    # --- dependencies

    def bit(self, dependency: str) -> int:
        """The bit that stands for a file, or for a name looked for, in sets of dependencies."""
        found = self._bits.get(dependency)
        if found is None:
            found = self._bits[dependency] = 1 << len(self._bits)
        return found

    def read(self, module: ModuleInfo) -> None:
        """Note that the current answer depends on a file."""
        self.dependencies |= module.bit

    def dependency_names(self, bits: int) -> frozenset[str]:
        """The files and names that a set of bits stands for."""
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
        """The module in a file; None when the file is not there or has no facts."""
        self.dependencies |= self.bit(path)
        if path not in self._modules:
            interface = self._project.interface(path)
            self._modules[path] = (
                None if interface is None else ModuleInfo(path, self.layout.package_of(path), self.bit(path), interface)
            )
        return self._modules[path]

    def module_entities(self, stem: str) -> tuple[Entity, ...]:
        """The module or namespace folder at a path without suffix."""
        self._look_for(stem.rpartition("/")[2])
        return self._at(self.layout.module_of(stem))

    def _at(self, place: str | None) -> tuple[Entity, ...]:
        if place is None:
            return ()
        if not place.endswith(SUFFIXES):
            return (Namespace(place),)
        module = self.module(place)
        return () if module is None else (module,)

    def _look_for(self, name: str) -> None:
        """Depend on whether any file or folder of a name exists: one that appears may change what an import means."""
        self.dependencies |= self.bit(f"*/{name}")

    def imported(self, module: str, level: int, importer: ModuleInfo) -> tuple[Entity, ...]:
        """The module that an import statement names."""
        top, _, last = module.partition(".")[0], "", module.rpartition(".")[2]
        self._look_for(last)
        if level:
            return self._at(self.layout.relative(module, level, importer.path))
        self._look_for(top)
        place = self.layout.absolute(module, importer.path)
        return (External(module),) if place is None else self._at(place)

    def imported_name(self, module: str, level: int, name: str, importer: ModuleInfo) -> tuple[Entity, ...]:
        """What `from module import name` refers to."""
        found: list[Entity] = []
        for origin in self.imported(module, level, importer):
            match origin:
                case ModuleInfo() if origin is importer:
                    found.extend(self.module_entities(f"{origin.package}/{name}" if origin.package else name))
                case ModuleInfo():
                    found.extend(self.name_in(origin, name, imported=True))
                case Namespace():
                    found.extend(self.module_entities(f"{origin.folder}/{name}"))
                case External():
                    found.append(External(f"{origin.name}.{name}"))
        return tuple(found)

    def exported_names(self, module: ModuleInfo) -> tuple[str, ...]:
        """The names that `from module import *` brings."""
        return self.recall(("exported", module), self._exported, module)

    def _exported(self, module: ModuleInfo) -> tuple[str, ...]:
        self.read(module)
        if module.exported is not None:
            return module.exported
        self.dependencies |= self.bit(f"{module.path}*")
        names = [name for name in module.bindings if not name.startswith("_")]
        for origin, level in module.stars:
            for other in self.imported(origin, level, module):
                if type(other) is ModuleInfo:
                    names.extend(self.exported_names(other))
        return tuple(dict.fromkeys(names))

    def name_in(self, module: ModuleInfo, name: str, *, imported: bool = False) -> tuple[Entity, ...]:
        """What a module-level name refers to; builtins come last unless it is imported from elsewhere."""
        found = self.recall(("name", module, name), self._name_in, module, name)
        if not found and not imported:
            return (External(f"builtins.{name}"),)
        return found

    def _name_in(self, module: ModuleInfo, name: str) -> tuple[Entity, ...]:
        self.read(module)
        bindings = module.bindings.get(name)
        if bindings:
            return self._meanings(module, name, bindings)
        if not hasattr(builtins, name):
            self.dependencies |= self.bit(f"{module.path}?{name}")
        for origin, level in module.stars:
            for other in self.imported(origin, level, module):
                if type(other) is ModuleInfo and other is not module and name in self.exported_names(other):
                    found = self.name_in(other, name, imported=True)
                    if found:
                        return found
        if module.path.endswith(("__init__.py", "__init__.pyi")):
            return self.module_entities(f"{module.package}/{name}" if module.package else name)
        return ()

    def _meanings(self, module: ModuleInfo, name: str, bindings: tuple[Binding, ...]) -> tuple[Entity, ...]:
        found: dict[Entity, None] = {}
        for binding in bindings:
            if type(binding) in ASSIGNMENTS:
                found[module.variable(name, assignments(bindings))] = None
            else:
                found.update(dict.fromkeys(self.bound(module, binding)))
        return tuple(found)

    def bound(self, module: ModuleInfo, binding: Binding) -> tuple[Entity, ...]:
        """What a definition or an import binds its name to."""
        if type(binding) is BoundClass:
            info = module.class_of(binding.key)
            return () if info is None else (info,)
        if type(binding) is BoundFunction:
            function = module.function_of(binding.key)
            return () if function is None else (function,)
        if type(binding) is BoundModule:
            return self.imported(binding.module, 0, module)
        if type(binding) is BoundImport:
            return self.imported_name(binding.module, binding.level, binding.name, module)
        return ()

    # --- classes

    def own_member(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """What a name of a class body, or an attribute set on its objects, refers to; bases left out."""
        self.read(info.module)
        found: dict[Entity, None] = {}
        bindings = info.bindings.get(name, ())
        for binding in bindings:
            if type(binding) not in ASSIGNMENTS:
                found.update(dict.fromkeys(self.bound(info.module, binding)))
        if name in info.attributes or any(type(binding) in ASSIGNMENTS for binding in bindings):
            found[info.variable(name)] = None
        return tuple(found)

    def member(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """A member of a class or of the first of its bases that has it."""
        return self.recall(("member", info, name), self._first_member, info, name, 0)

    def member_after(self, info: ClassInfo, name: str) -> tuple[Entity, ...]:
        """A member as `super()` in a method of the class finds it."""
        return self.recall(("after", info, name), self._first_member, info, name, 1)

    def _first_member(self, info: ClassInfo, name: str, start: int) -> tuple[Entity, ...]:
        assigned = None
        for base in self.mro(info)[start:]:
            self.read(base.module)
            if name in base.bindings:
                # Setting an attribute that a base defines as a property does not define it anew.
                if assigned is not None and type(base.bindings[name][0]) is not BoundFunction:
                    break
                return self.own_member(base, name)
            if assigned is None and name in base.attributes:
                assigned = base
        return () if assigned is None else self.own_member(assigned, name)

    def mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """A class and its project bases in the order in which members are looked up; circular bases are cut."""
        found = self.recall(("mro", info), self._mro, info)
        return found or (info,)

    def _mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        self.read(info.module)
        bases = [base for base in self.bases(info) if base is not info]
        return (info, *_merged([[other for other in self.mro(base) if other is not info] for base in bases] + [bases]))

    def bases(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The project classes that a class names as its bases."""
        return self.recall(("bases", info), self._bases, info)

    def _bases(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        self.read(info.module)
        scope = info.outer_scope()
        found: list[ClassInfo] = []
        for base in info.bases:
            found.extend(value for value in self.evaluated(scope, base) if type(value) is ClassInfo)
        return tuple(dict.fromkeys(found))

    def metaclasses(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The metaclass of a class or of the first of its bases that names one."""
        return self.recall(("metaclass", info), self._metaclasses, info)

    def _metaclasses(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        for base in self.mro(info):
            self.read(base.module)
            for name, value in base.keywords:
                if name == "metaclass":
                    return tuple(
                        [meta for meta in self.evaluated(base.outer_scope(), value) if type(meta) is ClassInfo]
                    )
        return ()

    def is_enum(self, info: ClassInfo) -> bool:
        """Whether a class is an enumeration, by the names of its outside bases."""
        return any(last_name(node) in _ENUMS for base in self.mro(info) for node in base.bases)

    @abstractmethod
    def evaluated(self, scope: Scope, node: Expression) -> Types:
        """What an expression of an interface may be."""


def _merged(sequences: list[list[ClassInfo]]) -> list[ClassInfo]:
    """C3 linearisation; where the bases contradict each other, the order in which they are met."""
    merged: list[ClassInfo] = []
    pending = [list(sequence) for sequence in sequences if sequence]
    while pending:
        head = _next_head(pending)
        merged.append(head)
        pending = [rest for sequence in pending if (rest := [other for other in sequence if other is not head])]
    return merged


def _next_head(pending: Sequence[list[ClassInfo]]) -> ClassInfo:
    for sequence in pending:
        head = sequence[0]
        if not any(head in other[1:] for other in pending):
            return head
    return pending[0][0]
