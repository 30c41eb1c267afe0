"""Measures the MCP server: `python benchmarks/server.py --project DIR [--large DIR] [--inspector DIR] [--parts ...]`.

`--project` and `--large` are indexed in the `SAGE_HOME` of the environment. Parts: `start` (start to first answer
against an empty server on the same SDK, in turns), `latency` (warm round trips of a search, on the wire and through the
SDK's client, beside the search in process), `memory` (resident, after searches in the large project), `load` (eight
clients at once), `inspector` (the official inspector's command line calls every tool over stdio and HTTP; `--inspector`
is a folder with `npm install node@22 @modelcontextprotocol/inspector` in it), `survival` (the tests of that name).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import anyio
import httpx2
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from measure import MB, environment, machine, table, verdict

HERE = Path(__file__).parent
SAGE = [sys.executable, "-P", "-m", "sage_mcp.server"]
EMPTY_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("empty", log_level="WARNING")
@server.tool()
def sage_version() -> str:
    return "1"
server.run("stdio")
"""
EMPTY = [sys.executable, "-P", "-c", EMPTY_SERVER]
QUESTIONS = (
    "how are failed jobs retried", "where is the session stored in a cookie", "validate an uploaded image",
    "build the where clause of a query", "dispatch an event to its listeners", "compile a blade template",
    "hash a password", "rate limit requests", "Container.make", "eager load relations", "send a mail notification",
    "encrypt a cookie", "route model binding", "cache lock", "run pending migrations", "parse a cron expression",
)  # fmt: skip
PARTS = ("start", "latency", "memory", "load", "inspector", "survival")
MOST_MS, MOST_RATIO, MOST_MB = 15.0, 1.5, 400


@dataclass
class Wire:
    """A server process addressed in plain lines, so that no client is measured with it."""

    process: subprocess.Popen[bytes]
    number: int = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """One request and its answer; notifications are skipped."""
        self.number += 1
        self._say({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            line = _pipe(self.process.stdout).readline()
            if not line:
                raise SystemExit(f"the server ended with {self.process.wait()}")
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self.number:
                return answer

    def greet(self) -> None:
        """The handshake."""
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """One tool call; an error ends the benchmark."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        if answer.get("isError"):
            raise SystemExit(f"{tool}: {answer['content'][0]['text']}")
        return answer

    def _say(self, message: dict[str, Any]) -> None:
        pipe = _pipe(self.process.stdin)
        pipe.write(json.dumps(message).encode() + b"\n")
        pipe.flush()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


@contextmanager
def wire(command: Sequence[str], folder: str) -> Iterator[Wire]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, env=environment()
    )
    try:
        yield Wire(process)
    finally:
        _pipe(process.stdin).close()
        process.wait(30)


@contextmanager
def over_http(folder: str) -> Iterator[tuple[str, str, int]]:
    """A server over HTTP: its address, its token, its process."""
    token = "t" * 40
    process = subprocess.Popen(
        [*SAGE, "--http", "--port", "0"], stderr=subprocess.PIPE, text=True, cwd=folder,
        env=environment({"SAGE_MCP_TOKEN": token}),
    )  # fmt: skip
    assert process.stderr is not None
    found = re.search(r"http://\S+/mcp", process.stderr.readline())
    assert found
    try:
        yield found[0], token, process.pid
    finally:
        process.terminate()
        process.wait(30)


def start(folder: str, repeat: int) -> None:
    """From the start of the process to the answer of a tool, in turns with an empty server."""
    taken: dict[str, list[float]] = {"an empty server": [], "sage": [], "sage, a symbol": [], "sage, a search": []}
    calls: dict[str, tuple[list[str], str, dict[str, Any]]] = {
        "an empty server": (EMPTY, "sage_version", {}),
        "sage": (SAGE, "sage_version", {}),
        "sage, a symbol": (SAGE, "sage_grep_symbol", {"name": "make"}),
        "sage, a search": (SAGE, "sage_search_code", {"query": QUESTIONS[0]}),
    }
    for _ in range(repeat):
        for name, (command, tool, arguments) in calls.items():
            began = time.perf_counter()
            with wire(command, folder) as server:
                server.greet()
                server.call(tool, **arguments)
                taken[name].append(time.perf_counter() - began)
    base = statistics.median(taken["an empty server"])
    rows = []
    for name, seconds in taken.items():
        ratio = statistics.median(seconds) / base
        judged = verdict(ratio, MOST_RATIO) if name == "sage" else f"{ratio:.2f}"
        rows.append([name, f"{statistics.median(seconds):.2f}", f"{min(seconds):.2f}", judged])
    print(f"Start of the process to the first answer, medians of {repeat}, in turns:\n")
    print(table(["server and first call", "s", "best s", "against empty"], rows))


def latency(folder: str, rounds: int) -> None:
    """Warm searches: in process, on the wire, and through the SDK's client over both transports."""
    rows = [_latency_row("in process, no protocol", *_in_process(folder, rounds))]
    with wire(SAGE, folder) as server:
        server.greet()
        asked = [("sage_search_code", {"query": question}) for question in QUESTIONS]
        _on_the_wire(server, asked)
        row = _latency_row("stdio, lines on the wire", *_on_the_wire(server, asked * rounds), judge=True)
        rows.append(row)
        silent: list[tuple[str, dict[str, Any]]] = [("sage_version", {})] * len(asked) * rounds
        rows.append(_latency_row("stdio, `sage_version`: the protocol alone", *_on_the_wire(server, silent)))
    command = StdioServerParameters(command=SAGE[0], args=SAGE[1:], env=environment(), cwd=folder)
    taken = anyio.run(_through_client, stdio_client(command), rounds)
    rows.append(_latency_row("stdio, the SDK's client", taken))
    with over_http(folder) as (url, token, _):
        rows.append(_latency_row("HTTP, the SDK's client", anyio.run(_through_http, url, token, rounds)))
    print(f"\nWarm `sage_search_code`, {len(QUESTIONS) * rounds} calls a row, ms; processor: of the server alone:\n")
    print(table(["how", "p50", "p95", "worst", "beyond the search", "processor a call"], rows))


def _in_process(folder: str, rounds: int) -> tuple[list[float], float]:
    """The milliseconds of warm searches without a server, and the processor time of one."""
    from sage_code import Project

    project = Project.open(folder)
    taken = []
    for question in QUESTIONS:
        project.search(question)
    before = time.process_time()
    for question in QUESTIONS * rounds:
        began = time.perf_counter()
        project.search(question)
        taken.append((time.perf_counter() - began) * 1000)
    return taken, (time.process_time() - before) * 1000 / len(taken)


def _on_the_wire(server: Wire, calls: Sequence[tuple[str, dict[str, Any]]]) -> tuple[list[float], float, list[float]]:
    """Round trips, processor time a call, and what each round trip added to the search itself."""
    import psutil

    process = psutil.Process(server.process.pid)
    before = sum(process.cpu_times()[:2])
    taken, added = [], []
    for tool, arguments in calls:
        began = time.perf_counter()
        answer = server.call(tool, **arguments)
        taken.append((time.perf_counter() - began) * 1000)
        added.append(taken[-1] - answer["structuredContent"].get("took_ms", 0))
    return taken, (sum(process.cpu_times()[:2]) - before) * 1000 / len(calls), added


async def _through_client(transport: Any, rounds: int) -> list[float]:
    """The milliseconds of warm searches through the SDK's client."""
    async with Client(transport) as client:
        await client.list_tools()
        for question in QUESTIONS:
            await client.call_tool("sage_search_code", {"query": question})
        taken = []
        for question in QUESTIONS * rounds:
            began = time.perf_counter()
            result = await client.call_tool("sage_search_code", {"query": question})
            taken.append((time.perf_counter() - began) * 1000)
            assert not result.is_error
        return taken


async def _through_http(url: str, token: str, rounds: int) -> list[float]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        return await _through_client(streamable_http_client(url, http_client=http), rounds)


def _latency_row(
    name: str, taken: Sequence[float], cpu: float | None = None, added: Sequence[float] = (), *, judge: bool = False
) -> list[object]:
    p50 = statistics.median(taken)
    p95 = sorted(taken)[int(len(taken) * 0.95)]
    shown = verdict(p50, MOST_MS) if judge else f"{p50:.2f}"
    beyond = f"{statistics.median(added):.2f}" if added else ""
    return [name, shown, f"{p95:.2f}", f"{max(taken):.1f}", beyond, "" if cpu is None else f"{cpu:.2f}"]


def memory(folder: str) -> None:
    """The resident memory of a server that has answered many questions about a large project."""
    import psutil

    from sage_code.index import registry

    chunks = next(entry.chunks for entry in registry.projects() if entry.root == os.path.realpath(folder))
    rows = []
    with wire(SAGE, folder) as server:
        process = psutil.Process(server.process.pid)
        server.greet()

        def note(when: str) -> None:
            facts = process.memory_full_info()
            rows.append([when, f"{facts.rss / MB:.0f}", f"{facts.uss / MB:.0f}"])

        note("after the handshake")
        server.call("sage_search_code", query=QUESTIONS[0])
        note("after the first search")
        for question in QUESTIONS * 4:
            server.call("sage_search_code", query=question)
        note(f"after {len(QUESTIONS) * 4} more")
        others: list[tuple[str, dict[str, Any]]] = [
            ("sage_grep_symbol", {"name": "run"}),
            ("sage_analyze_function", {"name": "parse"}),
            ("sage_outline", {"path": _some_file(folder)}),
            ("sage_similar", {"where": f"{_some_file(folder)}:1"}),
        ]
        for tool, arguments in others:
            server.call(tool, **arguments)
        note("after other tools")
        worst = max(float(row[1]) for row in rows)
        rows.append(["at most", verdict(worst, MOST_MB, "{:.0f}"), ""])
    print(f"\nResident memory with {chunks:,} chunks, MB (own: without pages that are shared or of mapped files):\n")
    print(table(["when", "resident", "own"], rows))


def _some_file(folder: str) -> str:
    """A Python file with some code."""
    return next(str(path.relative_to(folder)) for path in Path(folder).rglob("*.py") if path.stat().st_size > 2_000)


def load(folder: str, clients: int, seconds: float) -> None:
    """Many clients at once, for a while, on one server over HTTP and on a server each over stdio."""
    rows = []
    with over_http(folder) as (url, token, _):
        rows.append(["HTTP, one server", *anyio.run(_crowd_http, url, token, clients, seconds)])
    command = StdioServerParameters(command=SAGE[0], args=SAGE[1:], env=environment(), cwd=folder)
    rows.append(["stdio, a server each", *anyio.run(_crowd_stdio, command, clients, seconds / 3)])
    print(f"\n{clients} clients at once:\n")
    print(table(["how", "s", "calls", "errors", "p50 ms", "p95 ms"], rows))
    if any(row[3] for row in rows):
        raise SystemExit("there were errors")


async def _crowd_http(url: str, token: str, clients: int, seconds: float) -> list[object]:
    async def connect(taken: list[float], errors: list[str]) -> None:
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
            async with Client(streamable_http_client(url, http_client=http)) as client:
                await _busy(client, taken, errors, seconds)

    return await _crowd(connect, clients, seconds)


async def _crowd_stdio(command: StdioServerParameters, clients: int, seconds: float) -> list[object]:
    async def connect(taken: list[float], errors: list[str]) -> None:
        async with Client(stdio_client(command)) as client:
            await _busy(client, taken, errors, seconds)

    return await _crowd(connect, clients, seconds)


async def _crowd(connect: Any, clients: int, seconds: float) -> list[object]:
    taken: list[float] = []
    errors: list[str] = []
    async with anyio.create_task_group() as group:
        for _ in range(clients):
            group.start_soon(connect, taken, errors)
    for error in errors[:5]:
        print(f"error: {error}", file=sys.stderr)
    p95 = sorted(taken)[int(len(taken) * 0.95)]
    return [f"{seconds:.0f}", f"{len(taken):,}", len(errors), f"{statistics.median(taken):.0f}", f"{p95:.0f}"]


async def _busy(client: Client, taken: list[float], errors: list[str], seconds: float) -> None:
    """What an agent asks, one after the other, from when it is connected."""
    until = time.monotonic() + seconds
    calls: list[tuple[str, dict[str, Any]]] = [
        ("sage_search_code", {"query": question}) for question in QUESTIONS
    ] + [
        ("sage_grep_symbol", {"name": "make"}),
        ("sage_analyze_function", {"name": "Container.make"}),
        ("sage_find_references", {"name": "Container.make", "relation": "callers"}),
        ("sage_health", {}),
    ]  # fmt: skip
    while time.monotonic() < until:
        for tool, arguments in calls:
            began = time.perf_counter()
            result = await client.call_tool(tool, arguments)
            taken.append((time.perf_counter() - began) * 1000)
            if result.is_error:
                errors.append(f"{tool}: {result.content[0]}")
            if time.monotonic() > until:
                return


def inspector(folder: Path) -> None:
    """List and call every tool over both transports, with a client that is not ours."""
    cli = folder / "node_modules" / ".bin" / "mcp-inspector"
    version = json.loads((folder / "node_modules/@modelcontextprotocol/inspector/package.json").read_text())["version"]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        project = Path(scratch, "project")
        (project / ".git").mkdir(parents=True)
        (project / "server.py").write_text(
            'class Server:\n    """Listens."""\n\n    def start(self, port):\n        """Open the port."""\n'
            "        return port\n\n\ndef main():\n    return Server().start(80)\n"
        )
        os.environ["SAGE_HOME"] = os.path.join(scratch, "home")
        calls: list[tuple[str, dict[str, Any]]] = [
            ("sage_index_code", {"path": str(project)}), ("sage_search_code", {"query": "open the port", "limit": 3}),
            ("sage_grep_symbol", {"name": "start"}), ("sage_analyze_function", {"name": "Server.start"}),
            ("sage_find_references", {"name": "start", "relation": "callers"}), ("sage_outline", {"path": "server.py"}),
            ("sage_map", {}), ("sage_similar", {"where": "start"}), ("sage_debug_query", {"query": "open the port"}),
            ("sage_mark_core", {"path": "server.py", "summary": "Listens."}), ("sage_list_core", {}),
            ("sage_unmark_core", {"path": "server.py"}), ("sage_health", {}), ("sage_version", {}),
        ]  # fmt: skip
        with over_http(str(project)) as (url, token, _):
            config = Path(scratch, "config.json")
            sage = {"command": SAGE[0], "args": SAGE[1:], "env": {"SAGE_HOME": os.environ["SAGE_HOME"]}}
            config.write_text(json.dumps({"mcpServers": {"sage": sage}}))
            targets = {
                "stdio": ["--config", str(config), "--server", "sage"],
                "HTTP": [url, "--transport", "http", "--header", f"Authorization: Bearer {token}"],
            }
            for name, target in targets.items():
                listed = _inspected(cli, [*target, "--strict", "--method", "tools/list"], project)["tools"]
                schemas = {tool["name"]: tool["outputSchema"] for tool in listed}
                assert all(0 < len(tool["description"]) < 1_000 for tool in listed)
                for schema in [*schemas.values(), *(tool["inputSchema"] for tool in listed)]:
                    Draft202012Validator.check_schema(schema)
                assert schemas.keys() >= {tool for tool, _ in calls}  # those of memory are called in tests/server
                for tool, arguments in calls:
                    words = [word for key, value in arguments.items() for word in ("--tool-arg", f"{key}={value}")]
                    answer = _inspected(cli, [*target, "--method", "tools/call", "--tool-name", tool, *words], project)
                    assert not answer.get("isError"), answer
                    assert answer["content"][0]["text"]
                    Draft202012Validator(schemas[tool]).validate(answer["structuredContent"])
                rows.append([name, len(listed), len(calls), "all valid"])
    print(f"\nThe official inspector {version}, command line:\n")
    print(table(["transport", "tools listed", "tools called", "schemas and answers"], rows))


def _inspected(cli: Path, words: Sequence[str], folder: Path) -> Any:
    command = [str(cli), "--cli", *words]
    # It may want a newer Node than the machine has: one that was installed beside it comes first.
    env = environment({"PATH": f"{cli.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder.parent)})
    ended = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env, timeout=180)
    if ended.returncode:
        raise SystemExit(f"{' '.join(command)}\n{ended.stdout}\n{ended.stderr}")
    return json.loads(ended.stdout)


def survival() -> None:
    """The tests of what a server survives, with their count."""
    tests = HERE.parent / "tests" / "server"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    ended = subprocess.run(
        [*command, str(tests / "test_survival.py"), str(tests / "test_hostile.py")],
        capture_output=True, text=True, cwd=HERE.parent,
    )  # fmt: skip
    print(f"\nSurvival and hostile repositories: {ended.stdout.strip().splitlines()[-1]} (exit {ended.returncode})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--project", help="an indexed project for start, latency and load")
    parser.add_argument("--large", help="an indexed project of 100,000 chunks for memory")
    parser.add_argument("--inspector", type=Path, help="where the inspector is installed")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    print(machine(), "\n")
    if "start" in given.parts:
        start(given.project, given.repeat)
    if "latency" in given.parts:
        latency(given.project, given.rounds)
    if "memory" in given.parts and given.large:
        memory(given.large)
    if "load" in given.parts:
        load(given.project, given.clients, given.seconds)
    if "inspector" in given.parts and given.inspector:
        inspector(given.inspector)
    if "survival" in given.parts:
        survival()


if __name__ == "__main__":
    main()
