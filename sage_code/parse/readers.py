"""Readers of markup and data, by the name in a language's row; a reader replaces the grammar and its query."""

from __future__ import annotations

from collections.abc import Callable

from sage_code.parse.dockerfile import dockerfile
from sage_code.parse.headings import asciidoc, markdown, org, rst
from sage_code.parse.keys import ini_keys, json_keys, yaml_keys
from sage_code.parse.markup import component, html
from sage_code.parse.notebook import notebook
from sage_code.parse.parsed import ParsedFile, ParseInside

Reader = Callable[[bytes, ParseInside], ParsedFile | None]

READERS: dict[str, Reader] = {
    "markdown": markdown,
    "rst": rst,
    "asciidoc": asciidoc,
    "org": org,
    "json": json_keys,
    "yaml": yaml_keys,
    "ini": ini_keys,
    "html": html,
    "component": component,
    "notebook": notebook,
    "dockerfile": dockerfile,
}
