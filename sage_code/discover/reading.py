"""Reads a file of the project: its text, or the reason why it is skipped. Nothing on the disk raises an error."""

from __future__ import annotations

import errno
import os
from typing import NamedTuple

import xxhash

from sage_code.discover.decoding import decode
from sage_code.discover.looks import is_generated, is_minified
from sage_code.discover.rules import DEFAULT_RULES, DiscoverRules
from sage_code.discover.secret_files import is_secret_path, is_secret_text
from sage_code.files.contained import NotRegularError, read_contained
from sage_code.values import SkippedFile, SkipReason, SourceFile

# The errors of opening a link, or a path through one, when links are refused.
_LINK_ERRORS = frozenset({errno.ELOOP, errno.EMLINK, errno.ENOTDIR})


class SourceText(NamedTuple):
    """A file's text. Lines end with `\\n` and nothing else; there are no lone surrogates and no NULs."""

    text: str
    content_hash: str  # xxh3_128 of the bytes on the disk, in hex
    encoding: str  # a Python codec name


def read_source(root: str, file: SourceFile, rules: DiscoverRules = DEFAULT_RULES) -> SourceText | SkippedFile:
    """The text of a listed file, or why it is skipped. The file may have changed since the listing: become a link, or
    grown."""
    if not rules.include_secrets and is_secret_path(file.path):
        return SkippedFile(file.path, SkipReason.SECRET)
    try:
        data = read_contained(os.fsencode(root), file.path.encode(), rules.max_file_bytes + 1)
    except NotRegularError:
        return SkippedFile(file.path, SkipReason.NOT_A_FILE)
    except OSError as error:
        reason = SkipReason.SYMLINK if error.errno in _LINK_ERRORS else SkipReason.UNREADABLE
        return SkippedFile(file.path, reason, error.strerror or str(error))
    if not data:
        return SkippedFile(file.path, SkipReason.EMPTY)
    if len(data) > rules.max_file_bytes:
        return SkippedFile(file.path, SkipReason.TOO_LARGE)
    decoded = decode(data)
    if decoded is None:
        return SkippedFile(file.path, SkipReason.BINARY)
    if not decoded.text or decoded.text.isspace():
        return SkippedFile(file.path, SkipReason.EMPTY, "only white space")
    if not rules.include_secrets and is_secret_text(file.path, decoded.text):
        return SkippedFile(file.path, SkipReason.SECRET)
    if is_minified(file.path, decoded.text):
        return SkippedFile(file.path, SkipReason.MINIFIED)
    if not rules.include_generated and is_generated(decoded.text):
        return SkippedFile(file.path, SkipReason.GENERATED)
    return SourceText(decoded.text, xxhash.xxh3_128_hexdigest(data), decoded.encoding)
