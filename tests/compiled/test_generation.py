"""Generations: an updated index holds what a fresh one holds, and shares unchanged segments with the one before."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.compiled import generation
from sage_code.compiled.generation import GenerationWriter, check
from sage_code.compiled.published import Generation, current
from sage_code.files import provenance
from sage_code.languages.kinds import TABLES
from sage_code.paths import compiled_dir, generations_dir
from sage_code.store.rows import FileRows

MakeRows = Callable[..., FileRows]
DIM = 8
# Which version of its text each file of a project has.
states = st.dictionaries(st.sampled_from(["a.py", "b.py", "sub/c.py", "d.py"]), st.integers(0, 3), max_size=4)


def _text(path: str, version: int) -> str:
    return f"LIMIT = {version}\n\n\nclass Box_{version}:\n    def open(self):\n        return {path!r}, {version}\n"


def _publish(
    root: str, rows: Iterable[FileRows], base: Generation | None = None, dropped: Iterable[str] = ()
) -> Generation:
    with GenerationWriter(root, "model", DIM, base, set(dropped)) as writer:
        for file in rows:
            writer.add(file)
        writer.publish()
    published = current(root)
    assert published is not None
    assert published.name == writer.name
    assert check(published) == []
    return published


def _update(root: str, rows_of: MakeRows, before: Mapping[str, int], after: Mapping[str, int]) -> Generation:
    """Publish as an indexing run does: changed and removed files are dropped, changed and new ones added."""
    changed = [path for path, version in after.items() if before.get(path) != version]
    gone = [path for path in before if path not in after]
    return _publish(
        root, [rows_of(path, _text(path, after[path])) for path in changed], current(root), [*changed, *gone]
    )


def _content(root: str) -> tuple[list[Any], list[Any]]:
    """What a reader sees: the live chunks with their vectors and words, and the symbols."""
    published = current(root)
    assert published is not None
    chunks = []
    for ref in published.segments:
        segment = published.open_segment(ref)
        for chunk, file in enumerate(segment.arrays["chunk_file"].tolist()):
            if file not in ref.dead:
                lines = (int(segment.arrays["chunk_start"][chunk]), int(segment.arrays["chunk_end"][chunk]))
                name, vector = segment.string("names", chunk), segment.arrays["vectors"][chunk].tolist()
                limit = segment.terms.find("limit")
                has_limit = limit is not None and chunk in segment.postings(limit)["body"][0]
                key = (segment.paths[file], segment.keys[file])
                chunks.append((*key, *lines, segment.kind(chunk), segment.language(chunk), name, has_limit, vector))
    assert published.chunks == len(chunks)
    symbols = [
        symbol
        for table in TABLES
        for symbol in json.loads(Path(published.folder, f"{table}.json").read_bytes())["symbols"]
    ]
    return sorted(chunks), symbols


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(states, min_size=1, max_size=4))
def test_updates_give_what_a_fresh_build_gives(rows_of: MakeRows, history: list[dict[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as updated, tempfile.TemporaryDirectory() as fresh:
        before: dict[str, int] = {}
        for after in history:
            _update(updated, rows_of, before, after)
            before = after
        _publish(fresh, [rows_of(path, _text(path, version)) for path, version in before.items()])
        assert _content(updated) == _content(fresh)


def test_unchanged_segments_are_shared_and_the_last_generation_stays(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    first = _update(root, rows_of, {}, {"a.py": 0, "b.py": 0})
    (segment,) = first.segments
    second = _update(root, rows_of, {"a.py": 0, "b.py": 0}, {"a.py": 1, "b.py": 0})
    assert [ref.file for ref in second.segments if ref.dead] == [segment.file]
    assert os.path.samefile(Path(first.folder, segment.file), Path(second.folder, segment.file))
    # A reader that resolved the first generation can go on reading it until another one follows the second.
    assert sorted(os.listdir(generations_dir(root))) == sorted([first.name, second.name])
    third = _update(root, rows_of, {"a.py": 1, "b.py": 0}, {"a.py": 1, "b.py": 1})
    assert sorted(os.listdir(generations_dir(root))) == sorted([second.name, third.name])
    assert segment.file not in [ref.file for ref in third.segments]  # all its files have changed since


def test_without_publish_nothing_is_kept(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    first = _publish(root, [rows_of("a.py", _text("a.py", 0))])
    with GenerationWriter(root, "model", DIM, first, set()) as writer:
        writer.add(rows_of("b.py", _text("b.py", 0)))
    assert os.listdir(generations_dir(root)) == [first.name]
    assert current(root) == first


def test_too_many_small_segments_become_one(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    rows = {f"{number}.py": rows_of(f"{number}.py", _text("x", number)) for number in range(11)}
    base: Generation | None = None
    for number in range(10):
        base = _publish(root, [rows[f"{number}.py"]], base)
    assert base is not None
    assert len(base.segments) == 10
    before = _content(root)
    by_key = {file.key: file for file in rows.values()}
    with GenerationWriter(root, "model", DIM, base, set()) as writer:
        keys = writer.crowded()
        assert set(keys) == {rows[f"{number}.py"].key for number in range(10)}
        for key in keys:
            writer.add(by_key[key], symbols=False)
        writer.publish()
    published = current(root)
    assert published is not None
    assert len(published.segments) == 1
    assert _content(root) == before


def test_a_segment_that_is_mostly_dead_is_written_again(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    base = _update(root, rows_of, {}, {"a.py": 0, "b.py": 0, "d.py": 0})
    with GenerationWriter(root, "model", DIM, base, {"a.py"}) as writer:
        assert writer.crowded() == []
    with GenerationWriter(root, "model", DIM, base, {"a.py", "b.py"}) as writer:
        assert writer.crowded() == [rows_of("d.py", _text("d.py", 0)).key]
        writer.keep_crowded()
        writer.publish()
    assert {row[0] for row in _content(root)[0]} == {"d.py"}


def test_a_large_build_is_written_in_segments(
    tmp_path: Path, rows_of: MakeRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "_SEGMENT_CHUNKS", 2)
    rows = [rows_of(f"{number}.py", _text("x", number)) for number in range(6)]
    published = _publish(str(tmp_path / "one"), rows)
    assert len(published.segments) == 1  # merged
    monkeypatch.setattr(generation, "_MERGED_CHUNKS", 4)
    several = _publish(str(tmp_path / "several"), rows)
    assert len(several.segments) > 1
    assert several.chunks == published.chunks == sum(len(file.chunks) for file in rows)
    assert _content(str(tmp_path / "one")) == _content(str(tmp_path / "several"))


@pytest.mark.parametrize("victim", ["functions.json", "segments.json", ".seg"])
def test_an_incomplete_or_changed_generation_is_noticed(tmp_path: Path, rows_of: MakeRows, victim: str) -> None:
    root = str(tmp_path)
    published = _publish(root, [rows_of("a.py", _text("a.py", 0))])
    (path,) = (path for path in Path(published.folder).iterdir() if path.name.endswith(victim))
    data = bytearray(path.read_bytes())
    written = path.stat()
    data[-10] ^= 1
    written = path.stat()
    path.write_bytes(data)
    assert current(root) is None
    assert path.name in provenance.complaint(root)
    os.utime(path, ns=(written.st_atime_ns, written.st_mtime_ns))  # as a failing disk does it
    if victim != "segments.json":
        (finding,) = check(current(root))
        assert path.name in finding
    path.unlink()
    assert current(root) is None
    assert check(current(root)) == ["the compiled index is missing or incomplete"]


def test_a_list_of_segments_that_names_another_folder_is_ignored(tmp_path: Path, rows_of: MakeRows) -> None:
    root = str(tmp_path)
    published = _publish(root, [rows_of("a.py", _text("a.py", 0))])
    (tmp_path / "evil.seg").write_bytes(Path(published.folder, published.segments[0].file).read_bytes())
    index = Path(compiled_dir(root), "segments.json")
    document = json.loads(index.read_bytes())
    document["segments"][0]["file"] = "../../../../evil.seg"
    index.write_text(json.dumps(document))
    assert current(root) is None
