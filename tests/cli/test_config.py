"""`sage config` as a person or a script meets it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from sage_cli.config_commands import app
from sage_code.errors import ConfigError, UsageError
from sage_code.settings.loading import load_settings
from sage_code.settings.table import TABLE


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def test_set_get_list_and_reset_round_trip(project: Path, sage_home: Path) -> None:
    assert "recall_threshold = 0.5" in _run("set", "recall_threshold", "0.5").stdout
    assert (sage_home / "tuning.yaml").read_text() == "recall_threshold: 0.5\n"
    assert _run("get", "recall_threshold").stdout == "0.5\n"
    help_line = TABLE["recall_threshold"].help
    assert f"recall_threshold\t0.5\tuser\t{sage_home}/tuning.yaml:1\t{help_line}\n" in _run("list").stdout
    assert "reset recall_threshold" in _run("reset").stdout
    assert _run("get", "recall_threshold").stdout == "0.7\n"


def test_a_project_setting_is_found_from_any_folder_in_it(project: Path, sage_home: Path) -> None:
    _run("set", "exclude", "vendor/,*.min.js", "--scope", "project", "--project", "src")
    assert (project / ".sage" / "tuning.yaml").read_text() == "exclude: [vendor/, '*.min.js']\n"
    assert _run("get", "exclude", "--project", "src").stdout == "vendor/,*.min.js\n"
    assert not (sage_home / "tuning.yaml").exists()
    _run("reset", "exclude", "--scope", "project")
    assert _run("get", "exclude").stdout == "\n"


def test_json_says_everything(project: Path) -> None:
    _run("set", "index_workers", "2")
    listing = json.loads(_run("list", "--json").stdout)
    assert [row["key"] for row in listing["settings"]] == list(TABLE)
    assert listing["warnings"] == []
    one = json.loads(_run("get", "index_workers", "--json").stdout)
    assert one in listing["settings"]
    assert (one["value"], one["default"], one["source"]) == (2, 0, "user")
    assert one["allowed"] == "a whole number from 0 to 64"


def test_what_get_prints_set_takes_back(project: Path) -> None:
    for key in ("exclude", "include_generated", "recall_threshold"):
        before = {"exclude": '["a,b", "c"]', "include_generated": "true", "recall_threshold": "0.25"}[key]
        _run("set", key, before)
        value = getattr(load_settings(None), key)
        _run("set", key, _run("get", key).stdout.strip())
        assert getattr(load_settings(None), key) == value


def test_set_says_when_another_source_wins(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGE_RECALL_THRESHOLD", "0.9")
    result = _run("set", "recall_threshold", "0.5")
    assert "SAGE_RECALL_THRESHOLD sets recall_threshold too" in result.stderr


def test_a_hostile_project_is_named_on_stderr_and_not_obeyed(project: Path) -> None:
    (project / ".sage").mkdir()
    (project / ".sage" / "tuning.yaml").write_text("store_uri: s3://evil\n")
    result = _run("get", "store_uri")
    assert result.stdout == "\n"
    assert "warning: " in result.stderr
    assert "tuning.yaml:1: ignored, store_uri is for the user to decide" in result.stderr


def test_nothing_to_reset_exits_with_one(project: Path) -> None:
    assert "nothing to reset" in _run("reset", code=1).stderr


@pytest.mark.parametrize(
    "arguments", [["get", "recal_threshold"], ["set", "recal_threshold", "1"], ["reset", "recal_threshold"]]
)
def test_a_wrong_key_is_an_error_with_the_nearest(project: Path, arguments: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        _run(*arguments)
    assert caught.value.hint == "did you mean recall_threshold?"


def test_a_path_that_does_not_exist_is_an_error(project: Path) -> None:
    with pytest.raises(UsageError, match="there is no nowhere"):
        _run("list", "--project", "nowhere")


def test_wrong_usage_exits_with_two(project: Path) -> None:
    _run("set", "recall_threshold", code=2)


def test_help_has_examples() -> None:
    for command in ("list", "get", "set", "reset"):
        text = re.sub(r"\x1b\[[0-9;]*m", "", _run(command, "--help").output)
        assert f"Example: sage config {command}" in re.sub(r" +", " ", text)


def test_config_list_says_what_each_setting_does_at_any_width_without_broken_words(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sage_cli.config_commands import list_settings

    _run("set", "store_uri", "s3://[bold]x[/bold]")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for width in (60, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        list_settings()
        shown = capsys.readouterr().out
        assert "store_uri = s3://[bold]x[/bold]" in shown
        assert all(len(line) <= width or " " not in line.strip() for line in shown.split("\n"))
        words = " ".join(shown.split())
        assert all(" ".join(known.help.split()) in words for known in TABLE.values())


KEY = "sk-ant-api03-Zk4v9Qm2Lx7Tn1Rw8Yp3Hs6Jd5Fc0Bg-uVeXoKiAa"


def test_a_key_is_never_printed(
    project: Path, sage_home: Path, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def printed(*words: str, code: int | None = 0) -> str:
        outcome = sage(*words)
        assert code is None or outcome.code == code, outcome.err
        assert KEY not in outcome.out + outcome.err
        return f"{outcome.out}{outcome.err}"

    assert f"anthropic_api_key = ***  ({sage_home}/config.yaml)" in printed("config", "set", "anthropic_api_key", KEY)
    assert printed("config", "get", "anthropic_api_key") == "***\n"
    assert json.loads(printed("config", "get", "anthropic_api_key", "--json"))["value"] == "***"
    rows = {row["key"]: row for row in json.loads(printed("config", "list", "--json"))["settings"]}
    assert rows["anthropic_api_key"]["value"] == "***"
    assert rows["openai_api_key"]["value"] == ""
    assert "anthropic_api_key\t***\tuser\t" in printed("config", "list")
    printed("config", "set", "openai_api_key", f"{KEY} {KEY}", code=2)
    printed("config", "set", "openai_api_key", KEY, "--scope", "project", code=2)
    monkeypatch.setenv("SAGE_OPENAI_API_KEY", f"{KEY} x")
    printed("config", "list", code=2)
    printed("config", "list", "--json", code=2)
    monkeypatch.setenv("SAGE_OPENAI_API_KEY", KEY)
    printed("config", "list")
    printed("doctor", "--json", code=None)
    printed("status", code=None)
    assert "reset anthropic_api_key" in printed("config", "reset", "anthropic_api_key")
    assert [path for path in sage_home.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_key_can_be_read_from_stdin(project: Path, sage_home: Path) -> None:
    result = CliRunner().invoke(app, ["set", "openai_api_key", "-"], input=f"{KEY}\n", catch_exceptions=False)
    assert (result.exit_code, KEY in result.output) == (0, False)
    assert load_settings(None).openai_api_key == KEY
