"""From a function of ours to a tool of the protocol: its schemas, its errors, and what goes along with its answer.

A module of tools has plain functions that take a `Context` and give an `Answer`, and lists them in `TOOLS`. The SDK
runs each call in a thread, so that the server goes on answering meanwhile.
"""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from sage_code.errors import SageError
from sage_mcp import opening
from sage_mcp.answers import DEFAULT_TOKENS, LEAST_TOKENS, Answer, one_line
from sage_mcp.masked import masked
from sage_mcp.projects import session_of
from sage_mcp.schemas import output_schema

# Nothing leaves this machine, so the world is closed. A search may bring Sage's own index up to date, which changes
# nothing that anybody else reads: it still counts as reading.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
REMOVES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)

MaxTokens = Annotated[
    int, Field(ge=LEAST_TOKENS, le=25_000, description="What the answer may cost you; it is cut to fit and says so.")
]
Offset = Annotated[int, Field(ge=0, le=100_000, description="Leave out so many: an answer that was cut says how many.")]
Name = Annotated[str, Field(max_length=1_000, description="A name, bare or qualified: `run`, `Server.run`.")]
ProjectPath = Annotated[
    str | None, Field(description="The project, by any folder in it or its name; without, the one you work in.")
]
TOKENS = DEFAULT_TOKENS

_BUG = "this is a bug of Sage; `sage admin verify` checks the index, other tools may still answer"
# What a hint tells people to run, where an agent has a tool.
_RUN_INDEX = re.compile(r"run `sage index[^`]*`(?: first)?")
_log = logging.getLogger(__name__)
_openings = opening.Openings()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool before the SDK knows it."""

    function: Callable[..., Answer]
    schema: str  # of `compiled_schema/`
    annotations: ToolAnnotations
    leave_out: tuple[str, ...] = ()  # keys of the schema that only the command line prints


def as_tool(spec: ToolSpec) -> Tool:
    """The tool that a client calls."""
    tool = Tool.from_function(
        _answering(spec.function),
        description=" ".join((spec.function.__doc__ or "").split()),
        title=spec.function.__name__.removeprefix("sage_").replace("_", " ").capitalize(),
        annotations=spec.annotations,
        structured_output=False,
    )
    # Read live by the SDK: the schema is a file, not something to be derived from types at every start.
    tool.fn_metadata.output_schema = output_schema(spec.schema, spec.leave_out)
    return tool


def _answering(function: Callable[..., Answer]) -> Callable[..., CallToolResult]:
    @functools.wraps(function)
    def call(context: Context, **given: Any) -> CallToolResult:
        try:
            return _result(context, function(context, **given))
        except SageError as error:
            said = f"{error.message}; {error.hint}" if error.hint else error.message
            raise ToolError(one_line(_RUN_INDEX.sub("call sage_index_code", said))) from error
        except Exception as error:
            _log.exception("%s failed", function.__name__)
            raise ToolError(one_line(f"unexpected {type(error).__name__}: {error}; {_BUG}")) from error

    return call


def _result(context: Context, answer: Answer) -> CallToolResult:
    text = f"{answer.text}\n[{answer.next}]" if answer.next else answer.text
    data = {**answer.data, "truncated": answer.truncated, "next": answer.next}
    text, data = masked(text, data)
    content = [TextContent(text=text)]
    if answer.root and _openings.due(session_of(context), answer.root):
        from sage_code.project import Project

        if parts := opening.sections(Project(answer.root)):
            text, told = masked(opening.as_text(parts), {"sections": [asdict(part) for part in parts]})
            content.append(TextContent(text=text))
            data["opening"] = told
    return CallToolResult(content=list(content), structured_content=data)
