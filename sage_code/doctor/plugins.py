"""Checks whether each enabled plugin can be loaded. Without one there is nothing to find."""

from __future__ import annotations

from collections.abc import Iterator

from sage_code.doctor.findings import Finding
from sage_code.events import enabled, overview


def plugin_findings() -> Iterator[Finding]:
    """The findings for the plugins that the user has enabled."""
    records = enabled.read()
    found = list(overview.problems(records))
    for one in found:
        yield Finding("plugins", "warning", f"plugin {one.name}: {one.what}", one.repair)
    if sound := {record.name for record in records} - {one.name for one in found}:
        yield Finding("plugins", "ok", f"enabled: {', '.join(sorted(sound))}")
