"""Which rules of `secret_shapes` may match a text, and where: what is ruled out here is not searched for.

Most texts hold no secret, and the rules cost more than everything else that is done with a message. Everything here is
a condition without which a rule cannot match: a sign, a word, the start of a shape, a word of some length. It is looked
for with `in` or with a pattern that starts with a rare sign, and may hold where the rule does not match, never the
other way round. So `masking.find` gives what `masking.find_by_every_rule` gives, and a test compares the two.

The conditions are about lower case. For a few letters (`UNUSUAL_CASE`) lower case and the patterns' "ignore the case"
disagree; a text with one of them is searched by every rule.
"""

from __future__ import annotations

import re

from sage_code.text import secret_shapes as shapes

# Long s, dotless i, dotted I and the sign of Kelvin: patterns that ignore the case take them for s, i, i and k.
UNUSUAL_CASE = re.compile("[\u017f\u0131\u0130\u212a]")
# The shortest value that is judged by its randomness alone; such a value has no blank in it.
_MIN_LONG = 16
# The shortest value that may follow a name other than `password`: scattered letters and digits.
_MIN_MIXED = 12
_MIN_RUN = 20  # of `masking`'s runs without a name
_MIN_DISCORD = 58
# How far a name of a secret extends around the anchor in it: `subscription-` before, `adgangskode` behind.
_BEFORE_ANCHOR, _BEHIND_ANCHOR = 16, 24

# Starts of the tokens that begin at the start of a word; what is before the word is the rare sign to begin with.
_TOKEN_START = re.compile(
    r"[^A-Za-z0-9_-](?=[A-Za-z0-9_.+/=:-]{15})(?:A(?:KIA|SIA|BIA|CCA|Iza|TBB|T[AC]TT3|KCp|KID)[A-Za-z0-9_=-]{16}|GOCSPX-|HRKU-|LTAI[A-Za-z0-9]{12}|"
    r"EAAA[A-Za-z0-9_-]{56}|NR(?:AK|II|AA|JS)-|PMAK-|S(?:G\.[A-Za-z0-9_-]{22}|K[a-f0-9]{32})|"
    r"api(?:-[a-f0-9]{8}-|_org_)|cio[A-Za-z0-9]{32}|d(?:ckr_|api[a-f0-9]{32}|o[opr]_v1_|p\.(?:pt|st|ct|sa|scim|audit)\.|t0[a-z]\d\d\.)|"
    r"eyJ|f(?:m[12]r?_|o1_|ig[dou]r?_)|g(?:h[pousr]_|ithub_pat_|l[a-z]{1,5}[-_]|sk_)|h(?:f_|v[sbr]\.)|key-[a-f0-9]{32}|lin_|"
    r"mob-[a-f0-9]{8}-|n(?:fp_|pm_|tn_)|o(?:y2[a-z0-9]{43}|ps_eyJ)|p(?:at[A-Za-z0-9]{14}\.|dus\+_|k_\d{6}|scale_|ul-|ypi-AgE)|"
    r"r(?:k_(?:live|test)_|8_|ubygems_)|"
    r"s(?:k(?:_(?:live|test)_|-|\.eyJ)|l\.[A-Za-z0-9_.-]{120}|dk-[a-f0-9]{8}-|b(?:p|_secret)_|ecret_[A-Za-z0-9]{43}|ntry|hp[a-z]{2}_|q(?:0|[apu]_))|"
    r"v(?:c[aipkr]_[A-Za-z0-9]{24}|1\.0-[a-f0-9]{24})|whsec_|x(?:ai-|keysib-|smtpsib-)|ya29\.|[xyztuv]prv|"
    r"[0-2]/\d{13})"
)
# Pieces of the others.
_TOKEN_PIECES = (
    "~", ".atlasv1.", "hooks.slack.com", "webhook.office.com", "sig=", "/api/webhooks/", ":AA", "-us", "SECRET-KEY",
    "{SHA", "{SSHA", "NRAL",
)  # fmt: skip
_TOKEN_PIECES_IN_LOWER_CASE = ("xox", "xapp-", "ssws", "accesskey=", "accountkey=")
_DOLLAR = re.compile(r"\$(?:production|sandbox|apr1|1|5|6|y|2[abxy]|argon2)")
_USER_OF_URL = re.compile(r"://[^\s/@'\"<>]{0,310}@")
# An option of a tool of the command line. A pattern that starts with a text is found faster than one with a choice.
_TOOL_OPTIONS = (re.compile(r" -[a-z-]"), re.compile(r" /[a-z]"))
_TOOL = re.compile(r"[a-z0-9_-]{2,}")
_COMMANDS = tuple(
    rule
    for rule in shapes.CONTEXTS
    if rule.are_words and rule.name not in ("password of sqlplus", "password of a login")
)
_TOOLS = frozenset(tool for rule in _COMMANDS for tool in rule.needs)
_OPTION = re.compile(
    r"-[a-z-]{0,31}(?:passw|passphrase|requirepass|masterauth|pwd|token|secret|api-?key|auth)[a-z]{0,3}[ =]"
)
_LONG_PARAMETER = re.compile(r"=[a-z0-9%_.~+/-]{16}")
_PARAMETER = re.compile(r"[?&;][a-z_.-]{1,31}=[a-z0-9%_.~+/-]{16}")
_SLASH_AND_AT = re.compile(r"/[^\s@/'\"]{3,100}@")
_SCHEMES = tuple(
    (word, re.compile(word + r"[ \t]{1,4}[a-z0-9_.~+/-]{16}"))
    for word in ("bearer", "basic", "token", "apikey", "negotiate")
)
_DISCORD = re.compile(r"[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.")
_PORT = re.compile(r":(?:5432|5433|6432|\*):")
_ENTRY = re.compile(r"name\\?[\"']?[:=][ \t]{0,2}[\"']?[\w.-]{3,60}[\"']?,?\s{1,20}[\"']?value")
_ELEMENTS = ("password>", "passwd>", "passphrase>", "pwd>", "secret>", "token>", "key>")
_STATEMENT = re.compile(r"password\s{0,2}(?:=\s?)?\(?\s?n?['\"]")
_ACCOUNTS = tuple(
    (word, re.compile(word + rest + r"[ \t:=is]{1,6}[\w.@-]{1,60}(?: ?[/:]|,? ?(?:and|with|und)? ?p(?:ass|w))"))
    for word, rest in (("login", ""), ("user", "(?:name)?"), ("account", ""), ("cred", "(?:entials?|s)"))
)
_LAST_ARGUMENT = re.compile(r",(?<=[\"'],)[ \t]?[\"'][^\s\"']{6,200}[\"']\)")
_FIRST_ARGUMENT = re.compile(r"\(\s{0,2}(?:[\"'][^\s\"']{1,80}[\"'],[ \t])?[\"'][A-Za-z0-9_+/=.-]{16,400}[\"']")
_COMMUNITIES = ("rocommunity", "rwcommunity", "snmp-server community")
_SEEDS = ("mnemonic", "seed", "recovery", "phrase")
_DIGIT = re.compile(r"\d")
# A value without a digit is judged after a name other than `password` if it is one of these.
_WITHOUT_DIGIT = re.compile(r"[^\W\d_]{17}|[a-f]{8}-[a-f]{4}-")

# Where the names of secrets may be, by their anchor. What is around the anchor tells `key` from `keyword`.
_PASS = re.compile(r"pass(?:w|phrase|code|(?<=mot de pass)e|(?![a-z]))")
_PW = re.compile(r"pw(?:d|(?![a-z]))")
_PSK = re.compile(r"psk(?![a-z])")
_BEFORE_KEY = "pi|pp|te|ss|th|nt|ng|on|er|ed|in|se|oy|ce|ge|st|ot|ac|es"  # ends of `api`, `app`, `private` …
_KEY = re.compile(rf"key(?:(?![a-z])|(?<=(?:{_BEFORE_KEY})key)|(?<=(?:{_BEFORE_KEY})[_ -]key))")
_OTHER_NAMES = (
    ("credential", re.compile("credential")),
    ("sess", re.compile(r"sess(?:ion)?[_-]?id")),
    ("sid", re.compile(r"sid(?<![a-z]sid)(?![a-z])")),
)
_FOUND_BY_PATTERN = {"pass", "pw", "psk", "secret", "token", "key", "credential", "sess", "oauth", "sid"}
_SPOKEN = tuple(one for one in shapes.ANCHORS if one not in _FOUND_BY_PATTERN and "pass" not in one)
_SPOKEN_IN_ASCII = tuple(one for one in _SPOKEN if one.isascii())


# A rule is named by its name and the first of its needs; two rules share theirs.
_NUMBERS: dict[tuple[str, str], list[int]] = {}
for _number, _rule in enumerate(shapes.CONTEXTS):
    _NUMBERS.setdefault((_rule.name, _rule.needs[0]), []).append(_number)


class Hints:
    """What a look at a text tells about the rules; made once for a text."""

    __slots__ = (
        "_has_auth", "_has_digit", "_has_key", "_has_login", "_has_pass", "_has_psk", "_has_pw", "_has_secret",
        "_has_token", "_long", "_longest", "_lowered", "_text",
    )  # fmt: skip

    def __init__(self, text: str, lowered: str) -> None:
        words = text.split()
        self._text, self._lowered = text, lowered
        self._longest = max(map(len, words), default=0)
        self._long = [word for word in words if len(word) >= _MIN_LONG] if self._longest >= _MIN_LONG else []
        self._has_digit = _DIGIT.search(text) is not None or not text.isascii()
        self._has_pass, self._has_pw, self._has_psk = "pass" in lowered, "pw" in lowered, "psk" in lowered
        self._has_secret, self._has_token, self._has_key = "secret" in lowered, "token" in lowered, "key" in lowered
        self._has_auth, self._has_login = "auth" in lowered, "login" in lowered

    def may_have_tokens(self) -> bool:
        """Whether a rule of `shapes.TOKENS` may match."""
        if self._has_key and "PRIVATE KEY" in self._text:
            return True
        if not self._long:
            return False
        long = "\n" + "\n".join(self._long)
        lowered = long.lower()
        return (
            _TOKEN_START.search(long) is not None
            or any(piece in long for piece in _TOKEN_PIECES)
            or any(piece in lowered for piece in _TOKEN_PIECES_IN_LOWER_CASE)
            or ("$" in long and _DOLLAR.search(long) is not None)
            or ("@" in long and _USER_OF_URL.search(long) is not None)
        )

    def contexts(self) -> list[shapes.Context]:
        """The rules of `shapes.CONTEXTS` that may match, in their order."""
        kept = self._of_tools() | self._of_signs() | self._of_names() | self._of_other_words()
        if self._long:
            kept |= self._of_long_values()
        return [shapes.CONTEXTS[number] for number in sorted(number for key in kept for number in _NUMBERS[key])]

    def _of_tools(self) -> set[tuple[str, str]]:
        """Rules for the tools of the command line."""
        text, lowered = self._text, self._lowered
        kept: set[tuple[str, str]] = set()
        if options := [hint.start() for option in _TOOL_OPTIONS for hint in option.finditer(lowered)]:
            kept |= _on_lines_of_options(lowered, options)
            if self._has_login and " login" in lowered and " -p" in lowered:
                kept.add(("password of a login", "docker"))
            if " -u" in lowered or " --user" in lowered:
                kept.add(("password of a command", " -u"))
        if (self._has_login and (" login " in text or " login=" in text)) or (
            self._has_auth and (" auth " in text or " auth=" in text)
        ):
            kept.add(("password of wandb", "wandb"))
        if self._has_pass and "wpa_passphrase" in lowered:
            kept.add(("password of wpa_passphrase", "wpa_passphrase"))
        if "rabbitmqctl" in lowered:
            kept.add(("password of rabbitmqctl", "rabbitmqctl"))
        if "alias set" in text or "host add" in text:
            kept.add(("password of mc", "mc"))
        return kept

    def _of_signs(self) -> set[tuple[str, str]]:
        """Rules that need a rare sign."""
        text, lowered = self._text, self._lowered
        kept: set[tuple[str, str]] = set()
        if "@" in text:
            if "://" in text and _USER_OF_URL.search(text):
                kept |= {("password in a URL", "://"), ("token in a URL", "://")}
            if _SLASH_AND_AT.search(text):
                kept |= {("password of sqlplus", "sqlplus"), ("password of Oracle", "jdbc:oracle")}
        if "|" in text and ("echo" in lowered or "printf" in lowered):
            kept.add(("password of a command", "echo"))
        if "<" in text:
            if "<<<" in text:
                kept.add(("password of a command", "<<<"))
            if "</" in text and any(element in lowered for element in _ELEMENTS):
                kept.add(("password element", "assw"))
        if ":" in text:
            if _PORT.search(text):
                kept.add(("password of pgpass", ":5432:"))
            if ":_" in text:
                kept.add(("registry token", "_auth"))
            if "static:" in lowered:
                kept.add(("password of a server", "requirepass"))
        if "=" in text and "value=" in lowered:
            kept |= {("password attribute", "value="), ("password attribute", " value=")}
        return kept

    def _of_names(self) -> set[tuple[str, str]]:
        """Rules that need the name of a secret."""
        text, lowered = self._text, self._lowered
        kept: set[tuple[str, str]] = set()
        if "send" in lowered and ("assword" in lowered or "passphrase" in lowered):
            kept.add(("password of expect", "assword"))
        if self._has_pass:
            if "password" in lowered:
                if self._has_login:
                    kept.add(("password of netrc", "login"))
                if _STATEMENT.search(lowered):
                    kept.add(("password of a statement", "identified"))
            if "requirepass" in lowered:
                kept.add(("password of a server", "requirepass"))
            if "chap password" in lowered:
                kept.add(("password of a network", "pre-shared-key"))
        if self._has_pw and ("bindpw" in lowered or "rootpw" in lowered):
            kept.add(("password of a server", "requirepass"))
        if (self._has_psk and "wpa-psk" in lowered) or (
            self._has_key and ("pre-shared-key" in lowered or "server key" in lowered)
        ):
            kept.add(("password of a network", "pre-shared-key"))
        if self._has_secret and "kind: Secret" in text:
            kept.add(("Kubernetes secret", "kind: secret"))
        if self._has_auth and "masterauth" in lowered:
            kept.add(("password of a server", "requirepass"))
        if self._has_auth and "basic" in lowered and "authorization" in lowered:
            kept.add(("basic login", "basic"))
        if self._has_pass or self._has_pw or self._has_secret or self._has_token or self._has_key or self._has_auth:
            if "-" in text and _OPTION.search(lowered):
                kept.add(("password option", "passw"))
            if "name" in lowered and "value" in lowered and _ENTRY.search(lowered):
                kept.add(("value of an entry", "name"))
            if "=" in text and ("password=" in lowered or "pwd=" in lowered or "pass=" in lowered):
                kept.add(("password of a connection", "password="))
        return kept

    def _of_other_words(self) -> set[tuple[str, str]]:
        """Rules that need another word."""
        text, lowered = self._text, self._lowered
        kept: set[tuple[str, str]] = set()
        if "identified" in lowered:
            kept.add(("password of a statement", "identified"))
        if "community" in lowered and any(setting in lowered for setting in _COMMUNITIES):
            kept.add(("password of a server", "requirepass"))
        if self._has_digit and any(word in lowered and account.search(lowered) for word, account in _ACCOUNTS):
            kept.add(("login", "login"))
        if "(" in text and (self._has_auth or self._has_login or "connect" in lowered) and _LAST_ARGUMENT.search(text):
            kept.add(("login", "auth"))
        if self._has_pass or self._has_login or "smtp" in lowered or "gmail" in lowered:
            kept.add(("app password", "pass"))
        if any(seed in lowered for seed in _SEEDS):
            kept.add(("seed phrase", "mnemonic"))
        return kept

    def _of_long_values(self) -> set[tuple[str, str]]:
        """Rules whose value, or what it is in, has at least `_MIN_LONG` characters without a blank."""
        text, lowered = self._text, self._lowered
        kept: set[tuple[str, str]] = set()
        if "=" in text:
            if ("?" in text or "&" in text) and _LONG_PARAMETER.search(lowered) and _PARAMETER.search(lowered):
                kept.add(("token in a URL", "?"))
            if "code=4/" in text:
                kept.add(("OAuth code", "code="))
            if "cookie" in lowered:
                kept.add(("session cookie", "cookie"))
        if "https://" in lowered and "hook" in lowered:
            kept.add(("token in a URL", "hooks"))
        if "securestring" in lowered:
            kept.add(("password of PowerShell", "securestring"))
        if any(scheme.search(lowered) for word, scheme in _SCHEMES if word in lowered):
            kept.add(("bearer token", "bearer"))
        if self._longest >= _MIN_DISCORD and _DISCORD.search(text):
            kept.add(("Discord token", "discord"))
        if self._has_auth and '"auth"' in lowered:
            kept.add(("registry login", '"auth"'))
        if "(" in text and _FIRST_ARGUMENT.search(text):
            kept.add(("key of a constructor", "client"))
        return kept

    def spans_of_names(self) -> list[tuple[int, int]]:
        """Where names of secrets may be that are followed by a value, in ascending order and apart from each other."""
        lowered = self._lowered
        chosen: list[int] = []
        if self._has_pass:
            chosen += [hint.start() for hint in _PASS.finditer(lowered)]
        if self._has_pw:
            chosen += [hint.start() for hint in _PW.finditer(lowered)]
        if self._has_psk:
            chosen += [hint.start() for hint in _PSK.finditer(lowered)]
        for spoken in _SPOKEN_IN_ASCII if lowered.isascii() else _SPOKEN:
            if spoken in lowered:
                chosen += [hint.start() for hint in re.finditer(spoken, lowered)]
        other: list[int] = []
        if chosen or (self._longest >= _MIN_MIXED and self._has_digit) or self._longest > _MIN_LONG:
            if self._has_secret:
                other += [hint.start() for hint in re.finditer("secret", lowered)]
                chosen += [at for at in other if "client" in lowered[max(at - 7, 0) : at]]
            if self._has_token:
                other += [hint.start() for hint in re.finditer("token", lowered)]
            if self._has_key:
                other += [hint.start() for hint in _KEY.finditer(lowered)]
            if self._has_auth:
                other += [hint.start() for hint in re.finditer("oauth", lowered)]
            for anchor, name in _OTHER_NAMES:
                if anchor in lowered:
                    other += [hint.start() for hint in name.finditer(lowered)]
        return _spans_around(lowered, chosen, other) if chosen or other else []

    def spans_of_runs(self) -> list[tuple[int, int]]:
        """The words in which a run of letters and digits may be long enough to be a token without a name."""
        spans: list[tuple[int, int]] = []
        if self._longest < _MIN_RUN:
            return spans
        at = 0
        for word in self._long:
            if len(word) >= _MIN_RUN and (_DIGIT.search(word) or not word.isascii()):
                at = self._text.find(word, at)
                spans.append((at, at + len(word)))
                at += len(word)
        return spans


def _on_lines_of_options(lowered: str, options: list[int]) -> set[tuple[str, str]]:
    """The rules for tools that are on a line with an option; `options` is where there are any."""
    tools: set[str] = set()
    end = -1
    for at in sorted(options):
        if at > end:
            end = lowered.find("\n", at)
            end = len(lowered) if end < 0 else end
            tools.update(_TOOL.findall(lowered, lowered.rfind("\n", 0, at) + 1, end))
    if _TOOLS.isdisjoint(tools):
        return set()
    return {(rule.name, rule.needs[0]) for rule in _COMMANDS if not tools.isdisjoint(rule.needs)}


def _spans_around(lowered: str, chosen: list[int], other: list[int]) -> list[tuple[int, int]]:
    """The surroundings of the anchors, without the lines on which no value follows."""
    spans: list[tuple[int, int]] = []
    end, is_kept = -1, False
    for at in sorted({*chosen, *other}):
        if at >= end:
            # A line counts as a whole: `masking` looks at a name with regard to the names before it on the line.
            end = lowered.find("\n", at)
            end = len(lowered) if end < 0 else end
            is_kept = any(at <= one < end for one in chosen) or _may_be_followed_by_value(lowered, at, end)
        if not is_kept:
            continue
        start, stop = max(at - _BEFORE_ANCHOR, 0), at + _BEHIND_ANCHOR
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return spans


def _may_be_followed_by_value(lowered: str, start: int, end: int) -> bool:
    """Whether there is a value on the rest of a line that is judged after a name other than `password`."""
    return (
        _DIGIT.search(lowered, start, end) is not None
        or _WITHOUT_DIGIT.search(lowered, start, end) is not None
        or not lowered[start:end].isascii()
    )
