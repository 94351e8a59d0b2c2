"""Endpoints found in code, and their links to operations of API descriptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

ANY_METHOD = "ANY"


@dataclass(frozen=True, slots=True)
class CodePlace:
    """A source line. `project` is the project name if there are several projects, or else empty."""

    path: str
    line: int
    project: str = ""

    def __str__(self) -> str:
        """Return `project/path:line`."""
        return f"{self.project}/{self.path}:{self.line}" if self.project else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class CodeEndpoint:
    """A route or a client call in code.

    `function` is the handler of a route, or the function that contains a client call. `at` is the line of the function
    or call, and `declared_at` the line that contains the path.
    """

    side: Literal["server", "client"]
    method: str
    path: str
    framework: str
    declared_at: CodePlace
    function: str = ""
    at: CodePlace | None = None
    certain: bool = True
    host: str = ""  # host of a client call, if it is written in the code

    @property
    def key(self) -> str:
        """Method and path, such as `GET /orders`."""
        return f"{self.method} {self.path}"

    @property
    def place(self) -> CodePlace:
        """Source line of the handler or client call."""
        return self.at or self.declared_at

    def in_project(self, name: str) -> CodeEndpoint:
        """Return a copy of the endpoint with the given project name."""
        at = replace(self.at, project=name) if self.at else None
        return replace(self, declared_at=replace(self.declared_at, project=name), at=at)


@dataclass(frozen=True, slots=True)
class DescribedOperation:
    """An operation of an indexed API description. `bases` are the base paths of its servers."""

    api: str
    method: str
    path: str
    bases: tuple[str, ...] = ()
    citation: str = ""
    hosts: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Method and path, such as `GET /orders`."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class ContractLink:
    """An endpoint that implements or calls an operation, with the rule that connects them."""

    endpoint: CodeEndpoint
    rule: str
    certain: bool


@dataclass(frozen=True, slots=True)
class Contract:
    """A method and path with the operations that describe it, the handlers and the client calls."""

    method: str
    path: str
    operations: tuple[DescribedOperation, ...] = ()
    handlers: tuple[ContractLink, ...] = ()
    calls: tuple[ContractLink, ...] = ()

    @property
    def key(self) -> str:
        """Method and path, such as `GET /orders`."""
        return f"{self.method} {self.path}"
