"""Installs the browser that the tests of the page drive, if the machine has none and this user may install one.

    python tests/web/install_browser.py

Without a browser those tests are skipped, and say how to get one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# The same names as in `conftest.py`, which needs the packages of the tests.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")


def main() -> int:
    """Install it; the exit code says only whether CI, which must have it, has it."""
    if any(map(shutil.which, BROWSERS)):
        return 0
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for words in (("update", "-qq"), ("install", "-qq", "-y", "--no-install-recommends", *PACKAGES)):
            subprocess.run(["apt-get", *words], env=quiet, stdout=subprocess.DEVNULL, check=False)
    if any(map(shutil.which, BROWSERS)):
        return 0
    print(f"no browser was found: install {' '.join(PACKAGES)}, or any Chrome", file=sys.stderr)
    return int(bool(os.environ.get("CI")))


if __name__ == "__main__":
    sys.exit(main())
