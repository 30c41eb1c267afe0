"""The bundled model: always the same vector for a text, small, quick to load, and a vector for every text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.embed import bundled, words
from sage_code.embed.bundled import BundledEmbedder
from sage_code.embed.loading import load_embedder
from sage_code.embed.naming import stable_name
from sage_code.embed.packed import MODEL_FOLDER, packed_facts
from sage_code.embed.words import Vocabulary, split_identifier
from sage_code.errors import ModelError
from sage_code.text import lexemes
from sage_code.text.lexemes import words_of

WORDS = ["parse", "http", "header", "httpheader", "retry", "config", "the", "request", "naïve", "42"]
TEXTS = [
    "Client.retry\ndef retry(self, request):\n    return self.config.parse(request)\n",
    "parseHTTPHeader\nfunction parseHTTPHeader(header) { return header.split(':') }",
    "",
    "\n\n",
    "x",
    "naïve café 検索 🦊",
    "retry " * 1000,
    "a\ud800b retry",  # a lone surrogate, as broken files give them
    "\n".join(f"value_{number} = config[{number}]" for number in range(3000)),
]


def _write(folder: Path, seed: int = 0) -> Path:
    """A made-up model, written as `training.pack` writes one."""
    from training.pack import write_model

    rng = np.random.default_rng(seed)
    rows = rng.integers(-127, 128, (len(WORDS) + 64, 32), dtype=np.int8)
    weights = rng.integers(1, 65_536, (3, len(rows))).astype(np.uint16)
    write_model(folder, WORDS, 64, rows, weights)
    packed_facts.cache_clear()
    return folder


@pytest.fixture
def model(tmp_path: Path) -> BundledEmbedder:
    return BundledEmbedder(str(_write(tmp_path)))


def test_rows_are_unit_vectors_and_nothing_is_zero(model: BundledEmbedder) -> None:
    vectors = model.embed_code(TEXTS)
    assert vectors.shape == (len(TEXTS), 32)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert [bool(length) for length in lengths] == [bool(words_of(text)) and text != "x" for text in TEXTS]
    np.testing.assert_allclose(lengths[lengths > 0], 1, atol=1e-6)
    assert model.embed_code([]).shape == (0, 32)


@settings(deadline=None)
@given(order=st.permutations(range(len(TEXTS))), size=st.integers(1, len(TEXTS)))
def test_a_vector_depends_on_its_text_alone(
    order: list[int], size: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "shared-model"
    model = BundledEmbedder(str(folder if folder.exists() else _write(folder)))
    for embed in (model.embed_code, model.embed_query):
        expected = embed(TEXTS)
        for start in range(0, len(order), size):
            part = order[start : start + size]
            assert embed([TEXTS[number] for number in part]).tobytes() == expected[part].tobytes()


def test_threads_share_a_model(model: BundledEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = model.embed_code(TEXTS).tobytes()
    monkeypatch.setattr(words, "_MAX_CACHED", 3)  # the cache of words is emptied under everybody's feet
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.embed_code(TEXTS).tobytes(), range(40)))
    assert set(found) == {expected}


def test_no_sum_leaves_the_exact_range(tmp_path: Path) -> None:
    """The worst that a text can do: rows and weights at their limits, as many entries as characters allow."""
    from training.pack import write_model

    names = [f"{first}{second}" for first in "abcdefghij" for second in "klmnopqrstuvwxyz"]
    rows = np.full((len(names) + 4096, 8), 127, dtype=np.int8)
    write_model(tmp_path, names, 4096, rows, np.full((3, len(rows)), 65_535, dtype=np.uint16))
    model = BundledEmbedder(str(tmp_path))
    text = " ".join(f"{name}{number}" for number in range(40) for name in names)
    sums = np.zeros((1, 8), dtype=np.float32)
    model._pool([text], (bundled.QUERY,), sums)
    assert 0 < sums.max() < 2**24
    assert len(set(sums[0])) == 1


def test_sums_are_exact(model: BundledEmbedder) -> None:
    """The BLAS product equals the sum in whole numbers, of which the order cannot matter."""
    sums = np.zeros((1, 32), dtype=np.float32)
    text = TEXTS[-1]
    model._pool([text], (bundled.QUERY,), sums)
    found = model._vocabulary.count(text)
    ids = np.array(list(found))
    raw = model._weights[bundled.QUERY, ids] * model._of_tf[np.minimum(list(found.values()), bundled.MAX_TF)]
    shares = (raw * bundled._BUDGET + raw.sum() // 2) // raw.sum()
    expected = (shares[:, None] * model._rows[ids].astype(np.int64)).sum(axis=0)
    assert (sums[0].astype(np.int64) == expected).all()


def test_the_first_line_weighs_by_itself(model: BundledEmbedder) -> None:
    one, other, asked = model.embed_code(["retry\nconfig", "config\nretry", "retry config"])
    assert (one != other).any()
    assert (asked != model.embed_query(["retry config"])[0]).any()


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("parseHTTPHeader", ["parse", "http", "header"]),
        ("MAX_SIZE", ["max", "size"]),
        ("utf8Decode", ["utf", "8", "decode"]),
        ("naïve_Müller", ["naïve", "müller"]),
        ("__init__", ["init"]),
        ("_", []),
    ],
)
def test_identifiers_are_split(word: str, parts: list[str]) -> None:
    assert split_identifier(word) == parts


def test_words_meet_however_they_are_written() -> None:
    vocabulary = Vocabulary(WORDS, 8)
    compound = WORDS.index("httpheader")
    for word in ("httpHeader", "http_header", "HTTPHeader", "httpheader"):
        assert compound in vocabulary[word]


def test_unknown_words_give_their_pieces_and_a_bucket() -> None:
    vocabulary = Vocabulary(WORDS, 8)
    *pieces, bucket = vocabulary["reconfigretry"]
    assert pieces == [WORDS.index("config"), WORDS.index("retry")]
    assert len(WORDS) <= bucket < vocabulary.rows
    assert vocabulary["zzzz"] == vocabulary["ZZZZ"]
    assert vocabulary["9999999"] == ()
    assert vocabulary["a" * 65] == ()


@settings(deadline=None)
@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_quick_split_finds_what_the_pattern_finds(text: str) -> None:
    assert words_of(text) == lexemes._WORD.findall(text)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_counted(text: str) -> None:
    found = Vocabulary(WORDS, 8).count(text)
    assert all(0 <= number < len(WORDS) + 8 and count > 0 for number, count in found.items())


def test_the_cache_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_MAX_CACHED", 100)
    vocabulary = Vocabulary(WORDS, 8)
    vocabulary.count(" ".join(f"w{number}x" for number in range(1000)))
    assert len(vocabulary) <= 100


def test_weights_are_mapped_not_read(model: BundledEmbedder) -> None:
    base = model._rows
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)


def test_other_weights_have_another_name(tmp_path: Path) -> None:
    names = {BundledEmbedder(str(_write(tmp_path / str(seed), seed))).name for seed in range(3)}
    assert len(names) == 3


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    _write(tmp_path)
    (tmp_path / "vocabulary.txt").write_text("only\ntwo")
    packed_facts.cache_clear()
    with pytest.raises(ModelError, match="do not belong together"):
        BundledEmbedder(str(tmp_path))
    facts = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**facts, "format": 99}))
    packed_facts.cache_clear()
    with pytest.raises(ModelError, match="format 99"):
        BundledEmbedder(str(tmp_path))
    with pytest.raises(ModelError, match="there is no model"):
        BundledEmbedder(str(tmp_path / "nowhere"))


def test_what_is_shipped() -> None:
    packed_facts.cache_clear()
    facts = packed_facts()
    assert facts is not None
    assert facts.size_bytes <= 25_000_000
    assert stable_name("bundled") == facts.name == load_embedder("bundled").name
    assert stable_name("hashing") == "hashing"
    assert (Path(MODEL_FOLDER) / "CARD.md").is_file()


def test_without_weights_hashing_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("loading", "naming"):
        monkeypatch.setattr(f"sage_code.embed.{module}.packed_facts", lambda: None)
    assert stable_name("bundled") == "hashing"
    assert load_embedder("bundled").name == "hashing"


def test_meaning_beats_spelling() -> None:
    """What hashing cannot know: words that share no letters and mean the same."""
    model = load_embedder("bundled")
    asked = model.embed_query(["delete a directory and everything in it", "open a network connection to the server"])
    stored = model.embed_code(
        [
            "rmtree\ndef rmtree(path):\n    for entry in scandir(path):\n        unlink(entry)\n    rmdir(path)\n",
            'dial\nfunc dial(address string) (net.Conn, error) {\n\treturn net.Dial("tcp", address)\n}\n',
            "mean\ndef mean(values):\n    return sum(values) / len(values)\n",
        ]
    )
    assert (asked @ stored.T).argmax(axis=1).tolist() == [0, 1]


def test_vectors_are_the_same_in_another_process_with_another_kernel() -> None:
    """OpenBLAS chooses its kernels by the processor; with the oldest kernel it gives the same bits."""
    code = (
        "import sys, hashlib; from sage_code.embed.loading import load_embedder; m = load_embedder('bundled');"
        "t = [f'name{i}\\n' + 'read file path retry config '.join(map(str, range(i))) for i in range(300)];"
        "print(hashlib.sha256(m.embed_code(t).tobytes() + m.embed_query(t).tobytes()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **more},
        ).stdout
        for more in (
            {},
            {"OPENBLAS_NUM_THREADS": "1"},
            {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "AVX2 FMA3"},
            {"OPENBLAS_CORETYPE": "Haswell"},
        )
    }
    assert len(found) == 1
