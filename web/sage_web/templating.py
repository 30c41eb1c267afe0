"""The templates: everything that they print is escaped, and characters that cannot be seen are written out."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from sage_code.text.escaping import one_line, visible


def environment(folder: str) -> Environment:
    """The environment of the templates in a folder."""
    made = Environment(
        loader=FileSystemLoader(os.path.join(folder, "templates")),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {"exactly": _exactly, "one_line": one_line, "path": quoted_path, "plural": plural}
    made.globals |= {"address": address}
    return made


def _shown(value: Any) -> Any:
    """What is printed of a value: foreign text with its unseen characters escaped, nothing for None."""
    if value is None:
        return ""
    return visible(value) if type(value) is str else value


def _exactly(text: str) -> Markup:
    """A text for a field that is sent back: escaped, and otherwise as it is."""
    return Markup(escape(text))  # noqa: S704 - it is escaped here


def quoted_path(path: str) -> str:
    """A path as a part of an address; bytes that are no text survive."""
    return quote(os.fsencode(path), safe="/")


def address(path: str, **values: Any) -> str:
    """An address with a query: values that are empty are left out, lists are repeated."""
    pairs = [
        (name, str(one))
        for name, value in values.items()
        for one in (value if isinstance(value, list | tuple) else [value])
        if one not in (None, "", False)
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def plural(count: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
