"""A summariser that asks a model: writes the prompt, keeps the deadline, reads the answer, hides the key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.memory.context.clients.answering import summary_of
from sage_code.memory.context.clients.asking import Answer, Deadline, Failed, Model
from sage_code.memory.context.clients.prompting import written
from sage_code.memory.context.clients.service import without
from sage_code.memory.context.summary import SUMMARY_WORDS, Spoken, StructuredSummary


@dataclass(frozen=True, slots=True)
class ModelSummariser:
    """Summaries by one model; each takes at most `timeout_s` seconds, with all attempts."""

    model: Model
    timeout_s: float
    input_tokens: int

    @property
    def name(self) -> str:
        """See `Summariser`."""
        return self.model.name

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        """See `Summariser`; Failed if the model gives no summary."""
        prepared = written(messages, max_words, previous, self.input_tokens)
        secrets = self.model.secrets
        try:
            self.model.prepare()
            answer = self.model.ask(prepared.prompt, Deadline.after(self.timeout_s))
        except Failed as error:
            failure = Failed(without(error.message, secrets), without(error.hint, secrets))
        except Exception as error:  # a library may raise anything, with anything in it
            failure = Failed(without(f"{type(error).__name__}: {error}", secrets))
        else:
            # A service may repeat what it was sent.
            return summary_of(Answer(without(answer.text, secrets), answer.cut), prepared.ids, max_words, self.name)
        raise failure  # here and not above, so that it carries no exception that knows the key
