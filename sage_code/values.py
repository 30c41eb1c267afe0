"""The values that travel between the stages: files, symbols, chunks. No I/O, no logic beyond their shape.

Paths are relative to the project's root, with forward slashes. Lines are 1-based and inclusive.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple, TypeAlias

# Whom a memory or a setting belongs to: the user, or the project, which a team may share.
Scope: TypeAlias = Literal["user", "project", "team"]


class SkipReason(StrEnum):
    """Why a file is not in the index; `sage status` and `sage index --dry-run` list them."""

    IGNORED = "ignored"  # .gitignore, .sageignore or a built-in exclude
    EMPTY = "empty"
    BINARY = "binary"
    TOO_LARGE = "too_large"
    GENERATED = "generated"
    MINIFIED = "minified"
    LOCKFILE = "lockfile"
    SECRET = "secret"  # noqa: S105 - keys, passwords, tokens; the user's `include_secrets` lets them in
    SYMLINK = "symlink"
    NOT_A_FILE = "not_a_file"
    UNREADABLE = "unreadable"
    BAD_NAME = "bad_name"  # the name is not valid Unicode


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that belongs to the project, as the file system describes it."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0  # moves with every change, also where a tool sets `mtime_ns` back; 0: unknown


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file or folder that was seen and left out, with the reason."""

    path: str
    reason: SkipReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Location:
    """A file, or lines of it: without lines the whole file is meant."""

    file: str
    start_line: int | None = None
    end_line: int | None = None


@dataclass(frozen=True, slots=True)
class Symbol:
    """A named definition. Its name is on `line`; its source spans `start_line` to `end_line`, with decorators and doc
    comment."""

    kind: str  # function method class struct interface trait enum type constant variable module macro ...
    name: str
    qualname: str
    line: int
    start_line: int
    end_line: int
    signature: str = ""
    docstring: str = ""

    def row(self) -> tuple[object, ...]:
        """The fields in their order, for JSON: `Symbol(*row)` is the symbol again."""
        return (
            self.kind, self.name, self.qualname, self.line, self.start_line, self.end_line, self.signature,
            self.docstring,
        )  # fmt: skip


def definition_line(symbols: Iterable[Symbol], qualname: str, first: int, last: int) -> int:
    """The line to show for a chunk called `qualname`: the line of the name if it is in the chunk, otherwise the chunk's
    first line."""
    return next((one.line for one in symbols if one.qualname == qualname and first <= one.line <= last), first)


class Reference(NamedTuple):
    """A name that a file uses. Which definition it means is decided by `xref`, from all files.

    A tuple: one question may create a hundred thousand, and a frozen dataclass takes four times as long."""

    kind: str  # call inherit type use; import; bind (a variable; `receiver` is its value)
    name: str
    # What is before the name: `self`, `os.path`, `Foo()`, `?` for an expression, `?"` for a literal; the module of
    # an import; of a binding the type `Foo`, a container `[Foo]`, another name `=y`, an element of one `*ys`.
    receiver: str
    line: int
    alias: str = ""  # the local name of an import
    scope: str = ""  # qualified name of the innermost definition around it


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole lines of a file that are embedded and found as one piece. The chunks of a file cover every line."""

    kind: str  # function class method module constant type fallback
    name: str
    qualname: str
    start_line: int
    end_line: int
    signature: str
    docstring: str
    text: str
    symbols: tuple[Symbol, ...] = ()
