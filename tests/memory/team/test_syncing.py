"""Two machines of a team: edits made offline on both sides are kept, and what others share is found by recall."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code.memory.files.homes import homes
from sage_code.memory.memory import Memory
from sage_code.memory.team.replica import Replica
from sage_code.memory.team.syncing import TeamReplica
from sage_code.memory.team.team_memory import TeamMemory
from sage_code.serving.requester import Requester, acting_as
from sage_code.settings.table import Settings

PROJECT = "git.example/payments"
NOTE = "---\nid: retries\ntype: knowledge\nkeywords: [retry]\n---\nfirst\nsecond\nthird\n"
Open = Callable[..., TeamMemory]


class Machine:
    """A person's machine: a home of its own."""

    def __init__(self, folder: Path, member: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.root, self.member, self._patch = folder / member, folder / f"{member}-code", member, monkeypatch
        self.root.mkdir(parents=True)
        self.on()

    def on(self) -> TeamReplica:
        """Work on this machine from here on."""
        self._patch.setenv("SAGE_HOME", str(self.home))
        return TeamReplica(Replica("core"), self.member, str(self.root), PROJECT)

    def files(self) -> dict[str, str]:
        """What others have shared, by path."""
        self.on()
        found = [home for home in homes(str(self.root)) if home.scope == "team"]
        return {path.name: path.read_text() for home in found for path in Path(home.path()).rglob("*.md")}


def test_offline_edits_on_two_sides_are_both_kept(of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, ben = (Machine(tmp_path, name, monkeypatch) for name in ("ada", "ben"))
    edit, _ = ada.on().share("knowledge", "retries", NOTE, "team")
    ada.on().sync(of("ada"))
    ben.on().sync(of("ben"))
    assert ben.files() == {"retries--ada.md": NOTE}

    away = TeamMemory("postgresql://ben@127.0.0.1:9/none", "core", patience_s=0.1)
    ada.on().edit(edit.item, NOTE.replace("first", "FIRST"))
    ben.on().edit(edit.item, NOTE.replace("third", "THIRD"))
    ben.on().edit(edit.item, NOTE.replace("third", "THIRD").replace("second", "second half"))
    alone = ben.on().sync(away)
    assert alone.offline
    assert alone.waiting == 2
    away.close()

    ada.on().sync(of("ada"))
    assert [one.outcome for one in ben.on().sync(of("ben")).sent] == ["merged", "merged"]
    assert "FIRST\nsecond half\nTHIRD\n" in ben.files()["retries--ada.md"]

    ada.on().sync(of("ada"))
    ada.on().edit(edit.item, NOTE.replace("first", "ada's"))
    ben.on().edit(edit.item, NOTE.replace("first", "ben's"))
    ada.on().sync(of("ada"))
    done = ben.on().sync(of("ben"))
    assert [one.outcome for one in done.sent] == ["conflict"]
    assert "ben's" in done.conflicts[0].text
    assert "ada's" in ben.files()["retries--ada.md"]
    ben.on().resolve(of("ben"), edit.item, NOTE.replace("first", "ada's and ben's"))
    assert ben.on().sync(of("ben")).conflicts == ()


def test_an_edited_file_is_an_edit_and_hidden_items_disappear(
    of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, ben = (Machine(tmp_path, name, monkeypatch) for name in ("ada", "ben"))
    edit, _ = ada.on().share("knowledge", "retries", NOTE, "project")
    ada.on().sync(of("ada"))
    ben.on().sync(of("ben"))
    file = next(path for path in ben.home.rglob("retries--ada.md"))
    file.write_text(NOTE.replace("second", "edited by hand"))
    assert len(ben.on().sync(of("ben")).edited) == 1
    assert ben.on().sync(of("ben")).edited == ()
    now = of("ada").read(edit.item)
    assert now is not None
    assert (now.editor, "edited by hand" in now.text) == ("ben", True)

    ada.on().sync(of("ada"))
    ada.on().edit(edit.item, now.text, visibility="me")
    ada.on().sync(of("ada"))
    ben.on().sync(of("ben"))
    assert ben.files() == {}


def test_a_lost_acknowledgement_stores_nothing_twice(of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = Machine(tmp_path, "ada", monkeypatch)
    edit, _ = ada.on().share("knowledge", "retries", NOTE, "team")
    server = of("ada")
    server.write(edit)  # and the process ended before it noted that
    sent = ada.on().sync(server).sent
    assert [(one.number, one.outcome) for one in sent] == [(1, "stored")]
    assert len(server.history(edit.item)) == 1
    assert ada.on().replica.queued() == []


def test_secrets_do_not_leave_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = Machine(tmp_path, "ada", monkeypatch)
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    edit, kinds = ada.on().share("knowledge", "token", f"the token is {secret}\n", "team")
    assert secret not in edit.text
    assert kinds
    assert (ada.home / "team" / "replica.db").stat().st_mode & 0o077 == 0


def test_recall_finds_what_others_share(of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, ben = (Machine(tmp_path, name, monkeypatch) for name in ("ada", "ben"))
    ada.on().share("knowledge", "retries", NOTE.replace("first", "Payments are retried three times."), "team")
    ada.on().sync(of("ada"))
    ben.on().sync(of("ben"))
    rows = list(Memory(str(ben.root), Settings()).knowledge.items())
    assert [(one.item.id, one.scope) for one in rows] == [("retries--ada", "team")]


def test_a_file_of_ones_own_gets_the_edits_of_others(of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ada, ben = (Machine(tmp_path, name, monkeypatch) for name in ("ada", "ben"))
    ada.on()
    own = homes(None)[0]
    own.prepare("knowledge/global")
    own.write(NOTE, "knowledge/global/retries.md")
    edit, _ = ada.on().share("knowledge", "retries", NOTE, "team", (own, "knowledge/global/retries.md"))
    ada.on().sync(of("ada"))
    ben.on().sync(of("ben"))
    ben.on().edit(edit.item, NOTE.replace("third", "THIRD"))
    ben.on().sync(of("ben"))

    ada.on()
    own.write(NOTE.replace("first", "FIRST"), "knowledge/global/retries.md")
    assert [one.outcome for one in ada.on().sync(of("ada")).sent] == ["merged"]
    assert own.read("knowledge/global/retries.md").endswith("FIRST\nsecond\nTHIRD\n")
    assert ada.files() == {}
    own.remove("knowledge/global/retries.md")
    ada.on().sync(of("ada"))
    assert list(ada.files()) == ["retries--ada.md"]


def test_a_server_for_many_users_shows_no_files_of_a_team(
    of: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = Machine(tmp_path, "ada", monkeypatch)
    ada.on().share("knowledge", "retries", NOTE, "team")
    ada.on().sync(of("ada"))
    assert list(ada.files()) == ["retries--ada.md"]
    with acting_as(Requester("ben", frozenset({"admin"}), (str(ada.root),))):
        assert ada.files() == {}
