"""What was said: messages without what programs wrap into them, calls, errors, compactions, for both agents."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.transcripts.conversation import (
    AGENT,
    CALL,
    COMPACTION,
    ERROR,
    INJECTED,
    PLACE,
    SUMMARY,
    USAGE,
    USER,
    clock,
    said,
    without_wrappers,
    words_of_user,
)

AT = "2026-08-01T10:00:02.500Z"


def _line(**record: Any) -> bytes:
    return json.dumps({"timestamp": AT, "sessionId": "S", **record}).encode()


def _user(content: Any, **more: Any) -> bytes:
    return _line(type="user", message={"role": "user", "content": content}, **more)


def _kinds(line: bytes, **more: Any) -> list[str]:
    return [event.kind for event in said(line, **more) if event.kind != PLACE]


def test_a_users_message_is_text_or_blocks() -> None:
    for content in ("use Kafka", [{"type": "text", "text": "use Kafka"}]):
        (event,) = said(_user(content))
        assert (event.kind, event.text, event.time) == (USER, "use Kafka", clock(AT))


@pytest.mark.parametrize(
    "content",
    [
        "<system-reminder>be nice</system-reminder>",
        "<local-command-stdout>ok</local-command-stdout>",
        "<command-name>/clear</command-name><command-args></command-args>",
        "[Request interrupted by user]",
        "<sage-brief n=3>\nDecided:\n- Kafka\n</sage-brief>",
        "<sage-brief n=3>\nnever closed",
    ],
)
def test_what_programs_write_is_not_said_by_the_user(content: str) -> None:
    assert USER not in _kinds(_user(content))


def test_words_around_what_a_program_wrote_stay() -> None:
    assert words_of_user("before <system-reminder>x</system-reminder> after") == "before  after"
    assert words_of_user("<command-name>/review</command-name> <command-args>170 please</command-args>") == (
        "/review 170 please"
    )
    assert without_wrappers("a <fetched-data> is another element") == "a <fetched-data> is another element"


def test_meta_sidechain_and_tool_results_are_left_out() -> None:
    assert not _kinds(_user("x", isMeta=True))
    assert not _kinds(_user("x", isSidechain=True))
    result = _user([{"type": "tool_result", "tool_use_id": "t", "content": "KeyError: 'a'", "is_error": True}])
    assert not _kinds(result)
    (event,) = said(result, errors=True)
    assert (event.kind, event.text) == (ERROR, "KeyError: 'a'")


def test_an_agents_reply_has_words_calls_and_usage() -> None:
    blocks = [
        {"type": "text", "text": "I chose Kafka."},
        {"type": "tool_use", "id": "t1", "name": "Edit", "input": {"file_path": "/w/app/../app/q.py"}},
        {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "git commit -m done"}},
    ]
    usage = {"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation": {"ephemeral_5m_input_tokens": 7}}
    line = _line(
        type="assistant",
        cwd="/w/app",
        gitBranch="main",
        message={"role": "assistant", "model": "m", "content": blocks, "usage": usage},
    )
    place, words, edit, bash, used = said(line)
    assert place.detail == {"cwd": "/w/app", "gitBranch": "main"}
    assert (words.kind, words.text) == (AGENT, "I chose Kafka.")
    assert (edit.kind, edit.text, edit.files) == (CALL, "Edit", ("/w/app/q.py",))
    assert bash.detail["command"] == "git commit -m done"
    assert (used.kind, used.text, used.detail) == (USAGE, "m", {"fill": 110})


def test_a_compaction_has_its_id_and_the_summary_is_no_message() -> None:
    boundary = _line(type="system", subtype="compact_boundary", uuid="c1", compactMetadata={"trigger": "auto"})
    (event,) = said(boundary)
    assert (event.kind, event.text, event.detail) == (COMPACTION, "c1", {"trigger": "auto"})
    for content in ("the summary", [{"type": "text", "text": "the summary"}]):
        (event,) = said(_user(content, isCompactSummary=True))
        assert (event.kind, event.text) == (SUMMARY, "the summary")
    assert _kinds(_user("This session is being continued from a previous conversation that ran out")) == [SUMMARY]


def test_a_brief_counts_as_injected_only_where_hooks_write_it() -> None:
    text = "<sage-brief n=12>\nx\n</sage-brief>"
    attachment = {"type": "hook_additional_context", "content": [text]}
    (event,) = said(_line(type="attachment", attachment=attachment))
    assert (event.kind, event.text) == (INJECTED, "12")
    assert INJECTED not in _kinds(_user([{"type": "tool_result", "tool_use_id": "t", "content": text}]), errors=True)
    forged = _line(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": text}]})
    assert _kinds(forged) == []


def test_codex_has_messages_calls_windows_and_compactions() -> None:
    def line(kind: str, **payload: Any) -> bytes:
        return json.dumps({"timestamp": AT, "type": kind, "payload": payload}).encode()

    spoken = [{"type": "output_text", "text": "Done."}]
    assert _kinds(line("response_item", type="message", role="assistant", content=spoken)) == [AGENT]
    typed = [{"type": "input_text", "text": "<environment_context>x</environment_context>"}]
    assert _kinds(line("response_item", type="message", role="user", content=typed)) == []
    assert _kinds(line("compacted", message="so far")) == [COMPACTION, SUMMARY]
    info = {"last_token_usage": {"input_tokens": 5}, "model_context_window": 272_000}
    (event,) = said(line("event_msg", type="token_count", info=info))
    assert event.detail == {"fill": 5, "window": 272_000}
    failed = line("response_item", type="function_call_output", call_id="c", output="Exit code: 1\nboom")
    assert not _kinds(failed)
    assert _kinds(failed, errors=True) == [ERROR]


@given(st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 31)))
def test_the_clock_is_that_of_datetime(moment: datetime) -> None:
    exact = moment.replace(tzinfo=UTC)
    assert clock(exact.strftime("%Y-%m-%dT%H:%M:%S.%fZ").zfill(27)) == pytest.approx(exact.timestamp(), abs=0.01)


@given(st.text(max_size=60))
def test_the_clock_takes_any_text(text: str) -> None:
    assert 0 <= clock(text) < 400_000_000_000


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=20), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["type", "message", "content", "role", "text", "usage", "cwd", "payload", "compactMetadata", "input", "name", "attachment", "isMeta"]) | st.text(max_size=8), inner, max_size=6), max_leaves=30))  # fmt: skip  # noqa: E501
def test_any_record_is_read_or_refused(record: Any) -> None:
    for wrapped in (
        record,
        {"type": "user", "text": record, "message": record},
        {"type": "assistant", "message": {"content": record, "usage": record}, "text": 1},
    ):
        with contextlib.suppress(ValueError):
            list(said(json.dumps(wrapped).encode(), errors=True))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(ValueError, match="nested"):
        list(said(b'{"type":"user","text":' + b"[" * 200_000 + b"]" * 200_000 + b"}"))
