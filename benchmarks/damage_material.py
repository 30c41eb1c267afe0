"""The material of `damage.py`: a small project with everything that Sage stores about it, and ways to damage a file."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random

# By the first pattern that fits: the kind of a file. A file that is the truth itself says something else once it is
# spoilt; everything else is made by Sage, and its answers must stay what they were.
KINDS = (
    (r"project/\.git/(config|HEAD|index|info/exclude)$", "git", True),
    (r"project/\.(git|sage)ignore$", "ignore file", True),
    (r"project/\.sage/\.gitignore$", "ignore file", True),
    (r"project/\.sage/tuning\.yaml$|home/tuning\.yaml$", "settings", True),
    (r"project/\.sage/core\.md$", "core files", True),
    (r"/archive/", "archive", True),
    (r"/(checkpoints|knowledge|todos)/.*\.md$", "memories", True),
    (r"/knowledge/index\.yaml$", "knowledge list", True),  # a person may edit it
    (r"/attached\w*\.jsonl?$", "map of memories", False),
    (r"/embeddings[^/]*/", "memory index", False),
    (r"/templates/", "templates", True),
    (r"\.lock$", "locks", False),
    (r"/codebase/compiled$", "link to a generation", False),
    (r"/generations/.*/segments\.json$", "segments.json", False),
    (r"/generations/.*\.seg$", "segments", False),
    (r"/generations/.*/centrality\.bin$", "centrality", False),
    (r"/generations/.*\.json$", "symbol files", False),
    (r"home/codebase/made/", "notes", False),
    (r"home/codebase/private-name$", "private name", False),
    (r"project/\.sage/codebase/index_meta\.json$", "manifest", False),
    (r"home/(codebase/)?(index_meta|projects)\.json$", "list of projects", False),
    (r"/lancedb/", "store", False),
    (r"/agents/", "record of agents", False),
    (r"\.claude/", "transcripts", True),
    (r"mcp-token$", "token", True),
    (r"project/", "source files", True),
)


def kind_of(name: str) -> tuple[str, bool] | None:
    """The kind of a file, and whether it is a source of truth; None if Sage does not read it."""
    if re.search(r"project/\.git/", name) and not re.search(KINDS[0][0], name):
        return None
    return next(((kind, truth) for pattern, kind, truth in KINDS if re.search(pattern, name)), None)


def make(base: Path, sage: Callable[..., object]) -> None:
    """Fill `base` with a project and a home; `sage` runs a command there."""
    project = base / "project"
    for name, text in _sources().items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    git = ["git", "-C", str(project), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    for path in project.rglob("*"):
        if path.is_file() and ".git/" not in str(path):
            os.utime(path, (1_000_000_000, 1_000_000_000))  # old enough to be believed unchanged
    home = base / "home"
    home.mkdir()
    (home / "tuning.yaml").write_text("recall_threshold: 0.2\n")
    (home / "templates").mkdir()
    (home / "templates" / "own.yaml").write_text("name: own\ndescription: d\nformat: '{{ thesis }}'\n")
    (home / "mcp-token").write_text("t" * 40 + "\n")
    (home / "mcp-token").chmod(0o600)
    folder = base / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    (folder / "session.jsonl").write_text("".join(_transcript(str(project))))
    sage("index", str(project))
    (project / ".sage" / "tuning.yaml").write_text("max_file_bytes: 900000\nexclude: ['*.tmp']\n")
    sage("core", "add", "shop/orders.py", "--summary", "Orders are taken here.", "--path", str(project))
    for number, thesis in enumerate(
        ("Orders are kept in a list.", "Prices are whole cents.", "Stock is never below zero.")
    ):
        sage("checkpoint", "save", "-q", f"How does part {number} work?", "-t", thesis, "--project", str(project))
        note = base / f"note{number}.txt"
        note.write_text(f"{thesis} See `shop/orders.py`.")
        sage(
            "knowledge",
            "add",
            str(note),
            "--id",
            f"note-{number}",
            "--keywords",
            "orders,prices",
            "--project",
            str(project),
        )
    sage("checkpoint", "prune", "--keep", "2", "--all", "--project", str(project))
    sage("knowledge", "add", str(base / "note0.txt"), "--id", "task", "--type", "todo", "--project", str(project))
    sage("search", "take an order", "--project", str(project))
    sage("checkpoint", "search", "orders", "--project", str(project))
    sage("knowledge", "match", "orders", "--project", str(project))


def questions(project: str) -> dict[str, list[str]]:
    """Every command that answers from stored files, by its name."""
    here, at = ["--path", project, "--json"], ["--project", project, "--json"]
    return {
        "search": ["search", "take an order", *at],
        "grep": ["grep", "take_order", *here],
        "analyze": ["analyze", "take_order", *here],
        "refs": ["refs", "price_of", *here],
        "callers": ["callers", "price_of", *here],
        "callees": ["callees", "take_order", *here],
        "impact": ["impact", "shop/prices.py", *here],
        "outline": ["outline", "shop/orders.py", *here],
        "map": ["map", *here],
        "similar": ["similar", "shop/orders.py:5", *here],
        "checkpoint list": ["checkpoint", "list", *at],
        "checkpoint list --archived": ["checkpoint", "list", "--archived", *at],
        "checkpoint search": ["checkpoint", "search", "orders in a list", *at],
        "knowledge list": ["knowledge", "list", *at],
        "knowledge match": ["knowledge", "match", "orders and prices", *at],
        "todo list": ["todo", "list", *at],
        "core list": ["core", "list", *here],
        "stale": ["stale", *here],
        "why": ["why", "shop/orders.py", *here],
        "usage": ["usage", "--json"],
        "config list": ["config", "list", *here],
        "projects list": ["projects", "list", "--json"],
        "templates list": ["templates", "list", "--json"],
    }


def flip(path: Path, chance: Random) -> str:
    """Flip a bit of a file, or cut it; says where."""
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    if chance.random() < 0.2:
        del data[at:]
        done = f"cut at {at}"
    else:
        bit = chance.randrange(8)
        data[at] ^= 1 << bit
        done = f"bit {bit} of byte {at}"
    status = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return done


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "at-all")


def _to_folder(path: Path) -> None:
    path.symlink_to("/usr/lib")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the name of a socket is at most 108 bytes long
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
    os.chdir(before)


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("x")


def _empty(path: Path) -> None:
    path.touch()


def _unreadable(path: Path) -> None:
    path.write_text("x")
    path.chmod(0)


def _huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(200 << 30)  # sparse


REPLACEMENTS = {
    "link to /dev/zero": _endless, "dangling link": _dangling, "link to a folder": _to_folder, "pipe": _pipe,
    "socket": _socket, "folder": _folder, "empty file": _empty, "unreadable file": _unreadable, "200 GB file": _huge,
}  # fmt: skip


def replace(path: Path, how: str) -> None:
    """Replace a file by something else."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    REPLACEMENTS[how](path)


def _sources() -> dict[str, str]:
    """The source files of the project, by path."""
    return {
        "shop/__init__.py": '"""A shop."""\n',
        "shop/prices.py": '"""Prices."""\n\nCURRENCY = "EUR"\n\n\ndef price_of(item: str) -> int:\n'
        '    """In cents."""\n'
        "    return len(item) * 100\n",
        "shop/orders.py": '"""Orders."""\n\nfrom shop.prices import price_of\n\n\nclass Orders:\n'
        '    """All orders."""\n\n'
        "    def take_order(self, item: str, count: int) -> int:\n"
        '        """Take an order and say what it costs."""\n        return price_of(item) * count\n\n\n'
        "def total(orders: list[str]) -> int:\n    return sum(price_of(order) for order in orders)\n",
        "shop/stock.py": "".join(
            f"def stock_{number}(item: str) -> int:\n    return len(item) + {number}\n\n\n" for number in range(8)
        ),
        "web/client.ts": "export function connect(url: string): string {\n  return url;\n}\n",
        "README.md": "# A shop\n\nTakes orders and knows prices.\n",
        ".gitignore": "*.log\nbuild/\n",
        ".sageignore": "vendor/**\n*.min.js\n",
    }


def _transcript(cwd: str) -> list[str]:
    """The lines of a transcript whose session read a file of the project."""
    lines = []
    for number in range(6):
        block = {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Read",
            "input": {"file_path": f"{cwd}/shop/orders.py"},
        }
        usage = {"input_tokens": 100, "output_tokens": 10}
        message = {"id": f"m{number}", "role": "assistant", "model": "m", "content": [block], "usage": usage}
        record = {"type": "assistant", "cwd": cwd, "timestamp": f"2026-08-01T10:0{number}:00.000Z", "message": message,
                  "sessionId": "S"}  # fmt: skip
        lines.append(json.dumps(record) + "\n")
    return lines
