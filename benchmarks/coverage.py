"""How many of the definitions that an independent referee finds does Sage find too, per language and project?

The referee is universal-ctags (for Solidity, which it does not know, a scan by regular expressions). A tag
counts as found when Sage has a symbol of that name on that line. ctags is a reference, not the truth: where it
is known to be wrong, a rule from `coverage_rules.py` takes the tag out of the count. The table shows the share
before and after the rules, the output says how often each rule was used, and lists what is left.

    python benchmarks/coverage.py --repos DIR [--only LANGUAGE] [--differences N]

DIR holds checkouts named as in PROJECTS.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.coverage_rules import RULES, FileView, Tag, excuse
from sage_code.discover.decoding import decode
from sage_code.languages.table import HEAD_BYTES, by_name, detect
from sage_code.parse.definitions import parse

TARGET = 0.99
MAX_BYTES = 1_000_000  # larger files are not indexed either
BUDGET_S = 60.0  # a busy machine must not decide what is found

PROJECTS: dict[str, tuple[str, ...]] = {
    "bash": ("prezto", "git"),
    "lua": ("lua-language-server",),
    "elixir": ("elixir",),
    "haskell": ("shellcheck",),
    "perl": ("mojo",),
    "r": ("dplyr",),
    "julia": ("Pkg.jl",),
    "powershell": ("PSReadLine", "FAKE"),
    "ocaml": ("dune",),
    "clojure": ("ring",),
    "erlang": ("cowboy", "elixir"),
    "python": ("celery", "tornado"),
    "typescript": ("nest", "typeorm"),
    "tsx": ("excalidraw", "outline"),
    "javascript": ("eslint", "webpack/lib", "lodash"),
    "go": ("hugo", "prometheus"),
    "rust": ("ripgrep", "clap"),
    "java": ("guava", "junit5"),
    "c": ("jq", "git"),
    "cpp": ("leveldb", "re2"),
    "csharp": ("serilog", "AutoMapper"),
    "ruby": ("jekyll", "rubocop"),
    "php": ("composer", "console"),
    "solidity": ("openzeppelin-contracts", "v3-core"),
    "kotlin": ("okio", "okhttp"),
}

# ctags' name of the language, and which of its kinds count as what. Kinds that are missing here are not
# definitions (`package`, `implementation`), or members that the target does not include.
_TYPES = dict.fromkeys(("class", "struct", "interface", "enum", "union", "trait", "typedef", "annotation"), "class")
CTAGS: dict[str, tuple[str, dict[str, str]]] = {
    "python": ("Python", {"function": "function", "member": "method", "class": "class", "variable": "constant"}),
    "typescript": (
        "TypeScript",
        _TYPES
        | {"function": "function", "generator": "function", "method": "method", "alias": "class"}
        | {"constant": "constant", "variable": "constant"},
    ),
    "javascript": (
        "JavaScript",
        {"function": "function", "generator": "function", "class": "class", "constant": "constant"}
        | {"method": "method", "getter": "method", "setter": "method", "variable": "constant"},
    ),
    "go": (
        "Go",
        _TYPES | {"func": "function", "type": "class", "talias": "class", "const": "constant", "var": "constant"},
    ),
    "rust": (
        "Rust",
        _TYPES | {"function": "function", "method": "method", "macro": "function", "variable": "constant"},
    ),
    "java": ("Java", _TYPES | {"method": "method", "field": "constant", "enumConstant": "constant"}),
    "c": (
        "C",
        _TYPES | {"function": "function", "macro": "constant", "variable": "constant", "enumerator": "constant"},
    ),
    "cpp": (
        "C++",
        _TYPES | {"function": "function", "macro": "constant", "variable": "constant", "enumerator": "constant"},
    ),
    "csharp": ("C#", _TYPES | {"method": "method", "field": "constant", "enumerator": "constant"}),
    "ruby": (
        "Ruby",
        {"method": "method", "singletonMethod": "method", "class": "class", "module": "class"}
        | {"constant": "constant"},
    ),
    "php": ("PHP", _TYPES | {"function": "function", "define": "constant", "variable": "constant"}),
    "kotlin": (
        "Kotlin",
        _TYPES
        | {"object": "class", "typealias": "class", "method": "method"}
        | {"constant": "constant", "variable": "constant"},
    ),
}
CTAGS |= {
    "bash": ("Sh", {"function": "function", "alias": "constant"}),
    "lua": ("Lua", {"function": "function"}),
    "elixir": (
        "Elixir",
        dict.fromkeys(("function", "delegate", "guard", "macro", "operator"), "function")
        | {"callback": "method", "type": "class", "module": "class", "protocol": "class"},
    ),
    "haskell": ("Haskell", {"function": "function", "type": "class", "constructor": "constant", "module": "class"}),
    "perl": ("Perl", {"subroutine": "function", "constant": "constant", "package": "class"}),
    "r": ("R", {"function": "function"}),
    "julia": (
        "Julia",
        {"function": "function", "macro": "function", "constant": "constant"}
        | dict.fromkeys(("module", "struct", "type"), "class"),
    ),
    "powershell": ("PowerShell", {"function": "function"}),
    "ocaml": (
        "OCaml",
        {"function": "function", "method": "method", "Constructor": "constant", "Exception": "constant"}
        | {"var": "constant", "val": "constant"}
        | dict.fromkeys(("module", "class", "type"), "class"),
    ),
    "clojure": ("Clojure", {"function": "function", "namespace": "class"}),
    "erlang": (
        "Erlang",
        {"function": "function", "macro": "constant"} | dict.fromkeys(("module", "record", "type"), "class"),
    ),
}
CTAGS["tsx"] = CTAGS["typescript"]
# Only names at the top of a file count as constants of a module. These languages have none there, so the members of
# classes count instead.
_MEMBERS_COUNT = {"java", "csharp", "ruby", "php"}
_OPEN_SCOPES = {"namespace", "module", "package"}
_ENUMERATORS = {"enumerator", "enumConstant"}
CATEGORIES = ("function", "method", "class", "constant")


Found = tuple[Tag, str]  # with the text of its line


@dataclass
class Score:
    """The tags of one project, and how many Sage has found."""

    files: int = 0
    seconds: float = 0.0
    crashes: list[str] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    excused: Counter[str] = field(default_factory=Counter)  # by category
    rules: dict[str, list[Found]] = field(default_factory=lambda: defaultdict(list))
    missing: list[Found] = field(default_factory=list)

    @property
    def raw(self) -> float:
        """The share of the referee's tags that Sage has."""
        return self.found.total() / max(1, self.asked.total())

    @property
    def ruled(self) -> float:
        """The same without the tags that a rule excuses."""
        return self.found.total() / max(1, self.asked.total() - self.excused.total())


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repos", default="benchmarks/work/repos", help="folder with the checkouts")
    arguments.add_argument("--only", choices=sorted(PROJECTS), help="one language")
    arguments.add_argument("--differences", type=int, default=10, help="how many to list per project and kind")
    arguments.add_argument("--excused", type=int, default=0, help="how many to list per project and rule")
    options = arguments.parse_args()
    scores: list[tuple[str, str, Score]] = []
    for language, projects in PROJECTS.items():
        if options.only in (None, language):
            for project in projects:
                folder = os.path.join(options.repos, project)
                if os.path.isdir(folder):
                    scores.append((language, project, measure(language, folder)))
                else:
                    print(f"{project}: not checked out under {options.repos}", file=sys.stderr)
    print_table(scores)
    print_rules(scores, options.excused)
    print_differences(scores, options.differences)
    good = all(score.ruled >= TARGET and not score.crashes for _, _, score in scores)
    return 0 if good else 1


def measure(language_name: str, folder: str) -> Score:
    """How many tags of the referee Sage finds in one project."""
    language = by_name(language_name)
    assert language is not None
    files = list(source_files(language_name, folder))
    tags = defaultdict(list)
    for tag in scan_solidity(files) if language_name == "solidity" else run_ctags(language_name, files):
        tags[tag.file].append(tag)
    score = Score(files=len(files))
    for file in files:
        source = read(file)
        started = time.process_time()
        parsed = parse(source, language, BUDGET_S)
        score.seconds += time.process_time() - started
        if parsed is None:
            score.crashes.append(file)
            continue
        known = {(plain(symbol.name), symbol.line) for symbol in parsed.symbols}
        view = FileView(source, language, parsed.symbols)
        for tag in tags[file]:
            score.asked[tag.category] += 1
            if (plain(tag.name), tag.line) in known:
                score.found[tag.category] += 1
            elif rule := excuse(tag, view):
                score.excused[tag.category] += 1
                score.rules[rule].append((tag, view.line(tag.line)))
            else:
                score.missing.append((tag, view.line(tag.line)))
    return score


def read(file: str) -> bytes:
    """A file as Sage reads it: without a byte order mark, with the line ends of an editor."""
    decoded = decode(Path(file).read_bytes())
    return decoded.text.encode() if decoded is not None else b""


def plain(name: str) -> str:
    """A name in one spelling: without the blanks of `operator ==` and the interface of `I.Method`."""
    name = name.replace(" ", "").lstrip("#").strip("`")
    return name if name.startswith("[") else re.split(r"[.:](?=\w)", name)[-1]


def source_files(language_name: str, folder: str) -> Iterator[str]:
    """The project's files of one language, small enough and valid UTF-8."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in {".git", "node_modules"})
        for name in sorted(names):
            path = os.path.join(where, name)
            if os.path.islink(path) or os.path.getsize(path) > MAX_BYTES:
                continue
            with open(path, "rb") as file:
                head = file.read(HEAD_BYTES)
            language = detect(path, head)
            if language is not None and language.name == language_name and is_utf8(path):
                yield path


def is_utf8(path: str) -> bool:
    try:
        Path(path).read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def run_ctags(language: str, files: list[str]) -> Iterator[Tag]:
    """The tags that universal-ctags finds."""
    name, categories = CTAGS[language]
    command = ["ctags", "--options=NONE", "--links=no", f"--language-force={name}", "--output-format=json"]
    command += ["--fields=+nKsZ", "-f", "-", "-L", "-"]
    output = subprocess.run(command, input="\n".join(files), capture_output=True, text=True, check=True).stdout
    for line in filter(None, output.split("\n")):  # splitlines() also cuts at U+2028 inside a tag
        entry = json.loads(line)
        kind = entry.get("kind", "")
        category = categories.get(kind)
        if category is None:
            continue
        scoped = "scope" in entry
        nested = scoped and entry.get("scopeKind") not in _OPEN_SCOPES
        members = kind in _ENUMERATORS or language in _MEMBERS_COUNT
        if category == "constant" and nested and not members:
            continue
        if category == "function" and scoped and entry.get("scopeKind") in (*_TYPES, "implementation"):
            category = "method"
        yield Tag(entry["path"], entry["line"], entry["name"], kind, category, entry.get("scope", ""))


# --- the referee for Solidity -------------------------------------------------------------------------------

_SOLIDITY = (
    ("class", r"(?:abstract\s+)?(?:contract|library|interface)\s+(\w+)"),
    ("class", r"(?:struct|enum)\s+(\w+)"),
    ("class", r"type\s+(\w+)\s+is\b"),
    ("function", r"function\s+(\w+)\s*\("),
    ("function", r"modifier\s+(\w+)"),
    ("function", r"(constructor|receive|fallback)\s*\("),
    ("constant", r"(?:event|error)\s+(\w+)\s*\("),
    # A state variable: a type, a visibility or `constant`, a name, at the depth of a contract's members.
    (
        "constant",
        r"[\w.\[\]]+(?:\([^;{}]*\))?[^;={}()]*\s(?:public|private|internal|constant|immutable)\s+(\w+)\s*[=;]",
    ),
)
_SOLIDITY_SCAN = [(category, re.compile(rf"^\s*{pattern}")) for category, pattern in _SOLIDITY]
_SOLIDITY_NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def scan_solidity(files: list[str]) -> Iterator[Tag]:
    """The definitions that start a line, comments and strings blanked out."""
    for file in files:
        text = Path(file).read_text("utf-8")
        text = _SOLIDITY_NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        for number, line in enumerate(text.splitlines(), 1):
            for category, pattern in _SOLIDITY_SCAN:
                if found := pattern.match(line):
                    yield Tag(file, number, found[1], category, category, "")
                    break


# --- output -------------------------------------------------------------------------------------------------


def print_table(scores: list[tuple[str, str, Score]]) -> None:
    """Print one row per project."""
    print(f"{'language':<11} {'project':<23} {'files':>5} {'tags':>6} {'raw':>7} {'ruled':>7}   ", end="")
    print(" ".join(f"{category:>9}" for category in CATEGORIES), " crashes")
    for language, project, score in scores:
        cells = []
        for category in CATEGORIES:
            asked = score.asked[category] - score.excused[category]
            cells.append(f"{score.found[category] / asked:9.2%}" if asked else f"{'-':>9}")
        mark = " " if score.ruled >= TARGET else "!"
        print(
            f"{language:<11} {project:<23} {score.files:>5} {score.asked.total():>6} {score.raw:>7.2%} "
            f"{score.ruled:>7.2%} {mark} {' '.join(cells)}  {len(score.crashes) or ''}"
        )


def print_rules(scores: list[tuple[str, str, Score]], samples: int) -> None:
    print("\nTags taken out of the count, by rule:")
    for rule in RULES:
        used = [(project, score.rules[rule.name]) for _, project, score in scores if score.rules[rule.name]]
        total = sum(len(tags) for _, tags in used)
        if total:
            by_project = ", ".join(f"{project} {len(tags)}" for project, tags in used)
            print(f"  {rule.name}: {total} ({by_project})\n      {rule.statement}")
            for _, tags in used:
                print_sample(tags, samples)


def print_differences(scores: list[tuple[str, str, Score]], limit: int) -> None:
    for language, project, score in scores:
        for file in score.crashes[:limit]:
            print(f"\n{language} {project}: not parsed: {file}")
        by_kind = defaultdict(list)
        for tag, line in score.missing:
            by_kind[tag.kind].append((tag, line))
        for kind, missing in by_kind.items():
            print(f"\n{language} {project}: {len(missing)} of kind {kind} are missing")
            print_sample(missing, limit)


def print_sample(tags: list[Found], limit: int) -> None:
    """Up to `limit` tags, spread over the list."""
    for tag, line in tags[:: max(1, len(tags) // max(1, limit))][:limit]:
        print(f"    {tag.file}:{tag.line}: {tag.kind} {tag.name} [{tag.scope}]  {line.strip()[:90]}")


if __name__ == "__main__":
    raise SystemExit(main())
