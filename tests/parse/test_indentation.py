"""The end of a block by its indentation."""

from __future__ import annotations

from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
from sage_code.parse.indentation import IndentedBlocks


def test_a_block_ends_at_the_next_line_that_is_indented_no_further() -> None:
    lines = [b"module A =", b"  let x =", b"    1", b"", b"// note", b"  let y = 2", b"module B ="]
    blocks = IndentedBlocks(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    assert blocks.end(0, 0) == starts[6]
    assert blocks.end(1, 2) == starts[5]
    assert blocks.end(6, 0) == starts[7]
    assert blocks.end(1, 4) == 0  # in the middle of a line


def test_definitions_below_an_unreadable_line_keep_their_owner() -> None:
    language = by_name("fsharp")
    assert language is not None
    source = b"""namespace Fake

module DotNet =
    type Options =
        { Path: string }
        static member Create() = { Path = ""
            }}

    let info setParams =
        let inside = 1
        inside

    let after x = x
"""
    parsed = parse(source, language)
    assert parsed is not None
    names = {symbol.qualname for symbol in parsed.symbols}
    assert {"DotNet.info", "DotNet.after"} <= names
    assert not any(name.endswith("inside") for name in names)
