"""What a message says in words about its own role: a choice, a limit that was met, a conclusion, a new topic, "save".

Real agents hardly ever use the phrases of the books ("in conclusion"), so each kind has those and the ones of real
sessions ("here's what changed", "the root cause is", "which do you want?"). New topics and choices are told by phrases:
each has a weight, and several raise the score as independent evidence does. Limits and conclusions are told by weak
signs that are weighed together: negations and reasons, lists and finished work. Only the beginning and the end of a
message count: conclusions and questions stand there, and a long review has a phrase of every kind somewhere.
"""

from __future__ import annotations

import math
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
}  # fmt: skip
# Limits and conclusions are rarely said in one phrase; several weak signs of them are. Each is the log odds that it adds,
# how often at most it counts, the words of which the text has one, and a pattern; the first number is where the score is
# 0.5. They were set by hand after a logistic regression over 400 hand-read messages.
_SIGNALS: Mapping[TriggerType, tuple[float, Iterable[tuple[float, int, str, str]]]] = {
    TriggerType.CONSTRAINT_DISCOVERED: (1.7, (
        # The thing by its name.
        (2.3, 2, "root|culprit|gun|stopper|breaker|block|limit|constraint|conflict|incompatible|infeasible|insufficient",
         (r"\broot cause\b|\bculprit\b|\bsmoking gun\b|\bshow-?stopper\b|\bdeal-?breaker\b|\bblocked (?:by|on)\b|\b(?:hard|real|separate|two|the) blockers?\b"
         r"|\b(?:hard|key|real|known|fundamental|inherent) (?:limit|limitation|constraint)s?\b|\blimitation (?:is|of)\b"
         r"|\b(?:dependency|version|real|import) conflict\b|\bincompatible with\b|\binfeasible\b|\bstructurally insufficient\b")),
        (2.2, 1, "issue|problem|bug|cause|catch|crux|smell|defect|wrinkle|gotcha|snag|risk|insight|realization|legitimate",
         (r"\b(?:real|actual|core|underlying|legitimate|genuine|concrete|main|true|key|critical) (?:\w+ )?(?:issues?|problems?|bugs?|causes?|smells?|defects?|risks?|insight|realization)\b"
         r"|\b(?:the|one|another) (?:\w+ )?(?:issue|problem|bug|catch|cause|wrinkle|gotcha|snag)(?: here)?(?: is|:| was)|\bissue is that\b|\banother legitimate\b"
         r"|\bthat(?:'s|’s| is) (?:the|a|exactly the) (?:\w+ )?(?:issue|problem|bug|cause|catch|smell)\b")),
        # What cannot be.
        (1.7, 1, "n't|n’t|not|cannot|impossible|unable|no way",
         (r"\b(?:do|does|did|is|are|was)(?:n't|n’t|\W{1,4}not\W{0,3}) (?:natively |actually |yet |even |currently |ever )?"
         r"(?:support|allow|expose|provide|possible|accessible|available|implemented|recoverable|being|scope|keep|honou?r|scan|reach|carry|handle|propagat|persist|watch|focus)\w*"
         r"|\bnot (?:yet )?(?:possible|supported|recoverable)\b|\bimpossible\b|\bunable to\b|\b(?:there's|there is) no way\b"
         r"|\b(?:won't|won’t|can't|can’t|cannot|couldn't|wouldn't|will not) (?:be |ever )?(?:work|reach|see|heal|inject|load|resume|accessible|tell|access|import|compile|resolve)\w*")),
        (0.5, 2, "n't|n’t|not|never|no |none|anywhere",
         (r"\b(?:ca|wo|could|would|do|does|did|is|are|was)n['’]t\b(?! (?:need|want|matter|affect|enforced))|\bcannot\b|\b(?:can|will|does|do|is)\W{1,4}not\b|\bnever\b"
         r"|\b(?:there's|there is|there was|has|have|with) (?:\W{0,2})no\b|\banywhere\b|\bnone\b")),
        # Why, and what follows.
        (0.6, 1, "because|since|so |means|but |while|and ",
         r"\b(?:because|since|so|which means|but|and|while)\b[^.\n]{0,80}(?:n['’]t\b|\b(?:not|never|cannot|no|none|only|empty|lost|discarded)\b)"),
        (1.0, 1, "because|since|fail|why|work|turns out|reason|unfortunately|prevent|preclude|rules out",
         (r"\b(?:wo|ca|does|did|would|is|could)n['’]t (?:\w+ ){1,5}(?:because|since)\b|\bfail(?:s|ed|ing)? (?:silently|because|since|when|only|with)\b|\bthat(?:'s|’s) why\b|\b(?:won't|will not|can't|cannot|does not) work\w*\b"
         r"|\bturns out\b|\bthe (?:actual |real )?reason (?:is|was)\b|\bunfortunately\b|\bprevent(?:s|ed)\b|\bprecludes?\b|\brules? out\b")),
        (1.0, 1, "only |must |has to|one-way|-only|hard-cod|hardcod|forces|one way",
         (r"\bonly (?:\W{0,3})(?:reads|scans|works?|supports|handles|writes|filters|watches|checks|fires|runs|when|if|sees|returns|knows|captured)\b"
         r"|\bmust\b|\bhas to\b|\bforces\b|\bone-way\b|\b(?:write|read)-only\b|\bhard-?coded\b")),
        (0.3, 2, "lost|discard|thrown|ignor|strand|clobber|break|broke|fail|mismatch|collid|wrong|leak|crash|forever|permanent|silent|starv|stuck|hang|deadlock|clos|reject|lack",
         (r"\b(?:lost|discard(?:s|ed)?|thrown away|ignor(?:ed|es)|strand\w*|clobber\w*|breaks?|broken|fail(?:s|ed|ing)?|mismatch\w*|collid\w*|wrong|leaks?|crash\w*"
         r"|forever|permanently|silently|starv\w*|stuck|hangs?|deadlock\w*|closed|closes|reject\w*|lack(?:s|ing)?)\b")),
        # The way in which it is told: "Found it: … The fix is to …".
        (1.4, 1, "found|i see|there it is|confirmed|decoded|diagnosed|explains|this is|real",
         r"\A\W{0,12}(?:(?:ah|ok|now|wait|hm+)\W{1,4}){0,3}(?:found (?:it|the)|i see (?:the (?:issue|problem|bug)|what|now)|there it is|confirmed[.:]|decoded|diagnosed|that explains|this is the (?:key|bug|issue|problem)|(?:two|three) real)"),
        (1.0, 1, "fix", r"\b(?:the|right|correct|cleanest?|proper|real) fix (?:is|was|here)\b|\b(?:the|right|proper) fix:"),
        # What is finished, harmless, reviewed or planned.
        (-0.7, 1, "done|fixed|all|both|build|good|clean|test|lint|perfect|great", r"\A\W{0,12}(?:done|fixed|all|both|build|good|clean|tests?|lint|perfect|great)\b"),
        (-1.0, 1, "✅|⚠|review|pre-existing|expected|harmless|plan", r"✅|⚠|\breview\b|\bpre-existing\b|\bexpected\b|\bharmless\b|\bimplementation plan\b"),
    )),
    TriggerType.SYNTHESIS: (3.4, (
        (2.4, 1, "summar|conclu|sum up|together|tl;dr|tldr|bottom line|recap|verdict|in short|net |here's|here’s|here is|here are|where things|where we",
         (r"\bin (?:summary|conclusion|short)\b|\bto (?:summari[sz]e|conclude|sum up|recap)\b|\bputting (?:this|it|these|that)(?: all)? together\b|\btl;?dr\b|\bbottom line\b"
         r"|\bsummary of (?:what|the|all|changes)\b|\boverall verdict\b|\bhonest conclusion\b|\bnet (?:effect|result)\b|\bwhere (?:things stand|we (?:are|stand|landed))\b"
         r"|\bhere(?:'s|’s| is| are) (?:(?:a|an|the|my|your|our) )?(?:\w+[ -]){0,3}(?:summary|review|diagnosis|verdict|recap|assessment|analysis|findings|conclusion|situation|breakdown|answer)\b"
         r"|\bhere(?:'s|’s| is) (?:exactly )?(?:what(?:'s|’s| is) (?:happening|going on)|what (?:i (?!'d|’d|would|propose|plan)|was\b|changed|landed|happened|it|the|you|we)|where (?:we|things))")),
        (1.6, 1, "#|*|what |what's|change|fix|result|benefit|decision|finding|summary",
         (r"(?m)^[^\w\-]{0,12}(?:summary|overview|conclusion|changes?(?! needed)|what (?:changed|landed|was|i|the|happened|actually|remains)|what['’]s (?:left|new|in|done|happening|changed)|where we landed"
         r"|line-by-line|code review|unit test|verdict|results?|findings|plan verdict|fixes made|benefits|(?:new|locked) decisions)\b")),
        (1.0, 1, "pass|clean|green|ok|0 issues|succe",
         r"\b(?:builds?|lint(?:er)?|tests?|suite|typecheck|tsc|vet)\b[^.\n]{0,40}\b(?:clean|pass(?:es|ed|ing)?|green|ok|succeeds?)\b|\b0 issues\b|\beverything builds\b"),
        (0.9, 2, "is |are |was |were |all |both |now ",
         (r"\b(?:is|are|was|were) (?:now |both |all |already )?(?:in|implemented|done|complete|wired|recorded|closed|settled|locked|resolved|gone|fixed|updated|captured|in place|proven|verified"
         r"|eliminated|removed|added|correct|safe|intact|viable|sound|consistent)\b|\b(?:all|both) (?:fixes|corrections|changes|items?|bugs|\d+ \w+) (?:\w+ )?(?:are|were|applied|fixed|proven)\b")),
        (1.2, 1, "done|fixed|all|both|created|recorded|renamed|updated|build|lint|test|chunk|phase|outstanding|that's|verified|locked|success|audit|answer|remove|captured|proven|landed|complete",
         (r"\A\W{0,12}(?:(?:done|fixed|all|both|created|recorded|renamed|updated|build|linter|lint|chunk|phase|outstanding|that's a|verified|locked|success|audit|clear answer)\b"
         r"|(?:\S+ ){0,4}(?:removed|captured|recorded|renamed|proven|verified|landed|complete)\b)")),
        (0.8, 1, "caveat|worth |one thing|one note|for context|so |means|no changes|no code|net:|works because|recommendation",
         r"\bcaveats?\b|\bworth (?:noting|flagging|knowing)\b|\bone (?:thing|note|judgment call)\b|\bfor context\b|(?:^|\. |\n)\W{0,6}so\b|\b(?:that|which|this) means\b|\bno (?:code )?changes? needed\b|\bnet:|\bthis works because\b|\bmy recommendation\b"),
        (0.6, 1, "want |shall i|say the word|let me know|ready |re-run|try |if you'd", r"\bwant (?:me )?to\b|\bshall i\b|\bsay the word\b|\blet me know\b|\bready (?:when|to|for)\b|\bre-run\b|\bgive it a\b|\bif you'd\b"),
        # Work to come: a step, or a plan.
        (-0.5, 2, "i'll|i’ll|let me|going to", r"\bi['’]ll\b|\blet me\b(?! know)|\bgoing to\b"),
        (-1.3, 1, "propos|plan|roadmap|phasing|changes needed", r"\bi(?:'d|’d| would| will)? propos(?:e|ing)\b|\bhere(?:'s|’s| is) (?:my|the|a) (?:\w+ )?(?:plan|approach|phasing|roadmap)\b|\bimplementation plan\b|\bchanges needed:"),
    )),
}  # fmt: skip
# What the shape of a message adds to a conclusion: lists of at least so many items, so many characters, work that goes on.
_ITEMS = ((2, 1.8), (4, 0.9))
_LENGTHS = ((350, 0.7), (600, 0.5))
_UNFINISHED = -1.3
# Characters at the end whose shape counts: a whole exchange may be given as one message.
_SHAPED = 2500
# A long message has a sign of everything somewhere.
_LONG, _TOO_LONG = 1400, -0.5
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
    if kind in _SIGNALS:
        return _weighed(kind, text)
    region = _ends(text)
    lowered = region.lower()
    missing = 1.0
    for weight, words, pattern in _PHRASES[kind]:
        if any(word in lowered for word in words.split("|")) and re.search(pattern, region, re.IGNORECASE):
            missing *= 1 - weight
    if kind is TriggerType.BRANCH_POINT and "?" not in text[-_ASKED:] and not text.rstrip("* \n").endswith(":"):
        # Ways that nobody is asked about are mentioned, not open.
        missing = 1 - (1 - missing) * 0.7
    return round(1 - missing, 3)


def _weighed(kind: TriggerType, text: str) -> float:
    """The score by many signs, each of which is weak; 0 if there is none of them."""
    region = _ends(text)
    lowered = region.lower()
    middle, signals = _SIGNALS[kind]
    total = 0.0
    is_said = False
    for weight, most, words, pattern in signals:
        if any(word in lowered for word in words.split("|")):
            count = len(re.findall(pattern, region, re.IGNORECASE))
            total += weight * min(most, count)
            is_said |= count > 0 and weight > 0
    if not is_said:
        return 0.0
    if kind is TriggerType.SYNTHESIS:
        shaped = text[-_SHAPED:]
        items = len(re.findall(_LIST_ITEM, shaped))
        total += sum(weight for least, weight in _ITEMS if items >= least)
        total += sum(weight for least, weight in _LENGTHS if len(shaped) > least)
        if re.search(_GOES_ON, text[-260:].rstrip()):
            total += _UNFINISHED
    elif len(text) > _LONG:
        total += _TOO_LONG
    return round(1 / (1 + math.exp(middle - total)), 3)


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
