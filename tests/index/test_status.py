"""The status of an index says what is wrong with it and what the next run does about it."""

from __future__ import annotations

import shutil
from pathlib import Path

from sage_code import Project
from sage_code.paths import codebase_dir


def test_advice_follows_the_state_of_the_index(sample: Path) -> None:
    def advice() -> tuple[str, str]:
        found = Project.open(sample).status().advice
        return (found.level, found.remedy) if found else ("", "")

    assert advice()[0] == "warning"
    Project.open(sample).index()
    assert advice() == ("", "")
    (sample / "server.py").write_text("def renamed(): ...\n")
    assert advice()[0] == "note"
    other = Project.open(sample, overrides={"code_embedding_model": "hashing"}).status().advice
    assert other is not None
    assert (other.level, other.remedy) == ("warning", "embeds everything again")
    shutil.rmtree(Path(codebase_dir(str(sample))) / "generations", ignore_errors=True)
    manifest = Path(codebase_dir(str(sample))) / "index_meta.json"
    manifest.write_text("{")
    assert advice() == ("error", "makes it again")
