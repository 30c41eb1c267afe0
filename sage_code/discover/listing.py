"""Lists the files that belong to a project.

In a git checkout git decides; without git, or when git fails, `.gitignore` files do. In both cases one walk over the
disk finds the files, so that git's lists of vanished files, links and other work trees never lead out of the root.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from sage_code.discover.gitfiles import Git, files_read_by_git
from sage_code.discover.ignore import IgnoreFile
from sage_code.discover.membership import ByGit, ByIgnoreFiles, Membership
from sage_code.discover.rules import DEFAULT_RULES, GITIGNORE, MAX_IGNORE_BYTES, DiscoverRules
from sage_code.discover.walk import Walk
from sage_code.errors import UsageError
from sage_code.files.contained import read_contained
from sage_code.files.stamps import Stamps
from sage_code.values import SkippedFile, SourceFile


def list_files(
    root: str,
    rules: DiscoverRules = DEFAULT_RULES,
    *,
    explain_ignored: bool = False,
    use_git: bool = True,
    stamps: Stamps | None = None,
) -> Iterator[SourceFile | SkippedFile]:
    """The project's files in the order of their paths, and skipped files with the reason.

    Ignored files and folders are named only with `explain_ignored`, an ignored folder as one entry that ends
    with a slash. `use_git=False` reads the ignore files even in a git checkout. `stamps` notes the change times
    of everything that decides about the list: while they stay the same, so does the list.
    """
    if not os.path.isdir(root):
        raise UsageError(f"{root} is not a folder", "give the folder of a project")
    top = os.fsencode(os.path.realpath(root)).replace(os.fsencode(os.sep), b"/").rstrip(b"/") + b"/"
    git = Git() if use_git else None

    def repository(absolute: bytes, path: bytes) -> Membership:
        if stamps is not None:
            stamps.add_outside(files_read_by_git(absolute, absolute))
        return _of_repository(git, absolute, path)

    if stamps is not None:
        work_tree = _work_tree(top)
        stamps.add_outside(_where_git_may_begin(top, work_tree))
        if work_tree is not None:
            stamps.add_outside(files_read_by_git(work_tree, top))
    return Walk(top, rules, repository, explain_ignored, stamps).files(_of_root(git, top))


def _of_repository(git: Git | None, folder: bytes, path: bytes) -> Membership:
    """The membership rules of a folder that has its own .git; `path` is the folder's, from the root."""
    listed = git.files(folder, folder) if git else None
    if listed is not None:
        return ByGit.of(listed, path)
    return ByIgnoreFiles(GITIGNORE.decode(), _exclude_file(folder))


def _of_root(git: Git | None, root: bytes) -> Membership:
    top = _work_tree(root)
    if top is None:
        return ByIgnoreFiles(GITIGNORE.decode())
    # An empty list below the top means that the repository around the root ignores it, like a home folder kept in
    # git. The user has named the root, so its files are listed all the same.
    listed = git.files(root, top) if git else None
    if listed or (listed is not None and top == root):
        return ByGit.of(listed, b"")
    return ByIgnoreFiles(GITIGNORE.decode(), _rules_above(top, root))


def _work_tree(folder: bytes) -> bytes | None:
    """The nearest folder upwards that has a .git, with a final slash."""
    while not os.path.lexists(folder + b".git"):
        parent = folder.rstrip(b"/").rpartition(b"/")[0] + b"/"
        if parent == folder or len(parent) >= len(folder):
            return None
        folder = parent
    return folder


def _where_git_may_begin(root: bytes, top: bytes | None) -> list[str]:
    """The missing `.git` of each folder above the root up to the work tree: one of them would be the work tree."""
    found: list[str] = []
    folder = os.path.dirname(root.rstrip(b"/"))
    while root != top and folder + b"/" != top:
        found.append(os.fsdecode(os.path.join(folder, b".git")))
        if folder == os.path.dirname(folder):
            break
        folder = os.path.dirname(folder)
    return found


def _rules_above(top: bytes, root: bytes) -> IgnoreFile | None:
    """The ignore files from the work tree's top to just above the root; none when they ignore the root."""
    rules = _exclude_file(top)
    folder = top
    for name in root[len(top) :].split(b"/")[:-1]:
        rules = IgnoreFile(_read(folder, GITIGNORE), folder, GITIGNORE.decode(), rules)
        decision = rules.decide(folder + name + b"/", name)
        if decision and decision[0]:
            return None
        folder += name + b"/"
    return rules


def _exclude_file(top: bytes) -> IgnoreFile | None:
    content = _read(top, b".git/info/exclude")
    return IgnoreFile(content, top, ".git/info/exclude") if content else None


def _read(folder: bytes, path: bytes) -> bytes:
    try:
        content = read_contained(folder, path, MAX_IGNORE_BYTES + 1)
        return content if len(content) <= MAX_IGNORE_BYTES else content[:MAX_IGNORE_BYTES].rpartition(b"\n")[0]
    except OSError:
        return b""
