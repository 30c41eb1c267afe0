"""Makes many repositories of unequal size from installed packages, for `fleet.py`: real files, cut at folders.

A package that is too large becomes several repositories, one a subfolder. Which ones are taken is decided by a seed.
Two of three are folders, every third is a git repository that is fetched by its `file://` address.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.values import SourceFile

MB = 1_000_000
# Kinds of files that packages have and that Sage indexes; the rest of a package is compiled code and data.
_SUFFIXES = {
    ".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cc", ".cpp", ".hpp", ".cuh", ".js", ".ts", ".rs", ".go", ".java",
    ".md", ".rst", ".toml", ".yaml", ".yml", ".sql", ".proto",
}  # fmt: skip
_LEAST, _MOST, _LARGEST_FILE = 20_000, 2 * MB, 500_000
_EVERY_GIT = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A folder of a package, with those of its files that become a repository."""

    package: str
    name: str
    top: Path
    files: tuple[Path, ...]
    size: int


def make_repositories(packages: Path, folder: Path, count: int, source_mb: float, seed: int) -> Path:
    """The fleet's file of `count` repositories in `folder`, of about `source_mb` in all at most."""
    parts = _chosen(
        sorted(_parts(packages), key=lambda part: part.name), count, source_mb * MB, seed, folder / "repositories"
    )
    rows = []
    for number, part in enumerate(parts):
        root = folder / "repositories" / part.name
        is_git = number % _EVERY_GIT == 0
        if is_git:
            _commit(root)
        rows.append({"source": f"file://{root}" if is_git else str(root), "name": part.name, "owner": part.package})
    path = folder / "fleet.yaml"
    path.write_text(yaml.safe_dump({"repositories": rows}))
    sizes = sorted(part.size for part in parts)
    gits = sum(row["source"].startswith("file:") for row in rows)
    print(
        f"{len(parts)} repositories ({gits} by git address), {sum(len(part.files) for part in parts):,} files, "
        f"{sum(sizes) / MB:.1f} MB: smallest {sizes[0] / 1e3:.0f} kB, median {sizes[len(sizes) // 2] / 1e3:.0f} kB, "
        f"largest {sizes[-1] / MB:.1f} MB",
        flush=True,
    )
    return path


def _parts(packages: Path) -> Iterator[Part]:
    for top in sorted(packages.iterdir()):
        if top.is_dir() and not top.name.endswith(("-info", "__pycache__")):
            yield from _cut(top, top.name, packages)


def _cut(folder: Path, package: str, packages: Path) -> Iterator[Part]:
    """The folder if it is small enough, else its own files and each of its folders."""
    files = sorted(file for file in folder.rglob("*") if _is_source(file))
    own = [file for file in files if file.parent == folder]
    taken = files if _size(files) <= _MOST else own
    if _LEAST <= _size(taken) <= _MOST:
        name = ".".join(folder.relative_to(packages).parts)
        yield Part(package, name, folder, tuple(taken), _size(taken))
    if taken is own:
        for below in sorted(entry for entry in folder.iterdir() if entry.is_dir()):
            yield from _cut(below, package, packages)


def _is_copied(part: Part, root: Path) -> bool:
    """Copy its files, unless Sage indexes none of them: some folders hold generated code only."""
    for file in part.files:
        target = root / file.relative_to(part.top)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    listed = (file for file in list_files(str(root), DEFAULT_RULES) if isinstance(file, SourceFile))
    if any(isinstance(read_source(str(root), file, DEFAULT_RULES), SourceText) for file in listed):
        return True
    shutil.rmtree(root)
    return False


def _is_source(file: Path) -> bool:
    return file.suffix in _SUFFIXES and file.is_file() and file.stat().st_size <= _LARGEST_FILE


def _size(files: Sequence[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _chosen(parts: list[Part], count: int, most: float, seed: int, folder: Path) -> list[Part]:
    """`count` of them by chance, copied; as long as they are too many bytes, the largest gives way to the next."""
    random.Random(seed).shuffle(parts)
    chosen, others = parts[:count], parts[count:]
    if len(chosen) < count:
        raise SystemExit(f"the packages make {len(chosen)} repositories only, {count} are wanted")
    while sum(part.size for part in chosen) > most and others:
        chosen.remove(max(chosen, key=lambda part: part.size))
        chosen.append(others.pop())
    copied: list[Part] = []
    while len(copied) < count:
        if not chosen and not others:
            raise SystemExit(f"Sage indexes something in {len(copied)} of the folders only, {count} are wanted")
        part = (chosen or others).pop()
        if _is_copied(part, folder / part.name):
            copied.append(part)
    return sorted(copied, key=lambda part: part.name)


def _commit(root: Path) -> None:
    who = ["-c", "user.name=n", "-c", "user.email=n@example.org", "-c", "commit.gpgsign=false", "-c", "gc.auto=0"]
    for words in (["init", "--quiet", "--template="], ["add", "--force", "."], ["commit", "--quiet", "-m", "one"]):
        subprocess.run(
            ["git", "-C", str(root), *who, *words],
            check=True, stdout=subprocess.DEVNULL, env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull},
        )  # fmt: skip
