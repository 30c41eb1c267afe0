"""`sage search` from its words to its exit code: what is printed, what is opened, what is offered."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_cli import search
from sage_cli.app import app
from sage_cli.editor import editor_command
from sage_code import Project
from sage_code.errors import UsageError

Run = Callable[..., Any]


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Project.open(sample).index()
    monkeypatch.chdir(sample)
    return sample


def test_a_name_is_found_with_its_location_and_its_lines(project: Path, sage: Run) -> None:
    found = sage("search", "connect", "--lang", "python", "-n", "1")
    assert found.code == 0
    head, first, *_ = found.out.splitlines()
    assert head.startswith("server.py:")
    assert "connect" in head
    assert first.split()[0].isdecimal()
    assert "\x1b" not in found.out


def test_words_need_no_quotes(project: Path, sage: Run) -> None:
    quoted = json.loads(sage("search", "reach a host", "--json").out)
    plain = json.loads(sage("search", "reach", "a", "host", "--json").out)
    assert plain["query"] == quoted["query"] == "reach a host"
    assert plain["results"] == quoted["results"]


def test_without_a_good_match_the_nearest_are_shown_and_the_code_is_1(project: Path, sage: Run) -> None:
    missed = sage("search", "kubernetes ingress quota", "--json")
    assert missed.code == 1
    answer = json.loads(missed.out)
    assert not answer["good"]
    assert len(answer["results"]) <= 3
    assert "no good match" in sage("search", "kubernetes ingress quota").err


def test_files_prints_paths_that_can_be_opened_from_here(
    project: Path, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "web")
    found = sage("search", "connect", "--files")
    assert sorted(found.out.split()) == ["../server.py", "client.ts"]
    assert all(os.path.isfile(path) for path in found.out.split())


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["--lang", "ts"], {"web/client.ts"}),
        (["-l", "python", "-l", "typescript"], {"server.py", "web/client.ts"}),
        (["--under", "web"], {"web/client.ts"}),
        (["--under", "*.py"], {"server.py"}),
        (["lang:python"], {"server.py"}),
        (["path:web/"], {"web/client.ts"}),
        (["--kind", "interface"], {"web/client.ts"}),
        (["kind:class"], {"server.py"}),
    ],
    ids=lambda value: " ".join(sorted(value)),
)
def test_filters_by_flag_and_in_the_question(project: Path, sage: Run, words: list[str], files: set[str]) -> None:
    answer = json.loads(sage("search", "connect options server", *words, "--json").out)
    assert {hit["file"] for hit in answer["results"]} == files


def test_a_filter_for_methods_shows_the_method(project: Path, sage: Run) -> None:
    answer = json.loads(sage("search", "open the port", "--kind", "method", "--json").out)
    hit = answer["results"][0]
    assert (hit["kind"], hit["qualname"], hit["start_line"]) == ("method", "Server.start", 9)


def test_context_adds_lines_around(project: Path, sage: Run) -> None:
    words = ["search", "start", "--kind", "method", "--json", "-n", "1"]
    narrow, wide = (json.loads(sage(*words, "--context", str(n)).out)["results"][0] for n in (0, 2))
    assert wide["snippet_line"] == narrow["snippet_line"] - 2
    assert narrow["snippet"] in wide["snippet"]
    assert (wide["start_line"], wide["end_line"]) == (narrow["start_line"], narrow["end_line"])


def test_a_budget_is_kept_and_said(project: Path, sage: Run) -> None:
    from sage_code.text.tokens import count_tokens

    cut = json.loads(sage("search", "connect", "--max-tokens", "40", "--json").out)
    assert cut["truncated"]
    assert sum(count_tokens(hit["snippet"]) for hit in cut["results"]) <= 40
    assert "--max-tokens" in sage("search", "connect", "--max-tokens", "40").err


def test_explain_names_the_signals_and_counts_calls(project: Path, sage: Run) -> None:
    hit = json.loads(sage("search", "connect", "--explain", "--json", "--lang", "python").out)["results"][0]
    assert hit["explain"]
    sums = hit["arithmetic"]
    assert sums["bias"] + sum(hit["explain"].values()) == pytest.approx(sums["total"], abs=0.01)
    assert sums["answers"] * sums["relevance"] == pytest.approx(hit["score"], abs=0.001)
    assert hit["callers"] == 0
    assert "called from 0 places" in sage("search", "connect", "--explain", "--lang", "python").out


# -- projects ---------------------------------------------------------------------------------------------------------


def test_a_project_by_name_by_folder_and_all_of_them(
    project: Path, sage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pool.py").write_text("def connect(size):\n    '''Connect many at once.'''\n    return size\n")
    Project.open(other).index(name="pools")
    monkeypatch.chdir(tmp_path)
    for words in (["--project", "pools"], ["--project", str(other)], ["in:pools", "--project", str(project)]):
        answer = json.loads(sage("search", "connect", *words, "--json").out)
        assert (answer["project"], answer["root"]) == ("pools", str(other))
        assert [hit["file"] for hit in answer["results"]] == ["pool.py"]
    everything = json.loads(sage("search", "connect", "--all", "--json").out)
    assert everything["project"] == ""
    assert {(hit["project"], hit["file"]) for hit in everything["results"]} == {
        ("pools", "pool.py"), ("sample", "server.py"), ("sample", "web/client.ts")
    }  # fmt: skip
    scores = [hit["score"] for hit in everything["results"]]
    assert scores == sorted(scores, reverse=True)
    unknown = sage("search", "connect", "--project", "nosuch")
    assert unknown.code == 2
    assert "pools" in unknown.err


def test_a_project_that_is_gone_is_left_out_of_all_and_said(project: Path, sage: Run, tmp_path: Path) -> None:
    import shutil

    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("def connect_twice():\n    pass\n")
    Project.open(other).index()
    shutil.rmtree(other)
    answer = json.loads(sage("search", "connect", "--all", "--json").out)
    assert {hit["project"] for hit in answer["results"]} == {"sample"}
    assert str(other) in answer["note"]


def test_a_project_that_is_not_indexed_is_an_error_for_programs(sample: Path, sage: Run) -> None:
    result = sage("search", "connect", "--project", str(sample), "--json")
    assert result.code == 2
    assert json.loads(result.out)["error"]["code"] == "not_indexed"
    assert f"run `sage index {sample}` first" in result.err


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2)])
def test_on_a_terminal_indexing_is_offered(sample: Path, answer: str, code: int) -> None:
    primary, secondary = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "dumb"}
    command = [sys.executable, "-P", "-m", "sage_cli.entry", "search", "connect", "--project", str(sample)]
    process = subprocess.Popen(
        command, stdin=secondary, stdout=subprocess.PIPE, stderr=secondary, env=environment, text=True
    )
    os.close(secondary)
    os.write(primary, answer.encode())
    assert process.stdout is not None
    out = process.stdout.read()
    shown = b""
    while True:
        try:
            part = os.read(primary, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(primary)
    assert process.wait(timeout=60) == code
    assert b"Index it now?" in shown
    assert ("server.py" in out) == (code == 0)


# -- the editor -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("vim", ["vim", "+7", "/a b/x.py"]),
        ("code --wait", ["code", "--wait", "--goto", "/a b/x.py:7"]),
        ("/usr/local/bin/hx", ["/usr/local/bin/hx", "/a b/x.py:7"]),
        ("'/opt/My Editor/pycharm' -e", ["/opt/My Editor/pycharm", "-e", "--line", "7", "/a b/x.py"]),
        ("something; rm -rf ~", ["something;", "rm", "-rf", "~", "/a b/x.py"]),
    ],
)
def test_editors_get_the_line_without_a_shell(setting: str, words: list[str]) -> None:
    assert editor_command(setting, "/a b/x.py", 7) == words


@pytest.mark.parametrize("setting", ["", "  ", "'vim"])
def test_an_editor_that_is_not_set_is_said(setting: str) -> None:
    with pytest.raises(UsageError, match="EDITOR"):
        editor_command(setting, "x.py", 1)


def test_open_starts_the_editor_at_the_best_match(
    project: Path, sage: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    editor = tmp_path / "vim"
    editor.write_text(f'#!/bin/sh\necho "$@" > {log}\n')
    editor.chmod(0o755)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert sage("search", "connect", "--open", "--lang", "ts").code == 0
    assert log.read_text() == f"+3 {project / 'web' / 'client.ts'}\n"
    monkeypatch.setenv("EDITOR", str(tmp_path / "nosuch"))
    assert sage("search", "connect", "--open").code == 2


# -- one definition of the flags --------------------------------------------------------------------------------------


def _options() -> dict[str, tuple[str, type]]:
    command = typer.main.get_command(app).commands["search"]  # type: ignore[attr-defined]
    return {
        flag: (parameter.name, _kind(parameter))
        for parameter in command.params
        for flag in (*parameter.opts, *parameter.secondary_opts)
        if flag.startswith("-") and flag != "--help"
    }


def _kind(parameter: Any) -> type:
    annotation: type = parameter.type_descriptor.annotation
    return list if parameter.multiple else annotation


def test_the_hot_parser_knows_exactly_the_flags_of_the_command() -> None:
    assert _options() == search.FLAGS


word_lists = st.lists(
    st.sampled_from(["name", "two words", "", "-", "--", "-x", "-n3", "5", "0", "-1", "٣", "--help", *search.FLAGS]),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(word_lists)
def test_the_hot_parser_understands_what_the_command_understands(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    read = search.parse(words)
    if read is None:
        return  # Typer decides
    seen: list[tuple[Any, ...]] = []

    def run(*values: Any) -> int:
        seen.append(values)
        return 0

    monkeypatch.setattr(search, "run", run)
    app(args=["search", *words], prog_name="sage", standalone_mode=False)
    defaults = {"limit": search.DEFAULT_LIMIT, "lang": None, "under": None, "kind": None, "project": "."}
    more = {"everywhere": False, "context": 0, "lines": None, "max_tokens": None, "files": False, "open_editor": False}
    last = dict.fromkeys(("explain", "no_refresh", "as_json", "exact", "regex", "ignore_case"), False)
    fleet = {"repo": None, "owner": None, "vimgrep": False}
    assert seen == [tuple({"words": None, **defaults, **more, **last, **fleet, **read}.values())]
