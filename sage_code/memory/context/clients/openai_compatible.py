"""Asks a service that speaks OpenAI's chat completions: Ollama, vLLM, llama.cpp, OpenAI and many others.

The base address is that of the setting `summariser_url`; without one it is an Ollama on this machine, so that nothing
leaves it by default. The key is optional. The answer is streamed; a service that answers with one JSON document
instead is understood too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sage_code.memory.context.clients.asking import PACE, Answer, Deadline, Failed, Pace, Prompt, retried
from sage_code.memory.context.clients.event_stream import Event, events
from sage_code.memory.context.clients.exchange import Address, Reply, address_of, posted
from sage_code.memory.context.clients.service import Service, Written

_LOCAL_OLLAMA = "http://127.0.0.1:11434/v1"
_PATH = "/chat/completions"
# OpenAI's newer models refuse `max_tokens` and a temperature; others know nothing else.
_OPENAI = "api.openai.com"
_END = "[DONE]"


@dataclass(frozen=True, slots=True)
class OpenAICompatible:
    """One model of one service."""

    model: str
    url: str = ""
    key: str = field(default="", repr=False)
    max_tokens: int = 1_500
    pace: Pace = field(default=PACE, repr=False)
    name: str = "openai-compatible"

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Model`."""
        return self._service().secrets

    def prepare(self) -> None:
        """See `Model`: everything needed is loaded already."""

    def ask(self, prompt: Prompt, deadline: Deadline) -> Answer:
        """See `Model`."""
        if not self.model:
            raise Failed("no model is chosen", "set summariser_model, for example to llama3.2 for a local Ollama")
        address = address_of(self.url or _LOCAL_OLLAMA, _PATH, has_key=bool(self.key))
        body = json.dumps(self._request(prompt, address), ensure_ascii=False).encode("utf-8", "replace")
        return retried(lambda: self._attempt(address, body, deadline), deadline, self.pace)

    def _service(self) -> Service:
        return Service("the service at summariser_url" if self.url else "Ollama", "openai_api_key", self.key)

    def _request(self, prompt: Prompt, address: Address) -> dict[str, Any]:
        said = [{"role": "system", "content": prompt.instructions}, {"role": "user", "content": prompt.material}]
        request: dict[str, Any] = {"model": self.model, "messages": said, "stream": True}
        if address.host == _OPENAI:
            return {**request, "max_completion_tokens": self.max_tokens}
        return {**request, "max_tokens": self.max_tokens, "temperature": 0}

    def _attempt(self, address: Address, body: bytes, deadline: Deadline) -> Answer:
        """One request."""
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream, application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        service = self._service()
        with posted(address, headers, body, deadline) as reply:
            if reply.status != 200:
                raise service.failure(reply)
            if reply.content_type == "text/event-stream":
                return _streamed(service, reply)
            if reply.content_type == "application/json":
                return _whole(service, reply)
            raise service.wrong_type(reply)


class _Completion(Written):
    """An answer, by the documents of chat completions."""

    reason = ""

    def take(self, value: object, part: str) -> None:
        """Add what one JSON document brings; `part` is where its choice has the text."""
        if not isinstance(value, Mapping):
            raise self._service.no_json()
        if error := value.get("error"):
            raise self._service.error_event(error)
        choices = value.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):  # the last document may have nothing but the use of tokens
            return
        said = choice.get(part)
        self.add(said.get("content") if isinstance(said, Mapping) else None)
        if isinstance(reason := choice.get("finish_reason"), str):
            self.reason = reason

    def answer(self) -> Answer:
        """The whole answer; Failed if the service held it back."""
        if self.reason == "content_filter":
            raise Failed(f"{self._service.title} held its answer back (content_filter)")
        return Answer(self.text, cut=self.reason == "length")


def _streamed(service: Service, reply: Reply) -> Answer:
    """The answer from a stream. It is whole if it names a reason to end, or has the last event."""
    written = _Completion(service)
    is_whole = False
    try:
        for event in events(reply.chunks):
            if event.data == _END:
                is_whole = True
                break
            written.take(_parsed(service, event), "delta")
        if not is_whole and not written.reason:
            raise service.broken_off()
    except Failed as error:
        raise written.failed(error) from None
    return written.answer()


def _parsed(service: Service, event: Event) -> object:
    try:
        value = json.loads(event.data)
    except (ValueError, RecursionError):
        value = None
    if event.name == "error":
        raise service.error_event(value.get("error", value) if isinstance(value, Mapping) else event.data)
    return value


def _whole(service: Service, reply: Reply) -> Answer:
    """The answer of a service that does not stream."""
    written = _Completion(service)
    try:
        value = json.loads(b"".join(reply.chunks))
    except (ValueError, RecursionError):
        value = None
    written.take(value, "message")
    return written.answer()
