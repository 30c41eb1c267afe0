"""What a second worktree of a repository adds to the store: `worktrees.py --repository DIR [--back N ...]`.

Indexes a clone, then for each N a worktree N commits back, in a Sage home of its own; prints the growth of the store on
disk and the chunks that were embedded.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

from sage_code import Project
from sage_code.index.status import folder_bytes
from sage_code.paths import HOME_VARIABLE
from sage_code.store.lance import store_uri


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repository", type=Path, required=True, help="a git repository with some history")
    parser.add_argument("--back", type=int, nargs="+", default=[0, 1, 5], help="commits between the worktrees")
    given = parser.parse_args()
    print("| commits back | growth | chunks embedded | chunks |\n| --- | --- | --- | --- |")
    for back in given.back:
        with tempfile.TemporaryDirectory() as scratch:
            os.environ[HOME_VARIABLE] = f"{scratch}/home"
            first, second = f"{scratch}/first", f"{scratch}/second"
            subprocess.run(["git", "clone", "-q", "--shared", given.repository, first], check=True)
            subprocess.run(
                ["git", "-C", first, "worktree", "add", "-q", "--detach", second, f"HEAD~{back}"], check=True
            )
            Project.open(first).index()
            before = folder_bytes(store_uri(""))
            stats = Project.open(second).index()
            growth = folder_bytes(store_uri("")) / before - 1
            print(
                f"| {back} | {growth:.1%} | {stats.chunks_created} | {stats.chunks_created + stats.chunks_reused:,} |"
            )


if __name__ == "__main__":
    main()
