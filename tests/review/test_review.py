"""A review of real changes in real git repositories: what breaks, goes stale, repeats; what a hostile one cannot do."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.review.comment import LEAST_TOKENS, MARKER, comment, document
from sage_code.text.tokens import count_tokens
from sage_code.values import Scope

PRICE = "def net(value):\n    return value * 2\n\n\ndef gross(value):\n    return net(value) + 1\n"
TOTALS = (
    "def total_of_orders(orders, rate):\n    total = 0\n    for order in orders:\n        if order.is_paid:\n"
    "            total += order.amount * rate\n    return total\n"
)
FILES = {
    "shop/__init__.py": "",
    "shop/price.py": PRICE,
    "shop/cart.py": "from shop.price import gross\n\n\ndef pay(items):\n    return sum(gross(one) for one in items)\n",
    "shop/totals.py": TOTALS,
    "tests/test_price.py": "from shop.price import gross\n\n\ndef test_gross():\n    assert gross(1) == 3\n",
    ".gitignore": ".sage/codebase/\n.sage/local/\n",
}
Run = Callable[..., Any]


def _git(root: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)


def _commit(root: Path, message: str) -> None:
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", message)


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    """A project with a commit on `main` and a branch that is checked out."""
    root = tmp_path / "shop-project"
    _write(root, FILES)
    _git(root.parent, "init", "-q", "-b", "main", str(root))
    _commit(root, "first")
    _git(root, "checkout", "-qb", "work")
    return Project.open(root)


def _changed(project: Project, files: dict[str, str], *removed: str) -> Project:
    _write(Path(project.root), files)
    for name in removed:
        (Path(project.root) / name).unlink()
    project.index()
    return project


def test_nothing_has_changed(shop: Project) -> None:
    shop.index()
    found = shop.review()
    assert (found.base.revision, found.files, found.notes) == ("main", (), ())
    assert comment(found).markdown.startswith(f"{MARKER}\n### What this change means\nNothing has changed since `")


def test_without_git_or_a_base_it_says_what_to_do(tmp_path: Path, shop: Project) -> None:
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "a.py").write_text("A = 1\n")
    with pytest.raises(UsageError, match="no git checkout"):
        Project(str(tmp_path / "alone")).review()
    shop.index()
    for revision in ("gone", "--upload-pack=touch x", "-h"):
        with pytest.raises(UsageError, match="there is no commit"):
            shop.review(revision)
    _git(Path(shop.root), "branch", "-D", "main")
    with pytest.raises(UsageError, match="no default branch"):
        shop.review()
    assert shop.review("HEAD").files == ()


def test_a_changed_signature_breaks_its_callers_and_a_changed_body_is_used_by_them(shop: Project) -> None:
    changed = PRICE.replace("def gross(value):", "def gross(value, rate):").replace("* 2", "* 3")
    found = _changed(shop, {"shop/price.py": changed}).review()
    assert [(one.qualname, one.change) for one in found.definitions] == [("net", "changed"), ("gross", "signature")]
    assert (found.definitions[1].before, found.definitions[1].signature) == (
        "def gross(value)",
        "def gross(value, rate)",
    )
    assert ("shop/cart.py", "pay") in [(one.file, one.scope) for one in found.breaks]
    assert found.tests[0].file == "tests/test_price.py"
    assert not any(one.file == "shop/price.py" for one in (*found.breaks, *found.uses))
    text = comment(found).markdown
    assert "`shop/price.py:5`: `def gross(value)` is now `def gross(value, rate)`" in text
    assert re.search(r"- `shop/cart.py:5` `pay` calls `gross` \(\d+ %\)", text)
    assert "`tests/test_price.py`: `test_gross`" in text


def test_commits_of_the_branch_count_and_later_ones_of_the_base_do_not(shop: Project) -> None:
    root = Path(shop.root)
    _write(root, {"shop/price.py": PRICE.replace("+ 1", "+ 2")})
    _commit(root, "work")
    _git(root, "checkout", "-q", "main")
    _write(root, {"shop/totals.py": "RATE = 1\n"})
    _commit(root, "later")
    _git(root, "checkout", "-q", "work")
    shop.index()
    assert [one.file for one in shop.review("main").files] == ["shop/price.py"]


def test_what_was_removed_and_is_still_used_breaks_and_what_moved_has_moved(shop: Project) -> None:
    moved = {"shop/sums.py": TOTALS, "shop/price.py": "def net(value):\n    return value * 2\n"}
    found = _changed(shop, moved, "shop/totals.py").review()
    changes = {(one.qualname, one.change, one.moved_from) for one in found.definitions}
    assert changes == {("gross", "removed", ""), ("total_of_orders", "moved", "shop/totals.py")}
    assert {(one.file, one.scope) for one in found.breaks} >= {("shop/cart.py", "pay"), ("shop/cart.py", "")}
    text = comment(found).markdown
    assert "calls `gross`, which is gone" in text
    assert "- moved from `shop/totals.py` to `shop/sums.py`: `total_of_orders`" in text
    assert found.similar == ()


def test_new_code_that_repeats_other_code_is_named_once(shop: Project) -> None:
    copies = {f"shop/{name}.py": TOTALS.replace("total_of_orders", name) for name in ("sum_of_orders", "order_total")}
    found = _changed(shop, copies).review()
    pairs = {frozenset((one.first.qualname, one.second.qualname)) for one in found.similar}
    assert pairs
    assert len(found.similar) == len(pairs)
    assert {one.first.file for one in found.similar} <= copies.keys()
    assert "New code that is nearly the same as other code" in comment(found).markdown
    assert _changed(shop, {}).review("HEAD").definitions == found.definitions


def test_memories_that_the_change_makes_stale_and_only_shared_ones(shop: Project) -> None:
    root = Path(shop.root)
    (root / ".sage").mkdir()
    shop.index()
    saved: tuple[tuple[str, Scope], ...] = (
        ("Net doubles", "project"),
        ("Mine alone", "user"),
        ("Untracked", "project"),
    )
    for thesis, scope in saved:
        given = {"thesis": thesis, "confidence": 0.9, "trigger": "manual", "code_refs": ["shop/price.py:1-2"]}
        shop.memory.save_checkpoint(given, auto_code_context=False, scope=scope)
        if thesis == "Net doubles":
            _commit(root, thesis)
    _git(root, "branch", "-f", "main")
    assert shop.review().stale == ()
    found = _changed(shop, {"shop/price.py": PRICE.replace("* 2", "* 3")}).review()
    assert [one.memory.title for one in found.stale] == ["Net doubles"]
    assert [state.state for state in found.stale[0].states] == ["changed"]
    text = comment(found).markdown
    assert "`Net doubles`: `shop/price.py:1-2` `net` has changed" in text
    assert "Mine alone" not in text + json.dumps(document(found, comment(found)))
    _commit(root, "breaks it")
    _git(root, "branch", "-f", "main")
    later = _changed(shop, {"shop/price.py": PRICE.replace("* 2", "* 4")}).review()
    assert later.stale == ()
    # The last commit has taken in the other one, too.
    assert "memories about the changed files that were stale before: 2" in later.notes


HOSTILE = "@everyone ![x](http://evil.example/a.png) <img src=x onerror=alert(1)> [a](javascript:b) `c` #1"


def test_a_hostile_change_is_shown_and_does_nothing(shop: Project, tmp_path: Path) -> None:
    root, ran = Path(shop.root), tmp_path / "ran"
    key = "ghp_" + "x7Kq2mP9sT4vW8yB1nD6" + "fG3hJ5kL0cZaQw"
    tool = f"sh -c 'touch {ran}; cat' --"
    for name in ("filter.a.clean", "filter.a.smudge", "filter.a.process", "diff.a.command", "diff.a.textconv"):
        _git(root, "config", name, tool)
    _git(root, "config", "core.fsmonitor", tool)
    _git(root, "config", "diff.external", tool)
    hostile = {
        ".gitattributes": "* filter=a diff=a\n",
        "shop/price.py": PRICE.replace("gross", "@everyone".strip("@")),
        f"shop/{HOSTILE.replace('/', '-')}\u202e.py": "def added():\n    return 1\n",
        "shop/sign.py": f"def sign(a, token='{key}', b='<!-- @all -->`` ![x](y)'):\n    return a\n",
    }
    _write(root, hostile)
    subprocess.run(["sh", "-c", "rm -f .git/hooks/*"], cwd=root, check=True)
    shop.index()
    found = shop.review()
    made = comment(found, 8_000)
    printed = made.markdown + json.dumps(document(found, made), ensure_ascii=False)
    assert not ran.exists()
    assert key not in printed
    assert "\u202e" not in made.markdown
    # What is left without code spans is ours: nothing in it mentions, links, or opens an element but the marker.
    own = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "", made.markdown.removeprefix(MARKER))
    assert not re.search(r"[`@<>\[\]!]|https?:|\\u|javascript", own)
    assert "everyone" in made.markdown


@pytest.mark.parametrize("max_tokens", [LEAST_TOKENS, 700, 2_000])
def test_a_huge_change_stays_within_the_budget_and_says_what_it_left_out(shop: Project, max_tokens: int) -> None:
    many = "".join(f"def function_number_{n}(value):\n    return gross({n})\n\n\n" for n in range(150))
    files = {f"shop/part_{n:03}.py": f"def one_{n}():\n    return {n}\n" for n in range(210)}
    callers = "from shop.price import gross\n\n\n" + many
    _write(Path(shop.root), {"shop/callers.py": callers})
    _commit(Path(shop.root), "callers")
    _git(Path(shop.root), "branch", "-f", "main")
    found = _changed(shop, {**files, "shop/price.py": PRICE.replace("gross(value)", "gross(value, rate)")}).review()
    made = comment(found, max_tokens)
    assert count_tokens(made.markdown) <= max_tokens
    assert made.is_truncated
    assert any("more changed files were not looked at" in note for note in found.notes)
    assert " more" in made.markdown
    assert comment(found, max_tokens) == made


def test_a_shallow_clone_without_the_common_commit_says_so(shop: Project, tmp_path: Path) -> None:
    root = Path(shop.root)
    _write(root, {"shop/price.py": PRICE.replace("+ 1", "+ 2")})
    _commit(root, "work")
    _git(root, "checkout", "-q", "main")
    _write(root, {"shop/totals.py": "RATE = 1\n"})
    _commit(root, "later")
    _git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{root}", "shallow")
    _git(tmp_path / "shallow", "checkout", "-q", "work")
    clone = Project.open(tmp_path / "shallow")
    clone.index()
    found = clone.review("origin/main")
    assert [one.file for one in found.files] == ["shop/price.py", "shop/totals.py"]
    assert "no common ancestor" in found.notes[0]


def test_the_command(shop: Project, sage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.root)
    _changed(shop, {"shop/price.py": PRICE.replace("+ 1", "+ 2")})
    printed = sage("review", "--base", "main")
    assert printed.code == 0
    assert printed.out.startswith(MARKER)
    written = sage("review", "-o", str(tmp_path / "review.md"))
    assert (written.code, (tmp_path / "review.md").read_text()) == (0, printed.out)
    assert os.listdir(tmp_path).count("review.md") == 1
    assert sage("review", "--base", "nothing").code == 2
    assert json.loads(sage("review", "--json").out)["markdown"] == printed.out
