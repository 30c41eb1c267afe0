"""Plugins are loaded, ordered, unloaded and reloaded; what is broken is said, with its file, and harms nothing."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sage_code.errors import PluginError
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType, LoadEvent
from sage_code.events.plugin_source import MAX_BYTES, load_source
from sage_code.events.plugins import LoaderPlugin, PluginMetadata
from sage_code.events.registry import PluginRegistry

_PLUGIN = """
from sage_code.events.plugins import LoaderPlugin, PluginMetadata

class {name}(LoaderPlugin):
    metadata = PluginMetadata("{name}", "1.0", hooks=["post_load"], priority={priority})

    def post_load(self, layer, content):
        return content + "{adds}"
"""


def _write(folder: Path, name: str, *, adds: str = "", priority: int = 100, then: str = "") -> Path:
    path = folder / f"{name}.py"
    path.write_text(_PLUGIN.format(name=name, adds=adds or name, priority=priority) + then)
    return path


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


@pytest.fixture
def registry(bus: EventBus) -> PluginRegistry:
    return PluginRegistry(bus, timeout_ms=0)


@pytest.fixture(autouse=True)
def _no_module_stays() -> Iterator[None]:
    before = {name for name in sys.modules if name.startswith("sage_plugin_")}
    yield
    for name in [name for name in sys.modules if name.startswith("sage_plugin_") and name not in before]:
        del sys.modules[name]


def _loaded(bus: EventBus, content: str = "") -> str | None:
    event = LoadEvent(EventType.POST_LOAD, layer="core", content=content)
    bus.publish_sync(event)
    return event.modified_content


class _Object(LoaderPlugin):
    def __init__(self, name: str = "object", priority: int = 100) -> None:
        self.calls: list[str] = []
        self._metadata = PluginMetadata(name, "1.0", hooks=["post_load"], priority=priority)

    @property
    def metadata(self) -> PluginMetadata:
        return self._metadata

    def on_load(self, context: Any) -> None:
        self.calls.append("on_load")
        self.context = context
        context["bus"].subscribe("note.*", lambda event: self.calls.append(event.type), timeout_ms=0)

    def on_unload(self) -> None:
        self.calls.append("on_unload")

    def post_load(self, layer: str, content: str) -> str:
        return f"{content}<{self.metadata.name}>"


def test_a_registered_plugin_works_until_it_is_unloaded(bus: EventBus, registry: PluginRegistry) -> None:
    said: list[tuple[str, dict[str, Any]]] = []
    bus.subscribe("plugin.*", lambda event: said.append((event.type, event.metadata)), timeout_ms=0)
    plugin = _Object()
    assert registry.register(plugin).name == "object"
    assert _loaded(bus) == "<object>"
    bus.publish_sync(Event("note.one"))
    assert registry.subscribed("object") == ["note.*"]
    assert plugin.context["registry"] is registry
    registry.unload("object")
    bus.publish_sync(Event("note.two"))
    assert _loaded(bus) is None
    assert plugin.calls == ["on_load", "note.one", "on_unload"]
    facts = {"name": "object", "version": "1.0", "origin": ""}
    assert said == [(EventType.PLUGIN_LOADED, facts), (EventType.PLUGIN_UNLOADED, facts)]
    assert registry.plugins() == []
    with pytest.raises(PluginError, match="unloaded and cannot listen"):
        plugin.context["bus"].subscribe("note.*", print)
    assert not bus.has_listeners("note.two")


def test_a_plugin_ends_its_own_subscriptions_only(bus: EventBus, registry: PluginRegistry) -> None:
    plugin = _Object()
    registry.register(plugin)
    foreign = bus.subscribe("note.*", lambda event: None)
    view = plugin.context["bus"]
    assert not view.unsubscribe(foreign)
    own = view.subscribe("other", lambda event: None)
    assert view.has_listeners("other")
    assert view.unsubscribe(own)
    assert not view.has_listeners("other")
    assert view.publish_sync(Event("note.x")).type == "note.x"


def test_plugins_run_in_the_order_of_their_priorities(bus: EventBus, registry: PluginRegistry) -> None:
    for name, priority in (("late", 200), ("first", -5), ("same", 200)):
        registry.register(_Object(name, priority))
    assert [one.name for one in registry.plugins()] == ["first", "late", "same"]
    assert [plugin.metadata.name for plugin in registry.get_hooks("post_load")] == ["first", "late", "same"]
    assert registry.get_hooks("pre_search") == []
    assert _loaded(bus) == "<first><late><same>"


def test_neither_an_object_nor_a_name_is_registered_twice(registry: PluginRegistry, tmp_path: Path) -> None:
    plugin = _Object()
    registry.register(plugin)
    with pytest.raises(PluginError, match="plugin object is loaded already"):
        registry.register(plugin)
    (tmp_path / "other").mkdir()
    first, second = _write(tmp_path, "same"), _write(tmp_path / "other", "same")
    registry.load(str(first))
    with pytest.raises(PluginError) as refused:
        registry.load(str(second))
    assert str(first) in refused.value.message
    assert str(second) in refused.value.message
    assert [one.name for one in registry.plugins()] == ["object", "same"]


def test_a_folder_is_loaded_with_what_works_in_it(bus: EventBus, tmp_path: Path) -> None:
    said: list[str] = []
    registry = PluginRegistry(bus, said.append, timeout_ms=0)
    _write(tmp_path, "good")
    _write(tmp_path, "_hidden")
    _write(tmp_path, "zebra", priority=1)
    (tmp_path / "broken.py").write_text("def (:\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "notes.txt").write_text("no plugin\n")
    (tmp_path / "folder.py").mkdir()
    assert registry.load_from_directory(tmp_path) == 2
    assert [one.name for one in registry.plugins()] == ["zebra", "good"]
    assert said == list(registry.problems)
    assert [line.removeprefix(f"{tmp_path}/") for line in said] == [
        "broken.py:1: SyntaxError: invalid syntax",
        "exits.py:2: SystemExit: 3",
        "folder.py: not a regular file",
    ]
    assert registry.load_from_directory(tmp_path / "nowhere") == 0
    assert said[-1].endswith("nowhere: No such file or directory")


def test_a_new_version_replaces_the_old_one_wholly(bus: EventBus, registry: PluginRegistry, tmp_path: Path) -> None:
    then = """
    def on_load(self, context):
        context["bus"].subscribe("note", lambda event: "old", timeout_ms=0)
"""
    path = _write(tmp_path, "one", adds="old", then=then)
    assert registry.load(str(path)) == ["one"]
    old = weakref.ref(type(registry.get_hooks("post_load")[0]))
    old_modules = {name for name in sys.modules if name.startswith("sage_plugin_")}
    assert registry.reload_changed() == []
    _write(tmp_path, "one", adds="newer", then=then.replace('"old"', '"newer"'))
    assert registry.reload_changed() == ["one"]
    assert _loaded(bus) == "newer"
    assert bus.publish_sync(Event("note")).results == ["newer"]
    gc.collect()
    assert old() is None
    assert not old_modules & set(sys.modules)
    registry.unload("one")
    assert not [name for name in sys.modules if name.startswith("sage_plugin_")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def (:\n", ":1: SyntaxError: invalid syntax"),
        ("import nothing_of_this_name\n", ":1: ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("\nraise BaseException('no')\n", ":2: BaseException: no"),
        ("x = 1\n", ": there is no plugin in it"),
        (_PLUGIN.format(name="one", adds="", priority="'high'"), ": its priority is of type str"),
        (
            _PLUGIN.format(name="one", adds="new", priority=1) + "\n    def on_load(self, context):\n        1 / 0\n",
            ":11: ZeroDivisionError: division by zero (in on_load)",
        ),
    ],
)
def test_a_broken_new_version_leaves_the_old_one_in_use(bus: EventBus, tmp_path: Path, text: str, reason: str) -> None:
    said: list[str] = []
    registry = PluginRegistry(bus, said.append, timeout_ms=0)
    path = _write(tmp_path, "one", adds="old")
    registry.load(str(path))
    modules = {name for name in sys.modules if name.startswith("sage_plugin_")}
    path.write_text(text)
    with pytest.raises(PluginError) as refused:
        registry.reload("one")
    assert refused.value.message == f"{path}{reason}; the old code stays in use"
    assert _loaded(bus) == "old"
    assert registry.reload_changed() == []  # tried, and not changed since
    assert {name for name in sys.modules if name.startswith("sage_plugin_")} == modules
    path.unlink()
    assert registry.reload_changed() == []
    assert said == [f"{path}: No such file or directory; the old code stays in use"]
    _write(tmp_path, "one", adds="right again")
    assert registry.reload_changed() == ["one"]
    assert _loaded(bus) == "right again"


def test_a_file_has_as_many_plugins_as_it_defines(bus: EventBus, registry: PluginRegistry, tmp_path: Path) -> None:
    one, two = (_PLUGIN.format(name=name, adds=name, priority=1) for name in ("one", "two"))
    path = tmp_path / "several.py"
    path.write_text(f"{one}{two}class _Base(LoaderPlugin): pass\nclass Unfinished(LoaderPlugin): pass\n")
    assert registry.load(str(path)) == ["one", "two"]
    three = _PLUGIN.format(name="three", adds="three", priority=1)
    path.write_text(two + three)
    assert registry.reload("two") == ["two", "three"]
    assert _loaded(bus) == "twothree"
    path.write_text(two + two.replace("class two", "class Again"))
    with pytest.raises(PluginError, match="two plugins in it are named two"):
        registry.reload("three")
    registry.unload("three")
    assert _loaded(bus) == "two"


def test_an_instance_in_the_file_is_taken_before_its_classes(registry: PluginRegistry, tmp_path: Path) -> None:
    path = _write(tmp_path, "one", then="\n\nclass two(one): pass\nplugin = two()\n")
    assert registry.load(str(path)) == ["one"]
    assert type(registry.get_hooks("post_load")[0]).__name__ == "two"


def test_inheritance_is_not_needed(bus: EventBus, registry: PluginRegistry, tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Facts:\n    name: str = 'plain'\n    version: str = '0.1.dev2'\n    hooks: tuple = ('post_load',)\n"
        "class Plain:\n    metadata = Facts()\n    def post_load(self, layer, content): return 'plain'\n"
    )
    assert registry.load(str(path)) == ["plain"]
    assert _loaded(bus) == "plain"
    assert registry.plugins() == [PluginMetadata("plain", "0.1.dev2", hooks=["post_load"])]


def test_what_is_no_file_of_a_plugin_is_refused(registry: PluginRegistry, tmp_path: Path) -> None:
    large = tmp_path / "large.py"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(PluginError, match=r"large\.py: larger than"):
        registry.load(str(large))
    nulls = tmp_path / "nulls.py"
    nulls.write_bytes(b"x = 1\0")
    with pytest.raises(PluginError, match=r"nulls\.py: (Value|Syntax)Error: source code string cannot contain null"):
        registry.load(str(nulls))
    for source in ("", "a", "a:", ":a", "a b:c", "a:b c"):
        with pytest.raises(PluginError, match="is no plugin"):
            registry.load(source)
    assert not list(tmp_path.glob("__pycache__"))


def test_a_half_loaded_file_leaves_nothing_behind(bus: EventBus, registry: PluginRegistry, tmp_path: Path) -> None:
    on_load = "\n    def on_load(self, context):\n        context['bus'].subscribe('note', print)\n"
    one = _PLUGIN.format(name="one", adds="one", priority=1) + on_load
    two = _PLUGIN.format(name="two", adds="two", priority=1) + on_load + "        raise SystemExit(2)\n"
    path = tmp_path / "half.py"
    path.write_text(one + two)
    with pytest.raises(PluginError, match=r"half\.py:23: SystemExit: 2 \(in on_load\)"):
        registry.load(str(path))
    assert not bus.has_listeners("note")
    assert not bus.has_listeners(EventType.POST_LOAD)
    assert registry.plugins() == []
    assert not [name for name in sys.modules if name.startswith("sage_plugin_")]


def test_a_plugin_that_fails_while_it_is_unloaded_is_gone(bus: EventBus, tmp_path: Path) -> None:
    registry = PluginRegistry(bus, timeout_ms=0)
    path = _write(tmp_path, "one", then="\n    def on_unload(self):\n        raise SystemExit\n")
    registry.load(str(path))
    registry.unload("one")
    assert list(registry.problems) == [f"{path}:11: SystemExit (in on_unload)"]
    assert _loaded(bus) is None
    with pytest.raises(PluginError, match="there is no plugin 'one'"):
        registry.unload("one")


def test_an_object_of_the_program_cannot_be_reloaded(registry: PluginRegistry) -> None:
    registry.register(_Object())
    with pytest.raises(PluginError, match="plugin object has no file"):
        registry.reload("object")


def test_a_plugin_may_have_a_folder_for_its_files(bus: EventBus, tmp_path: Path) -> None:
    plugin = _Object()
    PluginRegistry(bus, folder=str(tmp_path)).register(plugin)
    assert plugin.context["folder"] == str(tmp_path / "object")


_MODULE = """
from acme_rules.words import WORD
from sage_code.events.plugins import LoaderPlugin, PluginMetadata

class Rules(LoaderPlugin):
    def __init__(self, word=WORD):
        self.word = word

    metadata = PluginMetadata("rules", "1.0", hooks=["post_load"])

    def post_load(self, layer, content):
        return self.word

def made():
    return Rules("made")

class Names:
    instance = Rules("instance")

number = 7
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An installed package with a plugin in it."""
    folder = tmp_path / "acme_rules"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "words.py").write_text("WORD = 'class'\n")
    (folder / "plugin.py").write_text(_MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield folder
    for name in [name for name in sys.modules if name.startswith("acme_rules")]:
        del sys.modules[name]


def test_an_attribute_of_a_package_is_a_class_an_instance_or_a_function(bus: EventBus, package: Path) -> None:
    for attribute, word in (("Rules", "class"), ("Names.instance", "instance"), ("made", "made")):
        registry = PluginRegistry(bus, timeout_ms=0)
        assert registry.load(f"acme_rules.plugin:{attribute}") == ["rules"]
        assert _loaded(bus) == word
        registry.unload("rules")


def test_a_package_is_reloaded_with_its_modules(bus: EventBus, package: Path) -> None:
    registry = PluginRegistry(bus, timeout_ms=0)
    registry.load("acme_rules.plugin:Rules")
    (package / "words.py").write_text("WORD = 'another'\n")
    assert registry.reload("rules") == ["rules"]
    assert _loaded(bus) == "another"
    in_use = sys.modules["acme_rules.words"]
    (package / "words.py").write_text("WORD = 1 / 0\n")
    with pytest.raises(PluginError, match=r"ZeroDivisionError: division by zero; the old code stays in use"):
        registry.reload("rules")
    assert _loaded(bus) == "another"
    assert sys.modules["acme_rules.words"] is in_use
    registry.unload("rules")
    assert not [name for name in sys.modules if name.startswith("acme_rules")]


def test_what_a_package_does_not_have_is_named(registry: PluginRegistry, package: Path) -> None:
    for source, said in (
        ("acme_rules.nothing:Rules", "acme_rules.nothing:Rules: ModuleNotFoundError: No module named 'acme_rules"),
        ("acme_rules.plugin:Nothing", "plugin.py: AttributeError: module 'acme_rules.plugin' has no attribute"),
        ("acme_rules.plugin:number", "plugin.py: TypeError: 'int' object is not callable"),
    ):
        with pytest.raises(PluginError) as refused:
            registry.load(source)
        assert said in refused.value.message
    assert not [name for name in sys.modules if name.startswith("acme_rules")]


def test_sage_s_own_modules_stay_in_use() -> None:
    assert load_source("sage_code.events.plugins:PluginBase").modules == ()
