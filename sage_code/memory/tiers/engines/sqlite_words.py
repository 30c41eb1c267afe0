"""Words in SQLite: FTS5 lists the rows that have a word, and the best of them are scored by their stored words.

FTS5 is asked for one word at a time, rarest first, until `_POSTINGS` rows were listed. Rows are ranked by the weights
of the words that listed them; the best that the scope allows are then scored by BM25 with all words. A scope of
few rows is scored without FTS5.

Words come from texts that anybody wrote. A word reaches FTS5 only as a quoted string, and only if the tokenizer of
`sqlite_schema.py` keeps it as one word, so no syntax of FTS5 can be in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from sage_code.memory.tiers.engines.protocol import Kind
from sage_code.memory.tiers.engines.scoping import conditions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.memory.tiers.engines.protocol import Transaction
    from sage_code.memory.tiers.values import Scope

# Figures are processor time on two busy cores, with 1,000,000 rows of 25 words. 40,000 are listed in 5.5 ms.
_POSTINGS = 20_000
# If the rarer words list less than `_SCORED` rows, rows are listed that have two of so many more common words.
_RAREST = 4
# A word in more rows than that is counted in the first of them and estimated; 10,000 take 0.9 ms.
_COUNTED = 3_000
# Rows that are looked up in the scope and whose words are read and scored; 600 take 3.7 ms.
_SCORED = 250
# A scope of so few rows is scored as a whole.
_FEW = 1_000
# A scope of up to so many rows is listed, in 11 ms, and compared with what FTS5 lists.
_LISTED = 50_000
# BM25 with its usual constants.
_K1, _B = 1.2, 0.75
# Pages of the index that are merged in one transaction, in at most 0.4 s, so that other writers do not wait long.
_MERGED_PAGES = 1_000
KINDS: tuple[Kind, ...] = ("message", "passage")
_OF_AGENT = "r.agent_id = ? AND "
_WORD = re.compile(r"[^\x00-\x20\x7f]+")


def add(rows: Transaction, kind: Kind, words: Sequence[tuple[int, str]]) -> None:
    """See `Engine.add_words`."""
    rows.many(f"INSERT INTO {kind}_words (rowid, words) VALUES (?, ?)", words)


def remove(rows: Transaction, kind: Kind, sequences: Sequence[int]) -> None:
    """Take rows out of the index of words."""
    rows.many(f"DELETE FROM {kind}_words WHERE rowid = ?", ((sequence,) for sequence in sequences))


def merge(rows: Transaction, kind: Kind) -> bool:
    """Merge some of the segments of the index into one; returns whether more is to be done."""
    table = f"{kind}_words"
    before = rows.one("SELECT total_changes()")
    rows.run(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-_MERGED_PAGES,))
    after = rows.one("SELECT total_changes()")
    # FTS5 itself counts as one change.
    return before is not None and after is not None and after[0] - before[0] > 1


def stored(rows: Transaction, kind: Kind, sequences: Sequence[int]) -> dict[int, str]:
    """See `Engine.words_of`."""
    # The table in which FTS5 keeps the texts: through the index itself reading takes a third longer.
    found = rows.all(
        f"SELECT w.id, w.c0 FROM json_each(?) c CROSS JOIN {kind}_words_content w ON w.id = c.value",
        (json.dumps(list(sequences)),),
    )
    return dict(found)


def frequencies(rows: Transaction, kind: Kind, terms: Sequence[str]) -> dict[str, int]:
    """See `Engine.frequencies`."""
    table = f"{kind}_words"
    found: dict[str, int] = {}
    newest = 0
    for term in terms:
        count, last = 0, 0
        if _is_word(term):
            counted = rows.one(
                f"SELECT count(*), max(rowid) FROM (SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?)",
                (_quoted(term), _COUNTED),
            )
            assert counted is not None
            count, last = int(counted[0]), int(counted[1] or 0)
        if count == _COUNTED:
            newest = newest or _newest(rows, kind)
            count = round(count * max(newest / last, 1.0))
        found[term] = count
    return found


def best(
    rows: Transaction, kind: Kind, weights: Mapping[str, float], scope: Scope, limit: int
) -> list[tuple[int, float]]:
    """See `Engine.with_words`."""
    wanted = {term: weight for term, weight in weights.items() if weight > 0 and _is_word(term)}
    if not wanted or limit <= 0:
        return []
    terms = sorted(wanted, key=lambda term: (-wanted[term], term))
    listed = sequences_of(rows, kind, scope, _LISTED)
    if listed is not None and len(listed) <= _FEW:
        candidates = allowed_of(rows, kind, scope, listed.tolist())
    else:
        ranked = _ranked(_postings(rows, kind, terms, listed), wanted, listed)
        candidates = _first_allowed(rows, kind, scope, ranked, limit)
    return _scored(stored(rows, kind, candidates), wanted, _usual_length(rows, kind, scope))[:limit]


def sequences_of(rows: Transaction, kind: Kind, scope: Scope, limit: int) -> NDArray[np.int64] | None:
    """The sequences of all rows in a scope, sorted; None if they are more than `limit`, or if listing them is slow.

    They are a first choice: whose a row is, `allowed_of` says.
    """
    if kind == "message" and (scope.is_whole or _is_role_only(scope)):
        known = rows.one("SELECT message_count FROM agents WHERE id = ?", (scope.agent.id,))
        if known is None or int(known[0]) > limit:
            return None
    condition, values = conditions(kind, scope)
    if kind == "message" and (scope.project or scope.session):
        # The sessions are the agent's; an index has what else is asked for. `allowed_of` asks for the agent again.
        condition, values = condition.removeprefix(_OF_AGENT), values[1:]
    found = _numbers(
        rows, f"SELECT r.sequence AS number FROM {kind}s r WHERE {condition} LIMIT ?", (*values, limit + 1)
    )
    if len(found) > limit:
        return None
    found.sort()
    return found


def allowed_of(rows: Transaction, kind: Kind, scope: Scope, sequences: Sequence[int]) -> list[int]:
    """Those of the sequences whose rows are in the scope, in the same order."""
    condition, values = conditions(kind, scope)
    found = rows.all(
        f"SELECT r.sequence FROM json_each(?) c CROSS JOIN {kind}s r ON r.sequence = c.value WHERE {condition}",
        (json.dumps(list(sequences)), *values),
    )
    return [sequence for (sequence,) in found]


def _postings(
    rows: Transaction, kind: Kind, terms: Sequence[str], listed: NDArray[np.int64] | None
) -> list[tuple[tuple[str, ...], NDArray[np.int64]]]:
    """The rows that have each of the rarest words; if those are few, also rows that have two of the common words."""
    table = f"{kind}_words"
    between: tuple[int, ...] = ()
    condition = f"SELECT rowid AS number FROM {table} WHERE {table} MATCH ?"
    if listed is not None:
        if not len(listed):
            return []
        condition += " AND rowid BETWEEN ? AND ?"
        between = (int(listed[0]), int(listed[-1]))
    newest_first = f"{condition} ORDER BY rowid DESC LIMIT ?"
    condition += " LIMIT ?"
    found: list[tuple[tuple[str, ...], NDArray[np.int64]]] = []
    room = _POSTINGS
    common: Sequence[str] = ()
    for place, term in enumerate(terms):
        sequences = _numbers(rows, condition, (_quoted(term), *between, room + 1))
        if len(sequences) > room:
            common = terms[place : place + _RAREST]
            break
        found.append(((term,), sequences))
        room -= len(sequences)
    for pair in combinations(common, 2):
        if _POSTINGS - room < _SCORED:
            both = _numbers(rows, newest_first, (" AND ".join(map(_quoted, pair)), *between, room))
            found.append((pair, both))
            room -= len(both)
    if common and _POSTINGS - room < _SCORED:
        found.append(((common[0],), _numbers(rows, newest_first, (_quoted(common[0]), *between, _SCORED))))
    return found


def _ranked(
    postings: Iterable[tuple[tuple[str, ...], NDArray[np.int64]]],
    weights: Mapping[str, float],
    listed: NDArray[np.int64] | None,
) -> NDArray[np.int64]:
    """The listed rows, those with the greatest sum of weights first, of equal ones the newest."""
    import numpy as np  # lazy: a hook adds words and searches nothing

    postings = list(postings)
    if not postings:
        return np.empty(0, np.int64)
    every = np.concatenate([sequences for _, sequences in postings])
    added = np.concatenate(
        [np.full(len(sequences), sum(weights[term] for term in terms)) for terms, sequences in postings]
    )
    if listed is not None:
        inside = np.isin(every, listed)
        every, added = every[inside], added[inside]
    sequences, places = np.unique(every, return_inverse=True)
    sums = np.bincount(places, weights=added, minlength=len(sequences))
    ranked: NDArray[np.int64] = sequences[::-1][np.argsort(-sums[::-1], kind="stable")]
    return ranked


def _first_allowed(rows: Transaction, kind: Kind, scope: Scope, ranked: NDArray[np.int64], limit: int) -> list[int]:
    """The best of the ranked rows that are in the scope: about `_SCORED`, at least `limit` if there are as many."""
    found: list[int] = []
    size = max(_SCORED, limit)
    if kind == "message" and scope.is_whole and len(rows.all("SELECT 1 FROM agents LIMIT 2")) == 1:
        return list(map(int, ranked[:size]))  # every message is the agent's
    for start in range(0, len(ranked), size):
        found += allowed_of(rows, kind, scope, ranked[start : start + size].tolist())
        if len(found) >= max(size // 2, limit):
            break
    return found


def _scored(texts: Mapping[int, str], weights: Mapping[str, float], usual: float) -> list[tuple[int, float]]:
    """The rows that have a wanted word with their BM25, best first, of equal ones the newest first."""
    lengths = {sequence: text.count(" ") + 1 for sequence, text in texts.items()}
    usual = usual or sum(lengths.values()) / max(len(lengths), 1)
    wanted = [(f" {term} ", weight * (_K1 + 1)) for term, weight in weights.items()]
    found: list[tuple[int, float]] = []
    for sequence, text in texts.items():
        padded = " " + text.replace("\n", " ") + " "
        longer = _K1 * (1 - _B + _B * lengths[sequence] / usual)
        score = 0.0
        for term, weight in wanted:
            if term in padded:
                times = padded.count(term)
                score += weight * times / (times + longer)
        if score:
            found.append((sequence, score))
    found.sort(key=lambda row: (-row[1], -row[0]))
    return found


def _usual_length(rows: Transaction, kind: Kind, scope: Scope) -> float:
    """How many words a message of the agent has; 0 if that is not known."""
    if kind != "message":
        return 0.0
    known = rows.one("SELECT word_count, message_count FROM agents WHERE id = ?", (scope.agent.id,))
    return known[0] / known[1] if known is not None and known[1] else 0.0


def _numbers(rows: Transaction, sql: str, values: Sequence[object]) -> NDArray[np.int64]:
    """The whole numbers that a query gives. As one text they arrive three times as fast as in rows."""
    import numpy as np  # lazy: a hook adds words and searches nothing

    joined = rows.one(f"SELECT group_concat(number) FROM ({sql})", values)
    text = joined[0] if joined is not None else None
    return np.fromstring(text, np.int64, sep=",") if text else np.empty(0, np.int64)


def _newest(rows: Transaction, kind: Kind) -> int:
    found = rows.one(f"SELECT max(sequence) FROM {kind}s")
    return int(found[0] or 0) if found is not None else 0


def _is_role_only(scope: Scope) -> bool:
    """Whether only the role narrows the scope; no index finds the rows of a role."""
    return bool(scope.role) and not (scope.project or scope.session or scope.since or scope.until)


def _is_word(term: str) -> bool:
    """Whether the tokenizer keeps a term as one word."""
    return _WORD.fullmatch(term) is not None and not any("\ud800" <= letter <= "\udfff" for letter in term)


def _quoted(term: str) -> str:
    """A term as a string of FTS5."""
    return '"' + term.replace('"', '""') + '"'
