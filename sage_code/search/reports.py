"""Takes a long text apart line by line: its title, the zones below it, and the frames of its stack traces.

Only `zones.py` calls this, for texts that are longer than a question: the patterns take milliseconds to compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sage_code.search.zone_kinds import CODE, MESSAGE, NOISE, PROSE, Frame, Zone

_MAX_TITLE_CHARS = 240
_FENCE = re.compile(r"\s*(```|~~~)")
_FRAME = re.compile(
    r'^\s*File "(?P<python>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>[\w.<>]+))?'
    r"|^\s*at (?P<called>[\w$.<>\[\] ]+?) ?\((?P<file>[\w./@:\\-]+?):(?P<row>\d+)(?::\d+)?\)"
    r"|^\s*at (?P<bare>[\w./@-]+):(?P<number>\d+)(?::\d+)?$"
    r"|^\s*(?P<go>[\w./@-]+\.(?:go|rs|rb|php|c|cc|cpp|py|js|ts|ex|exs)):(?P<at>\d+)(?::\d+)?"
    r"(?::?in [`'](?P<ruby>[\w.#?!]+)')?"
)
_ERROR = re.compile(
    r"^\s*(?:[\w.]+(?:Error|Exception|Warning|Failure|Panic|Interrupt)\b(?::|$)|panic: |error(?:\[\w+\])?: |fatal: |"
    r"thread '.*' panicked)"
)
_TRACE_START = re.compile(r"^\s*(?:Traceback \(most recent|goroutine \d+|stack backtrace|Caused by:)")
_PROMPT = re.compile(r"^\s*(?:>>> |\.\.\. |In ?\[\d+\]|Out ?\[\d+\]|\$ |> ?[\w.]+\()")
_NOISE_HEADING = re.compile(
    r"(?i)^[\s#*_-]*(?:versions?|environment(?: info)?|system(?: info(?:rmation)?)?|your (?:project|environment)|"
    r"platform|screenshots?|extra tools|os|additional (?:context|information)|checklist|node version)\b[\s:*_#]*$"
)
_HEADING = re.compile(
    r"(?i)^\s*(?:#{1,6}\s.*|\*\*[^*]{1,60}\*\*:?\s*|(?:description|steps?(?:/code)? to reproduce|"
    r"expected(?: results?| behaviou?r)?|actual(?: results?| behaviou?r)?|describe the bug|to reproduce):?\s*)$"
)
_NOISE_LINE = re.compile(
    r"(?i)^\s*[-*]?\s*(?:(?:os|platform|machine|executable|blas|macros|lib_dirs|cblas_libs|python|pip|setuptools|numpy|scipy|"
    r"cython|pandas|node|npm|yarn|browser|java|jdk|go|rustc|cargo|ruby|php|version|sphinx|sympy|"
    r"[\w-]+ version|python deps)\s*[:=|]|"
    r"(?:windows|linux|darwin|macos|ubuntu|python|numpy|scipy|node|go|java|ruby|php)[ -]v?\d|<!--|-->|- \[[ x]\])"
)
_URL = re.compile(r"\S+://\S+")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{12,}\b")


def title_of(lines: list[str]) -> tuple[str, list[str]]:
    """The first line that says something, up to its first sentence if it is long, and what follows it."""
    for number, line in enumerate(lines):
        if not line.strip() or _FENCE.match(line) or (_HEADING.match(line) and number < len(lines) - 1):
            continue
        if _FRAME.match(line) or _TRACE_START.match(line) or _PROMPT.match(line):
            break  # a pasted trace has no title
        if len(line) <= _MAX_TITLE_CHARS:
            return line.strip(), lines[number + 1 :]
        cut = line.find(". ", 20, _MAX_TITLE_CHARS)
        cut = cut + 1 if cut > 0 else line.rfind(" ", 0, _MAX_TITLE_CHARS) + 1 or _MAX_TITLE_CHARS
        return line[:cut].strip(), [line[cut:], *lines[number + 1 :]]
    return "", lines


def body_of(lines: list[str]) -> Iterator[Zone]:
    """The zones below the title, line by line."""
    fenced = noisy = traced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
            continue
        if not fenced and _HEADING.match(line):
            noisy = _NOISE_HEADING.match(line.strip("#*_ :")) is not None or _NOISE_HEADING.match(line) is not None
            continue
        text = _ADDRESS.sub(" ", _URL.sub(" ", line))
        if _TRACE_START.match(line) or _FRAME.match(line):
            traced = True  # the lines of code below a frame repeat what the frame says
        elif _ERROR.match(line):
            traced = False
            yield Zone(MESSAGE, text)
        elif noisy or _NOISE_LINE.match(line):
            yield Zone(NOISE, text)
        elif traced and line.startswith((" ", "\t")):
            yield Zone(CODE / 2, text)
        elif fenced or line.startswith(("    ", "\t")) or _PROMPT.match(line):
            traced = False
            yield Zone(CODE, text)
        elif text.strip():
            traced = False
            yield Zone(PROSE, text)


def frames_of(lines: list[str]) -> tuple[Frame, ...]:
    """The frames of stack traces, innermost first. Python prints the innermost last, most others first."""
    found: list[tuple[str, str]] = []
    last_first = False
    for line in lines:
        if match := _FRAME.match(line):
            path = match["python"] or match["file"] or match["bare"] or match["go"]
            name = match["name"] or match["called"] or match["ruby"] or ""
            last_first |= match["python"] is not None
            found.append((path.replace("\\", "/"), name.strip("<>").rpartition(".")[2]))
    if last_first:
        found.reverse()
    frames = dict.fromkeys(found)
    return tuple(Frame(path, name, 0.85**depth) for depth, (path, name) in enumerate(frames))
