"""Which folders are not projects: they are indexed only when the user insists, and never for an agent."""

from __future__ import annotations

import os
import sys

from sage_code.paths import sage_home

# These and everything below: devices, the kernel's files, the machine's configuration and programs.
_SYSTEM_TREES = ("/proc", "/sys", "/dev", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/boot")
# A disk in memory, where projects may be.
_NOT_SYSTEM = "/dev/shm"  # noqa: S108 - nothing is written there
_SYSTEM_TREES_OF = {
    "darwin": ("/System", "/Library", "/private/etc", "/cores"),
    "win32": tuple(os.environ.get(name, "") for name in ("SystemRoot", "ProgramFiles", "ProgramFiles(x86)")),
}
# Only these: folders below them may be projects (/usr/src/linux, /var/www/shop, /opt/app).
_SYSTEM_FOLDERS = (
    "/usr", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/include", "/usr/share", "/usr/src",
    "/usr/local", "/usr/local/bin", "/usr/local/lib", "/usr/local/share", "/var", "/var/lib", "/var/log", "/var/cache",
    "/opt", "/srv", "/mnt", "/media", "/home", "/snap", "/run", "/tmp", "/var/tmp",  # noqa: S108
)  # fmt: skip
_SYSTEM_FOLDERS_OF = {
    "darwin": ("/Users", "/Applications", "/Volumes", "/private", "/private/var", "/private/tmp"),
}


def why_unusual(root: str) -> str:
    """What the folder is if it is not a project, in words that follow "is"; empty for a project."""
    root = os.path.realpath(root)
    home = os.path.realpath(os.path.expanduser("~"))
    own = os.path.realpath(sage_home())
    if os.path.dirname(root) == root:
        return "the root of the disk"
    if root == home:
        return "your home folder"
    if _is_below(own, root):
        return "Sage's own home"
    if _is_below(root, home):
        return "a folder above your home folder"
    trees = (*_SYSTEM_TREES, *_SYSTEM_TREES_OF.get(sys.platform, ()))
    in_tree = any(tree and _is_below(tree, root) for tree in trees) and not root.startswith(_NOT_SYSTEM + os.sep)
    is_one = root in (*_SYSTEM_FOLDERS, *_SYSTEM_FOLDERS_OF.get(sys.platform, ()))
    return "a system folder" if in_tree or is_one else ""


def _is_below(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or inside it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
