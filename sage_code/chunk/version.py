"""The version of the chunker, part of every row's key. A separate module: a search does not load the chunker."""

from __future__ import annotations

# Raised whenever the same file would give other chunks or symbols; it is part of every row's key.
# 1: first version. 2: sections of prose, keys of data files, embedded scripts, more languages.
# 3: owners of unnamed types and of object literals, macros inside functions, what a function returns;
# references by columns. 4: macros of C anywhere, a last line of Perl without an end. 5: modules called `importing`.
CHUNKER_VERSION = 5
