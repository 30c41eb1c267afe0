"""The number that every row's key carries, apart from the chunker: a search needs the one and not the other."""

from __future__ import annotations

# Raised whenever the same file would give other chunks or symbols; it is part of every row's key.
# 1: first version. 2: sections of prose, keys of data files, embedded scripts, more languages.
# 3: owners of unnamed types and of object literals, macros inside functions, what a function returns;
# references by columns. 4: macros of C that stand anywhere, a last line of Perl that does not end.
CHUNKER_VERSION = 4
