"""`.sage/core.md`: the list of files that everybody who works in a project should know, shared in git.

One line per file, sorted by path, so that additions of two people merge. Text above the list belongs to the team and is
kept. The list may come with a cloned repository: its size is bounded, and paths that lead out of the project are
ignored.
"""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass

from sage_code.errors import Conflict, StoreError, UsageError
from sage_code.files import dot_sage
from sage_code.files.atomic import write_bytes
from sage_code.files.contained import read_contained, read_regular
from sage_code.files.inside import is_inside, relative_path
from sage_code.files.locks import locked
from sage_code.paths import DOT_SAGE, anybody_listens, dot_sage_dir

CORE_FILE = "core.md"
# A longer list no longer says what matters most; a summary is one line.
MAX_FILES = 200
MAX_SUMMARY_CHARS = 300
_MAX_BYTES = 256 * 1024
_LOCK_TIMEOUT_S = 10.0
_HEAD = "# Core files\n\nWhat to know before working here; `sage core add PATH --summary TEXT` adds to it.\n\n"
_ENTRY = re.compile(r"^[-*] `(?P<path>[^`]+)`(?:: *(?P<summary>.*))?$")
# They would end the line or control a terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class CoreFile:
    """A file that matters, and why."""

    path: str  # from the project's root, with forward slashes
    summary: str
    exists: bool

    @property
    def is_masked(self) -> bool:
        """Whether a secret in the summary was masked."""
        return "[masked: " in self.summary


def core_files(root: str) -> list[CoreFile]:
    """The project's core files by path, including those that no longer exist, to be shown."""
    entries = sorted((_shown(root) if anybody_listens() else _read(root)[1]).items())
    return [CoreFile(path, _masked(summary), os.path.isfile(os.path.join(root, path))) for path, summary in entries]


def mark(root: str, path: str, summary: str = "") -> CoreFile:
    """Mark a file of the project as core, or change its summary; an empty summary keeps the old one.

    Secrets in the summary are masked when it is written and again when it is read, since anybody may edit the file.
    """
    summary = " ".join(summary.split())
    if len(summary) > MAX_SUMMARY_CHARS or _CONTROL.search(summary):
        raise UsageError("the summary is too long or has control characters", f"use at most {MAX_SUMMARY_CHARS}")
    summary = _masked(summary)
    inside = relative_path(root, path)
    if not _is_fit(inside):
        raise UsageError(f"a file named {inside!r} cannot be listed", "rename it: no backticks or control characters")
    with _changing(root, shares=True):
        head, entries = _read(root)
        if inside not in entries and len(entries) >= MAX_FILES:
            raise UsageError(f"{MAX_FILES} files are core already", "remove one that matters less: sage core rm PATH")
        entries[inside] = summary or entries.get(inside, "")
        _write(root, head, entries)
    if anybody_listens():
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        publishing.memory_saved("core", inside, "project", root)
    return CoreFile(inside, _masked(entries[inside]), True)


def unmark(root: str, path: str) -> str | None:
    """Remove a mark, also of a file that no longer exists; returns its listed path, or None if it was not listed."""
    with _changing(root):
        head, entries = _read(root)
        wanted = os.path.relpath(os.path.join(os.path.realpath(root), path), os.path.realpath(root))
        listed = next((name for name in (path, wanted.replace(os.sep, "/")) if name in entries), None)
        if listed is not None:
            del entries[listed]
            _write(root, head, entries)
    return listed


def core_text(root: str) -> str:
    """The list as it is on the disk, with what the team has written above it; empty if there is none."""
    return _text(root)


def replace_text(root: str, before: str, text: str) -> None:
    """Write the whole list again; Conflict if it no longer has the text `before`. Without a text there is no list."""
    with _changing(root):
        if _text(root) != before:
            raise Conflict(f"{_path(root)} was changed meanwhile", "nothing was changed")
        try:
            if text:
                write_bytes(_path(root), text.encode())
            elif os.path.lexists(_path(root)):
                os.unlink(_path(root))
        except OSError as error:
            raise StoreError(f"{_path(root)} cannot be written: {error.strerror}", "nothing was changed") from error


def by_worth(files: list[CoreFile]) -> list[CoreFile]:
    """The core files that exist, those with a summary first: what is shown where there is no room for all."""
    return sorted((file for file in files if file.exists), key=lambda file: (not file.summary, file.path))


def _masked(summary: str) -> str:
    from sage_code.text.masking import mask  # lazy: dozens of patterns that most commands do not need

    return mask(summary)[0][:MAX_SUMMARY_CHARS] if summary else ""


def _is_fit(path: str) -> bool:
    return "`" not in path and not _CONTROL.search(path)


def _path(root: str) -> str:
    return os.path.join(dot_sage_dir(root), CORE_FILE)


def _shown(root: str) -> dict[str, str]:
    """The summaries by path, with what plugins change about the list."""
    from sage_code.memory.files.plugged_loading import load  # lazy: most users have no plugins
    from sage_code.settings.loading import load_settings

    own = f"{DOT_SAGE}/{CORE_FILE}"

    def read(path: str) -> str:
        if path == own:
            return _text(root)
        try:
            return read_contained(os.fsencode(root), os.fsencode(path), _MAX_BYTES).decode("utf-8", "replace")
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}", "a plugin has named it as `core`") from error

    timeout_ms = load_settings(root).load_timeout_ms
    return load("core", own, read, lambda text: _parsed(text)[1], folder="", timeout_ms=timeout_ms)


def _read(root: str) -> tuple[str, dict[str, str]]:
    """The text above the list, and the summaries by path."""
    return _parsed(_text(root))


def _text(root: str) -> str:
    """The list as it is on the disk; empty if there is none."""
    try:
        if os.path.islink(_path(root)) or os.path.islink(os.path.dirname(_path(root))):
            return ""  # a link may come from a repository: it is not followed, and a writer replaces it
        # A file that is too large is refused, not cut: the whole text is written back later.
        return read_regular(_path(root), _MAX_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        hint = "it must be a file of at most 256 KB that you may read; nothing was changed"
        raise StoreError(f"{_path(root)} cannot be read: {error.strerror}", hint) from error


def _parsed(text: str) -> tuple[str, dict[str, str]]:
    """The text above a list, and its summaries by path."""
    lines = text.split("\n")
    entries: dict[str, str] = {}
    head: list[str] = []
    for line in lines:
        found = _ENTRY.match(line.rstrip())
        if found is None:
            head += [] if entries else [line]
        elif is_inside(found["path"]) and _is_fit(found["path"]) and len(entries) < MAX_FILES:
            entries[found["path"]] = _CONTROL.sub(" ", found["summary"] or "").strip()[:MAX_SUMMARY_CHARS]
    return "\n".join(head).rstrip() + "\n\n" if any(head) else _HEAD, entries


def _write(root: str, head: str, entries: dict[str, str]) -> None:
    lines = [f"- `{path}`: {entries[path]}".removesuffix(": ") for path in sorted(entries)]
    try:
        write_bytes(_path(root), (head + "".join(f"{line}\n" for line in lines)).encode())
    except OSError as error:
        raise StoreError(f"{_path(root)} cannot be written: {error.strerror}", "nothing was changed") from error


def _changing(root: str, *, shares: bool = False) -> AbstractContextManager[None]:
    """Lock the list for one writer, so that two marks made at once are both kept."""
    folder = dot_sage.prepare(root, "local", shares=shares)
    return locked(os.path.join(folder, "local", "core.lock"), timeout_s=_LOCK_TIMEOUT_S)
