"""Hostile plugins and the real command: the output and the exit codes are those without them, and stderr says why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.events import enabled
from sage_code.events.enabled import EnabledPlugin
from sage_code.events.plugins import HOOKS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="plugins do not run on this system"),
]

_TEMPLATE = """
import os, sys, threading, time
from sage_code.events.plugins import PluginMetadata
{first}
class Bad:
    metadata = PluginMetadata("{name}", "1.0", hooks={hooks!r})
    def hook(self, *given):
        {body}
    pre_search = post_search = pre_format = post_format = hook
"""
# What is in each plugin, and what is said about it.
_IN_IMPORT = {
    "unknown": ("import no_such_module", "no_such_module"),
    "unwritten": ("def broken(:", "SyntaxError"),
    "leaving": ("sys.exit(9)", "SystemExit: 9"),
    "endless": ("while True: pass", "took longer than"),
}
_IN_HOOKS = {
    "sleeping": ("time.sleep(1000)", "took longer than"),
    "exiting": ("sys.exit(9)", "SystemExit: 9"),
    "ending": ("os._exit(9)", "exit code 9"),
    "raising": ("raise BaseException('basic')", "BaseException: basic"),
    "hungry": ("bytearray(1 << 30)", "MemoryError"),
    "wordy": ("return 'x' * (20 << 20)", "characters"),
    "odd": ("return 7", "left out"),
    "listing": ("return [[7], None]", "left out"),
    "objecting": ("return object()", "no form in JSON"),
    "changing": ("[one.clear() for one in given if hasattr(one, 'clear')]", ""),
    "printing": ("print('x' * 1_000_000); os.write(2, b'x' * 1_000_000)", ""),
    "staying": ("threading.Thread(target=time.sleep, args=(1000,)).start()", ""),
}
_SEARCH_HOOKS = HOOKS[3:]


def run(folder: Path, *words: str) -> tuple[int, bytes, str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


def _enable(folder: Path, name: str, first: str, body: str) -> None:
    """Record a plugin that `sage plugins enable` has seen in a better state."""
    path = folder / f"{name}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(_TEMPLATE.format(name=name, first=first, body=body, hooks=list(_SEARCH_HOOKS)))
    enabled.put(
        EnabledPlugin(
            name, str(path), str(path), "1.0", hooks=_SEARCH_HOOKS, stamp=enabled.stamp_of(str(path)),
            timeout_ms=150 if name == "sleeping" else 20_000, load_timeout_ms=500 if name == "endless" else 30_000,
        )
    )  # fmt: skip


def test_output_and_exit_codes_are_those_without_plugins(sample: Path, sage_home: Path) -> None:
    Project(str(sample)).index()
    commands = (
        ("search", "reach a host"),
        ("grep", "--json", "no_such_name"),
        ("search", "--no-such-option"),
    )
    before = [run(sample, *words) for words in commands]
    assert [code for code, _, _ in before] == [0, 1, 2]
    for name, (first, _) in _IN_IMPORT.items():
        _enable(sage_home / "plugins", name, first, "return None")
    for name, (body, _) in _IN_HOOKS.items():
        _enable(sage_home / "plugins", name, "", body)
    after = [run(sample, *words) for words in commands]
    for (code, out, error), (code_now, out_now, error_now), words in zip(before, after, commands, strict=True):
        assert (code_now, out_now) == (code, out), words
        assert error in error_now
    for name, (_, said) in {**_IN_IMPORT, **_IN_HOOKS}.items():
        lines = [line for line in after[0][2].splitlines() if line.startswith(f"sage: plugin {name}")]
        assert bool(lines) == bool(said), name
        assert all(str(sage_home / "plugins" / f"{name}.py") in line or "left out" in line for line in lines)
        assert any(said in line for line in lines) or not said, (name, lines)
