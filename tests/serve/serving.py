"""A real `sage serve` process for the tests, and requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE_S = 60


class Serving:
    """A running server; its log is kept."""

    def __init__(self, folder: Path | str, *words: str) -> None:
        paths = os.pathsep.join(path for path in sys.path if path)
        kept = {name: os.environ[name] for name in ("SAGE_HOME", "HOME", "PATH")}
        command = [sys.executable, "-P", "-m", "sage_serve.server", "--port", "0", *words]
        environment = {"PYTHONPATH": paths, **kept}
        self.process = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/mcp", first)
        assert found, first + self.process.stderr.read()
        self.port = int(found[1])
        self.lines: list[str] = []
        self._reading = threading.Thread(target=self.lines.extend, args=(self.process.stderr,), daemon=True)
        self._reading.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def ask(
        self, method: str, path: str, token: str = "", body: bytes = b"", **headers: str
    ) -> tuple[int, dict[str, str], str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["Authorization"] = f"Bearer {token}"
        connection.request(method, path, body or None, given)
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, said

    def call(self, token: str, tool: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        """One call of a tool as a plain request of the protocol."""
        message = {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments},
        }  # fmt: skip
        status, _, said = self.ask(
            "POST", "/mcp", token, json.dumps(message).encode(), Content_Type="application/json",
            Accept="application/json, text/event-stream", Mcp_Protocol_Version="2025-06-18",
        )  # fmt: skip
        return status, json.loads(said) if said else {}

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self._reading.join(PATIENCE_S)
        return code

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines if line.startswith("{")]
