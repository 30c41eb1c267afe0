"""Frontmatter: the YAML between two lines of `---` at the head of a Markdown file, as Obsidian and git hosts show it.

A file may come with a cloned repository, so size and depth are bounded, and anchors, aliases, tags and directives are
refused. Every scalar is read as text (`no` stays `no`, a date stays as it was written); the caller converts numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sage_code.errors import MemoryDamaged

_MAX_BYTES = 512 * 1024
_MAX_DEPTH = 8
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def split(text: str) -> tuple[str, str]:
    """The YAML at the head of `text` (empty if there is none), and the rest."""
    if re.match(r"\A\ufeff?---[ \t]*\r\n", text):  # written, or checked out by git, on Windows
        text = text.replace("\r\n", "\n")
    found = _HEAD.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def join(fields: Mapping[str, Any], body: str) -> str:
    """A file with these fields at its head."""
    return f"---\n{dump(fields)}---\n{body}"


def dump(value: Mapping[str, Any]) -> str:
    """Plain data as YAML; `load` reads it back unchanged, with numbers as text."""
    import yaml  # lazy: faces import the values without reading a file

    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)


def load(text: str, where: str) -> dict[str, Any]:
    """The mapping in `text`; MemoryDamaged, which names the file `where`, for anything else."""
    import yaml

    if len(text) > _MAX_BYTES:
        raise _damaged(where, "has more than 512 KB of frontmatter")
    try:
        data = _built(text, where)
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _damaged(where, f"is not valid YAML{line}: {error.problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(where, "holds a character that YAML forbids") from error
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise _damaged(where, "must hold lines of the form `key: value`")
    return data


def _built(text: str, where: str) -> Any:
    """The document as texts, lists and mappings, built from the parser's events; None for an empty one."""
    import yaml

    starts, ends = (yaml.MappingStartEvent, yaml.SequenceStartEvent), (yaml.MappingEndEvent, yaml.SequenceEndEvent)
    documents = 0
    # Items that were read so far: of the document, and of each collection that is still open.
    open_items: list[list[Any]] = [[]]
    for event in yaml.parse(text, Loader=yaml.CBaseLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _damaged(where, "uses an anchor or an alias (& or *), which Sage does not read")
        if isinstance(event, (yaml.ScalarEvent, *starts)) and event.tag:
            raise _damaged(where, "uses a tag (!), which Sage does not read")
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1 or event.version or event.tags:
                raise _damaged(where, "holds a directive or a second document")
        if isinstance(event, yaml.ScalarEvent):
            open_items[-1].append(event.value)
        elif isinstance(event, starts):
            open_items.append([])
            if len(open_items) > _MAX_DEPTH + 1:
                raise _damaged(where, "is nested too deeply")
        elif isinstance(event, ends):
            items = open_items.pop()
            if isinstance(event, yaml.SequenceEndEvent):
                open_items[-1].append(items)
            elif all(isinstance(key, str) for key in items[::2]):
                open_items[-1].append(dict(zip(items[::2], items[1::2], strict=True)))
            else:
                raise _damaged(where, "has a key that is no text")
    return open_items[0][0] if open_items[0] else None


def _damaged(where: str, problem: str) -> MemoryDamaged:
    return MemoryDamaged(f"{where} {problem}", "correct the file by hand or move it away; nothing was changed")
