"""An item of knowledge: a text to be remembered, and when to remember it. The value, and its Markdown file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.checkpoint_text import code_ref_of
from sage_code.memory.files.code_ref import CodeRef

# What a score must reach for an item to be recalled, by its type: preferences are wanted often, references seldom.
THRESHOLDS = {"knowledge": 0.70, "preference": 0.30, "todo": 0.40, "reference": 0.80}
STATUSES = ("pending", "done")
_MAX_KEYWORDS = 50
_TEXTS = ("source", "added", "skill", "status", "due", "done")


@dataclass(frozen=True, slots=True)
class KnowledgeItem:
    """Something worth knowing again."""

    id: str
    content: str
    type: str = "knowledge"
    keywords: tuple[str, ...] = ()
    skill: str = ""  # recalled only while this skill is active; empty: always
    source: str = ""
    added: str = ""  # ISO 8601, a day
    status: str = ""  # of a todo: pending or done
    due: str = ""  # of a todo: the day by which
    done: str = ""  # the day on which
    code_refs: tuple[CodeRef, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether a pending todo's day has come."""
        return self.status == "pending" and bool(self.due) and self.due <= today()


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """Something known that says nearly the same, or perhaps the opposite."""

    id: str
    similarity: float
    kind: str  # duplicate | contradiction


def today() -> str:
    """This day."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def checked(item: KnowledgeItem) -> KnowledgeItem:
    """The item if it can be kept; UsageError otherwise."""
    if item.type not in THRESHOLDS:
        raise UsageError(f"there is no type {item.type[:40]!r} of knowledge", f"one of {', '.join(THRESHOLDS)}")
    if not item.content.strip():
        raise UsageError("there is nothing to keep", "give a text")
    if len(item.keywords) > _MAX_KEYWORDS or any(len(keyword) > 100 for keyword in item.keywords):
        raise UsageError("too many keywords, or too long ones", f"{_MAX_KEYWORDS} of 100 characters are enough")
    if item.due:
        day_of(item.due)
    return item


def day_of(text: str) -> str:
    """A day as it was given; UsageError for one that is none."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d")
    except ValueError as error:
        raise UsageError(f"{text[:40]!r} is no day", "write it as 2026-11-30") from error


def facts_of(item: KnowledgeItem) -> dict[str, Any]:
    """Everything but the content, as plain data; what says nothing is left out."""
    facts: dict[str, Any] = {"id": item.id, "type": item.type, "keywords": list(item.keywords)}
    return facts | {key: value for key in _TEXTS if (value := getattr(item, key))}


def to_markdown(item: KnowledgeItem) -> str:
    """The file of an item."""
    head = facts_of(item)
    if item.code_refs:
        head["code_refs"] = [ref.to_dict() for ref in item.code_refs]
    return frontmatter.join(head, f"\n{item.content}\n")


def from_markdown(text: str, where: str, id: str) -> KnowledgeItem:  # noqa: A002 - the name of the field
    """The item in a file that anybody may have written; one without frontmatter is all content."""
    head_text, body = frontmatter.split(text)
    if not head_text:
        return KnowledgeItem(id, text.removesuffix("\n"))
    return item_of(frontmatter.load(head_text, where), body.removeprefix("\n").removesuffix("\n"), where, id)


def item_of(facts: Mapping[str, Any], content: str, where: str, id: str) -> KnowledgeItem:  # noqa: A002
    """An item from its facts; an unknown type counts as plain knowledge."""
    texts = {key: facts[key] for key in _TEXTS if isinstance(facts.get(key), str)}
    kind = facts.get("type")
    given = facts.get("keywords") or []
    keywords = given if isinstance(given, list) else [part.strip() for part in str(given).split(",")]
    try:
        refs = tuple(code_ref_of(record) for record in facts.get("code_refs") or [])
    except (UsageError, ValueError, TypeError) as error:
        raise MemoryDamaged(f"{where}: {error}", "correct the frontmatter by hand") from error
    return KnowledgeItem(
        id,
        content,
        kind if kind in THRESHOLDS else "knowledge",
        tuple(str(keyword) for keyword in keywords[:_MAX_KEYWORDS] if keyword),
        code_refs=refs,
        **texts,
    )
