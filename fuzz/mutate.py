"""Mutate inputs. All randomness comes from one generator, so that a seed determines the entire sequence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fuzz.mutate_json import mutate_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

MAX_MUTATIONS = 4
JSON_SHARE = 0.6
# Large repeat counts reveal slow parsing; most inputs stay short, so that many can be tried.
REPEAT_COUNTS = (2, 10, 10, 100, 100, 1_000, 10_000)
_WORD = re.compile(rb"\w+|[^\w\s]+|\s+")
_BRACKETS = (
    (b"(", b")"),
    (b"[", b"]"),
    (b"{", b"}"),
    (b"<", b">"),
    (b"<div>", b"</div>"),
    (b"/*", b"*/"),
    (b"**", b"**"),
)
_ODD_BYTES = (
    b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b"\x0b", b"\x0c", b"\x1b[2J", b"\x7f", b"\x85", b"\xff", b"\xfe\xff",
    b"\xef\xbb\xbf", "\u2028".encode(), "\u00a0".encode(), "\u0130".encode(), "\u202e".encode(), "\U0001f469".encode(),
    "e\u0301".encode(), b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\\", b'"', b"'", b"`", b"\\u0000",
    b"\\ud800", b"%00", b"%", b"&#0;", b"&#xD800;", b"&#99999999999;", b"0", b"-1", b"99999999999999999999", b"1e999", b"NaN",
    b"..", b"/", b"//", b"../../etc", b"$", b"${x}", b"*", b"**", b"?", b"#", b"@", b":", b";", b",", b"=", b"|", b"~", b"^",
)  # fmt: skip


class Mutator:
    """Mutates the inputs of one target."""

    def __init__(self, rng: Random, tokens: Sequence[bytes], *, max_bytes: int, is_json: bool = False) -> None:
        self._rng = rng
        self._tokens = tuple(tokens) + _ODD_BYTES
        self._max_bytes = max_bytes
        self._is_json = is_json
        self._operations: tuple[Callable[[bytes, bytes], bytes], ...] = (
            self._replace_bytes, self._insert_token, self._insert_token, self._replace_word, self._repeat_range, self._repeat_token,
            self._nest_brackets, self._delete_range, self._delete_lines, self._move_range, self._replace_range, self._truncate_input, self._duplicate_lines,
        )  # fmt: skip

    def mutate(self, data: bytes, other: bytes) -> bytes:
        """Apply one to four mutations to `data`; `other` is a second input from which ranges are copied."""
        if self._is_json and self._rng.random() < JSON_SHARE:
            changed = mutate_json(self._rng, data, other)
            if changed is not None:
                return changed[: self._max_bytes]
        for _ in range(self._rng.randint(1, MAX_MUTATIONS)):
            data = self._rng.choice(self._operations)(data, other)[: self._max_bytes]
        return data

    def _replace_bytes(self, data: bytes, _other: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._rng.randint(1, 4)):
            if changed:
                changed[self._random_position(changed)] = self._rng.randrange(256)
        return bytes(changed)

    def _insert_token(self, data: bytes, _other: bytes) -> bytes:
        at = self._random_position(data)
        return data[:at] + self._rng.choice(self._tokens) + data[at:]

    def _replace_word(self, data: bytes, other: bytes) -> bytes:
        start, end = self._random_word_range(data)
        if self._rng.random() < 0.5:
            return data[:start] + self._rng.choice(self._tokens) + data[end:]
        first, last = self._random_word_range(other)
        return data[:start] + other[first:last] + data[end:]

    def _repeat_range(self, data: bytes, _other: bytes) -> bytes:
        start, end = self._random_word_range(data) if self._rng.random() < 0.5 else self._random_range(data)
        return data[:end] + self._repeat_randomly(data[start:end]) + data[end:]

    def _repeat_token(self, data: bytes, _other: bytes) -> bytes:
        at = self._random_position(data)
        count = self._rng.randint(1, 2)
        token = b"".join(self._rng.choice(self._tokens) for _ in range(count))
        return data[:at] + self._repeat_randomly(token) + data[at:]

    def _nest_brackets(self, data: bytes, _other: bytes) -> bytes:
        start, end = self._random_range(data)
        if self._rng.random() < 0.5:
            left, right = self._rng.choice(_BRACKETS)
        else:
            left, right = self._rng.choice(self._tokens), self._rng.choice(self._tokens)
        left = self._repeat_randomly(left)
        closed = right * (len(left) // max(1, len(right)))
        return data[:start] + left + data[start:end] + closed[: len(left)] + data[end:]

    def _delete_range(self, data: bytes, _other: bytes) -> bytes:
        start, end = self._random_word_range(data) if self._rng.random() < 0.5 else self._random_range(data)
        return data[:start] + data[end:]

    def _delete_lines(self, data: bytes, _other: bytes) -> bytes:
        lines = data.split(b"\n")
        start = self._rng.randrange(len(lines))
        del lines[start : start + self._rng.randint(1, max(1, len(lines) // 4))]
        return b"\n".join(lines)

    def _duplicate_lines(self, data: bytes, other: bytes) -> bytes:
        lines = (other if self._rng.random() < 0.3 else data).split(b"\n")
        start = self._rng.randrange(len(lines))
        piece = b"\n".join(lines[start : start + self._rng.randint(1, 8)]) + b"\n"
        at = self._random_position(data)
        return data[:at] + self._repeat_randomly(piece) + data[at:]

    def _move_range(self, data: bytes, _other: bytes) -> bytes:
        start, end = self._random_range(data)
        rest = data[:start] + data[end:]
        at = self._random_position(rest)
        return rest[:at] + data[start:end] + rest[at:]

    def _replace_range(self, data: bytes, other: bytes) -> bytes:
        first, last = self._random_range(other)
        start, end = self._random_range(data)
        return data[:start] + other[first:last] + data[end:]

    def _truncate_input(self, data: bytes, _other: bytes) -> bytes:
        return data[: self._random_position(data)]

    def _repeat_randomly(self, text: bytes) -> bytes:
        count = min(self._rng.choice(REPEAT_COUNTS), self._max_bytes // max(1, len(text)))
        return text * count

    def _random_position(self, data: bytes | bytearray) -> int:
        return self._rng.randrange(len(data)) if data else 0

    def _random_range(self, data: bytes) -> tuple[int, int]:
        start = self._random_position(data)
        longest = self._rng.choice((4, 16, 64, 256, 4_096))
        return start, min(len(data), start + self._rng.randint(1, longest))

    def _random_word_range(self, data: bytes) -> tuple[int, int]:
        """Return the range of the word, punctuation or whitespace at or after a random position."""
        sample_files = _WORD.search(data, self._random_position(data))
        return sample_files.span() if sample_files else (0, 0)
