"""Blocks of core memory and the history of their edits: each version of a block is one row of the history."""

from __future__ import annotations

from uuid import uuid4

from sage_code.memory.tiers.engines.protocol import Row, Transaction, moment
from sage_code.memory.tiers.values import Block, BlockEdit

_COLUMNS = "label, value, description, char_limit, read_only, version, created_at, updated_at"
_EDIT_COLUMNS = "label, version, value, action, edited_at"


def blocks_of(rows: Transaction, agent_id: str) -> list[Block]:
    """All blocks of an agent, by label."""
    return [
        _block(row) for row in rows.all(f"SELECT {_COLUMNS} FROM blocks WHERE agent_id = ? ORDER BY label", (agent_id,))
    ]


def block_of(rows: Transaction, agent_id: str, label: str) -> Block | None:
    """The block of an agent with this label."""
    found = rows.one(f"SELECT {_COLUMNS} FROM blocks WHERE agent_id = ? AND label = ?", (agent_id, label))
    return None if found is None else _block(found)


def insert_block(rows: Transaction, agent_id: str, block: Block) -> None:
    """Store a block that is new."""
    rows.run(
        f"INSERT INTO blocks (id, agent_id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            str(uuid4()), agent_id, block.label, block.value, block.description, block.char_limit, block.read_only,
            block.version, block.created_at, block.updated_at,
        ),
    )  # fmt: skip


def update_block(rows: Transaction, agent_id: str, block: Block) -> None:
    """Replace everything that may change of a block."""
    rows.run(
        "UPDATE blocks SET value = ?, description = ?, char_limit = ?, read_only = ?, version = ?, updated_at = ?"
        " WHERE agent_id = ? AND label = ?",
        (
            block.value, block.description, block.char_limit, block.read_only, block.version, block.updated_at,
            agent_id, block.label,
        ),
    )  # fmt: skip


def delete_block(rows: Transaction, agent_id: str, label: str) -> None:
    """Delete a block; its history stays."""
    rows.run("DELETE FROM blocks WHERE agent_id = ? AND label = ?", (agent_id, label))


def add_edit(rows: Transaction, agent_id: str, edit: BlockEdit) -> None:
    """Add a version to the history of a block."""
    rows.run(
        f"INSERT INTO block_history (agent_id, {_EDIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)",
        (agent_id, edit.label, edit.version, edit.value, edit.action, edit.edited_at),
    )


def edits_of(rows: Transaction, agent_id: str, label: str, limit: int | None = None) -> list[BlockEdit]:
    """The versions of a block, newest first."""
    sql = f"SELECT {_EDIT_COLUMNS} FROM block_history WHERE agent_id = ? AND label = ? ORDER BY version DESC"
    values: list[object] = [agent_id, label]
    if limit is not None:
        sql, values = f"{sql} LIMIT ?", [*values, limit]
    return [_edit(row) for row in rows.all(sql, values)]


def deletions_of(rows: Transaction, agent_id: str) -> list[BlockEdit]:
    """The last versions of blocks that were deleted, by label."""
    found = rows.all(
        f"SELECT {_EDIT_COLUMNS} FROM block_history h WHERE agent_id = ? AND action = 'delete' AND version ="
        " (SELECT max(version) FROM block_history n WHERE n.agent_id = h.agent_id AND n.label = h.label)"
        " ORDER BY label",
        (agent_id,),
    )
    return [_edit(row) for row in found]


def edit_at(rows: Transaction, agent_id: str, label: str, version: int) -> BlockEdit | None:
    """One version of a block."""
    found = rows.one(
        f"SELECT {_EDIT_COLUMNS} FROM block_history WHERE agent_id = ? AND label = ? AND version = ?",
        (agent_id, label, version),
    )
    return None if found is None else _edit(found)


def delete_edits(rows: Transaction, agent_id: str, label: str) -> None:
    """Delete the history of a block."""
    rows.run("DELETE FROM block_history WHERE agent_id = ? AND label = ?", (agent_id, label))


def _block(row: Row) -> Block:
    label, value, description, limit, read_only, version, created, updated = row
    return Block(label, value, description, limit, bool(read_only), version, moment(created), moment(updated))


def _edit(row: Row) -> BlockEdit:
    label, version, value, action, edited = row
    return BlockEdit(label, version, value, action, moment(edited))
