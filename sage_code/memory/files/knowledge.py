"""The knowledge item: a text to remember and when to recall it, with its Markdown format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.files import frontmatter
from sage_code.memory.files.code_ref import CodeRef, code_ref_of

# The score from which an item is recalled, by its type: preferences are wanted often, references seldom.
THRESHOLDS = {"knowledge": 0.70, "preference": 0.30, "todo": 0.40, "reference": 0.80}
_MAX_KEYWORDS = 50
_TEXTS = ("source", "added", "skill", "status", "due", "done")


@dataclass(frozen=True, slots=True)
class KnowledgeItem:
    """A text to recall, its type, and the facts about it."""

    id: str
    content: str
    type: str = "knowledge"
    keywords: tuple[str, ...] = ()
    skill: str = ""  # recalled only while this skill is active; empty: always
    source: str = ""
    added: str = ""  # ISO 8601, a day
    status: str = ""  # of a todo: pending or done
    due: str = ""  # of a todo: the day by which it is to be done
    done: str = ""  # of a todo: the day on which it was done
    code_refs: tuple[CodeRef, ...] = ()

    @property
    def is_due(self) -> bool:
        """Whether this is a pending todo whose day has come."""
        return self.status == "pending" and bool(self.due) and self.due <= today()


@dataclass(frozen=True, slots=True)
class SimilarItem:
    """A known item that says nearly the same as another, or perhaps the opposite."""

    id: str
    similarity: float
    kind: str  # duplicate | contradiction


def today() -> str:
    """Today's date in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%d")


def checked(item: KnowledgeItem) -> KnowledgeItem:
    """The item if it can be saved; UsageError otherwise."""
    if item.type not in THRESHOLDS:
        raise UsageError(f"there is no type {item.type[:40]!r} of knowledge", f"one of {', '.join(THRESHOLDS)}")
    if not item.content.strip():
        raise UsageError("the text is empty", "give a text")
    if len(item.keywords) > _MAX_KEYWORDS or any(len(keyword) > 100 for keyword in item.keywords):
        raise UsageError("too many keywords, or too long ones", f"give at most {_MAX_KEYWORDS}, of 100 characters")
    if item.due:
        try:
            datetime.fromisoformat(item.due)
        except ValueError as error:
            raise UsageError(f"{item.due[:40]!r} is no day", "write it as 2026-11-30") from error
    return item


def facts_of(item: KnowledgeItem) -> dict[str, Any]:
    """Everything but the content as plain data, without empty fields."""
    facts: dict[str, Any] = {"id": item.id, "type": item.type, "keywords": list(item.keywords)}
    return facts | {key: value for key in _TEXTS if (value := getattr(item, key))}


def to_markdown(item: KnowledgeItem) -> str:
    """The text of an item's file."""
    head = facts_of(item)
    if item.code_refs:
        head["code_refs"] = [ref.to_dict() for ref in item.code_refs]
    return frontmatter.join(head, f"\n{item.content}\n")


def from_markdown(text: str, where: str, id: str) -> KnowledgeItem:  # noqa: A002 - the name of the field
    """Read an item from a file that anybody may have written; without frontmatter, the whole file is content."""
    head_text, body = frontmatter.split(text)
    if not head_text:
        return KnowledgeItem(id, text.removesuffix("\n"))
    return item_of(frontmatter.load(head_text, where), body.removeprefix("\n").removesuffix("\n"), where, id)


def item_of(facts: Mapping[str, Any], content: str, where: str, id: str) -> KnowledgeItem:  # noqa: A002
    """An item from its facts; an unknown type becomes `knowledge`."""
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
