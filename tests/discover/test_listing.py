"""Which files belong to a project: with git, without it, and in a hostile folder."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from sage_code.discover import gitfiles, membership
from sage_code.discover.listing import list_files
from sage_code.discover.membership import ByGit
from sage_code.discover.rules import DiscoverRules
from sage_code.errors import UsageError
from sage_code.values import SkippedFile, SkipReason, SourceFile

GitCommand = Callable[..., str]
AsUser = Callable[[Path], AbstractContextManager[None]]
Write = Callable[[Path, dict[str, str | bytes]], Path]
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")


@pytest.fixture(params=["git", "own"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def project(mode: str, tmp_path: Path, git: GitCommand) -> Path:
    """An empty project that git, or only Sage itself, will list."""
    root = tmp_path / "project"
    root.mkdir()
    if mode == "git":
        git(root, "init", "-q")
    return root


def listed(root: Path, rules: DiscoverRules | None = None, **options: bool) -> list[str]:
    found = list_files(str(root), rules or DiscoverRules(), **options)
    return [file.path for file in found if isinstance(file, SourceFile)]


def skipped(root: Path, rules: DiscoverRules | None = None, **options: bool) -> dict[str, str]:
    found = list_files(str(root), rules or DiscoverRules(), **options)
    return {file.path: file.reason.value for file in found if isinstance(file, SkippedFile)}


def test_files_come_with_size_and_time_in_the_order_of_their_paths(project: Path, write: Write) -> None:
    write(project, {"a/b.py": "x = 1\n", "a.py": "y\n", "a-b/c.py": "z\n"})
    os.utime(project / "a.py", ns=(0, 1_234_567_890))
    found = list(list_files(str(project), DiscoverRules()))
    assert [file.path for file in found] == ["a-b/c.py", "a.py", "a/b.py"]
    assert found[1] == SourceFile("a.py", 2, 1_234_567_890, (project / "a.py").stat().st_ctime_ns)


def test_nested_ignores_and_negation(project: Path, write: Write) -> None:
    write(project, {
        ".gitignore": "*.log\nbuild/\n!keep.log\n",
        "a.log": "x", "keep.log": "x", "build/out.py": "x", "src/a.log": "x",
        "src/.gitignore": "!a.log\n/only_here.py\n",
        "src/only_here.py": "x", "src/deep/only_here.py": "x", "src/deep/b.log": "x",
    })  # fmt: skip
    assert listed(project) == [
        ".gitignore", "keep.log", "src/.gitignore", "src/a.log", "src/deep/only_here.py",
    ]  # fmt: skip


def test_sageignore_applies_on_top(project: Path, write: Write) -> None:
    write(project, {
        ".sageignore": "docs/\n*.txt\n!important.txt\n", "docs/a.md": "x", "a.txt": "x", "important.txt": "x",
        "sub/.sageignore": "!b.txt\ndata/*\n!data/kept.csv\n", "sub/b.txt": "x", "sub/data/a.csv": "x",
        "sub/data/kept.csv": "x",
    })  # fmt: skip
    expected = [".sageignore", "important.txt", "sub/.sageignore", "sub/b.txt", "sub/data/kept.csv"]
    assert listed(project) == expected


def test_a_sageignore_that_git_ignores_still_counts(project: Path, write: Write) -> None:
    write(project, {".gitignore": ".sageignore\n", ".sageignore": "a.py\n", "a.py": "x", "b.py": "x"})
    assert listed(project) == [".gitignore", "b.py"]


def test_the_users_excludes_win_over_the_repositorys_sageignore(project: Path, write: Write) -> None:
    write(project, {".sageignore": "!secret/\n", "secret/a.py": "x", "b.py": "x"})
    assert listed(project, DiscoverRules(extra_excludes=("secret/",))) == [".sageignore", "b.py"]


@pytest.mark.parametrize("folder", ["node_modules", "__pycache__", ".venv", ".sage", ".idea", "a/.tox"])
def test_built_in_excludes(project: Path, write: Write, folder: str) -> None:
    write(project, {f"{folder}/x.py": "x", "a.py": "x"})
    assert listed(project) == ["a.py"]


def test_caches_and_environments_are_known_by_their_markers(project: Path, write: Write) -> None:
    signature = "Signature: 8a477f597d28d172789f06886806bc55\n"
    write(project, {
        "env/pyvenv.cfg": "home = /usr\n", "env/lib/x.py": "x", "venv/sources.py": "x",
        "target/CACHEDIR.TAG": signature, "target/x.rs": "x", "other/CACHEDIR.TAG": "no signature", "other/x.rs": "x",
        "CACHEDIR.TAG": signature, "pyvenv.cfg": "the root was asked for",
    })  # fmt: skip
    expected = ["CACHEDIR.TAG", "other/CACHEDIR.TAG", "other/x.rs", "pyvenv.cfg", "venv/sources.py"]
    assert listed(project) == expected


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("__init__.py", "", SkipReason.EMPTY),
        ("big.py", "x" * 101, SkipReason.TOO_LARGE),
        ("package-lock.json", "{}", SkipReason.LOCKFILE),
        ("Cargo.lock", "x", SkipReason.LOCKFILE),
        ("logo.PNG", "x", SkipReason.BINARY),
        ("weights.safetensors", "x", SkipReason.BINARY),
        ("jquery.min.js", "x", SkipReason.MINIFIED),
        ("app.js.map", "x", SkipReason.GENERATED),
        ("api_pb2.py", "x", SkipReason.GENERATED),
        ("Form.Designer.cs", "x", SkipReason.GENERATED),
    ],
)
def test_names_and_sizes_that_need_no_reading(
    project: Path, write: Write, name: str, content: str, reason: SkipReason
) -> None:
    write(project, {f"sub/{name}": content})
    assert skipped(project, DiscoverRules(max_file_bytes=100)) == {f"sub/{name}": reason}


def test_generated_names_can_be_included(project: Path, write: Write) -> None:
    write(project, {"api_pb2.py": "x", "uv.lock": "x"})
    assert listed(project, DiscoverRules(include_generated=True)) == ["api_pb2.py"]


@posix_only
def test_links_are_never_followed(project: Path, write: Write, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"secret.py": "x"})
    write(project, {"a.py": "x"})
    for name, target in {"loop": ".", "out": "../outside", "file": "a.py", "gone": "nowhere", "self": "self"}.items():
        (project / name).symlink_to(target)
    assert listed(project) == ["a.py"]
    assert skipped(project) == dict.fromkeys(["file", "gone", "loop", "out", "self"], "symlink")


@posix_only
def test_a_tracked_folder_that_became_a_link_is_not_entered(tmp_path: Path, write: Write, git: GitCommand) -> None:
    root, outside = write(tmp_path / "p", {"pkg/a.py": "x"}), write(tmp_path / "outside", {"a.py": "secret"})
    git(root, "init", "-q")
    git(root, "add", ".")
    shutil.rmtree(root / "pkg")
    (root / "pkg").symlink_to(outside)
    assert listed(root) == []
    assert skipped(root) == {"pkg": "symlink"}


@posix_only
def test_pipes_and_sockets_are_named_and_not_opened(project: Path, write: Write) -> None:
    write(project, {"a.py": "x"})
    os.mkfifo(project / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server, pytest.MonkeyPatch.context() as patch:
        patch.chdir(project)  # the path of a socket may have 108 bytes
        server.bind("s.py")
        assert skipped(project) == {"pipe.py": "not_a_file", "s.py": "not_a_file"}


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_not_unicode(project: Path, write: Write) -> None:
    write(project, {"a.py": "x", "line\nbreak.py": "x", "ü.py": "x"})
    raw = os.fsencode(project)
    Path(os.fsdecode(raw + b"/bad\xff.py")).write_bytes(b"x")
    Path(os.fsdecode(raw + b"/folder\xfe")).mkdir()
    Path(os.fsdecode(raw + b"/folder\xfe/inside.py")).write_bytes(b"x")
    assert listed(project) == ["a.py", "line\nbreak.py", "ü.py"]
    assert skipped(project) == {"bad\\xff.py": "bad_name", "folder\\xfe/": "bad_name"}


@posix_only
def test_unreadable_folders_are_named_and_end_nothing(project: Path, write: Write, as_ordinary_user: AsUser) -> None:
    write(project, {"a.py": "x", "closed/b.py": "x", "listed_only/c.py": "x", "z.py": "x"})
    try:
        with as_ordinary_user(project):
            (project / "closed").chmod(0)
            (project / "listed_only").chmod(0o444)
            found = skipped(project)
            assert listed(project) == ["a.py", "z.py"]
    finally:
        (project / "closed").chmod(0o755)
        (project / "listed_only").chmod(0o755)
    assert found["closed/"] == "unreadable"
    assert set(found) <= {"closed/", "listed_only/", "listed_only/c.py"}
    assert set(found.values()) == {"unreadable"}


@posix_only
def test_an_unreadable_root_is_named(tmp_path: Path, write: Write, as_ordinary_user: AsUser) -> None:
    root = write(tmp_path / "p", {"a.py": "x"})
    try:
        with as_ordinary_user(root):
            root.chmod(0)
            assert skipped(root) == {"./": "unreadable"}
    finally:
        root.chmod(0o755)


def test_a_root_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        list_files(str(tmp_path / "nowhere"), DiscoverRules())


def test_ignored_things_are_explained_collapsed(project: Path, write: Write, mode: str) -> None:
    write(project, {
        ".gitignore": "*.log\nout/\n", "a.log": "x", "out/deep/a.py": "x", "out/b.py": "x", "b.py": "x",
        ".sageignore": "docs\n", "docs/a.md": "x", "node_modules/x/y.js": "x",
    })  # fmt: skip
    (project / "empty").mkdir()
    assert skipped(project) == {}
    found = list_files(str(project), DiscoverRules(), explain_ignored=True)
    explained = {file.path: file.detail for file in found if isinstance(file, SkippedFile)}
    by_git = mode == "git"
    assert explained == {
        "a.log": "git" if by_git else ".gitignore: *.log",
        "out/": "git" if by_git else ".gitignore: out/",
        "docs/": ".sageignore: docs",
        "node_modules/": "built-in",
    }


def test_git_knows_tracked_files_that_are_ignored_and_those_that_vanished(
    tmp_path: Path, write: Write, git: GitCommand
) -> None:
    root = write(tmp_path, {".gitignore": "*.py\n", "tracked.py": "x", "ignored.py": "x", "gone.md": "x"})
    git(root, "init", "-q")
    git(root, "add", "-f", "tracked.py", "gone.md", ".gitignore")
    (root / "gone.md").unlink()
    assert listed(root) == [".gitignore", "tracked.py"]


def test_the_root_may_be_a_folder_of_a_repository(project: Path, write: Write, mode: str, git: GitCommand) -> None:
    write(project, {".gitignore": "*.log\n/sub/private/\n", "sub/a.py": "x", "sub/b.log": "x", "sub/private/c.py": "x"})
    git(project, "init", "-q")
    assert listed(project / "sub", use_git=mode == "git") == ["a.py"]


def test_a_root_that_the_repository_around_it_ignores_is_listed_all_the_same(
    project: Path, write: Write, mode: str, git: GitCommand
) -> None:
    write(project, {".gitignore": "*\n", "mine/src/a.py": "x", "mine/b.log": "x", "mine/.gitignore": "*.log\n"})
    git(project, "init", "-q")
    assert listed(project / "mine", use_git=mode == "git") == [".gitignore", "src/a.py"]


def test_worktrees(tmp_path: Path, write: Write, git: GitCommand) -> None:
    main = write(tmp_path / "main", {"a.py": "x", ".gitignore": "*.log\n"})
    git(main, "init", "-q")
    git(main, "add", ".")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", "../other")
    write(tmp_path / "other", {"new.py": "x", "b.log": "x"})
    assert listed(tmp_path / "other") == [".gitignore", "a.py", "new.py"]


@pytest.mark.parametrize("use_git", [True, False])
def test_submodules_and_nested_repositories(tmp_path: Path, write: Write, git: GitCommand, use_git: bool) -> None:
    library = write(tmp_path / "library", {"lib.py": "x", ".gitignore": "*.tmp\n"})
    root = write(tmp_path / "root", {"a.py": "x", ".gitignore": "*.log\n"})
    for folder in (library, root):
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    git(root, "submodule", "add", "-q", str(library), "vendor/library")
    git(tmp_path, "init", "-q", "root/nested")
    write(root, {
        "vendor/library/x.tmp": "x", "vendor/library/kept.log": "x", "nested/inner.py": "x", "nested/x.log": "x",
    })  # fmt: skip
    assert listed(root, use_git=use_git) == [
        ".gitignore", ".gitmodules", "a.py", "nested/inner.py", "nested/x.log",
        "vendor/library/.gitignore", "vendor/library/kept.log", "vendor/library/lib.py",
    ]  # fmt: skip


def test_a_git_folder_that_is_no_repository_changes_nothing(tmp_path: Path, write: Write, git: GitCommand) -> None:
    write(tmp_path, {".gitignore": "*.log\n", "fixture/.git/config": "x", "fixture/a.py": "x", "fixture/b.log": "x"})
    root = tmp_path
    git(root, "init", "-q")
    assert listed(root) == [".gitignore", "fixture/a.py"]


def test_names_are_compared_as_the_file_system_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS and Windows the index may say `Cafe.py` where the disk says `cafe.py`, or compose accents."""
    monkeypatch.setattr(membership, "_key", membership._folded)
    (tmp_path / "cafe\u0301.py").write_text("x")
    entry = next(os.scandir(os.fsencode(tmp_path)))
    assert ByGit.of(["Caf\u00e9.py".encode()], b"").why_not(b"", entry.name, entry) is None
    assert ByGit.of([b"other.py"], b"").why_not(b"", entry.name, entry) == "git"


def test_global_and_private_excludes_of_git(tmp_path: Path, write: Write, git: GitCommand) -> None:
    write(Path(os.environ["HOME"]), {".config/git/ignore": "*.global\n"})
    root = write(tmp_path / "p", {"a.py": "x", "b.global": "x", "c.private": "x"})
    git(root, "init", "-q")
    write(root, {".git/info/exclude": "*.private\n"})
    assert listed(root) == ["a.py"]
    assert listed(root, use_git=False) == ["a.py", "b.global"]


@posix_only
@pytest.mark.parametrize(
    "setting", ["core.fsmonitor", "core.sshCommand", "core.pager", "core.hooksPath", "core.alternateRefsCommand"]
)
def test_git_runs_no_program_of_the_repository(tmp_path: Path, write: Write, git: GitCommand, setting: str) -> None:
    root = write(tmp_path / "p", {"a.py": "x"})
    git(root, "init", "-q")
    git(root, "add", ".")
    trace = tmp_path / "executed"
    hooks = write(tmp_path / "hooks", {"post-index-change": f"#!/bin/sh\ntouch {trace}\n"})
    (hooks / "post-index-change").chmod(0o755)
    value = str(hooks) if setting == "core.hooksPath" else f"touch {trace}; false"
    git(root, "config", setting, value)
    git(root, "config", "core.untrackedCache", "true")
    assert listed(root) == ["a.py"]
    assert not trace.exists()


@posix_only
def test_git_fetches_nothing_with_the_repositorys_means(tmp_path: Path, write: Write, git: GitCommand) -> None:
    """A partial clone whose sparse .gitignore is missing would be fetched by a program of its choice."""
    root = write(tmp_path / "p", {"a.py": "x", "sub/.gitignore": "*.log\n", "sub/b.py": "x"})
    git(root, "init", "-q")
    git(root, "add", ".")
    blob = git(root, "rev-parse", ":sub/.gitignore").strip()
    git(root, "update-index", "--skip-worktree", "sub/.gitignore")
    (root / "sub/.gitignore").unlink()
    (root / ".git/objects" / blob[:2] / blob[2:]).unlink()
    write(root, {"sub/new.py": "x"})  # an untracked file makes git ask for the rules
    trace = tmp_path / "executed"
    for name, value in {
        "core.repositoryFormatVersion": "1", "extensions.partialClone": "origin", "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c touch% {trace}", "protocol.ext.allow": "always", "protocol.allow": "always",
    }.items():  # fmt: skip
        git(root, "config", name, value)
    assert listed(root) == ["a.py", "sub/b.py", "sub/new.py"]
    assert not trace.exists()


def test_a_foreign_work_tree_does_not_lead_out_of_the_root(tmp_path: Path, write: Write, git: GitCommand) -> None:
    outside = write(tmp_path / "outside", {"secret.py": "x"})
    root = write(tmp_path / "p", {"a.py": "x"})
    git(root, "init", "-q")
    git(root, "config", "core.worktree", str(outside))
    assert listed(root) == ["a.py"]


def test_inherited_git_variables_are_ignored(
    tmp_path: Path, write: Write, git: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, root = write(tmp_path / "other", {"o.py": "x"}), write(tmp_path / "p", {"a.py": "x"})
    for folder in (other, root):
        git(folder, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / "index"))
    assert listed(root) == ["a.py"]


@pytest.mark.parametrize("breakage", ["missing", "broken", "slow"])
def test_without_a_working_git_the_ignore_files_are_read(
    tmp_path: Path, write: Write, git: GitCommand, monkeypatch: pytest.MonkeyPatch, breakage: str
) -> None:
    root = write(tmp_path / "p", {".gitignore": "*.log\n", "a.py": "x", "b.log": "x"})
    git(root, "init", "-q")
    if breakage == "broken":
        (root / ".git/HEAD").write_text("nonsense")
    else:
        programs = write(tmp_path / "bin", {} if breakage == "missing" else {"git": "#!/bin/sh\nexec /bin/sleep 9\n"})
        programs.mkdir(exist_ok=True)
        for program in programs.iterdir():
            program.chmod(0o755)
        monkeypatch.setenv("PATH", str(programs))
        monkeypatch.setattr(gitfiles, "TIMEOUT_SECONDS", 0.2)
    assert listed(root) == [".gitignore", "a.py"]


@posix_only
def test_an_ignore_file_that_is_a_link_or_a_pipe_rules_nothing(tmp_path: Path, write: Write) -> None:
    write(tmp_path, {"rules": "*.py\n", "p/a.py": "x", "p/sub/b.py": "x"})
    (tmp_path / "p/.gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(tmp_path / "p/sub/.sageignore")
    assert listed(tmp_path / "p") == ["a.py", "sub/b.py"]


@posix_only
def test_a_deep_tree_needs_no_recursion(tmp_path: Path) -> None:
    depth = 1500
    here = os.getcwd()  # the whole path is too long for one call
    try:
        os.chdir(tmp_path)
        for _ in range(depth):
            os.mkdir("d")
            os.chdir("d")
        Path("a.py").write_text("x")
    finally:
        os.chdir(here)
    found = listed(tmp_path)
    assert found == ["d/" * depth + "a.py"]
    subprocess.run(["rm", "-r", str(tmp_path / "d")], check=True)  # rmtree recurses


@pytest.mark.slow
def test_a_hundred_thousand_empty_files(project: Path) -> None:
    for number in range(100_000):
        os.close(os.open(project / f"{number}.py", os.O_CREAT | os.O_WRONLY))
    found = list(list_files(str(project), DiscoverRules()))
    assert len(found) == 100_000
    assert all(isinstance(file, SkippedFile) and file.reason is SkipReason.EMPTY for file in found)
