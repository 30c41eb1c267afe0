"""Reads and edits `tuning.yaml`, a file that people write by hand and that may come with a cloned repository.

Reading limits the size and the depth and accepts only plain data; every error names the file and the line. Editing
changes the text of one key and keeps the rest of the file, comments included. PyYAML is imported only if there is a
file to read or write.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field

from sage_code.errors import ConfigError
from sage_code.files import atomic
from sage_code.files.contained import NotRegularError, TooLargeError, read_regular

_MAX_BYTES = 64 * 1024  # hundreds of times what all settings need
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key: its value, and where its text starts (at the key) and ends."""

    value: object
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TuningFile:
    """The content of a tuning file; empty if there is none."""

    text: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)


def read(path: str, *, secret: bool = False) -> TuningFile:
    """The file at `path`, or a ConfigError that says what is wrong and where; of a `secret` file it quotes nothing."""
    if secret:
        return _read_secret(path)
    try:
        raw = read_regular(path, _MAX_BYTES, follow=True)  # people link to their dotfiles
    except (FileNotFoundError, NotADirectoryError):
        return TuningFile()
    except NotRegularError as error:
        raise _refusal(path, 0, "is not a regular file") from error
    except TooLargeError as error:
        raise _refusal(path, 0, f"is larger than {_MAX_BYTES // 1024} KB") from error
    except OSError as error:
        raise _refusal(path, 0, f"cannot be read: {error.strerror}") from error
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refusal(path, raw.count(b"\n", 0, error.start) + 1, "is not UTF-8") from error
    return _parse(path, text.removeprefix("\ufeff"))


def edit(path: str, changes: dict[str, object], *, private: bool = False, secret: bool = False) -> None:
    """Set keys in the file at `path`, or remove those that are None; writes atomically, all or nothing.

    A `private` file is its owner's alone: an address in it may have a password.
    """
    changes = {key: list(value) if isinstance(value, tuple) else value for key, value in changes.items()}
    before = read(path, secret=secret)
    text = before.text
    # From the end, so that the offsets of earlier entries stay valid.
    for key, entry in sorted(before.entries.items(), key=lambda item: -item[1].start):
        if key in changes:
            text = _splice(text, entry, key, changes[key])
    for key, value in changes.items():
        if key not in before.entries and value is not None:
            text += ("" if not text or text.endswith("\n") else "\n") + _render(key, value) + "\n"

    # This editing does not understand every layout, so the result is checked before it is written.
    if _values(_parse(path, text)) != {k: v for k, v in (_values(before) | changes).items() if v is not None}:
        raise ConfigError(f"{path} is laid out in a way that Sage cannot edit", "change it by hand")
    if text != before.text:
        _replace(path, text, private)


def _read_secret(path: str) -> TuningFile:
    try:
        return read(path)
    except ConfigError as error:
        # What cannot be read may itself be quoted, also by the parser's error that this one was raised from.
        place = re.search(r", line \d+,", error.message)
    where = f"{path}{place[0]}" if place else path
    raise ConfigError(f"{where} cannot be read", "it must hold lines of the form `key: value`, in UTF-8")


def _values(file: TuningFile) -> dict[str, object]:
    return {key: entry.value for key, entry in file.entries.items() if entry.value is not None}


def _splice(text: str, entry: Entry, key: str, value: object) -> str:
    if value is not None:
        return text[: entry.start] + _render(key, value) + text[entry.end :]
    # Whole lines are removed: text after the value is a comment about it.
    line_start = text.rfind("\n", 0, entry.start) + 1
    line_end = text.find("\n", entry.end)
    return text[:line_start] + (text[line_end + 1 :] if line_end >= 0 else "")


def _render(key: str, value: object) -> str:
    import yaml

    # Wrapped in a list, a scalar is written in the quotes it needs and without an end-of-document mark.
    wrapped = yaml.safe_dump([value], default_flow_style=True, width=_MAX_BYTES, allow_unicode=True)
    return f"{key}: {wrapped.strip()[1:-1]}"


def _parse(path: str, text: str) -> TuningFile:
    """The entries of a tuning file with their spans, or a ConfigError with the line of the mistake."""
    if not text.strip():
        return TuningFile(text)
    import yaml  # lazy: most projects have no such file

    try:
        spans = _spans(path, text)
        data = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refusal(path, mark.line + 1 if mark else 0, f"is not valid YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise _refusal(path, line, "holds a character that YAML forbids") from error
    except (ValueError, OverflowError) as error:  # an invalid number or date
        raise _refusal(path, 0, f"holds a value that cannot be read: {str(error)[:80]}") from error
    if data is None:
        return TuningFile(text)
    if not isinstance(data, dict):
        raise _refusal(path, 1, "must hold lines of the form `key: value`")
    nowhere = (0, 0, 0)
    return TuningFile(text, {str(key): Entry(value, *spans.get(str(key), nowhere)) for key, value in data.items()})


def _spans(path: str, text: str) -> dict[str, tuple[int, int, int]]:
    """Line, start and end of each top-level entry; refuses aliases, anchors, tags, directives and deep nesting.

    Aliases can expand a small file to gigabytes, tags can create objects and deep nesting can overflow the stack. The
    scanner sees them before any object is built.
    """
    import yaml

    refused = {
        yaml.AliasToken: "uses an alias (*), which Sage does not read",
        yaml.AnchorToken: "uses an anchor (&), which Sage does not read",
        yaml.TagToken: "uses a tag (!), which Sage does not read",
        yaml.DirectiveToken: "uses a directive (%), which Sage does not read",
    }
    opening = (
        yaml.BlockMappingStartToken,
        yaml.BlockSequenceStartToken,
        yaml.FlowMappingStartToken,
        yaml.FlowSequenceStartToken,
    )
    closing = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)
    # These come after the value: before the next key, or at the end of the file.
    beyond = (yaml.BlockEndToken, yaml.StreamEndToken, yaml.DocumentEndToken, yaml.FlowEntryToken)

    spans: dict[str, tuple[int, int, int]] = {}
    depth = 0
    name: str | None = None
    awaiting_name = False
    for token in yaml.scan(text):
        line = token.start_mark.line + 1
        if type(token) in refused:
            raise _refusal(path, line, refused[type(token)])
        depth += isinstance(token, opening) - isinstance(token, closing)
        if depth > _MAX_DEPTH:
            raise _refusal(path, line, "is nested too deeply")
        if depth == 1 and isinstance(token, yaml.KeyToken):
            awaiting_name, name = True, None
        elif awaiting_name and isinstance(token, yaml.ScalarToken):
            awaiting_name, name = False, token.value
            if name in spans:
                raise _refusal(path, line, f"sets {name[:80]!r} a second time")
            spans[name] = (line, token.start_mark.index, token.end_mark.index)
        elif name is not None and depth >= 1 and not isinstance(token, beyond):
            spans[name] = (*spans[name][:2], token.end_mark.index)
    return spans


def _replace(path: str, text: str, private: bool) -> None:
    """Write `text` to `path`; a file that has become empty is removed."""
    is_link = os.path.islink(path)
    path = os.path.realpath(path)  # a linked dotfile stays a link, and its target is never deleted
    try:
        if not text.strip() and not is_link:
            os.unlink(path)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
        mode = mode & atomic.PRIVATE_FILE if private else mode
        atomic.write_bytes(path, text.encode(), mode=mode)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "nothing was changed") from error


def _refusal(path: str, line: int, problem: str) -> ConfigError:
    where = f"{path}, line {line}," if line else path
    return ConfigError(f"{where} {problem}", "correct it or delete the file; nothing was changed")
