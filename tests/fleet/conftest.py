"""Small repositories, the rows of a fleet's table, and a coordinator in a process of its own."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sage_code.fleet import roster
from sage_code.settings.loading import load_settings

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "sage_code" / "search").rglob("*.py"))
COORDINATOR = """
import json, sys
from dataclasses import asdict
from sage_code.fleet import coordinator, plan, roster
from sage_code.settings.loading import load_settings

if __name__ == "__main__":
    plan._LEAST_SHARD_BYTES = 4_000
    found = roster.load(sys.argv[1])
    print(json.dumps(asdict(coordinator.index_fleet(found, load_settings(None), workers=sys.argv[2]))))
"""


@pytest.fixture
def repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[roster.Repository]:
    """Ten folders with real sources; shards are so small that there are many."""
    monkeypatch.setattr("sage_code.fleet.plan._LEAST_SHARD_BYTES", 4_000)
    for number in range(10):
        folder = tmp_path / "repositories" / f"r{number}"
        folder.mkdir(parents=True)
        for source in SOURCES[number * 2 : number * 2 + 2]:
            (folder / source.name).write_bytes(source.read_bytes())
        (folder / "same.py").write_text("def same():\n    return 'in every repository'\n")
    return [roster.repository(str(folder)) for folder in sorted((tmp_path / "repositories").iterdir())]


def table_rows() -> list[str]:
    """A hash of each row of the only fleet's table, sorted."""
    import lance

    settings = load_settings(None)
    folder = Path(settings.store_uri or os.path.join(os.environ["SAGE_HOME"], "codebase", "lancedb"))
    (table,) = (one for one in folder.glob("fleet*.lance") if "statistics" not in one.name)
    rows = lance.dataset(str(table)).to_table().to_pylist()
    return sorted(hashlib.sha256(repr(row).encode()).hexdigest() for row in rows)


def coordinator(path: str, workers: str) -> subprocess.Popen[bytes]:
    """`index_fleet` in another process, of the file `path`."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = Path(path).with_name("coordinate.py")
    script.write_text(COORDINATOR)
    return subprocess.Popen(
        [sys.executable, str(script), path, workers], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
