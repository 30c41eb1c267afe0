"""How soon a long file can be read in the browser: `python benchmarks/web_code.py [--lines 1000 10000] [--times 7]`.

Files of real functions (Sage's own, joined) are indexed and opened in Chromium from a running `sage web`, each time in
a browser that has nothing in its cache. Times are those of the browser, from the click to: the first code is painted;
the page can be used (its script has run, all lines are in it); a line deep in the file, which the address names, is in
sight, and in sight with its links. `cold` is the first time that the server shows the file.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import find_browser, machine, table
from playwright.sync_api import Browser, sync_playwright

from sage_code import Project

_TOP = Path(__file__).parents[1]
_STEPS = ("first code painted", "usable", "deep line in sight", "deep line linked", "kB")
# When the line that the address names is on the screen, and when it has a link: noted by the page itself.
_WATCH = """(line) => {
  window.seen = {};
  const look = () => {
    const one = document.getElementById(`L${line}`);
    const box = one?.getBoundingClientRect();
    if (box && box.top >= 0 && box.bottom <= innerHeight) {
      window.seen.deep ??= performance.now();
      if (one.closest('.block').querySelector('a.d, a.u')) window.seen.linked ??= performance.now();
    }
    if (window.seen.linked) document.documentElement.dataset.measured = 'yes';
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
_READ = """() => ({
  painted: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
  usable: performance.getEntriesByName('sage:ready')[0]?.startTime ?? NaN,
  kB: performance.getEntriesByType('navigation')[0].transferSize / 1000,
  lines: Number([...document.querySelectorAll('.block')].at(-1).dataset.last),
  ...window.seen,
})"""


def long_file(lines: int) -> str:
    """Python code of real functions with exactly so many lines."""
    found: list[str] = []
    for path in sorted((_TOP / "sage_code").rglob("*.py")):
        found += path.read_text().split("\n")
        if len(found) >= lines:
            break
    return "\n".join(found[:lines]) + "\n"


def once(browser: Browser, base: str, token: str, path: str, deep: int) -> dict[str, Any]:
    """Open a file at a deep line in a new browser, and read the times."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{base}/enter?token={token}")
    page.add_init_script(f"({_WATCH})({deep})")
    page.goto(f"{base}{path}#L{deep}")
    page.locator("html[data-measured]").wait_for(state="attached", timeout=60_000)
    times: dict[str, Any] = page.evaluate(_READ)
    context.close()
    return times


def main() -> None:
    """Make the files, serve them, open them, print the times."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SAGE_HOME": f"{folder}/home", "HOME": folder}
        root = Path(folder, "project")
        root.mkdir()
        for lines in given.lines:
            (root / f"lines_{lines}.py").write_text(long_file(lines))
        Project.open(root).index()
        command = [sys.executable, "-P", "-m", "sage_cli.entry", "web", "--no-open", "--port", "0"]
        server = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True)
        try:
            _measure(server, given.lines, given.times)
        finally:
            server.terminate()
            server.wait()


def _measure(server: subprocess.Popen[str], sizes: list[int], times: int) -> None:
    assert server.stdout is not None
    found = re.search(r"(http://\S+)/enter\?token=(\S+)", server.stdout.readline())
    assert found
    program = find_browser()
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        once(browser, found[1], found[2], f"/p/project/code/lines_{sizes[0]}.py", 1)  # the server has loaded its parts
        for lines in sizes:
            path, deep = f"/p/project/code/lines_{lines}.py", lines * 9 // 10
            runs = [once(browser, found[1], found[2], path, deep) for _ in range(times + 1)]
            assert all(run["lines"] == lines for run in runs)
            cold, warm = runs[0], runs[1:]
            for name, chosen in (("cold", [cold]), ("warm", warm)):
                values = [[run[key] for run in chosen] for key in ("painted", "usable", "deep", "linked", "kB")]
                rows.append([f"{lines:,} {name}", *(f"{statistics.median(one):,.0f}" for one in values)])
        browser.close()
    print(machine())
    print(table(["lines", *(f"{step} ms" if step != "kB" else step for step in _STEPS)], rows))


if __name__ == "__main__":
    main()
