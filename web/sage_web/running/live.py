"""What happens now, for every open page: the events of all of Sage's processes as one stream (`GET /live`).

One thread reads, and only while a page listens. A page that reads too slowly loses the oldest messages and is told how
many; no page can make the server grow. Beside the events a stream has the times at which each project's index and
memories were last changed, so that a page knows that it is old whatever it has missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from sage_web.projects import Projects

Message = dict[str, Any]
# By slug: when its index and its memories were last changed. An empty slug has what belongs to no project.
_Times = dict[str, dict[str, float]]

# What a page may lag behind: as many messages as a person could never read.
_QUEUE = 400
# What a new page is shown of what has happened before.
_RECENT = 200
# A comment now and then keeps the connection, and finds out that it is gone.
_PING_S = 15.0
# How often the times of the projects are looked at; events that concern them are looked after at once.
_LOOK_S = 2.0
# A reader stays for a moment: somebody who follows a link leaves one page and opens another.
_LINGER_S = 10.0
_MAX_STREAMS = 100
# Nobody reads more; a run over a large project publishes thousands.
_FILES_A_SECOND = 20
_LONGEST = 1_000
# Events after which a look at the times of the projects is due.
_TELLING = ("index.finished", "memory.", "session.checkpoint", "watcher.checkpoint_file")


@dataclass(frozen=True, slots=True)
class ShownEvent:
    """An event as a page shows it."""

    at: float
    type: str
    about: str
    who: str
    project: str  # the slug; empty if it is about none, or about one that is not indexed
    missed: int = 0  # events before it that came too fast

    def message(self) -> Message:
        """As it is sent."""
        return {"kind": "event", **{name: getattr(self, name) for name in self.__slots__}}


class Listener:
    """One stream: what waits to be sent."""

    def __init__(self) -> None:
        self._waiting: deque[bytes] = deque(maxlen=_QUEUE)
        self._lost = 0
        self._filled = asyncio.Event()
        self.is_open = True

    def give(self, message: bytes) -> None:
        """Have a message sent. If too many wait, the oldest is left out: what is newest says how things are now."""
        self._lost += len(self._waiting) == _QUEUE
        self._waiting.append(message)
        self._filled.set()

    def close(self) -> None:
        """End the stream."""
        self.is_open = False
        self._filled.set()

    async def take(self, seconds: float) -> bytes:
        """What waits, as soon as something does; nothing after so many seconds."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._filled.wait(), seconds)
        self._filled.clear()
        taken = b"".join(self._waiting)
        if self._lost:
            taken = _encoded({"kind": "lost", "count": self._lost}) + taken
        self._waiting.clear()
        self._lost = 0
        return taken


class Live:
    """The events of this moment, for those who listen."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._listeners: set[Listener] = set()
        self._recent: deque[ShownEvent] = deque(maxlen=_RECENT)
        self._told: _Times = {}  # what the pages know
        self._agents_changed = 0.0  # when an agent's memory was, as far as was heard
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reader: _Reader | None = None
        self._watching: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self._on_event: list[Callable[[Message, str], None]] = []
        self._on_end: list[Callable[[], None]] = []
        self._greetings: list[Callable[[], Iterable[Message]]] = []
        self.started = time.time()

    # -- for the other parts of the page, from any thread -----------------------------------------------------------

    def send(self, message: Message) -> None:
        """Have a message sent to every page."""
        self._soon(self._give, [message])

    def recent(self) -> list[ShownEvent]:
        """The last events, the newest first."""
        return list(self._recent)[::-1]

    @property
    def streams(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def subscribe(self, on_event: Callable[[Message, str], None], greeting: Callable[[], Iterable[Message]]) -> None:
        """Call `on_event` with each event and the slug of its project, in the thread that reads, and `greeting` for
        what a new stream is told first."""
        self._on_event.append(on_event)
        self._greetings.append(greeting)

    def on_end(self, call: Callable[[], None]) -> None:
        """Call something when the server ends."""
        self._on_end.append(call)

    def end(self) -> None:
        """End all streams: a server that waits for them would never end. A handler of signals may call it."""
        self._soon(self.close)

    def _soon(self, call: Callable[..., None], *given: Any) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                self._loop.call_soon_threadsafe(call, *given)

    # -- the streams, on the loop of the server ---------------------------------------------------------------------

    def attach(self) -> None:
        """Belong to the running loop."""
        self._loop = asyncio.get_running_loop()

    async def stream(self) -> AsyncIterator[bytes]:
        """What one page is sent, until it leaves or the server ends."""
        listener = self._opened()
        try:
            yield b"retry: 1500\n\n"
            times = await asyncio.to_thread(self._times)
            yield _encoded({"kind": "state", "started": self.started, "projects": times})
            for greeting in self._greetings:
                yield b"".join(map(_encoded, greeting()))
            while listener.is_open:
                messages = await listener.take(_PING_S)
                if listener.is_open:
                    yield messages or b": ping\n\n"
        finally:
            self._leave(listener)

    def close(self) -> None:
        """End all streams, and what belongs to the server."""
        for listener in tuple(self._listeners):
            listener.close()
        self._listeners.clear()
        self._rest()
        while self._on_end:
            self._on_end.pop()()

    def _opened(self) -> Listener:
        listener = Listener()
        self._listeners.add(listener)
        if self._reader is None:
            self._reader = _Reader(self._read)
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        return listener

    def _leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        if not self._listeners and self._loop is not None and self._loop.is_running():
            self._loop.call_later(_LINGER_S, self._rest)

    def _rest(self) -> None:
        """Read no more while nobody listens."""
        if self._listeners:
            return
        if self._reader is not None:
            self._reader.stop()
            self._reader = None
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _give(self, messages: Iterable[Message]) -> None:
        for message in map(_encoded, messages):
            for listener in self._listeners:
                listener.give(message)

    def _deliver(self, shown: ShownEvent) -> None:
        self._recent.append(shown)
        self._give([shown.message()])
        if shown.type.startswith(_TELLING):
            self._due.set()

    async def _watch(self) -> None:
        """Tell the pages when a project has changed, as long as somebody listens."""
        while True:
            times = await asyncio.to_thread(self._times)
            changed = {slug: one for slug, one in times.items() if self._told.get(slug) != one}
            self._told = times
            if changed:
                self._give([{"kind": "state", "projects": changed}])
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._due.wait(), _LOOK_S)
            self._due.clear()

    # -- in other threads -------------------------------------------------------------------------------------------

    def _read(self, event: Message, missed: int) -> None:
        """An event has come, in the thread that reads."""
        slug = self._projects.slug_of(root_of(event))
        if event["type"] == "memory.saved" and _metadata(event).get("scope") == "agent":
            self._agents_changed = event["timestamp"]
        for handler in self._on_event:
            handler(event, slug)
        self._soon(self._deliver, _shown(event, slug, missed))

    def _times(self) -> _Times:
        """When each project was last changed, by slug."""
        from sage_code.views.state.last_changed import last_changed  # lazy: the first page does not wait for it

        found: _Times = {"": {"agents": self._agents_changed}}
        for one in self._projects.listed():
            with contextlib.suppress(OSError):  # a folder that goes away while it is looked at
                times = last_changed(one.root)
                found[one.slug] = {"index": times.index, "memory": times.memory}
        return found


class _Reader:
    """The thread that reads what all processes publish."""

    def __init__(self, give: Callable[[Message, int], None]) -> None:
        self._give = give
        # A tail ends when the reader of the pipe that it is given is gone.
        self._end, self._output = os.pipe()
        threading.Thread(target=self._run, name="live events", daemon=True).start()

    def stop(self) -> None:
        """End the thread, soon."""
        os.close(self._end)

    def _run(self) -> None:
        """Hand over what comes; of the files that a run indexes only so many a second, the others are counted."""
        from sage_code.errors import SageError  # lazy: the first page does not wait for it
        from sage_code.events.relay import tail

        missed, second, files = 0, 0, 0
        try:
            with tail(output=self._output) as events:
                for event in events:
                    dropped = event.get("dropped")
                    missed += dropped if type(dropped) is int else 0
                    if event["type"] == "index.file":
                        files = files + 1 if int(time.monotonic()) == second else 0
                        second = int(time.monotonic())
                        if files > _FILES_A_SECOND:
                            missed += 1
                            continue
                    self._give(event, missed)
                    missed = 0
        except BrokenPipeError:  # stopped
            pass
        except SageError:  # no named pipes on this system: what is looked at every few seconds still tells
            pass
        finally:
            os.close(self._output)


def _shown(event: Message, slug: str, missed: int) -> ShownEvent:
    """An event as a page shows it."""
    from sage_code.events.describing import described  # lazy: most pages see no event

    type_, about, who = (words[:_LONGEST] for words in described(event))
    return ShownEvent(event["timestamp"], type_, about, who, slug, missed)


def root_of(event: Message) -> str:
    """The project that an event is about; empty if it names none."""
    root = _metadata(event).get("root") or event.get("root")
    return root if isinstance(root, str) else ""


def _metadata(event: Message) -> Message:
    found = event.get("metadata")
    return found if isinstance(found, dict) else {}


def _encoded(message: Message) -> bytes:
    """A message as a server-sent event. JSON has no line end of its own."""
    return b"data: " + json.dumps(message).encode("ascii") + b"\n\n"


async def live(request: Request) -> Response:
    """The stream."""
    hub: Live = request.app.state.site.live
    if hub.streams >= _MAX_STREAMS:
        return PlainTextResponse("too many pages listen", 503)
    return StreamingResponse(hub.stream(), media_type="text/event-stream")


def lifespan(hub: Live) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """What begins and ends with the server."""

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        hub.attach()
        try:
            yield
        finally:
            hub.close()

    return running


ROUTES: tuple[Route, ...] = (Route("/live", live),)
