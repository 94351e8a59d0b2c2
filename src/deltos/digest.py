"""SHA-256 for hooks, which start on every tool call: `hashlib` loads OpenSSL first, the interpreter has its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # since 3.12
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # an interpreter that was built without
            from hashlib import sha256

__all__ = ["sha256"]
