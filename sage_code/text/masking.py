"""Keys, tokens and passwords in a text that is to be kept: found, named and masked before anything is written.

Most credentials carry a prefix that nothing else has (`RULES`). The rest is told by where it stands (`api_key = …`, a
password in a URL) together with how random it looks; what reads like a name, a placeholder or a call is none. Measured
on real source code by `benchmarks/secrets_in_code.py`: what is masked there must be rare.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_-])"
# Some headers, then base64; with the signs that quotes, comments and escapes put at the beginnings of its lines.
_KEY_BODY = r"(?:[^A-Za-z0-9]|\\[nr]|[A-Z][\w-]+: [^\n]*\n){0,40}[A-Za-z0-9+/]{30,80}(?:[^-]|-(?!----)){0,20000}"
# Name and pattern; the group `secret`, or the whole match, is what gets masked.
RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("AWS access key", rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
        ("GitHub token", rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}{_END}"),
        ("GitHub token", rf"{_START}github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{40,120}}{_END}"),
        ("GitLab token", rf"{_START}gl(?:pat|ptt|dt|rt|oas|soat|cbt|ft|imt|agent)-[A-Za-z0-9_-]{{20,255}}"),
        ("Slack token", r"\bxox[abeoprs]-(?:[0-9]+-)*[A-Za-z0-9-]{10,250}"),
        ("Slack webhook", r"hooks\.slack\.com/services/(?P<secret>T[A-Za-z0-9]{6,}/B[A-Za-z0-9]{6,}/[A-Za-z0-9]{16,})"),
        ("Stripe key", rf"{_START}(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,255}}{_END}"),
        ("Google API key", rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
        ("Google OAuth token", rf"{_START}ya29\.[A-Za-z0-9_-]{{30,500}}"),
        ("Google OAuth secret", rf"{_START}GOCSPX-[A-Za-z0-9_-]{{28}}{_END}"),
        ("Anthropic key", rf"{_START}sk-ant-[A-Za-z0-9_-]{{24,255}}"),
        ("OpenAI key", rf"{_START}sk-(?:proj-|svcacct-|admin-)[A-Za-z0-9_-]{{30,255}}"),
        ("OpenAI key", rf"{_START}sk-[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}{_END}"),
        ("npm token", rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
        ("PyPI token", rf"{_START}pypi-AgE[A-Za-z0-9_-]{{50,500}}"),
        ("RubyGems token", rf"{_START}rubygems_[a-f0-9]{{48}}{_END}"),
        ("crates.io token", rf"{_START}cio[A-Za-z0-9]{{32}}{_END}"),
        ("Hugging Face token", rf"{_START}hf_[A-Za-z0-9]{{34,40}}{_END}"),
        ("SendGrid key", rf"{_START}SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_END}"),
        ("DigitalOcean token", rf"{_START}do[opr]_v1_[a-f0-9]{{64}}{_END}"),
        ("Shopify token", rf"{_START}shp(?:at|ca|pa|ss)_[a-fA-F0-9]{{32}}{_END}"),
        ("Databricks token", rf"{_START}dapi[a-f0-9]{{32}}(?:-\d)?{_END}"),
        ("HashiCorp Vault token", rf"{_START}hv[sb]\.[A-Za-z0-9_-]{{24,300}}"),
        ("Linear key", rf"{_START}lin_api_[A-Za-z0-9]{{40}}{_END}"),
        ("Notion token", rf"{_START}ntn_[A-Za-z0-9]{{40,60}}{_END}"),
        ("Telegram bot token", rf"{_START}\d{{8,10}}:AA[A-Za-z0-9_-]{{33}}{_END}"),
        ("Grafana token", rf"{_START}gl(?:c|sa)_[A-Za-z0-9+/_]{{32,400}}={{0,2}}"),
        ("Doppler token", rf"{_START}dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{{40,60}}"),
        ("age key", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
        ("Azure storage key", r"AccountKey=(?P<secret>[A-Za-z0-9+/]{86}==)"),
        ("JSON web token", rf"{_START}eyJ[A-Za-z0-9_-]{{10,}}\.eyJ[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{16,}}"),
        ("private key", rf"-----BEGIN (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----(?P<secret>{_KEY_BODY})"),
    )
)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s:/@'\"<>{}$]{1,100}:(?P<secret>[^\s@/'\"<>]{3,200})@[\w.-]")
_BEARER = re.compile(r"(?i)\b(?:bearer|basic|token)\s+(?P<secret>[A-Za-z0-9_.~+/-]{20,500}={0,2})")
_NAMED = re.compile(
    r"(?i)(?<![\w.-])(?P<name>[\w.-]{0,40}(?:api[_-]?key|apikey|secret|token|passw(?:or)?d|pwd|passphrase|credential|"
    r"private[_-]?key|access[_-]?key|auth[_-]?key)[\w.-]{0,20})[\"']?\s{0,4}(?:[:=]|:=|=>|\bis\b)\s{0,4}"
    r"(?P<quote>[\"'`])?(?P<secret>[^\s\"'`,;)}\]]{8,400})"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:x{3,}|\*{2,}|\.{3}|<.*>|\$[{(]?\w|\{\{|%\(|%s|example|changeme|change[_-]?me|placeholder|dummy|redacted|"
    r"masked|your[_-]|my[_-](?:\w+[_-])?(?:secret|token|key|pass)|foobar|abcdef|123456|test[_-]?(?:key|token|secret)|insert|"
    r"^(?:pass(?:word)?|secret|token|pwd|user|postgres|root|admin|guest|none|null|true|false|undefined)\d{0,3}$)"
)
# A word in any writing, a path or a dotted name: what stands behind `password =` in code and in tests.
_NAME_LIKE = re.compile(r"[A-Za-z_][\w.:/-]*")
_MIN_RANDOM = 20  # shorter ones are told from words only by standing in quotes beside `password`
_BITS_RANDOM, _BITS_PASSWORD = 3.5, 2.8
_WORDS_AT_MOST = 0.6  # of a random value; names are nearly all words
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in a text."""

    rule: str
    start: int
    end: int


def find(text: str) -> list[Finding]:
    """The secrets of a text, by place; of two that overlap, the one whose rule is surer."""
    found: list[Finding] = []
    for name, rule in RULES:
        found += [_finding(name, match) for match in rule.finditer(text)]
    found += [_finding("password in a URL", match) for match in _URL.finditer(text) if _is_password(match["secret"])]
    found += [_finding("bearer token", match) for match in _BEARER.finditer(text) if _is_random(match["secret"])]
    found += [
        _finding("value of " + _short(match["name"]), match) for match in _NAMED.finditer(text) if _is_value(match)
    ]
    kept: list[Finding] = []
    for finding in found:
        if not any(finding.start < other.end and other.start < finding.end for other in kept):
            kept.append(finding)
    return sorted(kept, key=lambda finding: finding.start)


def mask(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with every secret replaced by its kind, and the kinds."""
    found = find(text)
    for finding in reversed(found):
        text = f"{text[: finding.start]}[masked: {finding.rule}]{text[finding.end :]}"
    return text, tuple(finding.rule for finding in found)


def mask_all(value: _Value, kinds: list[str]) -> _Value:
    """`value` with every text in it masked, however deep; what was found is added to `kinds`."""
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


def _finding(name: str, match: re.Match[str]) -> Finding:
    group = "secret" if "secret" in match.re.groupindex else 0
    return Finding(name, match.start(group), match.end(group))


def _is_value(match: re.Match[str]) -> bool:
    value: str = match["secret"]
    if _is_nothing(value) or value.startswith(("[masked", "http://", "https://", "/", "./")):
        return False
    if match["quote"] and re.search(r"(?i)passw|pwd|passphrase", match["name"]):
        return _mixed(value) and _bits(value) >= _BITS_PASSWORD and not _NAME_LIKE.fullmatch(value.rstrip("0123456789"))
    return _is_random(value)


def _is_random(value: str) -> bool:
    if _is_nothing(value) or _UUID.fullmatch(value) or len(value) < _MIN_RANDOM or not _mixed(value):
        return False
    if re.search(r"[(\[{<|\\]|::|\.\w+\.", value):
        return False  # a call, or a path through objects
    words = re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}", value)
    return sum(map(len, words)) < len(value) * _WORDS_AT_MOST and _bits(value) >= _BITS_RANDOM


def _is_password(value: str) -> bool:
    return not _is_nothing(value) and not re.fullmatch(r"[A-Z]+(?:_[A-Z]+)+|\[\w+\]", value)


def _is_nothing(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value)) or len(set(value)) < 4


def _mixed(value: str) -> bool:
    return any(sign.isdigit() for sign in value) and any(sign.isalpha() for sign in value)


def _bits(value: str) -> float:
    """Shannon's entropy, in bits a character."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())


def _short(name: str) -> str:
    return name[-40:].strip(".-_\"'") or "a name"
