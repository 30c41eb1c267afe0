"""The map of a project, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project

from .conftest import WebServer, press, start_server

HOSTILE = "<svg onload=window.pwned=1>\u202e"
MAP = "/p/mapped/map"


@pytest.fixture
def mapped(
    tmp_path_factory: pytest.TempPathFactory, running: list[WebServer], shared_home: Path, sage_home: Path
) -> WebServer:
    """The page of a project with folders in folders, text, and many small files."""
    root = tmp_path_factory.getbasetemp() / "maps" / "mapped"
    if not running:
        for name in ("app/core/engine.py", "app/core/gears.py", "app/main.py", f"app/{HOSTILE}/run.py"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(_functions(name))
        (root / "app/main.py").write_text("from app.core.engine import engine1\n\n\nengine1()\n" + _functions("main"))
        (root / "README.md").write_text("# Words\n\n" + "Many words.\n" * 120)
        (root / "small").mkdir()
        for number in range(40):
            (root / f"small/s{number}.py").write_text("X = 1\n")
        project = Project.open(root)
        project.index()
        project.memory.add_todo("The first gear", id_="gear", refs=["app/core/gears.py:1"], scope="project")
        running.append(start_server(root))
    return running[0]


def _functions(name: str) -> str:
    stem = name.rpartition("/")[2].partition(".")[0]
    return "".join(f"def {stem}{number}():\n    return {number}\n\n\n" for number in range(60))


def _tile(shown: Page, label: str) -> Any:
    return shown.locator(".map.wide a.tile").filter(has=shown.locator("text").get_by_text(label, exact=True))


def test_a_click_zooms_into_a_folder_and_back_leaves_it(
    mapped: WebServer, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(mapped, MAP)
    expect(shown.get_by_role("heading", level=1)).to_have_text("Map of mapped")
    look(shown, "map")
    assert shown.evaluate("window.pwned ?? null") is None
    expect(shown.locator(".map.wide svg")).to_have_count(0)
    _tile(shown, "engine.py").hover()
    expect(shown.locator("[data-facts]")).to_contain_text("app/core/engine.py: 240 lines, python, used by 1 file")
    _tile(shown, "core").click(position={"x": 20, "y": 7})  # its heading: the rest are its files
    expect(shown).to_have_url(f"{mapped.base}{MAP}?below=app%2Fcore")
    expect(shown.locator(".map.wide a.tile")).to_have_count(2)
    expect(shown.get_by_role("navigation", name="Folder")).to_contain_text("mapped/app/core")
    shown.go_back()
    expect(_tile(shown, "main.py")).to_be_visible()
    _tile(shown, "main.py").click()
    expect(shown).to_have_url(re.compile("/code/app/main.py$"))


def test_colours_follow_the_measure_and_stay_in_the_address(
    mapped: WebServer, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(mapped, f"{MAP}?below=app")
    shown.get_by_role("link", name="Use", exact=True).click()
    expect(shown).to_have_url(f"{mapped.base}{MAP}?below=app&by=use")
    expect(_tile(shown, "engine.py")).to_have_class(re.compile("heat-1"))
    expect(_tile(shown, "gears.py")).to_have_class(re.compile("heat-0"))
    shown.get_by_role("link", name="Stale memories").click()
    expect(_tile(shown, "gears.py")).to_have_class(re.compile("holds"))
    expect(shown.get_by_role("list", name="Colours")).to_contain_text("several are stale")
    press(shown, "t")
    look(shown, "map-dark")
    shown.get_by_role("link", name="mapped", exact=True).click()
    shown.get_by_role("link", name="Code only").click()
    expect(shown).to_have_url(f"{mapped.base}{MAP}?by=stale&only=code")
    expect(_tile(shown, "README.md")).to_have_count(0)
    shown.get_by_role("link", name="Age", exact=True).click()
    expect(shown.get_by_role("table")).to_contain_text("unknown")


def test_a_map_is_walked_with_the_keyboard(mapped: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(mapped, f"{MAP}?below=app/core")
    shown.locator(".map.wide a.tile").first.focus()
    press(shown, "ArrowRight")
    expect(_tile(shown, "gears.py")).to_be_focused()
    expect(shown.locator("[data-facts]")).to_contain_text("app/core/gears.py")
    press(shown, "u")
    expect(shown).to_have_url(f"{mapped.base}{MAP}?below=app")
    press(shown, "j")
    press(shown, "Enter")
    expect(shown).to_have_url(f"{mapped.base}{MAP}?below=app%2Fcore")


def test_on_a_phone_the_map_is_tall_and_nothing_is_cut(
    mapped: WebServer, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(mapped, "/")
    shown.set_viewport_size({"width": 360, "height": 740})
    shown.goto(mapped.base + MAP)
    expect(shown.locator(".map.tall")).to_be_visible()
    expect(shown.locator(".map.wide")).to_be_hidden()
    assert shown.evaluate("document.documentElement.scrollWidth") <= 360
    look(shown, "map-360")
    expect(shown.get_by_role("table")).to_contain_text("small/")
    shown.goto(f"{mapped.base}{MAP}?below=../../etc")
    expect(shown.get_by_role("heading", level=2)).to_have_text("Nothing is indexed here")
