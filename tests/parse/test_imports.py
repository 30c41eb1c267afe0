"""Import statements of each family: module, name and local name."""

from __future__ import annotations

import pytest

from sage_code.parse.imports import imported

STATEMENTS = [
    ("python", "import a.b, c as d", [("a.b", "*", "a.b"), ("c", "*", "d")]),
    ("python", "from ..a import (\n    b,  # why\n    c as d,\n)", [("..a", "b", "b"), ("..a", "c", "d")]),
    ("python", "from . import b", [(".", "b", "b")]),
    ("python", "from a import *", [("a", "*", "")]),
    ("python", "from a.importing import B", [("a.importing", "B", "B")]),
    ("python", "from .imports import Imports", [(".imports", "Imports", "Imports")]),
    ("python", "from .import b", [(".", "b", "b")]),
    (
        "typescript",
        "import d, { a, b as c } from './m'",
        [("./m", "a", "a"), ("./m", "b", "c"), ("./m", "default", "d")],
    ),
    ("typescript", "import * as ns from 'm'", [("m", "*", "ns")]),
    ("typescript", "import type { A } from 'm'", [("m", "A", "A")]),
    ("typescript", "export * from './m'", [("./m", "*", "")]),
    ("javascript", "{ a, b: c } = require('m')", [("m", "a", "a"), ("m", "b", "c")]),
    ("go", 'import (\n\t"fmt"\n\tx "example.com/y/v2"\n)', [("fmt", "*", "fmt"), ("example.com/y/v2", "*", "x")]),
    ("go", 'import "example.com/y/v2"', [("example.com/y/v2", "*", "y")]),
    ("go", 'import "v2"', [("v2", "*", "v2")]),
    ("java", "import static com.x.A.f;", [("com.x.A", "f", "f")]),
    ("java", "import com.x.*;", [("com.x", "*", "")]),
    ("kotlin", "import com.x.A as B", [("com.x", "A", "B")]),
    ("scala", "import a.b.{C, D => E}", [("a.b", "C", "C"), ("a.b", "D", "E")]),
    ("csharp", "using X = A.B.C;", [("A.B", "C", "X")]),
    ("rust", "use a::{b, c::{d, e as f}};", [("a", "b", "b"), ("a::c", "d", "d"), ("a::c", "e", "f")]),
    ("php", "use A\\B\\C as D;", [("A\\B", "C", "D")]),
    ("c", '#include "util/hash.h"', [("util/hash.h", "*", "")]),
    ("ruby", "require_relative 'a/b'", [("a/b", "*", "")]),
    ("solidity", 'import { A, B as C } from "./m.sol";', [("./m.sol", "A", "A"), ("./m.sol", "B", "C")]),
]


@pytest.mark.parametrize(("language", "statement", "expected"), STATEMENTS)
def test_imported(language: str, statement: str, expected: list[tuple[str, str, str]]) -> None:
    found = [(module, name, alias) for name, module, alias in imported(language, statement.encode())]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("language", ["python", "typescript", "go", "java", "rust", "php", "c", "klingon"])
def test_a_statement_that_is_not_understood_imports_nothing(language: str) -> None:
    assert imported(language, b"from") == ()
