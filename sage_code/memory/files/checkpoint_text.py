"""Writes a checkpoint as Markdown and reads it back without losing a character.

The frontmatter holds the metadata, the body holds the content. A template may lay out the body; values that cannot be
read back from that layout are written into the frontmatter too, under `fields`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.checkpoint import Checkpoint, Contribution, Source, Tension
from sage_code.memory.files.code_ref import code_ref_of
from sage_code.memory.files.sections import (
    read_list,
    read_prose,
    read_sections,
    write_list,
    write_prose,
    write_sections,
)

# Text between marks contains no unescaped mark, so each pattern matches in one way only and in linear time.
_BOLD = r"\*\*((?:[^*\\]|\\.)*)\*\*"
_LAST = re.compile(r"(?P<text>.*) — _(?P<last>(?:[^_\\]|\\.)*)_", re.DOTALL)
_SOURCE = re.compile(rf"{_BOLD}(?: \(((?:[^()\\]|\\.)*)\))?: (.*)", re.DOTALL)
_TENSION = re.compile(rf"(?P<between>{_BOLD}(?: vs {_BOLD})*): (?P<nature>.*)", re.DOTALL)
_CONTRIBUTION = re.compile(rf"{_BOLD}: (.*)", re.DOTALL)
_PARTY = re.compile(_BOLD, re.DOTALL)
_MARKS = re.compile(r"[\\*_()\n]")


def _mark(text: str) -> str:
    """Escape a short text that is written between marks."""
    return _MARKS.sub(lambda found: "\\n" if found[0] == "\n" else f"\\{found[0]}", text)


def _unmark(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text, flags=re.DOTALL)


def _with_last(text: str, last: str) -> str:
    """`text — _last_`. An empty last part is left out, unless the text itself ends like one."""
    return f"{text} — _{_mark(last)}_" if last or _LAST.fullmatch(text) else text


def _without_last(text: str) -> tuple[str, str]:
    found = _LAST.fullmatch(text)
    return (found["text"], _unmark(found["last"])) if found else (text, "")


def write_source(source: Source) -> str:
    """A source as a list item."""
    kind = f" ({_mark(source.type)})" if source.type else ""
    return f"**{_mark(source.id)}**{kind}: {_with_last(source.take, source.relation)}"


def _read_source(item: str) -> Source:
    found = _SOURCE.fullmatch(item)
    if found is None:
        return Source("", take=item)
    take, relation = _without_last(found[3])
    return Source(_unmark(found[1]), _unmark(found[2] or ""), take, relation)


def write_tension(tension: Tension) -> str:
    """A tension as a list item."""
    between = " vs ".join(f"**{_mark(party)}**" for party in tension.between or ("",))
    return f"{between}: {_with_last(tension.nature, tension.resolution)}"


def _read_tension(item: str) -> Tension:
    found = _TENSION.fullmatch(item)
    if found is None:
        return Tension(("",), item)
    nature, resolution = _without_last(found["nature"])
    return Tension(tuple(_unmark(party) for party in _PARTY.findall(found["between"])), nature, resolution)


def write_contribution(contribution: Contribution) -> str:
    """A contribution as a list item."""
    return f"**{_mark(contribution.type)}**: {contribution.content}"


def _read_contribution(item: str) -> Contribution:
    found = _CONTRIBUTION.fullmatch(item)
    return Contribution(_unmark(found[1]), found[2]) if found else Contribution("", item)


def _written(write: Callable[[Any], str]) -> Callable[[tuple[Any, ...]], str]:
    return lambda values: write_list(map(write, values))


def _read(read: Callable[[str], Any]) -> Callable[[list[str]], tuple[Any, ...]]:
    return lambda lines: tuple(map(read, read_list(lines)))


# Heading, field, writer and reader of each section, in the order of the file.
SECTIONS: tuple[tuple[str, str, Callable[[Any], str], Callable[[list[str]], Any]], ...] = (
    ("Thesis", "thesis", write_prose, read_prose),
    ("Key Evidence", "key_evidence", write_list, read_list),
    ("Reasoning Trace", "reasoning_trace", write_prose, read_prose),
    ("Open Questions", "open_questions", write_list, read_list),
    ("Sources", "sources", _written(write_source), _read(_read_source)),
    ("Tensions", "tensions", _written(write_tension), _read(_read_tension)),
    ("Unique Contributions", "unique_contributions", _written(write_contribution), _read(_read_contribution)),
)
_TEXTS = ("skill", "project", "parent", "action_goal", "action_type", "template")
_COUNTS = ("message_count", "token_estimate")
_FILES = ("files_explored", "files_changed")


def default_body(checkpoint: Checkpoint) -> str:
    """The body without a template: every field that has a value, then the sections that a person added."""
    sections = [
        (heading, write(value)) for heading, field, write, _ in SECTIONS if (value := getattr(checkpoint, field))
    ]
    sections += [(heading, write_prose(text)) for heading, text in checkpoint.notes]
    return write_sections(checkpoint.core_question, sections)


def to_markdown(checkpoint: Checkpoint, body: str | None = None) -> str:
    """The text of a checkpoint's file; `body` is the output of a template."""
    head: dict[str, Any] = {
        "id": checkpoint.id,
        "type": "checkpoint",
        "ts": checkpoint.ts,
        "trigger": checkpoint.trigger,
        "confidence": checkpoint.confidence,
    }
    head |= {key: value for key in (*_TEXTS, *_COUNTS) if (value := getattr(checkpoint, key))}
    head |= {key: sorted(value) for key in _FILES if (value := getattr(checkpoint, key))}
    if checkpoint.code_refs:
        head["code_refs"] = [ref.to_dict() for ref in checkpoint.code_refs]
    kept: dict[str, Any] = dict(checkpoint.fields)
    if body is None:
        body = default_body(checkpoint)
    else:
        read = _read_body(body)
        for field in ("core_question", *(section[1] for section in SECTIONS)):
            if read.get(field, "") != (value := getattr(checkpoint, field)) and value:
                kept[field] = _plain(value)
    if kept:
        head["fields"] = kept
    return frontmatter.join(head, body)


def _plain(value: Any) -> Any:
    """A field's value as plain data for YAML."""
    if isinstance(value, str):
        return value
    return [item if isinstance(item, str) else asdict(item) for item in value]


def from_markdown(text: str, where: str, id: str) -> Checkpoint:  # noqa: A002 - the name of the field
    """Read a checkpoint from a file that anybody may have written; `id` is the file's name."""
    head_text, body = frontmatter.split(text)
    head = frontmatter.load(head_text, where) if head_text else {}
    if head.get("type", "checkpoint") != "checkpoint":
        raise MemoryDamaged(f"{where} is no checkpoint", "its frontmatter says `type: {}`".format(head["type"]))
    values = _read_body(body)
    if head.get("template"):
        values.pop("notes", None)  # they are the template's own sections
    values |= from_record(head.get("fields") or {}, where)
    return Checkpoint(**{"thesis": "", "core_question": "", **values, **_read_head(head, where), "id": id})


def _read_body(body: str) -> dict[str, Any]:
    """The fields in a Markdown body; unknown sections become `notes`."""
    title, sections = read_sections(body)
    values: dict[str, Any] = {"core_question": title}
    notes = []
    known = {heading.lower(): (field, read) for heading, field, _, read in SECTIONS}
    for heading, lines in sections:
        field, read = known.get(heading.lower(), ("", read_prose))
        if field and field not in values:
            values[field] = read(lines)
        else:
            notes.append((heading, read_prose(lines)))
    if notes:
        values["notes"] = tuple(notes)
    return values


def from_record(record: Any, where: str) -> dict[str, Any]:
    """The fields of a checkpoint from plain data; unknown keys go into `fields`."""
    if not isinstance(record, Mapping):
        raise MemoryDamaged(f"{where}: `fields` must hold `key: value`", "correct it by hand")
    values: dict[str, Any] = {}
    others: dict[str, str] = {}
    for key, value in record.items():
        if key in ITEMS:
            values[key] = tuple(ITEMS[key](item) for item in _several(value))
        elif key in ("key_evidence", "open_questions"):
            values[key] = tuple(_text(item) for item in _several(value))
        elif key in ("core_question", "thesis", "reasoning_trace"):
            values[key] = _text(value)
        elif value:
            others[str(key)] = _text(value)
    return {**values, "fields": others} if others else values


def source_of(item: Any) -> Source:
    """A source from a mapping, or from its name alone."""
    if not isinstance(item, Mapping):
        return Source(_text(item))
    return Source(*(_text(item.get(key, "")) for key in ("id", "type", "take", "relation")))


def tension_of(item: Any) -> Tension:
    """A tension from a mapping, or from a sentence."""
    if not isinstance(item, Mapping):
        return Tension(("",), _text(item))
    between = item.get("between") or [item[key] for key in ("source1", "source2") if key in item]
    parties = tuple(map(_text, _several(between))) or ("",)
    return Tension(parties, _text(item.get("nature", "")), _text(item.get("resolution", "")))


def contribution_of(item: Any) -> Contribution:
    """A contribution from a mapping, or from a sentence."""
    if not isinstance(item, Mapping):
        return Contribution("", _text(item))
    return Contribution(_text(item.get("type", "")), _text(item.get("content", "")))


# How an item of each of these fields is made from plain data.
ITEMS = {"sources": source_of, "tensions": tension_of, "unique_contributions": contribution_of}


def _read_head(head: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The metadata fields of a frontmatter; MemoryDamaged for a value of the wrong type."""
    values: dict[str, Any] = {key: _text(head[key]) for key in ("ts", "trigger", *_TEXTS) if key in head}
    values.setdefault("ts", "")
    try:
        values["confidence"] = bounded(float(head.get("confidence") or 0))
        values |= {key: max(int(head[key]), 0) for key in _COUNTS if head.get(key)}
        values |= {key: frozenset(map(_text, _several(head[key]))) for key in _FILES if head.get(key)}
        refs = tuple(code_ref_of(record) for record in _several(head.get("code_refs") or []))
    except (ValueError, TypeError, OverflowError, UsageError) as error:
        raise MemoryDamaged(f"{where}: {error}", "correct the frontmatter by hand") from error
    return {**values, "code_refs": refs} if refs else values


def bounded(confidence: float) -> float:
    """The confidence clamped to 0..1; NaN counts as 0."""
    return min(max(confidence, 0.0), 1.0) if confidence == confidence else 0.0


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] if value not in (None, "") else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def from_yaml(text: str, where: str, id: str) -> Checkpoint:  # noqa: A002
    """Read a checkpoint of the old format: one YAML file, with its fields at the top or inside `checkpoint:`."""
    record = frontmatter.load(text.removeprefix("\ufeff").removeprefix("---\n"), where)
    inner = record.get("checkpoint")
    record = inner if isinstance(inner, dict) else record
    context = record.get("action") or record.get("action_context") or {}
    if isinstance(context, Mapping):
        record = {"action_goal": context.get("goal", ""), "action_type": context.get("type", ""), **record}
    metadata = record.get("metadata")
    head = {**record, **metadata} if isinstance(metadata, Mapping) else record
    body = {key: record[key] for key in ("core_question", *(section[1] for section in SECTIONS)) if key in record}
    return Checkpoint(
        **{"thesis": "", "core_question": "", **from_record(body, where), **_read_head(head, where), "id": id}
    )
