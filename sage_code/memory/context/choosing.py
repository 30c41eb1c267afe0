"""Which summariser writes, by the settings, and what happens if it does not: the extractive one writes, and says so.

After a few failures in a row a service is left alone for a while: a scheduler with a thousand channels would otherwise
wait a thousand timeouts. Then one summary tries it again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sage_code.errors import SageError
from sage_code.memory.context.clients.answering import problem_with
from sage_code.memory.context.clients.asking import Model
from sage_code.memory.context.clients.command import Command
from sage_code.memory.context.clients.model_summariser import ModelSummariser
from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.context.summary import SUMMARY_WORDS, Spoken, StructuredSummary, Summariser
from sage_code.settings.table import Settings
from sage_code.text.escaping import one_line
from sage_code.text.masking import mask

# Three timeouts of a minute are a pity; more are a fault. Five minutes outlast the restart of a service.
FAILURES_BEFORE_PAUSE = 3
PAUSE_S = 300.0
MOST_PROBLEM_CHARS = 300


class Breaker:
    """Counts the failures in a row of one service, and says when to leave it alone. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._failures, self._until, self._problem = 0, 0.0, ""

    def refusal(self) -> str:
        """Why the service is not to be asked now, or nothing. After a pause one caller may try."""
        with self._lock:
            left = self._until - self._clock()
            if left > 0:
                return f"not asked for another {left:.0f} s after {self._failures} failures; the last: {self._problem}"
            if self._failures >= FAILURES_BEFORE_PAUSE:
                self._until = self._clock() + PAUSE_S  # for the others, while this one tries
            return ""

    def failed(self, problem: str) -> None:
        """Count a failure."""
        with self._lock:
            self._failures, self._problem = self._failures + 1, problem
            if self._failures >= FAILURES_BEFORE_PAUSE:
                self._until = self._clock() + PAUSE_S

    def succeeded(self) -> None:
        """Forget the failures."""
        with self._lock:
            self._failures, self._until, self._problem = 0, 0.0, ""


@dataclass(frozen=True, slots=True)
class FallingBack:
    """A summariser that never fails: if `first` does, `ExtractiveSummariser` writes, and `problem` says why."""

    first: Summariser
    breaker: Breaker = field(default_factory=Breaker, repr=False)

    @property
    def name(self) -> str:
        """The name of the one that is asked first."""
        return self.first.name

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        """See `Summariser`."""
        problem = self.breaker.refusal()
        if not problem:
            try:
                summary = self.first.summarise(messages, max_words, previous)
                problem = problem_with(summary, max_words)
            except Exception as error:  # a summariser may be anybody's code, or a server that is down
                problem = _said(error)
            if not problem:
                self.breaker.succeeded()
                return summary
            self.breaker.failed(problem)
        told = one_line(mask(f"{self.name} failed: {problem}")[0])[:MOST_PROBLEM_CHARS]
        return ExtractiveSummariser().summarise(messages, max_words, previous).because(told)


def with_fallback(summariser: Summariser | None, breaker: Breaker | None = None) -> Summariser:
    """A summariser that never fails. The extractive one, or none, needs nothing behind it."""
    if summariser is None:
        return ExtractiveSummariser()
    if isinstance(summariser, FallingBack | ExtractiveSummariser):
        return summariser
    return FallingBack(summariser, breaker or Breaker())


def summariser_of(settings: Settings) -> Summariser:
    """The summariser that the user has chosen, with the extractive one behind it. What is missing shows when it writes.

    Every summariser of one process that asks the same service shares one breaker.
    """
    model = _model(settings)
    if model is None:
        return ExtractiveSummariser()
    asking = ModelSummariser(model, settings.summariser_timeout_s, settings.summariser_input_tokens)
    with _LOCK:
        breaker = _BREAKERS.setdefault(model, Breaker())
    return with_fallback(asking, breaker)


# By the whole model, key included: what the user has corrected is tried at once.
_BREAKERS: dict[Model, Breaker] = {}
_LOCK = threading.Lock()


def _model(settings: Settings) -> Model | None:
    """The model that the settings name; None for the extractive summariser, which needs none."""
    name, url, most = settings.summariser_model, settings.summariser_url, settings.summariser_max_tokens
    match settings.summariser:
        case "anthropic":
            # lazy: HTTP and TLS, for those who ask a service
            from sage_code.memory.context.clients.anthropic_messages import AnthropicMessages

            return AnthropicMessages(name, settings.anthropic_api_key, url, most)
        case "openai-compatible":
            from sage_code.memory.context.clients.openai_compatible import OpenAICompatible

            return OpenAICompatible(name, url, settings.openai_api_key, most)
        case "command":
            return Command(settings.summariser_command)
    return None


def _said(error: Exception) -> str:
    """An error in one sentence, with what to do about it."""
    if isinstance(error, SageError):
        return f"{error.message}; {error.hint}" if error.hint else error.message
    return f"{type(error).__name__}: {error}"
