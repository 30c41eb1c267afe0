"""Finds the transcripts of a project, of Claude Code and of Codex.

Claude Code has one folder per working folder; two working folders can share a name there, so the `cwd` in the records
decides. Codex has a tree by date, and the first record of a file has the `cwd`. Links are not followed.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress

from sage_code.errors import UsageError
from sage_code.paths import find_root
from sage_code.transcripts.lines import open_regular
from sage_code.transcripts.touches import decode

CONFIG_VARIABLE = "CLAUDE_CONFIG_DIR"
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
_NAME_VARIABLE = "CLAUDE_CODE_PROJECT_DIR_NAME"
CODEX_VARIABLE = "CODEX_HOME"
# Longer names are cut and get a hash, which differs between the program and the SDK, so only the beginning is compared.
_MAX_SLUG = 200
# The part of a file that is searched for its `cwd`: snapshots and summaries come before the first message.
_HEAD_BYTES = 1 << 20
_CWD = re.compile(rb'"cwd"\s*:\s*"')
_SESSION = re.compile(r"[0-9a-zA-Z-]{1,100}")
_MAX_SUBAGENTS = 2000


def find_active_transcript(project_root: str) -> str | None:
    """The transcript of the running session, or the newest one of the project."""
    session = os.environ.get(SESSION_VARIABLE, "")
    if _SESSION.fullmatch(session):
        for folder in _folders_of_claude():
            path = os.path.join(folder, f"{session}.jsonl")
            if _is_own_file(path, _projects()):
                return path
    return next(find_transcripts(project_root), None)


def find_transcripts(project_root: str) -> Iterator[str]:
    """The sessions of the project, newest first, without the files of subagents."""
    root = os.path.realpath(project_root)
    return (path for path in _newest_first([*_of_claude(root), *all_of_codex()]) if _belongs(path, root))


def all_transcripts() -> Iterator[str]:
    """All files of all projects, newest first, with the files of subagents."""
    sessions = [path for folder in _folders_of_claude() for path in _jsonl(folder, _projects())]
    return _newest_first([*sessions, *(part for path in sessions for part in parts_of(path)[1:]), *all_of_codex()])


def parts_of(transcript: str) -> list[str]:
    """The file of a session and those of its subagents, which may be nested."""
    session = os.path.splitext(transcript)[0]
    parts = [transcript]
    for folder, below, names in os.walk(os.path.join(session, "subagents")):  # does not follow links
        below.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if name.startswith("agent-") and name.endswith(".jsonl") and not os.path.islink(path):
                parts.append(path)
        if len(parts) > _MAX_SUBAGENTS:
            break
    return parts


def slug(folder: str) -> str:
    """Claude Code's name for a folder: a dash for each character (UTF-16 unit) but ASCII letters and digits."""
    text = unicodedata.normalize("NFC", os.path.realpath(folder))
    return re.sub(r"[^A-Za-z0-9]", lambda found: "--" if found[0] > "\uffff" else "-", text)


def cwd_of(path: str) -> str | None:
    """The working folder that a transcript names."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD_BYTES)
    except UsageError:
        return None
    for line in head.split(b"\n"):
        if not _CWD.search(line):
            continue
        try:
            record = decode(line) or {}
        except ValueError:
            continue
        payload = record.get("payload")
        cwd = record.get("cwd") or (payload.get("cwd") if isinstance(payload, dict) else None)
        if isinstance(cwd, str) and os.path.isabs(cwd) and "\0" not in cwd:
            return cwd
    return None


def codex_sessions() -> str:
    """The folder with the transcripts of Codex CLI, in folders by date."""
    home = os.environ.get(CODEX_VARIABLE) or os.path.join(os.path.expanduser("~"), ".codex")
    return os.path.join(os.path.abspath(home), "sessions")


def all_of_codex() -> list[str]:
    """All transcripts of Codex CLI."""
    return [
        os.path.join(folder, name)
        for folder, _, names in os.walk(codex_sessions())
        for name in names
        if name.startswith("rollout-") and name.endswith(".jsonl") and not os.path.islink(os.path.join(folder, name))
    ]


def _of_claude(root: str) -> Iterator[str]:
    wanted = slug(root)[:_MAX_SLUG]
    override = os.environ.get(_NAME_VARIABLE, "") if os.environ.get(CONFIG_VARIABLE) else ""
    for folder in _folders_of_claude():
        name = os.path.basename(folder)
        # A session may have been started below the root; then the name is longer.
        if name in (wanted, override) or name.startswith(f"{wanted}-"):
            yield from _jsonl(folder, _projects())


def _belongs(path: str, root: str) -> bool:
    """Whether a transcript was made in the project, and not in another project inside of it."""
    cwd = cwd_of(path)
    if cwd is None:
        return False
    folder = os.path.realpath(cwd)
    if folder == root:
        return True
    is_below = folder.startswith(root.rstrip(os.sep) + os.sep)
    return is_below and (not os.path.isdir(folder) or find_root(folder) == root)


def _projects() -> list[str]:
    given = os.environ.get(CONFIG_VARIABLE)
    home = os.path.expanduser("~")
    homes = [given] if given else [os.path.join(home, ".claude"), os.path.join(home, ".config", "claude")]
    return [os.path.join(os.path.abspath(one), "projects") for one in homes]


def _folders_of_claude() -> list[str]:
    folders = []
    for projects in _projects():
        with suppress(OSError):
            folders += [entry.path for entry in os.scandir(projects) if entry.is_dir()]
    return sorted(folders)


def _jsonl(folder: str, projects: list[str]) -> Iterator[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(".jsonl") and _is_own_file(path, projects):
            yield path


def _is_own_file(path: str, projects: list[str]) -> bool:
    """Whether a regular file is really in the agent's folder, with no link on the way."""
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    real = os.path.realpath(path)
    return any(real.startswith(os.path.realpath(folder) + os.sep) for folder in projects)


def _newest_first(paths: list[str]) -> Iterator[str]:
    dated = []
    for path in paths:
        with suppress(OSError):  # deleted meanwhile
            dated.append((-os.stat(path).st_mtime, path))
    return (path for _, path in sorted(dated))
