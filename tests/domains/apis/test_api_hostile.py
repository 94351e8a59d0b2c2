"""Input with long runs of characters that a careless pattern would scan repeatedly. A hang is a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.apis.detect import sniff
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.parse.graphql_sdl import parse_sdl
from deltos.domains.apis.parse.protobuf import parse_protobuf
from deltos.domains.apis.spec_text import strip_markup
from deltos.errors import SourceError

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

RUN_LENGTH = 300_000


@pytest.mark.parametrize(
    "data",
    [
        b"\n" * RUN_LENGTH,
        b"# pad\n" * RUN_LENGTH,
        b" \n" * RUN_LENGTH,
        b"/*" * RUN_LENGTH,
        b"*/" + b"/*" * RUN_LENGTH,
        b'"""' * RUN_LENGTH + b'"',
        b'"\n' * RUN_LENGTH,
        b"type Query\n" * RUN_LENGTH,
        b"schema @a\n" * RUN_LENGTH,
        b"message A\n" * RUN_LENGTH,
        b"type A\n" * RUN_LENGTH,
        b";" + b" " * RUN_LENGTH,
    ],
)
def test_format_detection_is_fast_on_long_runs(data: bytes) -> None:
    assert sniff(data) in (None, "protobuf", "graphql", "tree")


@pytest.mark.parametrize(
    "text", ["/*" * RUN_LENGTH, '"' * RUN_LENGTH, "'" * RUN_LENGTH, "message A{" * 20_000, "\n" * RUN_LENGTH]
)
def test_parsing_is_fast_on_long_runs(text: str) -> None:
    assert parse_protobuf(text, lambda _: None) is not None
    assert parse_sdl(text) is not None


@pytest.mark.parametrize("run", ["<!--", "<a", "<", "&", "\n ", "a.", "{"])
def test_rendering_is_fast_on_long_runs(apis: Apis, add: Any, run: str) -> None:
    text = run * (RUN_LENGTH // 10)
    assert strip_markup(text) is not None
    operation = {"description": text, "summary": text, "operationId": text}
    add({"openapi": "3.0.0", "info": {"title": "Runs", "description": text}, "paths": {f"/{text}": {"get": operation}}})
    answer = show_endpoints(apis.library, "runs", Filter(method="GET"), page=1, token_budget=5_000)
    assert len(answer.text) <= 20_000
    assert len(show_endpoints(apis.library, "runs", Filter(), page=1, token_budget=5_000).text) <= 20_000


def test_answers_a_query_of_100000_words(apis: Apis, add: Any) -> None:
    add("openapi: 3.0.0\ninfo: {title: Q}\npaths: {/a: {get: {summary: Find word}}}\n")
    assert apis.searcher.search("word " * 1_000 + " ".join(f"w{number}" for number in range(100_000)))


def alias_bomb(levels: int) -> str:
    lines = ["openapi: 3.0.0", "info: {title: Bomb}", "x-a: &a0 {type: object, properties: {x: {type: string}}}"]
    lines += [f"x-{n}: &a{n} {{type: object, properties: {{l: *a{n - 1}, r: *a{n - 1}}}}}" for n in range(1, levels)]
    lines += ["paths:", f"  /a: {{get: {{responses: {{'200': {{content: {{a/b: {{schema: *a{levels - 1}}}}}}}}}}}}}"]
    return "\n".join(lines)


def test_alias_bomb_is_truncated_or_refused(apis: Apis, add: Any) -> None:
    add(alias_bomb(10))
    assert len(show_endpoints(apis.library, "bomb", Filter(path="/a"), page=1, token_budget=5_000).text) < 6_000
    with pytest.raises(SourceError, match="alias bomb"):
        add(alias_bomb(30))
