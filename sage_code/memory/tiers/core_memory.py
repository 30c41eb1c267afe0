"""Core memory: texts that are always in an agent's context, edited by the agent and by the person.

Every edit is one transaction under the agent's lock, makes the next version of its block and is kept in the history, so
that two writers never lose each other's text and every version can be had back. A writer that has read a block gives
its version as `expected_version`; if somebody was faster, it gets a `Conflict` and nothing is changed. Secrets are
masked in the whole value, so that one that arrives in two pieces is masked too.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sage_code.errors import Conflict, UsageError
from sage_code.memory.tiers.block_view import BlockView, shown_blocks
from sage_code.memory.tiers.block_xml import compiled
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import agents, blocks, passages
from sage_code.memory.tiers.values import HUMAN, PERSONA, Agent, Block, BlockEdit, now
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings
from sage_code.text.masking import mask

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction

DEFAULT_DESCRIPTIONS = {
    PERSONA: "Stores details about your current persona, guiding how you behave and respond.",
    HUMAN: "Stores key details about the person you are conversing with.",
}
# A label is the name of an XML element, and short enough to be typed.
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,99}")
# A description is read in every context; a paragraph is enough.
_MAX_DESCRIPTION = 2_000
_MAX_LIMIT = 1_000_000
# How much of a text an error quotes.
_QUOTED_CHARS = 120
# Of more places than this, an error names the first ones.
_NAMED_LINES = 10


@dataclass(frozen=True, slots=True)
class Edited:
    """A block after an edit, and the kinds of secrets that were masked in it."""

    block: Block
    masked: tuple[str, ...] = ()


class CoreMemory:
    """The blocks of one agent; no method reads or changes those of another one.

    The methods that edit take `by_person=True` from a person, who may also change a read-only block.
    """

    def __init__(self, engine: Engine, agent: Agent, settings: Settings, *, only_reads: bool = False) -> None:
        """Open the blocks; those that every agent has are made, unless the caller `only_reads`."""
        self.engine, self.agent, self.settings = engine, agent, settings
        if not only_reads:
            self._make_defaults()

    def blocks(self) -> list[Block]:
        """All blocks, by label."""
        with self.engine.reading() as rows:
            return blocks.blocks_of(rows, self.agent.id)

    def view(self, label: str = "") -> BlockView:
        """The blocks to be shown, and how much else is remembered; UsageError if there is no block `label`."""
        with self.engine.reading() as rows:
            if label:
                self._known(rows, label)
            found = blocks.blocks_of(rows, self.agent.id)
            agent = agents.agent_with_id(rows, self.agent.id) or self.agent
            archived = passages.count_passages(rows, self.agent.id)
        return BlockView(found, agent.name, agent.message_count, archived, agent.last_memory_update)

    def deleted(self) -> list[BlockEdit]:
        """The deletions of blocks that are not there now, by label: `undo` brings each back."""
        with self.engine.reading() as rows:
            return blocks.deletions_of(rows, self.agent.id)

    def block(self, label: str) -> Block:
        """The block with this label; UsageError that names the others if there is none."""
        with self.engine.reading() as rows:
            return self._known(rows, label)

    def replace(
        self, label: str, old: str, new: str, *, expected_version: int | None = None, by_person: bool = False
    ) -> Edited:
        """Replace the one occurrence of `old`; if it occurs never or several times, nothing is changed."""
        if not old:
            raise UsageError("there is no text to replace", "use memory_append or memory_insert to add text")
        old, new = storable(old), storable(new)

        def edit(value: str) -> str:
            return value.replace(old, new, 1) if _occurs_once(label, value, old) else value

        return self._edit(label, "replace", edit, expected_version, by_person)

    def append(
        self, label: str, content: str, *, expected_version: int | None = None, by_person: bool = False
    ) -> Edited:
        """Add text on a new line at the end."""
        return self._edit(label, "append", lambda value: _joined(value, content), expected_version, by_person)

    def insert(
        self, label: str, content: str, line: int = -1, *, expected_version: int | None = None, by_person: bool = False
    ) -> Edited:
        """Add text after line `line`: 0 puts it before the first line, -1 behind the last one."""

        def edit(value: str) -> str:
            lines = value.split("\n") if value else []
            if line == -1:
                return _joined(value, content)
            if not 0 <= line <= len(lines):
                raise UsageError(
                    f"block {label} has {len(lines)} lines, and no line {line}",
                    f"give a line from 0 (before the first) to {len(lines)}, or -1 for the end",
                )
            return "\n".join([*lines[:line], content, *lines[line:]])

        return self._edit(label, "insert", edit, expected_version, by_person)

    def set(self, label: str, value: str, *, expected_version: int | None = None, by_person: bool = False) -> Edited:
        """Replace the whole value."""
        return self._edit(label, "set", lambda _: value, expected_version, by_person)

    def create(
        self,
        label: str,
        value: str = "",
        *,
        description: str = "",
        char_limit: int | None = None,
        read_only: bool = False,
        expected_version: int | None = None,
    ) -> Edited:
        """Add a block. After a deletion its versions go on where they ended; `expected_version` is that of the end."""
        _checked_label(label)
        limit = _checked_limit(self.settings.block_chars if char_limit is None else char_limit)
        when = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            if blocks.block_of(rows, self.agent.id, label) is not None:
                raise UsageError(f"there is a block {label} already", "edit it, or choose another label")
            last = blocks.edits_of(rows, self.agent.id, label, 1)
            version = last[0].version if last else 0
            _expect(label, version, expected_version)
            masked, kinds = mask(storable(value))
            about = _checked_description(description or DEFAULT_DESCRIPTIONS.get(label, ""))
            block = Block(label, masked, about, limit, read_only, version + 1, when, when)
            _check_size(block)
            blocks.insert_block(rows, self.agent.id, block)
            self._note(rows, block, "create", when)
        if masked:  # an empty block is no memory yet
            self._publish(block)
        return Edited(block, kinds)

    def configure(
        self,
        label: str,
        *,
        description: str | None = None,
        char_limit: int | None = None,
        read_only: bool | None = None,
        expected_version: int | None = None,
    ) -> Block:
        """Change what a person decides about a block; its value stays."""
        when = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            old = self._known(rows, label)
            _expect(label, old.version, expected_version)
            block = replace(
                old,
                description=old.description if description is None else _checked_description(description),
                char_limit=old.char_limit if char_limit is None else _checked_limit(char_limit),
                read_only=old.read_only if read_only is None else read_only,
                version=old.version + 1,
                updated_at=when,
            )
            _check_size(block)
            blocks.update_block(rows, self.agent.id, block)
            self._note(rows, block, "configure", when)
        self._publish(block)
        return block

    def delete(
        self, label: str, *, forget: bool = False, expected_version: int | None = None, by_person: bool = False
    ) -> None:
        """Take a block away. Its history stays, so that `undo` brings it back; with `forget` that is deleted too."""
        if label in DEFAULT_DESCRIPTIONS and not forget:
            raise UsageError(f"every agent has a block {label}", "set its value to nothing instead")
        when = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            # A block that was deleted before may still have a history to forget.
            block = blocks.block_of(rows, self.agent.id, label)
            if block is None and not (forget and blocks.edits_of(rows, self.agent.id, label, 1)):
                block = self._known(rows, label)
            if block is not None:
                _expect(label, block.version, expected_version)
                _check_writable(block, by_person)
                blocks.delete_block(rows, self.agent.id, label)
                self._note(rows, replace(block, value="", version=block.version + 1), "delete", when)
            if forget:
                blocks.delete_edits(rows, self.agent.id, label)
        if forget:
            self.engine.erase()
            self._make_defaults()

    def history(self, label: str, limit: int | None = None) -> list[BlockEdit]:
        """The versions of a block, newest first, also of one that was deleted."""
        with self.engine.reading() as rows:
            found = blocks.edits_of(rows, self.agent.id, label, limit)
            if not found:
                self._known(rows, label)
        return found

    def undo(
        self,
        label: str,
        to_version: int | None = None,
        *,
        expected_version: int | None = None,
        by_person: bool = False,
    ) -> Edited:
        """Give a block the value of an earlier version, by default of the one before the last edit that is not undone.

        That is a new version itself. A block that was deleted comes back.
        """
        when = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            edits = blocks.edits_of(rows, self.agent.id, label)
            if not edits:
                self._known(rows, label)
            _expect(label, edits[0].version, expected_version)
            wanted = _version_before(edits, label) if to_version is None else to_version
            earlier = next((edit for edit in edits if edit.version == wanted and edit.action != "delete"), None)
            if earlier is None:
                raise UsageError(
                    f"block {label} has no version {wanted} to go back to", "its history shows which ones it has"
                )
            block = blocks.block_of(rows, self.agent.id, label)
            action = f"undo to {wanted}"
            if block is None:
                limit = max(self.settings.block_chars, len(earlier.value))
                about = DEFAULT_DESCRIPTIONS.get(label, "")
                block = Block(label, earlier.value, about, limit, False, edits[0].version + 1, when, when)
                blocks.insert_block(rows, self.agent.id, block)
            else:
                _check_writable(block, by_person)
                block = replace(block, value=earlier.value, version=block.version + 1, updated_at=when)
                _check_size(block)
                blocks.update_block(rows, self.agent.id, block)
            self._note(rows, block, action, when)
        self._publish(block)
        return Edited(block)

    def compile(self) -> str:
        """The blocks as they stand in the system prompt; see `block_xml`."""
        return compiled(shown_blocks(self.blocks, self.settings))

    def needs_rebuild(self, previous_compiled: str) -> bool:
        """Whether a system prompt with this compiled text is out of date. Metadata (times, counts) does not matter."""
        return self.compile() not in previous_compiled

    def compile_metadata(self, when: datetime | None = None) -> str:
        """The time, the last change of the blocks, and how much recall and archival memory hold."""
        with self.engine.reading() as rows:
            agent = agents.agent_with_id(rows, self.agent.id) or self.agent
            archived = passages.count_passages(rows, self.agent.id)
        changed = "never" if agent.last_memory_update is None else _zoned(agent.last_memory_update)
        recalled = f"{agent.message_count} previous messages between you and the user are stored in recall memory"
        lines = [
            f"The current system date is: {_zoned(when or now())}",
            f"Memory blocks were last modified: {changed}",
            f"{recalled} (use conversation_search to access)",
            f"{archived} total memories you created are stored in archival memory (use archival_search to access)",
        ]
        return "\n".join(["<memory_metadata>", *(f"- {line}" for line in lines), "</memory_metadata>"])

    def _edit(
        self, label: str, action: str, edit: Callable[[str], str], expected_version: int | None, by_person: bool
    ) -> Edited:
        """Make the next version of a block from its value; nothing is changed if anything speaks against it."""
        when = now()
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            old = self._known(rows, label)
            _expect(label, old.version, expected_version)
            _check_writable(old, by_person)
            value, kinds = mask(storable(edit(old.value)))
            block = replace(old, value=value, version=old.version + 1, updated_at=when)
            _check_size(block, old)
            blocks.update_block(rows, self.agent.id, block)
            self._note(rows, block, action, when)
        self._publish(block)
        return Edited(block, kinds)

    def _note(self, rows: Transaction, block: Block, action: str, when: datetime) -> None:
        """Add a version to the history, and say when the memory was changed."""
        blocks.add_edit(rows, self.agent.id, BlockEdit(block.label, block.version, block.value, action, when))
        agents.memory_changed(rows, self.agent.id, when)

    def _publish(self, block: Block) -> None:
        if anybody_listens():
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            publishing.memory_saved("block", block.label, "agent", None)

    def _known(self, rows: Transaction, label: str) -> Block:
        """The block with this label, or a UsageError that names those that there are."""
        block = blocks.block_of(rows, self.agent.id, storable(label))
        if block is None:
            labels = ", ".join(one.label for one in blocks.blocks_of(rows, self.agent.id))
            raise UsageError(f"there is no block {_shown(label)}", f"there are: {labels}")
        return block

    def _make_defaults(self) -> None:
        """Make the blocks that every agent has, unless they are there."""
        with self.engine.reading() as rows:
            missing = [label for label in DEFAULT_DESCRIPTIONS if blocks.block_of(rows, self.agent.id, label) is None]
        for label in missing:
            try:
                self.create(label)
            except UsageError:  # another process was faster
                self.block(label)


def _occurs_once(label: str, value: str, old: str) -> bool:
    """True if `old` occurs once; otherwise a UsageError that helps to find what was meant."""
    places = []
    place = value.find(old)
    while place >= 0:
        places.append(place)
        place = value.find(old, place + 1)
    if len(places) == 1:
        return True
    if not places:
        near = _nearest_line(value, old)
        hint = f"the nearest line is line {near}; give the text exactly" if near else "the block is empty"
        raise UsageError(f"block {label} does not contain {_shown(old)}", hint)
    lines = [str(value.count("\n", 0, place) + 1) for place in places[:_NAMED_LINES]]
    more = ", …" if len(places) > _NAMED_LINES else ""
    raise UsageError(
        f"{_shown(old)} occurs {len(places)} times in block {label}, in lines {', '.join(lines)}{more}",
        "give more of the text around the one that you mean",
    )


def _nearest_line(value: str, old: str) -> str:
    """The number and the text of the line that is most like the first line of `old`."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), old)[:_QUOTED_CHARS]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    best, score = "", -1.0
    for number, line in enumerate(value.split("\n"), 1):
        matcher.set_seq1(line.strip()[:_QUOTED_CHARS])
        if line.strip() and matcher.real_quick_ratio() > score and (ratio := matcher.ratio()) > score:
            best, score = f"{number}: {_shown(line.strip())}", ratio
    return best


def _version_before(edits: list[BlockEdit], label: str) -> int:
    """The version before the last edit that is not undone; an undo leads back to where its target came from."""
    version = edits[0].version
    by_version = {edit.version: edit for edit in edits}
    while (edit := by_version.get(version)) is not None and edit.action.startswith("undo to "):
        version = int(edit.action.removeprefix("undo to "))
    version -= 1
    if version < 1:
        raise UsageError(f"block {label} has no earlier version", "its history shows which ones it has")
    return version


def _expect(label: str, version: int, expected: int | None) -> None:
    if expected is not None and expected != version:
        raise Conflict(
            f"block {label} is at version {version}, not {expected}: somebody has changed it; nothing was changed",
            "read it again and repeat the edit with its new version",
        )


def _check_writable(block: Block, by_person: bool) -> None:
    if block.read_only and not by_person:
        raise UsageError(f"block {block.label} is read-only", "only the person may change it")


def _check_size(block: Block, old: Block | None = None) -> None:
    """UsageError if a value is beyond its limit."""
    if len(block.value) > block.char_limit:
        present = f" (it has {len(old.value):,} now)" if old is not None else ""
        raise UsageError(
            f"block {block.label} would have {len(block.value):,} characters{present}, and its limit is"
            f" {block.char_limit:,}; nothing was changed",
            "shorten what it says, or store the details with archival_insert",
        )


def _checked_label(label: str) -> None:
    if not _LABEL.fullmatch(label):
        raise UsageError(
            f"{_shown(label)} cannot be a label",
            "a letter (A-Z, a-z), then letters, digits, - and _; at most 100 characters",
        )


def _checked_limit(limit: int) -> int:
    if not 1 <= limit <= _MAX_LIMIT:
        raise UsageError(f"a block cannot have a limit of {limit:,} characters", f"from 1 to {_MAX_LIMIT:,}")
    return limit


def _checked_description(text: str) -> str:
    if len(text) > _MAX_DESCRIPTION:
        raise UsageError(f"a description has at most {_MAX_DESCRIPTION:,} characters", "shorten it")
    return mask(storable(text))[0]


def _joined(value: str, content: str) -> str:
    return f"{value}\n{content}" if value and not value.endswith("\n") else value + content


def _shown(text: str) -> str:
    return repr(text if len(text) <= _QUOTED_CHARS else text[: _QUOTED_CHARS - 1] + "…")


def _zoned(when: datetime) -> str:
    return when.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
