"""Any document, written in any way: an insertion can be taken back, and a cut leaves a document without the entry."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.agents import jsonc, toml

Written = Callable[[Any], st.SearchStrategy[str]]
KEYS = ("servers", "sage")
ENTRY = {"command": "x", "args": ["--a", "é"]}
_PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(string.printable + "é\u2028", max_size=8)
_VALUES = st.recursive(
    _PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(st.text(string.ascii_letters, max_size=4), _VALUES, max_size=4)


@settings(max_examples=150, deadline=None)
@given(st.data(), _DOCUMENTS, st.none() | st.dictionaries(st.text(max_size=3), _VALUES, max_size=2))
def test_json(written: Written, data: st.DataObject, document: dict[str, Any], servers: dict[str, Any] | None) -> None:
    document.pop("servers", None)
    if servers is not None:
        servers.pop("sage", None)
        document["servers"] = servers
    text = data.draw(written(document))
    assert jsonc.parse(text).value == document
    offset, inserted = jsonc.insertion(text, KEYS, ENTRY)
    changed = text[:offset] + inserted + text[offset:]
    assert jsonc.parse(changed).value == {**document, "servers": {**(servers or {}), "sage": ENTRY}}
    assert changed.count(inserted) == 1  # so that taking it back gives the very text
    assert jsonc.parse(jsonc.cut(changed, KEYS)).value == {**document, "servers": servers or {}}


@pytest.mark.parametrize(
    "text",
    [
        '{"servers":{/* {" */}/* {" */\n}',
        '{"servers": { /* a */ } /* b */\n}',
        '{"servers":{/**/"x":1}/**/\n}',
        '{"servers":{//*/\r"x":1}}',
        '{/* 1 */"servers":{}/* 2 */\n,/* 3 */"b":2/* 4 */\n}/* 5 */\n',
    ],
)
def test_an_entry_lands_inside_the_object_whatever_comments_follow_it(text: str) -> None:
    offset, inserted = jsonc.insertion(text, KEYS, ENTRY)
    changed = text[:offset] + inserted + text[offset:]
    document = jsonc.parse(text).value
    assert jsonc.parse(changed).value == {**document, "servers": {**document["servers"], "sage": ENTRY}}
    assert changed.replace(inserted, "") == text


def test_a_cut_leaves_the_blank_line_before_an_entry() -> None:
    text = '{\n  "servers": {\n    "a": 1,\n  \n    "sage": {}\n  }\n}\n'
    assert jsonc.cut(text, KEYS) == '{\n  "servers": {\n    "a": 1\n  \n  }\n}\n'


@pytest.mark.parametrize("indent", ["\t", "    ", " "])
def test_an_insertion_has_the_style_of_the_file(indent: str) -> None:
    text = json.dumps({"servers": {"other": {"command": "y"}}, "theme": "dark"}, indent=indent)
    offset, inserted = jsonc.insertion(text, KEYS, {"command": "x"})
    expected = json.dumps(
        {"servers": {"sage": {"command": "x"}, "other": {"command": "y"}}, "theme": "dark"}, indent=indent
    )
    assert text[:offset] + inserted + text[offset:] == expected


@pytest.mark.parametrize(
    "text", ["", "{", '{"a"}', '{"a":}', '{"a": 1 "b": 2}', "{a: 1}", '{"a": 01}', '"\n"', "{} {}", "/* {}"]
)
def test_invalid_json_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(ValueError, match="line"):
        jsonc.parse(text)


def test_toml_strings_that_look_like_tables() -> None:
    text = 'a = """\n[servers.sage]\n"""\n\n[servers.sage]\ncommand = "x"\n\n[servers.sage.env]\nA = "1"\n\n[other]\n'
    assert toml.parse(text)["servers"]["sage"]["env"] == {"A": "1"}
    # This cut removes too much; the caller compares the documents and refuses it.
    assert toml.parse(toml.cut(text.partition("\n\n")[2], KEYS)) == {"other": {}}
    assert '["a b".sage]' in toml.insertion("", ("a b", "sage"), {"c": 1})[1]
