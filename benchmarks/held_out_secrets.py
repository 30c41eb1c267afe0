"""Made-up secrets in formats that were written without knowing the rules: `secret_templates.txt`, filled in.

Ten of the formats, chosen by a seed, are held out when the rules are tuned.
"""

from __future__ import annotations

import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from made_secrets import Made, Source

_TEMPLATES = Path(__file__).with_name("secret_templates.txt")
_HELD_OUT = 10
_HELD_OUT_SEED = 1313
_SLOT = re.compile(r"\{(pw|human|user|host|uuid|(?:an|hex|HEX|up|lo|d|b64|b58|url|words)\d+)\}")
_ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "up": string.ascii_uppercase + string.digits,
    "lo": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "b58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "url": string.ascii_letters + string.digits + "-_",
}
_SEED_WORDS = (
    "abandon", "ability", "above", "absent", "absorb", "acid", "actor", "adapt", "banana", "beyond", "cactus", "canvas",
    "dolphin", "elbow", "fabric", "garlic", "harvest", "jungle", "kitten", "lemon", "mango", "noodle", "orange",
    "pepper", "quiz", "ribbon", "salmon", "tomato", "umbrella", "velvet", "walnut", "zebra",
)  # fmt: skip


def templates() -> dict[str, list[str]]:
    """The templates of each format."""
    formats: dict[str, list[str]] = {}
    for line in _TEMPLATES.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            formats[line.removeprefix("== ")] = []
        elif line and formats:
            formats[list(formats)[-1]].append(line)
    return formats


def held_out() -> set[str]:
    """The formats that nothing is tuned on."""
    return set(random.Random(_HELD_OUT_SEED).sample(sorted(templates()), _HELD_OUT))


def made(seed: int, *, kept_out: bool) -> Iterator[Made]:
    """The secrets of the formats that are held out, or of all others."""
    out = held_out()
    for name, lines in templates().items():
        if (name in out) != kept_out:
            continue
        source = Source(seed * 1_000 + sum(map(ord, name)))
        for line in lines:
            start, secret, end = _parts(line)
            secret = _filled(secret, source)
            yield Made(name, _filled(start, source) + secret + _filled(end, source), secret)


def _parts(line: str) -> tuple[str, str, str]:
    # The last mark that opens: a shell's own <<< comes before it.
    start, _, rest = line.replace("\\n", "\n").rpartition("<<")
    secret, _, end = rest.partition(">>")
    return start, secret, end


def _filled(template: str, source: Source) -> str:
    """A template with a random value in each slot."""
    plain: dict[str, Callable[[], str]] = {
        "pw": source.strong,
        "human": source.human,
        "user": source.user,
        "host": source.host,
        "uuid": lambda: str(uuid.UUID(int=source.random.getrandbits(128), version=4)),
    }

    def fill(slot: re.Match[str]) -> str:
        kind = slot[1]
        if kind in plain:
            return plain[kind]()
        if kind.startswith("words"):
            return " ".join(source.random.choices(_SEED_WORDS, k=int(kind[5:])))
        if kind.startswith("b64"):
            return source.b64(int(kind[3:]))
        alphabet = next(name for name in sorted(_ALPHABETS, key=len, reverse=True) if kind.startswith(name))
        return source.of(_ALPHABETS[alphabet], int(kind[len(alphabet) :]))

    return _SLOT.sub(fill, template)
