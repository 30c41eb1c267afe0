"""Full text on a PostgreSQL server: which rows have which words.

Words are our own stems, so no dictionary of the server's sees them; a row is a `tsvector` without positions under a GIN
index. GIN has no scores and reads a word's rows whole, so a search takes the rarest words first, stops when they have
found enough, and has the rows that it found weighed by all words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from sage_code.memory.tiers.engines.postgres_driver import copy_lines
from sage_code.memory.tiers.engines.postgres_values import (
    copied,
    named,
    numbers_literal,
    storable,
    translated,
)
from sage_code.memory.tiers.engines.scoping import conditions

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.postgres_driver import Connection
    from sage_code.memory.tiers.engines.postgres_facts import Facts
    from sage_code.memory.tiers.engines.protocol import Kind
    from sage_code.memory.tiers.values import Scope

# The server's own limits: the bytes of one word, and of all words of a row (it allows 1,048,575).
_WORD_BYTES = 2046
_ROW_BYTES = 1_000_000
# A word is counted up to this number of rows if it is not known to be a common one.
COUNTED = 10_000
# The rows that are weighed for one search: 3,000 of 200,000 take 15 ms of processor time.
_WEIGHED = 3_000
# The same for an agent that has only a part of all messages, because rows of others are found too.
_WEIGHED_AT_MOST = 20_000
# Rows of an agent, or of what a search asks for, up to which all of them are weighed.
_FEW = 2_000
# If only common words are asked for, these many of the rarest are taken in pairs.
_PAIRED = 4
# The rows in which words are counted ahead, which takes a second, and the rows among them that a word must have to be
# noted: of a million, a word that is not noted has about a hundred, and these are counted when it is asked for.
_SAMPLED, _NOTED = 50_000, 5
# BM25 with its usual constants.
_K1, _B = 1.2, 0.75
_BYTES_OF_A_LETTER = 4
# What means something in a list of words, or in a line of COPY.
_SPECIAL = re.compile(r"['\\:\t\r]")


def add_words(connection: Connection, kind: Kind, words: Sequence[tuple[int, str]]) -> None:
    """Index the words of rows, in one COPY."""
    if words:
        lines = (_line(sequence, storable(text)) for sequence, text in words)
        copy_lines(connection, named(kind, "COPY $words (sequence, words, tsv) FROM STDIN"), lines)


def _line(sequence: int, text: str) -> str:
    """A row as COPY reads it. The server sorts the words and drops those that are there twice."""
    if len(text) * _BYTES_OF_A_LETTER <= _WORD_BYTES and _SPECIAL.search(text) is None:
        # Words as they are nearly always: the text is its own list of words, but for the line ends between its parts.
        return f"{sequence}\t{text}\t{text}" if "\n" not in text else copied((sequence, text, text))
    lexemes, size = [], 0
    for word in dict.fromkeys(text.split()):
        length = len(word.encode())
        size += length
        if size > _ROW_BYTES:
            break
        if length <= _WORD_BYTES:
            lexemes.append(_quoted(word))
    return copied((sequence, text, " ".join(lexemes)))


def words_of(connection: Connection, kind: Kind, sequences: Sequence[int]) -> dict[int, str]:
    """The words of rows, as they were added."""
    sql = named(kind, "SELECT sequence, words FROM $words WHERE sequence = ANY (%s::bigint[])")
    return dict(connection.execute(sql.encode(), (numbers_literal(sequences),)).fetchall())


def frequencies(connection: Connection, kind: Kind, terms: Iterable[str], *, at_most: int = COUNTED) -> dict[str, int]:
    """How many rows have each word: from the sample for common words, counted up to a limit for others."""
    asked = {term: storable(term) for term in terms}
    wanted = [term for term in dict.fromkeys(asked.values()) if _is_word(term)]
    if not wanted:
        return dict.fromkeys(asked, 0)
    sql = named(
        kind,
        "SELECT t.term, coalesce((SELECT (c.share * greatest(s.reltuples, 1))::bigint FROM common_words c"
        " WHERE c.kind = %s AND c.word = t.term),"
        " (SELECT count(*) FROM (SELECT 1 FROM $words w WHERE w.tsv @@ t.query::tsquery LIMIT %s) found))"
        " FROM unnest(%s::text[], %s::text[]) t (term, query), pg_class s WHERE s.oid = '$words'::regclass",
    )
    queries = [_quoted(term) for term in wanted]
    counts: dict[str, int] = dict(connection.execute(sql.encode(), (kind, at_most, wanted, queries)).fetchall())
    return {term: counts.get(stored, 0) for term, stored in asked.items()}


def with_words(
    connection: Connection,
    kind: Kind,
    weights: Mapping[str, float],
    scope: Scope,
    limit: int,
    facts: Facts,
    counted: Mapping[str, int],
) -> list[tuple[int, float]]:
    """The rows that fit the weighted words best. `counted` is what `frequencies` has said of some words."""
    weighed = {storable(term): weight for term, weight in weights.items() if _is_word(storable(term))}
    if not weighed or limit <= 0:
        return []
    condition, values = conditions(kind, scope)
    found_words = " + ".join("CASE WHEN w.tsv @@ %s::tsquery THEN %s::float8 ELSE 0 END" for _ in weighed)
    # BM25 of words that count once, however often they occur; a long row has each word more easily.
    score = f"({found_words}) * (1 + $k1) / (1 + $k1 * ({1 - _B} + {_B} * length(w.tsv) / %s::float8))"
    score = score.replace("$k1", str(_K1 if facts.usual_words else 0.0))
    scores: list[object] = [value for term, weight in weighed.items() for value in (_quoted(term), weight)]
    scores.append(facts.usual_words or 1.0)
    if facts.in_scope <= _FEW:
        candidates, given = _ALL, [*values, *scores, limit]
    else:
        query, at_most = _chosen(connection, kind, list(weighed), facts, counted)
        candidates = _FOUND if query else _NEWEST
        given = [query or _any(weighed), at_most, *scores, *values, limit]
    sql = named(kind, candidates.replace("$condition", translated(condition)).replace("$score", score))
    found = connection.execute(sql.encode(), given).fetchall()
    ordered = sorted(found, key=lambda row: (-row[1], -row[0]))
    return [(sequence, weight) for sequence, weight in ordered if weight > 0]


# The rows that may answer first, then their words. `OFFSET 0` keeps the planner from joining the tables whole.
_ALL = """
    WITH r AS MATERIALIZED (SELECT r.sequence FROM $rows r WHERE $condition)
    SELECT w.sequence, $score AS score
    FROM r CROSS JOIN LATERAL (SELECT * FROM $words w WHERE w.sequence = r.sequence OFFSET 0) w
    ORDER BY score DESC, w.sequence DESC LIMIT %s
"""
# The words first, best first; then, until there are enough, which of their rows may answer. `strip` reads a long list
# of words once; otherwise each word of the question would have it fetched from where the server keeps long values.
_FOUND = """
    WITH w AS MATERIALIZED (SELECT sequence, strip(tsv) AS tsv FROM $words WHERE tsv @@ %s::tsquery LIMIT %s),
    s AS MATERIALIZED (SELECT w.sequence, $score AS score FROM w ORDER BY score DESC, w.sequence DESC)
    SELECT s.sequence, s.score
    FROM s CROSS JOIN LATERAL (SELECT 1 FROM $rows r WHERE r.sequence = s.sequence AND $condition OFFSET 0) r LIMIT %s
"""
# The same for words that are in so many rows that the newest of them are found by looking at one after the other.
_NEWEST = _FOUND.replace("LIMIT %s),", "ORDER BY sequence DESC LIMIT %s),", 1)


def _chosen(
    connection: Connection, kind: Kind, terms: Sequence[str], facts: Facts, counted: Mapping[str, int]
) -> tuple[str | None, int]:
    """The rarest words that find enough rows and not too many, as a query, and how many rows to take. None if all words
    are in too many rows."""
    rows = facts.rows
    share = facts.of_agent / rows if kind == "message" else 1.0
    at_most = int(min(_WEIGHED_AT_MOST, _WEIGHED / max(min(share, 1.0), _WEIGHED / _WEIGHED_AT_MOST)))
    # Words that were counted up to fewer rows are counted again.
    counts = {term: counted[term] for term in terms if term in counted and at_most < COUNTED}
    counts |= frequencies(connection, kind, [term for term in terms if term not in counts], at_most=at_most + 1)
    rarest = sorted((count, term) for term, count in counts.items() if count)
    chosen: list[str] = []
    total = 0
    while rarest and total + rarest[0][0] <= at_most:
        count, term = rarest.pop(0)
        chosen.append(_quoted(term))
        total += count
    for (one, first), (other, second) in combinations(rarest[:_PAIRED], 2):
        if total + one * other / rows > at_most:
            break
        chosen.append(f"{_quoted(first)} & {_quoted(second)}")
        total += int(one * other / rows)
    return (" | ".join(chosen), at_most) if chosen else (None, _WEIGHED)


def remove_words(connection: Connection, kind: Kind, sequences: Sequence[int]) -> None:
    """Take rows out of the index."""
    connection.execute(named(kind, "DELETE FROM $words WHERE sequence = ANY (%s)").encode(), (list(sequences),))


def count_common_words(connection: Connection, kind: Kind) -> None:
    """Find the words that many rows have, in a sample."""
    row = connection.execute(
        named(kind, "SELECT greatest(reltuples, 0) FROM pg_class WHERE oid = '$words'::regclass").encode()
    ).fetchone()
    rows = int(row[0]) if row else 0
    connection.execute("DELETE FROM common_words WHERE kind = %s", (kind,))
    if rows <= _FEW:
        return
    # A table that is a few samples long is read whole.
    percent = 100.0 if rows < 2 * _SAMPLED else 100.0 * _SAMPLED / rows
    sample = named(kind, f"SELECT tsv FROM $words TABLESAMPLE SYSTEM ({percent:.3f}) REPEATABLE (1)")
    connection.execute(
        "WITH taken AS (SELECT ceil(%s * %s / 100) AS rows)"
        " INSERT INTO common_words (kind, word, share)"
        " SELECT %s, word, least(1, ndoc / taken.rows) FROM ts_stat(%s), taken WHERE ndoc >= %s",
        (rows, percent, kind, sample, _NOTED * max(1.0, percent * rows / 100 / _SAMPLED)),
    )


def _any(terms: Iterable[str]) -> str:
    return " | ".join(map(_quoted, terms))


def _is_word(term: str) -> bool:
    return bool(term) and len(term.split()) == 1 and len(term.encode()) <= _WORD_BYTES


def _quoted(term: str) -> str:
    """A word in a query; whatever is in it, it is one word."""
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
