"""On a terminal `sage index` asks before it indexes a home folder."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from sage_code.index import registry


@pytest.mark.parametrize(("said", "code"), [("n\n", 1), ("y\n", 0)])
def test_a_home_folder_is_indexed_after_a_question(sage_home: Path, said: str, code: int) -> None:
    home = sage_home.parent
    (home / "a.py").write_text("def one():\n    return 1\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_cli.entry", "index", str(home)],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "dumb"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while b"[y/N]" not in shown:
            shown += os.read(ours, 1024)
        os.write(ours, said.encode())
        while True:
            try:
                part = os.read(ours, 1024)
            except OSError:  # Linux: the other side is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=60) == code, shown
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert b"your home folder" in shown
    assert bool(registry.projects()) == (code == 0)
