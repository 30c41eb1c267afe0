"""The server over HTTP: the SDK's client with the token, and everybody else refused."""

from __future__ import annotations

import http.client
import json
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from talking import COMMAND, Conversation, HttpServer, content, environment

from sage_code.continuity.overview import mark, sessions
from sage_code.continuity.session import Session
from sage_code.errors import ConfigError
from sage_code.serving import tokens
from sage_code.serving.guard import Guard, has_bearer
from sage_mcp.over_http import TOKEN_FILE, TOKEN_VARIABLE


def find_token(file: str | None = None) -> tuple[str, str]:
    return tokens.find_token(TOKEN_VARIABLE, TOKEN_FILE, file)


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def _talk(server: HttpServer, conversation: Conversation, mode: str = "auto") -> None:
    async def run() -> None:
        with anyio.fail_after(120):
            headers = {"Authorization": f"Bearer {server.token}"}
            async with httpx2.AsyncClient(headers=headers, timeout=60) as http_client:
                transport = streamable_http_client(server.url, http_client=http_client)
                async with Client(transport, mode=mode) as client:
                    await conversation(client)

    anyio.run(run)


def _ask(server: HttpServer, **headers: str | None) -> tuple[int, str]:
    """The status of a request with these headers in place of good ones; None leaves one out."""
    good: dict[str, str | None] = {
        "Host": f"127.0.0.1:{server.port}",
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.putrequest("POST", "/mcp", skip_host=True, skip_accept_encoding=True)
    body = json.dumps(PING).encode()
    for name, value in {**good, **headers, "Content-Length": str(len(body))}.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer.status, said


def test_tools_answer_over_http_and_strangers_are_refused(http_server: HttpServer, sample: Path) -> None:
    reports: list[str | None] = []

    async def heard(_progress: float, _total: float | None, message: str | None) -> None:
        reports.append(message)

    async def conversation(client: Client) -> None:
        stats = content(await client.call_tool("sage_index_code", {"path": str(sample)}, progress_callback=heard))
        assert stats["files_indexed"] == 2
        found = content(await client.call_tool("sage_search_code", {"query": "reach a host"}))
        assert found["results"][0]["file"] == "server.py"
        content(await client.call_tool("sage_mark_core", {"path": "server.py", "summary": "Listens."}))

    _talk(http_server, conversation)
    assert "publishing" in reports

    async def another(client: Client) -> None:
        first = content(await client.call_tool("sage_version", {}))
        assert first["opening"]["sections"][0]["text"] == "- server.py: Listens."
        assert "opening" not in content(await client.call_tool("sage_version", {}))

    _talk(http_server, another, mode="legacy")  # with the handshake: a session of its own
    _talk(http_server, another, mode="legacy")

    token_file = Path(os.environ["SAGE_HOME"]) / "mcp-token"
    assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
    assert _ask(http_server)[0] == 200 or "session" in _ask(http_server)[1].lower()
    assert _ask(http_server, Authorization=None)[0] == 401
    assert _ask(http_server, Authorization="Bearer wrong")[0] == 401
    assert _ask(http_server, Authorization=f"Basic {http_server.token}")[0] == 401
    for host in (
        "evil.example",
        f"evil.example:{http_server.port}",
        "127.0.0.1:1",
        "127.0.0.1",
        f"127.0.0.1:{http_server.port}.evil.example",
    ):
        assert _ask(http_server, Host=host)[0] == 421, host
    assert _ask(http_server, Host=None)[0] in (400, 421)
    for origin in ("http://evil.example", "null", "http://127.0.0.1:1", f"https://127.0.0.1:{http_server.port}"):
        assert _ask(http_server, Origin=origin)[0] == 403, origin
    assert _ask(http_server, Origin=f"http://localhost:{http_server.port}")[0] not in (401, 403, 421)


def _asker(client: Client, project: Path) -> Any:
    async def ask(tool: str, **arguments: Any) -> Any:
        return content(await client.call_tool(tool, {**arguments, "project": str(project)}))

    return ask


def test_what_a_session_concludes_the_next_one_finds_over_http(http_server: HttpServer, sample: Path) -> None:
    kept: dict[str, str] = {}

    async def before(client: Client) -> None:
        content(await client.call_tool("sage_index_code", {"path": str(sample)}))

    async def first(client: Client) -> None:
        ask = _asker(client, sample)
        conclusion = {
            "core_question": "How does the server start?",
            "thesis": "start opens the port",
            "confidence": 0.9,
        }
        kept["checkpoint"] = (await ask("sage_save_checkpoint", **conclusion))["id"]
        again = {"trigger_event": "synthesis", "core_question": "q", "current_thesis": "start opens the port"}
        assert not (await ask("sage_autosave_check", **again, confidence=0.9, message_count=20))["saved"]
        await ask("sage_save_knowledge", knowledge_id="retries", content="connect retries three times")
        await ask("sage_save_knowledge", knowledge_id="wrong", content="connect never gives up")

    async def second(client: Client) -> None:
        ask = _asker(client, sample)
        found = await ask("sage_search_checkpoints", query="where is the port opened")
        assert found["results"][0]["id"] == kept["checkpoint"]
        assert (await ask("sage_load_checkpoint", checkpoint_id=kept["checkpoint"]))["thesis"] == "start opens the port"
        assert [row["id"] for row in (await ask("sage_list_checkpoints"))["checkpoints"]] == [kept["checkpoint"]]
        assert (await ask("sage_remove_knowledge", knowledge_id="wrong"))["removed"]
        assert [item["id"] for item in (await ask("sage_list_knowledge"))["items"]] == ["retries"]
        recalled = await ask("sage_recall_knowledge", query="how often does connect retry")
        assert [item["id"] for item in recalled["items"]] == ["retries"]

    for conversation in (before, first, second):
        _talk(http_server, conversation)


def test_clients_over_http_share_a_process_and_get_no_brief(http_server: HttpServer, sample: Path) -> None:
    with Session("s1", str(sample)) as state:
        state.data["transcript"] = str(sample / "none.jsonl")
    mark(str(sample), "s1")

    async def conversation(client: Client) -> None:
        status = content(await client.call_tool("sage_continuity_status", {"project": str(sample)}))
        assert [one["state"] for one in status["sessions"]] == ["pending"]
        assert "continuity" not in status

    _talk(http_server, conversation)
    assert [one.state for one in sessions(str(sample))] == ["pending"]


def test_a_token_comes_from_the_environment_or_a_private_file(
    tmp_path: Path, sage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, where = find_token()
    assert where == str(sage_home / "mcp-token")
    assert len(made) > 40
    assert find_token() == (made, where)
    (sage_home / "mcp-token").chmod(0o644)
    with pytest.raises(ConfigError, match="others may read"):
        find_token()
    own = tmp_path / "own" / "token"
    assert find_token(str(own))[0] == own.read_text().strip() != made
    own.write_text("short\n")
    with pytest.raises(ConfigError, match="plain characters"):
        find_token(str(own))
    monkeypatch.setenv("SAGE_MCP_TOKEN", "x" * 20)
    assert find_token(str(own)) == ("x" * 20, "SAGE_MCP_TOKEN")
    monkeypatch.setenv("SAGE_MCP_TOKEN", "short")
    with pytest.raises(ConfigError, match="SAGE_MCP_TOKEN"):
        find_token()


def test_a_token_file_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("y" * 40)
    (tmp_path / "token").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be read"):
        find_token(str(tmp_path / "token"))


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def _empty(path: Path) -> None:
    path.touch(0o600)


def _binary(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 4)
    path.chmod(0o600)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("no folder")


@pytest.mark.parametrize("spoil", [_folder, _pipe, _empty, _binary, _endless, _below_a_file])
def test_an_odd_token_file_is_a_clear_error(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    path = tmp_path / "of" / "token"
    path.parent.mkdir()
    spoil(path)
    command = [*COMMAND, "--http", "--port", "0", "--token-file", str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert ended.returncode == 2
    assert ended.stderr.startswith("sage-mcp: the token")
    assert str(path) in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("port", ["70000", "-1", "http"])
def test_an_odd_port_is_a_clear_error(port: str) -> None:
    command = [*COMMAND, "--http", "--port", port]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert port in ended.stderr


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([(b"host", b"localhost:9"), (b"authorization", b"Bearer " + b"t" * 20)], 0),
        ([(b"host", b"localhost:9"), (b"host", b"localhost:9"), (b"authorization", b"Bearer " + b"t" * 20)], 421),
        ([(b"host", b"localhost:9"), (b"authorization", b"Bearer x"), (b"authorization", b"Bearer " + b"t" * 20)], 401),
        ([(b"host", b"localhost:9"), (b"origin", b"http://localhost:9"), (b"origin", b"http://evil")], 403),
        ([(b"host", b"localhost:9"), (b"authorization", b"Bearer \xff")], 401),
        ([], 421),
    ],
)  # fmt: skip
def test_the_guard_takes_no_second_header(headers: list[tuple[bytes, bytes]], status: int) -> None:
    judge = lambda _, given: "" if has_bearer(given, "t" * 20) else "no token"  # noqa: E731
    guard = Guard(None, 9, judge)  # type: ignore[arg-type]  # only its judgement is asked for
    assert guard._refusal({"type": "http", "headers": headers})[0] == status
    assert guard._refusal({"type": "websocket", "headers": headers})[0] == 403


def test_a_port_that_is_taken_is_an_error_in_a_line(http_server: HttpServer, sample: Path) -> None:
    command = [*COMMAND, "--http", "--port", str(http_server.port)]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=60, cwd=sample)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"sage-mcp: port {http_server.port} cannot be used")
