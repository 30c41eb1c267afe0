"""Callers, callees and impact: depth, cycles and confidence."""

from __future__ import annotations

import pytest
from projects import definition, graph

from sage_code.xref.answers import callees, callers, impact, references
from sage_code.xref.resolve import Resolver

CHAIN = {
    "a.py": "def low():\n    pass\n\ndef middle():\n    low()\n\ndef high():\n    middle()\n    high()\n",
    "b.py": "from a import low as l\n\nl()\n",
}


def test_direct_callers_have_a_line_and_a_reason() -> None:
    project = graph(CHAIN)
    found = callers(Resolver(project), definition(project, "low"))
    assert [(c.file, c.scope, c.line, c.why) for c in found] == [
        ("a.py", "middle", 5, "scope"),
        ("b.py", "", 3, "import"),
    ]


def test_depth_follows_callers_and_a_cycle_ends() -> None:
    project = graph(CHAIN)
    found = callers(Resolver(project), definition(project, "low"), depth=9)
    assert [(c.scope, c.distance) for c in found] == [("middle", 1), ("", 1), ("high", 2)]


def test_callees_by_distance() -> None:
    project = graph(CHAIN)
    found = callees(Resolver(project), definition(project, "high"), depth=3)
    assert [(c.definition.symbol.name, c.distance) for c in found] == [("middle", 1), ("high", 1), ("low", 2)]


def test_confidence_is_the_product_along_the_chain() -> None:
    project = graph(
        {"a.py": "class A:\n    def fetch(self): pass\n", "b.py": "def g(x):\n    x.fetch()\ndef h():\n    g(1)\n"}
    )
    direct, indirect = callers(Resolver(project), definition(project, "A.fetch"), depth=2)
    assert indirect.distance == 2
    assert indirect.confidence == pytest.approx(direct.confidence)


def test_a_call_of_a_class_calls_its_constructor() -> None:
    project = graph({"a.py": "class A:\n    def __init__(self): pass\ndef g():\n    return A()\n"})
    (caller,) = callers(Resolver(project), definition(project, "A.__init__"))
    assert (caller.scope, caller.why) == ("g", "constructs")


def test_references_hold_imports_types_and_values() -> None:
    project = graph({"a.py": "class A: pass\n", "b.py": "from a import A\ndef g(x: A):\n    return f(A)\n"})
    assert [(u.line, u.kind) for u in references(Resolver(project), definition(project, "A"))] == [
        (1, "import"),
        (2, "type"),
        (3, "use"),
    ]


def test_impact_of_a_definition_reaches_callers_and_subclasses() -> None:
    project = graph(
        {
            "a.py": "class A:\n    def f(self): pass\n",
            "b.py": "from a import A\nclass B(A):\n    def g(self):\n        self.f()\ndef h():\n    B().g()\n",
        }
    )
    found = {(hit.file, hit.scope): hit.distance for hit in impact(Resolver(project), definition(project, "A"))}
    assert found == {("b.py", ""): 1, ("b.py", "B"): 1, ("b.py", "h"): 2}
    found = {(hit.file, hit.scope): hit.distance for hit in impact(Resolver(project), definition(project, "A.f"))}
    assert found == {("b.py", "B.g"): 1, ("b.py", "h"): 2}


def test_impact_of_a_file_reaches_its_importers() -> None:
    project = graph({"p/__init__.py": "", "p/a.py": "X = 1\n", "b.py": "from p import a\n", "c.py": "import p.a\n"})
    found = impact(Resolver(project), "p/a.py")
    assert {(hit.file, hit.why) for hit in found} == {("b.py", "imports p/a.py"), ("c.py", "imports p/a.py")}
