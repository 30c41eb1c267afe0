"""The search over a fleet: the table's candidates, ranked as those of a project; filters; what is missing is said."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pytest

from sage_code.compiled.published import needed_snapshot
from sage_code.errors import NotIndexed, SageError, StoreError, UsageError
from sage_code.index import registry
from sage_code.project import Project
from sage_code.search.everywhere import Searchers
from sage_code.search.fleet import FleetSearcher, has_fleet
from sage_code.search.fleet_candidates import condition
from sage_code.search.query import Filters, parse_query
from sage_code.search.results import Hit, document
from sage_code.search.snippets import SearchOptions
from sage_code.serving.requester import Requester, acting_as
from sage_code.settings.loading import Settings, load_settings
from sage_code.store import fleet_index
from sage_code.store.fleet_table import fleet_rows, fleet_table, pack_definitions, search_words, unpack_definitions
from sage_code.store.lance import Store, store_uri, table_name
from sage_code.store.remote import mirror
from sage_code.store.remote.address import Address, address_of
from sage_code.store.remote.objects import Objects
from sage_code.values import Chunk, Symbol

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
    from s3_server import CountingProxy, S3Server

_SHOP = {
    "basket.py": '''
class Basket:
    """The things that a customer wants to buy."""

    def add(self, item, count=1):
        """Put an item into the basket."""
        self.items[item] = self.items.get(item, 0) + count

    def total_price(self, currency):
        """The sum of all prices, converted to one currency."""
        return sum(convert(item.price, currency) * count for item, count in self.items.items())
''',
    "payment.py": '''
def charge_credit_card(card, amount):
    """Charge a credit card; declined cards are tried again with a backoff."""
    for attempt in range(3):
        if gateway.charge(card, amount):
            return True
        wait_with_backoff(attempt)
    return False
''',
}
_MAIL = {
    "send.go": """package mail

// SendMessage delivers one message over SMTP and retries when the server is busy.
func SendMessage(server string, message Message) error {
	for attempt := 0; attempt < 5; attempt++ {
		if err := deliver(server, message); err == nil {
			return nil
		}
	}
	return ErrBusy
}
""",
    "spam.py": '''
def spam_probability(message, words):
    """How likely a message is spam, by the words that it has: a naive Bayes classifier."""
    return bayes(words, message)
''',
}


def _indexed(root: Path, files: dict[str, str]) -> Project:
    root.mkdir(parents=True)
    for name, text in files.items():
        (root / name).write_text(text)
    project = Project(str(root))
    project.index()
    return project


def _put(root: str, repository: str, owner: str) -> Address:
    """Add an indexed project to the fleet of the local store."""
    snapshot = needed_snapshot(root)
    model, dim = snapshot.generation.model, snapshot.generation.dim
    keys = [key for segment in snapshot.segments for key in segment.keys]
    rows = fleet_rows(repository, owner, Store(store_uri(""), model, dim).read(keys), dim)
    table = Address(os.path.join(store_uri(""), f"{fleet_table(table_name(model, dim))}.lance"))
    lance.write_dataset(rows, table.uri, mode="append" if os.path.exists(table.uri) else "create")
    return table


@pytest.fixture
def fleet(tmp_path: Path) -> tuple[Project, Address]:
    """Two repositories, of which one is also a project that was asked before."""
    shop = _indexed(tmp_path / "shop", _SHOP)
    mail = _indexed(tmp_path / "mail", _MAIL)
    _put(shop.root, "acme/shop", "acme")
    table = _put(mail.root, "o'hara/mail", "o'hara")
    return shop, table


def _settings(project: Project) -> Settings:
    return load_settings(project.root)


def _ask(project: Project, question: str, **filters: tuple[str, ...]) -> tuple[Hit, ...]:
    query = parse_query(question, Filters(**filters))
    return FleetSearcher(_settings(project)).search(query, SearchOptions()).results


@pytest.mark.parametrize("is_indexed", [False, True], ids=["brute force", "indexes"])
@pytest.mark.parametrize(
    ("question", "repository", "file"),
    [
        ("where is a credit card charged", "acme/shop", "payment.py"),
        ("total price in one currency", "acme/shop", "basket.py"),
        ("deliver a message over smtp", "o'hara/mail", "send.go"),
        ("how likely is spam", "o'hara/mail", "spam.py"),
        ("SendMessage", "o'hara/mail", "send.go"),
    ],
)
def test_goldens(fleet: tuple[Project, Address], question: str, repository: str, file: str, is_indexed: bool) -> None:
    project, table = fleet
    if is_indexed:
        fleet_index.index_fleet(table)
    first = _ask(project, question)[0]
    assert (first.repository, first.file) == (repository, file)
    assert first.snippet


def test_a_repository_is_ranked_as_its_project(fleet: tuple[Project, Address]) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    for question in ("where is a credit card charged", "total price", "put an item into the basket"):
        own = project.search(question).results
        found = _ask(project, question, repositories=("acme/shop",))
        assert [hit.file for hit in found][: len(own)] == [hit.file for hit in own]
        assert [(hit.qualname, hit.line, hit.snippet) for hit in found][:1] == [
            (hit.qualname, hit.line, hit.snippet) for hit in own
        ][:1]


def test_filters(fleet: tuple[Project, Address]) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    assert {hit.owner for hit in _ask(project, "message or card", owners=("o'hara",))} == {"o'hara"}
    assert {hit.repository for hit in _ask(project, "repo:acme/shop message or card")} == {"acme/shop"}
    assert {hit.language for hit in _ask(project, "message lang:go")} == {"go"}
    assert _ask(project, "message", repositories=("no such",)) == ()


@pytest.mark.parametrize("value", ["x' OR '1'='1", "'; DROP TABLE fleet; --", "\\' OR 1=1 --", '" OR 1=1', "%", "''"])
def test_hostile_filters_are_only_values(fleet: tuple[Project, Address], value: str) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    assert _ask(project, "message or card", repositories=(value,)) == ()
    assert _ask(project, "message or card", owners=(value,)) == ()


def test_filters_are_bounded() -> None:
    with pytest.raises(UsageError):
        condition(Filters(repositories=("x" * 1_000,)))
    with pytest.raises(UsageError):
        condition(Filters(owners=("a\0b",)))
    with pytest.raises(UsageError):
        condition(Filters(languages=("no' such",)))
    assert condition(Filters()) is None


def test_everywhere_asks_projects_and_the_fleet_once(fleet: tuple[Project, Address]) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    response = project.search("where is a credit card charged", everywhere=True)
    found = [(hit.file, hit.qualname) for hit in response.results]
    assert found.count(("payment.py", "charge_credit_card")) == 1
    assert "the fleet" in response.note
    asked = project.search("spam probability", repositories="o'hara/mail")
    row = document(asked)["results"][0]
    assert (row["repository"], row["owner"], row["file"]) == ("o'hara/mail", "o'hara", "spam.py")
    assert "root" not in row


def test_new_rows_are_found_before_and_after_the_index_grows(fleet: tuple[Project, Address], tmp_path: Path) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    text = 'def parse_invoice(scan):\n    """Read the numbers of a scanned invoice."""\n    return ocr(scan)\n'
    _put(_indexed(tmp_path / "more", {"invoice.py": text}).root, "acme/more", "acme")
    assert _ask(project, "read a scanned invoice")[0].repository == "acme/more"
    fleet_index.index_fleet(table)
    assert _ask(project, "read a scanned invoice")[0].repository == "acme/more"


def test_a_missing_table_is_said(tmp_path: Path) -> None:
    project = _indexed(tmp_path / "shop", _SHOP)
    assert not has_fleet(_settings(project))
    with pytest.raises(NotIndexed, match="no fleet"):
        _ask(project, "anything")
    with pytest.raises(NotIndexed, match="no such repository"):
        project.search("anything", repositories="acme/shop")
    assert project.search("credit card", everywhere=True).results


def test_an_unreachable_store_is_said_and_projects_answer(
    fleet: tuple[Project, Address], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, _ = fleet
    settings = replace(_settings(project), store_uri="s3://nowhere/fleet")
    for name, value in {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": "a"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-a-test")

    with pytest.raises(StoreError, match="error sending request"):
        FleetSearcher(settings).search(parse_query("credit card"), SearchOptions())
    query = parse_query("where is a credit card charged")
    response = Searchers(project.root, settings).search(query, SearchOptions(), everywhere=True)
    assert response.results[0].file == "payment.py"
    assert "left out" in response.note
    assert "secret" not in response.note


def test_a_remote_fleet_answers_from_here(
    fleet: tuple[Project, Address], s3: S3Server, s3_way: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    settings = replace(_settings(project), store_uri=f"{s3.bucket()}/team")
    objects = Objects(address_of(settings.store_uri, settings))
    for path in Path(store_uri("")).glob("fleet*/**/*"):
        if path.is_file():
            objects.put(path.relative_to(store_uri("")).as_posix(), path.read_bytes())
    query = parse_query("where is a credit card charged")

    def asked() -> tuple[list[tuple[str, str, float]], str]:
        response = FleetSearcher(settings).search(query, SearchOptions())  # a new one, as in a new process
        return [(hit.repository, hit.file, hit.score) for hit in response.results], response.note

    found, note = asked()
    assert found[0][:2] == ("acme/shop", "payment.py")
    assert found == [(hit.repository, hit.file, hit.score) for hit in _ask(project, query.asked)]
    assert note == ""
    requests = s3_way.requests
    assert asked() == (found, "")
    assert s3_way.requests == requests
    s3_way.close_way()
    monkeypatch.setattr(mirror, "LOOKED_AFTER", 0.0)
    again, note = asked()
    assert again == found
    assert "team does not answer" in note
    everywhere = Searchers(project.root, settings).search(query, SearchOptions(), everywhere=True)
    assert f"and the fleet: {note}" in everywhere.note


def test_words_are_stems_of_lexemes() -> None:
    assert search_words(["parseHTTPHeader retries retries"]).split() == [
        "parsehttphead", "pars", "http", "head", "retri", "retri",
    ]  # fmt: skip


def test_definitions_survive_and_damage_is_noticed() -> None:
    symbol = Symbol("function", "f", "a.f", 3, 2, 9, "def f()", "Does.")
    chunk = Chunk("function", "f", "a.f", 2, 9, "def f()", "Doc", "text", (symbol,))
    assert unpack_definitions(pack_definitions(chunk)) == ("Doc", (symbol,))
    for damaged in ("", "[]", '["", [[1]]]', '["", [["a","b","c","x",1,2,"",""]]]', "{"):
        with pytest.raises(ValueError, match=r".*"):
            unpack_definitions(damaged)


@pytest.mark.parametrize("question", ["likely spam", "spam repo:o'hara/mail", "owner:o'hara spam", "in:mail spam"])
def test_a_user_with_a_limit_sees_only_the_own_repositories(fleet: tuple[Project, Address], question: str) -> None:
    project, table = fleet
    fleet_index.index_fleet(table)
    limited = Requester("reader", frozenset({"search"}), (project.root,))
    named = replace(limited, repositories=("o'hara/mail",))
    unlimited = replace(limited, roots=tuple(entry.root for entry in registry.projects()), repositories=None)

    def seen(requester: Requester) -> set[str]:
        with acting_as(requester):
            try:
                return {hit.file for hit in project.search(question, everywhere="in:" not in question).results}
            except SageError as error:
                return {error.message.replace("'mail'", "") + error.hint}

    assert "spam.py" in seen(unlimited)
    assert ("spam.py" in seen(named)) == ("in:" not in question)
    assert not any("mail" in said or said in _MAIL for said in seen(limited))
