from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.languages.table import Language, all_languages, by_name
from sage_code.parse.definitions import parse
from sage_code.parse.parsed import ParsedFile
from sage_code.parse.preprocessor import simplified
from sage_code.values import Symbol

FIRST_CLASS = [language for language in all_languages() if language.has_definitions]


def language(name: str) -> Language:
    found = by_name(name)
    assert found is not None
    return found


def parsed(name: str, text: str) -> ParsedFile:
    result = parse(text.encode(), language(name))
    assert result is not None
    return result


def symbol(name: str, text: str, qualname: str) -> Symbol:
    return next(found for found in parsed(name, text).symbols if found.qualname == qualname)


class TestDocumentation:
    def test_python_docstring_is_cleaned(self) -> None:
        text = 'def f():\n    """First.\n\n    Second.\n    """\n'
        assert symbol("python", text, "f").docstring == "First.\n\nSecond."

    def test_python_comment_above_counts_when_there_is_no_docstring(self) -> None:
        assert symbol("python", "x = 1\n# Says why.\nLIMIT = 3\n", "LIMIT").docstring == "Says why."

    def test_go_comment_block(self) -> None:
        found = symbol("go", "package p\n\n// F does\n// this.\nfunc F() {}\n", "F")
        assert (found.docstring, found.start_line, found.line) == ("F does\nthis.", 3, 5)

    def test_a_blank_line_separates_a_comment(self) -> None:
        found = symbol("go", "package p\n\n// Licence.\n\nfunc F() {}\n", "F")
        assert (found.docstring, found.start_line) == ("", 5)

    def test_a_comment_after_code_belongs_to_that_code(self) -> None:
        text = "int a; /* of a */\nint b; // of b\nint c;\n"
        assert [found.docstring for found in parsed("c", text).symbols] == ["", "", ""]

    def test_javadoc_above_an_annotation(self) -> None:
        text = "class A {\n  /**\n   * Runs.\n   * @return nothing\n   */\n  @Deprecated\n  void run() {}\n}\n"
        found = symbol("java", text, "A.run")
        assert (found.docstring, found.start_line, found.line) == ("Runs.\n@return nothing", 2, 7)

    def test_rust_doc_above_attributes_that_span_lines(self) -> None:
        text = "//! The file.\n\n/// Adds.\n#[cfg(any(\n    a,\n))]\n#[inline]\nfn add() {}\n"
        found = symbol("rust", text, "add")
        assert (found.docstring, found.start_line, found.line) == ("Adds.", 3, 8)

    def test_csharp_xml_is_stripped(self) -> None:
        text = 'class A {\n/// <summary>\n/// Resets <see cref="Log"/>.\n/// </summary>\nvoid F() {}\n}\n'
        assert symbol("csharp", text, "A.F").docstring == "Resets Log."

    def test_shebang_is_no_documentation(self) -> None:
        assert symbol("python", "#!/usr/bin/env python\nx = 1\n", "x").start_line == 2

    def test_long_documentation_is_cut(self) -> None:
        text = "// " + "word " * 1000 + "\nfunction f() {}\n"
        assert len(symbol("javascript", text, "f").docstring) <= 1000


class TestSpan:
    def test_decorators_belong_to_the_span_but_not_to_the_signature(self) -> None:
        text = "@first(\n    1\n)\n@second\nasync def f(a,\n            b): pass\n"
        found = symbol("python", text, "f")
        assert (found.start_line, found.line, found.end_line) == (1, 5, 6)
        assert found.signature == "async def f(a, b)"

    def test_template_prefix(self) -> None:
        found = symbol("cpp", "/// Holds.\ntemplate <typename T>\nclass Box {};\n", "Box")
        assert (found.start_line, found.docstring, found.signature) == (1, "Holds.", "class Box")

    def test_an_attribute_on_the_line_of_its_own_definition_is_not_above_the_next(self) -> None:
        text = "class A {\n  @Input() a: string;\n  b: string;\n}\n"
        assert symbol("typescript", text, "A.b").start_line == 3

    def test_only_the_first_name_of_a_line_owns_the_comment_above(self) -> None:
        found = parsed("c", "/* Colours. */\nenum color { RED, GREEN };\n").symbols
        assert [(s.name, s.start_line) for s in found] == [("color", 1), ("RED", 2), ("GREEN", 2)]

    def test_symbols_are_ordered_outer_first(self) -> None:
        found = parsed("python", "class A:\n    def f(self): pass\nx = 1\n").symbols
        assert [s.qualname for s in found] == ["A", "A.f", "x"]

    def test_crlf(self) -> None:
        found = symbol("python", "# Why.\r\ndef f():\r\n    pass\r\n", "f")
        assert (found.docstring, found.start_line, found.end_line, found.signature) == ("Why.", 1, 3, "def f()")


class TestSignature:
    @pytest.mark.parametrize(
        ("name", "text", "qualname", "signature"),
        [
            (
                "typescript",
                "export const f = async (a: string) => { g(); };",
                "f",
                "export const f = async (a: string)",
            ),
            ("typescript", "export default class A<T> extends B {}", "A", "export default class A<T> extends B"),
            ("go", "package p\ntype S struct {\n\ta int\n}", "S", "type S struct"),
            ("go", "package p\nfunc (s *S) F(a int) error { return nil }", "S.F", "func (s *S) F(a int) error"),
            ("java", "@A\n  @B(1)\nclass C implements D {}", "C", "class C implements D"),
            ("python", "def f(a):  # why\n    pass", "f", "def f(a)"),
            ("python", "LIMIT = 10  # why", "LIMIT", "LIMIT = 10"),
            ("c", "#define MAX(a, b) ((a) > (b))", "MAX", "#define MAX(a, b) ((a) > (b))"),
            ("rust", "pub fn f<T>(a: T) -> u8\nwhere\n    T: X,\n{ 1 }", "f", "pub fn f<T>(a: T) -> u8 where T: X,"),
            ("ruby", "def f(a, b = 1)\n  a\nend", "f", "def f(a, b = 1)"),
        ],
    )
    def test_up_to_the_body(self, name: str, text: str, qualname: str, signature: str) -> None:
        assert symbol(name, text, qualname).signature == signature

    def test_long_signatures_are_cut(self) -> None:
        found = symbol("python", f"TABLE = [{'1, ' * 10_000}]\n", "TABLE")
        assert len(found.signature) == 300
        assert found.signature.endswith("…")

    def test_multibyte_text_is_cut_between_characters(self) -> None:
        assert "\ufffd" not in symbol("python", f"T = '{'é' * 5000}'\n", "T").signature


class TestBrokenSource:
    def test_python_2(self) -> None:
        text = 'def f():\n    print "x"\n    raise E, "y"\n\nclass A:\n    def g(self): exec "z"\n'
        assert {s.qualname for s in parsed("python", text).symbols} >= {"f", "A", "A.g"}

    def test_definitions_below_an_error_are_found(self) -> None:
        assert "after" in {s.name for s in parsed("javascript", "let = = ;\nfunction after() {}\n").symbols}

    def test_macros_around_c_functions(self) -> None:
        text = "FLAG(int, size, 8);\nEXPORT int f(int a) { return a; }\nint g(void) LOCKED(mu) { return 1; }\n"
        assert [s.name for s in parsed("c", text).symbols] == ["f", "g"]

    def test_a_brace_opened_in_two_branches(self) -> None:
        text = "void f() {\n#if A\n if (a) {\n#else\n if (b) {\n#endif\n }\n}\nvoid g() {}\n"
        assert [s.name for s in parsed("c", text).symbols] == ["f", "g"]

    def test_both_branches_of_whole_statements_count(self) -> None:
        text = "#if A\nint f(void) { return 1; }\n#else\nint g(void) { return 2; }\n#endif\nint h( { ;\n"
        assert {"f", "g"} <= {s.name for s in parsed("c", text).symbols}

    def test_simplifying_keeps_every_offset(self) -> None:
        source = b"#if 0\nint a(\n#endif\nclass API Foo {\n};\nMACRO(x);\n/* \xc3\xa9 */ int b;\r\n"
        result = simplified(source, True)
        assert len(result) == len(source)
        assert [i for i, byte in enumerate(result) if byte in b"\r\n"] == [
            i for i, byte in enumerate(source) if byte in b"\r\n"
        ]


class TestBorders:
    TEXT = (
        "def f(\n    a,\n    b,\n):\n"
        "    x = 1\n"
        "    # why\n"
        "    if x:\n        y = 2\n        z = 3\n    else:\n        y = 4\n"
        "    return y\n"
    )

    def test_statements_of_a_function(self) -> None:
        # 5 `x = 1`, 6 the comment above `if`, 12 `return`; not the parameters, not the branches.
        assert parsed("python", self.TEXT).borders(1, 12) == [5, 6, 12]

    def test_a_piece_is_cut_one_level_deeper(self) -> None:
        assert parsed("python", self.TEXT).borders(7, 11) == [10]
        assert parsed("python", self.TEXT).borders(7, 9) == [8, 9]

    def test_a_line_has_no_borders(self) -> None:
        assert parsed("python", self.TEXT).borders(5, 5) == []

    def test_closing_braces_and_else_are_no_borders(self) -> None:
        text = "void f()\n{\n  a();\n  if (x) {\n    b();\n  } else {\n    c();\n  }\n  d();\n}\n"
        assert parsed("c", text).borders(1, 10) == [3, 4, 9]

    def test_top_level(self) -> None:
        assert parsed("go", "package p\n\nvar a = 1\n\nfunc f() {\n}\n").borders(1, 6) == [3, 5]

    def test_out_of_range(self) -> None:
        assert parsed("python", "x = 1\n").borders(1, 1000) == []


class TestLimits:
    @pytest.mark.parametrize("first_class", FIRST_CLASS, ids=lambda found: found.name)
    def test_ten_thousand_brackets(self, first_class: Language) -> None:
        depth = 10_000
        for text in ("x = " + "(" * depth + ")" * depth, "f(\n" * depth, "{" * depth):
            result = parse(text.encode(), first_class)
            if result is not None:
                result.borders(1, text.count("\n") + 1)

    def test_time_limit_gives_none_and_leaves_the_parser_usable(self) -> None:
        source = b"def f():\n    return [1, 2, 3]\n" * 50_000
        started = time.monotonic()
        assert parse(source, language("python"), budget_s=0.01) is None
        assert time.monotonic() - started < 2
        assert parse(b"x = 1\n", language("python"), budget_s=0.01) is not None

    def test_a_minified_line_is_not_quadratic(self) -> None:
        source = b"function f(){return 1};" * 20_000
        started = time.monotonic()
        result = parse(source, language("javascript"), budget_s=60)
        assert result is not None
        assert len(result.symbols) == 20_000
        assert time.monotonic() - started < 20

    def test_languages_without_queries_give_none(self) -> None:
        assert parse(b"x\n", language("less")) is None
        assert parse(b"x", language("cobol")) is None


# Fragments that grammars and our own rules look for, so that random text gets somewhere.
_WORDS = ["def f():", "class A", "template <T>", "operator()", "const ", "x = ", "function ", "impl ", "struct "]
_SIGNS = [*"{}()\"'`#;,:\\", "::", "=>", "//", "/*", "*/", '"""', "@a", "#[a]"]
_LINES = ["\n", "\r\n", "#if 0\n", "#endif\n", "end\n", "=begin\n", "<?php ", "EXPORT ", "  ", "é", "\x00"]
FRAGMENTS = st.sampled_from([*_WORDS, *_SIGNS, *_LINES])


@pytest.mark.parametrize("first_class", FIRST_CLASS, ids=lambda found: found.name)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.one_of(st.text(max_size=200), st.lists(FRAGMENTS, max_size=60).map("".join)))
def test_any_text_gives_symbols_within_the_file(first_class: Language, text: str) -> None:
    source = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace").encode()
    result = parse(source, first_class)
    assert result is not None
    last = source.count(b"\n") + 1
    for found in result.symbols:
        assert 1 <= found.start_line <= found.line <= last
        assert found.start_line <= found.end_line <= last
        assert found.name
        assert found.qualname.endswith(found.name)
    lines = result.borders(1, last)
    assert lines == sorted(set(lines))
    assert all(1 < line <= last for line in lines)
