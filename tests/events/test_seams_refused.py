"""What a plugin may not change: it is said with the plugin's name, and things stay as they were."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_cli import output
from sage_cli.shown import Formatting
from sage_code.errors import StoreError
from sage_code.events import enabled
from sage_code.events.adapter import PluginAdapter
from sage_code.events.bus import EventBus
from sage_code.events.events import EventType, FormatEvent, SearchEvent
from sage_code.events.formatting import changed_document, changed_json, changed_text, check_shape
from sage_code.events.plugins import HOOKS, PluginMetadata
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.files.plugged_loading import in_time
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.values import NewMessage
from sage_code.project import Project
from sage_code.search.results import SearchResponse, document

Plug = Callable[..., "Rules"]


class Rules:
    """A plugin of functions; it keeps what it was given."""

    def __init__(self, hooks: dict[str, Callable[..., Any]]) -> None:
        self.metadata = PluginMetadata("rules", "1", hooks=[hook for hook in HOOKS if hook in hooks])
        self.given: list[tuple[Any, ...]] = []
        for name, hook in hooks.items():
            setattr(self, name, self._keeping(hook))

    def _keeping(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any) -> Any:
            self.given.append(given)
            return hook(*given)

        return called


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Plug:
    """Puts a plugin on a bus that nothing else is on."""
    monkeypatch.setattr(EventBus, "_instance", EventBus())
    monkeypatch.setattr(enabled, "_said", set())

    def put(**hooks: Callable[..., Any]) -> Rules:
        rules = Rules(hooks)
        PluginAdapter(rules, timeout_ms=0)
        return rules

    return put


@pytest.fixture
def project(sample: Path) -> Project:
    opened = Project.open(sample)
    opened.index()
    return opened


def rows(response: SearchResponse) -> list[tuple[str, int, float]]:
    return [(hit.file, hit.line, hit.score) for hit in response.results]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"filters": {"kinds": ["gadget"]}}, "there is no kind 'gadget'"),
        ({"filters": {"languages": ["klingon"]}}, "there is no language 'klingon'"),
        ({"filters": {"projects": ["elsewhere"]}}, "no indexed project is called 'elsewhere'"),
        ({"filters": {"paths": ["x" * 5_000]}}, "the filter paths"),
        ({"filters": {"paths": [1]}}, "the filter paths is no list of texts"),
        ({"filters": {"authors": ["Ada"]}}, "there are languages, paths, kinds, projects"),
        ({"filters": ["python"]}, "there are languages, paths, kinds, projects"),
        ({"limit": 3}, "it may have `query` and `filters`"),
        ("...", "the question has no words"),
        ("x" * 70_000, "70,000 characters"),
        (7, "it returned 7, and no text"),
    ],
)
def test_a_query_that_cannot_be_asked(
    project: Project, plug: Plug, capsys: pytest.CaptureFixture[str], answer: Any, said: str
) -> None:
    before = project.search("connect host", explain=True)
    plug(pre_search=lambda *_: answer)
    after = project.search("connect host", explain=True)
    assert (rows(after), after.plugins) == (rows(before), ())
    error = capsys.readouterr().err
    assert error.startswith("sage: plugin rules: what pre_search wants was left out: ")
    assert said in error


def test_filters_of_a_plugin_count_as_if_they_were_typed(project: Project, plug: Plug) -> None:
    plug(pre_search=lambda _where, _query, filters: {"filters": {**filters, "languages": ["ts"]}})
    found = project.search("connect lang:python path:web")
    assert [hit.file for hit in found.results] == ["web/client.ts"]
    assert found.query == "connect lang:python path:web"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"file": "../outside.py", "line": 1}, "the index has no such line"),
        ({"file": "/etc/passwd", "line": 1}, "the index has no such line"),
        ({"file": "linked.py", "line": 1}, "the index has no such line"),
        ({"file": "server.py", "line": 4_000}, "the index has no such line"),
        ({"file": "server.py", "line": 0}, "the index has no such line"),
        ({"file": "logo.bin", "line": 1}, "the index has no such line"),
        ({"file": "server.py", "line": True}, "needs `file`"),
        ({"file": "server.py", "line": 1, "root": "/"}, "was not searched"),
        ({"id": "no such id"}, "needs `file`"),
        ({"id": 5}, "and no text"),
        ({"file": "server.py", "line": 1, "score": "high"}, "and no number"),
        ({"file": "server.py", "line": 1, "score": float("nan")}, "and no number"),
        ("server.py", "no list of results"),
    ],
)
def test_results_that_are_not_there(
    project: Project, plug: Plug, capsys: pytest.CaptureFixture[str], row: Any, said: str
) -> None:
    outside = Path(project.root).parent / "outside.py"
    outside.write_text("KEY = 1\n")
    os.symlink(outside, Path(project.root) / "linked.py")
    before = project.search("connect host")
    plug(post_search=lambda _where, _query, found: [row, *found])
    assert rows(project.search("connect host")) == rows(before)
    assert said in capsys.readouterr().err


def test_of_a_known_result_only_order_and_score_count(project: Project, plug: Plug) -> None:
    def changed(_where: str, _query: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        last = found[-1] | {"score": 7, "file": "/etc/passwd", "snippet": "lies"}
        return [last, last, found[0] | {"score": -1}]

    before = project.search("connect", limit=1)
    plug(post_search=changed)
    after = project.search("connect", limit=2)
    assert [hit.rank for hit in after.results] == [1, 2]
    assert [hit.score for hit in after.results] == [1.0, 0.0]
    assert after.results[1].file == before.results[0].file
    assert all("lies" not in hit.snippet and not hit.file.startswith("/") for hit in after.results)
    assert after.results[0].snippet


def test_a_result_beyond_the_limit_is_shown_whole_when_it_is_lifted(project: Project, plug: Plug) -> None:
    both = project.search("connect", limit=2)
    rules = plug(post_search=lambda _where, _query, found: found[::-1])
    lifted = project.search("connect", limit=1)
    assert len(rules.given[0][2]) == 2
    assert lifted.truncated
    hit, wanted = lifted.results[0], both.results[1]
    assert (hit.file, hit.line, hit.snippet, hit.score) == (wanted.file, wanted.line, wanted.snippet, wanted.score)


def test_without_results_nothing_is_good(project: Project, plug: Plug) -> None:
    plug(post_search=lambda *_: [])
    found = project.search("connect")
    assert (found.results, found.good, found.truncated) == ((), False, False)


def test_a_project_without_an_index_asks_plugins_too(sample: Path, plug: Plug) -> None:
    plug(
        pre_search=lambda _where, query, _filters: query.replace("gizmo", "connect"),
        post_search=lambda _where, _query, found: [*found[:1], {"file": "web/client.ts", "line": 4, "score": 0.3}],
    )
    found = Project.open(sample).quick_look("gizmo")
    assert (found.results[-1].file, found.results[-1].line) == ("web/client.ts", 4)
    assert "connect" in found.results[0].snippet


def test_all_projects_are_reordered_as_one_answer(project: Project, tmp_path: Path, plug: Plug) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "link.py").write_text("def connect(host):\n    return host\n")
    Project.open(other).index()
    first = project.search("connect", everywhere=True).results[0]
    plug(post_search=lambda _where, _query, found: [*found[1:], found[0], {"file": "server.py", "line": 3}])
    found = project.search("connect", everywhere=True, explain=True)
    assert (found.results[-2].root, found.results[-2].file) == (first.root, first.file)
    assert (found.results[-1].root, found.results[-1].line) == (project.root, 3)
    assert found.results[-1].plugins == ("added by rules",)
    document(found)


def test_one_wrong_plugin_does_not_undo_another(project: Project, plug: Plug) -> None:
    plug(pre_search=lambda _where, query, _filters: query.replace("gizmo", "connect"))
    plug(pre_search=lambda *_: {"filters": {"kinds": ["gadget"]}})
    assert project.search("gizmo").results[0].name == "connect"


def test_a_plugin_may_do_what_it_likes_with_what_it_gets(project: Project, plug: Plug) -> None:
    def spoiling(_where: str, _query: str, given: Any) -> None:
        for row in given if isinstance(given, list) else []:
            row.clear()
        given.clear()

    before = project.search("connect")
    plug(pre_search=spoiling, post_search=spoiling)
    assert rows(project.search("connect")) == rows(before)


def test_a_handler_without_a_plugin_is_checked_too(
    project: Project, plug: Plug, capsys: pytest.CaptureFixture[str]
) -> None:
    def handler(event: Any) -> None:
        assert isinstance(event, SearchEvent)
        event.filters = {"kinds": ["gadget"]}

    plug()
    EventBus.get_instance().subscribe(EventType.PRE_SEARCH, handler, timeout_ms=0)
    assert project.search("connect").results
    assert "a handler of search.pre_search" in capsys.readouterr().err


# --- what is shown


def test_a_document_keeps_its_keys_and_types(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    before = {"query": "a", "results": [{"file": "a.py", "line": 1, "also": []}], "good": True, "score": 0.5}
    for after, said in (
        ({**before, "more": 1}, "has other keys: more"),
        ({**before, "good": "yes"}, "`good` is a text now, and not a boolean"),
        ({**before, "results": [{"file": 1, "line": 1, "also": []}]}, "`file` is a number now"),
        ({**before, "results": [{"file": "a.py", "line": 1, "also": ["x"]}]}, "was empty"),
        ({**before, "results": "none"}, "`results` is a text now, and no list"),
        ("none", "and no document"),
    ):
        rules = plug(pre_format=lambda _command, _document, after=after: after)
        assert changed_document("search", before) is before
        assert said in capsys.readouterr().err
        assert rules.given
    check_shape(before, {**before, "results": [*before["results"], *before["results"]], "score": 1})  # type: ignore[misc]


def test_json_stays_json_of_its_shape(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    before = json.dumps({"a": 1, "b": "x"})
    answers = iter(["not json", '{"a": 1}', '{"a": 2, "b": "\\u202e y"}'])
    plug(post_format=lambda *_: next(answers))
    assert changed_json("search", before) == before
    assert changed_json("search", before) == before
    assert capsys.readouterr().err.count("plugin rules: what post_format wants was left out") == 2
    assert json.loads(changed_json("search", before)) == {"a": 2, "b": "\u202e y"}


def test_text_has_no_controls_but_those_of_sage(plug: Plug) -> None:
    plug(post_format=lambda _command, text: f"{text}\x1b[31mred\x1b[2Jgone\x9b")
    assert changed_text("search", "\x1b[36mpath\x1b[0m") == "\x1b[36mpath\x1b[0m\\x1b[31mred\\x1b[2Jgone\\x9b"


def test_output_is_passed_on_by_lines_and_at_the_end(plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = plug(post_format=lambda _command, text: text.upper())
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    shown = Formatting(["status"], lambda words: words[0])
    shown.begin()
    print("first")
    print("sec", end="", flush=True)
    assert out.getvalue() == "FIRST\n"
    print("ond")
    print("x" * 70_000, end="")
    assert not sys.stdout.isatty()
    shown.end()
    assert sys.stdout is out
    assert out.getvalue() == f"FIRST\nSECOND\n{'X' * 70_000}"
    assert {command for command, _ in rules.given} == {"status"}
    assert output.formatting is None


def test_an_answer_over_mcp_keeps_to_its_schema(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    from sage_mcp.shown import Formatting as Answers

    data = {"name": "a", "matches": [], "truncated": False, "next": ""}
    shown = Answers("sage_grep_symbol", "grep", ())
    plug(pre_format=lambda _command, given: {**given, "text": "other"})
    assert shown.before("text", data) == ("other", data)
    plug(pre_format=lambda _command, given: {**given, "matches": [{}]})
    assert shown.before("text", data) == ("other", data)
    plug(post_format=lambda _command, text: text.replace('"name":"a"', '"name":"b"').replace("false", "0"))
    assert shown.after_data(data) == data
    assert "`truncated` is a number now" in capsys.readouterr().err


# --- what is loaded, and memory


def test_a_path_outside_of_the_folder_is_not_loaded(
    sample: Path, sage_home: Path, plug: Plug, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Project.open(sample).memory
    memory.save_knowledge(KnowledgeItem("rota", "The rota.", "knowledge"))
    (sage_home / "secret.md").write_text("secret")
    for path in ("secret.md", "knowledge/../secret.md", str(sage_home / "secret.md"), "knowledge"):
        plug(pre_load=lambda _layer, _path, path=path: path)
    assert memory.knowledge.load("rota").content == "The rota."
    assert capsys.readouterr().err.count("is not in the folder of knowledge/global/rota.md") == 4


def test_a_content_that_cannot_be_read_is_not_shown(
    sample: Path, plug: Plug, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Project.open(sample).memory
    saved = memory.save_checkpoint({"thesis": "It holds.", "core_question": "Does it?"}).checkpoint
    assert saved is not None
    plug(post_load=lambda *_: "---\n[not: a checkpoint\n---\n")
    assert memory.checkpoints.load(saved.id).thesis == "It holds."
    assert "what post_load wants was left out" in capsys.readouterr().err


def test_a_load_that_takes_long_is_waited_for_without_another_content(plug: Plug) -> None:
    asked_for = threading.Event()
    rules = plug(on_timeout=lambda *_: asked_for.set())
    seen: list[str] = []
    EventBus.get_instance().subscribe("timeout.warning", lambda event: seen.append(event.type), timeout_ms=0)

    def read() -> str:
        assert asked_for.wait(60)
        return "late"

    assert in_time("blocks", "human", read, lambda text: text, 4) == "late"
    assert rules.given[0][0] == "blocks"
    assert seen == ["timeout.warning"]


def test_a_load_that_fails_is_published_and_fails(plug: Plug) -> None:
    plug(on_timeout=lambda *_: "never asked for")
    seen: list[Any] = []
    EventBus.get_instance().subscribe(EventType.LOAD_ERROR, seen.append, timeout_ms=0)

    def read() -> str:
        raise StoreError("the disk is gone", "look at it")

    with pytest.raises(StoreError, match="the disk is gone"):
        in_time("core", ".sage/core.md", read, lambda text: text, 60_000)
    assert [(event.layer, event.path, event.metadata) for event in seen] == [
        ("core", ".sage/core.md", {"error": "the disk is gone"})
    ]


def test_a_memory_of_another_agent_cannot_be_added(plug: Plug, capsys: pytest.CaptureFixture[str]) -> None:
    with MemoryManager("spy") as spy, MemoryManager("ada") as ada:
        foreign = ada.recall.add([NewMessage("user", "The launch code is in the blue folder.")])[0]
        passage = ada.archive.insert("The launch code is in the blue folder.").passage.id
        own = spy.recall.add([NewMessage("user", f"The launch, {name}.", session=name) for name in "ab"])
        kept = spy.archive.insert("Lunch is at noon.").passage.id
        answers: dict[str, list[dict[str, Any]]] = {"messages": [{"id": foreign}], "passages": [{"id": passage}]}
        plug(post_search=lambda where, _query, found: [*found, *answers[where]])
        assert foreign not in [one.message.id for one in spy.recall.search("launch code", session="a")]
        assert passage not in [one.passage.id for one in spy.archive.search("launch code")]
        assert capsys.readouterr().err.count("there is no such memory here") == 2
        answers = {"messages": [{"id": own[1], "score": 0.4}], "passages": [{"id": kept, "score": 0.4}]}
        added = spy.recall.search("launch code", session="a")[-1]
        assert (added.message.id, added.plugins) == (own[1], ("added by rules",))
        assert spy.archive.search("launch code")[-1].plugins == ("added by rules",)


def test_memories_are_found_as_the_plugin_wants(sample: Path, plug: Plug) -> None:
    memory = Project.open(sample).memory
    for thesis in ("Retries are capped at five.", "The cache is cleared at night."):
        memory.save_checkpoint({"thesis": thesis, "core_question": "How?"})
    memory.save_knowledge(KnowledgeItem("retries", "Retries are capped at five.", "knowledge", ("retries",)))
    memory.save_knowledge(KnowledgeItem("cache", "The cache is cleared at night.", "knowledge", ("cache",)))
    rules = plug(
        pre_search=lambda _where, query, _filters: query.replace("gizmo", "retries capped"),
        post_search=lambda where, _query, found: (
            [{"id": "cache", "score": 0.9}, *found] if where == "knowledge" else found[::-1]
        ),
    )
    assert memory.checkpoints.search("gizmo", 1)[0].shown["thesis"] == "The cache is cleared at night."
    recalled = {item.id: score for item, score in memory.recaller.recall("gizmo")}
    assert recalled["cache"].score == 0.9
    assert "rules: the query became 'retries capped'" in recalled["cache"].plugins
    assert {given[0] for given in rules.given} == {"checkpoints", "knowledge"}


def test_a_format_event_names_who_changed_it(plug: Plug) -> None:
    seen: list[list[str]] = []
    plug(post_format=lambda _command, text: f"{text}!")

    def last(event: Any) -> None:
        assert isinstance(event, FormatEvent)
        seen.append(event.changed_by)

    EventBus.get_instance().subscribe(EventType.POST_FORMAT, last, priority=200, timeout_ms=0)
    assert changed_text("status", "done") == "done!"
    assert seen == [["rules"]]
