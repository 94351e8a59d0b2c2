"""HTTP answers that refuse: a status, a JSON-RPC error that says no more than it must."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_types as types
from starlette.responses import Response

from deltos.server.messages import Refused, write_message

if TYPE_CHECKING:
    from collections.abc import Mapping


def refusal(
    status: int, message: str, headers: Mapping[str, str] | None = None, code: int = types.INVALID_REQUEST
) -> Response:
    """An answer to a request that went no further."""
    return as_response(Refused(code, message), status, headers)


def as_response(refused: Refused, status: int = 400, headers: Mapping[str, str] | None = None) -> Response:
    """The answer to a body that is no message."""
    body = write_message(refused.answer)
    return Response(body, status, dict(headers or {}), media_type="application/json")
