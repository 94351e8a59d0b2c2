"""Modules, classes, functions and variables as type inference represents them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.graph.python.nodes import Assigned, DeclaredName

if TYPE_CHECKING:
    from deltos.domains.graph.python import nodes
    from deltos.domains.graph.python.nodes import Assignment, Binding


class ModuleInfo:
    """A project file that can be imported."""

    __slots__ = (
        "_interface", "bindings", "bit", "classes", "exported", "functions", "key", "package", "path", "stars",
        "variables",
    )  # fmt: skip

    def __init__(self, path: str, package: str, bit: int, interface: nodes.ModuleInterface) -> None:
        self.path = path
        self.package = package
        self.bit = bit
        self.key = ""
        self.bindings = interface.bindings
        self.stars = interface.stars
        self.exported = interface.exported
        self.classes: dict[str, ClassInfo] = {}
        self.functions: dict[str, FunctionInfo] = {}
        self.variables: dict[str, VariableInfo] = {}
        self._interface = interface

    @property
    def is_package(self) -> bool:
        """Whether the file is the `__init__.py` of a package."""
        return self.path.endswith(("__init__.py", "__init__.pyi"))

    def is_in_folder(self, folder: str) -> bool:
        """Whether the file is in a folder or its subfolders; an empty path means the project root."""
        return not folder or self.path.startswith(f"{folder}/")

    def find_class(self, key: str) -> ClassInfo | None:
        """Return the class with this key, or None if there is none."""
        found = self.classes.get(key)
        if found is None and key in self._interface.classes:
            found = self.classes[key] = ClassInfo(self, key, self._interface.classes[key])
        return found

    def find_function(self, key: str) -> FunctionInfo | None:
        """Return the function with this key, or None if there is none."""
        found = self.functions.get(key)
        if found is None and key in self._interface.functions:
            found = self.functions[key] = FunctionInfo(self, key, self._interface.functions[key])
        return found

    def variable(self, name: str, bindings: tuple[Assignment, ...]) -> VariableInfo:
        """Return the module-level variable with this name."""
        found = self.variables.get(name)
        if found is None:
            found = self.variables[name] = VariableInfo(self, name, InterfaceScope(self), bindings)
        return found


class _Definition:
    """A class, function or variable that a module defines."""

    __slots__ = ("key", "module")

    def __init__(self, module: ModuleInfo, key: str) -> None:
        self.module = module
        self.key = key

    @property
    def path(self) -> str:
        """Path of the file that contains the definition."""
        return self.module.path


class ClassInfo(_Definition):
    """A class of the project. As a value, it represents the class object, not an instance."""

    __slots__ = (
        "attributes", "bases", "bindings", "instance", "keywords", "name", "variables",
    )  # fmt: skip

    def __init__(self, module: ModuleInfo, key: str, interface: nodes.ClassInterface) -> None:
        super().__init__(module, key)
        self.name = interface.name
        self.bases = interface.bases
        self.keywords = interface.keywords
        self.bindings = interface.bindings
        self.attributes = interface.attributes
        self.variables: dict[str, VariableInfo] = {}
        self.instance = Instance(self)

    def outer_scope(self) -> InterfaceScope:
        """Return the scope that contains the class and in which its base classes and decorators are evaluated."""
        parent = self.key.rpartition(".")[0]
        outer = self.module.find_class(parent)
        if outer is not None:
            return InterfaceScope(self.module, owner=outer)
        return InterfaceScope(self.module, function=self.module.find_function(parent))

    def variable(self, name: str) -> VariableInfo:
        """Return the variable with this name to which the class body or a method assigns a value."""
        found = self.variables.get(name)
        if found is None:
            key = f"{self.key}.{name}"
            bindings = assignment_bindings(self.bindings.get(name, ()))
            found = self.variables[name] = VariableInfo(
                self.module, key, InterfaceScope(self.module, owner=self), bindings
            )
            found.assigned = self.attributes.get(name, ())
            found.owner = self
        return found


class FunctionInfo(_Definition):
    """A function or method of the project. As a value, it represents the unbound function.

    `owner` is the containing class. `enclosing` is the enclosing function, whose names are visible in the body.
    """

    __slots__ = ("decorators", "enclosing", "is_async", "is_generator", "locals", "name", "owner",
                 "parameters", "returned", "returns", "yielded")  # fmt: skip

    def __init__(self, module: ModuleInfo, key: str, interface: nodes.FunctionInterface) -> None:
        super().__init__(module, key)
        self.name = interface.name
        self.owner = module.find_class(interface.owner) if interface.owner else None
        self.enclosing = module.find_function(interface.enclosing) if interface.enclosing else None
        self.decorators = interface.decorators
        self.parameters = interface.parameters
        self.returns = interface.returns
        self.is_async = interface.is_async
        self.is_generator = interface.is_generator
        self.returned = interface.returned
        self.yielded = interface.yielded
        self.locals = interface.local

    def outer_scope(self) -> InterfaceScope:
        """Return the scope in which the function's decorators, annotations and defaults are evaluated."""
        return InterfaceScope(self.module, owner=self.owner, function=self.enclosing)

    def scope(self) -> InterfaceScope:
        """Return the scope of the function's body."""
        return InterfaceScope(self.module, function=self)


class VariableInfo(_Definition):
    """A name that is assigned in a module, in a class, or on `self`."""

    __slots__ = ("assigned", "bindings", "owner", "scope")

    def __init__(self, module: ModuleInfo, key: str, scope: InterfaceScope, bindings: tuple[Assignment, ...]) -> None:
        super().__init__(module, key)
        self.scope = scope
        self.bindings = bindings
        self.assigned: tuple[nodes.AttributeBinding, ...] = ()
        self.owner: ClassInfo | None = None


class InterfaceScope:
    """The scope in which a stored expression is evaluated: a module, a class body, or a function."""

    __slots__ = ("function", "module", "owner")

    def __init__(
        self, module: ModuleInfo, owner: ClassInfo | None = None, function: FunctionInfo | None = None
    ) -> None:
        self.module = module
        self.owner = owner
        self.function = function


class External:
    """A name that the project does not define: a builtin, or a name from the standard library or a dependency.

    `is_missing` is true for a name that is imported from a package of the project, although the package does not define
    it.
    """

    __slots__ = ("is_missing", "name")

    def __init__(self, name: str, *, is_missing: bool = False) -> None:
        self.name = name
        self.is_missing = is_missing

    def __eq__(self, other: object) -> bool:
        return type(other) is External and other.name == self.name and other.is_missing == self.is_missing

    def member(self, name: str) -> External:
        """Return the external name of a member, such as `os.path` for the member `path` of `os`."""
        return External(f"{self.name}.{name}", is_missing=self.is_missing)

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class NamespaceFolder:
    """A namespace package: a folder without an `__init__.py`."""

    folder: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a project class."""

    info: ClassInfo


def assignment_bindings(bindings: tuple[Binding, ...]) -> tuple[Assignment, ...]:
    """Return only the assignments among the bindings of a name, without definitions and imports."""
    return tuple([binding for binding in bindings if type(binding) is Assigned or type(binding) is DeclaredName])


Defined = ModuleInfo | ClassInfo | FunctionInfo | VariableInfo
Entity = Defined | External | NamespaceFolder
DEFINED = (ModuleInfo, ClassInfo, FunctionInfo, VariableInfo)
