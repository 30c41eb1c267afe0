"""What the statuses and messages of a service mean: whether to ask again, when, and which setting to change."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from sage_code.memory.context.clients.asking import MOST_ANSWER_CHARS, Failed
from sage_code.memory.context.clients.exchange import Reply
from sage_code.text.escaping import one_line
from sage_code.text.masking import mask

# Too many requests, overloaded (529, which Anthropic uses), and servers that are broken or being restarted.
_PASSING = (408, 425, 429, 500, 502, 503, 504, 529)
# The same as events inside of a stream that began well; `overloaded_error` is the common one.
_PASSING_KINDS = ("overloaded_error", "api_error", "rate_limit_error", "timeout_error", "server_error")
_MOST_SAID = 160
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Service:
    """A service as messages name it, and the key that they must not name."""

    title: str
    key_setting: str
    key: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be seen in any text."""
        return (self.key,) if self.key else ()

    def failure(self, reply: Reply) -> Failed:
        """The failure that a status other than 200 means."""
        status = reply.status
        said = self._said(_message(reply.beginning()))
        if status in (401, 403):
            # Not what the service says: some repeat a part of the key.
            missing = "" if self.key else ", and there is none"
            return Failed(f"{self.title} does not accept the key (status {status}){missing}", f"set {self.key_setting}")
        if 300 <= status < 400:
            return Failed(f"{self.title} has another address (status {status})", "set summariser_url to that address")
        if status == 404:
            return Failed(
                f"{self.title} does not know the model or the address (status 404){said}",
                "check summariser_model and summariser_url",
            )
        if status in _PASSING:
            wait = retry_after(reply.headers)
            return Failed(f"{self.title} is busy or broken (status {status}){said}", again=True, wait_s=wait)
        return Failed(
            f"{self.title} refused (status {status}){said}", "check summariser_model and summariser_max_tokens"
        )

    def error_event(self, error: object) -> Failed:
        """The failure that an error inside of a stream means."""
        kind = str(error.get("type") or error.get("code") or "") if isinstance(error, Mapping) else ""
        said = self._said(_text_of(error))
        named = f" ({self.clean(kind)[:40]})" if kind else ""
        again = not kind or kind in _PASSING_KINDS
        return Failed(f"{self.title} ended with an error{named}{said}", again=again)

    def wrong_type(self, reply: Reply) -> Failed:
        """The failure that a page instead of a stream means."""
        found = self.clean(reply.content_type)[:60] or "nothing"
        return Failed(f"{self.title} answered with {found} instead of a stream", "check summariser_url")

    def broken_off(self) -> Failed:
        """The failure that a stream without an end means."""
        return Failed(f"the answer of {self.title} broke off", again=True)

    def no_json(self) -> Failed:
        """The failure that a stream of something else means."""
        return Failed(f"{self.title} sent an event that is no JSON", "check summariser_url", again=True)

    def clean(self, text: str) -> str:
        """Foreign text as a message may quote it: without the key, without other secrets, on one line."""
        return one_line(mask(without(text, self.secrets))[0])

    def _said(self, text: str) -> str:
        text = self.clean(" ".join(text.split()))
        return f": {text[:_MOST_SAID]}" if text else ""


class Written:
    """The text of an answer as it arrives in pieces, up to a limit."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pieces: list[str] = []
        self._count = 0

    @property
    def has_text(self) -> bool:
        """Whether anything was written yet."""
        return self._count > 0

    @property
    def text(self) -> str:
        """All pieces."""
        return "".join(self._pieces)

    def add(self, piece: object) -> None:
        """Take the next piece; what is no text is left out."""
        if isinstance(piece, str):
            self._pieces.append(piece)
            self._count += len(piece)
        if self._count > MOST_ANSWER_CHARS:
            raise Failed(f"the answer of {self._service.title} has more than {MOST_ANSWER_CHARS:,} characters")

    def failed(self, failure: Failed) -> Failed:
        """A failure in the middle. After its first words an answer is not asked for again: it would be paid twice."""
        return Failed(failure.message, failure.hint, again=failure.again and not self.has_text, wait_s=failure.wait_s)


def without(text: str, secrets: tuple[str, ...]) -> str:
    """A text in which secrets are hidden."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    return text


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a service asks to wait: `retry-after` holds seconds or a date."""
    given = headers.get("retry-after", "").strip()
    if given.isascii() and given.replace(".", "", 1).isdigit() and len(given) < 10:
        return float(given)
    try:
        return max(parsedate_to_datetime(given).timestamp() - time.time(), 0.0) if given else None
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _message(body: bytes) -> str:
    """The message in the body of an error; services lay it out differently, and a page of a proxy is not quoted."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    return _text_of(value.get("error", value) if isinstance(value, dict) else value)


def _text_of(error: object) -> str:
    found = error.get("message") or error.get("detail") if isinstance(error, Mapping) else error
    return found if isinstance(found, str) else ""
