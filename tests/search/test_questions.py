"""Long questions are divided into zones, stack frames find their files, and runs of words find their chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code import Project
from sage_code.search.candidates import framed_files, mentioned_files
from sage_code.search.lexical import TermPostings
from sage_code.search.phrases import Phrases
from sage_code.search.query import parse_query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.zones import divide

REPORT = """Anchor drops too early when the tide turns
#### Description
The `Anchor.drop` call happens before the winch has stopped.

#### Steps to reproduce
```python
>>> from harbor.deck import anchor
>>> anchor.drop()
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "/usr/lib/python3/site-packages/harbor/deck/anchor.py", line 9, in drop
    raise RuntimeError("the winch is still turning")
RuntimeError: the winch is still turning
```

#### Versions
Python 3.11.4, NumPy 1.26
"""


def test_a_short_question_is_one_zone() -> None:
    divided = divide("where is the anchor dropped")
    assert not divided.is_long
    assert divided.title == "where is the anchor dropped"


def test_a_report_is_about_its_title_and_not_about_its_versions() -> None:
    query = parse_query(REPORT)
    assert query.kind == "report"
    assert query.title == "Anchor drops too early when the tide turns"
    weight = dict(zip(query.terms, query.importance, strict=True))
    assert weight["anchor"] > weight["winch"] > weight["numpy"]
    assert "description" not in weight
    assert query.names[0] == "Anchor.drop"


def test_the_innermost_frame_of_a_trace_comes_first() -> None:
    query = parse_query(REPORT)
    assert [frame.name for frame in query.frames] == ["drop", "module"]
    assert query.frames[0].path.endswith("harbor/deck/anchor.py")
    java = parse_query("it broke\n" + "\n".join(f"\tat a.b.C.{name}(C.java:{10})" for name in ("inner", "outer")))
    assert [frame.name for frame in java.frames] == ["inner", "outer"]


@given(
    st.text(max_size=400), st.sampled_from(["\n", "```", "\n> ", ' File "', "Error: ", "\nat x (", "#### Versions\n"])
)
@pytest.mark.chance
def test_any_text_can_be_divided(text: str, mark: str) -> None:
    divided = divide(mark.join(text[at : at + 20] for at in range(0, len(text), 20)))
    assert all(zone.weight > 0 for zone in divided.zones)
    assert all(0 < frame.closeness <= 1 for frame in divided.frames)


@pytest.fixture
def snapshot(tmp_path: Path) -> SearchSnapshot:
    deck = tmp_path / "src" / "harbor" / "deck"
    deck.mkdir(parents=True)
    (deck / "anchor.py").write_text('def drop():\n    raise RuntimeError("the winch is still turning")\n')
    (deck / "winch.py").write_text("def turn():\n    # still turning: the winch is\n    return 1\n")
    Project(str(tmp_path)).index()
    return SearchSnapshot(str(tmp_path))


def test_a_message_is_found_word_after_word(snapshot: SearchSnapshot) -> None:
    query = parse_query('"the winch is still turning"')
    words = TermPostings(snapshot, dict(zip(query.terms, query.importance, strict=True)))
    runs = Phrases(query, words).of(snapshot, np.arange(snapshot.chunks))
    by_path = {snapshot.path(int(file)): share for file, share in zip(snapshot.chunk_file, runs.share, strict=True)}
    assert by_path["src/harbor/deck/anchor.py"] == pytest.approx(1.0, abs=1e-4)
    assert by_path["src/harbor/deck/winch.py"] < 0.8


def test_frames_paths_and_modules_find_their_files(snapshot: SearchSnapshot) -> None:
    number = snapshot.file_numbers["src/harbor/deck/anchor.py"]
    assert framed_files(snapshot, parse_query(REPORT)) == {number: pytest.approx(0.75)}
    assert mentioned_files(snapshot, parse_query("why does deck/anchor.py raise"))[number] == 1.0
    assert number in mentioned_files(snapshot, parse_query("what is harbor.deck.anchor.drop for"))


def test_a_unique_message_is_the_first_answer_and_a_good_one(snapshot: SearchSnapshot) -> None:
    response = Project(snapshot.root).search("the winch is still turning")
    assert response.good
    assert response.results[0].file == "src/harbor/deck/anchor.py"


def test_no_text_is_cut_at_a_number_of_words(snapshot: SearchSnapshot) -> None:
    noise = "\n".join(f"line {number} says nothing about it at all" for number in range(300))
    response = Project(snapshot.root).search(f"It is broken\n{noise}\nRuntimeError: the winch is still turning\n")
    assert response.results[0].file == "src/harbor/deck/anchor.py"


def test_segments_have_the_words_of_every_chunk_in_order(snapshot: SearchSnapshot) -> None:
    (segment,) = snapshot.segments
    words = [[segment.string("terms", row) for row in segment.words(chunk)] for chunk in range(snapshot.chunks)]
    assert ["def", "drop", "raise", "runtimeerror", "the", "winch", "is", "still", "turning"] in words
