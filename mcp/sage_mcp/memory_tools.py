"""Tools for memory: checkpoints of conclusions, and knowledge that a question recalls.

A memory may come from anybody who shares the project. In the text each of its lines follows a `|`, so that nothing in
it can pass for an answer of Sage.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.text.escaping import one_line, visible
from sage_mcp import projects
from sage_mcp.answers import FOOT_TOKENS, Answer, Row, listing, shortened
from sage_mcp.tooling import READS, REMOVES, TOKENS, WRITES, AskedProject, MaxTokens, Offset, ToolSpec

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.memory import Memory
    from sage_code.project import Project

_MOST_LISTED = 1_000

Text = Annotated[str, Field(max_length=100_000)]
Question = Annotated[str, Field(max_length=100_000, description="The question or decision behind it.")]
Thesis = Annotated[str, Field(max_length=100_000, description="What you hold to be true, in a few sentences.")]
Confidence = Annotated[float, Field(ge=0, le=1, description="0 to 1.")]
Texts = list[str] | None
Records = list[dict[str, Any] | str] | None
OpenQuestions = Annotated[Texts, Field(description="What is still unknown.")]
Evidence = Annotated[Texts, Field(description="Facts and figures for the thesis.")]
Trace = Annotated[str, Field(max_length=100_000, description="What you tried and ruled out.")]
Sources = Annotated[Records, Field(description="{id, type, take, relation: supports, contradicts or nuances}.")]
Tensions = Annotated[Records, Field(description="{between: [a, b], nature, resolution}.")]
Contributions = Annotated[Records, Field(description="What you found out yourself: {type, content}.")]
Skill = Annotated[str, Field(max_length=200)]
Limit = Annotated[int, Field(ge=1, le=_MOST_LISTED)]
SoFar = Annotated[int, Field(ge=0, description="Of the conversation so far.")]
CodeRefs = Annotated[
    Records, Field(description="Code it is about: FILE:LINE[-LINE], a symbol, or {file, lines: [a, b], relevance}.")
]
AllowSecret = Annotated[bool, Field(description="Do not mask what looks like a secret.")]
ItemType = Literal["knowledge", "preference", "todo", "reference"]


def sage_save_checkpoint(
    context: Context,
    core_question: Question,
    thesis: Thesis,
    confidence: Confidence,
    open_questions: OpenQuestions = None,
    sources: Sources = None,
    tensions: Tensions = None,
    unique_contributions: Contributions = None,
    action_goal: Annotated[str, Field(max_length=10_000)] = "",
    action_type: Annotated[
        str, Field(max_length=100, description="decision, implementation, learning or exploration.")
    ] = "",
    key_evidence: Evidence = None,
    reasoning_trace: Trace = "",
    template: Annotated[
        str, Field(max_length=200, description="default, research, decision, code-review or the user's.")
    ] = "",
    auto_code_context: Annotated[bool, Field(description="Add the files that this session read and changed.")] = True,
    code_refs: CodeRefs = None,
    fields: Annotated[dict[str, str] | None, Field(description="What the template asks for besides.")] = None,
    skill: Skill = "",
    parent: Annotated[str, Field(max_length=300, description="Id of the checkpoint that this goes on from.")] = "",
    allow_secret: AllowSecret = False,
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Save what you have understood, so that a later session goes on from it, tied to its code. Call it when the user
    asks for a checkpoint, when you have reached a conclusion, or before the context is compacted. Secrets are
    masked."""
    given = {
        "core_question": core_question, "thesis": thesis, "confidence": confidence, "open_questions": open_questions,
        "sources": sources, "tensions": tensions, "unique_contributions": unique_contributions,
        "action_goal": action_goal, "action_type": action_type, "key_evidence": key_evidence,
        "reasoning_trace": reasoning_trace, "template": template, "code_refs": code_refs, "fields": fields,
        "skill": skill, "parent": parent,
    }  # fmt: skip
    return _save(context, project, given, auto_code_context=auto_code_context, allow_secret=allow_secret)


def sage_autosave_check(
    context: Context,
    trigger_event: Annotated[
        str,
        Field(
            max_length=100,
            description="synthesis, web_search_complete, topic_shift, branch_point, constraint_discovered, "
            "context_threshold, precompact, research_start, manual.",
        ),
    ],
    core_question: Text,
    current_thesis: Text,
    confidence: Confidence,
    open_questions: Texts = None,
    sources: Records = None,
    tensions: Records = None,
    unique_contributions: Records = None,
    key_evidence: Texts = None,
    reasoning_trace: Text = "",
    message_count: SoFar = 0,
    token_estimate: SoFar = 0,
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Save a checkpoint, with the arguments of sage_save_checkpoint, if the moment is worth one: sure enough for what
    set it off, deep enough into the conversation, and not what a recent one says already. Says why it did not."""
    given = {
        "trigger": trigger_event, "core_question": core_question, "thesis": current_thesis, "confidence": confidence,
        "open_questions": open_questions, "sources": sources, "tensions": tensions,
        "unique_contributions": unique_contributions, "key_evidence": key_evidence,
        "reasoning_trace": reasoning_trace, "message_count": message_count, "token_estimate": token_estimate,
    }  # fmt: skip
    return _save(context, project, given, autosave=True)


def sage_load_checkpoint(
    context: Context,
    checkpoint_id: Annotated[str, Field(max_length=300, description="Its id, or a part of it that no other has.")],
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """All that a checkpoint says, and whether the code that it is about still says the same. What is marked changed or
    gone needs another look before you rely on it."""
    from sage_code.memory.documents import checkpoint_document
    from sage_code.memory.files.checkpoint_text import default_body

    found = projects.find(context, project)
    checkpoint = found.memory.checkpoints.load(checkpoint_id)
    states = found.memory.ref_states(checkpoint)
    head = f"Checkpoint {one_line(checkpoint.id)}, {checkpoint.confidence:.0%} sure, {one_line(checkpoint.ts)}"
    text = "\n".join([head, *staleness_lines(states), quoted_lines(default_body(checkpoint).strip("\n"))])
    whole = Row(text, checkpoint_document(checkpoint, states))
    shown = shortened(whole, max_tokens - FOOT_TOKENS)
    rest = "" if shown is whole else "cut to fit: ask with a larger max_tokens"
    return Answer(shown.text, shown.data, found.root, bool(rest), rest)


def sage_list_checkpoints(
    context: Context,
    limit: Limit = 10,
    skill: Skill = "",
    project: AskedProject = None,
    offset: Offset = 0,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """The newest checkpoints of this project: id, thesis and confidence of each."""
    from sage_code.memory.documents import checkpoint_row

    found = projects.find(context, project)
    rows = []
    for one, scope in islice(found.memory.checkpoints.newest(skill=skill), offset + limit):
        data = {**checkpoint_row(one, scope), "thesis": _line(one.thesis), "core_question": _line(one.core_question)}
        text = f"- {one_line(one.id)} ({one.confidence:.0%}, {one_line(one.trigger)}): {data['thesis']}"
        rows.append(Row(text, data))
    head = "Checkpoints, newest first:" if rows else "No checkpoints yet; sage_save_checkpoint makes one"
    return _listing(found, head, "checkpoints", rows, {}, max_tokens=max_tokens, offset=offset)


def sage_search_checkpoints(
    context: Context,
    query: Annotated[str, Field(max_length=10_000)],
    limit: Annotated[int, Field(ge=1, le=100)] = 5,
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Earlier conclusions about a question, each with the probability that it is; ask before you begin a task.
    sage_load_checkpoint takes one up again."""
    from sage_code.memory.documents import found_row

    found = projects.find(context, project)
    rows = []
    for rank, one in enumerate(found.memory.checkpoints.search(query, limit), 1):
        row = found_row(one)
        confidence = float(one.shown.get("confidence") or 0)
        text = f"{rank}. [{one.score:.0%}] {one_line(one.id)}\n   | {_line(str(row['thesis']))}\n"
        text += f"   {confidence:.0%} sure, {one_line(str(row['trigger']))}"
        rows.append(Row(text, {**row, "thesis": _line(row["thesis"]), "core_question": _line(row["core_question"])}))
    head = f"Checkpoints about {one_line(query[:200])}:" if rows else "No checkpoints here"
    return _listing(found, head, "results", rows, {"query": query[:1_000]}, max_tokens=max_tokens)


def sage_save_knowledge(
    context: Context,
    knowledge_id: Annotated[str, Field(max_length=300, description="Letters, digits, - and _.")],
    content: Annotated[str, Field(max_length=200_000)],
    keywords: Annotated[list[str] | None, Field(description="Words in a question that call it up.")] = None,
    skill: Annotated[str, Field(max_length=200, description="Only for this skill.")] = "",
    source: Annotated[str, Field(max_length=1_000)] = "",
    item_type: Annotated[
        ItemType, Field(description="knowledge: a fact; reference: material to look up.")
    ] = "knowledge",
    code_refs: CodeRefs = None,
    due: Annotated[str, Field(max_length=40, description="Of a todo: 2026-11-30.")] = "",
    allow_secret: AllowSecret = False,
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Keep a fact, a preference, a todo or a reference for later sessions; one with the same id is replaced. Names what
    says the same or the opposite already: ask the user before merging. Secrets are masked."""
    from sage_code.memory.documents import alike_lines, maintenance_lines, saved_knowledge
    from sage_code.memory.files.knowledge import KnowledgeItem

    found = projects.find(context, project)
    item = KnowledgeItem(knowledge_id, content, item_type, tuple(keywords or ()), skill, source, due=due)
    saved, masked = found.memory.save_knowledge(item, refs=code_refs or (), allow_secret=allow_secret)
    kept = f"{'Replaced' if saved.replaced else 'Kept'} {saved.item.id} ({saved.item.type})"
    lines = [*map(one_line, [kept, *alike_lines(saved)]), *_notices(found.memory), *masked_lines(masked)]
    lines += map(one_line, maintenance_lines(saved.maintenance, "knowledge"))
    return Answer("\n".join(lines), saved_knowledge(saved, masked), found.root)


def sage_recall_knowledge(
    context: Context,
    query: Annotated[str, Field(max_length=10_000)],
    skill: Skill = "",
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Facts, preferences, todos and references that belong to a question. Call it when a topic comes up that may have
    been settled before."""
    from sage_code.memory.documents import knowledge_document, noted

    found = projects.find(context, project)
    rows = []
    for item, score in found.memory.recaller.recall(query, skill=skill):
        states = found.memory.ref_states(item)
        data = knowledge_document(item, score.scope, states)
        keywords = f" ({one_line(', '.join(item.keywords))})" if item.keywords else ""
        text = "\n".join(
            [f"{one_line(item.id)}{keywords} {score.score:.2f}", *staleness_lines(states), quoted_lines(item.content)]
        )
        more = {"score": score.score, "arithmetic": score.arithmetic, **noted(score.plugins)}
        rows.append(Row(text, {**data, **more}))
    head = f"Known about {one_line(query[:200])}:" if rows else "Nothing known belongs to that"
    near = [] if rows else found.memory.recaller.nearest(query, skill=skill)
    if near:
        some = ", ".join(f"{one_line(one.id)} ({one.score:.2f} of {one.threshold:.2f})" for one in near)
        head += f"; nearest, below their thresholds: {some}"
    nearest = [{"id": one.id, "score": one.score, "threshold": one.threshold} for one in near]
    data = {"query": query[:1_000], "nearest": nearest}
    rows = [shortened(row, max_tokens - 4 * FOOT_TOKENS) for row in rows]
    return _listing(found, head, "items", rows, data, max_tokens=max_tokens, narrow=", or a narrower question")


def sage_list_knowledge(
    context: Context,
    skill: Annotated[str, Field(max_length=200, description="What this skill sees; empty: all.")] = "",
    project: AskedProject = None,
    offset: Offset = 0,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """List what is known, without the texts: id, type, keywords, and of todos whether they are due."""
    from sage_code.memory.documents import knowledge_row

    found = projects.find(context, project)
    rows = []
    for known in islice(found.memory.knowledge.items(skill=skill or None), offset + _MOST_LISTED):
        item = known.item
        facts = [item.type, *(["due"] if item.is_due else [item.status] if item.status else [])]
        text = f"- {one_line(item.id)} [{', '.join(facts)}] {one_line(', '.join(item.keywords))}"
        rows.append(Row(text.rstrip(), knowledge_row(item, known.scope)))
    head = "Known:" if rows else "Nothing is known yet; sage_save_knowledge keeps something"
    return _listing(found, head, "items", rows, {}, max_tokens=max_tokens, offset=offset)


def sage_remove_knowledge(
    context: Context,
    knowledge_id: Annotated[str, Field(max_length=300)],
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Delete an item of knowledge that is wrong or no longer wanted."""
    found = projects.find(context, project)
    removed = found.memory.knowledge.remove(knowledge_id)
    return Answer(f"Removed {one_line(removed)}", {"id": removed, "removed": True}, found.root)


def sage_still_true(
    context: Context,
    memory_id: Annotated[str, Field(max_length=300, description="Of a checkpoint or of an item of knowledge.")],
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Say that a memory marked STALE holds all the same, after you have looked at the code: its references take over
    the code as it is now."""
    from sage_code.memory.confirming import confirm
    from sage_code.memory.documents import confirmed_document

    found = projects.find(context, project)
    done = confirm(found.memory, memory_id)
    text = f"Still true: {one_line(done.id)}, {done.renewed} references renewed, {done.dropped} gone and taken out"
    return Answer(text, confirmed_document(done), found.root)


def debug_memory(project: Project, query: str, limit: int) -> tuple[list[str], dict[str, Any]]:
    """For `sage_debug_query`: the scores of memories for a question, as lines and as data."""
    from sage_code.memory.documents import score_row

    scores = project.memory.recaller.scores(query, skill=None, limit=limit)
    lines = [f"knowledge {one_line(one.id)}: {one.arithmetic} of {one.threshold:.2f}" for one in scores]
    checkpoints = []
    for found in project.memory.checkpoints.search(query, limit):
        checkpoints.append({"id": found.id, **found.explain})
        parts = ", ".join(f"{name} {value:.3f}" for name, value in found.explain.items())
        lines.append(f"checkpoint {one_line(found.id)}: {parts}")
    return lines, {"knowledge": [score_row(one) for one in scores], "checkpoints": checkpoints}


def _save(
    context: Context,
    project: str | None,
    given: dict[str, Any],
    *,
    autosave: bool = False,
    auto_code_context: bool = True,
    allow_secret: bool = False,
) -> Answer:
    """Save a checkpoint, and say what was done."""
    from sage_code.continuity.queue import current_session, note_checkpoint
    from sage_code.memory.documents import maintenance_lines, saved_document

    found = projects.find(context, project)
    saved = found.memory.save_checkpoint(
        given, autosave=autosave, auto_code_context=auto_code_context, allow_secret=allow_secret
    )
    document = saved_document(saved)
    if saved.checkpoint is None:
        text = f"Not saved ({saved.judgement.verdict}): {one_line(saved.judgement.why)}"
    else:
        note_checkpoint(found.root, saved.checkpoint.id, current_session())
        files = f" [{document['files_changed']} files changed]" if document["files_changed"] else ""
        text = f"Checkpoint saved{files}: {one_line(saved.checkpoint.id)}\n| {_line(saved.checkpoint.thesis)}"
    maintained = map(one_line, maintenance_lines(saved.maintenance, "checkpoint"))
    return Answer(
        "\n".join([text, *_notices(found.memory), *masked_lines(saved.masked), *maintained]), document, found.root
    )


def _listing(
    project: Project, head: str, key: str, rows: list[Row], data: dict[str, Any], *, max_tokens: int, **more: Any
) -> Answer:
    """An answer that lists memories, after the notices of this call."""
    head = "\n".join([*_notices(project.memory), head])
    return listing(head, key, rows, data, root=project.root, max_tokens=max_tokens, **more)


def _notices(memory: Memory) -> list[str]:
    """Notices of this call: damaged files, a list that was rebuilt."""
    return [one_line(notice) for notice in memory.notices.take()]


def masked_lines(kinds: tuple[str, ...]) -> list[str]:
    """A line that names the kinds of secrets that were masked, if there were any."""
    return [f"Masked before it was written: {one_line(', '.join(sorted(set(kinds))))}"] if kinds else []


def staleness_lines(states: tuple[RefState, ...]) -> list[str]:
    """Lines about the code of a memory that has changed, moved or gone."""
    lines = []
    for state in states:
        where = one_line(f"{state.ref.file} {state.ref.symbol}".strip())
        if state.is_stale:
            lines.append(f"STALE: {where} has {'changed' if state.state == 'changed' else 'gone'} since")
        elif state.state == "moved" and state.now is not None:
            line = f":{state.now.lines[0]}" if state.now.lines else ""
            lines.append(f"moved: {where} is now at {one_line(state.now.file)}{line}")
    return lines


def quoted_lines(text: str, indent: str = "") -> str:
    """A text from a memory, each line behind a bar."""
    return "\n".join(f"{indent}| {visible(line)}" for line in text.split("\n"))


def _line(text: str, length: int = 300) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


TOOLS = (
    ToolSpec(sage_save_checkpoint, "checkpoint_save", WRITES),
    ToolSpec(sage_autosave_check, "checkpoint_save", WRITES),
    ToolSpec(sage_load_checkpoint, "checkpoint", READS),
    ToolSpec(sage_list_checkpoints, "checkpoint_list", READS),
    ToolSpec(sage_search_checkpoints, "checkpoint_search", READS),
    ToolSpec(sage_save_knowledge, "knowledge_save", WRITES),
    ToolSpec(sage_recall_knowledge, "mcp_recall", READS),
    ToolSpec(sage_list_knowledge, "knowledge_list", READS),
    ToolSpec(sage_remove_knowledge, "memory_rm", REMOVES),
    ToolSpec(sage_still_true, "still_true", WRITES),
)
