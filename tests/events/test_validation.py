"""What a plugin says about itself is checked, and what is wrong is said with its file and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sage_code.errors import PluginError
from sage_code.events.plugins import HOOKS, FormatPlugin, LoaderPlugin, PluginMetadata, SearchPlugin
from sage_code.events.validation import checked_metadata


class _All(LoaderPlugin, SearchPlugin, FormatPlugin):
    def __init__(self, **said: Any) -> None:
        self._said = {"name": "all", "version": "1.0", "hooks": list(HOOKS), **said}

    @property
    def metadata(self) -> PluginMetadata:
        return PluginMetadata(**self._said)


def test_what_is_right_is_taken_over() -> None:
    said = {"author": "Ada", "description": "Does it.", "hooks": list(reversed(HOOKS)), "priority": -1_000_000}
    checked = checked_metadata(_All(**said), "x.py")
    assert checked == PluginMetadata("all", "1.0", "Ada", "Does it.", list(HOOKS), -1_000_000)


@pytest.mark.parametrize("version", ["1", "0.1.dev3", "2026.11", "1.0rc1", "1.0.0-beta.2", "3.1.post4+linux.1"])
def test_versions_are_those_of_packages(version: str) -> None:
    assert checked_metadata(_All(version=version), "x.py").version == version


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ({"name": "Bad Name"}, "the name 'Bad Name' is not allowed", "a-z"),
        ({"name": ""}, "the name '' is not allowed", "a-z"),
        ({"name": "-x"}, "the name '-x' is not allowed", "a-z"),
        ({"name": "a\n"}, r"the name 'a\n' is not allowed", "a-z"),
        ({"name": "a" * 65}, "its name has 65 characters", "at most 64"),
        ({"name": 7}, "its name is of type int", "write a text"),
        ({"version": "new"}, "'new' is no version", "like 1.0"),
        ({"version": "1" * 65}, "its version has 65 characters", "at most 64"),
        ({"author": None}, "its author is of type NoneType", "write a text"),
        ({"description": "x" * 1_001}, "its description has 1,001 characters", "at most 1000"),
        ({"hooks": "pre_load"}, "its hooks are of type str", "write a list of pre_load"),
        ({"hooks": [1]}, "one of its hooks is of type int", "write names"),
        ({"hooks": ["pre-serach"]}, "there is no hook 'pre-serach'", "did you mean pre_search?"),
        ({"hooks": ["zzz"]}, "there is no hook 'zzz'", "there are pre_load, post_load"),
        ({"hooks": ["pre_load", "pre_load"]}, "it names the hook pre_load twice", "once"),
        ({"priority": True}, "its priority is of type bool", "whole number"),
        ({"priority": 1.5}, "its priority is of type float", "whole number"),
        ({"priority": 1_000_001}, "its priority is out of range", "-1,000,000"),
    ],
)
def test_what_is_wrong_is_named(said: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(PluginError) as refused:
        checked_metadata(_All(**said), "/home/x.py")
    assert refused.value.message == f"/home/x.py: {message}"
    assert hint in refused.value.hint


def _with_method(method: Callable[..., Any] | None) -> object:
    class Plain:
        metadata = PluginMetadata("plain", "1.0", hooks=["pre_search"])
        pre_search = method

    return Plain()


async def _async(self: Any, where: str, query: str, filters: dict[str, Any]) -> None: ...


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (None, "it has no method for pre_search"),
        (lambda self, query: query, "its pre_search(query) cannot be called as pre_search(where, query, filters)"),
        (lambda self, a, b, c, *, d: a, "its pre_search(a, b, c, *, d) cannot be called as pre_search(where, query"),
        (_async, "its pre_search is async"),
    ],
)
def test_a_hook_needs_a_method_that_can_be_called(method: Callable[..., Any] | None, message: str) -> None:
    with pytest.raises(PluginError) as refused:
        checked_metadata(_with_method(method), "x.py")
    assert refused.value.message.startswith(f"x.py: {message}")


def test_methods_may_take_more_than_they_get() -> None:
    for method in (lambda *given: None, lambda self, a, b, c, d=1: None, staticmethod(lambda a, b, c: None)):
        assert checked_metadata(_with_method(method), "x.py").name == "plain"


class _NoMetadata:
    def pre_load(self, layer: str, path: str) -> None: ...


class _RaisingMetadata(_NoMetadata):
    @property
    def metadata(self) -> PluginMetadata:
        raise RuntimeError("not today")


class _MethodMetadata(_NoMetadata):
    def metadata(self) -> PluginMetadata:
        return PluginMetadata("x", "1")


class _HalfMetadata(_NoMetadata):
    metadata: dict[str, str] = {}  # noqa: RUF012 - wrong on purpose


class _NothingToCall:
    metadata = PluginMetadata("x", "1")


class _WrongOnLoad:
    metadata = PluginMetadata("x", "1")

    def on_load(self) -> None: ...


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (
            _NoMetadata(),
            "its metadata cannot be read: AttributeError: '_NoMetadata' object has no attribute 'metadata'",
        ),
        (_RaisingMetadata(), "its metadata cannot be read: RuntimeError: not today"),
        (_MethodMetadata(), "its metadata is a method"),
        (_HalfMetadata(), "its metadata has no name and no version"),
        (_NothingToCall(), "it has neither a hook nor on_load"),
        (_WrongOnLoad(), "its on_load() cannot be called as on_load(context)"),
    ],
)
def test_metadata_and_something_to_call_are_needed(plugin: object, message: str) -> None:
    with pytest.raises(PluginError) as refused:
        checked_metadata(plugin, "x.py")
    assert refused.value.message == f"x.py: {message}"
