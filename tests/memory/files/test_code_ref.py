"""A reference is a value that comes back from anybody's file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.memory.files.code_ref import MAX_SNIPPET_CHARS, MAX_SNIPPET_LINES, RELEVANCES, CodeRef

_names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    ref=st.builds(
        CodeRef,
        file=st.lists(_names, min_size=1, max_size=4).map("/".join),
        lines=st.none() | st.tuples(st.integers(1, 100), st.integers(100, 10_000)),
        snippet=st.none() | st.text("ab \n", min_size=1, max_size=40),
        relevance=st.sampled_from(RELEVANCES),
        symbol=st.just("") | _names,
        content_hash=st.just("") | _names,
    )
)
def test_a_reference_survives_its_record(ref: CodeRef) -> None:
    assert CodeRef.from_dict(ref.to_dict()) == ref


@pytest.mark.parametrize(
    "file",
    ["../x", "a/../../x", "/etc/passwd", "", ".", "a//b", "a/./b", "C:/x", "a\\b", "a\0b", "a\nb", "x" * 2000, 7, None,
     ["a"], "a/", "\x1b[2J"],
    ids=lambda file: repr(file)[:20],
)  # fmt: skip
def test_a_path_that_could_lead_elsewhere_is_refused(file: Any) -> None:
    with pytest.raises(UsageError):
        CodeRef.from_dict({"file": file})


@pytest.mark.parametrize(
    "more",
    [{"lines": [2, 1]}, {"lines": [0, 1]}, {"lines": [1]}, {"lines": "12"}, {"lines": [True, 2]}, {"lines": [1, 10**9]},
     {"lines": [1.0, 2.0]}, {"relevance": "x"}, {"symbol": 7}, {"symbol": "x" * 1000},
     {"snippet": {}}],
    ids=str,
)  # fmt: skip
def test_invalid_values_are_refused(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        CodeRef.from_dict({"file": "a.py", **more})


def test_a_value_that_is_no_record_is_refused() -> None:
    for record in ("a.py", None, ["a.py"]):
        with pytest.raises(UsageError):
            CodeRef.from_dict(record)  # type: ignore[arg-type]


def test_a_quotation_is_bounded() -> None:
    ref = CodeRef.from_dict({"file": "a.py", "snippet": "line\n" * 100_000})
    assert ref.snippet is not None
    assert len(ref.snippet.split("\n")) == MAX_SNIPPET_LINES
    assert len(CodeRef.from_dict({"file": "a", "snippet": "x" * 10**6}).snippet or "") == MAX_SNIPPET_CHARS
