"""Codec that encodes a resolver's facts as MessagePack."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec


class Codec:
    """Encoder and decoder of facts, which are `msgspec.Struct` instances.

    Equal interfaces have equal encodings.
    """

    def __init__(self, interface: object, body: object) -> None:
        self._types: tuple[Any, Any] = (interface, body)
        self._encoder = msgspec.msgpack.Encoder()

    # Decoders are created on first use: building one takes tens of milliseconds, and indexing only encodes.

    @cached_property
    def _interface_decoder(self) -> msgspec.msgpack.Decoder[object]:
        return msgspec.msgpack.Decoder(self._types[0])

    @cached_property
    def _body_decoder(self) -> msgspec.msgpack.Decoder[object]:
        return msgspec.msgpack.Decoder(self._types[1])

    def encode(self, value: object) -> bytes:
        """Encode a file's interface, a part of the interface, or the file's body."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> object:
        """Decode the interface of a file."""
        return self._interface_decoder.decode(data)

    def body(self, data: bytes) -> object:
        """Decode the body of a file."""
        return self._body_decoder.decode(data)
