"""JSON without `json` gives what `json` gives, with and without the functions of CPython."""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.text import light_json
from sage_code.text.light_json import dumps, loads

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
BROKEN = [b"", b"{", b'{"a":1}x', b"x", b'"a\nb"', b'{"a" 1}', b"\xff", b'["a",]']


@given(VALUES, st.booleans())
def test_values_are_written_and_read_as_json_does_it(value: object, ensure_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=ensure_ascii)
    assert dumps(value, ensure_ascii=ensure_ascii) == text
    assert loads(text.encode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize("data", BROKEN, ids=repr)
def test_anything_else_is_a_value_error(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError):
        loads(data)
    monkeypatch.setattr(light_json, "_json", None)
    with pytest.raises(ValueError):
        loads(data)


def test_another_python_uses_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(light_json, "_json", None)
    assert loads(b'{"a":[1,"\xc3\xa9"]}') == {"a": [1, "é"]}
    assert dumps({"a": [1, "é"]}) == '{"a": [1, "é"]}'


def test_a_value_without_a_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set has no form in JSON"):
        dumps({"a": {1}})


def test_broken_json_is_a_value_error_where_json_was_never_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "json.decoder"):
        monkeypatch.delitem(sys.modules, name)
    for data in BROKEN:
        with pytest.raises(ValueError):
            loads(data)
