"""The `sage` command from its words to its exit code: errors, JSON, colour, pipes, and foreign names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_cli import entry, grep
from sage_cli.app import app
from sage_code import Project, __version__

Run = Callable[..., Any]


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Project.open(sample).index()
    monkeypatch.chdir(sample)
    return sample


def _child(*words: str, **more: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more.pop("env", {})}
    command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, **more)


# -- exit codes and errors -------------------------------------------------------------------------------------------


def test_found_nothing_and_error_are_0_1_and_2(project: Path, sage: Run) -> None:
    assert sage("grep", "connect").code == 0
    missed = sage("grep", "conect")
    assert (missed.code, missed.out) == (1, "")
    assert missed.err == "no symbol conect; nearest: connect\n"
    wrong = sage("grep", "connect", "--path", "nowhere")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == ("sage: there is no nowhere, and no indexed project of that name\n      there are: sample\n")
    assert sage("status").code == 0
    assert sage("analyze", "nosuch").code == 1


def test_without_an_index_commands_say_what_to_do(sample: Path, sage: Run) -> None:
    for words in (["grep", "connect"], ["analyze", "connect"]):
        result = sage(*words, "--path", str(sample))
        assert result.code == 2
        assert f"run `sage index {sample}` first" in result.err
    assert sage("status", str(sample)).code == 1
    assert sage("projects", "list").code == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["grep", "x", "--path", "nowhere"], "usage"),
        (["grep"], "usage"),
        (["grep", "a", "b"], "usage"),
        (["index", "--no-such-flag"], "usage"),
        (["nosuch"], "usage"),
        (["config", "get", "nosuch"], "config"),
        (["analyze", "x"], "not_indexed"),
        (["projects", "forget", "nosuch"], "usage"),
    ],
)
def test_an_error_is_json_too_when_asked_for(
    sample: Path, sage: Run, monkeypatch: pytest.MonkeyPatch, words: list[str], code: str
) -> None:
    monkeypatch.chdir(sample)
    result = sage(*words, "--json")
    assert result.code == 2
    error = json.loads(result.out)["error"]
    assert error["code"] == code
    assert error["message"] in result.err
    plain = sage(*words)
    assert (plain.code, plain.out) == (2, "")
    assert "Traceback" not in plain.err


def test_a_bug_is_reported_without_a_traceback(sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_arguments: list[str]) -> int:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(entry, "_dispatch", broken)
    result = sage("grep", "x", "--json")
    assert result.code == 2
    assert "unexpected ZeroDivisionError: oops" in result.err
    assert "--debug" in json.loads(result.out)["error"]["hint"]


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    words = ["sage", "grep", "x", "--path", "nowhere"]
    if how == "flag":
        words.insert(1, "--debug")
    else:
        monkeypatch.setenv("SAGE_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(Exception, match="there is no nowhere"):
        entry.main()


def test_ctrl_c_says_that_nothing_is_lost(sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_arguments: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_dispatch", interrupted)
    result = sage("index")
    assert result.code == 130
    assert "what was saved before is untouched" in result.err


def test_version_and_help(sage: Run) -> None:
    assert sage("--version").out == f"sage {__version__}\n"
    overview = sage("--help")
    assert overview.code == 0
    assert all(command in overview.out for command in ("index", "grep", "status", "analyze", "admin", "projects"))
    assert "Example" in sage("grep", "--help").out


# -- what is printed -------------------------------------------------------------------------------------------------


def test_grep_prints_location_kind_and_signature(project: Path, sage: Run) -> None:
    assert sage("grep", "Server.start").out == (
        "server.py:9  method Server.start  def start(self, port: int) -> None\n"
    )
    assert sage("grep", "CONNECT").code == 1
    assert len(sage("grep", "CONNECT", "-i").out.splitlines()) == 2
    assert sage("grep", "conn", "--prefix", "--kind", "function", "-n", "1").err == (
        "... and 1 more; --limit 0 shows all\n"
    )


def test_index_status_and_analyze_speak_plainly(project: Path, sage: Run) -> None:
    assert "0 files indexed, 2 unchanged, 0 removed, 1 skipped" in sage("index").out
    status = sage("status").out
    assert "fresh" in status
    assert "logo.bin  (binary" in status
    assert "def start(self, port: int)" in sage("analyze", "start").out
    (project / "new.py").write_text("x = 1\n")
    assert "new.py" in sage("index", "--dry-run").out


class _Terminal:
    """Standard output that claims to be a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def isatty(self) -> bool:
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@pytest.mark.parametrize("no_color", ["", "1"])
def test_colour_is_for_terminals_that_want_it(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, no_color: str
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stdout", _Terminal(sys.stdout))
    for words in (["grep", "connect"], ["analyze", "connect"]):
        monkeypatch.setattr(sys, "argv", ["sage", *words])
        with pytest.raises(SystemExit):
            entry.main()
        assert ("\x1b[" in capsys.readouterr().out) == (not no_color)


def test_nothing_is_coloured_in_a_pipe(project: Path, sage: Run) -> None:
    for words in (["grep", "connect"], ["analyze", "connect"], ["status"], ["index"]):
        assert "\x1b" not in sage(*words).out


@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_control_characters_in_names_never_reach_the_terminal(sample: Path, sage: Run) -> None:
    (sample / "bad\x1b]0;owned\x07\nname.py").write_text("def trap():\n    '''\x1b[31m'''\n")
    assert sage("index", str(sample)).code == 0
    where = ("--path", str(sample))
    for words in (["grep", "trap", *where], ["analyze", "trap", *where]):
        text = sage(*words).out
        assert "\\x1b" in text
        assert not set(text) & {"\x1b", "\x07"}
    assert sage("grep", "trap", *where).out.startswith(f"{sample}/bad\\x1b]0;owned\\x07\\nname.py:1  function trap")
    (match,) = json.loads(sage("grep", "trap", "--json", *where).out)["matches"]
    assert match["file"] == "bad\x1b]0;owned\x07\nname.py"


def test_a_query_that_is_not_unicode_is_printed_as_escapes(project: Path) -> None:
    process = _child("grep", "\udcff", "--json")
    out, err = process.communicate(timeout=30)
    assert process.returncode == 1, err
    assert json.loads(out)["name"] == "\udcff"


def test_an_ascii_terminal_gets_ascii(project: Path) -> None:
    (project / "é.py").write_text("def größe():\n    pass\n")
    Project.open(project).index()
    process = _child("grep", "größe", env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "1"})
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out.startswith(b"\\xe9.py:1  function gr\\xf6\\xdfe")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of POSIX")
@pytest.mark.parametrize("words", [["grep", "connect"], ["status", "--json"]])
def test_a_pipe_that_is_closed_early_is_no_error(project: Path, words: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
    process = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, env=environment, timeout=30, check=False)
    os.close(write)
    assert (process.returncode, process.stderr) == (0, b"")


# -- one definition of grep ------------------------------------------------------------------------------------------


def _typer_options() -> dict[str, tuple[str, type]]:
    command = typer.main.get_command(app).commands["grep"]  # type: ignore[attr-defined]
    return {
        flag: (parameter.name, parameter.type_descriptor.annotation)
        for parameter in command.params
        for flag in (*parameter.opts, *parameter.secondary_opts)
        if flag.startswith("-") and flag != "--help"
    }


def test_the_hot_parser_knows_exactly_the_flags_of_the_command() -> None:
    assert _typer_options() == grep.FLAGS


word_lists = st.lists(
    st.sampled_from(
        ["name", "Other.name", "", "-", "--", "-x", "--limit=3", "-n3", "5", "-1", "x5", "--help", *grep.FLAGS]
    ),
    max_size=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(word_lists)
def test_the_hot_parser_understands_what_the_command_understands(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    given_up = grep.parse(words)
    if given_up is None:
        return  # Typer decides
    seen: list[tuple[Any, ...]] = []

    def run(*values: Any) -> int:
        seen.append(values)
        return 0

    monkeypatch.setattr(grep, "run", run)
    app(args=["grep", *words], prog_name="sage", standalone_mode=False)
    defaults = {"kind": None, "ignore_case": False, "prefix": False, "limit": grep.DEFAULT_LIMIT, "names": False}
    defaults |= {"project": ".", "refresh": False, "no_refresh": False}
    parameters = {"name": None, **defaults, "as_json": False, "vimgrep": False, **given_up}
    assert seen == [tuple(parameters.values())]


@pytest.mark.parametrize("words", [(), ("config",)])
def test_a_group_alone_shows_its_help(sage: Run, words: tuple[str, ...]) -> None:
    result = sage(*words)
    assert result.code == 2
    assert result.out.startswith("Usage: sage")
    assert result.err == ""


def test_an_interrupt_is_said_and_harms_nothing(sage: Run, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    sage("index", str(sample))
    monkeypatch.setattr("sage_code.index.pipeline.index_project", interrupt)
    result = sage("index", str(sample))
    assert (result.code, result.out) == (130, "")
    assert "interrupted; what was saved before is untouched" in result.err
    assert sage("grep", "connect", "--path", str(sample), "--no-refresh").code == 0
