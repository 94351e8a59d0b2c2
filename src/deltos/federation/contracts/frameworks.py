"""Loader of `frameworks.toml`, which describes how frameworks declare routes and how clients call them."""

from __future__ import annotations

import tomllib
from functools import cache, cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, convert, field

from deltos.linear_regex import compile_regex

if TYPE_CHECKING:
    import re

    from deltos.federation.contracts.facts import Invocation

Selector = int | str
Role = Literal["create", "group", "route", "mount", "class", "global", "resources", "file", "service", "stub", "map"]


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return compile_regex(pattern)


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a framework creates, mounts or extends routers, or declares routes."""

    role: Role
    calls: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)  # names of calls with their HTTP methods
    annotations: bool = False
    path: tuple[Selector, ...] = ()
    prefix: tuple[Selector, ...] = ()
    child: tuple[Selector, ...] = ()
    handler: tuple[Selector, ...] = ()
    methods_from: tuple[Selector, ...] = ()  # arguments that contain the HTTP methods
    default: str = ""  # HTTP method if none is given
    min_arguments: int = 0
    any_receiver: bool = False  # the call is a route of any receiver
    without_receiver: bool = False  # the call is a route even if it has no router
    method_in_path: bool = False  # "GET /orders"
    methods_in_handler: bool = False  # `get(list).post(create)`
    method_before: dict[str, str] = field(default_factory=dict)  # `.get().uri("/orders")`
    followed_by: str = ""  # the next call of the chain, which contains the HTTP methods
    after_group: bool = False  # after a group call, the path may be omitted
    mount_call: str = ""  # the rule mounts other routes if the handler is this call
    regex: bool = False  # the path is a regular expression
    resources: str = ""  # name of the table of routes
    nested: bool = False  # `photos.comments` is nested
    controller: bool = False  # the handler is an action of the controller of the same name
    pair_route: bool = False  # `get "/orders" => "orders#index"`
    chain_prefix: str = ""  # `Route::prefix('x')->group(…)`
    chain_controller: str = ""  # `Route::controller(X)->group(…)`
    chained: tuple[str, ...] = ()  # the receiver is a chain of calls that begins with one of these names
    path_annotation: str = ""  # another annotation of the function that contains the path
    needs_class: bool = False  # only functions in a class with a `class` annotation
    mounted_by_name: bool = False  # a router mounts the annotated function by its name
    path_from_name: bool = False  # without a path, the name of the function is the path
    keeps_name: bool = False  # the path is the name as it is written, not in camel case
    path_from_receiver: bool = False  # `send_mail.delay(…)`
    in_class: str = ""  # pattern of the name of the class that contains the annotated function
    pattern: str = ""  # path of a route file; base class, or name of the class, of a service; name of a stub
    base: str = ""  # prefix of the paths of route files

    @property
    def compiled_pattern(self) -> re.Pattern[bytes]:
        """The compiled pattern."""
        return _compiled(self.pattern)

    @property
    def class_pattern(self) -> re.Pattern[bytes]:
        """The compiled pattern of the class."""
        return _compiled(self.in_class)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of calls and annotations to which the rule applies."""
        return (*self.calls, *self.methods)


class Framework(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A framework or HTTP client. `marker` is in some file of each project that uses it, `hint` in each parsed file."""

    name: str
    languages: tuple[str, ...]
    marker: str
    hint: str
    rule: tuple[Rule, ...] = ()
    side: Literal["server", "client"] = "server"
    types: tuple[str, ...] = ()  # types of parameters that are routers or clients
    variables: str = ""  # names of variables that are probably routers or clients
    lexical: bool = False  # routes belong to the mount around them
    files: str = ""  # paths of files that may contain routes; with it, the hint is needed in addition
    anchors: tuple[str, ...] = ()  # variables that contain the routes of a file
    file_prefixes: dict[str, str] = field(default_factory=dict)
    excluded_class: tuple[str, ...] = ()  # annotations of classes whose functions are not handlers
    included_class: tuple[str, ...] = ()
    module_aliases: tuple[str, ...] = ()
    generated: bool = False  # also found in generated files

    @cached_property
    def marker_pattern(self) -> re.Pattern[bytes]:
        """The compiled marker."""
        return compile_regex(self.marker)

    @cached_property
    def hint_pattern(self) -> re.Pattern[bytes]:
        """The compiled hint."""
        return compile_regex(self.hint)

    @cached_property
    def file_pattern(self) -> re.Pattern[bytes]:
        """The compiled pattern of paths."""
        return compile_regex(self.files)

    @cached_property
    def variable_pattern(self) -> re.Pattern[bytes]:
        """The compiled pattern for names of variables."""
        return compile_regex(rf"^(?:{self.variables})$" if self.variables else r"[^\s\S]")

    @cached_property
    def _by_name(self) -> dict[str, list[Rule]]:
        rules: dict[str, list[Rule]] = {}
        for rule in self.rule:
            for name in rule.names:
                rules.setdefault(name, []).append(rule)
        return rules

    def rules_for(self, call: Invocation, *, annotation: bool = False) -> list[Rule]:
        """Return the rules for a call or annotation, which may be named with its receiver."""
        found = [*self._by_name.get(call.full_name, ()), *self._by_name.get(call.name, ())]
        unique = list(dict.fromkeys(map(id, found)))
        rules = [next(rule for rule in found if id(rule) == each) for each in unique]
        return [rule for rule in rules if rule.annotations == annotation or (annotation and rule.role == "class")]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    framework: tuple[Framework, ...]
    resources: dict[str, tuple[str, ...]]
    base_actions: dict[str, tuple[str, ...]]


@cache
def _table() -> _Table:
    source = (files("deltos.federation.contracts") / "frameworks.toml").read_text("utf-8")
    return convert(tomllib.loads(source), _Table)


def frameworks() -> tuple[Framework, ...]:
    """Return all frameworks and clients."""
    return _table().framework


def resource_routes(name: str) -> list[tuple[str, str, str]]:
    """Return method, path and action of the routes of a resource."""
    rows = [row.split(" ") for row in _table().resources[name]]
    return [(row[0], row[1], row[2]) for row in rows]


def base_actions() -> dict[str, tuple[str, ...]]:
    """Return the actions that base classes of Django REST framework define, by class."""
    return _table().base_actions
