"""Each rule that resolves a name, in a minimal project."""

from __future__ import annotations

import pytest
from projects import call, graph, meant

from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver

PYTHON = {
    "nested function": ({"a.py": "def f(): pass\ndef g():\n    def f(): pass\n    f()\n"}, "a.py", "f", "a.py:g.f"),
    "module level": ({"a.py": "def f(): pass\nclass A:\n    def f(self):\n        f()\n"}, "a.py", "f", "a.py:f"),
    "self": (
        {"a.py": "class A:\n    def f(self): pass\n    def g(self):\n        self.f()\n"},
        "a.py",
        "f",
        "a.py:A.f",
    ),
    "inherited from another file": (
        {
            "a.py": "class A:\n    def f(self): pass\n",
            "b.py": "import a\nclass B(a.A):\n    def g(self):\n        self.f()\n",
        },
        "b.py",
        "f",
        "a.py:A.f",
    ),
    "super": (
        {"a.py": "class A:\n    def f(self): pass\nclass B(A):\n    def f(self):\n        super().f()\n"},
        "a.py",
        "f",
        "a.py:A.f",
    ),
    "a module called base": (
        {
            "p/__init__.py": "",
            "p/base.py": "class A:\n    def f(self): pass\n",
            "b.py": "from p import base\nclass T:\n    def g(self):\n        base.A().f()\n",
        },
        "b.py",
        "f",
        "p/base.py:A.f",
    ),
    "what a function returns": (
        {
            "a.py": "class A:\n    def f(self): pass\n",
            "b.py": "import a\nclass T:\n    made = a.A\n    def make(self):\n        return a.A(1)\n"
            "    def g(self):\n        x = self.make()\n        x.f()\nclass Other:\n    def f(self): pass\n",
        },
        "b.py",
        "f",
        "a.py:A.f",
    ),
    "a chain of methods that return self": (
        {
            "a.py": "class A:\n    def with_x(self):\n        return self\n    def f(self): pass\n",
            "b.py": "from a import A\nA().with_x().f()\nclass Other:\n    def f(self): pass\n",
        },
        "b.py",
        "f",
        "a.py:A.f",
    ),
    "a class attribute of the same name": (
        {
            "a.py": "class A:\n    def f(self): pass\n",
            "b.py": "from a import A\nclass B:\n    A = A\n    def __init__(self):\n        self.a = self.A()\n"
            "    def g(self):\n        self.a.f()\nclass Other:\n    def f(self): pass\n",
        },
        "b.py",
        "f",
        "a.py:A.f",
    ),
    "relative import": (
        {"p/__init__.py": "", "p/a.py": "def f(): pass\n", "p/q/b.py": "from ..a import f as g\ng()\n"},
        "p/q/b.py",
        "g",
        "p/a.py:f",
    ),
    "absolute import in a src layout": (
        {"src/p/__init__.py": "", "src/p/a.py": "def f(): pass\n", "tests/t.py": "from p.a import f\nf()\n"},
        "tests/t.py",
        "f",
        "src/p/a.py:f",
    ),
    "re-exported by a package": (
        {"p/__init__.py": "from .a import f\n", "p/a.py": "def f(): pass\n", "b.py": "import p\np.f()\n"},
        "b.py",
        "f",
        "p/a.py:f",
    ),
    "star import": ({"a.py": "def f(): pass\n", "b.py": "from a import *\nf()\n"}, "b.py", "f", "a.py:f"),
    "module of a package": (
        {"p/__init__.py": "", "p/a.py": "def f(): pass\n", "b.py": "from p import a\na.f()\n"},
        "b.py",
        "f",
        "p/a.py:f",
    ),
    "dotted import": ({"p/a.py": "def f(): pass\n", "b.py": "import p.a\np.a.f()\n"}, "b.py", "f", "p/a.py:f"),
    "constructed variable": (
        {
            "a.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
            "def g():\n    x = A()\n    x.f()\n"
        },
        "a.py",
        "f",
        "a.py:A.f",
    ),
    "annotated parameter": (
        {
            "a.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
            "def g(x: 'B | None'):\n    x.f()\n"
        },
        "a.py",
        "f",
        "a.py:B.f",
    ),
    "attribute set from a parameter": (
        {
            "a.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
            "    def __init__(self, a: A):\n        self.a = a\n    def g(self):\n        self.a.f()\n"
        },
        "a.py",
        "f",
        "a.py:A.f",
    ),
    "return annotation": (
        {
            "a.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
            "def make() -> A: ...\ndef g():\n    make().f()\n"
        },
        "a.py",
        "f",
        "a.py:A.f",
    ),
    "element of a container": (
        {
            "a.py": "class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n"
            "def g(xs: list[A]):\n    for x in xs:\n        x.f()\n"
        },
        "a.py",
        "f",
        "a.py:A.f",
    ),
}

ECMASCRIPT = {
    "relative import": (
        {"a.ts": "export function f() {}\n", "b/c.ts": "import { f as g } from '../a.js'\ng()\n"},
        "b/c.ts",
        "g",
        "a.ts:f",
    ),
    "index file with a star": (
        {
            "lib/index.ts": "export * from './a'\n",
            "lib/a.ts": "export function f() {}\n",
            "b.ts": "import { f } from './lib'\nf()\n",
        },
        "b.ts",
        "f",
        "lib/a.ts:f",
    ),
    "default export": (
        {"a.ts": "export default function f() {}\n", "b.ts": "import other from './a'\nother()\n"},
        "b.ts",
        "other",
        "a.ts:f",
    ),
    "package of the repository": (
        {"packages/core/index.ts": "export function f() {}\n", "b.ts": "import { f } from '@x/core'\nf()\n"},
        "b.ts",
        "f",
        "packages/core/index.ts:f",
    ),
    "property of the constructor": (
        {
            "a.ts": "class A { f() {} }\nclass B {\n  constructor(private a: A) {}\n  f() {}\n"
            "  g() {\n    this.a.f()\n  }\n}\n"
        },
        "a.ts",
        "f",
        "a.ts:A.f",
    ),
    "callback's parameter": (
        {"a.ts": "class A { f() {} }\nclass B { f() {} }\nlet xs: A[]\nxs.map((x) => {\n  x.f()\n})\n"},
        "a.ts",
        "f",
        "a.ts:A.f",
    ),
}

OTHERS = {
    "go package": (
        {
            "util/a.go": "package util\nfunc Do() {}\n",
            "other/a.go": "package other\nfunc Do() {}\n",
            "main.go": 'package main\nimport "example.com/x/util"\nfunc main() {\n\tutil.Do()\n}\n',
        },
        "main.go",
        "Do",
        "util/a.go:Do",
    ),
    "java parameter": (
        {
            "com/x/A.java": "package com.x;\npublic class A {\n  public void run() {}\n}\n",
            "com/y/B.java": "package com.y;\npublic class B {\n  public void run() {}\n}\n",
            "M.java": "import com.x.A;\nclass M {\n  void go(A a) {\n    a.run();\n  }\n}\n",
        },
        "M.java",
        "run",
        "com/x/A.java:A.run",
    ),
    "rust use": (
        {
            "src/util.rs": "pub fn run() {}\n",
            "src/other.rs": "pub fn run() {}\n",
            "src/main.rs": "use crate::util::run;\nfn main() {\n    run();\n}\n",
        },
        "src/main.rs",
        "run",
        "src/util.rs:run",
    ),
}

RULES = {
    f"{language}: {rule}": case
    for language, cases in (("python", PYTHON), ("typescript", ECMASCRIPT), ("others", OTHERS))
    for rule, case in cases.items()
}


@pytest.mark.parametrize(("files", "file", "name", "expected"), RULES.values(), ids=list(RULES))
def test_the_call_means(files: dict[str, str], file: str, name: str, expected: str) -> None:
    assert meant(files, file, name)[0] == expected


def test_a_call_on_an_interface_may_mean_its_implementations() -> None:
    files = {"a.ts": "interface I { f(): void }\nclass A implements I { f() {} }\nfunction g(x: I) {\n  x.f()\n}\n"}
    assert "a.ts:A.f" in meant(files, "a.ts", "f")


def test_a_module_outside_of_the_project_has_no_targets() -> None:
    files = {"a.py": "class A:\n    def dumps(self): pass\n", "b.py": "import json\njson.dumps(1)\n"}
    assert meant(files, "b.py", "dumps", least=0.0) == []


def test_a_match_by_name_alone_has_low_confidence() -> None:
    project = graph({"a.py": "class A:\n    def fetch(self): pass\n", "b.py": "def g(x):\n    x.fetch()\n"})
    (target,) = Resolver(project).targets("b.py", call(project, "b.py", "fetch"))
    assert target.why == "name"
    assert DEFAULT_CONFIDENCE <= target.confidence < 0.8


def test_many_candidates_share_the_confidence() -> None:
    classes = {f"m{n}.py": f"class C{n}:\n    def fetch(self): pass\n" for n in range(5)}
    assert meant({**classes, "b.py": "def g(x):\n    x.fetch()\n"}, "b.py", "fetch") == []


def test_other_members_used_on_a_receiver_raise_the_confidence() -> None:
    files = {
        "a.py": "class App:\n    def connect_read(self): pass\n    def receiver(self): pass\n",
        "b.py": "class Consumer:\n    def connect_read(self): pass\n",
        "c.py": "def capture(x):\n    x.receiver()\n    x.connect_read()\ndef other(x):\n    x.connect_read()\n",
    }
    found = graph(files)
    first, second = [one for one in found.file_references("c.py") if one.name == "connect_read"]
    confidence = {
        reference.scope: {t.definition.file: t.confidence for t in Resolver(found).targets("c.py", reference)}
        for reference in (first, second)
    }
    assert confidence["capture"]["a.py"] > DEFAULT_CONFIDENCE > confidence["capture"]["b.py"]
    assert max(confidence["other"].values()) < DEFAULT_CONFIDENCE


def test_names_of_built_in_types_have_little_confidence() -> None:
    assert (
        meant(
            {"a.py": "class A:\n    def append(self): pass\n", "b.py": "def g(x):\n    x.append()\n"}, "b.py", "append"
        )
        == []
    )


def test_a_binding_that_depends_on_itself_ends() -> None:
    assert meant({"a.py": "def g():\n    x = x.y()\n    x.f()\n"}, "a.py", "f") == []


def test_super_never_means_a_subclass() -> None:
    files = {
        "a.py": "class A:\n    def g(self): pass\nclass B(A):\n    def f(self):\n        super().f()\n"
        "class C(A):\n    def f(self): pass\n"
    }
    assert meant(files, "a.py", "f") == []


def test_methods_that_every_object_has_are_no_match_by_name() -> None:
    files = {"a.py": "class A:\n    def __new__(cls): pass\n", "b.py": "def f(x):\n    x.__new__(x)\n"}
    assert meant(files, "b.py", "__new__") == []


def test_a_function_inside_another_is_no_member_of_anything() -> None:
    files = {
        "a.py": "def outer():\n    def inner(): pass\n    return inner\n",
        "b.py": "def g(task):\n    task.inner(1)\n",
    }
    assert meant(files, "b.py", "inner", least=0.0) == []
