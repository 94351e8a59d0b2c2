"""gRPC services that `.proto` files declare, the methods that implement them, and calls of their generated clients."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.facts import CodeDefinition, ContractFacts
from deltos.linear_regex import compile_regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.federation.contracts.facts import Expression, Invocation

_LANGUAGE = "protobuf"
_DECLARATION = r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|\bservice\s+(\w+)\s*\{|\brpc\s+(\w+)\s*\(|[{}]'
_BLOCK_COMMENT_START, _BLOCK_COMMENT_END = b"/*", b"*/"
_WORD = re.compile(r"\w+")
_BASE_CLASS = re.compile(r"^(\w+?)(?:Servicer|CoroutineImplBase|ImplBase)$")  # generated bases of server classes
_REGISTRATION = re.compile(r"^Register(\w+)Server$")
_SERVER_ENDINGS = ("Servicer", "CoroutineImplBase", "ImplBase", "Base", "Server", "Service")
_CLIENT_ENDINGS = ("Client", "Stub", "CoroutineStub", "Grpc", "GrpcKt")
_CALL_ENDINGS = ("", "async", "sync", "withcallback")
_MAX_ASSIGNED_VARIABLES = 5  # maximum number of variables between the creation of a server object and its registration
_MAX_NESTED_CALLS = 5  # maximum number of calls around the creation of a client
_MAX_INHERITANCE_DEPTH = 3  # maximum number of classes between a generated base class and an implementation


class RpcEndpoint(NamedTuple):
    """An implemented or called method of a service. `function` is the implementation, or None for a call."""

    service: str
    method: str
    line: int
    function: CodeDefinition | None = None
    offset: int = 0
    certain: bool = True


def proto_facts(path: str, data: bytes) -> ContractFacts:
    """Return the services of a `.proto` file as classes, and their methods as functions."""
    facts = ContractFacts(path, _LANGUAGE)
    service, depth = "", 0
    text = _without_block_comments(data)
    line, counted_to = 1, 0
    for found in compile_regex(_DECLARATION).finditer(text):
        line += text.count(b"\n", counted_to, found.start())
        counted_to = found.start()
        if name := found.group(1):
            service, depth = name.decode(), 1
            facts.classes[found.start()] = CodeDefinition(found.start(), found.end(), service, line)
        elif (name := found.group(2)) and service:
            method = CodeDefinition(found.start(), found.end(), name.decode(), line, service)
            facts.functions[found.start()] = method
        elif found.group() in (b"{", b"}") and service:
            depth += 1 if found.group() == b"{" else -1
            service = service if depth else ""
    return facts


def _without_block_comments(data: bytes) -> bytes:
    """Replace block comments by their line breaks, so that line numbers stay the same."""
    kept, position = [], 0
    while (start := data.find(_BLOCK_COMMENT_START, position)) >= 0:
        end = data.find(_BLOCK_COMMENT_END, start + 2)
        end = len(data) if end < 0 else end + 2
        kept += [data[position:start], b"\n" * data.count(b"\n", start, end)]
        position = end
    return b"".join((*kept, data[position:]))


class RpcServices:
    """The services of a project's `.proto` files, with the methods of each."""

    def __init__(self, files: Sequence[ContractFacts]) -> None:
        self._code = [file for file in files if file.language != _LANGUAGE]
        self._methods: dict[str, dict[str, str]] = defaultdict(dict)  # method names by service and normalized name
        for file in files:
            for each in file.functions.values() if file.language == _LANGUAGE else ():
                self._methods[each.container][_normalize_name(each.name)] = each.name
        self._method_names = {name for methods in self._methods.values() for name in methods}
        self._clients = self._assigned_clients() if self._methods else {}

    # --- servers

    def implementations(self) -> Iterator[tuple[ContractFacts, RpcEndpoint]]:
        """Yield the methods that implement a service.

        A service without `.proto` file is recognised by its generated base class; its endpoints are not certain.
        """
        owners = self._owners()
        for file in self._code:
            for function in file.functions.values():
                owner = function.container.lstrip("*& ")
                for service in sorted(owners.get((_folder(file), owner), owners.get(("", owner), ()))):
                    if endpoint := self._implementation(service, owner, function):
                        yield file, endpoint
            yield from ((file, each) for each in self._added_services(file))

    def _implementation(self, service: str, owner: str, function: CodeDefinition) -> RpcEndpoint | None:
        known = self._methods.get(service)
        method = known.get(_normalize_name(function.name)) if known is not None else function.name
        if not method or function.name.startswith("_") or function.name == owner:
            return None
        return RpcEndpoint(service, method, function.line, function, certain=known is not None)

    def _owners(self) -> dict[tuple[str, str], set[str]]:
        """Return the services that each class implements, by the folder and name of the class.

        The folder is empty if a call such as `RegisterOrdersServer` mentions a class of another package.
        """
        owners: dict[tuple[str, str], set[str]] = defaultdict(set)
        for file in self._code:
            for each in file.classes.values():
                for base in each.bases:
                    owners[_folder(file), each.name] |= self._services_of_bases(base)
            for call in file.calls.values():
                registered = _REGISTRATION.match(call.name) if len(call.arguments) > 1 else None
                if registered:
                    name = _type_name(file, call, call.arguments[1])
                    package, _, last = name.rpartition(".")
                    owners["" if package else _folder(file), last].add(registered[1])
        self._inherit(owners)
        return owners

    def _inherit(self, owners: dict[tuple[str, str], set[str]]) -> None:
        """Add the services of base classes in the same folder to their subclasses."""
        for _ in range(_MAX_INHERITANCE_DEPTH):
            for file in self._code:
                for each in file.classes.values():
                    for word in (word for base in each.bases for word in _WORD.findall(base)):
                        owners[_folder(file), each.name] |= owners.get((_folder(file), word), set())

    def _services_of_bases(self, bases: str) -> set[str]:
        """Return the services whose generated classes are among the bases of a class."""
        words = _WORD.findall(bases)
        known = {service for word in words for service in self._named(word, _SERVER_ENDINGS)}
        return known or {found[1] for word in words if (found := _BASE_CLASS.match(word))}

    def _named(self, word: str, endings: Sequence[str]) -> list[str]:
        """Return the known services that a generated name refers to, such as `OrdersServicer` or `NewOrdersClient`."""
        names = {word, word.removeprefix("New")}
        names |= {name.removesuffix(ending) for name in set(names) for ending in endings if name.endswith(ending)}
        return [name for name in names if name in self._methods]

    def _added_services(self, file: ContractFacts) -> Iterator[RpcEndpoint]:
        """Yield the handlers in `server.addService(package.Orders.service, { create: create })` of JavaScript."""
        for call in file.calls.values():
            if call.name != "addService" or len(call.arguments) < 2 or call.arguments[1].kind != "map":
                continue
            words = _WORD.findall(call.arguments[0].text)
            for service in dict.fromkeys(name for word in words for name in self._named(word, _SERVER_ENDINGS)):
                for key, value in call.arguments[1].keywords:
                    if method := self._methods[service].get(_normalize_name(key)):
                        function = _function_of(file, value)
                        yield RpcEndpoint(service, method, function.line if function else call.line, function)

    # --- clients

    def client_calls(self) -> Iterator[tuple[ContractFacts, RpcEndpoint]]:
        """Yield the calls of methods of generated clients."""
        for file in self._code:
            for call in file.calls.values():
                names = self._called_methods(call.name)
                for service in self._service_of_receiver(file, call) if names else ():
                    methods = [self._methods[service][name] for name in names if name in self._methods[service]]
                    if methods:
                        yield file, RpcEndpoint(service, methods[0], call.line, offset=call.start)
                        break

    def _assigned_clients(self) -> dict[tuple[str, str], list[str]]:
        """Return the services of the first client that is assigned to a name, by file and by folder of the file."""
        found: dict[tuple[str, str], list[str]] = {}
        for file in self._code:
            for each in file.assignments:
                if services := self._created_services(file, each.value, _MAX_NESTED_CALLS):
                    for place in (file.path, _folder(file)):
                        found.setdefault((place, _last(each.name)), services)
        return found

    def _called_methods(self, name: str) -> list[str]:
        """Return the normalized service methods that a client function may call: `create` for `CreateAsync`."""
        plain = _normalize_name(name)
        names = [plain.removesuffix(ending) for ending in _CALL_ENDINGS if plain.endswith(ending)]
        return [each for each in names if each in self._method_names]

    def _service_of_receiver(self, file: ContractFacts, call: Invocation) -> list[str]:
        """Return the services whose client may be the receiver of a call.

        A name with a dot, such as `self.client`, may be assigned in another file of the folder.
        """
        created = file.calls.get(call.on.place) if call.on is not None and call.on.kind == "call" else None
        if created is not None:
            return self._client_services(created.full_name)
        last = _last(call.receiver)
        if found := self._clients.get((file.path, last)):
            return found
        if "." in call.receiver and (found := self._clients.get((_folder(file), last))):
            return found
        owners = (*file.scopes(call.start), *file.classes.values()) if last else ()
        types = [kind for each in owners for name, kind in each.parameters if name == last]
        return [service for kind in types for service in self._client_services(kind)]

    def _created_services(self, file: ContractFacts, value: Expression, steps: int) -> list[str]:
        """Return the services whose client an expression creates, possibly through a chain of calls."""
        call = file.calls.get(value.place) if value.kind == "call" else None
        if call is None or not steps:
            return []
        if found := self._client_services(call.full_name):
            return found
        inner = [call.on, *call.arguments]
        return next((found for each in inner if each and (found := self._created_services(file, each, steps - 1))), [])

    def _client_services(self, text: str) -> list[str]:
        """Return the services that a dotted name of a generated client refers to."""
        return [service for word in _WORD.findall(text) for service in self._named(word, _CLIENT_ENDINGS)]


def _normalize_name(name: str) -> str:
    """Normalize a method name, so that `GetQuote`, `getQuote` and `get_quote` are equal."""
    return name.replace("_", "").lower()


def _last(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rpartition(".")[2]


def _folder(file: ContractFacts) -> str:
    return PurePosixPath(file.path).parent.as_posix()


def _type_name(file: ContractFacts, call: Invocation, value: Expression) -> str:
    """Return the type name of an argument such as `&orders{}` or `newOrders()`, or of a variable with such a value."""
    for _ in range(_MAX_ASSIGNED_VARIABLES):
        values = [each.value for each in file.assigned(value.text) if each.start < call.start] if value.text else []
        if value.kind != "name" or not values:
            break
        value = values[-1]
    created = file.calls.get(value.place) if value.kind == "call" else None
    if created is None:
        return value.text
    if created.name == "new" and created.arguments:
        return created.arguments[0].text
    constructed = created.name.removeprefix("New").removeprefix("new")
    return f"{created.receiver}.{constructed}" if created.receiver else constructed


def _function_of(file: ContractFacts, value: Expression) -> CodeDefinition | None:
    """Return the function that an expression defines, or names in the same file, or None."""
    if value.kind == "function":
        return file.functions.get(value.place)
    if value.kind == "call" and (call := file.calls.get(value.place)) is not None and call.name == "bind":
        name = _last(call.receiver)
    else:
        name = _last(value.text) if value.kind == "name" else ""
    return next((each for each in file.functions.values() if name and each.name == name), None)
