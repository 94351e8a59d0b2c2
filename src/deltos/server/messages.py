"""Reads lines as JSON-RPC messages; a line that is none gets the error that the specification names."""

from __future__ import annotations

import json
from typing import TypeGuard

import mcp_types as types
from pydantic import ValidationError

Message = types.JSONRPCMessage
_MOST_DIGITS = 100


class Refused(Exception):
    """A line that is not a message; carries the answer to it."""

    def __init__(self, code: int, message: str, request_id: types.RequestId | None = None) -> None:
        super().__init__(message)
        error = types.ErrorData(code=code, message=message)
        self.answer = types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def read_message(line: bytes) -> Message:
    """The message in `line`. Raises Refused."""
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        raise _refusal(_parse(line)) from None
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line:
        _refuse_odd_id(_parse(line))
    return message


def write_message(message: Message) -> bytes:
    """`message` as one line, without its end."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def answered_id(message: Message) -> types.RequestId | None:
    """The id of the request that `message` answers, if it is an answer."""
    return message.id if isinstance(message, types.JSONRPCResponse | types.JSONRPCError) else None


def _parse(line: bytes) -> object:
    try:
        parsed: object = json.loads(line, parse_int=_whole_number)
    except (ValueError, RecursionError):
        raise Refused(types.PARSE_ERROR, "Parse error") from None
    return parsed


def _whole_number(digits: str) -> int | None:
    """A whole number; None for one with so many digits that converting it would take quadratic time."""
    return int(digits) if len(digits) <= _MOST_DIGITS else None


def _refusal(parsed: object) -> Refused:
    if isinstance(parsed, list):
        return Refused(types.INVALID_REQUEST, "Invalid Request: batches are not supported")
    request_id = parsed.get("id") if isinstance(parsed, dict) else None
    return Refused(types.INVALID_REQUEST, "Invalid Request", request_id if _can_be_answered(request_id) else None)


def _can_be_answered(request_id: object) -> TypeGuard[int | str]:
    """Whether an answer can carry the id: a whole number, or text without half characters."""
    if isinstance(request_id, str):
        return request_id == request_id.encode("utf-8", "ignore").decode()
    return isinstance(request_id, int) and not isinstance(request_id, bool)


def _refuse_odd_id(parsed: object) -> None:
    """A request whose id is neither text nor a whole number must not pass for a notification."""
    if isinstance(parsed, dict) and "id" in parsed:
        raise Refused(types.INVALID_REQUEST, "Invalid Request: the id must be a string or a whole number")
