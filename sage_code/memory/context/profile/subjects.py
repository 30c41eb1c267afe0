"""What a fact is about: whose it is, which question it answers, and its telling words.

A question that has one answer at a time (where do you live, what is your name, what is your editor) is a *slot*. Two
facts of one slot exclude each other, which is how a correction finds what it replaces.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from sage_code.memory.context.profile.clauses import plain, words_of
from sage_code.text.stems import stem

_KEPT = 8_192
_MOST_TELLING = 4
# Words that say nothing about a subject: of grammar, of talk, of time and amount, and verbs that fit everything.
_EMPTY = """
    a about actually after again ago all almost already also always am an and another any anybody anymore anything are
    around as ask at away back be because been before being best better big bit both but by call came can can't come
    could couldn't course current currently day days did didn't different do does doesn't doing don't done down during
    each either else end enough even ever every everyday everyone everything far few finally first for from full fun get
    gets getting give go goes going gone good got great guess guy had happen hard has hasn't have haven't having he he's
    her here him his hope how i i'd i'll i'm i've if in instead into is isn't it it's its just keep kind kinda know last
    lately later least less let life like little long longer longest look lot lots made make makes making many matter
    maybe me mean mine month months more most mostly much must my myself named need never new next nice no none nor not
    nothing now of off often ok okay old on once one only or other others our out over own part past people person
    place plan please pretty probably put quite rather real really recently right same say see she she's should since
    so some someone something sometimes soon sort start started still stuff such sure take taken taking tell than
    thank thanks that that's the their them then there there's these they they're thing things think this those though
    through till time times to today together told tomorrow tonight too took top tried try trying turned turns two
    type until
    up us use used uses using usually very want wanted wants was wasn't way we we'd we'll we're we've week weekend
    weekends weeks well went were what what's when where which while who whole whom why will with without won't would
    wouldn't year years yes yesterday yet you you're your yours
    january february march april june july august september october november december monday tuesday wednesday thursday
    friday saturday sunday morning evening sadly unfortunately honestly frankly
"""
EMPTY_WORDS = frozenset(_EMPTY.split())
# Verbs and nouns that a fact may be found by only together with another word.
_WEAK_WORDS = """
    work works working worked job live lives living lived love loves loved enjoy enjoys favorite favourite
    hate hates prefer prefers eat eats eating drink drinks drinking play plays playing played watch watching read
    reading
    home house family friend friends run running own owns owned drive drives driving ride riding school team company
    project code write writing wrote speak learn learning study studying stop stopped quit buy bought sell sold move
    moved moving switch switched change changed leave left lose lost call called feel name deploy set food group class
    city town place hour hours couple number spend collect grow cook cooking visit travel train morning three four five
    six seven eight nine ten dozen hundred everything asks answer machine main small large nearby local
"""
_WEAK = frozenset(map(stem, _WEAK_WORDS.split()))
_KIN_WORDS = """
    wife husband spouse son daughter mom mother mum dad father parents sister brother grandma grandpa grandmother
    grandfather aunt uncle cousin boyfriend girlfriend fiance fiancee partner friend roommate boss coworker colleague
    neighbor neighbour niece nephew manager colleagues teammate ex
"""
_KIN = _KIN_WORDS.split()
_KIN_WORD = {form: kin for kin in _KIN for form in (kin, f"{kin}s", f"{kin}'s")}
_OTHERS = frozenset({"he", "he's", "she", "she's", "they", "they're", "you", "you're"})
_PROFESSION = (
    r"(?:[a-z-]+ ){0,3}(?:[a-z]{2,}(?:er|or|ist|ian|eer|ant|yst|smith|wright)|nurse|chef|cook|clerk|coach"
    r"|pilot|judge|architect|student"
    r"|scientist|dev|sre|cto|ceo|freelancer|intern|chemist|mechanic|secretary|cop|vet|guard|maid|model|actress"
    r"|barista|lead|consultant|agent|teacher|salesman|fireman|policeman|postman)"
)
_NO_PROFESSION = (
    r"(?!\w* ?(?:lover|owner|reader|believer|eater|drinker|beginner|foodie|gamer|sister|brother"
    r"|mother|father|daughter|member|winner|runner|speaker|sleeper|traveler|hiker|swimmer|smoker|vegetarian"
    r"|loner|dreamer))"
)
_SLOTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        (
            "name",
            (
                r"\bmy (?:first |last |full |real |user ?)?name(?:'s| is)\b|\b(?:call me|i go by|i'm called"
                r"|known as)\b|^(?:i am|i'm) [a-z]+ by name"
            ),
        ),
        ("pronouns", r"\bmy pronouns\b"),
        (
            "age",
            (
                r"\b(?:i'm|i am|i turned|i just turned|turning) (?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty"
                r"|seventy|eighty)(?:[ -]\w+)?)(?: years? old| now|$|\W)|^(?:i'm|i am) .{0,20}\byears old\b"
                r"|\bmy age is\b"
            ),
        ),
        ("origin", r"\b(?:grew up|born|raised)\b|\bi(?:'m| am| come) (?:originally )?from\b"),
        (
            "home",
            (
                r"\b(?:i|we|my \w+)(?: \w+)? (?:lives?|resides?|stay|rent|settled|moved|relocated"
                r"|living)\b(?! with\b| alone\b)(?: \w+){0,4}? (?:in|at|near|outside|on|to|by|around)\b|\b(?:i'm"
                r"|i am|we're|we are)(?: \w+)? (?:living|based|located)\b|\bmy (?:home|house|apartment|flat"
                r"|place) is\b|\bi live (?:here|there|downtown|abroad)\b"
            ),
        ),
        (
            "household",
            (
                r"\blive (?:alone|with|by myself)\b|\bliving (?:alone|with)\b|\broommates?\b|\bmoved in with\b"
                r"|\bmoved out\b"
            ),
        ),
        (
            "relationship",
            (
                r"\b(?:married|divorced|single|engaged|widow(?:er|ed)?|separated|dating|my (?:wife|husband"
                r"|girlfriend|boyfriend|fiancee?|fiancé|spouse|partner|ex|marriage|wedding|anniversary)"
                r"|in a relationship|see(?:ing)? someone|have a (?:wife|husband|girlfriend|boyfriend|fiancee?"
                r"|partner))\b"
            ),
        ),
        ("retired", r"\b(?:i'm|i am) retired\b|\bi retired\b"),
        (
            "study",
            (
                r"\b(?:i'm|i am|i) (?:\w+ )?(?:study|studying|major|majoring|enrolled)\b|\bmy (?:major|degree"
                r"|thesis|phd|studies)\b|\bin (?:college|university|high school|grad school|medical school"
                r"|law school)\b|\b(?:a|an|college|university|high school|grad|graduate|phd|law|medical|nursing"
                r"|art) student\b"
            ),
        ),
        (
            "job",
            (
                rf"\b(?:i|we)(?: \w+)? (?:work|teach|freelance)\b(?! out\b| from\b| on\b| best\b| better\b| with\b"
                rf"| mostly with)|\b(?:i'm|i am)(?: \w+)? (?:working|employed)\b(?! out\b| on\b)|\bmy (?:job"
                rf"|career|occupation|profession|employer|title|role|company|work) (?:is|as)\b|\b(?:i'm|i am|i was"
                rf"|became|i work as|working as|job as)(?: \w+)? (?:an?|the|senior|lead|head|chief|principal|staff"
                rf"|junior) {_NO_PROFESSION}{_PROFESSION}\b|\b(?:new|second|part[- ]time|full[- ]time|my|two|a"
                rf"|the) jobs?\b|\bunemployed\b|\bbetween jobs\b|\bpromoted to\b|\b(?:night|day|early"
                rf"|late) shifts?\b|\bmy \w+ (?:is an? (?:\w+ )?(?:nurse|doctor|teacher|lawyer|engineer|pilot|chef"
                rf"|driver|cop|farmer|mechanic|accountant)|works (?:at|for|as|in))\b"
            ),
        ),
        ("diet", r"\b(?:vegan|vegetarian|pescatarian|keto|kosher|halal|carnivore|paleo|gluten[- ]free|meat)\b"),
        (
            "children",
            (
                r"\b(?:i|we) (?:\w+ )?(?:have|had|don't have|want)(?: \w+){0,3} (?:kids?|child|children|sons?"
                r"|daughters?|bab(?:y|ies)|twins)\b|\bexpecting\b|\bpregnant\b"
            ),
        ),
    )
)
# Words of which a text must have one before the longer patterns are tried.
_NEEDED_WORDS = {
    "name": "name name's called call go known",
    "home": "live lives living lived reside resides stay rent settled moved relocated based located home house "
    "apartment flat place",
    "household": "live living roommate roommates moved",
    "study": "study studying major majoring enrolled degree thesis phd studies college university school student",
    "children": "kid kids child children son sons daughter daughters baby babies twins expecting pregnant",
}  # fmt: skip
_NEEDED = {name: frozenset(words.split()) for name, words in _NEEDED_WORDS.items()}
_MY_IS = re.compile(
    r"\b(?:my|our) ((?:favou?rite )?[a-z]+(?: [a-z]+){0,2}?)(?: (?:of all time|now|these days))? (?:is|are"
    r"|runs|takes|costs|lasts|will be|has become|became|has always been)\b"
)
_KIN_IS = re.compile(
    r"\bmy (?:older |younger |little |big |oldest |youngest )?([a-z]+) (?:is|was) (?:in|at|a"
    r"|an|on)\b"
)
_FAVOURITE = re.compile(r"\bmy (?:new |all[- ]time |absolute |current )*favou?rite ([a-z]+)")
_IS_FAVOURITE = re.compile(
    r"\b(?:is|are|was) (?:my|our) (?:new |all[- ]time |absolute "
    r"|current )*favou?rite ([a-z]+)"
)
# Things of one kind, of which a person uses one at a time.
_KINDS = {
    "editor": "vim neovim nvim emacs helix vscode vs-code sublime nano kakoune zed intellij pycharm webstorm"
    " jetbrains atom eclipse cursor notepad",
    "package manager": "npm pnpm yarn bun",
    "python packaging": "pip poetry pipenv conda uv pdm hatch",
    "system": "windows linux ubuntu debian fedora arch macos mac osx nixos manjaro mint freebsd popos wsl",
    "shell": "bash zsh fish powershell nushell",
    "browser": "chrome firefox safari edge brave opera vivaldi chromium",
    "forge": "github gitlab bitbucket gitea forgejo codeberg",
    "cloud": "aws azure gcp heroku vercel netlify hetzner digitalocean linode render flyio",
    "database": "postgres postgresql mysql sqlite mongodb mongo mariadb oracle cockroachdb dynamodb cassandra",
    "phone": "iphone android pixel samsung galaxy nokia oneplus",
    "frontend framework": "react vue angular svelte solid ember nextjs",
    "test framework": "pytest unittest nose jest vitest mocha jasmine",
    "linter": "eslint biome flake8 ruff pylint prettier black",
    "build tool": "maven gradle bazel make cmake ant sbt webpack vite esbuild rollup parcel",
    "ci": "jenkins circleci travis buildkite teamcity",
    "indentation": "tabs spaces",
    "hot drink": "coffee tea matcha espresso",
    "web framework": "django flask fastapi rails laravel express spring",
    "tracker": "jira linear trello asana notion",
    "chat": "slack discord teams mattermost zulip",
    "music service": "spotify tidal deezer pandora",
    "terminal": "iterm kitty alacritty wezterm ghostty tmux",
    "model": "claude gpt chatgpt gemini llama mistral copilot",
    "containers": "docker podman",
}  # fmt: skip
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_NEGATIVE = re.compile(
    r"\b(?:not|don't|doesn't|didn't|never|can't|cannot|won't|isn't|aren't|no|hate|hates|dislike|despise|avoid"
    r"|without|neither|nor|"
    r"haven't|sick of|tired of|fed up)\b"
)
_PAST = re.compile(r"\bused to\b|\bno longer\b|\bany ?more\b|\bas a (?:kid|child)\b|\bwhen i was\b")
_LIVES = re.compile(
    r"\b(?:i|we) (?:now |currently |actually |both )?(?:live|reside) in\b|\b(?:i'm|i am|we're) (?:based|living"
    r"|located) in\b"
)
_DIGITS = re.compile(r"\d+")
_NUMBER_WORDS = "one two three four five six seven eight nine ten eleven twelve dozen a an single twenty thirty"
_NUMBER = frozenset(_NUMBER_WORDS.split())


@lru_cache(maxsize=_KEPT)
def telling_words(text: str) -> tuple[str, ...]:
    """The stems of the words of a text that are not empty, each once, in order."""
    stems = [
        stem(word.removesuffix("'s")) for word in words_of(plain(text)) if word not in EMPTY_WORDS and word not in "?!"
    ]
    return tuple(dict.fromkeys(stems))


@lru_cache(maxsize=_KEPT)
def strong_words(text: str) -> frozenset[str]:
    """The telling words by which a fact can be found on its own."""
    return frozenset(word for word in telling_words(text) if word not in _WEAK and not word.isdigit())


@lru_cache(maxsize=_KEPT)
def slots_of(text: str) -> frozenset[str]:
    """The questions with one answer that a text answers."""
    lowered = plain(text).lower()
    words = set(words_of(lowered))
    found = {
        name
        for name, pattern in _SLOTS
        if not ((needed := _NEEDED.get(name)) and needed.isdisjoint(words)) and pattern.search(lowered)
    }
    if "origin" in found:
        found.discard("home")
    if (kin := _KIN_IS.search(lowered)) and kin[1] in _KIN_WORD:
        found.add(f"kin {kin[1]}")
    for match in (*_FAVOURITE.finditer(lowered), *_IS_FAVOURITE.finditer(lowered)):
        if match[1] not in ("thing", "things", "part", "one", "ones"):
            found.add(f"favorite {stem(match[1])}")
    if (mine := _MY_IS.search(lowered)) and "favo" not in mine[1] and mine[1].split()[0] not in _KIN_WORD:
        found.add(f"my {' '.join(map(stem, mine[1].split()))}")
    return frozenset(found)


@lru_cache(maxsize=_KEPT)
def kinds_of(text: str) -> frozenset[str]:
    """The kinds of things (editor, shell, database) of which a text names one."""
    return frozenset(kind for word in words_of(plain(text)) if (kind := _KIND_OF.get(word)))


@lru_cache(maxsize=_KEPT)
def owner_of(text: str) -> str:
    """Whose fact it is: a word such as `sister`, or nothing for the person."""
    words = words_of(plain(text))
    if words[:1] and words[0] in _OTHERS:
        return words[0]
    for number, word in enumerate(words[:6]):
        if word in ("i", "i'm", "i've", "we", "we're", "i'd"):
            return ""
        if (
            word in _KIN_WORD
            and number
            and words[number - 1] in ("my", "our", "his", "her", "old", "best", "little", "older", "younger", "big")
        ):
            return "" if words[number + 1 : number + 3] in (("and", "i"), ("and", "me")) else _KIN_WORD[word]
    return ""


def numbers_in(text: str) -> dict[str, str]:
    """What is counted in a text, with its number: `{"dog": "two"}`."""
    words = words_of(plain(text))
    found = {}
    for number, word in enumerate(words[:-1]):
        if word.isdigit() or word in _NUMBER:
            for follower in words[number + 1 : number + 3]:
                if follower not in EMPTY_WORDS and follower not in "?!":
                    found[stem(follower)] = "one" if word in ("a", "an", "single") else word
    return found


class Told(NamedTuple):
    """A clause or a fact as corrections see it."""

    text: str
    words: frozenset[str]
    telling: tuple[str, ...]
    strong: frozenset[str]
    owner: str
    slots: frozenset[str]
    kinds: frozenset[str]
    numbers: dict[str, str]
    digits: tuple[str, ...]
    negative: bool
    past: bool  # the clause says that it was so before
    lives: bool  # it says outright where the person lives


@lru_cache(maxsize=_KEPT)
def told(text: str) -> Told:
    """What a text in lower case is about."""
    return Told(
        text,
        frozenset(words_of(text)),
        telling_words(text),
        strong_words(text),
        stem(owner_of(text)),
        slots_of(text),
        kinds_of(text),
        numbers_in(text),
        tuple(_DIGITS.findall(text)),
        bool(_NEGATIVE.search(text)),
        bool(_PAST.search(text)),
        bool(_LIVES.search(text)),
    )


def things_of(about: Told, kinds: frozenset[str]) -> set[str]:
    """The things of these kinds that a text names."""
    return {word for word in about.words if _KIND_OF.get(word) in kinds}


def subject_of(text: str) -> str:
    """What a fact is about, for a reader: its slot, or its first telling words."""
    owner = owner_of(text)
    slot = min((one for one in slots_of(text) if one != "retired"), default="")
    what = slot or " ".join(telling_words(text)[:_MOST_TELLING])
    return f"{owner}: {what}" if owner else what
