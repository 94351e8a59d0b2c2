"""Contents of files as they are kept: compressed, and called by a digest, so that equal ones are kept once."""

from __future__ import annotations

from deltos.errors import StoreError

MAX_CONTENT_BYTES = 32_000_000  # of a file as UTF-8; no larger one is indexed
_LEVEL = 6  # higher ones take much longer for source, and little off


def pack(data: bytes) -> bytes:
    """Compress the content of a file."""
    import zstandard  # deferred: comes with the extra for PostgreSQL

    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def unpack(packed: bytes) -> bytes:
    """The content of a file again."""
    import zstandard

    try:
        if zstandard.get_frame_parameters(packed).content_size > MAX_CONTENT_BYTES:
            raise StoreError("The content of a file is larger than any that is kept", hint="Index the project again.")
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_CONTENT_BYTES)
    except zstandard.ZstdError as exc:
        raise StoreError(f"The content of a file is damaged ({exc})", hint="Index the project again.") from exc
