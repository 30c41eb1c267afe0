"""Each broken part gives a finding with a fix, and does not stop the other checks."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project, __version__
from sage_code.agents.install import install
from sage_code.agents.table import AGENTS, config_file
from sage_code.doctor import examination, round_trip
from sage_code.doctor.agents import agent_findings
from sage_code.doctor.findings import Finding
from sage_code.paths import compiled_dir, manifest_path

Examine = Callable[..., dict[str, Finding]]


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch) -> Examine:
    """The first finding of every check, with the round trip left out: it takes seconds and has a test of its own."""

    def look(root: Path) -> dict[str, Finding]:
        monkeypatch.setattr(examination, "ask_version", lambda _version: iter([Finding("mcp", "ok", "left out")]))
        findings = examination.examine(str(root), __version__)
        return {finding.check: finding for finding in reversed(findings)}

    return look


def test_a_healthy_machine(sample: Path, sage: Callable[..., Any]) -> None:
    Project.open(sample).index()
    (Path.home() / ".cursor").mkdir()
    install(AGENTS["cursor"], "user", str(sample), [sys.executable, "-P", "-m", "sage_mcp.server"])
    result = sage("doctor", str(sample))
    assert result.code == 0, result.out
    assert "ERROR" not in result.out
    assert "answers with" in result.out
    assert "Cursor" in result.out


def test_an_examination_creates_nothing(tmp_path: Path, sage_home: Path, examine: Examine) -> None:
    found = examine(tmp_path)
    assert found["index"].level == "warning"
    assert "sage index" in found["index"].fix
    assert found["store"].level == found["home"].level == "ok"
    assert not sage_home.exists()
    assert not list(tmp_path.iterdir())


def test_a_broken_index_and_store(sample: Path, sage_home: Path, examine: Examine) -> None:
    Project.open(sample).index()
    shutil.rmtree(Path(compiled_dir(str(sample))).resolve())
    assert "brings them back" in examine(sample)["index"].fix
    Path(manifest_path(str(sample))).write_text("{")
    (table,) = (sage_home / "codebase" / "lancedb").glob("chunks*.lance")
    for file in (table / "_versions").iterdir():
        file.write_bytes(b"no manifest")
    found = examine(sample)
    assert (found["index"].level, found["store"].level) == ("error", "error")
    assert "admin verify" in found["store"].fix
    assert found["model"].level == "ok"


def test_a_home_that_cannot_be_written_to(tmp_path: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SAGE_HOME", str(tmp_path / "file" / ".sage"))
    found = examine(tmp_path)["home"]
    assert found.level == "error"
    assert "SAGE_HOME" in found.fix


def test_settings_and_models(sample: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample / ".sage").mkdir()
    (sample / ".sage" / "tuning.yaml").write_text("store_uri: s3://elsewhere\n")
    assert examine(sample)["settings"].level == "warning"
    monkeypatch.setenv("SAGE_CODE_EMBEDDING_MODEL", "no such model")
    found = examine(sample)
    assert found["model"].level == "error"
    assert "bundled" in found["model"].fix


def test_findings_about_agents(tmp_path: Path) -> None:
    (finding,) = agent_findings(str(tmp_path), "1.0")
    assert finding.level == "note"
    cursor = AGENTS["cursor"]
    (Path.home() / ".cursor").mkdir()
    (finding,) = agent_findings(str(tmp_path), "1.0")
    assert "--agent cursor" in finding.fix
    path = Path(config_file(cursor, "user", ""))
    cases: list[tuple[Any, str, str]] = [
        ({"command": "/no/such/sage-mcp", "args": []}, "error", "cannot be started"),
        ({"command": sys.executable, "args": ["--from", "sage-code==0.9", "sage-mcp"]}, "warning", "starts 0.9"),
        ({"command": sys.executable, "args": ["-m", "sage_mcp.server"], "disabled": True}, "note", "switched off"),
        ({"command": "crm"}, "warning", "not Sage's"),
        ({"command": sys.executable, "args": ["-m", "sage_mcp.server"]}, "ok", "Cursor"),
    ]
    for entry, level, message in cases:
        path.write_text(json.dumps({"mcpServers": {"sage": entry}}))
        (finding,) = agent_findings(str(tmp_path), "1.0")
        assert (finding.level, message in finding.message) == (level, True), finding
        assert bool(finding.fix) == (level != "ok")
    (finding,) = agent_findings(str(Path.home()), "1.0")  # the user's file is also the one of this folder
    path.write_text("{")
    (finding,) = agent_findings(str(tmp_path), "1.0")
    assert finding.level == "error"


@pytest.mark.parametrize(
    "command", [["/no/such/program"], [sys.executable, "-c", "print('no server')"]], ids=["missing", "silent"]
)
def test_a_server_that_does_not_answer(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(round_trip, "server_command", lambda _scope: command)
    monkeypatch.setattr(round_trip, "_TIMEOUT_S", 5)
    (finding,) = round_trip.ask_version(__version__)
    assert finding.level == "error"
    assert "does not answer" in finding.message
    assert command[0] in finding.fix


def test_a_server_of_another_version() -> None:
    (finding,) = round_trip.ask_version("0.0.0")
    assert (finding.level, finding.fix) == ("error", "reinstall sage-code")


def test_an_unexpected_error_is_a_finding_too(sample: Path, examine: Examine, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(examination, "_home", broken)
    found = examine(sample)
    assert "out of luck" in found["home"].message
    assert found["model"].level == "ok"
