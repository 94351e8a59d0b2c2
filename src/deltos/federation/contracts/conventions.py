"""Endpoints that are declared by convention: by the path of a file, by a base class, or by the keys of a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.rpc import RpcServices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Expression
    from deltos.federation.contracts.frameworks import Rule

HTTP_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT"})


class ConventionalEndpoint(NamedTuple):
    """An endpoint with the line that declares it. `function` is the handler, or None for a client call."""

    method: str
    path: str
    line: int
    function: CodeDefinition | None = None
    offset: int = 0
    certain: bool = True


def endpoints_by_convention(
    files: Sequence[ContractFacts], rule: Rule
) -> Iterator[tuple[ContractFacts, ConventionalEndpoint]]:
    """Yield the endpoints that follow the convention of a rule, each with its file."""
    if rule.role in ("rpc_server", "rpc_client"):
        services = RpcServices(files)
        rows = services.implementations() if rule.role == "rpc_server" else services.client_calls()
        for file, row in rows:
            path = f"{row.service}/{row.method}"
            yield file, ConventionalEndpoint(rule.default, path, row.line, row.function, row.offset, row.certain)
        return
    for file in files:
        if rule.role == "file":
            found = _file_routes(file, rule)
        else:
            found = _service_methods(file, rule) if rule.role == "service" else _map_members(file, rule)
        for each in found:
            yield file, each


def _match(rule: Rule, text: str) -> str | None:
    """Search a text for the pattern of a rule.

    Return the first non-empty group, an empty string if all groups are empty, or None if the pattern does not match.
    """
    found = rule.compiled_pattern.search(text.encode())
    groups = [each for each in found.groups() if each] if found else []
    return None if found is None else groups[0].decode() if groups else ""


def _file_routes(file: ContractFacts, rule: Rule) -> Iterator[ConventionalEndpoint]:
    """Yield the endpoints of a file whose path is the URL path, such as `GET` in `app/orders/[id]/route.ts`."""
    relative = _match(rule, file.path)
    if relative is None:
        return
    path = "/".join(_segment(each) for each in relative.split("/") if each != "index" and not each.startswith("("))
    path = f"{rule.base}/{path}"
    for each in file.functions.values():
        if each.name in HTTP_METHODS and not each.container:
            yield ConventionalEndpoint(each.name, path, each.line, each)
    for exported in (each.value for each in file.assignments if rule.default and each.name == "export default"):
        call = file.calls.get(exported.place) if exported.kind == "call" else None
        function = _member_function(file, exported)
        yield ConventionalEndpoint(
            rule.default, path, function.line if function else call.line if call else 1, function
        )


def _segment(text: str) -> str:
    """Convert a segment of a file path, such as `[id]`, `[...path]` or `[[slug]]`, to a path template."""
    name = text.strip("[]")
    if not text.startswith("["):
        return text
    return f"{{{name.removeprefix('...')}*}}" if name.startswith("...") else f"{{{name.partition('=')[0]}}}"


def _service_methods(file: ContractFacts, rule: Rule) -> Iterator[ConventionalEndpoint]:
    """Yield the methods of classes whose name matches the pattern of the rule."""
    for each in file.functions.values():
        owner = each.container.lstrip("*& ")
        service = _match(rule, owner) if owner else None
        if service is not None and each.name and not each.name.startswith("_") and each.name != owner:
            yield ConventionalEndpoint(rule.default, f"{service}/{each.name}", each.line, each)


def _map_members(file: ContractFacts, rule: Rule) -> Iterator[ConventionalEndpoint]:
    """Yield the functions in maps such as `const resolvers = { Query: { orders: … } }`."""
    for assigned in file.assignments:
        for name, value in ((assigned.name, assigned.value), *assigned.value.keywords):
            method = rule.methods.get(name)
            for key, member in value.keywords if method and value.kind == "map" else ():
                if function := _member_function(file, member):
                    yield ConventionalEndpoint(method or "", key, function.line, function)


def _member_function(file: ContractFacts, value: Expression) -> CodeDefinition | None:
    """Return the function that an expression defines or mentions by name, or None if it is not in the same file."""
    if value.kind == "function":
        return file.functions.get(value.place)
    return next((each for each in file.functions.values() if value.kind == "name" and each.name == value.text), None)
