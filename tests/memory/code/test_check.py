"""What has become of the code: each state, with and without an index."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.memory.code.capture import MAX_REFS, capture
from sage_code.memory.code.check import RefState, check
from sage_code.memory.code.code_text import content_hash, short_diff
from sage_code.memory.files.code_ref import CodeRef
from sage_code.transcripts.code_context import FileInteraction, SessionCodeContext, build_session_code_context

CODE = '''"""Retries."""

LIMIT = 3


# How long to wait.
def backoff(attempt, base=2.0):
    """Seconds before the next attempt."""
    wait = base**attempt
    return min(wait, 60)


class Client:
    def send(self, request):
        for attempt in range(LIMIT):
            self.wait(backoff(attempt))
        return request

    def close(self):
        pass
'''


@pytest.fixture(params=[False, True], ids=["no index", "index"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "net").mkdir(parents=True)
    (folder / "net" / "retry.py").write_text(CODE)
    (folder / "README.md").write_text("# App\n\nIt retries three times,\nthen it gives up for good.\n\nThe end.\n")
    if request.param:
        Project.open(folder).index()
    return folder


def _context(root: Path, *reads: tuple[str, tuple[int, int] | None], action: str = "read") -> SessionCodeContext:
    return build_session_code_context(FileInteraction(str(root / file), action, "t", lines) for file, lines in reads)


def _ref(root: Path, file: str, lines: tuple[int, int] | None) -> CodeRef:
    (ref,) = capture(str(root), _context(root, (file, lines)))
    return ref


def _now(root: Path, ref: CodeRef) -> RefState:
    if (root / ".sage").exists():
        Project.open(root).index()
    return check(str(root), [ref])[0]


def test_a_range_becomes_the_definitions_in_it(root: Path) -> None:
    refs = capture(str(root), _context(root, ("net/retry.py", (7, 18))))
    assert [(ref.symbol, ref.lines) for ref in refs] == [("backoff", (6, 10)), ("Client.send", (14, 17))]
    assert all(ref.content_hash and ref.snippet for ref in refs)
    assert refs[0].snippet is not None
    assert refs[0].snippet.startswith("# How long to wait.\ndef backoff")
    assert refs[1].snippet is not None
    assert refs[1].snippet.startswith("def send")  # the indentation is not part of it


def test_a_whole_small_file_becomes_its_definitions_and_prose_its_lines(root: Path) -> None:
    refs = capture(str(root), _context(root, ("net/retry.py", None), ("README.md", (2, 5))))
    assert {ref.symbol for ref in refs} == {"backoff", "Client.send", "Client.close", ""}
    assert [ref.lines for ref in refs if ref.file == "README.md"] == [(3, 4)]


def test_changed_code_comes_before_code_that_was_read(root: Path) -> None:
    interactions = [
        *_context(root, ("net/retry.py", (7, 7)), action="edit").interactions,
        *_context(root, ("README.md", None)).interactions,
    ]
    assert capture(str(root), build_session_code_context(interactions))[0].file == "net/retry.py"


def test_unchanged(root: Path) -> None:
    for ref in capture(
        str(root), _context(root, ("net/retry.py", (6, 18)), ("README.md", (3, 4)), ("README.md", None))
    ):
        assert _now(root, ref) == RefState(ref, "unchanged", ref)


def test_white_space_is_no_change(root: Path) -> None:
    """Trailing white space, line endings, and the indentation of the whole."""
    refs = capture(str(root), _context(root, ("net/retry.py", (6, 18))))
    file = root / "net" / "retry.py"
    file.write_bytes(CODE.replace("wait = base", "wait = base").replace("\n", "  \r\n").encode())
    assert {_now(root, ref).state for ref in refs} == {"unchanged"}
    head, _, rest = CODE.partition("# How long")
    body = "".join(f"    {line}\n" if line else "\n" for line in ("# How long" + rest).split("\n"))
    file.write_text(head + "if True:\n" + body)
    assert {_now(root, ref).state for ref in refs} == {"moved"}


def test_moved_down_in_its_file(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (7, 10))
    (root / "net" / "retry.py").write_text("import os\nimport sys\n" + CODE)
    found = _now(root, ref)
    assert found.state == "moved"
    assert found.now is not None
    assert (found.now.file, found.now.lines, found.now.symbol) == ("net/retry.py", (8, 12), "backoff")
    assert not found.is_stale


def test_moved_into_another_file(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (7, 10))
    start, end = CODE.index("# How"), CODE.index("class Client")
    (root / "net" / "retry.py").write_text(CODE[:start] + CODE[end:])
    (root / "net" / "waiting.py").write_text("import math\n\n\n" + CODE[start:end])
    found = _now(root, ref)
    assert found.state == "moved"
    assert found.now is not None
    assert (found.now.file, found.now.lines) == ("net/waiting.py", (4, 8))


def test_a_renamed_file(root: Path) -> None:
    refs = capture(str(root), _context(root, ("net/retry.py", (6, 18)), ("README.md", (3, 4)), ("README.md", None)))
    (root / "net" / "retry.py").rename(root / "net" / "attempts.py")
    (root / "README.md").rename(root / "GUIDE.md")
    assert [(found.state, found.now and found.now.file) for found in (_now(root, ref) for ref in refs)] == [
        ("moved", "GUIDE.md"),
        ("moved", "GUIDE.md"),
        ("moved", "net/attempts.py"),
        ("moved", "net/attempts.py"),
    ]


def test_among_many_copies_the_most_similar_path_is_chosen(root: Path) -> None:
    for name in ("01-cats", "36-hot-reload"):
        (root / "samples" / name).mkdir(parents=True)
        (root / "samples" / name / "retry.py").write_text(CODE)
    ref = _ref(root, "samples/36-hot-reload/retry.py", (7, 10))
    (root / "samples" / "36-hot-reload").rename(root / "samples" / "34-hot-reload")
    found = _now(root, ref)
    assert (found.state, found.now and found.now.file) == ("moved", "samples/34-hot-reload/retry.py")


def test_a_method_moved_to_another_class(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (14, 17))
    (root / "net" / "retry.py").write_text("\n" + CODE.replace("class Client:", "class Sender:"))
    found = _now(root, ref)
    assert found.state == "moved"
    assert found.now is not None
    assert found.now.symbol == "Sender.send"


def test_changed_with_a_short_diff(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (7, 10))
    (root / "net" / "retry.py").write_text("import os\n" + CODE.replace("min(wait, 60)", "min(wait, 300)"))
    found = _now(root, ref)
    assert found.state == "changed"
    assert found.is_stale
    assert "-    return min(wait, 60)" in found.diff
    assert "+    return min(wait, 300)" in found.diff
    assert found.now is not None
    assert found.now.lines == (7, 11)
    assert check(str(root), [found.now])[0].state == "unchanged"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT):", "LIMIT ):"),
        ("# How long", "# How very long"),
        ('"""Seconds', '"""Minutes'),
        ("base=2.0", "base=3.0"),
    ],
)
def test_the_smallest_change_counts(root: Path, old: str, new: str) -> None:
    refs = capture(str(root), _context(root, ("net/retry.py", (6, 18))))
    (root / "net" / "retry.py").write_text(CODE.replace(old, new))
    assert [_now(root, ref).state for ref in refs].count("changed") == 1


def test_a_definition_that_has_grown_at_its_end_has_changed(root: Path) -> None:
    """Found by `benchmarks/staleness.py` in Tornado: the old lines have the old text, and one more line follows."""
    ref = _ref(root, "net/retry.py", (14, 17))
    (root / "net" / "retry.py").write_text(
        CODE.replace("        return request\n", "        return request\n        done()\n")
    )
    assert _now(root, ref).state == "changed"
    ref = _ref(root, "net/retry.py", (7, 10))
    (root / "net" / "retry.py").write_text(CODE.replace("LIMIT = 3\n\n\n", "LIMIT = 3\n\n# New.\n"))
    assert _now(root, ref).state == "changed"


def test_renamed_in_its_file_is_a_change(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (7, 10))
    (root / "net" / "retry.py").write_text(CODE.replace("def backoff", "def pause"))
    found = _now(root, ref)
    assert found.state == "changed"
    assert found.now is not None
    assert found.now.symbol == "pause"


def test_gone(root: Path) -> None:
    refs = capture(str(root), _context(root, ("net/retry.py", (6, 18))))
    (root / "net" / "retry.py").write_text("LIMIT = 3\n")
    assert [_now(root, ref) for ref in refs] == [RefState(ref, "gone") for ref in refs]
    (root / "net" / "retry.py").unlink()
    assert {_now(root, ref).state for ref in refs} == {"gone"}


def test_two_common_lines_are_not_followed_to_other_files(root: Path) -> None:
    ref = _ref(root, "net/retry.py", (19, 20))
    (root / "net" / "retry.py").write_text("LIMIT = 3\n")
    (root / "other.py").write_text("class Door:\n    def close(self):\n        pass\n")
    assert _now(root, ref).state != "moved"


def test_lines_of_prose_move_and_change(root: Path) -> None:
    ref = _ref(root, "README.md", (3, 4))
    (root / "README.md").write_text("# App\n\nNew.\n\nMore.\n\nIt retries three times,\nthen it gives up for good.\n")
    found = _now(root, ref)
    assert (found.state, found.now and found.now.lines) == ("moved", (7, 8))
    (root / "README.md").write_text("# App\n\nNew.\nIt retries three times,\nthen it tries again.\n")
    found = _now(root, ref)
    assert (found.state, found.now and found.now.lines) == ("changed", (4, 5))
    assert "+then it tries again." in found.diff


def test_a_change_behind_the_quotation_is_noticed(root: Path) -> None:
    body = "".join(f"    step_{number}()\n" for number in range(80))
    file = root / "long.py"
    file.write_text(f"def long():\n{body}")
    ref = _ref(root, "long.py", (1, 81))
    file.write_text(f"def long():\n{body}".replace("step_75", "step_x"))
    found = _now(root, ref)
    assert found.state == "changed"
    assert found.diff.startswith("... the difference begins after")


def test_references_written_by_hand(root: Path) -> None:
    """Without a hash, code that exists counts as unchanged."""
    states = check(
        str(root),
        [
            CodeRef("net/retry.py"),
            CodeRef("net/retry.py", symbol="backoff"),
            CodeRef("net/retry.py", (1, 5)),
            CodeRef("net/retry.py", (1, 500)),
            CodeRef("net/retry.py", symbol="nothing_like_it"),
            CodeRef("none.py"),
        ],
    )
    assert [found.state for found in states] == ["unchanged"] * 3 + ["changed", "gone", "gone"]


def test_files_outside_the_project_are_left_out(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def secret():\n    return 1\n")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "folder").symlink_to(tmp_path)
    names = ["../secret.py", "link.py", "folder/secret.py", ".sage/x.py", ".git/config", "missing.py", "net/retry.py"]
    files = [os.path.normpath(root / name) for name in names] + ["/etc/passwd", "relative.py", "", "a\0b"]
    context = build_session_code_context(FileInteraction(file, "read", "t", None) for file in files)
    refs = capture(str(root), context)
    assert {ref.file for ref in refs} == {"net/retry.py"}
    assert all("secret" not in (ref.snippet or "") for ref in refs)


def test_a_reference_never_reads_through_a_link(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def secret():\n    return 1\n")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    assert check(str(root), [CodeRef("link.py")])[0].state == "gone"


def test_the_number_of_references_is_bounded(tmp_path: Path) -> None:
    for number in range(MAX_REFS * 2):
        (tmp_path / f"m{number}.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    reads = [(f"m{number}.py", None) for number in range(MAX_REFS * 2)]
    refs = capture(str(tmp_path), _context(tmp_path, *reads))
    assert len(refs) == MAX_REFS
    assert refs[0].file == f"m{MAX_REFS * 2 - 1}.py"  # the last came first


def test_what_counts_as_the_same_text() -> None:
    assert content_hash(["def f():", "    pass"]) == content_hash(["", "  def f():  ", "      pass\t", ""])
    assert content_hash(["a", " b"]) != content_hash(["a", "  b"])
    assert content_hash(["\tx", "\ty"]) == content_hash(["  x", "  y"])
    assert short_diff("a\nb", ["a", "c"]) == "@@ -1,2 +1,2 @@\n a\n-b\n+c"
