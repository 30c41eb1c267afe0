"""What is drawn by chance is drawn from a fixed seed, and `make explore` draws other things."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

_TESTS = Path(__file__).parent
# Sources of chance that no seed governs. `os.urandom` may be replaced, and the driver of `make explore` wants chance.
_UNSEEDED = re.compile(
    r"os\.getpid\(|os\.urandom\(|\bsecrets\.\w+\(|uuid4\(|default_rng\(\)|Random\(\)|SystemRandom"
    r"|\brandom\.(?:random|randint|randrange|choices?|sample|shuffle|randbytes|uniform|getrandbits)\("
    r"|(?:seed|Random|default_rng)\([^)]*\btime\b"
)


def test_random_tests_run_with_fixed_seeds() -> None:
    found = [
        f"{path.relative_to(_TESTS)}:{number}: {line.strip()}"
        for path in sorted(_TESTS.rglob("*.py"))
        if path.name not in ("explore.py", Path(__file__).name)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if _UNSEEDED.search(line)
    ]
    assert found == []


@pytest.mark.skipif("EXPLORE_SEED" in os.environ, reason="make explore wants chance")
def test_hypothesis_draws_the_same_examples_in_every_run() -> None:
    assert hypothesis.settings.default is not None
    assert hypothesis.settings.default.derandomize
    assert hypothesis.settings.default.database is None


_PROPERTY = """
import hypothesis, hypothesis.strategies as st

@hypothesis.given(st.integers(0, 10**9))
def test_small(number):
    assert number < 1000

def test_seed(seed):
    assert seed == {seed}
"""


@pytest.mark.slow
def test_explore_finds_a_failure_and_prints_its_reproduction(tmp_path: Path) -> None:
    """The real driver on two tests of its own, under the conftest of this folder."""
    (tmp_path / "conftest.py").write_text((_TESTS / "conftest.py").read_text())
    (tmp_path / "test_mine.py").write_text(_PROPERTY.format(seed=77))

    def explore(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(_TESTS / "explore.py"), "--minutes", "2", *words, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)

    failed = explore()
    assert failed.returncode == 1, failed.stdout
    again = re.search(r"the same again: make explore SEED=(\d+) TESTS='(.*)'", failed.stdout)
    assert again is not None
    assert again[2] == str(tmp_path)
    assert "@reproduce_failure(" in failed.stdout
    example = re.search(r"number=(\d+)", failed.stdout)
    same = explore("--seed", again[1])
    assert example is not None
    assert example[0] in same.stdout
    (tmp_path / "test_mine.py").write_text(_PROPERTY.format(seed=77).replace("number < 1000", "number >= 0"))
    clean = explore("--seed", "77")
    assert (clean.returncode, "2 passed" in clean.stdout) == (0, True), clean.stdout
