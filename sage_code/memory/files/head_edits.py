"""Changes single keys in the frontmatter of a memory's file; everything else stays the same, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sage_code.errors import MemoryDamaged
from sage_code.memory.files import frontmatter


def with_values(text: str, values: Mapping[str, Any], where: str) -> str:
    """The text of a file with other values of these keys, at their places; an empty value removes its key.

    MemoryDamaged, which names the file `where`, if anything else would change.
    """
    head, body = frontmatter.split(text)
    if not head and not any(values.values()):
        return text
    before = frontmatter.load(head, where) if head else {}
    after = head
    for key, value in values.items():
        after = _with_value(after, key, value)
    others = dict.fromkeys(values)
    if {**before, **others} != {**frontmatter.load(after, where), **others}:
        raise MemoryDamaged(f"{where} is laid out in a way that Sage cannot edit", "change it by hand")
    return f"---\n{after}---\n{body}"


def _with_value(head: str, key: str, value: Any) -> str:
    """The frontmatter with one key replaced, added at the end, or removed."""
    import yaml  # lazy: faces import the values without reading a file

    written = frontmatter.dump({key: value}) if value else ""
    if head and not head.endswith("\n"):
        head += "\n"
    node: Any = yaml.compose(head, Loader=yaml.SafeLoader)
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    for number, (found, _) in enumerate(pairs):
        if found.value == key:
            end = pairs[number + 1][0].start_mark.index if number + 1 < len(pairs) else len(head)
            return head[: found.start_mark.index] + written + head[end:]
    return head + written
