"""From names to embedders, without loading other models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sage_code.embed import Embedder, default_embedder, describe, load_embedder
from sage_code.errors import ModelError


@pytest.mark.parametrize("name", ["bundled", "hashing"])
def test_built_in_models_need_nothing(name: str) -> None:
    embedder: Embedder = load_embedder(name, "prose")
    vectors = embedder.embed_query(["where is the retry policy", "parse"])
    assert vectors.shape == (2, embedder.dim)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_the_default_is_the_bundled_one() -> None:
    assert default_embedder().name == load_embedder("bundled").name


def test_names_are_described_in_full() -> None:
    assert describe("bundled").download_mb == 0
    mini = describe("all-MiniLM-L6-v2")
    assert (mini.name, mini.origin, mini.download_mb) == ("sentence-transformers/all-MiniLM-L6-v2", "hub", 90)
    assert describe("codesage/codesage-large-v2").needs_trust
    assert not describe("BAAI/bge-base-en-v1.5").needs_trust
    assert describe("acme/unheard-of").download_mb is None


def test_what_looks_like_a_path_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert describe("./model").name == str(tmp_path / "model")
    assert describe(str(tmp_path)).origin == "folder"
    assert describe("~/model").name == os.path.join(os.environ["HOME"], "model")


@pytest.mark.parametrize("name", ["", "a/b/c", "two words", "x@y", "a/../b", "..", "-rf", "a\nb", "https://evil/x"])
def test_names_that_cannot_be_are_refused(name: str) -> None:
    with pytest.raises(ModelError, match="names no embedding model"):
        describe(name)


def test_describing_loads_neither_numpy_nor_torch() -> None:
    code = (
        "import sys; from sage_code.embed import describe; describe('codesage/codesage-small');"
        "print([m for m in ('numpy', 'torch', 'sentence_transformers', 'yaml') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
