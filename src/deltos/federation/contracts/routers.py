"""Routers and HTTP clients of one framework: their creation, their nesting and their full path prefixes."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.paths import from_regex, join_paths, without_unknown_base

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Expression, Invocation
    from deltos.federation.contracts.frameworks import Framework, Rule
    from deltos.federation.contracts.names import ContractNames
    from deltos.federation.contracts.values import Values

PARENT = ".."  # special prefix that removes the last path segment, for `collection` blocks in Rails
_BLOCK_PREFIXES = {"collection": PARENT, "member": f"{PARENT}/{{id}}"}  # prefix by name of a Rails block
ALL_ARGUMENTS = "*"  # value that selects all arguments of a call
_MAX_RESOLUTION_STEPS = 12  # maximum number of names and calls followed from a use of a router to its creation
_MAX_MOUNTS_PER_ROUTER = 12  # maximum number of places where one router is mounted
_MAX_CALLS_SEARCHED = 50  # maximum number of calls of one function that are searched for routers
_LAST_ATTRIBUTES = frozenset({"urls", "routes", "router", "default", "handler", "fetch", "server"})


class RouterKey(NamedTuple):
    """Identity of a router: the file, the kind of code that defines it, and the position in the file."""

    path: str
    kind: str
    number: int


class Prefix(NamedTuple):
    """Path prefix of a router. `certain` is whether all parts of the prefix are known."""

    path: str
    certain: bool


@dataclass(slots=True)
class Router:
    """A router with a path prefix. `parents` are the routers on which it is mounted, each with a prefix."""

    prefix: str = ""
    parents: list[tuple[RouterKey | None, str, bool]] = field(default_factory=list)
    needs_mount: bool = False  # whether the prefix is unknown until the router is mounted
    is_created: bool = False  # whether a call in the code creates the router
    is_known: bool = True  # whether all parts of `prefix` are known
    has_path: bool = False  # whether the call that creates the router has a path, so that routes may lack one


class Routers:
    """Resolves expressions to the routers of one framework."""

    def __init__(
        self, framework: Framework, files: Sequence[ContractFacts], names: ContractNames, values: Values
    ) -> None:
        self.framework = framework
        self.names = names
        self.values = values
        self.nodes: dict[RouterKey, Router] = {}
        self.global_prefix = ""
        self._files = files
        self._containers: dict[str, list[tuple[int, int, RouterKey]]] = defaultdict(list)
        self._blocks: dict[str, list[tuple[int, int, RouterKey]]] = defaultdict(list)
        self._calls_by_name: dict[str, list[tuple[ContractFacts, Invocation]]] = defaultdict(list)
        self._created: dict[str, list[Invocation]] = defaultdict(list)
        self._resolved: dict[tuple[str, str, int], RouterKey | None] = {}
        self._is_complete = False  # whether all routers are recorded; only then are unresolved expressions cached
        self._bound: dict[RouterKey, None] = {}
        self._annotated = {(file.path, each.target) for file in files for each in file.annotations
                           for rule in framework.rules_for(each, annotation=True) if rule.mounted_by_name}  # fmt: skip
        for file in files:
            for call in file.calls.values():
                self._calls_by_name[call.name].append((file, call))
        for file in files:
            self._create(file)
        for file in files:
            self._mount(file)
        self._is_complete = True

    # --- creation of routers

    def _create(self, file: ContractFacts) -> None:
        """Record the routers that a file creates, and the code ranges whose routes belong to each router."""
        for each in file.assignments if self.framework.lexical else ():
            if each.value.kind == "list" or each.name in self.framework.anchors:
                self._add_container(file, each.start, each.end, RouterKey(file.path, "list", each.start))
                if each.name in self.framework.anchors:
                    self._node(RouterKey(file.path, "list", each.start)).parents.append(
                        (RouterKey(file.path, "module", 0), "", True)
                    )
        for call in file.calls.values():
            for rule in self.framework.rules_for(call):
                if rule.role in ("create", "group") and (call.arguments or ALL_ARGUMENTS not in rule.child):
                    node = self._node(RouterKey(file.path, "call", call.end))
                    node.prefix, node.is_known = self._prefix(file, call, rule)
                    node.is_created, node.needs_mount = True, ALL_ARGUMENTS in rule.child
                    node.has_path = any(isinstance(each, int) for each in rule.prefix)
                    self._created[file.path].append(call)
                    break
                if rule.role == "mount" and any(self._is_block(file, each) for each in call.arguments):
                    self._blocks[file.path].append((call.start, call.end, RouterKey(file.path, "call", call.end)))
                if self.framework.lexical and self._is_container(file, call, rule):
                    self._add_container(file, call.start, call.end, RouterKey(file.path, "call", call.end))
                    break
            for rule in self.framework.rule:
                if rule.role == "global" and call.name in rule.calls:
                    self.global_prefix = self._prefix(file, call, rule)[0]

    def _is_container(self, file: ContractFacts, call: Invocation, rule: Rule) -> bool:
        if rule.mount_call:
            return self.mounted_call(file, call, rule) is not None
        has_block = any(each.kind == "function" for each in call.arguments)
        return rule.role == "mount" or (rule.role == "resources" and has_block)

    def _add_container(self, file: ContractFacts, start: int, end: int, key: RouterKey) -> None:
        self._containers[file.path].append((start, end, key))
        self._node(key)

    def _node(self, key: RouterKey) -> Router:
        return self.nodes.setdefault(key, Router())

    def _prefix(self, file: ContractFacts, call: Invocation, rule: Rule) -> tuple[str, bool]:
        """Return the path prefix in the arguments of a call, and whether the prefix is known."""
        if call.name in _BLOCK_PREFIXES:
            return _BLOCK_PREFIXES[call.name], True
        for selector in rule.prefix:
            value = call.argument(selector)
            if value is None or value.kind in ("function", "map", "list"):
                continue
            text = self.values.text(file, value, call.start)
            if text is not None:
                return (text, True) if self.framework.side == "client" else without_unknown_base(text)
            if isinstance(selector, str) or len(call.arguments) > 1:
                return "", False
        return (self._chain_prefix(file, call, rule.chain_prefix), True) if rule.chain_prefix else ("", True)

    def _chain_prefix(self, file: ContractFacts, call: Invocation, name: str) -> str:
        """Return the path prefix set by earlier calls in a chain, as in `Route::prefix('x')->group(…)`."""
        parts = [
            self.values.text(file, each.argument(0), each.start) or ""
            for each in self.chain(file, call)
            if each.name == name
        ]
        return join_paths(*reversed(parts)) if parts else ""

    def chain(self, file: ContractFacts, call: Invocation) -> Iterator[Invocation]:
        """Yield the preceding calls in a chain of calls such as `a().b().c()`, from last to first."""
        at: Invocation | None = call
        while at is not None and at.on is not None and at.on.kind == "call":
            at = file.calls.get(at.on.place)
            if at is not None:
                yield at

    # --- nesting of routers

    def _mount(self, file: ContractFacts) -> None:
        """Record the routers that are mounted in a file, with the routers on which they are mounted."""
        self._mount_anchors(file)
        for call in list(file.calls.values()):
            for rule in self.framework.rules_for(call):
                if rule.role == "group":
                    key = RouterKey(file.path, "call", call.end)
                    self.nodes[key].parents.append((self.receiver(file, call), "", True))
                elif rule.mount_call and (mounted := self.mounted_call(file, call, rule)):
                    self._mount_lexical(file, call, rule, mounted)
                elif rule.role == "create" and ALL_ARGUMENTS in rule.child:
                    for value in call.arguments:
                        for child in self._children(file, value, call.start):
                            self._node(child).parents.append((RouterKey(file.path, "call", call.end), "", True))
                elif rule.role == "mount":
                    self._mount_call(file, call, rule)
                elif rule.role == "resources" and (key := RouterKey(file.path, "call", call.end)) in self.nodes:
                    self.nodes[key].parents.append(
                        (self.container(file, call.start, key), self._nested(file, call, rule), True)
                    )
                else:
                    continue
                break

    def _mount_anchors(self, file: ContractFacts) -> None:
        """Mount the routers that are assigned to the routes of a module, as in `urlpatterns = router.urls`."""
        for assigned in file.assignments:
            for value in (assigned.value, *assigned.value.parts) if assigned.name in self.framework.anchors else ():
                if value.kind == "name" and (child := self.resolve(file, value, assigned.start)) is not None:
                    self._node(child).parents.append((RouterKey(file.path, "module", 0), "", True))

    def _nested(self, file: ContractFacts, call: Invocation, rule: Rule) -> str:
        """Return the path prefix of the routes inside the block of a resource, such as `/users/{user_id}`."""
        name = next(
            (text for each in rule.path if (text := self.values.text(file, call.argument(each), call.start))), ""
        )
        single = name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
        return f"/{name}/{{{single.rpartition('/')[2]}_id}}" if rule.resources == "rails" else f"/{name}"

    def mounted_call(self, file: ContractFacts, call: Invocation, rule: Rule) -> Invocation | None:
        """Return the call in the arguments that mounts other routes, such as `include(…)`, or None."""
        value = next((each for selector in rule.handler if (each := call.argument(selector))), None)
        inner = file.calls.get(value.place) if value is not None and value.kind == "call" else None
        return inner if inner is not None and inner.name == rule.mount_call else None

    def _mount_lexical(self, file: ContractFacts, call: Invocation, rule: Rule, mounted: Invocation) -> None:
        prefix = next(
            (
                text
                for each in rule.path
                if (text := self.values.text(file, call.argument(each), call.start)) is not None
            ),
            "",
        )
        prefix = from_regex(prefix) if rule.regex else prefix
        parent = self.container(file, call.start, RouterKey(file.path, "call", call.end))
        self._node(RouterKey(file.path, "call", call.end)).parents.append((parent, prefix, True))
        for value in mounted.arguments[:1]:
            inner = value.parts[0] if value.kind == "list" and value.parts else value
            for child in self._children(file, inner, call.start):
                self._node(child).parents.append((parent, prefix, True))

    def _mount_call(self, file: ContractFacts, call: Invocation, rule: Rule) -> None:
        prefix, is_known = self._prefix(file, call, rule)
        own = RouterKey(file.path, "call", call.end)
        parent = self.receiver(file, call) if call.on is not None else None
        if parent is None and self.framework.lexical:
            parent = self.container(file, call.start, own)
        if own in self.nodes:
            self.nodes[own].parents.append((parent, prefix, is_known))
        values = [value for selector in rule.child if (value := call.argument(selector)) and value.kind != "text"]
        for value in values:
            if self._is_block(file, value):
                self._node(own).parents.append((parent, prefix, is_known))
                return
            children = self._children(file, value, call.start)
            for child in children:
                if child != parent:
                    self._node(child).parents.append((parent, prefix, is_known))
            if children:
                return

    def _children(self, file: ContractFacts, value: Expression, offset: int) -> list[RouterKey]:
        """Return the routers in an argument of a call that mounts routers."""
        if value.kind == "list":
            return [key for part in value.parts for key in self._children(file, part, offset)]
        if value.kind == "function":
            return [self._parameter_key(file, file.functions[value.place])] if value.place in file.functions else []
        if value.kind == "text":
            return [RouterKey(path, "module", 0) for path in self.names.module_files(file, value.text)]
        found = self.resolve(file, value, offset)
        if found is not None:
            return [found]
        if value.kind == "name":
            if known := self.names.function(file, value.text):
                return [self._function_key(*known)]
            if lists := self._lists(file, value.text):
                return lists
        if value.kind == "call" and (call := file.calls.get(value.place)):  # for example `fp(plugin)`
            return [
                key
                for each in call.arguments[:1]
                if each.kind in ("name", "function")
                for key in self._children(file, each, offset)
            ]
        return []

    def _lists(self, file: ContractFacts, name: str) -> list[RouterKey]:
        """Return the list of routes, or else the imported modules, to which a name refers."""
        if found := self.names.assignment(file, name):
            target, assigned = found
            return [RouterKey(target.path, "list", assigned.start)] if assigned.value.kind in ("list", "join") else []
        return [
            RouterKey(path, "module", 0) for path, rest in self.names.imported(file, name.partition(".")[0]) if not rest
        ]

    def _function_key(self, file: ContractFacts, function: CodeDefinition) -> RouterKey:
        if (file.path, function.id) in self._annotated:
            return RouterKey(file.path, "annotated", function.id)
        return self._parameter_key(file, function)

    def _parameter_key(self, file: ContractFacts, function: CodeDefinition) -> RouterKey:
        typed = [number for number, (_, kind) in enumerate(function.parameters) if self._is_router_type(kind)]
        return RouterKey(file.path, f"parameter{typed[0] if typed else 0}", function.id)

    def _is_router_type(self, kind: str) -> bool:
        plain = kind.lstrip("*& ").removeprefix("mut ").partition("<")[0].strip("*& ")
        return bool(plain) and (plain in self.framework.types or plain.rpartition(".")[2] in self.framework.types)

    def _is_block(self, file: ContractFacts, value: Expression) -> bool:
        """Whether an argument of a mount call is a function without parameters, which uses the enclosing router."""
        function = file.functions.get(value.place) if value.kind == "function" else None
        return function is not None and not function.parameters and not self.framework.lexical

    # --- resolution of expressions to routers

    def receiver(self, file: ContractFacts, call: Invocation) -> RouterKey | None:
        """Return the router on which a call was made, or None if it is unknown.

        Inside a mounted function without parameters, it is the group: `m.Group("/users", func() { m.Get("/") })`.
        """
        return self._at(file, call.on, call) if call.on is not None else None

    def _at(self, file: ContractFacts, value: Expression, call: Invocation) -> RouterKey | None:
        """Return the router to which an expression in a call refers, or the group that encloses the call."""
        found = self.resolve(file, value, call.start)
        around = [row for row in self._blocks.get(file.path, ()) if row[0] < call.start and call.end < row[1]]
        if not around or (found is not None and found.kind == "call" and around[-1][0] < found.number):
            return found
        return min(around, key=lambda row: row[1] - row[0])[2]

    def container(self, file: ContractFacts, offset: int, without: RouterKey | None = None) -> RouterKey:
        """Return the innermost mount call, resource or list of routes that encloses a byte offset."""
        around = [row for row in self._containers.get(file.path, ()) if row[0] <= offset < row[1] and row[2] != without]
        return min(around, key=lambda row: row[1] - row[0])[2] if around else RouterKey(file.path, "module", 0)

    def resolve(self, file: ContractFacts, value: Expression, offset: int, steps: int = 0) -> RouterKey | None:
        """Return the router to which an expression refers, or None if it is unknown."""
        if steps > _MAX_RESOLUTION_STEPS:
            return None
        key = (file.path, value.text, offset if value.kind == "name" else value.place)
        if key in self._resolved:
            return self._resolved[key]
        found = None
        if value.kind == "name":
            found = self._resolve_name(file, value.text, offset, steps)
        elif value.kind == "call":
            found = self._resolve_call(file, file.calls.get(value.place), steps)
        if found is not None or self._is_complete:
            self._resolved[key] = found
        return found

    def _resolve_call(self, file: ContractFacts, call: Invocation | None, steps: int) -> RouterKey | None:
        while call is not None:
            key = RouterKey(file.path, "call", call.end)
            if key in self.nodes and self.nodes[key].is_created:
                return key
            if call.on is None or call.on.kind == "name":
                known = self.names.function(file, call.full_name)
                if known and (returned := self._returned(*known)):
                    return returned
                if call.on is None:
                    return None
                return self.resolve(file, call.on, call.start, steps + 1)
            call = file.calls.get(call.on.place) if call.on.kind == "call" else None
        return None

    def _returned(self, file: ContractFacts, function: CodeDefinition) -> RouterKey | None:
        """Return the first router that a function creates, which it probably returns."""
        calls = [call for call in self._created.get(file.path, ()) if function.id <= call.start < function.end]
        own = [call for call in calls if call.on is None or call.on.kind == "name"]
        return RouterKey(file.path, "call", min(own, key=lambda call: call.start).end) if own else None

    def _resolve_name(self, file: ContractFacts, name: str, offset: int, steps: int) -> RouterKey | None:
        for scope in file.scopes(offset):
            own = [
                each for each in file.assigned(name) if each.scope == scope.id and not each.start <= offset < each.end
            ]
            before = [each for each in own if each.start < offset]
            for each in [*reversed(before), *own]:
                if found := self.resolve(file, each.value, each.start, steps + 1):
                    return found
            for number, (parameter, kind) in enumerate(scope.parameters):
                if parameter == name:
                    return self._parameter(file, scope, number, kind)
        for each in file.assigned(name):
            if each.start <= offset < each.end:
                continue
            if (not each.scope or "." in name) and (found := self.resolve(file, each.value, each.start, steps + 1)):
                return found
        return self._resolve_import(file, name, offset, steps)

    def _resolve_import(self, file: ContractFacts, name: str, offset: int, steps: int) -> RouterKey | None:
        if known := self.names.assignment(file, name):
            target, assigned = known
            if target is not file and (found := self.resolve(target, assigned.value, assigned.start, steps + 1)):
                return found
        head, _, last = name.rpartition(".")
        if head and last in _LAST_ATTRIBUTES:
            return self._resolve_name(file, head, offset, steps + 1)
        return None

    def _parameter(self, file: ContractFacts, function: CodeDefinition, number: int, kind: str) -> RouterKey | None:
        """Return the router key of a parameter if its type, a mount or a caller shows that it is a router."""
        key = RouterKey(file.path, f"parameter{number}", function.id)
        if key not in self._bound:
            self._bound[key] = None
            self._bind(file, function, number, key)
        return key if key in self.nodes or self._is_router_type(kind) else None

    def _bind(self, file: ContractFacts, function: CodeDefinition, number: int, key: RouterKey) -> None:
        """Record the routers that callers pass to a parameter as the parents of the parameter's router."""
        name = function.name.rpartition(".")[2]
        for caller, call in self._calls_by_name.get(name, ())[:_MAX_CALLS_SEARCHED] if name else ():
            value = call.argument(number)
            if (
                value is None
                or value.kind not in ("name", "call")
                or (caller is file and function.id <= call.start < function.end)
            ):
                continue
            known = self.names.function(caller, call.full_name)
            is_method = bool(function.container) and call.on is not None  # the call may go through an interface
            is_same = known[0] is file and known[1].id == function.id if known else is_method
            if is_same and caller.language == file.language and (parent := self._at(caller, value, call)):
                self._node(key).parents.append((parent, "", True))

    # --- path prefixes of routers

    def prefixes(self, key: RouterKey | None, seen: frozenset[RouterKey] = frozenset()) -> list[Prefix]:
        """Return the full path prefixes of a router, one for each place where the router is mounted."""
        if key is None or key in seen or len(seen) > _MAX_RESOLUTION_STEPS:
            return [Prefix("", key is None)]
        node = self.nodes.get(key)
        if node is None:
            return [Prefix("", key.kind != "annotated" and not key.kind.startswith("parameter"))]
        if not node.parents:
            is_known = node.is_known and not node.needs_mount and not key.kind.startswith("parameter")
            return [Prefix(node.prefix, is_known)]
        found: dict[Prefix, None] = {}
        for parent, prefix, is_known in node.parents[:_MAX_MOUNTS_PER_ROUTER]:
            for outer in self.prefixes(parent, seen | {key}):
                found[
                    Prefix(_extend(outer.path, prefix, node.prefix), outer.certain and is_known and node.is_known)
                ] = None
        return list(found)[:_MAX_MOUNTS_PER_ROUTER]


def _extend(outer_prefix: str, mount_prefix: str, own_prefix: str) -> str:
    if mount_prefix.startswith(PARENT):
        return join_paths(outer_prefix.rpartition("/")[0], mount_prefix.removeprefix(PARENT), own_prefix)
    return join_paths(outer_prefix, mount_prefix, own_prefix)
