"""Unseen characters are escaped, all others stay, and JSON decodes to the original text."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.text.escaping import in_json, one_line, visible

# Marks before Arabic, Syriac and Kaithi numbers: format characters that are seen.
_SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}


def test_every_control_format_and_separator_character_is_escaped() -> None:
    left = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and chr(code) not in "\t\n"
        and code not in _SEEN
        and visible(chr(code)) == chr(code)
    ]
    assert left == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m\x9b\x7f\r", "\\x1b[31m\\x9b\\x7f\\x0d"),
        ("a\u202eb\u200b\u2066\ufeff", "a\\u202eb\\u200b\\u2066\\ufeff"),
        ("\U000e0041\ud800", "\\U000e0041\\ud800"),
        ("x\ufe0f\u3164\u2800", "x\\ufe0f\\u3164\\u2800"),
        ("⚠\ufe0f\ufe0f", "⚠\ufe0f\\ufe0f"),
        ("tab\tand\nünïcode 漢字 🎉 [red] Ä", "tab\tand\nünïcode 漢字 🎉 [red] Ä"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert one_line(text) == shown.replace("\n", "\\n")


@given(st.text() | st.text(st.sampled_from('ab\n\t\x1b\x7f\x9b\u202e\u200b\U000e0041\ud800\ufe0f⚠\\"')))
def test_json_decodes_to_the_original_text_and_has_no_unseen_characters(text: str) -> None:
    for indent in (None, 2):
        document = in_json(json.dumps({"text": text}, ensure_ascii=False, indent=indent))
        assert json.loads(document) == {"text": text}
        assert visible(document) == document
    assert visible(visible(text)) == visible(text)
