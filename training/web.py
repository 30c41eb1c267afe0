"""Pairs of what people ask on the web and the code that answers: `python -m training.web --mirror MIRROR --out PAIRS`.

Documentation says what a function does; people ask how to do it, in other words. These pairs are titles of questions
with the accepted code, headings of cookbooks with the code below, and one-line descriptions of commands and of the
standard library, read from the bare repositories `MIRROR/OWNER+NAME/repo` (see `SOURCES`, with their licences). Written
as `PAIRS/web-000.jsonl.gz`, in the form of `training/pair.py` and of the kind `web`. Code that occurs in CoSQA is left
out; no question of CoSQA is read.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sage_code.languages.table import by_name
from training.clean import cosqa
from training.clean_near import Seen, exact_hash, normalised, pack_signature, signature
from training.extract import write_lines

MAX_CODE_CHARS = 4_000
_MIN_WORDS, _MIN_CODE_CHARS = 2, 8
# A description of a command is short and there are 28,000: a part of them is enough.
_COMMANDS_KEPT = 0.25
# A heading may have many blocks of code; the first ones are what it announces.
_BLOCKS_A_HEADING = 2
# Shorter code is a name or a number, and has many twins.
_MIN_TOKENS = 10

_DEFINED = re.compile(r"(?:def|class|function|const|func|public static \w+|fn)\s+([A-Za-z_]\w+)")
_MARKUP = re.compile(r"[`*_#]|\[|\]\(.*?\)|\(.*?\)")
_HEADING_OR_BLOCK = re.compile(r"^(#{1,5})\s+(.*)$|^[ ]*```(\S*)[^\n]*\n(.*?)^[ ]*```", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r"^title:\s*['\"]?(.*?)['\"]?\s*$", re.MULTILINE)
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
_RST_SECTION = re.compile(r"^([^\n]{5,80})\n[-~=]{5,}\n(.*?)(?=^[^\n]{5,80}\n[-~=]{5,}\n|\Z)", re.MULTILINE | re.DOTALL)
_RST_BLOCK = re.compile(r"code-block:: *(?:python|console|bash)\n\n((?:(?: {4}|\t)[^\n]*\n|\n)+)")
_COMMAND = re.compile(r"^- (.*?):\n\n`(.*?)`", re.MULTILINE)
_EXERCISE = re.compile(r"^Write (?:an? )?(?:python )?(?:function|program)s? (?:to|that|which|for) ", re.IGNORECASE)
_FENCES = {"js": "javascript", "jsx": "javascript", "py": "python"}
_NOT_CODE = frozenset({"shell", "html", "css"})
_AS_ASKED = ("python {}", "how to {} in python", "{} python", "{} in python", "python function to {}")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked, and the code that answers."""

    query: str
    code: str
    language: str
    package: str


class Repository:
    """The files of the newest commit of a bare repository."""

    def __init__(self, folder: Path) -> None:
        self._git = ["git", f"--git-dir={folder}"]

    def paths(self, pattern: str) -> list[str]:
        """The paths that a pattern finds."""
        listed = subprocess.run([*self._git, "ls-tree", "-r", "--name-only", "HEAD"], capture_output=True, check=True)
        return [path for path in listed.stdout.decode().splitlines() if re.search(pattern, path)]

    def text(self, path: str) -> str:
        """The text of a file; nothing if the snapshot lacks it."""
        shown = subprocess.run([*self._git, "show", f"HEAD:{path}"], capture_output=True, check=False)
        return shown.stdout.decode("utf-8", "replace")


def titles_of_questions(files: Repository) -> Iterator[Asked]:
    """Titles of Stack Overflow with the code of the accepted answer, as tables."""
    for language in ("python", "csharp", "sql"):
        for part in ("valid", "test"):
            for line in files.text(f"data/stackoverflow/{language}/{part}.txt").split("\n"):
                columns = line.split("\t")
                if len(columns) > 3:
                    code = columns[3].replace("\\n", "\n").replace("\\t", "\t")
                    yield Asked(columns[2], code, language, f"so-{language}")


def intents(files: Repository) -> Iterator[Asked]:
    """CoNaLa: a title, and the same said by an annotator, with one line of Python."""
    for part in ("train", "test"):
        for row in json.loads(files.text(f"conala-{part}.json") or "[]"):
            yield Asked(row["intent"], row["snippet"], "python", "conala")
            reworded = row.get("rewritten_intent") or ""
            if reworded and reworded.lower() != row["intent"].lower():
                yield Asked(re.sub(r"[`\"']", "", reworded), row["snippet"], "python", "conala-2")


def more_intents(files: Repository) -> Iterator[Asked]:
    """ODEX: the same kind, newer."""
    for path in files.paths(r"^data/en.*\.jsonl$"):
        for row in map(json.loads, files.text(path).splitlines()):
            yield Asked(re.sub(r"[`\"']", "", row["intent"]), row["canonical_solution"], "python", "odex")


def snippets(files: Repository, pattern: str, package: str) -> Iterator[Asked]:
    """Pages with a title, some sentences and a snippet."""
    for path in files.paths(pattern):
        text = files.text(path)
        title = _TITLE.search(text)
        found = _BLOCK.findall(text)
        found = [block for block in found if block[0] not in _NOT_CODE] or found
        if title is None or not found:
            continue
        language = _FENCES.get(found[0][0], found[0][0])
        prose = re.sub(r"```.*?```", "", re.sub(r"^---.*?---", "", text, flags=re.DOTALL), flags=re.DOTALL)
        said = [part.strip() for part in re.split(r"\n\n|(?<=\.)\s", prose)]
        said = [part for part in said if len(part.split()) > 4 and not part.startswith(("-", "#", "<", "!", ">"))]
        for query in (title[1], *(_MARKUP.sub("", part)[:200] for part in said[:2])):
            yield Asked(query, found[0][1], language, package)


def headings(files: Repository, pattern: str, language: str, package: str) -> Iterator[Asked]:
    """Headings of Markdown with the code below them; the title counts as the first heading."""
    for path in files.paths(pattern):
        text = files.text(path)
        title = _TITLE.search(text)
        heading = title[1] if title else ""
        blocks: Counter[str] = Counter()
        for found in _HEADING_OR_BLOCK.finditer(text):
            if found[2] is not None:
                heading = found[2]
            elif blocks[heading] < _BLOCKS_A_HEADING:
                blocks[heading] += 1
                yield Asked(_MARKUP.sub("", heading), found[4], language, package)


def rst_headings(files: Repository) -> Iterator[Asked]:
    """The same for reStructuredText."""
    for path in files.paths(r"^docs/notes.*\.rst$"):
        for heading, text in _RST_SECTION.findall(files.text(path)):
            for block in _RST_BLOCK.findall(text)[:_BLOCKS_A_HEADING]:
                yield Asked(heading, re.sub(r"^    ", "", block, flags=re.MULTILINE), "python", "pysheeet")


def commands(files: Repository) -> Iterator[Asked]:
    """What a command does, and the command."""
    choice = random.Random(1)
    for path in files.paths(r"^pages/(?:common|linux)/.*\.md$"):
        for query, command in _COMMAND.findall(files.text(path)):
            if choice.random() < _COMMANDS_KEPT:
                yield Asked(re.sub(r"[\[\]]", "", query), re.sub(r"\{\{|\}\}", "", command), "bash", "tldr")


def exercises(files: Repository) -> Iterator[Asked]:
    """MBPP: short tasks with a function each, as they are and as one would type them."""
    for row in map(json.loads, files.text("mbpp/mbpp.jsonl").splitlines()):
        task = _EXERCISE.sub("", row["text"]).split(". ")[0].rstrip(". ")
        code = row["code"].replace("\r", "")
        yield Asked(task, code, "python", "mbpp")
        yield Asked(random.Random(task).choice(_AS_ASKED).format(task), code, "python", "mbpp-2")


def library(files: Repository) -> Iterator[Asked]:
    """The first sentence on each name of Python's standard library."""
    path = "baseline/tranx/external-knowledge-codegen/apidocs/python-docs.jsonl"
    for row in map(json.loads, files.text(path).splitlines()):
        yield Asked(re.split(r"(?<=\w)\s?[.] ", row["intent"])[0], row["snippet"], "python", "python-docs")


# Repository, licence of what is taken, and its reader.
SOURCES: tuple[tuple[str, str, Callable[[Repository], Iterator[Asked]]], ...] = (
    ("sriniiyer/codenn", "CC BY-SA 3.0 (Stack Overflow)", titles_of_questions),
    ("shilliscmu/TranxConalaBaseline", "CC BY-SA (Stack Overflow; CoNaLa: MIT)", intents),
    ("zorazrw/odex", "CC BY-SA 4.0", more_intents),
    ("zorazrw/multilingual-conala", "PSF (documentation of Python)", library),
    ("google-research/google-research", "CC BY 4.0 (MBPP)", exercises),
    ("tldr-pages/tldr", "CC BY 4.0", commands),
    (
        "Chalarangelo/30-seconds-of-code",
        "CC BY 4.0",
        lambda files: snippets(files, r"^content/snippets/(?:js|python|git|react|css)/.*\.md$", "30s"),
    ),
    ("Chalarangelo/30-seconds-of-python", "CC BY 4.0", lambda files: snippets(files, r"^snippets/.*\.md$", "30s-py")),
    ("phuocng/1loc", "MIT", lambda files: headings(files, r"^contents/.*\.mdx$", "javascript", "1loc")),
    ("phuocng/html-dom", "MIT", lambda files: headings(files, r"^contents/.*\.mdx$", "javascript", "html-dom")),
    ("crazyguitar/pysheeet", "MIT", rst_headings),
)


def pair_of(asked: Asked) -> dict[str, str] | None:
    """The pair, or None if one side says too little."""
    query = re.sub(r"\s+", " ", html.unescape(asked.query)).strip(" ?.:-")
    code = asked.code.strip("\n")
    if len(query.split()) < _MIN_WORDS or len(code) < _MIN_CODE_CHARS:
        return None
    defined = _DEFINED.search(code)
    text = f"{defined[1] if defined else ''}\n{code[:MAX_CODE_CHARS]}"
    return {
        "query": query,
        "code": text,
        "more": "",
        "language": asked.language,
        "package": asked.package,
        "kind": "web",
    }


def is_known(pair: dict[str, str], barred: Seen) -> bool:
    """Whether its code is one of the Python functions to measure on, or nearly."""
    if pair["language"] != "python":
        return False
    tokens = normalised(pair["code"].partition("\n")[2], by_name("python"))
    return len(tokens) >= _MIN_TOKENS and barred.has(exact_hash(tokens), pack_signature(signature(tokens)))


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="where CoSQA's code is written to compare with")
    parser.add_argument("--mirror", type=Path, required=True, help="bare repositories: OWNER+NAME/repo")
    parser.add_argument("--out", type=Path, required=True, help="folder of pairs")
    arguments = parser.parse_args()
    barred = cosqa(arguments.data, arguments.mirror)
    pairs: list[dict[str, str]] = []
    for name, licence, read in SOURCES:
        repository = Repository(arguments.mirror / name.replace("/", "+") / "repo")
        made = [pair for asked in read(repository) if (pair := pair_of(asked)) and not is_known(pair, barred)]
        sys.stdout.write(f"{name} ({licence}): {len(made)} pairs\n")
        pairs += made
    random.Random(3).shuffle(pairs)
    write_lines(arguments.out / "web-000.jsonl.gz", pairs)


if __name__ == "__main__":
    main()
