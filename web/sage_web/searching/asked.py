"""What the address of the search page asks for: everything that is chosen lives there, so that Back and links work."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from sage_code.views.found.facets import Chosen, Tests
from sage_web.templating import address

if TYPE_CHECKING:
    from starlette.requests import Request

Mode = Literal["", "symbol", "exact", "regex"]
_FIRST, _MOST = 12, 60
_MAX_TEXT_CHARS = 10_000
_MAX_VALUES = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """An address of the search page."""

    text: str = ""
    slug: str = ""  # of the one project that is searched; empty: all
    mode: Mode = ""  # empty: by words and meaning
    chosen: Chosen = field(default_factory=Chosen)
    memory_only: bool = False
    limit: int = _FIRST

    def address(self, path: str = "/") -> str:
        """The address that asks this."""
        one = self.chosen
        return address(
            path, q=self.text, mode=self.mode, tests=one.tests, language=one.languages, kind=one.kinds,
            folder=one.folders, only="memory" if self.memory_only else "", n=self.limit if self.limit > _FIRST else "",
            **{"in": self.slug},
        )  # fmt: skip

    def but(self, **changes: Any) -> Asked:
        """The same with other values; the list begins anew."""
        return replace(self, **{"limit": _FIRST, **changes})

    def choosing(self, **changes: Any) -> Asked:
        """The same with something else chosen."""
        return self.but(chosen=replace(self.chosen, **changes))

    def toggled(self, group: str, value: str) -> Asked:
        """The same with one more value of a group, or without it."""
        values: tuple[str, ...] = getattr(self.chosen, group)
        rest = tuple(one for one in values if one != value)
        return self.choosing(**{group: rest if len(rest) < len(values) else (*values, value)})

    def longer(self) -> Asked:
        """The same with more results."""
        return replace(self, limit=min(self.limit + 2 * _FIRST, _MOST))

    @property
    def is_longest(self) -> bool:
        """Whether no more results are shown."""
        return self.limit >= _MOST


def asked_of(request: Request) -> Asked:
    """What a request asks; values that make no sense count as not given."""
    given = request.query_params

    def several(name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for value in given.getlist(name)[:_MAX_VALUES] if value))

    mode, tests, number = given.get("mode", ""), given.get("tests", ""), given.get("n", "")
    return Asked(
        text=given.get("q", "")[:_MAX_TEXT_CHARS],
        slug=given.get("in", ""),
        mode=cast(Mode, mode) if mode in get_args(Mode) else "",
        chosen=Chosen(
            several("language"),
            several("kind"),
            tuple(folder.strip("/") for folder in several("folder") if folder.strip("/")),
            cast(Tests, tests) if tests in get_args(Tests) else "",
        ),
        memory_only=given.get("only") == "memory",
        limit=min(max(int(number), _FIRST), _MOST) if number.isdecimal() and len(number) < 5 else _FIRST,
    )
