"""Of the places where a program says a unique name, how many does `sage refs NAME --min-confidence 0` list?

    python benchmarks/textual_uses.py PROJECT ... [--uses 500] [--seed 1] [--misses 20] [--here]

Each project is copied to a scratch folder and indexed, unless `--here` asks the index that it has. A name is unique if
exactly one definition of the project, of whatever language, has it. A use is an identifier outside of comments and
strings in a file of the project's main language, found without Sage: by Python's own tokenizer, for other languages by
the tokenizers below, which know the comments, strings and here-documents of each. The name of the definition itself is
no use. A use is listed if the answer has its file and line.
"""

from __future__ import annotations

import argparse
import io
import math
import os
import re
import shutil
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import machine, table

# Of the issue.
TARGET = 0.97

_C_COMMENTS = r"//[^\n]*|/\*.*?\*/"
_DOUBLE, _SINGLE, _BACK = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'", r"`(?:\\.|[^`\\])*`"
_CHAR = r"'(?:\\[^\n]{1,8}?|[^'\\\n])'"
_TRIPLE = r'"{3}.*?"{3}'
_HEREDOC = r"<<[-~]?(['\"`]?)(?P<end>[A-Za-z_]\w*)\1[^\n]*\n.*?\n\s*(?P=end)\b"
_REGEX = r"(?<=[(,=:\[!&|?{};\n])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"
# What is skipped, by language; everything else that looks like a name is an identifier.
_SKIPPED = {
    "javascript": rf"{_C_COMMENTS}|{_DOUBLE}|{_SINGLE}|{_BACK}|{_REGEX}",
    "go": rf"{_C_COMMENTS}|{_DOUBLE}|`[^`]*`|{_CHAR}",
    "rust": rf'{_C_COMMENTS}|\bb?r(?P<marks>#*)".*?"(?P=marks)|"(?:\\.|[^"\\])*"|{_CHAR}',
    "java": rf"{_C_COMMENTS}|{_TRIPLE}|{_DOUBLE}|{_CHAR}",
    "kotlin": rf"{_C_COMMENTS}|{_TRIPLE}|{_DOUBLE}|{_CHAR}",
    "csharp": rf'{_C_COMMENTS}|\$*{_TRIPLE}|[$@]*@[$]?"(?:""|[^"])*"|{_DOUBLE}|{_CHAR}',
    "c": rf"{_C_COMMENTS}|#\s*include[^\n]*|{_DOUBLE}|{_CHAR}",
    "cpp": rf'{_C_COMMENTS}|#\s*include[^\n]*|\bR"(?P<mark>\w*)\(.*?\)(?P=mark)"|{_DOUBLE}|{_CHAR}',
    "ruby": rf'(?m:^=begin\b.*?^=end\b)|{_HEREDOC}|(?<![\w"\'])#(?!\{{)[^\n]*|%[wWiIqQr]?[({{\[].*?[)}}\]]'
    rf'|"(?:\\.|[^"\\])*"|{_SINGLE}|{_REGEX}',
    "php": rf"(?:\A|\?>).*?(?:<\?php|\Z)|{_C_COMMENTS}|#(?!\[)[^\n]*|{_HEREDOC.replace('<<[-~]?', '<<<')}"
    r"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'",
}
_SKIPPED["typescript"] = _SKIPPED["tsx"] = _SKIPPED["javascript"]
_SUFFIXES = {
    "python": (".py",),
    "javascript": (".js", ".mjs", ".cjs"),
    "typescript": (".ts", ".tsx"),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
    "kotlin": (".kt",),
    "csharp": (".cs",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".h"),
    "ruby": (".rb",),
    "php": (".php",),
}


# Words of languages that tests and quoted names define all the same; they are no identifiers where they are used.
_KEYWORDS = frozenset(
    """
    class this open new in is as default case if else for while do return const let var function async await from import
    export static void null true false try catch finally throw switch break continue yield typeof instanceof delete
    public private protected extends implements interface enum package func struct go defer select chan match fn impl
    mut pub use mod where trait self super crate begin end def module unless until then elsif rescue ensure namespace
    using virtual override
    """.split()  # noqa: SIM905 - a list of quoted words is no easier to read
)


class Use(NamedTuple):
    """An identifier in a file."""

    name: str
    file: str
    line: int


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--uses", type=int, default=500, help="how many in all projects together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--misses", type=int, default=0, help="how many uses that are not listed to print")
    parser.add_argument("--here", action="store_true", help="ask the index that the projects have")
    given = parser.parse_args()
    began = machine()
    rows: list[list[Any]] = []
    totals: Counter[str] = Counter()
    share = math.ceil(given.uses / len(given.projects))
    for project in given.projects:
        with tempfile.TemporaryDirectory(prefix="sage-uses-") as scratch:
            root = project.resolve()
            if not given.here:
                os.environ["SAGE_HOME"] = str(Path(scratch, "home"))
                root = Path(scratch, "project")
                shutil.copytree(project, root, symlinks=True, ignore=shutil.ignore_patterns(".sage"))
                (root / ".git").mkdir(exist_ok=True)  # marks the root
            row, counts = asked(root, min(share, given.uses - totals["uses"]), given.seed, given.misses)
        rows.append([project.name, *row])
        totals += counts
    listed = totals["listed"] / max(1, totals["uses"])
    rows.append(["all", "", "", totals["uses"], f"{listed:.1%}", f"{totals['certain'] / max(1, totals['uses']):.1%}"])
    head = ["project", "language", "unique names in use", "uses asked", "listed at 0", "listed by default"]
    print(began, table(head, rows), f"{'✓' if listed >= TARGET else '✗'} {TARGET:.0%} wanted", sep="\n\n")
    return 0 if listed >= TARGET else 1


def asked(root: Path, count: int, seed: int, misses: int) -> tuple[list[Any], Counter[str]]:
    """The row of one project, and its counts."""
    from sage_code.project import Project
    from sage_code.xref.compiled_graph import CompiledGraph
    from sage_code.xref.resolve import DEFAULT_CONFIDENCE

    project = Project.open(root)
    project.index()
    graph = CompiledGraph(project.root)
    files = list(graph.files())
    language = Counter(family for file in files if (family := _of(graph.file_language(file)))).most_common(1)[0][0]
    defined: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    for file in files:
        for symbol in graph.file_symbols(file):
            defined[symbol.name].append((file, symbol.line, graph.file_language(file)))
    unique = {name: at[0][:2] for name, at in defined.items() if len(at) == 1 and _of(at[0][2]) == language}
    uses = [use for file in files if file.endswith(_SUFFIXES[language]) for use in _uses(root, file, language, unique)]
    chosen = Random(seed).sample(sorted(uses), min(count, len(uses)))
    counts: Counter[str] = Counter()
    answers: dict[str, dict[tuple[str, int], float]] = {}
    for use in chosen:
        if use.name not in answers:
            found = project.related(use.name, "references", min_confidence=0.0, seconds=math.inf)
            answers[use.name] = {}
            for one in found.uses:
                place = (one.file, one.line)
                answers[use.name][place] = max(one.confidence, answers[use.name].get(place, 0.0))
        confidence = answers[use.name].get((use.file, use.line))
        counts["uses"] += 1
        counts["listed"] += confidence is not None
        counts["certain"] += confidence is not None and confidence >= DEFAULT_CONFIDENCE
        if confidence is None and misses:
            text = (root / use.file).read_text("utf-8", "replace").split("\n")[use.line - 1].strip()
            print(f"{root.name}: {use.name} at {use.file}:{use.line}  {text[:100]}", file=sys.stderr)
            misses -= 1
    shares = [f"{counts[what] / max(1, counts['uses']):.1%}" for what in ("listed", "certain")]
    return [language, len({use.name for use in uses}), counts["uses"], *shares], counts


def _of(language: str) -> str:
    """The language whose tokenizer and file names a language has; empty if there is none."""
    return {"tsx": "typescript"}.get(language, language if language in _SUFFIXES else "")


def _uses(root: Path, file: str, language: str, unique: dict[str, tuple[str, int]]) -> Iterator[Use]:
    """The uses of unique names in a file."""
    text = (root / file).read_text("utf-8", "replace")
    left = {name for name, at in unique.items() if at[0] == file}
    found = _python(text) if language == "python" else _identifiers(text, _SKIPPED[language])
    for name, line in found:
        if name in unique and name not in _KEYWORDS:
            if unique[name] == (file, line) and name in left:
                left.discard(name)  # the definition's own name
            else:
                yield Use(name, file, line)


def _python(text: str) -> Iterator[tuple[str, int]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield token.string, token.start[0]
    except (tokenize.TokenError, SyntaxError):
        return  # a test of a parser, or an old Python


def _identifiers(text: str, skipped: str) -> Iterator[tuple[str, int]]:
    line, last = 1, 0
    for found in re.finditer(rf"(?:{skipped})|(?P<name>[A-Za-z_$][\w$]*)", text, re.DOTALL):
        if found["name"]:
            line, last = line + text.count("\n", last, found.start()), found.start()
            yield found["name"].lstrip("$") if "<?php" in text[:200] else found["name"], line


if __name__ == "__main__":
    sys.exit(main())
