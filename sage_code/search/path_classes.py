"""Reads from a path which classes a file belongs to: tests, vendored, generated …

Files of most of these classes are rarely the answer. Only the path is read, never the file. A search for exact text
ranks by these classes too, so this module imports nothing: `re` alone takes as long as half of the start of Python.
"""

from __future__ import annotations

# Paths and names whose classes are kept: the candidates of the next query are often the same.
_KEPT = 65_536


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By class, the names of its folders.
_FOLDERS = {
    "test": _words(
        "test tests spec specs testing __tests__ testdata fixtures fixture t e2e mocks __mocks__ testutil testutils "
        "unittests integration_tests androidtest commontest jvmtest"
    ),
    "example": _words("example examples sample samples demo demos tutorial tutorials playground sandbox"),
    "doc": _words("doc docs documentation site website guide guides man"),
    "vendored": _words(
        "vendor vendors vendored third_party thirdparty 3rdparty node_modules external externals deps extern"
    ),
    # Bundles, stubs and parsers that tools write and people commit.
    "generated": _words("dist generated __generated__ gen autogen bundle bundles umd"),
    "benchmark": _words("bench benches benchmark benchmarks perf"),
    "build": _words(".github .circleci ci scripts script tools build cmake packaging docker .gitlab"),
}
_CLASS_OF_FOLDER = {name: path_class for path_class, names in _FOLDERS.items() for name in names}
# Parts of a file's name that make a test of it, between dots, dashes and underscores; ends of its stem; beginnings.
_TEST_PARTS = _words("test tests spec specs mock mocks")
_TEST_ENDS = ("Test", "Tests", "Spec", "Specs", "TestCase", "IT")
_TEST_BEGINNINGS = ("test", "conftest.")
_GENERATED_PARTS = (
    ".min.", ".bundle.", ".g.", ".pb.", ".designer.", ".generated.", "_generated.", "-generated.",
)  # fmt: skip
_GENERATED_ENDS = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
_COMPAT = _words("compat compatibility legacy deprecated polyfill polyfills shim shims backport backports")
# Every word of `_COMPAT` has one of these in it.
_COMPAT_PARTS = ("compat", "legacy", "deprecated", "polyfill", "shim", "backport")
_DOC_ENDINGS = (".md", ".mdx", ".rst", ".txt", ".adoc", ".html")
_DATA_ENDINGS = (".json", ".yaml", ".yml", ".toml", ".lock", ".xml", ".cfg", ".ini", ".csv", ".svg", ".properties")
ENTRY_STEMS = _words("__init__ index mod lib main package-info package")

# A class is named as its feature, without `is_`.
PATH_CLASSES = (
    "test", "example", "doc", "vendored", "generated", "benchmark", "compat", "build", "data", "declarations", "entry"
)  # fmt: skip
# A path class that the query asks for is not ranked lower; these two are asked for by the words of another class.
ASKED_WITH = {"declarations": "doc", "data": "build"}
RARE_CLASSES = frozenset({"test", "example", "doc", "vendored", "generated", "benchmark", "build", "data"})


_of_path: dict[str, bytes] = {}
_of_folder: dict[str, frozenset[str]] = {}


def path_classes(path: str) -> bytes:
    """For each of `PATH_CLASSES`, whether a path belongs to it: 1 or 0."""
    known = _of_path.get(path)
    if known is None:
        *folders, name = path.split("/")
        found = _classes_of_file(name).union(*map(_classes_of_folder, folders))
        if len(_of_path) >= _KEPT:
            _of_path.clear()
        known = _of_path[path] = bytes([path_class in found for path_class in PATH_CLASSES])
    return known


def _classes_of_folder(name: str) -> frozenset[str]:
    known = _of_folder.get(name)
    if known is None:
        found = {_CLASS_OF_FOLDER.get(name.lower(), ""), "compat" if _is_compat(name) else ""}
        if len(_of_folder) >= _KEPT:
            _of_folder.clear()
        known = _of_folder[name] = frozenset(found - {""})
    return known


def _classes_of_file(name: str) -> set[str]:
    """The classes that the name of a file gives it."""
    own = name.rpartition(".")[0] or name
    lower = name.lower()
    found = {
        "test": _is_test(name),
        "doc": lower.endswith(_DOC_ENDINGS),
        "generated": lower.endswith(_GENERATED_ENDS) or _has_any(lower, _GENERATED_PARTS),
        "compat": _is_compat(name),
        "data": lower.endswith(_DATA_ENDINGS),
        "declarations": lower.endswith((".d.ts", ".pyi")),
        "entry": own.lower() in ENTRY_STEMS,
    }
    return {path_class for path_class, there in found.items() if there}


def _has_any(text: str, parts: tuple[str, ...]) -> bool:
    return any(part in text for part in parts)


def _is_test(name: str) -> bool:
    """Whether a file is called like a test."""
    if name.startswith(_TEST_BEGINNINGS):
        return True
    if not _TEST_PARTS.isdisjoint(name.replace("-", ".").replace("_", ".").split(".")):
        return True
    head, dot, rest = name.partition(".")
    while dot:
        for end in _TEST_ENDS if head.endswith(_TEST_ENDS) else ():
            before = head[: -len(end)][-1:] if head.endswith(end) else ""
            if before.isascii() and (before.islower() or before.isdigit()):
                return True
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    return False


def _is_compat(name: str) -> bool:
    """Whether a name has a word of compatibility in it: `compatLayer`, `shims`, but not `shimmer`."""
    lower = name.lower()
    if not _has_any(lower, _COMPAT_PARTS):
        return False
    from sage_code.text.lexemes import split_word  # lazy: loads `re`, and few names come this far

    words = "".join([char if char.isascii() and char.isalnum() else " " for char in name]).split()
    return any(not _COMPAT.isdisjoint(split_word(word)) for word in words)
