"""Which scope a user needs for each address of the page. An address that is not listed is refused to everybody.

Addresses that belong to no project (agents' memory, conversations, the health of all projects, the live stream) show
what the account of the server keeps: they are for admins.
"""

from __future__ import annotations

import re

from sage_code.serving.requester import ADMIN, INDEX, MEMORY_READ, MEMORY_WRITE, SEARCH

_READS = ("GET", "HEAD")
_PROJECT = r"/p/[^/]+"
_RULES = tuple(
    (methods, re.compile(pattern), scope)
    for methods, pattern, scope in (
        (_READS, r"/|/search/(fresh|(preview|why)/.+)", SEARCH),
        (_READS, _PROJECT + r"/(code|uses|fresh|most-used|map|impact|changes|graph|graph/(names|central))", SEARCH),
        (_READS, _PROJECT + r"/(code|tree|lines|outline)/.*", SEARCH),
        (_READS, r"/search/memory|/search/home/[^/]+", MEMORY_READ),
        (_READS, _PROJECT + r"/(stale|memory|memory/[^/]+/[^/]+(/state)?|margin/.*)", MEMORY_READ),
        (_READS, _PROJECT + r"/memory/(knowledge/new|[^/]+/[^/]+/edit)", MEMORY_WRITE),
        (_READS, r"/agents(/.*)?|/health(/.*)?|/live|" + _PROJECT + r"/health(/.*)?", ADMIN),
        (("POST",), r"/search/refresh|" + _PROJECT + r"/index(/stop)?", INDEX),
        (("POST",), _PROJECT + r"/memory/.+", MEMORY_WRITE),
        (("POST",), r"/agents/.+", ADMIN),
    )
)


def scope_of(method: str, path: str) -> str:
    """The scope that a request needs; empty if it is refused to everybody (`/search/edit` opens an editor here)."""
    for methods, pattern, scope in _RULES:
        if method in methods and pattern.fullmatch(path):
            return scope
    return ""
