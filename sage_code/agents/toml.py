"""Changes TOML by adding a table at its end, or by cutting one out; the rest of the text stays as it is."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

_HEADER = re.compile(r"^[ \t]*\[{1,2}([^\[\]]+)\]{1,2}[ \t]*(?:#.*)?$", re.MULTILINE)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def parse(text: str) -> dict[str, Any]:
    """The document; a ValueError if it is not valid."""
    return tomllib.loads(text.removeprefix("\ufeff"))


def insertion(text: str, keys: tuple[str, ...], value: dict[str, Any]) -> tuple[int, str]:
    """The offset and the text of the insertion that adds the table `value` below `keys`."""
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    # Strings, numbers, booleans and lists of them are written in TOML as in JSON.
    items = (f"{_key(name)} = {json.dumps(item, ensure_ascii=False)}" for name, item in value.items())
    lines = [f"[{'.'.join(map(_key, keys))}]", *items]
    before = "" if not text.strip("\ufeff \t\r\n") else end_of_line
    if before and not text.endswith("\n"):
        before += end_of_line
    return len(text), before + end_of_line.join(lines) + end_of_line


def cut(text: str, keys: tuple[str, ...]) -> str:
    """The text without the table at `keys` and the tables inside it."""
    headers = list(_HEADER.finditer(text))
    spans = []
    for number, header in enumerate(headers):
        if _split(header.group(1))[: len(keys)] == keys:
            end = headers[number + 1].start() if number + 1 < len(headers) else len(text)
            spans.append((header.start(), end))
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def _split(name: str) -> tuple[str, ...]:
    parts = re.findall(r'"[^"]*"|\'[^\']*\'|[^.\s]+', name)
    return tuple(part.strip("\"'") for part in parts)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else json.dumps(name)
