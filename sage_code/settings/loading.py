"""Loads and changes settings. A value comes from the first of these that sets it: a flag, a `SAGE_*` variable, the
project's `.sage/tuning.yaml`, the user's `tuning.yaml` in Sage's home, the default. Each value knows its origin.

A cloned repository is not trusted. Only the user sets what could send data elsewhere, start a process or run foreign
code, and a project may only lower how much of the machine is used. Such a key in a project's file is ignored with a
message in `Settings.warnings`; the rest of the file applies. Unknown keys are ignored in the same way, since a newer
Sage may have written them. A known key with an invalid value is an error.

A secret (`Setting.secret`) is kept apart from what people share with their dotfiles: only `config.yaml` in Sage's home,
which its owner alone can read, and variables may hold it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

from sage_code.errors import ConfigError, UsageError
from sage_code.files import dot_sage
from sage_code.files.locks import locked
from sage_code.paths import DOT_SAGE, sage_home
from sage_code.settings import tuning_file
from sage_code.settings.table import (
    BUILT_IN_MODELS,
    TABLE,
    Origin,
    OriginKind,
    Setting,
    Settings,
    Value,
    nearest,
    setting,
)
from sage_code.values import Scope

__all__ = ["TABLE", "Origin", "Setting", "Settings", "file_of", "load_settings", "reset", "set_value", "tuning_path"]


TUNING_FILE = "tuning.yaml"
SECRETS_FILE = "config.yaml"
_PATIENCE_S = 10.0
_PREFIX = "SAGE_"
_OTHERS = 0o077  # the rights of everybody but the owner
_MODEL_KEYS = ("code_embedding_model", "embedding_model")


def load_settings(root: str | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings for the project at `root`, or the user's own for None.

    `overrides` are flags; one that is None was not given. Empty `SAGE_*` variables count as unset.
    """
    found: dict[str, tuple[Value, Origin]] = {}
    warnings: list[str] = []
    _layer_common_variables(found, warnings)
    _layer_file(found, "user", tuning_path("user"), warnings)
    _layer_secrets(found, warnings)
    configured = {str(found[key][0]) for key in _MODEL_KEYS if key in found}
    _layer_environment(found)
    if root is not None and not _is_user_file(tuning_path("project", root)):
        models = configured | (_names(found["trusted_models"][0]) if "trusted_models" in found else set())
        project: dict[str, tuple[Value, Origin]] = {}
        _layer_file(project, "project", tuning_path("project", root), warnings)
        for key, (value, source) in project.items():
            complaint = _not_for_projects(key, value, models) or _raised(key, value, found)
            if complaint:
                warnings.append(f"{source.where}: ignored, {complaint}")
            elif key not in found or found[key][1].kind == "user":  # a variable overrides the project's file
                found[key] = (value, source)
    for key, given in (overrides or {}).items():
        known = setting(key)
        if given is not None:
            where = f"--{key.replace('_', '-')}"
            value = known.parse(given, where) if isinstance(given, str) else known.check(given, where)
            found[key] = (value, Origin("flag", where))
    values: dict[str, Any] = {key: value for key, (value, _) in found.items()}
    sources = {key: source for key, (_, source) in found.items()}
    return Settings(**values, sources=sources, warnings=tuple(warnings))


def set_value(key: str, text: str, scope: Scope, root: str | None = None) -> Value:
    """Write one setting into the user's or the project's file, and return the parsed value."""
    value = setting(key).parse(text, "sage config set")
    if scope == "project":
        user = load_settings(None)
        configured = {getattr(user, model) for model in _MODEL_KEYS if user.origin(model).kind == "user"}
        models = configured | _names(user.trusted_models)
        own = {name: (getattr(user, name), user.origin(name)) for name in TABLE}
        if complaint := _not_for_projects(key, value, models) or _raised(key, value, own):
            raise ConfigError(complaint, f"set it for yourself: `sage config set {key} VALUE`")
    path = _writable_path(scope, root, key)
    with _editing():
        tuning_file.edit(path, {key: value}, private=scope == "user", secret=TABLE[key].secret)
    if scope == "project" and root is not None:
        dot_sage.share(root)
    return value


def reset(scope: Scope, root: str | None = None, key: str | None = None) -> tuple[str, ...]:
    """Remove one setting, or all known ones but secrets, from a file, and return the keys that were there."""
    path = _writable_path(scope, root, key)
    is_secret = key is not None and setting(key).secret
    wanted = [key] if key is not None else list(TABLE)
    with _editing():
        present = tuple(name for name in tuning_file.read(path, secret=is_secret).entries if name in wanted)
        if present:
            tuning_file.edit(path, dict.fromkeys(present), private=scope == "user", secret=is_secret)
    return present


def tuning_path(scope: Scope, root: str | None = None) -> str:
    """The file of a scope; a project's needs its `root`."""
    if scope == "user":
        return os.path.join(sage_home(), TUNING_FILE)
    if root is None:
        raise UsageError("a project's settings need the project's folder", "pass --project")
    return os.path.join(root, DOT_SAGE, TUNING_FILE)


def file_of(key: str | None, scope: Scope, root: str | None = None) -> str:
    """The file that holds a setting in a scope: secrets have their own."""
    if key is not None and setting(key).secret and scope == "user":
        return os.path.join(sage_home(), SECRETS_FILE)
    return tuning_path(scope, root)


def _editing() -> AbstractContextManager[None]:
    """A lock for one editor at a time, so that no change is lost if two are made at once."""
    return locked(os.path.join(sage_home(), "tuning.lock"), timeout_s=_PATIENCE_S)


def _layer_file(found: dict[str, tuple[Value, Origin]], kind: OriginKind, path: str, warnings: list[str]) -> None:
    for key, entry in tuning_file.read(path).entries.items():
        where = f"{path}:{entry.line}"
        if key not in TABLE:
            warnings.append(f"{where}: there is no setting {key[:80]!r}; {nearest(key[:80])}")
        elif TABLE[key].secret and kind == "user":
            warnings.append(f"{where}: ignored, {key} is a secret: move the line to {file_of(key, 'user')}")
        elif entry.value is not None:  # `key:` without a value sets nothing
            found[key] = (TABLE[key].check(entry.value, where), Origin(kind, where))


def _layer_secrets(found: dict[str, tuple[Value, Origin]], warnings: list[str]) -> None:
    """What the file of secrets sets; anything else in it is ignored."""
    path = os.path.join(sage_home(), SECRETS_FILE)
    entries = tuning_file.read(path, secret=True).entries
    if entries and os.name == "posix" and os.stat(path).st_mode & _OTHERS:
        warnings.append(f"{path} holds secrets and others can read it: run `chmod 600` on it")
    for key, entry in entries.items():
        where = f"{path}:{entry.line}"
        if key not in TABLE or not TABLE[key].secret:
            warnings.append(f"{where}: ignored, {key[:80]!r} is no secret; settings are in {tuning_path('user')}")
        elif entry.value is not None:
            found[key] = (TABLE[key].check(entry.value, where), Origin("user", where))


def _layer_common_variables(found: dict[str, tuple[Value, Origin]], warnings: list[str]) -> None:
    """Variables that other programs read too. They are not Sage's, so an unusable one is no error."""
    for key, known in TABLE.items():
        for variable in known.variables:
            if text := os.environ.get(variable):
                try:
                    found[key] = (known.parse(text, variable), Origin("env", variable))
                except ConfigError as error:
                    warnings.append(f"{error.message}; ignored")


def _layer_environment(found: dict[str, tuple[Value, Origin]]) -> None:
    for key, known in TABLE.items():
        variable = _PREFIX + key.upper()
        if text := os.environ.get(variable):
            found[key] = (known.parse(text, variable), Origin("env", variable))


def _names(pinned: Value) -> set[str]:
    return {entry.rsplit("@", 1)[0] for entry in pinned} if isinstance(pinned, tuple) else set()


def _not_for_projects(key: str, value: Value, models: set[str]) -> str:
    """Why a project may not set `key` to this value, or nothing. `models` are those that the user has named."""
    if TABLE[key].user_only:
        return f"{key} is for the user to decide, not for a project"
    if key in _MODEL_KEYS and value not in BUILT_IN_MODELS and value not in models:
        return f"{key} names {value!r}, a model that the user has neither configured nor trusted"
    return ""


def _raised(key: str, value: Value, found: Mapping[str, tuple[Value, Origin]]) -> str:
    """Why a project may not use so much of the machine, or nothing; `found` are the user's settings."""
    if not TABLE[key].costs or not isinstance(value, int | float):
        return ""
    most = found[key][0] if key in found else TABLE[key].default
    if key == "index_workers" and not most:
        most = os.cpu_count() or 1  # 0 means as many as there are processors
    if isinstance(most, int | float) and value > most:
        return f"a project may lower {key} and not raise it above the user's {most:,}"
    return ""


def _is_user_file(path: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(tuning_path("user"))


def _writable_path(scope: Scope, root: str | None, key: str | None) -> str:
    path = file_of(key, scope, root)
    if scope == "project" and root is not None:
        # In a cloned repository `.sage` may be a link to anywhere; Sage does not write outside of the project.
        inside = os.path.join(os.path.realpath(root), "")
        if not os.path.realpath(path).startswith(inside):
            raise ConfigError(f"{path} leads out of the project", "replace the link by a file or folder")
    return path
