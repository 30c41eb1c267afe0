"""What of a session survives a compaction: the brief against the opening request and the last three user messages.

Thirty real sessions are cut after 60 % of their messages. Sage captures them as they grow (a checkpoint every
`--every` messages) and makes its brief at the cut. It counts what the text still says: the names of files that were
changed, errors of tools, and sentences that a person labelled as instructions of the user or as decisions
(`session_labels.txt`, labelled without looking at Sage's code). A sentence counts if one line has 60 % of its
words. The baseline is cut to the same budget; in the second comparison the brief gets no more tokens than the baseline
has. Part A was looked at while the notes were tuned, part B was not.

    python benchmarks/survival.py --sessions DIR_OR_GIT [--budget 1500] [--every 60] [--show SESSION]
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from measure import machine, table
from played_logs import project_root, write_transcript
from session_labels import find_sentence, read_labels
from session_logs import Message, Session, sessions_of

_WORD = re.compile(r"[a-z0-9_]{3,}")
_STANDS = 0.6
_KINDS = ("files changed", "errors met", "instructions", "decisions")
_SESSION = "survivor"
_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
# Errors of the agent's own tools, which say nothing about the project.
_TOOL_TALK = re.compile(
    r"sibling tool call|doesn't want to proceed|has not been read|string to replace|interrupted|file has been|"
    r"permission|exceeds|too large|no changes",
    re.IGNORECASE,
)
_TELLING = re.compile(
    r"error|fail|exception|not found|no such|undefined|cannot|panic|does not exist", re.IGNORECASE
)  # fmt: skip


def words(text: str) -> set[str]:
    """The words of a text."""
    return set(_WORD.findall(text.lower()))


def stands(sentence: str, lines: Sequence[set[str]]) -> bool:
    """Whether one line has most of the words of a sentence."""
    wanted = words(sentence)
    return bool(wanted) and any(len(wanted & line) >= _STANDS * len(wanted) for line in lines)


def errors_of(messages: Sequence[Message]) -> list[str]:
    """The last telling line of each failed call, each once."""
    found: dict[str, None] = {}
    for message in messages:
        for tool in message.tools if not message.is_sidechain else ():
            lines = [re.sub(r"</?tool_use_error>", "", line).strip() for line in tool.output.split("\n")]
            lines = [line for line in lines if line and not line.startswith("Exit code")]
            telling = [line for line in lines if _TELLING.search(line)] or lines[:1]
            if tool.is_error and telling and not _TOOL_TALK.search(telling[-1]):
                found[telling[-1][:160]] = None
    return list(found)


def first_tokens(text: str, count: int) -> str:
    """The beginning of a text that costs at most so many tokens."""
    from sage_code.text.tokens import count_tokens

    kept, spent = [], 0
    for piece in re.split(r"(\s+)", text):
        spent += count_tokens(piece)
        if spent > count:
            break
        kept.append(piece)
    return "".join(kept)


def changed_files(log: Session) -> set[str]:
    """The files of the project that were edited, as the log names them."""
    root = project_root(log)
    return {
        file
        for message in log.messages
        for tool in message.tools
        if tool.name in _EDITS and not tool.is_error and not message.is_sidechain
        for file in tool.files
        if root and file.startswith(f"{root}/")
    }


def texts_of(log: Session, home: Path, budget: int, every: int) -> dict[str, str]:
    """The brief, the baseline, and a brief that is no longer than the baseline."""
    from sage_code.continuity.brief import make_brief
    from sage_code.continuity.capture import capture
    from sage_code.continuity.session import Session as State
    from sage_code.text.tokens import count_tokens
    from sage_code.transcripts.conversation import words_of_user

    root, path = home / "app", home / "transcript.jsonl"
    root.mkdir()
    write_transcript(log, root, home / "whole.jsonl", _SESSION)
    lines = (home / "whole.jsonl").read_bytes().splitlines(keepends=True)
    path.touch()
    with State(_SESSION, str(root)) as state:
        state.data["transcript"] = str(path)
    parts = max(1, round(len(log.messages) / every))
    saved = []
    for part in range(parts):
        with path.open("ab") as file:
            file.writelines(lines[part * len(lines) // parts : (part + 1) * len(lines) // parts])
        if id_ := capture(_SESSION, str(root), "precompact"):
            saved.append(id_)
    typed = [words_of_user(one.text) for one in log.messages if one.role == "user" and not one.is_sidechain]
    typed = [text for text in typed if text]
    baseline = first_tokens("\n".join([*typed[:1], *typed[-3:]]), budget)
    same = max(count_tokens(baseline), 1)
    return {
        "brief": make_brief(str(root), _SESSION, saved, max_tokens=budget, number=1).text,
        "first and last three": baseline,
        "brief, as many tokens": make_brief(str(root), _SESSION, saved, max_tokens=same, number=1).text,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=Path, required=True, help="a folder of logs, or the bare repository")
    parser.add_argument("--parity", choices=("even", "odd"), default="even")
    parser.add_argument("--budget", type=int, default=1_500)
    parser.add_argument("--every", type=int, default=60)
    parser.add_argument("--show", default="", help="print the brief of this session")
    given = parser.parse_args()
    from sage_code.text.tokens import count_tokens

    logs = {one.id: one for one in sessions_of(given.sessions, given.parity)}
    counts: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for labelled in read_labels():
        messages = logs[labelled.id].messages[: labelled.cut]
        log = replace(logs[labelled.id], messages=messages)
        with tempfile.TemporaryDirectory() as scratch:
            os.environ["SAGE_HOME"] = str(Path(scratch) / "home")
            texts = texts_of(log, Path(scratch), given.budget, given.every)
        if given.show and labelled.id.startswith(given.show):
            print(texts["brief"])
        sentences = {
            kind: [find_sentence(messages[one.message].text, one.key) for one in labelled.labels if one.kind == kind]
            for kind in "id"
        }
        files, errors = changed_files(log), errors_of(messages)
        for name, text in texts.items():
            lines = [words(line) for line in text.split("\n")]
            found = {
                "files changed": (sum(os.path.basename(file) in text for file in files), len(files)),
                "errors met": (sum(stands(error, lines) for error in errors), len(errors)),
                "instructions": (sum(stands(one, lines) for one in sentences["i"]), len(sentences["i"])),
                "decisions": (sum(stands(one, lines) for one in sentences["d"]), len(sentences["d"])),
                "tokens": (count_tokens(text), 1),
            }
            for part in (labelled.part, "both"):
                for kind, (hits, of) in found.items():
                    counts[part, name][kind][0] += hits
                    counts[part, name][kind][1] += of
    print(machine())
    rows = []
    for (part, name), found in sorted(counts.items()):
        shares = [found[kind][0] / max(found[kind][1], 1) for kind in _KINDS]
        cells = [f"{share:.2f} ({found[kind][0]}/{found[kind][1]})" for share, kind in zip(shares, _KINDS, strict=True)]
        tokens = found["tokens"][0] // found["tokens"][1]
        rows.append([part, name, *cells, f"{sum(shares) / len(shares):.3f}", str(tokens)])
    print(table(["part", "text", *_KINDS, "mean", "tokens"], rows))


if __name__ == "__main__":
    main()
