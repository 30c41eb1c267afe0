"""`--exact` and `--regex` find the lines that a plain scan of the files finds, whatever the index knows of them."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code import Project
from sage_code.compiled.segment import FIELDS
from sage_code.errors import SageError, UsageError
from sage_code.search.exact.matching import Matcher

Lines = set[tuple[str, int]]
# Words of every sort that the index treats in a way of its own: joined, underscored, long, foreign, split by case.
WORDS = (
    "parse", "parse_config", "_parse", "__init__", "parseConfig", "HTTPServer", "x", "ab", "ERR_42", "Größe", "straße",
    "ΣΊΣΥΦΟΣ", "İstanbul", "ſet", "用户名", "a1b2", "k" * 64, "deadbeef" * 12, "naïve", "self", "Set", "K",
)  # fmt: skip
GLUE = (
    " ",
    ".",
    "(",
    ")",
    "->",
    "::",
    "=",
    "\t",
    '"',
    "'",
    "-",
    "/",
    "\\",
    "[",
    "]",
    "+",
    "*",
    "$",
    ", ",
    "é",
    "🙂",
    "",
)
PATTERNS = (
    r"pars\w+", r"\bself\b", r"^\s*x", r"x$", r"[A-Z]{3}_\d+", r"parse(_config|Config)?", r"a.b", r"\S+\s+\S+",
    r"[^x]+self", r"(deadbeef){3}", r"(?i)PARSE_", r"\w{65,}", r"^$", r"Gr..e", r"\W+x", r"\D\d\d", r"x*", r"(?=x)x",
    r"[\s,]self", r"[\W_]x", r"(?:parse|self)\b", r"k{64}", r"\.\(", r"(x|ab)\1", r"[\x00-\x20]x", r"(?s)x.y", r"x\ny",
    r"\Aparse", r"self\Z", r"HTTP[A-Z]erver", r"(?:ab)?self", r"İ", r"(?i)ſET", r"(?i)set", r"a++b", r"用",
)  # fmt: skip
PARTS = (
    *"ab_X9 é.^$", r"\w", r"\s", r"\W", r"\D", r"\b", "[^a]", r"[\sb]", r"[\W9]", "(a|b)", "a*", "X+?", "(?:_a)?"
)  # fmt: skip


def _text(dice: random.Random) -> str:
    lines = []
    for _ in range(dice.randrange(1, 40)):
        parts = [dice.choice(WORDS) if dice.random() < 0.6 else dice.choice(GLUE) for _ in range(dice.randrange(12))]
        lines.append(dice.choice(GLUE).join(parts))
    return "\n".join(lines) + "\n" * dice.randrange(2)


def _write(path: Path, text: str, dice: random.Random) -> None:
    """Write a text in one of the encodings and with one of the line ends that discovery reads."""
    text = text.replace("\n", dice.choice(["\n", "\n", "\n", "\r\n", "\r"]))
    encoding = dice.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x = 1" + b"\n" + text.encode() if encoding == "utf-8" else ("x = 1\n" + text).encode(encoding))


def _read(path: Path) -> list[str]:
    data = path.read_bytes()
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    lines = data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if not lines[-1] else lines


def _scan(root: Path, is_match: Callable[[str], object]) -> Lines:
    """The lines that match, by reading every file."""
    paths = (path for path in root.rglob("*") if path.is_file() and not {".git", ".sage"} & {*path.parts})
    return {
        (path.relative_to(root).as_posix(), number)
        for path in paths
        for number, line in enumerate(_read(path), 1)
        if is_match(line)
    }


def _found(project: Project, text: str, **more: Any) -> Lines:
    answer = project.find_text(text, 10_000, **more)
    lines = {(row["file"], row["line"]) for row in answer["results"]}
    lines |= {(row["file"], other["start_line"]) for row in answer["results"] for other in row["also"]}
    assert answer["lines"] == len(lines)
    assert answer["files"] == len(answer["results"])
    return lines


@pytest.fixture(scope="module")
def chaos(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[Path]:
    """Sixty files of odd words, indexed once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        root = tmp_path_factory.mktemp("chaos") / "chaos"
        dice = random.Random(7)
        for number in range(60):
            _write(
                root / f"d{number % 5}" / f"f{number}{dice.choice(['.py', '.go', '.txt', '.md'])}", _text(dice), dice
            )
        _age(root)
        Project(str(root)).index()
        yield root


def _age(root: Path) -> None:
    """Make everything old enough to be believed unchanged."""
    for path in [*root.rglob("*"), root]:
        if not {".git", ".sage"} & {*path.relative_to(root).parts}:
            os.utime(path, (1_000_000, 1_000_000))


def _literals(root: Path, dice: random.Random, count: int) -> list[str]:
    """Pieces of lines, and texts that are nowhere."""
    lines = [line for path in sorted(root.rglob("f*.*")) for line in _read(path) if line]
    found = []
    for _ in range(count):
        line = dice.choice(lines)
        start = dice.randrange(len(line))
        piece = line[start : start + dice.randrange(1, 30)]
        found.append(piece if dice.random() < 0.9 else piece + dice.choice(WORDS))
    return found


def test_a_text_is_found_where_a_plain_scan_finds_it(chaos: Path, seed: int) -> None:
    project = Project(str(chaos))
    for wanted in (*WORDS, *filter(None, GLUE), *_literals(chaos, random.Random(seed), 150)):
        expected = _scan(chaos, lambda line, wanted=wanted: wanted in line)  # type: ignore[misc]
        assert _found(project, wanted) == expected, wanted


def test_case_is_ignored_when_asked(chaos: Path, seed: int) -> None:
    project = Project(str(chaos))
    for wanted in (*WORDS, *_literals(chaos, random.Random(seed), 40)):
        pattern = re.compile(re.escape(wanted), re.IGNORECASE)
        assert _found(project, wanted.swapcase() if wanted.isascii() else wanted, ignore_case=True) == _scan(
            chaos, pattern.search
        ), wanted


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_matches_the_lines_of_a_plain_scan(chaos: Path, pattern: str) -> None:
    found = _found(Project(str(chaos)), pattern, regex=True)
    if pattern in (r"(?s)x.y", r"x\ny", r"\Aparse", r"self\Z"):
        return  # these look beyond a line
    assert found == _scan(chaos, re.compile(pattern).search)


@given(
    st.lists(st.text("ab_X \té9\n\x0b", max_size=8), max_size=6).map("\n".join),
    st.lists(st.sampled_from(PARTS), min_size=1, max_size=5).map("".join),
)
def test_patterns_stay_within_lines(text: str, pattern: str) -> None:
    compiled = re.compile(pattern)
    lines = text.split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    expected = [number for number, line in enumerate(lines) if compiled.search(line)]
    matcher = Matcher(pattern, regex=True)
    assert [text.count("\n", 0, start) for start, _ in matcher.matches(text)] == expected


def test_a_pattern_with_a_line_end_spans_lines(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    (row,) = project.find_text(r"retries=3\):\n\s+.*Reach", regex=True)["results"]
    assert (row["file"], row["start_line"], row["end_line"]) == ("server.py", 17, 18)
    (row,) = project.find_text("stop(self):\n        self.port = None")["results"]
    assert (row["start_line"], row["end_line"], row["lines"]) == (13, 14, 2)


def test_edits_are_seen_at_once(chaos: Path, tmp_path: Path, seed: int) -> None:
    """Files are edited, added, deleted, renamed and ignored, and never indexed again."""
    root = tmp_path / "edited"
    shutil.copytree(chaos, root, ignore=shutil.ignore_patterns(".sage"))
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    project = Project(str(root))
    _age(root)
    project.index()
    dice = random.Random(seed)
    for step in range(40):
        if step % 10 == 0:
            _age(root)
        files = sorted(root.rglob("f*.*"))
        path, word = dice.choice(files), f"fresh{step}word"
        match dice.randrange(5):
            case 0:
                _write(path, f"{_text(dice)}\n{word}", dice)
            case 1:
                _write(path.with_name(f"f_new{step}.py"), word, dice)
            case 2:
                path.unlink()
            case 3:
                path.rename(path.with_name(f"f_moved{step}.py"))
            case 4 if path.read_bytes()[:1] == b"x":
                with path.open("r+b") as file:  # in place, with its old times
                    times = os.stat(path)
                    file.write(b"y")
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        asking = project if dice.random() < 0.5 else Project(str(root))
        for wanted in (word, "x = 1", "y = 1", dice.choice(WORDS)):
            assert _found(asking, wanted) == _scan(root, lambda line, wanted=wanted: wanted in line), step  # type: ignore[misc]
    (root / ".gitignore").write_text("d1/\n")
    subprocess.run(["git", "rm", "-rqf", "--cached", "d1"], cwd=root, check=True)
    assert not [file for file, _ in _found(project, "x = 1") if file.startswith("d1/")]


def test_a_kept_listing_is_used_and_left(sample: Path) -> None:
    """Nothing is listed while nothing moves; what an ignore file, a folder or an empty file changes is seen."""
    project = Project.open(sample)
    (sample / "empty.py").touch()
    (sample / ".gitignore").write_text("out/\n")
    _age(sample)
    project.index()
    kept = sample / ".sage" / "codebase" / "stamps"
    time.sleep(0.06)  # what has only just changed is looked at again
    assert _found(project, "connect")
    assert kept.exists()
    before = kept.stat().st_mtime_ns
    assert _found(Project.open(sample), "connect")
    assert kept.stat().st_mtime_ns == before
    (sample / "empty.py").write_text("connect = 1\n")
    assert ("empty.py", 1) in _found(Project.open(sample), "connect")
    _age(sample)
    (sample / ".gitignore").write_text("web/\n")
    assert {file for file, _ in _found(Project.open(sample), "connect")} == {"empty.py", "server.py"}
    kept.write_bytes(kept.read_bytes()[:-9] + b"damaged!!")
    assert {file for file, _ in _found(Project.open(sample), "connect")} == {"empty.py", "server.py"}


def test_damaged_files_are_made_again(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    segment = next((sample / ".sage" / "codebase" / "generations").glob("*/*.seg"))
    segment.write_bytes(segment.read_bytes()[:-100])
    assert len(_found(project, "connect")) == 2


def test_definitions_come_first_then_sources_then_tests(tmp_path: Path) -> None:
    root = tmp_path / "ranked"
    files = {
        "a/uses.py": "from z.deep import launch_rocket\n\n\ndef go():\n    launch_rocket()\n",
        "tests/test_launch.py": "from z.deep import launch_rocket\n\n\ndef test_it():\n    launch_rocket()\n",
        "vendor/copy.py": "launch_rocket = None\nprint(launch_rocket)\n",
        "z/deep.py": '"""About launch_rocket."""\n\n\ndef launch_rocket():\n    return 1\n',
        "docs/launch.md": "Call `launch_rocket`.\n",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    project = Project.open(root)
    project.index()
    found = project.find_text("launch_rocket")
    order = [row["file"] for row in found["results"]]
    assert order[0] == "z/deep.py"
    assert order.index("a/uses.py") < order.index("docs/launch.md")
    best = found["results"][0]
    assert (best["line"], best["qualname"], best["kind"]) == (4, "launch_rocket", "function")
    assert [other["start_line"] for other in best["also"]] == [1]
    assert [row["file"] for row in project.find_text("launch_rocket()", kinds="function", paths="a")["results"]] == [
        "a/uses.py"
    ]
    assert {row["language"] for row in project.find_text("launch_rocket", language="md")["results"]} == {"markdown"}


def test_a_budget_is_kept(chaos: Path) -> None:
    from sage_code.text.tokens import count_tokens

    answer = Project(str(chaos)).find_text("x = 1", 100, max_tokens=300)
    assert answer["truncated"]
    assert answer["files"] > len(answer["results"])
    assert count_tokens("".join(row["file"] + row["snippet"] for row in answer["results"])) <= 300


@pytest.mark.parametrize("pattern", ["(", "[a", "*x", r"\8", "(?P<a>x)(?P<a>y)", "x" * 9_000, "", "(" * 5_000])
def test_what_is_no_pattern_is_said(sample: Path, pattern: str) -> None:
    Project.open(sample).index()
    with pytest.raises(UsageError):
        Project.open(sample).find_text(pattern, regex=True)


def test_a_pattern_that_never_ends_is_ended(sample: Path) -> None:
    (sample / "long.py").write_text("x = 1\n" * 50 + f"y = '{'a' * 60}'\n")
    project = Project.open(sample)
    project.index()
    for pattern in (r"(a+)+$", r"(a|aa)+b", r"(\w+\s?)*!"):
        started = time.monotonic()
        with pytest.raises(SageError, match="ended after 3 s"):
            project.find_text(pattern, regex=True, seconds=3)
        assert time.monotonic() - started < 30
    assert project.find_text("conn.ct", regex=True, seconds=60)["files"] == 2  # and the next one is answered
    assert project.find_text("conn.ct", regex=True, seconds=60)["files"] == 2


def test_the_first_field_of_postings_is_the_text() -> None:
    """`plain_segment.py` reads it by its place."""
    assert FIELDS[0] == "body"


def test_command_line(sample: Path, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Project.open(sample).index()
    monkeypatch.chdir(sample)
    found = sage("search", "--exact", "self.port = ")
    assert found.code == 0
    assert "server.py:11" in found.out
    assert "and" not in found.out
    assert "2 lines in 1 file" in found.err
    assert sage("search", "--exact", "SELF.PORT").code == 1
    assert sage("search", "--exact", "SELF.PORT", "-i", "--files").out.split() == ["server.py"]
    assert json.loads(sage("search", "--regex", r"conn\w+", "--json").out)["files"] == 2
    assert sage("search", "--exact", "--", "-> None").code == 0
    assert sage("search", "--exact", "--regex", "x").code == 2
    assert sage("search", "-i", "x").code == 2
    assert sage("search", "--exact", "x", "--explain").code == 2
    assert sage("search", "--regex", "(", "--json").code == 2
    assert sage("search", "--all", "--exact", "connect", "--json").code == 0


def test_white_space_is_that_of_python() -> None:
    from sage_code.search.exact.patterns import SPACES

    assert [code for code in range(0x110000) if chr(code).isspace() and code != 10] == list(SPACES)
