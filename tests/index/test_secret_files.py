"""Files that hold secrets are skipped by default, listed as skipped, and removed from an index that has them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.files import summed
from sage_code.index.manifest import load_manifest
from sage_code.memory.code.code_files import CodeFiles
from sage_code.paths import codebase_dir, manifest_path
from sage_code.settings.loading import set_value
from sage_code.store.lance import Store, store_uri
from sage_code.values import SkipReason

Answer = Callable[..., Any]
_WORD = "zanzibarquagga"
_SECRET = f"DB_{_WORD.upper()}=hunter-{_WORD}-22\n"


@pytest.fixture
def root(tmp_path: Path, write: Callable[..., Path]) -> Path:
    files: dict[str, str] = {f"m{n}.py": f"def part_{n}(values):\n    return sum(values) * {n}\n" for n in range(90)}
    files |= {".env": _SECRET, "deploy/prod.env": _SECRET, "id_deploy": _SECRET, ".env.example": "DB_HOST=localhost\n"}
    files[".npmrc"] = f"//registry.example.org/:_authToken={_WORD}8888\n"
    files["key.json"] = '{"type": "service_account", "private_key": "abcdefgh' + _WORD + '"}\n'
    return write(tmp_path / "project", files)


SECRET = {".env", "deploy/prod.env", "id_deploy", ".npmrc", "key.json"}


def test_files_with_secrets_are_skipped_and_listed_with_the_reason(root: Path, answer: Answer) -> None:
    planned = answer("index", root, "--dry-run")
    by_name = {".env", "deploy/prod.env", "id_deploy"}
    assert {skip["path"] for skip in planned["skipped"] if skip["reason"] == "secret"} >= by_name
    answer("index", root)
    skipped = answer("status", root)["skipped"]
    assert {skip["path"] for skip in skipped if skip["reason"] == "secret"} == SECRET
    manifest = load_manifest(str(root))
    assert manifest is not None
    assert ".env.example" in manifest.files
    assert not SECRET & manifest.files.keys()
    assert _WORD.encode() not in _all_bytes(codebase_dir(str(root)))
    assert not Project.open(root).search(f"hunter {_WORD}").good


def test_a_project_cannot_let_secrets_in_and_the_user_can(root: Path, answer: Answer) -> None:
    (root / ".sage").mkdir()
    (root / ".sage" / "tuning.yaml").write_text("include_secrets: true\n")
    assert not Project.open(root).settings.include_secrets
    assert any("include_secrets" in warning for warning in Project.open(root).settings.warnings)
    set_value("include_secrets", "true", "user")
    answer("index", root)
    assert load_manifest(str(root)).files.keys() >= SECRET  # type: ignore[union-attr]


def test_an_index_that_holds_secrets_drops_them_at_the_next_run(root: Path, answer: Answer) -> None:
    set_value("include_secrets", "true", "user")
    answer("index", root)
    manifest = load_manifest(str(root))
    assert manifest is not None
    keys = [manifest.files[path].key for path in SECRET]
    assert Store(store_uri(""), manifest.model, manifest.dim).existing(keys) == set(keys)
    assert _WORD.encode() in _all_bytes(store_uri(""))
    assert _WORD.encode() in _all_bytes(codebase_dir(str(root)))
    set_value("include_secrets", "false", "user")
    # As the version before this rule has left it: trusted by size and time.
    path = Path(manifest_path(str(root)))
    old = summed.loads(path.read_bytes())
    for rows in (old["files"], old["skipped"]):
        rows.update({name: row[:-1] for name, row in rows.items()})
    path.write_text(json.dumps({**old, "format": 1}))
    answer("index", root)
    assert not SECRET & load_manifest(str(root)).files.keys()  # type: ignore[union-attr]
    store = Store(store_uri(""), manifest.model, manifest.dim)
    assert not store.existing(keys)
    assert _WORD.encode() not in _all_bytes(store.uri)
    assert store.check().bad_files == set()
    published = os.path.realpath(os.path.join(codebase_dir(str(root)), "compiled"))
    assert _WORD.encode() not in _all_bytes(published)
    assert answer("admin", "verify", root, "--check")["clean"]


def test_nothing_else_reads_a_file_with_secrets(root: Path) -> None:
    project = Project.open(root)
    assert not project.quick_look(f"hunter {_WORD}", 10, None, None).results
    for path in sorted(SECRET):
        with pytest.raises(UsageError, match=SkipReason.SECRET):
            project.outline(path)
        assert CodeFiles(str(root)).get(path) is None
    assert CodeFiles(str(root)).get(".env.example") is not None


def _all_bytes(folder: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()).lower()
