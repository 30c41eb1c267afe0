"""Functions, methods and classes of the collected packages, with their documentation: `python -m training.extract`.

Sage's own parser finds them, so that training sees code cut and named as in an index. Below DIR:

    functions/<registry>/<package>.jsonl.gz   one definition a line: see `Definition`

A package whose file is there is done. Packages are worked on in two processes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sage_code.chunk.lines import MAX_CHARS, split_lines
from sage_code.discover.looks import is_generated, is_minified
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.languages.table import HEAD_BYTES, Language, by_name, detect
from sage_code.parse import definitions as reader
from sage_code.parse.definitions import parse
from sage_code.values import Symbol
from training.clean_near import exact_hash, normalised, pack_signature, signature
from training.collect import read_manifest
from training.collect_unpack import LANGUAGES
from training.extract_doc import without_doc

# A package with more says the same things again and again, and would outweigh the small ones.
MAX_PER_PACKAGE = 3000
# Of these languages the registries have a few large packages and little else: a compiler with its library.
MAX_OF_RARE = 12_000
_RARE = frozenset({"csharp", "kotlin", "scala", "erlang", "swift", "lua", "nim"})
# A held-out package is searched whole, but a run over it must end.
MAX_HELDOUT = 20_000
_MAX_TESTS = 600
# Tests are half of many packages and give few pairs.
_MAX_TEST_FILES = 20
# Definitions read for each one that is kept: enough to choose the documented ones from.
_SURPLUS = 3
_MIN_TOKENS = 10
# By the clock, and the machine may be busy: the first file of a language waits for its query to be compiled.
_BUDGET_S = 20.0
_PACKAGE_S = 240.0
# A class up to this size is embedded whole by Sage, a larger one by its head (`sage_code/chunk/chunker.py`).
_WHOLE_CLASS_CHARS = 1000
_HEAD_CHARS = 1200

TEST_PATH = re.compile(
    r"(^|/)(tests?|testing|specs?|__tests__|testsuite|t|androidTest|commonTest)/|(^|/)test_[^/]*$|_(test|spec)\.\w+$|\.(test|spec)\.\w+$"
    r"|(^|/)[^/]*Tests?\.(java|kt|cs|scala|swift)$|(^|/)conftest\.py$",
)
SKIPPED_PATH = re.compile(
    r"(^|/)(vendor|vendored|third[_-]?party|3rdparty|_vendor|externals?|extern|deps|bower_components|node_modules|testdata|fixtures?"
    r"|examples?|samples?|demos?|debian|migrations|locales?|i18n|generated|autogen|benchmarks?|contrib/vendor)/",
    re.IGNORECASE,
)
_BUILT = re.compile(
    r"^package/(dist|build|esm|es|cjs|umd|lib-esm|es5|es6|es2015|esnext|fesm\d*|_esm\w*|_cjs|bundles?|min|commonjs|module|out)/"
)
_SOURCE = re.compile(r"^package/(src|lib|source|src\.ts)/.*\.(ts|tsx|js|jsx|mjs)$")
_TEST_CASE = re.compile(r"\b(?:it|test|specify)\(?\s*(['\"`])([^'\"`\n]{10,120})\1")
# A function may be defined once for each platform; one that is defined oftener is a name that many classes use.
_VARIANTS = 2
_BLOCKS = frozenset({"function", "method", "class", "type"})
_DECLARED = frozenset({"c", "cpp", "objc"})
# A documentation comment, and the name of the function that is declared below it.
_DECLARATION = re.compile(
    r"(/\*[*!](?:[^*]|\*(?!/))*\*/|(?:^[ \t]*//[/!][^\n]*\n)+)\s*(?:[\w:<>,*&~\[\]]+\s+|\*)*?\*?&?"
    r"(\w+)\s*\([^;{}]{0,400};",
    re.MULTILINE,
)
_COMMENT_MARKS = re.compile(r"^[ \t]*(?:/\*[*!]<?|\*/|\*(?!/)|//[/!]<?)?[ \t]?|[ \t]*\*/[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition of a package, with its documentation separate from its code."""

    kind: str  # function class; test (a test's name and body); file (a file's head); section (of a README)
    language: str
    path: str
    name: str
    qualname: str
    signature: str
    doc: str
    code: str
    exact: str = ""
    near: str = ""


def definitions(text: str, path: str, language: Language) -> Iterator[Definition]:
    """The definitions of one file."""
    parsed = parse(text.encode(), language, _BUDGET_S)
    if parsed is None:
        return
    lines = split_lines(text)
    is_test = TEST_PATH.search(path) is not None
    if is_test:
        yield from _test_cases(text, path, language)
    else:
        yield from _file_head(lines, parsed.symbols, path, language)
    starts = sorted(symbol.start_line for symbol in parsed.symbols if CHUNK_KIND.get(symbol.kind) in _BLOCKS)
    for symbol in parsed.symbols:
        chunk_kind = CHUNK_KIND.get(symbol.kind, "")
        if chunk_kind in ("function", "method"):
            kind, end_line = "function", symbol.end_line
        elif chunk_kind in ("class", "type") and symbol.kind not in ("module", "namespace") and not is_test:
            kind, end_line = "class", _class_end(lines, symbol, starts)
        else:
            continue
        kind = "test" if is_test else kind
        code = without_doc(lines, symbol, language, end_line)
        if code is not None and code.strip():
            yield Definition(
                kind, language.name, path, symbol.name, symbol.qualname, symbol.signature, symbol.docstring, cut(code)
            )


def cut(code: str) -> str:
    """As much of the code as Sage puts into one chunk, in whole lines and without the outer indentation."""
    lines = code.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) - margin + 1
        if size > MAX_CHARS and kept:
            break
        kept.append(line[margin:])
    return "\n".join(kept).strip("\n")[: 2 * MAX_CHARS]


def _class_end(lines: list[str], symbol: Symbol, starts: list[int]) -> int:
    size = sum(len(line) + 1 for line in lines[symbol.start_line - 1 : symbol.end_line])
    if size <= _WHOLE_CLASS_CHARS:
        return symbol.end_line
    inner = next((start for start in starts if start > symbol.line and start <= symbol.end_line), symbol.end_line + 1)
    return inner - 1


def _test_cases(text: str, path: str, language: Language) -> Iterator[Definition]:
    if language.name not in ("javascript", "typescript", "tsx", "ruby"):
        return
    for found in _TEST_CASE.finditer(text):
        yield Definition("test", language.name, path, found[2], "", "", "", text[found.end() : found.end() + 600])


_MARKS = re.compile(r"^\s*(?:/\*+!?|\*+/?|//[/!]?|#+|--+\s?\|?|%+|;+|\{-\|?|<!--|\"\"\"|''')?\s?")


def _file_head(lines: list[str], symbols: Iterable[Symbol], path: str, language: Language) -> Iterator[Definition]:
    """The comment at the head of a file, and the code below it."""
    row = 0
    blocks: list[list[str]] = []
    markers = (*language.line_comments, *(language.block_comments[:1]), "*", '"""', "'''")
    inside = ""
    for row, line in enumerate(lines[:120]):  # noqa: B007 - where it stopped is what matters
        text = line.strip()
        if inside:
            blocks[-1].append(_MARKS.sub("", line).replace(inside, ""))
            inside = "" if inside in text else inside
        elif not text:
            blocks.append([])
        elif (
            text.startswith(markers)
            and not text.startswith("#!")
            and not re.match(r"#\s*(include|define|if|pragma|import)\b", text)
        ):
            if not blocks:
                blocks.append([])
            blocks[-1].append(_MARKS.sub("", line))
            closing = next((mark for mark in ('"""', "'''") if text.startswith(mark)), "")
            if not closing and language.block_comments and text.startswith(language.block_comments[0]):
                closing = language.block_comments[1]
            if closing and closing not in text[len(closing) :]:
                inside = closing
        elif not text.startswith(("#!", "<?php", "'use strict'", '"use strict"')):
            break
    # The documentation of the first definition is its own.
    first = min((symbol.start_line for symbol in symbols), default=0)
    if first and first <= row:
        return
    said = [" ".join(part for part in block if part.strip()) for block in blocks]
    doc = next((text for text in said if len(text.split()) >= 4 and not _LEGAL.search(text)), "")
    code = cut("\n".join(lines[row:])[:_HEAD_CHARS])
    if doc and len(code) > 200:
        stem = path.rpartition("/")[2].partition(".")[0]
        yield Definition("file", language.name, path, stem, "", "", doc[:1000], code)


_LEGAL = re.compile(
    r"copyright|licen[sc]e|warrant|redistribut|all rights reserved|permission is hereby|author|\(c\)|©"
    r"|spdx|eslint|coding[:=]|vim:",
    re.IGNORECASE,
)


def readme_sections(text: str, path: str) -> Iterator[Definition]:
    """The sections of a README: heading, first words, whole text."""
    parts = re.split(r"^#{1,4}[ \t]+(.+?)[ \t]*#*$", text, flags=re.MULTILINE)
    for heading, body in zip(parts[1::2], parts[2::2], strict=False):
        yield Definition("section", "markdown", path, heading[:120], "", "", "", body.strip()[:4000])


# --- one package --------------------------------------------------------------------------------------------


def package_definitions(folder: Path, limit: int) -> list[Definition]:
    """The definitions of a package without duplicates, at most `limit`, the documented ones first."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    names = [path.relative_to(folder).as_posix() for path in files]
    has_source = any(_SOURCE.match(name) for name in names)
    deadline = time.monotonic() + _PACKAGE_S
    found: list[Definition] = []
    declared: list[tuple[str, str]] = []
    test_files = 0
    for file, name in sorted(zip(files, names, strict=True), key=lambda pair: xorder(pair[1])):
        if time.monotonic() > deadline or len(found) > _SURPLUS * limit:
            break
        if SKIPPED_PATH.search(name) or (has_source and _BUILT.match(name)):
            continue
        if TEST_PATH.search(name) is not None:
            test_files += 1
            if test_files > _MAX_TEST_FILES:
                continue
        try:
            data = file.read_bytes()
            found += file_definitions(data, name, documented_only=limit <= MAX_OF_RARE)
            if name.endswith((".h", ".hpp", ".hh", ".hxx")):
                declared += declared_docs(data.decode("utf-8", "replace").replace("\r\n", "\n"))
        except Exception as error:  # one bad file never ends a run
            sys.stderr.write(f"{file}: {type(error).__name__}: {error}\n")
    return _chosen(_with_declared(found, declared), limit)


# What a file must contain to hold a documented definition, checked before parsing.
_DOCUMENTED = {
    "python": re.compile(r"^\s*[rRuU]?(?:\"\"\"|''')", re.MULTILINE),
    "go": re.compile(r"^//[^\n]*\n(?:func|type|\t)", re.MULTILINE),
    "ruby": re.compile(r"^\s*#[^\n]*\n\s*(?:def|class|module)\b", re.MULTILINE),
    "haskell": re.compile(r"^\s*--\s*\||\{-\s*\|", re.MULTILINE),
    "elixir": re.compile(r"@(?:module)?doc\b"),
}
_DOC_MARK = re.compile(
    r"/\*\*|///|//!|/\*!|^[ \t]*(?:#[^!]|//|/\*|--|%)[^\n]*\n(?!\s*(?:#|//|\*|--|%|\n))",
    re.MULTILINE,
)


def may_be_documented(text: str, language: Language) -> bool:
    """Whether a file can hold a documented definition. Others are not parsed: there is enough undocumented code."""
    return _DOCUMENTED.get(language.name, _DOC_MARK).search(text) is not None


def xorder(name: str) -> int:
    """A fixed order of files that is independent of their names, so that a limit selects from all folders."""
    return random.Random(name).getrandbits(32)


def file_definitions(data: bytes, name: str, *, documented_only: bool = False) -> list[Definition]:
    """The definitions of a file, from its bytes; none if the file is generated."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if name.lower().rpartition("/")[2].startswith("readme"):
        return list(readme_sections(text, name))
    language = detect(name, data[:HEAD_BYTES])
    if language is None or language.name not in LANGUAGES or "\0" in text:
        return []
    if text.count("�") > 5 or is_minified(name, text) or is_generated(text):
        return []
    if documented_only and not may_be_documented(text, language):
        return []
    return list(definitions(text, name, language))


def declared_docs(text: str) -> Iterator[tuple[str, str]]:
    """The functions that a C or C++ header declares, with their documentation."""
    for found in _DECLARATION.finditer(text):
        doc = _COMMENT_MARKS.sub("", found[1]).strip()
        if doc and found[2] not in ("if", "for", "while", "return", "sizeof", "defined"):
            yield found[2], doc[:1000]


def _with_declared(found: list[Definition], declared: list[tuple[str, str]]) -> list[Definition]:
    """Give a definition of C or C++ the documentation of its declaration in a header, if only one has that name."""
    times = Counter(name for name, _doc in declared)
    defined = Counter(item.name for item in found if item.language in _DECLARED and item.kind == "function")
    docs = {name: doc for name, doc in declared if times[name] == 1 and defined[name] <= _VARIANTS}
    return [
        replace(item, doc=docs[item.name])
        if not item.doc and item.name in docs and item.language in _DECLARED and item.kind == "function"
        else item
        for item in found
    ]


def _chosen(found: list[Definition], limit: int) -> list[Definition]:
    """Definitions without twins, at most `limit`, the documented ones first; then tests and sections."""
    seen: set[str] = set()
    unique: list[Definition] = []
    tests: list[Definition] = []
    # Of twins the one with documentation stays.
    for item in sorted(found, key=lambda item: not item.doc):
        if item.kind in ("test", "section"):
            tests.append(item)
            continue
        tokens = normalised(item.code, by_name(item.language))
        exact = exact_hash(tokens)
        if len(tokens) < _MIN_TOKENS or exact in seen:
            continue
        seen.add(exact)
        unique.append(replace(item, exact=exact, near=pack_signature(signature(tokens))))
        if len(unique) >= limit:
            break
    return unique + tests[:_MAX_TESTS]


# --- the run ------------------------------------------------------------------------------------------------


def write_lines(path: Path, items: Iterable[object]) -> None:
    """Write JSON lines, compressed, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    with gzip.open(partial, "wt", compresslevel=2, encoding="utf-8") as out:
        for item in items:
            out.write(json.dumps(item, ensure_ascii=False) + "\n")
    partial.replace(path)


def read_definitions(path: Path) -> list[Definition]:
    """The definitions in a file that `write_lines` has written."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [Definition(**json.loads(line)) for line in lines]


def start_worker() -> None:
    """Switch references off: they take a third of the parsing time and are not used here."""
    vars(reader)["references"] = lambda *_arguments: ()


def _work(job: tuple[str, str, int]) -> tuple[str, int, int]:
    source, target, limit = job
    if Path(target).exists():  # another run was here
        return source, 0, 0
    found = package_definitions(Path(source), limit)
    write_lines(Path(target), (asdict(item) for item in found))
    return source, len(found), sum(bool(item.doc) for item in found)


def _jobs(data: Path) -> list[tuple[str, str, int]]:
    """The packages to extract: the held-out ones first, then the languages in turn, for the case of an early end.

    The order within a language is random, so that parallel runs rarely work on the same package.
    """
    lines = [line for line in read_manifest(data) if not line.dropped and line.languages]
    random.shuffle(lines)
    turn: Counter[str] = Counter()
    jobs: list[tuple[int, tuple[str, str, int]]] = []
    for line in lines:
        target = data / "functions" / f"{line.folder}.jsonl.gz"
        if not target.exists():
            turn[line.language] += not line.heldout
            limit = MAX_OF_RARE if line.language in _RARE else MAX_PER_PACKAGE
            limit = MAX_HELDOUT if line.heldout else limit
            job = (str(data / "sources" / line.folder), str(target), limit)
            jobs.append((-1 if line.heldout else turn[line.language], job))
    return [job for _turn, job in sorted(jobs)]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--nice", type=int, default=10)
    arguments = parser.parse_args()
    data: Path = arguments.data
    os.nice(arguments.nice)
    jobs = _jobs(data)
    total = documented = 0
    with multiprocessing.get_context("spawn").Pool(arguments.processes, start_worker, maxtasksperchild=200) as pool:
        for number, (source, count, docs) in enumerate(pool.imap_unordered(_work, jobs), 1):
            total, documented = total + count, documented + docs
            if number % 20 == 0:
                sys.stdout.write(
                    f"{number}/{len(jobs)} packages, {total} definitions, {documented} documented; {source}\n"
                )
                sys.stdout.flush()
    sys.stdout.write(f"done: {total} definitions, {documented} documented\n")


if __name__ == "__main__":
    main()
