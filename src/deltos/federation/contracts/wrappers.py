"""Calls of wrappers, which pass parameters to an HTTP client: `get = (url) => axios.get(BASE + url)`."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.facts import OBJECT_PROPERTY
from deltos.federation.contracts.frameworks import frameworks
from deltos.federation.contracts.paths import has_literal_word, url_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Invocation
    from deltos.federation.contracts.frameworks import Framework
    from deltos.federation.contracts.names import ContractNames
    from deltos.federation.contracts.values import Values

MAX_WRAPPERS = 3  # maximum number of wrappers between an HTTP client and the call that contains the path
MAX_WRAPPER_CALLS = 1_000  # maximum number of resolved calls per function name
MAX_WRAPPER_NAMES = 500  # if there are more wrappers or modules, files are not selected by their names
MAX_NAME_CHARACTERS = 100  # longer names of wrappers and modules are ignored, so that the patterns stay small
_FOLDER_MODULES = frozenset({"index", "__init__", "mod"})  # files that are imported by the name of their folder


class WrapperCall(NamedTuple):
    """A call of a wrapper function. `used` contains the positions of the parameters that the request uses."""

    file: ContractFacts
    call: Invocation
    wrapper: tuple[str, int]  # file and id of the wrapper function
    parameters: tuple[tuple[str, str], ...]
    used: frozenset[int]


def wrapper_pattern(files: Iterable[ContractFacts]) -> tuple[str, str] | None:
    """Return regular expressions for the names of wrappers and of the files that define them, or None without wrappers.

    Files that match both may call a wrapper, even if they contain no call of an HTTP client.
    """
    functions: set[str] = set()
    stems: set[str] = set()
    all_files = list(files)
    for _ in range(MAX_WRAPPERS):
        for file in all_files:
            clients = _clients(file.language)
            for call in file.calls.values():
                if call.name in functions or any(framework.rules_for(call) for framework in clients):
                    found = {scope.name for scope in _functions_that_pass_parameters(file, call)}
                    functions |= found
                    stems |= {_module_name(file.path)} if found else set()
    names = sorted(name for name in functions if name.isidentifier() and len(name) <= MAX_NAME_CHARACTERS)
    modules = sorted(name for name in stems if 0 < len(name) <= MAX_NAME_CHARACTERS)
    if not names or not modules:
        return None
    return _any_word(names), _any_word(modules)


def _any_word(words: Sequence[str]) -> str:
    """Return a regular expression for any of the words, or one that matches every file if there are too many words."""
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b" if len(words) <= MAX_WRAPPER_NAMES else ""


def _module_name(path: str) -> str:
    """Return the name under which a file is imported."""
    file = PurePosixPath(path)
    return file.parent.name if file.stem in _FOLDER_MODULES else file.stem


def _clients(language: str) -> list[Framework]:
    return [each for each in frameworks() if each.side == "client" and language in each.languages]


def _functions_that_pass_parameters(file: ContractFacts, call: Invocation) -> Iterator[CodeDefinition]:
    """Yield the enclosing named functions that pass one of their parameters to a call."""
    pending = list(call.arguments)
    used = set()
    while pending:
        value = pending.pop()
        if value.kind == "name":
            used.add(value.text.partition(".")[0])
        pending += [*value.parts, *(each for _, each in value.keywords)]
    for scope in file.scopes(call.start):
        if scope.name and used.intersection(name for name, _ in scope.parameters):
            yield scope


class WrapperFinder:
    """Finds calls of wrapper functions, and assigns the passed arguments to the parameters."""

    def __init__(self, files: Iterable[ContractFacts], names: ContractNames, values: Values) -> None:
        self._names = names
        self._values = values
        self._calls: dict[str, list[tuple[ContractFacts, Invocation]]] = defaultdict(list)
        for file in files:
            for call in file.calls.values():
                self._calls[call.name].append((file, call))

    def unbound(self) -> dict[tuple[str, int, int], CodeDefinition]:
        """Return the parameters that were used since the last `bind` and have no value."""
        used, bound = self._values.parameters, self._values.bindings
        return {key: scope for key, scope in used.items() if key not in bound and scope.name}

    def calls(self, parameters: dict[tuple[str, int, int], CodeDefinition]) -> Iterator[WrapperCall]:
        """Yield the calls of the functions that have the given parameters."""
        for path, function in dict.fromkeys((path, number) for path, number, _ in parameters):
            used = frozenset(at for one, number, at in parameters if (one, number) == (path, function))
            scope = next(scope for key, scope in parameters.items() if key[:2] == (path, function))
            for file, call in self._calls.get(scope.name, ())[:MAX_WRAPPER_CALLS]:
                known = self._names.function(file, call.full_name)
                is_same = known is not None and known[0].path == path and known[1].id == function
                if is_same and self._may_be_receiver(file, call, path, scope.container):
                    yield WrapperCall(file, call, (path, function), scope.parameters, used)

    def _may_be_receiver(self, file: ContractFacts, call: Invocation, path: str, container: str) -> bool:
        """Whether a call may refer to a method of `container`, or to a function of the file if `container` is empty.

        The receiver must be imported from the file, or have a name similar to the class or the file.
        """
        head, last = call.receiver.partition(".")[0], call.receiver.rpartition(".")[2].lower()
        if last in ("", "self"):
            return True
        owner = (container or _module_name(path)).lower()
        is_similar = last in owner or owner in last
        return is_similar or any(target == path for target, _ in self._names.imported(file, head))

    def bind(self, calls: tuple[WrapperCall, ...]) -> bool:
        """Assign the arguments of nested wrapper calls to parameters, inner calls first.

        Return whether an argument of the outermost wrapper call is a text, which may be a path.
        """
        self._values.bindings = {}
        self._values.parameters = {}
        for each in reversed(calls):
            for number in each.used:
                name, kind = each.parameters[number]
                value = None if kind == OBJECT_PROPERTY else each.call.argument(number)
                value = value if value is not None else each.call.argument(name)
                text = "" if value is None else self._values.part(each.file, value, each.call.start)
                self._values.bindings[(*each.wrapper, number)] = text
        last = calls[-1] if calls else None
        texts = [self._values.bindings[(*last.wrapper, at)] for at in last.used] if last is not None else []
        return any(has_literal_word(url_path(text)[0]) for text in texts)
