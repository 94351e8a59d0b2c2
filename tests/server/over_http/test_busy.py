"""While callers are served that take all they can get, `ping` and `/healthz` are answered, and so is everybody else."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from deltos.server.access import Level
from tests.server.over_http.served import rpc, tool_call
from tests.server.over_http.test_access import OPENING, RESOURCE, Issuer, bearer, create
from tests.server.raw import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Site
    from tests.server.over_http.conftest import Serve

CALLS = 20
CALLS_OF_ONE_CALLER = 12


def test_a_caller_who_asks_for_twenty_things_at_once_leaves_room_for_others(serve: Serve, tmp_path: Path) -> None:
    greedy, modest = bearer(create(tmp_path, Level.ADMIN)), bearer(create(tmp_path, Level.READ))
    server = serve("--require-token")
    session, other, until = server.open_session(greedy), server.open_session(modest), tmp_path / "go"
    with ThreadPoolExecutor(CALLS) as pool:
        calls = [{**tool_call("hold", until=str(until)), "id": 100 + number} for number in range(CALLS)]
        running = [pool.submit(server.post, call, session) for call in calls]
        for _ in range(CALLS_OF_ONE_CALLER):
            server.wait_for_log("holding")
        assert server.request(path="/healthz").message == {"status": "ok"}
        assert server.post(rpc("ping"), session).message["result"] == {}
        assert server.text("echo", other, text="x") == "x"
        assert not any(one.done() for one in running)
        until.touch()
        texts = [one.result(PATIENCE_SECONDS).message["result"]["content"][0]["text"] for one in running]
    assert texts == ["let go"] * CALLS


@contextmanager
def silent_issuer(asked: threading.Event) -> Iterator[str]:
    """An address that accepts connections and says nothing; `asked` tells of the first."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listening:
        held = []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    held.append(listening.accept()[0])
                    asked.set()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        for connection in held:
            connection.close()


def test_an_issuer_that_does_not_answer_delays_only_those_with_its_tokens(
    serve: Serve, site: Site, tmp_path: Path
) -> None:
    own = bearer(create(tmp_path, Level.READ))
    asked = threading.Event()
    with silent_issuer(asked) as url, ThreadPoolExecutor(50) as pool:
        server = serve("--oauth-issuer", url, "--oauth-resource", RESOURCE)
        issued = bearer(Issuer(site).token(iss=url))
        waiting = [pool.submit(server.post, OPENING, issued) for _ in range(50)]
        assert asked.wait(PATIENCE_SECONDS)
        assert server.request(path="/healthz").message == {"status": "ok"}
        session = server.open_session(own)
        assert server.text("echo", session, text="x") == "x"
        assert not any(one.done() for one in waiting)
        server.process.terminate()
        assert server.process.wait(PATIENCE_SECONDS) == 0
