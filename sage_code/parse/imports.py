"""Reads import statements: the names they import, from which module, and under which local names.

Each family of languages has one reader of the statement's text, because import syntax is regular. A statement that a
reader does not understand gives no names, so that references to them are not resolved.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

_MAX_CHARS = 20_000
_KEPT_BYTES = 400
# Every pattern reads each character a few times at most, for any statement: 20,000 opened comments, or one word.
_COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_RUST_MARK = re.compile(r"[{},]|$")
# `import { A, B } from "./c"`: nothing renamed, no comment.
_PLAIN = re.compile(
    r"""import\s*\{\s*([\w$]+(?:\s*,\s*[\w$]+)*+)\s*,?\s*\}\s*from\s*["']((?:[^'"/#\s]|/(?![/*]))+)["']\s*;?"""
)
# Real paths are shorter; longer ones come from a hostile nest of braces.
_MAX_PATH = 500


def imported(language: str, statement: bytes) -> tuple[tuple[str, str, str], ...]:
    """The names that one statement imports, as (name, module, local name); the name is `*` for the module itself."""
    reader = _READERS.get(language)
    if reader is None:
        return ()
    # Files of a project import the same names. Long statements rarely repeat, so they are not cached.
    return _kept(reader, statement) if len(statement) <= _KEPT_BYTES else _read(reader, statement)


def _read(reader: Callable[[str], Named], statement: bytes) -> tuple[tuple[str, str, str], ...]:
    text = statement.decode("utf-8", "replace")[:_MAX_CHARS]
    return tuple((name, module, alias or ("" if name == "*" else name)) for module, name, alias in reader(text))


_kept = lru_cache(4096)(_read)


Named = Iterator[tuple[str, str, str]]


def _python(statement: str) -> Named:
    """`import a.b as c`, `from .a import (b, c as d)`."""
    text = " ".join(re.sub(r"#[^\n]*", " ", statement).replace("\\\n", " ").split())
    if text.startswith("import "):
        for part in text[7:].split(","):
            module, _, alias = part.strip().partition(" as ")
            # `import a.b` binds `a`, but calls use the whole dotted name, so that is the alias.
            yield module.strip(), "*", alias.strip() or module.strip()
        return
    match = re.match(r"from\s*([.\w\s]+?)\s*\bimport\b\s*\(?\s*(.*?)\s*\)?$", text)
    if match is None:
        return
    module = match[1].replace(" ", "")
    for part in match[2].split(","):
        name, _, alias = part.strip().partition(" as ")
        if name:
            yield module, name.strip(), alias.strip()


def _ecmascript(statement: str) -> Named:
    """`import a, { b as c } from "d"`, `export * from "d"`, `const { b: c } = require("d")`."""
    if plain := _PLAIN.fullmatch(statement):  # most are
        for name in plain[1].split(","):
            yield plain[2], name.strip(), name.strip()
        return
    text = " ".join(_COMMENT.sub(" ", statement).split())
    source = re.search(r"""(?:from|require\s*\(|^import)\s*['"]([^'"]+)['"]""", text)
    if source is None:
        return
    module = source[1]
    clause = text[: source.start()]
    if "require" in source[0]:
        clause = clause.rpartition("=")[0] or ""
    clause = re.sub(r"^(import|export)\s+(type\s+)?|^(const|let|var)\s+", "", clause).strip()
    if star := re.search(r"\*(?:\s+as\s+([\w$]+))?", clause):
        yield module, "*", star[1] or ""
    if braces := _BRACES.search(clause):
        for part in braces[1].split(","):
            pieces = re.split(r"\s+as\s+|\s*:\s*", part.strip().removeprefix("type "))
            if pieces[0]:
                yield module, pieces[0], pieces[-1]
    default = re.match(r"[\w$]+", clause)
    if default:
        yield module, "default", default[0]


def _go(statement: str) -> Named:
    for alias, path in re.findall(
        r"""((?<![\w.])[\w.]+\s+)?["`]([^"`]+)["`]""", _COMMENT.sub(" ", statement).replace("import", " ", 1)
    ):
        *parents, last = path.split("/")
        if parents and re.fullmatch(r"v\d+", last):
            last = parents[-1]
        yield path, "*", alias.strip() or last


def _dotted(statement: str) -> Named:
    """Java, Kotlin, Scala, C#, D: the last part is the name."""
    text = " ".join(_COMMENT.sub(" ", statement).split())
    match = re.match(
        r"(?:import|using)\s+(?:static\s+|global::)?(?:([\w.]+)\s*=\s*)?([\w.]+?)(?:\.(\*|_|\{.*\}))?(?:\s+as\s+(\w+))?\s*;?$",
        text,
    )
    if match is None:
        return
    alias, path, group, renamed = match.groups()
    if group and group.startswith("{"):
        for part in group.strip("{}").split(","):
            name, _, other = part.replace("=>", " as ").strip().partition(" as ")
            yield path, name.strip(), other.strip()
    elif group:
        yield path, "*", ""
    else:
        module, _, name = path.rpartition(".")
        yield module, name, (alias or renamed or "")


def _rust(statement: str) -> Named:
    """`use a::{b, c::{d, e as f}};`."""
    text = re.sub(r"\s+", " ", _COMMENT.sub(" ", statement)).strip()
    match = re.match(r"(?:pub(?:\([^)]*\))? )?use (.*?);?$", text)
    if match is None:
        return
    prefixes = [""]  # of the open braces
    start = 0
    for mark in _RUST_MARK.finditer(match[1]):
        part = match[1][start : mark.start()].strip()
        start = mark.end()
        if mark[0] == "{":
            prefixes.append(prefixes[-1] + part)
            if len(prefixes[-1]) > _MAX_PATH:
                return
            continue
        path, _, alias = (prefixes[-1] + part).partition(" as ")
        module, _, name = path.strip().rpartition("::")
        if part and name:
            yield module, name, alias.strip()
        if mark[0] == "}" and len(prefixes) > 1:
            prefixes.pop()


def _php(statement: str) -> Named:
    r"""`use A\B as C;`, `use function A\b;`, `use A\{B, C as D};`."""
    text = " ".join(_COMMENT.sub(" ", statement).split())
    if not text.startswith("use "):
        return
    text = text.removeprefix("use ").rstrip(";").strip()
    text = re.sub(r"^(function|const)\s+", "", text)
    head, brace, rest = text.partition("{")
    items = [head + part.strip() for part in rest.rstrip("}").split(",")] if brace else text.split(",")
    for item in items:
        path, _, alias = item.strip().partition(" as ")
        module, _, name = path.strip().lstrip("\\").rpartition("\\")
        if name:
            yield module, name, alias.strip()


def _quoted(statement: str) -> Named:
    """C, C++, Ruby, Solidity, Lua, protobuf: the name of a file in quotes."""
    match = re.search(r"""["'<]([^"'<>]+)[">']""", statement)
    if match is None:
        return
    if names := _BRACES.search(statement):
        for part in names[1].split(","):
            name, _, alias = part.strip().partition(" as ")
            if name:
                yield match[1], name.strip(), alias.strip()
        return
    yield match[1], "*", ""


_READERS: dict[str, Callable[[str], Named]] = {
    "python": _python,
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte"), _ecmascript),
    "go": _go,
    "rust": _rust,
    "php": _php,
    **dict.fromkeys(("java", "kotlin", "scala", "groovy", "csharp", "d", "dart"), _dotted),
    **dict.fromkeys(("c", "cpp", "objc", "ruby", "solidity", "lua", "proto", "zig", "bash"), _quoted),
}
