"""Measures the graph page in a browser: `python benchmarks/web_graph.py [--folder DIR] [--runs 15]`.

The committed files of this repository are copied to `--folder` and indexed there, once, with a home of their own. Of
the symbols that most others use, the first is taken whose neighbourhood can be opened to 200 nodes. What is printed for
that graph, and for the map of the project: the time of the server, the bytes, and in Chromium the time from the
beginning of the navigation to the painted drawing (two frames after the last of it is in the page); and the time from a
click on `+` to the painted larger graph.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tarfile
import tempfile
import time
import urllib.request
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

from measure import find_browser, machine, table, verdict
from playwright.sync_api import Page, sync_playwright
from web_search import server

from sage_code import Project
from sage_code.views.graph.neighbourhood import MAX_NODES, Neighbourhood, Opened
from sage_code.xref.graph import Definition

_TARGET_MS = 300.0
_CANDIDATES_TOKENS = 6_000
# In the page: when the drawing was painted, in milliseconds since the navigation began, or since the last click.
_STOPWATCH = """
(() => {
  let seen = null;
  window.stopwatch = { from: 0, painted: 0 };
  addEventListener("click", (event) => { window.stopwatch = { from: event.timeStamp, painted: 0 }; }, true);
  const look = () => {
    const drawing = document.querySelector("[data-drawing] svg, .map.wide");
    if (!drawing || drawing === seen || (document.readyState === "loading" && !drawing.nextElementSibling)) return;
    seen = drawing;
    const watch = window.stopwatch;
    requestAnimationFrame(() => requestAnimationFrame(() => { watch.painted = performance.now() - watch.from; }));
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
  addEventListener("DOMContentLoaded", look);
})();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.path.join(tempfile.gettempdir(), "sage-web-graph")
    parser.add_argument("--folder", default=folder, help="where the copy and its index are kept")
    parser.add_argument("--runs", type=int, default=15)
    given = parser.parse_args()
    browser_path = find_browser()
    os.environ["SAGE_HOME"] = str(Path(given.folder, "home"))
    project = _project(Path(given.folder, "sage"))
    centre, shown = _large(project)
    name = centre.symbol.qualname
    print(f"{machine()} {name}: {len(shown.nodes)} nodes, {len(shown.edges)} edges.", end="\n\n")
    words = ".".join(str(one) for one in shown.opened)
    whole = "/p/sage/graph?" + urlencode({"name": name, "file": centre.file, "open": words})
    first = "/p/sage/graph?" + urlencode({"name": name, "file": centre.file})
    rows: list[list[object]] = []
    with server(Path(project.root)) as (base, token, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.add_init_script(_STOPWATCH)
        page.goto(f"{base}/enter?token={token}")
        pages = ((f"graph of {len(shown.nodes)} nodes", whole), ("graph at first", first), ("map", "/p/sage/map"))
        for label, path in pages:
            answer, size = _answers(base + path, token, given.runs)
            painted = _percentiles([_navigated(page, base + path) for _ in range(given.runs)])
            judged = [verdict(painted[0], _TARGET_MS, "{:.0f}")] if path == whole else [""]
            rows.append([label, f"{size / 1000:.0f} kB", *_shown(answer), *_shown(painted), *judged])
        clicks = _percentiles([_clicked(page, base + first) for _ in range(given.runs)])
        rows.append(["click on + to painted", "", "", "", *_shown(clicks), ""])
        browser.close()
    print(table(["what", "bytes", "server p50", "p95", "painted p50", "p95", "painted p50, ms"], rows))


def _project(root: Path) -> Project:
    """The committed files of this repository, indexed; made once."""
    if not root.exists():
        root.mkdir(parents=True)
        here = Path(__file__).parents[1]
        with tempfile.TemporaryFile() as archive:
            subprocess.run(["git", "archive", "HEAD"], cwd=here, check=True, stdout=archive)
            archive.seek(0)
            with tarfile.open(fileobj=archive) as packed:
                packed.extractall(root, filter="data")
    project = Project.open(root)
    project.index()
    return project


def _large(project: Project) -> tuple[Definition, Neighbourhood]:
    """A symbol and what of its neighbourhood is to be opened for as many nodes as there may be."""
    best: tuple[Definition, Neighbourhood] | None = None
    for entry in project.map(max_tokens=_CANDIDATES_TOKENS).entries:
        for centre in project.views.centres(entry.qualname, entry.file)[:1]:
            found = _opened(partial(project.views.neighbourhood, centre))
            if best is None or len(found.nodes) > len(best[1].nodes):
                best = (centre, found)
            if len(found.nodes) >= MAX_NODES:
                return centre, found
    if best is None:
        raise SystemExit("no symbol of this project is used")
    return best


def _opened(ask: Callable[[list[Opened]], Neighbourhood]) -> Neighbourhood:
    """A neighbourhood with both sides of its centre open, then its callers, until there are enough nodes."""
    found = ask([])
    opened = [Opened(found.centre, "callers", True), Opened(found.centre, "callees", True)]
    found = ask(opened)
    for node in [node for node in found.nodes if node.layer == -1][:40]:
        if len(found.nodes) >= MAX_NODES:
            break
        opened.append(Opened(node.id, "callers"))
        found = ask(opened)
    return found


def _answers(address: str, token: str, runs: int) -> tuple[tuple[float, float], int]:
    """How long the server takes for a page, in milliseconds, and how long the page is."""
    times, size = [], 0
    request = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    for _ in range(runs + 1):
        began = time.perf_counter()
        with urllib.request.urlopen(request, timeout=60) as answer:
            size = len(answer.read())
        times.append((time.perf_counter() - began) * 1000)
    return _percentiles(times[1:]), size


def _navigated(page: Page, address: str) -> float:
    page.goto("about:blank")
    page.goto(address)
    return _painted(page)


def _clicked(page: Page, address: str) -> float:
    page.goto(address)
    _painted(page)
    page.locator("[data-drawing] a.grow").first.dispatch_event("click")
    return _painted(page)


def _painted(page: Page) -> float:
    """When the drawing was painted; waits for it."""
    page.wait_for_function("() => window.stopwatch.painted > 0")
    found: float = page.evaluate("window.stopwatch.painted")
    return found


def _percentiles(times: list[float]) -> tuple[float, float]:
    ordered = sorted(times)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def _shown(times: tuple[float, float]) -> list[object]:
    return [f"{one:.0f} ms" for one in times]


if __name__ == "__main__":
    main()
