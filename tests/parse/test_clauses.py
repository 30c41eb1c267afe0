"""Definitions of functional and shell languages: clauses, packages, documentation strings, preprocessing."""

from __future__ import annotations

import time

from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
from sage_code.parse.preprocessor import preprocessed
from sage_code.values import Symbol


def symbols(name: str, text: str) -> tuple[Symbol, ...]:
    language = by_name(name)
    assert language is not None
    parsed = parse(text.encode(), language)
    assert parsed is not None
    return parsed.symbols


def test_equations_and_their_signature_are_one_symbol() -> None:
    (fact,) = symbols("haskell", "-- | Multiplies.\nfact :: Int -> Int\nfact 0 = 1\nfact n = n * fact (n - 1)\n")
    assert (fact.line, fact.start_line, fact.end_line) == (2, 1, 4)
    assert fact.signature == "fact :: Int -> Int"
    assert fact.docstring == "Multiplies."


def test_clauses_of_another_arity_are_another_symbol() -> None:
    found = symbols("erlang", "f(0) -> 1;\nf(N) -> N.\nf(A, B) -> A + B.\n")
    assert [(symbol.line, symbol.end_line) for symbol in found] == [(1, 2), (3, 3)]


def test_clauses_apart_are_not_joined() -> None:
    found = symbols("elixir", "def f(1), do: 1\ndef g(1), do: 1\ndef f(2), do: 2\n")
    assert [symbol.name for symbol in found] == ["f", "g", "f"]


def test_a_package_owns_the_definitions_up_to_the_next_package() -> None:
    text = "package A::B;\nsub f { 1 }\npackage C { sub g { 1 } }\nsub h { 1 }\npackage D;\nsub i { 1 }\n"
    names = [symbol.qualname for symbol in symbols("perl", text)]
    assert names == ["A.B", "A.B.f", "C", "C.g", "A.B.h", "D", "D.i"]


def test_documentation_strings() -> None:
    (_, start) = symbols(
        "elixir", 'defmodule A do\n  @doc """\n  Starts.\n  """\n  @spec f(1) :: 1\n  def f(x), do: x\nend'
    )
    assert (start.docstring, start.start_line) == ("Starts.", 2)
    (add,) = symbols("clojure", '(defn add\n  "Adds."\n  [a b]\n  (+ a b))')
    assert (add.docstring, add.signature) == ("Adds.", '(defn add "Adds." [a b]')
    (area,) = symbols("julia", '"""\nHow large.\n"""\nfunction area(x)\n    x\nend\n')
    assert (area.docstring, area.start_line) == ("How large.", 1)


def test_fsharp_parses_with_empty_comments_and_directives() -> None:
    text = "module A\n\n///\n/// Adds.\nlet add x y =\n#if FAST\n    x + y\n#else\n    y + x\n#endif\n\nlet next = 1\n"
    assert [symbol.name for symbol in symbols("fsharp", text)] == ["A", "add", "next"]


def test_zsh_parses_with_its_conditions() -> None:
    text = 'function yes {\n  [[ "$1" == (1|[Yy]([Ee][Ss]|)) ]]\n}\nfunction no { ls ${(f)x}; }\n'
    assert [symbol.name for symbol in symbols("bash", text)] == ["yes", "no"]


def test_preprocessing_keeps_every_offset() -> None:
    text = b'let a = "// no" // yes\r\n#if X\nlet b = 1\n#else\nlet c = 2\n#endif\n[[ a ]] ${b:-${c}}\n'
    for how in ("fsharp", "zsh", "conditionals", "macros"):
        changed = preprocessed(text, how)
        assert len(changed) == len(text)
        assert [i for i, byte in enumerate(changed) if byte == 10] == [i for i, byte in enumerate(text) if byte == 10]
    assert b'"// no"' in preprocessed(text, "fsharp")


def test_preprocessing_is_linear() -> None:
    started = time.monotonic()
    for piece in (b"[[ ", b"(( ", b"${", b"a(N", b'"', b'"""', b"(*", b"#if\n", b"#else\n", b"\\"):
        for how in ("fsharp", "zsh"):
            preprocessed(piece * 100_000, how)
    assert time.monotonic() - started < 20
