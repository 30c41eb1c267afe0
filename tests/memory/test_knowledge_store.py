"""Knowledge: kept, recalled when it belongs to the question and not otherwise, in agreement with its list."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.memory.files.knowledge import KnowledgeItem, from_markdown, to_markdown
from sage_code.memory.knowledge_recall import Recaller
from sage_code.memory.knowledge_store import KnowledgeStore
from sage_code.memory.recall.keywords import Keywords
from sage_code.memory.recall.knowledge_score import combined
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

GDPR = KnowledgeItem(
    "gdpr-consent", "Consent under the GDPR must be freely given and easy to withdraw.", keywords=("gdpr",)
)
STYLE = KnowledgeItem("style", "I prefer functional style with small pure functions.", "preference", ("style",))
TODO = KnowledgeItem("renew", "Renew the certificate of the staging host.", "todo", ("certificate",), due="2020-03-01")


@pytest.fixture
def known(root: Path) -> KnowledgeStore:
    return KnowledgeStore(str(root), load_settings(str(root)))


@settings(max_examples=100, deadline=None)
@given(
    st.builds(
        KnowledgeItem,
        st.just("x"),
        st.text(max_size=60) | st.sampled_from(["---\na: b\n---\n", "\n\n# x\n", "\r\n", "\ufeff"]),
        st.sampled_from(["knowledge", "preference", "todo", "reference"]),
        st.lists(st.text(min_size=1, max_size=8), max_size=3).map(tuple),
        skill=st.text(max_size=5),
        source=st.text(max_size=10),
        due=st.sampled_from(["", "2026-01-01"]),
    )
)
def test_a_written_memory_is_read_back_unchanged(item: KnowledgeItem) -> None:
    assert from_markdown(to_markdown(item), "here", "x") == item


def test_files_lists_and_modes(known: KnowledgeStore, root: Path, sage_home: Path) -> None:
    saved = known.save(GDPR)
    assert (saved.scope, saved.replaced, saved.alike) == ("project", False, ())
    known.save(KnowledgeItem("tips", "Use the profiler first.", skill="performance"))
    known.save(STYLE, scope="user")
    folder = root / ".sage" / "knowledge"
    assert (folder / "global" / "gdpr-consent.md").read_text().startswith("---\nid: gdpr-consent\ntype: knowledge\n")
    assert (folder / "skills" / "performance" / "tips.md").is_file()
    assert (folder / "index.yaml").read_text().count("\n- {") == 2
    assert stat.S_IMODE((sage_home / "knowledge" / "index.yaml").stat().st_mode) == 0o600
    assert [one.item.id for one in known.items()] == ["gdpr-consent", "tips", "style"]
    assert [one.item.id for one in known.items(skill="other")] == ["gdpr-consent", "style"]
    assert known.load("gdpr-consent").content == GDPR.content
    moved = known.save(KnowledgeItem("tips", "Measure first.", skill="speed"))
    assert moved.replaced
    assert [path.name for path in folder.rglob("*.md")].count("tips.md") == 1
    assert known.remove("tips") == "tips"
    with pytest.raises(UsageError, match="nothing known is called") as missing:
        known.load("gdpr-consnt")
    assert missing.value.hint == "did you mean gdpr-consent?"


def test_recall_reaches_its_thresholds(known: KnowledgeStore) -> None:
    known.save(GDPR)
    known.save(STYLE)
    known.save(KnowledgeItem("retries", "The client tries again three times when the server answers 503."))
    known.save(KnowledgeItem("ports", "The staging database listens on port 5433 of the jump host.", "reference"))
    recaller = Recaller(known)

    def ids(question: str, **more: object) -> list[str]:
        return [item.id for item, _ in recaller.recall(question, **more)]  # type: ignore[arg-type]

    assert ids("What do we know about GDPR consent?") == ["gdpr-consent"]
    # These questions contain no keyword: meaning alone must reach 0.70.
    assert ids("does the client try again when the server answers 503") == ["retries"]
    assert ids("on which port does the staging database listen") == ["ports"]
    assert ids("which style of functions") == ["style"]
    assert ids("how are elephants fed in winter") == []
    scores = {one.id: one for one in recaller.scores("gdpr")}
    assert scores["gdpr-consent"].keywords == 0.8
    assert "0.7 ×" in scores["gdpr-consent"].arithmetic
    assert ids("gdpr consent", threshold=0.999) == []


def test_a_score_uses_only_the_signals_that_are_present() -> None:
    assert combined(0.72, None) == 0.72  # the mistake of earlier tools: 0.7 × 0.72 never reaches 0.70
    assert combined(None, 0.8) == 0.8
    assert combined(0.1, 0.9) == pytest.approx(0.34)  # the mean
    assert combined(0.5, 0.9) == pytest.approx(0.763, abs=0.001)  # two signs of one thing make it surer
    assert combined(0.9, 0.2) >= 0.9  # a keyword never lowers a score
    assert combined(0.9, 0.2, 0.7, 0.0) == 0.9
    assert combined(0.9, None, 0.0, 0.3) == 0.0
    assert Keywords({"a": ["rate limit"], "b": ["limbo"], "c": ["zebra"]}).scores("rate limits") == pytest.approx(
        {"a": 0.8}
    )
    assert Keywords({"b": ["authentication"]}).scores("auth authenticat") == pytest.approx({"b": 0.35})
    assert Keywords({"a": ["x", "y"]}).scores("x y") == pytest.approx({"a": 0.96})
    assert Keywords({"a": ["the"]}).scores("what is this") == {}


def test_skills_scope_recall(known: KnowledgeStore) -> None:
    known.save(KnowledgeItem("tips", "Use the sampling profiler before optimising loops.", skill="performance"))
    recaller = Recaller(known)
    question = "sampling profiler before optimising loops"
    assert recaller.recall(question) == []
    assert [item.id for item, _ in recaller.recall(question, skill="performance")] == ["tips"]


def test_external_edits_of_the_list_and_of_files_are_honoured(known: KnowledgeStore, root: Path) -> None:
    known.save(GDPR)
    recaller = Recaller(known)
    assert not recaller.scores("zebra")[0].keywords
    index = root / ".sage" / "knowledge" / "index.yaml"
    index.write_text(index.read_text().replace('["gdpr"]', '["zebra"]'))
    assert recaller.scores("zebra")[0].keywords == 0.8
    assert known.load("gdpr-consent").keywords == ("zebra",)
    # In another style it is still YAML.
    index.write_text("items:\n- id: gdpr-consent\n  keywords: [okapi]\n")
    assert "gdpr-consent" in {one.item.id for one in known.items()}
    # An item's own file is younger than the list: it says what holds.
    file = root / ".sage" / "knowledge" / "global" / "gdpr-consent.md"
    time.sleep(0.01)
    new = root / "new"
    new.write_text(file.read_text().replace("- gdpr", "- giraffe").replace("freely", "gladly"))
    os.replace(new, file)
    assert recaller.scores("giraffe")[0].keywords == 0.8
    assert known.load("gdpr-consent").keywords == ("giraffe",)
    assert "gladly" in known.load("gdpr-consent").content
    assert [one.item.keywords for one in known.items()] == [("giraffe",)]
    # A file that the list does not know, without any frontmatter.
    (file.parent / "by-hand.md").write_text("Elephants remember everything.\n")
    assert recaller.scores("elephants remember")[0].id == "by-hand"
    assert known.load("by-hand").content == "Elephants remember everything."
    known.save(STYLE)
    assert index.read_text().startswith("# Written by Sage")


def test_the_list_is_cached_by_time_and_by_its_file(known: KnowledgeStore, root: Path) -> None:
    known.save(GDPR)
    listed = known.knowledge_list(known.memory_indexes[0].home)
    entries = listed.entries()
    assert listed.entries() is entries
    index = root / ".sage" / "knowledge" / "index.yaml"
    os.utime(index, ns=(1, 1))
    assert listed.entries() is not entries
    impatient = KnowledgeStore(str(root), load_settings(str(root), {"knowledge_cache_ttl_seconds": 0.0}))
    listed = impatient.knowledge_list(impatient.memory_indexes[0].home)
    assert listed.entries() is not listed.entries()


def test_duplicates_and_contradictions_are_reported_and_merged_on_request(known: KnowledgeStore) -> None:
    known.save(KnowledgeItem("limit", "Partners may call the API one hundred times a minute."))
    again = known.save(KnowledgeItem("limit-2", "Partners may call the API one hundred times a minute!"))
    assert [(one.id, one.kind) for one in again.alike] == [("limit", "duplicate")]
    against = known.save(KnowledgeItem("limit-3", "Partners may not call the API one hundred times a minute."))
    assert {one.kind for one in against.alike} == {"contradiction"}
    assert known.save(KnowledgeItem("cats", "Cats sleep all day.")).alike == ()
    assert {one.item.id for one in known.items()} == {"limit", "limit-2", "limit-3", "cats"}
    merged = known.merge("limit", "limit-3")
    assert "may not call" in merged.content
    assert "limit-3" not in {one.item.id for one in known.items()}


def test_todos(known: KnowledgeStore) -> None:
    saved = known.save(TODO).item
    assert saved.status == "pending"
    assert known.load("renew").is_due
    assert [item.id for item, _ in Recaller(known).recall("certificate of the staging host")] == ["renew"]
    done = known.finish("renew")
    assert done.status == "done"
    assert done.done
    assert not known.load("renew").is_due
    assert Recaller(known).recall("certificate of the staging host") == []
    known.save(GDPR)
    with pytest.raises(UsageError, match="is no todo"):
        known.finish("gdpr-consent")


def test_invalid_items_are_refused(known: KnowledgeStore, root: Path) -> None:
    for item, complaint in (
        (KnowledgeItem("x", "y", "nonsense"), "there is no type"),
        (KnowledgeItem("x", " \n"), "the text is empty"),
        (KnowledgeItem("..", "y"), "is no id"),
        (KnowledgeItem("x", "y", due="soon"), "is no day"),
        (KnowledgeItem("x", "y", keywords=("k",) * 51), "too many keywords"),
    ):
        with pytest.raises(UsageError, match=complaint):
            known.save(item)
    assert known.save(KnowledgeItem("../../.bashrc", "y", skill="../../etc")).item.id == "bashrc"
    assert (root / ".sage/knowledge/skills/etc/bashrc.md").is_file()
    (root / ".sage/knowledge/index.yaml").write_text("items: &a [*a]\n")
    again = KnowledgeStore(str(root), Settings())
    assert [one.item.id for one in again.items()] == ["bashrc"]
    assert "anchor" in again.notices.take()[0]
