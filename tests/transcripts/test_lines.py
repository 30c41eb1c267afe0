"""Lines of a file that grows: nothing is lost, nothing comes twice, nothing is kept that is too long."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.transcripts.lines import Cursor, LineReader


def test_a_half_written_line_is_read_when_it_is_complete(tmp_path: Path) -> None:
    """Written byte by byte and read after every byte: each line comes once, when its end is there."""
    whole = b'{"a":1}\n\n{"b":"\xc3\xa4"}\nlast\n'
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"")
    cursor, found = Cursor(), []
    for at in range(len(whole)):
        with path.open("ab") as file:
            file.write(whole[at : at + 1])
        reader = LineReader(str(path), cursor)
        found += list(reader)
        cursor = reader.cursor()
        assert cursor.offset == whole.rfind(b"\n", 0, at + 1) + 1
    assert found == [b'{"a":1}', b'{"b":"\xc3\xa4"}', b"last"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=12),
    cuts=st.lists(st.integers(0, 500), max_size=8),
)
def test_lines_do_not_depend_on_how_a_file_is_written(tmp_path: Path, lines: list[bytes], cuts: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    path, cursor, found, too_long = tmp_path / "t.jsonl", Cursor(), [], 0
    for cut in sorted({min(cut, len(data)) for cut in cuts} | {len(data)}):
        path.write_bytes(data[:cut])
        reader = LineReader(str(path), cursor, max_line=30)
        found += list(reader)
        too_long += reader.stats.too_long
        cursor = reader.cursor()
    assert found == [line for line in lines if line and len(line) <= 30]
    assert too_long == sum(len(line) > 30 for line in lines)


def test_a_line_of_ten_megabytes_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        file.write(b'{"first":1}\n')
        for _ in range(25):
            file.write(b"x" * (1 << 20))
        file.write(b'\n{"last":1}\n')
    tracemalloc.start()
    reader = LineReader(str(path))
    found = list(reader)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == [b'{"first":1}', b'{"last":1}']
    assert reader.stats.too_long == 1
    assert peak < 30 << 20


def test_an_endless_line_does_not_hold_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"x" * 100)
    first = LineReader(str(path), max_line=10)
    assert list(first) == []
    assert first.cursor() == Cursor(100, True, first.cursor().mark)
    with path.open("ab") as file:
        file.write(b"yy\nnext\n")
    assert list(LineReader(str(path), first.cursor(), max_line=10)) == [b"next"]


def test_a_replaced_file_is_read_from_the_beginning(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"one\ntwo\n")
    reader = LineReader(str(path))
    list(reader)
    cursor = reader.cursor()
    for other in (b"short\n", b"another\nfile, and a longer one\n"):
        path.write_bytes(other)
        again = LineReader(str(path), cursor)
        assert list(again) == other.split(b"\n")[:-1]
        assert again.stats.restarted


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of POSIX")
def test_links_pipes_and_folders_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"line\n")
    (tmp_path / "link.jsonl").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe.jsonl")
    for name in ("link.jsonl", "pipe.jsonl", "missing.jsonl", "."):
        with pytest.raises(UsageError):
            list(LineReader(str(tmp_path / name)))
