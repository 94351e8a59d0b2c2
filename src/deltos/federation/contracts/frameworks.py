"""Loader of `frameworks.toml`, which describes how web frameworks declare routes and how HTTP clients call them."""

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
Role = Literal[
    "create", "group", "route", "mount", "class", "global", "resources", "file", "service", "map", "rpc_server",
    "rpc_client",
]  # fmt: skip


@cache
def _compiled(pattern: str) -> re.Pattern[bytes]:
    return compile_regex(pattern)


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """One way in which a framework creates, mounts or extends routers, or declares routes."""

    role: Role
    calls: tuple[str, ...] = ()
    methods: dict[str, str] = field(default_factory=dict)  # HTTP method by name of the call
    annotations: bool = False
    path: tuple[Selector, ...] = ()
    prefix: tuple[Selector, ...] = ()
    child: tuple[Selector, ...] = ()
    handler: tuple[Selector, ...] = ()
    methods_from: tuple[Selector, ...] = ()  # arguments that contain the HTTP methods
    default: str = ""  # HTTP method of a route that names no method
    min_arguments: int = 0
    any_receiver: bool = False  # the call declares a route regardless of its receiver
    without_receiver: bool = False  # the call declares a route even if it is not made on a router object
    method_in_path: bool = False  # the path contains the HTTP method: "GET /orders"
    methods_in_handler: bool = False  # the handler contains the HTTP methods: `get(list).post(create)`
    # The handler may be a class with one function per HTTP method, and all paths lead to it.
    methods_in_class: bool = False
    # HTTP method by name of the previous call in the chain: `.get().uri("/orders")`.
    method_before: dict[str, str] = field(default_factory=dict)
    followed_by: str = ""  # name of the next chained call, whose arguments are the HTTP methods
    after_group: bool = False  # the path may be omitted after a group call
    mount_call: str = ""  # name of a call that mounts other routes when it is the handler, such as `include`
    regex: bool = False  # the path is a regular expression
    resources: str = ""  # name of the table of standard routes in frameworks.toml
    nested: bool = False  # a dot in a resource name means nesting: `photos.comments`
    controller: bool = False  # the handler is an action of the controller with the same name
    pair_route: bool = False  # a pair of path and handler: `get "/orders" => "orders#index"`
    chain_prefix: str = ""  # name of the call that sets a prefix: `Route::prefix('x')->group(…)`
    chain_controller: str = ""  # name of the call that sets the controller: `Route::controller(X)->group(…)`
    chained: tuple[str, ...] = ()  # the receiver is a chain of calls that begins with one of these names
    path_annotation: str = ""  # name of another annotation of the same function, which contains the path
    needs_class: bool = False  # the rule applies only to functions in a class with a `class` annotation
    mounted_by_name: bool = False  # a router mounts the annotated function by its name
    path_from_name: bool = False  # if no path is given, the function name is the path
    keeps_name: bool = False  # do not convert a function name to camel case when it is the path
    path_from_receiver: bool = False  # the receiver of the call is the path: `send_mail.delay(…)`
    in_class: str = ""  # regular expression for the name of the enclosing class
    pattern: str = ""  # regular expression for a file path, a service class or a router class, depending on the role
    base: str = ""  # prefix of routes whose path is the path of their file

    @property
    def compiled_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression `pattern`."""
        return _compiled(self.pattern)

    @property
    def class_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression for the name of the enclosing class."""
        return _compiled(self.in_class)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the calls and annotations to which the rule applies."""
        return (*self.calls, *self.methods)


class Framework(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A web framework or HTTP client.

    A project uses the framework if at least one file matches the pattern `marker`. Only files that match the pattern
    `hint` are parsed.
    """

    name: str
    languages: tuple[str, ...]
    marker: str
    hint: str
    rule: tuple[Rule, ...] = ()
    side: Literal["server", "client"] = "server"
    types: tuple[str, ...] = ()  # types of parameters that contain a router or HTTP client
    variables: str = ""  # regular expression for variables that probably contain a router or client
    lexical: bool = False  # routes belong to the enclosing mount call, not to a router object
    files: str = ""  # regular expression for paths of files that may contain routes, in addition to `hint`
    anchors: tuple[str, ...] = ()  # names of variables that contain the routes of a file
    file_prefixes: dict[str, str] = field(default_factory=dict)
    excluded_class: tuple[str, ...] = ()  # annotations of classes whose functions are not handlers
    included_class: tuple[str, ...] = ()
    module_aliases: tuple[str, ...] = ()
    generated: bool = False  # whether routes in generated files count

    @cached_property
    def marker_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression `marker`."""
        return compile_regex(self.marker)

    @cached_property
    def hint_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression `hint`."""
        return compile_regex(self.hint)

    @cached_property
    def file_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression for paths of files that may contain routes."""
        return compile_regex(self.files)

    @cached_property
    def variable_pattern(self) -> re.Pattern[bytes]:
        """Compiled regular expression for names of variables that probably contain a router or client."""
        return compile_regex(rf"^(?:{self.variables})$" if self.variables else r"[^\s\S]")

    @cached_property
    def _by_name(self) -> dict[str, list[Rule]]:
        rules: dict[str, list[Rule]] = {}
        for rule in self.rule:
            for name in rule.names:
                rules.setdefault(name, []).append(rule)
        return rules

    @cached_property
    def _create_patterns(self) -> list[Rule]:
        return [rule for rule in self.rule if rule.role == "create" and rule.pattern]

    def rules_for(self, call: Invocation, *, annotation: bool = False) -> list[Rule]:
        """Return the rules that apply to a call or annotation. Rules may contain its name with or without receiver."""
        found = [*self._by_name.get(call.full_name, ()), *self._by_name.get(call.name, ())]
        found += [each for each in self._create_patterns if each.compiled_pattern.search(call.name.encode())]
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
    """Return all known web frameworks and HTTP clients."""
    return _table().framework


def resource_routes(name: str) -> list[tuple[str, str, str]]:
    """Return the method, path and action of each standard route of a REST resource."""
    rows = [row.split(" ") for row in _table().resources[name]]
    return [(row[0], row[1], row[2]) for row in rows]


def base_actions() -> dict[str, tuple[str, ...]]:
    """Return the actions that base classes of Django REST framework define, by class."""
    return _table().base_actions
