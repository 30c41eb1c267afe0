"""Reads what was said from a file or a text, for a summary of it: nothing is stored.

A transcript of Claude Code or Codex and plain JSON lines are read as an import reads them. In any other text a line
`Name: words` begins what somebody says, if several lines do; otherwise each paragraph is a message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from sage_code.errors import UsageError
from sage_code.memory.tiers.importing import kind_of
from sage_code.memory.tiers.plain_messages import PLAIN, PlainMessages
from sage_code.memory.tiers.transcript_messages import TranscriptMessages
from sage_code.memory.tiers.values import Message, NewMessage
from sage_code.text.masking import mask
from sage_code.transcripts.lines import LineReader

# What one summary reads of a file; a longer one is summarised from its end.
MOST_MESSAGES = 20_000
_NOBODY = "00000000-0000-0000-0000-000000000000"
_TURN = re.compile(r"^([^\s:][^:\n]{0,40}):[ \t]+(?=\S)", re.MULTILINE)
# Fewer turns may be a letter that quotes somebody, or a list of settings.
_LEAST_TURNS = 2
_START = datetime(1970, 1, 1, tzinfo=UTC)


def messages_of_file(path: str) -> list[Message]:
    """What was said in a transcript or in JSON lines; UsageError if the file holds neither."""
    kind = kind_of(path)
    if not kind:
        raise UsageError(
            f"{path} holds no conversation", "give a transcript, JSON lines with role and content, or a text"
        )
    parser = PlainMessages(_NOBODY, path) if kind == PLAIN else TranscriptMessages(_NOBODY, path)
    found: list[NewMessage] = []
    for line in LineReader(path):
        try:
            found += parser.messages(line)
        except (ValueError, OverflowError):
            continue  # a damaged line says nothing; the others do
        if len(found) > 2 * MOST_MESSAGES:
            del found[:-MOST_MESSAGES]
    return _stored(found[-MOST_MESSAGES:])


def messages_of_text(text: str) -> list[Message]:
    """What was said in a text: its turns, or its paragraphs."""
    starts = list(_TURN.finditer(text))
    speakers = {one[1] for one in starts}
    if len(starts) >= _LEAST_TURNS and len(speakers) < len(starts) + 1 and text[: starts[0].start()].count("\n\n") == 0:
        ends = [one.start() for one in starts[1:]] + [len(text)]
        turns = [(one[1], text[one.end() : end].strip()) for one, end in zip(starts, ends, strict=True)]
    else:
        turns = [("", part.strip()) for part in re.split(r"\n[ \t]*\n", text)]
    new = [NewMessage("user", said, speaker=name) for name, said in turns if said]
    return _stored(new[-MOST_MESSAGES:])


def _stored(new: Sequence[NewMessage]) -> list[Message]:
    """Messages as a summariser reads them: masked, with their place as an id where they have none."""
    return [
        Message(
            number,
            one.id or str(number),
            one.role,
            mask(one.content)[0],
            one.created_at or _START,
            one.session,
            speaker=one.speaker,
        )
        for number, one in enumerate(new, 1)
    ]
