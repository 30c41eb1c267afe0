"""Every hook changes what a user sees: a real plugin, enabled in a home, through the command line and through MCP."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import Client

from sage_code.events import discovery
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.project import Project

sys.path.insert(0, str(Path(__file__).parents[1] / "server"))
from talking import content, over_stdio, text

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="plugins do not run on this system")

_HOUSE = '''
from sage_code.events.plugins import HOOKS, PluginMetadata


def without_codename(value):
    if isinstance(value, str):
        return value.replace("Bluebird", "the product")
    if isinstance(value, dict):
        return {key: without_codename(one) for key, one in value.items()}
    return [without_codename(one) for one in value] if isinstance(value, list) else value


class House:
    """What a team wants: its words, its order, its names. It inherits nothing."""

    metadata = PluginMetadata("house", "1.0", "a team", "House rules.", hooks=list(HOOKS))

    def pre_load(self, layer, path):
        return path.replace("former", "present")

    def post_load(self, layer, content):
        return content.replace("pager", "pager (call Ada)")

    def on_timeout(self, layer, elapsed_ms):
        return f"{layer} took too long; ask Ada"

    def pre_search(self, where, query, filters):
        return query.replace("gizmo", "connect host")

    def post_search(self, where, query, results):
        if where != "code" or "host" not in query:
            return None
        lifted = [row | {"score": 0.97} for row in results if row["file"].endswith(".ts")]
        return [*lifted, {"file": "server.py", "line": 3, "score": 0.5}]

    def pre_format(self, command, document):
        return without_codename(document)

    def post_format(self, command, text):
        return text if text.startswith("{") else f"{text.rstrip()}\\n-- house, {command}\\n"
'''


@pytest.fixture(scope="module")
def home(shared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with an index and memories, in a home with the plugin `house`."""
    root = tmp_path_factory.mktemp("project")
    (root / ".sage").mkdir()
    (root / "web").mkdir()
    (root / "server.py").write_text(
        'PORT = 80\n\nLIMIT = 10\n\n\ndef connect(host, codename="Bluebird"):\n'
        '    """Reach a host."""\n    return host\n'
    )
    (root / "web" / "client.ts").write_text("export function connect(host: string): string {\n  return host;\n}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        patch.setenv("HOME", str(shared_home.parent))
        opened = Project.open(root)
        opened.index()
        for id_ in ("former", "present", "other"):
            item = KnowledgeItem(id_, f"The {id_} rota has the pager number.", "knowledge", ("rota",))
            opened.memory.save_knowledge(item, scope="project")
        opened.memory.save_checkpoint({"thesis": "The pager wakes somebody at night.", "core_question": "Who wakes?"})
        opened.mark_core("server.py", "answers the pager")
        with MemoryManager() as memory:
            memory.core.set("human", "Carries the pager.")
        plugins = shared_home / "plugins"
        plugins.mkdir(parents=True)
        (plugins / "house.py").write_text(_HOUSE)
        assert discovery.enable("house").hooks
    yield root
    for process in list(sys.modules["sage_code.events.process"].__dict__["_processes"]):
        process.close()


@pytest.fixture
def sage(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `sage` as a process in the project."""

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        paths = os.pathsep.join(path for path in sys.path if path)
        environment = {**os.environ, "PYTHONPATH": paths, "SAGE_LOAD_TIMEOUT_MS": "60000", **variables}
        command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
        return subprocess.run(
            command, cwd=home, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@contextmanager
def locked(sage_home: Path) -> Iterator[None]:
    """The database of agents, while another connection does not let anybody read it."""
    holder = sqlite3.connect(sage_home / "memory" / "memory.db", isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        holder.execute("ROLLBACK")
        holder.close()


Run = Callable[..., subprocess.CompletedProcess[str]]


def test_a_search_has_the_query_the_order_and_the_additions_of_the_plugin(shared_home: Path, sage: Run) -> None:
    done = sage("search", "gizmo", "--explain", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["query"] == "gizmo"
    assert answer["plugins"] == ["house: the query became 'connect host'"]
    first, second = answer["results"]
    assert (first["file"], first["score"], first["rank"]) == ("web/client.ts", 0.97, 1)
    assert "score " in first["plugins"][0]
    assert (second["file"], second["line"], second["snippet"].split("\n")[0]) == ("server.py", 3, "LIMIT = 10")
    assert second["plugins"] == ["added by house"]
    shown = sage("search", "gizmo", "--explain")
    assert "plugin  house: the query became 'connect host'" in shown.stdout
    assert "plugin  added by house" in shown.stdout
    assert "plugins" not in json.loads(sage("search", "gizmo", "--json").stdout)


def test_what_is_printed_has_the_values_and_the_text_of_the_plugin(shared_home: Path, sage: Run) -> None:
    found = sage("grep", "connect", "--kind", "function")
    assert (found.returncode, found.stderr) == (0, "")
    assert 'codename="the product"' in found.stdout
    assert "Bluebird" not in found.stdout
    assert found.stdout.endswith("-- house, grep\n")
    as_json = json.loads(sage("grep", "connect", "--json").stdout)
    assert any("the product" in match["signature"] for match in as_json["matches"])
    listed = sage("core", "list")
    assert listed.stdout.endswith("-- house, core list\n")
    missing = sage("grep", "nothing_like_it")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "-- house" not in sage("plugins", "list").stdout


def test_what_is_loaded_has_the_path_and_the_content_of_the_plugin(shared_home: Path, home: Path, sage: Run) -> None:
    assert "The present rota has the pager (call Ada) number." in sage("knowledge", "show", "former").stdout
    assert "pager (call Ada)" in sage("core", "list").stdout
    listed = json.loads(sage("checkpoint", "list", "--json").stdout)["checkpoints"]
    assert listed[0]["thesis"] == "The pager (call Ada) wakes somebody at night."


def test_what_the_plugin_shows_is_never_written(shared_home: Path, home: Path, sage: Run) -> None:
    assert sage("knowledge", "merge", "present", "other").returncode == 0
    assert sage("core", "add", "web/client.ts").returncode == 0
    folder = home / ".sage"
    stored = "".join(path.read_text() for path in (*folder.rglob("*.md"), *folder.rglob("*.json*")))
    assert "pager" in stored
    assert "call Ada" not in stored
    assert "house" not in stored


def test_a_database_that_is_locked_shows_what_the_plugin_says_instead(shared_home: Path, sage: Run) -> None:
    assert sage("memory", "blocks", "human").stdout == "Carries the pager (call Ada).\n-- house, memory blocks\n"
    with locked(shared_home):
        done = sage("memory", "blocks", "human", SAGE_LOAD_TIMEOUT_MS="50")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "blocks took too long; ask Ada\n-- house, memory blocks\n"


def test_an_agent_sees_all_of_it_too(shared_home: Path, home: Path) -> None:
    async def talk(client: Client) -> None:
        found = await client.call_tool("sage_search_code", {"query": "gizmo", "explain": True})
        data, said = content(found), text(found)
        assert [row["file"] for row in data["results"]] == ["web/client.ts", "server.py"]
        assert data["plugins"] == ["house: the query became 'connect host'"]
        assert "plugin: added by house" in said
        assert "-- house, sage_search_code" in said
        defined = await client.call_tool("sage_grep_symbol", {"name": "connect"})
        for shown in (json.dumps(content(defined)), text(defined)):
            assert "the product" in shown
            assert "Bluebird" not in shown
        recalled = text(await client.call_tool("sage_recall_knowledge", {"query": "Who has the pager rota?"}))
        assert "pager (call Ada)" in recalled
        blocks = content(await client.call_tool("memory_blocks", {}))["blocks"]
        assert "Carries the pager (call Ada)." in [block["value"] for block in blocks]

    async def talk_while_locked(client: Client) -> None:
        late = content(await client.call_tool("memory_blocks", {}))["blocks"]
        assert [(block["label"], block["value"]) for block in late] == [("fallback", "blocks took too long; ask Ada")]

    over_stdio(talk, home, SAGE_LOAD_TIMEOUT_MS="60000")
    with locked(shared_home):
        over_stdio(talk_while_locked, home, SAGE_LOAD_TIMEOUT_MS="50")
