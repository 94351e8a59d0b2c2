"""Tool calls over stdio, checked byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.budget import MAX_ANSWER_CHARACTERS
from deltos.server.tool_runner import MAX_RUNNING_CALLS

if TYPE_CHECKING:
    from tests.server.conftest import StartClient
    from tests.server.raw import RawClient


def test_a_tool_answers_with_its_text(client: RawClient) -> None:
    assert client.call("echo", text="naïve 😀") == {
        "content": [{"type": "text", "text": "naïve 😀"}],
        "isError": False,
    }


@pytest.mark.parametrize("name", ["count_steps", "count-steps", "countSteps", "Count-Steps"])
def test_a_tool_name_is_accepted_in_every_spelling(client: RawClient, name: str) -> None:
    assert client.text(name, steps=3) == "counted to 3"


@pytest.mark.parametrize(("number", "expected"), [(-4, ""), (1_000_000_000, "aaa")])
def test_a_number_out_of_range_is_clamped_with_a_note(client: RawClient, number: int, expected: str) -> None:
    note = f"Note: times={number} is out of range; {len(expected)} is used."
    assert client.text("echo", text="a", times=number) == f"{expected}\n{note}"


def test_a_structured_answer_has_data_and_text(client: RawClient) -> None:
    result = client.call("structured", name="x")
    assert result["structuredContent"] == {"results": [{"name": "x"}], "truncated": False}
    assert result["content"] == [{"type": "text", "text": "1 result"}]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("count_step", {}, "Error: Unknown tool 'count_step'. Did you mean count_steps?"),
        ("xyzzy", {}, "Error: Unknown tool 'xyzzy'. Known tools: echo, "),
        ("elsewhere", {}, "Error: Unknown tool 'elsewhere'."),
        ("echo", {}, "Error: Missing argument 'text'. What to say."),
        ("echo", {"text": []}, "Error: Argument 'text' must be of type string, not list."),
        ("echo", {"text": "a", "volume": 11}, "Error: Unknown argument 'volume'. Known: text, times."),
        (
            "echo",
            {"text": "a", "times": "many"},
            "Error: Argument 'times' must be a whole number, not 'many'.",
        ),
        ("fail", {"how": "known"}, "Error: Symbol 'x' not found. Did you mean y?"),
        ("fail", {"how": "exit"}, "Error: internal error (SystemExit)."),
        ("huge", {"structured": True}, "Error: The answer has 150,011 characters, more than the maximum of 100,000"),
    ],
)
def test_failures_are_reported_as_tool_errors_with_a_message(
    client: RawClient, name: str, arguments: dict[str, object], words: str
) -> None:
    result = client.call(name, **arguments)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith(words)


def test_details_of_an_unexpected_failure_go_to_the_log_only(client: RawClient) -> None:
    assert client.text("fail") == "Error: internal error (ZeroDivisionError). See the server's log for details."
    client.wait_for_log("ZeroDivisionError: a secret detail")
    assert client.text("echo", text="still alive") == "still alive"


def test_an_oversized_answer_is_truncated_with_a_note_in_its_first_line(client: RawClient) -> None:
    text = client.text("huge", size=260_000)
    assert text.startswith("Showing 99,800 of 260,000 characters (")
    assert len(text) <= MAX_ANSWER_CHARACTERS


def test_lone_surrogates_are_replaced(client: RawClient) -> None:
    result = client.call("broken_text")
    assert result["content"][0]["text"] == "half a pair: ?"
    assert result["structuredContent"] == {"name": "?"}


def test_only_protocol_messages_are_written_to_stdout(client: RawClient) -> None:
    assert client.text("shout") == "shouted; a child read 0 bytes"
    for words in ("print", "raw write", "original stdout", "child"):
        client.wait_for_log(words)


def test_child_processes_do_not_inherit_the_pipes(client: RawClient) -> None:
    assert client.text("open_descriptors") == "[]"
    assert client.text("fork") == "[]"


def test_pings_and_other_calls_are_answered_while_tools_run(client: RawClient) -> None:
    waiting = [client.start_call("wait_until_cancelled") for _ in range(3)]
    for _ in waiting:
        client.wait_for_log("waiting")
    assert client.request("ping")["result"] == {}
    assert client.text("echo", text="meanwhile") == "meanwhile"
    for request_id in waiting:
        client.send("notifications/cancelled", {"requestId": request_id})
        client.wait_for_log("noticed the cancellation")


def test_many_concurrent_calls_are_all_answered(client: RawClient) -> None:
    ids = [client.start_call("echo", text=str(number)) for number in range(200)]
    texts = {}
    for _ in ids:
        message = client.receive()
        texts[message["id"]] = message["result"]["content"][0]["text"]
    assert texts == {request_id: str(number) for number, request_id in enumerate(ids)}


def test_progress_is_sent_only_on_request(client: RawClient) -> None:
    client.others.clear()
    client.text("count_steps", steps=1000)
    assert client.others == []
    meta = {"progressToken": "t"}
    client.request("tools/call", {"name": "count_steps", "arguments": {"steps": 1000}, "_meta": meta})
    params = [message["params"] for message in client.others]
    assert params[0] == {"progressToken": "t", "progress": 1, "total": 1000, "message": "steps"}
    assert params[-1]["progress"] == 1000
    numbers = [step["progress"] for step in params]
    assert numbers == sorted(set(numbers))


def test_a_truncated_answer_sends_a_warning_to_clients_that_want_warnings(client: RawClient) -> None:
    client.others.clear()
    client.call("structured", cut=True)
    (warning,) = client.others
    assert warning["method"] == "notifications/message"
    assert warning["params"] == {
        "level": "warning",
        "logger": "deltos",
        "data": "structured: answer truncated to 8 of 1,234 characters",
    }
    client.request("logging/setLevel", {"level": "error"})
    client.others.clear()
    client.call("structured", cut=True)
    assert client.others == []
    assert client.request("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602


def test_a_line_of_fifty_megabytes_does_not_stop_the_server(client: RawClient) -> None:
    assert client.text("echo", text="x" * 50_000_000).startswith("Showing 99,800 of 50,000,000 characters (")
    assert client.request("ping")["result"] == {}


def test_cancelled_calls_that_never_end_are_limited(start_client: StartClient) -> None:
    client = start_client()
    client.initialize()
    for _ in range(MAX_RUNNING_CALLS):
        given_up = client.start_call("never_end")
        client.wait_for_log("never ending")
        client.send("notifications/cancelled", {"requestId": given_up})
    refused = client.call("never_end")
    assert refused["isError"]
    assert "cancelled calls are still stopping" in refused["content"][0]["text"]
    assert client.request("ping")["result"] == {}
