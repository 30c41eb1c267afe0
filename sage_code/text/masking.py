"""Finds keys, tokens and passwords in a text, and masks them before the text is written.

Most credentials have a prefix that nothing else has (`secret_shapes.TOKENS`). The others are recognised by the text
around them, on a command line, in a header or in an address (`CONTEXTS`), or by a name such as `api_key` before them
(`NAMES`); their value must not look like a name, a placeholder or a call. `benchmarks/secrets_in_code.py` measures how
many secrets are found, and how often real source code is wrongly masked.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, cast

from sage_code.text import secret_shapes as shapes
from sage_code.text.secret_hints import UNUSUAL_CASE, Hints

_PLACEHOLDER = re.compile(
    r"(?i)(?:x{3,}|\*{2,}|\.{3}|…|<.*>|\$[{(]?\w|\$\$|\{|%\(|%s|%[A-Z_]+%|example|changeme|change[_-]?me|placeholder|dummy|"
    r"redacted|masked|your[_-]?|my[_-]?(?:\w+[_-])?(?:secret|token|key|pass)|foobar|abcdef|123456|1234$|"
    r"test[_-]?(?:key|token|secret|pass)|insert|sample|"
    r"^(?:pass(?:wd|word|phrase)?|secrets?|token|pwd?|pw|user(?:name)?|postgres|root|admin|guest|none|null|nil|true|false|"
    r"undefined|required|optional|string|str|text|value|hunter2|foo|bar|baz|qux|test\w{0,4}|default|empty|hidden|"
    r"letmein|qwerty|mysql|mongo|redis|rabbitmq|s3cr3t|p4ss\w*|pa55\w*|utf-|sha-?|md|bcrypt|scrypt|base|oauth|[rhe]s|argon2\w*|pbkdf|ed)\d{0,5}$)"
)
# Words that describe a value and are rarely part of a password.
_DESCRIBING = re.compile(
    r"(?i)passw|passphrase|secret|token|credential|pwd|api[_-]?key|user|login|auth|config|param|self|field|default|none|"
    r"null|true|false|input|value|string|request|response|env|args?\b|opts?\b|option|type|name"
)
_NAME_LIKE = re.compile(r"[A-Za-z_][\w.:/-]*")
_CODE = re.compile(r"[()\[\]{}<>|\\`]|::|->|=>|\.\w+\.|^[=$%&@~!#*/.]|^[A-Za-z_]\w{0,30}\.[A-Za-z_]\w{0,40}$")
# Words with a number or a sign: passwords that people choose.
_HUMAN = re.compile(r"[A-Za-z]{4,20}(?:[-_.][A-Za-z]{4,20}){0,3}\d{2,4}[!?]?|[a-z]{4,20}-[a-z]{4,20}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:[0-9a-f]{32,}|[0-9A-F]{32,})")
# Between a name and its value: a sign; words or a blank in prose; a comma, an "or" or a bracket in code.
_AFTER_NAME = re.compile(
    r"(?P<suffix>[\w.-]{0,30})\\?[\"'\]]{0,2}(?P<gap>[ \t]{0,20})(?:"
    r"(?:\{ get; (?:set|init); \}[ \t])?(?::[ \t]?[A-Za-z&*][\w\[\].|&*<>?' ]{0,30}?[ \t]?(?==))?"
    r"(?P<sign>:=|=>|\?\?=|\|\|=|[:=])[ \t]{0,20}(?:base64:)?"
    r"|(?:(?:for|of|on|für|de|pour)[ \t][\w.@-]{1,30}[ \t]{0,2})?"
    r"(?P<spoken>\b(?:(?:is|was|has been) )?(?:re)?(?:set|changed) to\b|"
    r"\b(?:is|was|ist|lautet|est|es|è)\b:?|:)[ \t]{1,2}"
    r"|\)?[ \t]?(?P<loose>,|\|\||\?\?|\bor\b|<<<|\()[ \t]{0,10}(?=N?[\"'])"
    r"|(?<=[ \t\"'])(?:[0-9] |ascii )?(?=[^\s:=,|?&<({)\]+*/.;])"
    r")N?(?:\\?(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{4,400})|(?P<bare>[^\s\"'`,;)}\]<>&]{4,400}))"
)
# A run of characters that may be a token by itself.
_RUN = re.compile(r"(?<![\w/+=.%@#-])[A-Za-z0-9][\w.-]{19,200}(?![\w/+%@(])")
_PREFIXED = re.compile(r"[a-zA-Z][a-zA-Z0-9]{1,9}(?:[-_][a-z0-9]{1,8}){0,2}[-_.](?P<tail>[A-Za-z0-9_-]{24,200})")
_LOWER_WORD = re.compile(r"[a-z0-9_-]{2,}")
_WORD = re.compile(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}")
_VOWEL, _CLUSTER = re.compile("(?i)[aeiouy]"), re.compile("(?i)[^aeiouy]{4}|[jqvwxz][^aeiouylrwhst]|[^aeiouynlrst]q")
_SETTING = re.compile(r"[ \t]*(?:#[ \t]*define|setenv|set|set -\w{1,3}|export)[ \t]")
# Names of values that are random and not secret.
_PUBLIC = re.compile(
    r"(?i)csrf|xsrf|authenticity|nonce|salt|public|pagina|continuation|next_?(?:page)?_?token|sync_?token"
)
_HEX_PARTS = re.compile(r"[0-9a-fA-F]+(?:-[0-9a-fA-F]+)+")
# Endings of adjectives and the like, as in "the password is incorrect".
_ADJECTIVE = re.compile(
    r"(?:ed|ing|ly|ble|ory|ect|ent|ant|ive|al|ful|ary|ous|ten|den|less|ic|ate|ous|ion|ment|ity|where)$"
)
_STOP_WORDS = frozenset(
    {"the", "and", "not", "does", "are", "for", "with", "that", "this", "from", "into", "has", "was"}
)
_SURE_KEY = re.compile(r"(?i)secret|api|private|access|auth|token|encrypt|signing|master")
_SIGNS = re.compile(r"[\W_]")
_LINE_CHARS = 100  # looked at before a run on its line
_MIN_TOKEN = 18
_MIN_RANDOM = 16  # a shorter value is masked only after a name such as `password`
_MIN_SCATTERED = 12
_MIN_STRONG, _MIN_HUMAN = 8, 6
_MIN_WORDS = 9
_MIN_BARE, _MAX_BARE = 30, 90
_BITS_RANDOM, _BITS_HEX, _BITS_STRONG = 3.3, 2.9, 2.5
_WORDS_AT_MOST = 0.6  # share of words in a random value; names are nearly all words
_WORDS_OF_SCATTERED = 0.75
_WORDS_OF_LETTERS = 0.3
_WORDS_OF_UNNAMED = 0.4
_NAME_CHARS = 40
_MOST_NAMES_IN_A_VALUE = 3

_ASCII_LOWER = {ord(sign): sign.lower() for sign in string.ascii_uppercase}

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text."""

    rule: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets of a text, by offset. Those that overlap become one, named by the surest rule."""
    if not text.isascii() and UNUSUAL_CASE.search(text):
        return find_by_every_rule(text)
    lowered = text.lower()
    hints = Hints(text, lowered)
    found: list[Secret] = []
    if hints.may_have_tokens():
        found += _matches(text, lowered, _tokens(lowered))
    if contexts := hints.contexts():
        found += _matches(text, lowered, _contexts(lowered, contexts))
    if spans := hints.spans_of_names():
        found += _named(text, lowered, spans)
    if spans := hints.spans_of_runs():
        found += _unnamed(text, lowered, spans)
    return _joined(found) if found else found


def find_by_every_rule(text: str) -> list[Secret]:
    """What `find` gives, found without the hints: for texts that they do not cover, and to test them."""
    lowered = _lowered(text)
    anchors = tuple(one for one in shapes.ANCHORS if one in lowered)
    found = _matches(text, lowered, _tokens(lowered))
    found += _matches(text, lowered, _contexts(lowered, shapes.CONTEXTS))
    found += _named(text, lowered, _regions(lowered, anchors))
    found += _unnamed(text, lowered, [(0, len(text))])
    return _joined(found)


def _tokens(lowered: str) -> list[shapes.Token]:
    """The tokens whose pieces are in the text's long words."""
    long = " ".join(word for word in lowered.split() if len(word) >= _MIN_TOKEN)
    return [token for token in shapes.TOKENS if any(need in (lowered if " " in need else long) for need in token.needs)]


def _contexts(lowered: str, contexts: Iterable[shapes.Context]) -> list[shapes.Context]:
    """Those of the contexts whose words or pieces are in the text."""
    words = set(_LOWER_WORD.findall(lowered)) if any(context.are_words for context in contexts) else set()
    return [
        context
        for context in contexts
        if (
            not words.isdisjoint(context.needs) if context.are_words else any(need in lowered for need in context.needs)
        )
    ]


def _matches(text: str, lowered: str, rules: Iterable[shapes.Token | shapes.Context]) -> list[Secret]:
    found: list[Secret] = []
    for rule in rules:
        judge = None if isinstance(rule, shapes.Token) else _JUDGES[rule.judge]
        for start, end in _regions(lowered, rule.needs, rule.reach):
            matches = _compiled(rule.pattern).finditer(text, start, end)
            found += [_secret(rule.name, match) for match in matches if judge is None or judge(match["secret"])]
    return found


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with every secret replaced by its kind, and the kinds."""
    found = find(text)
    for secret in reversed(found):
        text = f"{text[: secret.start]}[masked: {secret.rule}]{text[secret.end :]}"
    return text, tuple(secret.rule for secret in found)


def mask_all(value: _Value, kinds: list[str]) -> _Value:
    """`value` with every text in it masked, at any depth; the kinds of the secrets are added to `kinds`."""
    result: Any = value
    if isinstance(value, str):
        result, found = mask(value)
        kinds += found
    elif isinstance(value, tuple | list | frozenset):
        result = type(value)(mask_all(item, kinds) for item in value)
    elif isinstance(value, Mapping):
        result = {key: mask_all(item, kinds) for key, item in value.items()}
    elif is_dataclass(value) and not isinstance(value, type):
        result = replace(value, **{each.name: mask_all(getattr(value, each.name), kinds) for each in fields(value)})
    return cast(_Value, result)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when a text first needs it: most are never needed."""
    return re.compile(pattern)


def _lowered(text: str) -> str:
    """The text in lower case with the same offsets: if a letter would become two, only ASCII is changed."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LOWER)


def _regions(lowered: str, needs: tuple[str, ...], reach: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of the lines that contain one of `needs`, extended by `reach` and joined if they overlap."""
    spans: list[tuple[int, int]] = []
    for need in needs:
        at = lowered.find(need)
        while at >= 0:
            end = lowered.find("\n", at + len(need))
            end = len(lowered) if end < 0 else end
            spans.append((lowered.rfind("\n", 0, at) + 1, end + reach))
            at = lowered.find(need, end)
    if not spans:
        return
    spans.sort()
    first, last = spans[0]
    for start, end in spans:
        if start > last:
            yield first, last
            first, last = start, end
        last = max(last, end)
    yield first, last


def _joined(found: list[Secret]) -> list[Secret]:
    """The secrets by offset, with those that overlap as one; the earlier a rule found it, the surer its name."""
    kept: list[Secret] = []
    surest = 0
    for number, secret in sorted(enumerate(found), key=lambda one: one[1].start):
        if kept and secret.start < kept[-1].end:
            rule = secret.rule if number < surest else kept[-1].rule
            surest = min(surest, number)
            kept[-1] = Secret(rule, kept[-1].start, max(kept[-1].end, secret.end))
        else:
            kept.append(secret)
            surest = number
    return kept


def _secret(name: str, match: re.Match[str]) -> Secret:
    group = "secret" if "secret" in match.re.groupindex else 0
    return Secret(name, match.start(group), match.end(group))


def _named(text: str, lowered: str, spans: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """Values that are assigned to a name of a secret, for the names in `spans`."""
    looked_to, again = 0, 0
    names = _compiled(shapes.NAMES)
    for keyword in (each for start, end in spans for each in names.finditer(lowered, start, end)):
        again = again + 1 if keyword.start() < looked_to else 0
        if again > _MOST_NAMES_IN_A_VALUE:
            continue  # `a=a=a=…` is judged a few times, not once for each name
        match = _AFTER_NAME.match(text, keyword.end())
        if match is None or _compiled(shapes.ABOUT).fullmatch(match["suffix"]):
            continue
        group = "quoted" if match["quote"] else "bare"
        value, end = match[group].rstrip("\\"), match.end(group)
        looked_to = max(looked_to, end)
        if match["quote"] and text[end : end + 1] != match["quote"]:
            continue  # the quotes hold several words
        if not match["quote"]:
            value = value.rstrip(".:*_")
        start = keyword.start()
        while (
            start > 0
            and keyword.start() - start < _NAME_CHARS
            and (text[start - 1].isalnum() or text[start - 1] in "_.-")
        ):
            start -= 1
        if text[max(start - 2, 0) : start] == "::":
            continue  # part of a qualified name
        name = text[start : keyword.end()] + match["suffix"]
        if _is_value(name, value, match, text, start):
            begin = match.start(group)
            yield Secret(f"value of {_short(name)}", begin, begin + len(value))


def _is_value(name: str, value: str, match: re.Match[str], text: str, start: int) -> bool:
    """Whether a value that is assigned to the name of a secret is one, by its look and by how it is assigned."""
    if not value or value.startswith(("[masked", "http://", "https://", "/", "./", "-", "=")) or _is_placeholder(value):
        return False
    if value in name or _PUBLIC.search(name) or (match["loose"] == "(" and match["suffix"]):
        return False  # `token=token`, or a call of a function with `token` in its name
    is_key = name.lower().endswith("key") and not _SURE_KEY.search(name)
    if _is_random(value) or (_UUID.fullmatch(value) and match["sign"]):
        is_assigned = bool(match["sign"] or match["spoken"] or match["loose"])
        return not is_key or (
            is_assigned and (_HEX.fullmatch(value) is not None or _is_scattered(_SIGNS.sub("", value)))
        )
    is_scattered = len(value) >= _MIN_SCATTERED and _is_strong(value) and _is_scattered(value)
    if is_scattered and (match["sign"] or match["loose"]) and not is_key:
        return True
    if not _compiled(shapes.CHOSEN).search(name.lower()):
        return False
    if _is_strong(value):
        return True
    if _DESCRIBING.search(value) or _CODE.search(value):
        return False
    if _HUMAN.fullmatch(value) and (
        match["quote"] or (_has_letters_and_digits(value) and (match["spoken"] or not match["sign"]))
    ):
        return True
    if match["loose"] or len(value) < _MIN_HUMAN:
        return False
    line = text[text.rfind("\n", 0, start) + 1 : start]
    rest = text[match.end() : match.end() + 1]
    if match["sign"] != "=" or match["gap"] or match["quote"] or match.start("bare") != match.end("sign"):
        # A password of words: they are in quotes, or the line has nothing else behind the name.
        is_words = len(value) >= _MIN_WORDS and value.isalpha() and value.islower() and not _ADJECTIVE.search(value)
        is_words = is_words or (bool(_HUMAN.fullmatch(value)) and bool(match["sign"]))
        is_alone = rest in ("", "\n", "\r") and not line.strip(" \t-#*/;")
        is_set = bool(match["sign"] or match["spoken"]) or _SETTING.match(line) is not None
        return is_words and is_set and (bool(match["quote"] or match["spoken"]) or is_alone or not match["sign"])
    # `PASSWORD=words` in an environment: nothing else is before it on its line, and no blank is around the sign.
    is_first = line.strip() in ("", "export", "set", "SET", "ENV", "-", "+", "$", "env") or line.endswith(
        ("=", " -e ", " --env ", " --set ", '- "', " -o ", ",")
    )
    return (
        is_first
        and (name.isupper() or not line or line.endswith(("=", " ")) or "." in name)
        and rest in ("", "\n", "\r", " ", '"', ",")
    ) or (bool(_HUMAN.fullmatch(value)) and _has_letters_and_digits(value))


def _unnamed(text: str, lowered: str, spans: Iterable[tuple[int, int]]) -> Iterator[Secret]:
    """Random runs without a name: a word such as `token` is before them on the line, or they have a vendor's prefix."""
    for run in (each for start, end in spans for each in _RUN.finditer(text, start, end)):
        value = run[0].rstrip(".:-")
        if not _has_letters_and_digits(value) or _is_placeholder(value) or _HEX_PARTS.fullmatch(value):
            continue
        if _letters_in_words(value) > len(value) * _WORDS_OF_UNNAMED:
            continue
        prefixed = _PREFIXED.fullmatch(value)
        line = lowered[max(lowered.rfind("\n", 0, run.start()) + 1, run.start() - _LINE_CHARS) : run.start()]
        if _compiled(shapes.HARMLESS).search(line) or _compiled(shapes.HARMLESS).search(value.lower()):
            continue
        tail = prefixed["tail"] if prefixed else value
        is_telling = _compiled(shapes.TELLING).search(line) is not None
        if _HEX.fullmatch(tail):
            is_secret = (is_telling or tail != value) and _is_random(tail)
        else:
            # Without such a word or prefix: long, in both cases, and not a line of a longer block.
            is_alone = not line.strip() and text[run.end() : run.end() + 1] in ("", "\n", "\r")
            is_bare = _MIN_BARE <= len(value) <= _MAX_BARE and _has_cases(value) and not is_alone
            is_secret = (is_telling or tail != value or is_bare) and _is_random(tail)
            is_secret = is_secret and _is_scattered(_SIGNS.sub("", tail))
        if is_secret:
            yield Secret("token", run.start(), run.start() + len(value))


def _is_random(value: str) -> bool:
    """Whether it looks generated: letters and digits without order, and few words."""
    if len(value) < _MIN_RANDOM or _is_placeholder(value) or _CODE.search(value):
        return False
    if not _has_letters_and_digits(value):
        return (
            len(value) > _MIN_RANDOM
            and _has_cases(value)
            and value.isalpha()
            and _is_scattered(value)
            and _letters_in_words(value) < len(value) * _WORDS_OF_LETTERS
        )
    if _HEX.fullmatch(value):
        return _bits(value) >= _BITS_HEX
    if _UUID.fullmatch(value):
        return False
    return _letters_in_words(value) < len(value) * _WORDS_AT_MOST and _bits(value) >= _BITS_RANDOM


def _is_strong(value: str) -> bool:
    """Whether it looks like a password manager's: short, with digits, and with both cases or signs."""
    if len(value) < _MIN_STRONG or not _has_letters_and_digits(value) or _is_placeholder(value) or _CODE.search(value):
        return False
    if _DESCRIBING.search(value) or _bits(value) < _BITS_STRONG:
        return False
    has_signs = any(not sign.isalnum() and sign not in "_-./:" for sign in value)
    return (
        has_signs
        or (_has_cases(value) and not _NAME_LIKE.fullmatch(value.rstrip("0123456789")))
        or _is_scattered(value)
    )


def _is_scattered(value: str) -> bool:
    """Whether letters, cases and digits alternate too often for a name."""
    kinds = "".join(
        "d" if sign.isdigit() else "u" if sign.isupper() else "l" if sign.islower() else "s" for sign in value
    )
    changes = sum(one != other for one, other in pairwise(kinds))
    return changes * 3 >= len(value) and _letters_in_words(value) < len(value) * _WORDS_OF_SCATTERED


def _letters_in_words(value: str) -> int:
    """How many of its letters are in possible words: with vowels, and without clusters of consonants."""
    words = _WORD.findall(value)
    return sum(len(word) for word in words if _VOWEL.search(word) and not _CLUSTER.search(word))


def _is_password(value: str) -> bool:
    """Whether a value where only a password can be is one, and not a placeholder or a variable."""
    return not _is_placeholder(value) and not re.fullmatch(r"[A-Z]+(?:_[A-Z]+)*|\[\w+\]|[:\"'(].*|.*[()].*", value)


def _is_option(value: str) -> bool:
    """The same on a command line, where it may also be a word of the documentation."""
    is_words = not _has_letters_and_digits(value) and "-" not in value and "_" not in value
    return _is_password(value) and not is_words and not _DESCRIBING.search(value) and not _CODE.search(value)


def _is_argument(value: str) -> bool:
    """The same for the argument of a tool: words count, names of files, options and variables do not."""
    return (
        _is_password(value)
        and not _DESCRIBING.search(value)
        and not re.search(r"[(){}\[\]\\`=]|^[./~:]|/|\.\w{1,4}$", value)
    )


def _is_made_up(value: str) -> bool:
    """Whether a person or a tool chose it: a strong password, or words with a number."""
    is_human = _HUMAN.fullmatch(value) is not None and _has_letters_and_digits(value) and not _DESCRIBING.search(value)
    return not _is_placeholder(value) and (_is_strong(value) or is_human)


def _is_phrase(value: str) -> bool:
    return _STOP_WORDS.isdisjoint(value.lower().replace(",", " ").split())


def _is_hook_token(value: str) -> bool:
    return not _is_placeholder(value) and not _UUID.fullmatch(value) and (_is_scattered(value) or _is_random(value))


_JUDGES: Mapping[shapes.Judge, Callable[[str], bool]] = {
    "any": _is_password,
    "argument": _is_argument,
    "made": _is_made_up,
    "phrase": _is_phrase,
    "scattered": _is_hook_token,
    "random": _is_random,
    "strong": _is_option,
}


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) < 4


def _has_cases(value: str) -> bool:
    return any(sign.isupper() for sign in value) and any(sign.islower() for sign in value)


def _has_letters_and_digits(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


def _bits(value: str) -> float:
    """Shannon's entropy, in bits a character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())


def _short(name: str) -> str:
    return name[-40:].strip(".-_\"'") or "a name"
