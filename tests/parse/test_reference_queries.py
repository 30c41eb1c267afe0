"""Every references query compiles against its grammar and captures something in its language's sample."""

from __future__ import annotations

from pathlib import Path

import pytest
from tree_sitter import Query, QueryCursor
from tree_sitter_language_pack import get_language, get_parser

from sage_code.languages.table import Language, all_languages

ROOT = Path(__file__).resolve().parents[2]
# `head` marks what looks like a call but is the head of a definition; names with `_` serve predicates.
CAPTURES = {"call", "type", "inherit", "use", "bind", "import", "head"}


def query_text(language: Language) -> str:
    """The references queries of a language: those of its definition folders, or its own."""
    folders = dict.fromkeys((*language.queries, language.name))
    files = [ROOT / "grammars" / folder / "references.scm" for folder in folders]
    return "\n".join(file.read_text("utf-8") for file in files if file.exists())


WITH_REFERENCES = [language for language in all_languages() if language.queries and query_text(language)]


@pytest.mark.parametrize("language", WITH_REFERENCES, ids=lambda language: language.name)
def test_query(language: Language) -> None:
    assert language.grammar is not None
    query = Query(get_language(language.grammar), query_text(language))  # type: ignore[arg-type]
    names = {query.capture_name(index) for index in range(query.capture_count)}
    assert {name for name in names if not name.startswith("_")} <= CAPTURES
    (sample,) = (ROOT / "fixtures" / "languages" / language.name).glob("sample.*")
    tree = get_parser(language.grammar).parse(sample.read_bytes())  # type: ignore[arg-type]
    captured = QueryCursor(query).captures(tree.root_node)
    assert captured.keys() & {"call", "type"}
    for name in ("call", "type", "inherit"):
        for node in captured.get(name, ()):
            assert node.text
            assert b"\n" not in node.text
