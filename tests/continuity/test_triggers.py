"""Triggers: what is noticed in a conversation, what is not, and that a detector goes on where another stopped."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.continuity.triggers import detector as detector_module
from sage_code.continuity.triggers.detector import TriggerDetector, spoken_scores
from sage_code.continuity.triggers.distances import Distances
from sage_code.continuity.triggers.phrases import linguistic_score
from sage_code.continuity.triggers.values import LEAST_CONFIDENCE, Dials, TriggerResult, TriggerType
from sage_code.text.prose import said

TOP = Path(__file__).parents[2]
MAX_STATE = 16_000

BREAD = [
    ("user", "how long should the sourdough bread rise before I bake it?"),
    ("agent", "let the sourdough dough rise for eight hours, then shape the bread and let it rest"),
    ("user", "ok, and then the sourdough bread goes into the oven?"),
    ("agent", "bake the bread at 230 degrees, the sourdough needs a hot oven and some steam"),
    ("user", "will the bread get a crust with steam in the oven?"),
    ("agent", "yes, steam in the hot oven gives sourdough bread its crust"),
]
TRAIN = [
    ("user", "hi, i am looking for a train to cambridge, are there any on saturday?"),
    ("agent", "there are ten trains to cambridge on saturday, when would you like to leave?"),
]


def run(turns: list[tuple[str, str]], detector: TriggerDetector | None = None) -> list[TriggerResult]:
    detector = detector or TriggerDetector()
    return [detector.analyze(text, role) for role, text in turns]


def deep() -> TriggerDetector:
    """A detector that could report any kind of trigger: none has been for long."""
    return TriggerDetector(state={"format": detector_module.FORMAT, "since_any": 100})


def types(results: list[TriggerResult]) -> list[str]:
    return [result.trigger.type.value for result in results if result.trigger]


# Topics


def test_the_example_of_the_specification() -> None:
    result = TriggerDetector().analyze("Let's move on to databases", "assistant")
    assert result.should_trigger
    assert result.trigger is not None
    assert f"{result.trigger.type.value} ({result.trigger.confidence:.0%})" == "topic_shift (75%)"
    assert result.trigger.reason


def test_a_new_topic_is_placed_where_it_began() -> None:
    results = run(BREAD + TRAIN)
    assert types(results[:-1]) == []
    trigger = results[-1].trigger
    assert trigger is not None
    assert (trigger.type, trigger.at) == (TriggerType.TOPIC_SHIFT, 1)


def test_a_topic_that_goes_on_does_not_trigger() -> None:
    assert types(run(BREAD * 3)) == []


def test_the_same_files_speak_for_the_same_topic() -> None:
    def last(files: list[str]) -> float:
        detector = TriggerDetector()
        for role, text in BREAD:
            detector.analyze(text, role, files=["src/oven.py", "src/dough.py"])
        detector.analyze(TRAIN[0][1], "user")
        boundary = detector.analyze(TRAIN[1][1], "agent", files=files).boundary
        assert boundary is not None
        return boundary

    assert last(["other/src/oven.py"]) < last(["src/rails.py"])


def test_a_pause_and_another_branch_speak_for_a_new_topic() -> None:
    def last(**context: Any) -> float:
        detector = TriggerDetector()
        for role, text in BREAD:
            detector.analyze(text, role, time=1000.0, branch="main")
        detector.analyze("what about the flour of the bread?", "user", **context)
        boundary = detector.analyze("any flour will do for bread", "agent").boundary
        assert boundary is not None
        return boundary

    at_once = last(time=1010.0, branch="main")
    assert at_once < last(time=1000.0 + 5 * 3600, branch="main") < last(time=1000.0 + 24 * 3600, branch="main")
    assert at_once < last(time=1010.0, branch="feature")


def test_every_dial_moves_the_obvious_way() -> None:
    turns = (BREAD + TRAIN + BREAD[:2]) * 4

    def shifts(**dials: float) -> int:
        return types(run(turns, TriggerDetector(dials=Dials(**dials)))).count("topic_shift")

    assert shifts(trigger_threshold=0.95) <= shifts() <= shifts(trigger_threshold=0.3)
    assert shifts(topic_drift_threshold=0.2) <= shifts() <= shifts(topic_drift_threshold=0.8)
    assert shifts(trigger_threshold=0.999) == 0 < shifts(trigger_threshold=0.3)


def test_questions_that_give_way_to_statements_are_a_synthesis() -> None:
    asked = [("user", "what is the oven of the bread?"), ("agent", "which oven of bread is it?")] * 4
    told = [("user", "the oven bakes bread."), ("agent", "the bread is in the oven.")] * 4
    results = run(asked + told)
    assert any(TriggerType.SYNTHESIS in result.found for result in results)
    never = TriggerDetector(dials=Dials(convergence_question_drop=0.0))
    assert not any(TriggerType.SYNTHESIS in result.found for result in run(asked + told, never))


# What messages say


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TriggerType.BRANCH_POINT, "There are two approaches here. Which do you want?"),
        (TriggerType.BRANCH_POINT, "Option A keeps the cache.\nOption B drops it. What's your preference?"),
        (TriggerType.CONSTRAINT_DISCOVERED, "This won't work because the API has no paging."),
        (TriggerType.CONSTRAINT_DISCOVERED, "We are blocked by the missing token."),
        (TriggerType.CONSTRAINT_DISCOVERED, "That is a showstopper for the release."),
        (TriggerType.CONSTRAINT_DISCOVERED, "The root cause is that the store closes too early."),
        (TriggerType.CONSTRAINT_DISCOVERED, "fsnotify does not support recursive watching."),
        (TriggerType.SYNTHESIS, "In conclusion, the index is the truth.\n- it is small\n- it is fast"),
        (TriggerType.SYNTHESIS, "Putting this together:\n- the parser is slow\n- the cache hides it\nSo we keep both."),
        (TriggerType.SYNTHESIS, "TL;DR\n- keep the cache\n- drop the lock"),
        (TriggerType.SYNTHESIS, "All tests pass. Here's a summary of what changed:\n- a cache\n- a lock"),
    ],
)  # fmt: skip
def test_phrases_of_the_specification_and_of_real_agents(kind: TriggerType, text: str) -> None:
    assert spoken_scores(said(text))[kind] >= Dials().trigger_threshold
    assert kind in deep().analyze(text, "agent").found
    assert kind not in deep().analyze(text, "user").found


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (TriggerType.CONSTRAINT_DISCOVERED, "Found it. The loop only reads one page, so later rows never arrive."),
        (TriggerType.CONSTRAINT_DISCOVERED, "That's a real bug: both files share a key, so each evicts the other."),
        (TriggerType.SYNTHESIS, "Renamed the command.\n- the old name is gone\n- docs are updated\nTests pass."),
    ],
)  # fmt: skip
def test_several_weak_signs_are_enough(kind: TriggerType, text: str) -> None:
    assert linguistic_score(kind, text) >= Dials().trigger_threshold


@pytest.mark.parametrize(
    "text",
    [
        "Let me read the file next, since the test isn't there yet:",
        "All green. Let me run the linter over the whole project:",
        "The parser reads the header first and then the body of every record, which the index keeps.",
    ],
)
def test_a_step_of_work_is_neither_a_limit_nor_a_conclusion(text: str) -> None:
    assert all(score < Dials().trigger_threshold for score in spoken_scores(text).values())


@pytest.mark.parametrize(
    "wrapped",
    [
        "```\n{}\n```",
        "before\n````python\n{}\n```\nstill inside\n````\nafter",
        "it prints `{}` then",
        "> {}",
        'the log says "{}" there',
        "the log says “{}” there",
        "<system-reminder>\n{}\n</system-reminder>",
        "<command-name>{}</command-name>",
        "<local-command-stdout>{}</local-command-stdout> ok",
        "~~~\n{}",
    ],
)
@pytest.mark.parametrize("phrase", ["Let's move on to databases", "This won't work because of X", "checkpoint this"])
def test_nothing_is_taken_from_code_quotations_and_wrappers(wrapped: str, phrase: str) -> None:
    assert phrase not in said(wrapped.format(phrase))
    for role in ("user", "agent"):
        assert not TriggerDetector().analyze(wrapped.format(phrase), role).found
    assert all(score < Dials().trigger_threshold for score in spoken_scores(said(wrapped.format(phrase))).values())


@pytest.mark.parametrize(
    "text",
    ["checkpoint", "Checkpoint this!", "save this", "ok, please save a checkpoint", "Please save our progress now."],
)  # fmt: skip
def test_a_user_asks_for_a_checkpoint(text: str) -> None:
    result = TriggerDetector().analyze(text, "user")
    assert result.trigger is not None
    assert result.trigger.type is TriggerType.MANUAL
    assert not TriggerDetector().analyze(text, "agent").should_trigger


@pytest.mark.parametrize(
    "text",
    [
        "save this to a file named out.txt",
        "why does the checkpoint of the trainer not load?",
        "The hook writes a checkpoint whenever the context is full, and then it will save this to disk as well.",
        "checkpoint frequency should be configurable",
    ],
)
def test_the_word_alone_is_no_request(text: str) -> None:
    assert not TriggerDetector().analyze(text, "user").should_trigger


def test_talk_about_checkpoints_does_not_trigger() -> None:
    text = (
        "The stop hook saves a checkpoint at a branch point: two approaches, which do you want, in conclusion, TL;DR."
    )
    assert not deep().analyze(text, "agent").found
    assert not spoken_scores(text)


def test_a_new_topic_comes_before_all_others() -> None:
    detector = TriggerDetector()
    run(BREAD * 6, detector)
    detector.analyze(TRAIN[0][1], "user")
    text = f"{TRAIN[1][1]} There are two options. Which do you want? The root cause is the timetable."
    result = detector.analyze(text, "agent")
    assert {TriggerType.TOPIC_SHIFT, TriggerType.BRANCH_POINT, TriggerType.CONSTRAINT_DISCOVERED} <= {*result.found}
    assert result.trigger is not None
    assert result.trigger.type is TriggerType.TOPIC_SHIFT


def test_research_on_the_web_that_ended() -> None:
    text = "the documentation of the oven says that bread needs steam and heat " * 6
    assert TriggerType.WEB_SEARCH_COMPLETE in TriggerDetector().analyze(text, "agent", web_searches=2).found
    assert TriggerType.WEB_SEARCH_COMPLETE not in TriggerDetector().analyze(text, "agent").found


def test_triggers_keep_their_distance() -> None:
    talk = [("user", "and the oven of the bread?"), ("agent", "There are two options. Which do you want? Your call.")]
    results = run(talk * 30)
    places = [number for number, result in enumerate(results) if result.trigger]
    assert places
    assert all(later - earlier >= 20 for earlier, later in itertools.pairwise(places))


def test_no_confidence_is_below_that_of_its_type() -> None:
    for result in run((BREAD + TRAIN) * 3):
        if result.trigger:
            assert 1 >= result.trigger.confidence >= LEAST_CONFIDENCE[result.trigger.type]


# Going on in another process

SPOKEN = [
    "There are two options. Which do you want? Your call, option A or option B?",
    "The root cause is that the lock does not support threads, so it never works. The fix is to hold it.",
    "Here's a summary of what changed:\n- a cache is in\n- a lock is gone\n- docs are done\n- tests pass",
]
PIECES = ["oven", "bread", "two options?", "which do you", "root cause", "é漢字", "`code`", '"q"', "<a-b>", "```", ">"]
TEXTS = st.one_of(
    st.sampled_from([text for _, text in BREAD + TRAIN] + SPOKEN),
    st.text(max_size=300),
    st.lists(st.sampled_from(PIECES)).map(" ".join),
)  # fmt: skip
MESSAGES = st.tuples(
    TEXTS,
    st.sampled_from(["user", "assistant", "agent", ""]),
    st.lists(st.sampled_from(["a.py", "src/b.py", "c/" * 30 + "long" * 30, "/", ""]), max_size=3),
    st.one_of(st.none(), st.floats(0, 1e10)),
    st.sampled_from(["", "main", "feature/x" * 50]),
    st.booleans(),
    st.integers(0, 3),
)


def seen(detector: TriggerDetector, message: tuple[Any, ...]) -> tuple[object, ...]:
    text, role, files, when, branch, committed, searches = message
    result = detector.analyze(
        text, role, files=files, time=when, branch=branch, committed=committed, web_searches=searches
    )
    trigger = result.trigger
    return result.boundary, result.found, trigger and (trigger.type, trigger.confidence, trigger.at, trigger.reason)


@given(st.lists(MESSAGES, max_size=25))
@settings(max_examples=60, deadline=None)
def test_a_detector_that_is_stored_after_every_message_finds_the_same(messages: list[tuple[Any, ...]]) -> None:
    steady = TriggerDetector()
    state: Any = None
    distances: Any = None
    for message in messages:
        resumed = TriggerDetector(state=state, distances=distances)
        assert seen(resumed, message) == seen(steady, message)
        state = json.loads(json.dumps(resumed.state()))
        distances = json.loads(json.dumps(resumed.distances.state()))
        assert state == json.loads(json.dumps(steady.state()))


@pytest.mark.parametrize("dials", [{}, {"convergence_question_drop": 0.9}, {"trigger_threshold": 0.95}])
def test_what_cannot_be_reported_is_not_looked_for_and_nothing_reported_changes(
    dials: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A detector that looks for everything in every message reports the same triggers, and keeps the same state."""
    chosen = random.Random(5)
    texts = SPOKEN + [text for _, text in BREAD]
    turns = [("agent" if number % 2 else "user", chosen.choice(texts)) for number in range(600)]
    turns[200:202] = turns[400:402] = TRAIN

    def reported() -> tuple[list[tuple[object, ...] | None], str]:
        one = TriggerDetector(dials=Dials(**dials))
        triggers = [
            one.analyze(text, role, web_searches=number % 5).trigger for number, (role, text) in enumerate(turns)
        ]
        return [trigger and (trigger.type, trigger.score, trigger.at) for trigger in triggers], json.dumps(one.state())

    looked: list[str] = []
    monkeypatch.setattr(detector_module, "spoken_scores", lambda prose: looked.append(prose) or spoken_scores(prose))
    sparing = reported()
    assert 0 < len(looked) < 300
    monkeypatch.setattr(detector_module, "_LOOKS_FROM", 0)
    looked.clear()
    assert reported() == sparing
    assert len(looked) == 300
    assert {one[0] for one in sparing[0] if one} & {*detector_module._LINGUISTIC}


@given(st.lists(st.text(max_size=2000), max_size=12), st.text(max_size=5))
@settings(max_examples=60, deadline=None)
def test_any_text_is_taken(texts: list[str], role: str) -> None:
    detector = TriggerDetector()
    for text in texts:
        detector.analyze(text, role)
    assert len(json.dumps(detector.state())) < MAX_STATE


def test_the_state_is_bounded() -> None:
    detector = TriggerDetector()
    for number in range(60):
        words = " ".join(f"{'w' * 30}{number}x{word} 漢字{number}{word}" for word in range(400))
        files = [f"{'d/' * 50}{'f' * 100}{number}_{word}.py" for word in range(100)]
        detector.analyze(words, "user" if number % 2 else "agent", files=files, branch="b" * 10_000)
    assert len(json.dumps(detector.state())) < MAX_STATE
    assert len(json.dumps(detector.distances.state())) < 1000


@pytest.mark.parametrize(
    "unit",
    ["word ", "`", '"', "<a-b>", "<system-reminder>", "> ", "```\n", "either ", "option a\n", "let me ", "(", "é", "\n",
     "here's a a a ", "[Image", "want me to ", "because x ", "http://", "  ", "which do you ", "#", "1. ", "|"],
)  # fmt: skip
def test_a_megabyte_takes_no_longer_than_its_length_explains(unit: str) -> None:
    detector = TriggerDetector()
    text = unit * (1_000_000 // len(unit))
    started = time.process_time()
    detector.analyze(text, "agent")
    detector.analyze(text, "user")
    assert time.process_time() - started < 5


def test_a_state_of_another_format_is_ignored() -> None:
    detector = TriggerDetector(state={"format": 99, "context": 3}, distances={"format": 99, "counts": "?"})
    assert run(BREAD, detector)[0].trigger is None


def test_distances_follow_the_project_and_stay_small() -> None:
    distances = Distances()
    before = distances.quantile(0.7)
    for _ in range(10_000):
        distances.add(3.0)
    assert before < 2.5 < distances.quantile(0.7) < 3.5
    assert sum(distances.state()["counts"]) <= 2001
    distances.add(1e300)
    distances.add(-1e300)
    assert Distances(distances.state()).quantile(0.5) == distances.quantile(0.5)


def test_only_the_ends_of_a_long_message_count() -> None:
    filler = "The function reads a line and keeps it. " * 100
    assert linguistic_score(TriggerType.CONSTRAINT_DISCOVERED, f"{filler}The root cause is X. {filler}") == 0
    assert linguistic_score(TriggerType.CONSTRAINT_DISCOVERED, f"{filler}The root cause is X.") > 0.6


# A hook is a new process each time

ALLOWED = {
    "sage_code", "os", "sys", "math", "re", "mmap", "struct", "array", "collections", "enum", "zlib",
    # what these load themselves
    "types", "operator", "functools", "keyword", "reprlib", "copyreg", "itertools",
}  # fmt: skip


def test_a_hook_loads_little() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from sage_code.continuity.triggers.detector import TriggerDetector\n"
        "d = TriggerDetector()\n"
        "d.analyze('save this `x` \"y\" <a-b>c</a-b>', 'user')\n"
        "d.analyze('There are two options, which do you want? é', 'agent')\n"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before if not m.startswith('_')}))"
    )
    # Isolated, without site: an editable install or a test plugin would load modules of its own before.
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(TOP)!r})\n{code}"]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "sage_code" in loaded
    assert {*loaded} <= ALLOWED
