"""Bad input in a project's folder, and bad settings: never a traceback, never a lost index."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import sage_code.index.diff
import sage_code.index.pipeline
from sage_code.embed.hashing import HashingEmbedder
from sage_code.files import summed
from sage_code.paths import compiled_dir, generations_dir, manifest_path
from sage_code.settings.loading import set_value
from sage_code.store.lance import store_uri

Answer = Callable[..., dict]
Finds = Callable[..., list[str]]
GOOD = "def good():\n    return 1\n"


@pytest.fixture
def skips(answer: Answer) -> Callable[[Path], dict[str, str]]:
    """What was left out of an indexed project, with the reasons."""

    def listed(root: Path) -> dict[str, str]:
        return {skip["path"]: skip["reason"] for skip in answer("status", root)["skipped"]}

    return listed


# -- files ------------------------------------------------------------------------------------------------------------


def test_encodings(tmp_path: Path, write: Callable[..., Path], answer: Answer, finds: Finds, skips: Callable) -> None:
    text = "def {}():\n    return 'Größe, naïve'\n"
    root = write(tmp_path / "p", {
        "utf16.py": text.format("sixteen").encode("utf-16"),
        "utf16be.py": text.format("big_endian").encode("utf-16-be"),
        "utf8_mark.py": text.format("marked").encode("utf-8-sig"),
        "latin.py": text.format("western").encode("latin-1"),
        "broken.py": text.format("broken").encode() + b"# \xc3\x28 \xff\xfe\n" + "# äöü\n".encode() * 9,
        "mixed.py": text.format("mixed").encode() + text.format("second").encode("latin-1"),
        "image.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
        "program.py": b"\x7fELF" + random.Random(9).randbytes(9_000),
        "zeros.c": bytes(5_000),
    })  # fmt: skip
    assert answer("index", root)["files_indexed"] == 6
    for name, file in {
        "sixteen": "utf16", "big_endian": "utf16be", "marked": "utf8_mark", "western": "latin", "broken": "broken",
        "mixed": "mixed", "second": "mixed",
    }.items():  # fmt: skip
        assert finds(root, name) == [f"{file}.py"]
    assert skips(root) == {"image.png": "binary", "program.py": "binary", "zeros.c": "binary"}


def test_large_and_minified_files(
    tmp_path: Path, write: Callable[..., Path], answer: Answer, finds: Finds, skips: Callable
) -> None:
    line = "var a0=function(b){return b+1};"
    root = write(tmp_path / "p", {"good.py": GOOD, "min.js": line * 20_000, "bundle.js": line * 68_000})
    with (root / "huge.py").open("w") as file:
        file.writelines(GOOD for _ in range(50_000_000 // len(GOOD) + 1))
    started = time.monotonic()
    answer("index", root)
    assert time.monotonic() - started < 20
    assert skips(root) == {"huge.py": "too_large", "bundle.js": "too_large", "min.js": "minified"}
    assert finds(root, "good") == ["good.py"]
    set_value("max_file_bytes", "3000000", "user")
    answer("index", root)
    assert skips(root) == {"huge.py": "too_large", "bundle.js": "minified", "min.js": "minified"}


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one, deleted at once."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_hundred_thousand_empty_files(quick_folder: Path, answer: Answer) -> None:
    root = quick_folder / "p"
    for number in range(100):
        folder = root / f"folder{number}"
        folder.mkdir(parents=True)
        for file in range(1_000):
            os.mknod(folder / f"empty{file}.py")
    (root / "good.py").write_text(GOOD)
    started = time.monotonic()
    stats = answer("index", root)
    assert time.monotonic() - started < 60
    assert (stats["files_indexed"], stats["files_skipped"]) == (1, 100_000)
    assert Path(manifest_path(str(root))).stat().st_size < 100_000, "what is empty is not remembered"


@pytest.mark.parametrize("suffix", ["py", "js", "ts", "tsx", "c", "cpp", "go", "rs", "java", "cs", "rb", "php", "sol"])
def test_deeply_nested_code(
    tmp_path: Path,
    write: Callable[..., Path],
    answer: Answer,
    finds: Finds,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
) -> None:
    depth = 10_000
    monkeypatch.setenv("SAGE_PARSE_TIMEOUT_S", "0.2")
    started = time.monotonic()
    root = write(tmp_path / "p", {
        f"brackets.{suffix}": "<?php x = " + "[(" * (depth // 2) + "1" + ")]" * (depth // 2) + ";\n",
        f"open.{suffix}": "{\n" * depth,
        f"blocks.{suffix}": "".join(f"if (a) {{ // {n}\n" for n in range(depth)) + "}\n" * depth,
        f"closing.{suffix}": "})]" * depth + "\n",
        "good.py": GOOD,
    })  # fmt: skip
    stats = answer("index", root)
    assert time.monotonic() - started < 30
    assert stats["files_indexed"] + stats["files_skipped"] == 5
    assert finds(root, "good") == ["good.py"]


def test_a_file_that_parsing_fails_on_is_cut_by_lines(
    sample: Path, answer: Answer, finds: Finds, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(data: bytes, *_: object) -> None:
        if b"Server" in data:
            raise RecursionError("a bug of ours")

    monkeypatch.setattr("sage_code.chunk.files.parse", broken)
    assert answer("index", sample)["files_indexed"] == 2


# -- names, links and permissions -------------------------------------------------------------------------------------


def test_links_are_never_followed(
    tmp_path: Path, write: Callable[..., Path], answer: Answer, finds: Finds, skips: Callable
) -> None:
    root = write(tmp_path / "p", {"good.py": GOOD})
    write(tmp_path / "outside", {"secret.py": "def secret():\n    pass\n"})
    (root / "loop").symlink_to(".")
    (root / "up").symlink_to("..")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "dangling.py").symlink_to("nowhere.py")
    assert answer("index", root)["files_indexed"] == 1
    assert finds(root, "good") == ["good.py"]
    assert skips(root) == dict.fromkeys(("loop", "up", "out", "file.py", "dangling.py"), "symlink")
    answer("grep", "secret", "--path", root, code=1)


def test_unreadable_files_and_folders(
    tmp_path: Path, write: Callable[..., Path], answer: Answer, skips: Callable, as_ordinary_user: Callable
) -> None:
    root = write(tmp_path / "p", {"good.py": GOOD, "closed.py": GOOD, "locked/inside.py": GOOD})
    (root / "closed.py").chmod(0)
    (root / "locked").chmod(0)
    with as_ordinary_user(root):
        assert answer("index", root)["files_indexed"] == 1
        assert skips(root) == {"closed.py": "unreadable", "locked/": "unreadable"}


def test_odd_names(tmp_path: Path, write: Callable[..., Path], answer: Answer, finds: Finds, skips: Callable) -> None:
    odd = ["new\nline.py", "tab\t.py", 'quote".py', "it's.py", "back\\slash.py", "\x1b[31mred.py", "größe.py", "💡.py"]
    root = write(tmp_path / "p", {name: f"def odd_{number}():\n    pass\n" for number, name in enumerate(odd)})
    with open(os.fsencode(root) + b"/latin\xff.py", "w") as file:
        file.write(GOOD)
    assert answer("index", root)["files_indexed"] == len(odd)
    for number, name in enumerate(odd):
        assert finds(root, f"odd_{number}") == [name]
    assert skips(root) == {"latin\\xff.py": "bad_name"}
    for name in odd:
        (root / name).unlink()
    assert answer("index", root)["files_removed"] == len(odd)


def test_a_root_that_is_not_unicode(tmp_path: Path, write: Callable[..., Path], answer: Answer) -> None:
    root = write(Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xff")), {"good.py": GOOD})
    assert answer("index", root, code=2)["error"]["code"] == "usage"


def test_an_empty_folder(tmp_path: Path, answer: Answer) -> None:
    (tmp_path / "p").mkdir()
    assert answer("index", tmp_path / "p")["files_indexed"] == 0
    answer("grep", "anything", "--path", tmp_path / "p", code=1)
    assert answer("admin", "verify", tmp_path / "p", "--check")["clean"]


@pytest.mark.parametrize("command", ["index", "status", "grep"])
def test_a_path_that_does_not_exist(tmp_path: Path, answer: Answer, command: str) -> None:
    words = ("x", "--path", tmp_path / "no") if command == "grep" else (tmp_path / "no",)
    assert answer(command, *words, code=2)["error"]["code"] == "usage"


def test_a_project_that_may_not_be_written(
    sample: Path, answer: Answer, finds: Finds, as_ordinary_user: Callable
) -> None:
    with as_ordinary_user(sample):
        sample.chmod(0o555)
        assert "may read and write" in answer("index", sample, code=2)["error"]["hint"]
        sample.chmod(0o755)
        answer("index", sample)
        (sample / "new.py").write_text(GOOD)
        for folder in (sample, sample / ".sage", *(sample / ".sage").rglob("*")):
            folder.is_dir() and folder.chmod(0o555)
        assert answer("index", sample, code=2)["error"]["code"] == "store"
        assert finds(sample, "Server.start") == ["server.py"]
        for folder in sorted({sample, *sample.rglob("*")}):
            folder.is_dir() and folder.chmod(0o755)
        assert answer("index", sample)["files_indexed"] == 1


def test_a_home_that_is_a_file(sample: Path, answer: Answer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("SAGE_HOME", str(tmp_path / "file"))
    assert answer("index", sample, code=2)["error"]["code"] in ("store", "config")


# -- damaged indexes --------------------------------------------------------------------------------------------------


_WRONG_TYPES = (
    b'{"format":1,"project":1,"model_setting":1,"model":1,"dim":"x","store_uri":1,"generation":1,"indexed_at":1,'
    b'"files":{},"skipped":{}}'
)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"garbage \xff", b"{", b"[]", b"{}", b'{"format":"1"}', b'{"format":1,"files":[]}', _WRONG_TYPES,
        "half", "wrong", "short", "reason",
    ],
)  # fmt: skip
def test_a_damaged_manifest(sample: Path, answer: Answer, finds: Finds, content: bytes | str) -> None:
    (sample / "zeros.py").write_bytes(bytes(100))
    answer("index", sample)
    path = Path(manifest_path(str(sample)))
    good = path.read_bytes()
    changes = {
        "half": good[: len(good) // 2],
        "wrong": good.replace(b'"python"', b"[7]"),
        "short": good.replace(b',"python"', b""),
        "reason": good.replace(b'"binary"', b'"unheard of"'),
    }
    path.write_bytes(changes[content] if isinstance(content, str) else content)
    assert "damaged" in answer("status", sample, code=1)["damaged"]
    assert finds(sample, "Server.start") == ["server.py"]
    findings = answer("admin", "verify", sample, "--check", code=2)["findings"]
    assert "index_meta.json is damaged" in findings[0]
    assert answer("index", sample)["chunks_created"] == 0
    assert answer("admin", "verify", sample, "--check")["clean"]


@pytest.mark.parametrize("change", [None, bytes.upper, lambda data: data[: len(data) // 2], lambda _: b""])
@pytest.mark.parametrize("file", ["functions.json", "classes.json", "segments.json", "*.seg"])
@pytest.mark.parametrize("then", ["index", "edit", "verify"])
def test_a_damaged_compiled_file(
    sample: Path,
    answer: Answer,
    finds: Finds,
    file: str,
    change: Callable[[bytes], bytes] | None,
    then: str,
) -> None:
    answer("index", sample)
    path = next(Path(generations_dir(str(sample))).glob(f"*/{file}"))
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    assert not answer("admin", "verify", sample, "--check", code=2)["clean"]
    if then == "verify":
        assert answer("admin", "verify", sample)["mended"]
    else:
        if then == "edit" or change is bytes.upper:  # what kept its size is met when it is read: by the next change
            (sample / "new.py").write_text(GOOD)
        created = answer("index", sample)["chunks_created"]
        assert created == (sample / "new.py").exists()
    assert finds(sample, "Server.start") == ["server.py"]
    assert answer("admin", "verify", sample, "--check")["clean"]


def _scramble(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(np.random.default_rng(1).bytes(path.stat().st_size))


@pytest.mark.parametrize("part", ["data", "_versions", ""])
@pytest.mark.parametrize("damage", [_scramble, shutil.rmtree])
@pytest.mark.parametrize("then", ["edit", "verify"])
@pytest.mark.parametrize("table", ["chunks", "files"])
def test_a_damaged_store(
    sample: Path, answer: Answer, finds: Finds, part: str, damage: Callable[[Path], None], then: str, table: str
) -> None:
    answer("index", sample)
    damage(next(Path(store_uri("")).glob(f"{table}*.lance")) / part)
    assert finds(sample, "Server.start") == ["server.py"]
    assert not answer("admin", "verify", sample, "--check", code=2)["clean"]
    if then == "edit":
        (sample / "new.py").write_text(GOOD)
        code = 0 if damage is shutil.rmtree and part != "data" else 2  # a missing table is made again
        found = answer("index", sample, code=code)
        assert code == 0 or "sage admin verify" in found["error"]["hint"]
        assert finds(sample, "Server.start") == ["server.py"]
    answer("admin", "verify", sample)
    assert answer("admin", "verify", sample, "--check")["clean"]
    assert answer("index", sample)["chunks_created"] == 0


def test_an_index_of_a_newer_format_is_left_alone(sample: Path, answer: Answer, finds: Finds) -> None:
    answer("index", sample)
    path = Path(manifest_path(str(sample)))
    path.write_bytes(newer := summed.dumps({**summed.loads(path.read_bytes()), "format": 99}))
    (sample / "new.py").write_text(GOOD)
    for words in (("index",), ("index", "--full"), ("admin", "verify"), ("admin", "rebuild-embeddings"), ("status",)):
        assert answer(*words, sample, code=2)["error"]["code"] == "format_too_new"
    assert path.read_bytes() == newer
    assert finds(sample, "Server.start") == ["server.py"]


# -- models -----------------------------------------------------------------------------------------------------------


class Other(HashingEmbedder):
    name, dim = "other", 16

    def embed_code(self, texts: list[str]) -> np.ndarray:
        return super().embed_code(texts)[:, : self.dim].copy()


def test_a_model_that_is_changed_and_changed_back(
    sample: Path, answer: Answer, finds: Finds, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answer("index", sample)
    with monkeypatch.context() as patch:
        patch.setattr(sage_code.index.diff, "stable_name", lambda _: Other.name)
        patch.setattr(sage_code.index.pipeline, "load_embedder", lambda *_: Other())
        assert answer("status", sample)["model_changed"]
        second = answer("index", sample)
        assert (second["model"], second["chunks_created"]) == ("other", first["chunks_created"])
        assert finds(sample, "Server.start") == ["server.py"]
    back = answer("index", sample)
    assert (back["model"], back["chunks_created"]) == (first["model"], 0)
    assert len(list(Path(store_uri("")).glob("chunks*.lance"))) == 2
    assert len(answer("admin", "compact", sample)["tables_dropped"]) == 1
    assert answer("admin", "verify", sample, "--check")["clean"]
    assert Path(compiled_dir(str(sample))).exists()
