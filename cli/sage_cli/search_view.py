"""Prints hits for people: `path:line`, the definition, and its lines with the words of the query marked."""

from __future__ import annotations

from sage_cli.output import CYAN, DIM, END, MARK, has_colour, one_line, plain, say, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.search.results import Hit, SearchResponse

# How many other spans of a file are named, and how many features of an explanation.
_MAX_ALSO = 3
_MAX_SIGNALS = 8


def print_files(response: SearchResponse) -> None:
    """Print only the paths, one a line, as they can be opened from the current folder."""
    for path in dict.fromkeys(_path(response, hit) for hit in response.results):
        print(one_line(path))


def print_hits(response: SearchResponse) -> None:
    """Print the hits, best first."""
    cyan, dim, mark, end = (CYAN, DIM, MARK, END) if has_colour() else ("", "", "", "")
    for hit in response.results:
        where = f"{cyan}{one_line(_path(response, hit))}:{hit.line}{end}"
        name = f"  {one_line(hit.qualname)}" if hit.qualname else ""
        say(f"{where}  {dim}{one_line(hit.kind)}{end}{name}  {dim}{hit.score:.2f}{end}")
        if hit.signature and hit.snippet_line > hit.line:  # the part that matched does not show the head
            say(f"{dim}{hit.line:>6}  {one_line(hit.signature)} ...{end}", " " * 8)
        for number, line in enumerate(plain(hit.snippet).split("\n") if hit.snippet else (), hit.snippet_line):
            say(f"{dim}{number:>6}{end}  {_marked(line, response.query, mark, end) if mark else line}", " " * 12)
        for line in _more(hit):
            say(f"{dim}        {line}{end}", " " * 10)
        print()


def _path(response: SearchResponse, hit: Hit) -> str:
    return shown_path(hit.root or response.root, hit.file)


def _marked(line: str, query: str, mark: str, end: str) -> str:
    from sage_code.search.snippets import matches

    parts, cursor = [], 0
    for start, stop in matches(line, query):
        parts += [line[cursor:start], mark, line[start:stop], end]
        cursor = stop
    return "".join([*parts, line[cursor:]])


def _more(hit: Hit) -> list[str]:
    """The other lines about a hit: more spans of its file, memories, and with `--explain` why it was found."""
    lines = []
    if hit.also:
        spans = (f"{span.start_line}-{span.end_line} {one_line(span.name)}".rstrip() for span in hit.also[:_MAX_ALSO])
        lines.append(f"also {', '.join(spans)}")
    lines += [f"memory  {one_line(note)}" for note in hit.memory]
    if hit.callers is not None:
        lines.append(f"called from {hit.callers} place{'s' * (hit.callers != 1)}, calls {hit.callees}")
    if hit.explain:
        from sage_code.search.features import FEATURES

        for name, share in list(hit.explain.items())[:_MAX_SIGNALS]:
            lines.append(f"{share:+6.2f}  {name}: {FEATURES[name]}")
    return lines
