"""Single objects of a remote store, or files of a folder: get, put, list, and the two conditional writes that locks are
made of.

`create` and `replace` have exactly one winner, whoever else writes at the same time. A folder has no conditional
replacement; locks of files are for folders (`sage_code.files.locks`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sage_code.errors import StoreError

if TYPE_CHECKING:
    from typing import Literal

    from obstore import UpdateVersion
    from obstore.store import ClientConfig, LocalStore, RetryConfig, S3Config, S3Store

    from sage_code.store.remote.address import Address

# How long one request may take, and how long a failing one is tried again, before the store counts as unreachable.
_REQUEST = timedelta(seconds=30)
_RETRIES = 3
_RETRYING = timedelta(seconds=10)
# The same for one who can do without the store.
_CONNECTING, _ANSWERING = timedelta(seconds=2), timedelta(seconds=8)
# How much of a large object is read with one request.
_PART_BYTES = 4 << 20
# What the client says around the reason: the address again, how often it tried, and the line of its own source.
_AROUND = re.compile(r"LanceError\(IO\): |Generic \S+ error: |Error performing .+? - |: <\?xml.*$|, /\S+\.rs:\d+:\d+$")
_REFUSED = re.compile(r"status code: 40[13]\b")


class StoreUnreachableError(StoreError):
    """The object storage does not answer, or refuses this user."""


def is_refusal(error: StoreUnreachableError) -> bool:
    """Whether it has answered, and refuses this user."""
    import obstore

    errors = obstore.exceptions
    found = error.__cause__
    if isinstance(found, errors.PermissionDeniedError | errors.UnauthenticatedError):
        return True
    return _REFUSED.search(str(found)) is not None  # of a listing the client tells only the answer


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of an object, and the tag of this version of it."""

    data: bytes
    tag: str


class Objects:
    """The objects below one address."""

    def __init__(self, address: Address, *, patient: bool = True) -> None:
        """Without patience an address that does not answer is given up soon, and a folder is not made."""
        # Lazy and late: only remote stores and fleets need it.
        from obstore.store import LocalStore, S3Store

        self.address = address
        self._store: LocalStore | S3Store
        if address.is_remote:
            given = address.options
            config: S3Config = {"region": given["region"]}
            if "endpoint" in given:
                config["endpoint"] = given["endpoint"]
            if "access_key_id" in given:
                config["access_key_id"] = given["access_key_id"]
                config["secret_access_key"] = given.get("secret_access_key", "")
            if "session_token" in given:
                config["session_token"] = given["session_token"]
            client: ClientConfig = {"timeout": _REQUEST, "allow_http": given.get("allow_http") == "true"}
            retry: RetryConfig = {"max_retries": _RETRIES, "retry_timeout": _RETRYING}
            if not patient:
                client["connect_timeout"], client["timeout"] = _CONNECTING, _ANSWERING
                retry = {"max_retries": 1, "retry_timeout": _ANSWERING}
            self._store = S3Store.from_url(address.uri, config=config, client_options=client, retry_config=retry)
        else:
            with self._explained("opening", "the folder"):
                self._store = LocalStore(address.uri, mkdir=patient)

    def get(self, key: str, limit: int | None = None) -> Stored | None:
        """An object, or None if there is none; one of more than `limit` bytes is not read and raises `StoreError`."""
        import obstore

        with self._explained("reading", key):
            try:
                found = obstore.get(self._store, key)
                if limit is not None and found.meta["size"] > limit:
                    raise StoreError(
                        f"{key} in {self.address} is larger than {limit:,} bytes", "it may be tampered with"
                    )
                return Stored(bytes(found.bytes()), found.meta["e_tag"] or "")
            except FileNotFoundError:
                return None

    def has(self, key: str) -> bool:
        """Whether there is such an object."""
        import obstore

        with self._explained("looking for", key):
            try:
                obstore.head(self._store, key)
            except FileNotFoundError:
                return False
            return True

    def put(self, key: str, data: bytes) -> None:
        """Write an object, over what is there."""
        import obstore

        with self._explained("writing", key):
            obstore.put(self._store, key, data)

    def create(self, key: str, data: bytes) -> bool:
        """Write an object that does not exist yet; False if it does."""
        return self.swap(key, data, "") is not None

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """Write an object that still has this tag; False if somebody else has replaced or deleted it."""
        return self.swap(key, data, tag) is not None

    def swap(self, key: str, data: bytes, tag: str) -> str | None:
        """Write an object in the place of the one with this tag ("": of none); its new tag, or None if it is gone."""
        import obstore

        errors = obstore.exceptions
        with self._explained("writing", key):
            try:
                mode: UpdateVersion | Literal["create"] = {"e_tag": tag} if tag else "create"
                written = obstore.put(self._store, key, data, mode=mode, use_multipart=False)
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError):
                return None
            return written["e_tag"] or ""

    def delete(self, key: str) -> None:
        """Remove an object; one that is not there is no error."""
        import obstore

        with self._explained("deleting", key), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, key)

    def keys(self, prefix: str = "") -> Iterator[str]:
        """The keys of the objects below a prefix, in no order."""
        import obstore

        with self._explained("listing", prefix):
            for batch in obstore.list(self._store, prefix or None):
                for entry in batch:
                    yield entry["path"]

    def sizes(self, prefix: str) -> dict[str, int]:
        """The keys of the objects below a prefix with their bytes."""
        import obstore

        with self._explained("listing", prefix):
            return {entry["path"]: entry["size"] for batch in obstore.list(self._store, prefix) for entry in batch}

    def parts(self, key: str, size: int) -> Iterator[bytes]:
        """An object of so many bytes, a part at a time: each has the time of a request, however large the object is."""
        import obstore

        with self._explained("reading", key):
            for begin in range(0, size, _PART_BYTES):
                end = min(begin + _PART_BYTES, size)
                yield bytes(obstore.get_range(self._store, key, start=begin, end=end))

    def folders(self) -> list[str]:
        """The names of what is directly below the address, without single objects."""
        import obstore

        with self._explained("listing", ""):
            return [path.rsplit("/", 1)[-1] for path in obstore.list_with_delimiter(self._store)["common_prefixes"]]

    @contextlib.contextmanager
    def _explained(self, doing: str, key: str) -> Iterator[None]:
        """Turn errors of the client into `StoreUnreachableError`, without what may hold a key."""
        import obstore

        try:
            yield
        except (obstore.exceptions.BaseError, OSError) as error:
            raise unreachable(f"{doing} {key}", str(self.address), str(error).strip()) from error


def unreachable(doing: str, where: str, why: str) -> StoreUnreachableError:
    """The error for a client's message `why`, which may be of many lines."""
    text = _AROUND.sub("", next(iter(why.splitlines()), "no reason given"))[:200]
    hint = "check the address, the network and the credentials (AWS_* in the environment, or `sage config list`)"
    return StoreUnreachableError(f"{doing} failed in {where}: {text}", hint)
