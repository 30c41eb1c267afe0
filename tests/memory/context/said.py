"""Messages for the tests of contexts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sage_code.memory.tiers.values import Message

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def said(*lines: tuple[str, str] | tuple[str, str, str], tokens: int = 0) -> list[Message]:
    """Messages of (speaker, text) or (speaker, text, role), a minute apart; their role is `user` if none is given."""
    return [
        Message(
            number, f"m{number}", line[2] if len(line) == 3 else "user", line[1], START + timedelta(minutes=number),
            "s", speaker=line[0], tokens=tokens,
        )
        for number, line in enumerate(lines)
    ]  # fmt: skip
