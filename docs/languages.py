"""Prints docs/LANGUAGES.md, from the table of languages and the samples of each.

python docs/languages.py > docs/LANGUAGES.md
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from sage_code.languages.table import Language, all_languages
from sage_code.paths import assets_dir

# How a sample lists its definitions: see tests/parse/test_fixtures.py.
_EXPECTED = re.compile(r"(?:^\d+ | \^ |; )([a-z]+) (?=\S)", re.MULTILINE)
_EXPECTING = re.compile(r"^\d+ .*| \^ .*", re.MULTILINE)


def documentation() -> str:
    """The text of docs/LANGUAGES.md, from the table and the samples."""
    languages = sorted(all_languages(), key=lambda language: language.name)
    extracted = [language for language in languages if language.has_definitions]
    others = ", ".join(
        f"{language.name} ({_names(language)})" for language in languages if not language.has_definitions
    )
    rows = [
        f"| {language.name} | {_names(language)} | {_ways(language)} | {_kinds(language)} |" for language in extracted
    ]
    return "\n".join(
        [
            "# Languages",
            "",
            "Written by `python docs/languages.py > docs/LANGUAGES.md`; a test holds it to the code.",
            "",
            f"Sage knows {len(languages)} languages and extracts definitions from {len(extracted)} of them. Each has",
            "a sample in `fixtures/languages/` that says which symbols it must give; the kinds below are those.",
            "",
            "| language | files | definitions | kinds |",
            "|---|---|---|---|",
            *rows,
            "",
            "Cut by lines, searched as text: " + others + ".",
            "",
        ]
    )


def _names(language: Language) -> str:
    names = [*(f".{extension}" for extension in language.extensions), *language.filenames]
    return " ".join(names) or " ".join(f"#!{shebang}" for shebang in language.shebangs)


def _ways(language: Language) -> str:
    if language.reader:
        return "reader"
    folders = dict.fromkeys((*language.queries, language.name))
    has_references = any(Path(assets_dir("grammars"), folder, "references.scm").exists() for folder in folders)
    return "query, references" if has_references else "query"


def _kinds(language: Language) -> str:
    folder = Path(__file__).resolve().parents[1] / "fixtures" / "languages" / language.name
    kinds: dict[str, int] = {}
    for file in sorted(folder.glob("expected.txt")) or sorted(folder.glob("sample.*")):
        for line in _EXPECTING.findall(file.read_text("utf-8")):
            for kind in _EXPECTED.findall(line):
                kinds[kind] = kinds.get(kind, 0) + 1
    return ", ".join(sorted(kinds))


if __name__ == "__main__":
    sys.stdout.write(documentation())
