"""The files of a repository at one commit: a folder as it is, a git address as a shallow clone in Sage's home.

A repository is hostile input: no hook, filter, submodule or helper of it runs, only the protocol of its own address is
allowed, and each call of git is bounded in time and in the size of what it writes. A commit is counted before it is
checked out, since a small pack can hold a tree of a billion files. Clones are a cache.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO

import xxhash

from sage_code.discover.git_process import git_program
from sage_code.discover.listing import list_files
from sage_code.discover.rules import DiscoverRules
from sage_code.errors import StoreError, UsageError
from sage_code.files.private import make_private
from sage_code.fleet.roster import Repository
from sage_code.paths import sage_home
from sage_code.values import SourceFile

# A first fetch of one commit of a very large repository; asking for the commit alone takes a second.
_FETCH_S = 900.0
_ASK_S = 60.0
# The largest pack that a repository may send, and what git may print about it.
_MAX_PACK_BYTES = 16 << 30
_MAX_PRINTED_BYTES = 1 << 20
# What one commit may hold; the largest known monorepositories have half a million files.
_MAX_FILES, _MAX_TREE_BYTES = 2_000_000, 64 << 30
# Each fetch adds a pack, and none of them is ever packed again: after so many the clone is made from the start.
_MOST_PACKS = 20
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_OVERRULED = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.autocrlf=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "transfer.fsckObjects=true",
    # Large files by LFS are not source, and their filter asks the network.
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "http.followRedirects=initial",
)
_KEPT_VARIABLES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_SSH_COMMAND", "GIT_ASKPASS")


@dataclass(frozen=True, slots=True)
class Checkout:
    """A repository's files on this machine."""

    repository: Repository
    root: str
    commit: str  # empty for a folder
    fingerprint: str  # equal: nothing has changed
    files: tuple[SourceFile, ...]


def current_commit(repository: Repository) -> str:
    """The commit that the address names now; empty for a folder."""
    if repository.is_folder:
        return ""
    wanted = f"refs/heads/{repository.branch}" if repository.branch else "HEAD"
    printed = _git(repository, _ASK_S, "ls-remote", "--quiet", "--", repository.source, wanted)
    commit = printed.split(None, 1)[0] if printed.strip() else ""
    if not _COMMIT.fullmatch(commit):
        raise UsageError(f"{repository.name}: {repository.source} has no {wanted}", "check its address and branch")
    return commit


def check_out(repository: Repository, commit: str, rules: DiscoverRules, salt: str) -> Checkout:
    """The files of the repository at this commit. `salt` is what else decides whether they must be done again."""
    if repository.is_folder:
        if not os.path.isdir(repository.source):
            raise UsageError(f"{repository.name}: {repository.source} is not a folder", "mend it in the fleet's file")
        files = _listed(repository.source, rules)
        return Checkout(repository, repository.source, "", _fingerprint(files, salt), files)
    root = clone_folder(repository)
    if _head(root) != commit:
        _fetch(repository, root, commit)
    return Checkout(repository, root, commit, fingerprint_of(commit, salt), _listed(root, rules))


def fingerprint_of(commit: str, salt: str) -> str:
    """The fingerprint of a repository at a commit, which needs no look at its files."""
    return xxhash.xxh3_128_hexdigest(f"{commit}\0{salt}".encode())


def clone_folder(repository: Repository) -> str:
    """Where a repository's clone is kept."""
    digest = xxhash.xxh3_64_hexdigest(f"{repository.source}\0{repository.branch}".encode())
    last = repository.name.rpartition("/")[2]
    return os.path.join(sage_home(), "fleet", "clones", f"{last}-{digest}")


def drop_clones(repositories: Iterable[Repository]) -> None:
    """Delete the clones of repositories that are off the list."""
    for one in repositories:
        if not one.is_folder:
            shutil.rmtree(clone_folder(one), ignore_errors=True)  # a cache: what cannot be deleted is only disk


def _listed(root: str, rules: DiscoverRules) -> tuple[SourceFile, ...]:
    return tuple(file for file in list_files(root, rules) if isinstance(file, SourceFile))


def _fingerprint(files: tuple[SourceFile, ...], salt: str) -> str:
    hasher = xxhash.xxh3_128(salt.encode())
    for file in files:
        hasher.update(f"{file.path}\0{file.size}\0{file.mtime_ns}\0{file.ctime_ns}\n".encode())
    return hasher.hexdigest()


def _fetch(repository: Repository, root: str, commit: str) -> None:
    """Bring one commit, without its history, into the clone and check it out."""
    make_private(os.path.dirname(os.path.dirname(root)))
    if _is_crowded(root):
        shutil.rmtree(root)
    os.makedirs(root, exist_ok=True)
    if not os.path.isdir(os.path.join(root, ".git")):
        _git(repository, _ASK_S, "init", "--quiet", "--template=", "--", root)
    wanted = f"refs/heads/{repository.branch}" if repository.branch else "HEAD"
    fetch = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--force", "--")
    _git(repository, _FETCH_S, "-C", root, *fetch, repository.source, f"{wanted}:refs/sage/fetched")
    _check_size(repository, root)
    # The commit may have moved since it was asked for; what was fetched is what the run is pinned to next time.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(root, ".git", "index.lock"))  # of a git that was killed
    _git(repository, _FETCH_S, "-C", root, "checkout", "--quiet", "--force", "--detach", "refs/sage/fetched")
    _git(repository, _FETCH_S, "-C", root, "clean", "--quiet", "-ffdx")
    if _head(root) != commit:
        raise StoreError(f"{repository.name} has moved while it was fetched", "run `sage fleet index` again")


def _head(root: str) -> str:
    """The commit that is checked out; empty if there is none."""
    try:
        with open(os.path.join(root, ".git", "HEAD"), encoding="ascii") as file:
            found = file.read(100).strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return found if _COMMIT.fullmatch(found) else ""


def _is_crowded(root: str) -> bool:
    """Whether the clone has many packs, or one that was left half written by a git that was killed."""
    try:
        names = os.listdir(os.path.join(root, ".git", "objects", "pack"))
    except OSError:
        return False
    return sum(name.endswith(".pack") for name in names) > _MOST_PACKS or any(name[:4] == "tmp_" for name in names)


def _check_size(repository: Repository, root: str) -> None:
    """Refuse a commit that would fill the disk, before it is checked out."""
    files = size = 0
    command = _command("-C", root, "ls-tree", "-r", "-l", "-z", "refs/sage/fetched")
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(repository),
    ) as process:
        assert process.stdout is not None
        left = b""
        try:
            while (data := process.stdout.read(1 << 16)) and files <= _MAX_FILES and size <= _MAX_TREE_BYTES:
                *entries, left = (left + data).split(b"\0")
                files += len(entries)
                sizes = (entry.partition(b"\t")[0].split()[-1] for entry in entries)
                size += sum(int(one) for one in sizes if one.isdigit())  # a submodule has "-"
            if not data and process.wait():
                raise StoreError(f"{repository.name}: git cannot list its commit", "run `sage fleet index` again")
        finally:
            process.kill()
    if files > _MAX_FILES or size > _MAX_TREE_BYTES:
        raise StoreError(
            f"{repository.name}: its commit has more than {_MAX_FILES:,} files or {_MAX_TREE_BYTES >> 30} GB",
            "list a folder with the part of it that is wanted",
        )


def _command(*words: str) -> list[str]:
    program = git_program()
    if program is None:
        raise UsageError("git is not installed", "install git, or list folders instead of addresses")
    command = [program, "--no-pager"]
    for setting in _OVERRULED:
        command += ["-c", setting]
    return [*command, *words]


def _environment(repository: Repository) -> dict[str, str]:
    protocol = repository.source.partition("://")[0] if "://" in repository.source else "ssh"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _KEPT_VARIABLES}
    return kept | {
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C",
    }


def _git(repository: Repository, seconds: float, *words: str) -> str:
    """What git prints; an error that names the repository when it fails or takes too long."""
    most = _MAX_PACK_BYTES if seconds == _FETCH_S else _MAX_PRINTED_BYTES
    # Files, since a pipe is read into memory whole: what a server makes git print is bounded like what it sends.
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as complaint:
        process = subprocess.Popen(
            _command(*words),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=complaint,
            env=_environment(repository),
            start_new_session=True,  # its helpers end with it, and ssh has no terminal to ask for a password
        )
        try:
            _limit_files(process.pid, most)
            process.wait(timeout=seconds)
        except subprocess.TimeoutExpired as error:
            hint = "run `sage fleet index` again; the other repositories are not lost"
            raise StoreError(f"{repository.name}: git took longer than {seconds:,.0f} s", hint) from error
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            lines = _start_of(complaint).strip().splitlines() or [f"git ended with {process.returncode}"]
            raise StoreError(
                f"{repository.name}: {lines[-1][:200]}", f"check {repository.source} and your rights to it"
            )
        return _start_of(printed)


def _start_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read(_MAX_PRINTED_BYTES).decode("utf-8", errors="replace")


def _limit_files(pid: int, most: int) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError, ValueError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
