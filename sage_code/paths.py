"""The paths of Sage: the user's home of Sage, a project's root and its `.sage/` folder, the shipped assets.

Only `os` and `sys` are imported: this is on the path of `sage grep`.
"""

from __future__ import annotations

import os
import sys

HOME_VARIABLE = "SAGE_HOME"
DOT_SAGE = ".sage"
# A folder that holds one of these is a project's root; `.sage` wins over an outer repository.
_ROOT_MARKERS = (DOT_SAGE, ".git", ".hg", ".jj")
# The folder below Sage's home for the one project whose own `.sage/` would be that home.
_AROUND_HOME = "project-around-home"
# Shipped folders that are not at the top of a checkout: the plugin of Claude Code carries the skills too.
_IN_CHECKOUT = {"skills": ("plugin", "skills")}
_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def sage_home() -> str:
    """The user's folder, `~/.sage` unless SAGE_HOME says otherwise."""
    return os.path.abspath(os.environ.get(HOME_VARIABLE) or os.path.join(os.path.expanduser("~"), DOT_SAGE))


def listeners_dir() -> str:
    """The folder of those who listen to events: which plugins are enabled, and a pipe for each `sage events tail`.

    It exists only while there is one, so that a look at it is the whole price of an event that is not heard.
    """
    return os.path.join(sage_home(), "events")


def anybody_listens() -> bool:
    """Whether an event may be heard: by a plugin, by `sage events tail`, or by this program itself."""
    return "sage_code.events.bus" in sys.modules or os.path.exists(listeners_dir())


def find_root(start: str) -> str:
    """The root of the project that `start` is in: the nearest folder upwards with a marker, or `start` itself.

    The user's own `~/.sage` does not make the home folder a project.
    """
    start = os.path.realpath(start)
    if os.path.isfile(start):
        start = os.path.dirname(start)
    folder = start
    while True:
        for marker in _ROOT_MARKERS:
            candidate = os.path.join(folder, marker)
            if os.path.exists(candidate) and not _is_same(candidate, sage_home()):
                return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return start
        folder = parent


def dot_sage_dir(root: str) -> str:
    """The project's own `.sage/`; every path of a project starts here. Sage's home is never in it.

    If the home folder is a project (dotfiles in git, a container), or SAGE_HOME is inside a project's `.sage/`, the
    files of all projects would be in the `.sage/` of one. Such a project has a folder below Sage's home instead.
    """
    folder = os.path.join(root, DOT_SAGE)
    home = above = sage_home()
    while not _is_same(above, folder):
        if DOT_SAGE not in (parent := os.path.dirname(above)) or parent == above:
            return folder
        above = parent
    return os.path.join(home, _AROUND_HOME)


def has_memories(root: str) -> bool:
    """Whether a project may have checkpoints or knowledge of its own; most have none."""
    return any(os.path.exists(os.path.join(root, DOT_SAGE, kind)) for kind in ("checkpoints", "knowledge"))


def _is_same(one: str, other: str) -> bool:
    """Whether two paths name the same entry of the same folder. A `.sage` that is a link to Sage's home is not that
    home."""
    if one == other:
        return True
    if os.path.basename(one) != os.path.basename(other):
        return False
    try:
        return os.path.samefile(os.path.dirname(one), os.path.dirname(other))
    except OSError:  # one of the folders does not exist
        return False


def codebase_dir(root: str) -> str:
    """The folder of everything that indexing writes into a project; it can be deleted."""
    return os.path.join(dot_sage_dir(root), "codebase")


def compiled_dir(root: str) -> str:
    """The published generation of compiled files (a link; see `atomic.publish`)."""
    return os.path.join(codebase_dir(root), "compiled")


def generations_dir(root: str) -> str:
    """The folder of the generations; `compiled` points at one of them."""
    return os.path.join(codebase_dir(root), "generations")


def manifest_path(root: str) -> str:
    """The project's `index_meta.json`."""
    return os.path.join(codebase_dir(root), "index_meta.json")


def stamps_path(root: str) -> str:
    """The change times of a project's files when they were last compared with its index."""
    return os.path.join(codebase_dir(root), "stamps")


def index_lock(root: str) -> str:
    """The lock that a process holds while it changes the project's index."""
    return os.path.join(codebase_dir(root), "index.lock")


def registry_path() -> str:
    """The registry: the list of the user's projects."""
    return os.path.join(sage_home(), "codebase", "projects.json")


def assets_dir(name: str) -> str:
    """A shipped folder (`grammars`, `compiled_schema`, `skills`): inside the wheel, or in a checkout."""
    checkout = os.path.dirname(_PACKAGE)
    for folder in (os.path.join(_PACKAGE, "_assets", name), os.path.join(checkout, *_IN_CHECKOUT.get(name, (name,)))):
        if os.path.isdir(folder):
            return folder
    raise FileNotFoundError(f"Sage's own folder {name!r} is missing; reinstall sage-code")
