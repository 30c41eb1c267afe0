"""Measures the page's search in a browser: `python benchmarks/web_search.py [--folder DIR] [--size 100000]`.

A project of real source (`web_project.py`) is indexed once and kept in `--folder` with a home of its own. A server is
started, Chromium opens the page and types questions key by key. A script in the page notes when a key is pressed and
when the first result of what was typed is painted (two frames after it is in the page). What is printed: percentiles
for the last key of each question and for all keys, time and bytes of the first page, and the start of the server
against the imports that it cannot do without, in turns.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measure import environment, find_browser, machine, table, verdict, wall
from playwright.sync_api import Browser, Page, sync_playwright
from web_project import make_project

_QUESTIONS = (
    "parse config file", "socket timeout", "how are retries backed off", "HTTPConnection", "read zip archive entries",
    "json decoder", "escape html", "certificate verification failed", "walk directory tree", "thread pool executor",
    "base64", "format date with timezone", "tokenize python source", "cookie jar", "event loop",
    "send email attachment", "regular expression compile cache", "pickle protocol", "csv writer", "argument parser",
)  # fmt: skip
# Between keys: a fast typist.
_KEY_MS = 90
_PATIENCE_MS = 60_000
_TARGET_MS, _PAGE_MS, _PAGE_BYTES, _START_RATIO = 120.0, 300.0, 150_000.0, 2.0
_LOADED = "import starlette.applications, starlette.staticfiles, uvicorn, jinja2"
# In the page: when each key was pressed, and when the first result of what is in the box was painted.
_STOPWATCH = """
(() => {
  const keys = [], painted = [];
  window.stopwatch = { keys, painted };
  const pressed = (event) => { if (event.key.length === 1) keys.push({ at: event.timeStamp, text: "" }); };
  addEventListener("keydown", pressed, true);
  addEventListener("input", (event) => { if (keys.length) keys[keys.length - 1].text = event.target.value; }, true);
  const look = () => {
    const results = document.getElementById("results");
    const text = results?.dataset.query;
    if (!text || painted.some((one) => one.text === text) || !results.querySelector("[data-item]")) return;
    const one = { text, at: 0 };
    painted.push(one);
    requestAnimationFrame(() => requestAnimationFrame(() => { one.at = performance.now(); }));
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
})();
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = os.path.join(tempfile.gettempdir(), "sage-web-search")
    parser.add_argument("--folder", default=folder, help="where the project and its index are kept")
    parser.add_argument("--size", type=int, default=100_000, help="chunks")
    parser.add_argument("--sources", nargs="*", default=[], help="folders of Python source; else that of this Python")
    parser.add_argument("--starts", type=int, default=7, help="starts of the server, each beside one of the imports")
    given = parser.parse_args()
    os.environ["SAGE_HOME"] = str(Path(given.folder, "home"))
    root, chunks = make_project(Path(given.folder), given.size, given.sources)
    print(f"{machine()} {chunks:,} chunks.", end="\n\n")
    found = find_browser()
    rows = starts(root, given.starts)
    with server(root) as (base, token, process), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        rows += first_pages(browser, base, token)
        rows += typing(browser, base, token, process)
        browser.close()
    print(table(["what", "value"], rows))


@contextmanager
def server(root: Path) -> Iterator[tuple[str, str, int]]:
    """A running page: its address, its token and its process."""
    process = _start(root)
    try:
        yield *_address(process), process.pid
    finally:
        process.terminate()
        process.wait(20)


def _start(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "sage_cli.entry", "web", "--no-open", "--port", "0"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root, env=environment())


def _address(process: subprocess.Popen[str]) -> tuple[str, str]:
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"(http://127\.0\.0\.1:\d+)/enter\?token=(\S+)", line)
    if not found:
        raise SystemExit(f"the server did not start: {line}")
    return found[1], found[2]


def starts(root: Path, count: int) -> list[list[object]]:
    """From the start of the process to its address, and to its first answer, beside the bare imports."""
    bare, said, answered = [], [], []
    for _ in range(count):
        bare.append(wall([sys.executable, "-c", _LOADED]) * 1000)
        began = time.perf_counter()
        process = _start(root)
        try:
            base, _ = _address(process)
            said.append((time.perf_counter() - began) * 1000)
            urllib.request.urlopen(f"{base}/static/sage.svg").read()
            answered.append((time.perf_counter() - began) * 1000)
        finally:
            process.terminate()
            process.wait(20)
    middle = statistics.median(bare)
    ratio = statistics.median([one / other for one, other in zip(answered, bare, strict=True)])
    return [
        ["import starlette, uvicorn, jinja2, ms", f"{middle:.0f}"],
        ["start of the server to its address, ms", f"{statistics.median(said):.0f}"],
        ["start of the server to its first answer, ms", f"{statistics.median(answered):.0f}"],
        ["the same as a multiple of the imports", verdict(ratio, _START_RATIO)],
    ]


def _entered(browser: Browser, base: str, token: str) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(_PATIENCE_MS)
    context.request.get(f"{base}/enter?token={token}")
    return context.new_page()


def first_pages(browser: Browser, base: str, token: str) -> list[list[object]]:
    """Time and bytes of the first page, with nothing in the browser's cache: the home, and a link to results."""
    rows: list[list[object]] = []
    for name, path, last in (("home", "/", "[data-home] .tag"), ("results", "/?q=socket+timeout", "#preview pre")):
        times, sizes = [], []
        for _ in range(5):
            page = _entered(browser, base, token)
            bytes_of = _counted(page)
            page.goto(base + path, wait_until="load")
            times.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
            page.locator(last).first.wait_for()  # what comes after the page, while somebody reads it
            sizes.append(sum(bytes_of))
            page.context.close()
        rows.append(
            [f"first page, {name}: to its load event, ms", verdict(statistics.median(times), _PAGE_MS, "{:.0f}")]
        )
        rows.append([f"first page, {name}: bytes of everything", verdict(max(sizes), _PAGE_BYTES, "{:.0f}")])
    return rows


def _counted(page: Page) -> list[int]:
    """The bytes of every answer, heads included, as the browser counts them."""
    sizes: list[int] = []
    devtools = page.context.new_cdp_session(page)
    devtools.send("Network.enable")
    devtools.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    return sizes


def typing(browser: Browser, base: str, token: str, process: int) -> list[list[object]]:
    """From a key to the first result that is painted."""
    page = _entered(browser, base, token)
    page.add_init_script(_STOPWATCH)
    page.goto(base + "/")
    last, every = [], []
    pressed = answered = 0
    used = 0.0
    for number, question in enumerate(_QUESTIONS):
        box = page.locator("[data-search-box]")
        box.fill("")
        page.locator("#search.home").wait_for()
        page.evaluate("stopwatch.keys.length = stopwatch.painted.length = 0")
        box.press_sequentially(question, delay=_KEY_MS)
        page.wait_for_function("(text) => stopwatch.painted.some((one) => one.text === text && one.at)", arg=question)
        times = _times(page.evaluate("stopwatch"))
        if number == 0:  # the first question opens the index
            used = _processor_ms(process)
            continue
        last.append(times[question])
        every += times.values()
        pressed, answered = pressed + len(question), answered + len(times)
    used = _processor_ms(process) - used
    page.context.close()
    last.sort()
    every.sort()
    return [
        ["last key of a question to its first result, p50, ms", verdict(statistics.median(last), _TARGET_MS, "{:.0f}")],
        ["the same, p95", f"{last[int(len(last) * 0.95)]:.0f}"],
        ["any key to its first result, p50, ms", verdict(statistics.median(every), _TARGET_MS, "{:.0f}")],
        ["the same, p95", f"{every[int(len(every) * 0.95)]:.0f}"],
        ["keys with an answer of their own, one every 90 ms", f"{answered} of {pressed}"],
        ["processor time of the server, ms a key", f"{used / pressed:.0f}"],
    ]


def _processor_ms(process: int) -> float:
    """The processor time of a process, which says more on a machine that others use."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _times(noted: dict[str, Any]) -> dict[str, float]:
    """By text, from the key that completed it to its first result."""
    painted = {one["text"]: one["at"] for one in noted["painted"] if one["at"]}
    return {key["text"]: painted[key["text"]] - key["at"] for key in noted["keys"] if key["text"] in painted}


if __name__ == "__main__":
    main()
