"""Earlier versions: what a memory's file said before a person changed or deleted it, so that it can be undone.

One file a version, in a private folder of the home that no clone can bring and git does not see: a line of JSON, then
the text as it was. The newest `_MAX_VERSIONS` of the last `_MAX_AGE_DAYS` days are kept.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
import xxhash

from sage_code.errors import UsageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.private import make_private, private_name
from sage_code.memory.files.homes import MAX_FILE_BYTES, MemoryHome
from sage_code.values import Scope

# History of the format: 1: first version.
_FORMAT = 1
_MAX_AGE_DAYS = 30
_MAX_VERSIONS = 500
_MAX_HEAD_BYTES = 10_000
_SUFFIX = ".kept"
_KEY = re.compile(r"(?P<ns>\d{19})-(?P<kind>checkpoint|knowledge|core)-(?P<id>[A-Za-z0-9_-]{1,120})")


@dataclass(frozen=True, slots=True)
class KeptVersion:
    """An earlier version of a memory's file."""

    key: str
    kind: str  # checkpoint | knowledge | core
    id: str
    path: str  # relative to its home
    why: str  # what was done to it: deleted, edited, confirmed ...
    title: str
    after: str  # the version of the text that replaced it; empty if it was deleted
    scope: Scope

    @property
    def at(self) -> str:
        """When it was replaced, ISO 8601 in UTC."""
        return datetime.fromtimestamp(int(self.key[:19]) / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def version_of(text: str) -> str:
    """What tells two versions of a file apart."""
    return xxhash.xxh3_128_hexdigest(text.encode("utf-8", "surrogatepass"))


def keep(home: MemoryHome, kind: str, id_: str, path: str, text: str, *, why: str, title: str, after: str) -> str:
    """Keep a version that is about to be replaced or deleted; returns its key."""
    home.prepare()
    folder = _folder(home)
    make_private(folder)
    key = f"{time.time_ns():019d}-{kind}-{id_}"
    head = {"format": _FORMAT, "path": path, "why": why, "title": title, "after": after}
    write_bytes(os.path.join(folder, key + _SUFFIX), orjson.dumps(head) + b"\n" + text.encode(), mode=PRIVATE_FILE)
    _tidy(folder)
    return key


def forget(home: MemoryHome, key: str) -> None:
    """Drop a version, because what it was kept for did not happen."""
    if _KEY.fullmatch(key):
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(_folder(home), key + _SUFFIX))


def kept_versions(
    homes: Iterable[MemoryHome], kind: str = "", id_: str = ""
) -> Iterator[tuple[MemoryHome, KeptVersion]]:
    """The versions of one memory, of one kind or all, newest first; one that cannot be read is left out."""
    found = [(key, home) for home in homes for key in _keys(_folder(home))]
    for key, home in sorted(found, key=lambda one: one[0], reverse=True):
        named = _KEY.fullmatch(key)
        if named and kind in ("", named["kind"]) and id_ in ("", named["id"]):
            with suppress(OSError, ValueError, KeyError, TypeError, UsageError):
                yield home, _read(home, key)[0]


def read_kept(homes: Iterable[MemoryHome], key: str) -> tuple[MemoryHome, KeptVersion, str]:
    """The home of a version, the version and its text; UsageError if it is not kept any more."""
    if _KEY.fullmatch(key):
        for home in homes:
            with suppress(OSError, ValueError, KeyError, TypeError):
                return home, *_read(home, key)
    raise UsageError("this version is not kept any more", f"versions are kept for {_MAX_AGE_DAYS} days")


def _read(home: MemoryHome, key: str) -> tuple[KeptVersion, str]:
    data = read_regular(os.path.join(_folder(home), key + _SUFFIX), MAX_FILE_BYTES + _MAX_HEAD_BYTES)
    line, _, text = data.partition(b"\n")
    head = orjson.loads(line)
    named = _KEY.fullmatch(key)
    if named is None or head["format"] != _FORMAT:
        raise ValueError(key)
    texts = {name: str(head[name]) for name in ("path", "why", "title", "after")}
    return KeptVersion(key, named["kind"], named["id"], scope=home.scope, **texts), text.decode()


def _folder(home: MemoryHome) -> str:
    return home.path("local", f"kept-{private_name()}") if home.scope == "project" else home.path("kept")


def _keys(folder: str) -> list[str]:
    try:
        return [name.removesuffix(_SUFFIX) for name in os.listdir(folder) if name.endswith(_SUFFIX)]
    except OSError:
        return []


def _tidy(folder: str) -> None:
    """Delete the versions that are too old or too many."""
    oldest = f"{time.time_ns() - _MAX_AGE_DAYS * 86_400 * 10**9:019d}"
    keys = sorted(_keys(folder), reverse=True)
    for number, key in enumerate(keys):
        if number >= _MAX_VERSIONS or key < oldest:
            with suppress(OSError):
                os.unlink(os.path.join(folder, key + _SUFFIX))
