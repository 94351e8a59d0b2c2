"""Measure the redaction of secrets: how many generated secrets reach the disk through each channel into memory, even if
the text is truncated inside a secret, and how many lines of ordinary text are redacted by mistake.

    python -m benchmarks.memory_secrets leaks [--per-kind N] [--channel GLOB …] [--misses] | false [FOLDER …] [--list]

`leaks` searches all files of the data folder for every substring of twelve characters of a secret. `false` counts
redacted lines of Django, Rails and the Linux kernel's documentation, or of the given folders.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tempfile
from collections import Counter, defaultdict
from fnmatch import fnmatch
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.paths import CORPORA
from benchmarks.secret_channels import Channel, all_channels
from benchmarks.secret_kinds import all_kinds, held_out_names, texts_with_secrets
from deltos.domains.memory.capture.payload import MAX_CHARACTERS_PER_TEXT
from deltos.domains.memory.core.memory import Memory
from deltos.redaction.secrets import find_secrets
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.secret_kinds import SecretInText

SUBSTRING_CHARACTERS = 12
REVIEWED_LINES_FILE = Path(__file__).with_name("secret_lines.txt")
_PADDING_TEXT = "the parser reads a line and moves on to the next one without looking back "
_LINES_PER_READ = 200  # number of lines of a file that an agent reads in one call
_BINARY_SUFFIXES = frozenset(
    """.po .mo .png .jpg .gif .svg .ico .gz .zip .woff .ttf .pdf .shp .dbf .sqlite3 .geojson .mmdb .tif .webp .mp4
    .mov""".split()
)


def main() -> None:
    """Run the chosen measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("leaks", "false"), nargs="?", default="leaks")
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--per-kind", type=int, default=7)
    parser.add_argument("--channel", action="append", default=[], metavar="GLOB", help="only channels that match")
    parser.add_argument("--misses", action="store_true", help="print leaked texts, of development kinds only")
    parser.add_argument("--list", action="store_true", help="print every unreviewed line")
    args = parser.parse_args()
    if args.what == "leaks":
        leaks(args.per_kind, args.channel or ["*"], show_misses=args.misses)
    else:
        count_false_redactions(args.folders or _default_folders(), show=args.list)


def leaks(per_kind: int, channel_patterns: Sequence[str], *, show_misses: bool) -> None:
    """Send every generated secret through every suitable channel; print how many reached the disk."""
    samples = list(texts_with_secrets(per_kind=per_kind))
    sent: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    leaked_samples: set[int] = set()
    rows = []
    for channel in all_channels():
        if not any(fnmatch(channel.name, pattern) for pattern in channel_patterns):
            continue
        result = measure(channel, samples)
        leaked_samples |= result.leaked
        sent.update(group_of(samples[number].kind) for number in result.numbers)
        lost.update(group_of(samples[number].kind) for number in result.leaked)
        rows.append((channel.name, f"{result.sent:,}", f"{result.kept:,}", len(result.leaked)))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
        for number in sorted(result.leaked) if show_misses else ():
            if group_of(samples[number].kind) != "held-out":
                print(f"{channel.name}: {samples[number].kind} | {samples[number].text[:150]!r}", file=sys.stderr)
    _print_table(("channel", "texts", "stored", "secrets on disk"), rows)
    _print_summary(samples, sent, lost, leaked_samples)


class Result:
    """Counts of the samples that were sent through one channel."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.kept = 0
        self.leaked: set[int] = set()

    @property
    def sent(self) -> int:
        """Number of texts that were sent."""
        return len(self.numbers)


def measure(channel: Channel, samples: Sequence[SecretInText]) -> Result:
    """Send samples through a channel into an empty memory, then search its files for them."""
    result = Result()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        root.mkdir()
        memory = Memory(SqliteObservations(Path(folder) / "home" / "memory.db"))
        for number, sample in enumerate(samples):
            # Some texts are short. Others are so long that they are truncated in the middle of the secret.
            cut = Random(f"{channel.name} {number}").choice((0, *channel.cuts))
            text = _text_for(channel, sample, cut)
            if text is not None:
                result.numbers.append(number)
                channel.send(memory, root, f"marker{number}x", text)
        raw = raw_bytes(Path(folder) / "home")
        result.leaked = leaked(raw, {number: samples[number] for number in result.numbers})
        result.kept = sum(f"marker{number}x".encode() in raw for number in result.numbers)
        memory.store.close()
    return result


def _text_for(channel: Channel, sample: SecretInText, cut: int) -> str | None:
    """Return the text of a sample for a channel.

    If `cut` is given, the text is padded so that truncation to `cut` characters splits the secret.
    """
    if channel.short:
        whole = sample.value
        return whole if sample.kind in _PREFIXED_KINDS and re.fullmatch(r"[\w.~+=-]{20,400}", whole) else None
    if not channel.takes_lines and "\n" in sample.text:
        return None
    if not cut:
        return sample.text
    secret = max(sample.secrets, key=len)
    inside = sample.text.find(secret) + Random(sample.text).randrange(1, max(2, len(secret)))
    if cut < 0:  # Pad the end, and pad the beginning until the text is too long to be redacted in one pass.
        return f"{_padding(MAX_CHARACTERS_PER_TEXT)}\n{sample.text}\n{_padding(-cut - len(sample.text) + inside)}"
    pad = _padding(cut - inside - 20)
    before = f"{pad[:-1]}{' ' if cut < 1_000 else chr(10)}{sample.text}" if pad else sample.text
    return before if cut < MAX_CHARACTERS_PER_TEXT // 2 else f"{before}\n{_padding(MAX_CHARACTERS_PER_TEXT)}"


def _padding(size: int) -> str:
    """Return `size` characters of ordinary text."""
    return (_PADDING_TEXT * (max(0, size) // len(_PADDING_TEXT) + 1))[: max(0, size)]


_PREFIXED_KINDS = frozenset(kind.name for kind in all_kinds() if kind.style == "prefixed")


def raw_bytes(home: Path) -> bytes:
    """Return the bytes of all files in a data folder in lower case, because the word index is in lower case."""
    return b"\n".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()).lower()


def leaked(raw: bytes, samples: dict[int, SecretInText]) -> set[int]:
    """Return the numbers of the samples whose secret, or a part of it, occurs in the bytes."""
    pieces: dict[bytes, set[int]] = defaultdict(set)
    public = _public_text(samples.values())
    for number, sample in samples.items():
        for secret in sample.secrets:
            for piece in substrings_of(secret):
                if piece not in public:
                    pieces[piece].add(number)
    if unjudged := samples.keys() - {number for numbers in pieces.values() for number in numbers}:
        raise ValueError(f"These secrets cannot be distinguished from the texts around them: {sorted(unjudged)}")
    raw = raw.replace(_PADDING_TEXT.encode(), b" ")
    inside = {piece for piece in pieces if len(piece) < SUBSTRING_CHARACTERS and piece in raw}
    inside |= {raw[at : at + SUBSTRING_CHARACTERS] for at in _candidate_positions(raw, pieces.keys())} & pieces.keys()
    return {number for piece in inside for number in pieces[piece]}


def _public_text(samples: Iterable[SecretInText]) -> bytes:
    """Return the texts around the secrets. They are public, and they may contain the same substrings as a secret."""
    around = "\n".join({sample.text.replace(sample.value, " ") for sample in samples}).lower()
    return f"{around}\n{around.replace(' ', '-')}".encode()


def _candidate_positions(raw: bytes, pieces: Iterable[bytes]) -> Iterator[int]:
    """Yield the positions at which the first eight bytes of a piece of a secret occur."""
    heads = np.array(
        [int.from_bytes(piece[:8], "little") for piece in pieces if len(piece) == SUBSTRING_CHARACTERS], dtype=np.uint64
    )
    letters = np.frombuffer(raw, dtype=np.uint8).astype(np.uint64)
    count = max(0, len(letters) - SUBSTRING_CHARACTERS + 1)
    windows = np.zeros(count, dtype=np.uint64)
    for place in range(8):
        windows |= letters[place : place + count] << np.uint64(8 * place)
    yield from map(int, np.flatnonzero(np.isin(windows, heads)))


def substrings_of(secret: str) -> Iterator[bytes]:
    """Yield every substring of twelve characters of a secret, or the entire secret if it is shorter."""
    raw = secret.lower().encode()
    for start in range(max(1, len(raw) - SUBSTRING_CHARACTERS + 1)):
        yield raw[start : start + SUBSTRING_CHARACTERS]


def group_of(kind: str) -> str:
    """Return "held-out" for kinds of secrets that were not used for tuning, otherwise "requested" or "development"."""
    if kind in held_out_names():
        return "held-out"
    return "requested" if any(kind == other.name and other.named for other in all_kinds()) else "development"


def _print_summary(
    samples: Sequence[SecretInText], sent: Counter[str], lost: Counter[str], leaked_samples: set[int]
) -> None:
    rows = [
        (name, f"{sent[name]:,}", lost[name], f"{100 - 100 * lost[name] / sent[name]:.2f} %")
        for name in ("requested", "development", "held-out")
    ]
    total, gone = sum(sent.values()), sum(lost.values())
    rows.append(("all", f"{total:,}", gone, f"{100 - 100 * gone / total:.2f} %"))
    _print_table(("kinds", "texts sent", "on disk", "redacted"), rows)
    print(
        f"\n{len(samples):,} secrets of {len(all_kinds())} kinds; {len(leaked_samples)} of them "
        f"({100 * len(leaked_samples) / len(samples):.2f} %) reached the disk through any channel"
    )


def count_false_redactions(folders: Iterable[Path], *, show: bool) -> None:
    """Count the lines with a redaction, and the redacted lines that no reviewer marked as containing a secret."""
    reviewed = {line for line in REVIEWED_LINES_FILE.read_text("utf-8").splitlines() if not line.startswith("#")}
    rows = []
    for folder in folders:
        lines = touched = false = 0
        for path, number, line in _redacted_lines(folder):
            if number == 0:
                lines += int(line)
                continue
            touched += 1
            if digest_of(line) not in reviewed:
                false += 1
                if show:
                    print(f"{digest_of(line)} {path.relative_to(folder)}:{number}: {line.strip()[:220]}")
        rows.append((folder.name, f"{lines:,}", touched, false, f"{10_000 * false / lines:.2f}"))
    _print_table(("source", "lines", "redacted lines", "of them false", "false per 10,000"), rows)


def digest_of(line: str) -> str:
    """Return the digest of a line, by which the list of reviewed lines identifies it."""
    return hashlib.sha256(line.strip().encode()).hexdigest()[:16]


def _redacted_lines(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield the redacted lines with file and line number. A row with number 0 contains the line count of the file."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix in _BINARY_SUFFIXES or ".git" in path.parts:
            continue
        try:
            lines = path.read_text("utf-8").split("\n")
        except (UnicodeDecodeError, OSError):
            continue
        yield path, 0, str(len(lines))
        for first in range(0, len(lines), _LINES_PER_READ):
            piece = "\n".join(lines[first : first + _LINES_PER_READ])
            for number in _lines_of_secrets(piece):
                yield path, first + number + 1, lines[first + number]


def _lines_of_secrets(text: str) -> list[int]:
    found: set[int] = set()
    for span in find_secrets(text):
        first = text.count("\n", 0, span.start)
        found.update(range(first, first + text.count("\n", span.start, span.end) + 1))
    return sorted(found)


def _default_folders() -> list[Path]:
    folders = [CORPORA / "django", CORPORA / "rails", *sorted(CORPORA.glob("linux/*/Documentation"))]
    if missing := [folder for folder in folders if not folder.is_dir()]:
        sys.exit(f"Not found: {', '.join(map(str, missing))}. Pass folders.")
    return folders


def _print_table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n| {' | '.join(map(str, head))} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


if __name__ == "__main__":
    main()
