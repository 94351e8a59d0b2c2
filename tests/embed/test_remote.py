from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from deltos.embed.protocol import TextToEmbed
from deltos.embed.remote import BATCH_TEXTS, RETRY_PAUSE_SECONDS, Endpoint, Kind, RemoteModel
from deltos.errors import EmbedderUnavailable
from deltos.fetch.configured_endpoint import ask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Reply = tuple[int, Any]


class Server:
    """A loopback server that returns the next prepared reply to each request, or vectors that contain the text lengths."""

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[tuple[str, dict[str, Any], str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append((self.path, body, self.headers.get("Authorization", "")))
                status, reply = server.replies.pop(0) if server.replies else (200, server.vectors(self.path, body))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(reply if isinstance(reply, bytes) else json.dumps(reply).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        Thread(target=self._http.serve_forever, daemon=True).start()

    @staticmethod
    def vectors(path: str, body: dict[str, Any]) -> Any:
        rows = [[float(len(text)), 1.0] for text in body["input"]]
        if path == "/api/embed":
            return {"embeddings": rows}
        return {"data": [{"index": number, "embedding": row} for number, row in enumerate(rows)][::-1]}

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def make_model(server: Server, kind: Kind = "openai", clock: Callable[[], float] = lambda: 0.0) -> RemoteModel:
    return RemoteModel(Endpoint(kind, server.url, "m", "secret"), ask, sleep=lambda _: None, clock=clock)


def passages(*texts: str) -> list[TextToEmbed]:
    return [TextToEmbed(text, "") for text in texts]


@pytest.mark.parametrize("kind", ["openai", "ollama", "voyage"])
def test_texts_are_converted_to_unit_vectors_in_order(server: Server, kind: Kind) -> None:
    vectors = make_model(server, kind).texts(passages("a", "abc"))
    assert (vectors[:, 0] / vectors[:, 1]).tolist() == pytest.approx([1, 3])
    assert (vectors**2).sum(1).tolist() == pytest.approx([1, 1])
    path, body, authorization = server.requests[0]
    assert path == ("/api/embed" if kind == "ollama" else "/embeddings")
    assert (body["model"], authorization) == ("m", "Bearer secret")
    assert body.get("input_type") == ("document" if kind == "voyage" else None)


def test_texts_are_sent_in_batches_and_empty_ones_as_spaces(server: Server) -> None:
    assert len(make_model(server).texts(passages(*["x"] * BATCH_TEXTS, ""))) == BATCH_TEXTS + 1
    assert [len(body["input"]) for _, body, _ in server.requests] == [BATCH_TEXTS, 1]
    assert server.requests[1][1]["input"] == [" "]


def test_a_request_to_a_busy_server_is_retried(server: Server) -> None:
    server.replies = [(503, {}), (429, {})]
    assert len(make_model(server).texts(passages("x"))) == 1
    assert len(server.requests) == 3


def test_a_rejected_request_is_not_retried(server: Server) -> None:
    server.replies = [(401, {})]
    with pytest.raises(EmbedderUnavailable, match="HTTP 401"):
        make_model(server).texts(passages("x"))
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [b"not json", {"data": [{}]}, {"data": []}])
def test_an_invalid_response_is_reported(server: Server, reply: Any) -> None:
    server.replies = [(200, reply)]
    with pytest.raises(EmbedderUnavailable):
        make_model(server).question(TextToEmbed("x", ""))


def test_after_a_failed_question_the_server_is_not_called_for_a_while(server: Server) -> None:
    now = [0.0]
    remote = make_model(server, clock=lambda: now[0])
    server.replies = [(500, {})]
    with pytest.raises(EmbedderUnavailable):
        remote.question(TextToEmbed("x", ""))
    with pytest.raises(EmbedderUnavailable, match="failed less than 30 seconds ago"):
        remote.question(TextToEmbed("x", ""))
    assert len(server.requests) == 1
    now[0] = RETRY_PAUSE_SECONDS
    assert remote.question(TextToEmbed("x", "")).shape == (2,)


def test_a_server_that_is_down_is_unavailable() -> None:
    remote = RemoteModel(Endpoint("ollama", "http://127.0.0.1:1"), ask, sleep=lambda _: None)
    with pytest.raises(EmbedderUnavailable):
        remote.texts(passages("x"))
    assert remote.identity == "ollama:nomic-embed-text"


def test_error_messages_do_not_contain_the_api_key() -> None:
    assert "secret" not in repr(Endpoint("openai", key="secret"))
