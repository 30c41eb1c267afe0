"""The head of a Markdown file: YAML between two lines of `---`, as Obsidian and git hosts show it.

A file may come with a cloned repository, so the YAML is looked through before anything is built from it: bounded in
size and depth, without anchors, aliases, tags and directives. Every scalar is read as the text that stands there
(`no` stays `no`, a date stays as it was written); whoever knows a field turns it into a number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sage_code.errors import MemoryDamaged

_MAX_BYTES = 512 * 1024
_MAX_DEPTH = 8
# C1 controls, bidirectional marks and the like: PyYAML refuses to read some of them as they are.
_LINE = "---"
_HEAD = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


def split(text: str) -> tuple[str, str]:
    """The YAML at the head of `text`, empty when there is none, and the rest."""
    if re.match(r"\A\ufeff?---[ \t]*\r\n", text):  # written, or checked out by git, on Windows
        text = text.replace("\r\n", "\n")
    found = _HEAD.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def join(fields: Mapping[str, Any], body: str) -> str:
    """A file with these fields at its head."""
    return f"{_LINE}\n{dump(fields)}{_LINE}\n{body}"


def dump(value: Mapping[str, Any]) -> str:
    """Plain data as YAML that `load` reads back as it was, numbers as text."""
    import yaml  # lazy: faces import the values without reading a file

    return yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=2**31 - 1)


def load(text: str, where: str) -> dict[str, Any]:
    """The mapping in `text`; MemoryDamaged, naming `where` it stood, for anything else."""
    import yaml

    if len(text) > _MAX_BYTES:
        raise _damaged(where, "has more than 512 KB of frontmatter")
    try:
        _look_through(text, where)
        data = yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - builds nothing but text, lists and mappings
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise _damaged(where, f"is not valid YAML{line}: {error.problem}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise _damaged(where, "holds a character that YAML forbids") from error
    if data in (None, ""):
        return {}
    if not isinstance(data, dict):
        raise _damaged(where, "must hold lines of the form `key: value`")
    return {str(key): value for key, value in data.items()}


def _look_through(text: str, where: str) -> None:
    import yaml

    depth = 0
    documents = 0
    for event in yaml.parse(text, Loader=yaml.CBaseLoader):
        kind = type(event)
        if kind is yaml.AliasEvent or getattr(event, "anchor", None):
            raise _damaged(where, "uses an anchor or an alias (& or *), which Sage does not read")
        if kind in (yaml.ScalarEvent, yaml.MappingStartEvent, yaml.SequenceStartEvent) and event.tag:
            raise _damaged(where, "uses a tag (!), which Sage does not read")
        if kind is yaml.DocumentStartEvent:
            documents += 1
            if documents > 1 or event.version or event.tags:
                raise _damaged(where, "holds a directive or a second document")
        depth += kind in (yaml.MappingStartEvent, yaml.SequenceStartEvent)
        depth -= kind in (yaml.MappingEndEvent, yaml.SequenceEndEvent)
        if depth > _MAX_DEPTH:
            raise _damaged(where, "is nested too deeply")


def _damaged(where: str, problem: str) -> MemoryDamaged:
    return MemoryDamaged(f"{where} {problem}", "correct the file by hand or move it away; nothing was changed")
