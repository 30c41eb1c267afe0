"""Claude Code's records: every tool, failed calls, unknown and hostile records."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.transcripts.claude import ClaudeRecords
from sage_code.transcripts.code_context import extract_file_interactions
from sage_code.transcripts.reader import Resume, TranscriptReader
from sage_code.transcripts.touches import Touch, decode

Write = Callable[[Any], str]


def _seen(path: str) -> list[tuple[str, str, tuple[int, int] | None]]:
    return [(touch.action, touch.file, touch.lines) for touch in TranscriptReader(path)]


def _file(path: str, start: int, count: int, total: int) -> dict[str, Any]:
    file = {"filePath": path, "content": "text", "numLines": count, "startLine": start, "totalLines": total}
    return {"type": "text", "file": file}


def test_read_with_its_lines(session: Any, written: Write) -> None:
    session.does("Read", _file("/w/app/x.py", 40, 20, 200), file_path="/w/app/x.py", offset=40, limit=20)
    session.does("Read", _file("/w/app/x.py", 1, 200, 200), file_path="/w/app/x.py")
    session.does("Read", {"type": "file_unchanged"}, file_path="/w/app/y.py", offset=5, limit=3)
    session.does("Read", file_path="/w/app/z.py", content="    40→def f\n    41→    pass")
    session.does("Read", {"type": "image", "file": {"base64": "…"}}, file_path="pictures/a.png")
    assert _seen(written(session)) == [
        ("read", "/w/app/x.py", (40, 59)),
        ("read", "/w/app/x.py", None),
        ("read", "/w/app/y.py", (5, 7)),
        ("read", "/w/app/z.py", (40, 41)),
        ("read", "/w/app/pictures/a.png", None),
    ]


def test_edits_have_the_lines_of_their_patch(session: Any, written: Write) -> None:
    patch = [
        {"oldStart": 8, "oldLines": 7, "newStart": 8, "newLines": 8, "lines": [" a", " b", " c", "-d", "+e", "+f"]},
        {"oldStart": 30, "oldLines": 1, "newStart": 31, "newLines": 1, "lines": ["-x", "+y"]},
    ]
    session.does("Edit", {"filePath": "/w/app/x.py", "structuredPatch": patch}, file_path="/w/app/x.py", old_string="d")
    session.does("MultiEdit", {"structuredPatch": patch[1:]}, file_path="/w/app/y.py", edits=[{}])
    session.does("Write", {"type": "create", "structuredPatch": []}, file_path="/w/app/new.py", content="…")
    session.does("NotebookEdit", {"notebook_path": "/w/app/n.ipynb"}, notebook_path="/w/app/n.ipynb", new_source="1")
    found = extract_file_interactions(written(session))
    assert [(one.action, one.file, one.lines) for one in found] == [
        ("edit", "/w/app/x.py", (11, 15)),
        ("edit", "/w/app/x.py", (31, 31)),
        ("edit", "/w/app/y.py", (31, 31)),
        ("write", "/w/app/new.py", None),
        ("edit", "/w/app/n.ipynb", None),
    ]


def test_failed_calls_are_no_touches(session: Any, written: Write) -> None:
    session.result(session.call("Edit", file_path="/w/app/x.py"), "Error: not found", is_error=True)
    session.result(session.call("Write", file_path="/w/app/x.py"), "Error: denied")
    session.result(session.call("Read", file_path="/w/app/x.py"), _file("/w/app/x.py", 1, 1, 9), is_error=True)
    session.result(session.call("Bash", command="cat x.py"), is_error=True)
    session.call("Edit", file_path="/w/app/never-answered.py")
    assert _seen(written(session)) == []


def test_a_search_touches_the_files_that_it_found(session: Any, written: Write) -> None:
    names = ["src/a.py", "/w/app/src/b.py"]
    session.does("Grep", {"mode": "files_with_matches", "filenames": names}, pattern="x", path="/w/app/src")
    session.does("Glob", {"filenames": ["/w/app/c.py"], "truncated": False}, pattern="**/*.py")
    session.does("Grep", {"mode": "content", "filenames": [], "content": "d.py:3:x\nd.py-4-y"}, pattern="x")
    session.does("Grep", {"mode": "content", "filenames": [], "content": "7:x"}, pattern="x", path="/w/app/e.py")
    session.does("Grep", {"mode": "count", "content": "f.py:12\ng.py:3"}, pattern="x", output_mode="count")
    session.does("Grep", pattern="x", content="Found 1 file\nsrc/h.py")
    session.does("Grep", {"mode": "files_with_matches", "filenames": []}, pattern="x", content="No files found")
    assert [(action, file) for action, file, _ in _seen(written(session))] == [
        ("grep", "/w/app/src/a.py"),
        ("grep", "/w/app/src/b.py"),
        ("glob", "/w/app/c.py"),
        ("grep", "/w/app/d.py"),
        ("grep", "/w/app/e.py"),
        ("grep", "/w/app/f.py"),
        ("grep", "/w/app/g.py"),
        ("grep", "/w/app/src/h.py"),
    ]


def test_clear_shell_commands_are_touches(session: Any, written: Write) -> None:
    session.does("Bash", {"stdout": ""}, command="sed -n '3,9p' src/x.py && python -m pytest")
    session.does("Bash", {"stdout": ""}, command="cat $FILE; ls")
    assert _seen(written(session)) == [("read", "/w/app/src/x.py", (3, 9))]


def test_several_results_in_one_line(session: Any, written: Write) -> None:
    first, second = session.call("Read", file_path="/w/app/a.py"), session.call("Edit", file_path="/w/app/b.py")
    session.result(first)
    session.records[-1]["message"]["content"].append({"type": "tool_result", "tool_use_id": second, "content": "ok"})
    assert _seen(written(session)) == [("read", "/w/app/a.py", None), ("edit", "/w/app/b.py", None)]


def test_subagents_are_part_of_the_session(session: Any, tmp_path: Path) -> None:
    session.does("Read", file_path="/w/app/main.py")
    (tmp_path / "s.jsonl").write_bytes(session.data())
    other = type(session)()
    other.does("Edit", {"structuredPatch": []}, file_path="/w/app/sub.py")
    nested = tmp_path / "s" / "subagents" / "workflows" / "run-1"
    nested.mkdir(parents=True)
    (nested / "agent-1.jsonl").write_bytes(other.data())
    (nested / "agent-2.jsonl").symlink_to(tmp_path / "s.jsonl")
    found = extract_file_interactions(str(tmp_path / "s.jsonl"))
    assert sorted((one.action, one.file) for one in found) == [("edit", "/w/app/sub.py"), ("read", "/w/app/main.py")]


def test_a_reader_resumes_between_a_call_and_its_result(session: Any, tmp_path: Path) -> None:
    """Read after every byte, each time by a new reader from its saved state: the same touches, each once."""
    session.does("Read", _file("/w/app/x.py", 4, 2, 9), file_path="/w/app/x.py")
    session.does("Bash", {"stdout": ""}, command="cat y.py")
    session.does("Edit", {"structuredPatch": []}, file_path="/w/app/z.py")
    whole = session.data()
    path = tmp_path / "s.jsonl"
    path.write_bytes(whole)
    at_once = list(TranscriptReader(str(path)))
    found: list[Touch] = []
    state = Resume()
    for end in range(0, len(whole) + 1, 29):
        path.write_bytes(whole[:end])
        reader = TranscriptReader(str(path), state)
        found += reader
        state = reader.resume()
    path.write_bytes(whole)
    found += TranscriptReader(str(path), state)
    assert found == at_once
    assert len(found) == 3


def test_a_second_reading_reads_only_new_lines(session: Any, written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    session.does("Read", file_path="/w/app/a.py")
    path = written(session)
    assert len(extract_file_interactions(path)) == 1
    seen: list[bytes] = []
    touches = ClaudeRecords.touches

    def spy(records: ClaudeRecords, line: bytes) -> Any:
        seen.append(line)
        return touches(records, line)

    monkeypatch.setattr(ClaudeRecords, "touches", spy)
    session.does("Read", file_path="/w/app/b.py")
    assert len(extract_file_interactions(written(session))) == 2
    assert len(seen) == 2
    other = type(session)("/elsewhere")
    other.does("Edit", {"structuredPatch": []}, file_path="c.py")
    assert [one.file for one in extract_file_interactions(written(other))] == ["/elsewhere/c.py"]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b'{"type":"tool_use"',
        b'{"tool_use":' + b"[" * 100_000,
        b'{"x":"tool_use","a":' + b'{"a":' * 5000 + b"1" + b"}" * 5001,
        b'{"tool_use":"\xff\xfe"}',
        b"[1,2,3]",
        b'"tool_use"',
    ],
    ids=["text", "cut off", "deep", "deeper", "no text", "list", "string"],
)
def test_a_damaged_line_is_counted_and_the_next_one_read(session: Any, tmp_path: Path, line: bytes) -> None:
    session.does("Read", file_path="/w/app/x.py")
    path = tmp_path / "s.jsonl"
    path.write_bytes(line + b"\n" + session.data())
    reader = TranscriptReader(str(path))
    assert len(list(reader)) == 1
    assert reader.stats.corrupt == 1


def test_unknown_records_and_values_are_skipped(session: Any, written: Write) -> None:
    session.records += [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        {"type": "from-the-future", "tool_use": [1], "message": "tool_use"},
        {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": 7, "name": None, "input": []}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "toolu_unknown"}]}},
    ]
    session.does("FutureTool", file_path="/w/app/x.py")
    for path in (7, "", "a\0b", "x" * 5000, ["/w/app/x.py"], None):
        session.does("Read", file_path=path)
    session.does("Read", _file("/w/app/x.py", -3, 10**30, 2), file_path="/w/app/x.py", offset="1", limit=1.5)
    assert _seen(written(session)) == [("read", "/w/app/x.py", None)]


def test_a_line_that_would_take_a_hundred_megabytes_is_not_decoded() -> None:
    with pytest.raises(ValueError, match="no text"):
        decode(b"[" + b"[]," * 1_000_000 + b"[]]")


def test_calls_without_results_do_not_pile_up() -> None:
    records = ClaudeRecords()
    block = {"type": "tool_use", "name": "Read", "input": {"file_path": "/a"}}
    for number in range(5000):
        line = json.dumps({"message": {"content": [{**block, "id": f"t{number}"}]}}).encode()
        records.touches(line)
    assert len(records.pending) == 4096


KEYS = [
    "file_path", "offset", "limit", "path", "command", "notebook_path", "filenames", "structuredPatch", "content",
    "mode", "file", "startLine", "numLines", "totalLines", "oldStart", "oldLines", "newStart", "newLines", "lines",
]  # fmt: skip
LEAVES = [
    None, True, False, 0, 1, -1, 7, 10**18, 1.5, "", "x.py", "/etc/passwd", "a\0b", "3:y", "é\u2028", "{",
    "cat x", "cat y", "cat z",
]  # fmt: skip


def _anything(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth > 3 or kind < 0.5:
        return chance.choice(LEAVES)
    if kind < 0.75:
        return [_anything(chance, depth + 1) for _ in range(chance.randrange(4))]
    return {chance.choice(KEYS): _anything(chance, depth + 1) for _ in range(chance.randrange(7))}


@pytest.mark.parametrize("tool", ["Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "Bash"])
def test_no_record_breaks_the_reader(session: Any, tool: str, seed: int) -> None:
    chance, records = random.Random(f"{tool} {seed}"), ClaudeRecords()
    for _ in range(300):
        asked = {key: _anything(chance) for key in chance.sample(KEYS, 5)}
        session.result(session.call(tool, **asked), _anything(chance), content=_anything(chance))
    found = [touch for line in session.data().splitlines() for touch in records.touches(line)]
    for touch in found:
        assert touch.file.startswith("/")
        assert "\0" not in touch.file
        assert touch.lines is None or 1 <= touch.lines[0] <= touch.lines[1]
    assert found


@settings(max_examples=100, deadline=None)
@given(noise=st.binary(max_size=300), at=st.integers(0, 2000))
def test_damaged_bytes_raise_nothing_but_value_error(noise: bytes, at: int) -> None:
    """A real line with foreign bytes in it."""
    line = (
        b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},'
        b'"toolUseResult":{"file":{"filePath":"/a","numLines":2,"startLine":3,"totalLines":9}},"timestamp":"2026-08-01"}'
    )
    records = ClaudeRecords()
    records.touches(b'{"message":{"content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a"}}]}}')
    at = min(at, len(line))
    try:
        touches = list(records.touches(line[:at] + noise + line[at:]))
    except ValueError:
        return
    assert all(touch.file == "/a" for touch in touches)
