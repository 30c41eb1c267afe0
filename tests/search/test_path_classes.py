"""Path classes, and older versions, by path."""

from __future__ import annotations

import pytest

from sage_code.search.path_classes import PATH_CLASSES, path_classes, superseded


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
