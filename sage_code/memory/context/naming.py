"""The files and names of code that a conversation is about, those that a tool changed first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sage_code.memory.context.summary import Point, Spoken, words_in

# References of a summary, and messages that one names.
MAX_REFS, MAX_IDS = 40, 8
_READ_CHARS = 4_000
_SUFFIX = (
    r"(?:py|pyi|js|mjs|ts|tsx|jsx|go|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|lua|r|jl|dart|ex|exs|sh|bash|sql|md|"
    r"rst|txt|json|jsonl|ya?ml|toml|ini|cfg|conf|env|xml|html?|css|scss|vue|svelte|lock|proto|tf|gradle|mod|csv|ipynb|log)"
)
# Every repetition is bounded: a line of 4,000 dashes is read once, not once for each of them. A path has a suffix or
# two slashes, so that `and/or` and `24/7` are none.
_PATH = re.compile(
    rf"(?<![\w/])(?:~?/|\.{{1,2}}/)?(?:[\w.@-]{{1,80}}/){{0,12}}[\w@-][\w.@-]{{0,80}}\.{_SUFFIX}\b(?!\.\w|[(/])"
    r"|(?<![\w/])(?:~?/|\.{1,2}/)?(?:[\w.@-]{1,80}/){2,12}[\w.@-]{0,80}\w"
)
_NAME = re.compile(
    r"`([^`\s,][^`\n,]{0,58}[^`\s,])`|\b(\w{1,60}(?:\.\w{1,60}){0,4}\(\))"
    r"|\b([a-z][a-z0-9]{0,40}(?:_[a-z0-9]{1,40}){1,8}|[A-Z][a-z0-9]{1,30}(?:[A-Z][a-z0-9]{1,30}){1,6})\b"
)
_CHANGES = re.compile(r"(?:Edit|Write|MultiEdit|NotebookEdit|Update|Create\w*|apply_patch|str_replace\w*): ")
# A file that was changed comes before every other; a path counts more than another name: it says where to look.
_CHANGED, _WRITTEN = 1_000.0, 2.0
# What a tool was called with is seen more often than it is meant.
_CALLED = 0.2
# Of a longer path the last parts are shown.
_SHOWN_CHARS, _SHOWN_PARTS = 32, 2


def code_refs_of(messages: Sequence[Spoken], before: Iterable[Point] = ()) -> tuple[Point, ...]:
    """The files and names of messages and of an earlier summary, those that matter most first."""
    worth: dict[str, float] = {}
    ids: dict[str, list[str]] = {}
    for message in messages:
        if message.role in ("system", "summary"):
            continue
        text = message.content[:_READ_CHARS]
        is_call = message.role == "tool"
        named = (next(filter(None, groups)) for groups in _NAME.findall(text))
        found = {name: _CALLED if is_call else 1.0 for name in named if any(map(str.isalpha, name))}
        is_change = is_call and _CHANGES.match(text)
        found |= dict.fromkeys(_PATH.findall(text), _CHANGED if is_change else _CALLED if is_call else _WRITTEN)
        for name, value in found.items():
            worth[name] = worth.get(name, 0.0) + value
            known = ids.setdefault(name, [])
            if len(known) < MAX_IDS:
                known.append(message.id)
    # What was worth naming before counts as much as the middle of what is named now.
    usual = sorted(worth.values())[len(worth) // 2] if worth else 1.0
    for place, point in enumerate(before):
        worth[point.text] = worth.get(point.text, 0.0) + usual + 1.0 / (1 + place)
        ids[point.text] = [*dict.fromkeys([*point.message_ids, *ids.get(point.text, ())])][:MAX_IDS]
    _join_parts(worth, ids)
    ranked = sorted(worth, key=lambda name: (-worth[name], name))
    return tuple(Point(name, tuple(ids[name])) for name in ranked[:MAX_REFS])


def names_within(refs: Sequence[Point], room: int, most: int = MAX_REFS) -> list[str]:
    """The first of the names in at most so many words, as a line shows them."""
    shown: list[str] = []
    for point in refs:
        name = _shown(point.text)
        if name not in shown and words_in(", ".join([*shown, name])) + 1 <= room:
            shown.append(name)
        if len(shown) >= most:
            break
    return shown


def _shown(name: str) -> str:
    """A name, or the end of a long path."""
    if len(name) <= _SHOWN_CHARS or "/" not in name:
        return name
    return "/".join(name.split("/")[-_SHOWN_PARTS:])


def _join_parts(worth: dict[str, float], ids: dict[str, list[str]]) -> None:
    """Count a name with the path that ends with it: `client.py` and `client` with `billing/client.py`."""
    whole = {end: path for path in sorted(worth, key=len) for end in _ends(path)}  # the longest path has it
    for name in sorted(worth, key=len):
        path = whole.get(name)
        if path is not None:
            worth[path] += worth.pop(name)
            ids[path] = [*dict.fromkeys([*ids[path], *ids.pop(name)])][:MAX_IDS]


def _ends(path: str) -> list[str]:
    parts = path.split("/")
    last = parts[-1].partition(".")[0]
    ends = ["/".join(parts[at:]) for at in range(1, len(parts))]
    return [*ends, last] if last and last != path else ends
