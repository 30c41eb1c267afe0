"""Asks the Messages API of Anthropic, by the official SDK (the extra `anthropic`).

The SDK knows the protocol; its connections are Sage's (`sdk_transport.py`), because those of httpx2 limit each wait and
not the whole, and read an answer of any length. What the SDK would take from the environment (address, token, profile,
proxies, telemetry) is given or switched off, and it does not retry: `retried` does, for all services alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sage_code.memory.context.clients.asking import PACE, Answer, Deadline, Failed, Pace, Prompt, retried
from sage_code.memory.context.clients.exchange import Address, address_of
from sage_code.memory.context.clients.service import Service, Written

_ADDRESS = "https://api.anthropic.com"
_PATH = "/v1/messages"


@dataclass(frozen=True, slots=True)
class AnthropicMessages:
    """One model of the Anthropic API, or of a service that speaks like it."""

    model: str
    key: str = field(repr=False)
    url: str = ""
    max_tokens: int = 1_500
    pace: Pace = field(default=PACE, repr=False)
    name: str = "anthropic"

    @property
    def secrets(self) -> tuple[str, ...]:
        """See `Model`."""
        return self._service().secrets

    def prepare(self) -> None:
        """See `Model`: the SDK takes seconds to load, which are not the service's."""
        try:
            import anthropic  # noqa: F401 - lazy: an extra, and slow
        except ImportError as error:
            raise Failed(
                f"the package {error.name or 'anthropic'} is not installed", "run `pip install 'sage-code[anthropic]'`"
            ) from None

    def ask(self, prompt: Prompt, deadline: Deadline) -> Answer:
        """See `Model`."""
        if not self.key:
            raise Failed("there is no key", "set anthropic_api_key, or the variable ANTHROPIC_API_KEY")
        if not self.model:
            raise Failed("no model is chosen", "set summariser_model, for example to claude-haiku-4-5")
        base = (self.url or _ADDRESS).rstrip("/").removesuffix("/v1")
        address = address_of(base, _PATH, has_key=True)
        return retried(lambda: self._attempt(base, address, prompt, deadline), deadline, self.pace)

    def _service(self) -> Service:
        title = "the service at summariser_url" if self.url else "the Anthropic API"
        return Service(title, "anthropic_api_key", self.key)

    def _attempt(self, base: str, address: Address, prompt: Prompt, deadline: Deadline) -> Answer:
        """One request. What the SDK raises holds the request with its key, so nothing of it is passed on."""
        # lazy: see `prepare`
        import anthropic
        import httpx2

        from sage_code.memory.context.clients.sdk_transport import Transport

        service = self._service()
        written = _Message(service)
        transport = Transport(address, service, deadline)
        with httpx2.Client(transport=transport, trust_env=False) as connections:
            client = anthropic.Anthropic(
                api_key=self.key, base_url=base, max_retries=0, http_client=connections, open_telemetry=False
            )
            try:
                stream = client.messages.create(
                    model=self.model,
                    max_tokens=self.max_tokens,
                    system=prompt.instructions,
                    messages=[{"role": "user", "content": prompt.material}],
                    stream=True,
                )
                for event in stream:
                    written.take(event)
                return written.answer()
            except Failed as error:
                failure = error
            except anthropic.APIStatusError as error:  # an event `error`
                body = error.body
                failure = service.error_event(body.get("error", body) if isinstance(body, dict) else body)
            except (anthropic.AnthropicError, httpx2.HTTPError):
                failure = service.broken_off()
            except (ValueError, TypeError, AttributeError, RecursionError):  # what the SDK makes of wrong JSON
                failure = service.no_json()
        raise written.failed(transport.failure or failure)


class _Message(Written):
    """An answer, by the events of the Messages API."""

    _reason = ""
    _is_whole = False

    def take(self, event: Any) -> None:
        """Add what one event brings. The SDK does not check what a service sends, so anything may be missing."""
        delta = getattr(event, "delta", None)
        match getattr(event, "type", ""):
            case "content_block_delta" if getattr(delta, "type", "") == "text_delta":
                self.add(getattr(delta, "text", ""))
            case "message_delta":
                self._reason = str(getattr(delta, "stop_reason", "") or "")
            case "message_stop":
                self._is_whole = True

    def answer(self) -> Answer:
        """The whole answer; Failed if it is not whole, or a refusal."""
        if not self._is_whole:
            raise self._service.broken_off()
        if self._reason == "refusal":
            raise Failed("the model refused to write a summary")
        return Answer(self.text, cut=self._reason == "max_tokens")
