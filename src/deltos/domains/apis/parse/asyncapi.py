"""Parser for AsyncAPI 2 and 3, whose operations send messages to channels or receive messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.apis.model import (
    ApiDescription,
    ApiParameter,
    Content,
    Operation,
    Overview,
    Response,
    Schema,
)
from deltos.domains.apis.parse.paths import read_schemas, read_security_scheme, read_tags, tag_name
from deltos.domains.apis.refs import escape_token, reference_name
from deltos.domains.apis.spec_text import first_sentence, mapping, sequence, split_words, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.model import Json
    from deltos.domains.apis.refs import ReferenceFollower


def parse_asyncapi(root: dict[str, Json], references: ReferenceFollower) -> ApiDescription:
    """Parse an AsyncAPI document."""
    version = text_of(root.get("asyncapi"))
    reader = _AsyncApiReader(references, text_of(root.get("defaultContentType")) or "application/json")
    operations = tuple(
        reader.operations_of_version_2(root) if version.startswith("2") else reader.operations_of_version_3(root)
    )
    components = mapping(root.get("components"))
    info = mapping(root.get("info"))
    overview = Overview(
        title=text_of(info.get("title")),
        version=text_of(info.get("version")),
        kind=f"AsyncAPI {version}",
        description=text_of(info.get("description")),
        servers=tuple(_server(mapping(references.follow(server))) for server in mapping(root.get("servers")).values()),
        tags=read_tags(root.get("tags") or info.get("tags")),
        security_schemes=tuple(
            read_security_scheme(name, mapping(references.follow(scheme)))
            for name, scheme in mapping(components.get("securitySchemes")).items()
        ),
    )
    schemas = (*read_schemas(components.get("schemas"), "#/components/schemas"), *reader.messages(components))
    return ApiDescription(overview, operations, schemas, warnings=tuple(_warnings(version, operations)))


def _warnings(version: str, operations: tuple[Operation, ...]) -> list[str]:
    """Return warnings about an unknown AsyncAPI version and about missing operations."""
    warnings = (
        []
        if version.startswith(("2.", "3."))
        else [f"AsyncAPI {version} is not a known version; it was parsed as version 3."]
    )
    return warnings if operations else [*warnings, "The description has no operations."]


class _AsyncApiReader:
    """Converts channels, operations and messages of AsyncAPI 2 and 3."""

    def __init__(self, references: ReferenceFollower, content_type: str) -> None:
        self._references = references
        self._content_type = content_type

    def operations_of_version_2(self, root: dict[str, Json]) -> Iterator[Operation]:
        """Yield the operations of AsyncAPI 2, in which channels contain `publish` and `subscribe`."""
        for address, given in mapping(root.get("channels")).items():
            channel = mapping(self._references.follow(given))
            for action in ("publish", "subscribe"):
                if action in channel:
                    raw = mapping(self._references.follow(channel[action]))
                    message = self._references.follow(raw.get("message"))
                    messages = sequence(mapping(message).get("oneOf")) or ([message] if message else [])
                    pointer = f"#/channels/{escape_token(address)}/{action}"
                    yield self._operation(action, address, pointer, raw, channel, messages)

    def operations_of_version_3(self, root: dict[str, Json]) -> Iterator[Operation]:
        """Yield the operations of AsyncAPI 3, which refer to channels; without operations, yield one per channel."""
        declared = mapping(root.get("operations"))
        for name, given in declared.items():
            raw = mapping(self._references.follow(given))
            channel = mapping(self._references.follow(raw.get("channel")))
            address = text_of(channel.get("address")) or reference_name(
                text_of(mapping(raw.get("channel")).get("$ref"))
            )
            messages = sequence(raw.get("messages")) or list(mapping(channel.get("messages")).values())
            raw = {"operationId": name, **raw}
            yield self._operation(
                text_of(raw.get("action")) or "send",
                address,
                f"#/operations/{escape_token(name)}",
                raw,
                channel,
                messages,
            )
        if not declared:
            for name, given in mapping(root.get("channels")).items():
                channel = mapping(self._references.follow(given))
                messages = list(mapping(channel.get("messages")).values())
                address = text_of(channel.get("address")) or name
                yield self._operation(
                    "channel", address, f"#/channels/{escape_token(name)}", channel, channel, messages
                )

    def messages(self, components: dict[str, Json]) -> Iterator[Schema]:
        """Yield the named messages as schemas of the message payloads."""
        for name, given in mapping(components.get("messages")).items():
            message = mapping(self._references.follow(given))
            description = text_of(message.get("summary")) or text_of(message.get("description"))
            pointer = f"#/components/messages/{escape_token(name)}"
            yield Schema(name, pointer, _payload(message), description or text_of(message.get("title")), message=True)

    def _operation(
        self,
        action: str,
        address: str,
        pointer: str,
        raw: dict[str, Json],
        channel: dict[str, Json],
        messages: list[Json],
    ) -> Operation:
        """Return an operation on a channel."""
        description = text_of(raw.get("description")) or text_of(channel.get("description"))
        name = text_of(raw.get("operationId"))
        summary = text_of(raw.get("summary")) or text_of(raw.get("title")) or first_sentence(description)
        reply = mapping(self._references.follow(raw.get("reply")))
        return Operation(
            method=action.upper(),
            path=address,
            pointer=pointer,
            name=name or f"{action}_{address}",
            summary=summary or split_words(name or f"{action} {address}"),
            description=description,
            tags=tuple(filter(None, (tag_name(self._references.follow(tag)) for tag in sequence(raw.get("tags"))))),
            parameters=tuple(self._read_parameters(channel)),
            bodies=tuple(map(self._read_content, messages)),
            responses=self._read_reply(reply),
            security=tuple((_security_name(need),) for need in sequence(raw.get("security"))),
        )

    def _read_reply(self, reply: dict[str, Json]) -> tuple[Response, ...]:
        """Return the reply of an operation as a response; empty if there is none."""
        if not reply:
            return ()
        channel = mapping(self._references.follow(reply.get("channel")))
        messages = sequence(reply.get("messages")) or list(mapping(channel.get("messages")).values())
        address = text_of(channel.get("address"))
        return (Response("reply", f"on {address}" if address else "", tuple(map(self._read_content, messages))),)

    def _read_content(self, given: Json) -> Content:
        """Return a message as a body with the name and media type of the message."""
        message = mapping(self._references.follow(given))
        name = text_of(message.get("name")) or reference_name(text_of(mapping(given).get("$ref")))
        media_type = text_of(message.get("contentType")) or self._content_type
        return Content(f"{name}: {media_type}" if name else media_type, _payload(message))

    def _read_parameters(self, channel: dict[str, Json]) -> Iterator[ApiParameter]:
        """Yield the parameters in the address of a channel."""
        for name, given in mapping(channel.get("parameters")).items():
            raw = mapping(self._references.follow(given))
            schema = raw.get("schema") or {
                "type": "string",
                **{k: raw[k] for k in ("enum", "default") if k in raw},
            }
            yield ApiParameter(name, "channel", True, schema, text_of(raw.get("description")))


def _payload(message: dict[str, Json]) -> Json:
    """Return the payload schema of a message, which AsyncAPI 3 may wrap together with the schema format."""
    payload = message.get("payload")
    return (
        payload["schema"]
        if isinstance(payload, dict) and "schemaFormat" in payload and "schema" in payload
        else payload
    )


def _security_name(need: Json) -> str:
    """Return the name of the security scheme that a security requirement refers to."""
    target = text_of(mapping(need).get("$ref"))
    return reference_name(target) if target else next(iter(mapping(need)), "")


def _server(raw: dict[str, Json]) -> str:
    """Return the URL of a server."""
    if url := text_of(raw.get("url")):
        return url
    protocol = text_of(raw.get("protocol"))
    return f"{protocol}://{text_of(raw.get('host'))}{text_of(raw.get('pathname'))}"
