"""`sage serve` under load: 64 clients of many users on one server, memory sampled, kills on the way.

Prints the single-client p50, p50, p95 and p99 of all clients, errors, and the server's memory over time.

"Per core's worth of load" is measured in two ways, both printed:
- paced: the clients together offer what one core answers (the rate at which one client alone is answered), and the p95
  is compared with 5 times the single-client p50;
- full (`--full`): each client asks again at once. 64 clients on N cores wait for 64 / N others, so the p95 is compared
  with 5 times the single-client p50 times 64 / N.

`--kill` ends the server with SIGKILL on the way and starts it again at the same port: clients reconnect and repeat.

    python benchmarks/serve_load.py --seconds 300 --workers 2
    python benchmarks/serve_load.py --seconds 30 --workers 2 --kill 3
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

import psutil

TOP = Path(__file__).parents[1]
QUESTIONS = (
    "where are tokens checked", "parse a query", "how is an index published", "Guard", "rank hits by words and meaning",
    "lock file", "masking of secrets", "read a file inside a root", "how does a search refresh the index", "uvicorn",
    "what ends a connection", "settings of a project", "chunk a file", "references of a symbol", "checkpoint save",
)  # fmt: skip


class Server:
    """One `sage serve`, which can be killed and started again at its port."""

    def __init__(self, home: str, root: str, workers: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        paths = os.pathsep.join(str(TOP / part) for part in ("", "cli", "mcp", "web", "serve"))
        self._environment = {**os.environ, "SAGE_HOME": home, "PYTHONPATH": paths}
        self._command = [
            sys.executable, "-P", "-m", "sage_serve.server", "--port", str(self.port), "--only", root,
            "--workers", str(workers), "--rate", "0",
        ]  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.process = subprocess.Popen(
            self._command, env=self._environment, stderr=subprocess.DEVNULL, start_new_session=True
        )
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the server does not become ready")

    def _all(self) -> list[psutil.Process]:
        try:
            first = psutil.Process(self.process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def usage(self) -> tuple[float, float]:
        """Megabytes and CPU seconds of all its processes."""
        memory = cpu = 0.0
        for one in self._all():
            try:
                memory += one.memory_info().rss / 1e6
                cpu += sum(one.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
        return memory, cpu

    def kill(self) -> None:
        """End the process and its workers as a crash of the machine would."""
        for one in self._all():
            one.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        """End it and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Client:
    """One client with a connection of its own; it reconnects, and repeats what was not answered."""

    def __init__(self, port: int, token: str, seed: int) -> None:
        self._port, self._token, self._random = port, token, random.Random(seed)
        self._connection: http.client.HTTPConnection | None = None
        self.times: list[float] = []
        self.errors: list[str] = []
        self.reconnects = 0

    def ask(self) -> None:
        """Ask until the time is over."""
        arguments = {"query": self._random.choice(QUESTIONS), "limit": 5}
        call = {"name": "sage_search_code", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        headers = {
            "Authorization": f"Bearer {self._token}", "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2025-06-18",
        }  # fmt: skip
        began = time.perf_counter()
        for _ in range(200):  # while the server is restarted
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                self._connection.request("POST", "/mcp", body, headers)
                answer = self._connection.getresponse()
                said = json.loads(answer.read())
                break
            except (OSError, http.client.HTTPException, ValueError):
                # An idle connection may be closed by the server at any time: not an error of it.
                self._connection, self.reconnects = None, self.reconnects + 1
                time.sleep(0.05)
        else:
            self.errors.append("no answer")
            return
        self.times.append(time.perf_counter() - began)
        if answer.status != 200 or said.get("result", {}).get("isError") or not said.get("result"):
            self.errors.append(f"{answer.status} {str(said)[:200]}")


def percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))] * 1000


def load(server: Server, clients: list[Client], seconds: float, pause: float, kills: int) -> list[tuple[float, float]]:
    """Let the clients ask for so long; returns the memory by time."""
    began = time.monotonic()
    end = began + seconds

    def work(number: int, client: Client) -> None:
        drawn = random.Random(number)
        time.sleep(drawn.random() * pause)
        while time.monotonic() < end:
            client.ask()
            if pause:
                time.sleep(drawn.expovariate(1 / pause))

    threads = [threading.Thread(target=work, args=given, daemon=True) for given in enumerate(clients)]
    for thread in threads:
        thread.start()
    samples, due = [], [began + seconds * (one + 1) / (kills + 1) for one in range(kills)]
    while time.monotonic() < end:
        time.sleep(min(2.0, max(0.0, end - time.monotonic())))
        samples.append((time.monotonic() - began, server.usage()[0]))
        if due and time.monotonic() > due[0]:
            due.pop(0)
            server.kill()
            server.start()
    for thread in threads:
        thread.join(120)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--full", action="store_true", help="no pauses: as much as the server answers")
    parser.add_argument("--kill", type=int, default=0, help="so many kills and restarts on the way")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ["SAGE_HOME"] = home
        for part in ("", "serve"):
            sys.path.insert(0, str(TOP / part))
        from sage_code import Project
        from sage_code.serving import users

        Project(str(TOP)).index()
        tokens = [users.add(f"user-{one}", ["search"])[1] for one in range(given.clients)]
        server = Server(home, str(TOP), given.workers)
        try:
            for one in range(4 * given.workers):  # each worker opens the index once
                Client(server.port, tokens[0], one).ask()
            alone = Client(server.port, tokens[0], 0)
            cpu_before = server.usage()[1]
            for _ in range(200):
                alone.ask()
            cpu = (server.usage()[1] - cpu_before) / 200
            single = percentile(alone.times, 0.5) / 1000
            mean = sum(alone.times) / len(alone.times)
            pause = 0.0 if given.full else given.clients * mean
            print(f"one client: p50 {single * 1000:.1f} ms, p95 {percentile(alone.times, 0.95):.1f} ms, "
                  f"{cpu * 1000:.1f} ms of CPU a request, {len(alone.errors)} errors")  # fmt: skip
            clients = [Client(server.port, token, one) for one, token in enumerate(tokens)]
            began, cpu_before = time.monotonic(), server.usage()[1]
            samples = load(server, clients, given.seconds, pause, given.kill)
            took, cpu_after = time.monotonic() - began, server.usage()[1]
            times = [one for client in clients for one in client.times]
            errors = [one for client in clients for one in client.errors]
            cores = os.cpu_count() or 1
            share = given.clients / cores if given.full else 1.0
            p95 = percentile(times, 0.95)
            print(f"{given.clients} clients, {given.workers} workers, {took:.0f} s, "
                  f"{'full' if given.full else 'one core'} load: {len(times)} answers, {len(times) / took:.1f}/s, "
                  f"p50 {percentile(times, 0.5):.1f}, p95 {p95:.1f}, p99 {percentile(times, 0.99):.1f} ms")  # fmt: skip
            print(f"p95 / single-client p50: {p95 / 1000 / single:.2f}; per core's worth of load (/{share:g}): "
                  f"{p95 / 1000 / single / share:.2f} (target 5)")  # fmt: skip
            print(f"errors {len(errors)} {errors[:2]}; reconnects {sum(one.reconnects for one in clients)}; "
                  f"kills {given.kill}")  # fmt: skip
            if not given.kill:
                print(f"CPU of the server {(cpu_after - cpu_before) / took:.2f} cores")
            third = max(1, len(samples) // 3)
            print(f"memory MB: first third {median(one for _, one in samples[:third]):.0f}, last third "
                  f"{median(one for _, one in samples[-third:]):.0f}, most {max(one for _, one in samples):.0f}; "
                  f"load average {os.getloadavg()[0]:.1f}")  # fmt: skip
            print(f"exit code after SIGTERM: {server.end()}")
        finally:
            if server.process.poll() is None:
                server.kill()


if __name__ == "__main__":
    main()
