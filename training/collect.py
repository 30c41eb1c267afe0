"""Download the packages of `packages.toml` and keep their source files: `python -m training.collect --data DIR`.

pip downloads PyPI wheels, npm its packages, apt Debian packages, with its own configuration below the data folder.
Nothing is installed, built or run. Below DIR:

    sources/<registry>/<package>/   the source files, as in the archive
    manifest.jsonl                  a line for each package: version, licence, languages, or why it was left out

A package with a line in the manifest is done; after a kill, the next run continues with the others.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sage_code.languages.table import detect
from training.collect_licence import of_debian, of_npm, of_origin, of_wheel
from training.collect_unpack import LANGUAGES, MAX_FILE_BYTES, entries, safe_path, unpack

PACKAGES = Path(__file__).with_name("packages.toml")
DEFAULT_EXCLUDE = Path(__file__).parents[2] / "shared" / "quality" / "exclude.txt"
# Names that go to one call of a package manager, whose start costs a second or two.
_BATCH = {"pypi": 16, "npm": 16, "debian": 250, "debian-source": 24}
_TIMEOUT_S = 900
# apt keeps a lock of its own on the folder it downloads to, so each batch has one.
_DOWNLOADS = 6
_MAX_MB = 40.0
_LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPYING)([.-]\w+)*$|DESCRIPTION$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A package to collect."""

    registry: str
    name: str
    language: str
    heldout: bool = False

    @property
    def folder(self) -> str:
        """Its folder below the data folder, which is also its name in later steps."""
        return f"{self.registry}/{self.name.replace('/', '+')}"


@dataclass(frozen=True, slots=True)
class Collected:
    """A line of the manifest."""

    registry: str
    name: str
    folder: str
    language: str
    heldout: bool
    version: str = ""
    licence: str = ""
    dropped: str = ""  # why it is not used, if it is not
    languages: dict[str, int] = field(default_factory=dict)  # files by language


def read_manifest(data: Path) -> list[Collected]:
    """What has been collected so far."""
    path = data / "manifest.jsonl"
    if not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    return [Collected(**json.loads(line)) for line in lines if line.endswith("}")]


# --- what is wanted -----------------------------------------------------------------------------------------


def wanted(table: dict[str, Any], index: dict[str, dict[str, tuple[str, float]]]) -> list[Wanted]:
    """The packages of the table. `index` gives for a Debian registry each package's section and size in MB."""
    excluded = table["exclude"]["names"]
    found: dict[str, Wanted] = {}
    for group in table["group"]:
        registry, listed = group["registry"], index.get(group["registry"])
        heldout = set(group.get("heldout", ()))
        names = [*group.get("heldout", ()), *group.get("names", ()), *_matches(group, listed or {})]
        for name in dict.fromkeys(names):
            if listed is not None:
                if name not in listed:
                    continue
                if listed[name][1] > group.get("max_mb", _MAX_MB) and name not in heldout:
                    continue
            if not is_excluded(name, excluded):
                item = Wanted(registry, name, group["language"], name in heldout)
                found.setdefault(item.folder, item)
    held = {item.name for item in found.values() if item.heldout}
    return [item for item in found.values() if item.heldout or not _is_sibling(item.name, held)]


def is_excluded(name: str, patterns: Iterable[str]) -> bool:
    """Whether a package contains an excluded project, by its name."""
    folded = name.lower().replace("_", "-")
    return any(fnmatch.fnmatchcase(folded, pattern.lower()) for pattern in patterns)


def _is_sibling(name: str, held: set[str]) -> bool:
    """Another version or part of a held-out package: `librust-chrono-0.3-dev`, `mongodb-core`."""
    stem = re.sub(r"-dev$", "", name)
    stems = (re.sub(r"-dev$", "", other) for other in held)
    return any(stem == other or re.fullmatch(re.escape(other) + r"-v?\d[\d.]*", stem) for other in stems)


def _matches(group: dict[str, Any], listed: dict[str, tuple[str, float]]) -> list[str]:
    """The names that a group of the table selects by pattern or section, at most its limit."""
    patterns, section = group.get("patterns", ()), group.get("section")
    names = [
        name
        for name, (its_section, _size) in sorted(listed.items())
        # `librust-x+feature-dev` is empty and only depends on others.
        if "+" not in name
        and (its_section == section or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
    ]
    if "limit" in group:
        random.Random(4).shuffle(names)
    return names[: group.get("limit")]


def sample(items: list[Wanted], most: int) -> list[Wanted]:
    """The held-out packages and at most so many others of a language, always the same ones."""
    shuffled = random.Random(4).sample(items, len(items))
    left = Counter({item.language: most for item in items})
    kept = set()
    for item in shuffled:
        left[item.language] -= not item.heldout
        if item.heldout or left[item.language] >= 0:
            kept.add(item.folder)
    return [item for item in items if item.folder in kept]


# --- the registries -----------------------------------------------------------------------------------------


class Apt:
    """apt with its own lists (binary and source) and state, made from the machine's configuration."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._options = [
            f"-oDir::Etc::sourcelist={self._folder}/debian.sources",
            "-oDir::Etc::sourceparts=/dev/null",
            f"-oDir::State::lists={self._folder}/lists",
            f"-oDir::Cache={self._folder}/cache",
            "-oAPT::Sandbox::User=root",
            "-qq",
        ]

    def prepare(self) -> None:
        """Write the configuration and fetch the lists, unless they are there."""
        if (self._folder / "ready").exists():
            return
        for name in ("lists/partial", "cache/archives/partial"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)
        system = Path("/etc/apt/sources.list.d/debian.sources").read_text("utf-8")
        own = re.sub(r"^Types:.*$", "Types: deb deb-src", system, flags=re.MULTILINE)
        (self._folder / "debian.sources").write_text(own, "utf-8")
        subprocess.run(["apt-get", *self._options, "update"], check=True, timeout=_TIMEOUT_S)
        (self._folder / "ready").touch()

    def index(self, kind: str) -> dict[str, tuple[str, float]]:
        """Section and size in MB of every package in the lists; `kind` is Packages or Sources."""
        found: dict[str, tuple[str, float]] = {}
        for path in sorted((self._folder / "lists").glob(f"*_{kind}*")):
            output = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", str(path)], capture_output=True, check=True)
            for paragraph in output.stdout.decode("utf-8", "replace").split("\n\n"):
                name = re.search(r"^Package: (\S+)", paragraph, re.MULTILINE)
                section = re.search(r"^Section: (\S+)", paragraph, re.MULTILINE)
                if name is None:
                    continue
                if kind == "Sources":
                    files = paragraph.partition("\nFiles:")[2].partition("\nChecksums")[0]
                    size = sum(int(number) for number in re.findall(r"^ \w{32} (\d+) ", files, re.MULTILINE))
                else:
                    number = re.search(r"^Size: (\d+)", paragraph, re.MULTILINE)
                    size = int(number[1]) if number else 0
                found[name[1]] = (section[1].rpartition("/")[2] if section else "", size / 1e6)
        return found

    def download(self, registry: str, names: list[str], folder: Path) -> None:
        """Fetch packages into `folder`."""
        action = ["source", "--only-source", "--download-only"] if registry == "debian-source" else ["download"]
        _run(["apt-get", *self._options, *action, *names], folder)


def _run(command: list[str], folder: Path) -> bool:
    result = subprocess.run(command, cwd=folder, capture_output=True, timeout=_TIMEOUT_S, check=False)
    return result.returncode == 0


def _download(apt: Apt, registry: str, names: list[str], folder: Path) -> None:
    """Download packages; if one fails, each half by itself."""
    if registry == "pypi":
        options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
        ok = _run([sys.executable, "-m", "pip", "download", *options, *names], folder)
    elif registry == "npm":
        ok = _run(["npm", "pack", "--ignore-scripts", "--silent", *names], folder)
    else:
        apt.download(registry, names, folder)
        ok = any(folder.iterdir())
    if not ok and len(names) > 1:  # one unknown name fails the whole call: look for it by halves
        middle = len(names) // 2
        _download(apt, registry, names[:middle], folder)
        _download(apt, registry, names[middle:], folder)


def _archives(item: Wanted, folder: Path) -> list[Path]:
    """The downloaded files of one package."""
    if item.registry == "pypi":
        wanted_name = re.sub(r"[-_.]+", "-", item.name).lower()
        return [
            path
            for path in sorted(folder.glob("*.whl"))
            if re.sub(r"[-_.]+", "-", path.name.split("-")[0]).lower() == wanted_name
        ]
    if item.registry == "npm":
        stem = item.name.lstrip("@").replace("/", "-")
        return [path for path in sorted(folder.glob("*.tgz")) if re.fullmatch(re.escape(stem) + r"-\d.*", path.stem)]
    if item.registry == "debian":
        return sorted(folder.glob(f"{item.name}_*.deb"))
    files = sorted(folder.glob(f"{item.name}_*.tar.*"))
    # debian/copyright first: it says which of the other files may be taken.
    return sorted((path for path in files if path.suffix != ".asc"), key=lambda path: ".debian.tar" not in path.name)


def _version(item: Wanted, archive: Path) -> str:
    if item.registry == "pypi":
        return archive.name.split("-")[1]
    if item.registry == "npm":
        return archive.stem.removeprefix(item.name.lstrip("@").replace("/", "-") + "-")
    return re.sub(r"\.(orig|debian).*|\.tar\..*|_[a-z0-9]+\.deb$", "", archive.name.partition("_")[2])


# --- one package --------------------------------------------------------------------------------------------


def take(item: Wanted, archives: list[Path], data: Path, excluded_projects: Iterable[str]) -> Collected:
    """Read the licence of a downloaded package and unpack it if it may be used; returns its line of the manifest."""
    line = {"registry": item.registry, "name": item.name, "folder": item.folder, "language": item.language}
    if not archives:
        return Collected(**line, heldout=item.heldout, dropped="not found")  # type: ignore[arg-type]
    target = data / "sources" / item.folder
    shutil.rmtree(target, ignore_errors=True)
    licence = dropped = ""
    metadata: dict[str, str] = {}
    skip: Callable[[str], bool] = _never
    if item.registry.startswith("debian"):
        licence, skip, metadata = _debian_licence(item, archives)
    if licence or not item.registry.startswith("debian"):
        metadata |= unpack(archives, target, skip)
    if not licence:
        licence = _plain_licence(item.registry, metadata)
    if not licence:
        dropped = "licence"
    elif project := mentioned(metadata, excluded_projects):
        dropped = f"excluded: {project}"
    if dropped:
        shutil.rmtree(target, ignore_errors=True)
    return Collected(
        **line,
        heldout=item.heldout,
        version=_version(item, archives[-1]),
        licence=licence[:200],
        dropped=dropped,
        languages=_languages(target),
    )


def _never(_path: str) -> bool:
    return False


def _plain_licence(registry: str, metadata: dict[str, str]) -> str:
    by_depth = sorted(metadata.items(), key=lambda pair: (pair[0].count("/"), pair[0]))
    if registry == "npm":
        return next((of_npm(text) for path, text in by_depth if path.endswith("package.json")), "")
    if registry == "pypi":
        texts = " ".join(text for path, text in by_depth if "LICENSE" in path)
        return next((of_wheel(text, texts) for path, text in by_depth if path.endswith(".dist-info/METADATA")), "")
    return ""


def _debian_licence(item: Wanted, archives: list[Path]) -> tuple[str, Callable[[str], bool], dict[str, str]]:
    """Licence, which files to leave out, and the text of the copyright file of a Debian package.

    Mirrors do not have every archive: without Debian's part of a source package, upstream's own licence file counts.
    """
    ending = f"usr/share/doc/{item.name}/copyright" if item.registry == "debian" else "debian/copyright"
    top: dict[str, str] = {}
    for archive in archives:
        for name, size, read in entries(archive):
            path = safe_path(name)
            if path is None or size > MAX_FILE_BYTES:
                continue
            if path == ending or (path.endswith("/" + ending) and path.count("/") == 2):
                text = read().decode("utf-8", "replace")
                licence, forbidden = of_debian(text)
                if item.registry == "debian":
                    # The files of a binary package lie elsewhere than those the paragraphs name: all or nothing.
                    return licence, _never, {"copyright": text}
                return licence, partial(_below_root, forbidden), {"copyright": text}
            if path.count("/") == 1 and _LICENCE_FILE.match(path.rpartition("/")[2]):
                top[path.rpartition("/")[2]] = read().decode("utf-8", "replace")
    return of_origin(top), _never, top


def _below_root(forbidden: Callable[[str], bool], path: str) -> bool:
    """The paragraphs name files below the archive's one folder."""
    return forbidden(path.partition("/")[2])


# How metadata names the origin of a package, and not just a project that it mentions.
_ORIGIN = re.compile(
    r'^(?:Source|Upstream-Contact|Homepage|Home-page|Project-URL)\s*:(.*)$|"(?:url|homepage|repository)"\s*:\s*"([^"]*)"'
    r"|^(?:repository|homepage)\s*=(.*)$",
    re.MULTILINE | re.IGNORECASE,
)


def mentioned(metadata: dict[str, str], excluded_projects: Iterable[str]) -> str:
    """The excluded project that a package says it comes from, or nothing."""
    origins = " ".join(part for text in metadata.values() for found in _ORIGIN.findall(text) for part in found).lower()
    for project in excluded_projects:
        if re.search(rf"[/:]{re.escape(project.lower())}(?:\.git)?(?![\w.-])", origins):
            return project
    return ""


def _languages(target: Path) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for path in target.rglob("*"):
        if path.is_file():
            language = detect(path.name)
            if language is not None and language.name in LANGUAGES:
                counts[language.name] += 1
    return dict(counts.most_common())


def excluded_projects(path: Path) -> list[str]:
    """The owner/name lines of the exclusion list."""
    return [line for raw in path.read_text("utf-8").splitlines() if (line := raw.strip()) and not line.startswith("#")]


# --- the run ------------------------------------------------------------------------------------------------


def collect(data: Path, exclude: Path, only: set[str], threads: int, most: int = 0) -> Iterator[Collected]:
    """Collect the packages that are missing; yields each one when it is done."""
    apt = Apt(data / "apt")
    apt.prepare()
    index = {"debian": apt.index("Packages"), "debian-source": apt.index("Sources")}
    table = tomllib.loads(PACKAGES.read_text("utf-8"))
    projects = excluded_projects(exclude)
    done = {line.folder for line in read_manifest(data)}
    chosen = [item for item in wanted(table, index) if not only or item.language in only]
    todo = [item for item in (sample(chosen, most) if most else chosen) if item.folder not in done]
    batches: list[list[Wanted]] = []
    by_group: dict[tuple[str, str, bool], list[Wanted]] = {}
    for item in todo:
        by_group.setdefault((item.registry, item.language, item.heldout), []).append(item)
    for items in by_group.values():
        size = _BATCH[items[0].registry]
        batches += [items[start : start + size] for start in range(0, len(items), size)]
    # The languages take turns, so that a run that is stopped early has something of each.
    random.Random(4).shuffle(batches)
    batches.sort(key=lambda batch: not batch[0].heldout)
    lock = threading.Lock()
    (data / "downloads").mkdir(parents=True, exist_ok=True)

    def work(number: int, batch: list[Wanted]) -> list[Collected]:
        """Download and unpack one batch, and append its lines to the manifest."""
        folder = data / "downloads" / f"{os.getpid()}-{number}"
        folder.mkdir()
        try:
            _download(apt, batch[0].registry, [item.name for item in batch], folder)
            lines = [_take_or_say(item, folder, data, projects) for item in batch]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        with lock, (data / "manifest.jsonl").open("ab", buffering=0) as manifest:  # one write: two runs may share it
            manifest.write("".join(json.dumps(asdict(line)) + "\n" for line in lines).encode())
        return lines

    with ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(work, number, batch) for number, batch in enumerate(batches)]
        for future in as_completed(running):
            yield from future.result()


def _take_or_say(item: Wanted, folder: Path, data: Path, projects: list[str]) -> Collected:
    try:
        return take(item, _archives(item, folder), data, projects)
    except Exception as error:  # a broken archive is a line of the manifest, not the end of the run
        shutil.rmtree(data / "sources" / item.folder, ignore_errors=True)
        dropped = f"{type(error).__name__}: {error}"[:200]
        return Collected(item.registry, item.name, item.folder, item.language, item.heldout, dropped=dropped)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder for all data, outside the repository")
    parser.add_argument("--exclude", type=Path, default=DEFAULT_EXCLUDE, help="owner/name lines that must stay out")
    parser.add_argument("--only", default="", help="languages to collect, by comma; all without it")
    parser.add_argument("--most", type=int, default=0, help="of a language, besides the held-out ones; all without it")
    parser.add_argument("--threads", type=int, default=_DOWNLOADS)
    arguments = parser.parse_args()
    only = {name for name in arguments.only.split(",") if name}
    counts: Counter[str] = Counter()
    found = collect(arguments.data, arguments.exclude, only, arguments.threads, arguments.most)
    for number, line in enumerate(found, 1):
        counts[line.dropped.partition(":")[0] or "taken"] += 1
        if number % 25 == 0 or line.dropped.startswith("excluded"):
            sys.stdout.write(f"{number} {dict(counts)} last: {line.folder} {line.licence} {line.dropped}\n")
            sys.stdout.flush()
    sys.stdout.write(f"done {dict(counts)}\n")


if __name__ == "__main__":
    main()
