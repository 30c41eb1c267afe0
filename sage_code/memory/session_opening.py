"""The lines about memory in the first answer of a session: knowledge recalled by the project's names, and due todos.

The threshold is lower than for a question (`proactive_threshold`), because the names of a project say little, and an
agent can easily ignore a few lines that are offered once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import Component, Priority
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.memory.recall.project_names import project_names
from sage_code.settings.loading import load_settings

_MAX_ITEMS = 8
_MAX_TODOS = 5
_LINE_CHARS = 400
# What is due is short and cannot wait; it has its room even if much is recalled.
_DUE_SHARE = 0.2


def opening_components(project_root: str) -> list[Component]:
    """What memory has for the first answer of a session; components without items have nothing to say."""
    memory = Memory(project_root, load_settings(project_root))
    names = project_names(project_root)
    recalled = [f"{item.id}{_keywords(item)}: {_first_words(item.content)}" for item in recalled_for(memory, names)]
    todos = [known.item for known in memory.knowledge.todos() if known.item.is_due]
    due = [f"{todo.id} (due {todo.due})" for todo in todos[:_MAX_TODOS]]
    return [
        Component("recalled", Priority.HIGH, recalled, f"Recalled for {', '.join(names)}", bullet="- "),
        Component("due", Priority.HIGH, due, "Todos that are due", _DUE_SHARE, bullet="- "),
        Component("notices", Priority.MEDIUM, memory.notices.take(), "About these memories", bullet="- "),
    ]


def session_opening(project_root: str, max_tokens: int) -> str:
    """The same as an element of at most `max_tokens`; empty if there is nothing to say."""
    builder = ContextBuilder(max_tokens, element="sage-memory", about="What Sage remembers about this project.")
    for component in opening_components(project_root):
        builder.add(component)
    return builder.build().text


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
