"""A team's memory on a real server: who sees what, edits of several people, and what the audit says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import psycopg
import pytest

from sage_code.errors import SageError, StoreError
from sage_code.memory.team.team_memory import TeamMemory
from sage_code.memory.team.values import Edit, TeamItem, Visibility

PROJECT = "git.example/payments"
OP = "6a1c2a4e-0c5e-4b7c-9c39-0d3a7cf0a002"
Open = Callable[..., TeamMemory]


def _names(found: list[TeamItem]) -> set[str]:
    return {one.name for one in found}


def _edit(
    item: str, base: int, text: str, *, visibility: Visibility = "team", deleted: bool = False, op: str = ""
) -> Edit:
    edit = Edit(item, PROJECT, "knowledge", "retries", visibility, base, text, deleted)
    return replace(edit, op=op) if op else edit


def test_what_members_see_depends_on_the_visibility(of: Open) -> None:
    ada = of("ada")
    for visibility in ("me", "project", "team"):
        ada.save(PROJECT, "knowledge", f"for-{visibility}", f"Retries, for {visibility}.", visibility)

    assert _names(ada.find("retries")) == {"for-me", "for-project", "for-team"}
    assert _names(of("ben").find("retries")) == {"for-project", "for-team"}
    assert _names(of("cleo").find("retries")) == {"for-team"}
    assert of("dan").find("retries") == []
    assert of("dan", "other").find("retries") == []
    assert of("erin").find("retries") == []


def test_a_server_acts_for_its_users_and_for_nobody_else(of: Open) -> None:
    of("ada").save(PROJECT, "knowledge", "for-me", "Mine alone.", "me")
    server = of("webserver")

    assert _names(server.as_member("ada").find()) == {"for-me"}
    assert server.as_member("ben").find() == []
    with pytest.raises(SageError, match="may not"):
        server.find()
    with pytest.raises(SageError, match="may not"):
        server.as_member("postgres").find()
    with pytest.raises(SageError, match="may not"):
        of("ben").as_member("ada").find()


def test_sql_of_a_member_reads_no_table_and_pretends_nobody(of: Open, team_server: Callable[..., str]) -> None:
    kept = of("ada").save(PROJECT, "knowledge", "secret", "The plan.", "me")
    tries = [
        "SELECT * FROM sage_team.items",
        "SELECT * FROM sage_team.versions",
        "SELECT * FROM sage_team.audit",
        "SELECT * FROM sage_team.members",
        "SET ROLE ada",
        "SET SESSION AUTHORIZATION ada",
        "SELECT set_config('role', 'ada', false)",
        "SELECT sage_team.note('core', 'read', '{}', '')",
        "UPDATE sage_team.members SET is_admin = true",
        "SELECT sage_team.set_member('core', 'erin', '{*}', true)",
        f"SELECT * FROM sage_team.begin_edit('{kept.item}')",
        f"SELECT * FROM sage_team.read_item('core', '{kept.item}')",
        f"SELECT * FROM sage_team.history('core', '{kept.item}')",
        f"SELECT sage_team.version_text('{kept.item}', 1) WHERE sage_team.version_text('{kept.item}', 1) IS NOT NULL",
    ]
    for role in ("ben", "dan", "erin"):
        for sql in tries:
            with psycopg.connect(team_server(role), autocommit=True) as connection:
                with suppress(psycopg.errors.InsufficientPrivilege):
                    assert connection.execute(sql.encode()).fetchall() == [], sql


def test_row_level_security_holds_even_for_a_role_that_was_granted_the_tables(
    of: Open, team_server: Callable[..., str]
) -> None:
    of("ada").save(PROJECT, "knowledge", "mine", "The plan.", "me")
    of("ada").save(PROJECT, "knowledge", "ours", "The rule.", "team")
    with psycopg.connect(team_server(), autocommit=True) as admin:
        admin.execute("GRANT SELECT ON ALL TABLES IN SCHEMA sage_team TO sage_team_member")
    for role, seen in {"ada": {"mine", "ours"}, "ben": {"ours"}, "dan": set(), "erin": set()}.items():
        with psycopg.connect(team_server(role)) as connection:
            assert {row[0] for row in connection.execute("SELECT name FROM sage_team.items")} == seen
            texts = {row[0] for row in connection.execute("SELECT text FROM sage_team.versions")}
            assert len(texts) == len(seen)


def test_versions_cannot_be_changed_by_the_functions_owner(of: Open, team_server: Callable[..., str]) -> None:
    of("ada").save(PROJECT, "knowledge", "ours", "The rule.", "team")
    with psycopg.connect(team_server(), autocommit=True) as admin:
        admin.execute("SET ROLE sage_team_owner")
        assert admin.execute("UPDATE sage_team.versions SET text = ''").rowcount == 0
        assert admin.execute("DELETE FROM sage_team.versions").rowcount == 0


def test_edits_of_different_lines_are_merged_and_of_the_same_line_both_kept(of: Open) -> None:
    ada, ben = of("ada"), of("ben")
    first = ada.save(PROJECT, "knowledge", "retries", "one\ntwo\nthree\n", "team")

    assert ada.write(_edit(first.item, 1, "ONE\ntwo\nthree\n")).outcome == "stored"
    both = ben.write(_edit(first.item, 1, "one\ntwo\nTHREE\n"))
    assert (both.outcome, both.text) == ("merged", "ONE\ntwo\nTHREE\n")

    beside = ben.write(_edit(first.item, 1, "uno\ntwo\nthree\n"))
    assert beside.outcome == "conflict"
    now = ada.read(first.item)
    assert now is not None
    assert now.text == "ONE\ntwo\nTHREE\n"
    assert [(one.author, one.text) for one in ada.conflicts()] == [("ben", "uno\ntwo\nthree\n")]

    ada.resolve(first.item, "uno, ONE\n", [beside.number], now.number, OP)
    assert ada.conflicts() == []
    assert [one.outcome for one in ada.history(first.item)] == ["stored", "stored", "merged", "conflict", "resolved"]


def test_an_edit_that_is_sent_twice_is_stored_once(of: Open) -> None:
    ada = of("ada")
    item, op = "6a1c2a4e-0c5e-4b7c-9c39-0d3a7cf0a001", OP
    first = ada.write(_edit(item, 0, "one\n", op=op))
    again = ada.write(_edit(item, 0, "one\n", op=op))

    assert (first.number, again.number) == (1, 1)
    assert len(ada.history(item)) == 1


def test_only_the_author_or_an_administrator_deletes_and_changes_who_sees_it(of: Open) -> None:
    ben, cleo = of("ben"), of("cleo")
    made = ben.save(PROJECT, "knowledge", "retries", "one\n", "team")
    with pytest.raises(StoreError, match="author"):
        cleo.write(_edit(made.item, 1, "one\n", deleted=True))
    with pytest.raises(StoreError, match="author"):
        cleo.write(_edit(made.item, 1, "one\n", visibility="project"))
    assert of("ada").write(_edit(made.item, 1, "one\n", deleted=True)).outcome == "stored"
    assert ben.find() == []
    assert [one.deleted for one in ben.history(made.item)] == [False, True]


def test_changes_come_once_and_what_is_hidden_is_no_longer_visible(of: Open) -> None:
    ada, ben = of("ada"), of("ben")
    made = ada.save(PROJECT, "knowledge", "retries", "one\n", "team")
    found, visible, position = ben.changes()
    assert (_names(found), visible) == ({"retries"}, {made.item})
    assert ben.changes(position)[0] == []
    ada.write(_edit(made.item, 1, "one\n", visibility="me"))
    assert ben.changes(position)[:2] == ([], set())


def test_the_audit_has_reads_writes_and_refused_tries(of: Open) -> None:
    ada, ben = of("ada"), of("ben")
    made = ada.save(PROJECT, "knowledge", "mine", "The plan.", "me")
    ben.read(made.item)
    ada.read(made.item)

    lines = [(one.member, one.action) for one in ada.audit(made.item)]
    assert lines == [("ada", "read"), ("ben", "refused"), ("ada", "write"), ("ada", "refused")]
    assert {one.member for one in ben.audit()} == {"ben"}
    assert of("erin").audit() == []


def test_somebody_who_left_the_team_sees_nothing(of: Open) -> None:
    ben = of("ben")
    ben.save(PROJECT, "knowledge", "mine", "The plan.", "me")
    assert of("ada").drop_member("ben")
    assert ben.find() == []
    assert ben.members() == []
    with pytest.raises(StoreError, match="member"):
        ben.save(PROJECT, "knowledge", "more", "Another.", "me")
