"""Markdown as blocks of text: what people write in notes is laid out, and nothing is ever lost or becomes markup."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sage_web.drawing.markdown import Span, blocks, spans


def test_what_people_write_in_notes() -> None:
    text = (
        "# Why\nFirst line\nsecond `x < y` and **this**\n\n- one\n  goes on\n2. two\n> said\n"
        "```py\n# no heading\n```\nend"
    )
    found = [(block.kind, block.text or [[one.text for one in row] for row in block.rows]) for block in blocks(text)]
    assert found == [
        ("heading", [["Why"]]),
        ("text", [["First line"], ["second ", "x < y", " and ", "this"]]),
        ("list", [["one", " ", "goes on"], ["two"]]),
        ("quote", [["said"]]),
        ("code", "# no heading"),
        ("text", [["end"]]),
    ]
    assert spans("a `b` c") == [Span("a "), Span("b", "code"), Span(" c")]
    assert blocks("\\# no heading")[0].rows == [[Span("# no heading")]]
    assert [block.kind for block in blocks("```\nnever closed")] == ["code"]


@given(st.text(st.sampled_from("ab <#*`>-~\n\\1. ")))
def test_no_letter_is_lost(text: str) -> None:
    shown = "".join(block.text + "".join(one.text for row in block.rows for one in row) for block in blocks(text))
    is_info = any(
        line.lstrip().startswith(("```", "~~~")) for line in text.split("\n")
    )  # what follows a fence is left out
    assert is_info or [sign for sign in shown if sign in "ab<"] == [sign for sign in text if sign in "ab<"]
