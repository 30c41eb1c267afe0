"""The example packages, installed for real with pip in an environment of their own, do what they say through `sage`.

The environment borrows the dependencies of the one that runs the tests through a path file, and Sage from the checkout.
Nothing is fetched: hatchling, which builds the packages, is there.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType

TOP = Path(__file__).parents[2]
EXAMPLES = TOP / "plugins" / "examples"
NAMES = ["sage-path-boosts", "sage-stale-webhook", "sage-synonyms"]
SageRun = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with Sage and the three packages."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    scheme = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    borrowed = [TOP, TOP / "cli", TOP / "mcp", Path(sysconfig.get_path("purelib"))]
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    found = Path(sysconfig.get_path("scripts", "venv", scheme)) / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(found), "install", "-q", "--no-deps", "--no-index"]
    sources = [str(EXAMPLES / name) for name in NAMES]
    done = subprocess.run([*pip, "--no-build-isolation", *sources], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture
def run(python: Path, project: Path) -> SageRun:
    """Runs `sage` of that environment in the project."""

    def sage(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        command = [str(python), "-m", "sage_cli.entry", *words]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return sage


@pytest.fixture
def project(tmp_path: Path, write: Callable[..., Path]) -> Path:
    root = write(
        tmp_path / "shop",
        {
            "core/retry.py": 'def retry_call(call):\n    """Retry a call that failed."""\n    return call()\n',
            "tools/retry.py": 'def retry_again(call):\n    """Retry a call that failed, again."""\n    return call()\n',
            "web/signing.py": 'def sign_in(person):\n    """Sign in with a passphrase."""\n    return person\n',
        },
    )
    Project.open(root).index()
    return root


def _configure(sage_home: Path, plugin: str, file: str, content: object) -> None:
    folder = sage_home / "plugins" / plugin
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(json.dumps(content))


def _results(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return results


@contextmanager
def _receiver(status: int = 204) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server on this machine, and what was posted to it."""
    posted: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))) | {"path": self.path})
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", posted
        finally:
            server.shutdown()
            thread.join()


def test_the_packages_are_found_and_run_only_if_enabled(run: SageRun, sage_home: Path) -> None:
    rows = json.loads(run("plugins", "list", "--json").stdout)["plugins"]
    found = {row["name"]: row for row in rows if row["kind"] == "package"}
    assert sorted(found) == NAMES
    assert all(not row["enabled"] and row["package"] == name for name, row in found.items())
    shown = json.loads(run("plugins", "show", "sage-synonyms", "--json").stdout)
    assert (shown["version"], shown["hooks"], shown["problem"]) == ("1.0.0", ["pre_search"], "")
    _configure(sage_home, "sage-synonyms", "synonyms.json", {"kraken": "sign passphrase"})
    assert "plugins" not in json.loads(run("search", "kraken", "--explain", "--json", code=1).stdout)


def test_a_synonym_changes_what_is_found(run: SageRun, sage_home: Path) -> None:
    run("plugins", "enable", "sage-synonyms")
    run("search", "kraken", "--json", code=1)  # without a table nothing changes
    _configure(sage_home, "sage-synonyms", "synonyms.json", {"KRAKEN": "sign passphrase"})
    found = json.loads(run("search", "kraken", "--explain", "--json").stdout)
    assert found["results"][0]["file"] == "web/signing.py"
    assert found["plugins"] == ["sage-synonyms: the query became 'kraken sign passphrase'"]
    assert found["query"] == "kraken"
    _configure(sage_home, "sage-synonyms", "synonyms.json", ["no", "table"])
    broken = run("search", "kraken", "--json", code=1)
    assert "sage-synonyms" in broken.stderr
    assert "synonyms.json must be like" in broken.stderr


def test_a_boost_lifts_core(run: SageRun, sage_home: Path) -> None:
    question = ("search", "retry a call that failed", "--explain", "--json")
    before = [row["file"] for row in _results(run(*question))]
    run("plugins", "enable", "sage-path-boosts")
    assert [row["file"] for row in _results(run(*question))] == before
    last, first = ("core/*", "tools/*") if before[0] == "core/retry.py" else ("tools/*", "core/*")
    _configure(sage_home, "sage-path-boosts", "boosts.json", {first: 100, last: 0.01})
    lifted, lowered = _results(run(*question))[:2]
    assert [lifted["file"], lowered["file"]] == [before[1], before[0]]
    for row in (lifted, lowered):
        assert row["plugins"][0].startswith("sage-path-boosts: ")
    said = run("search", "retry a call that failed", "--explain").stdout
    assert "plugin  sage-path-boosts: 2 -> 1" in said


def test_the_webhook_gets_what_is_stale(run: SageRun, sage_home: Path, project: Path) -> None:
    run("plugins", "enable", "sage-stale-webhook")
    run("checkpoint", "save", "-t", "A call is tried twice", "--ref", "retry_call")
    (project / "core" / "retry.py").write_text("def retry_call(call):\n    return call() or call()\n")
    with _receiver() as (url, posted):
        _configure(sage_home, "sage-stale-webhook", "webhook.json", {"url": f"{url}/stale?team=shop"})
        assert "A call is tried twice" in run("stale").stdout
    (finding,) = posted
    assert (finding["path"], finding["type"]) == ("/stale?team=shop", "staleness.found")
    assert (finding["kind"], finding["title"], finding["root"]) == ("checkpoint", "A call is tried twice", str(project))
    assert finding["refs"][0]["file"] == "core/retry.py"


def _webhook(folder: Path, settings: object) -> str:
    """What the webhook says about a finding that it could not post; the class is used as Sage's host uses it."""
    (folder / "webhook.json").write_text(json.dumps(settings))
    plugin = _example("sage_stale_webhook").StaleWebhookPlugin()
    bus = EventBus()
    plugin.on_load({"folder": str(folder), "bus": bus})
    bus.publish_sync(Event(EventType.STALENESS_FOUND, metadata={"title": "x"}))
    with pytest.raises(RuntimeError) as raised:
        plugin.on_unload()
    return str(raised.value)


def _example(module: str) -> Any:
    (path,) = EXAMPLES.rglob(f"{module}.py")
    spec = importlib.util.spec_from_file_location(module, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "http://hooks.invalid/x"}, "hooks.invalid is not this machine"),
        ({"url": "https://127.0.0.1.example.org/"}, "is not this machine"),
        ({"url": "ftp://127.0.0.1/"}, "needs an address"),
        ({"url": "http://127.0.0.1:1/"}, "could not be posted"),
        ([], "needs an address"),
        ({}, "needs an address"),
    ],
)
def test_a_webhook_posts_to_this_machine_only(tmp_path: Path, settings: object, said: str) -> None:
    assert said in _webhook(tmp_path, settings)


def test_a_webhook_follows_no_redirect(tmp_path: Path) -> None:
    with _receiver(301) as (url, posted):
        assert "answered with 301" in _webhook(tmp_path, {"url": url})
    assert len(posted) == 1


def test_a_webhook_that_does_not_answer_stops_nothing_and_is_named(
    run: SageRun, sage_home: Path, project: Path
) -> None:
    run("plugins", "enable", "sage-stale-webhook")
    _configure(sage_home, "sage-stale-webhook", "webhook.json", {"url": "http://127.0.0.1:1/"})
    folder = project / ".sage" / "checkpoints"
    folder.mkdir()
    (folder / "c.md").write_text("---\nid: c\nts: x\ncode_refs:\n- file: gone.py\n  lines: [1, 2]\n---\n# Why\n")
    told = run("stale")
    assert "gone.py" in told.stdout
    assert "sage-stale-webhook" in told.stderr
    assert "could not be posted" in told.stderr


def test_synonyms_are_bounded(tmp_path: Path) -> None:
    plugin = _example("sage_synonyms").SynonymsPlugin()
    plugin.on_load({"folder": str(tmp_path)})
    table = {"a": " ".join(f"w{number}" for number in range(99)), "b": "A b c", "k": "v"}
    (tmp_path / "synonyms.json").write_text(json.dumps(table))
    assert plugin.pre_search("code", "b", {}) == "b A c"
    assert len(plugin.pre_search("code", "a", {}).split()) == 13
    assert plugin.pre_search("code", "k " * 13, {}) is None
    assert plugin.pre_search("code", "kk", {}) is None
    (tmp_path / "synonyms.json").write_text(" " * 300_000)
    with pytest.raises(ValueError, match="larger than"):
        plugin.pre_search("code", "b", {})


def test_boosts_multiply_and_order(tmp_path: Path) -> None:
    plugin = _example("sage_path_boosts").PathBoostsPlugin()
    plugin.on_load({"folder": str(tmp_path)})
    rows = [{"id": name, "score": 0.5, "file": f"{name}/x.py"} for name in ("a", "b", "core")]
    assert plugin.post_search("code", "q", rows) is None
    (tmp_path / "boosts.json").write_text('{"core/*": 1.5, "*/x.py": 1.2, "a/*": 0.1}')
    assert plugin.post_search("messages", "q", rows) is None
    found = plugin.post_search("code", "q", rows)
    assert [(row["id"], round(row["score"], 2)) for row in found] == [("core", 0.9), ("b", 0.6), ("a", 0.06)]
    (tmp_path / "boosts.json").write_text('{"core/*": -1}')
    with pytest.raises(ValueError, match="factors from"):
        plugin.post_search("code", "q", rows)
