"""Finds lasting facts about a person in what that person says: no language model, the same words give the same facts.

A fact is one clause in the person's own words that a linear model holds for lasting (`scoring.py`): what they are,
have, like, do again and again, and how they want to work. Left out are questions, code, quotations, pasted logs, what
agents say, what is said of others only, secrets, and orders to a model. A standing wish ("never commit without
asking") is kept as a quotation, so that it reads as something that the person asks for. Only English is understood; in
other languages nothing is found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sage_code.memory.context.profile.clauses import Clause, clauses_of, question_before
from sage_code.memory.context.profile.corrections import retired
from sage_code.memory.context.profile.scoring import TURN_LEAST, durable_score, probability
from sage_code.memory.context.profile.subjects import EMPTY_WORDS, subject_of, telling_words
from sage_code.memory.context.profile.values import Fact, fact_id
from sage_code.memory.context.profile.weights import WEIGHTS
from sage_code.memory.context.summary import Spoken
from sage_code.text.escaping import one_line

__all__ = ["FACT_LEAST", "TURN_LEAST", "Fact", "durable_score", "facts_in", "retired"]

# The probability from which on a clause is kept: nine of ten messages with such a clause hold a fact (even dialogues of
# MSC, `benchmarks/profiles.py`).
FACT_LEAST = 0.40
# A fact is a line of a profile, not a paragraph.
MAX_CHARS = 140
# What the two kinds that a rule decides are worth in a profile, beside the probabilities of the model.
_STANDING_SCORE = 0.85
_ANSWER_SCORE = 0.75
_LEAST_CHARS = 6
_MOST_FACTS = 12  # of one message
_QUESTION_CHARS = 60
# Of the words of a clause, so many must be ones that English talk is full of.
_ENGLISH_LEAST = 0.4

_SELF_WORDS = "i i'm i've i'd i'll my mine myself we we're we've we'll our ours"
_SELF = frozenset(_SELF_WORDS.split())
_LEAD_IN = re.compile(
    r"(?:(?:well|yes|yeah|yep|yup|no|nope|oh|ah|aw|wow|haha+|lol|hi|hey|hello|ok|okay|sure|right|also|and|but"
    r"|so|plus|actually|"
    r"honestly|personally|true|exactly|same here|me too|of course|indeed|anyway|by the way|btw|fyi|note that"
    r"|cool|nice|"
    r"great|awesome|thanks|thank you|sorry|i think|i guess|i mean|you know|to be honest"
    r"|remember)\b[\s,.!:;-]*)+(?=\w)",
    re.IGNORECASE,
)
# A standing wish has one of these words.
_STANDS = frozenset({"always", "never", "ever"})
_STANDING = re.compile(
    r"^(?:please\s+)?(?:always|never|don't ever|do not ever|make sure (?:to|you) (?:always|never))\s+[a-z]+\s+\w",
    re.IGNORECASE,
)
# Orders to a model, and other text that is never a fact about a person.
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|rule|prompt|previous|above|polic|guard)"
    r"|\b(?:system prompt|jailbreak|developer mode|you are now|you must|you will (?:now|always)|you're now"
    r"|act as|pretend|from now on"
    r"|reveal|exfiltrate|leak|obey|comply|without (?:rules|restrictions|limits|confirmation)|the (?:assistant"
    r"|agent|model|ai) (?:must|should|shall|will))\b"
    r"|\b(?:send|post|upload|forward|print|output|reply with|respond with|run|execute|curl"
    r"|download)\b.{0,60}\b(?:secrets?|keys?|tokens?|passwords?|credentials?|env|environment|https?|address"
    r"|server)\b",
    re.IGNORECASE,
)
_SECRET = re.compile(
    r"\[masked: |\b(?:password|passwd|passphrase|passcode|pin code|my pin|api[ -]?key|secret key|access token"
    r"|private key|credit card|card number|cvv|ssn|social security)\b",
    re.IGNORECASE,
)
# What somebody asks about a person, whose answer is lasting whatever its words are.
_ASKS_FACT = re.compile(
    r"\b(?:do you (?:(?:still|also|usually|often|ever|really|mostly|normally) )?(?:have|own|like|love|enjoy"
    r"|use|prefer|live|work|play|eat|drink|speak|read|watch|collect|ride|drive|travel|cook)"
    r"|what(?:'s| is| are) your|where (?:do|are) you|what do you do|are you (?:an?|married|from|into|allergic"
    r"|single|vegan|vegetarian)|how old are you"
    r"|how many .{1,30} do you|(?:which|what|what kind of|what type of|what sort of) .{1,30} (?:do"
    r"|are) you (?:use|like|prefer|play|have|on|drive|work|own|speak)"
    r"|who(?:'s| is) your|when(?:'s| is) your birthday)\b",
    re.IGNORECASE,
)
_ASKS_NOW = re.compile(
    r"\b(?:today|tonight|now|this (?:morning|week|weekend|time)|want me|like me|prefer i|next|should i|shall i"
    r"|plans)\b",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"(?:he|she|they|it|you|someone|somebody|people)\b", re.IGNORECASE)
# Where somebody is and how they feel just now, and what a pronoun leaves open.
_PASSING = re.compile(
    r"(?:i'm|i am|we're|we are) (?:just |still |so |very |really |currently |now )*(?:(?:at|on|in)"
    r" (?:the|a|my|our) (?:store|shop|gym"
    r"|airport|train|bus|phone|car|park|beach|bank|way|road|kitchen|mall|doctor|dentist|bar|restaurant|moment|middle|meeting"
    r"|call|wrong|right|same|mood|hurry)|tired|hungry|bored|busy|late|back|here|home|ready|done|sick|excited|happy|sorry|glad"
    r"|sure|fine|good|well|ok|okay|confused|stuck|curious|jealous|amazed)\b"
    r"|(?:i'm|i am|we're|we are) (?:(?:just|so|super|really|very|pretty|totally|feeling) )*(?:thankful"
    r"|grateful|proud|lucky|blessed|thrilled|hopeful|optimistic|inspired|looking forward)\b"
    r"|i (?:(?:totally|completely|fully|really|100%|so|also|couldn't) )*(?:agree|understand|hear you|feel you"
    r"|get (?:it|that)|appreciate|hope|wish|bet|wonder|felt)\b"
    r"|(?:\w+'?\w* ){1,3}(?:it|that|this|them|those|so|you)$",
    re.IGNORECASE,
)
_IF = re.compile(r"(?:if|unless|let me|let us|let's)\b", re.IGNORECASE)


def facts_in(message: Spoken, before: Sequence[Spoken] = ()) -> list[Fact]:
    """The lasting facts of one message, in its order; `before` is what was said just before it."""
    if message.role != "user":
        return []
    asked = question_before(message, before)
    found: dict[str, Fact] = {}
    for clause in clauses_of(message.content):
        text, score = _judged(clause, asked)
        if text:
            fact = Fact(
                fact_id(message.id, text), text, message.id, message.created_at, round(score, 3), subject_of(text)
            )
            found.setdefault(text.lower(), fact)
    return list(found.values())[:_MOST_FACTS]


def _judged(clause: Clause, asked: Clause | None) -> tuple[str, float]:
    """A clause as the text of a fact, and its probability; no text where it cannot be one."""
    if clause.asks:
        return "", 0.0
    text, score = "", 0.0
    if not _STANDS.isdisjoint(clause.words) and _STANDING.match(tidy := _tidied(clause.text)):
        text, score = f'Asks: "{_cut(tidy)}"', _STANDING_SCORE
    elif clause.first and asked is not None and _is_short_answer(clause, asked):
        text, score = f"{_cut(one_line(asked.text), _QUESTION_CHARS)} {_cut(one_line(clause.text))}", _ANSWER_SCORE
    elif not _SELF.isdisjoint(clause.words) and (score := probability(clause, asked)) >= FACT_LEAST:
        tidy = _tidied(clause.text)
        text = "" if len(tidy) < _LEAST_CHARS or _is_passing(tidy, clause) else _cut(tidy)
    if (
        score < FACT_LEAST
        or not telling_words(text)
        or not _is_english(clause)
        or _ORDER.search(clause.text)
        or _SECRET.search(clause.text)
    ):
        return "", 0.0
    return text, score


def _is_passing(text: str, clause: Clause) -> bool:
    """Whether a clause is about somebody else and comes to its speaker only later, supposes, or passes."""
    return bool(_IF.match(text) or _PASSING.match(text)) or (
        bool(_OTHERS.match(text)) and not _SELF.intersection(clause.words[:2])
    )


def _is_short_answer(clause: Clause, asked: Clause) -> bool:
    """Whether a clause says something only together with the question before it."""
    return (
        len(clause.words) <= 6
        and not {"i", "i'm", "i've", "my", "we", "don't"}.intersection(clause.words)
        and not clause.text.lower().startswith(
            ("i don't", "not sure", "maybe", "what", "why", "how", "thanks", "thank")
        )
        and bool(_ASKS_FACT.search(asked.text))
        and not _ASKS_NOW.search(asked.text)
        and not _ORDER.search(asked.text)
        and not _SECRET.search(asked.text)
    )


def _is_english(clause: Clause) -> bool:
    """Whether enough of a clause's words are ones that the model knows; names and things of a trade may be unknown."""
    words = [word for word in clause.words if word.isalpha() or "'" in word]
    if not clause.text.isascii() and sum(map(str.isalpha, clause.text)) > 2 * sum(map(len, words)):
        return False
    return len(words) <= 3 or sum(word in WEIGHTS or word in EMPTY_WORDS for word in words) >= _ENGLISH_LEAST * len(
        words
    )


def _tidied(text: str) -> str:
    """A clause on one line without its lead-in and the marks around it."""
    text = one_line(text).strip(" \t,;:-–—")
    text = text[lead.end() :] if (lead := _LEAD_IN.match(text)) else text
    text = text.rstrip(" .!,;:")
    return f"{text[:1].upper()}{text[1:]}"


def _cut(text: str, most: int = MAX_CHARS) -> str:
    """The beginning of a text, whole words."""
    return text if len(text) <= most else f"{text[: most - 1].rpartition(' ')[0] or text[: most - 1]}…"
