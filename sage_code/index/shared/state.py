"""What a user sees and decides about shared indexes: the own key, the trusted keys, and what is published of a project.

Whom to trust is in the user's settings alone; a project has no say in it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from sage_code.discover.gitstate import GitState
from sage_code.errors import SageError, UsageError
from sage_code.index.shared.fetching import SharedIndex, shared_name
from sage_code.index.shared.signing import VARIABLE, bare, key_path, new_key, own_key
from sage_code.progress import Silent
from sage_code.settings.loading import load_settings, set_value
from sage_code.settings.table import Settings

# How many commits back are counted.
_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class OwnKey:
    """The key that this user signs with; the shape of `sage share key --json`."""

    key: str  # the public part
    kept_in: str  # where the private part is
    made: bool  # in this call


@dataclass(frozen=True, slots=True)
class SharedState:
    """What is published of a project; the shape of `sage share status --json`."""

    root: str
    project: str
    shared_index: str
    commit: str  # that is checked out; empty without git
    found: str  # the commit of the index that `sage index` would use; empty if there is none
    behind: int  # how many commits it is older
    made_at: str
    files: int
    chunks: int
    problem: str  # why the store could not be asked, or what it has is refused
    own_key: str
    trusted_keys: tuple[str, ...]


def key_of_user(*, replace: bool = False) -> OwnKey:
    """The user's own key; made if there is none, or if it is to be replaced."""
    known = own_key()
    from_variable = bool(known) and _is_from_variable()
    if replace and from_variable:
        raise UsageError(f"the key is in the variable {VARIABLE}", "replace it where that variable is set")
    made = replace or not known
    key = new_key(replace=replace) if made else known
    return OwnKey(key, f"the variable {VARIABLE}" if from_variable else key_path(), made)


def trust(key: str, name: str = "") -> tuple[str, ...]:
    """Trust a public key from now on; returns all trusted keys."""
    kept = [one for one in load_settings(None).shared_trusted_keys if bare(one) != bare(key)]
    return _save([*kept, f"{bare(key)}#{name}" if name else key])


def distrust(key: str) -> tuple[str, ...]:
    """Trust a key, given whole or by its name, no more; returns the keys that this concerns."""
    known = load_settings(None).shared_trusted_keys
    gone = tuple(one for one in known if key in (one, bare(one), one.partition("#")[2]))
    if gone:
        _save([one for one in known if one not in gone])
    return gone


def shared_state(root: str, settings: Settings) -> SharedState:
    """Ask the store what it has for the commit that is checked out."""
    if not settings.shared_index:
        raise UsageError("no shared index is set", "`sage config set shared_index s3://BUCKET/FOLDER`, or a folder")
    git = GitState.of(root)
    commit = git.head() if git else ""
    found, problem = None, "" if commit else f"{root} has no commit of git"
    if commit:
        try:
            found = SharedIndex(root, settings, Silent()).ask()
        except (SageError, OSError) as error:
            problem = str(error)
    behind = git.ancestors(_COUNTED).index(found.commit) if git and found else 0
    return SharedState(
        root=root,
        project=shared_name(settings, git) if git else "",
        shared_index=settings.shared_index,
        commit=commit,
        found=found.commit if found else "",
        behind=behind,
        made_at=found.made_at if found else "",
        files=sum(map(len, found.row_keys)) if found else 0,
        chunks=found.chunks if found else 0,
        problem=problem,
        own_key=own_key(),
        trusted_keys=settings.shared_trusted_keys,
    )


def _is_from_variable() -> bool:
    return bool(os.environ.get(VARIABLE, "").strip())


def _save(keys: list[str]) -> tuple[str, ...]:
    value = set_value("shared_trusted_keys", ",".join(keys), "user")
    return tuple(value) if isinstance(value, tuple) else ()
