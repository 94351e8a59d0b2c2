"""Encoding of a resolver's facts as bytes. Each resolver chooses its codec; other code treats the bytes as opaque."""

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
        """Return the stored form of an interface, a part of one, or a body; equal interfaces give equal bytes."""

    def interface(self, data: bytes) -> object:
        """Decode an interface."""

    def body(self, data: bytes) -> object:
        """Decode a body."""


class StructCodec(Generic[Interface, Body]):
    """Codec for facts that are `msgspec.Struct`s: one type for all interfaces of a resolver, another for all bodies."""

    def __init__(
        self,
        interface: Callable[[], msgspec.msgpack.Decoder[Interface]],
        body: Callable[[], msgspec.msgpack.Decoder[Body]],
    ) -> None:
        self._make_interface_decoder = interface
        self._make_body_decoder = body
        self._encoder = msgspec.msgpack.Encoder()

    # Created on first use: building a decoder for many node types takes tens of milliseconds; indexing only encodes.

    @cached_property
    def _interface(self) -> msgspec.msgpack.Decoder[Interface]:
        return self._make_interface_decoder()

    @cached_property
    def _body(self) -> msgspec.msgpack.Decoder[Body]:
        return self._make_body_decoder()

    def encode(self, value: object) -> bytes:
        """Return the value as MessagePack."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface:
        """Decode an interface."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body:
        """Decode a body."""
        return self._body.decode(data)
