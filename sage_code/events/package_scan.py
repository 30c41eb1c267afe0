"""A script that lists the plugins of installed packages, as JSON; `discovery.py` runs it in a process of its own.

It runs with the path that plugins run with, and imports nothing of Sage and of the packages: a folder that Sage was
called in, or an environment variable, adds nothing to what it finds.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import metadata

GROUP = "sage.plugins"


def packages() -> list[dict[str, str]]:
    """The entry points of the group, with their packages and, where it can be seen, the file of the module."""
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for one in metadata.distributions():
        for point in one.entry_points:
            if point.group != GROUP:
                continue
            row = {"name": point.name, "source": point.value, "package": one.name, "version": one.version, "file": ""}
            steps = point.value.partition(":")[0].strip().split(".")
            for path in (os.path.join(*steps) + ".py", os.path.join(*steps, "__init__.py")):
                file = os.path.abspath(str(one.locate_file(path)))
                if os.path.isfile(file):
                    row["file"] = file
            found.setdefault((point.name, point.value, one.name), row)
    return list(found.values())


if __name__ == "__main__":
    sys.stdout.write(json.dumps(packages()))
