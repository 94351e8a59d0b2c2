"""Codecs that encode a resolver's facts as bytes. Each resolver has its own codec."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

Interface = TypeVar("Interface")
Body = TypeVar("Body")


class Codec(Protocol):
    """Encoder and decoder of interfaces, parts of interfaces and bodies."""

    def encode(self, value: object) -> bytes:
        """Encode an interface, a part of an interface, or a body; equal interfaces have equal encodings."""

    def interface(self, data: bytes) -> object:
        """Decode an interface."""

    def body(self, data: bytes) -> object:
        """Decode a body."""


class StructCodec(Generic[Interface, Body]):
    """Codec for facts that are `msgspec.Struct` instances: one type for interfaces, another for bodies."""

    def __init__(
        self,
        interface: Callable[[], msgspec.msgpack.Decoder[Interface]],
        body: Callable[[], msgspec.msgpack.Decoder[Body]],
    ) -> None:
        self._make_interface_decoder = interface
        self._make_body_decoder = body
        self._encoder = msgspec.msgpack.Encoder()

    # Created on first use, because building a decoder takes tens of milliseconds and indexing only encodes.

    @cached_property
    def _interface(self) -> msgspec.msgpack.Decoder[Interface]:
        return self._make_interface_decoder()

    @cached_property
    def _body(self) -> msgspec.msgpack.Decoder[Body]:
        return self._make_body_decoder()

    def encode(self, value: object) -> bytes:
        """Encode a value as MessagePack."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface:
        """Decode an interface."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body:
        """Decode a body."""
        return self._body.decode(data)
