"""Loads the code of a plugin, from a file or from an installed package, and finds the plugins in it.

A file is read, compiled and run as a module of its own that nothing can import by name: `sys.path` stays as it is, and
no compiled file is read or written, so what runs is what the file says. A package is imported as Python does it.

Code that cannot be loaded is a PluginError that names the file, the line and the reason, whatever the code raises. Its
time is not bounded here: that is why Sage loads a user's plugins in a process that can be ended.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from types import ModuleType
from typing import Any

from sage_code.errors import PluginError
from sage_code.events.plugins import HOOKS, PluginBase
from sage_code.events.reasons import reason, reason_with_line
from sage_code.files.contained import read_regular

# The largest plugins that people write are some thousand lines.
MAX_BYTES = 1 << 20
_numbers = count(1)  # two versions of a file have different module names, and may be loaded at the same time

Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LoadedSource:
    """Code that was loaded, and the plugins in it."""

    plugins: tuple[Any, ...]
    origin: str  # how it can be loaded again: the absolute path of its file, or `module:attr`
    file: str  # the file that it came from; empty if it has none
    modules: tuple[str, ...]  # the names under which `sys.modules` has it
    stamp: Stamp | None  # that of the file when it was read


def load_source(source: str, again: tuple[str, ...] = ()) -> LoadedSource:
    """The plugins of a source: the path of a file that ends with `.py`, or `module:attr`.

    A file always runs as it is now. The modules of a package run once, except those named in `again`: give the modules
    of the last load to load what their files say now.
    """
    if source.endswith(".py") or os.sep in source:
        return _load_file(os.path.abspath(source))
    module, colon, attribute = source.partition(":")
    if not colon or not all(name.isidentifier() for name in (*module.split("."), *attribute.split("."))):
        raise PluginError(
            f"{source[:200]!r} is no plugin", "give the path of a file that ends with .py, or module:attribute"
        )
    return _load_attribute(source, module, attribute, again)


def stamp_of(file: str) -> Stamp | None:
    """What changes when a file is written or replaced; None if there is no file."""
    try:
        facts = os.stat(file)
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino


def forget_modules(names: tuple[str, ...]) -> None:
    """Let no import find the code any more."""
    for name in names:
        sys.modules.pop(name, None)


def _load_file(path: str) -> LoadedSource:
    """The plugins of a file, which is run as a module of its own."""
    stamp = stamp_of(path)  # before it is read: a change meanwhile shows as a change
    try:
        source = read_regular(path, MAX_BYTES, follow=True)
    except OSError as error:
        raise PluginError(f"{path}: {error.strerror or reason(error)}", "look at what is there") from None
    name = f"sage_plugin_{next(_numbers)}_{os.path.basename(path).removesuffix('.py')}"
    module = ModuleType(name)
    module.__file__ = path
    with _explained(path):
        code = compile(source, path, "exec", dont_inherit=True)
        sys.modules[name] = module  # a dataclass looks for its module there
        try:
            exec(code, module.__dict__)  # noqa: S102 - the user has enabled this file
            plugins = _plugins_in(module)
        except BaseException:
            forget_modules((name,))
            raise
    if not plugins:
        forget_modules((name,))
        raise PluginError(
            f"{path}: there is no plugin in it", "it needs a class with `metadata` and the methods of its hooks"
        )
    return LoadedSource(plugins, path, path, (name,), stamp)


def _load_attribute(source: str, name: str, attribute: str, again: tuple[str, ...]) -> LoadedSource:
    """A plugin of an installed package: a class, an instance, or a function without parameters that returns one."""
    forget_modules(again)
    importlib.invalidate_caches()
    before = frozenset(sys.modules)
    try:
        with _explained(source):
            module = importlib.import_module(name)
        file = module.__file__ or ""
        with _explained(file or source):
            found: Any = module
            for step in attribute.split("."):
                found = getattr(found, step)
            plugin = found() if isinstance(found, type) or not hasattr(found, "metadata") else found
    except BaseException:
        forget_modules(_of_package(name, before))
        raise
    return LoadedSource((plugin,), source, file, _of_package(name, before), stamp_of(file) if file else None)


def _of_package(name: str, before: frozenset[str]) -> tuple[str, ...]:
    """The modules of a package that are new; Sage's own are never taken out of use."""
    package = name.partition(".")[0]
    if package == __name__.partition(".")[0]:
        return ()
    return tuple(known for known in sys.modules if known.partition(".")[0] == package and known not in before)


def _plugins_in(module: ModuleType) -> tuple[Any, ...]:
    """The module's `plugin` or `PLUGIN`, or one instance of each plugin class that the module defines."""
    for name in ("plugin", "PLUGIN"):
        one = vars(module).get(name)
        if one is not None and not isinstance(one, type) and hasattr(one, "metadata"):
            return (one,)
    return tuple(one() for one in list(vars(module).values()) if _is_plugin_class(one, module.__name__))


def _is_plugin_class(value: object, module: str) -> bool:
    """Whether a value is a class for plugins; those that begin with an underscore are there to be inherited from."""
    return (
        isinstance(value, type)
        and value.__module__ == module
        and not value.__name__.startswith("_")
        and not inspect.isabstract(value)
        and getattr(value, "metadata", PluginBase.metadata) is not PluginBase.metadata
        and any(callable(getattr(value, method, None)) for method in (*HOOKS, "on_load"))
    )


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turns everything that foreign code raises into a PluginError that says where and why."""
    try:
        yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginError(f"{where}{reason_with_line(error, where)}", "correct the plugin, or disable it") from None
