"""Prints hits for people: `path:line`, kind and name, and the snippet with the words of the query marked."""

from __future__ import annotations

from sage_cli.output import colours, one_line, plain, say, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.search.results import Hit, SearchResponse

# Other good chunks of a file that are named, and features of an explanation that get a line.
_MAX_ALSO = 3
_MAX_SIGNALS = 8


def print_files(response: SearchResponse) -> None:
    """Print only the paths, one a line, as they can be opened from the current folder."""
    for path in dict.fromkeys(_path(response, hit) for hit in response.results):
        print(one_line(path))


def print_hits(response: SearchResponse) -> None:
    """Print the hits, best first."""
    cyan, dim, mark, _, end = colours()
    for hit in response.results:
        where = f"{cyan}{one_line(_path(response, hit))}:{hit.line}{end}"
        name = f"  {one_line(hit.qualname)}" if hit.qualname else ""
        say(f"{where}  {dim}{one_line(hit.kind)}{end}{name}  {dim}{hit.score:.2f}{end}")
        if hit.signature and hit.snippet_line > hit.line:  # the snippet does not show the head
            say(f"{dim}{hit.line:>6}  {one_line(hit.signature)} ...{end}", " " * 8)
        for number, line in enumerate(_marked(hit, mark, end).split("\n") if hit.snippet else (), hit.snippet_line):
            say(f"{dim}{number:>6}{end}  {line}", " " * 12)
        for line in _more(hit):
            say(f"{dim}        {line}{end}", " " * 10)
        print()


def _path(response: SearchResponse, hit: Hit) -> str:
    return shown_path(hit.root or response.root, hit.file)


def _marked(hit: Hit, mark: str, end: str) -> str:
    """The snippet with `mark` before each word of the query and `end` behind it."""
    if not mark:
        return plain(hit.snippet)
    parts, cursor = [], 0
    for start, stop in hit.match_spans:
        parts += [plain(hit.snippet[cursor:start]), mark, plain(hit.snippet[start:stop]), end]
        cursor = stop
    return "".join([*parts, plain(hit.snippet[cursor:])])


def _more(hit: Hit) -> list[str]:
    """Other good chunks of the file, memories, and with `--explain` callers and features."""
    lines = []
    if hit.also:
        others = (f"{one.start_line}-{one.end_line} {one_line(one.name)}".rstrip() for one in hit.also[:_MAX_ALSO])
        lines.append(f"also {', '.join(others)}")
    lines += [f"memory  {one_line(note)}" for note in hit.memory]
    if hit.callers is not None:
        lines.append(f"called from {hit.callers} place{'s' * (hit.callers != 1)}, calls {hit.callees}")
    if hit.explain:
        from sage_code.search.features import FEATURES

        for name, share in list(hit.explain.items())[:_MAX_SIGNALS]:
            lines.append(f"{share:+6.2f}  {name}: {FEATURES[name]}")
    return lines
