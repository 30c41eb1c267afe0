"""TokenBudget: levels at their exact borders, warnings, and what is done about them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_ids import new_uuid

from sage_code.errors import ConfigError
from sage_code.memory.context.summary import StructuredSummary
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.entry_store import MemoryEntry, MemoryPriority, MemoryStore, MemoryType
from sage_code.memory.tiers.token_budget import TokenBudget, TokenBudgetConfig, TokenWarning, TokenWarningLevel
from sage_code.memory.tiers.values import Message
from sage_code.settings.table import Settings

SETTINGS = Settings(embedding_model="hashing")
LEVEL = TokenWarningLevel
ON_ONE_ENGINE = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


class _Wordy:
    """Says always the same, or fails."""

    name = "wordy"

    def __init__(self, text: str) -> None:
        self._text = text

    def summarise(
        self, messages: Sequence[Message], max_words: int = 100, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        if not self._text:
            raise TimeoutError
        return StructuredSummary(self._text, self.name)


@pytest.fixture
def store(engine: Engine) -> MemoryStore:
    return MemoryStore(agent="sage", user="ann", settings=SETTINGS, engine=engine)


def _budget(store: MemoryStore, max_tokens: int = 1_000, **config: object) -> TokenBudget:
    return TokenBudget(store, TokenBudgetConfig(max_tokens, 0, **config))  # type: ignore[arg-type]


def _add(
    store: MemoryStore, tokens: int, priority: MemoryPriority = MemoryPriority.NORMAL, session: str | None = None
) -> str:
    """An entry that is newer than those before it."""
    number = len(store.query(limit=None))
    entry = MemoryEntry(
        f"e{number}", MemoryType.CONVERSATION, f"What was said in part {number}.", priority, tokens,
        BEGIN + timedelta(minutes=number), session_id=session,
    )  # fmt: skip
    return store.add(entry).id


def test_levels_and_defaults_are_the_specs() -> None:
    assert [level.value for level in LEVEL] == ["normal", "caution", "warning", "critical", "overflow"]
    config = TokenBudgetConfig()
    assert (config.max_tokens, config.reserved_tokens) == (128_000, 4_000)
    assert (config.warning_threshold, config.caution_threshold) == (0.70, 0.80)
    assert (config.critical_threshold, config.overflow_threshold) == (0.90, 0.95)
    assert config.auto_summarize
    assert config.auto_prune


@pytest.mark.parametrize("names", [(0.70, 0.80), (0.80, 0.70)], ids=["as in the spec", "as in its table"])
@pytest.mark.parametrize("limit", [1_000, 124_000, 333, 10])
def test_borders_are_those_of_the_table(limit: int, names: tuple[float, float]) -> None:
    config = TokenBudgetConfig(limit, 0, *names)
    for used in range(0, limit * 2, max(1, limit // 1_000)):
        wanted = (
            LEVEL.NORMAL if 100 * used < 70 * limit
            else LEVEL.CAUTION if 100 * used < 80 * limit
            else LEVEL.WARNING if 100 * used < 90 * limit
            else LEVEL.CRITICAL if 100 * used <= 95 * limit
            else LEVEL.OVERFLOW
        )  # fmt: skip
        assert config.level(used) is wanted, used


def test_usage_is_a_share_of_what_is_not_reserved(store: MemoryStore) -> None:
    budget = TokenBudget(store, TokenBudgetConfig(max_tokens=1_000, reserved_tokens=200))
    _add(store, 600, session="s")
    _add(store, 100, session="t")
    usage = budget.get_usage("s")
    assert (usage["used"], usage["available"], usage["max"], usage["limit"]) == (600, 200, 1_000, 800)
    assert (usage["ratio"], usage["percentage"], usage["level"]) == (0.75, 75.0, LEVEL.CAUTION)
    assert usage["actions"] == ("Suggest summarizing older context",)
    assert budget.get_usage()["level"] is LEVEL.WARNING
    assert budget.get_usage("nobody's")["level"] is LEVEL.NORMAL
    assert TokenBudgetConfig(max_tokens=1_000).limit == 1_000  # the reserve would be all of it


@pytest.mark.parametrize(
    "config",
    [
        {"max_tokens": 0},
        {"reserved_tokens": -1},
        {"critical_threshold": 0.75},
        {"overflow_threshold": 1.5},
        {"warning_threshold": 0},
    ],
)
def test_a_budget_that_makes_no_sense_is_refused(config: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        TokenBudgetConfig(**config)  # type: ignore[arg-type]


def test_listeners_are_told_once_for_each_level(store: MemoryStore) -> None:
    budget = _budget(store)
    told: list[TokenWarning] = []
    remove = budget.add_listener(told.append)
    assert budget.check("s") is None
    for tokens in (750, 10, 60, 100, 70):
        _add(store, tokens, session="s")
        assert budget.check("s") is not None
        budget.check("other")
    assert [warning.level for warning in told] == [LEVEL.CAUTION, LEVEL.WARNING, LEVEL.CRITICAL, LEVEL.OVERFLOW]
    assert told[-1].usage["used"] == 990
    assert told[-1].actions == ("Force prune low-priority", "Emergency handoff")
    assert told[-1].message.startswith("99% of the context is used (990 of 1,000 tokens): force prune")
    remove()
    remove()
    store.prune(0)
    assert budget.check("s") is None
    _add(store, 750, session="s")
    assert budget.check("s") is not None
    assert len(told) == 4


@pytest.mark.parametrize("used", [100, 750, 850])
def test_below_critical_nothing_is_done(store: MemoryStore, used: int) -> None:
    budget = _budget(store)
    budget.on_checkpoint(lambda _: pytest.fail("no checkpoint is due"))
    _add(store, used)
    done = budget.enforce()
    assert (done.summarised, done.pruned, done.checkpoint_id, done.actions) == ((), (), None, ())
    assert done.before == done.after == budget.get_usage()


def test_critical_summarises_the_oldest_and_makes_a_checkpoint(store: MemoryStore) -> None:
    budget, made = _budget(store), []  # type: TokenBudget, list[str | None]
    budget.on_checkpoint(lambda session: made.append(session) or "the id")  # type: ignore[func-returns-value]
    high = _add(store, 100, MemoryPriority.HIGH, "s")
    old = [_add(store, 100, MemoryPriority.LOW, "s"), _add(store, 100, MemoryPriority.NORMAL, "s")]
    for _ in range(6):
        _add(store, 100, session="s")
    _add(store, 30, session="s")
    done = budget.enforce("s")
    assert done.before["level"] is LEVEL.CRITICAL
    assert done.after["level"] is LEVEL.WARNING
    assert done.summarised == (old[0],)
    assert high not in done.summarised
    assert (made, done.checkpoint_id) == (["s"], "the id")
    assert done.actions == ("made the checkpoint the id", "summarised 1 entries")
    assert len(store.query(type=MemoryType.SUMMARY)) == 1
    assert len(store.query(type=MemoryType.CONVERSATION)) == 10  # nothing is deleted


def test_each_session_has_its_own_summary(store: MemoryStore) -> None:
    for number in range(10):
        _add(store, 94, session="a" if number % 2 else "b")
    done = _budget(store, critical_threshold=0.80).enforce()
    assert len(done.summarised) >= 2
    assert {entry.session_id for entry in store.query(type=MemoryType.SUMMARY)} == {"a", "b"}


def test_overflow_prunes_by_priority_until_it_is_below_critical(store: MemoryStore) -> None:
    budget = _budget(store)
    permanent = _add(store, 100, MemoryPriority.PERMANENT)
    normal = [_add(store, 200), _add(store, 200)]
    low, ephemeral = _add(store, 30, MemoryPriority.LOW), _add(store, 20, MemoryPriority.EPHEMERAL)
    critical = _add(store, 450, MemoryPriority.CRITICAL)
    done = budget.enforce()
    assert done.before["level"] is LEVEL.OVERFLOW
    assert done.pruned == (ephemeral, low, normal[0])
    assert done.after["level"] is LEVEL.CAUTION
    assert {entry.id for entry in store.query()} == {permanent, normal[1], critical}


def test_a_context_full_of_what_must_stay_stays_full_with_one_checkpoint(store: MemoryStore) -> None:
    budget, made = _budget(store), []  # type: TokenBudget, list[str | None]
    budget.on_checkpoint(lambda session: made.append(session) or "the id")  # type: ignore[func-returns-value]
    for priority in (MemoryPriority.HIGH, MemoryPriority.CRITICAL, MemoryPriority.PERMANENT):
        _add(store, 400, priority)
    first, second = budget.enforce(), budget.enforce()
    assert first.pruned == first.summarised == second.pruned == ()
    assert first.actions == ("made the checkpoint the id", "the context is still full: hand the task over")
    assert made == [None]
    assert budget.get_usage()["used"] == 1_200


def test_what_is_switched_off_is_not_done(store: MemoryStore) -> None:
    _add(store, 970)
    assert _budget(store, auto_prune=False, auto_summarize=False).enforce().actions == (
        "the context is still full: hand the task over",
    )
    done = _budget(store, auto_prune=False).enforce()
    assert (len(done.summarised), done.pruned) == (1, ())


def test_a_summariser_of_the_callers_is_asked_and_held_to_the_limit(store: MemoryStore) -> None:
    _add(store, 920)
    TokenBudget(store, TokenBudgetConfig(1_000, 0), summariser=_Wordy("so\n" * 250)).enforce()
    (summary,) = store.query(type=MemoryType.SUMMARY)
    assert summary.content.startswith("so\nso\n")
    assert summary.tokens <= 920 * 0.2


def test_a_summariser_that_fails_is_replaced(store: MemoryStore) -> None:
    _add(store, 920)
    TokenBudget(store, TokenBudgetConfig(1_000, 0), summariser=_Wordy("")).enforce()
    (summary,) = store.query(type=MemoryType.SUMMARY)
    assert "What was said in part 0." in summary.content


@ON_ONE_ENGINE
@given(
    made=st.lists(st.tuples(st.sampled_from(MemoryPriority), st.integers(1, 400)), min_size=1, max_size=15),
    auto_prune=st.booleans(),
)
def test_enforcing_never_touches_permanent_or_critical(
    engine: Engine, made: list[tuple[MemoryPriority, int]], auto_prune: bool
) -> None:
    store = MemoryStore(agent=str(new_uuid()), user="ann", settings=SETTINGS, engine=engine)
    budget = _budget(store, auto_prune=auto_prune)
    for number, (priority, tokens) in enumerate(made):
        content = f"What was said in part {number}."
        store.add(MemoryEntry(f"e{number}", MemoryType.CONVERSATION, content, priority, tokens))
    before = {entry.id: entry for entry in store.query(limit=None)}
    done = budget.enforce()
    after = {entry.id: entry for entry in store.query(limit=None)}
    for id_, entry in before.items():
        if entry.priority >= MemoryPriority.HIGH:
            assert after[id_] == entry
            assert id_ not in (*done.pruned, *done.summarised)
    if done.before["level"] in (LEVEL.CRITICAL, LEVEL.OVERFLOW) and done.after["level"] is LEVEL.OVERFLOW:
        kept = sum(entry.tokens for entry in before.values() if entry.priority >= MemoryPriority.HIGH)
        assert kept + 80 * len(before) > 900  # what is above NORMAL, and too short to summarise
