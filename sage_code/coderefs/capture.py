"""From the files and lines of a session to references: what was looked at, as definitions of the code."""

from __future__ import annotations

from sage_code.coderefs.ref import CodeRef
from sage_code.transcripts.context import SessionCodeContext


def capture(project_root: str, context: SessionCodeContext) -> tuple[CodeRef, ...]:
    """The definitions that a session read or changed, what was changed and what came last first."""
    raise NotImplementedError
