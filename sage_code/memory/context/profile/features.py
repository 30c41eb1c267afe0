"""What is looked at in a clause, to judge whether it says something lasting about its speaker.

Features are names, so that a weight can be read beside what it weighs: words and pairs of neighbours, the first words,
the length, what was asked before, and signs of work on code. `training/profiles.py` learns a weight for each.
"""

from __future__ import annotations

import re
from itertools import pairwise

from sage_code.memory.context.profile.clauses import Clause

# Marks of work on code: names with underscores, capitals or ends of files, options, and its everyday words.
_CODE_SIGN = re.compile(r"\w_\w|[a-z][A-Z]|\w\.(?:[a-z]{1,4}|json|yaml|toml|html)\b|(?:^|\s)--?[a-z]|/\w|#\d|\(\)")
_WORK = """
    api app argument backend bug build cache ci class cli code codebase column command commit compile component
    config container css database db deploy diff directory doc docker docs endpoint env error exception fail failed
    failing fails feature field file files flag folder frontend function git github html import index install interface
    issue json key lib library line lint linter log logs merge message method migration module null output package page
    param parse path plan pr project prompt pull push query readme refactor regex release repo repository request return
    review schema script server session setup sql stack step string sync syntax table task terminal test tests thread
    token trace type ui undefined unit update user ux value variable version view workflow
"""
_CODE_WORDS = frozenset(_WORK.split())
_NAME = re.compile(r" (?!I\b)[A-Z]")
_LENGTHS = (2, 3, 4, 5, 6, 8, 10, 13, 17, 22, 30)
# A general name of features: what a person has, does and likes changes with the topic, this does not.
_GROUPS = {
    "SELF": "i i'm i've i'd i'll me my mine myself",
    "US": "we we're we've we'll our ours us",
    "OTHER": "you you're your yours you've you'll yourself he she they his her their him them he's she's they're",
    "THING": "it it's its that that's this these those there there's",
    "KIN": """wife husband son daughter kids kid children child mom mother dad father parents sister brother sisters
        brothers family grandma grandpa grandmother grandfather aunt uncle cousin boyfriend girlfriend fiance partner
        friend friends dog dogs cat cats pet pets roommate baby twins""",
    "LIKE": """like love enjoy prefer hate dislike favorite favourite fan adore loved liked enjoyed loves likes
        interested passionate obsessed allergic""",
    "WORK": """work job working worked career boss company teacher nurse student school college degree major studying
        university engineer manager business office retired""",
    "HOME": "live living lived grew born raised moved moving house apartment home city town country farm state",
    "HABIT": "always usually often never every sometimes weekends everyday daily weekly regularly normally"
    " hardly rarely mostly",
    "NOW": "now today tonight tomorrow yesterday currently right morning afternoon evening soon just moment later",
    "HEDGE": "maybe perhaps might could would should guess think suppose hope hopefully probably sounds seems if",
    "NICE": "wow cool nice great awesome sorry thanks thank haha lol yes yeah yep ok okay oh sure hi hello hey"
    " amazing",
    "NOT": "not don't never no doesn't can't isn't didn't won't haven't wasn't none nothing",
}  # fmt: skip
_FORMS = (
    ("STATE", re.compile(r"^(?:i|we) (?:always |also |only |mostly |usually |really |still |both "
        r"|just )?(?:have|own|live|work|like|love|hate|prefer|use|play|collect|drive|speak|drink|eat|teach"
        r"|study|enjoy|need|want|go|run|wear|take|deploy|know|dislike|ride|write|read|watch|cook|sing|belong"
        r"|support|follow|host|keep|smoke|attend|subscribe|volunteer)\b")),
    ("AM", re.compile(r"^(?:i'm|i am|we're|we are) (?:not )?(?:an?|the|in|from|on|at|very|afraid|allergic"
        r"|married|single|divorced|engaged|retired|vegan|vegetarian|\d)")),
    ("DOING", re.compile(r"^(?:i'm|i am|we're|we are|i've been) (?:\w+ )?\w+ing\b")),
    ("MINE", re.compile(r"^(?:my|our) \w+(?: \w+)?(?: \w+)? (?:is|are|runs|has|have|lives|works|uses|takes"
        r"|loves|likes)\b")),
    ("PAST", re.compile(r"^(?:i|we) (?:just |also |already |finally )?(?:\w+ed|got|went|did|was|were|had|made"
        r"|saw|ran|took|found|told|said|came|bought|began)\b")),
    ("WILL", re.compile(r"^(?:i'll|i will|we'll|i'd|i would|i should|i could|i might|i can|let|i need|i want"
        r"|we need|we should|i was)\b")),
)  # fmt: skip
_GROUP_OF = {word: group for group, words in _GROUPS.items() for word in words.split()}


# Every form begins with one of these.
_STARTS = frozenset({"i", "i'm", "i've", "i'll", "i'd", "we", "we're", "we'll", "my", "our", "let"})


def _form(words: tuple[str, ...]) -> str:
    """The form of a clause about oneself, or nothing."""
    lowered = " ".join(words)
    for name, pattern in _FORMS:
        if pattern.match(lowered):
            return name
    return ""


def features_of(clause: Clause, asked: Clause | None = None) -> set[str]:
    """The features of a clause; `asked` is the question that it may answer."""
    words = clause.words
    found = set(words)
    found.update([f"{one} {two}" for one, two in pairwise(words)])
    groups = [group for word in words if (group := _GROUP_OF.get(word))]
    found.update(groups)
    found.update([f"{one}+{two}" for one, two in pairwise(groups) if one != two])
    found.add(f"^{words[0]}")
    if len(words) > 1:
        found.add(f"^{words[0]} {words[1]}")
    count = len(words)
    found.add(f"#{next((length for length in _LENGTHS if count <= length), 99)}")
    if clause.asks:
        found.add("ASKS")
        if "SELF" in found:
            found.add("ASKS SELF")
    if "SELF" not in found and "US" not in found:
        found.add("NOSELF")
        if "OTHER" in found:
            found.add("NOSELF OTHER")
    form = _form(words) if words[0] in _STARTS else ""
    if form:
        found.add(form)
        found.add(f"{form} #{min(count, 10)}")
        if "NOW" in found:
            found.add(f"{form} NOW")
    technical = sum(map(_CODE_WORDS.__contains__, words))
    if technical:
        found.add("CODE" if technical == 1 else "CODES")
        found.add(f"{form} CODE")
    if _CODE_SIGN.search(clause.text):
        found.add("SIGN")
    if _NAME.search(clause.text):
        found.add("NAMED")
    if clause.first:
        found.add("FIRST")
        if asked is not None:
            found.add("ANSWER")
            found.add("ANSWER SELF" if "SELF" in found else "ANSWER NOSELF")
            found.add(f"ANSWER #{min(count, 6)}")
            found.update([f"?{word}" for word in asked.words])
            found.update([f"?{one} {two}" for one, two in pairwise(asked.words)])
            found.add(f"ANSWER ^{words[0]}")
    return found
