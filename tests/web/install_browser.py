"""Installs the browser that the tests of the page drive, if the machine has none and this user may install one.

    python tests/web/install_browser.py

Without a browser those tests are skipped, and say how to get one; on CI that is an error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")
NO_BROWSER = f"no browser was found: `apt-get install {' '.join(PACKAGES)}`, or install any Chrome, and run again"
# The first that is there is taken; the shell is the lightest.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ON_MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def find_browser() -> str | None:
    """The path of a browser of the Chromium family; None if there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    return found or (_ON_MAC if os.path.exists(_ON_MAC) else None)


def main() -> int:
    """Install one if there is none; 1 if CI, which must have one, has none."""
    if find_browser():
        return 0
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (("update", "-qq"), ("install", "-qq", "-y", "--no-install-recommends", *PACKAGES)):
            subprocess.run(["apt-get", *words], env=quiet, stdout=subprocess.DEVNULL, check=False)
    if find_browser():
        return 0
    print(NO_BROWSER, file=sys.stderr)
    return int(bool(os.environ.get("CI")))


if __name__ == "__main__":
    sys.exit(main())
