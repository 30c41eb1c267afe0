"""Helpers for proving what an index survives: projects to index, the outcome of a run, and the store behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sage_code.embed import default_embedder
from sage_code.store.lance import Store, store_uri

Files = dict[str, str | bytes]
Write = Callable[[Path, Files], Path]
Answer = Callable[..., Any]
AsUser = Callable[[Path], AbstractContextManager[None]]
_BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
_NOBODY = 65534


@pytest.fixture
def answer(sage: Callable[..., Any]) -> Answer:
    """Runs `sage ... --json` and returns the document; checks the exit code, and that there is no traceback."""

    def run(*words: str | Path, code: int = 0) -> Any:
        outcome = sage(*map(str, words), "--json")
        assert outcome.code == code, outcome
        assert "Traceback" not in outcome.err
        document = json.loads(outcome.out)
        if code == 2 and "error" in document:
            assert document["error"].keys() == {"code", "message", "hint"}
            assert all(document["error"].values())
            assert "bug" not in document["error"]["hint"]
        return document

    return run


@pytest.fixture
def finds(answer: Answer) -> Callable[..., list[str]]:
    """The files in which `sage grep` finds a symbol, by the index as it is: it does not bring changes in."""

    def grep(root: Path, name: str) -> list[str]:
        found = answer("grep", name, "--no-refresh", "--path", root, code=0 if name else 1)
        return [match["file"] for match in found["matches"]]

    return grep


@pytest.fixture
def many_files() -> Files:
    """Enough files for figures to mean something: 40 of ten functions each."""
    body = "".join(f"    total_$F_$D += values[{line}] * {line}\n" for line in range(12))
    return {
        f"package/module_{file}.py": "".join(
            f"def work_{file}_{number}(values):\n{body}\n".replace("$F", str(file)).replace("$D", str(number))
            for number in range(10)
        )
        for file in range(40)
    }


@pytest.fixture
def git() -> Callable[..., None]:
    def run(folder: Path, *words: str) -> None:
        settings = ("user.name=t", "user.email=t@example.org", "init.defaultBranch=main")
        command = ["git", "-C", str(folder), *(word for setting in settings for word in ("-c", setting)), *words]
        subprocess.run(command, check=True, capture_output=True)

    return run


@pytest.fixture
def prove() -> Callable[..., None]:
    """Runs a proof of `benchmarks/` on a small scale."""

    def run(script: str, *words: str) -> None:
        command = [sys.executable, str(_BENCHMARKS / script), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=540, check=False)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-3000:]}"

    return run


@pytest.fixture
def open_store() -> Callable[[], Store]:
    """The default model's table in the test's own home."""

    def opened() -> Store:
        embedder = default_embedder()
        return Store(store_uri(""), embedder.name, embedder.dim)

    return opened
