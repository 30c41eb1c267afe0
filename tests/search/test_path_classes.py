"""Path classes, and older versions, by path."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.search.path_classes import PATH_CLASSES, path_classes
from sage_code.search.path_stems import superseded
from sage_code.text.lexemes import split_word


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/parser.py", set()),
        ("tests/test_parser.py", {"test"}),
        ("src/ParserTests.cs", {"test"}),
        ("src/latest.py", set()),
        ("examples/hello.rs", {"example"}),
        ("docs/guide.md", {"doc"}),
        ("third_party/zlib/inflate.c", {"vendored"}),
        ("dist/axios.js", {"generated"}),
        ("dist/node/axios.cjs", {"generated"}),
        ("api/v1/zz_generated.deepcopy.go", {"generated"}),
        ("api/job_pb2.py", {"generated"}),
        ("lib/model.g.dart", {"generated"}),
        ("static/app.min.js", {"generated"}),
        ("src/generator.py", set()),
        ("src/distance.py", set()),
        ("benches/sort.rs", {"benchmark"}),
        ("src/compat/six.py", {"compat"}),
        ("scripts/release.sh", {"build"}),
        ("package.json", {"data", "entry"}),
        ("types/index.d.ts", {"declarations"}),
        ("src/routing/mod.rs", {"entry"}),
    ],
)
def test_path_classes(path: str, expected: set[str]) -> None:
    assert {path_class for path_class, there in zip(PATH_CLASSES, path_classes(path), strict=True) if there} == expected


def test_an_older_version_is_superseded_unless_it_is_asked_for() -> None:
    paths = ["api/v1/user.ts", "api/v2/user.ts", "web/v1/page.ts"]
    assert superseded(paths, ()) == [True, False, False]
    assert superseded(paths, ("v1",)) == [False, False, False]


# What the names of tests and of generated files look like, as patterns: the module itself does without `re`.
_TEST = re.compile(
    r"(?:^|[._-])(?:tests?|specs?|mocks?)(?=[._-]|$)|^test|(?<=[a-z0-9])(?:Tests?|Specs?|TestCase|IT)(?=\.)|^conftest\."
)
_GENERATED = re.compile(r"\.(?:min|bundle|g|pb|designer)\.|[._-]generated\.|_pb2(?:_grpc)?\.pyi?$")
_PIECES = (
    *("test", "tests", "Test", "Tests", "Spec", "specs", "mock", "IT", "TestCase", "conftest", "generated", "min", "g"),
    *("pb", "_pb2", "_grpc", "py", "pyi", "compat", "Compat", "shimmer", "Shims", "legacy", "a", "B", "9", "é"),
    *(".", ".", "_", "-"),
)


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=8).map("".join))
def test_names_are_classified_as_by_patterns(name: str) -> None:
    found = dict(zip(PATH_CLASSES, path_classes(f"src/{name}"), strict=True))
    assert found["test"] == (_TEST.search(name) is not None)
    assert found["generated"] == (_GENERATED.search(name.lower()) is not None)
    compat = {"compat", "legacy", "shims"}
    assert found["compat"] == any(not compat.isdisjoint(split_word(word)) for word in re.findall("[A-Za-z0-9]+", name))
