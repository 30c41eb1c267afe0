"""`sage team` as its users see it: two machines, with the server and without it; documents are as their schemas say."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from jsonschema import Draft202012Validator
from postgres_server import PostgresServer
from referencing import Registry, Resource

from sage_code.paths import assets_dir

Run = Callable[..., Any]
AWAY = "postgresql://ada@127.0.0.1:9/none"
_FOLDER = Path(assets_dir("compiled_schema"))
SCHEMAS = {path.name: json.loads(path.read_text()) for path in sorted(_FOLDER.glob("team_*.json"))}
_made = functools.cache(typer.main.get_command)
RESOURCES: Registry[Any] = Registry().with_resources(
    (name, Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)


@pytest.fixture(autouse=True)
def commands_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the commands between calls: to make all of them takes longer than to run one of these."""
    monkeypatch.setattr(typer.main, "get_command", _made)


class Person:
    """Somebody at their machine: a home, a checkout of the project, and a login."""

    def __init__(self, name: str, folder: Path, sage: Run, monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
        self.home, self.root = folder / name / "home", folder / name / "payments"
        self.root.mkdir(parents=True)
        self._sage, self._patch, self.uri = sage, monkeypatch, uri

    def run(self, *words: str) -> Any:
        """What `sage team` gives them."""
        self._patch.setenv("SAGE_HOME", str(self.home))
        self._patch.setenv("SAGE_TEAM_DATABASE_URL", self.uri)
        self._patch.setenv("SAGE_TEAM_NAME", "core")
        self._patch.chdir(self.root)
        return self._sage("team", *words)

    def printed(self, schema: str, *words: str, code: int = 0) -> Any:
        """The document of a command, which the schema describes."""
        result = self.run(*words, "--json")
        assert result.code == code, result.err
        document = json.loads(result.out)
        Draft202012Validator(SCHEMAS[f"{schema}.json"], registry=RESOURCES).validate(document)
        return document

    def learns(self, name: str, text: str) -> None:
        """Keep an item of knowledge."""
        (self.root / "note.md").write_text(text)
        self.run("status")  # puts this machine's home in place
        assert self._sage("knowledge", "add", "note.md", "--id", name).code == 0


@pytest.fixture
def person(
    team_server: Callable[..., str], tmp_path: Path, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Person]:
    """A member of the team core at their machine."""
    return lambda name: Person(name, tmp_path, sage, monkeypatch, team_server(name))


def test_a_team_begins(postgres: PostgresServer, tmp_path: Path, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    database = postgres.empty()
    admin = postgres.uri(database)
    gil = Person("gil", tmp_path, sage, monkeypatch, postgres.uri(database, "gil"))
    try:
        made = gil.printed("team_init", "init", "--address", admin, "--admin", "gil")
        assert [one["name"] for one in made["logins"]] == ["gil"]
        assert gil.printed("team_init", "init", "--address", admin, "--admin", "gil")["logins"][0]["password"] is None
        state = gil.printed("team_status", "status")
        assert (state["member"], state["is_member"], state["is_admin"]) == ("gil", True, True)
        assert (state["project"], state["synced_at"], state["reachable"]) == ("payments", "", True)
        assert gil.printed("team_login", "login", "hana", "--address", admin)["password"] is not None
        assert gil.printed("team_member", "members", "add", "hana", "--only", "other")["projects"] == ["other"]
        assert [one["name"] for one in gil.printed("team_members", "members", "list")["members"]] == ["gil", "hana"]
        assert gil.printed("team_member_drop", "members", "drop", "hana")["dropped"]
        assert not gil.printed("team_member_drop", "members", "drop", "hana", code=1)["dropped"]
        assert "password" not in gil.run("status").out
        assert (
            "may not"
            in Person("hana", tmp_path, sage, monkeypatch, postgres.uri(database, "hana"))
            .run("members", "add", "hana")
            .err
        )
    finally:
        postgres.drop(database)
        for name in ("gil", "hana"):
            postgres.run(f"REASSIGN OWNED BY {name} TO postgres; DROP OWNED BY {name}; DROP ROLE {name}")


def test_two_members_share_edit_and_decide(person: Callable[[str], Person], tmp_path: Path) -> None:
    ada, ben = person("ada"), person("ben")
    ada.learns("retries", "Payments are retried.\n\nThree times.\n\nNever at night.\n")
    assert ada.printed("team_sent", "share", "knowledge", "retries")["outcome"] == "stored"
    assert ben.printed("team_list", "list", code=1)["items"] == []
    assert [one["name"] for one in ben.printed("team_sync", "sync")["received"]] == ["retries"]
    (row,) = ben.printed("team_list", "list", "payments retried")["items"]
    assert (row["name"], row["author"], row["visibility"], row["waiting"]) == ("retries", "ada", "project", False)
    assert "Three times." in ben.printed("team_item", "show", row["item"][:6])["text"]
    assert ben.run("list", "--kind", "core").code == 1

    here, there = ben.uri, tmp_path / "text.md"
    ben.uri = AWAY.replace("ada", "ben")
    for words in ("Five", "Six"):
        there.write_text(row["text"].replace("Three", words))
        sent = ben.printed("team_sent", "edit", "retries", "--text", str(there))
        assert (sent["outcome"], bool(sent["problem"])) == ("waiting", True)
    assert "2 edits wait here" in ben.run("sync").err
    assert ben.printed("team_list", "list")["items"][0]["waiting"]
    assert "cannot be reached" in ben.run("history", "retries").err
    assert ben.printed("team_status", "status", code=1)["waiting"] == 2
    there.write_text(row["text"].replace("Three", "Seven"))
    assert ada.printed("team_sent", "edit", "retries", "--text", str(there))["number"] == 2

    ben.uri = here
    done = ben.printed("team_sync", "sync")
    assert [one["outcome"] for one in done["sent"]] == ["conflict", "conflict"]
    ada.printed("team_sync", "sync")
    shown = ada.run("conflicts")
    assert "-Seven times." in shown.out
    assert "+Six times." in shown.out
    waiting = ada.printed("team_conflicts", "conflicts")["conflicts"]
    assert ada.run("resolve", "retries").code == 2
    assert "no open conflict" in ada.run("resolve", "retries", "--take", "99").err
    last = str(max(one["number"] for one in waiting))
    assert ada.printed("team_resolve", "resolve", "retries", "--take", last)["outcome"] == "resolved"
    assert ada.printed("team_conflicts", "conflicts", code=1)["conflicts"] == []
    versions = ada.printed("team_history", "history", "retries")["versions"]
    assert [one["outcome"] for one in versions] == ["stored", "stored", "conflict", "conflict", "resolved"]
    assert not any(one["is_open"] for one in versions)
    assert ada.printed("team_audit", "audit", "retries", "--limit", "1")["audit"]
    assert "Six times." in (ada.home / "knowledge/global/retries.md").read_text()


def test_what_is_refused_waits_until_it_is_given_up(person: Callable[[str], Person]) -> None:
    ada, ben = person("ada"), person("ben")
    ada.learns("retries", "Three times.")
    ada.run("share", "knowledge", "retries", "--visibility", "team")
    ben.run("sync")
    assert ben.printed("team_sent", "rm", "retries", code=2)["outcome"] == "refused"
    assert "only its author" in ben.run("sync").err
    assert ben.printed("team_list", "list", code=1)["items"] == []  # as they want it
    assert [one["name"] for one in ben.printed("team_drop", "drop", "retries")["dropped"]] == ["retries"]
    assert ben.printed("team_drop", "drop", "retries", code=1)["dropped"] == []
    assert ben.printed("team_sync", "sync")["waiting"] == 0
    assert ben.printed("team_list", "list")["items"]
    assert ada.printed("team_sent", "edit", "retries", "--visibility", "me")["visibility"] == "me"
    ben.run("sync")
    assert "no item called" in ben.run("show", "retries").err
    assert ada.printed("team_sent", "rm", "retries")["outcome"] == "stored"
    assert (ada.home / "knowledge/global/retries.md").exists()


def test_core_files_blocks_and_checkpoints_are_shared_too(person: Callable[[str], Person], sage: Run) -> None:
    ada, ben = person("ada"), person("ben")
    ada.run("status")
    (ada.root / "pay.py").write_text("def pay():\n    return 1\n")
    assert sage("core", "add", "pay.py", "--summary", "Where payments are made.").code == 0
    assert sage("memory", "edit", "human", "--append", "Likes short answers.").code == 0
    saved = sage(
        "checkpoint", "save", "--thesis", "Pay once.", "--question", "How often?", "--confidence", "0.9", "--json"
    )
    checkpoint = json.loads(saved.out)["id"]
    for kind, name in (("core", "pay.py"), ("block", "human"), ("checkpoint", checkpoint)):
        sent = ada.printed("team_sent", "share", kind, name, "--visibility", "team")
        assert (sent["kind"], sent["outcome"]) == (kind, "stored")
    for kind, name in (("core", "nowhere.py"), ("block", "nothing"), ("knowledge", "nothing"), ("checkpoint", "no")):
        assert ada.run("share", kind, name).code == 2
    ben.run("sync")
    rows = ben.printed("team_list", "list")["items"]
    assert {row["kind"] for row in rows} == {"core", "block", "checkpoint"}
    assert "Where payments are made." in next(row["text"] for row in rows if row["kind"] == "core")
    assert "Pay once." in sage("checkpoint", "list").out


def test_a_member_who_works_on_another_project_too_gets_what_was_there_before(
    person: Callable[[str], Person],
) -> None:
    ada, cleo = person("ada"), person("cleo")
    ada.learns("retries", "Three times.")
    ada.run("share", "knowledge", "retries")
    assert cleo.printed("team_sync", "sync")["received"] == []
    ada.run("members", "add", "cleo", "--only", "payments")
    assert [one["name"] for one in cleo.printed("team_sync", "sync")["received"]] == ["retries"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("", "no team's memory is set up here"),
        ("postgresql://ada:secret@word@host/none", "is no address"),
        ("mysql://host/none", "is no address"),
        (AWAY, "cannot be reached"),
    ],
)
def test_a_wrong_address(address: str, words: str, tmp_path: Path, sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = Person("ada", tmp_path, sage, monkeypatch, address)
    result = ada.run("sync")
    assert result.code == 2
    assert words in result.err
    assert "secret" not in result.err
    for command in (
        ["history", "x"],
        ["show", "x"],
        ["audit"],
        ["members", "list"],
        ["init"],
        ["resolve", "x", "--keep"],
    ):
        failed = ada.run(*command)
        assert failed.code == 2, command
        assert failed.err.startswith("sage: "), command
        assert "secret" not in failed.err
