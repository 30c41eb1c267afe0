"""TokenBudget: how full an agent's context is with its entries, and what is done before it overflows.

Usage is a share of the tokens that entries may take: the window without what is reserved for the response.

| level    | share        | action                                         |
|----------|--------------|------------------------------------------------|
| NORMAL   | below 70 %   | no action needed                               |
| CAUTION  | 70 to 80 %   | suggest summarizing older context              |
| WARNING  | 80 to 90 %   | recommend summarization; consider task handoff |
| CRITICAL | 90 to 95 %   | auto-summarize; create checkpoint              |
| OVERFLOW | above 95 %   | force prune low-priority; emergency handoff    |

A share that is exactly a threshold belongs to the level above it, except for the last: 95 % is still CRITICAL.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

from sage_code.errors import ConfigError, Conflict
from sage_code.memory.tiers.entry_store import PRUNABLE, MemoryEntry, MemoryStore, MemoryType
from sage_code.paths import anybody_listens

if TYPE_CHECKING:
    from sage_code.memory.context.summary import Summariser

# Entries that are shorter than a sentence or two gain nothing from a summary.
_LEAST_TOKENS = 40


class TokenWarningLevel(StrEnum):
    """How full the context is."""

    NORMAL = "normal"  # below 70 %
    CAUTION = "caution"  # 70 to 80 %
    WARNING = "warning"  # 80 to 90 %
    CRITICAL = "critical"  # 90 to 95 %
    OVERFLOW = "overflow"  # above 95 %


ACTIONS: Mapping[TokenWarningLevel, tuple[str, ...]] = {
    TokenWarningLevel.NORMAL: ("No action needed",),
    TokenWarningLevel.CAUTION: ("Suggest summarizing older context",),
    TokenWarningLevel.WARNING: ("Recommend summarization", "Consider task handoff"),
    TokenWarningLevel.CRITICAL: ("Auto-summarize", "Create checkpoint"),
    TokenWarningLevel.OVERFLOW: ("Force prune low-priority", "Emergency handoff"),
}


@dataclass
class TokenBudgetConfig:
    """How many tokens there are, and at which shares of them something is done.

    CAUTION begins at the lower one of `warning_threshold` and `caution_threshold`, WARNING at the higher one, whichever
    of the two names it has: the defaults name them the other way round than the levels are named.
    """

    max_tokens: int = 128_000  # the context window of the model
    reserved_tokens: int = 4_000  # for the response; a window that is not larger than this reserves nothing
    warning_threshold: float = 0.70
    caution_threshold: float = 0.80
    critical_threshold: float = 0.90
    overflow_threshold: float = 0.95
    auto_summarize: bool = True
    auto_prune: bool = True

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.reserved_tokens < 0:
            raise ConfigError(
                f"a budget cannot have max_tokens {self.max_tokens} and reserved_tokens {self.reserved_tokens}",
                "the first is at least 1, the second at least 0",
            )
        lower, higher = sorted((self.warning_threshold, self.caution_threshold))
        if not 0 < lower <= higher <= self.critical_threshold <= self.overflow_threshold <= 1:
            raise ConfigError(
                f"thresholds of a budget cannot be {lower}, {higher}, {self.critical_threshold} and"
                f" {self.overflow_threshold}",
                "each is above 0, at most 1 and not below the one before",
            )

    @property
    def limit(self) -> int:
        """The tokens that entries may take."""
        reserved = self.reserved_tokens if self.reserved_tokens < self.max_tokens else 0
        return self.max_tokens - reserved

    def level(self, used: int) -> TokenWarningLevel:
        """The level at which so many tokens are."""
        lower, higher = sorted((self.warning_threshold, self.caution_threshold))
        share = used / self.limit
        if share > self.overflow_threshold:
            return TokenWarningLevel.OVERFLOW
        if share >= self.critical_threshold:
            return TokenWarningLevel.CRITICAL
        if share >= higher:
            return TokenWarningLevel.WARNING
        return TokenWarningLevel.CAUTION if share >= lower else TokenWarningLevel.NORMAL


@dataclass(frozen=True, slots=True)
class TokenWarning:
    """The context is fuller than it should be."""

    level: TokenWarningLevel
    usage: Mapping[str, Any]  # as `TokenBudget.get_usage` gives it
    message: str
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Enforcement:
    """What was done about the level of a budget."""

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    summarised: tuple[str, ...] = ()  # ids of entries that summaries now stand for
    pruned: tuple[str, ...] = ()  # ids of entries that were deleted
    checkpoint_id: str | None = None
    actions: tuple[str, ...] = ()  # the same in words


class TokenBudget:
    """Watches over the tokens of a store's entries.

    `summariser` writes the summaries; without one they are made of sentences of the entries.
    """

    def __init__(
        self, store: MemoryStore, config: TokenBudgetConfig | None = None, *, summariser: Summariser | None = None
    ) -> None:
        self.store = store
        self.config = TokenBudgetConfig() if config is None else config
        self.summariser = summariser
        self._listeners: list[Callable[[TokenWarning], object]] = []
        self._make_checkpoint: Callable[[str | None], str | None] | None = None
        self._told: dict[str | None, TokenWarningLevel] = {}
        self._kept: dict[str | None, TokenWarningLevel] = {}  # the levels at which there is a checkpoint

    def get_usage(self, session_id: str | None = None) -> dict[str, Any]:
        """How many tokens are used, by a session or by all entries: `used`, `available`, `max`, `reserved`, `limit`
        (tokens that entries may take), `ratio` and `percentage` (of the limit), `level`, `actions`."""
        used, limit = self.store.total_tokens(session_id), self.config.limit
        level = self.config.level(used)
        return {
            "used": used,
            "available": max(0, limit - used),
            "max": self.config.max_tokens,
            "reserved": self.config.max_tokens - limit,
            "limit": limit,
            "ratio": used / limit,
            "percentage": 100 * used / limit,
            "level": level,
            "actions": ACTIONS[level],
        }

    def check(self, session_id: str | None = None) -> TokenWarning | None:
        """The warning that is due, if any. When a level is reached, listeners are called and it is published, once."""
        usage = self.get_usage(session_id)
        level: TokenWarningLevel = usage["level"]
        is_new = self._told.get(session_id, TokenWarningLevel.NORMAL) is not level
        self._told[session_id] = level
        if level is TokenWarningLevel.NORMAL:
            return None
        actions = ACTIONS[level]
        message = (
            f"{usage['percentage']:.0f}% of the context is used ({usage['used']:,} of {usage['limit']:,} tokens):"
            f" {'; '.join(actions).lower()}"
        )
        warning = TokenWarning(level, usage, message, actions)
        if is_new:
            for listener in tuple(self._listeners):
                listener(warning)
            if anybody_listens():
                from sage_code.events import publishing  # lazy: most of the time there is no listener

                publishing.memory_warning(warning, session_id)
        return warning

    def add_listener(self, listener: Callable[[TokenWarning], object]) -> Callable[[], None]:
        """Call `listener` when a level above NORMAL is reached; returns what ends that."""
        self._listeners.append(listener)

        def remove() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return remove

    def on_checkpoint(self, make: Callable[[str | None], str | None] | None) -> None:
        """Say what makes a checkpoint of a session (None: of all) and returns its id; SessionContinuity does."""
        self._make_checkpoint = make

    def has_checkpoint(self, session_id: str | None) -> None:
        """Say that there is a checkpoint of a session as it is, so that none more is made for the level it is at."""
        self._kept[session_id] = self._told.get(session_id, TokenWarningLevel.NORMAL)

    def enforce(self, session_id: str | None = None) -> Enforcement:
        """Do what the level demands, and say what was done.

        When CRITICAL or OVERFLOW is reached, a checkpoint is made first. At CRITICAL the oldest entries up to NORMAL
        priority are summarised until usage is below CRITICAL. At OVERFLOW such entries are deleted, EPHEMERAL first,
        until it is. Entries of a higher priority are never touched: if they alone fill the context, it stays full.
        """
        before = self.get_usage(session_id)
        level: TokenWarningLevel = before["level"]
        if level not in (TokenWarningLevel.CRITICAL, TokenWarningLevel.OVERFLOW):
            self._kept.pop(session_id, None)
            return Enforcement(before, before)
        checkpoint_id = None
        # Once for each time that a level is reached: a context that stays full would fill with checkpoints.
        if self._make_checkpoint is not None and self._kept.get(session_id) is not level:
            checkpoint_id = self._make_checkpoint(session_id)
            self._kept[session_id] = level
        summarised: list[str] = []
        pruned: list[str] = []
        if level is TokenWarningLevel.OVERFLOW and self.config.auto_prune:
            pruned = [entry.id for entry in self.store.prune(self._target(), session_id)]
        elif self.config.auto_summarize:
            summarised = self._summarise_oldest(session_id)
        after = self.get_usage(session_id)
        is_full = after["level"] in (TokenWarningLevel.CRITICAL, TokenWarningLevel.OVERFLOW)
        if not is_full:
            self._kept.pop(session_id, None)
        said = (
            f"made the checkpoint {checkpoint_id}" if checkpoint_id else "",
            f"summarised {len(summarised)} entries" if summarised else "",
            f"pruned {len(pruned)} entries" if pruned else "",
            "the context is still full: hand the task over" if is_full else "",
        )
        return Enforcement(
            before, after, tuple(summarised), tuple(pruned), checkpoint_id, tuple(one for one in said if one)
        )

    def _target(self) -> int:
        """The most tokens with which usage is below CRITICAL."""
        most = ceil(self.config.critical_threshold * self.config.limit) - 1
        # A product of floats may be a hair too high.
        return most - (self.config.level(most) in (TokenWarningLevel.CRITICAL, TokenWarningLevel.OVERFLOW))

    def _summarise_oldest(self, session_id: str | None) -> list[str]:
        """Summarise the oldest entries up to NORMAL until usage is below CRITICAL; returns their ids.

        Checkpoints are no text to summarise. Each session has a summary of its own, so that its tokens stay its own.
        """
        found = self.store.query(
            session_id=session_id, max_priority=PRUNABLE, include_summarized=False, limit=None, oldest_first=True
        )
        candidates = deque(entry for entry in found if entry.type is not MemoryType.CHECKPOINT)
        done: list[str] = []
        excess = self.store.total_tokens(session_id) - self._target()
        while excess > 0 and candidates:
            # Summaries take some of what is freed, so there may be several rounds.
            chosen: list[MemoryEntry] = []
            wanted = max(excess, 2 * _LEAST_TOKENS)
            while candidates and wanted > 0:
                chosen.append(candidates.popleft())
                wanted -= chosen[-1].tokens
            chosen.sort(key=lambda entry: entry.session_id or "")
            for _, group in groupby(chosen, key=lambda entry: entry.session_id or ""):
                some = list(group)
                freed = self._summarise(some)
                if freed:
                    done += [entry.id for entry in some]
                    excess -= freed
        return done

    def _summarise(self, entries: list[MemoryEntry]) -> int:
        """Summarise entries, unless they are too short; returns how many tokens that frees."""
        tokens = sum(entry.tokens for entry in entries)
        if tokens <= _LEAST_TOKENS:
            return 0
        try:
            summary = self.store.summarise(entries, self.summariser)
        except Conflict:  # another process does the same
            return 0
        return tokens - summary.tokens
