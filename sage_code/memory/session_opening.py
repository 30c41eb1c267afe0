"""The lines about memory in the first answer of a session: knowledge recalled by the project's names, and due todos.

The threshold is lower than for a question (`proactive_threshold`), because the names of a project say little, and an
agent can easily ignore a few lines that are offered once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.memory.recall.project_names import project_names
from sage_code.settings.loading import load_settings
from sage_code.text.tokens import first_lines

_MAX_ITEMS = 8
_MAX_TODOS = 5
_LINE_CHARS = 400


def session_opening(project_root: str, max_tokens: int) -> str:
    """Lines for the first answer of a session, within a budget of tokens; empty if there is nothing to say."""
    memory = Memory(project_root, load_settings(project_root))
    names = project_names(project_root)
    lines: list[str] = []
    items = recalled_for(memory, names)
    if items:
        lines.append(f"Recalled for {', '.join(names)}:")
        lines += [f"- {item.id}{_keywords(item)}: {_first_words(item.content)}" for item in items]
    todos = [known.item for known in memory.knowledge.todos() if known.item.is_due]
    if todos:
        lines.append("Todos that are due:")
        lines += [f"- {todo.id} (due {todo.due})" for todo in todos[:_MAX_TODOS]]
    lines += [f"- {notice}" for notice in memory.notices.take()]
    text = first_lines("\n".join(lines), max_tokens)
    return text if "\n- " in f"\n{text}" else ""  # a heading alone says nothing


def recalled_for(memory: Memory, names: Sequence[str]) -> list[KnowledgeItem]:
    """The knowledge of any skill that is recalled by the names of a project, best first."""
    if not any(True for _ in memory.knowledge.items()):
        return []
    question = " ".join(re.sub(r"[@/._-]+", " ", name) for name in names)
    threshold = memory.settings.proactive_threshold
    recalled = memory.recaller.recall(question, skill=None, threshold=threshold, limit=_MAX_ITEMS)
    return [item for item, _ in recalled]


def _keywords(item: KnowledgeItem) -> str:
    return f" ({', '.join(item.keywords[:6])})" if item.keywords else ""


def _first_words(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else line[:_LINE_CHARS].rpartition(" ")[0] + " …"
