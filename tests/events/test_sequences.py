"""Long sequences of subscribe, publish, cancel, unsubscribe and reload do what a simple model says.

The model is a list. It has no cache, no thread and no lock, and its patterns are a table that was written by hand.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from sage_code.errors import PluginError
from sage_code.events.bus import STRIKES, EventBus
from sage_code.events.events import Event, LoadEvent
from sage_code.events.registry import PluginRegistry

SEQUENCES = 10_000
_HEARD = {
    "*": {"loader.post_load", "search.pre_search", "a.b", "a.b.c", "source.own", "plugin.loaded", "plugin.unloaded"},
    "a.*": {"a.b", "a.b.c"},
    "a.b.*": {"a.b.c"},
    "a.b": {"a.b"},
    "source.*": {"loader.post_load", "source.own"},
    "analyze.*": {"search.pre_search"},
    "evolve.*": {"plugin.loaded", "plugin.unloaded"},
    "loader.*": {"loader.post_load"},
    "loader.post_load": {"loader.post_load"},
    "search.pre_search": {"search.pre_search"},
}
_TYPES = sorted(_HEARD["*"])
_PATTERNS = sorted(_HEARD)
_PRIORITIES = (-1, 50, 100)
_KINDS = ("returns", "none", "raises", "exits", "cancels", "ends itself", "ends another", "adds another")
_PLUGIN = """
class Plugin:
    class metadata:
        name, version, hooks, priority = "one", "{version}", ["post_load"], 50
    def on_load(self, context):
        context["bus"].subscribe("a.*", lambda event: "heard {version}", 50, timeout_ms=0)
        {broken}
    def post_load(self, layer, content):
        return content + "{version},"
"""
# Subscribing, publishing and ending make most of a sequence; a reload reads a file, and comes seldom.
_STEPS = ("subscribe",) * 20 + ("publish",) * 20 + ("unsubscribe",) * 8 + ("reload",)


@dataclass(frozen=True)
class _Step:
    """One step; what it does not need it ignores."""

    what: str
    name: str  # the pattern; a publish takes a type by its number
    number: int  # of another subscription
    kind: str
    priority: int
    is_async: bool
    is_guarded: bool
    is_once: bool
    is_filtered: bool


@dataclass
class _Listener:
    """A subscription as the model has it."""

    order: int
    pattern: str
    priority: int
    kind: str
    id: str = ""
    is_once: bool = False
    is_filtered: bool = False  # such a filter wants events whose source is "even"
    is_active: bool = True
    ends: int = 0  # the listener that one of the kind "ends another" ends
    strikes: int = 0


class _Bus(EventBus):
    """The real bus, which also notes what the registry does with it."""

    def __init__(self, model: _Model) -> None:
        super().__init__(timeout_ms=60_000, on_problem=lambda text: None)
        self._model = model

    def subscribe(self, event_type: str, *given: Any, name: str = "", **named: Any) -> str:
        id_ = super().subscribe(event_type, *given, name=name, **named)
        if name.startswith("plugin "):
            listeners = self._model.listeners
            listeners.append(_Listener(len(listeners), str(event_type), 50, "plugin"))
        return id_

    def publish_sync(self, event: Event, timeout_ms: int | None = None) -> Event:
        if event.source == "registry":
            self._model.registered.append((event.type, len(self._model.listeners)))
        return super().publish_sync(event, timeout_ms)


class _Model:
    """The real bus and the list that it is compared with."""

    def __init__(self, folder: Path, loop: asyncio.AbstractEventLoop) -> None:
        self.folder, self.loop = folder, loop
        self.bus = _Bus(self)
        self.registry = PluginRegistry(self.bus, timeout_ms=0)
        self.listeners: list[_Listener] = []
        self.calls: list[int] = []  # what the real handlers did
        self.registered: list[tuple[str, int]] = []  # what the registry has published, and to how many listeners
        self.version = 0  # of the plugin; 0: it is not loaded
        self.published = 0

    def take(self, step: _Step) -> None:
        """Do a step with both, and compare."""
        if step.what == "subscribe":
            self._subscribe(step.name, step.kind, step)
        elif step.what == "publish":
            self._publish(_TYPES[_PATTERNS.index(step.name) % len(_TYPES)], step)
        elif step.what == "unsubscribe":
            self._unsubscribe(step)
        else:
            self._reload(is_broken=step.is_once)

    def _subscribe(self, pattern: str, kind: str, step: _Step) -> None:
        one = _Listener(len(self.listeners), pattern, step.priority, kind)
        one.is_once, one.is_filtered = step.is_once, step.is_filtered
        one.ends = step.number % len(self.listeners) if self.listeners else 0

        def handle(event: Event) -> Any:
            self.calls.append(one.order)
            if kind in ("raises", "exits") and step.is_guarded and not step.is_async:
                event.metadata.clear()  # of a copy, which is thrown away with it
                event.cancel()
            return self._do(kind, one, event, step)

        async def handle_async(event: Event) -> Any:
            if step.priority == 50:
                await asyncio.sleep(0)
            return handle(event)

        one.id = self.bus.subscribe(
            pattern,
            handle_async if step.is_async else handle,
            step.priority,
            (lambda event: event.source == "even") if step.is_filtered else None,
            step.is_once,
            timeout_ms=None if step.is_guarded else 0,
        )
        self.listeners.append(one)

    def _do(self, kind: str, one: _Listener, event: Event, step: _Step) -> Any:
        """What a real handler of a kind does."""
        if kind == "raises":
            raise ValueError
        if kind == "exits":
            raise SystemExit
        if kind == "cancels":
            event.cancel()
        elif kind == "ends itself":
            self.bus.unsubscribe(one.id)
        elif kind == "ends another":
            self.bus.unsubscribe(self.listeners[one.ends].id)
        elif kind == "adds another":
            self._subscribe(one.pattern, "returns", step)
        event.metadata.setdefault("seen", []).append(one.order)
        return one.order if kind == "returns" else None

    def _unsubscribe(self, step: _Step) -> None:
        if not self.listeners:
            assert not self.bus.unsubscribe("sub_0")
            return
        one = self.listeners[-1 - step.number % len(self.listeners)]
        if one.kind != "plugin":  # that is ended by its registry
            assert self.bus.unsubscribe(one.id) is one.is_active
            one.is_active = False

    def _reload(self, *, is_broken: bool) -> None:
        path = self.folder / "one.py"
        is_broken = is_broken and self.version > 0
        path.write_text(_PLUGIN.format(version=self.version + 1, broken="1 / 0" if is_broken else ""))
        old, known = [one for one in self.listeners if one.kind == "plugin"], len(self.listeners)
        self.calls.clear()
        self.registered.clear()
        if is_broken:
            with pytest.raises(PluginError, match="the old code stays in use"):
                self.registry.reload("one")
            old = self.listeners[known:]  # what the new code had until it failed
        elif self.version:
            assert self.registry.reload("one") == ["one"]
        else:
            assert self.registry.load(str(path)) == ["one"]
        self.version += not is_broken
        for one in old:
            one.is_active = False
        told = [self._expected(name, "registry", self.listeners[:number]) for name, number in self.registered]
        assert self.calls == [order for expected in told for order, _ in expected.calls]

    def _publish(self, name: str, step: _Step) -> None:
        self.published += 1
        source = "even" if self.published % 2 == 0 else "odd"
        before = list(self.listeners)
        event = LoadEvent(name, source=source, content="", metadata={"seen": []})
        self.calls.clear()
        if step.is_async:
            assert self.loop.run_until_complete(self.bus.publish(event)) is event
        else:
            assert self.bus.publish_sync(event) is event
        expected = self._expected(name, source, before)
        seen = [order for order, kind in expected.calls if kind not in ("raises", "exits")]
        assert self.calls == [order for order, _ in expected.calls]
        assert event.metadata == {"seen": seen}
        assert event.results == expected.results
        assert event.is_cancelled is expected.is_cancelled
        assert event.modified_content == expected.content
        for one in _TYPES:
            assert self.bus.has_listeners(one) is any(
                other.is_active and one in _HEARD[other.pattern] for other in self.listeners
            )

    def _expected(self, name: str, source: str, before: list[_Listener]) -> _Expected:
        """What the model says about a publish."""
        expected = _Expected()
        for one in sorted(before, key=lambda one: (one.priority, one.order)):
            if expected.is_cancelled:
                break
            if not one.is_active or name not in _HEARD[one.pattern] or (one.is_filtered and source != "even"):
                continue
            if one.kind == "plugin":
                if one.pattern == "a.*":
                    expected.results.append(f"heard {self.version}")
                else:
                    expected.content = f"{expected.content or ''}{self.version},"
                continue
            expected.calls.append((one.order, one.kind))
            one.is_active = one.is_active and not one.is_once and one.kind != "ends itself"
            self._model_kind(one, expected)
        return expected

    def _model_kind(self, one: _Listener, expected: _Expected) -> None:
        if one.kind in ("raises", "exits"):
            one.strikes += 1
            one.is_active = one.is_active and one.strikes < STRIKES
        elif one.kind == "cancels":
            expected.is_cancelled = True
        elif one.kind == "ends another":
            ended = self.listeners[one.ends]
            ended.is_active = ended.is_active and ended.kind == "plugin"  # which is ended by its registry
        elif one.kind == "returns":
            expected.results.append(one.order)


@dataclass
class _Expected:
    calls: list[tuple[int, str]] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    is_cancelled: bool = False
    content: str | None = None


def _drawn(draw: Random) -> _Step:
    return _Step(
        what=draw.choice(_STEPS),
        name=draw.choice(_PATTERNS),
        number=draw.randrange(8),
        kind=draw.choice(_KINDS),
        priority=draw.choice(_PRIORITIES),
        is_async=draw.randrange(4) == 0,
        is_guarded=draw.randrange(8) == 0,
        is_once=draw.randrange(4) == 0,
        is_filtered=draw.randrange(4) == 0,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def _play(steps: list[_Step], folder: Path, loop: asyncio.AbstractEventLoop) -> _Model:
    model = _Model(folder, loop)
    for step in steps:
        model.take(step)
    if model.version:
        model.registry.unload("one")
    return model


def test_ten_thousand_sequences(folder: Path, loop: asyncio.AbstractEventLoop, seed: int) -> None:
    draw = Random(seed)
    published = reloaded = 0
    for number in range(SEQUENCES):
        steps = [_drawn(draw) for _ in range(draw.randint(4, 16))]
        try:
            model = _play(steps, folder, loop)
        except BaseException:
            print(f"sequence {number}:", *steps, sep="\n  ")
            raise
        published, reloaded = published + model.published, reloaded + model.version
    assert published > 2 * SEQUENCES
    assert reloaded > SEQUENCES // 10


_ANY_STEP = st.builds(
    _Step,
    what=st.sampled_from(sorted(set(_STEPS))),
    name=st.sampled_from(_PATTERNS),
    number=st.integers(0, 7),
    kind=st.sampled_from(_KINDS),
    priority=st.sampled_from(_PRIORITIES),
    is_async=st.booleans(),
    is_guarded=st.booleans(),
    is_once=st.booleans(),
    is_filtered=st.booleans(),
)


@hypothesis.given(st.lists(_ANY_STEP, max_size=20))
def test_any_sequence(folder: Path, loop: asyncio.AbstractEventLoop, steps: list[_Step]) -> None:
    """The same, drawn by Hypothesis, which finds the shortest sequence that fails."""
    _play(steps, folder, loop)
