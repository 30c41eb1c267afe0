"""Writes the prompt for a summary: instructions from files that the user can replace, messages fenced as data.

A file `summary.md` or `summary_material.md` in `prompts/` of Sage's home takes the place of the one that ships with
Sage. Placeholders are `{{max_words}}`, `{{previous}}` and `{{messages}}`; text that is filled in is not searched for
further ones. The newest messages are kept, long ones lose their middle, and secrets are masked. Messages have short
ids in the prompt, which cost less than real ones and are copied without mistakes; `Written.ids` leads back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sage_code.files.contained import read_regular
from sage_code.memory.context.clients.asking import Failed, Prompt
from sage_code.memory.context.summary import Spoken, StructuredSummary
from sage_code.paths import sage_home
from sage_code.text.fencing import inert, inert_line
from sage_code.text.masking import mask, mask_all
from sage_code.text.tokens import count_tokens

INSTRUCTIONS, MATERIAL = "summary.md", "summary_material.md"
_FOLDER = "prompts"
_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), _FOLDER)
_MOST_FILE_BYTES = 65_536
_PLACEHOLDER = re.compile(r"\{\{(\w{1,20})\}\}")
# A longer message is a paste or a log: its beginning and its end say what it is. Results of tools say less.
_MOST_CHARS, _MOST_TOOL_CHARS = 4_000, 800
# Masked before it is cut, so that no half of a secret is left; of an endless message only the ends are looked at.
_LOOKED_AT = 40_000
_LEAST_CHARS = 100
# Of the tokens, what the summary before may take; a longer one gives its text alone.
_SHARE_OF_PREVIOUS = 0.34
_MOST_SPEAKER = 60
_NOT_IN_QUOTES = {ord('"'): "'", ord(">"): "›"}


@dataclass(frozen=True, slots=True)
class Written:
    """A prompt, and the real ids of the messages that it names."""

    prompt: Prompt
    ids: Mapping[str, str]


def written(messages: Sequence[Spoken], max_words: int, previous: StructuredSummary | None, max_tokens: int) -> Written:
    """The prompt for a summary of messages, with at most so many tokens of them and of the summary before."""
    ids: dict[str, str] = {}
    before = _previous(previous, int(max_tokens * _SHARE_OF_PREVIOUS), ids) if previous is not None else ""
    fenced = _newest(messages, max_tokens - count_tokens(before), ids)
    values = {"max_words": str(max_words), "previous": before, "messages": "\n".join(fenced)}
    material = _template(MATERIAL)
    if "{{messages}}" not in material:
        raise Failed(f"{_own(MATERIAL)} has no place for the messages", "write {{messages}} into it")
    return Written(Prompt(_filled(_template(INSTRUCTIONS), values), _filled(material, values)), ids)


def _newest(messages: Sequence[Spoken], max_tokens: int, ids: dict[str, str]) -> list[str]:
    """The newest messages that fit, oldest first; the very newest is cut until it does."""
    kept: list[str] = []
    left = max_tokens
    said = [(number, one) for number, one in enumerate(messages, 1) if one.role != "system" and one.content.strip()]
    for number, message in reversed(said):
        most = _MOST_TOOL_CHARS if message.role == "tool" else _MOST_CHARS
        fenced = _fenced(f"m{number}", message, most)
        while not kept and count_tokens(fenced) > left and most > _LEAST_CHARS:
            most //= 2
            fenced = _fenced(f"m{number}", message, most)
        cost = count_tokens(fenced) + 1
        if kept and cost > left:
            break
        left -= cost
        kept.append(fenced)
        ids[f"m{number}"] = message.id
    return kept[::-1]


def _fenced(id_: str, message: Spoken, most: int) -> str:
    speaker = inert_line(mask(message.speaker)[0])[:_MOST_SPEAKER].translate(_NOT_IN_QUOTES)
    by = f' speaker="{speaker}"' if speaker else ""
    head = f'<message id="{id_}" role="{message.role}"{by} time="{message.created_at:%Y-%m-%d %H:%M}">'
    return f"{head}\n{inert(_shortened(message.content, most))}\n</message>"


def _shortened(text: str, most: int) -> str:
    """A text without secrets, and without its middle if it is long."""
    if len(text) > _LOOKED_AT:
        ends = mask(text[: _LOOKED_AT // 2])[0], mask(text[-_LOOKED_AT // 2 :])[0]
    else:
        masked = mask(text)[0]
        if len(masked) <= most:
            return masked
        ends = masked, masked
    head, tail = ends[0][: most // 2].rstrip(), ends[1][-(most // 2) :].lstrip()
    return f"{head}\n[… {len(text) - len(head) - len(tail):,} characters left out …]\n{tail}"


def _previous(previous: StructuredSummary, max_tokens: int, ids: dict[str, str]) -> str:
    """The summary before, as the JSON that is asked for, with short ids."""
    short: dict[str, str] = {}

    def renamed(value: object) -> object:
        if isinstance(value, dict):
            return {key: _names(item) if key == "message_ids" else renamed(item) for key, item in value.items()}
        return [renamed(item) for item in value] if isinstance(value, list) else value

    def _names(given: Sequence[str]) -> list[str]:
        return [short.setdefault(id_, f"p{len(short) + 1}") for id_ in given]

    document = previous.to_json()
    whole = {key: document[key] for key in ("text", "topics", "threads", "decisions", "unresolved", "code_refs")}
    found = _fence_of_previous(renamed(whole))
    if count_tokens(found) > max_tokens:
        short.clear()
        found = _fence_of_previous({"text": previous.text[: max_tokens * 2]})
    ids.update({name: id_ for id_, name in short.items()})
    return found


def _fence_of_previous(value: object) -> str:
    text = json.dumps(mask_all(value, []), ensure_ascii=False)
    return f"<previous_summary>\n{inert(text)}\n</previous_summary>"


def _filled(template: str, values: Mapping[str, str]) -> str:
    """A template with its placeholders replaced, in one pass."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template).strip()


def _own(name: str) -> str:
    return os.path.join(sage_home(), _FOLDER, name)


def _template(name: str) -> str:
    """The user's file of this name, or the one that ships with Sage."""
    for path in (_own(name), os.path.join(_SHIPPED, name)):
        try:
            return read_regular(path, _MOST_FILE_BYTES, follow=True).decode("utf-8")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise Failed(f"the prompt {path} cannot be read: {why}", "correct it or delete the file") from None
    raise Failed(f"Sage's own prompt {name} is missing", "install Sage again")
