"""Ways to damage a source file, for `fuzz.py`: from a flipped byte to brackets ten thousand deep.

Everything comes from one `random.Random`, so that a seed names a mutant. A mutant is bytes, as on a disk: some are no
longer text, and Sage has to notice that too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

# Above this Sage leaves a file out; most mutants stay far below, so that an hour sees many of them.
MAX_BYTES = 999_000
_HEAVY_BYTES = 400_000
# How many mutants in a thousand grow as far as Sage reads: the cost that is not linear shows only there.
_HEAVY_PER_MILLE = 10
_MOST_STEPS = 4

_TOKEN = re.compile(rb"\w+|[^\w\s]|\s+")
_BRACKETS = (b"()", b"[]", b"{}", b"<>")
# What languages nest by, each with what closes it; the mutant may be left unclosed.
_NESTS = (
    *((pair[:1], pair[1:]) for pair in _BRACKETS),
    (b"f(", b")"), (b"a.b(", b")"), (b"x[", b"]"), (b"{a:", b"}"), (b'{"a":', b"}"), (b"[[", b"]]"), (b"(a ", b")"),
    (b"if (x) {\n", b"}\n"), (b"class A {\n", b"}\n"), (b"class A:\n ", b""), (b"def f():\n ", b""),
    (b"begin\n", b"end\n"), (b"function f() ", b" end "), (b"do |x|\n", b"end\n"), (b"module A ", b" end "),
    (b"let x = ", b" in x"), (b"case x of ", b" end "), (b"namespace a {", b"}"), (b"struct {", b"} a;"),
    (b"<div>", b"</div>"), (b"<a", b">"), (b"<!--", b"-->"), (b"<script>", b"</script>"), (b"${", b"}"),
    (b"`${", b"}`"),
    (b"#if A\n", b"#endif\n"), (b"/*", b"*/"), (b"(*", b"*)"), (b"{-", b"-}"), (b"--[[", b"]]"), (b'"""', b'"""'),
    (b"- ", b""), (b"> ", b""), (b"# ", b""), (b"*", b"*"), (b"!", b""), (b"-", b""), (b"not ", b""), (b"a?b:", b""),
    (b"a.", b"b"), (b"a::", b"b"), (b"@a ", b""), (b"a<", b">"), (b"\\", b""), (b"else if (x) ", b""), (b"\n  ", b""),
)  # fmt: skip
_QUOTES = (
    b'"',
    b"'",
    b"`",
    b'"""',
    b"'''",
    b"/*",
    b"*/",
    b"//",
    b"#",
    b"--",
    b"<!--",
    b"-->",
    b"```",
    b"<<EOF\n",
    b"\\",
)
_ODD = (
    b"\r\n", b"\r", b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xe2\x80\xa9",
    b"\xc2\x85", b"\x0b", b"\x0c", b"\x1b[0m", b"\xe2\x80\x8b", b"\xf0\x9f\x92\xa9", b"\xcc\x81" * 9, b"\xef\xbf\xbd",
    b"\t", b" " * 400, b"\n" * 200, b"\xc2\xa0", b"\xe2\x80\xae",
)  # fmt: skip

# A mutation takes the dice, the file and the files it may steal from: first those of its own language.
Pool = tuple[Sequence[bytes], Sequence[bytes]]
Mutation = Callable[[Random, bytes, Pool], bytes]


def mutant(dice: Random, source: bytes, pool: Pool) -> tuple[bytes, list[str]]:
    """A damaged copy of `source`, and the names of the mutations."""
    is_heavy = dice.randrange(1000) < _HEAVY_PER_MILLE
    steps = [dice.choice(_MUTATIONS) for _ in range(dice.randint(1, _MOST_STEPS))]
    if is_heavy:
        steps.insert(dice.randrange(len(steps) + 1), _grown)
    for step in steps:
        source = step(dice, source, pool)[:MAX_BYTES]
    return source, [step.__name__.strip("_") for step in steps]


def _flipped(dice: Random, source: bytes, _pool: Pool) -> bytes:
    out = bytearray(source)
    for _ in range(dice.randint(1, 20) if out else 0):
        out[dice.randrange(len(out))] = dice.choice((dice.randrange(256), dice.randrange(32, 127)))
    return bytes(out)


def _tokens(dice: Random, source: bytes) -> tuple[bytes, list[bytes], bytes]:
    """Some tokens in the middle, and the text before and after them."""
    start, end = _stretch(dice, source, 4000)
    return source[:start], _TOKEN.findall(source[start:end]), source[end:]


def _stretch(dice: Random, source: bytes, most: int) -> tuple[int, int]:
    start = dice.randrange(len(source) + 1)
    return start, min(len(source), start + dice.randint(1, most))


def _tokens_deleted(dice: Random, source: bytes, _pool: Pool) -> bytes:
    before, tokens, after = _tokens(dice, source)
    share = dice.choice((0.02, 0.1, 0.5))
    return before + b"".join(token for token in tokens if dice.random() > share) + after


def _tokens_duplicated(dice: Random, source: bytes, _pool: Pool) -> bytes:
    before, tokens, after = _tokens(dice, source)
    times = dice.choice((2, 2, 3, 50))
    return before + b"".join(token * (times if dice.random() < 0.05 else 1) for token in tokens) + after


def _tokens_swapped(dice: Random, source: bytes, _pool: Pool) -> bytes:
    before, tokens, after = _tokens(dice, source)
    for _ in range(dice.randint(1, 30) if tokens else 0):
        one, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
        tokens[one], tokens[other] = tokens[other], tokens[one]
    return before + b"".join(tokens) + after


def _spliced(dice: Random, source: bytes, pool: Pool) -> bytes:
    return _with_slice(dice, source, dice.choice(pool[0]))


def _spliced_with_another_language(dice: Random, source: bytes, pool: Pool) -> bytes:
    return _with_slice(dice, source, dice.choice(pool[1]))


def _with_slice(dice: Random, source: bytes, other: bytes) -> bytes:
    start, end = _stretch(dice, other, 3000)
    at, to = _stretch(dice, source, 500)
    return source[:at] + other[start:end] + source[dice.choice((at, to)) :]


def _unbalanced(dice: Random, source: bytes, _pool: Pool) -> bytes:
    for _ in range(dice.randint(1, 8)):
        at = dice.randrange(len(source) + 1)
        mark = dice.choice((*_QUOTES, *(bytes([byte]) for pair in _BRACKETS for byte in pair)))
        there = source.find(mark, at)
        if there >= 0 and dice.random() < 0.5:
            source = source[:there] + source[there + len(mark) :]
        else:
            source = source[:at] + mark + source[at:]
    return source


def _nested(dice: Random, source: bytes, _pool: Pool) -> bytes:
    opening, closing = dice.choice(_NESTS)
    depth = dice.choice((5, 20, 100, 300, 1000, dice.randint(1000, 12_000)))
    at, end = _stretch(dice, source, 2000)
    if dice.random() < 0.5:  # where a line begins, which is where definitions stand
        at = source.rfind(b"\n", 0, at) + 1
    closed = closing * depth if dice.random() < 0.7 else b""
    return source[:at] + opening * depth + source[at:end] + closed + source[end:]


def _truncated(dice: Random, source: bytes, _pool: Pool) -> bytes:
    at = dice.randrange(len(source) + 1)
    return source[:at] if dice.random() < 0.7 else source[at:]


def _snipped(dice: Random, source: bytes, _pool: Pool) -> bytes:
    """A few tokens and some marks, without a last line break: a scanner that looks for one has to see the end."""
    start = dice.randrange(len(source) + 1)
    tokens = _TOKEN.findall(source[start : start + dice.choice((30, 200, 1000))])
    for _ in range(dice.randrange(5)):
        tokens.insert(dice.randrange(len(tokens) + 1), dice.choice(_QUOTES))
    return b"".join(tokens).rstrip()


def _long_lines(dice: Random, source: bytes, _pool: Pool) -> bytes:
    start, end = _stretch(dice, source, 20_000)
    if dice.random() < 0.5:
        return source[:start] + source[start:end].replace(b"\n", dice.choice((b"", b" ", b";"))) + source[end:]
    word = dice.choice(
        (b"a", b" ", b"a ", b"a.", b"(", b"0,", b"-", b"=", b"\xc3\xa4", b"x=1;", b"*", b"/*", b"{", b"\t")
    )
    return source[:start] + word * (dice.choice((500, 5000, 60_000)) // len(word)) + source[start:]


def _odd_characters(dice: Random, source: bytes, _pool: Pool) -> bytes:
    """Other line ends, byte order marks, encodings, or rare characters."""
    kind = dice.random()
    if kind < 0.2:
        return source.replace(b"\n", dice.choice((b"\r\n", b"\r", b"\n\r", b"\xe2\x80\xa8\n", b"\x0c\n")))
    if kind < 0.3:
        return dice.choice((b"\xef\xbb\xbf", b"\xff\xfe", b"\n", b"#!/usr/bin/env x\n")) + source
    if kind < 0.35:
        return source.decode("utf-8", "replace").encode(
            dice.choice(("utf-16", "utf-16-le", "latin-1", "utf-32")), "replace"
        )
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(source) + 1)
        source = source[:at] + dice.choice(_ODD) + source[at:]
    return source


def _repeated(dice: Random, source: bytes, _pool: Pool) -> bytes:
    start, end = _stretch(dice, source, dice.choice((3, 30, 300, 3000)))
    if dice.random() < 0.5:
        start, end = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end) + 1 or len(source)
    block = source[start:end]
    times = min(dice.choice((2, 10, 200)), 60_000 // (len(block) + 1) + 2)
    return source[:end] + block * times + source[end:]


def _lines_shuffled(dice: Random, source: bytes, _pool: Pool) -> bytes:
    lines = source.split(b"\n")
    start = dice.randrange(len(lines))
    part = lines[start : start + 50]
    if dice.random() < 0.5:
        dice.shuffle(part)
    else:
        part = [b" " * dice.choice((0, 1, 4, 9)) + line.lstrip() for line in part]
    return b"\n".join([*lines[:start], *part, *lines[start + 50 :]])


def _grown(dice: Random, source: bytes, _pool: Pool) -> bytes:
    """Some of the file, again and again, until it is as large as Sage reads."""
    start, end = _stretch(dice, source, dice.choice((2, 20, 200, len(source) + 1)))
    block = source[start:end] or b"x\n"
    size = dice.randint(_HEAVY_BYTES, MAX_BYTES)
    joint = dice.choice((b"", b"", b"\n", b" "))
    return source[:start] + (block + joint) * (max(0, size - len(source)) // len(block + joint)) + source[start:]


_MUTATIONS: tuple[Mutation, ...] = (
    _flipped,
    _tokens_deleted,
    _tokens_duplicated,
    _tokens_swapped,
    _spliced,
    _spliced_with_another_language,
    _unbalanced,
    _nested,
    _truncated,
    _snipped,
    _long_lines,
    _odd_characters,
    _repeated,
    _lines_shuffled,
)
