"""Foreign text in a comment: one code span, whatever is in it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sage_code.text.markdown import code_span, shortened


@given(st.text(alphabet=st.sampled_from("`a @<>[](){}$\\|#\n\t\u202e\u200b*_/:!-"), max_size=40))
def test_a_text_is_one_span_on_one_line(text: str) -> None:
    span = code_span(text, 60)
    fence = re.match("`+", span)
    assert fence is not None
    inner = span[len(fence[0]) : -len(fence[0])]
    # No run of backticks inside is as long as the fence: the span ends where it should, and nowhere before.
    runs = [len(run) for run in re.findall("`+", inner)]
    assert len(fence[0]) not in runs
    assert span.endswith(fence[0])
    assert not inner.startswith("`")
    assert not inner.endswith("`")
    assert not re.search("[\n\r\t\u202e\u200b]", span)


def test_what_is_long_keeps_its_beginning_and_its_end() -> None:
    assert shortened("a/very/long/path/to/file.py", 15) == "a/very/lo…le.py"
    assert len(code_span("x" * 500, 80)) == 82
    assert code_span("", 10) == "` `"
    assert code_span("a`b", 10) == "``a`b``"
    assert code_span("`", 10) == "`` ` ``"
