"""The repositories of the fleet: one YAML file of names with git addresses or folders, which people may edit.

A file whose name does not end with `.yaml` or `.yml` is a plain list, one address or folder a line, `#` for remarks.

The file is checked before anything of it is used: only https, ssh and file addresses and folders, no address that holds
a password, no name that could leave its folder. A git address is never handed to a shell.
"""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

import yaml

from sage_code.errors import ConfigError, UsageError
from sage_code.files.atomic import write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.paths import sage_home

ROSTER_FILE = "fleet.yaml"
# A hundred thousand repositories are about 10 MB.
_MAX_BYTES = 64 << 20
_PATIENCE_S = 10.0
_SCHEMES = ("https", "ssh", "file")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*){0,4}")
_OWNER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+@-]{0,99}")
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,199}")
# git's short form of ssh addresses: user@host:path.
_SCP = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[A-Za-z0-9._~/+-]+)")
_UNSAFE = re.compile(r"[\x00-\x20\x7f]")
_KEYS = ("name", "source", "owner", "branch")


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository of the fleet; one of `sage fleet list --json`."""

    name: str
    source: str  # a git address, or the absolute path of a folder
    owner: str
    branch: str = ""  # empty: what the address calls HEAD; folders have none

    @property
    def is_folder(self) -> bool:
        """Whether it is read where it is, without a clone."""
        return os.path.isabs(self.source)


def roster_path(given: str = "") -> str:
    """The fleet's file: the given one, or the one in Sage's home."""
    return os.path.abspath(given) if given else os.path.join(sage_home(), ROSTER_FILE)


def load(path: str) -> list[Repository]:
    """The repositories in the file, sorted by name; none if there is no file."""
    try:
        data = read_regular(path, _MAX_BYTES + 1, follow=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}", "check the file") from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path} is larger than {_MAX_BYTES >> 20} MB", "a fleet's file lists repositories only")
    try:
        document = yaml.safe_load(data) if _is_yaml(path) else _lines(data.decode())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {str(error).splitlines()[0]}", "mend it by hand") from error
    rows = document.get("repositories") if isinstance(document, dict) else document
    if rows is None:
        return []
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: `repositories` is no list", "see docs/FLEET.md for an example")
    found: dict[str, Repository] = {}
    for number, row in enumerate(rows, 1):
        one = _from_row(row, f"{path}, repository {number}")
        if one.name in found:
            raise ConfigError(f"{path}: two repositories are called {one.name}", "give one of them another `name`")
        found[one.name] = one
    return sorted(found.values(), key=lambda one: one.name)


def add(path: str, sources: list[str], *, name: str = "", owner: str = "", branch: str = "") -> list[Repository]:
    """Add repositories to the file, or replace those of the same name; returns them."""
    if name and len(sources) != 1:
        raise UsageError("--name is for one repository", "leave it out: names come from the addresses")
    new = [repository(source, name=name, owner=owner, branch=branch) for source in sources]
    for one in new:
        if one.is_folder and not os.path.isdir(one.source):
            raise UsageError(f"{one.source} is not a folder", "give a git address, or a folder of this machine")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _check_changeable(path)
    with locked(f"{path}.lock", timeout_s=_PATIENCE_S):
        kept = {one.name: one for one in load(path)}
        for one in new:
            if one.name in kept and not name and kept[one.name].source != one.source:
                hint = f"give this one another name: `sage fleet add --name NAME {one.source}`"
                raise UsageError(f"{kept[one.name].source} is called {one.name} already", hint)
            kept[one.name] = one
        _save(path, list(kept.values()))
    return new


def remove(path: str, names: list[str]) -> list[Repository]:
    """Take repositories off the file; returns those that were on it."""
    _check_changeable(path)
    with locked(f"{path}.lock", timeout_s=_PATIENCE_S):
        known = load(path)
        gone = [one for one in known if one.name in names]
        if gone:
            _save(path, [one for one in known if one.name not in names])
    return gone


def _is_yaml(path: str) -> bool:
    return path.endswith((".yaml", ".yml"))


def _lines(text: str) -> list[str]:
    """The addresses of a plain list."""
    lines = (line.partition(" #")[0].strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _check_changeable(path: str) -> None:
    if not _is_yaml(path):
        raise UsageError(
            f"{path} is a plain list, which Sage only reads", "edit it, or use a file that ends with .yaml"
        )


def repository(source: str, *, name: str = "", owner: str = "", branch: str = "") -> Repository:
    """The repository at an address or in a folder. What is not given comes from the address."""
    place = _checked_source(source)
    parts = _path_parts(place)
    last = parts[-1] if parts else "repository"
    above = parts[-2] if len(parts) > 1 else ""
    is_folder = os.path.isabs(place)
    given = name or (last if is_folder or not above else f"{above}/{last}")
    given = given if name else re.sub(r"[^A-Za-z0-9._+/-]", "-", given).lstrip("-.+")
    if not _NAME.fullmatch(given) or ".." in given:
        raise UsageError(f"{given!r} cannot be a repository's name", "use letters, digits, and . _ - / between them")
    whose = owner or re.sub(r"[^A-Za-z0-9._+@-]", "-", "" if is_folder else above).lstrip("-.+@") or "local"
    if not _OWNER.fullmatch(whose):
        raise UsageError(f"{whose!r} cannot be an owner", "use letters, digits, and . _ - @")
    if branch and (is_folder or not _BRANCH.fullmatch(branch) or ".." in branch):
        raise UsageError(f"{branch!r} cannot be the branch of {place}", "folders have none; others have plain names")
    return Repository(given, place, whose, branch)


def _checked_source(source: str) -> str:
    """A git address that may be used, or the absolute path of a folder."""
    if not source or source.startswith("-") or ("://" in source and _UNSAFE.search(source)) or "\x00" in source:
        raise UsageError(f"{source!r} is no git address and no folder", "give an https, ssh or file address")
    if "://" in source:
        parts = urlsplit(source)
        if parts.scheme not in _SCHEMES:
            raise UsageError(f"{parts.scheme}: addresses are not used", f"use one of {', '.join(_SCHEMES)}")
        if parts.password or (parts.username and parts.scheme == "https"):
            raise UsageError(
                "an address must not hold a password or a token",
                "let git keep it: https://git-scm.com/docs/gitcredentials",
            )
        if parts.scheme != "file" and (not parts.hostname or parts.hostname.startswith("-")):
            raise UsageError(f"{source!r} names no host", "give an https, ssh or file address")
        return source
    if _SCP.fullmatch(source):
        return source
    if "::" in source:
        raise UsageError(f"{source!r} asks for a program of git", "give an https, ssh or file address, or a folder")
    return os.path.abspath(os.path.expanduser(source))


def _path_parts(source: str) -> list[str]:
    scp = _SCP.fullmatch(source)
    path = scp["path"] if scp else urlsplit(source).path if "://" in source else source
    path = path.rstrip("/").removesuffix(".git")
    return [part for part in path.split("/") if part not in ("", ".", "..", "~")]


def _from_row(row: object, where: str) -> Repository:
    values = {"source": row} if isinstance(row, str) else row
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ConfigError(f"{where}: expected an address, or `source:` with `name:`, `owner:`, `branch:`", "mend it")
    if unknown := sorted(set(map(str, values)) - {*_KEYS}):
        raise ConfigError(f"{where}: {unknown[0]!r} is not known", f"known are {', '.join(_KEYS)}")
    try:
        return repository(**{"source": "", **values})
    except UsageError as error:
        raise ConfigError(f"{where}: {error}", error.hint) from error


def _save(path: str, repositories: list[Repository]) -> None:
    rows = [
        {key: value for key, value in asdict(one).items() if value}
        for one in sorted(repositories, key=lambda one: one.name)
    ]
    text = yaml.safe_dump({"repositories": rows}, sort_keys=False, allow_unicode=True)
    write_bytes(path, text.encode(), mode=0o600)
