"""Finds the files that a shell command clearly reads or writes: `cat a.py`, `sed -n 10,20p a.py`, `echo x > a.txt`.

Only what the words themselves say counts. A word with a variable, a glob or a substitution is uncertain and left out,
as are relative paths after a `cd` to such a word, and programs that are not in the table. Nothing is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from sage_code.transcripts.touches import Touch

# A longer command carries data, such as a script in a here-document, and no file names.
_MAX_CHARS = 4000
_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)|(?P<operator>\d?>>?(?:&\d)?|&>>?|<<<?-?|<|\|\||&&|\|&?|;|&|\n|\(|\))"""
    r"""|(?P<word>(?:[^\s|&;<>()"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)""",
    re.DOTALL,
)
_PART = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
# A here-document is data, but the rest of the line that starts it belongs to the command.
_DOCUMENT = re.compile(
    r"""(?<!<)<<-?[ \t]*(['"]?)([A-Za-z_]\w*)\1([^\n]*)\n(?:(?:.*?\n)??[ \t]*\2[ \t]*(?:\n|\Z)|.*)""", re.DOTALL
)
# Most commands have no quotes, no redirections and no expansions.
_BARE = re.compile(r"[\w./ \t\n|;&=,:@%+-]*")
_BORDER = re.compile(r"[|;&\n]+")
_UNCERTAIN = re.compile(r"[$`]|[*?\[{~]")
# Programs that print files, and the options of each that take a value.
_PRINTERS = {
    "cat": "", "bat": "", "nl": "bdfhilnpsvw", "less": "", "more": "", "tac": "", "head": "nc", "tail": "nc",
}  # fmt: skip
_SEARCHERS = {"grep": "ABCmef", "egrep": "ABCmef", "fgrep": "ABCmef", "rg": "ABCmeftTgjM"}
_WORTH_READING = re.compile(rf"[<>]|\b(?:{'|'.join([*_PRINTERS, *_SEARCHERS, 'sed', 'tee', 'cp', 'mv'])})\b")
_SED_RANGE = re.compile(r"(\d+)(?:,(\d+))?p;?")
_COUNT = re.compile(r"-(?:n\s?)?(\d+)")
_SEPARATORS = frozenset({"||", "&&", "|", "|&", ";", "&", "\n", "(", ")"})


def file_uses(command: str, cwd: str) -> list[Touch]:
    """The files that `command`, run in `cwd`, clearly reads or writes, in order."""
    if not _WORTH_READING.search(command, 0, _MAX_CHARS):
        return []
    uses: list[Touch] = []
    folder: str | None = cwd
    for words, redirections in _simple_commands(_DOCUMENT.sub(r"\3\n", command[:_MAX_CHARS])):
        if words[:1] == ["cd"]:
            target = words[1] if len(words) == 2 else None
            folder = os.path.join(folder or "", target) if target and folder is not None and _is_plain(target) else None
            continue
        found = [*_used_by(words), *redirections]
        uses += [
            use._replace(file=os.path.normpath(os.path.join(folder or "", use.file)))
            for use in found
            if _is_plain(use.file) and (folder is not None or os.path.isabs(use.file))
        ]
    return uses


def _is_plain(word: str) -> bool:
    return bool(word) and word != "-" and not word.startswith("/dev/") and "\0" not in word and "\n" not in word


def _simple_commands(text: str) -> Iterator[tuple[list[str], list[Touch]]]:
    """The words of each simple command, and the files of its redirections."""
    if _BARE.fullmatch(text):
        for command in _BORDER.split(text):
            if words := command.split():
                yield words, []
        return
    words, outputs, redirection = [], list[Touch](), ""
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            return  # an unclosed quote: the rest is uncertain
        position = token.end()
        operator = token["operator"]
        if operator in _SEPARATORS:
            if words or outputs:
                yield words, outputs
            words, outputs, redirection = [], [], ""
        elif operator:
            redirection = operator
        elif token["word"]:
            word = _unquoted(token["word"])
            if not redirection:
                words.append(word)
            elif redirection in (">", ">>", "1>", "1>>", "&>", "&>>"):
                outputs.append(Touch(word, "write"))
            elif redirection == "<":
                outputs.append(Touch(word, "read"))
            redirection = ""
    if words or outputs:
        yield words, outputs


def _unquoted(word: str) -> str:
    """The word as the program gets it; empty if it depends on an expansion."""
    if word.isalnum():
        return word
    parts = []
    for single, double, escaped, bare in _PART.findall(word):
        if (double and re.search(r"[$`]", double)) or (bare and _UNCERTAIN.search(bare)):
            return ""
        parts.append(single or re.sub(r'\\(["\\$`])', r"\1", double) or escaped or bare)
    return "".join(parts)


def _used_by(words: list[str]) -> list[Touch]:
    """The files that a simple command uses."""
    program, rest = (os.path.basename(words[0]), words[1:]) if words else ("", [])
    if program in _PRINTERS:
        lines = _head_lines(rest) if program == "head" else None
        return [Touch(word, "read", lines=lines) for word in _operands(rest, _PRINTERS[program])]
    if program == "sed":
        return _sed(rest)
    if program in _SEARCHERS:
        has_pattern = any(word in ("-e", "-f", "--files") for word in rest)
        operands = _operands(rest, _SEARCHERS[program])[0 if has_pattern else 1 :]
        # A word without a suffix may be a folder, which is searched and not read.
        return [Touch(word, "grep") for word in operands if os.path.splitext(word)[1]]
    if program == "tee":
        return [Touch(word, "write") for word in _operands(rest, "")]
    if program in ("cp", "mv") and len(operands := _operands(rest, "t")) == 2 and os.path.splitext(operands[1])[1]:
        return [*([Touch(operands[0], "read")] if program == "cp" else []), Touch(operands[1], "write")]
    return []


def _sed(words: list[str]) -> list[Touch]:
    operands = _operands(words, "e")
    script = words[words.index("-e") + 1] if "-e" in words[:-1] else operands.pop(0) if operands else ""
    if any(word.startswith(("-i", "--in-place")) for word in words):
        return [Touch(word, "edit") for word in operands if word]
    shown = _SED_RANGE.fullmatch(script.strip()) if "-n" in words else None
    lines = _range(shown[1], shown[2] or shown[1]) if shown else None
    return [Touch(word, "read", lines=lines) for word in operands]


def _head_lines(words: list[str]) -> tuple[int, int] | None:
    """The lines that `head` with these arguments prints."""
    count = _COUNT.search(" ".join(words))
    return _range("1", count[1]) if count else (1, 10)


def _range(first: str, last: str) -> tuple[int, int] | None:
    # A longer number is no line number, and slow to parse.
    if max(len(first), len(last)) > 7 or not 1 <= int(first) <= int(last):
        return None
    return int(first), int(last)


def _operands(words: list[str], with_value: str) -> list[str]:
    """The words that are no options; an option whose letter is in `with_value` takes the next word as its value."""
    found: list[str] = []
    skip = False
    for number, word in enumerate(words):
        if skip:
            skip = False
        elif word == "--":
            return found + words[number + 1 :]
        elif word.startswith("-") and len(word) > 1:
            skip = len(word) == 2 and word[1] in with_value
        else:
            found.append(word)
    return found
