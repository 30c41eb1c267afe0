"""Foreign text inside of Markdown that a code host renders: it is shown, and does nothing else.

On GitHub and GitLab text outside of code may mention people, refer to issues, load pictures, be a quick action or HTML,
and no backslash prevents all of that. So every foreign text becomes a code span: nothing in one is looked at. Its
delimiter is longer than every run of backticks in it, unseen characters are written as escapes, it has one line, and no
run of our own text opens a span that could end in it.
"""

from __future__ import annotations

import re

from sage_code.text.escaping import one_line

_RUN = re.compile("`+")
_CUT = "…"


def code_span(text: str, most: int) -> str:
    """Foreign text as a code span; of a long one the beginning and the end, `most` characters."""
    shown = shortened(one_line(text.replace("\t", " ")), most).strip(" ") or " "
    fence = "`" * (max(map(len, _RUN.findall(shown)), default=0) + 1)
    # A blank beside a backtick is not shown; without one, the fence would be longer.
    blank = " " if shown[0] == "`" or shown[-1] == "`" else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def shortened(text: str, most: int) -> str:
    """A text in at most `most` characters: its beginning and its end, which names a file or the last parameter."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 1]}{_CUT}{text[len(text) - end :]}"
