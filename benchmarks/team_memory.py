"""Measures a team's memory on a real PostgreSQL server: what survives restarts, what others see, edits of two sides.

    python benchmarks/team_memory.py --seconds 60 --writers 16 --tries 200

Every writer is a process with a role of its own. It writes down each acknowledgement before the next write; afterwards
every line of these notes is looked for on the server. The server syncs to the disk and is restarted twice, once by a
crash (`immediate`). Tries without the right come from a member of another team, from a role that belongs to no team,
and from a member of the same team for what is its author's alone: by the library, by SQL, by HTTP to a real `sage
serve`, by tools over HTTP, and by tools of a `sage-mcp` process with a login of their own. The author sees it by both
kinds of tools, so that one that shows nothing to anybody does not pass. Edits of two sides are made on two homes while
the server is stopped.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from postgres import Server, started

from sage_code import Project
from sage_code.errors import SageError
from sage_code.memory.team.connecting import TeamDatabase
from sage_code.memory.team.opened import Team
from sage_code.memory.team.schema import initialise, make_login
from sage_code.memory.team.team_memory import TeamMemory
from sage_code.memory.team.values import Edit
from sage_code.serving import users
from sage_code.settings.table import Settings

TOP = Path(__file__).parents[1]
TEAM, PROJECT = "core", "git.example/payments"
SECRET = "the plan of ada alone"
# A restart takes seconds on a busy machine; a writer waits for it rather than giving up.
PATIENCE_S = 30.0
# Who has no right to it: a member of the team, one of another team, and one of no team.
WITHOUT = ("ben", "dan", "erin")
# Half of them are edited in different lines by the two sides, half in the same line.
NOTES = 20
WRONG_TOKENS = 10


def main() -> None:
    """Run the measurements and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--tries", type=int, default=200, help="of each way: by library, SQL, HTTP and tool")
    parser.add_argument("--write-for", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write_for:
        _write(*given.write_for)
        return
    with tempfile.TemporaryDirectory(prefix="team-memory-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        with started(folder / "server", max_connections="80") as server:
            _prepare(server, given.writers)
            print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
            kept = _measure_rights(server, given.tries)
            _measure_served(server, folder, given.tries, kept)
            _measure_two_sides(server, folder)
            _measure_writers(server, folder, given.writers, given.seconds)  # last: it leaves 50,000 items


def _prepare(server: Server, writers: int) -> None:
    database = TeamDatabase(server.uri())
    initialise(database)
    names = [f"writer{number}" for number in range(writers)]
    for name in (*names, "ada", "ben", "dan", "erin"):
        make_login(database, name)
    make_login(database, "webserver", is_server=True)
    admin = TeamMemory("", TEAM, database=database)
    for name in (*names, "ada", "ben"):
        admin.set_member(name)
    TeamMemory("", "other", database=database).set_member("dan")
    database.close()


def _write(uri: str, name: str, item: str, until: str, notes: str) -> None:
    """One writer: new items and edits of an item that all share, until the time is over."""
    memory = TeamMemory(uri, TEAM, patience_s=PATIENCE_S)
    shared_base, shared_text = 0, ""
    with open(notes, "a", encoding="utf-8") as file:
        for number in itertools.count():
            if time.time() > float(until):
                break
            op = str(uuid.uuid4())
            if number % 4:
                new = str(uuid.uuid4())
                edit = Edit(new, PROJECT, "knowledge", f"{name}-{number}", "team", 0, f"{name} {number}\n", op=op)
            else:
                text = f"{shared_text}{name} {number}\n"
                edit = Edit(
                    item, PROJECT, "knowledge", "shared", "team", shared_base, text, base_text=shared_text, op=op
                )
            try:
                done = memory.write(edit)
            except SageError as error:
                file.write(f"failed\t{op}\t{error.message[:200]!r}\t\n")
            else:
                file.write(f"ack\t{op}\t{done.number}\t{done.outcome}\n")
            file.flush()
            if edit.item == item and (now := memory.read(item)) is not None:
                # A text that is not too long, so that what is measured is writing: every edit replaces it.
                shared_base, shared_text = now.number, "" if now.text.count("\n") > 20 else now.text
    memory.close()


def _measure_writers(server: Server, folder: Path, writers: int, seconds: float) -> None:
    """Restart the server twice under writers, then look for every acknowledged write."""
    import psycopg

    until, item = time.time() + seconds, str(uuid.uuid4())
    notes = [folder / f"writer{number}.notes" for number in range(writers)]
    running = [
        subprocess.Popen(
            [sys.executable, __file__, "--write-for", server.uri(user=f"writer{number}"), f"writer{number}", item,
             str(until), str(notes[number])]
        )
        for number in range(writers)
    ]  # fmt: skip
    for mode in ("fast", "immediate"):
        time.sleep(seconds / 3)
        server.stop(mode)
        server.start()
    for process in running:
        process.wait(timeout=seconds + 120)
    lines = [line.split("\t") for note in notes for line in note.read_text().splitlines()]
    acknowledged = [line for line in lines if line[0] == "ack"]
    failed = [line for line in lines if line[0] == "failed"]
    with psycopg.connect(server.uri()) as connection:
        stored = Counter(str(row[0]) for row in connection.execute("SELECT op FROM sage_team.versions"))
        outcomes = dict(connection.execute("SELECT outcome, count(*) FROM sage_team.versions GROUP BY 1").fetchall())
    lost = [line for line in acknowledged if line[1] not in stored]
    twice = [op for op, count in stored.items() if count > 1]
    exits = sum(process.returncode != 0 for process in running)
    print(f"{writers} writers, {seconds:.0f} s, 2 restarts (fast, immediate): {len(acknowledged)} acknowledged, "
          f"{len(lost)} lost, {len(twice)} stored twice, {len(failed)} reported as failed, "
          f"{exits} writers ended badly")  # fmt: skip
    print(f"  versions on the server by outcome: {outcomes}")
    for line in failed[:3]:
        print(f"  failed: {line[2]}")


def _measure_rights(server: Server, tries: int) -> str:
    """Try to see what one may not see, in many ways; returns the id of what is tried."""
    import psycopg

    ada = TeamMemory(server.uri(user="ada"), TEAM)
    kept = ada.save(PROJECT, "knowledge", "plan", SECRET, "me").item
    web = TeamMemory(server.uri(user="webserver"), TEAM)
    people = {name: TeamMemory(server.uri(user=name), TEAM) for name in ("ben", "dan", "erin")}
    calls = {
        "find": lambda one: one.find("plan"),
        "find all": lambda one: one.find(),
        "read": lambda one: one.read(kept),
        "history": lambda one: one.history(kept),
        "changes": lambda one: one.changes(),
        "conflicts": lambda one: one.conflicts(),
        "audit": lambda one: one.audit(kept),
        "write": lambda one: one.write(Edit(kept, PROJECT, "knowledge", "plan", "team", 1, "taken", base_text=SECRET)),
    }
    seen, refused, done = 0, 0, 0
    for name, call in itertools.islice(itertools.cycle(itertools.product(people, calls)), tries):
        one = people[name] if done % 2 else web.as_member(name)
        done += 1
        try:
            seen += SECRET in repr(calls[call](one))
        except SageError:
            refused += 1
    print(f"by library (own role, and through a server's role in turn): {done} tries, {seen} saw it, {refused} refused")
    statements = [
        *(f"SELECT * FROM sage_team.{table}" for table in ("items", "versions", "conflicts", "audit", "members")),
        f"SELECT * FROM sage_team.read_item('core', '{kept}')",
        f"SELECT * FROM sage_team.history('core', '{kept}')",
        f"SELECT sage_team.version_text('{kept}', 1)",
        f"SELECT * FROM sage_team.begin_edit('{kept}')",
        "SELECT * FROM sage_team.changes('core', '0', 10000, '00000000-0000-0000-0000-000000000000')",
        "SELECT * FROM sage_team.find('core', '', '', '', 200)",
        "SET ROLE ada; SELECT * FROM sage_team.find('core', '', '', '', 200)",
        "SELECT set_config('role', 'ada', false); SELECT * FROM sage_team.find('core', '', '', '', 200)",
        "SET SESSION AUTHORIZATION ada; SELECT * FROM sage_team.find('core', '', '', '', 200)",
        "SET row_security = off; SELECT * FROM sage_team.items",
        "COPY sage_team.items TO STDOUT",
        (
            "CREATE FUNCTION pg_temp.caller() RETURNS text LANGUAGE sql AS 'SELECT ''ada''::text'; "
            "SET search_path = pg_temp, sage_team; SELECT * FROM sage_team.find('core', '', '', '', 200)"
        ),
        "SELECT sage_team.set_member('core', current_user::text, '{*}', true)",
    ]
    seen, refused, done = 0, 0, 0
    for statement, name in itertools.islice(itertools.cycle(itertools.product(statements, people)), tries):
        done += 1
        with psycopg.connect(server.uri(user=name), autocommit=True) as connection:
            try:
                cursor = connection.execute(statement.encode())
                while cursor.nextset():
                    pass
                seen += SECRET in repr(cursor.fetchall() if cursor.description else "")
            except psycopg.Error:
                refused += 1
    print(f"by SQL: {done} tries, {seen} saw it, {refused} refused")
    now = ada.read(kept)
    print(f"the item is as its author left it: {now is not None and now.text == SECRET}")
    for one in (ada, web, *people.values()):
        one.close()
    return kept


def _environment(home: Path, uri: str) -> dict[str, str]:
    paths = os.pathsep.join(str(TOP / part) for part in ("", "cli", "mcp", "web", "serve"))
    return {**os.environ, "PYTHONPATH": paths, "SAGE_HOME": str(home), "SAGE_TEAM_DATABASE_URL": uri,
            "SAGE_TEAM_NAME": TEAM}  # fmt: skip


@contextmanager
def _serving(server: Server, home: Path, root: Path) -> Iterator[int]:
    """A real `sage serve` for the project in a folder; its port."""
    command = [sys.executable, "-P", "-m", "sage_serve.server", "--port", "0", "--only", str(root), "--rate", "0"]
    process = subprocess.Popen(
        command, env=_environment(home, server.uri(user="webserver")), stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/mcp", first)
        if found is None:
            raise SystemExit(f"sage serve does not start: {first}{process.stderr.read()}")
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield int(found[1])
    finally:
        process.terminate()
        process.wait(60)


def _asked(port: int, method: str, path: str, token: str, body: bytes = b"", **more: str) -> tuple[int, str]:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {name.replace("_", "-"): value for name, value in more.items()}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if path == "/mcp":
        headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                    "Mcp-Protocol-Version": "2025-06-18"}  # fmt: skip
    connection.request(method, path, body or None, headers)
    answer = connection.getresponse()
    said = answer.read().decode(errors="replace")
    connection.close()
    return answer.status, said


def _message(method: str, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}).encode()


def _call(tool: str, **arguments: Any) -> bytes:
    return _message("tools/call", name=tool, arguments=arguments)


def _calls(kept: str) -> list[tuple[str, dict[str, Any]]]:
    """Calls of tools that could show it, or take it."""
    words = ["plan", "", SECRET, kept, "plan' OR true --", "'; SET ROLE ada; --", "%", "ada", "plan & ! x", "*"]
    found: list[tuple[str, dict[str, Any]]] = [("team_memory_search", {"query": word}) for word in words]
    narrowed: list[dict[str, Any]] = [{"kind": kind} for kind in ("knowledge", "checkpoint", "core", "block")]
    narrowed += [{"project": PROJECT}, {"project": "payments"}, {"offset": 0, "max_tokens": 25_000}]
    narrowed += [{"user": "ada"}, {"member": "ada"}, {"team": TEAM}, {"project": "../../etc"}]
    found += [("team_memory_search", {"query": "plan", **more}) for more in narrowed]
    found += [
        ("team_memory_save", {"name": "plan", "content": "taken", "visibility": "team"}),
        ("team_memory_save", {"name": "plan--ada", "content": "taken", "visibility": "me"}),
        ("sage_recall_knowledge", {"query": "what is the plan of ada"}),
        ("sage_list_knowledge", {}),
        ("sage_search_checkpoints", {"query": "the plan of ada"}),
        ("sage_load_checkpoint", {"checkpoint_id": "plan"}),
        ("sage_debug_query", {"query": "the plan of ada"}),
        ("sage_search_code", {"query": "the plan of ada"}),
        ("memory_blocks", {}),
        ("conversation_search", {"query": "plan"}),
    ]
    return found


def _measure_served(server: Server, folder: Path, tries: int, kept: str) -> None:
    """Try to see what one may not see through a server for many users, and through an agent's own server."""
    home, root = folder / "served-home", folder / "payments"
    root.mkdir()
    (root / "pay.py").write_text("def pay(amount):\n    return amount\n")
    for words in (["init", "-q"], ["remote", "add", "origin", f"https://{PROJECT}.git"]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    os.environ["SAGE_HOME"] = str(home)
    Project(str(root)).index()
    scopes = ["search", "memory:read", "memory:write"]
    tokens = {name: users.add(name, scopes)[1] for name in ("ada", *WITHOUT)}
    tokens["searcher"] = users.add("searcher", ["search"])[1]  # no scope for memories
    with _serving(server, home, root) as port:
        _, control = _asked(port, "POST", "/mcp", tokens["ada"], _call("team_memory_search", query="plan"))
        print(f"its author sees it by a tool over HTTP: {SECRET in control}")
        _try_tools_over_http(port, tokens, tries, kept)
        _try_http(port, tokens, tries, kept)
    _try_stdio(server, folder, root, tries, kept)
    ada = TeamMemory(server.uri(user="ada"), TEAM)
    now = ada.read(kept)
    print(f"the item is as its author left it: {now is not None and now.text == SECRET}")
    ada.close()


def _try_http(port: int, tokens: dict[str, str], tries: int, kept: str) -> None:
    """Requests to the page and to the protocol, with headers that name somebody else, and with no or wrong tokens."""
    base = "/p/payments"
    pages = ["/", "/?q=plan", "/search/memory?q=plan", f"/search/memory?q={quote(SECRET)}", f"{base}/memory",
             f"{base}/memory/knowledge/plan", f"{base}/memory/knowledge/plan--ada", f"{base}/stale",
             f"{base}/memory/knowledge/{kept}", f"{base}/margin/pay.py", "/agents", "/health", "/metrics",
             f"{base}/code/../../team/replica.db", "/team", "/team/replica.db"]  # fmt: skip
    search = _call("team_memory_search", query="plan")
    pretences: list[dict[str, str]] = [
        {}, {"X_Forwarded_User": "ada"}, {"X_User": "ada"}, {"Cookie": "sage=ada"}, {"X_Remote_User": "ada"}
    ]  # fmt: skip
    requests: list[tuple[str, str, bytes, dict[str, str]]] = [
        *(("GET", path, b"", more) for path in pages for more in pretences[:2]),
        *(("POST", "/mcp", search, more) for more in pretences),
        ("POST", "/mcp", _message("resources/list"), {}),
        ("POST", "/mcp", _message("resources/read", uri=f"sage://team/{kept}"), {}),
        ("POST", "/mcp", _message("tools/list"), {}),
        ("POST", f"{base}/memory/knowledge/plan/edit", b"content=taken", {}),
        ("DELETE", f"{base}/memory/knowledge/plan", b"", {}),
    ]
    given = {**{name: tokens[name] for name in (*WITHOUT, "searcher")}, "no token": ""}
    tried = list(itertools.islice(itertools.cycle(itertools.product(requests, given.values())), tries - WRONG_TOKENS))
    # At the end: the server slows down an address that guesses, and refuses all that comes from it.
    tried += [(one, f"sage_wrong{number}") for number, one in enumerate(requests[-WRONG_TOKENS:])]
    seen, refused = 0, 0
    for (method, path, body, more), token in tried:
        status, said = _asked(port, method, path, token, body, **more)
        seen += SECRET in said
        refused += status >= 400
    done = len(tried)
    print(f"by HTTP (pages and protocol, forged headers, no and wrong tokens): {done} tries, {seen} saw it, "
          f"{refused} refused")  # fmt: skip


def _try_tools_over_http(port: int, tokens: dict[str, str], tries: int, kept: str) -> None:
    names = (*WITHOUT, "searcher")
    seen, refused, done = 0, 0, 0
    for (tool, arguments), name in itertools.islice(itertools.cycle(itertools.product(_calls(kept), names)), tries):
        done += 1
        status, said = _asked(port, "POST", "/mcp", tokens[name], _call(tool, **arguments))
        seen += SECRET in said.replace(json.dumps(arguments.get("query", "")), "")  # what was asked may be repeated
        refused += status >= 400 or '"isError":true' in said.replace(" ", "")
    print(f"by tool over HTTP: {done} tries, {seen} saw it, {refused} refused")


def _try_stdio(server: Server, folder: Path, root: Path, tries: int, kept: str) -> None:
    """The same calls to servers that persons without the right start with logins of their own."""
    counts: Counter[str] = Counter()

    async def talk(name: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
        home = folder / f"{name}-home"
        environment = _environment(home, server.uri(user=name))
        sage = [sys.executable, "-P", "-m", "sage_cli.entry"]
        await anyio.run_process([*sage, "team", "sync"], env=environment, cwd=root, check=False)
        start = StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "sage_mcp.server"], env=environment, cwd=str(root)
        )
        async with Client(stdio_client(start)) as client:
            for tool, arguments in calls:
                result = await client.call_tool(tool, arguments)
                said = result.model_dump_json().replace(json.dumps(arguments.get("query", "")), "")
                counts["done"] += 1
                counts["seen"] += SECRET in said
                counts["refused"] += bool(result.is_error)

    anyio.run(talk, "ada", [("team_memory_search", {"query": "plan"})])
    print(f"its author sees it by a tool over stdio: {counts['seen'] == 1}")
    counts.clear()
    share = [list(itertools.islice(itertools.cycle(_calls(kept)), tries // 3 + (place < tries % 3)))
             for place in range(len(WITHOUT))]  # fmt: skip
    for name, calls in zip(WITHOUT, share, strict=True):
        anyio.run(talk, name, calls)
    print(f"by tool over stdio, with logins of their own: {counts['done']} tries, {counts['seen']} saw it, "
          f"{counts['refused']} refused")  # fmt: skip


def _measure_two_sides(server: Server, folder: Path) -> None:
    """Two homes edit the same notes while the server is stopped; both texts are looked for afterwards."""

    def on(name: str) -> Team:
        os.environ["SAGE_HOME"] = str(folder / f"side-{name}")
        return Team(str(folder / "payments"), Settings(team_database_url=server.uri(user=name), team_name=TEAM))

    names = [f"note-{number}" for number in range(NOTES)]
    with on("ada") as ada:
        for name in names:
            ada.share("knowledge", name, "first\nsecond\nthird\n", "team")
    with on("ben") as ben:
        ben.sync()
    server.stop()
    waited = 0
    for side, lines in (("ada", ("first", "first")), ("ben", ("third", "first"))):
        with on(side) as team:
            for number, name in enumerate(names):
                line = lines[number % 2]
                text = "first\nsecond\nthird\n".replace(line, f"{line} by {side}")
                waited += team.edit(name, text).outcome == "waiting"
    server.start()
    outcomes: Counter[str] = Counter()
    for side in ("ada", "ben", "ada"):
        with on(side) as team:
            outcomes.update(one.outcome for one in team.sync().sent)
    with on("ada") as ada:
        shown = {one.item for one in ada.replica.conflicts()}
        both = 0
        for number, name in enumerate(names):
            item, versions = ada.history(name)
            texts = " ".join(one.text for one in versions if one.is_open or one.number == item.number)
            both += "first by ada" in texts and ("third by ben" if number % 2 == 0 else "first by ben") in texts
        resolved = 0
        for item_id in shown:
            now = ada.row(item_id).item
            resolved += ada.resolve(item_id, f"{now.text}first by ben\n").outcome == "resolved"
        left = len(ada.replica.conflicts())
    with on("ben") as ben:
        ben.sync()
        texts_there = [row.item.text for row in ben.rows() if row.item.name in names]
    same = sum("by ada" in text and "by ben" in text for text in texts_there)
    print(f"offline edits on two sides: {NOTES} notes edited by both, {waited} edits waited, {both} notes with both "
          f"texts kept ({outcomes['merged']} merged, {outcomes['conflict']} in conflict and {len(shown)} shown); "
          f"{resolved} resolved, {left} left; the other side then has both texts in {same}")  # fmt: skip


if __name__ == "__main__":
    main()
