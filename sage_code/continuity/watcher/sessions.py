"""Which files are transcripts, and whose: Claude Code's and Codex's folders, sessions and projects.

Only regular files count that are really in those folders. The folders themselves may be links of the user's; below them
no link is followed.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from sage_code.discover.roots import why_unusual
from sage_code.errors import UsageError
from sage_code.paths import find_root
from sage_code.text.light_json import loads
from sage_code.transcripts.find import CONFIG_VARIABLE, codex_sessions, cwd_of
from sage_code.transcripts.lines import open_regular
from sage_code.transcripts.reader import is_codex

# Size and time of a file: what changes when it is written.
Stamp = tuple[int, int]
_CLAUDE_DEPTH, _CODEX_DEPTH = 1, 3  # <project>/, and <year>/<month>/<day>/
_CLAUDE_NAME = re.compile(r"(?!agent-)([0-9a-zA-Z-]{1,100})\.jsonl")
_CODEX_NAME = re.compile(r"rollout-.*?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\.jsonl")
_MAX_META_BYTES = 1 << 20
# Far more than agents make; bounds the work in a folder that holds something else.
_MAX_FOLDERS = 20_000


@dataclass(frozen=True, slots=True)
class Place:
    """A folder in which an agent keeps transcripts, at most `depth` folders down."""

    path: str
    depth: int


@dataclass(slots=True)
class Look:
    """What is in the places now."""

    folders: list[str] = field(default_factory=list)
    files: dict[str, Stamp] = field(default_factory=dict)


def places() -> list[Place]:
    """The folders of the agents, whether they exist or not.

    The watcher serves sessions that were started with and without `CLAUDE_CONFIG_DIR`, so it looks at all of them.
    """
    home = os.path.expanduser("~")
    given = os.environ.get(CONFIG_VARIABLE)
    homes = [*([given] if given else []), os.path.join(home, ".claude"), os.path.join(home, ".config", "claude")]
    claude = [Place(os.path.realpath(os.path.join(one, "projects")), _CLAUDE_DEPTH) for one in homes]
    return list(dict.fromkeys([*claude, Place(os.path.realpath(codex_sessions()), _CODEX_DEPTH)]))


def look(found: list[Place]) -> Look:
    """All folders and transcripts in these places, without following links."""
    seen = Look()
    for place in found:
        level = [place.path]
        for depth in range(place.depth + 1):
            below: list[str] = []
            for folder in level:
                _look_at(folder, seen, below, depth == place.depth or place.depth == _CODEX_DEPTH)
            level = below if len(seen.folders) < _MAX_FOLDERS and depth < place.depth else []
    return seen


def _look_at(folder: str, seen: Look, below: list[str], has_transcripts: bool) -> None:
    """Add one folder and its transcripts; `below` gets the folders in it."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                elif has_transcripts and is_named_like_one(entry.name) and entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    seen.files[entry.path] = (state.st_size, state.st_mtime_ns)
    except OSError:
        return  # not there, not ours to read, or deleted meanwhile
    seen.folders.append(folder)


def is_named_like_one(name: str) -> bool:
    """Whether a file's name is that of a session's transcript, and not of a subagent's."""
    return bool((_CODEX_NAME if is_codex(name) else _CLAUDE_NAME).fullmatch(name))


def session_of(path: str) -> str:
    """The id of a transcript's session; empty if there is none."""
    name = os.path.basename(path)
    if not is_codex(name):
        found = _CLAUDE_NAME.fullmatch(name)
        return found[1] if found else ""
    found = _CODEX_NAME.fullmatch(name)
    return (found[1] if found else "") or _id_in_meta(path)


def root_of(path: str) -> str | None:
    """The project of a transcript; empty if its folder is no project, None if the transcript does not say it yet."""
    cwd = cwd_of(path)
    if cwd is None:
        return None
    root = find_root(cwd) if os.path.isdir(cwd) else ""
    return "" if not root or why_unusual(root) else root


def _id_in_meta(path: str) -> str:
    """The id that Codex writes into the first line of a transcript."""
    try:
        with open_regular(path) as file:
            line = file.read(_MAX_META_BYTES).partition(b"\n")[0]
        payload = loads(line.strip()).get("payload")
        id_ = payload.get("id")
    except (UsageError, OSError, ValueError, AttributeError, RecursionError):
        return ""
    return id_ if isinstance(id_, str) and _CLAUDE_NAME.fullmatch(f"{id_}.jsonl") else ""
