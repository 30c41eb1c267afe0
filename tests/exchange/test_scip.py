"""An imported index decides where it is fresh, is ignored where a file has changed, and cannot lead out of the root."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.exchange.scip_export import export_scip
from sage_code.exchange.scip_import import import_scip, overlay_states
from sage_code.scip import reader
from sage_code.scip.overlay import has_overlays, overlays_dir
from sage_code.scip.reader import Occurrence, Tool
from sage_code.scip.writer import write_document, write_head

SHAPES = (
    "class Circle:\n    def area(self):\n        return 1\n\n\nclass Square:\n    def area(self):\n        return 2\n"
)
USER = "def total(items):\n    s = 'ü😀'; return sum(x.area() for x in items)\n"
SYMBOL = "tool . p . shapes/Circle#area()."
# What `x.area()` of line 2 is preceded by, in each of the ways to count.
BEFORE = "    s = 'ü😀'; return sum(x."
COLUMNS = {
    reader.UTF8: len(BEFORE.encode()),
    reader.UTF16: len(BEFORE.encode("utf-16-le")) // 2,
    reader.UTF32: len(BEFORE),
}
Where = set[tuple[str, int, str]]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "p"
    (root / ".sage").mkdir(parents=True)
    (root / "shapes.py").write_text(SHAPES)
    (root / "user.py").write_text(USER)
    opened = Project(str(root))
    opened.index()
    return opened


@pytest.fixture
def index(tmp_path: Path) -> Callable[..., str]:
    def write(encoding: int = reader.UTF8, path: str = "user.py") -> str:
        column = COLUMNS[encoding]
        with (tmp_path / "i.scip").open("wb") as file:
            write_head(file, Tool("tool", "1", ""))
            write_document(file, "shapes.py", "Python", encoding, [Occurrence((1, 8, 1, 12), SYMBOL, 1)], [])
            use = Occurrence((1, column, 1, column + 4), SYMBOL, 8)
            write_document(file, path, "Python", encoding, [use], [])
        return str(tmp_path / "i.scip")

    return write


def uses(project: Project, name: str, least: float | None = None) -> Where:
    found = project.related(name, "references", min_confidence=least).uses
    return {(use.definition.symbol.qualname, use.line, use.why) for use in found}


@pytest.mark.parametrize("encoding", list(COLUMNS))
def test_the_overlay_decides(project: Project, index: Callable[..., str], encoding: int) -> None:
    assert ("Square.area", 2, "name") in uses(project, "area", 0.0)
    done = import_scip(project.root, index(encoding))
    assert (done.files, done.occurrences, done.definitions) == (2, 2, 1)
    assert uses(project, "area") == {("Circle.area", 2, "scip:tool")}
    (caller,) = project.related("Circle.area", "callers").uses
    assert (caller.scope, caller.confidence) == ("total", 1.0)
    callees = project.related("total", "callees").uses
    assert [(one.definition.symbol.qualname, one.why) for one in callees] == [("Circle.area", "scip:tool")]


def test_a_changed_file_is_guessed_again(project: Project, index: Callable[..., str]) -> None:
    import_scip(project.root, index())
    (Path(project.root) / "user.py").write_text("\n" + USER)
    assert ("Square.area", 3, "name") in uses(project, "area", 0.0)
    (state,) = overlay_states(project.root)
    assert (state.files, state.stale) == (2, 1)


def test_a_changed_definition_keeps_its_uses_by_name(project: Project, index: Callable[..., str]) -> None:
    import_scip(project.root, index())
    (Path(project.root) / "shapes.py").write_text("# moved\n" + SHAPES)
    (use,) = project.related("Circle.area", "references").uses
    assert (use.confidence, use.why) == (0.9, "scip:tool")


def test_what_a_compiler_knows_is_not_lost_when_the_time_is_over(project: Project, index: Callable[..., str]) -> None:
    import_scip(project.root, index())
    found = project.related("area", "references", seconds=0)
    assert not found.is_complete
    assert [(use.line, use.why) for use in found.uses] == [(2, "scip:tool")]


def test_a_private_member_and_an_accessor_of_one_name_keep_their_own_uses(tmp_path: Path) -> None:
    root = tmp_path / "js"
    (root / ".sage").mkdir(parents=True)
    text = "export class Box {\n  #size = 1\n  get size() { return this.#size }\n}\n"
    (root / "box.ts").write_text(text)
    (root / "use.ts").write_text("import { Box } from './box'\n\nexport const n = new Box().size\n")
    opened = Project(str(root))
    opened.index()
    hidden, shown = "t . p . `box.ts`/Box#`#size`.", "t . p . `box.ts`/Box#`<get>size`()."
    with (tmp_path / "js.scip").open("wb") as file:
        write_head(file, Tool("scip-typescript", "1", ""))
        places = [
            Occurrence((1, 2, 1, 7), hidden, 1),
            Occurrence((2, 6, 2, 10), shown, 1),
            Occurrence((2, 27, 2, 32), hidden, 8),
        ]
        write_document(file, "box.ts", "TypeScript", reader.UTF16, places, [])
        write_document(file, "use.ts", "TypeScript", reader.UTF16, [Occurrence((2, 27, 2, 31), shown, 8)], [])
    import_scip(opened.root, str(tmp_path / "js.scip"))
    found = opened.related("Box.size", "references").uses
    places_of = {(use.definition.symbol.line, use.file, use.line) for use in found if use.why.startswith("scip:")}
    assert places_of == {(2, "box.ts", 3), (3, "use.ts", 3)}


@pytest.mark.parametrize("path", ["../user.py", "/etc/passwd", "a/../../user.py", "..\\user.py", "", "x\0y"])
def test_paths_that_lead_out_are_left_out(project: Project, index: Callable[..., str], path: str) -> None:
    done = import_scip(project.root, index(path=path))
    assert (done.files, done.left_out.outside) == (1, 1)


def test_an_index_of_other_content_is_refused(project: Project, index: Callable[..., str]) -> None:
    path = index()
    (Path(project.root) / "shapes.py").write_text("# a line before\n" * 3 + SHAPES)
    (Path(project.root) / "user.py").write_text("x = 1\n")
    project.refresh()
    with pytest.raises(UsageError, match="2 changed since"):
        import_scip(project.root, path)


def test_an_overlay_that_a_clone_brings_is_not_read(project: Project, index: Callable[..., str]) -> None:
    import_scip(project.root, index())
    folder = Path(overlays_dir(project.root))
    shutil.move(folder, folder.with_name("overlays-foreign"))
    assert has_overlays(project.root)
    assert all(why == "name" for _, _, why in uses(project, "area", 0.0))


def test_a_damaged_overlay_is_said_and_left_out(project: Project, index: Callable[..., str]) -> None:
    import_scip(project.root, index())
    (file,) = Path(overlays_dir(project.root)).iterdir()
    file.write_bytes(b"SAGESEG1 damaged")
    assert overlay_states(project.root)[0].is_damaged
    assert uses(project, "area", 0.0)


def test_an_export_is_read_back(project: Project, tmp_path: Path) -> None:
    path = str(tmp_path / "out.scip")
    (Path(project.root) / "user.py").write_text(
        "from shapes import Circle\n\n\ndef one():\n    return Circle().area()\n"
    )
    project.refresh()
    done = export_scip(project.root, path, name="p")
    assert (done.definitions, done.references) == (5, 3)
    with reader.opened(path) as index:
        documents = {one.path: one for one in index.documents()}
    found = {(one.symbol, one.range, one.roles) for one in documents["user.py"].occurrences}
    assert found == {
        ("sage . p . `user.py`/one().", (3, 4, 3, 7), reader.DEFINITION),
        ("sage . p . `shapes.py`/Circle#", (0, 19, 0, 25), reader.IMPORT),
        ("sage . p . `shapes.py`/Circle#", (4, 11, 4, 17), reader.READ),
        ("sage . p . `shapes.py`/Circle#area().", (4, 20, 4, 24), reader.READ),
    }
    assert import_scip(project.root, path).files == 2
    assert uses(project, "area") == {("Circle.area", 5, "scip:sage")}


def test_ty_scip_for_real(project: Project, tmp_path: Path) -> None:
    tool = shutil.which("ty-scip", path=str(Path(sys.executable).parent)) or shutil.which("ty-scip")
    assert tool, "install it with: pip install -e .[dev]"
    user = "from shapes import Square\n\n\ndef total(one: Square):\n    return one.area()\n"
    (Path(project.root) / "user.py").write_text(user)
    project.refresh()
    path = str(tmp_path / "ty.scip")
    subprocess.run([tool, "--quiet", "--output", path, project.root], check=True, timeout=60)
    assert import_scip(project.root, path).tool == "ty-scip"
    assert uses(project, "area") == {("Square.area", 5, "scip:ty-scip")}
