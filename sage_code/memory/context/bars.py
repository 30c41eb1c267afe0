"""A built context as bars for a terminal: what was kept of each component, what was cut, and why."""

from __future__ import annotations

from sage_code.memory.context.components import BuiltContext, Kept

_KEPT, _CUT = "█", "░"
_MIN_BAR = 10
_MIN_WIDTH = 40


def bar(built: BuiltContext, width: int = 80) -> list[str]:
    """Lines of at most `width` characters (at least 40): the whole budget, then each component with its reason.

    All bars have one scale. What is drawn lightly was cut, or in the first line is free.
    """
    width = max(width, _MIN_WIDTH)
    names = [_name(part, width) for part in built.parts]
    figures = [f"{part.tokens:,} of {part.wanted_tokens:,}" for part in built.parts]
    total = f"{built.tokens:,} of {built.budget:,}"
    left = max(map(len, (*names, "budget")))
    right = max(map(len, (*figures, total)))
    room = max(width - left - right - 2, _MIN_BAR)
    most = max(built.budget, built.tokens, *(part.wanted_tokens for part in built.parts), 1)
    lines = [f"{'budget':{left}} {_drawn(built.tokens, built.budget, most, room)} {total:>{right}}"]
    for part, name, figure in zip(built.parts, names, figures, strict=True):
        lines.append(f"{name:{left}} {_drawn(part.tokens, part.wanted_tokens, most, room)} {figure:>{right}}")
        if part.why:
            what = f"{part.items_kept:,} of {part.items:,} items: {part.why}"
            lines.append(f"{'':{left}} {what}")
    return [line[:width].rstrip() for line in lines]


def _name(part: Kept, width: int) -> str:
    """The name and the priority, in at most a third of a line."""
    priority = part.priority.name.lower()
    return f"{part.name[: max(width // 3 - len(priority) - 1, 4)]} {priority}"


def _drawn(tokens: int, wanted: int, most: int, room: int) -> str:
    """A bar: as much as was kept, then as much as was cut; whatever is not nothing has a cell."""
    kept = max(round(tokens / most * room), 1) if tokens else 0
    whole = min(max(round(wanted / most * room), kept + (wanted > tokens)), room)
    kept = min(kept, whole - 1) if wanted > tokens and whole > 1 else min(kept, whole)
    return f"{_KEPT * kept}{_CUT * (whole - kept)}".ljust(room)
