"""SHA-256 without OpenSSL. `hashlib` loads OpenSSL, which slows down the start of hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # available since Python 3.12
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:  # this interpreter has no built-in hashes
            from hashlib import sha256

__all__ = ["sha256"]
