"""The most important symbols of a project, by reference centrality, fitted into a budget of tokens.

Files vote for the files whose definitions they use (PageRank); a symbol gets the votes that come in by its name. A name
with many definitions shares its votes among them, so `get` and `run` do not win by being everywhere. Votes are added up
in the order of names and files, so that the same files give the same map, however their index came about.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from sage_code.compiled.published import Snapshot, needed_snapshot
from sage_code.languages.kinds import HEAD_KINDS
from sage_code.text.escaping import one_line
from sage_code.text.tokens import count_tokens
from sage_code.xref.language_rules import family

_DAMPING = 0.85
_ROUNDS = 20
# A name means something within its family of languages: Python's `list` is no vote for a `list` in Solidity.
Name = tuple[str, str]
# A name defined in more files than this says nothing about any of them.
_MAX_DEFINITIONS = 12
_TEST_WEIGHT, _PRIVATE_WEIGHT = 0.2, 0.4
_TEST_PARTS = frozenset(
    {"test", "tests", "spec", "specs", "__tests__", "testing", "t", "testdata", "fixtures", "examples"}
)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A symbol worth knowing, with its share of all votes."""

    file: str
    line: int
    kind: str
    qualname: str
    signature: str
    score: float

    @property
    def title(self) -> str:
        """What it is, with the class of a method: `Server: def start(self)`, unless the signature says it."""
        owner, _, name = self.qualname.rpartition(".")
        if not self.signature:
            return self.qualname
        head = self.signature.partition(name)[0]
        is_said = not owner or owner.rpartition(".")[2] in head
        return self.signature if is_said else f"{owner}: {self.signature}"


@dataclass(frozen=True, slots=True)
class ProjectMap:
    """The chosen symbols, most important file first, and what the text costs."""

    entries: tuple[MapEntry, ...]
    text: str
    tokens: int
    truncated: bool  # there were more than fit


def project_map(root: str, *, below: str = "", max_tokens: int = 1024) -> ProjectMap:
    """The map of the project, or of the folder `below` it."""
    ranked = [
        entry for entry in _ranked(root) if not below or entry.file == below or entry.file.startswith(below + "/")
    ]
    # The text grows with every entry, so the largest prefix that fits is found by bisection.
    low, high = 0, len(ranked)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(_text(ranked[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    text = _text(ranked[:low])
    return ProjectMap(tuple(ranked[:low]), text, count_tokens(text), low < len(ranked))


def _text(entries: list[MapEntry]) -> str:
    by_file: dict[str, list[MapEntry]] = defaultdict(list)
    for entry in entries:
        by_file[entry.file].append(entry)
    lines = []
    for file, members in by_file.items():
        lines.append(f"{one_line(file)}:")
        lines += [f"  {entry.line}: {one_line(entry.title)}" for entry in sorted(members, key=lambda e: e.line)]
    return "\n".join(lines)


def _ranked(root: str) -> list[MapEntry]:
    snapshot = needed_snapshot(root)
    votes = _votes(snapshot)
    symbols = [symbol for symbol in snapshot.symbols.all() if symbol["kind"] in HEAD_KINDS]
    definers: dict[Name, set[str]] = defaultdict(set)
    for symbol in symbols:
        definers[_name(symbol)].add(symbol["file"])
    files = sorted({file for used in votes.values() for file in used} | {symbol["file"] for symbol in symbols})
    number = {file: place for place, file in enumerate(files)}
    rank = _page_rank(votes, definers, number)
    scored = []
    for symbol in symbols:
        users, shared = votes.get(_name(symbol), {}), len(definers[_name(symbol)])
        if shared <= _MAX_DEFINITIONS:
            others = ((file, count) for file, count in users.items() if file != symbol["file"])
            score = sum(rank[number[file]] * count**0.5 for file, count in others) / shared
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
    """For each name, the files that use it and how often; imports and bindings do not vote."""
    votes: dict[Name, dict[str, float]] = defaultdict(dict)
    for ref, segment in zip(snapshot.generation.segments, snapshot.segments, strict=True):
        dead = frozenset(ref.dead)
        for file, name, count in segment.references.uses():
            if file not in dead:
                votes[family(segment.file_language(file)), name][segment.paths[file]] = count
    return {name: dict(sorted(votes[name].items())) for name in sorted(votes)}


def _page_rank(
    votes: dict[Name, dict[str, float]], definers: dict[Name, set[str]], number: dict[str, int]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """PageRank over files: a file's vote goes to the files that define what it uses."""
    sources, targets, weights = [], [], []
    for name, users in votes.items():
        owners = definers.get(name, ())
        if not 0 < len(owners) <= _MAX_DEFINITIONS:
            continue
        for user, count in users.items():
            for owner in sorted(owners):
                if owner != user:
                    sources.append(number[user])
                    targets.append(number[owner])
                    weights.append(count**0.5 / len(owners))
    size = len(number)
    rank = np.full(size, 1 / max(size, 1))
    source, target, weight = np.array(sources, np.int64), np.array(targets, np.int64), np.array(weights, np.float64)
    outgoing = np.bincount(source, weights=weight, minlength=size)
    share = weight / outgoing[source] if len(source) else weight
    for _ in range(_ROUNDS):
        incoming = np.bincount(target, weights=rank[source] * share, minlength=size)
        lost = rank[outgoing == 0].sum() / max(size, 1)
        rank = (1 - _DAMPING) / max(size, 1) + _DAMPING * (incoming + lost)
    return rank
