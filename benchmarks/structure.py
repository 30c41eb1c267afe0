"""The shape of the code: rooms, imports between them, cycles, long modules, names that nothing uses, repeated code.

A room is a folder of `sage_code/`, or one module at its top; each face is a room too. Imports inside functions count.
Everything is read as text; nothing of the code under measurement is imported or run.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOP = Path(__file__).parents[1]
PACKAGES = {"sage_code": "", "sage_cli": "cli", "sage_mcp": "mcp", "sage_web": "web"}
# Where a use of a name keeps it alive; tests alone do not.
USERS = ("sage_code", "cli", "mcp", "web", "benchmarks", "training")
# The least number of equal lines that count as repeated.
SHARED_LINES = 6


class Module(NamedTuple):
    """One source file."""

    name: str
    path: Path
    lines: int
    tree: ast.Module

    @property
    def room(self) -> str:
        """The folder that it is in, or itself at the top."""
        parts = self.name.split(".")
        return parts[1] if parts[0] == "sage_code" and len(parts) > 1 else parts[0]


def modules(top: Path) -> dict[str, Module]:
    """Every module of the library and the faces, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        base = top / folder
        for path in sorted((base / package).rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text()
            found[name] = Module(name, path, text.count("\n"), ast.parse(text))
    return found


def imports(module: Module, known: dict[str, Module], *, lazy: bool) -> set[str]:
    """The modules of Sage that one imports; without `lazy` only those that load with it."""
    names: set[str] = set()
    for node in _nodes(module.tree, lazy=lazy):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names.update(f"{base}.{alias.name}" if f"{base}.{alias.name}" in known else base for alias in node.names)
    return {name for name in names if name in known and name != module.name}


def _nodes(tree: ast.Module, *, lazy: bool) -> Iterator[ast.AST]:
    """The statements that run when the module is loaded, or all of them but those for the type checker."""
    stack: list[ast.AST] = list(tree.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not lazy:
            continue
        yield node
        stack.extend(ast.iter_child_nodes(node))


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other (Tarjan's strongly connected components of more than one)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


def unused(known: dict[str, Module], top: Path) -> list[str]:
    """Functions, methods, classes and constants of the library and the faces whose name occurs nowhere else."""
    used: set[str] = set()
    for folder in USERS:
        for path in (top / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                used |= _names_used(node)
    found = []
    for module in known.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names = [node.name] if not node.decorator_list else []
            elif isinstance(node, ast.Assign) and node in module.tree.body:
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            else:
                continue
            found += [
                f"{module.name}:{node.lineno} {name}"
                for name in names
                if name not in used and not (name.startswith("__") and name.endswith("__"))
            ]
    return found


def _names_used(node: ast.AST) -> set[str]:
    """The names that one node refers to: read, imported, as an attribute, or whole in a text (`getattr`, tables)."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name):
            return {name}
        case ast.ImportFrom():
            return {alias.name for alias in node.names}
        case ast.Constant(value=str(text)) if len(text) < 80:
            return {text.rpartition(".")[2].rpartition(":")[2]}
    return set()


def repeated(known: dict[str, Module]) -> list[tuple[int, str, str]]:
    """Pairs of locations that share `SHARED_LINES` or more equal code lines, longest first."""
    lines: list[tuple[str, str, int]] = []  # text, module, line number
    for module in known.values():
        skipped = _docstring_lines(module.tree)
        for number, line in enumerate(module.path.read_text().splitlines(), 1):
            text = line.strip()
            if len(text) > 3 and not text.startswith(("#", "import ", "from ", "@")) and number not in skipped:
                lines.append((text, module.name, number))
        lines.append(("", module.name, 0))
    seen: dict[tuple[str, ...], int] = {}
    pairs: list[tuple[int, str, str]] = []
    start = 0
    while start + SHARED_LINES <= len(lines):
        window = tuple(text for text, _, _ in lines[start : start + SHARED_LINES])
        if "" in window or (first := seen.setdefault(window, start)) == start:
            start += 1
            continue
        length = SHARED_LINES
        while (
            start + length < len(lines)
            and first + length < start
            and lines[first + length][0] == lines[start + length][0] != ""
        ):
            length += 1
        pairs.append((length, *(f"{lines[at][1]}:{lines[at][2]}" for at in (first, start))))
        start += length
    return sorted(pairs, reverse=True)


def code_lines(module: Module) -> int:
    """The lines of a module without docstrings, comments and blank lines."""
    skipped = _docstring_lines(module.tree)
    lines = enumerate(module.path.read_text().splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and number not in skipped for number, line in lines)


def _docstring_lines(tree: ast.Module) -> set[int]:
    return {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def report(top: Path, *, verbose: bool) -> None:
    """Print everything about the checkout at `top`."""
    known = modules(top)
    by_room: dict[str, list[Module]] = defaultdict(list)
    for module in known.values():
        by_room[module.room].append(module)
    eager = {name: imports(module, known, lazy=False) for name, module in known.items()}
    every = {name: imports(module, known, lazy=True) for name, module in known.items()}
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, others in every.items():
        rooms[known[name].room] |= {known[other].room for other in others} - {known[name].room}
    ground = [m for m in known.values() if m.name.count(".") == 1 and m.path.stem != "__init__" and "." in m.name]
    ground = [m for m in ground if m.name.startswith("sage_code.")]
    longest = max(known.values(), key=lambda module: module.lines)
    dead, pairs = unused(known, top), repeated(known)
    rows = {
        "modules": len(known),
        "lines": sum(module.lines for module in known.values()),
        "lines without docstrings, comments and blanks": sum(map(code_lines, known.values())),
        "modules at the top of sage_code/": len(ground),
        "rooms": len(by_room),
        "edges between modules (lazy ones counted)": sum(map(len, every.values())),
        "edges between rooms": sum(map(len, rooms.values())),
        "cycles between modules, eager / all": f"{len(cycles(eager))} / {len(cycles(every))}",
        "cycles between rooms": len(cycles(rooms)),
        "longest module": f"{longest.name} ({longest.lines})",
        "names that nothing uses": len(dead),
        f"repeated runs of {SHARED_LINES} lines and more": len(pairs),
    }
    for what, value in rows.items():
        print(f"{what:45} {value}")
    if not verbose:
        return
    print("\nroom: modules, lines, rooms that it imports")
    for room, members in sorted(by_room.items(), key=lambda item: -len(item[1])):
        lines = sum(module.lines for module in members)
        print(f"  {room:18} {len(members):3} {lines:6}  {' '.join(sorted(rooms[room]))}")
    for title, groups in (("cycles between modules", cycles(every)), ("cycles between rooms", cycles(rooms))):
        print(f"\n{title}:", *("\n  " + " ".join(group) for group in groups))
    print("\nnames that nothing uses:", *(f"\n  {name}" for name in dead))
    print("\nrepeated:", *(f"\n  {length:3} {first}  {second}" for length, first, second in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--top", type=Path, default=TOP, help="the checkout to look at; this one by default")
    parser.add_argument("--verbose", action="store_true", help="list rooms, cycles, unused names and repeated code")
    given = parser.parse_args()
    report(given.top, verbose=given.verbose)


if __name__ == "__main__":
    main()
