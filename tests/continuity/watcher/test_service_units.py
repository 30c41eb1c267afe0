"""The files for systemd and launchd hold any path, and are replaced and removed only as Sage wrote them."""

from __future__ import annotations

import json
import os
import plistlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code.continuity.watcher import process, service_units
from sage_code.errors import UsageError

Run = Callable[..., Any]
ODD = '/opt/a "b" %h $HOME \\n <&> é/python'


def test_the_unit_of_systemd(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", ODD)
    monkeypatch.setenv("SAGE_HOME", "/home/a b%c/.sage")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/cfg")
    lines = service_units.systemd_unit().splitlines()
    (start,) = [line for line in lines if line.startswith("ExecStart=")]
    assert start.startswith("ExecStart=:")  # no variables are replaced
    words = [word.replace("%%", "%") for word in shlex.split(start.removeprefix("ExecStart=:"))]
    assert words == [ODD, "-P", "-m", "sage_code.continuity.watcher"]
    assert 'Environment="SAGE_HOME=/home/a b%%c/.sage"' in lines
    assert 'Environment="CLAUDE_CONFIG_DIR=/cfg"' in lines
    assert "WantedBy=default.target" in lines


def test_the_agent_of_launchd(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", ODD)
    monkeypatch.setenv("CODEX_HOME", "/c&d")
    read = plistlib.loads(service_units.plist().encode())
    assert read["ProgramArguments"] == [ODD, "-P", "-m", "sage_code.continuity.watcher"]
    assert read["EnvironmentVariables"]["CODEX_HOME"] == "/c&d"
    assert (read["Label"], read["RunAtLoad"]) == ("dev.sage.watcher", True)
    assert service_units.is_unedited(service_units.plist().encode())


@pytest.mark.parametrize("make", [service_units.systemd_unit, service_units.plist])
def test_a_line_end_in_a_path_is_refused(make: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/x\nExecStartPre=/bin/evil")
    with pytest.raises(UsageError, match="control character"):
        make()


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_install_and_uninstall(sage: Run, home: Path, system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    result = sage("watcher", "install", "--json")
    document = json.loads(result.out)
    path = Path(document["path"])
    assert (result.code, document["action"], document["enabled"]) == (0, "written", False)
    assert path.is_relative_to(home)
    assert document["next"].startswith("systemctl --user enable" if system == "linux" else "launchctl bootstrap gui/")
    assert json.loads(sage("watcher", "install", "--json").out)["action"] == "unchanged"
    before = path.read_bytes()
    path.write_bytes(before + b"\n# mine\n")
    for command in ("install", "uninstall"):
        refused = sage("watcher", command)
        assert refused.code == 2
        assert path.read_bytes().endswith(b"# mine\n")
    path.write_bytes(before.replace(process.MODULE.encode(), b"os"))
    assert not service_units.is_unedited(path.read_bytes())
    path.write_bytes(before)
    wants = path.parent / "default.target.wants"
    wants.mkdir()
    (wants / service_units.UNIT).symlink_to(path)
    assert json.loads(sage("watcher", "uninstall", "--json").out)["action"] == "removed"
    assert not path.exists()
    assert not (wants / service_units.UNIT).is_symlink()
    absent = sage("watcher", "uninstall")
    assert (absent.code, "no service" in absent.out) == (1, True)


def test_an_older_file_of_sage_is_replaced(sage: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "cfg"))
    monkeypatch.setenv("CODEX_HOME", "/before")
    sage("watcher", "install")
    monkeypatch.setenv("CODEX_HOME", "/after")
    assert json.loads(sage("watcher", "install", "--json").out)["action"] == "written"
    assert "/after" in (home / "cfg/systemd/user/sage-watcher.service").read_text()


def test_enable_runs_the_commands_and_says_what_failed(sage: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    tools = home / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    missing = sage("watcher", "install", "--enable")
    assert (missing.code, "no `systemctl`" in missing.err) == (2, True)
    fake = tools / "systemctl"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {home}/ran\n')
    fake.chmod(0o755)
    assert json.loads(sage("watcher", "install", "--enable", "--json").out)["enabled"]
    assert (home / "ran").read_text() == "--user daemon-reload\n--user enable --now sage-watcher.service\n"
    fake.write_text("#!/bin/sh\necho no bus >&2\nexit 1\n")
    failed = sage("watcher", "install", "--enable")
    assert (failed.code, "no bus" in failed.err) == (2, True)
    assert os.path.exists(service_units.service().path)
