"""Parses lines as JSON-RPC messages. Invalid messages result in the errors defined by the specification."""

from __future__ import annotations

import json
from typing import TypeGuard

import mcp_types as types
from pydantic import ValidationError

Message = types.JSONRPCMessage
_MAX_INTEGER_DIGITS = 100


class InvalidMessage(Exception):
    """A line that is not a valid message. `answer` is the error response."""

    def __init__(self, code: int, message: str, request_id: types.RequestId | None = None) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def read_message(line: bytes) -> Message:
    """Parse a line as a message. Raise InvalidMessage if it is not valid."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        raise _invalid_message(_parse_json(line)) from None
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line:
        _check_id(_parse_json(line))
    return message


def write_message(message: Message) -> bytes:
    """Serialize `message` as one line without a line break."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def answered_id(message: Message) -> types.RequestId | None:
    """Return the id of the request that `message` answers, or None if it is not an answer."""
    return message.id if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None


def _parse_json(line: bytes) -> object:
    try:
        parsed: object = json.loads(line, parse_int=_parse_integer)
    except (ValueError, RecursionError):
        raise InvalidMessage(types.PARSE_ERROR, "Parse error") from None
    return parsed


def _parse_integer(digits: str) -> int | None:
    """Return the integer, or None if it has too many digits, because conversion takes quadratic time."""
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else None


def _invalid_message(parsed: object) -> InvalidMessage:
    if isinstance(parsed, list):
        return InvalidMessage(types.INVALID_REQUEST, "Invalid Request: batches are not supported")
    request_id = parsed.get("id") if isinstance(parsed, dict) else None
    return InvalidMessage(
        types.INVALID_REQUEST, "Invalid Request", request_id if _can_be_answered(request_id) else None
    )


def _can_be_answered(request_id: object) -> TypeGuard[int | str]:
    """Whether a response can contain the id: it is an integer, or a string without lone surrogates."""
    if isinstance(request_id, str):
        return request_id == request_id.encode("utf-8", "ignore").decode()
    return isinstance(request_id, int) and not isinstance(request_id, bool)


def _check_id(parsed: object) -> None:
    """Raise InvalidMessage if the id has a wrong type."""
    # The SDK would treat such a request as a notification.
    if isinstance(parsed, dict) and "id" in parsed:
        raise InvalidMessage(types.INVALID_REQUEST, "Invalid Request: the id must be a string or an integer")
