"""What a message says in words about its own role: a choice, a limit that was met, a conclusion, a new topic, "save".

Real agents hardly ever use the phrases of the books ("in conclusion"), so each kind has those and the ones of real
sessions ("here's what changed", "the root cause is", "which do you want?"). A phrase has a weight; several raise the
score as independent evidence does. Only the beginning and the end of a message count: conclusions and questions stand
there, and a long review has a phrase of every kind somewhere.
"""

from __future__ import annotations

import re

from sage_code.continuity.triggers.values import TriggerType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Characters at either end of a message that are searched.
_BEGINNING, _END = 700, 700
# Characters at the end in which a choice is put as a question.
_ASKED = 300
# A user's request to save is short; longer messages only mention the word.
_MAX_REQUEST_WORDS = 8

_STRONG, _MEDIUM, _WEAK = 0.8, 0.5, 0.3
_NOT = r"(?:n't|n’t| not| never)"

# Weight, words of which the text has one (a pattern is compiled only then: all of them take 25 ms), pattern.
_PHRASES: Mapping[TriggerType, Iterable[tuple[float, str, str]]] = {
    TriggerType.TOPIC_SHIFT: (
        (0.75, "move on|turn|switch|pivot", r"\b(?:let's|let us|lets) (?:now )?(?:move on|turn|switch|pivot) to\b"),
        (0.75, "moving on|turning|switching", r"\bmoving on to\b|\bturning (?:now )?to\b|\bswitching (?:gears|topics?|to a different)\b"),
        (0.75, "topic|subject|note", r"\bchang(?:e|ing) (?:the )?(?:topics?|subject)\b|\bon (?:a|an) (?:different|unrelated|new|another) (?:note|topic|subject)\b"),
        (0.6, "topic|subject|question|issue|thing|new task", r"\b(?:different|unrelated|another|separate) (?:topic|subject|question|issue|thing)(?: now)?[:.,…—-]|\bnew (?:topic|subject|task)\b"),
    ),
    TriggerType.BRANCH_POINT: (
        (_STRONG, "approaches|options|alternatives|ways|choices|routes|forks", r"\b(?:two|three|four|several|a few|couple of|competing) (?:\w+ )?(?:approaches|options|alternatives|ways (?:to|we|forward)|choices|routes|forks)\b"),
        (_STRONG, "which ", r"\bwhich (?:one |way |key|option|approach|of (?:these|the)|direction|do you|would you)[^.?\n]{0,120}\?"),
        (_STRONG, "your ", r"\b(?:what's|what is) your (?:preference|call|pick)\b|\b(?:want|need) your (?:call|pick|decision)\b|\byour (?:call|pick)\?|\bpreference call\b"),
        (_STRONG, "option", r"(?:^|[\s(*])options? (?:a|b|1|2)\b[^\n]*(?:\n[^\n]*){0,12}?options? (?:b|c|2|3)\b"),
        (_STRONG, "recommend|go with|we could|we can", r"\bi(?:'d| would)? recommend (?:\W{0,2})(?:option|approach|going with)\b|\bi'll go with\b|\bwe (?:could|can) (?:either )?[^.?\n]{3,90}\bor (?:we |instead |just )"),
        (_STRONG, "decision", r"\bdecisions? (?:for you|that needs? your|needed from you|i want|i need)\b|\b(?:genuine|real|open) decisions?\b"),
        (0.65, ", or|; or|— or", r"\b(?:want|would you|do you|do we|should (?:i|we)|shall (?:i|we)|prefer|preference|where do you)\b[^?\n]{3,260}(?:,| —|;) or\b[^?\n]{2,200}\?"),
        (_MEDIUM, "? or|? (or|?\nor|?\n\nor", r"\?\s*\(?or (?:would|should|do|scope|keep|leave|want|is)\b[^?\n]{0,160}\?"),
        (_MEDIUM, "want|prefer|should", r"\b(?:want|prefer|should we|should i)\b[^?\n]{1,60} or [^?\n]{1,60}\?"),
        (_MEDIUM, "alternatively|trade|other hand|pros and", r"\balternatively\b|\btrade-?offs?\b|\bon the other hand\b|\bpros and cons\b"),
        (_MEDIUM, "my rec|recommend|cleaner choice|lean", r"\bmy (?:recommendation|rec)\b|\bi(?:'d| would) recommend\b|\bi have a recommendation\b|\bcleaner choice\b|\bi(?:'d|'m)? lean(?:ing)?\b"),
        (_WEAK, "either|if you'd|versus|vs|what do you think", r"\beither\b[^.\n]{2,80}\bor\b|\bif you'd (?:rather|prefer)\b|\bversus\b|\bvs\.? |\bwhat do you think\?"),
    ),
    TriggerType.CONSTRAINT_DISCOVERED: (
        (_STRONG, "root cause|culprit|smoking gun|showstop|show-stop|hard ", r"\broot cause\b|\bthe culprit\b|\bsmoking gun\b|\bshow-?stopper\b|\bhard (?:limit|blocker|constraint)\b"),
        (_STRONG, "work", rf"\b(?:won't|won’t|will not|can't|cannot|does{_NOT}|would{_NOT}) (?:be |ever )?work\w* (?:because|since|as|here|with)\b"),
        (_STRONG, "blocked|blocker|limitation", r"\bblocked (?:by|on)\b|\b(?:separate |two |real |hard )blockers?\b|\b(?:known|fundamental|real|hard|inherent) limitation\b|\blimitation (?:is|of)\b"),
        (_STRONG, "conflict|incompatible|structurally", r"\b(?:dependency|version|real|import) conflict\b|\bincompatible with\b|\bstructurally insufficient\b"),
        (0.65, "issue|problem|bug|catch|crux", r"\b(?:the|core|real|actual|main|underlying) (?:issue|problem|bug|catch|crux) (?:is|was)\b|\bissue is that\b"),
        (0.65, "support|allow|expose|provid|possib|accessib|availab|implement|recoverab|passed|scop|keep|hono|scan", rf"\b(?:do|does|did|is|are|was){_NOT} (?:natively |actually |yet )?(?:support|allow|expose|provide|possible|accessible|available|implemented|recoverable|being passed|scope|keep|honou?r|scan)\w*"),
        (0.65, "possible|supported|implemented|recoverable|there's no|there is no|there was no", r"\bnot (?:yet )?(?:possible|supported|implemented|recoverable)\b|\b(?:there's|there is|there was) no (?:existing |separate )?(?:way|path|support|api)\b"),
        (_MEDIUM, "because|only ", r"\bbecause (?:\w+ ){0,4}(?:can't|cannot|doesn't|does not|isn't|never|only)\b|\bonly (?:reads|scans|works|supports|handles|writes)\b"),
        (_MEDIUM, "key |found |load-bearing|one-way|read-only|turns out", r"\bkey (?:insight|constraint|clue)\b|\bfound (?:it|the (?:issue|bug|problem|cause))\b|\bload-bearing\b|\bone-way\b|\bread-only\b|\bturns out\b"),
        (_WEAK, "lack|fail|require|wrong|never", r"\black(?:s|ing)?\b|\bfail(?:s|ed|ing)? (?:silently|because)\b|\brequires? (?:a |an )?(?:newer|older|different)\b|\bwrong\b|\bnever (?:fires|runs|logs|reaches|called)\b"),
    ),
    TriggerType.SYNTHESIS: (
        (_STRONG, "summar|conclu|to sum up|together|tl;dr|tldr|bottom line", r"\bin (?:summary|conclusion)\b|\bto (?:summari[sz]e|conclude|sum up)\b|\bputting (?:this|it|these|that)(?: all)? together\b|\btl;?dr\b|\bthe bottom line\b"),
        (_STRONG, "here's|here’s|here is|here are", r"\bhere(?:'s|’s| is| are) (?:(?:a|an|the|my|your|our) )?(?:\w+[ -]){0,3}(?:summary|review|diagnosis|verdict|recap|assessment|analysis|findings|conclusion|situation|breakdown)\b"),
        (_STRONG, "here's|here’s|here is|where things|where we", r"\bhere(?:'s|’s| is) (?:exactly )?(?:what (?:i |was |was\b|changed|landed|happened|it|the|you|we)|where (?:we|things))|\bwhere (?:things stand|we (?:are|stand))\b"),
        (_STRONG, "#", r"(?m)^#{1,4} (?:\W )?(?:summary|overview|conclusion|changes|what (?:changed|was|i|the|happened)|line-by-line|code review|unit test|verdict|results|findings|plan verdict)\b"),
        (_STRONG, "summary of|recap|verdict|conclusion|what the", r"\bsummary of (?:what|the|all|changes)\b|\bto recap\b|\boverall verdict\b|\bthe honest conclusion\b|\bwhat the \w+ (?:proved|showed|told us)\b"),
        (_STRONG, "what |change|fixes made|result|benefits|new decisions", r"(?m)^\W*(?:what (?:was (?:added|changed|wrong|happening|missing)|changed)|changes? made|fixes made|results?|benefits|new decisions)\b[^\n]{0,40}:?"),
        (0.65, "fixed|all fixes|all corrections|all changes|item|everything builds|both ", r"\b(?:fixed|all (?:fixes|corrections|changes|items?|\d+ items) (?:are|applied)|everything builds|both (?:fixes|changes|corrections|bugs?)(?: \w+)? (?:are|were|fixed))\b"),
        (_MEDIUM, "", r"\A\W*(?:done|fixed|confirmed|all|both|created|recorded|renamed|updated|build|linter|lint|tests?|chunk|phase|outstanding|that's)\b"),
        (_MEDIUM, "pass|lint|done|complete", r"\b(?:all|full|\d+) (?:\w+ ){0,3}tests? (?:suite )?(?:all )?pass\b|\blint(?:er)? (?:is )?(?:clean|passes)\b|\bare (?:now )?(?:done|complete)\b|\bis (?:now )?complete\b"),
        (_WEAK, "correct|right|changes needed|change needed|result|net:|works because", r"\bso\b[^.\n]{3,80}\bis (?:the|already) (?:correct|right)\b|\bno (?:code )?changes? needed\b|\b(?:the|net) result\b|\bnet:|\bthis works because\b"),
    ),
}  # fmt: skip
_LIST_ITEM = r"(?m)^ {0,4}(?:[-*•] |\d{1,2}[.)] |\|[^\n]*\|[ \t]*$|#{1,4} )"
# Work that goes on: the message is a step, whatever it has reached so far.
_GOES_ON = (
    r"(?i)(?:\b(?:let me|let's|i'll|i’ll|now (?:i|the|add|fix|let)|first,? (?:let|i|the)|next,|final (?:gate|check|confirmation))\b"
    r"[^.!?\n]{0,240}[.:]?|:)\s*\Z"
)
_META = r"(?i)\bcheckpoints?\b|\bautosav\w*|\bpre-?compact\b|\bstop hooks?\b|\btrigger (?:detect|phrase|pattern)\w*"
_REQUEST = (
    r"(?i)\A\W*(?:(?:ok(?:ay)?|please|pls|hey|now|and|so|yes|great|good|sage|claude|can you|could you|let's|lets)\W+){0,3}"
    r"(?:(?:(?:make|create|take|do|save|write|set) (?:a |the |this |another )?)?check ?point(?: (?:this|that|it|now|here|please|us|our (?:work|progress)|everything))?"
    r"|save (?:this|that|(?:the |this |our |my |your )?(?:progress|state|session|context|checkpoint|work|conclusions?|findings)))"
    r"(?: (?:now|please|here|first|for (?:later|me|now)|so far))?\W*\Z"
)  # fmt: skip


def linguistic_score(kind: TriggerType, text: str) -> float:
    """How surely the prose of a message says that it is of `kind`: 0 to 1."""
    region = _ends(text)
    lowered = region.lower()
    missing = 1.0
    for weight, words, pattern in _PHRASES[kind]:
        if any(word in lowered for word in words.split("|")) and re.search(pattern, region, re.IGNORECASE):
            missing *= 1 - weight
    if kind is TriggerType.BRANCH_POINT and "?" not in text[-_ASKED:] and not text.rstrip("* \n").endswith(":"):
        # Ways that nobody is asked about are mentioned, not open.
        missing = 1 - (1 - missing) * 0.7
    if kind is TriggerType.SYNTHESIS and missing < 1:
        # A conclusion draws several things together, and ends.
        items = len(re.findall(_LIST_ITEM, text[:4000]))
        if items >= 2 or len(text) > 900:
            missing *= 0.6
        elif len(text) < 300:
            missing = 1 - (1 - missing) * 0.6
        if re.search(_GOES_ON, text[-260:].rstrip()) and not (items >= 3 and len(text) > 900):
            missing = 1 - (1 - missing) * 0.5
    return round(1 - missing, 3)


def is_request_to_save(text: str) -> bool:
    """Whether a user's message asks for a checkpoint and for nothing else."""
    if len(text) > 200 or len(text.split()) > _MAX_REQUEST_WORDS:
        return False
    lowered = text.lower()
    return ("save" in lowered or "check" in lowered) and re.match(_REQUEST, text) is not None


def is_about_saving(text: str) -> bool:
    """Whether a message talks about checkpoints and hooks, and so uses their words without meaning them."""
    text = text[:8000].lower()
    if not any(word in text for word in ("checkpoint", "autosav", "compact", "hook", "trigger")):
        return False
    return len(re.findall(_META, text)) >= 2


def _ends(text: str) -> str:
    return text if len(text) <= _BEGINNING + _END else f"{text[:_BEGINNING]}\n{text[-_END:]}"
