"""Generate an OpenAPI 3.1 description from the routes in code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.federation.contracts.model import ANY_METHOD
from deltos.federation.contracts.paths import shape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deltos.federation.contracts.model import Contract

_OPENAPI_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


def openapi_of(title: str, contracts: Iterable[Contract]) -> dict[str, Any]:
    """Return an OpenAPI document with the known methods, paths, parameters and handlers."""
    paths: dict[str, dict[str, Any]] = {}
    known: dict[tuple[str, ...], str] = {}  # paths that differ only in parameter names share the first path
    for each in contracts:
        if not each.handlers:
            continue
        own = each.handlers[0].endpoint.path
        path = known.setdefault(shape(own), own.replace("*}", "}"))
        methods = ("get",) if each.method == ANY_METHOD else (each.method.lower(),)
        for method in methods:
            if method in _OPENAPI_METHODS:
                paths.setdefault(path, {}).setdefault(method, _operation(each, path, method))
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "0", "description": "Routes that were found in the code."},
        "paths": paths,
    }


def _operation(contract: Contract, path: str, method: str) -> dict[str, Any]:
    endpoint = contract.handlers[0].endpoint
    name = endpoint.function if endpoint.at and " " not in endpoint.function else ""
    operation: dict[str, Any] = {"operationId": _operation_id(method, path)}
    if name:
        operation["summary"] = name
    operation["parameters"] = [
        {"name": each, "in": "path", "required": True, "schema": {"type": "string"}} for each in parameter_names(path)
    ]
    operation["responses"] = {"default": {"description": "Not known from the route."}}
    operation["x-handler"] = str(endpoint.place)
    operation["x-certain"] = contract.handlers[0].certain
    if contract.method == ANY_METHOD:
        operation["x-any-method"] = True
    return operation


def _operation_id(method: str, path: str) -> str:
    words = "".join(each if each.isalnum() else " " for each in path).split()
    return "_".join([method, *words])


def parameter_names(path: str) -> list[str]:
    """Return the names of the parameters of a path template."""
    parts = path.split("{")[1:]
    return list(dict.fromkeys(part.partition("}")[0] for part in parts))
