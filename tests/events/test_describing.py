"""An event in words: one line, masked, with nothing in it that cannot be seen."""

from __future__ import annotations

from typing import Any

import pytest

from sage_code.events.describing import described


def test_an_event_says_what_it_is_about_and_who_published_it() -> None:
    event = {
        "type": "index.finished", "id": "1", "timestamp": 1.0, "source": "index", "pid": 7, "program": "sage",
        "metadata": {"root": "/w", "stats": {"files_indexed": 1200, "removed": 0}},
    }  # fmt: skip
    assert described(event) == (
        "index.finished", "root=/w  stats=files_indexed:1,200,removed:0", "sage 7, index",
    )  # fmt: skip


def test_what_is_secret_is_masked_and_what_is_unseen_is_written_out() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    found = described({"type": "search.pre_search", "where": "code", "query": f"token {key}\n\u202e\x1b[31m"})
    assert key not in found.about
    assert "\\n\\u202e\\x1b[31m" in found.about


@pytest.mark.parametrize("odd", [None, 7, "text", [], [{"a": 1}], {"a": {"b": ["c"]}}, 1e300])
def test_any_value_can_be_shown(odd: Any) -> None:
    found = described({"type": "x", "metadata": odd, "query": odd, "path": odd, "source": odd, "pid": odd})
    assert "\n" not in "".join(found)
