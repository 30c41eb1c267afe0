"""What every model has in common: a prompt goes in, an answer comes out before a deadline, or `Failed` says why not.

A failure that may pass (a busy service, a connection that broke before the first word) is tried again with growing
pauses, or after the pause that the service asks for, as long as the deadline allows.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from sage_code.errors import SummariserError

# An answer that is longer than any that was asked for: 8,000 tokens, the most of the setting, have some 32,000.
MOST_ANSWER_CHARS = 100_000
# The same on its way: a service wraps each token into an event of 200 to 400 bytes.
MOST_ANSWER_BYTES = 4_000_000

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given: what to do, and the material to do it with."""

    instructions: str
    material: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model wrote, and whether it ended because it reached its limit of tokens."""

    text: str
    cut: bool = False


class Failed(SummariserError):  # noqa: N818 - says what happened
    """A model gave no answer. `again`: a further attempt may succeed, after `wait_s` if the service named a time."""

    def __init__(self, message: str, hint: str = "", *, again: bool = False, wait_s: float | None = None) -> None:
        super().__init__(message, hint)
        self.again, self.wait_s = again, wait_s


@dataclass(frozen=True, slots=True)
class Deadline:
    """The end of the time that one summary may take, with everything that belongs to it."""

    total_s: float
    at: float  # by the monotonic clock

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """A deadline so many seconds from now."""
        return cls(seconds, time.monotonic() + seconds)

    def left(self) -> float:
        """The seconds until then; Failed if there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise self.missed()
        return left

    def missed(self) -> Failed:
        """What to raise when the time is over."""
        return Failed(f"no whole answer within {self.total_s:g} s", "raise the setting summariser_timeout_s")


class Model(Protocol):
    """Something that answers prompts."""

    @property
    def name(self) -> str:
        """The value of the setting `summariser` that chooses it."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be seen in any text that it gives or that is said about it."""

    def prepare(self) -> None:
        """Load what takes long once, before the time of an answer starts; Failed if it is missing."""

    def ask(self, prompt: Prompt, deadline: Deadline) -> Answer:
        """The answer to a prompt; Failed if there is none."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often and after which pauses a service is asked again."""

    attempts: int = 4
    # 0.5, 1 and 2 s, each less up to a half by chance, so that many clients do not come back at the same moment.
    first_wait_s: float = 0.5
    most_wait_s: float = 8.0
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def wait_s(self, number: int) -> float:
        """The pause after a number of attempts."""
        doubled: float = self.first_wait_s * 2 ** (number - 1)
        return min(doubled, self.most_wait_s) * (1 - self.chance() / 2)


PACE = Pace()


def retried(attempt: Callable[[], _Result], deadline: Deadline, pace: Pace) -> _Result:
    """What an attempt gives, repeated while its failures may pass and the deadline allows it."""
    number = 0
    while True:
        number += 1
        try:
            return attempt()
        except Failed as error:
            failure = error
        # Outside of the handler: what is raised here must not carry the exceptions of libraries along.
        if not failure.again or number >= pace.attempts:
            raise _after(failure, number)
        wait = pace.wait_s(number) if failure.wait_s is None else failure.wait_s
        if wait >= deadline.at - time.monotonic():
            asked = f"it asks to wait {wait:.0f} s" if failure.wait_s is not None else "there is no time to ask again"
            raise _after(Failed(f"{failure.message}; {asked}", "raise the setting summariser_timeout_s"), number)
        pace.sleep(wait)


def _after(failure: Failed, attempts: int) -> Failed:
    return Failed(f"{failure.message} ({attempts} attempts)", failure.hint) if attempts > 1 else failure
