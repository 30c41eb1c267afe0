"""`FILE`, `FILE:LINE` and `FILE:LINE-LINE` are read in one way everywhere; anything else is a symbol."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.lookup.location import parse_location
from sage_code.values import Location


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("server.py", Location("server.py")),
        ("server.py:5", Location("server.py", 5, 5)),
        (" server.py:5-9 ", Location("server.py", 5, 9)),
        ("gone.py:3", Location("gone.py", 3, 3)),
        ("src/gone.py", Location("src/gone.py")),
        ("connect", None),
        ("Server.start", None),
        ("Server::start", None),
        ("std::net:", None),
    ],
)
def test_a_location_or_a_symbol(sample: Path, text: str, location: Location | None) -> None:
    assert parse_location(str(sample), text) == location


def test_a_path_may_start_at_the_current_folder(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample / "inner").mkdir()
    (sample / "inner" / "new.py").write_text("x = 1\n")
    monkeypatch.chdir(sample / "inner")
    assert parse_location(str(sample), "new.py:1") == Location("inner/new.py", 1, 1)
    assert parse_location(str(sample), str(sample / "server.py")) == Location("server.py")


@pytest.mark.parametrize("text", ["../x.py:1", "/etc/hosts", "server.py:0", "server.py:9-5"])
def test_what_cannot_be_a_location_is_refused(sample: Path, text: str) -> None:
    with pytest.raises(UsageError):
        parse_location(str(sample), text)


def test_a_symbol_is_located_at_its_first_definition(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    symbol = project.grep("connect")[0]
    assert project.locate("connect") == Location(symbol["file"], symbol["line"], symbol["line"])
    assert project.locate("server.py:2-3") == Location("server.py", 2, 3)
    assert project.locate("no_such_name") is None
    assert project.locate(os.fspath(sample / "server.py:1")) == Location("server.py", 1, 1)
