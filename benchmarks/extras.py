"""What does Sage find that universal-ctags does not? A random sample per language, for a person to judge.

    python benchmarks/extras.py --repos DIR [--only LANGUAGE] [--projects NAME ...] [--seed N] [--count 50]

An extra is a symbol for which ctags, with all its kinds, has no tag of that name on that line; for a language that
ctags does not know, every symbol is one (Solidity: every one that the regular expressions of `coverage.py` miss). Each
is shown with its place, kind, name and qualified name, the line that it is said to be on between its neighbours, and
above them the nearest lines that are indented less, which name its owners. To be judged of each: is it a definition,
and are its kind, its line and its qualified name right?
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.coverage import BUDGET_S, CTAGS, PROJECTS, plain, read, scan_solidity, source_files
from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
from sage_code.values import Symbol

# Languages that no referee of `coverage.py` answers for.
UNREFEREED: dict[str, tuple[str, ...]] = {
    "groovy": ("spock", "nextflow", "job-dsl-plugin"),
    "fsharp": ("FAKE", "Paket"),
    "swift": ("swift-nio", "Alamofire"),
    "sql": ("pgtap", "chinook-database"),
}
CTAGS_ALSO = {"sql": "SQL"}
COUNT = 50
FILES = 300  # of a project, drawn with the same seed: enough for a sample, and no project takes minutes
OWNER_LINES = 4  # how many lines above, each indented less than the last, are shown
LINE_CHARS = 150


@dataclass(frozen=True, slots=True)
class Extra:
    """A symbol that the referee does not find, with its file."""

    file: str
    symbol: Symbol


def main() -> int:
    languages = PROJECTS | UNREFEREED
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repos", required=True, help="folder with the checkouts")
    arguments.add_argument("--only", choices=sorted(languages), help="one language")
    arguments.add_argument("--projects", nargs="+", help="with --only: these checkouts instead of the usual ones")
    arguments.add_argument("--seed", type=int, default=1, help="another one gives another sample")
    arguments.add_argument("--count", type=int, default=COUNT)
    options = arguments.parse_args()
    for language in [options.only] if options.only else languages:
        found: list[Extra] = []
        total = 0
        for project in options.projects or languages[language]:
            folder = os.path.join(options.repos, project)
            if not os.path.isdir(folder):
                print(f"{project}: not checked out under {options.repos}", file=sys.stderr)
                continue
            symbols, extras = measure(language, folder, options.seed)
            total += symbols
            found += extras
        sample = Random(options.seed).sample(found, min(options.count, len(found)))
        kinds = ", ".join(f"{kind} {count}" for kind, count in Counter(e.symbol.kind for e in found).most_common())
        print(
            f"# {language}: {len(found)} of {total} symbols are extras ({kinds}); {len(sample)} of them, seed "
            f"{options.seed}:\n"
        )
        for number, extra in enumerate(sample, 1):
            show(number, extra, options.repos)
    return 0


def measure(language_name: str, folder: str, seed: int) -> tuple[int, list[Extra]]:
    """How many symbols Sage finds in a sample of a project's files, and those that the referee does not find."""
    language = by_name(language_name)
    assert language is not None
    files = list(source_files(language_name, folder))
    files = Random(seed).sample(files, min(FILES, len(files)))
    known = defaultdict(set)
    for file, name, line in referee(language_name, files):
        known[file].add((plain(name), line))
    total, extras = 0, []
    for file in files:
        parsed = parse(read(file), language, BUDGET_S)
        symbols = parsed.symbols if parsed is not None else ()
        total += len(symbols)
        extras += [Extra(file, symbol) for symbol in symbols if (plain(symbol.name), symbol.line) not in known[file]]
    return total, extras


def referee(language: str, files: list[str]) -> Iterator[tuple[str, str, int]]:
    """File, name and line of every tag of the referee, of any kind."""
    if language == "solidity":
        yield from ((tag.file, tag.name, tag.line) for tag in scan_solidity(files))
        return
    name = CTAGS[language][0] if language in CTAGS else CTAGS_ALSO.get(language)
    if name is None:
        return
    command = ["ctags", "--options=NONE", "--links=no", f"--language-force={name}", f"--kinds-{name}=*"]
    command += ["--output-format=json", "--fields=+n", "-f", "-", "-L", "-"]
    output = subprocess.run(command, input="\n".join(files), capture_output=True, text=True, check=True).stdout
    for line in filter(None, output.split("\n")):  # splitlines() also cuts at U+2028 inside a tag
        entry = json.loads(line)
        yield entry["path"], entry["name"], entry["line"]


def show(number: int, extra: Extra, repos: str) -> None:
    """Print one symbol with the lines around it and its owners."""
    symbol = extra.symbol
    lines = Path(extra.file).read_text("utf-8").split("\n")
    path = os.path.relpath(extra.file, repos)
    print(f"{number:>2}. {path}:{symbol.line}  {symbol.kind}  {symbol.name}  [{symbol.qualname}]")
    for row in owner_rows(lines, symbol.line - 1):
        print(f"      {row + 1:>5}  {lines[row][:LINE_CHARS]}")
    for row in range(max(0, symbol.line - 2), min(len(lines), symbol.line + 1)):
        mark = ">" if row == symbol.line - 1 else " "
        print(f"    {mark} {row + 1:>5}  {lines[row][:LINE_CHARS]}")
    print()


def owner_rows(lines: list[str], row: int) -> list[int]:
    """The rows above `row` that name its owners, by their indentation, the outermost first."""
    rows: list[int] = []
    indent = _indent(lines[row])
    for above in range(row - 1, -1, -1):
        text = lines[above].strip()
        if indent == 0 or len(rows) == OWNER_LINES:
            break
        if (
            text
            and text[0] not in "})]*#"
            and not text.startswith(("//", "/*", "--"))
            and _indent(lines[above]) < indent
        ):
            indent = _indent(lines[above])
            rows.append(above)
    return [above for above in reversed(rows) if above < row - 1]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


if __name__ == "__main__":
    raise SystemExit(main())
