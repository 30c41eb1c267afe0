"""What was instructed and decided in real sessions, labelled by hand: where each sentence is, not what it says.

    python benchmarks/session_labels.py DIR      # checks that every label is found in the logs of that folder

`session_labels.txt` holds one line per item, `SESSION MESSAGE KIND KEY`: the number of the message in the session as
`session_logs` reads it (from 0), `i` for an instruction of the user or `d` for a decision of either side, and the first
six words of the sentence. `SESSION cut MESSAGE` says that only the messages before that number were labelled, and
`# part A` or `# part B` before a session which half it belongs to.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from session_logs import sessions_of

LABELS = Path(__file__).with_name("session_labels.txt")
KEY_WORDS = 6
LONGEST = 400
_WORD = re.compile(r"[a-z0-9]+(?:['’][a-z0-9]+)*", re.IGNORECASE)
# A stop counts before a blank only, and not in a row of dots or after an abbreviation.
_STOP = r"(?:[!?]+|(?<!\.)(?<!\bvs)(?<!\betc)(?<!\be\.g)(?<!\bi\.e)\.(?!\.))"
_END = re.compile(_STOP + r"[\"'”’)\]*_`]*(?=\s|$)|\n|$")
_PART = re.compile(r"# part ([AB])\s*")


@dataclass(frozen=True, slots=True)
class Label:
    """One sentence: the message it is in, `i` or `d`, and its first words."""

    message: int
    kind: str
    key: str


@dataclass(slots=True)
class LabelledSession:
    """The labels of a session, in order; messages from `cut` on were not looked at."""

    id: str
    part: str
    cut: int
    labels: list[Label] = field(default_factory=list)


def read_labels(path: str | Path = LABELS) -> list[LabelledSession]:
    """The labelled sessions of a file, in its order."""
    found: list[LabelledSession] = []
    part = ""
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if named := _PART.fullmatch(line):
            part = named[1]
        elif line.strip() and not line.startswith("#"):
            session, *rest = line.split()
            if rest[0] == "cut":
                found.append(LabelledSession(session, part, int(rest[1])))
            elif found and found[-1].id == session:
                found[-1].labels.append(Label(int(rest[0]), rest[1], rest[2]))
            else:
                raise ValueError(f"a label before the cut of its session: {line}")
    return found


def key_of(sentence: str) -> str:
    """The key of a sentence: its first words, without anything but letters and digits."""
    return "_".join(word for word, _ in _words(sentence)[:KEY_WORDS])


def find_sentence(message_text: str, key: str) -> str:
    """The first sentence of a message that begins with the words of a key, up to its end or that of the line.

    It has at most 400 characters, and is empty where the words are not found one after another.
    """
    wanted = key.split("_")
    words = _words(message_text)
    for first in range(len(words) - len(wanted) + 1):
        here = words[first : first + len(wanted)]
        if [word for word, _ in here] == wanted:
            end = _END.search(message_text, here[-1][1].end())
            assert end is not None
            return message_text[here[0][1].start() : end.end()][:LONGEST].strip()
    return ""


def _words(text: str) -> list[tuple[str, re.Match[str]]]:
    return [(re.sub("['’]", "", match[0]).lower(), match) for match in _WORD.finditer(text)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a folder of Markdown files, or a bare git repository")
    parser.add_argument("--show", action="store_true", help="print the sentences")
    options = parser.parse_args()
    sessions = {session.id: session for session in sessions_of(options.source)}
    labelled = read_labels()
    missing = 0
    for one in labelled:
        for label in one.labels:
            messages = sessions[one.id].messages[: one.cut] if one.id in sessions else []
            sentence = find_sentence(messages[label.message].text, label.key) if label.message < len(messages) else ""
            missing += not sentence
            if options.show or not sentence:
                print(one.id, label.message, label.kind, sentence or f"not found: {label.key}")
    kinds = [label.kind for one in labelled for label in one.labels]
    print(f"{len(labelled)} sessions, {kinds.count('i')} instructions, {kinds.count('d')} decisions, {missing} missing")
    sys.exit(missing > 0)


if __name__ == "__main__":
    main()
