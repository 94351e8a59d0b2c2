"""Fuzz targets for API descriptions of every format.

They parse a description, split it into operations and schemas, store these, and show them in full.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fuzz.target import OpenedTarget, Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_URL = "https://api.example.org/description"
# A library with many descriptions becomes slower, so it is replaced after this many runs.
_RUNS_PER_LIBRARY = 500

_TREE = (
    b"$ref", b'"$ref": "#/', b"#/components/schemas/", b"allOf", b"oneOf", b"anyOf", b"items", b"properties", b"type", b"object", b"array", b"enum",
    b"example", b"examples", b"default", b"paths", b"get", b"post", b"parameters", b"in", b"path", b"query", b"schema", b"required", b"responses",
    b"200", b"content", b"application/json", b"info", b"title", b"version", b"servers", b"url", b"tags", b"security", b"additionalProperties",
)  # fmt: skip
_YAML = (b": ", b"- ", b"&a ", b"*a", b"<<: *a\n", b"? ", b"|\n", b">-\n", b"!!python/object:os.system ", b"{", b"}", b"[", b"]", b"---\n", b"...\n",
         b"%YAML 1.1\n", b"!!binary ", b"'", b'"', b"\n  ", b"\n    ", b"#", b"~")  # fmt: skip
_SDL = (
    b"type ", b"extend type ", b"interface ", b"input ", b"enum ", b"union ", b"scalar ", b"directive @a on ", b"schema {", b"query: Query", b"{", b"}",
    b"(", b")", b"[", b"]", b"!", b": ", b" = ", b" | ", b" & ", b" implements ", b'"""', b'"', b"#", b"@deprecated(reason: \"x\")", b"...", b"type Query {",
)  # fmt: skip
_PROTO = (
    b'syntax = "proto3";', b"package a.b;", b"import public \"a.proto\";", b"message A {", b"}", b"oneof x {", b"map<string, A> m = 1;", b"repeated ",
    b"enum E {", b"service S {", b"rpc M(stream A) returns (B) {", b"option (google.api.http) = {", b"get: \"/v1/{name=a/*}\"", b"reserved 1 to max;",
    b"extensions 100 to 199;", b"group G = 1 {", b"//", b"/*", b"*/", b";", b"=", b"[deprecated = true]", b"\"", b"<", b">", b"edition = \"2023\";",
)  # fmt: skip
_POSTMAN = (
    b'"item"',
    b'"request"',
    b'"url"',
    b'"raw"',
    b'"method"',
    b'"body"',
    b'"mode"',
    b'"urlencoded"',
    b'"header"',
    b"{{base}}",
    b'"response"',
)
_ASYNC = (
    b"asyncapi",
    b"channels",
    b"publish",
    b"subscribe",
    b"message",
    b"payload",
    b"operations",
    b"action",
    b"bindings",
    *_TREE[:10],
)
_INTROSPECTION = (
    b'"__schema"',
    b'"types"',
    b'"kind"',
    b'"ofType"',
    b'"fields"',
    b'"args"',
    b'"NON_NULL"',
    b'"LIST"',
    b'"queryType"',
    b'"inputFields"',
)


def targets() -> Iterator[Target]:
    """Return one target for syntax trees alone, then one for each format of descriptions."""
    yield Target(
        "json-tree", without_cleanup(_parse_tree), ("openapi-json", "postman"), (".json",), _TREE, is_json=True
    )
    yield Target(
        "yaml-tree", without_cleanup(_parse_tree), ("openapi-yaml", "asyncapi"), (".yaml", ".yml"), (*_YAML, *_TREE)
    )
    yield _description_target(
        "openapi", ("openapi-json", "openapi-yaml"), (*_TREE, *_YAML), ("openapi.json", "openapi.yaml"), True
    )
    yield _description_target(
        "swagger",
        ("swagger",),
        (*_TREE, b"definitions", b"swagger", b"2.0", b"formData", b"collectionFormat"),
        ("swagger.json",),
    )
    yield _description_target("asyncapi", ("asyncapi",), (*_ASYNC, *_YAML))
    yield _description_target("postman", ("postman",), _POSTMAN)
    yield _description_target("graphql", ("graphql",), _SDL, (".graphql", ".gql", ".graphqls"))
    yield _description_target("graphql-introspection", ("introspection",), _INTROSPECTION)
    yield _description_target("proto", ("proto",), _PROTO, (".proto",))


def _description_target(
    name: str,
    seeds: tuple[str, ...],
    tokens: tuple[bytes, ...],
    suffixes: tuple[str, ...] = (),
    is_exposed: bool = False,
) -> Target:
    is_json = name not in ("graphql", "proto")
    return Target(name, _open_library, seeds, suffixes, tokens, is_json=is_json, is_exposed=is_exposed)


def _parse_tree(_scratch: Path) -> Run:
    from deltos.domains.apis.json_yaml import load_tree
    from deltos.domains.apis.refs import find_references

    def run(data: bytes) -> None:
        find_references(data)
        load_tree(data)

    return run


@contextmanager
def _open_library(scratch: Path) -> Iterator[OpenedTarget]:
    from deltos.domains.apis.domain import open_apis
    from deltos.domains.apis.tools import api_tools
    from deltos.store.sqlite.library import SqliteLibrary
    from fuzz.inline_parser import InlineParser
    from fuzz.targets.tool_client import ToolClient

    runs = 0
    database: SqliteLibrary | None = None
    client: ToolClient

    def run(data: bytes) -> None:
        nonlocal runs, database, client
        if database is None or runs % _RUNS_PER_LIBRARY == 0:
            if database is not None:
                database.close()
            database = SqliteLibrary(scratch / f"library-{runs}.db")
        here = InlineParser()
        apis = open_apis(database, network=None, parser=here, clock=lambda: 0.0)
        runs += 1
        try:
            report = apis.indexer.add_found(data, _URL, "fuzzed")
        finally:
            if here.broke is not None:
                raise here.broke
        client = ToolClient(api_tools(lambda: apis, token_budget=5_000), scratch)
        for api in report.apis:
            client.call("get_api_endpoints", api_name=api.name)
            client.call("get_api_endpoints", api_name=api.name, method="GET", path="/")
        client.call("list_apis")

    yield OpenedTarget(run)
    if database is not None:
        database.close()
