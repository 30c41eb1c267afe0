"""What a message says in words about its own role: a choice, a limit that was met, a conclusion, a new topic, "save".

Real agents hardly ever use the phrases of the books ("in conclusion"), so each kind has those and the ones of real
sessions ("here's what changed", "the root cause is", "which do you want?"). A phrase has a weight; several raise the
score as independent evidence does. Only the beginning and the end of a message count: conclusions and questions stand
there, and a long review has a phrase of every kind somewhere.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

from sage_code.continuity.triggers.values import TriggerType

# Characters at either end of a message that are searched.
_BEGINNING, _END = 700, 700
# A user's request to save is short; longer messages only mention the word.
_MAX_REQUEST_WORDS = 8

_STRONG, _MEDIUM, _WEAK = 0.8, 0.5, 0.3
_NOT = r"(?:n't|n’t| not| never)"

_PHRASES: Mapping[TriggerType, Iterable[tuple[float, str]]] = {
    TriggerType.TOPIC_SHIFT: (
        (0.75, r"\b(?:let's|let us|lets) (?:now )?(?:move on|turn|switch|pivot) to\b"),
        (0.75, r"\bmoving on to\b|\bturning (?:now )?to\b|\bswitching (?:gears|topics?|to a different)\b"),
        (0.75, r"\bchang(?:e|ing) (?:the )?(?:topics?|subject)\b|\bon (?:a|an) (?:different|unrelated|new|another) (?:note|topic|subject)\b"),
        (0.6, r"\b(?:different|unrelated|another|separate) (?:topic|subject|question|issue|thing)(?: now)?[:.,…—-]|\bnew (?:topic|subject|task)\b"),
    ),
    TriggerType.BRANCH_POINT: (
        (_STRONG, r"\b(?:two|three|four|several|a few|both|couple of|competing|possible) (?:\w+ )?(?:approaches|options|alternatives|ways to|paths|choices|routes|directions|decisions)\b"),
        (_STRONG, r"\bwhich (?:one |way|key|option|approach|of (?:these|the)|direction|do you|would you|should)[^.\n]{0,120}\?"),
        (_STRONG, r"\b(?:what's|what is) your (?:preference|call|pick)\b|\bi want your call\b"),
        (_STRONG, r"(?:^|[\s(*])options? (?:a|b|1|2)\b[^\n]*(?:\n[^\n]*){0,12}?options? (?:b|c|2|3)\b"),
        (_STRONG, r"\bi(?:'d| would)? recommend (?:option|approach|going with)\b|\bi'll go with\b|\bwe (?:could|can) (?:either )?[^.?\n]{3,90}\bor (?:we |instead |just )"),
        (_STRONG, r"\bdecisions? (?:for you|that needs? your|needed from you)\b|\byour call\b(?! on)"),
        (_MEDIUM, r"\b(?:want (?:me to|those|these|this|that|it|to)|would you (?:like|prefer|rather)|do you want|do we|should (?:i|we)|shall (?:i|we)|prefer)\b[^?\n]{3,220}(?:,| —|;) or\b[^?\n]{2,160}\?"),
        (_WEAK, r"\?\s*\(?or (?:would|should|do|scope|keep|leave|want|is)\b[^?\n]{0,120}\?"),
        (_MEDIUM, r"\balternatively\b|\btrade-?offs?\b|\bon the other hand\b|\bpros and cons\b"),
        (_MEDIUM, r"\bmy (?:recommendation|rec)\b|\bi(?:'d| would) recommend\b|\bi have a recommendation\b|\bcleaner choice\b|\bopen (?:decision|fork)\b"),
        (_WEAK, r"\beither\b[^.\n]{2,80}\bor\b|\bif you'd (?:rather|prefer)\b|\bversus\b|\bvs\.? "),
    ),
    TriggerType.CONSTRAINT_DISCOVERED: (
        (_STRONG, r"\broot cause\b|\bthe culprit\b|\bsmoking gun\b|\bshow-?stopper\b|\bhard (?:limit|blocker|constraint)\b"),
        (_STRONG, rf"\b(?:won't|won’t|will not|can't|cannot|does{_NOT}|would{_NOT}) (?:be |ever )?work\w* (?:because|since|as|here|with)\b"),
        (_STRONG, r"\bblocked (?:by|on)\b|\b(?:separate |two |real |hard )blockers?\b|\b(?:known|fundamental|real|hard|inherent) limitation\b|\blimitation (?:is|of)\b"),
        (_STRONG, r"\b(?:dependency|version|real|import) conflict\b|\bincompatible with\b|\bstructurally insufficient\b"),
        (0.65, r"\b(?:the|core|real|actual|main|underlying) (?:issue|problem|bug|catch|crux) (?:is|was)\b|\bissue is that\b"),
        (0.65, rf"\b(?:do|does|did|is|are|was){_NOT} (?:natively |actually |yet )?(?:support|allow|expose|provide|possible|accessible|available|implemented|recoverable|being passed|scope|keep|honou?r|scan)\w*"),
        (0.65, r"\bnot (?:yet )?(?:possible|supported|implemented|recoverable)\b|\b(?:there's|there is|there was) no (?:existing |separate )?(?:way|path|support|api)\b"),
        (_MEDIUM, r"\bbecause (?:\w+ ){0,4}(?:can't|cannot|doesn't|does not|isn't|never|only)\b|\bonly (?:reads|scans|works|supports|handles|writes)\b"),
        (_MEDIUM, r"\bkey (?:insight|constraint|clue)\b|\bfound (?:it|the (?:issue|bug|problem|cause))\b|\bload-bearing\b|\bone-way\b|\bread-only\b|\bturns out\b"),
        (_WEAK, r"\black(?:s|ing)?\b|\bfail(?:s|ed|ing)? (?:silently|because)\b|\brequires? (?:a |an )?(?:newer|older|different)\b|\bwrong\b|\bnever (?:fires|runs|logs|reaches|called)\b"),
    ),
    TriggerType.SYNTHESIS: (
        (_STRONG, r"\bin (?:summary|conclusion)\b|\bto (?:summari[sz]e|conclude|sum up)\b|\bputting (?:this|it|these|that)(?: all)? together\b|\btl;?dr\b|\bthe bottom line\b"),
        (_STRONG, r"\bhere(?:'s|’s| is| are) (?:(?:a|an|the|my|your|our) )?(?:\w+[ -]){0,3}(?:summary|review|diagnosis|verdict|recap|assessment|analysis|findings|conclusion|situation|breakdown)\b"),
        (_STRONG, r"\bhere(?:'s|’s| is) (?:exactly )?(?:what (?:i |was |was\b|changed|landed|happened|it|the|you|we)|where (?:we|things))|\bwhere (?:things stand|we (?:are|stand))\b"),
        (_STRONG, r"(?m)^#{1,4} (?:\W )?(?:summary|overview|conclusion|changes|what (?:changed|was|i|the|happened)|line-by-line|code review|unit test|verdict|results|findings|plan verdict)\b"),
        (_STRONG, r"\bsummary of (?:what|the|all|changes)\b|\bto recap\b|\boverall verdict\b|\bthe honest conclusion\b|\bwhat the \w+ (?:proved|showed|told us)\b"),
        (_STRONG, r"(?m)^\W*(?:what (?:was (?:added|changed|wrong|happening|missing)|changed)|changes? made|fixes made|results?|benefits|new decisions)\b[^\n]{0,40}:?"),
        (0.65, r"\b(?:fixed|all (?:fixes|corrections|changes|items?|\d+ items) (?:are|applied)|everything builds|both (?:fixes|changes|corrections|bugs?)(?: \w+)? (?:are|were|fixed))\b"),
        (_MEDIUM, r"\A\W*(?:done|fixed|confirmed|all|both|created|recorded|renamed|updated|build|linter|lint|tests?|chunk|phase|outstanding|that's)\b"),
        (_MEDIUM, r"\b(?:all|full|\d+) (?:\w+ ){0,3}tests? (?:suite )?(?:all )?pass\b|\blint(?:er)? (?:is )?(?:clean|passes)\b|\bare (?:now )?(?:done|complete)\b|\bis (?:now )?complete\b"),
        (_WEAK, r"\bso\b[^.\n]{3,80}\bis (?:the|already) (?:correct|right)\b|\bno (?:code )?changes? needed\b|\b(?:the|net) result\b|\bnet:|\bthis works because\b"),
    ),
}  # fmt: skip
_COMPILED = {
    kind: [(weight, re.compile(pattern, re.I)) for weight, pattern in phrases] for kind, phrases in _PHRASES.items()
}

_LIST_ITEM = re.compile(r"(?m)^ {0,4}(?:[-*•] |\d{1,2}[.)] |\|[^\n]*\|[ \t]*$|#{1,4} )")
# Work that goes on: the message is a step, whatever it has reached so far.
_GOES_ON = re.compile(
    r"(?:\b(?:let me|let's|i'll|i’ll|now (?:i|the|add|fix|let)|first,? (?:let|i|the)|next,|final (?:gate|check|confirmation))\b"
    r"[^.!?\n]{0,240}[.:]?|:)\s*\Z",
    re.I,
)
_META = re.compile(r"\bcheckpoints?\b|\bautosav\w*|\bpre-?compact\b|\bstop hooks?\b|\btrigger (?:detect|phrase|pattern)\w*", re.I)
_REQUEST = re.compile(
    r"\A\W*(?:(?:ok(?:ay)?|please|pls|hey|now|and|so|yes|great|good|sage|claude|can you|could you|let's|lets)\W+){0,3}"
    r"(?:(?:(?:make|create|take|do|save|write|set) (?:a |the |this |another )?)?check ?point(?: (?:this|that|it|now|here|please|us|our (?:work|progress)|everything))?"
    r"|save (?:this|that|(?:the |this |our |my |your )?(?:progress|state|session|context|checkpoint|work|conclusions?|findings)))"
    r"(?: (?:now|please|here|first|for (?:later|me|now)|so far))?\W*\Z",
    re.I,
)  # fmt: skip


def linguistic_score(kind: TriggerType, text: str) -> float:
    """How surely the prose of a message says that it is of `kind`: 0 to 1."""
    region = _ends(text)
    missing = 1.0
    for weight, pattern in _COMPILED[kind]:
        if pattern.search(region):
            missing *= 1 - weight
    if kind is TriggerType.SYNTHESIS and missing < 1:
        # A conclusion draws several things together, and ends.
        items = len(_LIST_ITEM.findall(text[:4000]))
        if items >= 2 or len(text) > 900:
            missing *= 0.6
        elif len(text) < 300:
            missing = 1 - (1 - missing) * 0.6
        if _GOES_ON.search(text[-260:].rstrip()) and not (items >= 3 and len(text) > 900):
            missing = 1 - (1 - missing) * 0.5
    return round(1 - missing, 3)


def is_request_to_save(text: str) -> bool:
    """Whether a user's message asks for a checkpoint and for nothing else."""
    return len(text) < 200 and len(text.split()) <= _MAX_REQUEST_WORDS and _REQUEST.match(text) is not None


def is_about_saving(text: str) -> bool:
    """Whether a message talks about checkpoints and hooks, and so uses their words without meaning them."""
    return len(_META.findall(text[:8000])) >= 2


def _ends(text: str) -> str:
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}\n{text[-_END:]}"
