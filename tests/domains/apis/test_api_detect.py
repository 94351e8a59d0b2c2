"""Formats of descriptions are detected by content, never by file name."""

from __future__ import annotations

import pytest

from deltos.domains.apis.detect import kind_of_tree, sniff

SDL = b'"""The roots; export const."""\ntype Query {\n  # comment;\n  public: Boolean\n  user(id: ID!): User\n}\n'
PROTO = b'// hi\nsyntax = "proto3";\npackage a;\nservice S { rpc Get (A) returns (B); }\n'


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"openapi: 3.0.0\n", "tree"),
        (b"info: {}\n" + b"# pad\n" * 20_000 + b"swagger: '2.0'\n", "tree"),
        (b'{"components": {}, "openapi": "3.0.0"}', "tree"),
        (b'"asyncapi": 2.6.0\n', "tree"),
        (SDL, "graphql"),
        (b"schema @link(url: 1) {\n  query: Q\n}\n", "graphql"),
        (PROTO, "protobuf"),
        (b"syntax = 'proto2';\n", "protobuf"),
        (b"\x00\x01openapi: 3.0.0\n", None),
        (b'{"name": "left-pad"}', None),
        (b"name: build\non: push\n", None),
        (b"import x from 'y';\nexport type Query = {\n  a: string;\n}\ntype Query {\n", None),
        (b"# A readme about openapi: nice\n", None),
        (b"<html>\n<pre>\nopenapi: 3.0.0\n</pre></html>", None),
        (b"# Guide\n\nWrite this:\n\n```yaml\nopenapi: 3.0.0\n```\n", None),
        (b"---\ntitle: Guide\n---\n```yaml\nopenapi: 3.0.0\n```\n", None),
        (b"Guide\n=====\n\n::\n\n    message A {\n    }\n\n    type Query {\n", None),
        (b"package main\n\ntype Query struct {\n\tA int\n}\n", None),
        (b"type Query = {\n  a: string;\n};\n", None),
        (b'// License\n/* more */\n\nsyntax = "proto3";\n', "protobuf"),
        (b"\xef\xbb\xbf# comment\n---\nswagger: '2.0'\n", "tree"),
        (b'"use strict";\nconst schema = gql`\ntype Query {\n  a: Int\n}\n`;\n', None),
        (b'"""Module."""\nSDL = """\ntype Query {\n  a: Int\n}\n"""\n', None),
        ("openapi: 3.0.0\n".encode("utf-16"), "tree"),
        (b"union Any = A | B\ntype Query { a: Any }\n", "graphql"),
    ],
)
def test_detects_format_of_a_file_in_a_folder(data: bytes, kind: str | None) -> None:
    assert sniff(data, lax=False) == kind


def test_named_file_may_be_part_of_a_graphql_schema() -> None:
    assert sniff(b"type User {\n  id: ID!\n}\n") == "graphql"
    assert sniff(b"type User {\n  id: ID!\n}\n", lax=False) is None


def test_named_file_may_lack_its_version() -> None:
    assert sniff(b"info: {title: x}\npaths: {}\n") == "tree"


@pytest.mark.parametrize(
    ("root", "kind"),
    [
        ({"openapi": "3.0.0"}, "openapi"),
        ({"swagger": "2.0"}, "swagger"),
        ({"asyncapi": "3.0.0"}, "asyncapi"),
        ({"data": {"__schema": {}}}, "introspection"),
        ({"__schema": {}}, "introspection"),
        ({"info": {}, "item": []}, "postman"),
        ({"requests": [], "order": []}, "postman"),
        ({"paths": {}}, "openapi"),
        ({"name": "x"}, None),
        (["openapi"], None),
        ("text", None),
    ],
)
def test_detects_format_of_a_tree_by_its_keys(root: object, kind: str | None) -> None:
    assert kind_of_tree(root) == kind
