"""A file of the project as a page shows it: its text with every secret masked, its lines, and its syntax tree.

Only files that belong to the project are read, never through a link, and none that discovery would leave out. Parsing
is bounded in time; a language whose grammar may hang or crash has no tree. What was made of a text is kept by its hash.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sage_code.discover.reading import read_source
from sage_code.discover.rules import discover_rules
from sage_code.errors import UsageError
from sage_code.files.inside import is_inside
from sage_code.index.status import is_listed
from sage_code.languages.table import HEAD_BYTES, Language, detect
from sage_code.settings.table import Settings
from sage_code.text.masking import find
from sage_code.values import SkippedFile, SourceFile
from sage_code.views.code.folders import known_files

if TYPE_CHECKING:
    from tree_sitter import Tree

# A file that takes longer to parse is data, or an attack on its grammar; meanwhile no other page is answered.
_PARSE_S = 2.0
# A machine that is busy for a moment gets another chance.
_MOST_TRIES = 2
# Grammars that index no file, but have no scanner of their own that could hang.
_SIMPLE = frozenset({"json"})
# What is kept: the files of a few open pages. A tree takes about twenty times the size of its source.
_KEPT_FILES, _KEPT_BYTES = 16, 8 << 20
_HINT = "it is not shown: only files that belong to the index are"


@dataclass(slots=True)
class ShownSource:
    """The text of a file without its secrets. It has as many lines as the file on the disk."""

    path: str
    text: str
    content_hash: str  # of the file on the disk, with its secrets
    size: int
    language: Language | None
    masked: tuple[tuple[int, int], ...]  # where `[masked: ...]` is in the text
    lines: list[str]
    _tree: Tree | None = None
    _tries: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tree(self) -> Tree | None:
        """The syntax tree; None without a grammar that can be trusted, or if parsing takes too long."""
        with self._lock:
            if self._tree is None and self._tries < _MOST_TRIES:
                self._tries += 1
                self._tree = tree_of(self.text, self.language)
        return self._tree

    @property
    def is_parsed(self) -> bool:
        """Whether the tree is there, or will not be."""
        return self._tree is not None or self._tries >= _MOST_TRIES


def tree_of(text: str, language: Language | None) -> Tree | None:
    """The syntax tree of a text, or of the beginning of one; None where there is none to be had."""
    if language is None or not language.grammar or not _is_trusted(language):
        return None
    from sage_code.parse.grammar import parse_tree  # lazy: the parser, for files that are shown in colour

    return parse_tree(text.encode(), language, _PARSE_S)


def _is_trusted(language: Language) -> bool:
    """Whether a grammar keeps its time limit: those do with which every file of the language is indexed anyway."""
    return not language.may_crash and (language.grammar in _SIMPLE or (bool(language.queries) and not language.reader))


_kept: OrderedDict[tuple[str, str], ShownSource] = OrderedDict()
_kept_lock = threading.Lock()


def shown_source(root: str, settings: Settings, path: str) -> ShownSource:
    """The file at a path of the project; UsageError if there is none, or if it is not for showing."""
    size = _checked(root, settings, path)
    read = read_source(root, SourceFile(path, size, 0), discover_rules(settings))
    if isinstance(read, SkippedFile):
        detail = f" ({read.detail})" if read.detail else ""
        raise UsageError(f"{path} is not in the index: {read.reason}{detail}".replace("_", " "), _HINT)
    key = (path, read.content_hash)
    with _kept_lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    made = _made(path, read.text, read.content_hash, size)
    with _kept_lock:
        _kept[key] = made
        while len(_kept) > _KEPT_FILES or (len(_kept) > 1 and sum(one.size for one in _kept.values()) > _KEPT_BYTES):
            _kept.popitem(last=False)
    return made


def content_hash_of(root: str, settings: Settings, path: str) -> str:
    """The hash of a file as it is now; empty if it is gone or not shown any more."""
    try:
        size = _checked(root, settings, path)
    except UsageError:
        return ""
    read = read_source(root, SourceFile(path, size, 0), discover_rules(settings))
    return "" if isinstance(read, SkippedFile) else read.content_hash


def _checked(root: str, settings: Settings, path: str) -> int:
    """The size of a file that belongs to the project; UsageError for any other path."""
    absolute = os.path.join(root, path)
    try:
        path.encode()  # a name that is no text is not indexed
        is_file = os.path.isfile(absolute) and not os.path.islink(absolute)
        if is_file and (path in known_files(root) or (is_inside(path) and is_listed(root, settings, absolute))):
            return os.lstat(absolute).st_size
    except (OSError, ValueError):
        pass  # a NUL, a lone surrogate, or it has just been deleted
    raise UsageError(f"there is no file {path} in this project", "go back to its folder")


def _made(path: str, text: str, content_hash: str, size: int) -> ShownSource:
    shown, masked = masked_text(text)
    language = detect(path, text[:HEAD_BYTES].encode()[:HEAD_BYTES])
    return ShownSource(path, shown, content_hash, size, language, masked, shown.removesuffix("\n").split("\n"))


def masked_text(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A text with its secrets masked and all its line ends, and where the masks are."""
    parts: list[str] = []
    masks: list[tuple[int, int]] = []
    done = length = 0
    for secret in find(text):
        mask = f"[masked: {secret.rule}]"
        before = text[done : secret.start]
        length += len(before)
        masks.append((length, length + len(mask)))
        ends = "\n" * text.count("\n", secret.start, secret.end)
        parts += [before, mask, ends]
        length += len(mask) + len(ends)
        done = secret.end
    return "".join([*parts, text[done:]]), tuple(masks)
