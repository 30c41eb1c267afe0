"""Settings that are secret: where they may be, and that nothing shows them."""

from __future__ import annotations

import os
import pickle
import stat
import traceback
from pathlib import Path

import pytest

from sage_code.errors import ConfigError
from sage_code.settings.loading import Settings, file_of, load_settings, reset, set_value
from sage_code.settings.table import HIDDEN, TABLE

KEY = "sk-ant-api03-Zk4v9Qm2Lx7Tn1Rw8Yp3Hs6Jd5Fc0Bg-uVeXoKiAa"
SECRETS = [key for key, known in TABLE.items() if known.secret]


def _secrets(home: Path, text: str, mode: int = 0o600) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    path = home / "config.yaml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_the_keys_are_secret_and_for_the_user_alone() -> None:
    assert SECRETS == ["store_access_key_id", "store_secret_access_key", "anthropic_api_key", "openai_api_key"]
    assert all(TABLE[key].user_only for key in SECRETS)


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_has_a_private_file_of_its_own(key: str, sage_home: Path) -> None:
    set_value("recall_threshold", "0.5", "user")
    set_value(key, KEY, "user")
    path = sage_home / "config.yaml"
    assert file_of(key, "user") == str(path)
    assert path.read_text() == f"{key}: {KEY}\n"
    assert KEY not in (sage_home / "tuning.yaml").read_text()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert getattr(load_settings(None), key) == KEY
    assert reset("user") == ("recall_threshold",)  # everything, but secrets only by name
    assert reset("user", key=key) == (key,)
    assert not path.exists()
    assert load_settings(None) == Settings()


def test_the_order_of_sources(sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> tuple[str, str]:
        settings = load_settings(None)
        return settings.anthropic_api_key, settings.origin("anthropic_api_key").where

    monkeypatch.setenv("ANTHROPIC_API_KEY", "common")  # of other programs too, so Sage's own file comes before it
    assert seen() == ("common", "ANTHROPIC_API_KEY")
    path = _secrets(sage_home, "anthropic_api_key: own\n")
    assert seen() == ("own", f"{path}:1")
    monkeypatch.setenv("SAGE_ANTHROPIC_API_KEY", "now")
    assert seen() == ("now", "SAGE_ANTHROPIC_API_KEY")


def test_an_unusable_variable_of_others_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY} with blanks")
    settings = load_settings(None)
    assert settings.openai_api_key == ""
    assert settings.warnings == (f"OPENAI_API_KEY: openai_api_key cannot be {HIDDEN}; ignored",)


def test_a_secret_elsewhere_is_ignored_and_not_quoted(sage_home: Path, tmp_path: Path) -> None:
    (tmp_path / ".sage").mkdir()
    sage_home.mkdir(parents=True)
    for path in (tmp_path / ".sage" / "tuning.yaml", sage_home / "tuning.yaml", tmp_path / ".sage" / "config.yaml"):
        path.write_text(f"anthropic_api_key: {KEY}\n")
    settings = load_settings(str(tmp_path))
    assert settings.anthropic_api_key == ""
    user, project = settings.warnings
    assert "move the line to" in user
    assert "for the user to decide" in project
    assert KEY not in user + project
    with pytest.raises(ConfigError) as refused:
        set_value("anthropic_api_key", KEY, "project", str(tmp_path))
    assert KEY not in str(refused.value)


def test_other_settings_in_the_file_of_secrets_are_ignored(sage_home: Path) -> None:
    _secrets(sage_home, "recall_threshold: 0.1\nopenai_api_key: k\n")
    settings = load_settings(None)
    assert (settings.recall_threshold, settings.openai_api_key) == (0.7, "k")
    assert "'recall_threshold' is no secret" in settings.warnings[0]


@pytest.mark.skipif(os.name != "posix", reason="rights of files")
def test_a_file_that_others_can_read_is_said(sage_home: Path) -> None:
    _secrets(sage_home, "openai_api_key: k\n", 0o644)
    assert "chmod 600" in load_settings(None).warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        f"anthropic_api_key: [{KEY}",
        f"anthropic_api_key: '{KEY}",
        f"anthropic_api_key: !{KEY} x",
        f"anthropic_api_key: *{KEY}",
        f"- {KEY}",
        f"anthropic_api_key: [{KEY}]",
        f"anthropic_api_key: {{{KEY}: {KEY}}}",
        f'anthropic_api_key: "{KEY} {KEY}"',
        f"{KEY}: 1\n{KEY}: 2",
        f"anthropic_api_key: {KEY}\nx: 2026-99-99",
    ],
)
def test_no_error_quotes_the_file_of_secrets(sage_home: Path, text: str) -> None:
    _secrets(sage_home, text)
    with pytest.raises(ConfigError) as refused:
        load_settings(None)
    assert str(sage_home / "config.yaml") in refused.value.message
    shown = "".join(traceback.format_exception(refused.value)) + refused.value.hint
    assert KEY not in shown
    assert refused.value.__cause__ is None


def test_no_representation_holds_a_secret() -> None:
    settings = load_settings(None, dict.fromkeys(SECRETS, KEY))
    assert KEY not in repr(settings)
    assert KEY not in repr(settings.sources)
    assert pickle.loads(pickle.dumps(settings)).anthropic_api_key == KEY
    assert TABLE["openai_api_key"].shown(KEY) == HIDDEN
    assert TABLE["openai_api_key"].shown("") == ""
