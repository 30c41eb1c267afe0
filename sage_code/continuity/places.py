"""Where continuity keeps its files, and which project and branch a folder belongs to. Only small modules are imported.

<home>/continuity/sessions/   one file for each session of an agent in a project
<home>/continuity/projects/   what the sessions of a project have in common: the queue, distances of topics
<home>/continuity/log         what went wrong in hooks and background saves
"""

from __future__ import annotations

import os

import xxhash

from sage_code.paths import sage_home

_MAX_NAME_CHARS = 100
_MAX_HEAD_BYTES = 4_096
_HEX = frozenset("0123456789abcdef")
# A branch comes from a file of the project, which may come from anybody.
_MAX_BRANCH_CHARS = 200


def continuity_dir(*names: str) -> str:
    """A path below the folder of continuity."""
    return os.path.join(sage_home(), "continuity", *names)


def session_file(session: str, root: str) -> str:
    """The file of a session in a project; the session's name may come from anybody."""
    plain = len(session) <= _MAX_NAME_CHARS and session.replace("-", "").isalnum() and session.isascii()
    name = session if plain else "x" + _digest(session)
    return continuity_dir("sessions", f"{name}.{_digest(root)}.json")


def project_file(root: str, share_worktrees: bool = False) -> str:
    """The file of a project; with `share_worktrees`, of all worktrees of its repository."""
    return continuity_dir("projects", f"{project_key(root, share_worktrees)}.json")


def project_key(root: str, share_worktrees: bool = False) -> str:
    """A short name for a project, or for the repository that it is a worktree of."""
    return _digest((_common_git_dir(root) if share_worktrees else "") or root)


def branch_and_commit(root: str) -> tuple[str, str]:
    """The current branch and commit, read from git's files without starting git; empty if they are not known."""
    folder = _git_dir(root)
    head = _read(os.path.join(folder, "HEAD")) if folder else ""
    if not head.startswith("ref: "):
        return "", head if _is_commit(head) else ""
    ref = head[5:].strip()
    if not ref.startswith("refs/") or ".." in ref or len(ref) > _MAX_BRANCH_CHARS or not ref.isprintable():
        return "", ""
    common = _common_git_dir(root)
    commit = _read(os.path.join(folder, ref)) or (_read(os.path.join(common, ref)) if common else "")
    return ref.removeprefix("refs/heads/"), commit if _is_commit(commit) else ""


def _git_dir(root: str) -> str:
    """The folder of git for a checkout, which may be a worktree; empty if there is none."""
    path = os.path.join(root, ".git")
    if os.path.isdir(path):
        return path
    target = _read(path)
    return os.path.normpath(os.path.join(root, target[8:])) if target.startswith("gitdir: ") else ""


def _common_git_dir(root: str) -> str:
    """The folder of git that all worktrees of a repository have in common; empty without git."""
    folder = _git_dir(root)
    common = _read(os.path.join(folder, "commondir")) if folder else ""
    return os.path.realpath(os.path.join(folder, common)) if folder else ""


def _read(path: str) -> str:
    """The text of a small file; empty if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.read(descriptor, _MAX_HEAD_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _is_commit(text: str) -> bool:
    return len(text) in (40, 64) and _HEX.issuperset(text)


def short_name(session: str) -> str:
    """A few letters that tell sessions apart."""
    return _digest(session)[:6]


def _digest(text: str) -> str:
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "surrogatepass"))
