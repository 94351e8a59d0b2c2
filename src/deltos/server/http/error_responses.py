"""HTTP error responses with a JSON-RPC error as body."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
from starlette.responses import Response

from deltos.server.messages import InvalidMessage, write_message

if TYPE_CHECKING:
    from collections.abc import Mapping


def error_response(
    status: int, message: str, headers: Mapping[str, str] | None = None, code: int = types.INVALID_REQUEST
) -> Response:
    """Return an error response for a rejected request."""
    return invalid_message_response(InvalidMessage(code, message), status, headers)


def invalid_message_response(
    error: InvalidMessage, status: int = 400, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the error response for a request body that is not a valid message."""
    body = write_message(error.answer)
    return Response(body, status, dict(headers or {}), media_type="application/json")
