"""Chunks read as a whole, behind the index: a reader in the wheel puts their words together, as sums of words cannot.

It takes some milliseconds a chunk, so a project is read in the background once it is asked about, a little of it by
`deltos index`. Until all is read, and where there are too many chunks, sums of words are compared alone. What was read
is known by its words: only what changed is read again. It is kept beside the index.
"""

from __future__ import annotations

import hashlib
import io
import logging
import threading
import weakref
import zipfile
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from deltos.domains.code.embedding import MOST_CHUNKS_READ, words_to_read
from deltos.embed.protocol import TextToEmbed
from deltos.embed.reading import code_reading_model
from deltos.embed.rows import quantised
from deltos.errors import StoreError
from deltos.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors
    from deltos.progress import Progress
    from deltos.store.code import Code, CodeChunkWords, FileWords, KeptReadings

    Int8: TypeAlias = npt.NDArray[np.int8]

logger = logging.getLogger(__name__)

_WORDS_AT_ONCE = 2_000  # chunks whose words one query brings
_CHUNKS_AT_ONCE = 32
_PATIENCE_SECONDS = 0.5  # of a question, where most is known already
_MOSTLY_KNOWN = 0.8
# One in so many may be lost with the process, while it reads and after that: all of it is written at a time.
_UNSAVED_MEANWHILE, _UNSAVED_AFTER = 4, 20
_KEY_BYTES = 8
_DAMAGED = (
    OSError, StoreError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
_MOST_KEPT = 2 * MOST_CHUNKS_READ  # with what stood there before
_ONE_AT_A_TIME = threading.Lock()  # however many projects there are, one core reads


class _WhileOpen(Silent):
    """Goes on for as long as somebody has the project open."""

    def __init__(self, store: weakref.ref[Code]) -> None:
        self._store = store

    def cancelled(self) -> bool:
        """Whether nobody can ask any more."""
        return self._store() is None


class WrittenFile(NamedTuple):
    """A file as it was indexed: the number of that write, and its chunks."""

    number: int
    file_id: int
    first_chunk: int
    chunk_count: int


class ReadChunks:
    """What was read of one project's chunks. Any thread may ask; one at a time reads, and that one asks no store."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._turn = threading.Lock()  # of those who read
        self._known: dict[bytes, Int8] | None = None  # by what was read
        self._keys: dict[int, list[bytes]] = {}  # what there is to read in a file, by the number of the write
        self._unsaved = 0
        self._thread: threading.Thread | None = None

    def of(self, files: Sequence[WrittenFile], store: Code) -> Int8 | None:
        """The vectors of all chunks of some files, in their order; None while there is something to read, which is
        begun."""
        with self._guard:
            missing = [file for file in files if not self._is_read(file)]
            if missing and (self._thread is None or not self._thread.is_alive()):
                words = _words_of(missing, store)
                self._thread = threading.Thread(
                    target=self._read,
                    args=(words, store.readings(), _WhileOpen(weakref.ref(store))),
                    name="reading",
                    daemon=True,
                )
                self._thread.start()
            thread = self._thread
        if missing and thread and self._is_mostly_known(files, store):
            thread.join(_PATIENCE_SECONDS)
        return self._joined(files)

    def read(self, files: Sequence[WrittenFile], store: Code, progress: Progress) -> int:
        """Read what is not known yet, until that is cancelled; how many chunks are read then."""
        self._read(_words_of(files, store), store.readings(), progress)
        return sum(file.chunk_count for file in files if self._is_read(file))

    def _is_read(self, file: WrittenFile) -> bool:
        keys, known = self._keys.get(file.number), self._known
        return keys is not None and known is not None and all(key in known for key in keys)

    def _is_mostly_known(self, files: Sequence[WrittenFile], store: Code) -> bool:
        known = self._known
        if known is None:
            return store.readings().exists()
        return len(known) >= _MOSTLY_KNOWN * sum(file.chunk_count for file in files)

    def _joined(self, files: Sequence[WrittenFile]) -> Int8 | None:
        known = self._known
        if known is None or not all(map(self._is_read, files)):
            return None
        self._keys = {file.number: self._keys[file.number] for file in files}  # others were indexed anew, or are gone
        return np.array([known[key] for keys in self._keys.values() for key in keys], np.int8)

    def _read(self, words: Mapping[int, list[str]], kept: KeptReadings, progress: Progress) -> None:
        """Read the words of chunks, by the number of the write, and keep what is new."""
        with self._turn:
            self._read_in_turn(words, kept, progress)

    def _read_in_turn(self, words: Mapping[int, list[str]], kept: KeptReadings, progress: Progress) -> None:
        was_opened = self._known is not None
        known = self._known = _opened(kept) if self._known is None else self._known
        keys = {number: [_key(text) for text in texts] for number, texts in words.items()}
        texts = {key: text for number in words for key, text in zip(keys[number], words[number], strict=True)}
        if was_opened and sum(key not in known for key in texts) > _CHUNKS_AT_ONCE:
            known |= _opened(kept)  # another process may have read them
        missing = [key for key in texts if key not in known]
        for start in range(0, len(missing), _CHUNKS_AT_ONCE):
            if progress.cancelled():
                break
            some = missing[start : start + _CHUNKS_AT_ONCE]
            with _ONE_AT_A_TIME:
                vectors = code_reading_model().texts([TextToEmbed("", texts[key]) for key in some])
            known.update(zip(some, quantised(vectors), strict=True))
            progress.report(start + len(some), len(missing), "chunks read")
            self._unsaved += len(some)
            self._keep(kept, _UNSAVED_MEANWHILE)
        self._keep(kept, _UNSAVED_AFTER)
        self._keys |= keys
        if len(known) > _MOST_KEPT:
            used = {key for own in self._keys.values() for key in own}
            self._known = {key: vector for key, vector in known.items() if key in used}

    def _keep(self, kept: KeptReadings, one_in: int) -> None:
        """Keep what is known where that much is new."""
        known = self._known
        if known and self._unsaved and self._unsaved * one_in >= len(known):
            _save(kept, known)
            self._unsaved = 0


def read_question(question: str, words: str) -> Vectors:
    """The vector of a question as it is compared with chunks that are read."""
    return code_reading_model().question(TextToEmbed(question, words))


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()


def _words_of(files: Sequence[WrittenFile], store: Code) -> dict[int, list[str]]:
    """What is read of each chunk, by the number of the write; without files that are gone meanwhile."""
    file_ids, chunk_ids = [file.file_id for file in files], [chunk for file in files for chunk in _chunks_of(file)]
    about_files: dict[int, FileWords] = {}
    about_chunks: dict[int, CodeChunkWords] = {}
    for start in range(0, len(file_ids), _WORDS_AT_ONCE):
        about_files |= store.file_words(file_ids[start : start + _WORDS_AT_ONCE])
    for start in range(0, len(chunk_ids), _WORDS_AT_ONCE):
        about_chunks |= store.chunk_words(chunk_ids[start : start + _WORDS_AT_ONCE])
    return {
        file.number: [words_to_read(about_files[file.file_id], about_chunks[chunk]) for chunk in _chunks_of(file)]
        for file in files
        if file.file_id in about_files and all(chunk in about_chunks for chunk in _chunks_of(file))
    }


def _chunks_of(file: WrittenFile) -> range:
    return range(file.first_chunk, file.first_chunk + file.chunk_count)


def _opened(kept: KeptReadings) -> dict[bytes, Int8]:
    """What is kept; nothing where it is damaged, or where another reader wrote it."""
    model = code_reading_model()
    with suppress(*_DAMAGED):
        if data := kept.load():
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                keys, vectors = arrays["keys"], arrays["vectors"]
                is_whole = (vectors.dtype, vectors.shape) == (np.int8, (len(keys), model.dimensions))
                if is_whole and str(arrays["model"]) == model.identity:
                    return dict(zip(map(bytes, keys), vectors, strict=True))
    return {}


def _save(kept: KeptReadings, known: Mapping[bytes, Int8]) -> None:
    """Keep what is known; what cannot be written is read again in the next process."""
    data = io.BytesIO()
    np.savez(
        data,
        allow_pickle=False,
        model=np.array(code_reading_model().identity),
        keys=np.array([np.frombuffer(key, np.uint8) for key in known]),
        vectors=np.array([*known.values()], np.int8),
    )
    try:
        kept.save(data.getvalue())
    except (OSError, StoreError) as error:
        logger.debug("what was read is not kept: %s", error)
