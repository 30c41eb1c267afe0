"""Which summariser writes, and that the extractive one writes and says so if it does not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from sage_code.memory.context.choosing import (
    FAILURES_BEFORE_PAUSE,
    MOST_PROBLEM_CHARS,
    PAUSE_S,
    Breaker,
    FallingBack,
    summariser_of,
    with_fallback,
)
from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.context.summary import SUMMARY_WORDS, Spoken, StructuredSummary
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

KEY = "sk-ant-api03-Zk4v9Qm2Lx7Tn1Rw8Yp3Hs6Jd5Fc0Bg-uVeXoKiAa"


@dataclass(frozen=True)
class Said:
    content: str
    id: str = "1"
    role: str = "user"
    speaker: str = ""
    created_at: datetime = datetime(2026, 11, 18, tzinfo=UTC)


MESSAGES = [Said("We decided to rename the cache to store.")]


@dataclass
class Scripted:
    """Gives or raises one thing after another, and counts."""

    results: list[str | Exception]
    name: str = "scripted"
    calls: int = 0
    previous: list[StructuredSummary | None] = field(default_factory=list)

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        self.calls += 1
        self.previous.append(previous)
        result = self.results[min(self.calls, len(self.results)) - 1]
        if isinstance(result, Exception):
            raise result
        return StructuredSummary(result, self.name)


@pytest.mark.parametrize("result", [OSError("it is down"), "", "word " * 301], ids=["raises", "empty", "too long"])
def test_the_extractive_one_writes_and_says_why(result: str | Exception) -> None:
    summary = with_fallback(Scripted([result])).summarise(MESSAGES, 100)
    assert summary.by == "extractive"
    assert summary.text == ExtractiveSummariser().summarise(MESSAGES, 100).text
    assert summary.problem.startswith("scripted failed: ")


def test_a_good_summary_has_no_problem_and_sees_the_one_before() -> None:
    scripted, before = Scripted(["Fine."]), StructuredSummary("Old.", "x")
    assert with_fallback(scripted).summarise(MESSAGES, 100, before) == StructuredSummary("Fine.", "scripted")
    assert scripted.previous == [before]


def test_a_problem_is_short_masked_and_on_one_line() -> None:
    problem = with_fallback(Scripted([OSError(f"api_key={KEY}\n\x1b[31m{'x' * 1_000}")])).summarise(MESSAGES).problem
    assert KEY not in problem
    assert problem.isprintable()
    assert len(problem) <= MOST_PROBLEM_CHARS


def test_a_service_that_fails_is_left_alone_for_a_while() -> None:
    now = [0.0]
    scripted = Scripted([OSError("down")] * (FAILURES_BEFORE_PAUSE + 1) + ["Fine."])
    summariser = with_fallback(scripted, Breaker(clock=lambda: now[0]))
    problems = [summariser.summarise(MESSAGES).problem for _ in range(1_000)]
    assert scripted.calls == FAILURES_BEFORE_PAUSE
    assert "not asked for another 300 s after 3 failures; the last: OSError: down" in problems[-1]
    now[0] += PAUSE_S + 1  # one more attempt, which fails
    assert [summariser.summarise(MESSAGES).by for _ in range(10)] == ["extractive"] * 10
    assert scripted.calls == FAILURES_BEFORE_PAUSE + 1
    now[0] += PAUSE_S + 1
    assert [summariser.summarise(MESSAGES).by for _ in range(3)] == ["scripted"] * 3
    assert summariser.summarise(MESSAGES).problem == ""


def test_only_failures_in_a_row_count() -> None:
    scripted = Scripted([OSError("down"), OSError("down"), "Fine."] * 5)
    summariser = with_fallback(scripted)
    assert sum(summariser.summarise(MESSAGES).by == "scripted" for _ in range(15)) == 5


def test_after_a_pause_one_thread_tries() -> None:
    now = [0.0]
    breaker = Breaker(clock=lambda: now[0])
    for _ in range(FAILURES_BEFORE_PAUSE):
        breaker.failed("down")
    now[0] += PAUSE_S + 1
    allowed: list[str] = []
    threads = [threading.Thread(target=lambda: allowed.append(breaker.refusal())) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert allowed.count("") == 1


def test_a_fallback_is_put_on_once() -> None:
    wrapped = with_fallback(Scripted(["x"]))
    assert with_fallback(wrapped) is wrapped
    own = ExtractiveSummariser()
    assert with_fallback(own) is own
    assert isinstance(with_fallback(None), ExtractiveSummariser)


# By the settings


def test_the_default_needs_nothing() -> None:
    assert isinstance(summariser_of(Settings()), ExtractiveSummariser)


@pytest.mark.parametrize("name", ["anthropic", "openai-compatible", "command"])
def test_what_is_not_set_up_falls_back_and_names_the_setting(name: str) -> None:
    summary = summariser_of(Settings(summariser=name)).summarise(MESSAGES)
    assert summary.by == "extractive"
    expected = {"anthropic": "anthropic_api_key", "command": "summariser_command"}.get(name, "summariser_model")
    assert expected in summary.problem


def test_a_missing_extra_falls_back_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    settings = Settings(summariser="anthropic", summariser_model="m", anthropic_api_key="k-missing-extra")
    assert "pip install 'sage-code[anthropic]'" in summariser_of(settings).summarise(MESSAGES).problem


def test_a_program_of_the_settings_writes() -> None:
    words = (sys.executable, "-c", "print('The cache is called store.')")
    summary = summariser_of(Settings(summariser="command", summariser_command=words)).summarise(MESSAGES)
    assert summary == StructuredSummary("The cache is called store.", "command")


def test_summarisers_of_one_service_share_what_they_know() -> None:
    settings = Settings(summariser="command", summariser_command=("/no/such/program",))
    problems = [summariser_of(settings).summarise(MESSAGES).problem for _ in range(FAILURES_BEFORE_PAUSE + 1)]
    assert "is no program" in problems[0]
    assert "not asked for another" in problems[-1]
    corrected = Settings(summariser="command", summariser_command=("/no/such/other",))
    assert "not asked" not in summariser_of(corrected).summarise(MESSAGES).problem


def test_a_project_cannot_choose_who_reads_the_messages(tmp_path: object) -> None:
    from pathlib import Path

    root = Path(str(tmp_path))
    (root / ".sage").mkdir()
    lines = (
        "summariser: command\nsummariser_command: [sh, -c, id]\nsummariser_url: https://evil.example\n"
        f"anthropic_api_key: {KEY}\nsummariser_model: m\n"
    )
    (root / ".sage" / "tuning.yaml").write_text(lines)
    settings = load_settings(str(root))
    assert settings == Settings()
    assert len(settings.warnings) == 5
    assert KEY not in "".join(settings.warnings)
    assert not isinstance(summariser_of(settings), FallingBack)
