"""Archival memory: stored, offered when similar, found by words and meaning, filtered by tags, really deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.memory.tiers.archival_memory import MIN_PROBABILITY, ArchivalMemory, tags_of
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.settings.table import Settings

SETTINGS = Settings()
TEXTS = (
    "Alice prefers concise answers without emoji.",
    "The payment gateway is retried five times with exponential backoff, capped at thirty seconds.",
    "The staging database lives in Frankfurt; its read replica lags by ten seconds.",
    "Releases are cut every second Thursday by the platform team.",
)


def archive_of(engine: Engine, user: str = "ann", name: str = "sage", root: str | None = None) -> ArchivalMemory:
    return ArchivalMemory(engine, opened_agent(engine, SETTINGS, name, user), SETTINGS, root)


@pytest.fixture
def archive(engine: Engine) -> ArchivalMemory:
    return archive_of(engine)


@pytest.fixture
def filled(archive: ArchivalMemory) -> ArchivalMemory:
    for text, tags in zip(TEXTS, ("person", "payments, reliability", "infra,database", "process"), strict=True):
        assert archive.insert(text, tags).similar == ()
    return archive


def test_a_passage_is_found_by_words_and_by_meaning(filled: ArchivalMemory) -> None:
    found = filled.search("how often do we retry the payment gateway?")
    assert found[0].passage.content == TEXTS[1]
    assert found[0].passage.tags == ("payments", "reliability")
    assert found[0].words > 0.5
    assert filled.search("on which weekday are versions published")[0].passage.content == TEXTS[3]  # shares no word
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_weak_matches_are_not_shown(filled: ArchivalMemory) -> None:
    assert filled.search("the colour of giraffes in Botswana") == []
    assert all(one.score >= MIN_PROBABILITY for one in filled.search("database in Frankfurt"))
    with pytest.raises(UsageError, match="no words"):
        filled.search("  ")
    with pytest.raises(UsageError, match="at least 1"):
        filled.search("x", 0)


def test_all_tags_must_match(filled: ArchivalMemory) -> None:
    filled.insert("The payment database is encrypted at rest.", ["Payments", "database"])
    question = "payment database"
    assert {one.passage.content for one in filled.search(question, tags="payments")} == {
        TEXTS[1],
        "The payment database is encrypted at rest.",
    }
    assert [one.passage.content for one in filled.search(question, tags=("payments", "DATABASE"))] == [
        "The payment database is encrypted at rest."
    ]
    assert filled.search(question, tags="payment") == []  # a part of a tag is no tag
    assert filled.search(question, tags="pay%, _") == []
    assert len(filled.list("payments")) == 2
    assert [passage.content for passage in filled.list(limit=2)] == [
        "The payment database is encrypted at rest.",
        TEXTS[3],
    ]


@pytest.mark.parametrize(
    ("given", "tags"),
    [
        ("", ()),
        (" A, b ,a,, ", ("a", "b")),
        ('["x", "y z"]', ("x", "y z")),
        (("a,b", "C"), ("a", "b", "c")),
        ("naïve_tag-1, 日本", ("naïve_tag-1", "日本")),
    ],
)
def test_tags_come_in_many_forms(given: str, tags: tuple[str, ...], archive: ArchivalMemory) -> None:
    assert tags_of(given) == tags
    assert archive.insert("a text", given).passage.tags == tags
    assert [passage.tags for passage in archive.list(tags)] == [tags]


def test_what_resembles_a_new_passage_is_offered_and_kept(filled: ArchivalMemory) -> None:
    saved = filled.insert(
        "The payment gateway is retried five times with exponential backoff, capped at sixty seconds."
    )
    assert [one.passage.content for one in saved.similar] == [TEXTS[1]]
    assert 0.5 < saved.similar[0].similarity <= 1
    again = filled.insert(TEXTS[0])
    assert again.similar[0].passage.content == TEXTS[0]
    assert again.similar[0].passage.id != again.passage.id
    assert filled.count() == len(TEXTS) + 2


def test_the_newest_of_equal_passages_is_first(archive: ArchivalMemory) -> None:
    saved = [archive.insert("The deploy password rotates monthly.").passage.id for _ in range(3)]
    assert [one.passage.id for one in archive.search("deploy password rotation")] == saved[::-1]


def test_a_long_passage_is_found_by_any_part(archive: ArchivalMemory) -> None:
    filler = "\n\n".join(
        f"Paragraph {number} about gardening, soil and the weather of the season." for number in range(80)
    )
    archive.insert(f"{filler}\n\nThe zeppelin hangar is reserved for March.\n\n{filler}")
    assert len(archive.search("when is the zeppelin hangar reserved?")) == 1


def test_secrets_are_masked(archive: ArchivalMemory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    saved = archive.insert(f"The token is {secret}")
    assert saved.masked
    assert secret not in archive.show(saved.passage.id).passage.content


def test_a_passage_is_deleted_for_good(filled: ArchivalMemory) -> None:
    passage = filled.search("payment gateway")[0].passage
    assert filled.delete(passage.id) == passage
    assert filled.search("payment gateway retried backoff") == []
    assert filled.count() == len(TEXTS) - 1
    for unknown in (passage.id, "nonsense", ""):
        with pytest.raises(UsageError, match="no passage"):
            filled.delete(unknown)
        with pytest.raises(UsageError, match="no passage"):
            filled.show(unknown)


def test_empty_and_huge_texts_are_refused(archive: ArchivalMemory) -> None:
    for text in ("", " \n", "x" * 200_001):
        with pytest.raises(UsageError):
            archive.insert(text)
    assert archive.insert("a\x00b\ud800").passage.content == "a\ufffdb\ufffd"


def test_code_references_are_checked(engine: Engine, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "retry.py").write_text("def attempts():\n    limit = 5\n    return limit\n")
    archive = archive_of(engine, root=str(root))
    saved = archive.insert("Payments are retried five times.", "payments", ["retry.py:2"])
    assert [ref["symbol"] for ref in saved.passage.code_refs] == ["attempts"]
    assert [state.state for state in archive.search("payments retried")[0].states] == ["unchanged"]
    (root / "retry.py").write_text("def attempts():\n    limit = 9\n    return limit\n")
    found = archive.search("payments retried")[0]
    assert found.is_stale
    assert [state.state for state in archive.show(saved.passage.id).states] == ["changed"]
    assert archive_of(engine, root=str(tmp_path)).search("payments retried")[0].states == ()
    with pytest.raises(UsageError):
        archive.insert("Nothing there.", code_refs=["missing.py:1"])
    with pytest.raises(UsageError, match="inside a project"):
        archive_of(engine).insert("No project.", code_refs=["retry.py:1"])


def test_another_model_makes_new_vectors(filled: ArchivalMemory) -> None:
    settings = Settings(embedding_model="hashing")
    other = ArchivalMemory(filled.engine, filled.agent, settings)
    assert other.search("payment gateway retried")[0].passage.content == TEXTS[1]
    assert other.search("payment gateway retried")[0].cosine > 0.1
    back = archive_of(filled.engine)
    # Somebody else has told the database about the model already.
    embedder = filled._embedder()
    back.engine.use_model(embedder.name, embedder.dim)
    assert back.search("on which weekday are versions published")[0].passage.content == TEXTS[3]


def test_an_agent_has_its_own_archive(filled: ArchivalMemory) -> None:
    theirs = filled.list()[0].id
    for user, name in (("bob", "sage"), ("ann", "other")):
        another = archive_of(filled.engine, user, name)
        assert another.search("payment gateway retried backoff") == []
        assert another.search("payment gateway", tags="payments") == []
        assert another.list() == []
        assert another.count() == 0
        assert another.insert(TEXTS[1]).similar == ()
        for use in (another.show, another.delete):
            with pytest.raises(UsageError, match="no passage"):
                use(theirs)
    assert filled.count() == len(TEXTS)
