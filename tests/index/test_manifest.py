"""The manifest: what is saved is loaded, and a diff applied gives the folder as it is."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.discover.reading import SourceText
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.errors import FormatTooNew, IndexCorrupt
from sage_code.index import diff, manifest
from sage_code.index.diff import ChangedFile, changes_by_stamp, looks_untouched, trusted_mtime
from sage_code.index.manifest import FileState, Manifest, SkipState, load_manifest
from sage_code.paths import codebase_dir, manifest_path
from sage_code.values import SkippedFile, SkipReason, SourceFile

SECOND = 1_000_000_000
paths = st.text(st.sampled_from("ab/é \n\"'"), min_size=1, max_size=6)
sizes, times = st.integers(0, 3), st.integers(0, 3)
words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
file_states = st.builds(FileState, sizes, times, words, words, st.integers(1, 9), words, times)
skip_states = st.builds(SkipState, sizes, times, st.sampled_from([reason.value for reason in SkipReason]), words, times)
file_maps = st.dictionaries(paths, file_states, max_size=6)
skip_maps = st.dictionaries(paths, skip_states, max_size=3)


def _manifest(files: dict[str, FileState], skipped: dict[str, SkipState]) -> Manifest:
    disjoint = {path: state for path, state in skipped.items() if path not in files}
    return Manifest("name", "bundled", "hashing", 256, "", "000001-abc", "2026-01-01T00:00:00+00:00", files, disjoint)


def _saved(root: str, made: Manifest) -> Manifest | None:
    Path(codebase_dir(root)).mkdir(parents=True, exist_ok=True)
    made.save(root)
    return load_manifest(root)


@given(file_maps, skip_maps)
def test_what_is_saved_is_loaded(files: dict[str, FileState], skipped: dict[str, SkipState]) -> None:
    made = _manifest(files, skipped)
    with tempfile.TemporaryDirectory() as root:
        assert _saved(root, made) == made


@given(file_maps, skip_maps, st.dictionaries(paths, st.tuples(sizes, times, times), max_size=8))
def test_a_diff_applied_gives_the_folder_as_it_is(
    files: dict[str, FileState], skipped: dict[str, SkipState], folder: dict[str, tuple[int, int, int]]
) -> None:
    old = _manifest(files, skipped)
    listing = [SourceFile(path, *stamp) for path, stamp in folder.items()]
    changes = changes_by_stamp(listing, old)
    after = {path: (state.size, state.mtime_ns, state.ctime_ns) for path, state in changes.unchanged.items()}
    after |= {path: (state.size, state.mtime_ns, state.ctime_ns) for path, state in changes.skipped.items()}
    files_changed = [changed.file for changed in changes.changed]
    after |= {file.path: (file.size, file.mtime_ns, file.ctime_ns) for file in files_changed}
    assert after == folder
    assert len(changes.unchanged) + len(changes.skipped) + len(changes.changed) == len(folder)
    assert all(old.files[path] == state for path, state in changes.unchanged.items())
    assert all(old.skipped[path] == state for path, state in changes.skipped.items())
    assert set(old.files) - set(changes.removed) == set(old.files) & (
        changes.unchanged.keys() | {file.path for file in files_changed}
    )


def test_without_a_manifest_everything_is_new_and_skips_are_passed_on() -> None:
    skip = SkippedFile("logo.png", SkipReason.BINARY)
    changes = changes_by_stamp([SourceFile("a.py", 1, 1), skip], None)
    assert [changed.file.path for changed in changes.changed] == ["a.py"]
    assert changes.skipped_unread == [skip]
    assert changes.removed == []


def test_a_file_written_just_now_is_looked_at_again() -> None:
    read_at = 100 * SECOND
    settled = SourceFile("a.py", 1, read_at - 3 * SECOND)
    fresh = SourceFile("a.py", 1, read_at - 1 * SECOND)
    assert trusted_mtime(settled, read_at) == settled.mtime_ns
    for file, expected in ((settled, []), (fresh, [ChangedFile(fresh)])):
        state = FileState(file.size, trusted_mtime(file, read_at), "hash", "key", 1, "python")
        assert changes_by_stamp([file], _manifest({"a.py": state}, {})).changed == expected
    assert trusted_mtime(SourceFile("a.py", 1, read_at + 9 * SECOND), read_at) < 0  # a clock that runs ahead


def test_a_file_that_was_cloned_just_now_looks_untouched_until_its_size_or_time_moves() -> None:
    read_at = 100 * SECOND
    cloned = SourceFile("a.py", 1, read_at - 1 * SECOND)
    old = _manifest({"a.py": FileState(1, trusted_mtime(cloned, read_at), "hash", "key", 1, "python")}, {})
    assert looks_untouched(cloned, old)
    assert not looks_untouched(SourceFile("a.py", 2, cloned.mtime_ns), old)
    assert not looks_untouched(SourceFile("a.py", 1, cloned.mtime_ns + 1), old)
    assert not looks_untouched(SourceFile("b.py", 1, cloned.mtime_ns), old)


def test_a_skipped_file_that_becomes_indexable_is_a_suspect_and_nothing_was_removed() -> None:
    old = _manifest({}, {"a.py": SkipState(0, 1, "empty", "")})
    changes = changes_by_stamp([SourceFile("a.py", 5, 2)], old)
    assert [changed.file.path for changed in changes.changed] == ["a.py"]
    assert changes.removed == []


def test_a_manifest_without_the_second_time_is_read_and_its_files_looked_at_once_more(tmp_path: Path) -> None:
    root = str(tmp_path)
    _saved(root, _manifest({"a.py": FileState(1, 2, "hash", "key", 5, "python", 7)}, {}))
    path = Path(manifest_path(root))
    document = json.loads(path.read_bytes())
    document["format"] = 1
    document["files"]["a.py"].pop()
    path.write_text(json.dumps(document))
    old = load_manifest(root)
    assert old is not None
    assert old.files["a.py"] == FileState(1, 2, "hash", "key", 5, "python", 0)
    assert changes_by_stamp([SourceFile("a.py", 1, 2, 7)], old).changed == [ChangedFile(SourceFile("a.py", 1, 2, 7))]


def test_texts_are_kept_while_there_is_room_and_hashes_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff, "_KEPT_CHARS", 10)
    reader = diff.ContentReader(str(tmp_path), DEFAULT_RULES)
    sources = [SourceText(text, f"hash of {text}", "utf-8") for text in ("12345", "123456", "12345", "1")]
    kept = [reader.keep(SourceFile("a.py", 1, 1), source) for source in sources]
    assert [changed.source for changed in kept] == [sources[0], None, sources[2], None]
    assert [changed.content_hash for changed in kept] == [source.content_hash for source in sources]


def test_no_manifest_is_none(tmp_path: Path) -> None:
    assert load_manifest(str(tmp_path)) is None


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{",
        "[]",
        '{"format": "1"}',
        '{"format": 1}',
        '{"format": 1, "files": []}',
    ],
)
def test_damage_is_an_error_that_says_how_to_mend_it(tmp_path: Path, damage: str) -> None:
    root = str(tmp_path)
    _saved(root, _manifest({}, {}))
    Path(manifest_path(root)).write_text(damage)
    with pytest.raises(IndexCorrupt, match=r"index_meta\.json is damaged") as caught:
        load_manifest(root)
    assert "sage index" in caught.value.hint


@pytest.mark.parametrize("data", [{"format": 99}, {"format": 99, "generation": 7}, {"format": 99, "generation": "x"}])
def test_a_manifest_of_a_newer_format_in_a_clone_does_not_count(tmp_path: Path, data: dict[str, object]) -> None:
    path = Path(manifest_path(str(tmp_path)))
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(data))
    assert load_manifest(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("files", {"a.py": [1, 2, "hash", "key", "five", "python"]}),
        ("files", {"a.py": [1, 2]}),
        ("files", None),
        ("skipped", {"a.py": [1, 2, "no such reason", ""]}),
        ("dim", "many"),
    ],
)
def test_a_value_that_cannot_be_is_damage(tmp_path: Path, key: str, value: object) -> None:
    root = str(tmp_path)
    _saved(root, _manifest({"a.py": FileState(1, 2, "hash", "key", 5, "python")}, {}))
    path = Path(manifest_path(root))
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(IndexCorrupt):
        load_manifest(root)


def test_a_newer_format_is_left_alone(tmp_path: Path) -> None:
    root = str(tmp_path)
    _saved(root, _manifest({}, {}))
    path = Path(manifest_path(root))
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": manifest.FORMAT + 1}))
    with pytest.raises(FormatTooNew, match="newer Sage") as caught:
        load_manifest(root)
    assert "upgrade" in caught.value.hint
