"""The shape of the code: data flows one way, faces stand on the library, nothing grows into a god file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
FACES = ("sage_cli", "sage_mcp", "sage_web")
# Joins the tools and the page behind one port; nothing imports it.
JOINING = "sage_serve"
PACKAGES = {"sage_code": TOP, **{name: TOP / name.removeprefix("sage_") for name in (*FACES, JOINING)}}
MAX_LINES = 500

# From the disk to the answer: a room may import itself and the rooms before it, lazily or not, and nothing else.
ROOMS = (
    "errors",
    "values",
    "paths",
    "progress",
    "text",
    "files",
    "serving",
    "events",
    "languages",
    "settings",
    "discover",
    "parse",
    "chunk",
    "embed",
    "store",
    "compiled",
    "index",
    "fleet",
    "scip",
    "xref",
    "search",
    "lookup",
    "exchange",
    "transcripts",
    "agents",
    "doctor",
    "memory",
    "continuity",
    "views",
    "review",
    "project",
    "sage_code",
)
# The same inside of rooms that have rooms, or single modules; "" are the modules that join them.
INNER_ROOMS = {
    "sage_code.index": ("registry", "manifest", "batches", "shared", "", "portable"),
    "sage_code.memory": ("files", "index", "recall", "code", "context", "tiers", "team", "channels", ""),
    "sage_code.memory.tiers": ("values", "ranking", "engines", "tables", ""),
    "sage_code.views": ("code", "found", "graph", "remembered", "agents", "state", ""),
}


def _modules() -> dict[str, Path]:
    """Every module of ours by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in (folder / package).rglob("*.py"):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = _modules()


def _imports(path: Path) -> set[str]:
    """The modules of ours that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
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


def _floor(module: str) -> int:
    """How high the module's room is."""
    room = module.split(".")[1] if "." in module else "sage_code"
    assert room in ROOMS, f"{module} is in no room of the plan: give it one"
    return ROOMS.index(room)


LIBRARY = sorted(name for name in MODULES if name.startswith("sage_code"))


@pytest.mark.parametrize("module", LIBRARY)
def test_the_library_knows_no_face(module: str) -> None:
    assert not {name for name in GRAPH[module] if name.startswith(FACES)}


@pytest.mark.parametrize("module", LIBRARY)
def test_a_room_imports_only_the_rooms_before_it(module: str) -> None:
    higher = {name for name in GRAPH[module] if _floor(name) > _floor(module)}
    assert not higher, f"{module} is before {higher}"


@pytest.mark.parametrize("room", INNER_ROOMS)
def test_inner_rooms_have_an_order_too(room: str) -> None:
    def floor(module: str) -> int:
        inner = module.removeprefix(f"{room}.").split(".")[0]
        return INNER_ROOMS[room].index(inner if inner in INNER_ROOMS[room] else "")

    inside = {name for name in MODULES if name.startswith(f"{room}.")}
    for module in inside:
        higher = {name for name in GRAPH[module] & inside if floor(name) > floor(module)}
        assert not higher, f"{module} is before {higher}"


def test_every_room_of_the_plan_is_there() -> None:
    assert {name.split(".")[1] for name in LIBRARY if "." in name} == {*ROOMS} - {"sage_code"}


def test_faces_do_not_know_each_other() -> None:
    for face in FACES:
        others = tuple(other for other in FACES if other != face)
        for module in (name for name in MODULES if name.startswith(face)):
            assert not {name for name in GRAPH[module] if name.startswith(others)}


def test_only_the_server_for_many_users_joins_faces() -> None:
    assert not [name for name in MODULES if not name.startswith(JOINING) and any(JOINING in one for one in GRAPH[name])]
    joined = {one for name in MODULES if name.startswith(JOINING) for one in GRAPH[name] if one.startswith(FACES)}
    assert joined == {"sage_mcp.server", "sage_web.application", "sage_web.site"}


def test_there_is_no_cycle_with_lazy_imports_counted() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, f"cycle: {' → '.join((*trail[trail.index(module) :], module))}"
        if module not in done:
            for name in sorted(GRAPH[module]):
                visit(name, (*trail, module))
        done.add(module)

    for module in MODULES:
        visit(module, ())


@pytest.mark.parametrize("module", sorted(MODULES))
def test_modules_are_small_and_say_what_they_are_for(module: str) -> None:
    text = MODULES[module].read_text()
    assert text.count("\n") <= MAX_LINES
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("module", sorted(MODULES))
def test_functions_of_more_than_ten_lines_say_what_they_are_for(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text())
    bodies = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    assert [
        node.name
        for body in bodies
        for node in body.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("__")
        and (node.end_lineno or 0) - node.lineno >= 10
        and not ast.get_docstring(node)
    ] == []


def test_folders_that_are_no_packages_stay_so() -> None:
    """`mcp/__init__.py` would shadow the SDK."""
    assert not [folder for folder in ("cli", "mcp", "web", "serve", "tests") if (TOP / folder / "__init__.py").exists()]
