"""A hook that has nothing to say imports a handful of small modules: it runs at every prompt and every answer."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Talk

# Each of these takes as long as a fifth of a bare start, or longer.
HEAVY = {
    "typing", "dataclasses", "inspect", "json", "orjson", "yaml", "numpy", "subprocess", "datetime", "tempfile",
    "shutil", "threading", "asyncio", "tree_sitter", "lance", "pyarrow", "pydantic", "sqlite3", "logging", "pathlib",
}  # fmt: skip


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_a_hook_with_nothing_to_say_is_light(talk: Talk, event: str) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-X", "importtime", "-P", "-c"]
    program = "import sys; sys.argv = ['sage-hook']; from sage_code.continuity.hooks.entry import main; main()"
    given = {"session_id": "s1", "cwd": str(talk.root), "transcript_path": str(talk.path), "prompt": "go on with it"}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, program],
            input=json.dumps({**given, "hook_event_name": name, "last_assistant_message": "It is done."}),
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=True,
        )

    run("SessionStart")  # keeps the settings, so that the next ones read no YAML
    talk.work()
    done = run(event)
    assert done.stdout == ""
    bare = subprocess.run([*command, "pass"], capture_output=True, text=True, check=True).stderr
    loaded = set(re.findall(r"\| +([\w.]+)$", done.stderr, re.MULTILINE))
    assert "sage_code.continuity.hooks.events" in loaded
    assert (loaded & HEAVY) - set(re.findall(r"\| +([\w.]+)$", bare, re.MULTILINE)) == set()
