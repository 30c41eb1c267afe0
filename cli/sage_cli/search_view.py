"""What a person sees of an answer: `path:line`, what stands there, its lines with the words of the question marked."""

from __future__ import annotations

from sage_cli.output import CYAN, DIM, END, MARK, has_colour, one_line, plain, say, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.search.results import Hit, SearchResponse

# Other good places of a file that are named, and signals of an explanation that are worth a line.
_MAX_ALSO = 3
_MAX_SIGNALS = 8


def print_files(response: SearchResponse) -> None:
    """The paths alone, one a line, as they can be opened from here."""
    for path in dict.fromkeys(_path(response, hit) for hit in response.results):
        print(one_line(path))


def print_hits(response: SearchResponse) -> None:
    """The answers, best first."""
    place, dim, mark, end = (CYAN, DIM, MARK, END) if has_colour() else ("", "", "", "")
    for hit in response.results:
        where = f"{place}{one_line(_path(response, hit))}:{hit.line}{end}"
        name = f"  {one_line(hit.qualname)}" if hit.qualname else ""
        say(f"{where}  {dim}{one_line(hit.kind)}{end}{name}  {dim}{hit.score:.2f}{end}")
        if hit.signature and hit.snippet_line > hit.line:  # the part that matched does not show the head
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
    """What else is to be said: other places in the file, and with `--explain` why this one."""
    lines = []
    if hit.also:
        places = (f"{span.start_line}-{span.end_line} {one_line(span.name)}".rstrip() for span in hit.also[:_MAX_ALSO])
        lines.append(f"also {', '.join(places)}")
    lines += [f"memory  {one_line(note)}" for note in hit.memory]
    if hit.callers is not None:
        lines.append(f"called from {hit.callers} place{'s' * (hit.callers != 1)}, calls {hit.callees}")
    if hit.explain:
        from sage_code.search.features import FEATURES

        for name, share in list(hit.explain.items())[:_MAX_SIGNALS]:
            lines.append(f"{share:+6.2f}  {name}: {FEATURES[name]}")
    return lines
