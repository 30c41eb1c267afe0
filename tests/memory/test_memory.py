"""Saving through the façade: masked secrets, duplicates, the session's code, maintenance, and the session's opening."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.memory.recall.project_names import project_names
from sage_code.memory.save_policy import EXEMPT_FROM_DEPTH, MIN_CONFIDENCE, refusal_for_confidence, refusal_for_depth
from sage_code.memory.session_opening import session_opening
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory(root: Path) -> Memory:
    return Memory(str(root), load_settings(str(root)))


def _given(**more: object) -> dict[str, object]:
    return {"core_question": "How are tokens signed?", "thesis": "With rotating keys.", "confidence": 0.8, **more}


def test_all_given_fields_are_saved(memory: Memory, root: Path) -> None:
    (root / "auth.py").write_text("def sign():\n    return 1\n")
    saved = memory.save_checkpoint(
        _given(
            sources=[{"id": "rfc", "type": "doc", "take": "says so", "relation": "supports"}, "only a name"],
            tensions=[{"between": ["a", "b"], "nature": "n"}, {"source1": "c", "source2": "d", "nature": "m"}],
            unique_contributions=[{"type": "experiment", "content": "ran"}, "in words"],
            key_evidence=["one", 2],
            trigger="synthesis",
            message_count=15,
            token_estimate=6000,
            template="decision",
            fields={"options": "RS256 or ES256"},
            code_refs=[{"file": "auth.py", "lines": [1, 2], "relevance": "supports"}],
        )
    )
    assert saved.checkpoint is not None
    assert (saved.judgement.verdict, saved.masked) == ("save", ())
    loaded = memory.checkpoints.load(saved.checkpoint.id)
    assert loaded == saved.checkpoint
    assert [source.id for source in loaded.sources] == ["rfc", "only a name"]
    assert loaded.tensions[1].between == ("c", "d")
    assert [(ref.symbol, ref.lines, ref.relevance) for ref in loaded.code_refs] == [("sign", (1, 2), "supports")]
    assert loaded.project == "payments-api"  # a team shares it: no path of this machine
    text = (root / ".sage" / "checkpoints" / f"{loaded.id}.md").read_text()
    assert "## Options\nRS256 or ES256" in text


def test_secrets_are_masked_in_all_fields_and_reported(memory: Memory, root: Path) -> None:
    saved = memory.save_checkpoint(_given(key_evidence=[f"it works with {TOKEN}"]))
    assert saved.masked == ("GitHub token",)
    _, masked = memory.save_knowledge(KnowledgeItem("deploy", f"Use {TOKEN} to deploy."))
    assert masked == ("GitHub token",)
    for path in root.rglob("*"):
        assert not path.is_file() or TOKEN not in path.read_bytes().decode("latin-1")
    memory.save_knowledge(KnowledgeItem("deploy", f"Use {TOKEN} to deploy."), allow_secret=True)
    assert TOKEN in memory.knowledge.load("deploy").content


def test_autosave_judges_confidence_depth_and_repeats(memory: Memory) -> None:
    def verdict(**more: object) -> str:
        return memory.save_checkpoint(_given(**more), autosave=True).judgement.verdict

    assert verdict(trigger="synthesis", confidence=0.49) == "unsure"
    assert verdict(trigger="synthesis", message_count=3) == "shallow"
    assert verdict(trigger="synthesis", message_count=20, token_estimate=100) == "shallow"
    assert verdict(trigger="synthesis", message_count=20, token_estimate=5000) == "save"
    assert verdict(trigger="synthesis") == "duplicate"
    assert verdict(trigger="synthesis", thesis="With rotating keys!") == "duplicate"
    assert verdict(trigger="synthesis", thesis="By hardware modules in the data centre, never in software.") == "save"
    assert verdict(trigger="precompact", thesis="Something short", confidence=0.0, message_count=1) == "save"
    assert memory.save_checkpoint(_given()).judgement.verdict == "save"  # who asks for it, gets it
    with pytest.raises(UsageError, match="there is no trigger"):
        verdict(trigger="whim")
    with pytest.raises(UsageError, match="needs a thesis"):
        verdict(thesis=" ")


@pytest.mark.parametrize("trigger", sorted(MIN_CONFIDENCE))
def test_the_table_of_triggers(trigger: str) -> None:
    least = MIN_CONFIDENCE[trigger]
    assert refusal_for_confidence(trigger, least) is None
    assert least == 0 or refusal_for_confidence(trigger, least - 0.01) is not None
    assert (refusal_for_depth(trigger, 1, 1, Settings()) is None) == (trigger in EXEMPT_FROM_DEPTH)
    assert refusal_for_depth(trigger, 0, 0, Settings()) is None  # not given, not checked


def test_the_duplicate_threshold_fits_the_bundled_model(memory: Memory) -> None:
    """Other words for the same thing stay below, the same sentence with a word changed is above."""
    thesis = "The importer must stream, because reading whole files costs four times their size in memory."
    memory.save_checkpoint(_given(thesis=thesis))
    similar = {
        text: memory.checkpoints.nearest_thesis(text)[0].similarity  # type: ignore[union-attr]
        for text in (
            thesis.replace("must", "should"),
            "Reading whole files costs four times their size in memory, so the importer must stream.",
            "Load rows one by one: a file held in RAM takes several times its size.",
            "The login is slow because of the password hash.",
        )
    }
    same, turned, reworded, other = similar.values()
    assert same > 0.95
    assert turned > 0.9
    assert other < reworded < 0.9


def test_code_context_comes_from_the_transcript(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "auth.py").write_text("def sign():\n    return 1\n")
    folder = (
        Path(os.environ["HOME"])
        / ".claude"
        / "projects"
        / "".join(letter if letter.isalnum() else "-" for letter in os.path.realpath(root))
    )
    folder.mkdir(parents=True)
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    uses = [
        ("t1", "Read", {"file_path": str(root / "auth.py")}),
        ("t2", "Edit", {"file_path": str(root / "auth.py"), "old_string": "1", "new_string": "2"}),
        ("t3", "Read", {"file_path": "/etc/passwd"}),
    ]
    records = []
    for number, (use, name, given) in enumerate(uses):
        common = {
            "cwd": str(root),
            "sessionId": "s",
            "timestamp": f"2026-08-01T10:00:0{number}.000Z",
            "isSidechain": False,
        }
        block = {"type": "tool_use", "id": use, "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": use, "content": "ok", "is_error": False}
        message = {"id": f"m{number}", "role": "assistant", "content": [block]}
        records.append({"type": "assistant", "uuid": f"a{number}", "message": message, **common})
        records.append(
            {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [result]}, **common}
        )
    (folder / "s.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    memory = Memory(str(root), load_settings(str(root)))
    saved = memory.save_checkpoint(_given()).checkpoint
    assert saved is not None
    assert saved.files_explored == {"auth.py"}
    assert saved.files_changed == {"auth.py"}
    assert all(ref.file == "auth.py" for ref in saved.code_refs)
    plain = memory.save_checkpoint(_given(thesis="other"), auto_code_context=False).checkpoint
    assert plain is not None
    assert not plain.files_changed


def test_the_names_of_a_project(root: Path) -> None:
    assert project_names(str(root)) == ["payments-api"]
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:acme/payments-service.git\n')
    (root / "pyproject.toml").write_text('[project]\nname = "acme-payments"\n')
    (root / "package.json").write_text('{"name": "@acme/pay"}')
    assert project_names(str(root)) == ["payments-api", "payments-service", "acme-payments", "@acme/pay"]
    (root / "package.json").write_text("[" * 100_000)
    (root / "pyproject.toml").write_text("[project\n")
    assert project_names(str(root)) == ["payments-api", "payments-service"]


def test_the_opening_of_a_session(memory: Memory, root: Path) -> None:
    assert session_opening(str(root), 500) == ""
    memory.save_knowledge(
        KnowledgeItem("stripe-integration", "Use PaymentIntents for payments.", keywords=("stripe", "payments", "api"))
    )
    memory.save_knowledge(KnowledgeItem("cooking", "Salt the water before the pasta.", keywords=("pasta",)))
    memory.save_knowledge(KnowledgeItem("renew", "Renew it.", "todo", due="2020-01-01"))
    text = session_opening(str(root), 500)
    assert text.splitlines()[0] == "<sage-memory>"
    assert text.splitlines()[2] == "Recalled for payments-api:"
    assert "- stripe-integration (stripe, payments, api): Use PaymentIntents" in text
    assert "cooking" not in text
    assert "- renew (due 2020-01-01)" in text
    assert session_opening(str(root), 5) == ""


def test_a_thesis_saved_twice_within_a_second_is_one_checkpoint(memory: Memory) -> None:
    first = memory.save_checkpoint(_given())
    assert first.checkpoint is not None
    again = memory.save_checkpoint(_given())
    assert (again.checkpoint, again.judgement.verdict) == (None, "duplicate")
    assert again.similar is not None
    assert again.similar.id == first.checkpoint.id
    assert memory.save_checkpoint(_given(core_question="Another one?")).checkpoint is not None
    later = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert memory.save_checkpoint(_given(ts=later)).checkpoint is not None  # asked for again, it is kept


def test_many_saves_of_one_thesis_at_once_give_one_checkpoint(root: Path) -> None:
    memories = [Memory(str(root), load_settings(str(root))) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        given = _given(trigger="synthesis", ts="2026-08-01T10:00:00Z")
        done = list(pool.map(lambda memory: memory.save_checkpoint(given, autosave=True), memories))
    assert [one.judgement.verdict for one in done].count("save") == 1
    assert len(os.listdir(root / ".sage" / "checkpoints")) == 1


def test_the_example_of_the_readme_is_recalled_and_what_comes_next_is_shown(memory: Memory) -> None:
    text = "The staging database listens on 5433"
    memory.save_knowledge(KnowledgeItem("staging-db", text, keywords=("staging", "database")))
    assert [item.id for item, _ in memory.recaller.recall("on which port is staging")] == ["staging-db"]
    assert memory.recaller.recall("how do we back up the database of production") == []
    (near,) = memory.recaller.nearest("how do we back up the database of production")
    assert (near.id, near.is_recalled) == ("staging-db", False)
    assert memory.recaller.nearest("who waters the plants") == []


def test_todos_with_one_name_and_other_texts_do_not_replace_each_other(memory: Memory) -> None:
    texts = ["Renew the certificate of the staging host", "Renew the certificate of the staging host, then restart"]
    ids = [memory.add_todo(text)[0].item.id for text in (*texts, texts[0])]
    assert ids == ["renew-the-certificate-of-the-staging", "renew-the-certificate-of-the-staging-2", ids[0]]
    assert {one.item.id for one in memory.knowledge.items(kind="todo")} == set(ids)
