"""A reference from a memory to code, as it is written into Markdown files.

It holds a location (file, lines, symbol) and what the code said there: the `content_hash` of the whole and a bounded
`snippet`. `memory.code.check` compares them with the code of today. Paths are relative to the project's root, with
forward slashes; lines are 1-based and inclusive. A file may come from anybody, so every value is checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sage_code.errors import UsageError

RELEVANCES = ("supports", "contradicts", "context", "stale")
# No real path, name or line number is larger; a memory may come from anybody.
_MAX_PATH_CHARS = 1024
_MAX_NAME_CHARS = 512
_MAX_LINE = 10_000_000
# Enough of the code to recognise it and to show a short diff, and small enough for frontmatter.
MAX_SNIPPET_LINES = 24
MAX_SNIPPET_CHARS = 1200


@dataclass(frozen=True, slots=True)
class CodeRef:
    """Code that a memory is about, and what that code said when the memory was written."""

    file: str  # relative to the project's root
    lines: tuple[int, int] | None = None
    snippet: str | None = None
    relevance: str = "context"
    symbol: str = ""  # the qualified name of the definition, if there is one
    content_hash: str = ""  # of the whole text, made by `memory.code.code_text.content_hash`; empty: not known

    def to_dict(self) -> dict[str, Any]:
        """Plain values for YAML and JSON, without empty fields."""
        record = {"file": self.file, "lines": list(self.lines or ())}
        record |= {key: getattr(self, key) for key in ("symbol", "content_hash", "snippet", "relevance")}
        return {key: value for key, value in record.items() if value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> CodeRef:
        """Read a record that anybody may have written; UsageError if it is not a valid reference."""
        if not isinstance(record, Mapping):
            raise UsageError("a code reference is a mapping with `file`", "see compiled_schema/refs_check.json")
        relevance = record.get("relevance") or "context"
        if relevance not in RELEVANCES:
            raise UsageError(f"{_shown(relevance)} is no relevance", f"one of {', '.join(RELEVANCES)}")
        snippet = _text(record, "snippet", None)
        return cls(
            file=relative_file(record.get("file")),
            lines=_lines(record.get("lines")),
            snippet=bounded_snippet(snippet) if snippet else None,
            relevance=relevance,
            symbol=_text(record, "symbol", _MAX_NAME_CHARS),
            content_hash=_text(record, "content_hash", _MAX_NAME_CHARS),
        )


def code_ref_of(record: Any) -> CodeRef:
    """A reference from frontmatter, where line numbers are still text; UsageError or ValueError if it is not valid."""
    if isinstance(record, Mapping) and isinstance(record.get("lines"), list):
        record = {**record, "lines": [int(line) for line in record["lines"]]}
    return CodeRef.from_dict(record)


def relative_file(given: object) -> str:
    """`given` as a path below a project's root; UsageError for a path that could lead out of it."""
    path = given if isinstance(given, str) else ""
    steps = path.split("/")
    is_odd = not path or len(path) > _MAX_PATH_CHARS or not path.isprintable() or "\\" in path
    is_drive = len(steps[0]) == 2 and steps[0][1] == ":"
    if is_odd or is_drive or any(step in ("", ".", "..") for step in steps):
        raise UsageError(f"no path inside the project: {_shown(given)}", "give it relative to the root, with slashes")
    return path


def bounded_snippet(text: str) -> str:
    """The beginning of `text`, cut to the size that a memory carries."""
    return "\n".join(text[:MAX_SNIPPET_CHARS].split("\n")[:MAX_SNIPPET_LINES])


def _text(record: Mapping[str, Any], key: str, most: int | None) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or (most is not None and (len(value) > most or not value.isprintable())):
        raise UsageError(f"not a valid {key} of a code reference: {_shown(value)}")
    return value


def _lines(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple) and len(value) == 2:
        first, last = value
        if type(first) is type(last) is int and 1 <= first <= last <= _MAX_LINE:
            return first, last
    raise UsageError(
        f"not valid lines of a code reference: {_shown(value)}", "two numbers, the first and the last line"
    )


def _shown(value: object) -> str:
    return repr(value if isinstance(value, str | int | float) else type(value).__name__)[:80]
