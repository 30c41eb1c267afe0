"""The list of core files: shared in git, safe to edit by several, and no way out of the project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.memory.files.core_files import MAX_FILES, by_worth, core_files, mark, unmark

ADDER = (
    "import sys; from sage_code.memory.files.core_files import mark; [mark(sys.argv[1], name) for name in sys.argv[2:]]"
)


def _listed(root: Path) -> str:
    return (root / ".sage" / "core.md").read_text()


def test_marks_are_a_sorted_list_that_people_can_read(sample: Path) -> None:
    mark(str(sample), "web/client.ts", "  Talks to\n the server. ")
    mark(str(sample), str(sample / "server.py"), "Listens: on `port`.")
    assert _listed(sample).splitlines()[-2:] == [
        "- `server.py`: Listens: on `port`.",
        "- `web/client.ts`: Talks to the server.",
    ]
    mark(str(sample), "server.py")  # without a summary: the old one stays
    (sample / "web" / "client.ts").unlink()
    files = Project.open(sample).core_files()
    assert [(file.path, file.summary, file.exists) for file in files] == [
        ("server.py", "Listens: on `port`.", True),
        ("web/client.ts", "Talks to the server.", False),
    ]
    assert unmark(str(sample), "./web/../web/client.ts") == "web/client.ts"
    assert unmark(str(sample), "web/client.ts") is None
    assert [file.path for file in core_files(str(sample))] == ["server.py"]


def test_what_people_write_above_the_list_stays(sample: Path) -> None:
    (sample / ".sage").mkdir()
    (sample / ".sage" / "core.md").write_text(
        "# Ours\n\nRead these.\n\n* `web/client.ts`: the client\r\n\n<<<<<<< ours\n"
    )
    mark(str(sample), "server.py")
    assert _listed(sample) == "# Ours\n\nRead these.\n\n- `server.py`\n- `web/client.ts`: the client\n"


def test_git_shares_the_list_and_not_the_index(sample: Path) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=sample, capture_output=True, text=True, check=True).stdout

    git("init", "-q")
    project = Project.open(sample)
    project.index()
    project.mark_core("server.py", "Listens.")
    kept = git("ls-files", "--others", "--exclude-standard", ".sage").split()
    assert kept == [".sage/.gitignore", ".sage/core.md"]
    assert "core.md" not in str(project.preview().to_index)


@pytest.mark.parametrize("path", ["../outside.py", "/etc/passwd", "link.py", "web", "nowhere.py", ""])
def test_only_files_of_the_project_can_be_marked(sample: Path, path: str) -> None:
    (sample.parent / "outside.py").write_text("x = 1\n")
    (sample / "link.py").symlink_to(sample.parent / "outside.py")
    with pytest.raises(UsageError, match="there is no file"):
        mark(str(sample), path)
    assert not (sample / ".sage").exists()


def test_names_and_summaries_that_would_break_the_list_are_refused(sample: Path) -> None:
    for name in ("a`b.py", "a\nb.py", "a\x1b[2J.py"):
        (sample / name).write_text("x = 1\n")
        with pytest.raises(UsageError, match="cannot be listed"):
            mark(str(sample), name)
    for summary in ("x" * 301, "red \x1b[31m"):
        with pytest.raises(UsageError, match="summary"):
            mark(str(sample), "server.py", summary)


def test_a_hostile_list_names_nothing_outside_and_stays_small(sample: Path) -> None:
    (sample / ".sage").mkdir()
    lines = ["- `../../etc/passwd`: x", "- `/etc/passwd`: x", "- `a//b`", "- `server.py`: \x1b]0;owned\x07" + "y" * 900]
    lines += [f"- `made/up{number}.py`" for number in range(5_000)]
    (sample / ".sage" / "core.md").write_text("\n".join(lines))
    files = core_files(str(sample))
    assert len(files) == MAX_FILES
    [real] = [file for file in files if file.exists]
    assert real.path == "server.py"
    assert len(real.summary) == 300
    assert "\x1b" not in real.summary
    with pytest.raises(UsageError, match="already"):
        mark(str(sample), "web/client.ts")


def test_links_are_neither_read_nor_written_through(sample: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("- `server.py`: from elsewhere\n")
    (sample / ".sage").mkdir()
    (sample / ".sage" / "core.md").symlink_to(secret)
    assert core_files(str(sample)) == []
    mark(str(sample), "server.py", "ours")
    assert secret.read_text() == "- `server.py`: from elsewhere\n"
    assert [file.summary for file in core_files(str(sample))] == ["ours"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("x = 1\n")
    (other / ".sage").symlink_to(sample / ".sage")
    assert core_files(str(other)) == []
    with pytest.raises(UsageError, match="is a link"):
        mark(str(other), "a.py")


def test_marks_made_at_once_are_all_kept(sample: Path) -> None:
    names = [f"part{number}.py" for number in range(24)]
    for name in names:
        (sample / name).write_text("x = 1\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    writers = [
        subprocess.Popen([sys.executable, "-P", "-c", ADDER, str(sample), *names[start::4]], env=environment)
        for start in range(4)
    ]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert [file.path for file in core_files(str(sample))] == sorted(names)
    assert sorted(path.name for path in (sample / ".sage").iterdir()) == [".gitignore", "core.md", "local"]


def test_a_budget_takes_what_is_explained_first(sample: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (sample / name).write_text("x = 1\n")
        mark(str(sample), name, "What it is for." if name == "c.py" else "")
    mark(str(sample), "server.py", "Gone soon.")
    (sample / "server.py").unlink()
    assert [file.path for file in by_worth(core_files(str(sample)))] == ["c.py", "a.py", "b.py"]


def test_the_command_line(
    sample: Path, sage: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample / ".sage").mkdir()  # what makes a folder a project
    monkeypatch.chdir(sample / "web")
    assert sage("core", "list")[0] == 1
    code, out, _ = sage("core", "add", "client.ts", "--summary", "Talks.")
    assert (code, out) == (0, "web/client.ts is core; commit .sage/core.md to share it\n")
    assert sage("core", "list")[:2] == (0, "client.ts\n    Talks.\n")  # as seen from here
    assert sage("core", "add", "../../etc/passwd")[0] == 2
    assert sage("core", "rm", "web/client.ts")[:2] == (0, "web/client.ts is no longer core\n")
    assert sage("core", "rm", "web/client.ts")[0] == 1
