"""Calls of functions that pass their parameters to a client: `get = (url) => axios.get(BASE + url)`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Invocation
    from deltos.federation.contracts.names import ContractNames
    from deltos.federation.contracts.values import Values

MAX_WRAPPERS = 3  # functions between a client and the call that has the path
MAX_WRAPPER_CALLS = 1_000  # calls of functions with the same name that are resolved


class WrapperCall(NamedTuple):
    """A call of a wrapper. `used` are the positions of the parameters that are parts of the request."""

    file: ContractFacts
    call: Invocation
    wrapper: tuple[str, int]  # file and id of the function
    parameters: tuple[tuple[str, str], ...]
    used: frozenset[int]


class WrapperFinder:
    """Finds the calls of wrappers and binds their arguments to parameters."""

    def __init__(self, files: Iterable[ContractFacts], names: ContractNames, values: Values) -> None:
        self._names = names
        self._values = values
        self._calls: dict[str, list[tuple[ContractFacts, Invocation]]] = defaultdict(list)
        for file in files:
            for call in file.calls.values():
                self._calls[call.name].append((file, call))

    def unbound(self) -> dict[tuple[str, int, int], CodeDefinition]:
        """Return the parameters without value that were used since the last `bind`."""
        used, bound = self._values.parameters, self._values.bindings
        return {key: scope for key, scope in used.items() if key not in bound and scope.name}

    def calls(self, parameters: dict[tuple[str, int, int], CodeDefinition]) -> Iterator[WrapperCall]:
        """Yield the calls of the functions that have these parameters."""
        for path, function in dict.fromkeys((path, number) for path, number, _ in parameters):
            used = frozenset(at for one, number, at in parameters if (one, number) == (path, function))
            scope = next(scope for key, scope in parameters.items() if key[:2] == (path, function))
            for file, call in self._calls.get(scope.name, ())[:MAX_WRAPPER_CALLS]:
                known = self._names.function(file, call.full_name)
                is_same = known is not None and known[0].path == path and known[1].id == function
                if is_same and self._may_be_receiver(file, call, path, scope.container):
                    yield WrapperCall(file, call, (path, function), scope.parameters, used)

    def _may_be_receiver(self, file: ContractFacts, call: Invocation, path: str, container: str) -> bool:
        """Whether a call can be one of a member: its receiver is imported from the file, or has a similar name."""
        head, last = call.receiver.partition(".")[0], call.receiver.rpartition(".")[2].lower()
        if not container or last in ("", "self"):
            return True
        is_similar = last in container.lower() or container.lower() in last
        return is_similar or any(target == path for target, _ in self._names.imported(file, head))

    def bind(self, calls: tuple[WrapperCall, ...]) -> bool:
        """Set the values of the parameters along a chain of calls, inner calls first; return whether one is a path."""
        self._values.bindings = {}
        self._values.parameters = {}
        for each in reversed(calls):
            for number in each.used:
                value = each.call.argument(number)
                value = value if value is not None else each.call.keyword(each.parameters[number][0])
                text = "" if value is None else self._values.part(each.file, value, each.call.start)
                self._values.bindings[(*each.wrapper, number)] = text
        last = calls[-1] if calls else None
        return last is not None and any("/" in self._values.bindings[(*last.wrapper, at)] for at in last.used)
