"""Which commit a change is compared with: the last one that it has in common with the branch it is merged into."""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.discover.gitstate import GitState
from sage_code.errors import UsageError

_GIVE_ONE = "give the commit to compare with: sage review --base REVISION"


@dataclass(frozen=True, slots=True)
class Base:
    """The commit that a change is compared with."""

    commit: str
    revision: str  # the branch or commit that was asked for or found
    head: str
    note: str = ""  # why it is not what one would expect


def git_of(root: str) -> GitState:
    """The checkout around a project, which must be one that git reads."""
    git = GitState.of(root)
    if git is None or not git.head():
        raise UsageError(
            f"{root} is in no git checkout with a commit that git reads",
            "commit first; in a container whose checkout belongs to another user, set safe.directory",
        )
    return git


def find_base(git: GitState, revision: str = "") -> Base:
    """The base of what is checked out, for a revision or for the default branch."""
    named = revision or git.default_branch()
    if not named:
        raise UsageError("no default branch is known in this checkout", _GIVE_ONE)
    commit = git.commit(named)
    if not commit:
        raise UsageError(f"there is no commit {named[:200]} in this checkout", "fetch it first, or name another one")
    head = git.head()
    common = git.merge_base(commit, head)
    if common:
        return Base(common, named, head)
    return Base(commit, named, head, "no common ancestor is known (a shallow clone?): compared with the base itself")
