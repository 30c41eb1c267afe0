"""What was asked: the words of a question and their part in it, a span of time, names of code, who is asked about.

Words that speak about the conversation itself ("mention", "in order", "throughout our chats") say how to answer, not
what the answer is about, so they count little. Nothing here looks at messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from sage_code.memory.tiers.ranking.times import Window, window_of
from sage_code.text.lexemes import split_word, words_of
from sage_code.text.stems import STOP_WORDS, stem

# A question that was pasted is cut here; the rest adds only noise.
_MAX_CHARS = 4000
# The most terms of a question that are compared; later ones of a pasted text are dropped.
MAX_TERMS = 64
# Words about asking and about the conversation itself, by their stems.
_TALKING_WORDS = """
    mention mentioned mentioning say said saying tell told talk talked talking discuss discussed discussing discussion
    discussions conversation conversations chat chats chatted session sessions message messages bring brought raise
    raised ask asked asking question questions answer answers order list listed item items aspect aspects different
    various throughout across summary summarize summarise summaries overview recap comprehensive complete clear detailed
    concise remind remember recall share shared describe described explain explained previously earlier ever know help
    exactly specific specifically several total many much long often walk provide including include sequence sequential
    chronological chronologically timeline progress progressed evolve evolved develop developed over time last first
    three four five six seven eight nine ten related regarding concerning contradictory information
"""
_ABOUT_TALKING = frozenset(map(stem, _TALKING_WORDS.split()))
# Words that stand in every other sentence and are not among the stop words of code.
_COMMON_WORDS = """
    got get gets getting go going went come came make made still already really thing things something anything
    everything every day today now new good best around think thought say kind type types
"""
_FUNCTION_WORDS = frozenset(_COMMON_WORDS.split())
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{3,80})[\"“”«»]|`([^`\n]{2,80})`|(?<!\w)'([^'\n]{3,60})'(?!\w)")
# Names of code: paths, dotted names, calls, names with underscores or capitals inside, file names, long options.
_CODE = re.compile(
    r"(?<!\w)(?:[\w.-]*/[\w./-]*\w|\w+(?:\.\w+)+\(?\)?|\w+\(\)|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w+"
    r"|--[a-z][\w-]+|\w+::\w+)"
)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-Z][a-z]+\w*|\b[A-Z]{2,}\w*\b")
_NUMBER = re.compile(r"\d[\d.,/:%]*")


def _cue(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


# What kind of answer is wanted. Several may hold.
_CUES = {
    "order": _cue(r"(?:in|the|what|which) order|sequence|chronolog\w*|timeline|order in which"),
    "summary": _cue(r"summar\w+|overview|recap\w*|over time|throughout|evol\w+|developed (?:over|throughout|across)"),
    "latest": _cue(r"latest|current|currently|now|most recent|recently|updated|these days|at the moment|so far|still"),
    "earliest": _cue(r"first|initially|originally|at the (?:beginning|start)|earliest|previously"),
    "when": _cue(r"when|what (?:date|day|month|year|time)|which (?:date|day|month|year)|how long|how (?:many|much) (?:time|days|weeks|months|years)|deadline"),  # noqa: E501
    "count": _cue(r"how (?:many|much|often|old|far|tall|big|large)|what (?:percentage|number|amount|score|price|cost|rate)|total|percent\w*|average"),  # noqa: E501
    "who": _cue(r"who|whom|whose"),
    "where": _cue(r"where|which (?:city|country|place|town|state)|what (?:city|country|place|town|state)"),
    "ever": _cue(r"have (?:i|we) ever|did (?:i|we) ever|have (?:i|we)|am i|do i|did i|was i"),
    "mine": _cue(r"i|i'm|i've|i'd|my|me|mine|myself"),
    "ours": _cue(r"we|we've|our|us"),
    "said_by_me": _cue(r"(?:did|do|have|had|was|were) i|i (?:\w+ )?(?:said|say|told|mentioned|asked|brought|described|planned|decided|wanted|shared)|i've|i had|my"),  # noqa: E501
    "said_by_you": _cue(r"(?:did|do|have|had|would) you (?:\w+ )?(?:say|said|tell|told|suggest\w*|recommend\w*|advi\w+|propos\w+|explain\w*|mention\w*|list\w*|give|gave|provid\w+|describ\w+|answer\w*|show\w*|help\w*)|you (?:said|told|suggest\w+|recommend\w+|advised|proposed|explained|mentioned|listed|gave|provided|described|answered|showed)|your (?:advice|suggestion|recommendation|answer|explanation)s?"),  # noqa: E501
}  # fmt: skip
# A request for help that speaks of no past: "How can I find ...?", "Can you walk me through ...?". What the person
# has asked to be done in such a case, and what they prefer, belongs to the answer.
_REQUEST = re.compile(
    r"^\s*(?:(?:can|could|would|will) you\b|how to\b|(?:i'm|i am|i'd|i want|i need|i would)\b|should (?:i|we)\b"
    r"|what(?:'s| is| are| would be)? (?:the |a |some )?(?:best|good|different|key|main|some|ways?|steps?|recommend)"
    r"|what (?:should|can|could|would|do you)\b|do you have\b|(?:is|are) there\b"
    r"|(?:show|give|help|explain|suggest|recommend|write|make|create|draft|plan)\b)"
    r"|\bhow (?:can|could|do|should|would|might) (?:i|we|you|one)\b|\bwh(?:at|ich)\b.*\b(?:should|could) (?:i|we)\b",
    re.IGNORECASE,
)
_PAST = _cue(
    r"did|was|were|had|said|told|mentioned|discussed|brought|talked|previously|earlier"
    r"|have i|have we|i've|we've|our conversations?|so far"
)


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a question."""

    stem: str
    word: str  # as it was written, in lower case
    about_talking: bool  # it speaks about the conversation, not about a topic
    is_name: bool  # written as a name: a capital inside of a sentence
    is_number: bool


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked."""

    text: str
    terms: tuple[Term, ...]
    pairs: tuple[tuple[str, str], ...]  # stems that stand side by side
    phrases: tuple[str, ...]  # what is quoted, in lower case
    code_names: tuple[str, ...]  # names of code as they were written
    kinds: frozenset[str]
    window: Window | None

    def stems(self) -> tuple[str, ...]:
        """The distinct stems, for a search by words."""
        return tuple(term.stem for term in self.terms)


def read_question(text: str, now: datetime) -> Question:
    """Read a question; `now` is the time at which it is asked."""
    text = text[:_MAX_CHARS]
    names = {match[0].lower() for match in _NAME.finditer(text)}
    terms: dict[str, Term] = {}
    order: list[str] = []
    skipped: dict[str, Term] = {}
    for written in words_of(text):
        for lexeme in split_word(written):
            term = _term(lexeme, names)
            if lexeme in STOP_WORDS or (len(lexeme) == 1 and lexeme.isalpha() and lexeme.isascii()):  # the s of "Ann's"
                skipped.setdefault(term.stem, term)
                continue
            order.append(term.stem)
            terms.setdefault(term.stem, term)
    kept = list(terms.values()) or list(skipped.values())
    pairs = dict.fromkeys(pair for pair in pairwise(order) if pair[0] != pair[1])
    quoted = [next(filter(None, match.groups())).lower().strip() for match in _QUOTED.finditer(text)]
    kinds = {kind for kind, cue in _CUES.items() if cue.search(text)}
    if _REQUEST.search(text) and not _PAST.search(text) and not kinds & {"order", "summary"}:
        kinds.add("request")
    return Question(
        text=text,
        terms=tuple(kept[:MAX_TERMS]),
        pairs=tuple(pairs)[:MAX_TERMS],
        phrases=tuple(phrase for phrase in quoted if phrase),
        code_names=tuple(dict.fromkeys(match[0].rstrip("()") for match in _CODE.finditer(text))),
        kinds=frozenset(kinds),
        window=window_of(text, now),
    )


def _term(lexeme: str, names: set[str]) -> Term:
    stemmed = stem(lexeme)
    about = stemmed in _ABOUT_TALKING or lexeme in _FUNCTION_WORDS
    return Term(stemmed, lexeme, about, lexeme in names, lexeme.isdigit())
