"""The processes of `damage.py`: a round in a child that obeys permissions, a real MCP server, and their limits."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from typing import Any

MAX_BYTES = 1 << 30
_SECONDS = 10
_ROUND_SECONDS = 600
_CAPABILITY_VERSION, _DROP, _OVERRULING = 0x20080522, 24, (1, 2)
CRASH = re.compile(r"unexpected [A-Z]\w*:|this is a bug|Traceback|PanicException|panicked at")
_MCP_CALLS = (
    ("sage_search_code", {"query": "take an order"}),
    ("sage_grep_symbol", {"name": "take_order"}),
    ("sage_map", {}),
    ("sage_list_checkpoints", {}),
    ("sage_recall_knowledge", {"query": "orders"}),
)


def patience() -> float:
    """The time limit of a command in seconds: up to twice as long on a busy machine."""
    return _SECONDS * min(2.0, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))


def ask_server(project: str) -> list[str]:
    """Ask a real server over stdio; returns what went wrong."""
    command = [sys.executable, "-P", "-m", "sage_mcp.server"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    server = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=project, env=environment
    )
    failures = []
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "damage", "version": "1"}}
        _tell(server, {"id": 0, "method": "initialize", "params": hello})
        _hear(server, 0, 3 * patience())
        _tell(server, {"method": "notifications/initialized"})
        for number, (tool, arguments) in enumerate(_MCP_CALLS, 1):
            _tell(server, {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
            answer = _hear(server, number, 2 * patience())  # the first one loads what the commands have loaded already
            if answer is None:
                failures.append(f"MCP {tool}: no answer in time")
                break
            if CRASH.search(answer):
                failures.append(f"MCP {tool}: {answer[:200]}")
        with open(f"/proc/{server.pid}/status") as file:
            peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
        if peak > MAX_BYTES:
            failures.append(f"MCP: the server took {peak >> 20} MB")
    except (OSError, StopIteration) as error:
        failures.append(f"MCP: the server is gone: {error}")
    finally:
        server.kill()
        server.wait()
    return failures


def _tell(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def _hear(server: subprocess.Popen[bytes], number: int, seconds: float) -> str | None:
    """The server's answer to request `number`; None after `seconds`."""
    assert server.stdout
    until = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        waiting.register(server.stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and waiting.select(left):
            line = server.stdout.readline()
            if not line:
                raise OSError("it closed its output")
            if json.loads(line).get("id") == number:
                return line.decode()
    return None


def in_a_child(task: Any, failure: Any = None) -> Any:
    """What `task` returns, in a child that obeys permissions; `failure` when the child dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            os.setsid()
            silence = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silence, 2)
            _obey_permissions()
            with os.fdopen(writing, "w") as pipe:
                json.dump(task(), pipe)
        except BaseException:
            os._exit(1)
        os._exit(0)
    os.close(writing)
    data = b""
    until = time.monotonic() + _ROUND_SECONDS
    with selectors.DefaultSelector() as waiting, os.fdopen(reading, "rb") as pipe:
        waiting.register(pipe, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and waiting.select(left):
            part = os.read(pipe.fileno(), 1 << 16)
            if not part:
                break
            data += part
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    try:
        return json.loads(data)
    except ValueError:
        if failure is None:
            raise
        return failure


def _obey_permissions() -> None:
    """Drop the capabilities by which root ignores the permissions of files."""
    if os.geteuid() != 0 or sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, twice 32 of them
    libc.capget(head, sets)
    for place in range(3):
        sets[place] &= ~sum(1 << capability for capability in _OVERRULING)
    for capability in _OVERRULING:
        libc.prctl(_DROP, capability, 0, 0, 0)  # nor do the processes that we start have them
    libc.capset(head, sets)
