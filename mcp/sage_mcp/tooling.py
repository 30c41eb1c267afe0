"""Makes a tool of the protocol from a Python function: its schemas, its errors, and the opening of a session.

A module of tools has plain functions that take a `Context` and return an `Answer`, and lists them in `TOOLS`. The SDK
runs each call in a thread, so the server answers other calls meanwhile.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Container
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from sage_code.errors import SageError, UsageError, explain
from sage_code.paths import anybody_listens
from sage_code.serving.requester import MEMORY_READ, may
from sage_code.text.escaping import one_line
from sage_mcp import opening, rights
from sage_mcp.answers import DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS, Answer
from sage_mcp.masked import masked, strings_in
from sage_mcp.projects import STDIO, session_of
from sage_mcp.schemas import sent_answer_schema, sent_call_schema

if TYPE_CHECKING:
    from sage_mcp.shown import Formatting

# Nothing leaves this machine, so the world is closed. A search may update Sage's own index, which nothing else reads:
# it still counts as reading.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REMOVES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

# The same in every tool that has them; the server's instructions describe them.
MaxTokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)]
Offset = Annotated[int, Field(ge=0, le=100_000)]
AskedProject = Annotated[str | None, Field(max_length=4_096)]
Name = Annotated[str, Field(max_length=1_000)]
OneFile = Annotated[str, Field(max_length=4_096, description="A file of the project.")]
Under = Annotated[str | None, Field(max_length=4_096, description="Only below this folder, or like this glob.")]
TOKENS = DEFAULT_TOKENS

_BUG = "this is a bug of Sage; `sage admin verify` checks the index, other tools may still answer"
# What a hint tells people to run and an agent does with a tool.
_RUN_INDEX = re.compile(r"run `sage index[^`]*`(?: first)?")
# Former names of parameters: still understood, and not listed.
_FORMER_NAMES = {"project_path": ("project",), "path": ("under", "file")}
_log = logging.getLogger(__name__)
_openings = opening.Openings()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool before the SDK knows it."""

    function: Callable[..., Answer]
    schema: str  # of `compiled_schema/`
    annotations: ToolAnnotations
    leave_out: tuple[str, ...] = ()  # keys of the schema that only the command line prints


class _StrictTool(Tool):
    """Refuses unknown arguments by name, and says what is wrong with the others."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:
        """Answer one call."""
        rights.check(self.name)
        known = self.parameters["properties"]
        given = {_present_name(name, known): value for name, value in arguments.items()}
        if unknown := [name for name in given if name not in known]:
            raise ToolError(_unknown(self.name, unknown, list(known)))
        try:
            return await super().run(given, context, convert_result)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_invalid(self.name, error.__cause__)) from error
            raise


def as_tool(spec: ToolSpec) -> Tool:
    """The tool that a client calls."""
    tool = _StrictTool.from_function(
        _answering(spec),
        description=" ".join((spec.function.__doc__ or "").split()),
        title=spec.function.__name__.removeprefix("sage_").replace("_", " ").capitalize(),
        annotations=spec.annotations,
        structured_output=False,
    )
    tool.parameters = sent_call_schema(tool.parameters)
    # The SDK reads this attribute for each listing: the schema is a file, and is not derived from types.
    tool.fn_metadata.output_schema = sent_answer_schema(spec.schema, spec.leave_out)
    return tool


def _present_name(name: str, known: Container[str]) -> str:
    return next((new for new in _FORMER_NAMES.get(name, ()) if name not in known and new in known), name)


def _unknown(tool: str, names: list[str], known: list[str]) -> str:
    """The error for arguments that a tool does not have."""
    from difflib import get_close_matches  # lazy: only mistakes need it

    said = []
    for name in names:
        near = get_close_matches(name, known, 1)
        said.append(f"{one_line(name[:100])!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
    return f"{tool} has no argument {', '.join(said)}; it takes {', '.join(known)}"


def _invalid(tool: str, error: ValidationError) -> str:
    """The error for arguments with wrong values: names and reasons, without the values."""
    wrong = (
        f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
        for one in error.errors(include_url=False, include_context=False, include_input=False)
    )
    return one_line(f"{tool} cannot be called like this: {'; '.join(wrong)}")


def _answering(spec: ToolSpec) -> Callable[..., CallToolResult]:
    """The function as the SDK calls it: its answer as a result, its errors as errors of the tool."""
    function = spec.function

    @functools.wraps(function)
    def call(context: Context, **given: Any) -> CallToolResult:
        try:
            _check_texts(given)
            return _result(context, spec, function(context, **given))
        except (SageError, OSError) as caught:
            error = explain(caught) if isinstance(caught, OSError) else caught
            said = f"{error.message}; {error.hint}" if error.hint else error.message
            raise ToolError(one_line(_RUN_INDEX.sub("call sage_index_code", said))) from caught
        except Exception as error:
            _log.exception("%s failed", function.__name__)
            raise ToolError(one_line(f"unexpected {type(error).__name__}: {error}; {_BUG}")) from error

    return call


def _check_texts(given: object) -> None:
    """Refuse texts that no path, no name and no file can contain."""
    for text in strings_in(given):
        if "\0" in text:
            raise UsageError("an argument holds a NUL character", "leave it out")
        if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
            raise UsageError("an argument holds half of a surrogate pair", "send whole characters")


def _pending_brief(context: Context, root: str) -> str:
    """The notes that the client's session waits for after a compaction, once.

    Over HTTP clients share this process, which cannot tell their sessions apart: they get none.
    """
    from sage_code.continuity.overview import take_brief
    from sage_code.continuity.queue import current_session

    return take_brief(root, current_session()) if session_of(context) == STDIO else ""


def _result(context: Context, spec: ToolSpec, answer: Answer) -> CallToolResult:
    """An answer as the client gets it: masked, with the opening if the session has not read it yet."""
    text = f"{answer.text}\n[{answer.next}]" if answer.next else answer.text
    data = {**answer.data, "truncated": answer.truncated, "next": answer.next}
    shown = _formatting(spec)
    if shown is not None:
        text, data = shown.before(text, data)
    text, data = masked(text, data)
    content = [TextContent(text=text)]
    if answer.root and may(MEMORY_READ) and _openings.due(session_of(context), answer.root):
        from sage_code.project import Project

        if begun := opening.opening(Project(answer.root)):
            text, sections = begun.text, {"sections": [asdict(part) for part in begun.sections]}
            text, sections = masked(*(shown.beside(text, sections) if shown is not None else (text, sections)))
            content.append(TextContent(text=text))
            data["opening"] = sections
    if answer.root and (brief := _pending_brief(context, answer.root)):
        text, notes = brief, {"continuity": brief}
        text, notes = masked(*(shown.beside(text, notes) if shown is not None else (text, notes)))
        content.append(TextContent(text=text))
        data |= notes
    if shown is not None:
        content, data = [TextContent(text=shown.after(block.text)) for block in content], shown.after_data(data)
    return CallToolResult(content=list(content), structured_content=data)


def _formatting(spec: ToolSpec) -> Formatting | None:
    """What plugins change about the answers of a tool, if one does."""
    if not anybody_listens():
        return None
    from sage_mcp.shown import formatting  # lazy: most users have no plugins

    return formatting(spec.function.__name__, spec.schema, spec.leave_out)
