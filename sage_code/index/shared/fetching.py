"""The reader's side: find the published index of a commit, verify it, and take what of it is missing here.

A project without an index gets the published one as its own: compiled files and the states of files are fetched, rows
are not. Later runs that need rows (vectors of an edited file, segments that are written again, a verification) fetch
the frames that hold them. Every failure (unreachable, refused, not signed, tampered with) is one note, and the run
goes on alone.

What was found is kept in Sage's home and verified again whenever it is used. The store is asked once for each commit
that is checked out, and not for a while after it did not answer or had nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import orjson
import xxhash

from sage_code.discover.gitstate import GitState
from sage_code.embed.naming import stable_name
from sage_code.errors import SageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.private import make_private
from sage_code.index import registry
from sage_code.index.manifest import FileState, Manifest, SkipState, entry_of
from sage_code.index.shared.published import (
    MAX_LIST_BYTES,
    PublishedIndex,
    decoded,
    download,
    flavour_of,
    place_of,
    project_name,
    write_piece,
)
from sage_code.index.shared.signing import UntrustedError, opened, trusted_keys
from sage_code.paths import sage_home
from sage_code.settings.table import Settings
from sage_code.store.remote.address import address_of
from sage_code.store.remote.objects import Objects

if TYPE_CHECKING:
    from sage_code.progress import Progress
    from sage_code.store.lance import Store

# How many commits back an index is looked for: months of a large project, and git lists them in 50 ms.
_ANCESTORS = 2_000
# How many published commits of a project are looked through.
_MAX_LISTED = 20_000
_DOWNLOADS = 6
# After a failure, or an answer that nothing is there, the store is left alone for so long: a watcher indexes after
# every change.
_PAUSE_S = 300.0


class SharedIndex:
    """The published indexes of one project, as its reader sees them."""

    def __init__(self, root: str, settings: Settings, progress: Progress) -> None:
        self._root, self._settings, self._progress = root, settings, progress
        self._found: PublishedIndex | None = None
        self._objects_made: Objects | None = None
        self.commit = ""  # of the index that was installed in this run

    # -- a project without an index -----------------------------------------------------------------------------

    def install(self, name: str | None = None) -> None:
        """Make the published index of HEAD, or of its nearest ancestor, the project's own, if there is one."""
        try:
            found = self._look_up()
            if found is not None:
                self._install(found, name)
        except (SageError, OSError) as error:
            self._give_up(error)

    def _install(self, found: PublishedIndex, name: str | None) -> None:
        """Fetch the compiled files and the states of files, and publish them as the project's generation."""
        self._progress.stage("fetching the shared index", sum(map(len, found.files.values())))
        objects = self._objects()
        with ThreadPoolExecutor(_DOWNLOADS) as pool:
            parts = [pool.submit(download, objects, piece) for piece in found.states]
            # Heavy: NumPy. Only a project that has no index comes here, while the states are on their way.
            from sage_code.compiled.generation import GenerationWriter
            from sage_code.files import provenance

            states = orjson.loads(b"".join(part.result() for part in parts))
        files, skipped = _states(states)

        def fill(folder: str) -> None:
            with ThreadPoolExecutor(_DOWNLOADS) as pool:
                jobs = []
                for file, pieces in found.files.items():
                    path, begin = os.path.join(folder, file), 0
                    with open(path, "wb"):
                        pass  # it exists; its pieces may come in any order
                    for piece in pieces:
                        jobs.append(pool.submit(write_piece, objects, path, begin, piece))
                        begin += piece.size
                try:
                    for job in jobs:
                        job.result()
                        self._progress.advance()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)  # one that fails is enough
                    raise

        with GenerationWriter(self._root, found.model, found.dim, None, set()) as writer:
            writer.publish_made(found.segments, fill)
            new = Manifest(
                project=name or os.path.basename(self._root) or self._root,
                model_setting=self._settings.code_embedding_model,
                model=found.model,
                dim=found.dim,
                store_uri=self._settings.store_uri,
                generation=writer.name,
                indexed_at=found.made_at,
                files=files,
                skipped=skipped,
            ).checked()
            registry.record(entry_of(self._root, new))
            new.save(self._root)
            provenance.forget(self._root, writer.removed)
        self.commit = found.commit
        self._progress.note(f"fetched the shared index of commit {found.commit[:12]} ({found.chunks:,} chunks)")

    # -- rows that the store lacks ------------------------------------------------------------------------------

    def covers(self, keys: Collection[str]) -> bool:
        """Whether rows of the project's files may be elsewhere than in the local store."""
        found = self.kept()
        return found is not None and any(not part.isdisjoint(keys) for part in map(set, found.row_keys))

    def bring(self, store: Store, keys: Iterable[str], *, look: bool = True) -> int:
        """Add to the store the rows of `keys` that it lacks and that are published; returns how many files came."""
        wanted = set(keys)
        if not wanted:
            return 0
        wanted -= store.existing(list(wanted))
        try:
            found = (self._look_up() if look else None) or self.kept()
            return self.bring_from(store, found, wanted) if found is not None and wanted else 0
        except (SageError, OSError) as error:
            self._give_up(error)
            return 0

    def bring_from(self, store: Store, found: PublishedIndex, wanted: set[str]) -> int:
        """Add the frames of a published index that hold rows of `wanted`; returns how many files came."""
        from sage_code.index.batches import unpack  # heavy: NumPy

        frames = [piece for piece, keys in zip(found.rows, found.row_keys, strict=True) if not wanted.isdisjoint(keys)]
        if not frames or self._is_paused():
            return 0
        self._progress.stage("fetching shared rows", len(frames))
        came = 0
        for piece in frames:
            try:
                rows = [file.rows for file in unpack(download(self._objects(), piece), found.dim, signed=True)]
            except (ValueError, TypeError, KeyError, IndexError) as error:
                raise UntrustedError(f"its rows cannot be read: {error}") from error
            store.add(rows)
            came += len(rows)
            self._progress.advance()
        store.look_again()
        return came

    # -- finding it ---------------------------------------------------------------------------------------------

    def _look_up(self) -> PublishedIndex | None:
        """The published index nearest to HEAD: the store is asked once for each commit that is checked out."""
        git = GitState.of(self._root)
        head = git.head() if git else ""
        state = self._state()
        if git is None or not head:
            return None
        place = place_of(shared_name(self._settings, git), wanted_flavour(self._settings))
        asked = [self._settings.shared_index, place, head]
        if state.get("found") == asked and (found := self.kept()) is not None:
            return found
        if self._is_paused() or (state.get("lacking") == asked and _is_recent(state.get("asked_at"))):
            return None
        found = self._find(git, head, place)
        self._remember({"found": asked} if found else {"lacking": asked, "asked_at": time.time()})
        return found

    def ask(self) -> PublishedIndex | None:
        """The published index nearest to HEAD, asked for now; a store that does not answer raises."""
        git = GitState.of(self._root)
        head = git.head() if git else ""
        if git is None or not head:
            return None
        return self._find(git, head, place_of(shared_name(self._settings, git), wanted_flavour(self._settings)))

    def _find(self, git: GitState, head: str, place: str) -> PublishedIndex | None:
        """Ask the store for the index of HEAD, or else of the nearest published ancestor, and keep its list."""
        objects = self._objects()
        data = objects.get(f"{place}/{head}", MAX_LIST_BYTES)
        commit = head
        if data is None:
            listed: set[str] = set()
            for key in objects.keys(f"{place}/"):
                listed.add(key.rpartition("/")[2])
                if len(listed) >= _MAX_LISTED:
                    break
            commit = next((one for one in git.ancestors(_ANCESTORS) if one in listed), "")
            data = objects.get(f"{place}/{commit}", MAX_LIST_BYTES) if commit else None
        if data is None:
            return None
        found = verified(data.data, self._settings, place, commit)
        make_private(os.path.dirname(self._path("list")))
        write_bytes(self._path("list"), data.data, mode=PRIVATE_FILE)
        self._found = found
        return found

    def kept(self) -> PublishedIndex | None:
        """The published index that was found last; None if its key is not trusted any more."""
        if self._found is None:
            try:
                text = opened(read_regular(self._path("list"), MAX_LIST_BYTES), trusted_keys(self._settings))
                found = decoded(text)
                self._found = found if found.flavour == wanted_flavour(self._settings) else None
            except (OSError, SageError):
                return None
        return self._found

    def _objects(self) -> Objects:
        if self._objects_made is None:
            self._objects_made = Objects(address_of(self._settings.shared_index, self._settings), patient=False)
        return self._objects_made

    def _give_up(self, error: Exception) -> None:
        """Say once why the shared index is not used, and leave it alone for a while."""
        if isinstance(error, UntrustedError):
            self._progress.note(f"the shared index is refused: {error.message}; indexing without it")
        else:
            self._progress.note(f"the shared index cannot be used: {error}; indexing without it")
        self._remember({"failed_at": time.time()})

    def _is_paused(self) -> bool:
        return _is_recent(self._state().get("failed_at"))

    def _state(self) -> dict[str, Any]:
        try:
            found = orjson.loads(read_regular(self._path("json"), 1 << 16))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _remember(self, state: dict[str, Any]) -> None:
        make_private(os.path.dirname(self._path("json")))
        write_bytes(self._path("json"), orjson.dumps(state), mode=PRIVATE_FILE)

    def _path(self, ending: str) -> str:
        name = xxhash.xxh3_128_hexdigest(os.fsencode(self._root))
        return os.path.join(sage_home(), "codebase", "shared", f"{name}.{ending}")


def _is_recent(moment: object) -> bool:
    return isinstance(moment, float) and 0 <= time.time() - moment < _PAUSE_S


def shared_of(root: str, settings: Settings, progress: Progress) -> SharedIndex | None:
    """The reader of a project's shared index; None if none is set."""
    return SharedIndex(root, settings, progress) if settings.shared_index else None


def verified(data: bytes, settings: Settings, place: str, commit: str) -> PublishedIndex:
    """The list in signed data, if a trusted key has signed it for this project, flavour and commit."""
    if len(data) > MAX_LIST_BYTES:
        raise UntrustedError("its list is too large")
    found = decoded(opened(data, trusted_keys(settings)))
    if found.commit != commit or place_of(found.project, found.flavour) != place:
        raise UntrustedError("it was signed for another commit or project")
    return found


def shared_name(settings: Settings, git: GitState) -> str:
    """The name of the project in the shared index."""
    return settings.shared_project or project_name(git.remote() or "local", git.below_top())


def wanted_flavour(settings: Settings) -> str:
    """The flavour of the indexes that can be used with these settings."""
    model = settings.code_embedding_model
    return flavour_of(stable_name(model) or model, settings.code_embedding_dim)


def _states(data: Any) -> tuple[dict[str, FileState], dict[str, SkipState]]:
    """The states of files without times, so that every file is compared by its content."""
    try:
        files = {
            str(path): FileState(int(size), 0, str(content), str(key), int(chunks), str(language), 0)
            for path, size, content, key, chunks, language in data["files"]
        }
        skipped = {
            str(path): SkipState(int(size), 0, str(reason), str(detail), 0)
            for path, size, reason, detail in data["skipped"]
        }
    except (ValueError, KeyError, TypeError) as error:
        raise UntrustedError("its states have an unexpected shape") from error
    return files, skipped
