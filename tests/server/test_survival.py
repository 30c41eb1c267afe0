"""What a server survives: a client that dies, an index that is damaged, a project that is deleted, many at once."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
from mcp import Client
from talking import COMMAND, HttpServer, complaint, content, environment, in_process

from sage_code import Project
from sage_code.paths import compiled_dir, manifest_path

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def _call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _ended(processes: list[psutil.Process], seconds: float = 20) -> bool:
    return not psutil.wait_procs(processes, timeout=seconds)[1]


def test_a_client_that_dies_mid_call_leaves_nothing_behind(sample: Path) -> None:
    Project.open(sample).index()
    process = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=sample, env=environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def say(message: dict[str, Any]) -> None:
        assert process.stdin is not None
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    say(HELLO)
    assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "sage"
    say({"jsonrpc": "2.0", "method": "notifications/initialized"})
    say(_call(2, "sage_index_code", incremental=False))
    family = [psutil.Process(process.pid)]
    deadline = time.monotonic() + 30
    while len(family) < 2 and time.monotonic() < deadline:  # until the child that indexes is there
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        time.sleep(0.02)
    assert len(family) > 1
    process.stdout.close()  # what the system does with the pipes of a killed client
    process.stdin.close()
    assert _ended(family)
    process.wait()
    project = Project.open(sample)
    assert project.grep("connect")
    assert project.index().files_unchanged == 2


def test_an_http_client_that_hangs_up_disturbs_no_other(http_server: HttpServer, sample: Path) -> None:
    body = json.dumps(_call(1, "sage_index_code", incremental=False)).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{http_server.port}\r\nAuthorization: Bearer {http_server.token}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    for cut in (len(body), len(body) // 2, 0):
        with socket.create_connection(("127.0.0.1", http_server.port)) as connection:
            connection.sendall(head.encode() + body[:cut])
            time.sleep(0.1)
    with socket.create_connection(("127.0.0.1", http_server.port)) as connection:
        connection.sendall(head.replace("index_code", "version").encode() + body)
        assert b"HTTP/1.1 " in connection.recv(100)
    assert http_server.process.poll() is None


def test_a_damaged_index_is_an_error_that_says_how_to_mend_it(sample: Path, monkeypatch: Any) -> None:
    Project.open(sample).index()
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        async def ask(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        async def all_answer() -> None:
            assert content(await ask("sage_search_code", query="connect"))["results"]
            assert content(await ask("sage_grep_symbol", name="connect"))["matches"]
            assert content(await ask("sage_similar", where="connect"))["similar"]

        await all_answer()
        compiled = Path(compiled_dir(str(sample)))
        segment = next(path for path in compiled.iterdir() if path.suffix != ".json")
        damages = {
            "cut short": lambda: segment.write_bytes(segment.read_bytes()[:100]),
            "noise": lambda: _noise(segment),
            "no link": lambda: compiled.unlink(),
            "symbols": lambda: (compiled / "functions.json").write_bytes(b"\xff" * 50),
            "manifest": lambda: Path(manifest_path(str(sample))).write_text("{"),
            "published": lambda: (compiled / "segments.json").write_text("[]"),
        }
        for name, damage in damages.items():
            damage()
            for tool, arguments in (
                ("sage_search_code", {"query": "connect"}),
                ("sage_grep_symbol", {"name": "connect"}),
                ("sage_analyze_function", {"name": "connect"}),
                ("sage_find_references", {"name": "connect"}),
                ("sage_map", {}),
                ("sage_similar", {"where": "connect"}),
                ("sage_debug_query", {"query": "connect"}),
                ("sage_health", {}),
            ):
                result = await ask(tool, **arguments)
                assert not result.is_error or "sage" in complaint(result), (name, tool)
            content(await ask("sage_version"))
            content(await ask("sage_index_code", incremental=name != "noise"))
            await all_answer()
            compiled = Path(compiled_dir(str(sample)))
            segment = next(path for path in compiled.iterdir() if path.suffix != ".json")

    in_process(conversation)


def _noise(path: Path) -> None:
    """Replace a file by one with as many bytes, all wrong, as a bad disk may return them."""
    size = path.stat().st_size
    path.unlink()
    path.write_bytes(b"\xa5" * size)


def test_a_project_that_is_deleted_or_moved_is_said_to_be_gone(sample: Path, tmp_path: Path, monkeypatch: Any) -> None:
    Project.open(sample).index()
    monkeypatch.chdir(tmp_path)

    async def conversation(client: Client) -> None:
        arguments = {"query": "connect", "project": str(sample)}
        assert content(await client.call_tool("sage_search_code", arguments))["results"]
        shutil.rmtree(sample)
        assert "there is no" in complaint(await client.call_tool("sage_search_code", arguments))
        gone = complaint(await client.call_tool("sage_search_code", {"query": "connect", "project": "sample"}))
        assert "is gone" in gone
        assert "sage projects forget" in gone
        assert (
            "left out"
            in content(await client.call_tool("sage_search_code", {"query": "x", "all_projects": True}))["note"]
        )
        content(await client.call_tool("sage_version", {}))
        sample.mkdir()
        (sample / "back.py").write_text("def returned():\n    return 1\n")
        content(await client.call_tool("sage_index_code", {"path": str(sample)}))
        assert content(await client.call_tool("sage_search_code", {"query": "returned", "project": "sample"}))[
            "results"
        ]

    in_process(conversation)
