"""Who a request comes from, for every layer below: a server for many users sets it, the library and the faces ask it.

A server for one user (`sage mcp serve`, `sage web`) sets none, and then everything is allowed as before.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SEARCH, MEMORY_READ, MEMORY_WRITE, INDEX, ADMIN = "search", "memory:read", "memory:write", "index", "admin"
SCOPES = {
    SEARCH: "search code and read it",
    MEMORY_READ: "read checkpoints, knowledge and core files",
    MEMORY_WRITE: "change them",
    INDEX: "bring indexes up to date",
    ADMIN: "everything, also what belongs to no project: agents' memory, conversations, metrics",
}


@dataclass(frozen=True, slots=True)
class Requester:
    """An authenticated user with the rights of this request."""

    name: str
    scopes: frozenset[str]
    roots: tuple[str, ...]  # the folders of the projects that may be read, the usual one first
    repositories: tuple[str, ...] | None = ()  # of the fleet; None: all of them

    def may(self, scope: str) -> bool:
        """Whether the user has a scope; `admin` has all."""
        return scope in self.scopes or ADMIN in self.scopes

    def may_read(self, root: str) -> bool:
        """Whether the user may read the project in a folder."""
        return root in self.roots


_current: ContextVar[Requester | None] = ContextVar("requester", default=None)


def current() -> Requester | None:
    """The user of this request; None in a server for one user, and outside of requests."""
    return _current.get()


def may_read(root: str) -> bool:
    """Whether this request may read the project in a folder."""
    asking = _current.get()
    return asking is None or asking.may_read(root)


def readable_repositories() -> tuple[str, ...] | None:
    """The repositories of the fleet that this request may read; None if there is no limit."""
    asking = _current.get()
    return None if asking is None else asking.repositories


def may_read_repository(name: str) -> bool:
    """Whether this request may read a repository of the fleet."""
    allowed = readable_repositories()
    return allowed is None or name in allowed


def may(scope: str) -> bool:
    """Whether this request has a scope."""
    asking = _current.get()
    return asking is None or asking.may(scope)


@contextmanager
def acting_as(requester: Requester) -> Iterator[None]:
    """Answer a request of this user; threads and tasks that are started inside inherit it."""
    token = _current.set(requester)
    try:
        yield
    finally:
        _current.reset(token)
