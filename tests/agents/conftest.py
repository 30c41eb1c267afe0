"""Documents as people write them, for the tests of files that belong to other programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st

_GAPS = st.sampled_from(
    ["", " ", "\n", "\r\n", "\t", "// c\n", "// /* \r\n", '//"}\r', '/* {" */', "\n  ", "/* a\n b */", "/*/*/", "/***/"]
)


@st.composite
def _written(draw: st.DrawFn, value: Any) -> str:
    """A document with white space, comments and trailing commas wherever they may be."""
    gap = lambda: draw(_GAPS)  # noqa: E731
    if isinstance(value, dict):
        items = [f"{gap()}{json.dumps(key)}{gap()}:{gap()}{draw(_written(item))}{gap()}" for key, item in value.items()]
        return "{" + ",".join(items) + ("," if items and draw(st.booleans()) else "") + gap() + "}"
    if isinstance(value, list):
        items = [f"{gap()}{draw(_written(item))}{gap()}" for item in value]
        return "[" + ",".join(items) + ("," if items and draw(st.booleans()) else "") + gap() + "]"
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


@pytest.fixture(scope="session")
def written() -> Callable[[Any], st.SearchStrategy[str]]:
    """The texts of a document in JSON with comments."""
    return _written
