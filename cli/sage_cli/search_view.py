"""Prints hits for people: `path:line`, kind and name, and the snippet with the words of the query marked.

All hits fit on a screen, so that the best one does not scroll away: the first has more lines than the others, and those
that are much weaker have only their head. `--lines`, `--context` and `--explain` show all that there is instead.
"""

from __future__ import annotations

import os
import sys

from sage_cli.output import colours, columns, one_line, plain, say, shown_path, wrapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.search.explanation import Explanation
    from sage_code.search.results import Hit, SearchResponse

# Lines of a snippet for the first hits, and for each of the others: the best line.
_FIRST_LINES = (8, 3, 3)
_LATER_LINES = 1
# Lines of an answer where the height of the screen is unknown, and where it is larger.
_SCREEN_LINES = 40
# Kept free: the next prompt, and the command above.
_PROMPT_LINES = 2
_INDENTS = {"head": " " * 4, "code": " " * 12, "more": " " * 10}


def print_files(response: SearchResponse) -> None:
    """Print only the paths, one a line, as they can be opened from the current folder."""
    for path in dict.fromkeys(_path(response, hit) for hit in response.results):
        print(one_line(path))


def print_vimgrep(response: SearchResponse) -> None:
    """Print the place of each hit, for an editor."""
    from sage_cli.vimgrep import print_places

    print_places(
        (hit.root or response.root, hit.file, hit.line, _line_of(hit) or hit.signature, hit.name)
        for hit in response.results
    )


def _line_of(hit: Hit) -> str:
    """The line of a hit, if its snippet shows it."""
    lines, at = hit.snippet.split("\n"), hit.line - hit.snippet_line
    return lines[at] if 0 <= at < len(lines) else ""


def print_hits(response: SearchResponse, *, is_full: bool = False) -> None:
    """Print the hits, best first: all lines that each has, or what fits on a screen."""
    _, dim, _, _, end = colours()
    for note in response.plugins:
        say(f"{dim}plugin  {one_line(note)}{end}", _INDENTS["more"])
    if is_full:
        for hit in response.results:
            for indent, line in (*_head(response, hit), *_body(hit, hit), *_details(hit)):
                say(line, _INDENTS[indent])
            print()
        return
    from sage_code.search.results import is_weak

    room = _screen() - len(response.results)
    for number, hit in enumerate(response.results):
        head = _head(response, hit)
        wanted = 0 if is_weak(hit, response) else (*_FIRST_LINES, _LATER_LINES)[min(number, len(_FIRST_LINES))]
        lines = _fitting(hit, wanted, room, has_details=number < len(_FIRST_LINES))
        for indent, line in (*head, *lines):
            say(line, _INDENTS[indent])
        room -= sum(_height(indent, line) for indent, line in (*head, *lines)) - 1
        if lines and number < len(_FIRST_LINES) and room > 0:
            print()
            room -= 1


def _screen() -> int:
    """The lines that an answer may have."""
    if sys.stdout.isatty():
        try:
            return min(_SCREEN_LINES, os.get_terminal_size(sys.stdout.fileno()).lines or _SCREEN_LINES) - _PROMPT_LINES
        except OSError:
            pass
    return _SCREEN_LINES


def _fitting(hit: Hit, wanted: int, room: int, *, has_details: bool) -> list[tuple[str, str]]:
    """At most `wanted` lines of a hit's snippet and a line about the rest; fewer where there is no room for them."""
    from sage_code.search.results import trimmed

    for count in range(wanted, 0, -1):
        lines = _body(hit, trimmed(hit, count), has_signature=count > 1)
        if has_details:
            lines += _details(hit, hidden=hit.end_line - hit.start_line + 1 - count)
        if sum(_height(indent, line) for indent, line in lines) <= room:
            return lines
    return []


def _height(indent: str, line: str) -> int:
    """How many lines of the screen a line takes."""
    return wrapped(line, _INDENTS[indent]).count("\n") + 1 if sys.stdout.isatty() else 1


def _path(response: SearchResponse, hit: Hit) -> str:
    if hit.repository:
        return f"{hit.repository}/{hit.file}"
    return shown_path(hit.root or response.root, hit.file)


def _head(response: SearchResponse, hit: Hit) -> list[tuple[str, str]]:
    """Where a hit is, and what."""
    cyan, dim, _, _, end = colours()
    where = f"{cyan}{one_line(_path(response, hit))}:{hit.line}{end}"
    name = f"  {one_line(hit.qualname)}" if hit.qualname else ""
    return [("head", f"{where}  {dim}{one_line(hit.kind)}{end}{name}  {dim}{hit.score:.2f}{end}")]


def _body(hit: Hit, shown: Hit, *, has_signature: bool = True) -> list[tuple[str, str]]:
    """The snippet of `shown`, and the signature of `hit` where the snippet does not have the head."""
    _, dim, mark, _, end = colours()
    lines = []
    if has_signature and hit.signature and 0 < hit.head_line < shown.snippet_line:
        lines.append(("code", f"{dim}{hit.head_line:>6}  {one_line(hit.signature)} ...{end}"))
    rows = _marked(shown, mark, end).split("\n") if shown.snippet else ()
    lines += [("code", f"{dim}{number:>6}{end}  {line}") for number, line in enumerate(rows, shown.snippet_line)]
    return lines


def _marked(hit: Hit, mark: str, end: str) -> str:
    """The snippet with `mark` before each word of the query and `end` behind it."""
    if not mark:
        return plain(hit.snippet)
    parts, cursor = [], 0
    for start, stop in hit.match_spans:
        parts += [plain(hit.snippet[cursor:start]), mark, plain(hit.snippet[start:stop]), end]
        cursor = stop
    return "".join([*parts, plain(hit.snippet[cursor:])])


def _details(hit: Hit, hidden: int = 0) -> list[tuple[str, str]]:
    """What is not shown, other good places of the file, memories, and with `--explain` callers and reasons."""
    _, dim, _, _, end = colours()
    notes = [f"... {hidden} more line{'s' * (hidden != 1)}"] if hidden > 0 else []
    notes += [_also(hit, sum(len(note) + 2 for note in notes))] if hit.also else []
    lines = ["; ".join(notes)] if notes else []
    lines += [f"memory  {one_line(note)}" for note in hit.memory]
    if hit.callers is not None:
        lines.append(f"called from {hit.callers} place{'s' * (hit.callers != 1)}, calls {hit.callees}")
    if hit.explain is not None:
        lines += _reasons(hit.explain)
    lines += [f"plugin  {one_line(note)}" for note in hit.plugins]
    return [("more", f"{dim}        {line}{end}") for line in lines]


def _also(hit: Hit, used: int) -> str:
    """The other good places of the file, as many as a line has room for."""
    room = columns() - len(_INDENTS["more"]) - used
    text = ""
    for one in hit.also:
        lines = f"{one.start_line}" if one.start_line == one.end_line else f"{one.start_line}-{one.end_line}"
        place = f"{lines} {one_line(one.name)}".rstrip()
        if text and len(text) + len(place) + 2 > room:
            break
        text += f", {place}" if text else f"also {place}"
    return text


def _reasons(explanation: Explanation) -> list[str]:
    """What each feature adds to the sum, and how the sum becomes the score."""
    from sage_code.search.explanation import steps
    from sage_code.search.features import MEANINGS

    listed, others = explanation.listed()
    lines = [f"{share:+6.2f}  {name}: {MEANINGS.get(name, '')}" for name, share in listed]
    if explanation.bias:
        lines.append(f"{explanation.bias:+6.2f}  for every candidate")
    if others:
        lines.append(f"{sum(others):+6.2f}  {len(others)} other{'s' * (len(others) != 1)}")
    return [*lines, *steps(explanation)]
