"""Whose turn it is: of the searches of one page only the newest matters, and those that wait for older ones give up."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

# Pages whose newest search is remembered.
_MOST_PAGES = 256


class Turns:
    """Lets one search run at a time; a search for which the same page has a newer one never runs."""

    def __init__(self) -> None:
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._changed = threading.Condition()
        self._is_taken = False

    @contextmanager
    def turn(self, page: str, number: int) -> Iterator[bool]:
        """Wait for the turn of a search; False if a newer one of the same page has come meanwhile.

        A request without the name of a page waits as long as it takes.
        """
        with self._changed:
            if page:
                newest = max(number, self._newest.pop(page, 0))
                self._newest[page] = newest
                while len(self._newest) > _MOST_PAGES:
                    self._newest.popitem(last=False)
                self._changed.notify_all()
            while self._is_taken and not self._is_late(page, number):
                self._changed.wait()
            is_ours = not self._is_late(page, number)
            self._is_taken = self._is_taken or is_ours
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._changed:
                    self._is_taken = False
                    self._changed.notify_all()

    def _is_late(self, page: str, number: int) -> bool:
        return bool(page) and number < self._newest.get(page, 0)
