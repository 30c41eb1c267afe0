"""`sage serve` as a real process: who may do what, hostile requests, probes, and how it ends."""

from __future__ import annotations

import concurrent.futures
import json
import os
import signal
import socket
import stat
import time
from pathlib import Path
from urllib.parse import urlencode

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from serving import Serving

from sage_code.serving import users

pytestmark = pytest.mark.slow


def _said(answer: dict[str, object]) -> str:
    return json.dumps(answer)


def test_users_see_their_projects_and_have_their_scopes(serving: Serving, tokens: dict[str, str], sample: Path) -> None:
    status, answer = serving.call(tokens["reader"], "sage_search_code", query="reach a host", all_projects=True)
    assert status == 200
    assert "server.py" in _said(answer)
    assert "vault" not in _said(answer)
    assert "vault" in _said(serving.call(tokens["admin"], "sage_search_code", query="vault", all_projects=True)[1])
    other = str(sample.parent / "secret-project")
    for project in (other, "secret-project", "../secret-project"):
        said = _said(serving.call(tokens["reader"], "sage_search_code", query="vault", project=project)[1])
        assert "reach_the_vault" not in said
    assert "secret-project" not in _said(serving.call(tokens["reader"], "sage_health")[1])

    for tool, arguments in (
        ("sage_save_knowledge", {"knowledge_id": "k", "content": "c", "triggers": ["t"]}),
        ("sage_list_knowledge", {}),
        ("sage_index_code", {}),
        ("memory_blocks", {}),
        ("conversation_search", {"query": "x"}),
    ):
        assert "needs the scope" in _said(serving.call(tokens["reader"], tool, **arguments)[1]), tool
    assert "needs the scope" not in _said(serving.call(tokens["writer"], "sage_list_knowledge")[1])
    assert "needs the scope" in _said(serving.call(tokens["writer"], "conversation_search", query="x")[1])
    assert "files_indexed" in _said(serving.call(tokens["indexer"], "sage_index_code")[1])

    slug = "secret-project"
    assert serving.ask("GET", "/?q=vault", tokens["reader"])[2].count("reach_the_vault") == 0
    assert serving.ask("GET", f"/p/{slug}/code/vault.py", tokens["reader"])[0] == 404
    assert serving.ask("GET", f"/p/{slug}/code/vault.py", tokens["admin"])[0] == 200
    for method, path in (
        ("POST", "/search/refresh"), ("POST", "/p/sample/index"), ("GET", "/agents"), ("GET", "/live"),
        ("GET", "/p/sample/memory"), ("POST", "/p/sample/memory/knowledge/new"), ("GET", "/metrics"),
        ("DELETE", "/"), ("GET", "/unknown"),
    ):  # fmt: skip
        assert serving.ask(method, path, tokens["reader"])[0] == 403, path
    assert serving.ask("POST", "/search/edit/sample/server.py", tokens["admin"])[0] == 403  # it opens an editor here


def test_the_sdk_lists_only_tools_that_may_be_called(serving: Serving, tokens: dict[str, str]) -> None:
    async def run(mode: str) -> list[str]:
        with anyio.fail_after(60):
            headers = {"Authorization": f"Bearer {tokens['reader']}"}
            async with httpx2.AsyncClient(headers=headers, timeout=30) as http_client:
                transport = streamable_http_client(serving.url, http_client=http_client)
                async with Client(transport, mode=mode) as client:
                    found = await client.call_tool("sage_search_code", {"query": "reach a host"})
                    assert not found.is_error
                    return [tool.name for tool in (await client.list_tools()).tools]

    for mode in ("auto", "legacy"):
        names = anyio.run(run, mode)
        assert "sage_search_code" in names
        assert "sage_save_knowledge" not in names
        assert "memory_blocks" not in names


def test_hostile_requests(serving: Serving, tokens: dict[str, str]) -> None:
    token = tokens["reader"]
    assert serving.ask("POST", "/mcp")[0] == 401
    assert serving.ask("GET", "/", token, Host="evil.example")[0] == 421
    assert serving.ask("GET", "/", token, Origin="http://evil.example")[0] == 403
    assert serving.ask("POST", "/mcp", token, b"x" * ((4 << 20) + 1))[0] == 413
    _, headers, _ = serving.ask("GET", "/healthz", X_Request_Id="good-1")
    assert headers["x-request-id"] == "good-1"
    for bad in ("a b", "x" * 65, "a\tSet-Cookie: x=1", '"}{"'):
        assert serving.ask("GET", "/healthz", X_Request_Id=bad)[1]["x-request-id"] != bad
    status, headers, said = serving.ask("GET", "/agents", token)
    assert status == 403
    assert json.loads(said)["request_id"] == headers["x-request-id"]
    # A forwarded address counts only from a trusted proxy: guesses from one address are slowed down, whatever they say.
    answers = [serving.ask("GET", "/", "sage_wrong", X_Forwarded_For=f"10.0.0.{one}") for one in range(12)]
    assert answers[-1][0] == 429
    assert int(answers[-1][1]["retry-after"]) >= 1


def test_a_browser_signs_in_and_a_rotated_token_ends_it(serving: Serving, tokens: dict[str, str]) -> None:
    assert serving.ask("GET", "/", Accept="text/html")[1]["location"] == "/enter"
    assert "password" in serving.ask("GET", "/enter")[2]
    assert serving.ask("POST", "/enter", body=urlencode({"token": "sage_no"}).encode())[0] == 401
    status, headers, _ = serving.ask("POST", "/enter", body=urlencode({"token": tokens["reader"]}).encode())
    assert status == 303
    assert "HttpOnly; SameSite=Strict" in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    assert tokens["reader"] not in cookie
    assert serving.ask("GET", "/", Cookie=cookie)[0] == 200
    assert serving.ask("GET", "/", Cookie=cookie.replace("reader", "admin"))[0] == 401
    assert serving.ask("POST", "/mcp", Cookie=cookie)[0] == 401  # no page can make a browser call tools
    users.rotate("reader")
    assert serving.ask("GET", "/", Cookie=cookie)[0] == 401
    users.revoke("admin")
    assert serving.ask("GET", "/", tokens["admin"])[0] == 401


def test_probes_metrics_and_a_log_without_secrets(serving: Serving, tokens: dict[str, str]) -> None:
    assert serving.ask("GET", "/healthz")[0] == 200
    assert serving.ask("GET", "/readyz")[0] == 200
    serving.call(tokens["reader"], "sage_search_code", query="a very private question")
    status, _, said = serving.ask("GET", "/metrics", tokens["admin"])
    assert status == 200
    for line in (
        'sage_requests_total{route="mcp",status="200"} 1', 'sage_request_seconds_count{route="mcp"} 1',
        'sage_index_age_seconds{project="', "sage_process_resident_bytes ", "sage_in_flight 1",
    ):  # fmt: skip
        assert line in said, line
    assert serving.end() == 0
    log = "".join(serving.lines)
    assert '"tool": "sage_search_code"' in log
    assert "private question" not in log
    assert not any(token in log for token in tokens.values())
    assert stat.S_IMODE(os.stat(users.path()).st_mode) == 0o600
    assert not any(token in Path(users.path()).read_text() for token in tokens.values())


def test_a_user_who_asks_too_much_is_slowed_down(tokens: dict[str, str], sample: Path) -> None:
    serving = Serving(sample, "--rate", "1", "--burst", "3")
    try:
        answers = [serving.ask("GET", "/enter/../", tokens["reader"]) for _ in range(6)]
        assert {answer[0] for answer in answers[3:]} == {429}
        assert "retry-after" in answers[-1][1]
        assert serving.ask("GET", "/unknown", tokens["writer"])[0] == 403  # another user is not
    finally:
        serving.end()


def test_it_finishes_what_it_began_and_ends_with_zero(tokens: dict[str, str], sample: Path) -> None:
    serving = Serving(sample, "--drain-delay", "1")
    serving.call(tokens["reader"], "sage_search_code", query="warm")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        asked = [
            pool.submit(serving.call, tokens["reader"], "sage_search_code", query=f"reach a host {one}")
            for one in range(24)
        ]
        time.sleep(0.05)
        serving.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        assert serving.ask("GET", "/readyz")[0] == 503
        assert [one.result()[0] for one in asked] == [200] * 24
    assert serving.process.wait(30) == 0


def test_a_second_signal_ends_it_at_once(tokens: dict[str, str], sample: Path) -> None:
    serving = Serving(sample, "--drain-delay", "50")
    assert serving.ask("GET", "/readyz")[0] == 200
    serving.process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    began = time.monotonic()
    assert serving.end() == 1
    assert time.monotonic() - began < 5


def test_workers_share_the_port_and_a_killed_one_comes_back(tokens: dict[str, str], sample: Path) -> None:
    serving = Serving(sample, "--workers", "2")
    try:
        for _ in range(8):
            assert serving.call(tokens["reader"], "sage_search_code", query="reach a host")[0] == 200
        pids = _pids(serving)
        assert len(pids) == 2
        os.kill(pids[0], signal.SIGKILL)
        until = time.monotonic() + 30
        while len(_pids(serving)) < 3 and time.monotonic() < until:
            time.sleep(0.1)
        assert len(_pids(serving)) == 3
        assert serving.call(tokens["reader"], "sage_search_code", query="reach a host")[0] == 200
        time.sleep(1.5)
        assert "sage_workers 2" in serving.ask("GET", "/metrics", tokens["admin"])[2]
    finally:
        assert serving.end() == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", serving.port)) != 0


def _pids(serving: Serving) -> list[int]:
    return [one["pid"] for one in serving.log() if one["event"] == "serving"]
