"""Questions from a repository's history: what a commit says is the question, what it changed is the answer.

The commits come after the snapshot that is searched. A hunk's lines are followed back to the snapshot; where they stand
there unchanged, the function around them is the answer's span.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from sage_code.values import Symbol
from training.pair_rewording import STOP_WORDS
from training.questions_base import Question, Target, git, is_code, is_source, spread

MAX_QUESTIONS = 160
MAX_FILES = 5
_BULK_FILES = 20
# Long reports are the rarer and harder kind, so they go first; the rest is filled with subjects.
_MAX_PROBLEMS = 60
_MAX_REPORTS = 40
_MIN_REPORT_WORDS = 25
_MAX_CHARS = 6000
_MIN_TELLING = 3
# Commits that only touch tests or documents: a few, so that such files stay possible answers.
_MAX_OTHER = 4
_MAX_SPANS = 4
# A class or module of more lines is no answer to a question about some lines of it.
_MAX_SPAN_LINES = 250
_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

_BOT = re.compile(
    r"\[bot\]|\bbot\b|-bot@|bot@|dependabot|renovate|github-actions|weblate|crowdin|mergify", re.IGNORECASE
)
_IDLE_SUBJECT = re.compile(
    r"^\W*(?:merge\b|revert\b|bump\b|release\b|releasing\b|v?\d+\.\d+|version\b|back to dev|wip\b|fixup!|squash!"
    r"|prepar\w+ (?:for )?(?:the )?(?:next |new )?(?:release|version|dev)|upgrade dependenc|\[ci|\[docs?\]|\[skip"
    r"|update (?:version|change ?log|dependenc|readme|license|copyright|translations?|snapshots?|contributors|lock)"
    r"|\[?(?:chore|build|ci|style|docs?|test|tests|deps|release)\]?(?:\([^)]*\))?!?:)"
    r"|\b(?:typos?|lint(?:er|ing|s)?|formatting|prettier|gofmt|rustfmt|clippy|eslint fix|pre-commit|dependabot"
    r"|changelog|whitespace|spelling|misspell\w*|copyright|cherry[- ]pick|auto[- ]?generat\w+|regenerat\w+"
    r"|translations?|nightly|github actions?|ci job|nit)\b"
    r"|\bbump(?:s|ed|ing)?\b.*\b(?:from|to|version)\b|\bupdate \S+ to v?\d",
    re.IGNORECASE,
)
_PROBLEM = re.compile(
    r"\b(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|bug|regression|crash\w*|panic\w*|traceback|exception|error\w*"
    r"|fail(?:s|ed|ing|ure)?"
    r"|broken|wrong\w*|incorrect\w*|leak\w*|deadlock|race|segfault|overflow|issue)\b",
    re.IGNORECASE,
)
_TRAILER = re.compile(
    r"^\s*(?:[A-Z][\w-]+-by:|Co-authored-by|Change-Id:|Cc:|git-svn-id|PiperOrigin-RevId|RELNOTES|Reviewers?:|PR #"
    r"|PR[- ]?(?:Close|URL)|(?:GH-)?#?\d+\s*$|Differential Revision|Reviewed By|fbshipit-source-id|Pulled By"
    r"|Test Plan:|Signed-off|Bug:|Ticket:|\(cherry picked|[-*] \[[ xX]\]|-{3,}|={3,}|Release [Nn]otes?:"
    r"|Closes:?\s*#?\d*\s*$|(?:[-*]\s*)?(?:(?:fix|close|resolve)[sd]?|(?:fix|close|resolve)es|refs?|see|related to"
    r"|part of|issue|towards)[:\s]*(?:\S*#\d+|https?://\S+)[.,\s]*$"
    r"|[-*]\s*(?:wip|typos?|lint|fmt|format\w*|review\w*|address\w*|merge\b.*|cleanup|clean up|nits?|update|fix(?:es)?"
    r"|tests?|changelog|rebase|prettier|\[?autofix.*)\s*\.?\s*$)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\s*\((?:[\w/.-]*#\d+(?:,\s*)?)+\)|\s*\[#\d+\]|(?<=\s)(?:GH-|gh-|#)\d+\b|^[A-Z]{2,}-\d+:?\s*")
_URL = re.compile(r"https?://([^\s/)>\]]+)[^\s)>\]]*")
# What is left of "(fixes #12)", and a heading that says nothing.
_EMPTIED = re.compile(
    r"\s*\((?:fix(?:e[sd])?|close[sd]?|resolve[sd]?|issue|see|ref)?\s*\)"
    r"|^(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)[:\s]*$|^#+ (?:summary|description|what|why|changes?)\b.*$",
    re.IGNORECASE,
)
# A squashed commit lists the subjects of its parts in items of up to this many words.
_ITEM_WORDS = 13
_HTML = re.compile(r"<!--.*?-->|<details>|</?[a-z]+/?>", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{3,}")
_IDLE = """
fix fixes fixed add adds added update updates updated remove removed use using make makes refactor cleanup clean
support feat feature chore improve improved change changes changed some more code test tests minor small issue bug
when new allow also better move rename
"""
_IDLE_WORDS = frozenset(_IDLE.split())

SymbolsOf = Callable[[str], tuple[Symbol, ...]]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as the log prints it."""

    sha: str
    parent: str
    author: str
    subject: str
    body: str
    changed: tuple[tuple[str, str], ...]  # status and path


def commits_after(repository: Path, snapshot: str) -> list[Commit]:
    """The commits after the snapshot that are no merges, the newest first."""
    pattern = "--format=%x01%H%x02%P%x02%an <%ae>%x02%B%x02"
    out = git(repository, "log", "--no-merges", "--raw", "--no-renames", "--no-abbrev", pattern, f"{snapshot}..HEAD")
    found = []
    for block in out.split("\x01")[1:]:
        sha, parents, author, message, raw = block.split("\x02", 4)
        changed = [line.split("\t", 1) for line in raw.splitlines() if line.startswith(":")]
        subject, _, body = message.strip().partition("\n")
        pairs = tuple((head.split(" ")[-1], path) for head, path in changed)
        if parents:
            found.append(Commit(sha, parents.split()[0], author, subject, body, pairs))
    return found


def cleaned(text: str) -> str:
    """A message without trailers, numbers of issues, and the tails of addresses."""
    text = _HTML.sub(" ", text.replace("\r", ""))
    lines = [line.rstrip() for line in text.split("\n") if not _TRAILER.match(line)]
    kept = [_EMPTIED.sub("", _URL.sub(r"\1", _NUMBER.sub("", line))) for line in lines]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()[:_MAX_CHARS]


def telling_words(text: str) -> set[str]:
    """The words of a message that can tell one commit from another."""
    return {word.lower() for word in _WORD.findall(text)} - STOP_WORDS - _IDLE_WORDS


def _prose(body: str) -> str:
    """A body without its short list items."""
    lines = (line.split() for line in body.split("\n"))
    return "\n".join(
        " ".join(words) for words in lines if not (words[:1] in (["*"], ["-"]) and len(words) <= _ITEM_WORDS)
    )


def names_a_file(text: str, paths: list[str]) -> bool:
    """Whether a message names one of the files that it changed."""
    lower = text.lower()
    return any(path.rpartition("/")[2].lower() in lower for path in paths)


def candidates(commits: list[Commit], known: frozenset[str]) -> Iterator[tuple[Commit, list[str], str, str]]:
    """The commits that make a question, with the files they answer it by, the subject and the body (or nothing)."""
    seen: set[str] = set()
    for commit in commits:
        if _BOT.search(commit.author) or _IDLE_SUBJECT.search(commit.subject) or len(commit.changed) > _BULK_FILES:
            continue
        modified = [path for status, path in commit.changed if status == "M" and path in known]
        paths = [path for path in modified if is_source(path)]
        sources = sum(1 for _status, path in commit.changed if is_source(path))
        if not paths:
            # Of a commit to tests or documents alone.
            paths = [] if sources else [path for path in modified if path.endswith((".md", ".rst")) or is_code(path)]
        if not paths or len(paths) > MAX_FILES or sources > 2 * len(paths):
            continue
        subject, body = cleaned(commit.subject), cleaned(commit.body)
        if subject.lower() in seen or len(telling_words(subject)) < _MIN_TELLING or names_a_file(subject, paths):
            continue
        seen.add(subject.lower())
        long = len(_prose(body).split()) >= _MIN_REPORT_WORDS and not names_a_file(body, paths)
        yield commit, paths, subject, body if long else ""


def commit_questions(repository: Path, snapshot: str, known: frozenset[str], symbols_of: SymbolsOf) -> list[Question]:
    """The questions of the commits after a snapshot, over the whole time, reports of problems first."""
    problems: list[Question] = []
    reports: list[Question] = []
    subjects: list[Question] = []
    others: list[Question] = []
    second: list[Question] = []  # the subjects of those that have a report
    parents: dict[str, str] = {}
    commits = commits_after(repository, snapshot)
    times = Counter(path for commit in commits for _status, path in commit.changed)
    for commit, paths, subject, body in candidates(commits, known):
        parents[commit.sha] = commit.parent
        targets = tuple(Target(path) for path in paths)
        short = Question("commit", "subject", subject, targets, commit.sha)
        whole = Question("report", "message", f"{subject}\n\n{body}", targets, commit.sha)
        if not is_source(paths[0]):
            others.append(replace(short, form="other"))
        elif not body:
            subjects.append(short)
        else:
            second.append(short)
            if _PROBLEM.search(f"{commit.subject}\n{commit.body}"):
                problems.append(replace(whole, form="problem"))
            else:
                reports.append(whole)
    chosen = [*spread(problems, _MAX_PROBLEMS), *spread(reports, _MAX_REPORTS), *spread(others, _MAX_OTHER)]
    chosen += spread(subjects, MAX_QUESTIONS - len(chosen))
    chosen += spread(second, MAX_QUESTIONS - len(chosen))

    def spans_of(commit: str, path: str) -> list[tuple[int, int]]:
        # A file that only this commit changed is the snapshot's: half of the calls of git are saved.
        base = parents[commit] if times[path] == 1 else snapshot
        return changed_spans(repository, (base, parents[commit], commit), path, symbols_of(path))

    return [replace(one, targets=_with_spans(one, spans_of)) for one in chosen]


def _with_spans(question: Question, spans_of: Callable[[str, str], list[tuple[int, int]]]) -> tuple[Target, ...]:
    """The targets of a question, one for each function that was changed; the file alone where none is known."""
    found: list[Target] = []
    for target in question.targets:
        spans = spans_of(question.source, target.path)
        found += [Target(target.path, start, end) for start, end in spans[:_MAX_SPANS]] or [target]
    return tuple(found)


def changed_spans(
    repository: Path, history: tuple[str, str, str], path: str, symbols: tuple[Symbol, ...]
) -> list[tuple[int, int]]:
    """Lines of the snapshot's functions that a commit changed; `history` is the snapshot, the parent, the commit."""
    snapshot, parent, commit = history
    try:
        moved = _hunks(repository, snapshot, parent, path) if snapshot != parent else []
        changed = _hunks(repository, parent, commit, path)
    except subprocess.CalledProcessError:  # the snapshot of the repository lacks its largest files
        return []
    spans: dict[tuple[int, int], None] = {}
    for start, count, _new_start, _new_count in changed:
        first, last = start, start + max(count, 1) - 1
        lines = [at for line in {first, last} if (at := _before(line, moved)) is not None]
        if len(lines) < len({first, last}):
            continue
        span = enclosing(symbols, min(lines), max(lines))
        if span is not None:
            spans[span] = None
    return list(spans)


def _hunks(repository: Path, old: str, new: str, path: str) -> list[tuple[int, int, int, int]]:
    out = git(repository, "diff", "-U0", "--no-ext-diff", "--no-textconv", "--no-renames", old, new, "--", path)
    # Of an empty side only the line before it is given; a count that is left out is 1.
    return [
        (int(hunk[1]), int(hunk[2] or "1"), int(hunk[3]), int(hunk[4] or "1")) for hunk in _HUNK.finditer(f"\n{out}")
    ]


def _before(line: int, hunks: list[tuple[int, int, int, int]]) -> int | None:
    """The line of the old text that stands as `line` in the new one; None if it is new there."""
    shift = 0
    for _old_start, old_count, new_start, new_count in hunks:
        if new_count and new_start <= line < new_start + new_count:
            return None
        if (new_start + new_count if new_count else new_start + 1) <= line:
            shift += old_count - new_count
    return line + shift


def enclosing(symbols: tuple[Symbol, ...], first: int, last: int) -> tuple[int, int] | None:
    """The innermost definition around some lines that is no larger than an answer may be."""
    around = [
        (symbol.start_line, symbol.end_line)
        for symbol in symbols
        if symbol.start_line <= first and last <= symbol.end_line and symbol.end_line > symbol.start_line
        and symbol.end_line - symbol.start_line < _MAX_SPAN_LINES
    ]  # fmt: skip
    return min(around, key=lambda span: span[1] - span[0], default=None)
