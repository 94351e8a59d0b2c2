"""Parsing of Protocol Buffers: services, messages, comments and options of real files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.model import Api
from deltos.domains.apis.parse.protobuf import parse_protobuf

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.apis.domain import Apis
    from deltos.domains.apis.model import ApiDescription

Add = Callable[..., Api]

PROTO = """
// Copyright somebody.

syntax = "proto3";
package shop.orders.v1;
import public "shop/common.proto";
option java_package = "x";

// Sells things.
service Orders {
  option (google.api.default_host) = "orders.example";
  // Gets one order. Or fails.
  rpc GetOrder(GetOrderRequest) returns (Order) {
    option (google.api.http) = { get: "/v1/{name=orders/*}" additional_bindings { post: "/v1/x" } };
  }
  rpc Watch(stream GetOrderRequest) returns (stream .shop.orders.v1.Order);
  /* Old.
   * Do not use. */
  rpc Gone(Order) returns (common.Money) { option deprecated = true; }
}

message GetOrderRequest {
  // The name.
  string name = 1 [(google.api.field_behavior) = REQUIRED, (x) = { a: "}" }];
}

// What was bought.
message Order {
  option (x) = { a: 1 };
  reserved 4, 5;
  enum State { option allow_alias = true; UNKNOWN = 0; PAID = 1 [deprecated = true]; } // trailing
  message Line { int32 count = 1; Order parent = 2; }
  string id = 1; // Its identity.
  repeated Line lines = 2;
  map<string, Line> by_name = 3;
  oneof payment { string card = 6; common.Money cash = 7; }
  State state = 8 [deprecated = true];
  optional bool gift = 9;
  optional group Result = 10 { string url = 1; }
  message message = 11;
}

extend google.protobuf.FieldOptions { string note = 50000; }
"""
COMMON = 'syntax = "proto3";\npackage shop.common;\nmessage Money { int64 cents = 1; }\n'


def parse_description(text: str, **imports: str) -> ApiDescription:
    return parse_protobuf(text, lambda name: imports.get(name.rpartition("/")[2].partition(".")[0]))


def test_methods_have_types_comments_and_http_rules() -> None:
    get, watch, gone = parse_description(PROTO, common=COMMON).operations
    assert get.key == "RPC shop.orders.v1.Orders/GetOrder"
    assert get.summary == "Gets one order"
    assert "HTTP: GET /v1/{name=orders/*}" in get.description
    assert get.bodies[0].schema == {"$ref": "#/shop.orders.v1.GetOrderRequest"}
    assert watch.bodies[0].media_type == "protobuf stream"
    assert watch.responses[0].status == "returns (stream)"
    assert watch.responses[0].contents[0].schema == {"$ref": "#/shop.orders.v1.Order"}
    assert (gone.deprecated, gone.summary) == (True, "Old")
    assert gone.responses[0].contents[0].schema == {"$ref": "#/shop.common.Money"}


def test_messages_enums_and_nested_types_become_schemas() -> None:
    description = parse_description(PROTO, common=COMMON)
    schemas = {schema.name.removeprefix("shop.orders.v1."): schema for schema in description.schemas}
    assert list(schemas) == ["GetOrderRequest", "Order", "Order.State", "Order.Line"]
    fields = schemas["Order"].schema["properties"]
    assert schemas["Order"].description == "What was bought."
    assert fields["id"] == {"type": "string", "format": "string", "description": "Its identity."}
    assert fields["lines"]["items"] == {"$ref": "#/shop.orders.v1.Order.Line"}
    assert fields["by_name"]["additionalProperties"] == {"$ref": "#/shop.orders.v1.Order.Line"}
    assert fields["cash"] == {"$ref": "#/shop.common.Money", "x-oneof": "payment"}
    assert fields["state"]["deprecated"] is True
    assert fields["gift"]["type"] == "boolean"
    assert "message" in fields
    assert schemas["Order.State"].schema["enum"] == ["UNKNOWN", "PAID"]
    assert schemas["GetOrderRequest"].schema["properties"]["name"]["description"] == "The name."
    assert "#/shop.common.Money" in description.fragments


def test_warns_about_file_without_services() -> None:
    assert parse_description(COMMON).warnings == ("The file declares no services.",)


def test_method_has_a_grpcurl_example(apis: Apis, add: Add) -> None:
    api = add(PROTO, file_name="orders.proto")
    assert (api.name, api.overview.version) == ("shop.orders.v1", "v1")
    shown = show_endpoints(apis.library, api.name, Filter(path="GetOrder"), page=1, token_budget=5_000).text
    assert "name*: string — The name." in shown
    assert 'grpcurl -d \'{"name": "string"}\' orders.example:443 shop.orders.v1.Orders/GetOrder' in shown


PUBLISHING = """
syntax = "proto3";
package pubs.v1;
service Publisher {
  rpc Publish(PublishRequest) returns (PublishResponse);
  rpc Create(Subscription) returns (PublishResponse);
}
message PublishRequest {
  // The topic.
  string topic = 1 [(google.api.field_behavior) = REQUIRED];
  repeated Message messages = 2 [(buf.validate.field).required = true];
  Config config = 3;
}
message Message { Config config = 1; bytes data = 2; }
message Subscription { Config push_config = 1; string name = 2; }
message Config { string endpoint = 1; }
message PublishResponse {}
"""


def test_required_fields_are_marked_and_sent_and_messages_are_not_empty(apis: Apis, add: Add) -> None:
    api = add(PUBLISHING, file_name="pubs.proto")
    shown = show_endpoints(apis.library, api.name, Filter(path="Publisher/"), page=1, token_budget=5_000).text
    assert "topic*: string — The topic." in shown
    assert "messages*: array of" in shown
    assert """-d '{"topic": "string", "messages": [{"data": "c3RyaW5n"}]}' $API_HOST:443""" in shown
    assert """-d '{"name": "string"}' $API_HOST:443""" in shown


def test_proto2_required_fields_are_required() -> None:
    text = 'syntax = "proto2";\nmessage A { required B b = 1; optional int32 c = 2; }\nmessage B {}'
    required = {schema.name: schema.schema.get("required") for schema in parse_description(text).schemas}
    assert required == {"A": ["b"], "B": None}


def test_first_result_describes_required_fields_of_a_large_message(apis: Apis, add: Add) -> None:
    fields = "\n".join(
        f"// {'Said of it at some length. ' * 4}\nstring field_{number} = {number + 2};" for number in range(40)
    )
    text = PUBLISHING.replace("Config config = 3;", fields).replace("= 1 [", "= 1 [(a) = 1, ")
    add(text, file_name="pubs.proto")
    first = apis.searcher.search("publish", types=["endpoint"])[0]
    assert "  topic*: string — The topic.\n" in first.text
    assert len(first.text) <= 1_800


def test_files_of_a_package_form_one_api_and_imports_provide_types(apis: Apis, tmp_path: Path) -> None:
    folder = tmp_path / "protos" / "shop"
    (folder / "orders").mkdir(parents=True)
    (folder / "orders" / "orders.proto").write_text(PROTO)
    (folder / "orders" / "more.proto").write_text(
        'syntax = "proto3";\npackage shop.orders.v1;\nservice More { rpc Do(Order) returns (Order); }\n'
    )
    (folder / "common.proto").write_text(COMMON)
    (api,) = apis.indexer.add(str(tmp_path / "protos")).apis
    assert (api.name, api.operation_count, api.citation) == ("shop.orders.v1", 4, "protos/shop/orders")
    shown = show_endpoints(apis.library, api.name, Filter(path="Gone"), page=1, token_budget=5_000).text
    assert "cents: integer(int64)" in shown


def test_keeps_packages_without_services_if_there_are_no_others(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "common.proto").write_text(COMMON)
    (api,) = apis.indexer.add(str(tmp_path / "only")).apis
    assert (api.operation_count, api.schema_count) == (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "message A {" * 10_000,
        "message A { oneof x {" * 5_000,
        "service S { rpc",
        "message A { map<",
        "enum E { A",
        'syntax = "proto3',
        "service S { rpc A(B) returns (C) {",
    ],
)
def test_parser_terminates_on_invalid_files(text: str) -> None:
    assert read_description(ApiDocument(f'syntax = "proto3";\n{text}'.encode(), "x.proto")) is not None


@given(st.text(alphabet='{}();=<>,[] \nmessage1enumrpc."/*', max_size=200))
def test_parser_terminates_on_any_text(text: str) -> None:
    assert parse_description(f"message A {{ {text}") is not None


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (f"package {'a.' * 5_000}a;", "The package name was ignored because it has 10,001 characters."),
        ("message A {" * 70, "Declarations nested deeper than 64 levels were ignored."),
    ],
)
def test_reports_parts_omitted_because_of_limits(text: str, warning: str) -> None:
    assert warning in parse_description(text).warnings


def test_warns_about_imports_beyond_the_limit() -> None:
    def read_next(name: str) -> str:
        return f'import "{int(name) + 1}";'

    assert (
        "There are more than 10,000 imported files; the others were not read."
        in parse_protobuf('import "1";', read_next).warnings
    )


def test_imports_within_a_folder_match_path_suffixes(apis: Apis, tmp_path: Path) -> None:
    root = tmp_path / "protos"
    for place, text in {
        "acme/type/money.proto": "package acme.type; message Money { string currency = 1; Coin coin = 2; } message Coin {}",
        "acme/shop/v1/shop.proto": 'package acme.shop.v1; import "acme/type/money.proto";'
        "service Shop { rpc Buy(BuyRequest) returns (acme.type.Money); } message BuyRequest { type.Money price = 1; }",
        "acme/shop/v1/more.proto": "package acme.shop.v1; service More { rpc Ask(BuyRequest) returns (BuyRequest); }",
        "acme/shop/v1/third.proto": "package acme.shop.v1; message Third {}",
    }.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(f'syntax = "proto3";\n{text}\n')
    report = apis.indexer.add(str(root))
    (api,) = report.apis
    assert (api.name, api.operation_count, api.schema_count) == ("acme.shop.v1", 2, 2)
    assert api.citation == "protos/acme/shop/v1"
    resolve = apis.library.resolver(apis.library.row(api.name).id)
    assert resolve("#/acme.type.Money")["properties"]["coin"] == {"$ref": "#/acme.type.Coin"}
    assert resolve("#/acme.type.Coin") is not None
