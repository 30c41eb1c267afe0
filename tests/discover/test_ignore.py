"""Sage's own reading of ignore files agrees with git's, and no pattern can stall it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.discover.ignore import IgnoreFile
from sage_code.discover.listing import list_files
from sage_code.discover.rules import DiscoverRules
from sage_code.values import SkippedFile, SourceFile

NAMES = ["a", "b", "ab", "a.b", "a-b", "aa", "[a]", "!a", "#a", "a b", "a\\", "é", "A"]
PIECES = ["a", "b", "ab", "*", "**", "?", "*a", "a*", "*.b", "a*b*", "[ab]", "[!a]", "[^ab]", "[a-b]", "[]a]",
          "[[:alpha:]]", "[b-a]", "[a", "\\a", "\\*", "a\\", "é", "[é]", "a b", "!a", "\\!a", "#a", "\\#a", ".",
          "[[:nope:]]", "[\\a]", "[a-]", "a?", "***", "[[:digit:]a]", "[!a-z]", "[--0]", "A"]  # fmt: skip

patterns = st.builds(
    lambda negated, lead, pieces, tail: negated + lead + "/".join(pieces) + tail,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=4),
    st.sampled_from(["", "", "/", " ", "\\ ", "\r", "\t"]),
)
ignore_files = st.lists(patterns, max_size=5).map("\n".join)
folders = st.lists(st.sampled_from(NAMES), max_size=3).map("/".join)
trees = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join), min_size=1, max_size=12)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=trees, ignores=st.dictionaries(folders, ignore_files, max_size=3))
def test_git_and_the_own_walk_agree(tree: list[str], ignores: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        rules = {f"{where}/.gitignore".lstrip("/"): text for where, text in ignores.items()}
        contents = dict.fromkeys(tree, "x") | rules
        for name, content in contents.items():
            try:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, newline="")
            except OSError:
                continue  # there is a file of this name already
        subprocess.run(["git", "init", "-q", folder], check=True)
        by_git, by_sage = (
            [file.path for file in list_files(folder, DiscoverRules(), use_git=use_git) if isinstance(file, SourceFile)]
            for use_git in (True, False)
        )
        assert by_sage == by_git


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 60 + "b", "a" * 250),
        ("**/a/" * 60 + "b", "a/" * 1500 + "c"),
        ("**/*a*a*a*a*a*a*b/" * 20 + "b", ("a" * 50 + "/") * 60 + "c"),
        ("?*" * 60 + "b", "a" * 250),
        ("[!b]*" * 60 + "b", "a" * 250),
    ],
)
def test_no_pattern_stalls(pattern: str, path: str) -> None:
    rules = IgnoreFile(pattern.encode(), b"/", "test")
    started = time.perf_counter()
    assert rules.decide(b"/" + path.encode(), path.rpartition("/")[2].encode()) is None
    assert time.perf_counter() - started < 2  # backtracking would take years


def test_the_last_line_decides_and_is_named() -> None:
    rules = IgnoreFile(b"\xef\xbb\xbf*.py\n# comment\n!/keep.py\nkeep.*\n!sub/keep.py\n", b"/root/", ".gitignore")
    assert rules.decide(b"/root/keep.py", b"keep.py") == (True, ".gitignore: keep.*")
    assert rules.decide(b"/root/sub/keep.py", b"keep.py") == (False, ".gitignore: !sub/keep.py")
    assert rules.decide(b"/root/a.rs", b"a.rs") is None


@pytest.mark.parametrize(
    "line",
    ["*a*b*{}*[ab]?c", "*" + "a" * 100 + "{}b*", "**/**/a*/**/{}*", "a{}/**/*b*/**/c*d", "?" * 50 + "{}*", "name{}"],
)
def test_256_kb_of_patterns_stall_nothing(tmp_path: Path, line: str) -> None:
    folder = tmp_path / ("a" * 200) / ("b" * 200)
    folder.mkdir(parents=True)
    for number in range(200):
        (folder / f"{'a' * 200}{number}.py").write_text("x = 1\n")
    lines: list[str] = []
    while sum(map(len, lines)) < 256 * 1024:
        lines += [line.format(number) for number in range(len(lines), len(lines) + 500)]
    (tmp_path / ".sageignore").write_text("\n".join(lines))
    started = time.process_time()
    found = list(list_files(str(tmp_path)))
    assert time.process_time() - started < 20  # one second where nothing else runs; it was 151
    assert sum(isinstance(file, SourceFile) for file in found) >= 200


def test_patterns_beyond_the_limit_are_not_obeyed_and_that_is_said(tmp_path: Path) -> None:
    for name in ("first.x1", "late.x2", "long.x3"):
        (tmp_path / name).write_text("x")
    many = "\n".join(f"*.no{number}*" for number in range(5000))
    (tmp_path / ".sageignore").write_text(f"*.x1\n{many}\n*.x2\n*.x3{'?' * 2000}\n")
    found = {file.path: file for file in list_files(str(tmp_path))}
    assert "first.x1" not in found
    assert isinstance(found["late.x2"], SourceFile)
    said = [file for file in list_files(str(tmp_path)) if isinstance(file, SkippedFile) and "not obeyed" in file.detail]
    assert [file.path for file in said] == [".sageignore"]


def test_half_a_pattern_at_the_end_of_a_large_ignore_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text("x = 1\n")
    comment = "#" + "x" * 1022 + "\n"
    (tmp_path / ".sageignore").write_text(comment * 255 + "#" + "x" * 1017 + "\n*.pyc\n")  # cut, it would read `*.py`
    assert "kept.py" in [file.path for file in list_files(str(tmp_path)) if isinstance(file, SourceFile)]
