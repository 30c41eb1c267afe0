"""The light commands import nothing heavy, each in a real process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sage_code import Project

# Prints, after the command, which modules it has loaded.
SPY = """
import sys
import os
before = set(sys.modules)
os._exit = sys.exit  # by which a process ends that has loaded no threads
sys.argv = ["sage", *sys.argv[1:]]
from sage_cli.entry import main
try:
    main()
except SystemExit as ended:
    loaded = sorted(set(sys.modules) - before)
    import json
    print(json.dumps([ended.code or 0, loaded]), file=sys.stderr)
"""
VECTORS = {"lance", "pyarrow", "numpy"}
HEAVY = {*VECTORS, "typer", "rich", "orjson", "xxhash", "tree_sitter", "tree_sitter_language_pack", "yaml", "pydantic"}


@pytest.fixture
def project(sample: Path) -> Path:
    for path in sample.rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))  # old enough to be believed unchanged
    project = Project.open(sample)
    project.index()
    time.sleep(0.06)  # the folder too, in which the index was made
    assert project.refresh() == ""
    return sample


def _loaded(*words: str) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    process = subprocess.run(
        [sys.executable, "-P", "-c", SPY, *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=True,
    )
    code, modules = json.loads(process.stderr.splitlines()[-1])
    assert code in (0, 1), process.stderr
    return {module.partition(".")[0] for module in modules} | set(modules)


@pytest.mark.parametrize("words", [["connect"], ["conn", "-p", "-i"], ["connect", "--json"], ["nosuch"]], ids=" ".join)
def test_grep_loads_nothing_heavy(project: Path, words: list[str]) -> None:
    loaded = _loaded("grep", *words, "--path", str(project))
    assert "sage_code.compiled.lookup" in loaded
    assert not loaded & HEAVY
    assert not loaded & {"sage_cli.app", "sage_code.settings.loading", "sage_code.index.pipeline"}
    # Modules of the standard library that cost milliseconds each.
    assert not loaded & {"typing", "dataclasses", "inspect", "pathlib", "subprocess", "difflib", "secrets", "tomllib"}
    assert not loaded & {"re", "json", "enum", "contextlib", "functools", "collections"}


@pytest.mark.parametrize("words", [["reach a host"], ["connect", "--json"], ["quux", "--explain"]], ids=" ".join)
def test_search_loads_no_store_no_parser_and_no_typer(project: Path, words: list[str]) -> None:
    loaded = _loaded("search", *words, "--project", str(project))
    assert "sage_code.search.engine" in loaded
    assert sorted(loaded & (HEAVY - {"numpy", "orjson", "xxhash"})) == []
    assert not loaded & {"sage_cli.app", "sage_code.store.lance", "sage_code.compiled.generation", "numpy.ma"}


def test_a_search_for_exact_text_loads_no_numpy(project: Path) -> None:
    for folder in (project, project / "web"):
        os.utime(folder, (1, 1))  # so that the listing is kept
    _loaded("search", "--exact", "connect", "--project", str(project))
    loaded = _loaded("search", "--exact", "connect", "--project", str(project))
    assert "sage_code.search.exact.finding" in loaded
    assert sorted(loaded & (HEAVY - {"xxhash"})) == []
    assert not loaded & {"subprocess", "dataclasses", "inspect", "json", "sage_code.settings.loading"}
    assert not loaded & {"re", "typing", "functools", "collections", "threading"}
    assert "typing" not in _loaded("search", "--regex", "conn.*t", "--project", str(project))


def test_search_loads_memory_only_where_there_is_some(project: Path) -> None:
    assert not any(
        name.startswith("sage_code.memory") for name in _loaded("search", "connect", "--project", str(project))
    )
    (project / ".sage" / "checkpoints").mkdir()
    loaded = _loaded("search", "connect", "--project", str(project))
    assert "sage_code.memory.code.attached" in loaded
    assert sorted(loaded & (HEAVY - {"numpy", "orjson", "xxhash"})) == []


def test_an_index_run_with_nothing_to_do_loads_no_vectors(project: Path) -> None:
    loaded = _loaded("index", str(project), "--json")
    assert "sage_code.index.pipeline" in loaded
    assert not loaded & VECTORS
    assert not loaded & {"tree_sitter", "tree_sitter_language_pack", "sage_code.store.lance"}


def test_status_and_projects_load_no_vectors(project: Path) -> None:
    assert not _loaded("status", str(project)) & VECTORS
    assert not _loaded("projects", "list") & VECTORS


def test_memory_loads_no_store_and_lists_without_vectors(project: Path) -> None:
    for words in (["list"], ["save", "-t", "Kafka keeps the order."], ["search", "order"], ["show", "kafka"]):
        loaded = _loaded("checkpoint", *words, "--project", str(project))
        assert not loaded & {"lance", "pyarrow", "jinja2"}
        assert "numpy" not in loaded or words[0] in ("save", "search")


def test_help_loads_no_library(project: Path) -> None:
    loaded = _loaded("--help")
    assert not loaded & {*VECTORS, "orjson", "sage_code.settings.loading", "sage_code.index.pipeline"}
