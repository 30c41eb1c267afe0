"""The references and definitions of a segment: flat arrays in the order of the files, and the order by name.

Names, receivers, aliases and scopes are rows of one sorted table of strings. So a reference takes 21 bytes, and two
binary searches find all references to a name.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from sage_code.compiled.sections import Strings, pack_strings, ranked
from sage_code.parse.reference_codec import KINDS, TEXTS, decode
from sage_code.text.numbering import Numbering
from sage_code.values import Reference

_RECEIVER_WEIGHT = 0.1


class ReferenceBuilder:
    """Collects the references of files, in their order."""

    def __init__(self) -> None:
        self._strings = Numbering[str]()
        self._kinds = array("B")
        self._lines = array("I")
        self._texts = {text: array("I") for text in TEXTS}
        self._ends = array("I")
        self._defined, self._definers = array("I"), array("I")

    def define(self, name: str, chunk: int) -> None:
        """Take a definition in the chunk with this number."""
        self._defined.append(self._strings[name])
        self._definers.append(chunk)

    def add(self, encoded: str) -> None:
        """Take the references of the next file."""
        texts, kinds, lines, columns = decode(encoded)
        rows = list(map(self._strings.__getitem__, texts))
        self._kinds.extend(kinds)
        self._lines.extend(lines)
        for column, uses in zip(self._texts.values(), columns, strict=True):
            column.extend([rows[use] for use in uses])
        self._ends.append(len(self._kinds))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The sections of the segment."""
        strings, order = ranked({text.encode("utf-8", "surrogatepass"): n for text, n in self._strings.items()})
        rank = order.astype(np.uint32)
        columns = {f"ref_{text}": rank[np.asarray(values, np.uint32)] for text, values in self._texts.items()}
        at, heap = pack_strings(strings)
        return {
            "ref_strings_at": at,
            "ref_strings": heap,
            "ref_hash": np.array([xxhash.xxh3_64_intdigest(text) for text in strings], np.uint64),
            "ref_kind": np.asarray(self._kinds, np.uint8),
            "ref_line": np.asarray(self._lines, np.uint32),
            **columns,
            "ref_ends": np.asarray(self._ends, np.uint32),
            "ref_by_name": by_name(columns["ref_name"]),
            "def_name": rank[np.asarray(self._defined, np.uint32)],
            "def_chunk": np.asarray(self._definers, np.uint32),
        }


def by_name(names: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The numbers of the references, sorted by name."""
    return np.argsort(names, kind="stable").astype(np.uint32)


class ReferenceTable:
    """Reads the references of one mapped segment."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._strings = Strings(arrays, "ref_strings")
        self._sorted_names: NDArray[np.uint32] | None = None

    def named(self, name: str) -> Iterator[tuple[int, Reference]]:
        """References to `name`, with the numbers of their files."""
        row = self._strings.find(name)
        if row is None:
            return
        order = self._arrays["ref_by_name"]
        if self._sorted_names is None:
            self._sorted_names = self._arrays["ref_name"][order]
        low, high = np.searchsorted(self._sorted_names, [row, row + 1])
        numbers = order[low:high]
        files = np.searchsorted(self._arrays["ref_ends"], numbers, side="right").tolist()
        yield from zip(files, self._references(numbers), strict=True)

    def of_file(self, file: int) -> Iterator[Reference]:
        """The references of the file with this number, by line."""
        ends = self._arrays["ref_ends"]
        return self._references(slice(int(ends[file - 1]) if file else 0, int(ends[file])))

    def uses(self) -> Iterator[tuple[int, str, float]]:
        """For each file and name how much the file uses the name, without imports and bindings.

        `x.get()` counts for less: without the type of `x` it says little about which `get` is meant.
        """
        names, ends = self._arrays["ref_name"], self._arrays["ref_ends"].astype(np.int64)
        files = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        chosen = self._arrays["ref_kind"] < KINDS.index("import")
        bare = self._arrays["ref_receiver"][chosen] == (self._strings.find("") or 0)
        pairs, pair_of = np.unique(files[chosen] * (len(self._strings) + 1) + names[chosen], return_inverse=True)
        weights = np.bincount(pair_of, weights=np.where(bare, 1.0, _RECEIVER_WEIGHT), minlength=len(pairs))
        for pair, weight in zip(pairs.tolist(), weights.tolist(), strict=True):
            file, name = divmod(pair, len(self._strings) + 1)
            yield file, self._strings[name], weight

    def _references(self, numbers: NDArray[np.uint32] | slice) -> Iterator[Reference]:
        """The references with these numbers; each of their texts is read once."""
        arrays = self._arrays
        uses = np.concatenate([arrays[f"ref_{text}"][numbers] for text in TEXTS])
        rows, which = np.unique(uses, return_inverse=True)
        texts = self._strings.many(rows.astype(np.int64))
        columns = which.reshape(len(TEXTS), -1).tolist()
        kinds, lines = arrays["ref_kind"][numbers].tolist(), arrays["ref_line"][numbers].tolist()
        for kind, line, name, receiver, alias, scope in zip(kinds, lines, *columns, strict=True):
            yield Reference(KINDS[kind], texts[name], texts[receiver], line, texts[alias], texts[scope])
