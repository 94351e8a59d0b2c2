"""Detect the routes and client calls in a project by the rules of the web frameworks that the project uses."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from deltos.federation.contracts.conventions import HTTP_METHODS, endpoints_by_convention
from deltos.federation.contracts.frameworks import frameworks, resource_routes
from deltos.federation.contracts.handlers import HandlerFinder
from deltos.federation.contracts.model import ANY_METHOD, CodeEndpoint, CodePlace
from deltos.federation.contracts.names import ContractNames
from deltos.federation.contracts.paths import (
    UNKNOWN,
    camel_case,
    from_regex,
    has_literal_word,
    join_paths,
    template,
    url_host,
    url_path,
    without_query,
    without_unknown_base,
)
from deltos.federation.contracts.routers import Prefix, RouterKey, Routers
from deltos.federation.contracts.values import Values
from deltos.federation.contracts.wrappers import MAX_WRAPPERS, WrapperFinder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from deltos.federation.contracts.facts import CodeDefinition, ContractFacts, Expression, Invocation
    from deltos.federation.contracts.frameworks import Framework, Rule
    from deltos.federation.contracts.handlers import Definitions
    from deltos.federation.contracts.wrappers import WrapperCall

_MAX_ENDPOINTS = 20_000
_NAMES_OF_ANY_METHOD = frozenset({"ALL", "*", ANY_METHOD})
_HTTP_PREFIXES = ("Method", "Http")


def find_endpoints(
    paths: Sequence[str], files: Mapping[str, ContractFacts], active: Collection[str], definitions: Definitions
) -> list[CodeEndpoint]:
    """Return the routes and client calls in the parsed files of a project.

    `paths` lists all files of the project, and `active` the names of the frameworks that the project uses.
    """
    names = ContractNames(paths, files)
    values = Values(names)
    found: dict[CodeEndpoint, None] = {}
    for framework in frameworks():
        if framework.name in active:
            own = [file for file in files.values() if file.language in framework.languages]
            finder = _EndpointFinder(framework, own, names, values, definitions)
            found |= dict.fromkeys(finder.find())
    return _drop_duplicates(found)[:_MAX_ENDPOINTS]


def _drop_duplicates(found: Collection[CodeEndpoint]) -> list[CodeEndpoint]:
    """Drop duplicate endpoints. Also drop uncertain endpoints on lines that contain a certain endpoint."""
    best: dict[tuple[str, str, str, CodePlace], CodeEndpoint] = {}
    for each in found:
        key = (each.side, each.method, each.path, each.declared_at)
        if key not in best or (each.certain and not best[key].certain):
            best[key] = each
    resolved = {(each.side, each.method, each.declared_at) for each in best.values() if each.certain}
    rows = [
        each for each in best.values() if each.certain or (each.side, each.method, each.declared_at) not in resolved
    ]
    return sorted(rows, key=lambda each: (each.declared_at.path, each.declared_at.line, each.key))


class _EndpointFinder:
    """Finds endpoints by the rules of one framework."""

    def __init__(
        self,
        framework: Framework,
        files: Sequence[ContractFacts],
        names: ContractNames,
        values: Values,
        definitions: Definitions,
    ) -> None:
        self._framework = framework
        self._files = files
        self._values = values
        self._routers = Routers(framework, files, names, values)
        self._handlers = HandlerFinder(names, definitions)
        self._wrappers = WrapperFinder(files if framework.side == "client" else (), names, values)
        self._next_calls: dict[tuple[str, int], Invocation] = {}
        for file in files:
            for call in file.calls.values():
                if call.on is not None and call.on.kind == "call":
                    self._next_calls[file.path, call.on.place] = call

    def find(self) -> Iterator[CodeEndpoint]:
        """Yield the endpoints in all files, possibly with duplicates."""
        for rule in self._framework.rule:
            if rule.role in ("file", "service", "map", "rpc_server", "rpc_client"):
                yield from self._by_convention(rule)
        for file in self._files:
            by_target: dict[int, list[Invocation]] = defaultdict(list)
            for each in file.annotations:
                by_target[each.target].append(each)
            for call in file.calls.values():
                for rule in self._framework.rules_for(call):
                    yield from self._apply(file, call, rule)
            for each in file.annotations:
                for rule in self._framework.rules_for(each, annotation=True):
                    if rule.role == "route":
                        yield from self._annotated_routes(file, each, rule, by_target)

    def _apply(self, file: ContractFacts, call: Invocation, rule: Rule) -> Iterator[CodeEndpoint]:
        if rule.role == "resources":
            yield from self._resources(file, call, rule)
        if rule.role != "route" or (not call.arguments and rule.min_arguments):
            return
        if rule.mount_call and self._routers.mounted_call(file, call, rule):
            return
        if self._framework.side == "client":
            yield from self._client_calls(file, call, rule, ())
            return
        paths = self._paths(file, call, rule) if len(call.arguments) >= rule.min_arguments else []
        router = self._router_prefixes(file, call, rule) if paths or rule.after_group else None
        if router is None:
            return
        prefixes, has_path = router
        if not paths and has_path and rule.after_group:
            paths = [""]
        handler = self._handler_value(call, rule)
        if rule.methods_in_class and (members := self._handlers.class_methods(file, handler)):
            yield from self._class_endpoints(CodePlace(file.path, call.line), paths, prefixes, members)
            return
        for path in paths:
            method, path = self._split_method(path) if rule.method_in_path else ("", path)
            for each in self._methods(file, call, rule, method, handler):
                yield from self._endpoints(
                    file, call, each[0], path, prefixes, handler if each[1] is None else each[1], rule
                )

    def _class_endpoints(
        self, declared_at: CodePlace, paths: Sequence[str], prefixes: Sequence[Prefix],
        members: Sequence[tuple[str, str, CodePlace]],
    ) -> Iterator[CodeEndpoint]:  # fmt: skip
        """Yield the routes to a class that has one function per HTTP method."""
        for path in paths:
            for prefix in prefixes:
                full = template(join_paths(prefix.path, path))
                for method, name, at in members:
                    yield CodeEndpoint(
                        "server", method, full, self._framework.name, declared_at, name, at, prefix.certain
                    )

    def _by_convention(self, rule: Rule) -> Iterator[CodeEndpoint]:
        side = self._framework.side
        for file, found in endpoints_by_convention(self._files, rule):
            place = CodePlace(file.path, found.line)
            name = found.function.label if found.function else self._handlers.around(file, found.offset)
            path = template(join_paths(found.path))
            yield CodeEndpoint(side, found.method, path, self._framework.name, place, name, place, found.certain)

    # --- client calls

    def _client_calls(
        self, file: ContractFacts, call: Invocation, rule: Rule, wrappers: tuple[WrapperCall, ...]
    ) -> Iterator[CodeEndpoint]:
        """Yield the requests that a client call sends.

        If the enclosing function is a wrapper, yield the requests of each call of the wrapper.
        """
        self._wrappers.bind(wrappers)
        paths = self._paths(file, call, rule) if len(call.arguments) >= rule.min_arguments else []
        unbound = self._wrappers.unbound()
        router = self._router_prefixes(file, call, rule) if paths or unbound else None
        if router is None:
            return
        methods = self._request_methods(file, call, rule, wrappers)
        outer_file, outer = (wrappers[-1].file, wrappers[-1].call) if wrappers else (file, call)
        own = [
            endpoint
            for path in paths
            for method, is_certain in methods
            for prefix in router[0]
            if (endpoint := self._request(outer_file, outer, method, path, prefix, is_certain=is_certain))
        ]
        found = []
        if unbound and len(wrappers) < MAX_WRAPPERS:
            for each in list(self._wrappers.calls(unbound)):
                if each.call is not outer and (not own or self._wrappers.bind((*wrappers, each))):
                    found += list(self._client_calls(file, call, rule, (*wrappers, each)))
        yield from found or own

    def _request_methods(
        self, file: ContractFacts, call: Invocation, rule: Rule, wrappers: tuple[WrapperCall, ...]
    ) -> list[tuple[str, bool]]:
        """Return the HTTP methods of a request. The flag of each method is true if the method is known."""
        names = [each for each in rule.methods_from if isinstance(each, str)]
        for at, each in ((one.file, one.call) for one in reversed(wrappers)):
            for name in names:
                if (value := self._option(at, each, name)) is not None:
                    return [(method, True) for method in self._method_names(at, value, each.start)]
        found = [method for method, _ in self._methods(file, call, rule, "", None)]
        if not found and wrappers and rule.default:  # the wrapper passes no method
            found = [rule.default]
        return [(method, True) for method in found]

    def _option(self, file: ContractFacts, call: Invocation, name: str) -> Expression | None:
        """Return the value of a named option in the arguments of a call, or None.

        Options may be inside a map, a variable that contains a map, or a call: `json({ method: "POST" })`.
        """
        if (found := call.argument(name)) is not None:
            return found
        for each in call.arguments:
            inner = file.calls.get(each.place) if each.kind == "call" else None
            if inner is not None and inner is not call and (found := inner.argument(name)) is not None:
                return found
            if each.kind == "name" and (found := self._values.member(file, each.text, name, call.start)) is not None:
                return found
        return None

    def _request(
        self, file: ContractFacts, call: Invocation, method: str, path: str, prefix: Prefix, *, is_certain: bool
    ) -> CodeEndpoint | None:
        """Return a client call as an endpoint, or None if the path has no literal word."""
        text, has_base = url_path(path)
        text, has_suffix = without_query(text)
        if not has_literal_word(text):
            return None
        full = template(join_paths("" if has_base else url_path(prefix.path)[0], text))
        place = CodePlace(file.path, call.line)
        host = url_host(path if has_base else prefix.path)
        certain = prefix.certain and is_certain and not has_suffix
        function = self._handlers.around(file, call.start)
        return CodeEndpoint("client", method, full, self._framework.name, place, function, place, certain, host)

    # --- prefixes from routers

    def _router_prefixes(self, file: ContractFacts, call: Invocation, rule: Rule) -> tuple[list[Prefix], bool] | None:
        """Return the path prefixes of the router on which a call is made, and whether the router has a path.

        Return None if the call does not declare a route.
        """
        if rule.chained and not self._begins_with(file, call, rule.chained):
            return None
        if rule.any_receiver:
            return [Prefix("", certain=True)], False
        if rule.without_receiver:
            if "." not in call.full_name and call.on is not None and not rule.chained:
                return None
            if not rule.chained and call.on is not None and call.full_name not in rule.names:
                return None
            return self._lexical_prefixes(file, call), False
        key = self._routers.receiver(file, call)
        if key is not None:
            node = self._routers.nodes.get(key)
            return self._routers.prefixes(key), node is not None and node.has_path
        written = call.receiver.removeprefix("self.")
        is_known = bool(self._framework.variable_pattern.search(call.receiver.encode())) or bool(
            written and self._framework.variable_pattern.search(written.encode())
        )
        is_module = written in self._framework.module_aliases
        return ([Prefix("", is_module)], False) if is_known and call.receiver else None

    def _begins_with(self, file: ContractFacts, call: Invocation, names: tuple[str, ...]) -> bool:
        last = next(reversed(list(self._routers.chain(file, call))), call)
        return last.receiver in names or call.receiver == "router"

    def _lexical_prefixes(self, file: ContractFacts, call: Invocation) -> list[Prefix]:
        if not self._framework.lexical:
            return [Prefix("", certain=True)]
        key = self._routers.container(file, call.start, RouterKey(file.path, "call", call.end))
        chain = [self._values.text(file, each.argument(0), each.start) or ""
                 for each in self._routers.chain(file, call) if each.name == "prefix"]  # fmt: skip
        start = next((each for end, each in self._framework.file_prefixes.items() if file.path.endswith(end)), "")
        return [
            Prefix(join_paths(start, each.path, *reversed(chain)), each.certain) for each in self._routers.prefixes(key)
        ]

    # --- paths, methods and handlers in the arguments of calls

    def _paths(self, file: ContractFacts, call: Invocation, rule: Rule) -> list[str]:
        if not rule.path:
            return [call.receiver.rpartition(".")[2] if rule.path_from_receiver else ""]
        if rule.pair_route:
            pair = next(
                (
                    key
                    for key, value in call.keywords
                    if "/" in key or (value.text and "#" in value.text and key not in ("to", "action"))
                ),
                "",
            )
            if pair:
                return [pair]
        found: list[str] = []
        for selector in rule.path:
            found += self._values.texts(file, call.argument(selector), call.start)
            if found and not rule.methods_in_class:
                break
        return [from_regex(each) for each in found] if rule.regex else found

    @staticmethod
    def _split_method(path: str) -> tuple[str, str]:
        """Split a route pattern of Go, such as `GET host/path`, into method and path."""
        method, space, rest = path.partition(" ")
        if not space:
            return "", path
        return method.strip(), f"/{rest.strip().partition('/')[2]}".replace("{$}", "")

    def _handler_value(self, call: Invocation, rule: Rule) -> Expression | None:
        for selector in rule.handler:
            if (value := call.argument(selector)) is not None:
                return value
        if rule.pair_route:
            return next((value for key, value in call.keywords if "#" in value.text), None)
        return call.arguments[0] if rule.methods_in_handler and call.arguments else None

    def _methods(
        self, file: ContractFacts, call: Invocation, rule: Rule, method: str, handler: Expression | None
    ) -> list[tuple[str, Expression | None]]:
        """Return the HTTP methods of a route, each with its handler, or with None if all methods share a handler."""
        if rule.methods_in_handler:
            return self._handler_methods(file, handler)
        if method:
            return [(method, None)]
        if known := rule.methods.get(call.full_name) or rule.methods.get(call.name):
            return [(known, None)]
        if rule.method_before:
            names = [each.name for each in self._routers.chain(file, call)]
            return [(rule.method_before[name], None) for name in names[:1] if name in rule.method_before]
        return [(each, None) for each in self._given_methods(file, call, rule)]

    def _given_methods(self, file: ContractFacts, call: Invocation, rule: Rule) -> list[str]:
        if rule.followed_by:
            following = self._next_calls.get((file.path, call.end))
            given = following.arguments if following is not None and following.name == rule.followed_by else ()
            return [each for value in given for each in self._method_names(file, value, call.start)] or [rule.default]
        for selector in rule.methods_from:
            value = self._option(file, call, selector) if isinstance(selector, str) else call.argument(selector)
            if value is not None:
                return self._method_names(file, value, call.start)
        return [rule.default] if rule.default else []

    def _method_names(self, file: ContractFacts, value: Expression, offset: int) -> list[str]:
        if value.kind == "list":
            return [each for part in value.parts for each in self._method_names(file, part, offset)]
        text = self._values.text(file, value, offset)
        written = text if text is not None else value.text.rpartition(".")[2]
        for prefix in _HTTP_PREFIXES:
            written = written.removeprefix(prefix)
        names = written.upper().replace(",", " ").split()
        return [
            ANY_METHOD if name in _NAMES_OF_ANY_METHOD else name
            for name in names
            if name in HTTP_METHODS or name in _NAMES_OF_ANY_METHOD
        ]

    def _handler_methods(self, file: ContractFacts, handler: Expression | None) -> list[tuple[str, Expression | None]]:
        """Return the HTTP methods in a handler expression: `get(list).post(create)` or `web::get().to(list)`."""
        call = file.calls.get(handler.place) if handler is not None and handler.kind == "call" else None
        if call is None:
            return []
        chain = [call, *self._routers.chain(file, call)]
        to = next((each.arguments[0] for each in chain if each.name == "to" and each.arguments), None)
        rows = []
        for each in reversed(chain):
            name = each.name.removesuffix("_with").upper()
            if name in HTTP_METHODS or name == ANY_METHOD:
                rows.append((name, to or (each.arguments[0] if each.arguments else None)))
        return rows or ([(ANY_METHOD, to)] if to else [])

    # --- routes declared by annotations

    def _annotated_routes(
        self, file: ContractFacts, annotation: Invocation, rule: Rule, by_target: dict[int, list[Invocation]]
    ) -> Iterator[CodeEndpoint]:
        function = file.functions.get(annotation.target)
        if function is None:
            owner = file.classes.get(annotation.target) if rule.methods_in_class else None
            router = self._router_prefixes(file, annotation, rule) if owner is not None else None
            if owner is not None and router is not None:
                members = self._handlers.methods_of(file, owner)
                at = CodePlace(file.path, annotation.line)
                yield from self._class_endpoints(at, self._paths(file, annotation, rule), router[0], members)
            return
        owners = [each for each in file.classes.values() if each.id <= function.id < each.end]
        annotations = [each for owner in owners for each in self._class_annotations(file, owner, by_target)]
        if not self._is_in_class(rule, annotations) or not rule.class_pattern.search(function.container.encode()):
            return
        paths = self._paths(file, annotation, rule) if rule.path else []
        paths = paths or self._sibling_paths(file, by_target[annotation.target], rule)
        named = function.name if rule.keeps_name else camel_case(function.name)
        paths = paths or [named if rule.path_from_name else ""]
        for prefix in self._annotation_prefixes(file, annotation, rule, owners, annotations, function):
            for path in paths:
                own = Prefix("", prefix.certain) if path.startswith("~/") else prefix
                for method, _ in self._methods(file, annotation, rule, "", None):
                    yield self._endpoint(file, annotation, method, path.lstrip("~"), own, function, owners)

    def _class_annotations(
        self, file: ContractFacts, owner: CodeDefinition, by_target: Mapping[int, list[Invocation]]
    ) -> list[Invocation]:
        """Return the annotations of a class, with those of the nearest base class if only the base class has a path."""
        own = by_target.get(owner.id, [])
        if any(
            rule.role == "class"
            for annotation in own
            for rule in self._framework.rules_for(annotation, annotation=True)
        ):
            return own
        for source, base in self._handlers.bases(file, owner):
            annotations = [each for each in source.annotations if each.target == base.id]
            if any(
                rule.role == "class"
                for annotation in annotations
                for rule in self._framework.rules_for(annotation, annotation=True)
            ):
                return [*own, *annotations]
        return own

    def _sibling_paths(self, file: ContractFacts, annotations: Sequence[Invocation], rule: Rule) -> list[str]:
        return [
            text
            for each in annotations
            if each.name == rule.path_annotation
            for text in self._values.texts(file, each.argument(0), each.start)
        ]

    def _is_in_class(self, rule: Rule, annotations: Sequence[Invocation]) -> bool:
        names = {each.name for each in annotations}
        if names & set(self._framework.excluded_class):
            return False
        if self._framework.included_class:
            return bool(names & set(self._framework.included_class))
        classes = {name for each in self._framework.rule if each.role == "class" for name in each.calls}
        return not rule.needs_class or bool(names & classes)

    def _annotation_prefixes(
        self, file: ContractFacts, annotation: Invocation, rule: Rule, owners: Sequence[CodeDefinition],
        annotations: Sequence[Invocation], function: CodeDefinition,
    ) -> list[Prefix]:  # fmt: skip
        """Return the path prefixes of an annotated function, set by its class or by the router in the annotation."""
        if rule.mounted_by_name:
            return self._routers.prefixes(RouterKey(file.path, "annotated", function.id))
        if not rule.without_receiver:
            found = self._router_prefixes(file, annotation, rule)
            return found[0] if found else []
        prefixes = [text for each in annotations for text in self._class_prefixes(file, each)] or [""]
        name = owners[-1].name.removesuffix("Controller") if owners else ""
        plain = [each.replace("[controller]", name).replace("[action]", function.name) for each in prefixes]
        known = map(without_unknown_base, plain)
        return [Prefix(join_paths(self._routers.global_prefix, text), is_known) for text, is_known in known]

    def _class_prefixes(self, file: ContractFacts, annotation: Invocation) -> list[str]:
        for rule in self._framework.rules_for(annotation, annotation=True):
            if rule.role == "class":
                given = [value for each in rule.prefix if (value := annotation.argument(each)) and value.kind != "map"]
                for value in given:
                    if texts := self._values.texts(file, value, annotation.start):
                        return texts
                return [f"{UNKNOWN}prefix}}"] if given else []
        return []

    def _endpoint(
        self, file: ContractFacts, annotation: Invocation, method: str, path: str, prefix: Prefix,
        function: CodeDefinition, owners: Sequence[CodeDefinition],
    ) -> CodeEndpoint:  # fmt: skip
        name = f"{owners[-1].name}.{function.name}" if owners else function.name
        text, is_known = (url_path(path)[0], True) if self._framework.side == "client" else without_unknown_base(path)
        place = CodePlace(file.path, function.line)
        full = template(join_paths(prefix.path, text))
        declared_at = CodePlace(file.path, annotation.line)
        return CodeEndpoint(
            self._framework.side,
            method,
            full,
            self._framework.name,
            declared_at,
            name,
            place,
            prefix.certain and is_known,
        )

    # --- creation of endpoints

    def _endpoints(
        self, file: ContractFacts, call: Invocation, method: str, path: str, prefixes: Sequence[Prefix],
        handler: Expression | None, rule: Rule,
    ) -> Iterator[CodeEndpoint]:  # fmt: skip
        declared_at = CodePlace(file.path, call.line)
        text, is_known = without_unknown_base(path)
        prefixes = [Prefix(each.path, each.certain and is_known) for each in prefixes]
        function, at = self._handlers.of(file, handler, call, self._controller(file, call))
        is_relative = bool(text) and not text.startswith(("/", "*"))
        if is_relative and not rule.without_receiver and not any(each.certain for each in prefixes):
            return
        if rule.pair_route and (on := call.keyword("on")) is not None and on.text == "collection":
            prefixes = [Prefix(each.path.rpartition("/")[0], each.certain) for each in prefixes]
        for prefix in prefixes:
            full = template(join_paths(prefix.path, text))
            yield CodeEndpoint("server", method, full, self._framework.name, declared_at, function, at, prefix.certain)

    def _controller(self, file: ContractFacts, call: Invocation) -> str:
        """Return the controller of the group that contains a route, or an empty string.

        Example in Laravel: `Route::controller(X)->group(…)`.
        """
        for rule in self._framework.rule:
            if rule.chain_controller:
                for outer in file.calls.values():
                    if outer.start <= call.start and call.end < outer.end and outer.name == "group":
                        for each in self._routers.chain(file, outer):
                            if each.name == rule.chain_controller and each.arguments:
                                return each.arguments[0].text.removesuffix(".class")
        return ""

    def _resources(self, file: ContractFacts, call: Invocation, rule: Rule) -> Iterator[CodeEndpoint]:
        """Yield the routes of resources, as in `resources :orders` or `router.register("orders", OrderViewSet)`."""
        if self._framework.name == "django":
            receiver = self._routers.receiver(file, call)
            if receiver is None:
                return
            prefixes = self._routers.prefixes(receiver)
        else:
            prefixes = self._lexical_prefixes(file, call)
        names = self._resource_names(file, call, rule)
        handler = self._handler_value(call, rule)
        for name in names:
            for method, suffix, action in resource_routes(rule.resources):
                if not self._has_action(file, call, action):
                    continue
                base = (
                    "/".join(f"{part}/{{{part.removesuffix('s')}}}" for part in name.split(".")[:-1])
                    if rule.nested
                    else ""
                )
                last = name.rpartition(".")[2] if rule.nested else name
                function, at = self._handlers.action(file, handler, last if rule.controller else "", action, call)
                if handler is not None and not self._handlers.may_have(file, handler, action):
                    continue
                for prefix in prefixes:
                    path = template(join_paths(prefix.path, base, last, suffix))
                    yield CodeEndpoint(
                        "server",
                        method,
                        path,
                        self._framework.name,
                        CodePlace(file.path, call.line),
                        function,
                        at,
                        prefix.certain,
                    )

    def _resource_names(self, file: ContractFacts, call: Invocation, rule: Rule) -> list[str]:
        if rule.controller and call.keyword("path") is None:
            return [text for each in call.arguments if (text := self._values.text(file, each, call.start)) is not None]
        return self._paths(file, call, rule)

    def _has_action(self, file: ContractFacts, call: Invocation, action: str) -> bool:
        only, excluded = call.argument("only"), call.argument("except")
        if only is not None:
            return action in self._values.texts(file, only, call.start)
        if excluded is not None:
            return action not in self._values.texts(file, excluded, call.start)
        for each in self._next_calls_in_chain(file, call):
            listed = [text for value in each.arguments for text in self._values.texts(file, value, call.start)]
            if each.name in ("only", "except") and (action in listed) != (each.name == "only"):
                return False
        return True

    def _next_calls_in_chain(self, file: ContractFacts, call: Invocation) -> Iterator[Invocation]:
        at: Invocation | None = call
        while at is not None and (at := self._next_calls.get((file.path, at.end))) is not None:
            yield at
