"""A project's `.sage/` folder: made when something is first kept there, and never written through a link.

What can be made again (`codebase/`) or is one user's own (`local/`) stays out of version control; everything else
there, such as the core files, is for a team to share.
"""

from __future__ import annotations

import contextlib
import os

from sage_code.errors import UsageError
from sage_code.paths import DOT_SAGE

_GITIGNORE = "# Written by Sage: what can be made again is not for the repository.\ncodebase/\nlocal/\n"


def prepare(root: str, *folders: str) -> str:
    """The project's `.sage/`, with these folders below it; a link in place of one is refused."""
    dot_sage = os.path.join(root, DOT_SAGE)
    wanted = [os.path.join(dot_sage, folder) for folder in folders]
    # A repository may bring any of these as a link to anywhere; nothing is written or deleted there.
    for folder in (dot_sage, *wanted):
        if os.path.islink(folder):
            raise UsageError(f"{folder} is a link, and Sage writes through none", "replace it by a folder")
    for folder in (dot_sage, *wanted):
        os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileExistsError), open(os.path.join(dot_sage, ".gitignore"), "x") as file:
        file.write(_GITIGNORE)
    return dot_sage
