"""What happens now, for every open page: the events of all of Sage's processes as one stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.routing import Route


class Live:
    """The events of this moment, for those who listen."""


def lifespan(live: Live) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    """What begins and ends with the server."""

    @asynccontextmanager
    async def running(_app: Starlette) -> AsyncIterator[None]:
        assert live is not None
        yield

    return running


ROUTES: tuple[Route, ...] = ()
