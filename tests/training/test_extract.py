"""Extracting: definitions with their documentation, and the documentation is not left in the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from sage_code.languages.table import by_name
from training.extract import (
    Definition,
    definitions,
    may_be_documented,
    package_definitions,
    read_definitions,
    readme_sections,
    write_lines,
)

# Language, file, and the source of a documented definition called `half`.
SOURCES = [
    (
        "python",
        "a.py",
        (
            "def half(number):\n"
            '    """Divide the number by two.\n'
            "\n"
            "    Args:\n"
            "        number: what to divide\n"
            '    """\n'
            "    return number / 2\n"
        ),
    ),
    (
        "python",
        "b.py",
        (
            "class A:\n"
            "    def half(self, number: int) -> int:  # noqa\n"
            "        r'''Divide the number by two.'''\n"
            "        return number / 2\n"
        ),
    ),
    (
        "python",
        "c.py",
        'def half(number):\n    "Divide the number by two."\n',
    ),
    (
        "javascript",
        "a.js",
        (
            "/**\n"
            " * Divide the number by two.\n"
            " * @param number what to divide\n"
            " */\n"
            "export function half(number) {\n"
            "  return number / 2\n"
            "}\n"
        ),
    ),
    (
        "typescript",
        "a.ts",
        (
            "class A {\n"
            "  /** Divide the number by two. */\n"
            "  @cached\n"
            "  half(number: number): number {\n"
            "    return number / 2\n"
            "  }\n"
            "}\n"
        ),
    ),
    (
        "go",
        "a.go",
        "package a\n\n// Divide the number by two.\nfunc half(number int) int {\n\treturn number / 2\n}\n",
    ),
    (
        "rust",
        "a.rs",
        (
            "/// Divide the number by two.\n"
            "///\n"
            "/// # Examples\n"
            "#[inline]\n"
            "pub fn half(number: i32) -> i32 {\n"
            "    number / 2\n"
            "}\n"
        ),
    ),
    (
        "ruby",
        "a.rb",
        "# Divide the number by two.\n#\n# @param number what\ndef half(number)\n  number / 2\nend\n",
    ),
    (
        "php",
        "a.php",
        "<?php\n/**\n * Divide the number by two.\n */\nfunction half($number) {\n    return $number / 2;\n}\n",
    ),
    (
        "java",
        "A.java",
        (
            "class A {\n"
            "    /**\n"
            "     * Divide the number by two.\n"
            "     */\n"
            "    @Override\n"
            "    public int half(int number) {\n"
            "        return number / 2;\n"
            "    }\n"
            "}\n"
        ),
    ),
    (
        "c",
        "a.c",
        "/* Divide the number by two. */\nint half(int number)\n{\n    return number / 2;\n}\n",
    ),
    (
        "cpp",
        "a.cpp",
        "/// Divide the number by two.\ntemplate <class T>\nT half(T number) {\n    return number / 2;\n}\n",
    ),
    (
        "csharp",
        "A.cs",
        (
            "class A {\n"
            "    /// <summary>\n"
            "    /// Divide the number by two.\n"
            "    /// </summary>\n"
            "    public int half(int number) {\n"
            "        return number / 2;\n"
            "    }\n"
            "}\n"
        ),
    ),
    (
        "kotlin",
        "a.kt",
        "/**\n * Divide the number by two.\n */\nfun half(number: Int): Int {\n    return number / 2\n}\n",
    ),
    (
        "swift",
        "a.swift",
        "/// Divide the number by two.\nfunc half(_ number: Int) -> Int {\n    return number / 2\n}\n",
    ),
    (
        "scala",
        "a.scala",
        "object A {\n  /** Divide the number by two. */\n  def half(number: Int): Int = {\n    number / 2\n  }\n}\n",
    ),
    (
        "haskell",
        "a.hs",
        "module A where\n\n-- | Divide the number by two.\nhalf :: Int -> Int\nhalf number = number `div` 2\n",
    ),
    (
        "lua",
        "a.lua",
        "--- Divide the number by two.\n-- @param number what\nfunction half(number)\n  return number / 2\nend\n",
    ),
    (
        "elixir",
        "a.ex",
        (
            "defmodule A do\n"
            '  @doc """\n'
            "  Divide the number by two.\n"
            '  """\n'
            "  def half(number) do\n"
            "    number / 2\n"
            "  end\n"
            "end\n"
        ),
    ),
    (
        "bash",
        "a.sh",
        "# Divide the number by two.\nhalf() {\n  echo $(($1 / 2))\n}\n",
    ),
    (
        "r",
        "a.R",
        "#' Divide the number by two.\n#' @export\nhalf <- function(number) {\n  number / 2\n}\n",
    ),
]


def found_in(language_name: str, path: str, text: str) -> list[Definition]:
    language = by_name(language_name)
    assert language is not None
    return list(definitions(text, path, language))


@pytest.mark.parametrize(("language", "path", "text"), SOURCES, ids=[f"{row[0]}-{row[1]}" for row in SOURCES])
def test_the_documentation_is_taken_out(language: str, path: str, text: str) -> None:
    half = next(item for item in found_in(language, path, text) if item.name == "half")
    assert half.doc.startswith("Divide the number by two")
    assert "Divide" not in half.code
    assert "half" in half.code
    assert half.kind == "function"


@pytest.mark.parametrize(("language", "path", "text"), SOURCES, ids=[f"{row[0]}-{row[1]}" for row in SOURCES])
def test_documented_files_are_known_before_they_are_parsed(language: str, path: str, text: str) -> None:
    row = by_name(language)
    assert row is not None
    if path != "c.py":  # one quotation mark is rare, and means anything
        assert may_be_documented(text, row)
    marks = ("/", "*", "#", "-", '"""', "r'''", "@doc")
    bare = "\n".join(line for line in text.split("\n") if not line.strip().startswith(marks))
    assert not may_be_documented(bare, row)


def test_attributes_stay() -> None:
    rust = next(row for row in SOURCES if row[0] == "rust")
    assert "#[inline]" in next(item.code for item in found_in(*rust) if item.name == "half")


def test_a_large_class_is_its_head_and_a_small_one_whole() -> None:
    methods = "".join(f"    def method_{n}(self):\n        return self.value_{n} + {n} * 17\n\n" for n in range(40))
    large = next(
        item for item in found_in("python", "a.py", f"class Box:\n    size = 1\n\n{methods}") if item.kind == "class"
    )
    assert "method_0" not in large.code
    assert "size = 1" in large.code
    small = next(
        item
        for item in found_in("python", "a.py", "class Box:\n    def get(self):\n        return 1\n")
        if item.kind == "class"
    )
    assert "return 1" in small.code


def test_the_head_of_a_file() -> None:
    text = (
        '"""Turns numbers into halves, thirds and quarters."""\n\nimport math\nfrom fractions import Fraction\n\n'
        + "x = 1\n" * 60
    )
    head = next(item for item in found_in("python", "numbers.py", text) if item.kind == "file")
    assert head.doc.startswith("Turns numbers into halves")
    assert "Turns" not in head.code
    assert head.code.startswith("import math")


def test_a_licence_is_no_documentation_of_a_file() -> None:
    text = "// Copyright 2020 The Authors. All rights reserved.\n\npackage a\n\n" + "var x = 1\n" * 60
    assert not [item for item in found_in("go", "a.go", text) if item.kind == "file"]


def test_test_files_give_tests() -> None:
    found = found_in("python", "tests/test_half.py", "def test_half_of_zero():\n    assert half(0) == 0\n")
    assert [item.kind for item in found] == ["test"]
    cases = found_in(
        "javascript", "half.test.js", 'it("halves an odd number", () => {\n  expect(half(3)).toBe(1.5)\n})\n'
    )
    assert any(item.kind == "test" and item.name == "halves an odd number" for item in cases)


def test_readme_sections() -> None:
    found = list(readme_sections("# Title\n\nWords.\n\n## Half a number\n\nCall `half`.\n", "README.md"))
    assert [item.name for item in found] == ["Title", "Half a number"]


def test_a_package(tmp_path: Path) -> None:
    body = (
        "{\n    int result = number;\n    for (int i = 0; i < 10; i++) result += i * number;\n    return result;\n}\n"
    )
    files = {
        "half.h": "/** Divide the number by two, and some more. */\nint half(int number);\n",
        "half.c": f"int half(int number)\n{body}",
        "copy.c": f"int half(int number)\n/* the same again */ {body}",
        "vendor/other.c": f"int other(int number)\n{body}",
        "generated.c": f"/* Code generated by a tool. DO NOT EDIT. */\nint third(int number)\n{body}",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    found = package_definitions(tmp_path, 100)
    assert [(item.name, item.doc) for item in found] == [("half", "Divide the number by two, and some more.")]
    assert found[0].exact
    assert found[0].near


def test_the_bound_keeps_the_documented(tmp_path: Path) -> None:
    lines = [f"def bare_{n}(a, b):\n    return a * {n} + b - {n} * 3\n\n" for n in range(20)]
    lines += [
        f'def told_{n}(a, b):\n    """Tell about number {n}."""\n    return a / {n} + b % {n} * 5\n\n' for n in range(5)
    ]
    (tmp_path / "a.py").write_text("".join(lines))
    found = package_definitions(tmp_path, 5)
    assert sorted(item.name for item in found) == [f"told_{n}" for n in range(5)]


def test_lines_come_back(tmp_path: Path) -> None:
    item = Definition("function", "go", "a.go", "f", "f", "func f()", "Döc.", "func f() {}")
    path = tmp_path / "deep" / "a.jsonl.gz"
    write_lines(
        path,
        [
            {
                "kind": "function",
                "language": "go",
                "path": "a.go",
                "name": "f",
                "qualname": "f",
                "signature": "func f()",
                "doc": "Döc.",
                "code": "func f() {}",
            }
        ],
    )
    assert read_definitions(path) == [item]
    assert [child.name for child in path.parent.iterdir()] == ["a.jsonl.gz"]
