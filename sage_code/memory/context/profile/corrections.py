"""Which facts a message takes back or replaces.

A clause that tells of a change (`changes.py`) takes back the facts that it fits best: those that share its telling
words, or that answer the same question otherwise ("I moved to Lyon" answers where somebody lives). A plain statement
takes back what it contradicts: another answer to a question that has one, another number, a no for a yes. What happens
to others changes nothing about the person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sage_code.memory.context.profile.changes import Change, change_of
from sage_code.memory.context.profile.clauses import Clause, clauses_of, plain
from sage_code.memory.context.profile.subjects import Told, things_of, told
from sage_code.memory.context.profile.values import Fact
from sage_code.memory.context.summary import Spoken
from sage_code.text.stems import stem

# Share of the words of the shorter side that a change and a fact have in common.
_SHARED_LEAST = 0.5
# A statement without a word of change takes back what it contradicts only if it is about the very same thing.
_SAME_LEAST = 0.67
# "Sorry," or "Turns out," before a clause.
_LEAD_WORDS = 2
_LEADS = frozenset({"correction", "update", "edit", "oops"})
_MEAT_WORDS = "meat steak bacon burger chicken beef pork barbecue ribs sausage ham turkey wings"
_MEAT = frozenset(map(stem, _MEAT_WORDS.split()))
_UNMARRIED = re.compile(
    r"\b(?:single|girlfriend|boyfriend|engaged|fianc\w+|dating|planning (?:a|my|our) wedding|divorced)\b"
)
_NO_CHILD = re.compile(r"\b(?:don't have|no (?:kids|children)|expecting|pregnant|childless)\b")
_FEELING_WORDS = "love hate enjoy dislike fan adore despise prefer favorite favourite stand like allergic avoid afraid"
_FEELING = frozenset(map(stem, _FEELING_WORDS.split()))
# Questions that a statement alone answers again; the others need a word of change, since people say much about them.
_STATED = ("name", "pronouns", "age", "favorite ", "my ")
_NEED_CHANGE = frozenset({"home", "household", "job", "study", "relationship", "diet"})


def retired(facts: Sequence[Fact], message: Spoken, before: Sequence[Spoken] = ()) -> list[Fact]:
    """The facts that a message takes back or replaces, in their order; those that it says itself are not among them."""
    if message.role != "user":
        return []
    older = [
        (fact, told(plain(fact.text).lower()))
        for fact in facts
        if not fact.retired_by and fact.message_id != message.id and fact.said_at <= message.created_at
    ]
    if not older:
        return []
    gone: set[str] = set()
    clauses = [clause for clause in clauses_of(message.content) if not clause.asks]
    lead = ""
    for number, clause in enumerate(clauses):
        if len(clause.words) <= _LEAD_WORDS and number + 1 < len(clauses) and _is_lead(clause):
            lead = f"{clause.text} "  # "Correction," belongs to what follows
            continue
        change = change_of(f"{lead}{clause.text}", _context(clauses[:number], message, before))
        lead = ""
        if change is not None:
            gone.update(fact.id for fact in _taken_back(change, older))
    return [fact for fact, _ in older if fact.id in gone]


def _is_lead(clause: Clause) -> bool:
    """Whether a clause only leads in the next one."""
    return clause.words[0] in _LEADS or not told(clause.text.lower()).strong


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


def _taken_back(change: Change, facts: Sequence[tuple[Fact, Told]]) -> list[Fact]:
    """The facts that one change ends, replaces or contradicts."""
    found = [
        fact
        for fact, known in facts
        if _is_over(change, known) or _is_renewed(change, known) or _is_contradicted(change, known)
    ]
    if change.ended:
        found += _best(change, facts)
    if change.fixes and not found:
        latest, known = max(facts, key=lambda one: (one[0].said_at, one[0].message_id))
        if change.retracts or (change.fixed & known.strong and change.told.owner == known.owner):
            found.append(latest)
    return found


def _best(change: Change, facts: Sequence[tuple[Fact, Told]]) -> list[Fact]:
    """The facts that share most with what ended."""
    fits = []
    for fact, known in facts:
        if known.past or not _may_concern(change, known):
            continue
        shared = change.sure & known.strong
        by_words = bool(shared) and len(shared) >= _SHARED_LEAST * min(len(change.sure), len(known.strong))
        if by_words or (not change.sure and known.telling[:1] and known.telling[0] in change.gone):
            fits.append((len(change.gone & set(known.telling)), fact))
    if not fits and change.gone:  # "I stopped running because of my knee": the verb of the fact
        fits = [
            (1, fact)
            for fact, known in facts
            if known.telling[:1] and known.telling[0] == change.head and not known.past and _may_concern(change, known)
        ]
    most = max((share for share, _ in fits), default=0)
    return [fact for share, fact in fits if share == most]


def _may_concern(change: Change, known: Told) -> bool:
    """Whether what happens to the subject of the clause can concern the fact."""
    own, other = change.told.owner, known.owner
    # "My roommate moved out" may concern "I have a roommate"; "I sold my dad's car" may concern "My dad's car is red".
    return (
        own == other
        or bool(own and own in change.gone and own in known.telling)
        or bool(not own and other in change.gone)
    )


def _is_over(change: Change, known: Told) -> bool:
    """Whether one of the great changes ends the fact: of love, work, studies, diet."""
    self = not change.told.owner
    if (
        change.love_ended
        and "relationship" in known.slots
        and (self or change.told.owner in known.telling or "me" in change.told.words)
    ):
        return not {"single", "divorced"} & known.words
    if change.love_began and self and _UNMARRIED.search(known.text):
        return True
    if change.told.owner != known.owner or known.past:
        return False
    if change.job_ended and "job" in known.slots and "study" not in known.slots:
        return True
    if change.study_ended and "study" in known.slots:
        return True
    return change.no_meat and bool(_MEAT & set(known.telling)) and not known.negative


def _is_renewed(change: Change, known: Told) -> bool:
    """Whether a clause gives another answer to the question that the fact answered."""
    own = change.told
    if own.owner != known.owner or known.past:
        return False
    if any(
        old & known.strong and not new & known.strong and len(old & known.strong) >= _SHARED_LEAST * len(old)
        for old, new in change.exchanged
    ):
        return True
    kinds = own.kinds & known.kinds
    if kinds and change.switched and not things_of(own, kinds) & things_of(known, kinds):
        return True
    if change.moved and known.slots & {"home", "household"}:
        return True
    if _number_differs(change, known):
        return True
    if known.strong and known.strong <= own.strong and not change.exchanged and own.negative == known.negative:
        return False  # it says the same, or more
    for slot in own.slots & known.slots:
        if slot.startswith(_STATED) or (slot == "home" and own.lives and known.lives):
            return True
        if slot in _NEED_CHANGE and change.renewed and change.state:
            return True
        if slot == "children" and change.born and _NO_CHILD.search(known.text):
            return True
        if slot.startswith("kin ") and change.renewed:
            return True
    return False


def _number_differs(change: Change, known: Told) -> bool:
    """Whether both count the same thing and differ; or say the same but for a number."""
    own = change.told
    if any(known.numbers[what] != count for what, count in own.numbers.items() if what in known.numbers):
        return change.renewed or change.fixes or set(own.telling) == set(known.telling)
    one, other = ({word for word in told_.telling if not word.isdigit()} for told_ in (own, known))
    digits = own.digits and known.digits and own.digits != known.digits
    return bool(digits and other and other <= one and (change.fixes or change.renewed))


def _is_contradicted(change: Change, known: Told) -> bool:
    """Whether one says yes and the other no about the same thing."""
    own = change.told
    if own.negative == known.negative or own.owner != known.owner or known.past or "you" in own.words:
        return False
    one, other = set(own.telling) - _FEELING, set(known.telling) - _FEELING
    shared = one & other
    return bool(shared) and len(shared) >= _SAME_LEAST * max(len(one), len(other))
