"""What a clause says about a change in somebody's life: something ended, was exchanged, or has a new value.

Only the words of the clause are looked at; `corrections.py` finds the facts that a change concerns. What may happen or
is wished is no change.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sage_code.memory.context.profile.subjects import Told, kinds_of, strong_words, telling_words, told

_MAYBE = re.compile(
    r"\b(?:if|might|may (?:be|have|not|also|move|sell|quit|stop|get|go|leave)|maybe|perhaps|could|would|wish"
    r"|should|want to|wants to|wanna|hope|hoping|plan to|plans? on|planning|"
    r"thinking (?:of|about)|considering|going to|gonna|will|i'll|we'll|almost|nearly|someday|one day|dream of"
    r"|try to|trying to|"
    r"need to|have to|had to stop myself|about to|never (?:sell|quit|leave|stop|give up|move)|can't imagine"
    r"|unless|before i)\b"
)
_SURELY = re.compile(r"\bno longer\b|\bany ?more\b|\bused to\b")
_ENDED = re.compile(
    r"\bgave (?=(?:\w+ ){1,3}up\b)"
    r"|\bno longer\b|\bno more\b|\bany ?more\b|\bany longer\b|\bnot these days\b"
    r"|\b(?<!am )(?<!'m )(?<!get )(?<!got )(?<!getting )(?<!are )(?<!be )used to\b"
    r"|\b(?:stopped|quit|gave up(?: on)?|given up(?: on)?|gave away|given away|sold|got rid of|gotten rid of"
    r"|lost|died|passed away"
    r"|passed on|put (?:him|her|it|them) (?:down|to sleep)|cancel+ed|dropped|ditched|moved out(?: of)?"
    r"|moved away from|moved on from"
    r"|moved off|done with|finished with|through with|uninstalled|threw (?:out|away)|donated|abandoned|retired from"
    r"|migrated (?:off|away from)|laid off|resigned from|stepped down(?: as| from)?|dropped out of|shut down"
    r"|closed down|closed|called off|swore off"
    r"|cut out|went off|outgrew|grew out of|totall?ed|wrecked|stolen|ran away|is gone|are gone|is dead"
    r"|fell through|turned in"
    r"|phased out|sick of|tired of|fed up with|unsubscribed from|deactivated|broke down|fell apart)\b"
    r"|\bleft (?!handed|-|over|side|hand\b|for\b|me\b|now\b|today\b)(?=(?:the|my|our|law|[a-z]+ ?)\b)"
    r"|\bover (?:my|the) .{1,30}phase\b"
    r"|\bhaven't .{1,40} in (?:years|ages|months)\b|\bmy .{1,30} (?:broke|expired|ended)\b"
)  # fmt: skip
_ENDED_LOVE = re.compile(
    r"\b(?:broke up|broken up|split(?:ting)? up|we split|divorced?|separated|left me|dumped me|ended things"
    r"|single (?:again|now)|"
    r"called off (?:the|our) (?:wedding|engagement)|(?:wife|husband|girlfriend|boyfriend|partner) (?:died"
    r"|passed)|a widow(?:er)?)\b"
)
_BEGAN_LOVE = re.compile(
    r"\b(?:got married|tied the knot|got engaged|got hitched|just married|married now|now married|met someone|"
    r"in a relationship now|said yes|we're married|eloped|have a (?:girlfriend|boyfriend) now)\b"
)
_ENDED_JOB = re.compile(
    r"\b(?:let (?:me|us) go|fired me|laid me off"
    r"|laid off|(?:was|got|been|were) fired|let go|made redundant|resigned|retired|lost my job|unemployed"
    r"|quit my (?:job|work|position)"
    r"|(?:i|we) quit(?: last \w+| today| yesterday| this \w+)?$|left my (?:job|company|work|position)"
    r"|handed in my notice|between jobs"
    r"|stepped down|out of work|(?:got|have|found|started|landed) (?:a|my) new job|new job (?:as|at))\b"
)
_ENDED_STUDY = re.compile(
    r"\b(?:graduated|dropped out|finished (?:my )?(?:degree|school|college|university|studies|phd|thesis"
    r"|masters?|bachelors?)|"
    r"got my (?:degree|diploma)|defended my)\b"
)
_NO_MEAT = re.compile(
    r"\b(?:(?:became|become|went|turned|gone|i'm|i am) (?:an? )?(?:strict )?(?:vegan|vegetarian)"
    r"|plant[- ]based|(?:stopped|quit|no longer|don't|gave up) (?:eat(?:ing)? )?meat)\b"
)
_MOVED = re.compile(
    r"\b(?:i|we|i've|we've|and|have|just|recently|finally|then|family|\w+ and i) (?:just |since |recently |finally "
    r"|already )?(?:moved|relocated|settled)"
    r"(?: back| over| down| house| away| out| abroad| overseas| across)?(?: (?:to|into|in|near|there|here|from"
    r"|out|with|closer|somewhere)\b|$)"
    r"|\bmy \w+ (?:moved|relocated) (?:back |away )?(?:to|from|into|out)\b|\bnew (?:house|home|apartment|flat) in\b"
    r"|\bbought a (?:house|home|flat|condo|place) in\b"
)
_EXCHANGES = (
    re.compile(
        r"\b(?:switch(?:ed)?|moved?|migrated?|changed?|converted|transitioned|upgraded"
        r"|transferred)\b.{0,30}? (?:away )?from "
        r"(?P<old>.{2,60}?)(?: (?:to|over to|onto|into) (?P<new>.+)|$)"
    ),
    re.compile(
        r"\b(?:replaced|swapped|traded|exchanged|gave up|ditched|dropped|left) (?:out "
        r"|in )?(?P<old>.{2,60}?) (?:with|for|by|in favou?r of) (?P<new>.+)"
    ),
    re.compile(r"\b(?:instead of|in place of|rather than) (?P<old>[^,.;]{2,50})"),
    re.compile(
        r", (?:and )?not (?:in |at |a |an |the |on |from |for |as "
        r"|with )?(?P<old>[^,.; ]{2,20}(?: [^,.; ]{2,20}){0,2})$"
    ),
    re.compile(r"\bmy name is .{2,30} not (?P<old>[^,.; ]{2,20})$"),
    re.compile(r"\bnot (?P<old>[^,.;]{2,40}?)(?:,? but |, (?:it's|it is|i'm|i am|they're) )"),
)
_RENEWED = re.compile(
    r"\b(?:now|nowadays|these days|recently|as of|became|become|promoted|started|moved|relocated|actually"
    r"|correction|sorry|meant|"
    r"switched|changed|in fact|updated?|turns out|mistake|wrong|mixed up|misspoke|typo|legally|instead|joined"
    r"|went back|back to|"
    r"got (?:a|an|my) new|have a new|my new)\b"
)
_SWITCHED = re.compile(
    r"\b(?:switch(?:ed)?|converted|migrated|went|gone|moved|changed|upgraded|back to|transitioned"
    r"|started using|now|these days|"
    r"nowadays|instead|got a|got an|bought|adopted)\b"
)
_FIXES = re.compile(
    r"\b(?:actually,? (?:it's|it is|that's|that is|they're|no\b)|correction|i meant|meant to say"
    r"|sorry,? (?:it's|it is|not|that's|i have)|scratch that|misspoke|my mistake|i was wrong|that was wrong"
    r"|got that wrong|"
    r"typo|mixed (?:that|it|them) up|not quite right|strike that|let me correct|i lied|that's wrong"
    r"|that's not right)\b"
)
_RETRACTS = re.compile(
    r"\b(?:scratch that|misspoke|i was wrong|that was wrong|got that wrong|strike that|i lied|that's wrong"
    r"|that's not (?:right|true))\b"
)
_STATE = re.compile(
    r"\b(?:(?:i'm|i am|we're|we are|am|i've been|works?|working|started|job|role|title|position|is)(?: now"
    r"| currently| actually| working| studying)*"
    r" (?:as|at|for|an?|the|to|in|is|now|[a-z]+ing|[a-z]+an|married|single|engaged|divorced|retired"
    r"|unemployed)|became|become|promoted|i joined|"
    r"i teach|i study|i switched|i changed|turned|went|my major)\b"
)
_BORN = re.compile(r"\b(?:born|had (?:a|our|twins)|gave birth|pregnant|expecting|adopted)\b")


_FIRST = frozenset({"i", "i'm", "i've", "my", "we", "we've", "we're", "our", "me"})


class Change(NamedTuple):
    """What one clause changes."""

    told: Told  # the clause itself
    ended: bool = False
    gone: frozenset[str] = frozenset()  # telling words of what ended
    sure: frozenset[str] = frozenset()  # those of them that suffice alone
    head: str = ""  # the first of them
    love_ended: bool = False
    love_began: bool = False
    job_ended: bool = False
    study_ended: bool = False
    no_meat: bool = False
    moved: bool = False
    born: bool = False
    exchanged: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()  # what is gone, what came
    renewed: bool = False  # says that something is new
    switched: bool = False
    state: bool = False
    fixes: bool = False  # takes back what was said last
    retracts: bool = False  # without saying what is right
    fixed: frozenset[str] = frozenset()  # telling words besides


def change_of(clause: str, context: str) -> Change | None:
    """The change of a clause; `context` is what one without words of its own speaks about. Nothing if it may happen."""
    lowered = clause.lower().rstrip(" .!…").lstrip()
    surely = bool(_SURELY.search(lowered))
    if _MAYBE.search(lowered) and not surely:
        return None
    own = told(lowered)
    if "you" in own.words and not own.words & _FIRST:
        return None
    ended = bool(_ENDED.search(lowered))
    gone, sure, head = frozenset[str](), frozenset[str](), ""
    if ended:
        rest = _ENDED.sub(" ", lowered)
        head = next(iter(telling_words(rest)), "")
        gone, sure = frozenset(telling_words(rest)), strong_words(rest)
        if not gone:
            gone, sure = frozenset(telling_words(context.lower())), strong_words(context.lower())
        if own.owner and len(gone) > 1:
            gone, sure = gone - {own.owner}, sure - {own.owner}
    return Change(
        own,
        ended,
        gone,
        sure,
        head,
        love_ended=bool(_ENDED_LOVE.search(lowered)),
        love_began=bool(_BEGAN_LOVE.search(lowered)),
        job_ended=bool(_ENDED_JOB.search(lowered)),
        study_ended=bool(_ENDED_STUDY.search(lowered)),
        no_meat=bool(_NO_MEAT.search(lowered)),
        moved=bool(_MOVED.search(lowered)) and not kinds_of(lowered),
        born=bool(_BORN.search(lowered)),
        exchanged=tuple(_exchanged(lowered)),
        renewed=surely or bool(_RENEWED.search(lowered)),
        switched=bool(_SWITCHED.search(lowered)),
        state=bool(_STATE.search(lowered)),
        fixes=bool(_FIXES.search(lowered)),
        retracts=bool(_RETRACTS.search(lowered)),
        fixed=frozenset(telling_words(_FIXES.sub(" ", lowered))),
    )


def _exchanged(lowered: str) -> list[tuple[frozenset[str], frozenset[str]]]:
    """What was given for what."""
    found = []
    for pattern in _EXCHANGES:
        for match in pattern.finditer(lowered):
            old = strong_words(match["old"])
            new = match.groupdict().get("new") or lowered[: match.start()]
            if old:
                found.append((old, strong_words(new) - old))
    return found
