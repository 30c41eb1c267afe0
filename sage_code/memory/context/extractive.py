"""A summariser that needs no language model.

`ExtractiveSummariser` chooses sentences and never rewrites them: what was asked first, what was decided and done, where
the work stands, what comes next, which files and names it is about. A summary among the messages is merged: its request
stays, and its other sentences compete with the new ones for half of the room. The same messages give the same text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sage_code.memory.context.summary import CHARS_A_WORD, SUMMARY_WORDS, Spoken, StructuredSummary, words_in

# The parts of a summary, in order, each with its share of the words. What one part leaves is given to `Done`.
_SHARES = {"Request": 0.22, "Done": 0.32, "State": 0.18, "Next": 0.16, "Names": 0.12}
# Of the room of `Done`, what sentences of the summary before may take.
_SHARE_OF_BEFORE = 0.5
# A longer sentence is cut; a shorter one says nothing by itself.
_MOST_WORDS, _LEAST_WORDS = 18, 3
_LEAST_CHARS = 6  # of a sentence in a script without blanks
# A message beyond this is a paste: its beginning says what it is.
_READ_CHARS = 4_000
_MOST_NAMES = 8

_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_BORDER = re.compile(r"(?<=[.!?])[ \t]+(?=\S)|(?<=[。！？])|\n+")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+•>#|]+|\d{1,3}[.)])[ \t]+")
_DONE = re.compile(
    r"(?i)\b(?:done|decid\w+|agreed|chose\w*|settled|fixed|added|implemented|created|renamed|removed|changed|moved|wrote|"
    r"works? now|pass(?:es|ed)?|merged|released|root cause|because|instead of|turned out|found|confirmed|now uses?)\b"
)
_NEXT = re.compile(
    r"(?i)\b(?:next|to-?do|remain\w*|still (?:need|have|miss)\w*|not yet|then we|will|should|must|plan\w*|"
    r"open question|afterwards|tomorrow|later|please|could you|can you|let's)\b"
)
# What an agent says about its next step is no result.
_NARRATION = re.compile(
    r"(?i)^(?:(?:now|ok(?:ay)?|great|perfect|so)[,.! ]+)*(?:let me|i'll|i will|i'm going to|let's)\b"
)
_PATH = re.compile(r"(?<![\w/])(?:[\w.-]+/)+[\w.-]*\w|\b[\w-]+\.[a-z][a-z0-9]{0,4}\b(?![.(])")
_NAME = re.compile(
    r"`([^`\n]{2,60})`|\b(\w+(?:\.\w+)*\(\))|\b([a-z0-9]+(?:_[a-z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+)\b"
)


class ExtractiveSummariser:
    """Chooses sentences of the messages; see the module's docstring."""

    name = "extractive"

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        """See `Summariser`."""
        earlier = [previous.text] if previous is not None else []
        before = _merged([*earlier, *(message.content for message in messages if message.role == "summary")])
        said = [message for message in messages if message.role in ("user", "assistant")]
        room = {name: max(int(share * max_words), 1) for name, share in _SHARES.items()}
        used: set[str] = set()
        chosen: dict[str, list[str]] = {}
        chosen["Request"] = _fitting(before["Request"] or _opening(said), room["Request"], used)
        if latest := _latest(said):  # where the work stood before is now something that was done
            before["Done"] += before.pop("State")
        chosen["State"] = _fitting(latest or before["State"], room["State"], used)
        chosen["Next"] = _fitting([*_coming(said), *before["Next"]][:2], room["Next"], used)
        chosen["Names"] = _names(messages, before["Names"], room["Names"])
        left = max_words - sum(words_in(text) + 1 for texts in chosen.values() for text in texts) - len(_SHARES)
        old = _fitting(_ranked(before["Done"]), int(left * _SHARE_OF_BEFORE), used)
        new = _fitting(_results(said), left - sum(words_in(text) + 1 for text in old), used)
        chosen["Done"] = [*(text for text in before["Done"] if text in old), *new]
        text = _laid_out(chosen, max_words)
        return StructuredSummary(text or f"{len(messages)} messages without a sentence to quote", self.name)


def _laid_out(chosen: dict[str, list[str]], max_words: int) -> str:
    """The parts as lines, with at most so many words."""
    lines = []
    for name in _SHARES:
        texts = chosen[name]
        if texts:
            lines += [f"{name}: {', '.join(texts)}"] if name == "Names" else [f"{name}: {text}" for text in texts]
    kept: list[str] = []
    for line in lines:
        if sum(map(words_in, kept)) + words_in(line) <= max_words:
            kept.append(line)
    return "\n".join(kept)


def _merged(summaries: Iterable[str]) -> dict[str, list[str]]:
    """The sentences of earlier summaries by part; of a summary in another form, the first is the request."""
    found: dict[str, list[str]] = {name: [] for name in _SHARES}
    for summary in summaries:
        own = [line.partition(": ") for line in summary.split("\n")]
        if own and all(name in _SHARES for name, _, _ in own):
            for name, _, text in own:
                found[name] += text.split(", ") if name == "Names" else [text]
        else:
            first, *rest = [*_sentences(summary)] or [summary]
            found["Request"] += [] if found["Request"] else [first]
            found["Done"] += [first, *rest] if found["Request"] and first not in found["Request"] else rest
    return found


def _sentences(text: str) -> Iterator[str]:
    """The sentences of a text that say something, without code blocks and marks of lists."""
    for piece in _BORDER.split(_FENCED.sub("\n", text[:_READ_CHARS])):
        sentence = " ".join(_LIST_MARK.sub("", piece).split())
        if len(sentence.split()) >= _LEAST_WORDS or (not sentence.isascii() and len(sentence) >= _LEAST_CHARS):
            yield sentence


def _opening(said: Sequence[Spoken]) -> list[str]:
    """What the person asked for first."""
    first = next((message for message in said if message.role == "user"), said[0] if said else None)
    if first is None:
        return []
    return [*_sentences(first.content)][:2] or [" ".join(first.content[:_READ_CHARS].split())]


def _latest(said: Sequence[Spoken]) -> list[str]:
    """What the agent said last that is a result."""
    for message in reversed(said):
        if message.role == "assistant":
            found = [text for text in _sentences(message.content) if not _NARRATION.match(text)]
            if found:
                return found[:1]
    return []


def _coming(said: Sequence[Spoken]) -> list[str]:
    """What the person asked for last, and the last next step that anybody named."""
    found = []
    for message in reversed(said):
        if message.role == "user" and (texts := [*_sentences(message.content)]):
            found.append(next((text for text in texts if _NEXT.search(text)), texts[0]))
            break
    for message in reversed(said):
        steps = [text for text in _sentences(message.content) if _NEXT.search(text)]
        if steps:
            return list(dict.fromkeys([*found, steps[-1]]))
    return found


def _results(said: Sequence[Spoken]) -> list[str]:
    """Sentences about what was decided and done, best first; of equal ones the latest."""
    found = [
        (_worth(text), order, text)
        for order, message in enumerate(said)
        for text in _sentences(message.content)
        if not _NARRATION.match(text)
    ]
    return [text for worth, _, text in sorted(found, reverse=True) if worth >= 1]


def _ranked(texts: Sequence[str]) -> list[str]:
    """Sentences of an earlier summary, best first; of equal ones the latest."""
    return [text for _, _, text in sorted(((_worth(text), n, text) for n, text in enumerate(texts)), reverse=True)]


def _worth(text: str) -> float:
    """How much a sentence says about results: its cues, the code that it names, and whether it has a handy length."""
    score = float(bool(_DONE.search(text))) + 0.5 * bool(_PATH.search(text) or _NAME.search(text))
    return score - (0.5 if words_in(text) > _MOST_WORDS or text.endswith("?") else 0.0)


def _names(messages: Sequence[Spoken], before: Sequence[str], room: int) -> list[str]:
    """The files and names that occur most, those of the earlier summary first counted as often as the best new one."""
    counts: Counter[str] = Counter()
    for message in messages:
        if message.role == "summary":
            continue
        text = message.content[:_READ_CHARS]
        # A path counts twice: it says where to look.
        counts.update(dict.fromkeys(_PATH.findall(text), 2))
        counts.update({next(filter(None, groups)) for groups in _NAME.findall(text)})
    most = max(counts.values(), default=0)
    counts.update(dict.fromkeys(before, most))
    found: list[str] = []
    for name, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if len(found) < _MOST_NAMES and sum(map(words_in, found)) + words_in(name) <= room and "," not in name:
            found.append(name)
    return found


def _fitting(texts: Iterable[str], room: int, used: set[str]) -> list[str]:
    """The first of the texts that have at most so many words with their headings, each used once.

    A long one is cut to a handy length, and the first one to the room, so that no part is lost for its length.
    """
    kept: list[str] = []
    left = room
    for text in texts:
        cut = _cut(text, _MOST_WORDS if kept else max(min(_MOST_WORDS, room - 1), 1))
        if cut.lower() not in used and words_in(cut) < left:
            kept.append(cut)
            used.add(cut.lower())
            left -= words_in(cut) + 1
        if left <= _LEAST_WORDS:
            break
    return kept


def _cut(text: str, most: int) -> str:
    """The beginning of a sentence, with at most so many words."""
    if words_in(text) <= most:
        return text
    words = text.split()[:most]
    while len(words) > 1 and words_in(" ".join(words)) > most - 1:
        words.pop()
    return f"{' '.join(words)[: most * CHARS_A_WORD - 1]}…"
