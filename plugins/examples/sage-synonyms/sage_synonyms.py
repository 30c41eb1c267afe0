"""Adds synonyms to the words of a query, from a table that the team writes.

The table is `synonyms.json` in the plugin's folder. A word is followed by the words that mean the same:

    {"auth": "authentication login", "k8s": "kubernetes"}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sage_code.events.plugins import PluginMetadata, SearchPlugin

# A longer query is a pasted error or a page of a log: it has words enough.
MOST_WORDS = 12
MOST_ADDED = 12
MOST_BYTES = 256 * 1024


class SynonymsPlugin(SearchPlugin):
    """Expands the query before a search."""

    metadata = PluginMetadata(
        name="sage-synonyms",
        version="1.0.0",
        author="Sage",
        description="Your team's synonyms in every search.",
        hooks=["pre_search"],
        priority=50,
    )

    def on_load(self, context: Mapping[str, Any]) -> None:
        """Remember where the table is. It is read for every search, so that a change counts at once."""
        self._file = Path(context["folder"], "synonyms.json")

    def pre_search(self, where: str, query: str, filters: dict[str, Any]) -> str | None:  # noqa: ARG002
        """The query with the synonyms of its words behind it; None if it has none."""
        words = re.findall(r"\w+", query.lower())
        if len(words) > MOST_WORDS:
            return None
        table = self._table()
        synonyms = " ".join(table.get(word, "") for word in words).split()
        added = [word for word in dict.fromkeys(synonyms) if word.lower() not in words]
        return " ".join([query, *added[:MOST_ADDED]]) if added else None

    def _table(self) -> dict[str, str]:
        """The synonyms by their words. What is wrong with the file is raised, and Sage says it."""
        try:
            with self._file.open("rb") as file:
                text = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return {}
        if len(text) > MOST_BYTES:
            raise ValueError(f"{self._file} is larger than {MOST_BYTES // 1024} KB")
        table = json.loads(text)
        if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
            raise ValueError(f'{self._file} must be like {{"auth": "authentication login"}}')
        return {word.lower(): value for word, value in table.items()}
