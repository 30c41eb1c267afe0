"""Pairs from the web: what is read, what is left out, and which question is matched with which sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

from training.web import Asked, Repository, commands, headings, pair_of, snippets
from training.web_matches import matches

SNIPPET = """---
title: All elements are equal
---

Checks if all elements in a list are equal.

```py
def all_equal(lst):
  return len(set(lst)) == 1
```

```py
all_equal([1, 1]) # True
```
"""
ONE_LINER = """---
title: Add an ordinal suffix to a number
---

```js version.js
const addOrdinal = (n) => `${n}th`;
```
"""
COMMAND = """# tar

> Archiving utility.

- [x]tract a compressed archive:

`tar xf {{source.tar.gz}}`
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    files = {"snippets/all.md": SNIPPET, "contents/one.mdx": ONE_LINER, "pages/common/tar.md": COMMAND * 40}
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "all"], check=True)
    return Repository(tmp_path / ".git")


def test_titles_and_sentences_get_the_first_snippet(repository: Repository) -> None:
    found = list(snippets(repository, r"^snippets/", "s"))
    assert [one.query for one in found] == ["All elements are equal", "Checks if all elements in a list are equal."]
    assert all(one.language == "python" and one.code.startswith("def all_equal") for one in found)


def test_a_title_is_the_first_heading(repository: Repository) -> None:
    (found,) = headings(repository, r"\.mdx$", "javascript", "1loc")
    assert found.query == "Add an ordinal suffix to a number"
    assert found.code.startswith("const addOrdinal")


def test_some_commands_are_taken(repository: Repository) -> None:
    found = list(commands(repository))
    assert 0 < len(found) < 40
    assert (found[0].query, found[0].code) == ("xtract a compressed archive", "tar xf source.tar.gz")


def test_a_file_that_a_snapshot_lacks_is_empty(repository: Repository) -> None:
    assert repository.text("nothing.txt") == ""


def test_a_pair_has_the_name_first_and_no_markup() -> None:
    pair = pair_of(Asked("How to sort\n a list &amp; more?", "\ndef by_size(xs):\n    return xs", "python", "p"))
    assert pair is not None
    assert (pair["query"], pair["kind"]) == ("How to sort a list & more", "web")
    assert pair["code"].startswith("by_size\ndef by_size")
    assert pair_of(Asked("sort", "sorted(values)", "python", "p")) is None
    assert pair_of(Asked("sort a list", "x", "python", "p")) is None


def test_only_close_ones_match_and_none_too_often() -> None:
    said = np.eye(3, dtype=np.float32)
    asked = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 0.5, 0.5], *[[0, 0, 1]] * 9], dtype=np.float32)
    found = list(matches(asked, said))
    assert (0, 0) in found
    assert (1, 0) in found
    assert not [one for one in found if one[0] == 2]
    assert sum(sentence == 2 for _, sentence in found) == 6
