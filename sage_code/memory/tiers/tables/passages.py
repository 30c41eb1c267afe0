"""Passages of the archive: stored, listed, filtered by tags, deleted."""

from __future__ import annotations

from collections.abc import Sequence

from sage_code.memory.tiers.engines.protocol import Engine, Json, Row, Transaction, marks, moment, nested, texts
from sage_code.memory.tiers.values import Passage

_COLUMNS = "id, content, tags, created_at, project, code_refs"
# The most values that go into one statement; SQLite's own limit is 32,766.
_AT_ONCE = 10_000


def insert_passage(rows: Transaction, agent_id: str, passage: Passage) -> int:
    """Store a passage; returns its sequence."""
    found = rows.one(
        f"INSERT INTO passages (agent_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING sequence",
        (
            agent_id, passage.id, passage.content, passage.tags, passage.created_at, passage.project,
            Json([dict(ref) for ref in passage.code_refs]),
        ),
    )  # fmt: skip
    assert found is not None
    return int(found[0])


def passages_at(rows: Transaction, agent_id: str, sequences: Sequence[int]) -> dict[int, Passage]:
    """The agent's passages with these sequences."""
    found: dict[int, Passage] = {}
    for start in range(0, len(sequences), _AT_ONCE):
        some = sequences[start : start + _AT_ONCE]
        sql = f"SELECT sequence, {_COLUMNS} FROM passages WHERE agent_id = ? AND sequence IN ({marks(some)})"
        found |= {row[0]: _passage(row[1:]) for row in rows.all(sql, (agent_id, *some))}
    return found


def passage_with_id(rows: Transaction, agent_id: str, passage_id: str) -> tuple[int, Passage] | None:
    """The agent's passage with this id, and its sequence."""
    found = rows.one(f"SELECT sequence, {_COLUMNS} FROM passages WHERE agent_id = ? AND id = ?", (agent_id, passage_id))
    return None if found is None else (found[0], _passage(found[1:]))


def passages_of(
    rows: Transaction, agent_id: str, *, tags: Sequence[str] = (), limit: int | None = None
) -> list[tuple[int, Passage]]:
    """The agent's passages that have all of these tags, newest first."""
    sql, values = _tagged(f"sequence, {_COLUMNS}", agent_id, tags)
    sql += " ORDER BY created_at DESC, sequence DESC"
    wanted, found = set(tags), []
    for row in rows.all(sql if tags or limit is None else f"{sql} LIMIT {int(limit)}", values):
        passage = _passage(row[1:])
        if wanted <= set(passage.tags):
            found.append((row[0], passage))
            if limit is not None and len(found) >= limit:
                break
    return found


def sequences_with(rows: Transaction, agent_id: str, tags: Sequence[str]) -> list[int]:
    """The sequences of the agent's passages that have all of these tags, newest first."""
    sql, values = _tagged("sequence, tags", agent_id, tags)
    found = rows.all(f"{sql} ORDER BY created_at DESC, sequence DESC", values)
    return [row[0] for row in found if set(tags) <= set(texts(row[1]))]


def tags_of_all(rows: Transaction, agent_id: str, tags: Sequence[str] = ()) -> list[tuple[int, tuple[str, ...]]]:
    """The sequences and tags of the agent's passages that have all of these tags, newest first."""
    sql, values = _tagged("sequence, tags", agent_id, tags)
    found = ((row[0], texts(row[1])) for row in rows.all(f"{sql} ORDER BY created_at DESC, sequence DESC", values))
    return [(sequence, own) for sequence, own in found if set(tags) <= set(own)]


def update_passage(rows: Transaction, agent_id: str, sequence: int, content: str, tags: tuple[str, ...]) -> None:
    """Replace the text and the tags of a passage. Its words and vectors are replaced by the caller."""
    rows.run(
        "UPDATE passages SET content = ?, tags = ? WHERE agent_id = ? AND sequence = ?",
        (content, tags, agent_id, sequence),
    )


def count_passages(rows: Transaction, agent_id: str) -> int:
    """How many passages an agent has."""
    found = rows.one("SELECT count(*) FROM passages WHERE agent_id = ?", (agent_id,))
    return int(found[0]) if found is not None else 0


def every_passage(rows: Transaction, after: int, limit: int) -> list[tuple[int, int, str]]:
    """Passages of all agents behind a sequence: sequence, number of the agent, text."""
    found = rows.all(
        "SELECT r.sequence, a.number, r.content FROM passages r JOIN agents a ON a.id = r.agent_id"
        " WHERE r.sequence > ? ORDER BY r.sequence LIMIT ?",
        (after, limit),
    )
    return [(sequence, number, content) for sequence, number, content in found]


def without_words(engine: Engine, rows: Transaction, agent_id: str, ids: Sequence[str]) -> list[tuple[int, str]]:
    """Those of the agent's passages with these ids whose words are not indexed: sequence and text."""
    sql = f"SELECT sequence, content FROM passages WHERE agent_id = ? AND id IN ({marks(ids)})"
    found: dict[int, str] = dict(rows.all(sql, (agent_id, *ids)))
    known = engine.words_of(rows, "passage", list(found))
    return [(sequence, content) for sequence, content in found.items() if sequence not in known]


def delete_passage(rows: Transaction, agent_id: str, sequence: int) -> None:
    """Delete a passage. Its words and vectors are removed before."""
    rows.run("DELETE FROM passages WHERE agent_id = ? AND sequence = ?", (agent_id, sequence))


def _tagged(columns: str, agent_id: str, tags: Sequence[str]) -> tuple[str, list[object]]:
    """A query for rows that may have the tags: a tag is part of the column's text, however an engine stores lists."""
    like = "".join(" AND CAST(tags AS TEXT) LIKE ? ESCAPE '!'" for _ in tags)
    patterns = ["%" + tag.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%" for tag in tags]
    return f"SELECT {columns} FROM passages WHERE agent_id = ?{like}", [agent_id, *patterns]


def _passage(row: Row) -> Passage:
    id_, content, tags, created, project, refs = row
    return Passage(str(id_), content, texts(tags), moment(created), project, tuple(nested(refs)))
