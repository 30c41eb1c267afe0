"""Questions made from the text of a snapshot: documentation, messages, literal text, names, pieces of code.

The answer is always the place the question was taken from, so what is taken must stand in one place only. Stack traces
are made in `questions_trace`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from sage_code.languages.kinds import CHUNK_KIND
from sage_code.languages.table import detect
from sage_code.values import Symbol
from training.extract import Definition, xorder
from training.pair import doc_query
from training.pair_rewording import keywords, question, words_of
from training.questions_base import Question, Target, Tree, is_source
from training.questions_trace import Frame, trace

PER_KIND = 10
# Files that are parsed: enough to draw from, and a run over a hundred repositories must end.
_MAX_FILES = 160
_MIN_LINES = 3
_MAX_LINES = 150
_MAX_TRIES = 60
_MAX_SITES = 1500

_CALL = re.compile(
    r"\b(?:raise|throw|panic|abort|die|fatal|bail|anyhow|ensure|expect|unreachable|fail|failwith|error|warn(?:ing)?|invalid\w*"
    r"|log(?:ger|ging)?|console|Errorf?|Fatalf?|Warnf?|Infof?|Errors?\.New|errors\.New|exception|\w*Error|\w*Exception|eprintln"
    r"|printf?|fprintf|stderr|echo|precondition\w*|assert\w*|require|check\w*|die_?\w*|trigger_error|RuntimeException)\b",
    re.IGNORECASE,
)
_STRING = re.compile(r"\"((?:\\.|[^\"\\\n]){12,160})\"|'((?:\\.|[^'\\\n]){12,160})'|`([^`\n]{12,160})`")
# Elsewhere a back tick is markup in a comment.
_BACK_TICKS = frozenset({"javascript", "typescript", "tsx", "go"})
_HOLE = re.compile(
    r"%[-+0-9.]*(?:l|ll|h|z|j)?[sdvqrxiufTgcp@]|%\(\w+\)[sdr]|#\{[^{}]*\}|\$\{[^{}]*\}|\{\{[\w.]*\}\}|\{[\w.\[\]!:?()]*\}|\\\([^()]*\)"
    r"|\$\w+"
)
_COMMENTS = ("#", "//", "*", "/*", '"""', "--", "'''")
_LETTERS = re.compile(r"[A-Za-z]{2,}")
_ESCAPE = re.compile(r"\\[nrt\"'\\`]")
_IDENTIFIER = re.compile(r"\b[A-Za-z_][A-Za-z0-9_]{9,40}\b")
_VALUES = (
    "42",
    "foo",
    "/tmp/data.bin",
    "my-service",
    "127.0.0.1:8080",
    "user_id",
    "None",
    "abc123",
    "3",
    "example.com",
    "Widget",
)
_ASKED = (
    'getting "{}"',
    "why do I get: {}",
    "{} what does this mean",
    "error: {}",
    "where does '{}' come from",
    "fails with {}",
)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method of the snapshot, with the lines of its file."""

    path: str
    language: str
    symbol: Symbol
    lines: tuple[str, ...]  # of the function alone
    kind: str = "function"

    @property
    def target(self) -> Target:
        """Its place as an answer."""
        return Target(self.path, self.symbol.start_line, self.symbol.end_line, self.symbol.line)


@dataclass(frozen=True, slots=True)
class Material:
    """What questions are drawn from: the tree, its functions in a drawn order, and how often each name is defined."""

    tree: Tree
    functions: list[Function]
    classes: list[Function]
    names: Counter[str]
    symbols_of: Callable[[str], tuple[Symbol, ...]]
    draw: random.Random


def made_questions(tree: Tree, symbols_of: Callable[[str], tuple[Symbol, ...]], seed: str) -> list[Question]:
    """About six questions of each kind, drawn by the seed."""
    draw = random.Random(seed)
    functions: list[Function] = []
    classes: list[Function] = []
    names: Counter[str] = Counter()
    paths = sorted((path for path in tree.texts if is_source(path)), key=lambda path: xorder(f"{seed} {path}"))
    for path in paths[:_MAX_FILES]:
        language = detect(path)
        lines = tree.texts[path].split("\n")
        for symbol in symbols_of(path):
            names[symbol.name] += 1
            kind = CHUNK_KIND.get(symbol.kind, "")
            own = tuple(lines[symbol.start_line - 1 : symbol.end_line])
            if language is None or len(own) < _MIN_LINES or len(symbol.name) < 3:
                continue
            if kind in ("function", "method") and len(own) <= _MAX_LINES:
                functions.append(Function(path, language.name, symbol, own))
            elif kind in ("class", "type"):
                classes.append(Function(path, language.name, symbol, own, "class"))
    draw.shuffle(classes)
    material = Material(tree, functions, classes, names, symbols_of, draw)
    found: list[Question] = []
    for make in (_docs, _messages, _literals, _names, _fragments, _traces):
        # Each kind from other functions: one that gives three questions would be learned three times.
        draw.shuffle(functions)
        found += _limited(make(material))
    return found


def _limited(questions: Iterator[Question]) -> list[Question]:
    """The first few questions, at most two of one file."""
    found: list[Question] = []
    files: Counter[str] = Counter()
    texts: set[str] = set()
    for one in questions:
        path = one.targets[0].path
        if files[path] < 2 and one.text not in texts:
            files[path] += 1
            texts.add(one.text)
            found.append(one)
        if len(found) >= PER_KIND:
            break
    return found


def _docs(material: Material) -> Iterator[Question]:
    """Sentences of the documentation, as they stand, as a question and as keywords."""
    seen: set[str] = set()
    for one in material.functions:
        if not one.symbol.docstring:
            continue
        symbol = one.symbol
        item = Definition("function", one.language, one.path, symbol.name, symbol.qualname, "", symbol.docstring, "")
        sentence = doc_query(item)
        if not sentence or sentence.lower() in seen or _texts_with(material.tree, sentence[:40]) > 1:
            continue
        seen.add(sentence.lower())
        chance = material.draw.random()
        if chance < 0.5:
            form, text = "sentence", sentence
        elif chance < 0.8:
            form, text = "question", question(sentence, one.language, material.draw)
        else:
            form, text = "keywords", keywords(sentence, material.draw)
        if len(text.split()) >= 2:
            yield Question("doc", form, text, (one.target,))


def _texts_with(tree: Tree, piece: str) -> int:
    return len(tree.holding(piece))


def _sites(one: Function) -> Iterator[tuple[int, str]]:
    """The strings of a function that are arguments of a call that reports something, with their lines."""
    for row, line in enumerate(one.lines):
        before = one.lines[row - 1] if row else ""
        for found in _STRING.finditer(line):
            head = line[: found.start()]
            opened = before.rstrip().endswith(("(", ",")) and not head.strip(" \tfrbF$@")
            quoted = found[3] is None or one.language in _BACK_TICKS
            if quoted and (_CALL.search(head) or (opened and _CALL.search(before))):
                yield one.symbol.start_line + row, next(group for group in found.groups() if group)


def _messages(material: Material) -> Iterator[Question]:
    """Messages that the code reports, half of them with values in their holes."""
    draw = material.draw
    sites = [(one, line, raw) for one in material.functions[:_MAX_SITES] for line, raw in _sites(one)]
    holed = [site for site in sites if _HOLE.search(site[2])]
    plain = [site for site in sites if not _HOLE.search(site[2])]
    # In turns, as far as there are both.
    mixed = [site for pair in zip_longest(holed, plain) for site in pair if site is not None]
    for one, line, raw in mixed:
        pieces = [_ESCAPE.sub(" ", piece).strip() for piece in _HOLE.split(raw)]
        longest = max(pieces, key=len)
        if len(_LETTERS.findall(raw)) < 3 or len(longest) < 10 or " " not in longest:
            continue
        holding = [path for path in material.tree.holding(longest, 8) if is_source(path)]
        if holding != [one.path] or material.tree.texts[one.path].count(longest) > 1:
            continue
        form, text = _said(raw, draw)
        yield Question("message", form, text, (Target(one.path, one.symbol.start_line, one.symbol.end_line, line),))


def _said(raw: str, draw: random.Random) -> tuple[str, str]:
    """A message as somebody would type or paste it."""
    plain = re.sub(r"\s+", " ", _ESCAPE.sub(lambda found: "" if found[0] in "\\n\\r\\t" else found[0][1], raw)).strip()
    form = "plain"
    if _HOLE.search(raw) and draw.random() < 0.75:
        form, plain = "filled", _HOLE.sub(lambda _hole: draw.choice(_VALUES), plain)
    chance = draw.random()
    if chance < 0.15:
        return form, f'"{plain}"'
    if chance < 0.35:
        return form, draw.choice(_ASKED).format(plain)
    return form, plain


def _literals(material: Material) -> Iterator[Question]:
    """Rare text that stands literally in one file: words of a comment or string, a name, a part of a name."""
    tree, draw = material.tree, material.draw
    paths = sorted(tree.texts)
    for attempt in range(_MAX_TRIES * 6):
        path = draw.choice(paths)
        # Of other files than source only a few: they are rarely asked for.
        if not is_source(path) and draw.random() < 0.8:
            continue
        lines = tree.texts[path].split("\n")
        row = draw.randrange(len(lines))
        line = lines[row]
        if not 12 <= len(line) <= 200:
            continue
        form = ("words", "name", "part")[attempt % 3]
        text = _piece(line, form, draw)
        if not text or len(tree.holding(text)) != 1 or tree.texts[path].count(text) > 3:
            continue
        first = tree.texts[path].count("\n", 0, tree.texts[path].index(text)) + 1
        yield Question("literal", form, text, (_around(material, path, first),))


def _piece(line: str, form: str, draw: random.Random) -> str:
    """A piece of a line: some of its words as they stand, an identifier, or a part of one."""
    if form == "words":
        runs = re.findall(r"[A-Za-z][A-Za-z,'-]*(?: [A-Za-z][A-Za-z,'-]*){2,}", line)
        if not runs:
            return ""
        words = draw.choice(runs).split(" ")
        size = min(len(words), draw.randint(3, 7))
        start = draw.randrange(len(words) - size + 1)
        return " ".join(words[start : start + size]).strip(",'-")
    names = _IDENTIFIER.findall(line)
    if not names:
        return ""
    name: str = draw.choice(names)
    if form == "part":
        parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])|_+", name)
        if len(parts) < 3:
            return ""
        cut = draw.randint(1, len(parts) - 1)
        name = max("".join(parts[:cut]), "".join(parts[cut:]), key=len).strip("_")
    return name if len(name) >= 7 else ""


def _around(material: Material, path: str, line: int) -> Target:
    """A line with the innermost function around it, if there is one."""
    spans = [
        (symbol.end_line - symbol.start_line, symbol.start_line, symbol.end_line)
        for symbol in material.symbols_of(path)
        if symbol.start_line <= line <= symbol.end_line and CHUNK_KIND.get(symbol.kind) in ("function", "method")
    ]
    if not spans:
        return Target(path, line=line)
    _size, start, end = min(spans)
    return Target(path, start, end, line)


def _names(material: Material) -> Iterator[Question]:
    """Names as people type them: exact, qualified, in part, misspelt, in plain words."""
    forms = ("exact", "qualified", "partial", "misspelt", "words", "asked")
    turn = 0
    for index, one in enumerate(material.functions):
        item = material.classes[index // 4 % len(material.classes)] if index % 4 == 3 and material.classes else one
        name, parts = item.symbol.name, words_of(item.symbol.name)
        if material.names[name] > 1 or len(name) < 6 or not name.isascii() or not _defined_once(material, item):
            continue
        form = forms[turn % len(forms)]
        text = _name_text(item, form, parts, material.draw)
        if text:
            turn += 1
            yield Question("name", form, text, (item.target,))


def _defined_once(material: Material, item: Function) -> bool:
    """Whether no other file, also of those that are not parsed, seems to define a function's name."""
    pattern = re.compile(
        rf"\b(?:def|func|fn|fun|function|class|struct|interface|trait|object|enum|type|module|defp|void|int|const|let|val|var|pub)"
        rf"\s+(?:\([^()]*\)\s*)?(?:\w+[.:])?{re.escape(item.symbol.name)}\b"
    )
    tree = material.tree
    others = [path for path in tree.holding(item.symbol.name, 80) if path != item.path]
    return len(others) < 79 and not any(pattern.search(tree.texts[path]) for path in others)


def _name_text(item: Function, form: str, parts: list[str], draw: random.Random) -> str:
    """One form of a name; nothing where the name has no such form."""
    name = item.symbol.name
    if form == "qualified":
        return item.symbol.qualname if item.symbol.qualname != name else ""
    if form == "partial":
        kept = list(parts)
        if len(kept) < 3:
            return ""
        del kept[draw.randrange(len(kept))]
        return draw.choice(("_", "", " ")).join(kept)
    if form == "misspelt":
        at = draw.randrange(1, len(name) - 2)
        return draw.choice(
            (
                name[:at] + name[at + 1] + name[at] + name[at + 2 :],
                name[:at] + name[at + 1 :],
                name[:at] + name[at] + name[at:],
                name[:at] + draw.choice("aeiorstn") + name[at + 1 :],
            )
        )
    if form == "words":
        return " ".join(parts) if len(parts) >= 2 else ""
    if form == "asked":
        return draw.choice(("where is {} defined", "{} implementation", "what does {} do", "find {}")).format(name)
    return name


def _fragments(material: Material) -> Iterator[Question]:
    """Two to five lines of code as they are copied, sometimes with other white space."""
    for one in material.functions:
        size = material.draw.randint(2, 5)
        rows = len(one.lines) - size - 1
        if rows < 1:
            continue
        start = material.draw.randint(1, rows)
        piece = one.lines[start : start + size]
        text = "\n".join(piece)
        if len(text.strip()) < 40 or len(_LETTERS.findall(text)) < 5 or any(len(line) > 160 for line in piece):
            continue
        if (
            not piece[0].strip()
            or material.tree.texts[one.path].count(text) > 1
            or material.tree.holding(text) != [one.path]
        ):
            continue
        margin = min(len(line) - len(line.lstrip()) for line in piece if line.strip())
        chance = material.draw.random()
        if chance < 0.4:
            form, shown = "copied", text
        elif chance < 0.7:
            form, shown = "dedented", "\n".join(line[margin:] for line in piece)
        else:
            form, shown = "joined", " ".join(text.split())
        target = Target(one.path, one.symbol.start_line, one.symbol.end_line, one.symbol.start_line + start)
        yield Question("fragment", form, shown.strip("\n"), (target,))


def _traces(material: Material) -> Iterator[Question]:
    """Stack traces through two or three functions that call each other, as far as their text tells."""
    for one in material.functions:
        frames = [_frame(one, _inner_row(one, material.draw))]
        called = one
        for _step in range(material.draw.randint(1, 2)):
            caller = _caller(called, material.functions)
            if caller is None:
                break
            frames.append(_frame(*caller))
            called = caller[0]
        if len(frames) < 2 or len(one.lines) < 5:
            continue
        text = trace(one.language, frames, _own_message(one), material.draw)
        if text:
            target = Target(one.path, one.symbol.start_line, one.symbol.end_line, frames[0].line)
            yield Question("trace", one.language, text, (target,))


def _frame(one: Function, row: int) -> Frame:
    return Frame(one.path, one.symbol.name, one.symbol.qualname, one.symbol.start_line + row, one.lines[row].strip())


def _inner_row(one: Function, draw: random.Random) -> int:
    """A row of a function's body, not blank and no comment, if one is found in a few draws."""
    row = len(one.lines) // 2
    for _try in range(8):
        row = draw.randrange(1, len(one.lines))
        text = one.lines[row].strip()
        if len(text) > 8 and not text.startswith(_COMMENTS):
            return row
    return row


def _caller(called: Function, functions: list[Function]) -> tuple[Function, int] | None:
    """A function in whose body a name is called, with the row; by the text alone."""
    call = re.compile(rf"\b{re.escape(called.symbol.name)}\(")
    for one in functions:
        if one.symbol.name == called.symbol.name or one.language != called.language:
            continue
        for row, line in enumerate(one.lines):
            if row and call.search(line) and not line.lstrip().startswith(_COMMENTS):
                return one, row
    return None


def _own_message(one: Function) -> str:
    """A message that the function itself reports, without its holes; often there is none."""
    return next((_HOLE.sub("x", raw) for _line, raw in _sites(one) if len(raw.split()) >= 3), "")
