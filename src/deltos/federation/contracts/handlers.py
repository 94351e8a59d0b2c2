"""Find the functions that handle routes, and the functions that contain client calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from deltos.federation.contracts.conventions import HTTP_METHODS
from deltos.federation.contracts.frameworks import base_actions
from deltos.federation.contracts.model import CodePlace
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Expression, Invocation
    from deltos.federation.contracts.names import ContractNames

Definitions = Callable[[str], Sequence[Symbol]]
"""Returns the definitions of a name in the graph."""

_MAX_CALLS_AROUND_HANDLER = 4  # maximum number of nested calls around a handler, such as `asyncHandler(fn)`
_MAX_BASE_CLASSES_SEARCHED = 20  # maximum number of classes searched for an inherited action


class HandlerFinder:
    """Finds the definitions of handlers in parsed files or in the code graph."""

    def __init__(self, names: ContractNames, definitions: Definitions) -> None:
        self._names = names
        self._definitions = definitions

    def of(
        self, file: ContractFacts, value: Expression | None, call: Invocation, controller: str = ""
    ) -> tuple[str, CodePlace | None]:
        """Return the name and the source location of the function to which a handler expression refers."""
        outer = ""
        for _ in range(_MAX_CALLS_AROUND_HANDLER):
            if value is None or value.kind != "call" or (inner := file.calls.get(value.place)) is None:
                break
            outer = outer or inner.full_name
            if inner.name in ("as_view", "view", "bind") and inner.on is not None:
                value = inner.on
            else:
                value = next((each for each in inner.arguments if each.kind in ("name", "function", "call")), None)
        if value is None or value.kind == "call":
            return outer, None
        if value.kind == "function":
            inline = file.functions.get(value.place)
            return "inline function", CodePlace(file.path, inline.line if inline else call.line)
        return self._find_by_name(file, self._handler_name(value, controller))

    def _handler_name(self, value: Expression, controller: str) -> str:
        if value.kind == "list" and len(value.parts) == 2:
            return f"{value.parts[0].text.removesuffix('.class')}.{value.parts[1].text}"
        text = value.text.removesuffix(".class")
        if "#" in text:
            name, _, action = text.partition("#")
            return f"{_controller_name(name)}.{action}"
        if "@" in text:
            return text.replace("@", ".").replace("\\", ".")
        return f"{controller}.{text}" if controller and value.kind == "text" else text

    def action(
        self, file: ContractFacts, value: Expression | None, resource: str, action: str, call: Invocation
    ) -> tuple[str, CodePlace | None]:
        """Return the name and the source location of the function that handles an action of a REST resource."""
        if resource:
            named = call.keyword("controller")
            plural = resource if resource.endswith("s") or call.name != "resource" else f"{resource}s"
            owner = _controller_name(named.text if named is not None and named.text else plural)
        else:
            owner = value.text.removesuffix(".class") if value is not None else ""
        name, at = self._find_by_name(file, f"{owner}.{action}")
        return (
            (name, at)
            if at is not None or resource
            else self._find_by_name(file, owner)
            if call.name == "register"
            else (name, at)
        )

    def may_have(self, file: ContractFacts, value: Expression, action: str) -> bool:
        """Whether a view class defines or may inherit an action."""
        known = self._names.type(file, value.text)
        owners = [known, *self.bases(*known)] if known is not None else []
        texts: list[str] = []
        for target, owner in owners:
            if any(each.container == owner.name and each.name == action for each in target.functions.values()):
                return True
            texts += _base_names(owner)
        actions = [each for text in texts for name, each in base_actions().items() if text.rpartition(".")[2] == name]
        return not actions or any(action in each for each in actions)

    def class_methods(self, file: ContractFacts, value: Expression | None) -> list[tuple[str, str, CodePlace]]:
        """Return the HTTP methods of a view class or `Class.as_view(…)`, each with its function and place."""
        call = file.calls.get(value.place) if value is not None and value.kind == "call" else None
        name = call.receiver if call is not None and call.name == "as_view" else value.text if value is not None else ""
        known = self._names.type(file, name) if name else None
        return self.methods_of(*known) if known is not None else []

    def methods_of(self, file: ContractFacts, owner: CodeDefinition) -> list[tuple[str, str, CodePlace]]:
        """Return the HTTP methods for which a class or one of its base classes has a function."""
        found: dict[str, tuple[str, str, CodePlace]] = {}
        for source, each in [(file, owner), *self.bases(file, owner)]:
            for function in source.functions.values():
                method = function.name.upper()
                if each.id <= function.id < each.end and function.name.islower() and method in HTTP_METHODS:
                    found.setdefault(method, (method, function.label, CodePlace(source.path, function.line)))
        return list(found.values())

    def bases(self, file: ContractFacts, owner: CodeDefinition) -> Iterator[tuple[ContractFacts, CodeDefinition]]:
        """Yield the base classes of a class that are defined in parsed files, each with its file."""
        pending, seen = [(file, name) for name in _base_names(owner)], 0
        while pending and seen < _MAX_BASE_CLASSES_SEARCHED:
            seen += 1
            known = self._names.type(*pending.pop())
            if known is not None:
                yield known
                pending += [(known[0], name) for name in _base_names(known[1])]

    def _find_by_name(self, file: ContractFacts, name: str) -> tuple[str, CodePlace | None]:
        if not name:
            return "", None
        if found := self._names.function(file, name):
            return found[1].label, CodePlace(found[0].path, found[1].line)
        if known := self._names.type(file, name):
            return known[1].name, CodePlace(known[0].path, known[1].line)
        last = name.rpartition(".")[2]
        rows = [row for row in self._definitions(last) if row.kind != "variable"]
        owner = name.rpartition(".")[0].rpartition(".")[2]
        owned = [row for row in rows if owner and row.label.endswith(f"{owner}.{last}")]
        rows = owned or ([] if owner[:1].isupper() else rows)
        imported = {path for path, _ in self._names.imported(file, name.partition(".")[0])}
        rows = [row for row in rows if row.path in imported] or rows
        if len(rows) == 1 or owned:
            return rows[0].label, CodePlace(rows[0].path, rows[0].line)
        return name, None

    def around(self, file: ContractFacts, offset: int) -> str:
        """Return the name of the function that encloses a byte offset, or an empty string."""
        for each in file.scopes(offset):
            if each.name:
                return each.label
        return ""


def _base_names(owner: CodeDefinition) -> list[str]:
    """Return the names of the base classes of a class, without type arguments and constructor calls."""
    texts = (part.strip(" :") for base in owner.bases for part in base.split(","))
    return [name for text in texts if (name := text.partition("<")[0].partition("(")[0].strip())]


def _controller_name(resource: str) -> str:
    """Return the name of the Rails controller of a resource: `order_items` becomes `OrderItemsController`."""
    last = resource.rpartition("/")[2]
    return "".join(part.capitalize() for part in last.split("_")) + "Controller"
