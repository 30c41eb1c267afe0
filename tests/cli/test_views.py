"""What the commands print: paths, lines, dates, colours, narrow terminals, suggestions for wrong words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from sage_cli.dates import when
from sage_cli.output import wrapped
from sage_code import Project
from sage_code.paths import assets_dir

Run = Callable[..., Any]
BEHIND_COMMENTS = {
    "a.py": "import os\n\n\n# A comment\n# of two lines.\n@os.register(\n    1,\n)\ndef python_one(x):\n    return x\n",
    "b.ts": "/**\n * Docs.\n */\n@Injectable()\nexport class TypescriptOne {\n  start() { return 1; }\n}\n",
    "c.go": "package main\n\n// GoOne runs\n// and runs.\nfunc GoOne() int {\n\treturn 1\n}\n",
    "D.java": "/**\n * Docs.\n */\n@Deprecated\npublic class JavaOne {\n    int x() { return 1; }\n}\n",
    "e.c": "/* comment */\nstatic int\nc_one(int x)\n{\n\treturn x;\n}\n",
    "f.rs": "/// Docs\n#[inline]\npub fn rust_one() -> i32 { 1 }\n",
    "g.rb": "# Comment\nclass RubyOne\n  def go\n  end\nend\n",
}
NAMES = {"python_one": 9, "TypescriptOne": 5, "GoOne": 5, "JavaOne": 5, "c_one": 3, "rust_one": 3, "RubyOne": 2}


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (sample / "client.py").write_text(
        "from server import Server\n\n\ndef begin():\n    return  Server().start(80)  # \x1b[31m\n\n\ndef main():\n"
        "    begin()\n"
    )
    Project.open(sample).index(name="demo")
    monkeypatch.chdir(sample)
    return sample


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes standard output a terminal of so many columns."""

    def become(columns: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)

    return become


def _is_described(name: str, document: Any) -> None:
    folder = Path(assets_dir("compiled_schema"))
    schemas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}
    known: Registry[Any] = Registry().with_resources(
        (file, Resource.from_contents(schema)) for file, schema in schemas.items()
    )
    Draft202012Validator(schemas[f"{name}.json"], registry=known).validate(document)


# -- nothing found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("refs", "references"),
        ("callers", "callers"),
        ("callees", "callees"),
        ("impact", "affected"),
        ("similar", "similar"),
    ],
)
def test_json_without_a_hit_is_a_document_with_an_empty_list(project: Path, sage: Run, command: str, key: str) -> None:
    result = sage(command, "conect", "--json")
    assert result.code == 1
    document = json.loads(result.out)
    assert (document[key], document["nearest"]) == ([], ["connect"])
    _is_described(command, document)
    plain = sage(command, "conect")
    assert (plain.code, plain.out, plain.err) == (1, "", "no symbol conect; nearest: connect\n")
    if command in ("callees", "refs"):
        unused = sage(command, "LIMIT", "--json")
        assert (unused.code, "nearest" in json.loads(unused.out)) == (1, False)


def test_grep_of_another_kind_says_which_kinds_there_are(project: Path, sage: Run) -> None:
    result = sage("grep", "connect", "--kind", "class")
    assert (result.code, result.out, result.err) == (1, "", "no class connect; there is: function\n")
    document = json.loads(sage("grep", "connect", "--kind", "class", "--json").out)
    assert document == {"name": "connect", "matches": [], "kinds": ["function"]}
    _is_described("grep", document)
    assert sage("grep", "conect", "--kind", "class").err == "no symbol conect; nearest: connect\n"


# -- lines and paths --------------------------------------------------------------------------------------------------


def test_a_definition_behind_a_comment_is_shown_at_the_line_of_its_name(
    tmp_path: Path, write: Run, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path / "many", BEHIND_COMMENTS)
    Project.open(root).index()
    monkeypatch.chdir(root)
    files = dict(zip(NAMES, BEHIND_COMMENTS, strict=True))
    for name, line in NAMES.items():
        place = f"{files[name]}:{line} "
        for command in ("grep", "search", "analyze"):
            shown = sage(command, name).out
            assert shown.startswith(place), (command, shown)
        found = json.loads(sage("search", name, "--json").out)["results"][0]
        assert (found["line"], found["start_line"] < line) == (line, True)
        symbols = json.loads(sage("outline", files[name], "--json").out)["symbols"]
        assert line in {symbol["line"] for symbol in symbols}
    assert "a.py:9 " in sage("similar", "rust_one").out


def test_paths_can_be_opened_from_where_the_command_runs(
    project: Path, sage: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = [
        ["grep", "start"],
        ["search", "start", "--no-refresh"],
        ["analyze", "start"],
        ["refs", "start"],
        ["callers", "start"],
        ["impact", "start"],
        ["callees", "begin"],
        ["similar", "web/client.ts:3"],
        ["map"],
    ]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder, lead in ((project, ""), (project / "web", "../"), (tmp_path, "sample/"), (elsewhere, f"{project}/")):
        monkeypatch.chdir(folder)
        for words in asked:
            result = sage(*words, "--project", "demo")
            places = [word for line in result.out.split("\n") for word in line.split() if ".py:" in word]
            assert places, words
            for place in places:
                path = place.partition(":")[0]
                assert path.startswith(lead or ("server.py", "client.py")), (words, place)
                assert Path(path).is_file(), (words, place)
        assert json.loads(sage("grep", "start", "--project", "demo", "--json").out)["matches"][0]["file"] == "server.py"


def test_a_path_means_the_file_in_the_current_folder_first(
    project: Path, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "web" / "server.py").write_text("def inner():\n    pass\n")
    Project.open(project).index()
    assert "inner" not in sage("outline", "server.py").out
    monkeypatch.chdir(project / "web")
    assert "inner" in sage("outline", "server.py").out
    assert "inner" not in sage("outline", "../server.py").out


def test_callers_show_the_calling_line_as_it_is_on_the_disk_now(project: Path, sage: Run) -> None:
    shown = sage("callers", "start").out
    assert "client.py:5  begin" in shown
    assert "\n    return  Server().start(80)  # \\x1b[31m\n" in shown
    row = json.loads(sage("callers", "start", "--json").out)["callers"][0]
    assert row["text"] == "return  Server().start(80)  # \x1b[31m"
    (project / "client.py").unlink()
    assert json.loads(sage("callers", "start", "--json", "--no-refresh").out)["callers"][0]["text"] == ""
    assert json.loads(sage("callers", "start", "--json").out)["callers"] == []


def test_map_shows_the_class_of_a_method(project: Path, sage: Run) -> None:
    assert "  9: Server: def start(self, port: int) -> None\n" in sage("map").out
    assert "Server: class" not in sage("map").out


# -- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("find", "`sage search` or `sage grep`"),
        ("locate", "`sage search` or `sage grep`"),
        ("serch", "`sage search`"),
        ("usages", "`sage refs`"),
        ("reindex", "`sage index`"),
        ("remember", "`sage checkpoint save`"),
    ],
)
def test_a_command_that_is_not_there_suggests_what_is_meant(sage: Run, word: str, meant: str) -> None:
    result = sage(word, "x")
    assert result.code == 2
    assert f"there is no command '{word}'" in result.err
    assert f"did you mean {meant}" in result.err


def test_every_suggestion_is_a_command() -> None:
    from typer.main import get_command

    from sage_cli.app import app
    from sage_cli.suggestions import _MEANT

    known = get_command(app)
    for command in _MEANT:
        step: Any = known
        for word in command.split():
            step = step.commands[word]


@pytest.mark.parametrize("words", [[], ["grep"], ["search"], ["config"], ["config", "set"], ["index", "export"]])
def test_h_is_help_everywhere(sage: Run, words: list[str]) -> None:
    short, long = sage(*words, "-h"), sage(*words, "--help")
    assert short == long
    assert (short.code, "Usage: sage" in short.out) == (0, True)


def test_project_is_one_option_with_one_meaning_in_every_command(project: Path, sage: Run, tmp_path: Path) -> None:
    from typer.main import get_command

    from sage_cli.app import app

    def walk(command: Any) -> list[Any]:
        return [command, *(one for inner in getattr(command, "commands", {}).values() for one in walk(inner))]

    options = [option for command in walk(get_command(app)) for option in command.params if "--project" in option.opts]
    assert len(options) > 30
    assert {(option.metavar, option.help) for option in options} == {(options[0].metavar, options[0].help)}
    assert not [option for command in walk(get_command(app)) for option in command.params if "--path" in option.opts]
    os.chdir(tmp_path)
    for words in (["grep", "start"], ["status"], ["config", "list"], ["checkpoint", "list"], ["map"]):
        by_name, by_path = sage(*words, "--project", "demo"), sage(*words, "--project", str(project))
        assert by_name == by_path == sage(*words, f"--path={project}"), words
        assert by_name.code < 2, words


@pytest.mark.skipif(sys.platform == "win32", reason="needs bash")
def test_bash_completes_commands_options_and_safe_symbols(project: Path, sage: Run) -> None:
    (project / "README.md").write_text("# connect$(touch owned)\n\n# connections\n\n# connect me\n")
    Project.open(project).index()
    script = sage("completion", "bash").out
    python = f"{sys.executable} -P -m sage_cli.entry"
    asking = f"""
sage() {{ {python} "$@"; }}
{script}
try() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _sage; echo "${{COMPREPLY[*]}}"; }}
try sage ind
try sage config se
try sage config set --sc
try sage index exp
try sage grep conn
try sage grep --na
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(
        ["bash", "-c", asking], capture_output=True, text=True, cwd=project, env=environment, timeout=120, check=True
    )
    assert ended.stdout.split("\n")[:4] == ["index", "set", "--scope", "export"]
    assert set(ended.stdout.split("\n")[4].split()) == {"connect", "connections"}
    assert ended.stdout.split("\n")[5] == "--names"
    assert not (project / "owned").exists()
    for shell in ("zsh", "fish"):
        assert "grep" in sage("completion", shell).out
    assert sage("completion", "tcsh").code == 2


# -- terminals --------------------------------------------------------------------------------------------------------


def test_a_dumb_terminal_gets_no_colours(
    project: Path, sage: Run, terminal: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal(100)
    asked = (["grep", "connect"], ["search", "connect"], ["analyze", "connect"], ["templates", "list"])
    for words in asked:
        assert "\x1b" not in sage(*words).out, words
    monkeypatch.setenv("TERM", "xterm")
    for words in asked:
        assert "\x1b" in sage(*words).out, words
    monkeypatch.setenv("NO_COLOR", "1")
    for words in asked[:3]:
        assert "\x1b" not in sage(*words).out, words


def test_no_word_is_broken_at_60_columns(project: Path, sage: Run, terminal: Callable[[int], None]) -> None:
    asked = [
        ["grep", "connect"],
        ["search", "connect"],
        ["analyze", "connect"],
        ["callers", "start"],
        ["outline", "server.py"],
        ["map"],
        ["status"],
        ["config", "list"],
        ["templates", "list"],
        ["projects", "list"],
        ["models", "list"],
        ["grep", "conect"],
        ["index", "--help"],
    ]
    whole = {tuple(words): set((sage(*words).out).split()) for words in asked}
    terminal(60)
    for words in asked:
        shown = sage(*words).out
        assert all(len(line) <= 60 or " " not in line.strip() for line in shown.split("\n")), (words, shown)
        if words[0] not in ("config", "templates", "index"):  # which say more, or less, on a terminal
            assert set(shown.split()) == whole[tuple(words)], words


def test_lines_are_wrapped_between_words_and_colours_take_no_room() -> None:
    assert wrapped("one two three", "  ", 8) == "one two\n  three"
    assert wrapped("  one  two", "    ", 6) == "  one\n    two"
    assert wrapped("averylongword x", "  ", 5) == "averylongword\n  x"
    assert wrapped("\x1b[36mone\x1b[0m two", "  ", 7) == "\x1b[36mone\x1b[0m two"
    assert wrapped("", "  ", 7) == ""


def test_dates_are_how_long_ago_and_exact_on_demand(project: Path, sage: Run) -> None:
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    for seconds, said in (
        (5, "just now"),
        (125, "2 min ago"),
        (7_300, "2 h ago"),
        (90_000, "1 day ago"),
        (400_000, "4 days ago"),
    ):
        assert when((now - timedelta(seconds=seconds)).isoformat(), now=now) == said
    for stamp in ("2020-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00", "yesterday\x1b"):
        assert when(stamp, now=now) == stamp.replace("\x1b", "\\x1b")
    exact = json.loads(sage("status", "--json").out)["indexed_at"]
    assert datetime.fromisoformat(exact)
    for words in (["status"], ["projects", "list"]):
        assert exact not in sage(*words).out
        assert exact in sage(*words, "--dates").out
