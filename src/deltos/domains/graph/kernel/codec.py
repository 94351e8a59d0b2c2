"""How a reader's facts become bytes and come back. A reader chooses its codec; nobody else knows the form."""

from __future__ import annotations

import marshal
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

import msgspec

Interface = TypeVar("Interface")
Body = TypeVar("Body")

# Version 2 has no back references, which depend on how objects happen to be shared: equal values give equal bytes.
_STABLE_MARSHAL_VERSION = 2


class Codec(Protocol):
    """Bytes of interfaces, of bodies and of the parts of an interface."""

    def encode(self, value: object) -> bytes:
        """An interface or a body as the store keeps it."""

    def stable(self, value: object) -> bytes:
        """An interface, or one part of it, as bytes to compare by: equal values give equal bytes."""

    def interface(self, data: bytes) -> Any:
        """An interface that was encoded."""

    def body(self, data: bytes) -> Any:
        """A body that was encoded."""


class MarshalCodec:
    """Facts made of plain tuples, lists, dictionaries, strings and numbers."""

    def encode(self, value: Any) -> bytes:
        """The value with its shared strings written once."""
        return marshal.dumps(value)

    def stable(self, value: Any) -> bytes:
        """The value without regard to what is shared."""
        return marshal.dumps(value, _STABLE_MARSHAL_VERSION)

    def interface(self, data: bytes) -> Any:
        """The value that was encoded."""
        return marshal.loads(data)  # noqa: S302 (our own index, readable and writable by its owner alone)

    def body(self, data: bytes) -> Any:
        """The value that was encoded."""
        return marshal.loads(data)  # noqa: S302 (as above)


class StructCodec(Generic[Interface, Body]):
    """Facts made of `msgspec.Struct`s: one type is every interface of a reader, another every body."""

    def __init__(self, interface: type[Interface], body: type[Body]) -> None:
        self._types = (interface, body)
        self._encoder = msgspec.msgpack.Encoder()

    # Made when first needed: decoders of many types of nodes take tens of milliseconds, and who indexes only encodes.

    @cached_property
    def _interface(self) -> msgspec.msgpack.Decoder[Interface]:
        return msgspec.msgpack.Decoder(self._types[0])

    @cached_property
    def _body(self) -> msgspec.msgpack.Decoder[Body]:
        return msgspec.msgpack.Decoder(self._types[1])

    def encode(self, value: object) -> bytes:
        """The value as MessagePack."""
        return self._encoder.encode(value)

    def stable(self, value: object) -> bytes:
        """The same: MessagePack does not know what is shared."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface:
        """The interface that was encoded."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body:
        """The body that was encoded."""
        return self._body.decode(data)
