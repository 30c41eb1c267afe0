"""Does the code of a reference still say what it said? Unchanged, moved, changed or gone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sage_code.coderefs.ref import CodeRef

State = Literal["unchanged", "moved", "changed", "gone"]


@dataclass(frozen=True, slots=True)
class RefState:
    """A reference and what has become of its code."""

    ref: CodeRef  # as it was written
    state: State
    now: CodeRef | None = None  # where its code is now: itself, the new place, the changed text; None: gone
    diff: str = ""  # of what has changed, shortened

    @property
    def is_stale(self) -> bool:
        """Whether what was concluded may not hold any more."""
        return self.state in ("changed", "gone")


def check(project_root: str, refs: Iterable[CodeRef]) -> tuple[RefState, ...]:
    """The state of each reference, in the same order."""
    raise NotImplementedError
