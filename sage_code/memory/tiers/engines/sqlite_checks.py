"""What is wrong with a database of SQLite: its pages, its references, its full text, its counts."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

from sage_code.memory.tiers.engines.sqlite_words import KINDS

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.sqlite_transaction import SqliteTransaction

# A larger database is checked without comparing each index with its table. All checks of 1,000,000 messages in 0.9 GB
# take 13 s of processor time.
_QUICK_BYTES = 1 << 30
_TOLD = 20
_COUNTS = {
    **{
        query.format(kind=kind): complaint.format(kind=kind)
        for kind in KINDS
        for query, complaint in (
            (
                "SELECT count(*) FROM {kind}s WHERE sequence NOT IN (SELECT id FROM {kind}_words_content)",
                "{kind}s have no words in the full text",
            ),
            (
                "SELECT count(*) FROM {kind}_words_content WHERE id NOT IN (SELECT sequence FROM {kind}s)",
                "rows of the full text belong to no {kind}",
            ),
            (
                "SELECT count(*) FROM {kind}_parts WHERE sequence NOT IN (SELECT sequence FROM {kind}s)",
                "vectors belong to no {kind}",
            ),
        )
    },
    "SELECT count(*) FROM messages WHERE sequence NOT IN (SELECT sequence FROM message_parts) "
    "AND sequence NOT IN (SELECT sequence FROM unembedded)": "messages have no vectors and are not listed to get them",
    "SELECT count(*) FROM agents a "
    "WHERE message_count <> (SELECT count(*) FROM messages r WHERE r.agent_id = a.id)": "agents have a wrong count",
}


def problems(rows: SqliteTransaction, size: int) -> list[str]:
    """One sentence for each thing that is wrong; the transaction may write, since FTS5 checks itself by an INSERT."""
    check = "integrity_check" if size <= _QUICK_BYTES else "quick_check"
    found = [text for (text,) in rows.all(f"PRAGMA {check}({_TOLD})") if text != "ok"]
    found += [
        f"a row of {table} refers to no row of {other}" for table, _, other, _ in rows.all("PRAGMA foreign_key_check")
    ]
    if found:
        return found[:_TOLD]
    for kind in KINDS:
        try:
            rows.run(f"INSERT INTO {kind}_words ({kind}_words) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            found.append(f"the full text of the {kind}s does not fit its words: {error}")
    for query, complaint in _COUNTS.items():
        counted = rows.one(query)
        if counted is not None and counted[0]:
            found.append(f"{counted[0]} {complaint}")
    return found
