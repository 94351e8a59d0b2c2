"""How a reader's facts become bytes and come back. A reader chooses its codec; nobody else knows the form."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

Interface = TypeVar("Interface")
Body = TypeVar("Body")


class Codec(Protocol):
    """Bytes of interfaces, of bodies and of the parts of an interface."""

    def encode(self, value: object) -> bytes:
        """An interface, a part of one, or a body, as the store keeps it; of equal interfaces, equal bytes."""

    def interface(self, data: bytes) -> object:
        """An interface that was encoded."""

    def body(self, data: bytes) -> object:
        """A body that was encoded."""


class StructCodec(Generic[Interface, Body]):
    """Facts made of `msgspec.Struct`s: one type is every interface of a reader, another every body."""

    def __init__(
        self,
        interface: Callable[[], msgspec.msgpack.Decoder[Interface]],
        body: Callable[[], msgspec.msgpack.Decoder[Body]],
    ) -> None:
        self._make_interface_decoder = interface
        self._make_body_decoder = body
        self._encoder = msgspec.msgpack.Encoder()

    # Made when first needed: decoders of many types of nodes take tens of milliseconds, and who indexes only encodes.

    @cached_property
    def _interface(self) -> msgspec.msgpack.Decoder[Interface]:
        return self._make_interface_decoder()

    @cached_property
    def _body(self) -> msgspec.msgpack.Decoder[Body]:
        return self._make_body_decoder()

    def encode(self, value: object) -> bytes:
        """The value as MessagePack."""
        return self._encoder.encode(value)

    def interface(self, data: bytes) -> Interface:
        """The interface that was encoded."""
        return self._interface.decode(data)

    def body(self, data: bytes) -> Body:
        """The body that was encoded."""
        return self._body.decode(data)
