"""What a clause says about a change in somebody's life: something ended, was exchanged, or has a new value.

Only the words of the clause are looked at; `corrections.py` finds the facts that a change concerns. What may happen or
is wished is no change.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sage_code.memory.context.profile.subjects import Told, kinds_of, strong_words, telling_words, told

_MAYBE = re.compile(
    r"\b(?:if|might|may|maybe|perhaps|could|would|wish|should|want to|wants to|wanna|hope|hoping|plan to|plans? on|planning|"
    r"thinking (?:of|about)|considering|going to|gonna|will|i'll|we'll|almost|nearly|someday|one day|dream of|try to|trying to|"
    r"need to|have to|had to stop myself|about to|never (?:sell|quit|leave|stop|give up|move)|can't imagine|unless|before i)\b"
)
_SURELY = re.compile(r"\bno longer\b|\bany ?more\b|\bused to\b")
_ENDED = re.compile(
    r"\bno longer\b|\bno more\b|\bany ?more\b|\bany longer\b|\bnot these days\b"
    r"|\b(?<!am )(?<!'m )(?<!get )(?<!got )(?<!getting )(?<!are )(?<!be )used to\b"
    r"|\b(?:stopped|quit|gave up(?: on)?|given up(?: on)?|gave away|given away|sold|got rid of|gotten rid of|lost|died|passed away"
    r"|passed on|put (?:him|her|it|them) (?:down|to sleep)|cancel+ed|dropped|ditched|moved out(?: of)?|moved away from|moved on from"
    r"|moved off|done with|finished with|through with|uninstalled|threw (?:out|away)|donated|abandoned|retired from"
    r"|migrated (?:off|away from)|laid off|resigned from|stepped down(?: as| from)?|dropped out of|shut down|closed down|closed|called off|swore off"
    r"|cut out|went off|outgrew|grew out of|totall?ed|wrecked|stolen|ran away|is gone|are gone|is dead|fell through|turned in"
    r"|phased out|sick of|tired of|fed up with|unsubscribed from|deactivated|broke down|fell apart)\b"
    r"|\bleft (?!handed|-|over|side|hand\b|for\b|me\b|now\b|today\b)(?=(?:the|my|our|law|[a-z]+ ?)\b)|\bover (?:my|the) .{1,30}phase\b"
    r"|\bhaven't .{1,40} in (?:years|ages|months)\b|\bmy .{1,30} (?:broke|expired|ended)\b"
)  # fmt: skip
_ENDED_LOVE = re.compile(
    r"\b(?:broke up|broken up|split(?:ting)? up|we split|divorced?|separated|left me|dumped me|ended things|single (?:again|now)|"
    r"called off (?:the|our) (?:wedding|engagement)|(?:wife|husband|girlfriend|boyfriend|partner) (?:died|passed)|a widow(?:er)?)\b"
)
_BEGAN_LOVE = re.compile(
    r"\b(?:got married|tied the knot|got engaged|got hitched|just married|married now|now married|met someone|"
    r"in a relationship now|said yes|we're married|eloped|have a (?:girlfriend|boyfriend) now)\b"
)
_ENDED_JOB = re.compile(
    r"\b(?:laid off|(?:was|got|been|were) fired|let go|made redundant|resigned|retired|lost my job|unemployed|quit my (?:job|work|position)"
    r"|(?:i|we) quit(?: last \w+| today| yesterday| this \w+)?$|left my (?:job|company|work|position)|handed in my notice|between jobs"
    r"|stepped down|out of work|new job)\b"
)
_ENDED_STUDY = re.compile(
    r"\b(?:graduated|dropped out|finished (?:my )?(?:degree|school|college|university|studies|phd|thesis|masters?|bachelors?)|"
    r"got my (?:degree|diploma)|defended my)\b"
)
_NO_MEAT = re.compile(
    r"\b(?:(?:became|become|went|turned|gone|i'm|i am) (?:an? )?(?:strict )?(?:vegan|vegetarian)|plant[- ]based|(?:stopped|quit|no longer|don't|gave up) (?:eat(?:ing)? )?meat)\b"
)
_MOVED = re.compile(
    r"\b(?:i|we|i've|we've|and|have|just|recently|finally|then|family|\w+ and i) (?:just |recently |finally |already )?(?:moved|relocated|settled)"
    r"(?: back| over| down| house| away| out| abroad| overseas| across)?(?: (?:to|into|in|near|there|here|from|out|with|closer|somewhere)\b|$)"
    r"|\bmy \w+ (?:moved|relocated) (?:back |away )?(?:to|from|into|out)\b|\bnew (?:house|home|apartment|flat) in\b"
    r"|\bbought a (?:house|home|flat|condo|place) in\b"
)
_EXCHANGES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:switch(?:ed)?|moved?|migrated?|changed?|went|converted|transitioned|upgraded|transferred|back)\b.{0,30}? (?:away )?from "
        r"(?P<old>.{2,60}?)(?: (?:to|over to|onto|into) (?P<new>.+)|$)",
        r"\b(?:replaced|swapped|traded|exchanged|gave up|ditched|dropped|left) (?:out |in )?(?P<old>.{2,60}?) (?:with|for|by|in favou?r of) (?P<new>.+)",
        r"\b(?:instead of|in place of|rather than) (?P<old>[^,.;]{2,50})",
        r"(?:^|[ ,])not (?:in |at |a |an |the |on |from |for |as |with )?(?P<old>[^,.;]{2,40})$",
        r"\bnot (?P<old>[^,.;]{2,40}?)(?:,? but |, (?:it's|it is|i'm|i am|they're) )",
    )
)
_RENEWED = re.compile(
    r"\b(?:now|nowadays|these days|currently|recently|lately|finally|new|as of|from now on|became|become|turned|promoted|started|moved|"
    r"relocated|actually|correction|sorry|meant|i mean|switched|changed|in fact|updated?|turns out|got an?|mistake|wrong|mixed up|"
    r"misspoke|typo|legally|left law|instead|since|this year|last (?:week|month|year)|joined|took|went back|back to|only)\b"
)
_SWITCHED = re.compile(
    r"\b(?:switch(?:ed)?|converted|migrated|went|gone|moved|changed|upgraded|back to|transitioned|started using|now|these days|"
    r"nowadays|instead|got a|got an|bought|adopted)\b"
)
_FIXES = re.compile(
    r"\b(?:actually|correction|i meant|meant to say|sorry|scratch that|misspoke|my mistake|i was wrong|that was wrong|got that wrong|"
    r"typo|mixed (?:that|it|them) up|not quite right|in fact|strike that|let me correct|oops|whoops|i lied|that's wrong|that's not right)\b"
)
_STATE = re.compile(
    r"\b(?:i'm|i am|i work|i started|became|become|i got|i've got|my (?:new )?(?:job|role|title|major|position)|we're|i switched|i changed|promoted|"
    r"i teach|i took|i joined|i've been|i've become|i went|i study|i eat|i run|i follow|works? (?:as|at|for)|started (?:as|at|working)|is now|retired)\b"
)
_BORN = re.compile(r"\b(?:born|had (?:a|our|twins)|gave birth|pregnant|expecting|adopted)\b")


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
    fixed: frozenset[str] = frozenset()  # telling words besides


def change_of(clause: str, context: str) -> Change | None:
    """The change of a clause; `context` is what one without words of its own speaks about. Nothing if it may happen."""
    lowered = clause.lower().rstrip(" .!…").lstrip()
    surely = bool(_SURELY.search(lowered))
    if _MAYBE.search(lowered) and not surely:
        return None
    own = told(lowered)
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
