"""Writes a file of another program with what Sage puts into it, or without it, and keeps backup and record in step."""

from __future__ import annotations

import os
from dataclasses import replace

from sage_code.agents import files, record
from sage_code.agents.files import TextFile
from sage_code.agents.record import Insertion


def put_in(
    file: TextFile, text: str, insertion: Insertion, replaced: Insertion | None, *, private: bool, backup: bool = True
) -> str:
    """Write the text with an insertion, and record that; return the path of the backup.

    If it replaces another insertion, the file and its folders were made for that one.
    """
    copy = files.keep_backup(file) if backup else ""
    folders = files.write(file, text, private=private)
    existed, folders = (replaced.existed, replaced.folders) if replaced else (insertion.existed, folders)
    record.put(file.path, replace(insertion, existed=existed, folders=folders))
    return copy


def take_out(file: TextFile, text: str, known: Insertion | None, *, private: bool) -> str:
    """Write the remaining text; return the path of the backup, if it is still needed.

    A file that Sage made is deleted if nothing remains but an empty object, and never through a link.
    """
    is_empty = "".join(text.removeprefix("\ufeff").split()) in ("", "{}")
    left: list[str] = []
    if known is not None and not known.existed and is_empty and not os.path.islink(file.path):
        left = files.delete(file.path, known.folders)
    else:
        files.write(file, text, private=private)
        files.drop_backup(files.read(file.path))
    record.put(file.path, None, left=left)
    backup = files.backup_path(file.path)
    return backup if os.path.exists(backup) else ""
