"""Strange queries, and indexes that change or break during a search: a right answer or a clear error, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.errors import IndexCorrupt, NotIndexed, SageError, UsageError
from sage_code.index import freshness
from sage_code.paths import codebase_dir, compiled_dir
from sage_code.search.query import Filters, parse_query

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[Project]:
    """A project that no test changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        root = tmp_path_factory.mktemp("asked")
        (root / "web").mkdir()
        (root / "server.py").write_text('def connect(host, port):\n    """Reach a host."""\n    return host\n')
        (root / "web" / "client.ts").write_text("export function connect(url: string) {\n  return url;\n}\n")
        (root / "grüße.py").write_text(
            'def begrüße(name):\n    """Sagt 你好, мир 🚀."""\n    return "привет " + name\n'
        )
        project = Project(str(root))
        project.index()
        yield project


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(sample)
    found = Project.open(sample)
    found.index()
    return found


# -- questions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["", " ", "\n\t", "?!", "\x00", "🚀🚀", "lang:python kind:class", "kind:class path:src in:x"]
)
def test_a_question_without_words_is_a_usage_error(asked: Project, query: str) -> None:
    with pytest.raises(UsageError, match="no words"):
        asked.search(query)


def test_one_filter_alone_is_text(asked: Project) -> None:
    assert parse_query("lang:python").filters == Filters()
    assert parse_query("retry lang:python").filters == Filters(languages=("python",))
    assert asked.search("lang:python").query == "lang:python"


@pytest.mark.parametrize(
    "query",
    [
        "connect " * 14_000,
        "x" * 100_000,
        " " * 60_000 + "connect",
        "a." * 30_000,
        "_" * 60_000 + " connect",
        "a,b;c " * 20_000,
        "(((((" * 1_000 + " connect",
        "the and of is how what",
        "connect\x00\x00 host\x1b[31m",
        "connect' OR '1'='1'; DROP TABLE chunks; --",
        'connect" AND path LIKE "%',
        "connect .*+?^${}()|[]\\ (?P<x>",
        "connect \\u0000 \ud800",
        "connect\r\nhost\u2028port",
        "İı ß ſ ﬁ connect",
        "connect " + "a" * 63 + "_" + "B" * 63,
        "__ ___ _ $ connect",
        "-- --json -x connect",
    ],
    ids=lambda query: ascii(query[:24]),
)
def test_a_strange_question_is_answered(asked: Project, query: str) -> None:
    response = asked.search(query, limit=5)
    assert len(response.results) <= 5
    if "connect" in query[:8_000] and query.count("connect") < 10:
        assert {hit.file for hit in response.results} >= {"server.py", "web/client.ts"}


@pytest.mark.parametrize("query", ["你好", "мир", "привет", "begrüße", "BEGRÜSSE grüße"])
def test_other_scripts_are_found(asked: Project, query: str) -> None:
    assert asked.search(query).results[0].file == "grüße.py"


# -- filters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern", ["' OR 1=1 --", "%", "[", "[!", "*[", "\\", "\x00", "(.*)", "../..", "/", "x" * 999], ids=ascii
)
def test_a_path_filter_is_never_evaluated(asked: Project, pattern: str) -> None:
    found = {hit.file for hit in asked.search("connect", paths=pattern).results}
    # A pattern of nothing but a slash is no restriction; the others name no file.
    assert found == ({"server.py", "web/client.ts", "grüße.py"} & found if pattern == "/" else set())


def test_a_path_filter_without_bounds_is_refused(asked: Project) -> None:
    for paths in ("x" * 5_000, ["x"] * 101):
        with pytest.raises(UsageError, match="100 paths"):
            asked.search("connect", paths=paths)


@pytest.mark.parametrize("value", ["' OR 1=1 --", "pyth%", "*", "", "\x00"])
def test_an_unknown_language_kind_or_project_is_a_usage_error(asked: Project, value: str) -> None:
    with pytest.raises(UsageError, match="there is no language"):
        asked.search("connect", language=value)
    with pytest.raises(UsageError, match="there is no kind"):
        asked.search("connect", kinds=value)
    with pytest.raises(UsageError, match="no indexed project"):
        asked.search(f'connect in:"{value or "nosuch"}"')


@pytest.mark.parametrize("given", [{"limit": 0}, {"limit": -3}, {"context": -1}, {"max_tokens": 0}])
def test_impossible_numbers_are_usage_errors(asked: Project, given: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        asked.search("connect", **given)  # type: ignore[arg-type]


def test_bad_arguments_give_no_traceback_on_the_command_line(project: Project, sage: Run) -> None:
    for words, code in (
        (["search", ""], 2),
        (["search", "connect", "--kind", "'; --"], 2),
        (["search", "connect", "--lang", "%"], 2),
        (["search", "connect", "--limit", "0"], 2),
        (["search", "connect", "--limit", "many"], 2),
        (["search", "connect", "--path", "src"], 2),
        (["search", "connect", "--under", "["], 1),
        (["search", "connect", "--limit", "99999999999999999999"], 0),
        (["search", "\x1b]0;\x07 connect"], 0),
    ):
        result = sage(*words)
        assert result.code == code, words
        assert "Traceback" not in result.err
        assert "\x1b" not in result.out + result.err


# -- indexes ----------------------------------------------------------------------------------------------------------


def test_a_deleted_file_is_not_found(project: Project) -> None:
    assert "server.py" in {hit.file for hit in project.search("connect").results}
    os.unlink(os.path.join(project.root, "server.py"))
    stale = project.search("connect", refresh=False)
    assert [hit.snippet for hit in stale.results if hit.file == "server.py"] == [""]
    assert "cannot be read" in stale.note
    assert "server.py" not in {hit.file for hit in project.search("connect").results}


def test_a_new_and_a_changed_file_are_found(project: Project) -> None:
    Path(project.root, "retry.py").write_text("def backoff_jitter(attempt):\n    return attempt * 2\n")
    assert project.search("backoff_jitter").results[0].file == "retry.py"
    Path(project.root, "retry.py").write_text("def exponential_wait(attempt):\n    return attempt * 2\n")
    assert project.search("exponential_wait").results[0].file == "retry.py"


def test_after_the_first_index_of_many_files_no_changes_are_reported(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "_FEW_SUSPECTS", 1)
    for path in sample.rglob("*.*"):
        os.utime(path)  # as after a clone: written in the moment in which they are read
    project = Project.open(sample)
    project.index()
    assert project.status().fresh
    assert project.search("connect").note == ""
    for number in range(2):
        (sample / f"new{number}.py").write_text("def connect(): pass\n")
    assert project.search("connect").note.startswith("2 files may have changed")


def test_many_changed_files_are_reported_and_not_indexed(project: Project) -> None:
    for number in range(30):
        Path(project.root, f"m{number}.py").write_text(f"def connect_{number}():\n    pass\n")
    response = project.search("connect")
    assert "30 files have changed" in response.note
    assert {hit.file for hit in response.results} == {"server.py", "web/client.ts"}


def test_a_search_does_not_wait_for_another_process_that_indexes(project: Project) -> None:
    from sage_code.files.locks import locked
    from sage_code.paths import index_lock

    Path(project.root, "new.py").write_text("def connect_again():\n    pass\n")
    with locked(index_lock(project.root)):
        response = project.search("connect")
    assert "being indexed right now" in response.note
    assert response.good


def test_a_missing_or_damaged_index_is_an_error(project: Project) -> None:
    project.search("connect")
    folder = os.path.realpath(compiled_dir(project.root))
    for name in os.listdir(folder):
        if name.endswith(".seg"):
            os.truncate(os.path.join(folder, name), 100)
    with pytest.raises(IndexCorrupt, match="is damaged"):
        project.search("connect", refresh=False)
    shutil.rmtree(codebase_dir(project.root))
    with pytest.raises(NotIndexed, match="is not indexed yet"):
        project.search("connect")


def test_a_search_answers_with_a_damaged_manifest(project: Project) -> None:
    Path(codebase_dir(project.root), "index_meta.json").write_text("{")
    response = project.search("connect")
    assert response.good
    assert "damaged" in response.note


def test_with_another_model_than_that_of_the_index_words_rank(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sage_code.embed import loading as registry
    from sage_code.search.words_only import WordsOnly

    class Other(WordsOnly):
        name = "other"

    monkeypatch.setattr(registry, "load_embedder", lambda *_: Other(7))
    response = Project(project.root).search("connect", refresh=False)
    assert "only words count" in response.note
    assert {hit.file for hit in response.results} == {"server.py", "web/client.ts"}


# Until the file `argv[2]` is there: how many times depends on the machine, and does not matter.
REBUILD = """
import os, sys
from sage_code import Project
from sage_code.index.pipeline import index_project
project = Project(sys.argv[1])
print("ready", flush=True)
while not os.path.exists(sys.argv[2]):
    index_project(project.root, project.settings, full=True)
"""


@pytest.mark.slow
def test_a_search_during_a_rebuild_gives_a_whole_answer(project: Project, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    enough = tmp_path / "enough"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", REBUILD, project.root, enough], stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    answers, generations = 0, set()
    while process.poll() is None:
        # A searcher that is kept open, and one that opens what it finds.
        for asked in (project, Project(project.root)):
            response = asked.search("connect", refresh=False)
            assert {hit.file for hit in response.results} == {"server.py", "web/client.ts"}
            assert all(hit.snippet for hit in response.results)
            answers += 1
        generations.add(os.path.realpath(compiled_dir(project.root)))
        if answers > 10 and len(generations) > 4:
            enough.touch()
    assert process.returncode == 0
    assert len(generations) > 4


def test_the_error_of_a_project_without_index_says_how_to_index_it(
    sample: Path, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample)
    with pytest.raises(NotIndexed):
        Project.open(sample).search("connect")
    result = sage("search", "connect", "--json")
    assert result.code == 2
    assert json.loads(result.out)["error"] == {
        "code": "not_indexed",
        "message": f"{sample} is not indexed yet",
        "hint": f"run `sage index {sample}` first",
    }
    with pytest.raises(SageError, match="no project is indexed"):
        Project.open(sample).search("connect", everywhere=True)
