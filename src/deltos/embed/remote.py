"""Embedding by a remote server (OpenAI-compatible, Ollama or Voyage), with batches and retries."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from deltos.errors import AddressRefused, EmbedderUnavailable, FetchFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.embed.protocol import TextToEmbed, Vectors

    Ask = Callable[[str, bytes, Mapping[str, str], float], bytes]
    """Function that posts a body to a URL with headers and a timeout in seconds, and returns the response body."""

Kind = Literal["openai", "ollama", "voyage"]

BATCH_TEXTS = 64  # maximum number of texts per request
BATCH_CHARACTERS = 100_000  # maximum total length of the texts in a request
TEXT_CHARACTERS = 8_000  # maximum length of a text; longer texts are truncated
TIMEOUT_SECONDS = 30.0  # timeout of requests that embed indexed texts
QUESTION_TIMEOUT_SECONDS = 3.0  # timeout of requests that embed a question; search then uses only terms
ATTEMPTS = 3  # maximum number of attempts to embed texts
PAUSES_SECONDS = (1.0, 2.0)  # pauses between the attempts
# Time without requests after a failure, so that searches do not wait for an unavailable server.
RETRY_PAUSE_SECONDS = 30.0
_DEFAULTS = {
    "openai": ("https://api.openai.com/v1", "text-embedding-3-small"),
    "ollama": ("http://127.0.0.1:11434", "nomic-embed-text"),
    "voyage": ("https://api.voyageai.com/v1", "voyage-code-3"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An embedding server: kind, URL, model and API key."""

    kind: Kind
    url: str = ""
    model: str = ""
    key: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """Full URL of the embedding request."""
        base = (self.url or _DEFAULTS[self.kind][0]).rstrip("/")
        return f"{base}/api/embed" if self.kind == "ollama" else f"{base}/embeddings"

    @property
    def model_name(self) -> str:
        """Name of the model on the server."""
        return self.model or _DEFAULTS[self.kind][1]


class RemoteModel:
    """Embedder that requests vectors from a server, in batches of texts."""

    def __init__(
        self,
        endpoint: Endpoint,
        ask: Ask,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.identity = f"{endpoint.kind}:{endpoint.model_name}"
        self._endpoint = endpoint
        self._ask_server = ask
        self._sleep = sleep
        self._clock = clock
        self._quiet_until = float("-inf")

    def texts(self, passages: Sequence[TextToEmbed]) -> Vectors:
        """Return unit vectors of texts."""
        rows = [
            row for batch in _split_batches(passages) for row in self._ask(batch, "document", TIMEOUT_SECONDS, ATTEMPTS)
        ]
        return _to_unit_length(np.array(rows, np.float32))

    def question(self, passage: TextToEmbed) -> Vectors:
        """Return the unit vector of a question; the timeout is short, and failures are not retried."""
        if self._clock() < self._quiet_until:
            raise EmbedderUnavailable(f"{self.identity} failed less than {RETRY_PAUSE_SECONDS:.0f} seconds ago")
        rows = self._ask([passage.text[:TEXT_CHARACTERS]], "query", QUESTION_TIMEOUT_SECONDS, 1)
        vector: Vectors = _to_unit_length(np.array(rows, np.float32))[0]
        return vector

    def _ask(self, texts: list[str], purpose: str, timeout_seconds: float, attempts: int) -> list[list[float]]:
        body: dict[str, object] = {"model": self._endpoint.model_name, "input": texts}
        if self._endpoint.kind == "voyage":
            body["input_type"] = purpose
        for pause_seconds in [*PAUSES_SECONDS[: attempts - 1], None]:
            try:
                return self._parse_vectors(self._post(body, timeout_seconds), len(texts))
            except EmbedderUnavailable as exc:
                if pause_seconds is None or not exc.retryable:
                    self._quiet_until = self._clock() + RETRY_PAUSE_SECONDS
                    raise
                self._sleep(pause_seconds)
        return []  # not reached, because the last attempt returns or raises an exception

    def _post(self, body: dict[str, object], timeout_seconds: float) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self._endpoint.key:
            headers["Authorization"] = f"Bearer {self._endpoint.key}"
        try:
            return self._ask_server(self._endpoint.address, json.dumps(body).encode(), headers, timeout_seconds)
        except AddressRefused as exc:
            raise _unavailable_error(self.identity, exc.message, retryable=False) from exc
        except FetchFailed as exc:
            raise _unavailable_error(self.identity, exc.message, retryable=exc.retryable) from exc

    def _parse_vectors(self, data: bytes, count: int) -> list[list[float]]:
        """Return the vectors in a server's response, in the order of the texts."""
        try:
            answer = json.loads(data)
            if self._endpoint.kind == "ollama":
                rows = answer["embeddings"]
            else:
                rows = [item["embedding"] for item in sorted(answer["data"], key=lambda item: item["index"])]
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            raise _unavailable_error(self.identity, "invalid response", retryable=False) from exc
        if len(rows) != count:
            raise _unavailable_error(self.identity, f"{len(rows)} vectors for {count} texts", retryable=False)
        return list(rows)


def _unavailable_error(identity: str, reason: str, *, retryable: bool) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"{identity}: {reason}", hint="Search uses only words.", retryable=retryable)


def _split_batches(passages: Sequence[TextToEmbed]) -> list[list[str]]:
    """Split texts into one batch per request. Empty texts become a space, because servers reject them."""
    groups: list[list[str]] = [[]]
    size = 0
    for passage in passages:
        text = passage.text[:TEXT_CHARACTERS] or " "
        if groups[-1] and (len(groups[-1]) >= BATCH_TEXTS or size + len(text) > BATCH_CHARACTERS):
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += len(text)
    return [group for group in groups if group]


def _to_unit_length(vectors: Vectors) -> Vectors:
    lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True) + np.float32(1e-9)
    return vectors / lengths
