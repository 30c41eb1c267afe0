from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from tree_sitter_language_pack import SupportedLanguage

from sage_code.languages.table import all_languages, by_name, detect


def name(path: str, head: bytes = b"") -> str | None:
    language = detect(path, head)
    return language.name if language else None


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a/b.py", "python"),
        ("types.pyi", "python"),
        ("x.TSX", "tsx"),
        ("x.mjs", "javascript"),
        ("x.cs", "csharp"),
        ("x.sol", "solidity"),
        ("README.md", "markdown"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.dev", "dockerfile"),
        ("src/Makefile", "make"),
        ("CMakeLists.txt", "cmake"),
        ("go.mod", "gomod"),
        ("Gemfile", "ruby"),
        ("x.kt", "kotlin"),
        ("x.cbl", "cobol"),
        (".bashrc", "bash"),
        ("notes.txt", None),
        ("LICENSE", None),
        ("x.unknown", None),
        ("", None),
        (".", None),
    ],
)
def test_by_name_and_extension(path: str, expected: str | None) -> None:
    assert name(path) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"#!/usr/bin/python3\n", "python"),
        (b"#!/usr/bin/env python3.11\n", "python"),
        (b"#!/usr/bin/env -S node --flag\n", "javascript"),
        (b"#! /bin/sh -e\n", "bash"),
        (b"#!/usr/bin/env FOO=1 ruby\n", "ruby"),
        (b"#!/opt/unknown\n", None),
        (b"#!\n", None),
        (b"\xff\xfe", None),
    ],
)
def test_by_shebang(head: bytes, expected: str | None) -> None:
    assert name("bin/tool", head) == expected


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        ("x.h", b"", "c"),
        ("x.h", b"#include <stdio.h>\nint f(void);\n", "c"),
        ("x.h", b'#ifdef __cplusplus\nextern "C" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\n', "c"),
        ("x.h", b"// class Foo { } in a comment\nstruct a { int b; };\n", "c"),
        ("x.h", b"namespace a {\nclass B {};\n}\n", "cpp"),
        ("x.h", b"#include <vector>\n", "cpp"),
        ("x.h", b"#import <Foundation/Foundation.h>\n@interface A : NSObject\n@end\n", "objc"),
        ("x.m", b"#import <Foundation/Foundation.h>\n", "objc"),
        ("x.m", b"function y = f(x)\n  % doubles\n  y = 2 * x;\nend\n", "matlab"),
        ("x.pl", b"use strict;\nmy $x = 1;\n", "perl"),
        ("x.pl", b":- module(a, [b/1]).\nb(1).\n", "prolog"),
        ("x.v", b"module counter(input clk);\nendmodule\n", "verilog"),
        ("x.v", b"fn main() {\n  println('x')\n}\n", "v"),
        ("x.v", b"Require Import List.\nTheorem t : True.\n", "coq"),
        ("x.ts", b"export const a = 1;\n", "typescript"),
        ("x.ts", b'<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS></TS>\n', "xml"),
        ("x.cls", b"\\NeedsTeXFormat{LaTeX2e}\n", "latex"),
    ],
)
def test_shared_extensions_are_decided_by_content(path: str, head: bytes, expected: str) -> None:
    assert name(path, head) == expected


def test_the_table_names_grammars_that_exist() -> None:
    known = set(get_args(SupportedLanguage))
    assert {language.grammar for language in all_languages() if language.grammar} <= known


def test_cobol_is_named_but_never_parsed() -> None:
    cobol = by_name("cobol")
    assert cobol is not None
    assert cobol.grammar is None


def test_about_sixty_languages_or_more() -> None:
    assert len(all_languages()) >= 60


def test_the_documentation_is_up_to_date() -> None:
    docs = Path(__file__).resolve().parents[2] / "docs"
    printed = subprocess.run([sys.executable, docs / "languages.py"], capture_output=True, check=True).stdout
    assert (docs / "LANGUAGES.md").read_bytes() == printed, "run `python docs/languages.py > docs/LANGUAGES.md`"
