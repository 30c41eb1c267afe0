"""The values of trigger detection: types of triggers, a found trigger, the result of a message, the dials."""

from __future__ import annotations

from enum import Enum


class TriggerType(Enum):
    """Why a checkpoint is due."""

    SYNTHESIS = "synthesis"
    BRANCH_POINT = "branch_point"
    CONSTRAINT_DISCOVERED = "constraint_discovered"
    TOPIC_SHIFT = "topic_shift"
    WEB_SEARCH_COMPLETE = "web_search_complete"
    CONTEXT_THRESHOLD = "context_threshold"
    PRECOMPACT = "precompact"
    MANUAL = "manual"


# A trigger has at least the confidence of its type. Of those that the user or the client asks for, none is required.
LEAST_CONFIDENCE = {
    TriggerType.SYNTHESIS: 0.5,
    TriggerType.WEB_SEARCH_COMPLETE: 0.3,
    TriggerType.TOPIC_SHIFT: 0.4,
    TriggerType.BRANCH_POINT: 0.4,
    TriggerType.CONSTRAINT_DISCOVERED: 0.4,
    TriggerType.CONTEXT_THRESHOLD: 0.0,
    TriggerType.PRECOMPACT: 0.0,
    TriggerType.MANUAL: 0.0,
}
# Of several triggers at once, the first of these is reported.
PRIORITY = (
    TriggerType.MANUAL,
    TriggerType.TOPIC_SHIFT,
    TriggerType.BRANCH_POINT,
    TriggerType.CONSTRAINT_DISCOVERED,
    TriggerType.SYNTHESIS,
    TriggerType.WEB_SEARCH_COMPLETE,
)


class Dials:
    """The settings of the detector. At their defaults it behaves as it was calibrated."""

    __slots__ = ("convergence_question_drop", "topic_drift_threshold", "trigger_threshold")

    def __init__(
        self,
        trigger_threshold: float = 0.60,
        topic_drift_threshold: float = 0.50,
        convergence_question_drop: float = 0.20,
    ) -> None:
        # The least combined score of a trigger: higher gives fewer triggers of every type.
        self.trigger_threshold = trigger_threshold
        # How much likeness still counts as drift: higher gives more topic shifts.
        self.topic_drift_threshold = topic_drift_threshold
        # The share of questions below which a conversation has converged: higher finds more syntheses.
        self.convergence_question_drop = convergence_question_drop


class Trigger:
    """A reason to save now."""

    __slots__ = ("at", "confidence", "reason", "score", "type")

    def __init__(self, kind: TriggerType, score: float, reason: str, at: int = 0) -> None:
        self.type = kind
        self.score = score  # 70 % structural, 30 % linguistic, of those that are present; 0.60 is the usual threshold
        self.confidence = max(score, LEAST_CONFIDENCE[kind])
        self.reason = reason
        self.at = at  # how many messages ago it was: 0 is the message just analysed

    def __repr__(self) -> str:
        return f"Trigger({self.type.value}, {self.confidence:.2f}, {self.reason!r}, at={self.at})"


class TriggerResult:
    """What a message gave: the trigger, if one is due, and the scores of everything that was looked for."""

    __slots__ = ("boundary", "found", "trigger")

    def __init__(self, trigger: Trigger | None, found: dict[TriggerType, float], boundary: float | None = None) -> None:
        self.trigger = trigger
        # Scores above the threshold, also of what was not reported. What words alone tell is looked for only when it
        # could be reported.
        self.found = found
        self.boundary = boundary  # the probability that a topic began with the message before; None if unknown

    @property
    def should_trigger(self) -> bool:
        """Whether a checkpoint is due."""
        return self.trigger is not None
