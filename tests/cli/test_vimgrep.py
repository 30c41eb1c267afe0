"""`--vimgrep`: FILE:LINE:COLUMN:TEXT with the byte of the name, one place a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sage_cli.vimgrep import column, print_places
from sage_code import Project

SHAPES = "class Circle:\n    def area(self):\n        return 1\n"
USER = "from shapes import Circle\n\n\ndef total():\n    ü = '😀'; return Circle().area()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".sage").mkdir()
    (tmp_path / "shapes.py").write_text(SHAPES)
    (tmp_path / "user.py").write_text(USER)
    Project(str(tmp_path)).index()
    return tmp_path


def sage(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "sage"), *words, "--vimgrep", "--no-refresh"]
    return subprocess.run(
        command, cwd=project, capture_output=True, text=True, timeout=60, check=False, env={**os.environ}
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (("grep", "area"), ["shapes.py:2:9:    def area(self):"]),
        (("grep", "ar", "--prefix", "--kind", "method"), ["shapes.py:2:9:    def area(self):"]),
        (("callers", "Circle.area"), ["user.py:5:34:    ü = '😀'; return Circle().area()"]),
        (("callees", "total"), ["shapes.py:1:7:class Circle:", "shapes.py:2:9:    def area(self):"]),
        (("search", "--exact", "return Circle"), ["user.py:5:18:    ü = '😀'; return Circle().area()"]),
    ],
    ids=["grep", "prefix", "callers", "callees", "exact"],
)
def test_each_place_is_a_line_for_an_editor(project: Path, words: tuple[str, ...], lines: list[str]) -> None:
    done = sage(project, *words)
    assert sorted(done.stdout.splitlines()) == lines, done.stderr
    assert done.returncode == 0


@pytest.mark.slow
def test_a_question_has_places_too(project: Path) -> None:
    done = sage(project, "search", "area of a circle")
    first = done.stdout.splitlines()[0].split(":")
    assert first[0] in ("shapes.py", "user.py")
    assert first[1].isdigit()
    assert first[2].isdigit()


@pytest.mark.slow
def test_two_forms_at_once_are_refused_and_nothing_found_is_1(project: Path) -> None:
    assert sage(project, "grep", "area", "--json").returncode == 2
    assert sage(project, "refs", "area", "--json").returncode == 2
    nothing = sage(project, "grep", "no_such_name")
    assert (nothing.returncode, nothing.stdout) == (1, "")


@pytest.mark.parametrize(
    ("text", "name", "at"),
    [("  réarea area", "area", 11), ("  x.area2()", "area", 5), ("\tx", "", 2), ("", "a", 1), ("x", "(", 1)],
    ids=["a whole name", "a part of one", "no name", "no line", "a pattern"],
)
def test_the_column_is_a_byte_from_1(text: str, name: str, at: int) -> None:
    assert column(text, name) == at


def test_hostile_names_and_long_lines_stay_one_short_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_places([("/r", "a\nb.py", 3, "x\x1b[31m" + "y" * 10_000, "")])
    shown = capsys.readouterr().out
    assert shown.count("\n") == 1
    assert "\x1b" not in shown
    assert len(shown) < 600
