"""Words by which a sentence shows what it is: a decision, a finding, an instruction, a question that is put off.

Checkpoints (`continuity/notes.py`) and summaries judge by the same cues. Only `re` is imported, because hooks come
through here.
"""

from __future__ import annotations

import re

# What an agent says about its next step is no conclusion.
NARRATION = re.compile(
    r"^(?:(?:now|ok(?:ay)?|good|great|perfect|excellent|alright|next|first|then|also|and|so|but|hmm|wait)\b"
    r"[,.!:; —-]*)*"
    r"(?:let me|let's (?:check|look|see|run|read|start|verify|also|now|take)|i(?:'ll| will| need to|'m going to| am "
    r"going to) (?:now |also |first |start|check|look|read|explore|examine|search|review|run|verify|continue|begin|"
    r"create|update|write|add|fix|make|take|find|investigate|analy[sz]e)|i (?:now )?have (?:a|enough|everything|all))",
    re.IGNORECASE,
)
DECISION = re.compile(
    r"\b(?:decid(?:ed|e|ing)|decision|chose|chosen|choose|go(?:ing)? with|went with|opt(?:ed)? for|settled? on|"
    r"instead of|rather than|switch(?:ed|ing)? to|we(?:'ll| will| should| agreed)|agreed|"
    r"the (?:fix|solution|approach|plan|design|"
    r"right (?:way|place|thing|call)|idea|convention|rule) (?:is|was|will be)|best (?:option|approach|way)|simplest|"
    r"recommend(?:ation|ed)?|prefer(?:red)?|so that|single source of truth|keep(?:s|ing)? \w+ (?:as|in)|move[ds]? to|"
    r"renamed?|now (?:uses?|lives?|returns?|goes))\b",
    re.IGNORECASE,
)
RULED_OUT = re.compile(
    r"\b(?:won't work|(?:does|did)(?:n't| not) work|can(?:'t|not)|(?:is|was|are)(?:n't| not) (?:possible|supported|"
    r"available|allowed|needed|worth)|(?:does|do)(?:n't| not) (?:support|exist|have|allow|handle|need)|ruled out|reject"
    r"(?:ed|s)?|abandon(?:ed)?|revert(?:ed|ing)?|drop(?:ped)?|no longer|blocked by|showstopper|too (?:slow|expensive|"
    r"complex|risky|large|many)|limitation|unsupported|dead end|not an option|over-?engineer\w*)\b",
    re.IGNORECASE,
)
FOUND = re.compile(
    r"\b(?:root cause|the (?:real |actual |main |underlying )?(?:problem|issue|bug|reason|cause|culprit|difference|"
    r"catch|gap) (?:is|was|here)|turns out|because|the key (?:insight|point|finding|difference|thing)|confirm(?:ed|s)|"
    r"verified|this means|which means|found (?:that|it|the|a)|important(?:ly)?|in (?:short|summary|conclusion)|"
    r"tl;dr|all (?:\d+ )?tests pass|tests? (?:now )?(?:pass|fail)|works? (?:now|because|as expected)|fixed|matches|"
    r"the answer is|explains)\b",
    re.IGNORECASE,
)
INSISTS = re.compile(
    r"\b(?:don'?t|do not|never|always|must(?:n't)?|should(?:n't)?|make sure|ensure|only|please|want|need|needs|prefer|"
    r"instead|rather|keep|avoid|no longer|stop|ignore|remember|use|decided|not|no|let'?s|leave|remove|rename|move|"
    r"without|except|has to|have to|goal|focus|important)\b",
    re.IGNORECASE,
)
REASON = re.compile(r"\b(?:because|since|so that|due to|otherwise|the reason)\b", re.IGNORECASE)
NAMES_CODE = re.compile(r"`[^`\n]+`|\b\w+\.\w{1,5}\b|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+\b")
CHATTER = re.compile(
    r"^(?:ok(?:ay)?|yes|no|yep|y|sure|thanks?(?: you)?|great|perfect|nice|cool|go(?: ahead| on)?|proceed|continue|next|"
    r"do it|sounds? good|looks? good|commit(?: it)?|try again|hmm+|good|go ahead(?: and do it)?|k,? done|done|next one|"
    r"please (?:proceed|continue|do)|ok(?:ay)?,? (?:proceed|continue|go|do it|go ahead|next|thanks?))\W*$",
    re.IGNORECASE,
)
# Plainer words of a decision than those above, which also catch recommendations and plans.
DECIDED = re.compile(
    r"\b(?:decid(?:ed|e[sd]?)|decisions?|agreed|chose|chosen|settled? (?:on|for)|(?:go|going|went) with|opt(?:ed)? for|"
    r"instead of|rather than|switch(?:ed|ing)? to|let'?s (?:use|go|keep|make|do|take|meet|have|call|stick|start|drop)|"
    r"we(?:'ll| will) (?:use|keep|go|do|make|take|meet|call|have|drop|start|stick|need|only|not|never|always)|"
    r"the (?:fix|solution|approach|plan|rule|convention|decision) (?:is|will be)|from now on|it'?s a deal|"
    r"final (?:choice|answer|decision)|ruled out|no longer (?:use|need|support)|must(?:n't| not)? (?:be|not|use|never|"
    r"always))\b",
    re.IGNORECASE,
)
# What a person tells an agent to do from now on.
ORDERS = re.compile(
    r"^(?:please |and |but |also |so |then )*(?:use|keep(?! (?:up|it up|going|in touch)\b)|don'?t|do not|never|always|"
    r"make sure|ensure|avoid|leave|stick (?:to|with)|prefer|no )\b",
    re.IGNORECASE,
)
DONE = re.compile(
    r"\b(?:done|fixed|added|implemented|created|renamed|removed|changed|moved|wrote|written|updated|works? now|"
    r"pass(?:es|ed|ing)?|merged|released|completed?|finished|deployed|resolved|committed)\b",
    re.IGNORECASE,
)
NEXT = re.compile(
    r"\b(?:next|to-?do|remain\w*|still (?:need|have|miss)\w*|not yet|then we|will|should|must|plan\w*|open question|"
    r"afterwards|tomorrow|later|please|could you|can you|let's)\b",
    re.IGNORECASE,
)
# An answer that puts the question off.
DEFERS = re.compile(
    r"\b(?:(?:don'?t|do not) know|no idea|not sure|good question|(?:i'll|let me|i will|i have to) (?:check|ask|think|"
    r"look|see|get back|find out)|ask (?:him|her|them|me) later|later|we'?ll see|hard to say|who knows|tbd|"
    r"unclear|maybe)\b",
    re.IGNORECASE,
)

RULES_OUT, DECIDES, FINDS = "ruled out", "decision", "finding"
_KINDS = ((RULED_OUT, RULES_OUT), (DECISION, DECIDES), (FOUND, FINDS))
# What makes a sentence of an agent worth keeping, beside its cues; tuned on part A of `benchmarks/session_labels.txt`.
_STRESS, _ANSWER, _CODE, _WHY = 0.7, 0.6, 0.4, 0.7
LEAST_WORTH = 1.0
# "All done and verified." does not say what was done.
_SHORT, _SHORT_CHARS = 0.6, 45
_MOST_CUES = 3


def worth_of_agent(sentence: str, *, is_stressed: bool, is_answer: bool) -> tuple[float, str]:
    """How much a sentence of an agent concludes, and what kind of conclusion it is.

    What it says at the end of its work, before the person speaks again, is an answer and counts more.
    """
    count, kind = max(((len(cues.findall(sentence)), kind) for cues, kind in _KINDS), key=lambda one: one[0])
    worth = min(count, _MOST_CUES) + _STRESS * is_stressed + _ANSWER * is_answer
    worth += _CODE * bool(NAMES_CODE.search(sentence)) + _WHY * bool(REASON.search(sentence))
    return worth - _SHORT * (len(sentence) < _SHORT_CHARS), kind if count else FINDS


def worth_of_person(sentence: str, *, is_own: bool) -> float:
    """How much a sentence of a person insists; all of a short message is the person's own words. 0: not at all."""
    cues = min(len(INSISTS.findall(sentence)), _MOST_CUES)
    return cues + is_own + 0.5 * bool(REASON.search(sentence)) if cues or is_own else 0.0
