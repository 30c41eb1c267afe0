"""What is shown of core memory: the blocks with what plugins change about them, and how much else is remembered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sage_code.memory.tiers.values import Block
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings

_LAYER = "blocks"
# The block that a plugin gives when the others take too long, unless one of them was asked for.
FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class BlockView:
    """The blocks of an agent, and what is known about its memory."""

    blocks: Sequence[Block]
    agent: str = ""
    messages: int = 0
    passages: int = 0
    last_update: datetime | None = None
    metadata: str = ""  # as a system prompt has it


def block_view(read: Callable[[], BlockView], settings: Settings, label: str = "") -> BlockView:
    """What `read` finds; if that takes long, a plugin may give the text of a block."""
    if not anybody_listens():
        return read()
    from sage_code.memory.files.plugged_loading import in_time  # lazy: most users have no plugins

    def instead(text: str) -> BlockView:
        return BlockView([Block(label or FALLBACK, text, read_only=True)])

    view = in_time(_LAYER, label or _LAYER, read, instead, settings.load_timeout_ms)
    return replace(view, blocks=_changed(view.blocks))


def shown_blocks(read: Callable[[], Sequence[Block]], settings: Settings) -> Sequence[Block]:
    """The blocks that `read` finds, for a system prompt."""
    return block_view(lambda: BlockView(read()), settings).blocks if anybody_listens() else read()


def _changed(blocks: Sequence[Block]) -> list[Block]:
    """The blocks as plugins want them: the text of another one of them, or another text."""
    from sage_code.memory.files.plugged_loading import changed_content, changed_path

    texts = {block.label: block.value for block in blocks}

    def text_of(label: str) -> str:
        chosen = changed_path(_LAYER, label, texts.__contains__)
        return changed_content(_LAYER, chosen, texts[chosen], _text)

    return [replace(block, value=text_of(block.label)) for block in blocks]


def _text(content: str) -> str:
    return content
