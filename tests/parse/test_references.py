"""References of a file: receivers, bindings and scopes."""

from __future__ import annotations

import pytest

from sage_code.languages.table import by_name
from sage_code.parse.bindings import read_binding
from sage_code.parse.definitions import parse
from sage_code.parse.receivers import Receivers
from sage_code.values import Reference


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f", ""),
        ("self.f", "self"),
        ("os.path.f", "os.path"),
        ("std::vec::f", "std.vec"),
        ("ptr->f", "ptr"),
        ("a?.f", "a"),
        ("super().f", "super"),
        ("Foo(x, g(1)).f", "Foo()"),
        ("new Foo<T>(x).f", "Foo()"),
        ("a.b().c(1).f", "a.b().c()"),
        ("make(x).items.f", "make().items"),
        ("xs[0].f", "?"),
        ("', '.f", '?"'),
    ],
)
def test_receiver(source: str, expected: str) -> None:
    assert Receivers(source.encode()).before(len(source) - 1) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: Foo", ("x", "Foo")),
        ("x: Optional[pkg.Foo] = None", ("x", "pkg.Foo")),
        ("self.y = pkg.Bar(1)", ("self.y", "pkg.Bar")),
        ("x = await make(1)", ("x", "make")),
        ("x = a.b(1).c()", ("x", "a.b().c")),
        ("self.x = x", ("self.x", "=x")),
        ("xs: list[Foo]", ("xs", "[Foo]")),
        ("xs: Foo[] = []", ("xs", "[Foo]")),
        ("for x in self.xs:", ("x", "*self.xs")),
        ("for (const x of xs) {", ("x", "*xs")),
        ("xs.map(async (x) => {", ("x", "*xs")),
        ("open(path) as file", ("file", "open")),
        ("closing(Stream(1)) as stream", ("stream", "Stream")),
        ('x = cast("Foo", y)', ("x", "Foo")),
        ("private readonly foo: Foo", ("this.foo", "Foo")),
        ("const x = new Foo(1)", ("x", "Foo")),
        ("x = None", None),
        ("return self.Entry(a, b)", ("return", "self.Entry")),
        ("return new Foo<T>(1)", ("return", "Foo")),
        ("return await make(1).built()", ("return", "make().built")),
        ("return self", ("return", "=self")),
        ("returned = Foo()", ("returned", "Foo")),
        ("return None", None),
        ("return 3", None),
        ("return [1]", None),
    ],
)
def test_read_binding(text: str, expected: tuple[str, str] | None) -> None:
    assert read_binding(text.encode()) == expected


def _references(source: str, language: str = "python") -> list[Reference]:
    known = by_name(language)
    assert known is not None
    parsed = parse(source.encode(), known)
    assert parsed is not None
    return list(parsed.references)


def test_references_know_the_definition_around_them() -> None:
    found = _references("class A(B):\n    def f(self):\n        g()\nh()\n")
    assert [(r.kind, r.name, r.scope) for r in found] == [
        ("inherit", "B", "A"),
        ("call", "g", "A.f"),
        ("call", "h", ""),
    ]


def test_a_decorator_belongs_to_the_scope_outside() -> None:
    (found,) = _references("@cached\ndef f():\n    pass\n")
    assert (found.kind, found.name, found.scope) == ("call", "cached", "")


def test_values_are_kept_only_if_the_file_defines_or_imports_them() -> None:
    found = _references("from a import known\ndef f(local):\n    g(known, local)\n")
    assert [r.name for r in found if r.kind == "use"] == ["known"]


def test_typescript_calls_types_and_bases() -> None:
    found = _references("class A extends B implements C {\n  f(x: D) {\n    return new E(x)\n  }\n}\n", "typescript")
    kinds = {(r.kind, r.name) for r in found}
    assert {("inherit", "B"), ("inherit", "C"), ("type", "D"), ("call", "E"), ("bind", "x")} <= kinds


def test_a_missing_name_gives_no_reference() -> None:
    # The grammar inserts an empty type at the end of the file, on a line that does not exist.
    assert _references("val f :\n\n", "ocaml_interface") == []
    assert [(r.name, r.line) for r in _references("val f : x ->\n", "ocaml_interface")] == [("x", 1)]
