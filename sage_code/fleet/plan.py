"""What a run does: which repositories have changed, which of their files are new, and in which shards they are done.

The texts of a shard are read here and kept as an object, so a worker needs no checkout and sees the same bytes whenever
it starts. A repository is wholly in one run; a large fleet takes several runs, each published for itself.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

from sage_code.discover.reading import read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.errors import SageError
from sage_code.fleet.checkout import Checkout, check_out, current_commit, fingerprint_of
from sage_code.fleet.roster import Repository
from sage_code.fleet.state import FleetState, Head, Indexed, Plan
from sage_code.index.manifest import file_key
from sage_code.progress import Progress
from sage_code.values import SkippedFile

# Source bytes of one shard. The most bounds a worker's memory and what a killed one loses (about 20,000 chunks, some
# 40 s); the least keeps the fixed price of a shard (about 0.1 s) small against its work.
_MOST_SHARD_BYTES, _LEAST_SHARD_BYTES = 16 << 20, 256 << 10
_SHARD_FILES = 5_000
# Shards that a run is cut into at least, if they are not too small: enough for some dozens of workers.
_SHARDS = 64
# Source bytes of one run: what is read before its first shard starts, and what one commit publishes.
_RUN_BYTES = 4 << 30
# Addresses that are asked for their commit at the same time: waiting for the network, not for a core.
_ASKING = 8


@dataclass(frozen=True, slots=True)
class Problem:
    """A repository that could not be read; the others are indexed all the same."""

    repository: str
    why: str


@dataclass(frozen=True, slots=True)
class Planned:
    """What `make_plan` has found."""

    plan: Plan | None  # None: the table holds what the repositories hold
    looked_at: frozenset[str]  # repositories; if not all, another run is for the others
    problems: list[Problem]


def make_plan(
    state: FleetState,
    head: Head,
    repositories: Sequence[Repository],
    rules: DiscoverRules,
    model: tuple[str, int],
    progress: Progress,
    done: Collection[str] = (),
) -> Planned:
    """The next run, of repositories that are not `done` already. Writes the inputs of its shards."""
    left = [one for one in repositories if one.name not in done]
    checkouts, looked_at, problems = _changed(head, left, rules, model, progress)
    names = {one.name for one in repositories}
    removed = tuple(sorted(set(head.repositories) - names))
    if not checkouts and not removed:
        return Planned(None, looked_at, problems)
    now = datetime.now(UTC)
    run = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    total = sum(file.size for checkout in checkouts for file in checkout.files)
    shards = _Shards(lambda shard, files: state.put_input(run, shard, files), total)
    planned = {}
    progress.stage("reading repositories", len(checkouts))
    for checkout in checkouts:
        planned[checkout.repository.name] = _add(state, head, run, checkout, rules, shards)
        progress.advance()
    shards.close()
    at = now.isoformat(timespec="seconds")
    return Planned(Plan(run, model[0], model[1], at, planned, removed, shards.done), looked_at, problems)


def salt_of(rules: DiscoverRules, model: tuple[str, int]) -> str:
    """What decides about a repository's rows beside its files: the chunker, the model and the rules."""
    return f"{file_key('', '')}\0{model}\0{rules}"


def _changed(
    head: Head, repositories: Sequence[Repository], rules: DiscoverRules, model: tuple[str, int], progress: Progress
) -> tuple[list[Checkout], frozenset[str], list[Problem]]:
    """The repositories that are not in the table as they are now, as many as fit into a run, and all looked at."""
    salt, problems, found, size = salt_of(rules, model), [], [], 0
    looked_at = set()
    progress.stage("looking for changes", len(repositories))
    for repository, commit, problem in _commits(repositories):
        progress.advance()
        looked_at.add(repository.name)
        known = head.repositories.get(repository.name)
        try:
            if problem is not None:
                raise problem
            if known and commit and _is_same(known, repository, fingerprint_of(commit, salt)):
                continue
            checkout = check_out(repository, commit, rules, salt)
        except SageError as error:
            problems.append(Problem(repository.name, str(error)))
            continue
        if known and _is_same(known, repository, checkout.fingerprint):
            continue
        found.append(checkout)
        size += sum(file.size for file in checkout.files)
        if size > _RUN_BYTES:
            break
    return found, frozenset(looked_at), problems


def _is_same(known: Indexed, repository: Repository, fingerprint: str) -> bool:
    return known.fingerprint == fingerprint and known.owner == repository.owner and known.source == repository.source


def _commits(repositories: Sequence[Repository]) -> Iterator[tuple[Repository, str, SageError | None]]:
    """Each repository with its commit now, or with why it is not known."""

    def ask(repository: Repository) -> tuple[Repository, str, SageError | None]:
        try:
            return repository, current_commit(repository), None
        except SageError as error:
            return repository, "", error

    if all(one.is_folder for one in repositories):
        yield from ((one, "", None) for one in repositories)
        return
    with ThreadPoolExecutor(_ASKING) as pool:
        try:
            yield from pool.map(ask, repositories)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _add(state: FleetState, head: Head, run: str, checkout: Checkout, rules: DiscoverRules, shards: _Shards) -> Indexed:
    """Put the files of a repository that the table lacks into shards, and keep the list of all its files."""
    repository, known = checkout.repository, head.repositories.get(checkout.repository.name)
    old: frozenset[str] = frozenset()
    if known is not None and known.owner == repository.owner:  # every row names its owner
        old = state.keys_of(repository.name, known.run)
    keys: set[str] = set()
    skipped = 0
    for file in checkout.files:
        source = read_source(checkout.root, file, rules)
        if isinstance(source, SkippedFile):
            skipped += 1
            continue
        key = file_key(file.path, source.content_hash)
        keys.add(key)
        if key not in old:
            shards.add([repository.name, repository.owner, file.path, source.text, source.content_hash])
    state.put_keys(repository.name, run, keys)
    return Indexed(repository.owner, repository.source, checkout.commit, checkout.fingerprint, run, len(keys), skipped)


class _Shards:
    """Collects files into shards of bounded size; a shard may hold files of several repositories."""

    def __init__(self, put: Callable[[str, list[list[str]]], None], total: int) -> None:
        self._put = put
        self._limit = max(_LEAST_SHARD_BYTES, min(_MOST_SHARD_BYTES, total // _SHARDS))
        self._files: list[list[str]] = []
        self._bytes = 0
        self.done: dict[str, int] = {}

    def add(self, file: list[str]) -> None:
        self._files.append(file)
        self._bytes += len(file[3])
        if self._bytes >= self._limit or len(self._files) >= _SHARD_FILES:
            self.close()

    def close(self) -> None:
        """Write the shard that is being filled."""
        if not self._files:
            return
        shard = f"{len(self.done):06d}"
        self._put(shard, self._files)
        self.done[shard] = self._bytes
        self._files, self._bytes = [], 0
