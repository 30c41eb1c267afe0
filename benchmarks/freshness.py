"""Is an answer ever stale? Random changes of a project, each followed at once by every command and tool.

    python benchmarks/freshness.py [--changes 500] [--files 60] [--every 50] [--seed 1]

Files of a made-up project are edited in place, replaced, edited with size and time kept, renamed, deleted, added, and
now and then many at once. After each change every question is asked, in random order, through the façade; after every
so many also through real `sage` processes and a real MCP client. The right answers are read from the files, without
Sage. An answer is right, or wrong and it was said that files have changed since, or stale. Ends with 1 when any was
stale. The project is indexed once and never by hand again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import environment, machine, table
from sage_code import Project

_SAGE = str(Path(sys.executable).with_name("sage"))
_KINDS = ("edited", "replaced", "same size and time", "renamed", "deleted", "added")
_MANY_AT_ONCE, _IN_MANY = 40, 25  # one change in so many is of so many files
_UNIT = re.compile(r"def (unit_\w+)\(")
Places = set[tuple[str, int]]


class Made:
    """A project whose files all use one function, `anchor`, and define one of their own; and the truth about it."""

    def __init__(self, root: Path, dice: Random, files: int) -> None:
        self.root, self._dice, self._made = root, dice, 100_000
        (root / "hub.py").write_text("def anchor(way):\n    return way * 2\n")
        self.files = [self._add() for _ in range(files)]

    def change(self, kind: str) -> tuple[str, Path | None]:
        """Change one file; the name that is gone, if one is, and the file that is asked about."""
        if kind == "added":
            self.files.append(self._add())
            return "", self.files[-1]
        at = self._dice.randrange(len(self.files))
        path = self.files[at]
        if kind == "renamed":
            self.files[at] = path.rename(self._path())
            return "", self.files[at]
        gone = self.unit(path)
        if kind == "deleted":
            self.files.pop(at).unlink()
            return gone, None
        if kind == "same size and time":
            before = path.stat()
            path.write_text(path.read_text().replace(gone, self._name()))
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        elif kind == "replaced":
            draft = path.with_suffix(".draft~")
            draft.write_text(self._text())
            os.replace(draft, path)
        else:
            path.write_text(self._text())
        if self._dice.random() < 0.1:
            lines = "# more\n" * self._dice.randrange(5)
            (self.root / "hub.py").write_text(f"{lines}def anchor(way):\n    return way * 2\n")
        return gone, path

    @staticmethod
    def unit(path: Path) -> str:
        """The function that a file defines."""
        return _UNIT.findall(path.read_text())[0]

    def lines(self, pattern: str, *paths: Path) -> Places:
        """Where the files have a line like this."""
        wanted = re.compile(pattern)
        return {
            (path.relative_to(self.root).as_posix(), number)
            for path in paths or (*self.files, self.root / "hub.py")
            for number, line in enumerate(path.read_text().split("\n"), 1)
            if wanted.search(line)
        }

    def _add(self) -> Path:
        path = self._path()
        path.write_text(self._text())
        return path

    def _path(self) -> Path:
        folder = self.root / f"part_{self._dice.randrange(8)}"
        folder.mkdir(exist_ok=True)
        self._made += 1
        return folder / f"module_{self._made}.py"

    def _name(self) -> str:
        self._made += 1
        return f"unit_{self._made}"

    def _text(self) -> str:
        head = "# a line\n" * self._dice.randrange(6)
        body = f"def {self._name()}(way):\n    part = way + {self._made}\n    return anchor(part)\n"
        return f"from hub import anchor\n\n{head}\n{body}"


def truths(made: Made, gone: str, path: Path | None) -> dict[str, tuple[list[str], Any]]:
    """What to ask, by question: the words of the command, and the right answer."""
    uses = made.lines(r"\banchor\b", *made.files)
    calls = made.lines(r"return anchor\(", *made.files)
    hub = made.lines("def anchor")
    asked: dict[str, tuple[list[str], Any]] = {
        "refs": (["refs", "anchor", "--limit", "0"], uses),
        "callers": (["callers", "anchor", "--limit", "0"], calls),
        "impact": (["impact", "anchor", "--limit", "0"], uses),
        "map": (["map"], hub),
    }
    if gone:
        asked["grep, gone"] = (["grep", gone], set())
        asked["analyze, gone"] = (["analyze", gone], set())
        asked["exact, gone"] = (["search", "--exact", f"def {gone}("], set())
    if path is not None:
        name, file = made.unit(path), path.relative_to(made.root).as_posix()
        own = made.lines(f"def {name}", path)
        asked["grep"] = (["grep", name], own)
        asked["analyze"] = (["analyze", name], own)
        asked["callees"] = (["callees", name], hub)
        asked["outline"] = (["outline", file], own)
        asked["similar"] = (["similar", name], made.lines("def unit_", *made.files) - own)
        asked["search"] = (["search", name, "--limit", "1"], {file})
        asked["exact"] = (["search", "--exact", f"def {name}("], own)
    return asked


def places(question: str, document: dict[str, Any]) -> Any:
    """The places in the document of a command; the documents of the tools are the same, except for uses."""
    command = question.partition(",")[0]
    if command == "exact":
        return {(row["file"], row["line"]) for row in document["results"]}
    if command == "search":
        return {row["file"] for row in document["results"][:1]}
    key = {"grep": "matches", "analyze": "matches", "outline": "symbols", "map": "entries", "refs": "references"}
    rows = document.get(key.get(command, "affected" if command == "impact" else command), document.get("uses", []))
    if command == "callees":
        rows = [row.get("definition") or row["symbol"] for row in rows]
    if command == "map":
        rows = [row for row in rows if row["qualname"] == "anchor"]
    if command == "outline":
        rows = [{**row, "file": document["file"]} for row in rows]
    return {(row["file"], row["line"]) for row in rows}


def is_right(question: str, found: Any, truth: Any) -> bool:
    """`similar` shows the first ten: each must be there. The others are compared whole."""
    return bool(found) == bool(truth) and found <= truth if question == "similar" else bool(found == truth)


class Tally:
    """Right, said and stale answers, by face and question."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.stale: list[str] = []

    def add(self, face: str, question: str, change: str, found: Any, truth: Any, note: str) -> None:
        """Count one answer."""
        right = is_right(question, found, truth)
        self.counts[face, question.partition(",")[0], "right" if right else "said" if note else "stale"] += 1
        if not right and not note:
            self.stale.append(
                f"{face} {question} after {change}: {sorted(found - truth)} {sorted(truth - found)}"[:400]
            )


def by_facade(project: Project) -> Callable[[str, list[str]], tuple[Any, str]]:
    """Asks the façade; each question first, then whether something was said."""

    def uses(name: str, relation: Any) -> dict[str, Any]:
        from sage_code.lookup.related import as_row

        return {"uses": [as_row(use) for use in project.related(name, relation).uses]}

    def similar(name: str) -> dict[str, Any]:
        at = project.locate(name)
        found = project.similar(at.file, at.start_line or 1, refresh=False) if at else []
        return {"similar": [{"file": one.chunk.file, "line": one.chunk.line} for one in found]}

    def rows(found: Any) -> list[dict[str, Any]]:
        return [{"file": one.file, "line": one.line, "qualname": one.qualname} for one in found]

    asks: dict[str, Callable[[str], dict[str, Any]]] = {
        "grep": lambda name: {"matches": project.grep(name)},
        "analyze": lambda name: {"matches": project.analyze(name)},
        "refs": lambda name: uses(name, "references"),
        "callers": lambda name: uses(name, "callers"),
        "callees": lambda name: uses(name, "callees"),
        "impact": lambda name: uses(name, "impact"),
        "outline": lambda file: {
            "file": file, "symbols": [{"line": item.symbol.line} for item in project.outline(file).items]
        },
        "map": lambda _: {"entries": rows(project.map().entries)},
        "similar": similar,
        "search": lambda name: {"results": [{"file": hit.file} for hit in project.search(name, limit=1).results]},
    }  # fmt: skip

    def ask(question: str, words: list[str]) -> tuple[Any, str]:
        document = project.find_text(words[2]) if "--exact" in words else asks[words[0]]("".join(words[1:2]))
        found = places(question, document)
        return found, project.refresh()

    return ask


def by_command(root: Path) -> Callable[[str, list[str]], tuple[Any, str]]:
    """Asks a process of its own."""

    def ask(question: str, words: list[str]) -> tuple[Any, str]:
        done = subprocess.run(
            [_SAGE, *words, "--project", str(root), "--json"], capture_output=True, text=True, env=environment()
        )
        document = json.loads(done.stdout)
        if "error" in document:
            raise SystemExit(f"{words}: {document}")
        return places(question, document), document.get("note", "")

    return ask


async def by_tool(client: Client, question: str, words: list[str]) -> tuple[Any, str]:
    """Asks the MCP server."""
    command, name = words[0], words[1] if len(words) > 1 else ""
    tools: dict[str, tuple[str, dict[str, Any]]] = {
        "grep": ("sage_grep_symbol", {"name": name}),
        "analyze": ("sage_analyze_function", {"name": name}),
        "outline": ("sage_outline", {"file": name}),
        "map": ("sage_map", {}),
        "similar": ("sage_similar", {"where": name}),
        "search": ("sage_search_code", {"query": name, "limit": 1}),
    }
    relation = {"refs": "references"}.get(command, command)
    if "--exact" in words:
        tools["search"] = ("sage_search_code", {"query": words[2], "mode": "exact"})
    tool, given = tools.get(command) or ("sage_find_references", {"name": name, "relation": relation})
    answer = await client.call_tool(tool, {**given, "max_tokens": 25_000})
    if answer.is_error or not isinstance(answer.structured_content, dict):
        raise SystemExit(f"{tool}: {answer.content}")
    document = answer.structured_content
    assert not document["truncated"] or command in ("search", "map"), tool
    return places(question, document), document.get("note", "")


async def run(given: argparse.Namespace, root: Path, tally: Tally, kinds: Counter[str]) -> None:
    """All changes, each followed by all questions."""
    dice = Random(given.seed)
    made = Made(root, dice, given.files)
    project = Project(str(root))
    project.index()
    facade, command = by_facade(project), by_command(root)
    server = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "sage_mcp.server"], env=environment(), cwd=str(root)
    )
    async with Client(stdio_client(server)) as client:
        for number in range(1, given.changes + 1):
            kind = dice.choice(_KINDS)
            if many := number % _IN_MANY == 0:
                for _ in range(_MANY_AT_ONCE):
                    made.change("edited")
            gone, path = made.change(kind)
            kinds["many at once" if many else kind] += 1
            asked = list(truths(made, gone, path).items())
            # After one change, and now and then after many.
            sampled = number % given.every == given.every // 2 or (many and number % (4 * _IN_MANY) == 0)
            faces = ["façade", *(["command", "tool"] if sampled else [])]
            # Whoever is asked first brings the change in: each of the faces in turn.
            for face in sorted(faces, key=lambda _: dice.random()):
                for question, (words, truth) in sorted(asked, key=lambda _: dice.random()):
                    if face == "tool":
                        found, note = await by_tool(client, question, words)
                    else:
                        found, note = (facade if face == "façade" else command)(question, words)
                    tally.add(face, question, kind, found, truth, note)
            if many:
                project.index()
            if number % 50 == 0:
                print(f"{number} changes, {len(tally.stale)} stale", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=500)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--every", type=int, default=50, help="ask commands and tools after every so many changes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    tally, kinds = Tally(), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="sage-fresh-") as scratch:
        os.environ["SAGE_HOME"] = os.path.join(scratch, "home")
        (root := Path(scratch, "project")).mkdir()
        anyio.run(run, given, root, tally, kinds)
    questions = sorted({question for _, question, _ in tally.counts})
    rows = [
        [question, *(tally.counts[face, question, verdict] for face in ("façade", "command", "tool")
                     for verdict in ("right", "said", "stale"))]
        for question in questions
    ]  # fmt: skip
    heads = [f"{face}: {verdict}" for face in ("façade", "command", "tool") for verdict in ("right", "said", "stale")]
    print(machine(), f"Changes: {', '.join(f'{count} {kind}' for kind, count in kinds.items())}.", sep="\n\n")
    print("", table(["question", *heads], rows), "", *tally.stale[:20], sep="\n")
    print(f"{len(tally.stale)} stale answers of {sum(tally.counts.values()):,}.")
    return 1 if tally.stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
