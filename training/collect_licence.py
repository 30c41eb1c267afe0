"""Which licence a package has, read from its metadata, and whether it may be trained on.

Only permissive licences are accepted: MIT, BSD, Apache-2.0, ISC, zlib, Boost, Unlicense, PSF and similar ones. Copyleft
licences, MPL included, and unknown ones are not.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Callable
from email.parser import HeaderParser

_PERMISSIVE = re.compile(
    r"\s*\(?\s*(the\s+)?(new |modified |simplified |revised |2-clause |3-clause )?"
    r"(mit(-0|-cmu|-style|-\w+)?|expat(-\w+)?|x11|0?bsd([- ]\w+)*|(2|3)-clause bsd( license)?"
    r"|isc(l|-\w+)?|zlib([-/]\w+)*|boost[\w. -]*|bsl-1(\.0)?"
    r"|apache([- ]?(software )?(license|licence))?[, -]*(version |v)?(2(\.0)?)?|asl[- ]?2(\.0)?|al-?2(\.0)?"
    r"|unlicense|cc0(-1\.0)?|public[- ]domain|python-2\.0(\.1)?|psf(-2(\.0)?|l)?|python software foundation( license)?"
    r"|ncsa|postgresql|hpnd|blueoak-1\.0\.0|wtfpl|tcl|libpng|openssl|libtiff|upl-1\.0|afl-2\.1|dual mit"
    r"|apache-2(\.0)?( with llvm[- ]exceptions?)?)"
    r"(\s+(software\s+)?licen[sc]e)?\s*\)?\s*",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"gpl|gnu |mozilla|\bmpl|\bepl|eclipse|cddl|\bcecill|eupl|\bsspl|busl|proprietary|commercial|non-?free"
    r"|cc-by-(sa|nc)|affero|all rights reserved$|unlicensed",
    re.IGNORECASE,
)
_COPYLEFT_HEAD = re.compile(
    r"GNU\s+(?:\W*\s)?(?:Lesser|Library|Affero|General)|SPDX-License-Identifier:\s*\(?(?:A|L)?GPL(?!.*\bOR\b)"
    r"|Mozilla\s+Public\s+License|Eclipse\s+Public\s+License|\bCDDL\b"
)
_TEXTS = (
    ("MIT", "permission is hereby granted, free of charge"),
    ("BSD", "redistribution and use in source and binary forms"),
    ("Apache-2.0", "apache license, version 2.0"),
    ("Apache-2.0", "apache license version 2.0"),
    ("ISC", "permission to use, copy, modify, and/or distribute this software for any"),
    ("ISC", "permission to use, copy, modify, and distribute this software for any"),
    ("BSL-1.0", "boost software license"),
    ("Unlicense", "this is free and unencumbered software"),
)


def permissive(expression: str) -> bool:
    """Whether a licence expression (SPDX, or as people write it) allows training on the code.

    One permissive alternative (`or`) is enough; of parts that apply together (`and`) all must be permissive.
    """
    expression = " ".join(expression.split()).strip().strip("'\"")
    if not expression or len(expression) > 300:
        return False
    alternatives = re.split(r"\s+or\s+|\s*\|+\s*|(?<=\w)/(?=[A-Z])", expression, flags=re.IGNORECASE)
    return any(
        all(
            _PERMISSIVE.fullmatch(part) is not None
            for part in re.split(r"\s+and\s+|\s*[,;&+]\s+(?!version)", one, flags=re.IGNORECASE)
        )
        for one in alternatives
    )


def from_text(text: str) -> str:
    """The permissive licence that a text names, or nothing if it names none or another licence too."""
    folded = " ".join(text.lower().split())
    if _FORBIDDEN.search(folded.replace("gnu.org", "")):
        return ""
    return next((name for name, phrase in _TEXTS if phrase in folded), "")


def of_wheel(metadata: str, licence_text: str = "") -> str:
    """The licence of a Python package by its METADATA, or nothing."""
    headers = HeaderParser().parsestr(metadata)
    expression = str(headers.get("License-Expression") or "")
    if expression:
        return expression if permissive(expression) else ""
    classified = [
        str(value).rpartition(" :: ")[2]
        for value in headers.get_all("Classifier", [])
        if str(value).startswith("License :: OSI Approved :: ")
    ]
    if classified:
        known = [re.sub(r"\s*\(.*\)", "", name) for name in classified]
        return " or ".join(classified) if all(permissive(name) for name in known) else ""
    declared = str(headers.get("License") or "")
    if declared and "\n" not in declared and len(declared) < 100:
        return declared if permissive(declared) else ""
    return from_text(declared) or from_text(licence_text)


def of_npm(package_json: str) -> str:
    """The licence of a package.json, or nothing."""
    try:
        package = json.loads(package_json)
    except ValueError:
        return ""
    if not isinstance(package, dict):
        return ""
    value = package.get("license") or package.get("licenses")
    if isinstance(value, list):
        names = [item.get("type", "") if isinstance(item, dict) else str(item) for item in value]
        value = " or ".join(names)
    elif isinstance(value, dict):
        value = value.get("type", "")
    value = str(value or "")
    return value if permissive(value) else ""


def of_origin(files: dict[str, str]) -> str:
    """The licence of an upstream archive by the files of its top folder: R's DESCRIPTION or a licence's text."""
    for name, text in files.items():
        if name == "DESCRIPTION" and (declared := _fields(text).get("license")):
            # `MIT + file LICENSE`, `BSD_3_clause + file LICENSE`, `Apache License (>= 2)`, `GPL-2 | MIT`
            expression = re.sub(r"\+ file LICEN[CS]E|\([<>=. 0-9]*\)", "", declared).replace("_", "-").strip()
            return declared if permissive(expression) else ""
    texts = [text for name, text in files.items() if name.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]
    found = [from_text(text) for text in texts]
    return " and ".join(dict.fromkeys(found)) if found and all(found) else ""


def has_copyleft_head(head: str) -> bool:
    """Whether a file says at its top that it is under another licence than a permissive one."""
    return _COPYLEFT_HEAD.search(head) is not None


def of_debian(copyright_text: str) -> tuple[str, Callable[[str], bool]]:
    """The licence of a debian/copyright, and which of the upstream files are *not* under a permissive one.

    In the machine-readable form each paragraph names its files, and the last match counts; in free text all licences
    that occur must be permissive.
    """
    if "Files:" not in copyright_text or not copyright_text.lstrip().startswith(("Format:", "Format-Spec")):
        return from_text(copyright_text), lambda _path: False
    rules: list[tuple[re.Pattern[str], bool]] = []
    main = ""
    for paragraph in re.split(r"\n[ \t]*\n", copyright_text):
        fields = _fields(paragraph)
        if "files" not in fields or "license" not in fields:
            continue
        licence = fields["license"].split("\n")[0].strip()
        allowed = permissive(licence)
        for pattern in fields["files"].replace(",", " ").split():
            if pattern == "*":
                main = licence
            if not pattern.startswith("debian/"):
                rules.append((re.compile(fnmatch.translate(pattern)), allowed))
    if not main:
        first = [allowed for _pattern, allowed in rules]
        return "", lambda _path: not first
    rules.reverse()

    def forbidden(path: str) -> bool:
        return not next((allowed for pattern, allowed in rules if pattern.match(path)), False)

    # A few permissive folders in a package under another licence are not worth the doubt.
    return (main if permissive(main) else ""), forbidden


def _fields(paragraph: str) -> dict[str, str]:
    """The fields of one paragraph of a debian/copyright."""
    fields: dict[str, str] = {}
    key = ""
    for line in paragraph.split("\n"):
        if line[:1] in (" ", "\t"):
            if key:
                fields[key] += "\n" + line.strip()
        elif ":" in line:
            name, _, value = line.partition(":")
            key = name.strip().lower()
            fields[key] = value.strip()
    return fields
