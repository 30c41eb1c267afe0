"""A run that is killed leaves the old index or the new one, and the next run redoes only what was lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from sage_code.compiled.generation import GenerationWriter
from sage_code.index import registry
from sage_code.index.manifest import Manifest, load_manifest
from sage_code.paths import codebase_dir
from sage_code.store.lance import Store

Answer = Callable[..., dict]
KilledAt = Callable[[object, str, str], AbstractContextManager[None]]


class Killed(BaseException):
    """No handler of ours catches it, as none catches SIGKILL."""


@pytest.fixture
def killed_at(monkeypatch: pytest.MonkeyPatch) -> KilledAt:
    """Ends the process right before or right after a step."""

    @contextmanager
    def kill(owner: object, method: str, when: str) -> Iterator[None]:
        step = getattr(owner, method)

        def last_step(*words: object, **options: object) -> None:
            if when == "after":
                step(*words, **options)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(owner, method, last_step)
            with pytest.raises(Killed):
                yield

    return kill


@pytest.mark.slow
def test_killed_at_random_moments(prove: Callable[..., None], seed: int) -> None:
    prove("crash.py", "--runs", "6", "--files", "100", "--seed", str(seed))


# Everything that can be seen from outside, in the order of a run.
@pytest.mark.parametrize(
    ("owner", "method"),
    [(Store, "add"), (GenerationWriter, "publish"), (registry, "record"), (Manifest, "save")],
    ids=["add", "publish", "register", "save"],
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_between_two_steps(
    sample: Path,
    answer: Answer,
    finds: Callable[..., list[str]],
    killed_at: KilledAt,
    owner: object,
    method: str,
    when: str,
) -> None:
    """The gaps that chance rarely hits."""
    answer("index", sample)
    (sample / "new.py").write_text("def newcomer():\n    return 1\n")
    with killed_at(owner, method, when):
        answer("index", sample)
    assert finds(sample, "Server.start") == ["server.py"]  # the old index answers, or the new one
    stored = (owner, when) != (Store, "before")
    assert answer("index", sample)["chunks_created"] == (0 if stored else 1)
    assert finds(sample, "newcomer") == ["new.py"]
    assert answer("admin", "verify", sample, "--check")["clean"]
    assert answer("projects", "list")["projects"][0]["files"] == 3
    assert not list(Path(codebase_dir(str(sample))).rglob("*.tmp"))


def test_killed_before_its_first_manifest_is_still_listed(sample: Path, answer: Answer, killed_at: KilledAt) -> None:
    """Rows of a project that is not listed are rubbish to `sage admin compact`."""
    with killed_at(Manifest, "save", "before"):
        answer("index", sample)
    assert load_manifest(str(sample)) is None
    assert [entry["root"] for entry in answer("projects", "list")["projects"]] == [str(sample)]


@pytest.mark.parametrize("command", ["rebuild-embeddings", "verify"])
def test_a_killed_repair_is_finished_by_the_next_run(
    sample: Path, answer: Answer, open_store: Callable[[], Store], killed_at: KilledAt, command: str
) -> None:
    """Repairs delete rows first: killed right then, `sage index` alone has to bring them back."""
    answer("index", sample)
    rows = open_store().count()
    open_store()._chunks.delete("path = 'server.py'")
    with killed_at(Store, "delete", "after"):
        answer("admin", command, sample)
    answer("index", sample)
    assert open_store().count() == rows
    assert answer("admin", "verify", sample, "--check")["clean"]
