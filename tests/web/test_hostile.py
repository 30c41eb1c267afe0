"""Names, paths, code, memories and queries of somebody else's choice are shown as text, in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.text.escaping import visible

from .conftest import WebServer, home_of_module, start_server, stop_server
from .hostile import HOSTILE, UNSEEN_CHARACTERS

pytestmark = pytest.mark.slow
# In a page of Sage there are only these scripts and frames, however it is filled.
_FOREIGN = """() => ({
    pwned: window.pwned ?? null,
    inline: [...document.scripts].filter((one) => !one.src || !one.src.startsWith(location.origin)).length,
    frames: document.querySelectorAll('iframe, object, embed, base, meta[http-equiv], main style, main link').length,
    handlers: [...document.querySelectorAll('*')].filter((one) => [...one.attributes].some(
        (each) => each.name.startsWith('on'))).length,
    links: [...document.querySelectorAll('a[href], form[action], img[src]')].filter((one) => {
        const given = one.href?.baseVal ?? one.href ?? one.action ?? one.src;
        const to = new URL(given, location.href).href;
        return !(to.startsWith(location.origin) || to.startsWith('vscode:'));
    }).map((one) => one.outerHTML),
    unseen: document.body.innerText,
})"""


def _is_harmless(shown: Page) -> None:
    """Nothing of what was written by somebody else has become a part of the page."""
    found = shown.evaluate(_FOREIGN)
    text = found.pop("unseen")
    assert found == {"pwned": None, "inline": 0, "frames": 0, "handlers": 0, "links": []}, shown.url
    assert not set(text) & set(UNSEEN_CHARACTERS), shown.url


def _file_name(payload: str, number: int) -> str:
    """The payload as a name that a file can have."""
    return f"{number:02} {payload.replace('/', '∕')[:80]}.py"


def _make_hostile(root: Path) -> None:
    """A project in which every text is one of the hostile ones."""
    root.mkdir()
    for number, payload in enumerate(HOSTILE):
        comment = payload.replace("\n", " ").replace("\u2028", " ")
        code = f'"""Payload {number}: {comment!r}"""\n\n# {comment}\nTEXT_{number} = {payload!r}\n\n\n'
        code += f"def shown_{number}():\n    # {payload}\n    return TEXT_{number}\n\n\ndef caller_{number}():\n"
        code += f"    return shown_{number}()\n"
        (root / _file_name(payload, number)).write_text(code)
    project = Project.open(root)
    project.index()
    for number, payload in enumerate(HOSTILE):
        name = _file_name(payload, number)
        # A memory may not refer to a path that means another one on other systems, or that nobody can read.
        refs = [f"{name}:7-9"] if "\\" not in name and visible(name) == name else []
        item = KnowledgeItem(
            f"payload-{number}", f"{payload} about payload {number}", "knowledge", ("payload", payload)
        )
        project.memory.save_knowledge(item, refs=refs)
        given = {"core_question": payload, "thesis": f"{payload} thesis {number}", "key_evidence": [payload]}
        project.memory.save_checkpoint({**given, "code_refs": refs}, auto_code_context=False)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[WebServer]:
    with home_of_module(shared_home):
        root = tmp_path_factory.mktemp("made") / "hostile"
        _make_hostile(root)
        server = start_server(root)
    yield server
    stop_server(server)


@pytest.fixture
def hostile(running: WebServer, shared_home: Path) -> WebServer:
    """The page of that project, under the home that it was made in."""
    return running


def test_hostile_texts_are_text_everywhere(hostile: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(server := hostile, "/p/hostile/code/")
    shown.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    _is_harmless(shown)
    for number, payload in enumerate(HOSTILE):
        shown.goto(f"{server.base}/?q={quote(payload)}")
        expect(shown.get_by_role("searchbox").first).to_be_visible()
        _is_harmless(shown)
        shown.goto(f"{server.base}/p/hostile/code/{quote(_file_name(payload, number))}")
        expect(shown.locator("main")).to_contain_text(f"shown_{number}")
        _is_harmless(shown)
        shown.goto(f"{server.base}/p/hostile/memory/knowledge/payload-{number}")
        expect(shown.locator("main")).to_contain_text(visible(payload).strip()[:12])
        _is_harmless(shown)
    assert len(HOSTILE) >= 50


@pytest.mark.parametrize(
    "path",
    [
        "/",
        *(f"/p/hostile/{name}" for name in ("memory", "stale", "map", "graph?name=shown_0", "changes", "health")),
        "/agents",
        "/health",
    ],
)
def test_lists_of_hostile_texts_are_text(hostile: WebServer, enter: Callable[..., Page], path: str) -> None:
    shown = enter(hostile, path)
    expect(shown.locator("main")).to_be_visible()
    _is_harmless(shown)
