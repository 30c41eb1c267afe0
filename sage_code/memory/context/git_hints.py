"""Relationship hints of a project from its history: who works on what, and who changes the same files, counted.

As for `hints.py`: where several people work, they are given only if the setting `relationship_hints` allows it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from sage_code.memory.context.hints import may_hint
from sage_code.text.fencing import inert_line

if TYPE_CHECKING:
    from sage_code.discover.gitlog import Commit
    from sage_code.settings.table import Settings

_MAX_NAME_CHARS = 40
# A commit of more files is a move or a new format: it says nothing about who knows them.
_MANY_FILES = 60
# Authors are compared in pairs, on each file.
_MAX_AUTHORS = 12
_LEAST_COMMITS = 3
_LEAST_FILES = 3
_FOLDERS = 2
_BOT = "[bot]"
_TOP = "the top folder"


def project_hints(root: str, settings: Settings, limit: int = 5) -> list[str]:
    """At most `limit` lines about who works on what with whom in the project's last commits.

    Empty for an empty or shallow repository, and where several people work unless the setting allows it.
    """
    from sage_code.discover.gitlog import recent_commits  # lazy: starts processes

    commits = recent_commits(root)
    people = {commit.author for commit in commits if not commit.author.endswith(_BOT)}
    return git_hints(commits, limit) if may_hint(len(people), settings) else []


def git_hints(commits: Sequence[Commit], limit: int = 5) -> list[str]:
    """At most `limit` lines about commits, newest first: authors with their folders, then pairs with common files."""
    counts = Counter(commit.author for commit in commits if commit.files and not commit.author.endswith(_BOT))
    authors = [who for who, times in _ranked(counts) if times >= _LEAST_COMMITS][:_MAX_AUTHORS]
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    touched: dict[str, set[str]] = defaultdict(set)  # the authors by file
    for author, files in commits:
        if author in authors and len(files) <= _MANY_FILES:
            folders[author].update({file.partition("/")[0] + "/" if "/" in file else _TOP for file in files})
            for file in files:
                touched[file].add(author)
    pairs = Counter(pair for some in touched.values() for pair in combinations(sorted(some), 2))
    together = [
        f"{_shown(a)} and {_shown(b)} change the same files ({files} files)"
        for (a, b), files in _ranked(pairs)
        if files >= _LEAST_FILES
    ]
    alone = [
        f"{_shown(who)} works on {_listed(folders[who])} ({counts[who]} commits)" for who in authors if folders[who]
    ]
    # Half of the lines for each, and what one leaves for the other.
    first = alone[: max(limit - len(together), -(-limit // 2))]
    return [*first, *together[: limit - len(first)]][:limit]


def _listed(folders: Counter[str]) -> str:
    """The folders of an author with the most commits."""
    return " and ".join(inert_line(folder) for folder, _ in _ranked(folders)[:_FOLDERS])


def _shown(who: str) -> str:
    return inert_line(who[:_MAX_NAME_CHARS])


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))
