"""Blocks as XML: a real parser reads them, and every value comes back exactly."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.memory.tiers.block_xml import compiled, parse_compiled
from sage_code.memory.tiers.values import Block

_AWKWARD = [
    "",
    "\n",
    "\n\nblank lines around\n\n",
    "</value>",
    "<persona>",
    "]]>",
    "<![CDATA[x]]>",
    "a & b &amp; &#13;",
    "one\r\ntwo\rthree",
    "\ttabs\t",
    "\x00\x01\x08\x0b\x0c\x0e\x1b[31m\x1f\x7f\x85\x9f",
    "\ud800 \udfff \ud83d\ude00",
    "\ufffe\uffff\ufeff\u2028",
    r"\x1b is text, \\x1b too, C:\new\users\x\u0041, \ud800, \ufffe",
    "\\\x1b \\\\\x1b \\x1b\x1b\\x1b",
    "日本語" * 6_666 + "🙂🙂",
    "<?xml version='1.0'?><!DOCTYPE x>",
    "{% raw %} {{ value }}",
]
# Pieces that the scheme of escapes could confuse, besides any characters at all.
_TEXTS = st.one_of(
    st.text(st.characters(codec=None, exclude_categories=())),
    st.lists(st.sampled_from(["\\", "x1b", "x", "1b", "\x1b", "ud800", "\ud800", "&", "<", "]]>", "\r", "\n"])).map(
        "".join
    ),
)
_LABELS = st.from_regex(r"\A[A-Za-z][A-Za-z0-9_-]{0,20}\Z")


def test_the_layout_is_that_of_the_specification() -> None:
    blocks = [
        Block("human", "Name: Alice\nPreferences: Prefers concise responses...", "Stores key details."),
        Block("persona", "I am Sage", "Stores details about your current persona."),
    ]
    assert compiled(blocks) == (
        "<memory_blocks>\n"
        "The following memory blocks are currently engaged in your core memory unit:\n"
        "\n"
        "<persona>\n"
        "<description>\n"
        "Stores details about your current persona.\n"
        "</description>\n"
        "<metadata>\n"
        "- chars_current=9\n"
        "- chars_limit=20000\n"
        "</metadata>\n"
        "<value>\n"
        "I am Sage\n"
        "</value>\n"
        "</persona>\n"
        "\n"
        "<human>\n"
        "<description>\n"
        "Stores key details.\n"
        "</description>\n"
        "<metadata>\n"
        "- chars_current=53\n"
        "- chars_limit=20000\n"
        "</metadata>\n"
        "<value>\n"
        "Name: Alice\n"
        "Preferences: Prefers concise responses...\n"
        "</value>\n"
        "</human>\n"
        "\n"
        "</memory_blocks>"
    )


def test_the_order_is_stable() -> None:
    labels = ["zeta", "human", "alpha", "persona", "Beta"]
    assert list(parse_compiled(compiled(map(Block, labels)))) == ["persona", "human", "Beta", "alpha", "zeta"]


@pytest.mark.parametrize("value", _AWKWARD)
def test_awkward_values_round_trip(value: str) -> None:
    xml = compiled([Block("persona", value, value), Block("human", "beside")])
    ElementTree.fromstring(xml)
    assert parse_compiled(xml) == {"persona": value, "human": "beside"}


@given(st.dictionaries(_LABELS, st.tuples(_TEXTS, _TEXTS), max_size=4))
def test_every_value_round_trips(values: dict[str, tuple[str, str]]) -> None:
    xml = compiled(Block(label, value, about) for label, (value, about) in values.items())
    assert parse_compiled(xml) == {label: value for label, (value, _) in values.items()}


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"), include_characters="\t\r\n")))
def test_a_parser_alone_gives_ordinary_values_back(value: str) -> None:
    if "\ufffe" in value or "\uffff" in value:
        return
    text = ElementTree.fromstring(compiled([Block("persona", value)])).findtext("persona/value")
    escapes = "\\x" in value or "\\u" in value
    assert escapes or text == f"\n{value}\n"


def test_a_run_of_backslashes_takes_linear_time() -> None:
    value = "\\" * 1_000_000
    assert parse_compiled(compiled([Block("persona", value)])) == {"persona": value}


@pytest.mark.parametrize("text", ["", "<memory_blocks>", "<other/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><memory_blocks/>"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no compiled memory"):
        parse_compiled(text)
