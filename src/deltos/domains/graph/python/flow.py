"""Find references by analysing statements in execution order and tracking the types of each name."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, ClassVar, Never

from deltos.domains.graph.model import Import
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.builtins import element_types
from deltos.domains.graph.python.edges import EdgeCollector, without_overloads
from deltos.domains.graph.python.entities import ClassInfo, External, ModuleInfo, NamespaceFolder, VariableInfo
from deltos.domains.graph.python.evaluate import Evaluator, Narrowing, entered_types, instances_of, unpacked_types
from deltos.domains.graph.python.fixtures import visible_fixtures
from deltos.domains.graph.python.frames import Frame, Frames, merge_environments
from deltos.domains.graph.python.nodes import (
    Attribute,
    CallExpression,
    Name,
    Starred,
    Subscript,
    dotted_name,
    last_name,
)  # fmt: skip
from deltos.domains.graph.python.types import UNKNOWN, BuiltinObject, Types, union

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from deltos.domains.graph.model import ImportMode
    from deltos.domains.graph.python.entities import Entity, FunctionInfo
    from deltos.domains.graph.python.frames import Environment
    from deltos.domains.graph.python.infer import Inference
    from deltos.domains.graph.python.nodes import Block, Expression, Expressions

MAX_REPEATED_LOOP_DEPTH = 2
"""Maximum nesting of loops whose bodies are interpreted twice; each level doubles the work."""


class Flow:
    """Analyser of one module's statements that collects the module's references and imports."""

    def __init__(self, inference: Inference, module: ModuleInfo) -> None:
        self.edges = EdgeCollector(inference)
        self.imports: dict[Import, None] = {}
        self.external_imports = 0
        self.unresolved_imports = 0
        self._inference = inference
        self._module = module
        self._frames = Frames(inference, module)
        self._evaluator = Evaluator(inference, self._frames, self.edges)
        self._evaluator.assign = self._store_name
        self._evaluator.fixtures = self._visible_fixtures
        self._narrowing = self._evaluator.narrowing = Narrowing(self._evaluator, self._frames)
        self._pending: deque[tuple[nodes.Define, Frame, FunctionInfo]] = deque()
        self._is_type_checking = False
        self._loop_depth = 0
        self._jump_environments: list[list[Environment]] = []

    def run_module(self, body: Block) -> None:
        """Analyse the module's top-level statements, then its functions. Outer functions precede nested functions."""
        self.run(body)
        while self._pending:
            node, outer, function = self._pending.popleft()
            self._run_function(node, outer, function)

    def run(self, body: Block) -> bool:
        """Analyse statements and return whether control reaches the end of the block."""
        return all(self._statements[type(node)](self, node) is not False for node in body)  # type: ignore[arg-type]

    def _visible_fixtures(self, name: str) -> tuple[FunctionInfo, ...]:
        frame = self._frames.frame
        owner = frame.owner or (frame.function.owner if frame.function is not None else None)
        return visible_fixtures(self._inference, self._module, owner, self.edges.source, name)

    # --- functions and classes

    def _run_function(self, node: nodes.Define, outer: Frame, function: FunctionInfo) -> None:
        parameters = [parameter.name for parameter in function.parameters]
        frame = self._frames.frame = Frame(outer, function=function, local=frozenset((*parameters, *node.local)))
        self.edges.source = function.key
        frame.assigned = frozenset(node.local)
        frame.parameters = {name: index for index, name in enumerate(parameters)}
        for name in frame.parameters.keys() & frame.assigned:
            frame.bind(name, self._inference.parameter_types(function, frame.parameters[name]))
        self.run(node.body)

    def _run_define(self, node: nodes.Define) -> None:
        function = self._module.find_function(node.key)
        if function is None:
            return
        outer_source, self.edges.source = self.edges.source, node.key
        self._record_decorators(node.decorators)
        for parameter in node.parameters:
            self._evaluator.visit(parameter.default)
            self._evaluator.annotate(parameter.annotation)
        self._evaluator.annotate(node.returns)
        for fixture in node.fixtures:
            self._evaluator.visit(fixture)
        self.edges.source = outer_source
        frame = self._frames.frame
        frame.defined.setdefault(node.name, function)
        frame.bind(node.name, self._inference.function_value(function))
        outer = frame if frame.owner is None else frame.outer
        self._pending.append((node, outer or frame, function))

    def _record_decorators(self, decorators: Expressions) -> None:
        for decorator in decorators:
            if type(decorator) is Name:
                self._evaluator.evaluate_name(decorator, "decorate")
            elif type(decorator) is Attribute:
                self._evaluator.evaluate_attribute(decorator, "decorate")
            elif type(decorator) is CallExpression and type(decorator.function) in (Name, Attribute):
                self._record_decorators((decorator.function,))
                for value in self._evaluator.evaluate_quietly(decorator.function):
                    if isinstance(value, ClassInfo):
                        self.edges.add_constructor_calls(value, decorator.function)
                self._evaluator.visit_arguments(decorator)
            else:
                self._evaluator.evaluate(decorator)

    def _run_class(self, node: nodes.DefineClass) -> None:
        info = self._module.find_class(node.key)
        if info is None:
            return
        outer_source, self.edges.source = self.edges.source, node.key
        self._record_decorators(node.decorators)
        for base in node.bases:
            self._record_base(base)
        for keyword, value in node.keywords:
            self._record_base(value) if keyword == "metaclass" else self._evaluator.evaluate(value)
        frame = self._frames.frame
        frame.defined.setdefault(node.name, info)
        frame.bind(node.name, (info,))
        self._frames.frame = Frame(frame if frame.owner is None else frame.outer, owner=info)
        self.run(node.body)
        self._frames.frame, self.edges.source = frame, outer_source

    def _record_base(self, base: Expression) -> None:
        """Record the references in a base class expression."""
        if type(base) is Name:
            self._evaluator.evaluate_name(base, "inherit")
        elif type(base) is Attribute:
            self._evaluator.evaluate_attribute(base, "inherit")
        elif type(base) is Subscript:
            self._record_base(base.value)
            self._evaluator.annotate(base.index)
        else:
            self._evaluator.evaluate(base)

    # --- imports

    def _run_import(self, node: nodes.ImportModule) -> None:
        modules = self._inference.names.imported_module(node.module, 0, self._module)
        self._import_modules(node, modules, modules)
        top = node.alias or node.module.partition(".")[0]
        if top in self._frames.frame.local:
            bound = self._inference.names.imported_module(node.module if node.alias else top, 0, self._module)
            self._frames.frame.bind(top, self._inference.types_of(bound))

    def _run_from_import(self, node: nodes.FromImport) -> None:
        names = self._inference.names
        modules = names.imported_module(node.module, node.level, self._module)
        found = {
            imported: names.imported_name(node.module, node.level, imported.name, self._module)
            for imported in node.names
            if imported.name != "*"
        }
        needed = [each for each in modules if not self._imports_only_submodules(each, node, found)]
        self._import_modules(node, modules, needed)
        if not modules:
            self.unresolved_imports += 1
        for imported, entities in found.items():
            self._import_name(imported, entities, modules)
            self.unresolved_imports += any(names.certainly_lacks(each, imported.name) for each in modules)

    def _imports_only_submodules(
        self, package: Entity, node: nodes.FromImport, found: Mapping[nodes.FromImportName, tuple[Entity, ...]]
    ) -> bool:
        """Whether a from-import imports only submodules of a package that contains the importing module.

        `from . import sub` depends on `sub` but not on the package, so it is not recorded as an import of the package.
        """
        if type(package) is not ModuleInfo or not package.is_package or not self._module.is_in_folder(package.package):
            return False
        return len(found) == len(node.names) and all(
            entities and all(_is_submodule(entity, package, imported.name) for entity in entities)
            for imported, entities in found.items()
        )

    def _import_name(
        self, imported: nodes.FromImportName, entities: tuple[Entity, ...], modules: tuple[Entity, ...]
    ) -> None:
        self.edges.add(imported.line, imported.name, entities, "import")
        for entity in entities:
            if type(entity) is ModuleInfo and entity not in modules:
                self.imports[Import(imported.line, entity.path, self._import_mode())] = None
        bound = imported.alias or imported.name
        if bound in self._frames.frame.local:
            self._frames.frame.bind(bound, self._inference.types_of(entities))
            if len(entities) == 1:
                self._frames.frame.defined.setdefault(bound, entities[0])

    def _import_modules(
        self, node: nodes.ImportModule | nodes.FromImport, modules: tuple[Entity, ...], needed: Collection[Entity]
    ) -> None:
        """Add edges to all imported `modules`, and record the modules in `needed` as imports of this file."""
        for entity in modules:
            if type(entity) is External:
                self.unresolved_imports += entity.is_missing
                self.external_imports += not entity.is_missing
                continue
            if type(entity) is ModuleInfo and entity in needed:
                self.imports[Import(node.line, entity.path, self._import_mode())] = None
            self.edges.add(node.line, node.module, (entity,), "import")

    def _import_mode(self) -> ImportMode:
        """Return when the import takes effect: at run time, when a function is called, or only during type checking."""
        if self._is_type_checking:
            return "type"
        return "deferred" if self._frames.frame.is_in_function() else "runtime"

    # --- assignments

    def _run_expression_statement(self, node: nodes.Evaluate) -> None:
        self._evaluator.visit(node.value)

    def _run_assign(self, node: nodes.Assign) -> None:
        types = self._evaluator.evaluate(node.value)
        for target in node.targets:
            self._store(target, types)

    def _run_declare(self, node: nodes.Declare) -> None:
        declared = self._evaluator.annotate(node.annotation)
        types = self._evaluator.evaluate(node.value)
        if type(node.target) is Name:
            self._frames.frame.declared[node.target.name] = declared
        self._store(node.target, types or declared)

    def _run_augment(self, node: nodes.Augment) -> None:
        self._evaluator.evaluate(node.value)
        self._store(node.target, self._evaluator.evaluate_quietly(node.target))

    def _store(self, target: Expression, types: Types) -> None:
        """Assign types to an assignment target: a name, an attribute, an item, or a tuple of targets."""
        if type(target) is Name:
            self._store_name(target, types)
        elif type(target) is Attribute:
            self._store_attribute(target, types)
        elif type(target) is nodes.Display:
            for index, part in enumerate(target.items):
                if type(part) is Starred:
                    self._store(part.value, (BuiltinObject("list", (element_types(types, self._inference),)),))
                else:
                    self._store(part, unpacked_types(types, index, self._inference))
        else:
            self._evaluator.evaluate(target)

    def _store_name(self, target: Name, types: Types) -> None:
        name, frame = target.name, self._frames.frame
        if name in self._evaluator.inner_types:
            self._evaluator.inner_types[name] = types
            return
        if name not in frame.local:
            # Add edges only to variables, even if the name also refers to an import.
            written = [entity for entity in self._frames.lookup(name)[0] if isinstance(entity, VariableInfo)]
            self.edges.add(target.line, name, written, "write")
        types = types or frame.declared.get(name, UNKNOWN)
        if types or name in frame.local:
            frame.bind(name, types)
        else:
            frame.environment.pop(name, None)

    def _store_attribute(self, target: Attribute, types: Types) -> None:
        line, name = target.line, target.name
        values = self._evaluator.evaluate(target.value)
        for value in values:
            # The edge refers to the getter of a property, because the graph represents the getter and the setter as one
            # symbol.
            self.edges.add(line, name, without_overloads(self._inference.resolve_attribute(value, name)[0]), "write")
        if not values:
            self.edges.add_possible(line, name, "write")
        path = dotted_name(target)
        if not path:
            return
        if types:
            self._frames.frame.environment[path] = types
            self._frames.frame.narrowed.add(name)
        else:
            self._frames.frame.environment.pop(path, None)

    # --- control flow

    def _run_return(self, node: nodes.Return) -> bool:
        self._evaluator.visit(node.value)
        return False

    def _run_raise(self, node: nodes.Raise) -> bool:
        for value in node.values:
            self._evaluator.visit(value)
        return False

    def _run_loop_jump(self, _node: nodes.LoopJump) -> bool:
        if self._jump_environments:
            self._jump_environments[-1].append(self._frames.frame.environment)
        return False

    def _run_assert(self, node: nodes.Assert) -> None:
        self._evaluator.visit(node.test)
        self._narrowing.narrow(node.test, holds=True)
        self._evaluator.visit(node.message)

    def _run_if(self, node: nodes.If) -> bool:
        frame = self._frames.frame
        ends: list[Environment] = []
        for branch in node.branches:
            self._evaluator.visit(branch.test)
            before = dict(frame.environment)
            self._narrowing.narrow(branch.test, holds=True)
            was_type_checking, self._is_type_checking = (
                self._is_type_checking,
                self._is_type_checking or last_name(branch.test) == "TYPE_CHECKING",
            )
            if self.run(branch.body):
                ends.append(frame.environment)
            self._is_type_checking = was_type_checking
            frame.environment = before
            self._narrowing.narrow(branch.test, holds=False)
        if self.run(node.otherwise):
            ends.append(frame.environment)
        if not ends:
            return False
        frame.environment = merge_environments(ends, frame.assigned)
        return True

    def _run_for(self, node: nodes.For) -> None:
        item = element_types(self._evaluator.evaluate(node.iterable), self._inference, is_async=node.is_async)

        def run_iteration() -> bool:
            self._store(node.target, item)
            return self.run(node.body)

        self._run_loop(run_iteration)
        self.run(node.otherwise)

    def _run_while(self, node: nodes.While) -> None:
        def run_iteration() -> bool:
            self._evaluator.visit(node.test)
            self._narrowing.narrow(node.test, holds=True)
            return self.run(node.body)

        self._run_loop(run_iteration)
        self._narrowing.narrow(node.test, holds=False)
        self.run(node.otherwise)

    def _run_loop(self, run_iteration: Callable[[], bool]) -> None:
        """Analyse a loop's body, and analyse it again if the types at the start of the loop have changed."""
        frame = self._frames.frame
        self._loop_depth += 1
        for _ in range(2 if self._loop_depth <= MAX_REPEATED_LOOP_DEPTH else 1):
            before = dict(frame.environment)
            self._jump_environments.append([])
            completed = run_iteration()
            ends = [before, *self._jump_environments.pop()]
            if completed:
                ends.append(frame.environment)
            frame.environment = merge_environments(ends, frame.assigned)
            if all(frame.environment.get(name) == types for name, types in before.items()):
                break
        self._loop_depth -= 1

    def _run_with(self, node: nodes.With) -> None:
        for value, target in node.items:
            types = self._evaluator.evaluate(value)
            if target is not None:
                self._store(target, entered_types(types, self._inference, is_async=node.is_async))
        self.run(node.body)  # the result is ignored, because the context manager may suppress exceptions

    def _run_try(self, node: nodes.Try) -> bool:
        frame = self._frames.frame
        before = dict(frame.environment)
        ends: list[Environment] = []
        completed = self.run(node.body)
        after = dict(frame.environment)
        if completed and self.run(node.otherwise):
            ends.append(frame.environment)
        for handler in node.handlers:
            frame.environment = merge_environments([before, after], frame.assigned)
            caught = instances_of(self._evaluator.evaluate(handler.classes))
            if handler.name:
                self._store(Name(0, handler.name), caught)
            if self.run(handler.body):
                ends.append(frame.environment)
        frame.environment = merge_environments(ends or [before, after], frame.assigned)
        return self.run(node.final) and bool(ends)

    def _run_match(self, node: nodes.Match) -> None:
        self._evaluator.evaluate(node.subject)
        path = dotted_name(node.subject)
        frame = self._frames.frame
        before = dict(frame.environment)
        ends = [before]
        for case in node.cases:
            frame.environment = dict(before)
            narrowed = union([instances_of(self._evaluator.evaluate(info)) for info in case.classes])
            for use in case.uses:
                self._evaluator.evaluate(use)
            if path and narrowed:
                self._narrowing.set(path, narrowed)
            for capture in case.captures:
                self._store(capture, UNKNOWN)
            self._evaluator.evaluate(case.guard)
            if self.run(case.body):
                ends.append(frame.environment)
        frame.environment = merge_environments(ends, frame.assigned)

    _statements: ClassVar[dict[type, Callable[[Flow, Never], bool | None]]] = {
        nodes.Evaluate: _run_expression_statement,
        nodes.Assign: _run_assign,
        nodes.Declare: _run_declare,
        nodes.Augment: _run_augment,
        nodes.Return: _run_return,
        nodes.If: _run_if,
        nodes.For: _run_for,
        nodes.While: _run_while,
        nodes.With: _run_with,
        nodes.Try: _run_try,
        nodes.Define: _run_define,
        nodes.DefineClass: _run_class,
        nodes.ImportModule: _run_import,
        nodes.FromImport: _run_from_import,
        nodes.LoopJump: _run_loop_jump,
        nodes.Raise: _run_raise,
        nodes.Assert: _run_assert,
        nodes.Match: _run_match,
    }


def _is_submodule(entity: Entity, package: ModuleInfo, name: str) -> bool:
    """Whether an entity is the submodule or subfolder called `name` of a package."""
    stem = f"{package.package}/{name}" if package.package else name
    if type(entity) is NamespaceFolder:
        return entity.folder == stem
    return type(entity) is ModuleInfo and entity.path.rpartition(".")[0] in (stem, f"{stem}/__init__")
