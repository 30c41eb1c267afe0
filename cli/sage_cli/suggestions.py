"""Suggests commands for a word that is none of them: by meaning first, then by spelling."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

# Words that other tools use for a command, or that a newcomer may guess.
_MEANT = {
    "search": "find locate ask query lookup-code question semantic",
    "grep": "where symbol symbols def definition define goto which lookup rg ag ack",
    "analyze": "show cat source view read print describe explain body",
    "refs": "references usages uses used usage-of xref who",
    "callers": "called-by incoming call-hierarchy",
    "callees": "calls outgoing",
    "impact": "affected breaks dependents blast",
    "outline": "skeleton structure toc ls-symbols",
    "map": "overview repomap summary tree",
    "similar": "like clones dup duplicate duplicates",
    "index": "init build reindex update scan add sync refresh",
    "status": "info stat state health",
    "doctor": "check diagnose diagnostics troubleshoot",
    "checkpoint save": "remember conclude note save",
    "knowledge add": "learn know fact memo",
    "knowledge match": "recall remind",
    "todo list": "todos tasks",
    "projects list": "list ls project repos",
    "projects forget": "forget remove rm delete drop uninstall-index",
    "config list": "settings options preferences set get",
    "mcp install": "install setup agent agents connect",
    "mcp serve": "serve server",
    "plugins list": "plugin extensions addons",
    "events tail": "event tail log monitor",
    "usage": "cost costs tokens price",
    "admin compact": "compact gc prune vacuum clean",
    "admin verify": "verify fsck repair fix",
}
_BY_WORD = {word: command for command, words in _MEANT.items() for word in words.split()}


def meant(word: str, commands: Iterable[str]) -> list[str]:
    """The commands that `word` may mean, the likeliest first."""
    known = list(commands)
    by_meaning = [_BY_WORD[word.lower()]] if word.lower() in _BY_WORD else []
    if by_meaning == ["search"]:
        by_meaning.append("grep")  # the user may know the name
    return list(dict.fromkeys([*by_meaning, *get_close_matches(word, known, 2, 0.75)]))[:2]
