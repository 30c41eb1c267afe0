"""Conversations with known topic boundaries: labelled dialogues, and real coding sessions spliced together.

`labelled` reads the JSON lines of ElPlaguister/Def-DTS; `spliced` cuts runs of exchanges from different sessions and
joins them, so that every joint is a boundary. A run starts anywhere in its session: a session's opening words would
give the joint away. Times and branches are left out for the same reason.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from session_logs import Exchange, Session, exchanges_of

SETS = {
    "DialSeg711": "dialseg711_test.jsonl",
    "TIAGE train": "tiage_train.jsonl",
    "TIAGE validation": "tiage_validation.jsonl",
    "SuperSeg": "superseg_validation.jsonl",
}
DIALOGUES = 300
_LEAST_EXCHANGES = 3
_RUN = (3, 8)
_RUNS = (3, 5)


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of a conversation."""

    role: str
    text: str
    files: tuple[str, ...] = ()
    time: float | None = None
    web_searches: int = 0
    committed: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages, whether a topic begins with each, and whether nothing was tuned on them."""

    turns: list[Turn]
    begins: list[bool]
    held: bool


def labelled(path: Path, name: str) -> list[Conversation]:
    """The dialogues of a file. Held out: all of TIAGE's validation, every other dialogue of DialSeg711 and SuperSeg."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        turns: list[Turn] = []
        begins: list[bool] = []
        is_boundary = False
        for part in json.loads(line)["dialogue"].split("[NEWLINE]"):
            if part.strip() == "[BOUNDARY]":
                is_boundary = True
            elif part.strip():
                role, _, text = part.partition(":")
                turns.append(Turn(role.strip(), text.strip()))
                begins.append(is_boundary)
                is_boundary = False
        held = name == "TIAGE validation" or (name in ("DialSeg711", "SuperSeg") and number % 2 == 1)
        found.append(Conversation(turns, begins, held))
    return found


def turns_of(exchanges: Iterable[Exchange], *, whole: bool) -> list[Turn]:
    """The two messages of each exchange; of whole sessions also what splicing would falsify."""
    found = []
    for exchange in exchanges:
        found.append(Turn("user", exchange.user, time=exchange.time if whole else None))
        searches, committed = (exchange.web_searches, exchange.committed) if whole else (0, False)
        ended = exchange.ended if whole else None
        found.append(Turn("agent", exchange.agent, exchange.files, ended, searches, committed))
    return found


def is_held(session: Session) -> bool:
    """Whether nothing was tuned on a session: half of them, by their ids."""
    return zlib.crc32(session.id.encode()) % 2 == 1


def spliced(sessions: Sequence[Session], seed: int, *, held: bool, count: int = DIALOGUES) -> list[Conversation]:
    """Conversations of runs of exchanges from different sessions."""
    pool = [found for session in sessions if len(found := exchanges_of(session)) >= _LEAST_EXCHANGES]
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        turns: list[Turn] = []
        begins: list[bool] = []
        for number, place in enumerate(chance.sample(range(len(pool)), min(len(pool), chance.randint(*_RUNS)))):
            length = min(len(pool[place]), chance.randint(*_RUN))
            start = chance.randint(0, len(pool[place]) - length)
            turns += turns_of(pool[place][start : start + length], whole=False)
            begins += [number > 0] + [False] * (2 * length - 1)
        made.append(Conversation(turns, begins, held))
    return made
