"""A memory as the fields of a form, and the text of its file after the form was sent back.

A form shows secrets masked and sends some characters back in another shape (line ends, NUL). A field that comes back as
it was shown changes nothing, so that the rest of the file keeps its bytes. What was typed is masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.changing import Change, StoredText, rewrite
from sage_code.memory.confirming import renewed
from sage_code.memory.files import checkpoint_text, frontmatter, knowledge
from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.files.head_edits import with_values
from sage_code.memory.memory import Memory

_MAX_TEXT_CHARS = 200_000


@dataclass(frozen=True, slots=True)
class Draft:
    """The fields of a form; those that a kind does not have are empty."""

    content: str
    keywords: str = ""  # with commas between
    type: str = ""
    source: str = ""
    due: str = ""
    confidence: str = ""  # of a checkpoint, in percent
    refs: str = ""  # one a line


@dataclass(frozen=True, slots=True)
class Saved:
    """What an edit did."""

    change: Change
    masked: tuple[str, ...]  # the kinds of secrets that were masked


def draft_of(memory: Memory, stored: StoredText) -> Draft:
    """The fields of a memory, with its secrets masked."""
    from sage_code.text.masking import mask_all  # lazy: dozens of patterns

    if stored.kind == "checkpoint":
        checkpoint = _checkpoint(stored)
        percent = f"{checkpoint.confidence * 100:g}"
        shown = Draft(_body(stored), confidence=percent, refs=ref_lines(checkpoint.code_refs))
    else:
        item = _item(memory, stored)
        keywords = ", ".join(item.keywords)
        shown = Draft(item.content, keywords, item.type, item.source, item.due, refs=ref_lines(item.code_refs))
    return mask_all(shown, [])


def edit(memory: Memory, stored: StoredText, given: Draft, *, renew: bool = False) -> Saved:
    """Write what was typed into the file of a memory; with `renew` it refers to the code as it is now.

    UsageError if it cannot be saved, Conflict if the file has changed since `stored` was read.
    """
    shown = draft_of(memory, stored)
    edited = {
        one.name: as_sent(getattr(given, one.name))
        for one in fields(Draft)
        if as_sent(getattr(given, one.name)) != as_sent(getattr(shown, one.name))
    }
    if len(given.content) > _MAX_TEXT_CHARS:
        raise UsageError(f"the text has more than {_MAX_TEXT_CHARS:,} characters", "shorten it")
    masked: list[str] = []
    edited = _without_secrets(edited, masked)
    text = (_checkpoint_text if stored.kind == "checkpoint" else _knowledge_text)(memory, stored, edited, renew)
    return Saved(rewrite(memory, stored, text, "edited"), tuple(masked))


def as_sent(text: str) -> str:
    """A text as a form sends it back: line ends are one sign, and there is no NUL."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def ref_lines(refs: Iterable[CodeRef]) -> str:
    """References as lines of a form."""
    return "\n".join(map(ref_line, refs))


def ref_line(ref: CodeRef) -> str:
    """A reference as `FILE:LINE-LINE SYMBOL`."""
    lines = f":{ref.lines[0]}-{ref.lines[1]}" if ref.lines else ""
    return f"{ref.file}{lines} {ref.symbol}".rstrip()


def named_lines(text: str) -> list[str]:
    """The lines of a field of references that name something."""
    return [line.strip() for line in as_sent(text).split("\n") if line.strip()]


def keywords_in(text: str) -> tuple[str, ...]:
    """The keywords of a field, which has commas between them."""
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _knowledge_text(memory: Memory, stored: StoredText, edited: dict[str, str], renew: bool) -> str:
    """The text of an item's file after an edit: the facts that differ from its head, and the content if it differs."""
    before = _item(memory, stored)
    values: dict[str, Any] = {name: edited[name].strip() for name in ("type", "source", "due") if name in edited}
    if "keywords" in edited:
        values["keywords"] = keywords_in(edited["keywords"])
    if "content" in edited:
        values["content"] = _like(edited["content"], before.content)
    if "refs" in edited or renew:
        values["code_refs"] = _refs(memory, before.code_refs, edited.get("refs"), renew)
    item = replace(before, **values)
    if item.type == "todo" and not item.status:
        item = replace(item, status="pending")
    knowledge.checked(item)
    own = knowledge.from_markdown(stored.text, stored.where, stored.id)
    heads = _head(own), _head(item)
    changed = {key: heads[1].get(key) for key in {**heads[0], **heads[1]} if heads[0].get(key) != heads[1].get(key)}
    text = with_values(stored.text, changed, stored.where)
    if item.content != own.content:
        head, _ = frontmatter.split(text)
        text = f"---\n{head}---\n\n{item.content}\n" if head else f"{item.content}\n"
    try:
        is_read_back = knowledge.from_markdown(text, stored.where, stored.id) == item
    except MemoryDamaged:
        is_read_back = False
    return text if is_read_back else knowledge.to_markdown(item)  # content that looks like a head needs one before it


def _checkpoint_text(memory: Memory, stored: StoredText, edited: dict[str, str], renew: bool) -> str:
    """The text of a checkpoint's file after an edit. One that a template laid out gets the usual layout."""
    before = _checkpoint(stored)
    values: dict[str, Any] = {}
    if "confidence" in edited:
        values["confidence"] = _share(edited["confidence"])
    if "refs" in edited or renew:
        values["code_refs"] = [ref.to_dict() for ref in _refs(memory, before.code_refs, edited.get("refs"), renew)]
    text = stored.text
    if "content" in edited:
        if not edited["content"].strip():
            raise UsageError("the text is empty", "give a text")
        if before.template:
            values |= {"template": "", "fields": dict(before.fields)}
        head, body = frontmatter.split(text)
        content = _like(edited["content"], body).strip("\n")
        text = f"---\n{head}---\n\n{content}\n" if head else f"{content}\n"
    text = with_values(text, values, stored.where)
    after = checkpoint_text.from_markdown(text, stored.where, stored.id)
    if before.thesis and not after.thesis.strip():
        raise UsageError("a checkpoint needs a thesis", "keep a section `## Thesis` that says what was concluded")
    return text


def _checkpoint(stored: StoredText) -> Any:
    if not stored.path.endswith(".md"):
        raise UsageError(f"{stored.where} has an old format that cannot be edited here", "save it as Markdown")
    return checkpoint_text.from_markdown(stored.text, stored.where, stored.id)


def _body(stored: StoredText) -> str:
    """The Markdown that a person edits: that of the file, or the usual layout if a template made it."""
    checkpoint = _checkpoint(stored)
    body = checkpoint_text.default_body(checkpoint) if checkpoint.template else frontmatter.split(stored.text)[1]
    return body.strip("\n")


def _item(memory: Memory, stored: StoredText) -> knowledge.KnowledgeItem:
    """The item in a file, with the facts of the list."""
    return memory.knowledge.item_in(stored.home, stored.path, stored.text)


def _head(item: knowledge.KnowledgeItem) -> dict[str, Any]:
    """The values of an item's frontmatter."""
    refs = [ref.to_dict() for ref in item.code_refs]
    return {**knowledge.facts_of(item), "id": None, **({"code_refs": refs} if refs else {})}


def _refs(memory: Memory, known: Sequence[CodeRef], given: str | None, renew: bool) -> tuple[CodeRef, ...]:
    """The references that a field names: a line that was there keeps what its code said then."""
    refs = tuple(known)
    if given is not None:
        from sage_code.memory.code.named_refs import resolve_refs  # lazy: the parser

        of_line: dict[str, list[CodeRef]] = {}
        for ref in known:
            of_line.setdefault(ref_line(ref), []).append(ref)
        named: list[Any] = []
        for line in dict.fromkeys(named_lines(given)):
            named += of_line.get(line, [line])
        refs = resolve_refs(memory.root, named)
    return renewed(memory, refs).refs if renew and refs else refs


def _share(percent: str) -> float:
    """A confidence from 0 to 1."""
    try:
        value = float(percent.strip().rstrip("%").strip() or 0) / 100
    except ValueError as error:
        raise UsageError(f"{percent[:40]!r} is no percentage", "give a number from 0 to 100") from error
    if not 0 <= value <= 1:
        raise UsageError(f"{percent[:40]!r} is no percentage", "give a number from 0 to 100")
    return round(value, 4)


def _like(text: str, before: str) -> str:
    """A text with the line ends that the one before it has."""
    return text.replace("\n", "\r\n") if "\r\n" in before and "\n" not in before.replace("\r\n", "") else text


def _without_secrets(edited: dict[str, str], masked: list[str]) -> dict[str, str]:
    from sage_code.text.masking import mask  # lazy: dozens of patterns

    clean = {}
    for name, text in edited.items():
        clean[name], kinds = mask(text)
        masked += kinds
    return clean
