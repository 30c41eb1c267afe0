"""The clients against servers that speak the real protocols: each case ends in a summary or a clear error."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest
from local_services import (
    ANTHROPIC,
    KEY,
    OPENAI,
    PROTOCOLS,
    STREAM_HEAD,
    Local,
    Protocol,
    Script,
    broken,
    dripping,
    raw,
    reset,
    said,
    silent,
    status,
    stream,
    until_closed,
)

from sage_code.memory.context.clients.asking import Failed
from sage_code.memory.context.summary import StructuredSummary

MESSAGES = said(["Please rename the cache.", "Done: it is now called store.", "And the tests?"])
TEXT = "Der Cache heißt jetzt «store» 🦉; open: the tests"
DOCUMENT = {
    "text": TEXT,
    "topics": ["renaming"],
    "threads": [{"what": "rename the cache", "who": ["ann"], "state": "done", "message_ids": ["m1", "m2"]}],
    "decisions": [{"text": "the cache is called store", "message_ids": ["m2", "m99", "id-1"]}],
    "unresolved": [{"text": "what about the tests?", "message_ids": ["m3"]}],
    "code_refs": [{"text": "store", "message_ids": []}],
}
GOOD = json.dumps(DOCUMENT, ensure_ascii=False)
MEGABYTES = 10


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.name)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    one: Protocol = request.param
    if one is ANTHROPIC:
        pytest.importorskip("anthropic")
        one.summariser("http://127.0.0.1:9").model.prepare()  # its import takes a second, which is no test's
    return one


def good(protocol: Protocol) -> Script:
    return stream(protocol.answer(GOOD))


def summary_from(protocol: Protocol, *scripts: Script, attempts: int = 1, **more: object) -> StructuredSummary:
    """The summary from a server, which must have been asked so many times."""
    with Local(*scripts) as server:
        summary = protocol.summariser(server.url, **more).summarise(MESSAGES, 100)  # type: ignore[arg-type]
        assert len(server.requests) == attempts
    assert summary.by == protocol.name
    return summary


def failure_from(protocol: Protocol, *scripts: Script, attempts: int = 1, **more: object) -> Failed:
    """What a server's answers lead to; it must have been asked so many times."""
    with Local(*scripts) as server:
        with pytest.raises(Failed) as failed:
            protocol.summariser(server.url, **more).summarise(MESSAGES, 100)  # type: ignore[arg-type]
        assert len(server.requests) == attempts
    assert failed.value.__cause__ is failed.value.__context__ is None
    return failed.value


def test_a_stream_becomes_a_summary_with_the_ids_of_the_messages(protocol: Protocol) -> None:
    summary = summary_from(protocol, good(protocol))
    assert summary.text == TEXT
    assert summary.topics == ("renaming",)
    assert summary.threads[0].state == "done"
    assert summary.threads[0].message_ids == ("id-0", "id-1")
    assert summary.decisions[0].message_ids == ("id-1",)  # m99 is unknown
    assert (summary.unresolved[0].message_ids, summary.quotes) == (("id-2",), ())


@pytest.mark.parametrize("piece", [1, 3, 50])
def test_chunks_may_cut_events_and_letters_anywhere(protocol: Protocol, piece: int) -> None:
    assert summary_from(protocol, stream(protocol.answer(GOOD), piece=piece)).text == TEXT


@pytest.mark.parametrize("piece", [0, 1])
def test_carriage_returns_comments_and_pings_are_understood(protocol: Protocol, piece: int) -> None:
    events = protocol.answer(GOOD).replace(b"\n\n", b"\n\n: nothing\n\n" + protocol.ping)
    assert summary_from(protocol, stream(events.replace(b"\n", b"\r\n"), piece=piece)).text == TEXT


def test_a_stream_without_a_length_is_understood(protocol: Protocol) -> None:
    assert summary_from(protocol, until_closed(protocol.answer(GOOD))).text == TEXT


def test_what_is_sent_is_what_the_protocol_says(protocol: Protocol) -> None:
    with Local(good(protocol)) as server:
        protocol.summariser(server.url).summarise(MESSAGES, 100)
    (request,) = server.requests
    body = json.loads(request.body)
    assert body["stream"] is True
    assert body["max_tokens"] == 1_500
    if protocol is ANTHROPIC:
        assert request.line == "POST /v1/messages HTTP/1.1"
        # The SDK chooses between `x-api-key` and `authorization`; the key is in one of them, once.
        assert [name for name, value in request.headers.items() if KEY in value] in (["x-api-key"], ["authorization"])
        assert request.headers["anthropic-version"]
        instructions, material = body["system"], body["messages"][0]["content"]
    else:
        assert request.line == "POST /v1/chat/completions HTTP/1.1"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        instructions, material = (one["content"] for one in body["messages"])
    assert request.headers["accept-encoding"] == "identity"
    assert "at most 100 words" in instructions
    assert "Please rename the cache." in material


# Asking again


@pytest.mark.parametrize("code", [429, 500, 502, 503, 529])
def test_a_busy_service_is_asked_again_with_growing_pauses(protocol: Protocol, code: int) -> None:
    slept: list[float] = []
    assert summary_from(protocol, status(code), status(code), good(protocol), attempts=3, slept=slept).text == TEXT
    assert slept == [0.5, 1.0]


def test_the_pause_that_a_service_asks_for_is_kept(protocol: Protocol) -> None:
    slept: list[float] = []
    soon = formatdate(time.time() + 3, usegmt=True)
    scripts = status(429, retry_after="2"), status(429, retry_after=soon), status(429, retry_after="soon")
    summary_from(protocol, *scripts, good(protocol), attempts=4, slept=slept)
    assert slept[0] == 2.0
    assert 0.5 < slept[1] <= 3.0
    assert slept[2] == 2.0  # not understood: the own pause


def test_a_pause_beyond_the_deadline_is_not_waited_for(protocol: Protocol) -> None:
    failure = failure_from(protocol, status(429, retry_after="3600"))
    assert "asks to wait 3600 s" in failure.message
    assert "summariser_timeout_s" in failure.hint


def test_a_service_that_stays_busy_is_given_up(protocol: Protocol) -> None:
    failure = failure_from(protocol, status(529, '{"error": {"message": "Overloaded"}}'), attempts=4)
    assert "status 529" in failure.message
    assert "Overloaded" in failure.message
    assert "4 attempts" in failure.message


@pytest.mark.parametrize("first", [reset, raw(b""), raw(b"SSH-2.0-OpenSSH_9.2\r\n")], ids=["reset", "closed", "other"])
def test_a_connection_that_breaks_is_tried_again(protocol: Protocol, first: Script) -> None:
    assert summary_from(protocol, first, good(protocol), attempts=2).text == TEXT


def test_a_service_that_is_not_there_is_an_error(protocol: Protocol) -> None:
    with Local() as server:
        pass
    with pytest.raises(Failed, match=r"no connection to 127\.0\.0\.1:\d+: Connection refused \(4 attempts\)"):
        protocol.summariser(server.url).summarise(MESSAGES)


@pytest.mark.parametrize("ending", [broken, until_closed, stream], ids=["reset", "closed", "ended"])
def test_a_stream_that_breaks_before_any_text_is_tried_again(protocol: Protocol, ending: object) -> None:
    assert summary_from(protocol, ending(protocol.opening), good(protocol), attempts=2).text == TEXT  # type: ignore[operator]


@pytest.mark.parametrize("ending", [broken, until_closed, stream], ids=["reset", "closed", "ended"])
def test_a_stream_that_breaks_in_the_middle_is_an_error(protocol: Protocol, ending: object) -> None:
    half = protocol.opening + protocol.text('{"text": "half of')
    failure = failure_from(protocol, ending(half), good(protocol))  # type: ignore[operator]
    assert "broke off" in failure.message or "no connection" in failure.message


def test_an_error_inside_of_the_stream(protocol: Protocol) -> None:
    overloaded = protocol.error("overloaded_error", "Overloaded")
    before = stream(protocol.opening + overloaded)
    assert summary_from(protocol, before, good(protocol), attempts=2).text == TEXT
    after = stream(protocol.opening + protocol.text("half") + overloaded)
    failure = failure_from(protocol, after, good(protocol))
    assert "overloaded_error" in failure.message
    refused = stream(protocol.opening + protocol.error("invalid_request_error", "too long"))
    assert "too long" in failure_from(protocol, refused, good(protocol)).message


# Not asking again


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (400, "summariser_model"),
        (401, "_api_key"),
        (403, "_api_key"),
        (404, "summariser_model"),
        (413, "summariser_model"),
        (307, "summariser_url"),
    ],
)
def test_what_the_user_must_change_is_an_error_that_names_the_setting(protocol: Protocol, code: int, hint: str) -> None:
    with Local(good(protocol)) as other:
        body = '{"error": {"type": "x", "message": "model: no such model"}}'
        failure = failure_from(protocol, status(code, body, location=other.url), good(protocol))
        assert other.requests == []  # no key for another address
    assert f"status {code}" in failure.message
    assert hint in failure.hint
    assert ("no such model" in failure.message) == (code in (400, 404, 413))


@pytest.mark.parametrize(("url", "what"), [("https://", "no encrypted connection"), ("ftp://", "is no address")])
def test_an_address_of_another_kind_is_an_error(protocol: Protocol, url: str, what: str) -> None:
    with Local(raw(b"HTTP/1.1 400 Bad\r\n\r\n")) as server, pytest.raises(Failed, match=what) as failed:
        protocol.summariser(server.url.replace("http://", url)).summarise(MESSAGES)
    assert "summariser_url" in failed.value.hint


def test_a_key_is_not_sent_unencrypted_to_another_machine(protocol: Protocol) -> None:
    with pytest.raises(Failed, match="unencrypted"):
        protocol.summariser("http://models.example.org").summarise(MESSAGES)


def test_the_key_is_optional_for_a_local_service() -> None:
    with Local(good(OPENAI)) as server:
        assert OPENAI.summariser(server.url, key="").summarise(MESSAGES).text == TEXT
    assert "authorization" not in server.requests[0].headers


@pytest.mark.parametrize("content_type", ["text/html", "application/octet-stream", ""])
def test_a_page_instead_of_a_stream_is_an_error(protocol: Protocol, content_type: str) -> None:
    failure = failure_from(protocol, stream(b"<h1>Welcome</h1>", content_type=content_type), good(protocol))
    assert f"answered with {content_type or 'nothing'} instead of a stream" in failure.message


def test_a_service_that_does_not_stream_is_understood() -> None:
    whole = {"choices": [{"message": {"role": "assistant", "content": GOOD}, "finish_reason": "stop"}]}
    assert summary_from(OPENAI, status(200, json.dumps(whole))).text == TEXT
    assert "no JSON" in failure_from(OPENAI, status(200, "[1]"), attempts=4).message
    assert "no JSON" in failure_from(OPENAI, status(200, "oops"), attempts=4).message


# What the model writes


def test_the_limit_of_tokens(protocol: Protocol) -> None:
    assert summary_from(protocol, stream(protocol.answer(GOOD, reason="length"))).text == TEXT
    failure = failure_from(protocol, stream(protocol.answer(GOOD[:60], reason="length")))
    assert "summariser_max_tokens" in failure.hint


@pytest.mark.parametrize("reason", ["refusal", "content_filter"])
def test_a_model_that_refuses(reason: str) -> None:
    protocol = ANTHROPIC if reason == "refusal" else OPENAI
    pytest.importorskip("anthropic")
    failure_from(protocol, stream(protocol.answer(GOOD, reason=reason)))


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"text": "x"', '{"text": ""}', "[1, 2]", "```json\n{oops}\n```"])
def test_nonsense_is_an_error(protocol: Protocol, text: str) -> None:
    failure_from(protocol, stream(protocol.answer(text)))


def test_wrong_json_in_an_event_is_tried_again(protocol: Protocol) -> None:
    wrong = protocol.opening + b'event: content_block_delta\ndata: {"type": "content_block_de\n\n'
    assert summary_from(protocol, stream(wrong), good(protocol), attempts=2).text == TEXT
    failure = failure_from(protocol, stream(protocol.opening + b"event: message_start\ndata: oops\n\n"), attempts=4)
    assert "no JSON" in failure.message


@pytest.mark.parametrize("value", ["null", "7", "[]", '"x"', '{"choices": [7]}', '{"delta": 3}', '{"type": []}'])
def test_json_of_another_shape_is_an_error(protocol: Protocol, value: str) -> None:
    failure_from(protocol, stream(f"event: content_block_delta\ndata: {value}\n\n".encode()), attempts=4)


@pytest.mark.parametrize("form", ["events", "one event", "one line", "header"])
def test_ten_megabytes_are_not_read(protocol: Protocol, form: str) -> None:
    filler = "word " * 2_000
    count = MEGABYTES * 1_000_000 // len(filler)
    reached: list[int] = []

    def run(connection: object) -> None:
        if form == "header":
            pieces = [b"HTTP/1.1 200 OK\r\nx: ", *[filler.encode()] * count]
        elif form == "events":
            pieces = [STREAM_HEAD, protocol.opening, *[protocol.text(filler)] * count]
        elif form == "one event":
            pieces = [STREAM_HEAD, protocol.opening, *[f"data: {filler}\n".encode()] * count]
        else:
            pieces = [STREAM_HEAD, protocol.opening, b"data: ", *[filler.encode()] * count]
        for number, piece in enumerate(pieces):
            connection.sendall(piece)  # type: ignore[attr-defined]
            reached.append(number)

    failure = failure_from(protocol, run, attempts=4 if form == "header" else 1, timeout_s=20)
    assert "more than" in failure.message or form == "header"
    assert reached.count(count) == 0  # the client had gone


# Time


@pytest.mark.parametrize("part", ["silence", "headers", "body", "text", "comments"])
def test_the_whole_deadline_holds_for_a_slow_server(protocol: Protocol, part: str) -> None:
    words = "".join(protocol.text("x ").decode() for _ in range(100)).encode()
    script: Script = {
        "silence": silent,
        "headers": dripping(b"HTTP/1.1 200 OK\r\n" + b"x-slow: x\r\n" * 50),
        "body": dripping(protocol.opening * 20, STREAM_HEAD),
        "text": dripping(words, STREAM_HEAD + protocol.opening, 0.002),
        "comments": dripping(b":\n" * 2_000, STREAM_HEAD),
    }[part]
    started = time.monotonic()
    failure = failure_from(protocol, script, timeout_s=0.3)
    assert time.monotonic() - started < 2
    assert "no whole answer within 0.3 s" in failure.message
    assert "summariser_timeout_s" in failure.hint


def test_attempts_share_one_deadline(protocol: Protocol) -> None:
    started = time.monotonic()
    failure_from(protocol, status(503, retry_after="0"), silent, attempts=2, timeout_s=0.4)
    assert time.monotonic() - started < 2
