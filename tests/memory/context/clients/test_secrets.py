"""The key of a service is in no log, error, chain of exceptions, representation, summary, database or file."""

from __future__ import annotations

import json
import logging
import os
import stat
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_services import ANTHROPIC, KEY, PROTOCOLS, Local, Protocol, Script, broken, reset, said, status, stream

from sage_code.memory.context.choosing import FallingBack, summariser_of
from sage_code.memory.context.clients.asking import Failed
from sage_code.memory.tiers.engines.sqlite import SqliteEngine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.summary_memory import SummaryMemory
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.loading import load_settings, set_value

MESSAGES = said(["We decided to rename the cache to store."])
ECHO = json.dumps({"error": {"type": "api_error", "message": f"Wrong key {KEY} in header {KEY}"}})


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.name)
def protocol(request: pytest.FixtureRequest) -> Protocol:
    if request.param is ANTHROPIC:
        pytest.importorskip("anthropic")
    one: Protocol = request.param
    return one


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Every logger at its most talkative, and none of them says the key."""
    caplog.set_level(logging.DEBUG)
    loggers = [logging.getLogger(name) for name in ("anthropic", "anthropic._base_client", "httpx2", "httpcore2")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    yield
    for logger, level in zip(loggers, before, strict=True):
        logger.setLevel(level)
    assert KEY not in caplog.text
    assert KEY not in "".join(f"{record.__dict__}" for record in caplog.records)


def hostile(protocol: Protocol) -> dict[str, Script]:
    """Services that say the key wherever they can."""
    text = protocol.text(f"the key is {KEY}")
    return {
        **{f"{code}": status(code, ECHO, x_echo=KEY) for code in (400, 401, 403, 404, 413, 429, 500, 529)},
        "redirect": status(307, ECHO, location=f"http://127.0.0.1/{KEY}"),
        "type": stream(b"x", content_type=f"text/{KEY.lower()}"),
        "event": stream(protocol.opening + protocol.error("api_error", f"bad {KEY}")),
        "kind": stream(protocol.opening + protocol.error(KEY, "bad")),
        "wrong": stream(protocol.opening + f"event: message_start\ndata: {KEY}\n\n".encode()),
        "middle": broken(protocol.opening + text),
        "reset": reset,
    }


def chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def test_no_error_says_the_key(protocol: Protocol, capfd: pytest.CaptureFixture[str]) -> None:
    for name, script in hostile(protocol).items():
        with Local(script) as server:
            with pytest.raises(Failed) as failed:
                protocol.summariser(server.url).summarise(MESSAGES)
            assert any(KEY in value for value in server.requests[0].headers.values())
        for error in chain(failed.value):
            known = [str(error), repr(error), f"{error.args}", getattr(error, "hint", ""), f"{vars(error)}"]
            assert KEY not in "".join(known), name
        assert KEY not in "".join(traceback.format_exception(failed.value)), name
    assert KEY not in "".join(capfd.readouterr())


def test_no_summary_says_the_key(protocol: Protocol) -> None:
    document = {"text": f"They used {KEY} today", "topics": [KEY], "decisions": [f"use {KEY}"]}
    with Local(stream(protocol.answer(json.dumps(document)))) as server:
        summary = protocol.summariser(server.url).summarise(MESSAGES)
    assert summary.text == "They used *** today"
    assert KEY not in f"{summary}{summary.to_json()}"


def test_no_representation_says_the_key(protocol: Protocol) -> None:
    settings = load_settings(None, {f"{protocol.name.partition('-')[0]}_api_key": KEY, "summariser": protocol.name})
    summariser = summariser_of(settings)
    assert isinstance(summariser, FallingBack)
    for one in (settings, summariser, summariser.first, summariser.first.model):  # type: ignore[attr-defined]
        assert KEY not in repr(one)


def test_no_database_and_no_file_but_its_own_holds_the_key(protocol: Protocol, sage_home: Path, tmp_path: Path) -> None:
    kind = protocol.name.partition("-")[0]
    set_value(f"{kind}_api_key", KEY, "user")
    set_value("summariser", protocol.name, "user")
    set_value("summariser_model", "m", "user")
    set_value("summariser_timeout_s", "5", "user")
    echoing = stream(protocol.answer(json.dumps({"text": f"a summary with {KEY} in it"})))
    with Local(status(400, ECHO), echoing) as server:
        set_value("summariser_url", f"{server.url}/v1", "user")
        settings = load_settings(None)
        engine = SqliteEngine(str(sage_home / "memory" / "memory.db"))
        agent = opened_agent(engine, settings, "sage", "ann")
        recall = RecallMemory(engine, agent, settings)
        memory = SummaryMemory(engine, agent, settings, recall, summariser_of(settings))
        summaries = []
        for _ in range(2):  # the first falls back, the second is the service's
            memory.add([NewMessage("user", f"We decided point {number}.", tokens=50) for number in range(20)])
            summaries.append(memory.compact())
        engine.close()
    assert [one.metadata["summariser"] for one in summaries if one] == ["extractive", protocol.name]
    holding = [path for path in sage_home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert holding == [sage_home / "config.yaml"]
    if os.name == "posix":
        assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
