"""Which facts a message takes back or replaces.

A clause is read as one or more *changes*: something ended ("I no longer play tennis", "sold the bike", "we broke up"),
was exchanged ("switched from vim to helix"), or has a new value ("I moved to Lyon", "my name is Ana, not Anna", "three
dogs now"). Each change takes back the facts that it fits: those that share its telling words, or answer the same
question. What may happen, what is wished, and what happens to others change nothing about the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sage_code.memory.context.profile.clauses import Clause, clauses_of, plain
from sage_code.memory.context.profile.subjects import (
    kinds_of,
    numbers_in,
    owner_of,
    slots_of,
    strong_words,
    telling_words,
)
from sage_code.memory.context.profile.values import Fact
from sage_code.memory.context.summary import Spoken

# Share of the words of the shorter side that a change and a fact have in common.
_SHARED_LEAST = 0.5
# A statement without a word of change takes back what it contradicts only if it is about the very same thing.
_SAME_LEAST = 0.67

_MAYBE = re.compile(
    r"\b(?:if|might|may|maybe|perhaps|could|would|wish|should|want to|wants to|wanna|hope to|hoping|plan to|planning|thinking (?:of|about)|"
    r"considering|going to|gonna|will|i'll|we'll|almost|nearly|someday|one day|dream of|try to|trying to|need to|have to|about to|"
    r"never (?:sell|quit|leave|stop|give up|move)|can't imagine|unless|before i)\b"
)
_ENDED = re.compile(
    r"\bno longer\b|\bany ?more\b|\bany longer\b|\bnot these days\b|\b(?<!am )(?<!'m )(?<!get )(?<!got )(?<!getting )(?<!are )(?<!be )used to\b"
    r"|\b(?:stopped|quit|quitting|gave up|given up|giving up|gave away|given away|sold|got rid of|gotten rid of|getting rid of|lost|died|passed away|passed on"
    r"|put (?:him|her|it|them) (?:down|to sleep)|cancel+ed|dropped|ditched|moved out|moved away from|moved on from|moved off|done with|finished with|through with|dumped"
    r"|uninstalled|deleted|threw (?:out|away)|donated|abandoned|migrated (?:off|away)|broke up|split up|got divorced|getting divorced|divorced"
    r"|separated|laid off|fired|let go|made redundant|resigned|retired|graduated|dropped out|closed down|shut down|shut it down|called off|swore off|cut out|went off|grew out of|outgrew"
    r"|totaled|totalled|wrecked|stolen|ran away|is gone|are gone|is dead|fell through|kicked the habit|turned in|handed over|stepped down|phased out|removed|left behind)\b"
    r"|\bleft (?!handed|-|over|side|hand\b|for\b)|\bover (?:my|the) .{1,30}phase\b|\bhaven't .{1,40} in (?:years|ages|months)\b|\b(?:my|the|our) .{1,30} (?:broke|expired|ended)\b"
)
_ENDED_LOVE = re.compile(
    r"\b(?:broke up|split(?:ting)? up|we split|divorced?|separated|left me|called off|dumped|ended things|single(?: again| now)|ended our|widow(?:ed|er)?)\b"
)
_BEGAN_LOVE = re.compile(
    r"\b(?:got married|get married|tied the knot|got engaged|got hitched|just married|married now|now married|is now my (?:wife|husband)|met someone|in a relationship now)\b"
)
_ENDED_JOB = re.compile(
    r"\b(?:laid off|(?:was|got|been) fired|let go|made redundant|resigned|retired|quit|left) ?(?:from )?(?:my|the|that|this|our)? ?(?:old |day |last |current )?(?:job|work|company|position|post|career|firm|employer)?\b|\blost my job\b|\bunemployed\b|\bnot working any ?more\b|\bstepped down\b|\bhanded in my notice\b|\bbetween jobs\b"
)
_ENDED_STUDY = re.compile(
    r"\b(?:graduated|dropped out|finished (?:my )?(?:degree|school|college|university|studies|phd|thesis|masters?)|got my degree|defended my)\b"
)
_STRONG_QUIT = re.compile(
    r"\b(?:laid off|fired|let go|made redundant|resigned|retired|lost my job|unemployed|quit(?: my job)?$|quit my (?:job|work)|left my (?:job|company|work)|handed in my notice|between jobs|stepped down)\b"
)
# "From A to B" and its kin: what is named first or last is gone.
_FROM = re.compile(
    r"\b(?:switch(?:ed|ing)?|mov(?:ed|ing)|migrat(?:ed|ing)|chang(?:ed|ing)|went|converted|transitioned|upgraded|downgraded|transferred)\b.{0,30}?\b(?:away )?from (?P<old>.{2,60}?)(?: (?:to|over to|onto|into) (?P<new>.+)|$)"
)
_EXCHANGED = re.compile(
    r"\b(?:replaced|swapped|traded|exchanged|substituted|gave up|ditched|dropped)\b (?:out )?(?:in )?(?P<old>.{2,60}?) (?:with|for|by|in favou?r of) (?P<new>.+)"
)
_INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of|as opposed to|over)\b (?P<old>[^,.;]{2,50})")
_NOT_THIS = re.compile(
    r"(?:,|\bbut|\band|—|-)? ?\bnot (?:in |at |a |an |the |on |from |for |as )?(?P<old>[^,.;]{2,40})$|\bnot (?P<old2>[^,.;]{2,40}?)(?:,? but |, (?:it's|it is|i'm|i am|they're|but) )"
)
_SWITCHED = re.compile(
    r"\b(?:switch(?:ed)?|converted|migrated|went|gone|moved(?: over)?|changed|upgraded|back|defected|transitioned|started using|now us(?:e|ing)|us(?:e|ing) .{1,40} now|on .{1,30} now|prefer .{1,40} now|now prefer|drink .{1,30} now|these days|nowadays)\b"
)
_NEW_VALUE = re.compile(
    r"\b(?:now|nowadays|these days|currently|recently|lately|just|finally|new|since|as of|became|become|turned|promoted|started|moved|relocated|actually|correction|"
    r"sorry|i meant|meant to say|i mean|not .{1,30} any ?more|switched|changed|in fact|update|updated|turns out|got a|got an|mistake|wrong|mixed up|misspoke|typo|legally)\b"
)
_FIX = re.compile(
    r"\b(?:actually|correction|i meant|meant to say|sorry|scratch that|misspoke|my mistake|i was wrong|that was wrong|got that wrong|typo|mixed (?:that|it|them|up)|not quite right|in fact|wait|strike that|let me correct|oops|whoops)\b"
)
_NEGATIVE = re.compile(
    r"\b(?:not|don't|doesn't|didn't|never|can't|cannot|won't|isn't|aren't|no|hate|hates|dislike|despise|can't stand|avoid|without|allergic|neither|nor|haven't|sick of|tired of|fed up)\b"
)
_PAST = re.compile(r"\bused to\b|\bno longer\b|\bany ?more\b|\bas a (?:kid|child)\b")
_MOVED_HOME = re.compile(
    r"\b(?:moved|relocated|moving)\b(?! (?:on|the|my|our|it|this|that|all|from (?:npm|vim|aws))\b)|\b(?:live|living|reside|based|settled)\b.*\b(?:now|in|at|near)\b|\bnew (?:house|home|apartment|flat|place)\b|\bbought a (?:house|home|flat|condo)\b"
)
# What somebody with a new way of eating no longer eats.
_NO_MEAT = re.compile(
    r"\b(?:vegan|vegetarian|stopped eating meat|no longer eat meat|plant[- ]based|gave up meat|quit meat|don't eat meat)\b"
)
_MEAT = frozenset(
    [
        "meat",
        "steak",
        "bacon",
        "burger",
        "chicken",
        "beef",
        "pork",
        "barbecue",
        "bbq",
        "rib",
        "sausage",
        "ham",
        "turkey",
        "wing",
        "carnivor",
    ]
)
_SAID_TWICE = frozenset({"origin", "retired", "children", "study", "diet"})


class _Change(NamedTuple):
    """What a clause does to facts."""

    gone: frozenset[str] = frozenset()  # telling words of what ended
    slots: frozenset[str] = frozenset()  # questions that have a new answer
    kinds: frozenset[str] = frozenset()  # kinds of things of which another one is used
    words: frozenset[str] = frozenset()  # everything that the clause tells
    owner: str = ""


def retired(facts: Sequence[Fact], message: Spoken, before: Sequence[Spoken] = ()) -> list[Fact]:
    """The facts that a message takes back or replaces, in their order; those that it says itself are not among them."""
    if message.role != "user":
        return []
    older = [
        fact
        for fact in facts
        if not fact.retired_by and fact.message_id != message.id and fact.said_at <= message.created_at
    ]
    if not older:
        return []
    gone: dict[str, Fact] = {}
    clauses = [clause for clause in clauses_of(message.content) if not clause.asks]
    for number, clause in enumerate(clauses):
        lowered = plain(clause.text).lower()
        if _MAYBE.search(lowered) and not re.search(r"\bno longer\b|\bany ?more\b|\bused to\b", lowered):
            continue
        context = _context(clauses[:number], message, before)
        for fact in older:
            if fact.id not in gone and _takes_back(lowered, fact, context, older):
                gone[fact.id] = fact
    return [fact for fact in older if fact.id in gone]


def _context(said: Sequence[Clause], message: Spoken, before: Sequence[Spoken]) -> str:
    """What a clause without words of its own ("Not any more.") speaks about."""
    if said:
        return said[-1].text
    for earlier in reversed(before):
        if earlier.id != message.id and earlier.role in ("user", "assistant"):
            clauses = clauses_of(earlier.content)
            asking = [clause.text for clause in clauses if clause.asks]
            return (asking or [clause.text for clause in clauses] or [""])[-1]
    return ""


def _takes_back(clause: str, fact: Fact, context: str, facts: Sequence[Fact]) -> bool:
    """Whether a clause ends, exchanges, renews or contradicts a fact."""
    text = plain(fact.text).lower()
    if _PAST.search(text) and not _PAST.search(clause):
        return False
    if not _same_owner(clause, text):
        return False
    return (
        _is_ended(clause, text, context)
        or _is_exchanged(clause, text)
        or _is_renewed(clause, text)
        or _is_contradicted(clause, text)
        or _is_fixed(clause, fact, context, facts)
    )


def _same_owner(clause: str, text: str) -> bool:
    """Whether what happens to the subject of the clause can concern the fact."""
    one, other = owner_of(clause), owner_of(text)
    if one == other:
        return True
    if _ENDED_LOVE.search(clause) and "relationship" in slots_of(text):
        return True
    # "My sister moved out" may concern "I live with my sister", not "I live in Rome".
    named = one or other
    return named in clause and named in text and bool(_ENDED.search(clause) or not one)


def _is_ended(clause: str, text: str, context: str) -> bool:
    ended = _ENDED.search(clause)
    slots = slots_of(text)
    if _ENDED_LOVE.search(clause) and "relationship" in slots and "single" not in text and "divorced" not in text:
        return not owner_of(clause) or owner_of(clause) in text or "me" in clause.split()
    if _BEGAN_LOVE.search(clause) and re.search(
        r"\b(?:single|girlfriend|boyfriend|engaged|fianc\w+|dating|wedding)\b", text
    ):
        return "wedding" not in text or "plan" in text
    if _STRONG_QUIT.search(clause) and "job" in slots and "study" not in slots:
        return True
    if _ENDED_STUDY.search(clause) and "study" in slots:
        return True
    if _NO_MEAT.search(clause) and _MEAT & set(telling_words(text)) and not _NEGATIVE.search(text):
        return True
    if not ended:
        return False
    own = _strong(clause)
    if not own and not telling_words(_ENDED.sub(" ", clause)):
        own, clause = _strong(context.lower()), context.lower()
    return _overlap(own, clause, text)


def _overlap(own: frozenset[str], clause: str, text: str, least: float = _SHARED_LEAST) -> bool:
    """Whether a clause and a fact speak of the same thing."""
    other = strong_words(text)
    shared = own & other
    if shared:
        return len(shared) >= least * min(len(own), len(other))
    if own or not other:  # the clause names something that the fact does not have
        weak = set(telling_words(clause)) & set(telling_words(text))
        return not other and bool(weak) and len(weak) >= least * len(telling_words(text))
    return False


def _strong(clause: str) -> frozenset[str]:
    """The strong words of a clause without those that say that something ended."""
    return strong_words(_ENDED.sub(" ", clause))


def _is_exchanged(clause: str, text: str) -> bool:
    for pattern in (_FROM, _EXCHANGED, _INSTEAD, _NOT_THIS):
        for match in pattern.finditer(clause):
            named = match.groupdict()
            old = named.get("old") or named.get("old2") or ""
            if pattern is _INSTEAD and not (
                _NEW_VALUE.search(clause) or _SWITCHED.search(clause) or "instead" in clause
            ):
                continue
            words = strong_words(old)
            if words & strong_words(text) and len(words & strong_words(text)) >= _SHARED_LEAST * len(words):
                new = strong_words(named.get("new") or clause[: match.start()])
                if not new & strong_words(text) - words:
                    return True
    kinds = kinds_of(clause) & kinds_of(text)
    if not kinds or (_NEGATIVE.search(text) and not _SWITCHED.search(clause)):
        return False
    changed = bool(_SWITCHED.search(clause) or _NEW_VALUE.search(clause))
    return changed and not _named(clause, kinds) & _named(text, kinds)


def _named(text: str, kinds: Iterable[str]) -> set[str]:
    """The things of these kinds that a text names."""
    return {word for word in re.findall(r"[a-z][a-z0-9-]*", text) if kinds_of(word) & set(kinds)}


def _is_renewed(clause: str, text: str) -> bool:
    """Whether a clause answers a question anew that the fact answered, and differently."""
    both = slots_of(clause) & slots_of(text)
    if (
        "home" in slots_of(text)
        and re.search(r"\b(?:moved|relocated) (?:back )?(?:to|into|out)\b", clause)
        and _MOVED_HOME.search(clause)
    ):
        both = both | {"home"}
    counted, before = numbers_in(clause), numbers_in(text)
    if (
        any(before[what] != counted[what] for what in counted.keys() & before.keys())
        and _likeness(clause, text) >= _SAME_LEAST
    ):
        return True
    for slot in both:
        if _agree(clause, text):
            continue
        if slot in ("home", "job", "relationship", "household", "study", "diet", "children"):
            if slot in ("home", "household") and (_NEW_VALUE.search(clause) or _plain_home(clause, text)):
                return True
            if slot in ("job", "study", "relationship", "diet") and _NEW_VALUE.search(clause) and _is_state(clause):
                return True
            if (
                slot == "children"
                and re.search(r"\b(?:born|had (?:a|our|twins)|gave birth|pregnant|expecting)\b", clause)
                and re.search(r"\bdon't have|\bno kids|expecting|pregnant", text)
            ):
                return True
        elif slot not in _SAID_TWICE:
            return True
    return False


def _is_state(clause: str) -> bool:
    """Whether the clause says what the person is, and not what happened at work today."""
    return bool(
        re.search(
            r"\b(?:i'm|i am|i work|i started|i became|i got|my (?:new )?(?:job|role|title|major)|we're|i switched|i changed|promoted|i teach|i took|i joined|i've been|i've become|i went|i study|i eat)\b",
            clause,
        )
    )


def _plain_home(clause: str, text: str) -> bool:
    """Whether both say outright where the person lives."""
    form = r"\b(?:i|we) (?:now |currently |actually |both )?(?:live|reside) in\b|\b(?:i'm|i am|we're) (?:based|living|located) in\b"
    return bool(re.search(form, clause) and re.search(form, text))


def _agree(clause: str, text: str) -> bool:
    """Whether the new words only repeat or add to the old ones."""
    return strong_words(text) <= strong_words(clause) and not _NOT_THIS.search(clause) and bool(strong_words(text))


def _likeness(clause: str, text: str) -> float:
    one = {word for word in telling_words(clause)}
    other = {word for word in telling_words(text)}
    return len(one & other) / max(min(len(one), len(other)), 1)


def _is_contradicted(clause: str, text: str) -> bool:
    """Whether one says yes and the other no about the same thing."""
    if bool(_NEGATIVE.search(clause)) == bool(_NEGATIVE.search(text)):
        return False
    own, other = strong_words(_NEGATIVE.sub(" ", clause)), strong_words(_NEGATIVE.sub(" ", text))
    shared = own & other
    return bool(shared) and len(shared) >= _SAME_LEAST * max(len(own), len(other))


def _is_fixed(clause: str, fact: Fact, context: str, facts: Sequence[Fact]) -> bool:
    """Whether a clause corrects what the person said last."""
    if not _FIX.search(clause) or fact is not max(facts, key=lambda one: (one.said_at, one.message_id)):
        return False
    text = plain(fact.text).lower()
    own = set(telling_words(_FIX.sub(" ", clause)))
    return not own or bool(own & set(telling_words(text)))
