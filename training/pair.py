"""Make pairs of a query and the code that answers it: `python -m training.pair --data DIR`.

Every package's definitions become lines `{"query", "code", "more", "language", "package", "kind", "exact", "near"}` in
`pairs-raw/<registry>/<package>.jsonl.gz`. The code is the text that Sage embeds (the qualified name, then the lines),
without the documentation of the query; `more` is the rest of that documentation. The kinds:

    doc        a sentence of the documentation -> the definition
    question   the sentence as a question      -> the definition
    commit     the sentence as a commit        -> the definition
    keywords   its words that carry meaning    -> the definition
    name       the words of a name             -> the body, the name masked
    comment    a comment inside a body         -> the lines below it, the comment gone
    file       what the head of a file says    -> the code that follows
    readme     a heading of the README         -> a function that its section calls
    test       the words of a test's name      -> the function that the test calls
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from sage_code.languages.table import Language, by_name
from training.collect import read_manifest
from training.extract import Definition, read_definitions, write_lines
from training.pair_rewording import (
    STOP_WORDS,
    after,
    commit,
    drop_name,
    keywords,
    question,
    sentences,
    words_of,
)

MIN_WORDS = 3
MAX_WORDS = 40
# Pairs of one kind that one package may give: a package with thousands of comments is not a thousand packages.
_MOST = {"name": 1500, "comment": 1000, "test": 300, "readme": 60, "file": 300}
_OF_DOCUMENTATION = frozenset({"doc", "question", "commit", "keywords"})
KINDS = _OF_DOCUMENTATION | {"name", "comment", "file", "readme", "test"}
_COMMENT_LINES = 14
# What follows the first sentence is kept beside the code up to this many characters, about what a chunk shows of it.
_MORE_CHARS = 600
_MIN_BLOCK_LINES = 2
_TEST_WORDS = frozenset({"test", "tests", "should", "it", "benchmark", "example"})
_CALLED = re.compile(r"\b([A-Za-z_]\w{2,})\s*\(")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")

Pair = dict[str, str]


def embedded(qualname: str, signature: str, text: str) -> str:
    """The text that Sage embeds for a piece of code: see `sage_code/chunk/embedded_text.py`."""
    lead = qualname
    if signature and signature[:40] not in text:
        lead = f"{lead}\n{signature}"
    return f"{lead}\n{text}" if lead else text


def definition_code(item: Definition) -> str:
    """What is embedded for a definition, its documentation left out."""
    return embedded(item.qualname, item.signature, item.code)


def doc_query(item: Definition) -> str:
    """The first sentence of the documentation, or nothing if it says nothing about the code."""
    found = sentences(item.doc, 1)
    query = drop_name(found[0], item.name) if found else ""
    return query if says_something(query, item.name) else ""


def says_something(query: str, name: str = "") -> bool:
    """Whether a query is in Latin letters and has enough words that are not in the name."""
    words = re.findall(r"[^\W\d_]{2,}", query)
    if not MIN_WORDS <= len(query.split()) <= MAX_WORDS or len(words) < MIN_WORDS:
        return False
    if not query.isascii() and sum(char.isascii() for char in query) < 0.95 * len(query):
        return False
    known = set(words_of(name))
    fresh = {word.lower() for word in words} - STOP_WORDS - known
    return bool(
        fresh
        - {f"{word}s" for word in known}
        - {"function", "method", "class", "returns", "return", "gets", "sets", "get", "set"}
    )


def masked(item: Definition) -> str:
    """The code of a definition without its own name."""
    code = re.sub(rf"\b{re.escape(item.name)}\b", "_", item.code)
    owner = item.qualname.rpartition(".")[0]
    return f"{owner}\n{code}" if owner else code


def comment_pairs(item: Definition, language: Language) -> Iterator[tuple[str, str]]:
    """Comments on lines of their own inside a body, with the lines below them."""
    markers = language.line_comments
    if not markers:
        return
    lines = item.code.split("\n")
    row = 1
    while row < len(lines):
        if not lines[row].strip().startswith(markers):
            row += 1
            continue
        top = row
        while row < len(lines) and lines[row].strip().startswith(markers):
            row += 1
        said = " ".join(line.strip().lstrip("/#-*%; ").strip() for line in lines[top:row])
        indent = len(lines[top]) - len(lines[top].lstrip())
        block: list[str] = []
        while row < len(lines) and len(block) < _COMMENT_LINES:
            line = lines[row]
            if line.strip().startswith(markers) or (not line.strip() and block):
                break
            if line.strip() and len(line) - len(line.lstrip()) < indent:
                break
            block.append(line[indent:])
            row += 1
        if sum(bool(line.strip()) for line in block) >= _MIN_BLOCK_LINES and (found := sentences(said, 1)):
            yield found[0], "\n".join(block)


def package_pairs(items: list[Definition], package: str, kinds: frozenset[str] = KINDS) -> Iterator[Pair]:
    """All pairs of one package, of some kinds."""
    counts: Counter[str] = Counter()
    unique = _by_name(items)
    for item in items:
        choice = random.Random(f"{package} {item.path} {item.qualname}")
        for query, code, kind, target in _item_pairs(item, unique, choice, kinds):
            if kind not in kinds or counts[kind] >= _MOST.get(kind, 1 << 30):
                continue
            counts[kind] += 1
            yield {
                "query": query,
                "code": code,
                "more": _more(query, target) if kind in _OF_DOCUMENTATION else "",
                "language": target.language,
                "package": package,
                "kind": kind,
                "exact": target.exact,
                "near": target.near,
            }


def _item_pairs(
    item: Definition, unique: dict[str, Definition], choice: random.Random, kinds: frozenset[str]
) -> Iterator[tuple[str, str, str, Definition]]:
    """The pairs of one line of a package."""
    if item.kind == "section":
        yield from _section_pairs(item, unique)
    elif item.kind == "test":
        yield from _test_pairs(item, unique)
    elif item.kind == "file":
        query = doc_query(item)
        if query:
            yield query, embedded("", "", item.code), "file", item
    else:
        yield from _definition_pairs(item, choice, kinds)


def _definition_pairs(
    item: Definition, choice: random.Random, kinds: frozenset[str]
) -> Iterator[tuple[str, str, str, Definition]]:
    """The pairs of one definition, from its documentation, name and comments."""
    code = definition_code(item)
    query = doc_query(item)
    if query:
        both = sentences(item.doc, 2)
        full = (
            f"{query}. {both[1]}" if len(both) == 2 and choice.random() < 0.25 and len(both[1].split()) < 25 else query
        )
        yield full, code, "doc", item
        draw = choice.random()
        if draw < 0.40:
            yield question(query, item.language, choice), code, "question", item
        elif draw < 0.55:
            yield commit(query, item.language, choice), code, "commit", item
        elif draw < 0.75 and len((words := keywords(query, choice)).split()) >= 2:
            yield words, code, "keywords", item
    words_in_name = words_of(item.name)
    asks = item.kind == "function" and 2 <= len(words_in_name) <= 8 and choice.random() < (0.35 if query else 0.6)
    if asks and "name" in kinds:
        yield " ".join(words_in_name), masked(item), "name", item
    language = by_name(item.language)
    if language is not None and item.kind == "function" and "comment" in kinds:
        for said, block in comment_pairs(item, language):
            if says_something(said, item.name):
                yield said, embedded(item.qualname, item.signature, block), "comment", item


def _more(query: str, item: Definition) -> str:
    """The documentation without the one or two sentences of the query."""
    first, *second = sentences(item.doc, 2)
    said = second[0] if second and second[0] in query else first
    return after(item.doc, said)[:_MORE_CHARS]


def _by_name(items: list[Definition]) -> dict[str, Definition]:
    """The functions whose name only one definition of the package has."""
    found: dict[str, Definition | None] = {}
    for item in items:
        if item.kind in ("function", "class") and len(item.name) > 3:
            found[item.name] = None if item.name in found else item
    return {name: item for name, item in found.items() if item is not None}


_SETUP_HEADINGS = re.compile(
    r"install|licen|contribut|usage|getting started|example|table of contents|requirement|changelog|support|credit"
    r"|author|build|test|api|todo"
    r"|community|sponsor|badge|faq|security|release|version|development|documentation|quick ?start|overview|feature"
    r"|introduction|about|see also|more|link",
    re.IGNORECASE,
)


def _section_pairs(item: Definition, unique: dict[str, Definition]) -> Iterator[tuple[str, str, str, Definition]]:
    """Pairs of README headings and the functions that their sections call."""
    heading = re.sub(r"[`*_#]|\[|\]\(.*?\)|\(.*?\)", "", item.name).strip()
    if _SETUP_HEADINGS.search(heading):
        return
    said = next(iter(sentences(item.code, 1)), "")
    query = f"{heading}: {said}" if said and says_something(said) else heading
    if not says_something(query):
        return
    called = [name for name in dict.fromkeys(_IDENTIFIER.findall(item.code)) if name in unique]
    if 1 <= len(called) <= 4:
        target = unique[called[0]]
        if set(words_of(target.name)) & set(words_of(heading)) or len(called) == 1:
            yield query, definition_code(target), "readme", target


def _test_pairs(item: Definition, unique: dict[str, Definition]) -> Iterator[tuple[str, str, str, Definition]]:
    """Pairs of the names of tests and the functions that they call."""
    words = [word for word in words_of(item.name) if word not in _TEST_WORDS]
    if not 2 <= len(words) <= 14:
        return
    own = set(words)
    called: dict[str, int] = {}  # by how many words of the test's name it takes up
    for name in dict.fromkeys(_CALLED.findall(item.code)):
        parts = words_of(name)
        # All words of the tested name are in the test's name: `test_parse_url_with_port` tests `parse_url`. A single
        # word is too common, unless the test's name begins with it.
        if name in unique and own > set(parts) and (len(parts) > 1 or words[0] == parts[0]):
            called[name] = len(parts)
    if called:
        target = unique[max(called, key=lambda name: called[name])]
        yield " ".join(words), definition_code(target), "test", target


# --- the run ------------------------------------------------------------------------------------------------


def _work(job: tuple[str, str, str, frozenset[str]]) -> Counter[str]:
    source, target, package, kinds = job
    pairs = list(package_pairs(read_definitions(Path(source)), package, kinds))
    write_lines(Path(target), pairs)
    return Counter(pair["kind"] for pair in pairs)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kinds", default=",".join(sorted(KINDS)), help="of pairs, by comma")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--nice", type=int, default=10)
    arguments = parser.parse_args()
    data: Path = arguments.data
    os.nice(arguments.nice)
    kinds = frozenset(arguments.kinds.split(","))
    jobs = []
    for line in read_manifest(data):
        source = data / "functions" / f"{line.folder}.jsonl.gz"
        target = data / "pairs-raw" / f"{line.folder}.jsonl.gz"
        if not line.dropped and not line.heldout and source.exists() and not target.exists():
            jobs.append((str(source), str(target), line.folder, kinds))
    counts: Counter[str] = Counter()
    with multiprocessing.get_context("spawn").Pool(arguments.processes, maxtasksperchild=500) as pool:
        for number, found in enumerate(pool.imap_unordered(_work, jobs, chunksize=4), 1):
            counts += found
            if number % 200 == 0:
                sys.stdout.write(f"{number}/{len(jobs)} {json.dumps(counts)}\n")
                sys.stdout.flush()
    sys.stdout.write(f"done {json.dumps(counts)}\n")


if __name__ == "__main__":
    main()
