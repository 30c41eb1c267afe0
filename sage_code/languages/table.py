"""Detects the language of a file, by the table `grammars/languages.toml`.

The table is loaded on first use and cached. For a file of an unknown kind `detect` returns None, and the caller treats
it as plain text.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sage_code.paths import assets_dir

# Enough of a file to distinguish languages that share an extension: the code of a C++ header may begin after 10 KB of
# licence and documentation.
HEAD_BYTES = 32768


@dataclass(frozen=True, slots=True)
class Language:
    """A row of the language table."""

    name: str
    grammar: str | None = None  # its name in tree-sitter-language-pack
    queries: tuple[str, ...] = ()  # folders of grammars/ that hold its definitions.scm
    reader: str = ""  # one of sage_code/parse/readers.py, instead of a grammar
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    shebangs: tuple[str, ...] = ()
    line_comments: tuple[str, ...] = ()
    block_comments: tuple[str, ...] = ()  # the beginning and the end of a block, or nothing
    upper_is_constant: bool = False
    const_is_constant: bool = False
    constructor_has_class_name: bool = False
    docstring_in_body: bool = False
    plain_names: bool = False
    name_noise: str = ""
    max_symbols: int = 0
    preprocessor: str = ""
    offside: bool = False
    wants_last_newline: bool = False
    may_crash: bool = False

    @property
    def has_definitions(self) -> bool:
        """Whether Sage can extract symbols; if not, a file is cut by lines."""
        return bool(self.reader) or (self.grammar is not None and bool(self.queries))


@dataclass(frozen=True, slots=True)
class _Table:
    by_name: dict[str, Language]
    by_filename: dict[str, Language]
    by_extension: dict[str, list[Language]]
    by_shebang: dict[str, Language]


def all_languages() -> tuple[Language, ...]:
    """Every language of the table, in its order."""
    return tuple(_table().by_name.values())


def by_name(name: str) -> Language | None:
    """The language called `name`, or None."""
    return _table().by_name.get(name)


def detect(path: str, head: bytes = b"") -> Language | None:
    """The language of a file by its name, extension, shebang and, if languages share the extension, its content."""
    table = _table()
    filename = os.path.basename(path)
    if language := table.by_filename.get(filename):
        return language
    stem, dot, extension = filename.rpartition(".")
    if dot and (candidates := table.by_extension.get(extension.lower())):
        return candidates[0] if len(candidates) == 1 else _by_content(extension.lower(), candidates, head)
    # If the extension is unknown, the stem decides: `Dockerfile.dev`, `Makefile.am`.
    if stem and (language := table.by_filename.get(stem)):
        return language
    return _by_shebang(head)


@cache
def _table() -> _Table:
    """The table, with its languages by name, file name, extension and shebang."""
    rows = tomllib.loads(Path(assets_dir("grammars"), "languages.toml").read_text("utf-8"))
    table = _Table({}, {}, {}, {})
    for name, row in rows.items():
        values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        language = Language(name, **values)
        table.by_name[name] = language
        table.by_filename.update(dict.fromkeys(language.filenames, language))
        table.by_shebang.update(dict.fromkeys(language.shebangs, language))
        for extension in language.extensions:
            table.by_extension.setdefault(extension, []).append(language)
    return table


def _by_shebang(head: bytes) -> Language | None:
    """The language of the interpreter that the first line names."""
    if not head.startswith(b"#!"):
        return None
    words = head[2:HEAD_BYTES].split(b"\n", 1)[0].decode("utf-8", "replace").split()
    # In `#!/usr/bin/env -S FOO=1 python3 -u` options and assignments come before the interpreter.
    for word in words:
        program = word.rpartition("/")[2].lower()
        if program == "env" or word.startswith("-") or "=" in word:
            continue
        by_shebang = _table().by_shebang
        return by_shebang.get(program) or by_shebang.get(program.rstrip("0123456789."))
    return None


# --- extensions that several languages share ----------------------------------------------------------------

# `[ \t]*` and not `\s*`, which would read a run of blank lines again from each of them.
_OBJC = re.compile(
    rb"^[ \t]*(@(interface|implementation|protocol|class|import|end|property)\b|#import\b)", re.MULTILINE
)
_CPP = re.compile(
    rb"^[ \t]*(class\s+\w+[^;(]{0,500}[{:]|namespace\b|template\s*<|using\s+[\w:]+|(public|private|protected)\s*:"
    rb"|#\s*include\s*<(string|vector|memory|map|set|algorithm|utility|functional|iostream|cstdint|cstddef)>)"
    rb"|\b(std::|constexpr\b|nullptr\b|static_cast<|virtual\s|noexcept\b|override;|explicit\s+\w+\()"
    rb"|\b\w+::\w+|= (delete|default);",
    re.MULTILINE,
)
# A C header that C++ may include has `extern "C"` under `#ifdef __cplusplus`: that does not make it C++.
_CPP_GUARD = re.compile(rb"^#\s*if(def\s+|\s+defined\W*)__cplusplus.*?^#\s*(endif|else)", re.MULTILINE | re.DOTALL)
_COMMENTS = re.compile(rb"/\*.*?(\*/|\Z)|//[^\n]*", re.DOTALL)
# By extension, what tells its languages apart: the first pattern that is found decides, or else the order of the table.
_CONTENT_RULES: dict[str, tuple[tuple[re.Pattern[bytes], str], ...]] = {
    "m": (
        (_OBJC, "objc"),
        (re.compile(rb"^[ \t]*(%|function\b|classdef\b|end[ \t]*+;?[ \t]*+$)", re.MULTILINE), "matlab"),
    ),
    "pl": (
        (re.compile(rb"^[ \t]*(use\s|package\s|sub\s|my\s|#!.*perl)", re.MULTILINE), "perl"),
        (re.compile(rb"^[ \t]*(:-|[a-z]\w*\(.*\)\s*(:-|\.\s*$))", re.MULTILINE), "prolog"),
    ),
    "v": (
        (re.compile(rb"\b(endmodule|always\s*@|assign\s|`timescale|input\s|wire\s|reg\s)"), "verilog"),
        (
            re.compile(rb"^[ \t]*(Require|Theorem|Lemma|Definition|Proof|Inductive|Fixpoint|Module)\b", re.MULTILINE),
            "coq",
        ),
        (re.compile(rb"^[ \t]*(fn\s|pub fn\s|import\s+\w|struct\s+\w+\s*\{|module\s+\w+\s*$)", re.MULTILINE), "v"),
    ),
    "ts": ((re.compile(rb"\A(?:\xef\xbb\xbf)?\s*+(<\?xml|(?s:.{0,187})<!DOCTYPE TS>)"), "xml"),),
    "cls": ((re.compile(rb"\A\s*(\\|%)"), "latex"),),
    "pp": ((re.compile(rb"^[ \t]*(class\s+[\w:]+|define\s|node\s|include\s|#)", re.MULTILINE), "puppet"),),
}


def _by_content(extension: str, candidates: list[Language], head: bytes) -> Language:
    """The one of `candidates` that a file is in; the first if its beginning does not tell."""
    head = head[:HEAD_BYTES]
    rules = _CONTENT_RULES.get(extension, ())
    name = _header(head) if extension == "h" else next((name for rule, name in rules if rule.search(head)), "")
    return next((language for language in candidates if language.name == name), candidates[0])


def _header(head: bytes) -> str:
    if _OBJC.search(head):
        return "objc"
    code = _COMMENTS.sub(b" ", _CPP_GUARD.sub(b"", head))
    return "cpp" if _CPP.search(code) else "c"
