"""Where plugins change what is shown: the document of an answer before, its text after.

A document keeps its keys and the types of its values, a JSON text stays JSON of that shape, and other text has no
characters that control a terminal, unless Sage has printed them itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sage_code.events.asking import ask
from sage_code.events.events import EventType, FormatEvent
from sage_code.events.listening import bus_for
from sage_code.text.escaping import in_json, visible

# Colours and the like: what Sage has printed of them may stay.
_STYLE = re.compile(r"\x1b\[[0-9;]*m")

# Raises if a document cannot be shown.
Check = Callable[[dict[str, Any]], None]


def is_heard() -> bool:
    """Whether a plugin may change what is shown."""
    return bus_for(EventType.PRE_FORMAT) is not None or bus_for(EventType.POST_FORMAT) is not None


def changed_document(command: str, document: dict[str, Any], check: Check | None = None) -> dict[str, Any]:
    """The document as plugins want it: the same one if none changes it."""
    bus = bus_for(EventType.PRE_FORMAT)
    if bus is None:
        return document

    def settle(event: FormatEvent) -> None:
        if event.document is not document:
            check_shape(document, event.document)
            if check is not None:
                check(event.document)

    return ask(bus, FormatEvent(EventType.PRE_FORMAT, command=command, document=document), settle).document


def changed_text(command: str, text: str) -> str:
    """The text that a person or an agent reads, as plugins want it."""
    styles = set(_STYLE.findall(text)) if "\x1b" in text else set[str]()

    def settle(event: FormatEvent) -> None:
        if event.text != text:
            event.text = _safe(event.text, styles)

    return _changed(command, text, settle)


def changed_json(command: str, text: str, check: Check | None = None) -> str:
    """The text of a JSON document, as plugins want it."""

    def settle(event: FormatEvent) -> None:
        if event.text == text:
            return
        import json  # lazy: only if a plugin has changed something

        try:
            document = json.loads(event.text)
        except ValueError as error:
            raise ValueError(f"the text is no JSON any more: {error}") from error
        check_shape(json.loads(text), document)
        if check is not None:
            check(document)
        event.text = in_json(event.text)

    return _changed(command, text, settle)


def _changed(command: str, text: str, settle: Callable[[FormatEvent], None]) -> str:
    bus = bus_for(EventType.POST_FORMAT)
    if bus is None or not text:
        return text
    return ask(bus, FormatEvent(EventType.POST_FORMAT, command=command, text=text), settle).text


def _safe(text: str, styles: set[str]) -> str:
    """A text with every unseen character escaped, except for these styles."""
    parts, start = [], 0
    for style in _STYLE.finditer(text) if styles else ():
        if style[0] in styles:
            parts += [visible(text[start : style.start()]), style[0]]
            start = style.end()
    return "".join([*parts, visible(text[start:])])


def check_shape(before: object, after: object, where: str = "the document") -> None:
    """Raise ValueError unless a value has the keys and types of another one.

    A list may have other items, in another order, each like one of those that it had.
    """
    if isinstance(before, dict):
        if not isinstance(after, dict):
            raise ValueError(f"{where} is {_type(after)} now, and no object")
        if before.keys() != after.keys():
            wrong = sorted(map(str, before.keys() ^ after.keys()))
            raise ValueError(f"{where} has other keys: {', '.join(wrong)[:200]}")
        for name, value in before.items():
            check_shape(value, after[name], f"`{name}`")
    elif isinstance(before, list | tuple):
        if not isinstance(after, list | tuple):
            raise ValueError(f"{where} is {_type(after)} now, and no list")
        for item in after:
            _check_item(before, item, where)
    elif _type(before) != _type(after):
        raise ValueError(f"{where} is {_type(after)} now, and not {_type(before)}")


def _check_item(before: Sequence[object], item: object, where: str) -> None:
    """Raise ValueError unless an item has the shape of one of those of a list."""
    problem = ValueError(f"{where} was empty, and has an item now")
    for one in before:
        try:
            return check_shape(one, item, f"an item of {where}")
        except ValueError as error:
            problem = error
    raise problem


def _type(value: object) -> str:
    """What JSON calls the type of a value."""
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if value is None:
        return "null"
    return "a list" if isinstance(value, list | tuple) else "an object"
