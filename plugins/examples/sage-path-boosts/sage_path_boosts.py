"""Lifts or lowers the results of code search by their paths.

The rules are in `boosts.json` in the plugin's folder: a path with wildcards, and what a score is multiplied by. A `*`
also matches `/`, and all rules that match a path count:

    {"core/*": 1.5, "*/generated/*": 0.3}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sage_code.events.plugins import PluginMetadata, SearchPlugin

LEAST, MOST = 0.01, 100.0
MOST_BYTES = 64 * 1024


class PathBoostsPlugin(SearchPlugin):
    """Orders the results by the new scores."""

    metadata = PluginMetadata(
        name="sage-path-boosts",
        version="1.0.0",
        author="Sage",
        description="Lifts and lowers results by their paths.",
        hooks=["post_search"],
    )

    def on_load(self, context: Mapping[str, Any]) -> None:
        """Remember where the rules are. They are read for every search, so that a change counts at once."""
        self._file = Path(context["folder"], "boosts.json")

    def post_search(self, where: str, query: str, results: list[dict[str, Any]]) -> list[dict[str, Any]] | None:  # noqa: ARG002
        """The results of code with their new scores, best first."""
        rules = self._rules()
        if where != "code" or not rules:
            return None
        for row in results:
            for pattern, factor in rules.items():
                if fnmatchcase(row["file"], pattern):
                    row["score"] = min(row["score"] * factor, 1.0)
        return sorted(results, key=lambda row: -row["score"])

    def _rules(self) -> dict[str, float]:
        """The factors by their patterns. What is wrong with the file is raised, and Sage says it."""
        try:
            with self._file.open("rb") as file:
                text = file.read(MOST_BYTES + 1)
        except FileNotFoundError:
            return {}
        if len(text) > MOST_BYTES:
            raise ValueError(f"{self._file} is larger than {MOST_BYTES // 1024} KB")
        rules = json.loads(text)
        if not isinstance(rules, dict) or not all(_is_factor(value) for value in rules.values()):
            raise ValueError(f'{self._file} must be like {{"core/*": 1.5}}, with factors from {LEAST} to {MOST:.0f}')
        return rules


def _is_factor(value: object) -> bool:
    return type(value) in (int, float) and LEAST <= float(value) <= MOST  # type: ignore[arg-type]
