"""A poisoned store is noticed: nothing that a trusted key has not signed reaches the reader, who indexes alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pytest

from sage_code import Project
from sage_code.errors import SageError, UsageError
from sage_code.index.batches import _shuffled, _unshuffled
from sage_code.index.shared import signing
from sage_code.index.shared.published import decoded, named, project_name
from sage_code.index.shared.signing import UntrustedError, key_path, new_key, opened, own_key, signed
from sage_code.settings.loading import tuning_path

from .conftest import Team


@pytest.fixture
def refused(team: Team) -> Callable[..., str]:
    """The one note with which a reader refuses the shared index and indexes alone."""

    def read(**given: str) -> str:
        stats, said, embedded = team.index(**given)
        assert stats.chunks_created == len(embedded) > 0
        assert len(said) == 1
        assert said[0].endswith("; indexing without it")
        with team.at("laptop"):
            assert Project.open(team.laptop).search("reach a host").results[0].file == "server.py"
        return said[0]

    return read


@pytest.fixture
def pushed(team: Team) -> Team:
    team.push()
    team.clone()
    return team


def _list(team: Team) -> Path:
    (found,) = (path for path in (Path(team.store) / "indexes").rglob("*") if path.is_file())
    return found


def _pieces(team: Team, which: str) -> list[tuple[Path, int]]:
    """The files of the pieces of one part of the published index, and the sizes of what is in them."""
    index = decoded(opened(_list(team).read_bytes(), (team.key,)))
    if which == "segment":
        pieces = [piece for name, own in index.files.items() if name.endswith(".seg") for piece in own]
    else:
        pieces = list(index.states if which == "states" else index.rows)
    assert pieces
    return [(Path(team.store) / piece.key, piece.size) for piece in pieces]


def test_a_list_by_an_unknown_key_is_refused(pushed: Team, refused: Callable[..., str]) -> None:
    assert "signed by a key that is not trusted" in refused(trusts="ed25519:" + "A" * 43)


def test_one_who_trusts_no_key_uses_no_index(pushed: Team, refused: Callable[..., str]) -> None:
    assert "signed by a key that is not trusted" in refused(trusts="")


def test_an_edited_list_is_refused(pushed: Team, refused: Callable[..., str]) -> None:
    path = _list(pushed)
    path.write_bytes(path.read_bytes().replace(b'"chunks":', b'"chunks":1'))
    assert "its signature is wrong" in refused()


def test_a_list_without_a_signature_is_refused(pushed: Team, refused: Callable[..., str]) -> None:
    path = _list(pushed)
    path.write_bytes(path.read_bytes().partition(b"\n")[2])
    assert "it is not signed" in refused()


def test_the_list_of_another_commit_is_refused(pushed: Team, refused: Callable[..., str]) -> None:
    """A good signature is of no use under another name: nothing old or foreign can be slipped in."""
    path = _list(pushed)
    with pushed.at("ci"):
        text = orjson.loads(opened(path.read_bytes(), (pushed.key,)))
        path.write_bytes(signed(orjson.dumps({**text, "commit": "0" * 40})))
    assert "signed for another commit" in refused()


@pytest.mark.parametrize("which", ["segment", "states"])
def test_a_tampered_piece_is_refused(pushed: Team, refused: Callable[..., str], which: str) -> None:
    for path, size in _pieces(pushed, which):
        path.write_bytes(pa.compress(b"x" * size, codec="zstd", asbytes=True))
    assert "is not what was signed" in refused()


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"no zstd", "cannot be unpacked"), (None, "is missing"), (b"\0" * (9 << 20), "is larger than")],
)
def test_a_lost_or_swollen_piece_is_refused(
    pushed: Team, refused: Callable[..., str], content: bytes | None, why: str
) -> None:
    for path, _ in _pieces(pushed, "segment"):
        path.unlink() if content is None else path.write_bytes(content)
    assert why in refused()


def test_a_poisoned_vector_never_gets_into_the_store(pushed: Team) -> None:
    """Compiled files are good; the rows, fetched when an edit needs them, are not: the edit is embedded here."""
    pushed.index()
    ((path, size),) = _pieces(pushed, "rows")
    index = decoded(opened(_list(pushed).read_bytes(), (pushed.key,)))
    data = pa.decompress(path.read_bytes(), size, codec="zstd", asbytes=True)
    head = 4 + int.from_bytes(data[:4], "little")
    count = (len(data) - head) // 4 // index.dim
    vectors = np.roll(_unshuffled(data[head:], count, index.dim), 1, axis=0)
    path.write_bytes(pa.compress(data[:head] + _shuffled(vectors), codec="zstd", asbytes=True))
    (pushed.laptop / "server.py").write_text((pushed.ci / "server.py").read_text() + "\n\ndef mine():\n    return 1\n")
    _, said, embedded = pushed.index()
    assert [text for text in said if "is not what was signed; indexing without it" in text]
    assert embedded  # what the rows would have saved
    with pushed.at("laptop"):
        assert Project.open(pushed.laptop).search("reach a host").results[0].file == "server.py"


def test_a_publisher_replaces_a_list_that_no_reader_can_use(pushed: Team) -> None:
    _list(pushed).write_bytes(b"garbage")
    assert pushed.push().published
    _, said, embedded = pushed.index()
    assert embedded == []
    assert any("fetched the shared index" in text for text in said)


def test_a_project_cannot_name_a_store_or_a_key(team: Team) -> None:
    (team.ci / ".sage").mkdir()
    Path(tuning_path("project", str(team.ci))).write_text(
        f"shared_index: /tmp/evil\nshared_trusted_keys: ['ed25519:{'A' * 43}']\n"
    )
    with team.at("laptop"):
        settings = Project.open(team.ci).settings
    assert settings.shared_index == team.store
    assert settings.shared_trusted_keys == (team.key,)
    assert sum("is for the user to decide" in text for text in settings.warnings) == 2


def test_the_private_key_is_for_its_owner_alone(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with team.at("ci"):
        path = Path(key_path())
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        with pytest.raises(UsageError, match="exists"):
            new_key()
        assert own_key() == team.key != new_key(replace=True) == own_key()
        secret = path.read_text().strip()
    with team.at("another"):
        assert own_key() == ""
        monkeypatch.setenv(signing.VARIABLE, secret)
        text = signed(b"some text")
        assert opened(text, (f"{own_key()}#ci",)) == b"some text"
        assert secret.encode() not in text
        with pytest.raises(UntrustedError, match="not trusted"):
            opened(text, (team.key,))
        monkeypatch.setenv(signing.VARIABLE, "too short")
        with pytest.raises(SageError, match="holds no signing key"):
            signed(b"some text")


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("https://git.example.org/team/work.git", "git.example.org/team/work"),
        ("https://user:word@Git.Example.org:8443/team/work/", "git.example.org/team/work"),
        ("git@git.example.org:team/work.git", "git.example.org/team/work"),
        ("ssh://git@git.example.org:2222/team/work", "git.example.org/team/work"),
    ],
)
def test_one_repository_has_one_name(remote: str, name: str) -> None:
    assert project_name(remote, "") == name
    assert project_name(remote, "web/") == f"{name}#web"


def test_pieces_are_named_by_their_bytes() -> None:
    assert named(b"").key == f"pieces/e3/{named(b'').sha256}"
