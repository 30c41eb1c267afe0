"""The order of sources, what a hostile repository may not set, and edits that keep the rest of a file."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.errors import ConfigError, UsageError
from sage_code.settings import tuning_file
from sage_code.settings.loading import TABLE, Origin, Settings, load_settings, reset, set_value, tuning_path

PIN = "a" * 40


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".sage").mkdir()
    return tmp_path


def _write(path: str | Path, text: str) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def _user(text: str) -> Path:
    return _write(tuning_path("user"), text)


def _project(root: Path, text: str) -> Path:
    return _write(tuning_path("project", str(root)), text)


# The cascade


def test_defaults_need_no_file() -> None:
    settings = load_settings(None)
    assert settings == Settings()
    assert settings.code_embedding_model == settings.embedding_model == "bundled"
    assert (settings.recall_threshold, settings.dedup_threshold) == (0.70, 0.90)
    assert settings.max_file_bytes == 1_000_000
    assert settings.origin("recall_threshold") == Origin("default", "built in")


def test_each_layer_wins_over_the_one_below(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def look(overrides: dict[str, object] | None = None) -> None:
        settings = load_settings(str(project), overrides)
        seen.append((settings.recall_threshold, settings.origin("recall_threshold")))

    user = _user("# mine\nrecall_threshold: 0.1\n")
    look()
    shared = _project(project, "recall_threshold: 0.2\n")
    look()
    monkeypatch.setenv("SAGE_RECALL_THRESHOLD", "0.3")
    look()
    look({"recall_threshold": 0.4})
    look({"recall_threshold": "0.5"})
    look({"recall_threshold": None})

    assert seen == [
        (0.1, Origin("user", f"{user}:2")),
        (0.2, Origin("project", f"{shared}:1")),
        (0.3, Origin("env", "SAGE_RECALL_THRESHOLD")),
        (0.4, Origin("flag", "--recall-threshold")),
        (0.5, Origin("flag", "--recall-threshold")),
        (0.3, Origin("env", "SAGE_RECALL_THRESHOLD")),
    ]


def test_every_kind_can_come_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGE_INCLUDE_GENERATED", "Yes")
    monkeypatch.setenv("SAGE_INDEX_WORKERS", "4")
    monkeypatch.setenv("SAGE_PARSE_TIMEOUT_S", "2")
    monkeypatch.setenv("SAGE_STORE_URI", "s3://bucket/x")
    monkeypatch.setenv("SAGE_EXCLUDE", "vendor/, *.min.js")
    monkeypatch.setenv("SAGE_DEDUP_THRESHOLD", "")
    settings = load_settings(None)
    assert settings.include_generated is True
    assert (settings.index_workers, settings.parse_timeout_s) == (4, 2.0)
    assert settings.store_uri == "s3://bucket/x"
    assert settings.exclude == ("vendor/", "*.min.js")
    assert settings.origin("dedup_threshold").kind == "default"


def test_a_key_without_a_value_and_an_empty_file_leave_the_default(project: Path) -> None:
    _user("recall_threshold:\n# nothing else\n")
    _project(project, "\n")
    assert load_settings(str(project)) == Settings()


def test_settings_travel_to_worker_processes() -> None:
    _user("index_workers: 3\n")
    settings = load_settings(None)
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    assert copy.origin("index_workers").kind == "user"


def test_loading_imports_no_yaml_while_there_is_no_file() -> None:
    code = (
        "import sys; from sage_code.settings.loading import load_settings; load_settings('.');"
        "print([m for m in ('yaml', 'numpy', 'difflib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What is refused


@pytest.mark.parametrize(
    ("key", "text", "allowed"),
    [
        ("recall_threshold", "1.5", "a number from 0 to 1"),
        ("recall_threshold", "nan", "a number from 0 to 1"),
        ("recall_threshold", "often", "a number from 0 to 1"),
        ("index_workers", "65", "a whole number from 0 to 64"),
        ("index_workers", "2.0", "a whole number from 0 to 64"),
        ("include_generated", "maybe", "true or false"),
        ("code_embedding_model", " ", "not empty"),
        ("store_uri", "s3://x\x1b[31m", "a text"),
        ("trusted_models", "codesage/codesage-small@main", "40 hexadecimal digits"),
        ("exclude", ",".join("x" * 1001), "a list of texts"),
    ],
)
def test_an_invalid_value_is_refused_with_the_allowed_ones(key: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigError) as caught:
        set_value(key, text, "user")
    assert key in caught.value.message
    assert allowed in caught.value.hint
    assert not os.path.exists(tuning_path("user"))


def test_an_unknown_key_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        set_value("recal-treshold", "0.5", "user")
    assert caught.value.hint == "did you mean recall_threshold?"
    with pytest.raises(ConfigError):
        load_settings(None, {"nonsense": 1})
    with pytest.raises(ConfigError):
        reset("user", key="nonsense")


def test_an_unknown_key_in_a_file_is_a_warning_because_a_newer_sage_may_know_it() -> None:
    path = _user("recall_treshold: 0.1\nrecall_threshold: 0.2\n")
    settings = load_settings(None)
    assert settings.recall_threshold == 0.2
    assert settings.warnings == (f"{path}:1: there is no setting 'recall_treshold'; did you mean recall_threshold?",)


@pytest.mark.parametrize("value", ["7", "true", "[1]", "'0.5'", ".nan", "{a: 1}", "2026-01-01"])
def test_a_bad_value_in_a_file_names_the_line(value: str) -> None:
    path = _user(f"# one\nindex_workers: 1\nrecall_threshold: {value}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(None)
    assert caught.value.message.startswith(f"{path}:3: recall_threshold cannot be ")


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGE_INDEX_WORKERS", "many")
    with pytest.raises(ConfigError, match="SAGE_INDEX_WORKERS: index_workers cannot be 'many'"):
        load_settings(None)


BOMB = "a: &a [x, x]\n" + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n" for i in range(9))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("recall_threshold: [\n", "line 2, is not valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2, is not valid YAML"),
        ("x: 1\ny: !!python/object/apply:os.system ['true']\n", "line 2, uses a tag"),
        (BOMB, "line 1, uses an anchor"),
        ("x: 1\ny: *x\n", "line 2, uses an alias"),
        ("%YAML 1.1\n---\na: 1\n", "line 1, uses a directive"),
        ("a: 1\na: 2\n", "line 2, sets 'a' a second time"),
        ("a: " + "[" * 20_000, "nested too deeply"),
        ("- a\n- b\n", "must hold lines of the form"),
        ("just words\n", "must hold lines of the form"),
        ("a: 1\n---\nb: 2\n", "is not valid YAML"),
        ("a: " + "9" * 5_000 + "\n", "holds a value that cannot be read"),
        ("a: 2026-99-99\n", "holds a value that cannot be read"),
        ("a: 1\nb: \x07\n", "line 2, holds a character that YAML forbids"),
        ("a: 1\n" * 2_000_000, "is larger than 64 KB"),
    ],
)
def test_bad_and_hostile_yaml_is_refused_with_its_line(project: Path, text: str, complaint: str) -> None:
    path = _project(project, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(str(project))
    assert str(path) in caught.value.message
    assert complaint in caught.value.message


def test_an_unreadable_file_is_refused_quickly(project: Path) -> None:
    path = project / ".sage" / "tuning.yaml"
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="not a regular file"):
        load_settings(str(project))
    path.unlink()
    path.symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="not a regular file"):
        load_settings(str(project))
    path.unlink()
    path.write_bytes(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(ConfigError, match="line 2, is not UTF-8"):
        load_settings(str(project))


# A cloned repository is not trusted


def test_a_project_cannot_set_what_only_the_user_may_set(project: Path) -> None:
    _project(
        project,
        "store_uri: s3://evil/store\n"
        f"trusted_models: [evil/model@{PIN}]\n"
        "watcher_auto_start: true\n"
        "code_embedding_model: evil/model\n"
        "embedding_model: ./model\n"
        "recall_threshold: 0.1\n",
    )
    settings = load_settings(str(project))
    assert settings == Settings(recall_threshold=0.1)
    assert len(settings.warnings) == 5
    assert all(".sage/tuning.yaml:" in warning and "ignored" in warning for warning in settings.warnings)


@pytest.mark.parametrize(
    "mine",
    ["code_embedding_model: acme/model\n", "embedding_model: acme/model\n", f"trusted_models: [acme/model@{PIN}]\n"],
)
def test_a_project_may_name_a_model_that_the_user_has_named(project: Path, mine: str) -> None:
    _user(mine)
    _project(project, "code_embedding_model: acme/model\nembedding_model: hashing\n")
    settings = load_settings(str(project))
    assert settings.code_embedding_model == "acme/model"
    assert settings.origin("code_embedding_model").kind == "project"
    assert settings.embedding_model == "hashing"
    assert settings.warnings == ()


def test_set_refuses_user_keys_for_a_project(project: Path) -> None:
    with pytest.raises(ConfigError, match="for the user to decide"):
        set_value("store_uri", "s3://x", "project", str(project))
    with pytest.raises(ConfigError, match="neither configured nor trusted"):
        set_value("code_embedding_model", "acme/model", "project", str(project))
    assert not os.path.exists(tuning_path("project", str(project)))
    set_value("code_embedding_model", "hashing", "project", str(project))


def test_trust_is_looked_up_by_name() -> None:
    settings = Settings(trusted_models=(f"acme/model@{PIN}", f"/models/a@b@{PIN[:-1]}b"))
    assert settings.trusted_revision("acme/model") == PIN
    assert settings.trusted_revision("acme/other") is None


def test_the_users_file_is_no_project_file_if_home_is_the_project() -> None:
    path = _user("store_uri: s3://mine\n")
    settings = load_settings(str(path.parent.parent))
    assert settings.store_uri == "s3://mine"
    assert settings.origin("store_uri").kind == "user"


def test_writing_follows_no_link_out_of_the_project(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (project / ".sage").rmdir()
    (project / ".sage").symlink_to(outside)
    with pytest.raises(ConfigError, match="leads out of the project"):
        set_value("recall_threshold", "0.5", "project", str(project))
    assert not list(outside.iterdir())


def test_a_project_needs_its_root() -> None:
    with pytest.raises(UsageError):
        set_value("recall_threshold", "0.5", "project")


# Editing


def test_an_edit_keeps_comments_order_and_unknown_keys() -> None:
    path = _user(
        "# my settings\r\n"
        "recall_threshold: 0.70   # how much\n"
        "exclude:\n  - vendor/  # theirs\n  - dist/\n"
        "\n# for a newer Sage\nfuture: {a: [1, 2]}\nnote: |\n  two\n  lines\n"
    )
    set_value("recall_threshold", "0.5", "user")
    set_value("exclude", '["a,b", "#c"]', "user")
    set_value("include_generated", "on", "user")
    assert path.read_bytes().decode() == (
        "# my settings\r\n"
        "recall_threshold: 0.5   # how much\n"
        "exclude: ['a,b', '#c']\n"
        "\n# for a newer Sage\nfuture: {a: [1, 2]}\nnote: |\n  two\n  lines\n"
        "include_generated: true\n"
    )
    assert load_settings(None).exclude == ("a,b", "#c")


def test_reset_removes_settings_and_nothing_else() -> None:
    path = _user("# mine\nrecall_threshold: 0.5  # why\nfuture: 1\nexclude:\n  - a\nindex_workers: 2")
    assert reset("user", key="index_workers") == ("index_workers",)
    assert reset("user", key="index_workers") == ()
    assert reset("user") == ("recall_threshold", "exclude")
    assert path.read_text() == "# mine\nfuture: 1\n"


def test_a_file_with_nothing_left_is_removed() -> None:
    set_value("recall_threshold", "0.5", "user")
    assert reset("user") == ("recall_threshold",)
    assert not os.path.exists(tuning_path("user"))
    assert reset("user") == ()


@pytest.mark.parametrize("text", ["{recall_threshold: 0.1}\n", "future: 1\n...\n"])
def test_a_layout_that_cannot_be_edited_is_left_alone(text: str) -> None:
    path = _user(text)
    with pytest.raises(ConfigError):
        set_value("index_workers", "2", "user")
    assert path.read_text() == text


def test_set_replaces_an_invalid_value() -> None:
    _user("recall_threshold: 70\n")
    set_value("recall_threshold", "0.7", "user")
    assert load_settings(None).recall_threshold == 0.7


def test_a_linked_file_of_the_user_stays_a_link(tmp_path: Path) -> None:
    target = _write(tmp_path / "dotfiles" / "tuning.yaml", "recall_threshold: 0.1\n")
    link = Path(tuning_path("user"))
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    set_value("recall_threshold", "0.2", "user")
    assert link.is_symlink()
    assert target.read_text() == "recall_threshold: 0.2\n"


def test_a_write_that_fails_leaves_the_old_file(monkeypatch: pytest.MonkeyPatch) -> None:
    path = _user("recall_threshold: 0.1\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ConfigError, match="No space left"):
        set_value("recall_threshold", "0.2", "user")
    assert path.read_text() == "recall_threshold: 0.1\n"
    assert [each.name for each in path.parent.iterdir() if each.suffix == ".tmp"] == []


def test_changes_made_at_once_are_all_kept() -> None:
    numbers = {"index_workers": "7", "recall_threshold": "0.1", "dedup_threshold": "0.2", "depth_min_tokens": "9"}
    threads = [threading.Thread(target=set_value, args=(key, text, "user")) for key, text in numbers.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(tuning_file.read(tuning_path("user")).entries) == set(numbers)


_PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=30).filter(str.isprintable)


@given(
    items=st.lists(_PRINTABLE.filter(lambda text: bool(text.strip())), max_size=5),
    ratio=st.floats(0, 1),
    uri=_PRINTABLE,
)
def test_what_is_written_is_what_is_read(items: list[str], ratio: float, uri: str) -> None:
    path = tuning_path("user")
    changes: dict[str, object] = {"exclude": tuple(items), "recall_threshold": ratio, "store_uri": uri}
    tuning_file.edit(path, changes)
    settings = load_settings(None)
    assert (settings.exclude, settings.recall_threshold, settings.store_uri) == (tuple(items), ratio, uri)


def test_every_setting_is_described() -> None:
    for key, known in TABLE.items():
        assert known.help.endswith("."), key
        assert known.allowed
        assert known.check(known.default, "default") == getattr(Settings(), key)


def test_a_project_may_lower_what_costs_the_user_and_not_raise_it(tmp_path: Path) -> None:
    (tmp_path / ".sage").mkdir()
    file = tmp_path / ".sage" / "tuning.yaml"
    file.write_text("index_workers: 64\nmax_file_bytes: 100000000\nparse_timeout_s: 600\n")
    found = load_settings(str(tmp_path))
    assert (found.index_workers, found.max_file_bytes, found.parse_timeout_s) == (0, 1_000_000, 10.0)
    assert len([said for said in found.warnings if "may lower" in said]) == 3
    file.write_text("index_workers: 1\nmax_file_bytes: 1000\nparse_timeout_s: 1\n")
    found = load_settings(str(tmp_path))
    assert (found.index_workers, found.max_file_bytes, found.parse_timeout_s) == (1, 1_000, 1.0)
    assert not found.warnings
    set_value("max_file_bytes", "5000000", "user")
    file.write_text("max_file_bytes: 4000000\n")
    assert load_settings(str(tmp_path)).max_file_bytes == 4_000_000
    with pytest.raises(ConfigError, match="may lower"):
        set_value("max_file_bytes", "6000000", "project", str(tmp_path))
