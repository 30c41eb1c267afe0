"""Tools that index code and search it."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.errors import IndexCorrupt, NotIndexed
from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import Answer, Row, listing, quoted
from sage_mcp.memory_tools import debug_memory
from sage_mcp.progress import Reports
from sage_mcp.tooling import READS, TOKENS, WRITES, AskedProject, MaxTokens, Offset, ToolSpec, Under

if TYPE_CHECKING:
    from sage_code.project import Project
    from sage_code.search.explanation import Explanation
    from sage_code.search.results import Hit, SearchResponse

_MOST_RESULTS = 100
_MOST_SHARES = 6  # features of the explanation of a result
_FOLDED = "results below a tenth of the first score have no lines; under=FILE shows those of one"
_MOST_REMEMBERED = 3  # memories of each kind in `sage_debug_query`, which is mostly about code

# A pattern that runs longer is ended: it may never come to an end.
_REGEX_SECONDS = 10.0
_MOST_LINES = 10  # of a file with a text; the others are counted

Question = Annotated[
    str,
    Field(
        max_length=20_000,
        description="Words, a name, a path, an error message or code; filters: lang:go path:src/ kind:class in:name.",
    ),
]


def sage_index_code(
    context: Context,
    path: Annotated[str, Field(max_length=4_096, description="The folder to index.")] = ".",
    name: Annotated[str | None, Field(max_length=200, description="Call the project this.")] = None,
    incremental: Annotated[bool, Field(description="false: every file again.")] = True,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Index a project, or bring its index up to date, and wait for it. Searching does this by itself for the project
    you work in: call it for others, after large changes (a branch switch, a pull), or when an answer says that the
    index is old. Can be cancelled."""
    found = projects.find(context, path, by_name=False)
    projects.check_indexable(found.root)
    stats = found.index(full=not incremental, name=name, progress=Reports(context), apart=True)
    text = (
        f"Indexed {one_line(stats.project)} ({one_line(stats.root)}) in {stats.duration_ms / 1000:.1f} s: "
        f"{stats.files_indexed:,} files new or changed, {stats.files_unchanged:,} unchanged, "
        f"{stats.files_removed:,} removed, {stats.files_skipped:,} skipped; {stats.functions_compiled:,} functions, "
        f"{stats.classes_compiled:,} classes, {stats.constants_compiled:,} constants; "
        f"languages: {', '.join(stats.languages) or 'none'}."
    )
    return Answer(text, {**asdict(stats), "languages": list(stats.languages)}, stats.root)


def sage_search_code(
    context: Context,
    query: Question,
    project: AskedProject = None,
    limit: Annotated[int, Field(ge=1, le=_MOST_RESULTS)] = 10,
    language: Annotated[str | None, Field(max_length=200)] = None,
    under: Under = None,
    kind: Annotated[str | None, Field(description="function, method, class, struct ...")] = None,
    mode: Annotated[
        Literal["exact", "regex"] | None, Field(description="The query is text to find as it is, or a Python pattern.")
    ] = None,
    all_projects: Annotated[bool, Field(description="Every indexed project.")] = False,
    explain: Annotated[bool, Field(description="Say why, and count callers.")] = False,
    offset: Offset = 0,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Find the code that answers a question: where something is done, how something works, where an error comes from.
    Understands words and meaning, so you need not know what anything is called. Gives file, lines, what is defined
    there and the lines that matched; with `mode` it replaces grep. `score` is the probability of an answer; unless
    `good`, these are only the nearest. The index is brought up to date first."""
    found = projects.find(context, project)
    if not all_projects:
        projects.check_indexable(found.root)
    wanted = min(limit, _MOST_RESULTS) + offset
    if mode is not None:
        asked = {"language": language, "paths": under, "kinds": kind, "everywhere": all_projects}
        return _text_found(context, found, query, mode, wanted, asked, max_tokens, offset)
    more: dict[str, Any] = {"language": language, "paths": under, "kinds": kind, "explain": explain}
    try:
        response = found.search(query, limit=wanted, everywhere=all_projects, **more)
    except (NotIndexed, IndexCorrupt):
        if all_projects:
            raise
        response = _first_answer(context, found, query, wanted, more)
    return _as_answer(found.root, projects.allowed_hits(response), max_tokens, offset)


def _text_found(
    context: Context, project: Project, text: str, mode: str, limit: int, asked: dict[str, Any], max_tokens: int,
    offset: int,
) -> Answer:  # fmt: skip
    """The files with a text or with matches of a pattern, which is searched for in a process that can be ended."""
    more = {**asked, "regex": True, "seconds": _REGEX_SECONDS} if mode == "regex" else asked
    try:
        data = project.find_text(text, limit, **more)
    except (NotIndexed, IndexCorrupt) as error:
        if asked["everywhere"]:
            raise
        run = projects.start_indexing(context, project)
        if not run.wait(projects.FIRST_WAIT_S):
            raise NotIndexed(f"{error.message}; {run.state()}", "ask again in a while") from error
        data = project.find_text(text, limit, **more)
    rows = [
        Row(_match_text(row), row | {"also": row["also"][:_MOST_LINES]})
        for row in projects.allowed_rows(data["results"], data["root"])
    ]
    where = f"{one_line(data['project'])} ({one_line(data['root'])})" if data["root"] else data["note"]
    head = f"{data['lines']:,} lines in {data['files']:,} files have {one_line(text[:200])!r} in {where}"
    cut = data["truncated"]
    del data["results"], data["truncated"]
    return listing(
        head, "results", rows, data, root=project.root, max_tokens=max_tokens, offset=offset, more=cut,
        narrow=", or narrow by under, language or kind",
    )  # fmt: skip


def _match_text(row: dict[str, Any]) -> str:
    """A file with its lines that match."""
    where = f"{one_line(row['file'])}:{row['line']}"
    if "root" in row:
        where = f"{one_line(row['project'])}: {where}"
    lines = [f"{row['rank']}. {where}  {row['kind']} {one_line(row['qualname'])}".rstrip()]
    lines.append(quoted(row["snippet"], row["snippet_line"]))
    shown = row["also"][:_MOST_LINES]
    lines += [quoted(other["text"], other["start_line"]) for other in shown]
    left = row["lines"] - 1 - len(shown)
    return "\n".join([*lines, f"   and {left:,} lines more"] if left > 0 else lines)


def _first_answer(context: Context, project: Project, query: str, limit: int, more: dict[str, Any]) -> SearchResponse:
    """The answer for a project without a usable index: starts a run, and answers by words if that takes long."""
    run = projects.start_indexing(context, project)
    if run.wait(projects.FIRST_WAIT_S):
        return project.search(query, limit=limit, **more)
    response = project.quick_look(query, limit, more["language"], more["paths"])
    return replace(response, note=f"{response.note}; {run.state()}")


def _as_answer(root: str, response: SearchResponse, max_tokens: int, offset: int) -> Answer:
    """A response as text and data."""
    from sage_code.search.results import document, is_weak

    data = document(response)
    weak = [is_weak(hit, response) for hit in response.results]
    if any(weak):
        for row, is_folded in zip(data["results"], weak, strict=True):
            if is_folded and not row.get("explain"):
                row |= {"snippet": "", "also": []}
        data["note"] = "; ".join(filter(None, (response.note, _FOLDED)))
    rows = [Row(_result_text(row, hit), row) for row, hit in zip(data["results"], response.results, strict=True)]
    where = f"{one_line(response.project)} ({one_line(response.root)})" if response.root else "all projects"
    head = f"{len(rows)} results" if response.good else f"No good match; the nearest {len(rows)}" if rows else "Nothing"
    head += f" for {one_line(response.query[:200])!r} in {where}"
    if data["note"]:
        head += f"\nNote: {one_line(data['note'])}"
    head += "".join(f"\nPlugin: {one_line(note)}" for note in response.plugins)
    del data["results"], data["truncated"]
    return listing(
        head, "results", rows, data, root=root, max_tokens=max_tokens, offset=offset, more=response.truncated,
        narrow=", or narrow by under, language or kind",
    )  # fmt: skip


def _result_text(row: dict[str, Any], hit: Hit) -> str:
    """The lines of a result: where it is, what else is to know about it, its snippet."""
    where = f"{one_line(row['file'])}:{row['start_line']}-{row['end_line']}"
    if "root" in row:
        where = f"{one_line(row['project'])}: {where}"
    what = f"{row['kind']} {one_line(row['qualname'])}".rstrip()
    lines = [f"{row['rank']}. {where}  {what}  score {row['score']:.2f}"]
    if row["also"]:
        others = (f"{span['start_line']}-{span['end_line']} {one_line(span['name'])}".rstrip() for span in row["also"])
        lines.append(f"   also: {', '.join(others)}")
    lines += [f"   memory: {one_line(note)}" for note in row["memory"]]
    if hit.explain is not None:
        calls = f"; {hit.callers} callers, {hit.callees} callees" if hit.callers is not None else ""
        lines.append(f"   because: {_because(hit.explain)}{calls}")
    lines += [f"   plugin: {one_line(note)}" for note in hit.plugins]
    if row["snippet"]:
        lines.append(quoted(row["snippet"], row["snippet_line"]))
    return "\n".join(lines)


def _because(explanation: Explanation) -> str:
    """What the largest features and all others bring to the sum, and how the sum becomes the score."""
    listed, others = explanation.listed(_MOST_SHARES)
    shares = [f"{name} {share:+.2f}" for name, share in listed]
    if rest := explanation.bias + sum(others):
        shares.append(f"others {rest:+.2f}")
    one = explanation
    return f"{', '.join(shares)} = {one.total:.2f}, {one.margin:+.2f} ahead: {one.answers:.2f} x {one.relevance:.2f}"


def sage_debug_query(
    context: Context,
    query: Question,
    project: AskedProject = None,
    limit: Annotated[int, Field(ge=1, le=50)] = 5,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Why something is found or not: how a question is understood, what every feature brought to the score of the best
    results, and the arithmetic of what would be recalled from memory. To find code, call sage_search_code."""
    found = projects.indexed(context, project)
    response = projects.allowed_hits(found.search(query, limit=limit, explain=True, lines=0))
    read = response.parsed
    filters = {name: list(values) for name, values in read.filters._asdict().items()}
    reading = {
        "kind": read.kind,
        "terms": list(read.terms),
        "names": list(read.names),
        "loose_names": list(read.loose_names),
        "paths": list(read.paths),
        "asks_for": sorted(read.asks_for),
        "filters": filters,
    }
    rows = [_scored(hit) for hit in response.results]
    lines = [f"{name}: {one_line(', '.join(map(str, value)) if isinstance(value, list) else str(value))}"
             for name, value in reading.items() if value and name != "filters"]  # fmt: skip
    lines += [f"filter {name}: {one_line(', '.join(values))}" for name, values in filters.items() if values]
    remembered, scores = debug_memory(found, query, min(limit, _MOST_REMEMBERED))
    head = "\n  ".join([f"{one_line(query[:200])!r} is read as", *lines])
    head += "\n  ".join(["\nremembered:", *remembered]) if remembered else ""
    head += "".join(f"\nPlugin: {one_line(note)}" for note in response.plugins)
    head += "\nand scored:"
    data = {"query": query, "root": response.root, "reading": reading, "good": response.good, "note": response.note}
    data |= {"plugins": list(response.plugins)} if response.plugins else {}
    data |= scores
    return listing(head, "code", rows, data, root=found.root, max_tokens=max_tokens, narrow=", or a smaller limit")


def _scored(hit: Hit) -> Row:
    """A hit with what every feature brought to its score."""
    from sage_code.search.explanation import steps
    from sage_code.search.features import MEANINGS

    where = f"{one_line(hit.file)}:{hit.start_line}-{hit.end_line}"
    lines = [f"{hit.rank}. {where}  {hit.kind} {one_line(hit.qualname)}  score {hit.score:.4f}"]
    shown = ("rank", "score", "file", "start_line", "end_line", "kind", "qualname")
    data: dict[str, Any] = {name: getattr(hit, name) for name in shown}
    if hit.explain is not None:
        listed, others = hit.explain.listed()
        lines += [f"   {share:+6.2f}  {name}: {MEANINGS.get(name, '')}" for name, share in listed]
        lines += [f"   {hit.explain.bias + sum(others):+6.2f}  others", *(f"   {step}" for step in steps(hit.explain))]
        data["features"] = {name: round(share, 4) for name, share in hit.explain.shares.items()}
        data["arithmetic"] = hit.explain.arithmetic()
    if hit.plugins:
        lines += [f"   plugin: {one_line(note)}" for note in hit.plugins]
        data["plugins"] = list(hit.plugins)
    return Row("\n".join(lines), data)


TOOLS = (
    ToolSpec(sage_index_code, "index", WRITES),
    ToolSpec(sage_search_code, "search", READS),
    ToolSpec(sage_debug_query, "mcp_debug_query", READS),
)
