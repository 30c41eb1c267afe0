"""Tools that look things up in the index: definitions, their uses, outlines, the map, similar code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from anyio import from_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.text.escaping import one_line
from sage_code.text.tokens import count_tokens, first_lines
from sage_mcp import projects
from sage_mcp.answers import FOOT_TOKENS, Answer, Row, cost, fitting, listing, quoted
from sage_mcp.tooling import READS, TOKENS, AskedProject, MaxTokens, Name, Offset, OneFile, ToolSpec

if TYPE_CHECKING:
    from sage_code.lookup.related import Use
    from sage_code.project import Project

# An agent reads every word: more definitions of one name do not help it.
_MOST_SOURCES = 10
_MOST_SIMILAR = 50
# A common name has hundreds of definitions, each with its uses: far more than an answer shows.
_MOST_USES = 1_000
# A use costs more than this: the names of its fields alone do.
_USE_TOKENS = 40
# Left for the lines around a source that is cut to fill an answer.
_AROUND = FOOT_TOKENS + 24

# Added to a note: the lines of what changed files hold would be wrong.
_STALE_LEFT_OUT = "; what is in changed files is left out"

Relation = Literal["references", "callers", "callees", "impact"]
_HEADS = {
    "references": "Uses of",
    "callers": "What calls",
    "callees": "What is called by",
    "impact": "What could break when this changes:",
}

_LEFT_OUT = {
    "below_confidence": "{} less certain (min_confidence=0 shows all)",
    "definitions": "{} definitions not looked at",
    "files": "{} files with the name not read in time",
}


def sage_grep_symbol(
    context: Context, name: Name, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """Where a function, method, class, constant or type is defined, by exact name, bare or qualified (`Server.run`):
    file, line, signature, documentation. Surer than grep, which also finds every use, comment and string. Without a
    match, `nearest` names what looks alike."""
    opened, data = _up_to_date(context, project, {"name": name})
    matches = opened.grep(name, refresh=False)
    head = f"{len(matches)} definitions of {one_line(name)}" if matches else _missing(opened, name, data)
    rows = [Row(_symbol_text(match), match) for match in matches]
    return listing(_noted(head, data), "matches", rows, data, root=opened.root, max_tokens=max_tokens, offset=offset)


def sage_analyze_function(
    context: Context, name: Name, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """The whole source of a function, method or class as it is on the disk now: reads one definition instead of a
    file. All of that name are shown; qualify it (`Server.run`) for one."""
    opened, data = _up_to_date(context, project, {"name": name})
    matches = opened.analyze(name, refresh=False)
    head = f"{len(matches)} definitions of {one_line(name)}" if matches else _missing(opened, name, data)
    rows = [_source(match, max_tokens) for match in matches[: offset + _MOST_SOURCES]]
    answer = listing(
        _noted(head, data), "matches", rows, data, root=opened.root, max_tokens=max_tokens, offset=offset,
        more=len(matches) > len(rows), narrow=" or a qualified name",
    )  # fmt: skip
    return _naming_cut_lines(answer, matches[offset:])


def sage_find_references(
    context: Context,
    name: Name,
    project: AskedProject = None,
    relation: Annotated[Relation, Field(description="impact: what a change may break.")] = "references",
    depth: Annotated[int, Field(ge=1, le=10, description="Steps along the calls.")] = 1,
    min_confidence: Annotated[float, Field(ge=0, le=1, description="0: all that could be meant.")] = 0.4,
    offset: Offset = 0,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Who uses something (references), who calls it (callers), what it calls (callees), or what could break when it
    changes (impact, also of a file). Knows imports, scopes and receivers, so unlike grep it tells apart things of the
    same name; each answer says how certain it is and why."""
    opened, data = _up_to_date(context, project, {"name": name, "relation": relation}, _STALE_LEFT_OUT)
    found = opened.related(
        name, relation, depth=depth, min_confidence=min_confidence, most=_MOST_USES, check=from_thread.check_cancelled,
        refresh=False,
    )  # fmt: skip
    more = not found.is_complete
    head = f"{_HEADS[relation]} {one_line(name)}: {len(found.uses)}{' or more' if more else ''}"
    left_out = asdict(found.left_out)
    if any(left_out.values()):
        data["left_out"] = left_out
        head += f"; left out: {', '.join(_LEFT_OUT[what].format(count) for what, count in left_out.items() if count)}"
    if not found.targets:
        head = _missing(opened, name, data)
    # Lines of code are read for the uses that the budget may have room for, and no others.
    shown = range(offset, min(offset + max_tokens // _USE_TOKENS, len(found.uses)))
    lines = dict(zip(shown, opened.lines_at((found.uses[at].file, found.uses[at].line) for at in shown), strict=True))
    rows = [_use(use, lines.get(at, "")) for at, use in enumerate(found.uses)]
    return listing(
        _noted(head, data), "uses", rows, data, root=opened.root, max_tokens=max_tokens, offset=offset, more=more,
        narrow=", or a qualified name" if found.targets > 1 else "",
    )  # fmt: skip


def sage_outline(
    context: Context, file: OneFile, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """The skeleton of a file: every definition with line, signature and first line of documentation. A tenth of what
    reading the file costs; then read the lines that you need."""
    opened = projects.indexed(context, project)
    projects.check_belongs(opened, file)
    found = opened.outline(file)
    rows = []
    for item in found.items:
        lines = [one_line(line.strip()) for line in item.text().split("\n")]
        text = f"{item.symbol.line:>6}  {'  ' * item.depth}{lines[0]}"
        text += "".join(f"\n        {'  ' * item.depth}  {line}" for line in lines[1:])
        first = item.symbol.docstring.strip().partition("\n")[0]
        rows.append(Row(text, {**asdict(item.symbol), "docstring": first, "depth": item.depth}))
    head = f"{one_line(found.file)}: {found.language}, {found.lines} lines, {len(rows)} definitions"
    data = {"file": found.file, "language": found.language, "lines": found.lines}
    return listing(head, "symbols", rows, data, root=opened.root, max_tokens=max_tokens, offset=offset)


def sage_map(
    context: Context,
    under: Annotated[str, Field(max_length=4_096, description="Only this folder.")] = "",
    project: AskedProject = None,
    max_tokens: MaxTokens = 2_000,
) -> Answer:
    """The most important symbols of a project or a folder, with file, line and signature. Read this first in a project
    that you do not know."""
    from sage_code.lookup.map import entry_line, map_text

    opened, note = _up_to_date(context, project, {}, _STALE_LEFT_OUT)
    found = opened.map(under, max_tokens, refresh=False)
    rows = [Row(entry_line(entry), asdict(entry)) for entry in found.entries]
    kept = fitting(rows, max_tokens - FOOT_TOKENS)
    text = map_text(found.entries[: len(kept)]) or "nothing here is referred to"
    truncated = found.truncated or len(kept) < len(rows)
    following = "the less important are left out: ask for a folder with under, or give a larger max_tokens"
    data = {"entries": [row.data for row in kept], "tokens": found.tokens, **note}
    return Answer(_noted(text, note), data, opened.root, truncated, following if truncated else "")


def sage_similar(
    context: Context,
    where: Annotated[str, Field(max_length=2_000, description="FILE:LINE, or the name of a definition.")],
    project: AskedProject = None,
    limit: Annotated[int, Field(ge=1, le=_MOST_SIMILAR)] = 10,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Code like the code at a line: other implementations, copies, what else to change along with it. Ask before
    writing something that may exist already."""
    opened, data = _up_to_date(context, project, {"query": where}, _STALE_LEFT_OUT)
    location = opened.locate(where, refresh=False)
    if location is None:
        head = _missing(opened, where, {})
        return listing(_noted(head, data), "similar", [], data, root=opened.root, max_tokens=max_tokens)
    line = location.start_line or 1
    rows = []
    for one in opened.similar(location.file, line, limit, refresh=False):
        row = {**asdict(one.chunk), "similarity": round(one.similarity, 4)}
        found = f"{one_line(row['file'])}:{row['start_line']}-{row['end_line']}"
        rows.append(Row(f"{row['similarity']:.2f}  {found}  {row['kind']} {one_line(row['qualname'])}", row))
    head = f"Most like {one_line(location.file)}:{line}"
    return listing(_noted(head, data), "similar", rows, data, root=opened.root, max_tokens=max_tokens)


def _up_to_date(
    context: Context, asked: str | None, data: dict[str, Any], more: str = ""
) -> tuple[Project, dict[str, Any]]:
    """The project with its index brought up to date, and `data` with a note about what could not be, if so."""
    opened = projects.indexed(context, asked)
    note = opened.refresh()
    return opened, {**data, "note": note + more} if note else data


def _noted(head: str, data: dict[str, Any]) -> str:
    """The first lines of an answer, with the note in its data."""
    return f"{head}\nNote: {one_line(data['note'])}" if "note" in data else head


def _missing(project: Project, name: str, data: dict[str, Any]) -> str:
    """The text for a name that nothing has; the nearest names go into `data`."""
    data["nearest"] = project.nearest(name)
    near = f"; nearest: {one_line(', '.join(data['nearest']))}" if data["nearest"] else ""
    return f"Nothing is called {one_line(name)}{near}"


def _symbol_text(match: dict[str, Any]) -> str:
    where = f"{one_line(match['file'])}:{match['line']}-{match['end_line']}"
    first = match["docstring"].strip().partition("\n")[0]
    rest = (f"\n   {one_line(line)}" for line in (match["signature"], first) if line)
    return f"{where}  {match['kind']} {one_line(match['qualname'])}{''.join(rest)}"


def _source(match: dict[str, Any], max_tokens: int) -> Row:
    """A definition with as much of its source as a budget has room for."""
    head = f"{one_line(match['file'])}:{match['start_line']}-{match['end_line']}  {match['kind']} "
    room = max_tokens
    while True:
        source = first_lines(match["source"], room)
        text = f"{head}{one_line(match['qualname'])}\n{quoted(source, match['start_line'], '')}"
        row = Row(text, {**match, "source": source})
        if not source or cost(row) <= max_tokens - _AROUND:
            return row
        room = min(room, count_tokens(source)) * 3 // 4


def _naming_cut_lines(answer: Answer, matches: Sequence[dict[str, Any]]) -> Answer:
    """The answer; if a source was cut, it names the lines that are missing."""
    shown = answer.data["matches"]
    short = [(whole, part) for whole, part in zip(matches, shown, strict=False) if part["source"] != whole["source"]]
    if not short:
        return answer
    missing = []
    for whole, part in short:
        first = whole["start_line"] + (part["source"].count("\n") + 1 if part["source"] else 0)
        missing.append(f"{one_line(whole['file'])}:{first}-{whole['end_line']}")
    rest = f"source cut: read {', '.join(missing)}, or ask with a larger max_tokens"
    return replace(answer, truncated=True, next=f"{rest}; {answer.next}" if answer.next else rest)


def _use(use: Use, line: str) -> Row:
    """A reference, a caller, a callee or something affected, all in one shape; the text shows its line of code."""
    from sage_code.lookup.related import as_row

    row = as_row(use)
    symbol = row.get("definition") or row.get("calls")
    data = {
        "file": use.file, "line": use.line, "scope": use.scope, "kind": row.get("kind", ""),
        "distance": row.get("distance", 1), "symbol": symbol, "confidence": round(use.confidence, 4), "why": use.why,
    }  # fmt: skip
    target = f" → {one_line(symbol['qualname'])} ({one_line(symbol['file'])}:{symbol['line']})" if symbol else ""
    scope = one_line(use.scope) or "(top of the file)"
    text = f"{one_line(use.file)}:{use.line}  {scope}{target}  {use.confidence:.2f} {one_line(use.why)}"
    return Row(f"{text}\n{quoted(line, use.line)}" if line else text, data)


TOOLS = (
    ToolSpec(sage_grep_symbol, "grep", READS),
    ToolSpec(sage_analyze_function, "analyze", READS),
    ToolSpec(sage_find_references, "mcp_references", READS),
    ToolSpec(sage_outline, "outline", READS),
    ToolSpec(sage_map, "map", READS, leave_out=("text",)),
    ToolSpec(sage_similar, "similar", READS, leave_out=("duplicates",)),
)
