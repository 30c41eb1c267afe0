"""A checkpoint from a transcript: what it says, that it is private, and that nothing is saved twice."""

from __future__ import annotations

import os
import shutil
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.continuity.capture import capture
from sage_code.continuity.notes import Notes, error_line, sentences
from sage_code.continuity.places import branch_and_commit, continuity_dir, project_key
from sage_code.continuity.queue import GARBAGE_S, OTHERS_S, add_to_queue, queued
from sage_code.continuity.session import Session
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_text import from_markdown
from sage_code.paths import sage_home
from sage_code.transcripts.conversation import AGENT, USER, Said

if TYPE_CHECKING:
    from conftest import Talk


def _follow(talk: Talk) -> None:
    with Session(talk.session, str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)


def _saved() -> list[Path]:
    return sorted((Path(sage_home()) / "checkpoints").glob("*.md"))


def _load(path: Path) -> Checkpoint:
    return from_markdown(path.read_text(), str(path), path.stem)


def _said(checkpoint: Checkpoint, kind: str) -> list[str]:
    return [one.content for one in checkpoint.unique_contributions if one.type == kind]


def test_a_checkpoint_has_the_speakers_own_words(talk: Talk) -> None:
    talk.work()
    _follow(talk)
    id_ = capture("s1", str(talk.root), "precompact")
    (path,) = _saved()
    found = _load(path)
    assert found.id == id_ == path.stem
    assert found.core_question.startswith("Which queue do we use for the events?")
    assert "Kafka because the order within a key matters" in found.thesis
    assert "RabbitMQ won't work for that." in _said(found, "ruled out")
    assert "Keep the retries in one place, please." in _said(found, "instruction")
    assert "Do not add a new dependency." in _said(found, "instruction")
    assert _said(found, "error") == ["KeyError: 'topic'"]
    assert found.open_questions == ("Should the timeout be configurable?",)
    assert found.files_changed == {"queue.py"}
    assert [ref.file for ref in found.code_refs] == ["queue.py"]
    assert found.fields["session"] == "s1"
    assert found.fields["branch"] == "main"
    assert found.trigger == "precompact"
    assert found.project == str(talk.root)


def test_a_checkpoint_is_private(talk: Talk) -> None:
    talk.work()
    (talk.root / ".sage").mkdir()
    _follow(talk)
    capture("s1", str(talk.root), "manual")
    (path,) = _saved()  # in the user's home, also if the project has one that a team shares
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (talk.root / ".sage" / "checkpoints").exists()
    for folder, _, names in os.walk(continuity_dir()):
        for name in names:
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == 0o600, name


def test_secrets_are_masked(talk: Talk) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    talk.user(f"Use the token {token} and never print it.")
    talk.agent(f"I decided to keep {token} in the environment because it must not be printed.")
    _follow(talk)
    capture("s1", str(talk.root), "manual")
    (path,) = _saved()
    assert token not in path.read_text()


def test_reading_the_same_lines_again_saves_nothing(talk: Talk) -> None:
    talk.work()
    _follow(talk)
    assert capture("s1", str(talk.root), "precompact")
    before = [path.read_bytes() for path in _saved()]
    assert not capture("s1", str(talk.root), "session_end")
    shutil.rmtree(continuity_dir("sessions"))  # the state is lost
    _follow(talk)
    assert not capture("s1", str(talk.root), "session_end")
    assert [path.read_bytes() for path in _saved()] == before
    talk.user("Now rename the module to bus.py, and keep the old name working.")
    talk.agent("I went with an alias in `queue.py` because callers import it by name.")
    assert capture("s1", str(talk.root), "session_end")
    first, second = (_load(path) for path in _saved())
    assert second.core_question.startswith("Now rename the module")
    assert second.parent == first.id


def test_what_sage_injected_is_not_captured(talk: Talk) -> None:
    talk.work()
    brief = "<sage-brief n=1>\nDecided:\n- We decided to use ZeroMQ because of reasons.\n</sage-brief>"
    talk.write(type="attachment", attachment={"type": "hook_additional_context", "content": [brief]})
    talk.user(f"{brief}\nGo on with the retries, please.")
    talk.agent(f"{brief}\nI kept the retries because they are needed.")
    talk.user("summary: we decided to use ZeroMQ", isCompactSummary=True)
    _follow(talk)
    capture("s1", str(talk.root), "precompact")
    (path,) = _saved()
    assert "ZeroMQ" not in path.read_text()


def test_files_outside_of_the_project_are_not_kept(talk: Talk, tmp_path: Path) -> None:
    talk.work()
    secret = tmp_path / "outside.txt"
    secret.write_text("x")
    for path in (str(secret), "/etc/passwd", f"{talk.root}/../outside.txt", "../outside.txt", "a\0b", "x" * 5_000):
        talk.tool("Edit", file_path=path, old_string="a", new_string="b")
    (talk.root / "link").symlink_to(secret)
    talk.tool("Write", file_path=str(talk.root / "link"), content="y")
    _follow(talk)
    capture("s1", str(talk.root), "precompact")
    (path,) = _saved()
    found = _load(path)
    assert found.files_changed <= {"queue.py", "link"}
    assert [ref.file for ref in found.code_refs] == ["queue.py"]
    assert "passwd" not in path.read_text()


def test_a_new_topic_is_left_for_the_next_checkpoint(talk: Talk) -> None:
    talk.work()
    end = talk.path.stat().st_size
    talk.user("Something else: how does the login page remember people?")
    talk.agent("It decided by a cookie because sessions are short.")
    _follow(talk)
    capture("s1", str(talk.root), "topic_shift", end=end)
    capture("s1", str(talk.root), "precompact")
    first, second = (_load(path) for path in _saved())
    assert "login" not in first.core_question + first.thesis
    assert second.core_question.startswith("Something else: how does the login page")


def test_a_short_look_is_worth_no_checkpoint_at_the_end(talk: Talk) -> None:
    talk.user("What does the module queue do in this project?")
    talk.agent("It sends events.")
    _follow(talk)
    assert not capture("s1", str(talk.root), "session_end")
    assert not _saved()
    talk.user("Then rename it to bus, please.")  # the session is resumed
    talk.agent("I decided to keep an alias because callers import it.")
    assert capture("s1", str(talk.root), "session_end")
    (path,) = _saved()
    assert _load(path).core_question.startswith("What does the module queue do")


def test_damaged_lines_are_skipped(talk: Talk) -> None:
    talk.work()
    with talk.path.open("ab") as file:
        file.write(b'{"type":"user"\n\xff\xfe\n' + b'{"a":' * 50_000 + b"\n[1,2]\nnull\n")
        file.write(b'{"type":"assistant","message":{"content":[{"type":"text","text":"half')
    _follow(talk)
    assert capture("s1", str(talk.root), "precompact")


def test_the_queue_keeps_own_work_and_drops_what_is_old(root: Path) -> None:
    now = 1_800_000_000.0
    for id_, session, age in (
        ("mine", "s1", 10 * OTHERS_S), ("new", "s2", OTHERS_S - 60), ("old", "s2", OTHERS_S + 60)
    ):  # fmt: skip
        add_to_queue(str(root), id_, session, now - age)
    assert queued(str(root), "s1", ["mine"], now=now) == [("mine", True), ("new", False)]
    assert queued(str(root), "s2", [], now=now) == [("new", True), ("old", True)]


def test_the_queue_drops_garbage(root: Path) -> None:
    now = time.time()
    add_to_queue(str(root), "garbage", "s1", now - GARBAGE_S - 60)
    add_to_queue(str(root), "kept", "s1", now - GARBAGE_S + 60)
    add_to_queue(str(root), "new", "s1")
    add_to_queue(str(root), "new", "s1")
    assert queued(str(root), "s1", []) == [("new", True), ("kept", True)]


def test_worktrees_share_if_the_setting_says_so(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "worktree"
    other.mkdir()
    git = root / ".git" / "worktrees" / "worktree"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    (git / "commondir").write_text("../..\n")
    (other / ".git").write_text(f"gitdir: {git}\n")
    assert project_key(str(root)) != project_key(str(other))
    assert project_key(str(root), True) == project_key(str(other), True)
    assert branch_and_commit(str(other)) == ("topic", "")


@pytest.mark.parametrize("head", ["", "ref: ../../etc/passwd", "ref: refs/heads/" + "x" * 300, "\0", "zz" * 20])
def test_a_strange_head_is_no_branch(root: Path, head: str) -> None:
    (root / ".git" / "HEAD").write_text(head)
    assert branch_and_commit(str(root)) == ("", "")


def test_notes_are_bounded_and_keep_the_first_request() -> None:
    notes = Notes()
    for number in range(3_000):
        notes.add(Said(USER, f"Please do thing number {number} and never touch module_{number}."))
        notes.add(Said(AGENT, f"I decided to use way {number} because way_{number} is simpler."))
    assert notes.requests[0].text.startswith("Please do thing number 0 ")
    assert notes.requests[-1].text.startswith("Please do thing number 2999 ")
    assert all(len(kept) <= 100 for kept in (notes.requests, notes.instructions, notes.decisions))


def test_code_tables_and_headings_are_no_sentences() -> None:
    text = "# We decided\n```\nI decided to use code\n```\n| we | decided |\n> I decided to quote\n- I decided, really."
    assert sentences(text) == ["I decided, really."]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Exit code 1\nTraceback (most recent call last):\n  File x\nValueError: no topic", "ValueError: no topic"),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", ""),
        ("error[E0308]: mismatched types\n --> src/a.rs", "error[E0308]: mismatched types"),
        ("", ""),
    ],
)
def test_the_line_of_an_error_that_says_most(text: str, line: str) -> None:
    assert error_line(text) == line
