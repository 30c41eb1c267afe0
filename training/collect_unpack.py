"""Unpack the source files of an untrusted archive.

No unpacker runs: the regular files of the archive are read one by one and written below one folder, under names that
this module makes. So links, devices, absolute paths and `..` have no effect, and the limits below stop a bomb.
"""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from sage_code.languages.table import detect
from training.collect_licence import has_copyleft_head

# A larger file is data or generated; Sage would cut it, but its functions have no documentation by hand.
MAX_FILE_BYTES = 500_000
MAX_PACKAGE_BYTES = 80_000_000
MAX_PACKAGE_FILES = 15_000
# Reading goes on to here for the sake of metadata that stands late in an archive.
MAX_ENTRIES = 300_000

_LANGUAGES = """
python javascript typescript tsx go rust ruby php java c cpp csharp kotlin swift objc scala haskell ocaml
ocaml_interface lua elixir erlang bash r perl nim dart julia groovy zig
"""
LANGUAGES = frozenset(_LANGUAGES.split())
# A file's own licence stands here, if it has one.
_HEAD_BYTES = 3000
_METADATA = frozenset({"METADATA", "PKG-INFO", "package.json", "copyright", "Cargo.toml", "LICENSE", "LICENSE.txt"})

Entry = tuple[str, int, Callable[[], bytes]]


def entries(archive: Path) -> Iterator[Entry]:
    """The regular files of a wheel, zip, tar or Debian package: name, size, and how to read it."""
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist()[:MAX_ENTRIES]:
                is_link = (info.external_attr >> 16) & 0o170000 == 0o120000
                if not info.is_dir() and not is_link:
                    yield info.filename, info.file_size, lambda info=info: packed.read(info)  # type: ignore[misc]
    elif archive.suffix == ".deb":
        process = subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(archive)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout is not None
        try:
            yield from _tar_entries(process.stdout)
        finally:
            process.stdout.close()
            process.wait()
    else:
        # Python's own decompression, in one pass; a stream cannot be made to seek.
        with tarfile.open(archive, "r:*") as packed_tar:
            yield from _members(packed_tar)


def _tar_entries(stream: IO[bytes]) -> Iterator[Entry]:
    with tarfile.open(fileobj=stream, mode="r|") as packed:
        yield from _members(packed)


def _members(packed: tarfile.TarFile) -> Iterator[Entry]:
    for count, member in enumerate(packed):
        if count >= MAX_ENTRIES:
            return
        if member.isreg():
            yield member.name, member.size, lambda member=member: _read(packed, member)  # type: ignore[misc]


def _read(packed: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = packed.extractfile(member)
    return stream.read(MAX_FILE_BYTES) if stream is not None else b""


def safe_path(name: str) -> str | None:
    """The name as a relative path without `..`, or None if it leads elsewhere or is hidden."""
    if "\\" in name or "\0" in name or name.startswith("/"):
        return None
    parts = [part for part in PurePosixPath(name).parts if part != "."]
    if not parts or ".." in parts or any(len(part.encode("utf-8", "replace")) > 200 for part in parts):
        return None
    if any(part in (".git", "node_modules", "__MACOSX") for part in parts):
        return None
    return "/".join(parts)


def is_wanted(path: str) -> bool:
    """Whether a file is source in a language that Sage trains on, or a README."""
    name = path.rpartition("/")[2]
    if name.lower().startswith("readme") and "." in name:
        return name.lower().rpartition(".")[2] in ("md", "rst", "markdown")
    if name.endswith((".min.js", ".d.ts", ".d.mts", ".d.cts", ".bundle.js")):
        return False
    language = detect(path)
    return language is not None and language.name in LANGUAGES


def unpack(archives: list[Path], target: Path, skip: Callable[[str], bool]) -> dict[str, str]:
    """Write the wanted files of `archives` below `target`; the texts of its metadata files by path.

    `skip` says which files (by their path in the archive) must not be used because of their licence.
    """
    metadata: dict[str, str] = {}
    total = count = 0
    for archive in archives:
        for name, size, read in entries(archive):
            path = safe_path(name)
            if path is None or size > MAX_FILE_BYTES or size == 0:
                continue
            if path.rpartition("/")[2] in _METADATA and path.count("/") <= 5:
                metadata[path] = read()[:MAX_FILE_BYTES].decode("utf-8", "replace")
            if not is_wanted(path) or skip(path):
                continue
            total, count = total + size, count + 1
            if total > MAX_PACKAGE_BYTES or count > MAX_PACKAGE_FILES:
                return metadata
            data = read()
            if not has_copyleft_head(data[:_HEAD_BYTES].decode("utf-8", "replace")):
                _write(target, path, data)
    return metadata


def _write(target: Path, path: str, data: bytes) -> None:
    file = target / path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        return  # one archive has a file where another has a folder: the first one stays
