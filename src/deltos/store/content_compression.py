"""Compression of stored file contents."""

from __future__ import annotations

from deltos.errors import StoreError

MAX_CONTENT_BYTES = 32_000_000  # maximum size of an indexed file, encoded as UTF-8
_COMPRESSION_LEVEL = 6  # zstandard compression level; higher levels are much slower and save little for source code


def pack(data: bytes) -> bytes:
    """Return the compressed content of a file."""
    import zstandard  # imported here, because zstandard is installed only with the PostgreSQL extra

    return zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(data)


def unpack(packed: bytes) -> bytes:
    """Return the decompressed content of a file. Raise StoreError if it is damaged or too large."""
    import zstandard

    try:
        if zstandard.get_frame_parameters(packed).content_size > MAX_CONTENT_BYTES:
            raise StoreError("The stored content of a file exceeds the size limit", hint="Index the project again.")
        return zstandard.ZstdDecompressor().decompress(packed, max_output_size=MAX_CONTENT_BYTES)
    except zstandard.ZstdError as exc:
        raise StoreError(f"The stored content of a file is damaged ({exc})", hint="Index the project again.") from exc
