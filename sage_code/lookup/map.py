"""Lists the most important symbols of a project, by centrality, as far as they fit into a budget of tokens.

Files vote for the files whose definitions they use (PageRank); a symbol gets the votes of the files that use its name.
Definitions of the same name share its votes, so a common name such as `get` does not win. Votes are added up in the
order of names and files, so the same files give the same map, however their index was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sage_code.compiled.published import Snapshot, needed_snapshot
from sage_code.languages.kinds import HEAD_KINDS
from sage_code.text.escaping import one_line
from sage_code.text.tokens import count_tokens, fit
from sage_code.xref.language_rules import family

_DAMPING = 0.85
_ROUNDS = 20
# A family of languages and a name: a `list` in Python is no vote for a `list` in Solidity.
Name = tuple[str, str]
# A name that more files define says nothing about any of them.
_MAX_DEFINITIONS = 12
_TEST_WEIGHT, _PRIVATE_WEIGHT = 0.2, 0.4
_TEST_PARTS = frozenset(
    {"test", "tests", "spec", "specs", "__tests__", "testing", "t", "testdata", "fixtures", "examples"}
)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """An important symbol, with its share of all votes."""

    file: str
    line: int
    kind: str
    qualname: str
    signature: str
    score: float

    @property
    def title(self) -> str:
        """The signature, after the owner if the signature does not name it: `Server: def start(self)`."""
        owner, _, name = self.qualname.rpartition(".")
        if not self.signature:
            return self.qualname
        head = self.signature.partition(name)[0]
        is_named = not owner or owner.rpartition(".")[2] in head
        return self.signature if is_named else f"{owner}: {self.signature}"


@dataclass(frozen=True, slots=True)
class ProjectMap:
    """The chosen symbols, most important first, and their text by file."""

    entries: tuple[MapEntry, ...]
    text: str
    tokens: int
    truncated: bool  # there were more than fit


def project_map(root: str, *, below: str = "", max_tokens: int = 1024, without: Container[str] = ()) -> ProjectMap:
    """The map of the project, or of the folder `below` it, `without` some files."""
    ranked = [entry for entry in _ranked(root) if not below or f"{entry.file}/".startswith(f"{below}/")]
    if without:
        ranked = [entry for entry in ranked if entry.file not in without]
    listed: set[str] = set()

    def cost(entry: MapEntry) -> int:
        """What an entry adds: its line, the line end before it, and the heading of a file that is not listed yet."""
        heading = 0 if entry.file in listed else count_tokens(_heading(entry.file)) + 1
        listed.add(entry.file)
        return heading + count_tokens(entry_line(entry)) + 1

    chosen = fit(ranked, cost, max_tokens + 1)
    text = map_text(chosen)
    return ProjectMap(tuple(chosen), text, count_tokens(text), len(chosen) < len(ranked))


def map_text(entries: Iterable[MapEntry]) -> str:
    """The entries in lines, under their files."""
    by_file: dict[str, list[MapEntry]] = defaultdict(list)
    for entry in entries:
        by_file[entry.file].append(entry)
    lines = []
    for file, members in by_file.items():
        lines += [_heading(file), *(entry_line(entry) for entry in sorted(members, key=lambda entry: entry.line))]
    return "\n".join(lines)


def _heading(file: str) -> str:
    return f"{one_line(file)}:"


def entry_line(entry: MapEntry) -> str:
    """One entry of the text."""
    return f"  {entry.line}: {one_line(entry.title)}"


def _ranked(root: str) -> list[MapEntry]:
    """All symbols with votes of other files, most important first."""
    snapshot = needed_snapshot(root)
    votes = _votes(snapshot)
    symbols = [symbol for symbol in snapshot.symbols.all() if symbol["kind"] in HEAD_KINDS]
    definers: dict[Name, set[str]] = defaultdict(set)
    for symbol in symbols:
        definers[_name(symbol)].add(symbol["file"])
    files = sorted({file for by_file in votes.values() for file in by_file} | {symbol["file"] for symbol in symbols})
    rows = {file: row for row, file in enumerate(files)}
    rank = _page_rank(votes, definers, rows)
    scored = []
    for symbol in symbols:
        by_file, shared = votes.get(_name(symbol), {}), len(definers[_name(symbol)])
        if shared <= _MAX_DEFINITIONS:
            others = ((file, count) for file, count in by_file.items() if file != symbol["file"])
            score = sum(rank[rows[file]] * count**0.5 for file, count in others) / shared
            scored.append((float(score) * _weight(symbol), symbol))
    total = sum(score for score, _ in scored) or 1.0
    scored.sort(key=lambda item: (-item[0], item[1]["file"], item[1]["line"]))
    return [
        MapEntry(s["file"], s["line"], s["kind"], s["qualname"], s["signature"], score / total)
        for score, s in scored
        if score > 0
    ]


def _name(symbol: dict[str, Any]) -> Name:
    return family(symbol["language"]), symbol["name"]


def _weight(symbol: dict[str, Any]) -> float:
    *folders, name = symbol["file"].lower().split("/")
    is_test = not _TEST_PARTS.isdisjoint(folders) or name.startswith("test_") or ".test." in name or "_test." in name
    return (_TEST_WEIGHT if is_test else 1.0) * (_PRIVATE_WEIGHT if symbol["name"].startswith("_") else 1.0)


def _votes(snapshot: Snapshot) -> dict[Name, dict[str, float]]:
    """By name, the files that use it and how often; imports and bindings do not count."""
    votes: dict[Name, dict[str, float]] = defaultdict(dict)
    for ref, segment in zip(snapshot.generation.segments, snapshot.segments, strict=True):
        dead = frozenset(ref.dead)
        for file, name, count in segment.references.uses():
            if file not in dead:
                votes[family(segment.file_language(file)), name][segment.paths[file]] = count
    return {name: dict(sorted(votes[name].items())) for name in sorted(votes)}


def _page_rank(
    votes: dict[Name, dict[str, float]], definers: dict[Name, set[str]], rows: dict[str, int]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The PageRank of every file, at its row: a file votes for the files that define what it uses."""
    sources, targets, weights = [], [], []
    for name, by_file in votes.items():
        owners = definers.get(name, ())
        if not 0 < len(owners) <= _MAX_DEFINITIONS:
            continue
        for user, count in by_file.items():
            for owner in sorted(owners):
                if owner != user:
                    sources.append(rows[user])
                    targets.append(rows[owner])
                    weights.append(count**0.5 / len(owners))
    size = len(rows)
    rank = np.full(size, 1 / max(size, 1))
    source, target, weight = np.array(sources, np.int64), np.array(targets, np.int64), np.array(weights, np.float64)
    outgoing = np.bincount(source, weights=weight, minlength=size)
    share = weight / outgoing[source] if len(source) else weight
    for _ in range(_ROUNDS):
        incoming = np.bincount(target, weights=rank[source] * share, minlength=size)
        lost = rank[outgoing == 0].sum() / max(size, 1)
        rank = (1 - _DAMPING) / max(size, 1) + _DAMPING * (incoming + lost)
    return rank
