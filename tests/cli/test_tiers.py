"""`sage memory` as a person meets it, and the password of an address that nothing prints."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.engines.opening import default_path, open_engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.values import NewMessage
from sage_code.paths import assets_dir
from sage_code.settings.loading import load_settings

Run = Callable[..., Any]
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HOSTILE = "ring \x07 \x1b[31mred\x1b[0m \u202eback"


@pytest.fixture(autouse=True)
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(sample)
    return sample


@pytest.fixture
def printed(sage: Run) -> Run:
    """Runs a command with --json and gives back its document, once it is known to be what the schema says."""

    def run(schema: str, *words: str, code: int = 0) -> Any:
        result = sage("memory", *words, "--json")
        assert result.code == code, result.err
        document = json.loads(result.out)
        whole = json.loads(Path(assets_dir("compiled_schema"), f"{schema}.json").read_text())
        Draft202012Validator(whole).validate(document)
        return document

    return run


def _editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """An editor that runs code with the file's name in `path`."""
    script = tmp_path / "editor.py"
    script.write_text(f"import sys\nfrom pathlib import Path\npath = Path(sys.argv[-1])\n{code}\n")
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    monkeypatch.delenv("VISUAL", raising=False)


def test_blocks_from_the_first_edit_to_the_last_undo(sage: Run, printed: Run) -> None:
    listed = sage("memory", "blocks")
    assert [line.split("  ")[0] for line in listed.out.splitlines()] == ["persona", "human"]
    assert (
        sage("memory", "edit", "human", "--append", "Name: Ann").out
        == "human is at version 2: 9 of 20,000 characters\n"
    )
    assert sage("memory", "edit", "human", "--set", "Name: Anna\nLikes tea").code == 0
    assert sage("memory", "blocks", "human").out == "Name: Anna\nLikes tea\n"
    document = printed("memory_blocks", "blocks", "human")
    assert [block["value"] for block in document["blocks"]] == ["Name: Anna\nLikes tea"]
    assert document["last_memory_update"]
    history = printed("memory_history", "history", "human")
    assert [(one["version"], one["action"]) for one in history["versions"]] == [
        (3, "set"),
        (2, "append"),
        (1, "create"),
    ]
    assert "v2  append  just now  9  Name: Ann" in sage("memory", "history", "human").out
    assert printed("memory_edit", "undo", "human")["version"] == 4
    assert sage("memory", "blocks", "human").out == "Name: Ann\n"
    assert sage("memory", "undo", "human", "--to", "3").out.startswith("human is at version 5: Name: Anna")
    assert "has no version 99" in sage("memory", "undo", "human", "--to", "99").err
    prompt = sage("memory", "blocks", "--prompt").out
    assert prompt.startswith("<memory_blocks>")
    assert "<memory_metadata>" in prompt


def test_a_label_that_is_wrong_is_an_error_that_names_the_others(sage: Run) -> None:
    for words in (["blocks", "hunam"], ["edit", "hunam", "--set", "x"], ["history", "hunam"], ["undo", "hunam"]):
        refused = sage("memory", *words)
        assert refused.code == 2, words
        assert "there is no block 'hunam'" in refused.err
        assert "human, persona" in refused.err
        assert "Traceback" not in refused.err
    assert "cannot be a label" in sage("memory", "edit", "no label", "--new", "--set", "x").err
    assert "two edits" in sage("memory", "edit", "human", "--set", "x", "--append", "y").err
    document = json.loads(sage("memory", "blocks", "hunam", "--json").out)
    assert document["error"]["code"] == "usage"


def test_blocks_of_ones_own_and_blocks_that_agents_only_read(
    sage: Run, printed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ("edit", "team", "--new", "--description", "How we work", "--set", "Reviews within a day.", "--read-only")
    assert printed("memory_edit", *made)["version"] == 1
    assert "there is a block team already" in sage("memory", *made).err
    assert "(read-only) Reviews" in sage("memory", "blocks").out
    monkeypatch.setattr("sys.stdin", io.StringIO("Reviews within an hour.\n"))
    assert sage("memory", "edit", "team", "--set", "-").code == 0  # a person may
    engine, settings = open_engine(), load_settings(None)
    core = CoreMemory(engine, opened_agent(engine, settings), settings)
    with pytest.raises(Exception, match="read-only"):
        core.append("team", "and an agent may not")
    assert sage("memory", "edit", "team", "--writable", "--description", "Rules").code == 0
    core.append("team", "now it may")
    assert core.block("team").description == "Rules"
    engine.close()
    counted = sage("memory", "forget", "--block", "team")
    assert counted.code == 2
    assert "would be deleted for good" in counted.err
    assert printed("memory_forget", "forget", "--block", "team", "--force")["rows"]["blocks"] == 1
    assert sage("memory", "history", "team").code == 2


def test_a_block_is_edited_in_the_editor(sage: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sage("memory", "edit", "human", "--set", "Name: Ann")
    _editor(monkeypatch, tmp_path, "path.write_text(path.read_text().replace('Ann', 'Berta'))")
    assert "version 3" in sage("memory", "edit", "human").out
    assert sage("memory", "blocks", "human").out == "Name: Berta\n"
    _editor(monkeypatch, tmp_path, "pass")
    assert "version 3" in sage("memory", "edit", "human").out  # as it was
    monkeypatch.delenv("EDITOR")
    assert "neither $VISUAL nor $EDITOR is set" in sage("memory", "edit", "human").err


def test_who_is_slower_in_the_editor_is_told_and_keeps_the_text(
    sage: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sage("memory", "edit", "human", "--set", "Name: Ann")
    other = (
        "from sage_code.memory.tiers.manager import MemoryManager\n"
        "with MemoryManager() as memory:\n    memory.core.append('human', 'from an agent')\n"
        "path.write_text('from a person')\n"
    )
    _editor(monkeypatch, tmp_path, other)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    refused = sage("memory", "edit", "human")
    assert refused.code == 2
    assert "version 3, not 2" in refused.err
    assert "your text is in" in refused.err
    kept = Path("".join(refused.err.split("your text is in ")[1].split()))
    assert kept.read_text() == "from a person"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    kept.unlink()
    assert "from an agent" in sage("memory", "blocks", "human").out


def test_the_archive_from_adding_to_deleting(sage: Run, printed: Run, project: Path) -> None:
    words = ("add", "connect retries three times", "--tags", "net, Retry", "--ref", "server.py:17-19")
    added = printed("archival_insert", *words)
    assert added["tags"] == ["net", "retry"]
    assert added["code_refs"] == 1
    again = sage("memory", "add", "connect retries three times.")
    assert again.out.splitlines()[1].startswith(f"  like {added['id']} (")
    found = printed("archival_search", "search", "how often does connect retry", "--tags", "net")
    assert [one["id"] for one in found["results"]] == [added["id"]]
    assert {ref["state"] for ref in found["results"][0]["code_refs"]} == {"unchanged"}
    server = project / "server.py"
    server.write_text(server.read_text().replace("[host] * retries", "[host]"))
    assert "(stale) connect retries" in sage("memory", "search", "how often does connect retry").out
    shown = printed("archival_passage", "show", added["id"])
    assert "changed" in {ref["state"] for ref in shown["code_refs"]}
    assert "   changed  server.py" in sage("memory", "show", added["id"]).out
    assert len(printed("archival_list", "list")["passages"]) == 2
    assert len(printed("archival_list", "list", "--tags", "retry")["passages"]) == 1
    assert printed("memory_rm", "rm", added["id"])["removed"]
    gone = sage("memory", "rm", added["id"])
    assert gone.code == 2
    assert "has no passage" in gone.err
    assert sage("memory", "show", "no-id").code == 2
    assert sage("memory", "add", "  ").code == 2


def test_an_empty_memory_says_so(sage: Run, printed: Run) -> None:
    assert sage("memory", "list").code == 1
    nothing = sage("memory", "search", "anything")
    assert (nothing.code, nothing.out) == (1, "")
    assert printed("archival_search", "search", "anything", code=1)["results"] == []
    status = printed("memory_status", "status")
    assert (status["engine"], status["uri"]) == ("sqlite", default_path())
    assert status["rows"]["messages"] == 0
    assert sage("memory", "verify").code == 0
    assert printed("memory_rebuild", "rebuild")["passages"] == 0


def test_agents_are_kept_apart_and_named_only_by_their_own_user(
    sage: Run, printed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sage("memory", "agents").code == 1
    sage("memory", "edit", "human", "--set", "of sage")
    monkeypatch.setenv("SAGE_MEMORY_AGENT", "helper")
    sage("memory", "edit", "human", "--set", "of helper")
    sage("memory", "add", "what helper keeps")
    monkeypatch.delenv("SAGE_MEMORY_AGENT")
    assert [one["name"] for one in printed("memory_agents", "agents")["agents"]] == ["helper", "sage"]
    assert sage("memory", "blocks", "human", "--agent", "helper").out == "of helper\n"
    assert sage("memory", "blocks", "human").out == "of sage\n"
    assert sage("memory", "list").code == 1
    wrong = sage("memory", "blocks", "--agent", "hleper")
    assert wrong.code == 2
    assert "there are: helper, sage" in wrong.err
    monkeypatch.setenv("SAGE_MEMORY_USER", "mallory")
    for words in (
        ["blocks", "--agent", "helper"],
        ["list", "--agent", "helper"],
        ["forget", "--agent", "helper", "--force"],
    ):
        refused = sage("memory", *words)
        assert refused.code == 2
        assert "has no agent 'helper'" in refused.err
    assert sage("memory", "blocks", "human").out == "\n"
    monkeypatch.delenv("SAGE_MEMORY_USER")
    assert "--force deletes them" in sage("memory", "forget", "--agent", "helper").err
    assert printed("memory_forget", "forget", "--agent", "helper", "--force")["rows"]["passages"] == 1
    assert [one["name"] for one in printed("memory_agents", "agents")["agents"]] == ["sage"]
    assert "nothing says what to forget" in sage("memory", "forget", "--force").err


def test_what_was_forgotten_is_in_no_file(sage: Run, sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGE_MEMORY_AGENT", "helper")
    sage("memory", "edit", "human", "--set", "xylophonequartz in a block")
    sage("memory", "add", "xylophonequartz in the archive")
    assert sage("memory", "forget", "--agent", "helper", "--force").code == 0
    for path in (one for one in (sage_home / "memory").rglob("*") if one.is_file()):
        assert b"xylophonequartz" not in path.read_bytes(), path


def test_secrets_are_masked_and_hostile_text_is_escaped(sage: Run) -> None:
    masked = sage("memory", "add", f"the token is {TOKEN}")
    assert "masked: GitHub token" in masked.err
    assert TOKEN not in sage("memory", "list", "--json").out
    sage("memory", "edit", "human", "--set", HOSTILE)
    sage("memory", "add", HOSTILE, "--tags", "a\x1b[2J")
    shown = [sage("memory", *words).out for words in (["blocks"], ["blocks", "human"], ["history", "human"], ["list"])]
    for text in shown:
        assert not {"\x07", "\x1b", "\u202e"} & set(text)


def test_a_copy_beside_the_memory_has_the_same_digests(
    sage: Run, printed: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nothing in" in sage("memory", "move", "--to", str(tmp_path / "none.db")).err
    engine, settings = open_engine(), load_settings(None)
    recall = RecallMemory(engine, opened_agent(engine, settings), settings)
    recall.add([NewMessage("user", f"message {number}", session="s") for number in range(20)])
    engine.close()
    sage("memory", "add", "a passage")
    target = str(tmp_path / "copy.db")
    proof = printed("memory_move", "move", "--to", target)
    assert proof["identical"]
    assert {one["table"]: one["rows"] for one in proof["tables"]}["messages"] == 20
    said = sage("memory", "move", "--to", target).out
    assert f"sage config set memory_uri {target}" in said
    assert "already" in sage("memory", "move", "--to", default_path()).err
    assert sage("memory", "move", "--to", "mysql://x/y").code == 2
    monkeypatch.setenv("SAGE_MEMORY_URI", target)
    assert printed("memory_status", "status")["rows"]["messages"] == 20
    assert printed("memory_verify", "verify")["clean"]
    assert printed("memory_rebuild", "rebuild")["messages"] == 20


def test_a_server_that_is_not_there_is_an_error_without_the_password(
    sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAGE_MEMORY_URI", "postgresql://me:open-sesame-77@127.0.0.1:1/none")
    for words in (["memory", "status"], ["memory", "blocks", "--json"], ["config", "get", "memory_uri"]):
        result = sage(*words)
        assert "sesame" not in result.out + result.err, words
        assert "Traceback" not in result.err
    monkeypatch.delenv("SAGE_MEMORY_URI")
    refused = sage("memory", "move", "--to", "postgresql://me:open-sesame-77@127.0.0.1:1/none")
    assert refused.code == 2
    assert "sesame" not in refused.err


def test_no_password_of_a_setting_is_printed_and_its_file_is_private(sage: Run, sage_home: Path) -> None:
    sage_home.mkdir(parents=True, exist_ok=True)
    (sage_home / "tuning.yaml").write_text("recall_threshold: 0.5\n")
    (sage_home / "tuning.yaml").chmod(0o644)
    uri = "postgresql://me:open-sesame-77@db.example.org/team?sslpassword=open-sesame-78"
    shown = [sage("config", "set", "memory_uri", uri)]
    shown += [sage("config", "get", "memory_uri"), sage("config", "get", "memory_uri", "--json")]
    shown += [sage("config", "list"), sage("config", "list", "--json")]
    for one in shown:
        assert one.code == 0
        assert "sesame" not in one.out + one.err
        assert "postgresql://me:***@db.example.org/team?sslpassword=***" in one.out
    assert uri in (sage_home / "tuning.yaml").read_text()
    assert stat.S_IMODE((sage_home / "tuning.yaml").stat().st_mode) == 0o600
    assert load_settings(None).memory_uri == uri


def test_the_python_of_the_readme_runs_as_written() -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL):
        exec(compile(block, "README.md", "exec"), names)
    assert "I deploy on Fridays" in names["prompt"]
    assert "Name: Ann" in names["system"]
    assert {tool.name for tool in names["tools"]} >= {"memory_replace", "conversation_search", "archival_insert"}
