"""What every test runs under: a home of its own, and none of the developer's `SAGE_*` variables."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import hypothesis
import pytest

if TYPE_CHECKING:
    from s3_server import CountingProxy, S3Server

    from sage_code.store.rows import FileRows

_NOBODY = 65534
# Time never fails a test: the machine may be busy. Every run of `make test` tries the same examples; `make explore`
# (tests/explore.py) tries others, and says how to try those again.
hypothesis.settings.register_profile(
    "sage",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize=True,
    database=None,
)
hypothesis.settings.register_profile(
    "explore", hypothesis.settings.get_profile("sage"), derandomize=False, max_examples=500, print_blob=True
)
hypothesis.settings.load_profile("sage")
SEED_VARIABLE = "EXPLORE_SEED"


@pytest.fixture(scope="session")
def seed() -> int:
    """What a test that draws by chance starts from: always the same, except under `make explore`."""
    return int(os.environ.get(SEED_VARIABLE, "1"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that `make explore` runs: those of Hypothesis, and those that draw by themselves.

    Tests with a browser come last: its loop runs in the main thread until the end, where others could start none.
    """
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
    for item in items:
        if hypothesis.is_hypothesis_test(getattr(item, "obj", None)) or "seed" in getattr(item, "fixturenames", ()):
            item.add_marker("chance")


@pytest.fixture(autouse=True, scope="session")
def usual_signals() -> None:
    """Undo what `nohup make test &` does: the processes that tests start and end would ignore these signals too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="module")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SAGE_HOME for the tests of a module that ask an index which was made once: it counts only for its own user."""
    return tmp_path_factory.mktemp("home") / ".sage"


@pytest.fixture(autouse=True)
def sage_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A temporary HOME and SAGE_HOME; the real ones are never touched. The latter does not exist yet."""
    for variable in os.environ:
        if variable.startswith("SAGE_"):
            monkeypatch.delenv(variable)
    shared: Path | None = request.getfixturevalue("shared_home") if "shared_home" in request.fixturenames else None
    home = shared.parent if shared else tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):  # where agents keep theirs
        monkeypatch.delenv(variable, raising=False)
    for variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("SAGE_HOME", str(home / ".sage"))
    return home / ".sage"


class Outcome(NamedTuple):
    """What a command line gave."""

    code: int
    out: str
    err: str


@pytest.fixture
def sage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs the `sage` command in this process, from its entry to its exit code."""
    from sage_cli.entry import main

    def run(*words: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["sage", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        assert isinstance(ended.value.code, int)
        return Outcome(ended.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A small project: two languages, one name in both, something to skip."""
    root = tmp_path / "sample"
    (root / "web").mkdir(parents=True)
    (root / "server.py").write_text(
        '''"""Serves."""

LIMIT = 10


class Server:
    """Listens and answers."""

    def start(self, port: int) -> None:
        """Open the port."""
        self.port = port

    def stop(self):
        self.port = None


def connect(host, retries=3):
    """Reach a host."""
    return [host] * retries
'''
    )
    (root / "web" / "client.ts").write_text(
        "export interface Options { url: string }\n\nexport function connect(options: Options): string {\n"
        "  return options.url;\n}\n"
    )
    (root / "logo.bin").write_bytes(bytes(range(256)) * 8)
    return root


def rows_of(path: str, text: str, dim: int = 8) -> FileRows:
    """The rows of a Python file, cut as always and with made-up vectors."""
    import numpy as np
    import xxhash

    from sage_code.chunk.chunker import chunk_text
    from sage_code.chunk.embedded_text import embedded_text
    from sage_code.index.manifest import file_key
    from sage_code.languages.table import by_name
    from sage_code.parse.definitions import parse
    from sage_code.store.rows import FileRows, text_hash

    python = by_name("python")
    assert python is not None
    parsed = parse(text.encode(), python)
    assert parsed is not None
    chunks = tuple(chunk_text(text, parsed.symbols, parsed.borders))
    texts = tuple(map(embedded_text, chunks))
    hashes = tuple(map(text_hash, texts))
    seeds = [int(digest[:8], 16) for digest in hashes]
    vectors = np.array([np.random.default_rng(seed).standard_normal(dim) for seed in seeds], np.float32)
    key = file_key(path, xxhash.xxh3_128_hexdigest(text.encode()))
    return FileRows(key, path, "python", chunks, texts, hashes, vectors.reshape(-1, dim))


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """A real S3 server; it is started for the first test that needs it, once for each process of pytest."""
    sys.path.insert(0, str(Path(__file__).parent / "store"))
    from s3_server import running_s3

    with running_s3() as server:
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The same, with its keys in the environment of this test; `s3.bucket()` is the URI of an empty bucket."""
    for name, value in s3_server.environment().items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def s3_way(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingProxy]:
    """The way to it, which counts requests and can be closed; it is the endpoint in the environment of this test."""
    from s3_server import CountingProxy

    way = CountingProxy(s3)
    monkeypatch.setenv("AWS_ENDPOINT_URL", way.endpoint)
    yield way
    way.stop()


@pytest.fixture(name="rows_of", scope="session")
def rows_of_fixture() -> Callable[..., FileRows]:
    """`rows_of` for tests that need rows and do not care what is in them."""
    return rows_of


@pytest.fixture
def write() -> Callable[[Path, dict[str, str | bytes]], Path]:
    """Fills a folder; the values are the contents of the files."""

    def fill(root: Path, files: dict[str, str | bytes]) -> Path:
        root.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return root

    return fill


@pytest.fixture
def as_ordinary_user() -> Callable[[Path], AbstractContextManager[None]]:
    """Permissions mean nothing to root: for a while the process is nobody, who owns the folder and a home."""

    @contextmanager
    def drop(root: Path) -> Iterator[None]:
        if os.geteuid() != 0:
            yield
            return
        home = Path(os.environ["SAGE_HOME"])
        home.mkdir(parents=True, exist_ok=True)
        for folder in (home, *home.rglob("*"), root, *root.rglob("*")):
            os.lchown(folder, _NOBODY, _NOBODY)
        for parent in {*root.parents, *home.parents} - {Path("/")}:
            parent.chmod(parent.stat().st_mode | 0o011)
        os.setegid(_NOBODY)
        os.seteuid(_NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)

    return drop
