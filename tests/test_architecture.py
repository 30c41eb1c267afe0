"""The shape of the code: data flows one way, faces stand on the library, nothing grows into a god file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
FACES = ("sage_cli", "sage_mcp")
PACKAGES = {"sage_code": TOP, "sage_cli": TOP / "cli", "sage_mcp": TOP / "mcp"}
MAX_LINES = 500

# Tables and values: they know nothing of Sage, so anything may import them.
LEAVES = ("values", "kinds", "errors", "paths", "progress", "annotations")

# From the folder to the answer; a stage may import itself and what stands before it, never what comes after.
STAGES = (
    (
        *LEAVES,
        "files",
        "text",
        "allocator",
        "dot_sage",
        "ours",
        "roots",
        "core_files",
        "languages",
        "settings_table",
        "tuning_file",
        "reference_codec",
    ),
    ("settings", "discover", "parse", "transcripts"),
    ("chunk", "embed", "manifest", "registry", "agents"),
    ("store",),
    ("embedding", "compiled"),
    ("changes", "tidying", "indexer", "xref"),
    ("status", "analyze", "outline", "project_map", "similar", "search"),
    ("admin", "models", "coderefs", "portable"),
    ("memory",),
    ("project", "index_process", "doctor"),
    ("sage_code",),
)


def _modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _imports(path: Path, *, lazy: bool = True) -> set[str]:
    """The modules of ours that a file imports: anywhere in it, or only those that are loaded together with it."""
    names: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree) if lazy else tree.body:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            names.update(
                f"{module}.{alias.name}" if f"{module}.{alias.name}" in MODULES else module for alias in node.names
            )
    return {name for name in names if name in MODULES}


GRAPH = {name: _imports(path) for name, path in MODULES.items()}


def _stage(module: str) -> int:
    top = module.split(".")[1] if "." in module else "sage_code"
    for number, names in enumerate(STAGES):
        if top in names:
            return number
    pytest.fail(f"{module} has no place among the stages: give it one")


LIBRARY = sorted(name for name in MODULES if name.startswith("sage_code"))


@pytest.mark.parametrize("module", LIBRARY)
def test_the_library_knows_no_face(module: str) -> None:
    assert not {name for name in GRAPH[module] if name.startswith(FACES)}


@pytest.mark.parametrize("module", LIBRARY)
def test_data_flows_one_way(module: str) -> None:
    later = {name for name in GRAPH[module] if _stage(name) > _stage(module)}
    assert not later, f"{module} stands before {later}"


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaves_import_nothing_of_sage(leaf: str) -> None:
    assert not GRAPH.get(f"sage_code.{leaf}")


def test_faces_do_not_know_each_other() -> None:
    for face in FACES:
        others = tuple(other for other in FACES if other != face)
        for module in (name for name in MODULES if name.startswith(face)):
            assert not {name for name in GRAPH[module] if name.startswith(others)}


def test_there_is_no_cycle() -> None:
    eager = {name: _imports(path, lazy=False) for name, path in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"cycle: {' → '.join((*trail[trail.index(module) :], module))}"
        if module not in done:
            for name in sorted(eager[module]):
                visit(name, (*trail, module))
        done.add(module)

    for module in MODULES:
        visit(module, ())


@pytest.mark.parametrize("module", sorted(MODULES))
def test_modules_are_small_and_say_what_they_are_for(module: str) -> None:
    text = MODULES[module].read_text()
    assert text.count("\n") <= MAX_LINES
    assert ast.get_docstring(ast.parse(text))


def test_folders_that_are_no_packages_stay_so() -> None:
    """`mcp/__init__.py` would shadow the SDK."""
    assert not [folder for folder in ("cli", "mcp", "tests") if (TOP / folder / "__init__.py").exists()]
