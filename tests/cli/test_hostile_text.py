"""A hostile repository through the real command: nothing of it drives the terminal, hides or passes for our output."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sage_code.text.escaping import visible

ESC = "\x1b[2J\x1b]0;owned\x07\x9b31m"
UNSEEN = "\u202e\u2066\u200b\u200d\u2060\ufeff\u00ad\u3164\U000e0041"
MARKUP = "[red]m[/red][link=x]"
EVIL = f"{ESC}{UNSEEN}{MARKUP}"
# A file name has 255 bytes and no slash; a line of its own passes for a row of ours.
NAME = f"e{ESC}{UNSEEN}[red]m.py"
FORGED = "forged\nfaked.py:1  function root\n.py"
# What Sage itself sends to a terminal: colours and weights, and nothing that moves, erases or names.
_OURS = re.compile(r"\x1b\[[0-9;]*m")
_SOURCE = f'''"""Module {EVIL}"""

LIMIT = "{EVIL}"  # {EVIL}


class Gate:
    """Opens {EVIL}."""

    def open_gate(self, key="{EVIL}"):
        """Docstring {EVIL}."""
        return shut_gate(key)  # {EVIL}


def shut_gate(key="{UNSEEN}{MARKUP}"):
    """Closes {EVIL}."""
    return "{EVIL}"
'''


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The repository, indexed, and an environment to ask about it."""
    base = tmp_path_factory.mktemp("hostile")
    root = base / f"p{UNSEEN}[red]\x1b[2J"
    (root / ".sage" / "knowledge").mkdir(parents=True)
    (root / "plain.py").write_text(_SOURCE)
    (root / NAME).write_text(_SOURCE.replace("Gate", "Second"))
    (root / FORGED).write_text("def forger():\n    return shut_gate()\n")
    (root / f"skip{EVIL.replace('/', '')}.bin").write_bytes(bytes(range(256)))
    (root / ".sage" / "core.md").write_text(f"- `plain.py`: {EVIL}\n- `gone{UNSEEN}.py`: {MARKUP}\n")
    (root / ".sage" / "tuning.yaml").write_text(f'"k{UNSEEN}[red]": 1\nexclude: ["[red]x"]\n')
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SAGE_", "XDG_"))},
        "HOME": str(base), "SAGE_HOME": str(base / "home"), "TERM": "xterm-256color", "PYTHONUTF8": "1",
        "COLUMNS": "200",
    }  # fmt: skip
    (base / "text.md").write_text(f"Gates need a key {EVIL}")
    for words in (
        ["index"],
        ["checkpoint", "save", "-q", f"Why {EVIL}?", "-t", f"Gates shut {EVIL}", "-e", f"seen {EVIL}", "-c", "0.8",
         "--ref", "plain.py:15"],
        ["knowledge", "add", str(base / "text.md"), "--id", "gates", "--keywords", f"gate,{UNSEEN}{MARKUP}"],
    ):  # fmt: skip
        done = _run(root, environment, words)
        assert done.returncode == 0, done.stderr
    return root, environment


def _run(root: Path, environment: dict[str, str], words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "sage_cli.entry", *words],
        cwd=root, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120, check=False,
    )  # fmt: skip


def _on_terminal(root: Path, environment: dict[str, str], words: list[str]) -> str:
    """What a terminal gets, standard error included."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_cli.entry", *words],
        cwd=root, env=environment, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    got = b""
    try:
        while part := os.read(master, 65536):
            got += part
    except OSError:  # Linux says so when the other end is closed
        pass
    finally:
        os.close(master)
        process.wait(120)
    return got.decode()


COMMANDS = [
    ["search", "gate"],
    ["search", "gate", "--explain"],
    ["search", "gate", "--files"],
    ["search", "zebra quux"],
    ["search", "gate", "--all"],
    ["grep", "shut_gate"],
    ["grep", "forger"],
    ["grep", f"none{EVIL}"],
    ["analyze", "shut_gate"],
    ["analyze", "Gate"],
    ["refs", "shut_gate"],
    ["callers", "shut_gate"],
    ["callees", "open_gate"],
    ["impact", "shut_gate"],
    ["impact", NAME],
    ["outline", "plain.py"],
    ["outline", NAME],
    ["outline", f"none{EVIL}"],
    ["map"],
    ["similar", "shut_gate"],
    ["similar", "--duplicates"],
    ["index", "--dry-run", "--full"],
    ["status"],
    ["core", "list"],
    ["checkpoint", "list"],
    ["checkpoint", "search", "gate"],
    ["knowledge", "list"],
    ["knowledge", "show", "gates"],
    ["knowledge", "match", "gate key"],
    ["why", "shut_gate"],
    ["refs-check"],
    ["projects", "list"],
    ["projects", "forget", f"none{EVIL}"],
    ["config", "list"],
    ["config", "get", "exclude"],
    ["config", "get", f"none{EVIL}"],
    ["admin", "verify"],
    ["doctor"],
    [f"none{EVIL}"],
]


def _clean(text: str, words: list[str]) -> None:
    unseen = [hex(ord(character)) for character in text if visible(character) != character]
    assert unseen == [], (words, text)
    for line in text.splitlines():
        assert not line.lstrip().startswith("faked.py"), (words, text)


@pytest.mark.slow
def test_nothing_of_a_hostile_repository_reaches_a_pipe_unescaped(hostile: tuple[Path, dict[str, str]]) -> None:
    root, environment = hostile
    shown = ""
    for words in COMMANDS:
        done = _run(root, environment, words)
        assert done.returncode in (0, 1, 2), (words, done.stderr)
        assert "Traceback" not in done.stderr, words
        _clean(done.stdout + done.stderr, words)
        shown += done.stdout + done.stderr
    for written in ("\\x1b[2J", "\\x9b31m", "\\u202e", "\\u200b", "\\U000e0041", "[red]m[/red]", "forged\\nfaked"):
        assert written in shown


TERMINAL = [
    ["search", "gate"], ["grep", "shut_gate"], ["analyze", "shut_gate"], ["callers", "shut_gate"], ["map"], ["status"],
    ["checkpoint", "list"], ["knowledge", "list"], ["knowledge", "match", "gate key"], ["config", "list"],
    ["projects", "list"], ["grep", f"none{EVIL}"],
]  # fmt: skip


@pytest.mark.slow
def test_nothing_of_a_hostile_repository_reaches_a_terminal_unescaped(hostile: tuple[Path, dict[str, str]]) -> None:
    root, environment = hostile
    shown = ""
    for words in TERMINAL:
        got = _OURS.sub("", _on_terminal(root, environment, words)).replace("\r\n", "\n")
        _clean(got, words)
        shown += got
    assert "[red]m[/red]" in shown  # markup of Rich is text like any other


def test_json_stays_exact(hostile: tuple[Path, dict[str, str]]) -> None:
    root, environment = hostile
    done = _run(root, environment, ["grep", "shut_gate", "--json"])
    _clean(done.stdout, ["--json"])
    found = json.loads(done.stdout)["matches"]
    assert {match["file"] for match in found} == {"plain.py", NAME}
    assert found[0]["docstring"] == f"Closes {EVIL}."
    for words in (["status"], ["search", "gate"], ["config", "list"], ["checkpoint", "list"], ["map"]):
        done = _run(root, environment, [*words, "--json"])
        _clean(done.stdout, words)
        json.loads(done.stdout)
