"""Mining questions: a small made repository gives commits with spans and questions from its text, always the same."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
from training import questions
from training.questions_base import Target, is_source, spread
from training.questions_commits import changed_spans, cleaned, commits_after, names_a_file, telling_words
from training.questions_trace import Frame, trace

PARSER = '''"""Reads settings."""


def read_settings(path):
    """Load the user's settings from a file in the home folder."""
    text = open(path).read()
    return parse_settings(text)


def parse_settings(text):
    """Split a settings file into its names and their values."""
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if not name.strip():
            raise ValueError(f"the setting {line} has no name before its equals sign")
        found[name.strip()] = value
    return found
'''
OTHER = '''def render_table(rows):
    """Draw rows as a table with borders around each cell."""
    width = max(len(row) for row in rows)
    return "\\n".join(row.ljust(width) for row in rows)
'''


def run(folder: Path, *arguments: str) -> str:
    """One git command in the made repository."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str, **files: str) -> str:
    """Write files (`__` for a slash, `_py` for the ending) and commit them."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/").removesuffix("_py") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(folder, "add", "-A")
    run(folder, "commit", "-q", "-m", message)
    return run(folder, "rev-parse", "HEAD")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, str]:
    """A repository in a mirror, and the commit that the questions are asked of."""
    work = tmp_path / "mirror" / "me+tool" / "work"
    work.mkdir(parents=True)
    run(work, "init", "-q", "-b", "main")
    first = commit(work, "Begin", src__parser_py=PARSER, src__table_py=OTHER, vendor__copy_py=OTHER)
    moved = '"""Reads settings."""\nimport os\n' + PARSER.partition("\n")[2]
    commit(work, "Import the os module for later environment lookups", src__parser_py=moved)
    fixed = moved.replace("= value", "= value.strip()")
    body = "Fixes #12.\n\n" + "Values kept the blanks after the equals sign and numbers could not be converted. " * 3
    commit(work, f"Blanks around setting values are stripped (#13)\n\n{body}\nSigned-off-by: A", src__parser_py=fixed)
    commit(work, "Fix typo in comment about drawing borders", src__table_py=OTHER + "# end\n")
    commit(work, "Make table.py draw wider borders everywhere", src__table_py=OTHER + "# the end\n")
    commit(work, "Revert wider borders around every table cell", src__table_py=OTHER)
    run(work, "clone", "-q", "--bare", ".", "../repo")
    return work.parent / "repo", first


def test_a_commit_becomes_a_question_with_the_function_it_changed(made: tuple[Path, str], tmp_path: Path) -> None:
    repository, first = made
    assert questions.check_out(repository, first, tmp_path / "tree")
    tree = questions.read_tree(tmp_path / "tree")
    assert sorted(tree.texts) == ["src/parser.py", "src/table.py"]  # no copies of other projects
    found = questions.repository_questions(repository, first, tree, "seed")
    mined = {one.text.split("\n")[0]: one for one in found[::-1] if one.kind in ("commit", "report")}
    # The typo, the message that names its file and the revert are left out.
    assert set(mined) == {
        "Import the os module for later environment lookups",
        "Blanks around setting values are stripped",
    }
    report = mined["Blanks around setting values are stripped"]
    assert (report.kind, report.form) == ("report", "problem")
    # The line moved by one in between, and is followed back.
    assert report.targets == (Target("src/parser.py", 10, 18),)
    assert "Signed-off-by" not in report.text
    assert "#12" not in report.text


def test_made_questions_point_to_where_they_come_from(made: tuple[Path, str], tmp_path: Path) -> None:
    repository, first = made
    questions.check_out(repository, first, tmp_path / "tree")
    tree = questions.read_tree(tmp_path / "tree")
    found = questions.repository_questions(repository, first, tree, "seed")
    assert found == questions.repository_questions(repository, first, tree, "seed")
    kinds = {one.kind for one in found}
    assert kinds >= {"doc", "message", "literal", "name", "fragment", "trace"}
    for one in found:
        assert one.targets[0].path in tree.texts
        if one.kind == "literal":
            assert one.text in tree.texts[one.targets[0].path]
    message = next(one for one in found if one.kind == "message")
    assert message.targets == (Target("src/parser.py", 10, 18, 16),)
    assert "has no name before its equals sign" in message.text
    traced = next(one for one in found if one.kind == "trace")
    assert traced.targets[0].path == "src/parser.py"
    assert "in read_settings" in traced.text


def test_the_command_writes_lines_once_and_refuses_excluded_projects(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = tmp_path / "list.toml"
    entry = '[[repository]]\nname = "me/tool"\nlanguage = "python"\nlicence = "MIT"\nheld_out = true\n'
    listed.write_text(entry)
    exclude = tmp_path / "exclude.txt"
    exclude.write_text("# none\nother/project\n")
    mirror = made[0].parent.parent
    options = ["--mirror", mirror, "--exclude", exclude, "--data", tmp_path / "data" / "questions", "--list", listed]
    monkeypatch.setattr(sys, "argv", ["questions", *map(str, options)])
    questions.main()
    lines = (tmp_path / "data/questions/me+tool.jsonl").read_text().splitlines()
    one = json.loads(lines[0])
    assert one["repo"] == "me+tool"
    assert one["held_out"] is True
    assert {"language", "commit", "kind", "form", "text", "targets", "source"} <= set(one)
    assert (tmp_path / "data/trees/me+tool/src/parser.py").read_text() == PARSER
    assert "python" in capsys.readouterr().out
    exclude.write_text("Me/Tool\n")
    with pytest.raises(SystemExit, match="me/tool"):
        questions.main()


def test_lines_that_are_new_since_the_snapshot_have_no_span(made: tuple[Path, str]) -> None:
    repository, first = made
    python = by_name("python")
    assert python is not None
    parsed = parse(PARSER.encode(), python)
    assert parsed is not None
    commits = commits_after(repository, first)
    imports = next(one for one in commits if one.subject.startswith("Import"))
    assert changed_spans(repository, (first, imports.parent, imports.sha), "src/parser.py", parsed.symbols) == []


def test_messages_are_cleaned_and_judged() -> None:
    assert cleaned("Fix the reader (#12)\n\nSee https://example.com/a/b?c=d for more\nCo-authored-by: B") == (
        "Fix the reader\n\nSee example.com for more"
    )
    assert cleaned("crash in reader (fixes #4)") == "crash in reader"
    assert telling_words("fix some tests") == set()
    assert names_a_file("crash in Parser.py", ["src/parser.py"])
    assert not names_a_file("crash in parser", ["src/parser.py"])
    assert is_source("src/a.go")
    assert not any(map(is_source, ("src/a_test.go", "vendor/x/a.go", "docs/conf.py", "README.md", "test/a.js")))
    assert spread(range(10), 3) == [0, 3, 6]


@pytest.mark.parametrize("language", ["python", "typescript", "java", "go", "ruby", "php", "csharp", "rust", "elixir"])
def test_a_trace_names_its_innermost_place(language: str) -> None:
    frames = [Frame("src/in.x", "inner", "A.inner", 7, "boom()"), Frame("src/out.x", "outer", "outer", 9, "inner()")]
    text = trace(language, frames, "", random.Random(1))
    assert "in.x" in text
    assert "7" in text
    assert trace("c", frames, "", random.Random(1)) == ""
