"""Sage: a local code-intelligence engine with a memory attached.

``from sage_code import Project`` is the public Python API, with the classes of agents' memory; everything else is
private. The names are resolved lazily because the light paths (``sage grep``, hooks) must not pay for what the heavy
ones need.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.context.builder import ContextBuilder
    from sage_code.memory.context.components import Component, Priority
    from sage_code.memory.context.summary import StructuredSummary, Summariser
    from sage_code.memory.tiers.entry_store import MemoryEntry, MemoryPriority, MemoryStore, MemoryType
    from sage_code.memory.tiers.handoff import HandoffPackage, SessionState
    from sage_code.memory.tiers.manager import AsyncMemoryManager, MemoryManager
    from sage_code.memory.tiers.session_continuity import SessionContinuity
    from sage_code.memory.tiers.token_budget import TokenBudget, TokenBudgetConfig, TokenWarningLevel
    from sage_code.project import Project

__version__ = "0.1.0"
__all__ = [
    "AsyncMemoryManager",
    "ChannelMemory",
    "Component",
    "ContextBuilder",
    "HandoffPackage",
    "MemoryEntry",
    "MemoryManager",
    "MemoryPriority",
    "MemoryStore",
    "MemoryType",
    "Priority",
    "Project",
    "SessionContinuity",
    "SessionState",
    "StructuredSummary",
    "Summariser",
    "TokenBudget",
    "TokenBudgetConfig",
    "TokenWarningLevel",
    "__version__",
]
# The modules that the names are in.
_MODULES = {
    "Project": "sage_code.project",
    "ChannelMemory": "sage_code.memory.channels.channel_memory",
    "ContextBuilder": "sage_code.memory.context.builder",
    "Component": "sage_code.memory.context.components",
    "Priority": "sage_code.memory.context.components",
    "Summariser": "sage_code.memory.context.summary",
    "StructuredSummary": "sage_code.memory.context.summary",
    "MemoryManager": "sage_code.memory.tiers.manager",
    "AsyncMemoryManager": "sage_code.memory.tiers.manager",
    "MemoryStore": "sage_code.memory.tiers.entry_store",
    "MemoryEntry": "sage_code.memory.tiers.entry_store",
    "MemoryType": "sage_code.memory.tiers.entry_store",
    "MemoryPriority": "sage_code.memory.tiers.entry_store",
    "TokenBudget": "sage_code.memory.tiers.token_budget",
    "TokenBudgetConfig": "sage_code.memory.tiers.token_budget",
    "TokenWarningLevel": "sage_code.memory.tiers.token_budget",
    "SessionContinuity": "sage_code.memory.tiers.session_continuity",
    "SessionState": "sage_code.memory.tiers.handoff",
    "HandoffPackage": "sage_code.memory.tiers.handoff",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # lazy: see the module docstring

    return getattr(import_module(_MODULES[name]), name)
