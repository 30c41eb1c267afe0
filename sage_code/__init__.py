"""Sage: a local code-intelligence engine with a memory attached.

``from sage_code import Project`` is the public Python API; everything else is private. The name is resolved
lazily because the light paths (``sage grep``, hooks) must not pay for what the heavy ones need.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.project import Project

__version__ = "0.1.0"
__all__ = ["Project", "__version__"]


def __getattr__(name: str) -> object:
    if name == "Project":
        from sage_code.project import Project  # lazy: see the module docstring

        return Project
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
