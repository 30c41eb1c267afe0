"""The brief: what it says within its budget, that it stays the same, and that nothing in it breaks out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sage_code.continuity.brief import grouped, make_brief
from sage_code.continuity.capture import capture
from sage_code.continuity.session import Session
from sage_code.memory.files.core_files import mark
from sage_code.paths import sage_home
from sage_code.text.tokens import count_tokens

if TYPE_CHECKING:
    from conftest import Talk


def _captured(talk: Talk) -> str:
    with Session(talk.session, str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
    return capture(talk.session, str(talk.root), "precompact")


def test_it_says_what_the_session_did(talk: Talk) -> None:
    talk.work()
    id_ = _captured(talk)
    mark(str(talk.root), "queue.py", "sends events")
    brief = make_brief(str(talk.root), "s1", [id_], max_tokens=1_500, number=4)
    assert brief.checkpoints == (id_,)
    assert brief.text.startswith("<sage-brief n=4>\n")
    assert brief.text.endswith("\n</sage-brief>")
    for part in (
        "Which queue do we use", "Keep the retries in one place", "Kafka because the order within a key matters",
        "RabbitMQ won't work", "- queue.py", "KeyError: 'topic'", "Should the timeout be configurable?", "branch main",
        "queue.py: sends events",
    ):  # fmt: skip
        assert part in brief.text
    assert make_brief(str(talk.root), "s1", [id_], max_tokens=1_500, number=4) == brief


def test_a_corrected_or_deleted_checkpoint_is_respected(talk: Talk) -> None:
    talk.work()
    id_ = _captured(talk)
    path = Path(sage_home()) / "checkpoints" / f"{id_}.md"
    path.write_text(path.read_text().replace("use Kafka", "use NATS"))
    text = make_brief(str(talk.root), "s1", [id_], max_tokens=1_500, number=1).text
    assert "use NATS" in text
    assert "use Kafka" not in text
    path.unlink()
    assert make_brief(str(talk.root), "s1", [id_], max_tokens=1_500, number=1).text == ""


def test_no_budget_no_brief(talk: Talk) -> None:
    talk.work()
    id_ = _captured(talk)
    assert make_brief(str(talk.root), "s1", [id_], max_tokens=0, number=1).text == ""
    for budget in (60, 200, 700):
        text = make_brief(str(talk.root), "s1", [id_], max_tokens=budget, number=1).text
        assert count_tokens(text) <= budget


def test_other_sessions_are_told_apart(talk: Talk, root: Path, tmp_path: Path) -> None:
    talk.work()
    id_ = _captured(talk)
    text = make_brief(str(root), "s2", [], max_tokens=1_500, number=1, purpose="startup").text
    # The work of the other session is hours old by its transcript, so it is not shown.
    assert text == ""
    from sage_code.continuity.queue import note_checkpoint

    note_checkpoint(str(root), "made-by-hand", "s3")
    path = Path(sage_home()) / "checkpoints" / "made-by-hand.md"
    path.write_text(f"---\nid: made-by-hand\n---\n# Which port?\n\n## Thesis\nIt is 5433, see {id_}\n")
    text = make_brief(str(root), "s2", [], max_tokens=1_500, number=1, purpose="startup").text
    assert "Other sessions here:\n- made-by-hand: Which port? → It is 5433" in text
    assert "The session began with" not in text


def test_a_subagent_is_told_what_fits_its_task_first(talk: Talk) -> None:
    talk.user("Please build the login page and the search page of the shop, and never use inline styles.")
    talk.agent(
        "I decided to use cookies for the login because sessions are short. We will use trigrams for the search."
    )
    id_ = _captured(talk)
    text = make_brief(
        str(talk.root), "s1", [id_], max_tokens=600, number=0, purpose="subagent", task="tune the trigrams of search"
    ).text
    assert text.index("trigrams for the search") < text.index("cookies for the login")


def test_files_are_grouped_by_folder() -> None:
    assert grouped(["a.py", "src/x.py", "src/y.py", "src/deep/z.py", "b.py"]) == [
        "a.py, b.py", "src/: x.py, y.py", "src/deep/z.py"
    ]  # fmt: skip
