"""Parsing of AsyncAPI 2 and 3: channels, messages and operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.model import Api, ApiDescription

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

Add = Callable[..., Api]

VERSION_3 = """
asyncapi: 3.0.0
info: {title: Lights, version: "1", tags: [{name: lamps}]}
defaultContentType: application/json
servers:
  main: {host: broker.example, protocol: mqtt, pathname: /q}
channels:
  measured:
    address: lights/{id}/measured
    parameters:
      id: {description: Which lamp, enum: [a, b], default: a}
    messages:
      lit: {$ref: '#/components/messages/Lit'}
  answered:
    messages:
      done: {payload: {type: string}}
operations:
  onMeasured:
    action: receive
    channel: {$ref: '#/channels/measured'}
    summary: Told how bright it is
    tags: [{name: lamps}]
    security: [{$ref: '#/components/securitySchemes/sasl'}]
    messages: [{$ref: '#/channels/measured/messages/lit'}]
    reply:
      channel: {$ref: '#/channels/answered'}
  dimLamp:
    action: send
    channel: {$ref: '#/channels/measured'}
components:
  securitySchemes:
    sasl: {type: scramSha256, description: Ask us}
  messages:
    Lit:
      name: lit
      title: It is lit
      contentType: application/avro
      payload: {schemaFormat: x, schema: {$ref: '#/components/schemas/Lumen'}}
  schemas:
    Lumen: {type: object, properties: {lumens: {type: integer, minimum: 0}}}
"""

VERSION_2 = """
asyncapi: 2.6.0
info: {title: Old Lights, version: "1"}
servers: {main: {url: 'wss://old.example', protocol: wss}}
channels:
  chat/{room}:
    description: A room to talk in.
    parameters: {room: {schema: {type: string}}}
    publish:
      operationId: sendChat
      message: {oneOf: [{name: a, payload: {type: string}}, {name: b, payload: {type: integer}}]}
    subscribe:
      message: {payload: {type: object, properties: {text: {type: string}}}}
"""


def parse_description(text: str) -> ApiDescription:
    return read_description(ApiDocument(text.encode(), "async.yaml"))


def test_version_3_operations_have_channel_and_messages() -> None:
    description = parse_description(VERSION_3)
    receive, send = description.operations
    assert receive.key == "RECEIVE lights/{id}/measured"
    assert receive.summary == "Told how bright it is"
    assert receive.parameters[0].schema == {"type": "string", "enum": ["a", "b"], "default": "a"}
    assert receive.bodies[0].media_type == "lit: application/avro"
    assert receive.responses[0].contents[0].schema == {"type": "string"}
    assert receive.security == (("sasl",),)
    assert send.bodies[0].schema == {"$ref": "#/components/schemas/Lumen"}
    assert (send.summary, send.tags) == ("dim Lamp", ())
    assert description.overview.servers == ("mqtt://broker.example/q",)


def test_messages_are_searchable_but_not_counted_as_schemas(apis: Apis, add: Add) -> None:
    api = add(VERSION_3)
    assert api.schema_count == 1
    (first, *_) = apis.searcher.search("it is lit", api_name="lights", types=["schema"])
    assert first.id == "api:lights:schema Lit"
    assert "lumens: integer" in first.text


def test_asyncapi_operation_has_no_curl_example(apis: Apis, add: Add) -> None:
    add(VERSION_3)
    shown = show_endpoints(apis.library, "lights", Filter(method="receive"), page=1, token_budget=5_000).text
    assert "lumens: integer" in shown
    assert "Auth: sasl (scramSha256)" in shown
    assert "curl" not in shown


def test_version_2_channels_become_publish_and_subscribe_operations() -> None:
    description = parse_description(VERSION_2)
    publish, subscribe = description.operations
    assert publish.key == "PUBLISH chat/{room}"
    assert [content.media_type for content in publish.bodies] == [
        "a: application/json",
        "b: application/json",
    ]
    assert subscribe.summary == "A room to talk in"
    assert subscribe.bodies[0].schema["properties"] == {"text": {"type": "string"}}
    assert publish.parameters[0].location == "channel"
    assert description.overview.servers == ("wss://old.example",)


def test_channels_are_listed_if_there_are_no_operations() -> None:
    description = parse_description("asyncapi: 3.0.0\nchannels:\n  one: {messages: {m: {payload: {type: string}}}}\n")
    assert [operation.key for operation in description.operations] == ["CHANNEL one"]


def test_warns_about_unknown_versions_and_missing_operations() -> None:
    assert parse_description("asyncapi: 9.0.0\n").warnings == (
        "AsyncAPI 9.0.0 is not a known version; it was parsed as version 3.",
        "The description has no operations.",
    )
