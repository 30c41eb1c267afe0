"""The hints of `secret_hints` leave out nothing: with and without them, the same secrets are found."""

from __future__ import annotations

import importlib
import random
import string
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.text import secret_shapes as shapes
from sage_code.text.masking import find, find_by_every_rule, mask
from sage_code.text.secret_hints import Hints

_ROOT = Path(__file__).resolve().parents[2]
_BENCHMARKS = str(_ROOT / "benchmarks")
_FILES_OF_THE_REPOSITORY = 120
_MUTATED = 1_500

_WORDS = sorted(
    {need for token in shapes.TOKENS for need in token.needs}
    | {need for context in shapes.CONTEXTS for need in context.needs}
    | set(shapes.ANCHORS)
)
_SIGNS = [
    " ", "\n", "=", ": ", "'", '"', " -u ", " -p ", " --", "@", "://", "/", "?", "&", "(", ")", ",", "<", ">", "|", "_",
    "-", ".", "is", "\u017f", "\u0131", "\u0130", "\u212a", "²", "é",
]  # fmt: skip
_RANDOM = random.Random(3)
_VALUES = [
    "".join(_RANDOM.choices(alphabet, k=length))
    for length in (6, 10, 12, 16, 17, 20, 24, 32, 36, 43, 64)
    for alphabet in (string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_lowercase, string.digits)
]
_PIECES = st.one_of(st.sampled_from(_WORDS), st.sampled_from(_SIGNS), st.sampled_from(_VALUES), st.text(max_size=8))
_TEXTS = st.builds(
    lambda pieces, change: change("".join(pieces)),
    st.lists(_PIECES, max_size=14),
    st.sampled_from([str, str, str.upper, str.title]),
)


@pytest.fixture(scope="module")
def made() -> Iterator[list[str]]:
    """The made-up secrets of the benchmark, in the text around them."""
    sys.path.insert(0, _BENCHMARKS)
    try:
        first, second = importlib.import_module("made_secrets"), importlib.import_module("held_out_secrets")
        every = [*first.made(3), *second.made(3, kept_out=False), *second.made(3, kept_out=True)]
        yield [one.text for one in every]
    finally:
        sys.path.remove(_BENCHMARKS)


@settings(max_examples=600, deadline=None)
@given(_TEXTS)
def test_the_hints_change_nothing_in_made_up_texts(text: str) -> None:
    assert find(text) == find_by_every_rule(text)


def test_the_hints_miss_no_secret_of_the_benchmark(made: list[str]) -> None:
    assert sum(bool(find(text)) for text in made) > len(made) * 0.8
    assert [text for text in made if find(text) != find_by_every_rule(text)] == []


def test_the_hints_miss_no_secret_that_was_changed_or_stands_beside_another(made: list[str]) -> None:
    chance = random.Random(5)
    for _ in range(_MUTATED):
        text = chance.choice(made)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(text) + 1)
            other = chance.choice(made)
            put = chance.choice(["", "\n", *_SIGNS, other[: chance.randrange(len(other))]])
            text = text[:at] + put + text[at + chance.randrange(2) :]
        assert find(text) == find_by_every_rule(text), text


def test_the_hints_change_nothing_in_the_files_of_this_repository() -> None:
    paths = sorted(
        path for folder in ("sage_code", "mcp", "fixtures", "benchmarks") for path in (_ROOT / folder).rglob("*")
    )
    files = [path for path in paths if path.is_file() and path.suffix != ".pyc"]
    for path in random.Random(1).sample(files, _FILES_OF_THE_REPOSITORY):
        text = path.read_text(encoding="utf-8", errors="replace")[:20_000]
        assert find(text) == find_by_every_rule(text), path


@pytest.mark.parametrize("letter", ["\u017f", "\u0131", "\u0130", "\u212a"])
def test_a_letter_with_an_unusual_case_changes_nothing(letter: str) -> None:
    for text in (f"expect pa{letter}word send 'tr0ub4dor&3'", f'{letter} api_key = "tr0ub4dor3xK9qLmZ8"', letter * 40):
        assert find(text) == find_by_every_rule(text)


@pytest.mark.parametrize(
    "text", ["", "We met at the beach, and she told me about the new job!", "Is the garden ready? I hope so :)"]
)
def test_an_ordinary_message_is_not_searched(text: str) -> None:
    hints = Hints(text, text.lower())
    assert not hints.may_have_tokens()
    assert hints.contexts() == []
    assert hints.spans_of_names() == []
    assert hints.spans_of_runs() == []
    assert mask(text) == (text, ())
