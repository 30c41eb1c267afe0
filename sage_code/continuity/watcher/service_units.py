"""Files that start the watcher with the user's session: a unit of systemd, or an agent of launchd on macOS.

A file that Sage wrote has a digest of itself in a comment. Only a file with a right digest is replaced or removed: what
somebody has edited is theirs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

import xxhash

from sage_code.continuity.watcher.process import FOLDER_VARIABLES, command
from sage_code.errors import SageError, UsageError
from sage_code.files.atomic import write_bytes
from sage_code.files.contained import read_regular

UNIT, LABEL = "sage-watcher.service", "dev.sage.watcher"
_MARK = "Written by `sage watcher install`; `sage watcher uninstall` removes it unless it was edited."
_DIGEST = re.compile(rb"sage-digest ([0-9a-f]{16})")
_MAX_BYTES = 64 << 10
_ENABLE_S = 30


@dataclass(frozen=True, slots=True)
class Service:
    """The file of a service."""

    path: str
    text: str
    enable: tuple[tuple[str, ...], ...]  # the commands that start it, now and at every login


def service() -> Service:
    """The service for this system; UsageError if it has no such thing."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        path = os.path.join(home, "Library", "LaunchAgents", f"{LABEL}.plist")
        return Service(path, plist(), (("launchctl", "bootstrap", f"gui/{os.getuid()}", path),))
    if sys.platform.startswith("linux"):
        config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        path = os.path.join(os.path.abspath(config), "systemd", "user", UNIT)
        reload = ("systemctl", "--user", "daemon-reload")
        return Service(path, systemd_unit(), (reload, ("systemctl", "--user", "enable", "--now", UNIT)))
    raise UsageError("this system has neither systemd nor launchd", "run `sage watcher start` after each login")


def systemd_unit() -> str:
    """The unit of systemd."""
    program, *arguments = command()
    # Systemd replaces variables in a command unless it begins with a colon.
    colon = ":" if "$" in program else ""
    variables = [f"Environment={_quoted(f'{name}={value}')}" for name, value in _variables().items()]
    lines = [
        "[Unit]",
        "Description=Sage watcher: finds compactions in the transcripts of coding agents",
        "",
        "[Service]",
        f"ExecStart={colon}{_quoted(program)} {' '.join(arguments)}",
        *variables,
        "Restart=on-failure",
        "RestartSec=10",
        "UMask=0077",
        "",
        "[Install]",
        "WantedBy=default.target",
        "",
    ]
    body = "\n".join(lines)
    return f"# {_MARK}\n# {_digest(body)}\n{body}"


def plist() -> str:
    """The agent of launchd."""
    import plistlib  # lazy: only macOS needs it

    for text in (*command(), *_variables().values()):
        _refuse_controls(text)
    values: dict[str, object] = {
        "Label": LABEL,
        "ProgramArguments": command(),
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ProcessType": "Background",
        "Umask": 0o077,
    }
    if _variables():
        values["EnvironmentVariables"] = _variables()
    head, _, body = plistlib.dumps(values).decode().partition("\n")
    return f"{head}\n<!-- {_MARK} {_digest(body)} -->\n{body}"


def install() -> tuple[Service, bool]:
    """Write the file; returns the service, and whether something has changed. UsageError for an edited file."""
    found = service()
    before = _read(found.path)
    if before == found.text.encode():
        return found, False
    if before is not None and not is_unedited(before):
        raise UsageError(f"{found.path} is there and was not written by Sage as it is", "move it away and try again")
    os.makedirs(os.path.dirname(found.path), exist_ok=True)
    write_bytes(found.path, found.text.encode())
    return found, True


def uninstall() -> tuple[Service, bool]:
    """Remove the file, and the link by which systemd starts it; whether it was there. UsageError for an edited file."""
    found = service()
    before = _read(found.path)
    if before is None:
        return found, False
    if not is_unedited(before):
        raise UsageError(f"{found.path} was edited", "remove it by hand if nothing in it is needed")
    wants = os.path.join(os.path.dirname(found.path), "default.target.wants", UNIT)
    if os.path.islink(wants) and os.path.realpath(wants) == os.path.realpath(found.path):
        os.unlink(wants)
    os.unlink(found.path)
    return found, True


def enable(found: Service) -> None:
    """Run the commands that start the service; SageError if one fails."""
    for words in found.enable:
        shown = " ".join(words)
        try:
            ended = subprocess.run(words, capture_output=True, text=True, timeout=_ENABLE_S, check=False)
        except FileNotFoundError:
            raise SageError(f"there is no `{words[0]}` here", "run `sage watcher start` instead") from None
        except subprocess.TimeoutExpired:
            raise SageError(f"`{shown}` does not end", "run it by hand") from None
        if ended.returncode:
            raise SageError(f"`{shown}` failed: {ended.stderr.strip()[:300]}", "the file was written: run it by hand")


def is_unedited(data: bytes) -> bool:
    """Whether a file is as Sage has written it."""
    mark = _DIGEST.search(data)
    if mark is None:
        return False
    body = data[data.find(b"\n", mark.end()) + 1 :]
    return mark[1].decode() == xxhash.xxh3_64_hexdigest(body)


def _digest(body: str) -> str:
    return f"sage-digest {xxhash.xxh3_64_hexdigest(body.encode())}"


def _variables() -> dict[str, str]:
    """The variables that the service needs, as they are here: it does not get those of a shell."""
    return {name: os.path.abspath(value) for name in FOLDER_VARIABLES if (value := os.environ.get(name))}


def _quoted(text: str) -> str:
    """A word of a unit: in quotes, with backslashes, quotes and per cent signs escaped."""
    _refuse_controls(text)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _refuse_controls(text: str) -> None:
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise UsageError(f"{text!r} holds a control character", "a service file cannot hold it: rename the folder")


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, _MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", "look at what it is, and move it away") from error
