"""Checks what a plugin says about itself before any of it is used. Every error names the plugin's file.

A plugin is checked by what it has, not by what it inherits from: `metadata` with a name and a version, and for each
hook that it names a method that can be called as Sage calls it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from sage_code.errors import PluginError
from sage_code.events.plugins import (
    DEFAULT_PRIORITY,
    HOOKS,
    FormatPlugin,
    LoaderPlugin,
    PluginBase,
    PluginMetadata,
    SearchPlugin,
)
from sage_code.events.reasons import reason

MAX_PRIORITY = 1_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
# 1.4, 2.0.1, 1.0rc2, 0.3.dev1, 2026.1+local: what packages have.
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*([-._]?[a-z]+[-._]?[0-9]*){0,3}(\+[a-z0-9.]+)?", re.IGNORECASE)
_MAX_VERSION, _MAX_AUTHOR, _MAX_DESCRIPTION = 64, 200, 1_000


def checked_metadata(plugin: object, where: str) -> PluginMetadata:
    """What a plugin says about itself, checked; PluginError, beginning with `where`, for what cannot be."""
    said = _metadata_of(plugin, where)
    name = _text(said, "name", 64, where)
    if not _NAME.fullmatch(name):
        raise _refused(where, f"the name {name!r} is not allowed", "use a-z, 0-9, - and _, at most 64 of them")
    version = _text(said, "version", _MAX_VERSION, where)
    if not _VERSION.fullmatch(version):
        raise _refused(where, f"{version!r} is no version", "write one like 1.0 or 2.1rc1")
    checked = PluginMetadata(
        name=name,
        version=version,
        author=_text(said, "author", _MAX_AUTHOR, where),
        description=_text(said, "description", _MAX_DESCRIPTION, where),
        hooks=_hooks(said, where),
        priority=_priority(said, where),
    )
    for hook in checked.hooks:
        _check_method(plugin, hook, where)
    for method in ("on_load", "on_unload"):
        if getattr(plugin, method, None) is not None:
            _check_method(plugin, method, where)
    if not checked.hooks and not hasattr(plugin, "on_load"):
        raise _refused(where, "it has neither a hook nor on_load", f"name its hooks: {', '.join(HOOKS)}")
    return checked


def _metadata_of(plugin: object, where: str) -> PluginMetadata:
    """What a plugin has for metadata, which is at least an object with a name and a version."""
    try:
        said: Any = plugin.metadata  # type: ignore[attr-defined] # whether it has any is the question
    except Exception as error:
        raise _refused(where, f"its metadata cannot be read: {reason(error)}", "give it PluginMetadata") from None
    if inspect.isroutine(said):
        raise _refused(where, "its metadata is a method", "make it a property, or an attribute")
    missing = [name for name in ("name", "version") if not hasattr(said, name)]
    if missing:
        raise _refused(where, f"its metadata has no {' and no '.join(missing)}", "give it PluginMetadata")
    return said  # type: ignore[no-any-return] # like one; its values are checked one by one


def _text(said: PluginMetadata, field: str, longest: int, where: str) -> str:
    value = getattr(said, field, "")
    if not isinstance(value, str):
        raise _refused(where, f"its {field} is {_kind(value)}", "write a text")
    if len(value) > longest:
        raise _refused(where, f"its {field} has {len(value):,} characters", f"at most {longest} are allowed")
    return value


def _priority(said: PluginMetadata, where: str) -> int:
    value = getattr(said, "priority", DEFAULT_PRIORITY)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refused(where, f"its priority is {_kind(value)}", "write a whole number; a lower one runs first")
    if abs(value) > MAX_PRIORITY:
        raise _refused(where, "its priority is out of range", f"from -{MAX_PRIORITY:,} to {MAX_PRIORITY:,} are allowed")
    return value


def _hooks(said: PluginMetadata, where: str) -> list[str]:
    """The hooks that a plugin names, each known and named once."""
    value = getattr(said, "hooks", [])
    if not isinstance(value, list | tuple | set | frozenset):
        raise _refused(where, f"its hooks are {_kind(value)}", f"write a list of {', '.join(HOOKS)}")
    hooks: list[str] = []
    for hook in value:
        if not isinstance(hook, str):
            raise _refused(where, f"one of its hooks is {_kind(hook)}", f"write names: {', '.join(HOOKS)}")
        if hook not in HOOKS:
            import difflib  # lazy: only needed after a mistake

            close = difflib.get_close_matches(hook[:64].lower().replace("-", "_"), HOOKS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(HOOKS)}"
            raise _refused(where, f"there is no hook {hook[:64]!r}", hint)
        if hook in hooks:
            raise _refused(where, f"it names the hook {hook} twice", "name it once")
        hooks.append(hook)
    return sorted(hooks, key=HOOKS.index)


def _check_method(plugin: object, name: str, where: str) -> None:
    """Whether a plugin has a method that can be called with what Sage gives it."""
    method = getattr(plugin, name, None)
    wanted = f"{name}({', '.join(_PARAMETERS[name])})"
    if not callable(method):
        raise _refused(where, f"it has no method for {name}", f"write {wanted}")
    if _is_async(method):
        raise _refused(where, f"its {name} is async", "hooks are plain methods; async handlers belong on the bus")
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):
        return  # something in C that does not say what it takes
    try:
        signature.bind(*_PARAMETERS[name])
    except TypeError:
        parameters = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
        shown = inspect.Signature(parameters)
        raise _refused(where, f"its {name}{shown} cannot be called as {wanted}", f"write {wanted}") from None


def _is_async(method: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)


def _parameters() -> dict[str, tuple[str, ...]]:
    """The parameters of every method that Sage calls, as the classes to inherit from have them."""
    classes = (PluginBase, LoaderPlugin, SearchPlugin, FormatPlugin)
    return {
        name: tuple(inspect.signature(getattr(owner, name)).parameters)[1:]
        for owner in classes
        for name in (*HOOKS, "on_load", "on_unload")
        if hasattr(owner, name)
    }


_PARAMETERS = _parameters()


def _kind(value: object) -> str:
    return f"of type {type(value).__name__[:64]}"


def _refused(where: str, what: str, hint: str) -> PluginError:
    return PluginError(f"{where}: {what}", hint)
