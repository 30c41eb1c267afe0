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
