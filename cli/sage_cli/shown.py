"""What plugins change about the output of a command; loaded only if one does.

Everything that a command prints on standard output is collected, and passed on after the plugins have seen it: when the
command flushes, when there is much of it, and at its end. Standard error and the exit code are not theirs.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from sage_code.events.formatting import changed_document, changed_json, changed_text, is_heard

if TYPE_CHECKING:
    from sage_code.search.results import Hit, SearchResponse

# Commands about plugins show what they do without them; the others print for programs, or become one.
_EXEMPT = frozenset({"plugins", "events", "mcp", "completion"})
# More is passed on before the command has ended.
_MANY_CHARS = 65_536
# Values of a hit that its document may change, each with its place there.
_CHANGEABLE = (
    "score", "file", "line", "start_line", "end_line", "kind", "name", "qualname", "language", "signature", "snippet",
    "snippet_line",
)  # fmt: skip


def formatting(arguments: list[str], name_of: Callable[[list[str]], str]) -> Formatting | None:
    """What is between a command and standard output, if a plugin changes what is shown.

    `name_of` gives the words of a command without its arguments: `search`, `checkpoint list`.
    """
    return Formatting(arguments, name_of) if arguments and arguments[0] not in _EXEMPT and is_heard() else None


class Formatting(io.TextIOBase):
    """Standard output while plugins may change it."""

    def __init__(self, arguments: list[str], name_of: Callable[[list[str]], str]) -> None:
        self._arguments, self._name_of, self._name = arguments, name_of, ""
        self._out = sys.stdout
        self._pieces: list[str] = []
        self._size = 0
        self._has_document = False  # plugins have changed the values, and need not see the text before

    def begin(self) -> None:
        """Take the place of standard output."""
        sys.stdout = cast("TextIO", self)

    def end(self) -> None:
        """Give it back, and pass on what is left."""
        sys.stdout = self._out
        self._pass_on("".join(self._pieces))

    def document(self, document: dict[str, Any]) -> dict[str, Any]:
        """The values of an answer, as plugins want them."""
        self._has_document = True
        return changed_document(self._command(), document)

    def response(self, response: SearchResponse) -> SearchResponse:
        """The hits of a search that are printed as text, with the values of their document."""
        from sage_code.search.results import document

        before = document(response)
        after = self.document(before)
        if after is before:
            return response
        hits = {hit.rank: hit for hit in response.results}
        shown = [_changed(hits[row["rank"]], row) for row in after["results"] if row["rank"] in hits]
        return replace(response, results=tuple(replace(hit, rank=rank) for rank, hit in enumerate(shown, 1)))

    def json(self, text: str) -> None:
        """Print the text of a JSON document."""
        self._pass_on("".join(self._pieces))
        self._out.write(f"{changed_json(self._command(), text)}\n")

    def _command(self) -> str:
        if not self._name:
            self._name = self._name_of(self._arguments)
        return self._name

    def _pass_on(self, text: str) -> None:
        self._pieces, self._size = [], 0
        if not text:
            return
        if not self._has_document:
            text = changed_document(self._command(), {"text": text})["text"]
        self._out.write(changed_text(self._command(), text))

    def write(self, text: str) -> int:
        """Collect a text."""
        if not isinstance(text, str):  # Typer writes bytes to see whether it may
            raise TypeError(f"a text is needed, not {type(text).__name__}")
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= _MANY_CHARS:
            self._pass_on_lines()
        return len(text)

    def _pass_on_lines(self) -> None:
        """Pass on whole lines, and keep the rest of the last one."""
        lines, end, rest = "".join(self._pieces).rpartition("\n")
        self._pass_on(lines + end)
        self._pieces, self._size = [rest], len(rest)

    def flush(self) -> None:
        """Pass on what there is: to a terminal all of it, as it may be a question."""
        if self._out.isatty():
            self._pass_on("".join(self._pieces))
        else:
            self._pass_on_lines()
        self._out.flush()

    def isatty(self) -> bool:
        """Whether standard output is a terminal."""
        return self._out.isatty()

    def fileno(self) -> int:
        """The file of standard output."""
        return self._out.fileno()

    def writable(self) -> bool:
        """It is."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of standard output."""
        return self._out.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What happens to a character that it does not have."""
        return self._out.errors

    @property
    def buffer(self) -> BinaryIO:
        """Its bytes, which plugins do not see."""
        self.flush()
        return self._out.buffer


def _changed(hit: Hit, row: dict[str, Any]) -> Hit:
    """A hit with the values of its row."""
    from sage_code.search.results import OtherChunk

    values = {name: row[name] for name in _CHANGEABLE}
    also = tuple(OtherChunk(**one) for one in row["also"])
    spans = hit.match_spans if row["snippet"] == hit.snippet else ()
    return replace(hit, **values, also=also, memory=tuple(row["memory"]), match_spans=spans)
