"""Embed chunks with an encoder in the background, because it is more accurate than sums of word vectors but slow.

The encoder takes some milliseconds per chunk, so a project is embedded in the background after the first query; `deltos
index` embeds a part of it. Until all chunks are embedded, and in projects with too many chunks, word vectors are
compared. Vectors are cached next to the index under a hash of the input, so that only changed chunks are embedded
again.
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

from deltos.domains.code.word_vectors import MAX_EMBEDDED_CHUNKS, encoder_input
from deltos.embed.embedders import code_embedder
from deltos.embed.protocol import TextToEmbed
from deltos.embed.vector_rows import quantised
from deltos.errors import StoreError
from deltos.progress import Silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from deltos.embed.protocol import Vectors
    from deltos.progress import Progress
    from deltos.store.code import Code, CodeChunkWords, EmbeddingCache, FileWords

    Int8: TypeAlias = npt.NDArray[np.int8]

logger = logging.getLogger(__name__)

_WORD_QUERY_CHUNKS = 2_000  # chunks whose words are read by one database query
_BATCH_CHUNKS = 32
_WAIT_SECONDS = 0.5  # a query waits this long if most chunks are embedded already
_MOSTLY_EMBEDDED_SHARE = 0.8
# The cache is written as a whole, once 1/4 (while running) or 1/20 (at the end) of it is unsaved.
_SAVE_FRACTION_RUNNING, _SAVE_FRACTION_AT_END = 4, 20
_KEY_BYTES = 8
_DAMAGED = (
    OSError, StoreError, EOFError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip
_MAX_CACHED = 2 * MAX_EMBEDDED_CHUNKS  # includes vectors of earlier versions
_ENCODER_LOCK = threading.Lock()  # only one core embeds, however many projects are open


class _WhileOpen(Silent):
    """Progress that is cancelled when the project is closed."""

    def __init__(self, store: weakref.ref[Code]) -> None:
        self._store = store

    def cancelled(self) -> bool:
        """Whether the project was closed."""
        return self._store() is None


class IndexedFile(NamedTuple):
    """An indexed file: the number of its write, and its chunks."""

    number: int
    file_id: int
    first_chunk: int
    chunk_count: int


class EmbeddedChunks:
    """Vectors of one project's chunks by the encoder. Thread-safe; one thread at a time embeds and does not use the
    store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._embedding_lock = threading.Lock()  # held by the thread that embeds
        self._known: dict[bytes, Int8] | None = None  # by key of the encoder input
        self._keys: dict[int, list[bytes]] = {}  # keys of a file's chunks, by write number
        self._unsaved = 0
        self._thread: threading.Thread | None = None

    def of(self, files: Sequence[IndexedFile], store: Code) -> Int8 | None:
        """Return the vectors of all chunks of the files in order, or None while some are missing; starts embedding
        them."""
        with self._lock:
            missing = [file for file in files if not self._is_embedded(file)]
            if missing and (self._thread is None or not self._thread.is_alive()):
                words = _words_of(missing, store)
                self._thread = threading.Thread(
                    target=self._embed,
                    args=(words, store.embedding_cache(), _WhileOpen(weakref.ref(store))),
                    name="embedding",
                    daemon=True,
                )
                self._thread.start()
            thread = self._thread
        if missing and thread and self._is_mostly_embedded(files, store):
            thread.join(_WAIT_SECONDS)
        return self._vectors_of_all(files)

    def embed(self, files: Sequence[IndexedFile], store: Code, progress: Progress) -> int:
        """Embed missing chunks until done or cancelled; return the number of embedded chunks."""
        self._embed(_words_of(files, store), store.embedding_cache(), progress)
        return sum(file.chunk_count for file in files if self._is_embedded(file))

    def _is_embedded(self, file: IndexedFile) -> bool:
        keys, known = self._keys.get(file.number), self._known
        return keys is not None and known is not None and all(key in known for key in keys)

    def _is_mostly_embedded(self, files: Sequence[IndexedFile], store: Code) -> bool:
        known = self._known
        if known is None:
            return store.embedding_cache().exists()
        return len(known) >= _MOSTLY_EMBEDDED_SHARE * sum(file.chunk_count for file in files)

    def _vectors_of_all(self, files: Sequence[IndexedFile]) -> Int8 | None:
        known = self._known
        if known is None or not all(map(self._is_embedded, files)):
            return None
        self._keys = {
            file.number: self._keys[file.number] for file in files
        }  # the other files were re-indexed or removed
        return np.array([known[key] for keys in self._keys.values() for key in keys], np.int8)

    def _embed(self, words: Mapping[int, list[str]], cache: EmbeddingCache, progress: Progress) -> None:
        """Embed the chunks, given as encoder inputs by write number, and update the cache."""
        with self._embedding_lock:
            self._embed_locked(words, cache, progress)

    def _embed_locked(self, words: Mapping[int, list[str]], cache: EmbeddingCache, progress: Progress) -> None:
        was_loaded = self._known is not None
        known = self._known = _load(cache) if self._known is None else self._known
        keys = {number: [_key(text) for text in texts] for number, texts in words.items()}
        texts = {key: text for number in words for key, text in zip(keys[number], words[number], strict=True)}
        if was_loaded and sum(key not in known for key in texts) > _BATCH_CHUNKS:
            known |= _load(cache)  # another process may have embedded them
        missing = [key for key in texts if key not in known]
        for start in range(0, len(missing), _BATCH_CHUNKS):
            if progress.cancelled():
                break
            batch = missing[start : start + _BATCH_CHUNKS]
            with _ENCODER_LOCK:
                vectors = code_embedder().texts([TextToEmbed("", texts[key]) for key in batch])
            known.update(zip(batch, quantised(vectors), strict=True))
            progress.report(start + len(batch), len(missing), "chunks embedded")
            self._unsaved += len(batch)
            self._save_if_due(cache, _SAVE_FRACTION_RUNNING)
        self._save_if_due(cache, _SAVE_FRACTION_AT_END)
        self._keys |= keys
        if len(known) > _MAX_CACHED:
            used_keys = {key for file_keys in self._keys.values() for key in file_keys}
            self._known = {key: vector for key, vector in known.items() if key in used_keys}

    def _save_if_due(self, cache: EmbeddingCache, fraction: int) -> None:
        """Save the cache if at least 1/`fraction` of it is unsaved."""
        known = self._known
        if known and self._unsaved and self._unsaved * fraction >= len(known):
            _save(cache, known)
            self._unsaved = 0


def embed_question(question: str, words: str) -> Vectors:
    """Return the vector of a question for comparison with embedded chunks."""
    return code_embedder().question(TextToEmbed(question, words))


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_KEY_BYTES).digest()


def _words_of(files: Sequence[IndexedFile], store: Code) -> dict[int, list[str]]:
    """Return the encoder inputs of each file's chunks, by write number; files removed meanwhile are left out."""
    file_ids, chunk_ids = [file.file_id for file in files], [chunk for file in files for chunk in _chunks_of(file)]
    about_files: dict[int, FileWords] = {}
    about_chunks: dict[int, CodeChunkWords] = {}
    for start in range(0, len(file_ids), _WORD_QUERY_CHUNKS):
        about_files |= store.file_words(file_ids[start : start + _WORD_QUERY_CHUNKS])
    for start in range(0, len(chunk_ids), _WORD_QUERY_CHUNKS):
        about_chunks |= store.chunk_words(chunk_ids[start : start + _WORD_QUERY_CHUNKS])
    return {
        file.number: [encoder_input(about_files[file.file_id], about_chunks[chunk]) for chunk in _chunks_of(file)]
        for file in files
        if file.file_id in about_files and all(chunk in about_chunks for chunk in _chunks_of(file))
    }


def _chunks_of(file: IndexedFile) -> range:
    return range(file.first_chunk, file.first_chunk + file.chunk_count)


def _load(cache: EmbeddingCache) -> dict[bytes, Int8]:
    """Return the cached vectors; empty if the cache is damaged or of another model."""
    model = code_embedder()
    with suppress(*_DAMAGED):
        if data := cache.load():
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                keys, vectors = arrays["keys"], arrays["vectors"]
                is_whole = (vectors.dtype, vectors.shape) == (np.int8, (len(keys), model.dimensions))
                if is_whole and str(arrays["model"]) == model.identity:
                    return dict(zip(map(bytes, keys), vectors, strict=True))
    return {}


def _save(cache: EmbeddingCache, known: Mapping[bytes, Int8]) -> None:
    """Save the cache; failures are only logged, because the chunks can be embedded again."""
    data = io.BytesIO()
    np.savez(
        data,
        allow_pickle=False,
        model=np.array(code_embedder().identity),
        keys=np.array([np.frombuffer(key, np.uint8) for key in known]),
        vectors=np.array([*known.values()], np.int8),
    )
    try:
        cache.save(data.getvalue())
    except (OSError, StoreError) as error:
        logger.debug("cannot save the embedding cache: %s", error)
