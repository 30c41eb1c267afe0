"""Every first-class language has one sample that lists its expected symbols in comments.

`^ kind qualname; kind qualname` at the end of a line says which names that line defines; a line without such
a comment defines nothing. Expected and found must be equal, nothing more and nothing less. Where the end of a line
cannot hold a comment (JSON, Dockerfiles, reStructuredText) the list is beside the sample, in `expected.txt`:
`line kind qualname`.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sage_code.languages.table import all_languages, detect
from sage_code.parse.definitions import parse

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "languages"
# Behind the language's own comment marker; `(* ... *)`, `/* ... */`, `{- ... -}` and `<!-- ... -->` end on the line.
EXPECTATION = re.compile(r"(?:#|//|--|%|;|!|\(\*|/\*|\{-) \^ (.+?)(?: (?:\*\)|\*/|-\}|-->))?$")


def expected(sample: Path) -> list[tuple[int, str]]:
    beside = sample.with_name("expected.txt")
    if beside.exists():
        rows = [row.partition(" ") for row in beside.read_text().splitlines()]
        return sorted((int(number), symbol) for number, _, symbol in rows)
    lines = []
    for number, line in enumerate(sample.read_text().split("\n"), 1):
        if found := EXPECTATION.search(line):
            lines += [(number, symbol) for symbol in found[1].split("; ")]
    return sorted(lines)


def test_every_first_class_language_has_a_sample() -> None:
    with_definitions = {language.name for language in all_languages() if language.has_definitions}
    assert {folder.name for folder in SAMPLES.iterdir()} == with_definitions
    assert len(with_definitions) >= 13


@pytest.mark.parametrize("sample", sorted(SAMPLES.glob("*/sample.*")), ids=lambda path: path.parent.name)
def test_sample(sample: Path) -> None:
    source = sample.read_bytes()
    language = detect(sample.name, source)
    assert language is not None
    assert language.name == sample.parent.name
    parsed = parse(source, language)
    assert parsed is not None
    found = sorted((symbol.line, f"{symbol.kind} {symbol.qualname}") for symbol in parsed.symbols)
    assert found == expected(sample)
