"""Two people with homes of their own, a repository that both have cloned, and a shared index between them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.embed.bundled import BundledEmbedder
from sage_code.index.outcome import IndexStats
from sage_code.index.shared.pushing import PushReport, push_index
from sage_code.index.shared.signing import new_key
from sage_code.progress import Silent

_IDENTITY = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(root: Path, *words: str) -> str:
    """Run git without this machine's settings."""
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **_IDENTITY}
    done = subprocess.run(["git", "-C", str(root), *words], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _function(number: int) -> str:
    """A function, long enough that a file of them has several chunks."""
    lines = (f"    total_{number} += values[{line}] * {line}\n" for line in range(8))
    return f"def work_{number}(values):\n    total_{number} = 0\n{''.join(lines)}    return total_{number}\n"


class Notes(Silent):
    """Remembers what a run says."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)


@dataclass
class Team:
    """CI and one who reads, with what both need to know of each other."""

    folder: Path
    patch: pytest.MonkeyPatch
    store: str
    key: str = ""
    embedded: list[str] = field(default_factory=list)

    @property
    def ci(self) -> Path:
        """CI's checkout."""
        return self.folder / "ci" / "work"

    @property
    def laptop(self) -> Path:
        """The reader's clone, in another place and of another name."""
        return self.folder / "laptop" / "src" / "cloned"

    @contextmanager
    def at(self, who: str, *, trusts: str | None = None) -> Iterator[None]:
        """Be one of them: a home, a store and settings of one's own."""
        with self.patch.context() as here:
            here.setenv("SAGE_HOME", str(self.folder / who / ".sage"))
            here.setenv("SAGE_SHARED_INDEX", self.store)
            if trusted := self.key if trusts is None else trusts:
                here.setenv("SAGE_SHARED_TRUSTED_KEYS", trusted)
            yield

    def push(self, *, anyway: bool = False, who: str = "ci") -> PushReport:
        """Index CI's checkout and publish it."""
        with self.at(who):
            Project.open(self.ci).index()
            return push_index(str(self.ci), Project.open(self.ci).settings, anyway=anyway)

    def clone(self) -> Path:
        """Clone CI's repository for the reader; both have the same `origin`."""
        self.laptop.parent.mkdir(parents=True)
        git(self.ci, "clone", "-q", str(self.ci), str(self.laptop))
        git(self.laptop, "remote", "set-url", "origin", "git@git.example.org:team/work.git")
        return self.laptop

    def index(self, *, trusts: str | None = None) -> tuple[IndexStats, list[str], list[str]]:
        """Index the reader's clone; returns the figures, what was said and the texts that were embedded."""
        notes = Notes()
        self.embedded.clear()
        with self.at("laptop", trusts=trusts):
            stats = Project.open(self.laptop).index(progress=notes)
        return stats, notes.said, list(self.embedded)


@pytest.fixture
def team(tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A committed sample in CI's checkout and a folder as the shared index; nothing is published yet."""
    made = Team(tmp_path, monkeypatch, str(tmp_path / "published"))
    real_code, real_words = BundledEmbedder.embed_code, BundledEmbedder.embed_words

    def embed_code(self: BundledEmbedder, texts: Any) -> Any:
        made.embedded.extend(texts)
        return real_code(self, texts)

    def embed_words(self: BundledEmbedder, words: Any, texts: Any) -> Any:
        made.embedded.extend(texts)
        return real_words(self, words, texts)

    monkeypatch.setattr(BundledEmbedder, "embed_code", embed_code)
    monkeypatch.setattr(BundledEmbedder, "embed_words", embed_words)
    made.ci.parent.mkdir()
    sample.rename(made.ci)
    (made.ci / "notes.md").write_text("# Hosts\n\nHow a host is reached.\n\n# Ports\n\nWhich ports are open.\n")
    (made.ci / "many.py").write_text("\n\n".join(_function(number) for number in range(30)))
    git(made.ci, "init", "-q")
    git(made.ci, "remote", "add", "origin", "https://ci:secret@git.example.org/team/work.git")
    git(made.ci, "add", "-A")
    git(made.ci, "commit", "-q", "-m", "one")
    with made.at("ci", trusts=""):
        made.key = new_key()
    return made


@pytest.fixture
def answers() -> Callable[[Path], list[tuple[str, list[tuple[str, int]]]]]:
    """What a project answers to some questions, by words and by meaning."""
    questions = ["reach a host", "connect", "Server.start", "open the port", "options url", "LIMIT"]

    def ask(root: Path) -> list[tuple[str, list[tuple[str, int]]]]:
        project = Project.open(root)
        return [(text, [(hit.file, hit.start_line) for hit in project.search(text).results]) for text in questions]

    return ask
