"""Finds symbols by name in the symbol files, without parsing them.

A symbol file is valid JSON with one symbol a line. Each line starts with the symbol's name, and the lines are sorted as
bytes, so a name is found by bisecting the mapped file. Only small standard modules are imported here: this is the path
of `sage grep`.
"""

from __future__ import annotations

import mmap
import os
from itertools import islice, pairwise, product

from sage_code.compiled.inventory import MEND_HINT, TRIES, check_symbols, current_listing, missing
from sage_code.errors import IndexCorrupt
from sage_code.files.contained import open_regular
from sage_code.languages.kinds import TABLES, TEXT_KINDS
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

LINE_START = b'{"name":"'
# The first and the last line of a symbol file are shorter than this.
_FRAME_BYTES = 4096
# Names offered when nothing matches.
_MAX_NEAREST = 5
# Shares of common letter pairs: a name above the first is offered; one typing error in eight letters leaves the second.
_ALIKE, _CLOSE = 0.4, 0.7
# The cases of so many first letters are looked up one by one: eight bisections instead of a scan of the whole file.
_HEAD_LETTERS = 3
# What separates two names. At the end of `operator->`, `operator/` and Ruby's method `/` it is part of the name.
_SEPARATOR = r"(?:::|#)(?=.)|(?:->|/)(?=\w)"
_SEPARATOR_SIGNS = ":#>/"


def open_symbols(root: str) -> SymbolFiles:
    """The symbol files of a project's published generation; NotIndexed or IndexCorrupt if there are none."""
    for _ in range(TRIES):
        found = current_listing(root)
        if found is None:
            break
        try:
            return SymbolFiles(found[0], found[1]["files"])
        except FileNotFoundError:  # two generations were published meanwhile
            continue
    raise missing(root)


class SymbolFiles:
    """The symbol files of one published generation, mapped."""

    def __init__(self, folder: str, marks: Mapping[str, Sequence[Any]] | None = None) -> None:
        self.folder = folder
        for name, (size, _, _, crc32) in (marks or {}).items():
            if name.endswith(".json"):
                check_symbols(os.path.join(folder, name), size, crc32)
        self._maps = {table: _SortedLines(os.path.join(folder, f"{table}.json")) for table in TABLES}

    def find(
        self,
        name: str,
        *,
        kind: str | None = None,
        ignore_case: bool = False,
        prefix: bool = False,
        patience: int | None = None,
    ) -> list[dict[str, Any]]:
        """Symbols called `name`, by bare or qualified name (`Class.method`, `Class::method`).

        If more than `patience` symbols have the bare name, none are returned, and none are decoded.
        """
        wanted = normalise(name)
        bare = wanted.rpartition(".")[2] or wanted
        names = [bare]
        if wanted != bare and not (prefix and wanted.casefold().startswith(bare.casefold())):
            names.append(wanted)  # the name of a key or a heading may contain a dot: "Node.js"
        candidates: Iterator[tuple[bytes, str]] = (
            (line, lines.path)
            for lines, start in product(self._maps.values(), names)
            for line in lines.starting_with(start, ignore_case=ignore_case, whole=not prefix)
        )
        if patience is not None:
            few = list(islice(candidates, patience + 1))
            candidates = iter(few if len(few) <= patience else ())
        found = []
        for line, path in candidates:
            symbol = _decode(line, path)
            if _matches(symbol, wanted, ignore_case=ignore_case, prefix=prefix, kind=kind):
                found.append(symbol)
        # Definitions in code come before keys and headings of the same name: there may be thousands of those.
        return sorted(
            found, key=lambda one: (one["name"] not in names, one["kind"] in TEXT_KINDS, one["file"], one["line"])
        )

    def nearest(self, name: str) -> list[str]:
        """Names that look like `name`, which was not found; the most similar first."""
        bare = normalise(name).rpartition(".")[2] or name
        # Typing errors are rare in the first letters: all names are compared only if none with these letters is close.
        for letters in (bare[:_HEAD_LETTERS], ""):
            names = (name for lines in self._maps.values() for name in lines.names(letters))
            best = _alike(bare, names)
            if best and max(best.values()) >= _CLOSE:
                break
        return sorted(best, key=lambda candidate: (-best[candidate], candidate))[:_MAX_NEAREST]

    def all(self) -> Iterator[dict[str, Any]]:
        """Every symbol, file by file in the order of names."""
        for lines in self._maps.values():
            for line in lines.starting_with("", ignore_case=False, whole=False):
                yield _decode(line, lines.path)

    def counts(self) -> dict[str, int]:
        """Symbols in each file."""
        return {table: lines.count() for table, lines in self._maps.items()}


class _SortedLines:
    """One mapped symbol file."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            with open_regular(path) as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:  # a link, a pipe, a folder; or empty
            raise _damaged(path) from error
        size = len(self._map)
        self._start = self._map.find(b"\n", 0, _FRAME_BYTES) + 1
        self._end = self._map.rfind(b"\n", max(0, size - _FRAME_BYTES), size - 1) + 1
        if self._start <= 0 or self._end < self._start:
            raise _damaged(path)

    def starting_with(self, name: str, *, ignore_case: bool, whole: bool) -> Iterator[bytes]:
        """The lines of symbols whose name is `name`, or starts with it unless `whole`."""
        text = LINE_START.decode() + dumps(name)[1 : None if whole else -1]
        if not ignore_case:
            yield from self._block(text.encode("utf-8", "surrogatepass"))
        elif text.isascii():
            wanted = text.lower().encode()
            for line in self._headed(name[:_HEAD_LETTERS]):
                if line[: len(wanted)].lower() == wanted:
                    yield line
        else:
            yield from self._scan_unicode(text)

    def _block(self, key: bytes) -> Iterator[bytes]:
        """The lines that start with `key`; they are adjacent."""
        position = self._lower_bound(key)
        while position < self._end:
            end = self._map.find(b"\n", position)
            line = self._map[position:end]
            if not line.startswith(key):
                return
            yield line
            position = end + 1

    def _headed(self, letters: str) -> Iterator[bytes]:
        """The lines of symbols whose name starts with `letters`, in upper or lower case."""
        cases = ({letter.lower(), letter.upper()} for letter in letters)
        for spelling in {"".join(spelt) for spelt in product(*cases)}:
            text = dumps(spelling)[1:-1]
            yield from self._block(LINE_START + text.encode("utf-8", "surrogatepass"))

    def _scan_unicode(self, key: str) -> Iterator[bytes]:
        """The lines that start with `key`, case ignored: outside ASCII the case of a letter is more than one byte."""
        # No letter folds to nothing, and none takes more than 4 bytes.
        wanted = key.casefold()
        for line in self._map[self._start : self._end].split(b"\n"):
            if line[: 4 * len(wanted)].decode("utf-8", "ignore").casefold().startswith(wanted):
                yield line

    def _lower_bound(self, key: bytes) -> int:
        """The offset of the first line that is not below `key`."""
        low, high = self._start, self._end
        while low < high:
            middle = (low + high) // 2
            start = self._map.rfind(b"\n", low, middle) + 1 or low
            if self._map[start : start + len(key)] < key:
                low = self._map.find(b"\n", middle) + 1
            else:
                high = start
        return low

    def names(self, letters: str) -> Iterator[str]:
        """Every distinct name that starts with `letters`, in upper or lower case."""
        before = b""
        for line in self._headed(letters):
            name = line[len(LINE_START) : line.find(b'","', len(LINE_START))]
            if name and name != before:
                before = name
                yield name.decode("utf-8", "replace")

    def count(self) -> int:
        """How many symbols it lists: one a line."""
        return self._map[self._start : self._end].count(b"\n")


def normalise(name: str) -> str:
    """A name as typed (`Foo::bar`, `foo->bar()`, `Foo#bar`) in the dotted form of the index."""
    name = name.strip()
    if not name.endswith("operator()"):
        name = name.removesuffix("()")
    if set(_SEPARATOR_SIGNS).isdisjoint(name):
        return name
    import re  # lazy: it takes longer to import than a name to look up

    return re.sub(_SEPARATOR, ".", name)


def _matches(symbol: dict[str, Any], wanted: str, *, ignore_case: bool, prefix: bool, kind: str | None) -> bool:
    """Whether a symbol whose bare name fits is of that kind and has the qualified name that is wanted."""
    if kind is not None and symbol["kind"] != kind:
        return False
    if "." not in wanted.strip("."):
        return True
    qualname = symbol["qualname"]
    if ignore_case:
        qualname, wanted = qualname.casefold(), wanted.casefold()
    padded = f".{qualname}"
    return f".{wanted}" in padded if prefix else padded.endswith(f".{wanted}")


def _decode(line: bytes, path: str) -> dict[str, Any]:
    try:
        symbol: dict[str, Any] = loads(line.rstrip(b","))
    except (ValueError, RecursionError) as error:
        raise _damaged(path) from error
    return symbol


def _damaged(path: str) -> IndexCorrupt:
    return IndexCorrupt(f"{path} is damaged", MEND_HINT)


def _alike(name: str, candidates: Iterable[str]) -> dict[str, float]:
    """The candidates that share enough pairs of letters with `name`, each with the share."""
    pairs = {first + second for first, second in pairwise(f"^{name.lower()}$")}
    longest_gap = max(3, len(name) // 2)
    alike = {}
    for candidate in candidates:
        if abs(len(candidate) - len(name)) > longest_gap:
            continue
        padded = f"^{candidate.lower()}$"
        score = 2 * sum(map(padded.__contains__, pairs)) / (len(pairs) + len(padded) - 1)
        if score > _ALIKE:
            alike[candidate] = score
    return alike
