"""Notices that a checkpoint is due: a new topic, a choice, a limit, a conclusion, research that ended, a request.

    detector = TriggerDetector()
    result = detector.analyze("Let's move on to databases", "assistant")
    if result.should_trigger: …

Messages are given one by one, in the order of the conversation. Whether a topic began with a message is decided when
its answer is known (`trigger.at` is then 1): that is still in the same exchange, and raises F1 on spliced coding
sessions from 0.52 to 0.70. The probability is that of a logistic regression (`weights.py`) over what the message and
its answer have in common with the fading context before them. It must exceed a floor and also be high for the project
(`distances`).

A score is 70 % structural and 30 % linguistic, over those of the two that are present. It runs in a hook, so it imports
little; `state()` and `distances.state()` are small values of JSON with which another process goes on exactly.
"""

from __future__ import annotations

import math

from sage_code.continuity.triggers import weights
from sage_code.continuity.triggers.context import USER, Context, Said
from sage_code.continuity.triggers.distances import Distances
from sage_code.continuity.triggers.phrases import is_about_saving, is_request_to_save, linguistic_score
from sage_code.continuity.triggers.values import PRIORITY, Dials, Trigger, TriggerResult, TriggerType
from sage_code.text.prose import said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# 1: the context, counters since the last triggers, questions, what the next message is compared with
FORMAT = 1
STRUCTURAL, LINGUISTIC = 0.7, 0.3

# A topic that begins has at least this probability, and more than this share of the project's own distances.
# The floor sets how many are named for each true one; the share binds only where nearly everything looks new.
FLOOR = 0.27
SHARE = 0.70
# In a session of work topics are longer than in the spliced ones that the weights are learned from.
_WORK_PRIOR = -0.55
# How far a topic must go before it can end: messages, in talk and in work.
_DEPTH_TALK, _DEPTH_WORK = 2, 4
# The others are frequent (every third answer of an agent sums something up), so they are looked for only with more
# depth since any trigger, and reported only when sure.
_DEPTH_OTHERS = 24
_SURE = 0.9
# What words alone tell is looked for from this depth on; sooner it cannot be reported.
_LOOKS_FROM = _DEPTH_OTHERS

# What an answer at once, a pause, another branch and a commit add to the logit; no public sessions have labels of them.
# Before a user goes on within a session 79 % wait less than 10 minutes, 6 % an hour, 4 % eight; before a user opens a
# new session, which is surely a new topic, about 30 %, 15 %, 45 %. The numbers are half of these log ratios.
_AT_ONCE, _PAUSE, _LONG_PAUSE = 10 * 60, 60 * 60, 8 * 60 * 60
_CONTINUED, _PAUSED, _LONG_PAUSED = -0.5, 0.4, 1.2
_OTHER_BRANCH, _COMMITTED = 1.0, 0.2

# Convergence: the questions of so many messages, half against half.
_QUESTIONS = 16
_LEAST_QUESTIONS = 8
_MANY_QUESTIONS = 0.5
_CONVERGED = 0.7
# A report on what the web said is this long, in words.
_LEAST_REPORT = 40
# How much one step of `topic_drift_threshold` moves the logit: 0.1 is about as much as a changed branch.
_DRIFT_SCALE = 8.0
_MAX_BRANCH_CHARS = 200

_LINGUISTIC = (TriggerType.BRANCH_POINT, TriggerType.CONSTRAINT_DISCOVERED, TriggerType.SYNTHESIS)
_SAID = {
    TriggerType.BRANCH_POINT: "several ways are open",
    TriggerType.CONSTRAINT_DISCOVERED: "a limit or a cause was found",
    TriggerType.SYNTHESIS: "results were drawn together",
}


class TriggerDetector:
    """Reads a conversation message by message. One for each session; `distances` may be shared by a project's."""

    def __init__(
        self,
        *,
        state: dict[str, Any] | None = None,
        distances: dict[str, Any] | Distances | None = None,
        dials: Dials | None = None,
    ) -> None:
        """`state` and `distances` as `state()` and `distances.state()` gave them; other formats are ignored."""
        known = state if state and state.get("format") == FORMAT else {}
        self.dials = dials or Dials()
        self.distances = distances if isinstance(distances, Distances) else Distances(distances)
        self._context = Context(known.get("context"))
        self._since_topic: int = known.get("since_topic", 0)
        self._since_any: int = known.get("since_any", 0)
        self._questions: list[int] = known.get("questions", [])
        self._time: float | None = known.get("time")
        self._branch: str = known.get("branch", "")
        self._committed: bool = known.get("committed", False)
        # Of the last message, whose topic is not decided yet.
        self._extra: float = known.get("extra", 0.0)
        self._shift: float = known.get("shift", 0.0)

    def state(self) -> dict[str, Any]:
        """Everything but `distances` that the next message needs, as a small value of JSON."""
        return {
            "format": FORMAT,
            "context": self._context.state(),
            "since_topic": self._since_topic,
            "since_any": self._since_any,
            "questions": self._questions,
            "time": self._time,
            "branch": self._branch,
            "committed": self._committed,
            "extra": self._extra,
            "shift": self._shift,
        }

    def analyze(
        self,
        text: str,
        role: str,
        *,
        files: Sequence[str] = (),
        time: float | None = None,
        branch: str = "",
        committed: bool = False,
        web_searches: int = 0,
    ) -> TriggerResult:
        """Add a message to the conversation, and say whether a checkpoint is due.

        `files` are those touched in it, `time` is in seconds since the epoch, `branch` is the one checked out,
        `committed` whether it made a commit, `web_searches` how many.
        """
        prose = said(text)
        message = Said(prose, USER if role == USER else "agent", files)
        is_meta = is_about_saving(prose)
        shift = 0.0 if is_meta else linguistic_score(TriggerType.TOPIC_SHIFT, prose)

        scores: dict[TriggerType, float] = {}
        probability = self._probability(message)
        topic, reason = self._topic_score(probability, shift)
        if probability is not None:
            self.distances.add(_logit(probability))
        scores[TriggerType.TOPIC_SHIFT] = topic
        if message.role == USER:
            if is_request_to_save(prose):
                scores[TriggerType.MANUAL] = 1.0
        elif not is_meta:
            if self._since_any >= _LOOKS_FROM:
                # So most hooks need not compile the patterns.
                scores.update(spoken_scores(prose))
            if web_searches and message.count >= _LEAST_REPORT:
                scores[TriggerType.WEB_SEARCH_COMPLETE] = min(1.0, 0.6 + 0.05 * web_searches)
        if self._has_converged(message):
            spoken = scores.get(TriggerType.SYNTHESIS, 0.0)
            scores[TriggerType.SYNTHESIS] = _combined(_CONVERGED, spoken)

        found = {kind: score for kind, score in scores.items() if score >= self.dials.trigger_threshold}
        trigger = self._due(found, reason, at=0 if probability is None else 1)
        self._advance(message, shift, time, branch, committed)
        return TriggerResult(trigger, found, probability)

    def _probability(self, answer: Said) -> float | None:
        """The probability that a topic began with the last message, now that its answer is known."""
        features = self._context.features(answer)
        if features is None:
            return None
        here, before, after = self._context.cues(answer)
        logit = math.fsum(
            (
                weights.CONSTANT,
                *(weight * value for weight, value in zip(weights.FEATURE_WEIGHTS, features, strict=True)),
                *(weights.HERE.get(word, 0.0) for word in here),
                *(weights.BEFORE.get(word, 0.0) for word in before),
                *(weights.AFTER.get(word, 0.0) for word in after),
                self._extra,
                _WORK_PRIOR if self._context.is_work else 0.0,
            )
        )
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))

    def _topic_score(self, probability: float | None, shift: float) -> tuple[float, str]:
        """The score of a new topic and the reason for it; at the very beginning only words can tell."""
        if probability is None:
            is_first = self._context.last is None
            return (shift, "a new topic was announced") if is_first and shift else (0.0, "")
        limit = max(_logit(FLOOR), self.distances.quantile(SHARE))
        drift = _DRIFT_SCALE * (self.dials.topic_drift_threshold - Dials().topic_drift_threshold)
        structural = 1 / (1 + math.exp(-max(-30.0, min(30.0, _logit(probability) - limit + drift + _logit(0.6)))))
        if self._shift:
            return _combined(structural, self._shift), "a new topic was announced"
        others = "after a pause or on another branch, " if self._extra > _PAUSED else ""
        return structural, f"{others}little in common with what was said before"

    def _has_converged(self, message: Said) -> bool:
        """Whether questions gave way to statements; the questions are counted from anew then."""
        self._questions = [*self._questions, int(message.asks)][-_QUESTIONS:]
        half = len(self._questions) // 2
        early, late = self._questions[:half], self._questions[half:]
        if (
            len(self._questions) < _LEAST_QUESTIONS
            or sum(early) / len(early) <= _MANY_QUESTIONS
            or sum(late) / len(late) >= self.dials.convergence_question_drop
        ):
            return False
        self._questions = []
        return True

    def _due(self, found: dict[TriggerType, float], reason: str, at: int) -> Trigger | None:
        """The trigger of the highest priority whose topic has gone far enough."""
        depth = _DEPTH_WORK if self._context.is_work else _DEPTH_TALK
        for kind in PRIORITY:
            if kind not in found:
                continue
            if kind is TriggerType.MANUAL:
                self._since_any = 0
                return Trigger(kind, found[kind], "the user asked for it")
            if kind is TriggerType.TOPIC_SHIFT:
                if at == 0 or self._since_topic >= depth + at:
                    self._since_topic, self._since_any = at, 0
                    return Trigger(kind, found[kind], reason, at)
            elif self._since_any >= _DEPTH_OTHERS and found[kind] >= _SURE:
                self._since_any = 0
                return Trigger(kind, found[kind], _SAID.get(kind, "what the web says was reported"))
        return None

    def _advance(self, message: Said, shift: float, time: float | None, branch: str, committed: bool) -> None:
        """Make `message` the last one, whose topic is decided by its answer."""
        pause = time - self._time if time is not None and self._time is not None else 0.0
        extra = _LONG_PAUSED if pause >= _LONG_PAUSE else _PAUSED if pause >= _PAUSE else 0.0
        if time is not None and self._time is not None and pause < _AT_ONCE:
            extra = _CONTINUED
        branch = branch[:_MAX_BRANCH_CHARS]
        if branch and self._branch and branch != self._branch:
            extra += _OTHER_BRANCH
        if self._committed and message.role == USER:
            extra += _COMMITTED
        self._extra, self._shift = extra, shift
        self._committed = committed
        self._branch = branch or self._branch
        self._time = time if time is not None else self._time
        self._since_topic += 1
        self._since_any += 1
        self._context.add(message)


def spoken_scores(prose: str) -> dict[TriggerType, float]:
    """What an agent's message says in words about its own role, wherever it stands in a conversation."""
    return {} if is_about_saving(prose) else {kind: linguistic_score(kind, prose) for kind in _LINGUISTIC}


def _combined(structural: float, linguistic: float) -> float:
    """70 % structural and 30 % linguistic; without words the structure alone."""
    return STRUCTURAL * structural + LINGUISTIC * linguistic if linguistic else structural


def _logit(probability: float) -> float:
    probability = min(1 - 1e-9, max(1e-9, probability))
    return math.log(probability / (1 - probability))
