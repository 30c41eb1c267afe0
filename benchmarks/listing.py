"""What `tools/list` costs an agent: `python benchmarks/listing.py`.

A real client asks a real server over stdio. What a model reads are names, descriptions and input schemas, which clients
put into its context; output schemas stay with the client. Tokens are those of `sage_code.text.tokens`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from measure import environment, table

from sage_code.text.tokens import count_tokens

SAGE = [sys.executable, "-P", "-m", "sage_mcp.server"]
READ = ("name", "description", "inputSchema")


def listed() -> list[dict[str, Any]]:
    """The tools as they come over the wire."""
    with tempfile.TemporaryDirectory() as home:
        start = StdioServerParameters(
            command=SAGE[0], args=SAGE[1:], env=environment({"SAGE_HOME": home, "HOME": home}), cwd=home
        )
        tools: list[dict[str, Any]] = []

        async def ask() -> None:
            async with Client(stdio_client(start)) as client:
                found = (await client.list_tools()).tools
                tools.extend(tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in found)

        anyio.run(ask)
    return tools


def cost(parts: Iterable[Any]) -> tuple[int, int]:
    """Tokens and characters of JSON without blanks."""
    texts = [json.dumps(part, separators=(",", ":"), ensure_ascii=False) for part in parts]
    return sum(map(count_tokens, texts)), sum(map(len, texts))


def main() -> None:
    """Measure and print."""
    tools = listed()
    read = [{key: tool[key] for key in READ if key in tool} for tool in tools]
    rows = [
        ["what a model reads", *cost(read)],
        ["output schemas", *cost(tool["outputSchema"] for tool in tools)],
        ["the whole listing", *cost(tools)],
    ]
    print(table([f"{len(tools)} tools", "tokens", "characters"], [[name, f"{t:,}", f"{c:,}"] for name, t, c in rows]))
    dearest = sorted(zip(tools, read, strict=True), key=lambda pair: -cost([pair[1]])[0])
    each = [[tool["name"], cost([part])[0], cost([tool["outputSchema"]])[1]] for tool, part in dearest]
    print(table(["tool", "tokens read", "characters of output schema"], each))


if __name__ == "__main__":
    main()
