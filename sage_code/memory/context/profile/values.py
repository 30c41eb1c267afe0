"""A fact about a person, as it is stored and shown."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

_ID_CHARS = 16


@dataclass(frozen=True, slots=True)
class Fact:
    """Something lasting that a person said about themselves."""

    id: str  # made from the message and the text, so that a message read twice gives the same facts
    text: str  # the clause in the person's words: "I have two dogs"
    message_id: str
    said_at: datetime
    score: float  # the probability that it is lasting
    subject: str = ""  # what it is about: "home", "job", "favorite color", or its telling words
    retired_by: str = ""  # the message that took it back


def fact_id(message_id: str, text: str) -> str:
    """The id of a fact."""
    return hashlib.sha256(f"{message_id}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARS]
