"""Lines of code as markup: numbers that are permalinks, colours, and links from names.

Written in Python because a template takes ten times as long for ten thousand lines. All text is escaped here; unseen
characters are written out by the view already.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from markupsafe import Markup

from sage_code.text.escaping import visible
from sage_web.templating import address, quoted_path

if TYPE_CHECKING:
    from sage_code.views.code.coloured import ColouredLines, Leaf, Line, Link

# Lines that are coloured, linked and painted together. The style sheet knows the height of a block.
BLOCK_LINES = 100
# Below this a link is drawn fainter: the definition is only likely.
_CERTAIN = 0.8


def blocks(slug: str, shown: ColouredLines) -> Markup:
    """All lines of a file in blocks. One without colours is two texts, numbers and code: a browser lays out ten
    thousand lines of those at once, and `code.js` makes lines of them when they come into sight."""
    made = []
    for start in range(0, len(shown.lines), BLOCK_LINES):
        part = shown.lines[start : start + BLOCK_LINES]
        first, last = start + 1, start + len(part)
        classes = "block full" if len(part) == BLOCK_LINES else "block"
        is_plain = last > shown.in_colour
        made.append(f'<div class="{classes}{" plain" if is_plain else ""}" data-first="{first}" data-last="{last}">')
        made.append(_plain(part, first) if is_plain else block(slug, shown.path, part, first))
        made.append("</div>")
    return Markup("".join(made))  # noqa: S704 - escaped in `_plain`, `_leaf` and `_link`


def _plain(lines: Sequence[Line], first: int) -> str:
    numbers = "\n".join(map(str, range(first, first + len(lines))))
    text = "\n".join("".join(leaf.text for leaf in line) for line in lines)
    return f'<div class="numbers">{numbers}</div><div class="text">{escape(text)}</div>'


def block(slug: str, path: str, lines: Sequence[Line], first: int) -> Markup:
    """The lines of one block."""
    made = []
    for number, line in enumerate(lines, first):
        uses = next((leaf.link.uses for leaf in line if leaf.link is not None and leaf.link.uses), 0)
        counted = f' data-uses="{uses:,}×"' if uses else ""
        made.append(f'<div class="l" id="L{number}"{counted}><a class="n" href="#L{number}" tabindex="-1">{number}</a>')
        made += [_leaf(slug, path, leaf) for leaf in line]
        made.append("</div>")
    return Markup("".join(made))  # noqa: S704 - escaped in `_leaf` and `_link`


def _leaf(slug: str, path: str, leaf: Leaf) -> str:
    text = escape(leaf.text)
    if leaf.link is not None:
        return _link(slug, path, leaf.link, text, leaf.colour)
    return f'<span class="k-{leaf.colour}">{text}</span>' if leaf.colour else text


def _link(slug: str, path: str, link: Link, text: str, colour: str) -> str:
    """A name that leads to its definition, or from its definition to its uses."""
    where = code_address(slug, link.file, link.line) if link.file != path else f"#L{link.line}"
    colour = f" k-{colour}" if colour else ""
    name = f"{link.kind} {link.qualname}"
    if link.is_definition:
        where = address(f"/p/{slug}/uses", name=link.qualname, file=link.file, line=link.line)
        count = f"{link.uses:,} × the name is used" if link.uses else "no reference by this name is stored"
        return _anchor(f"d{colour}", where, f"{name}: {count}; show the uses", text)
    certain = "" if link.confidence >= _CERTAIN else " faint"
    title = f"{name} in {link.file}:{link.line}, {link.confidence:.0%} certain by its {link.why}"
    return _anchor(f"u{certain}{colour}", where, title, text)


def _anchor(classes: str, where: str, title: str, text: str) -> str:
    return f'<a class="{classes}" href="{escape(where)}" title="{escape(visible(title))}">{text}</a>'


def code_address(slug: str, path: str, line: int = 0) -> str:
    """The address of a file, or of a line of it."""
    return f"/p/{slug}/code/{quoted_path(path)}" + (f"#L{line}" if line else "")
