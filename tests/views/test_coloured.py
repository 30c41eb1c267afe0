"""Lines in colour: by the leaves of the tree, with secrets masked and nothing unseen, and only files of the project."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.views.code.coloured import ColouredLines, Leaf

Write = Callable[[Path, dict[str, str | bytes]], Path]
# An example key of Amazon's documentation with other letters.
KEY = "AKIA" + "QWERTYUIOPASDFGH"


def colour_of(shown: ColouredLines, text: str) -> str:
    """The colour of the first piece that is, or begins with, a text."""
    return next(leaf.colour for line in shown.lines for leaf in line if leaf.text.strip().startswith(text))


def text_of(shown: ColouredLines) -> list[str]:
    return ["".join(leaf.text for leaf in line) for line in shown.lines]


PYTHON = '''# a comment
import os

LIMIT = 10


@cached
class Server(Base):
    def start(self, port: int) -> None:
        """Open."""
        return self.listen(f"at {port + 1}", True, LIMIT)
'''
OTHERS = {
    "a.ts": ("export function connect(o: Options): string { return `x${o.url}`; } // end\n",
             {"export": "keyword", "connect": "function", "Options": "type", "string": "type", "// end": "comment"}),
    "a.go": ('package a\nfunc Run(n int) string { return fmt.Sprint("x", 12) }\n',
             {"package": "keyword", "Run": "function", '"x"': "string", "12": "number", "Sprint": "function"}),
    "a.rs": ("fn run() -> Option<u8> { Some(1) } // x\n", {"fn": "keyword", "run": "function", "1": "number"}),
    "a.java": ("class A { int f() { return g(\"s\"); } }\n", {"class": "keyword", "A": "type", '"s"': "string"}),
    "a.c": ("#include <x.h>\nint main(void) { return f('a'); }\n", {"#include": "keyword", "main": "function"}),
    "a.sh": ("# hi\nif true; then echo \"a\"; fi\n", {"# hi": "comment", "if": "keyword", '"a"': "string"}),
    "a.json": ('{"k": "v", "n": 1, "t": true}\n', {"1": "number", "true": "constant"}),
    "a.yaml": ("# hi\nkey: 'v' # it's\n", {"# hi": "comment", "key": "type", "'v'": "string", "# it's": "comment"}),
    "a.md": ("# It's\n\nIt isn't `code`.\n", {"# It's": "function", "`code`": "string"}),
    "a.html": ('<p class="x">It\'s</p><!-- hi -->\n', {"<p": "keyword", '"x"': "string", "<!--": "comment"}),
    "a.ini": ("[part]\na = 1\n", {"[part]": "keyword", "a": "type", "1": "number"}),
    "a.pl": ("# hi\nprint 'x';\n", {"# hi": "comment", "'x'": "string"}),  # its grammar may crash: no tree
}  # fmt: skip


def test_leaves_have_colours(tmp_path: Path, write: Write) -> None:
    project = Project.open(write(tmp_path / "p", {"a.py": PYTHON}))
    shown = project.views.coloured("a.py")
    assert text_of(shown) == PYTHON.removesuffix("\n").split("\n")
    expected = {
        "# a comment": "comment", "import": "keyword", "LIMIT": "constant", "10": "number", "=": "operator",
        "Server": "type", "def": "keyword", "start": "function", "int": "type", '"""Open': "string",
        "listen": "function", 'f"at': "string", "True": "constant", "cached": "function",
    }  # fmt: skip
    assert {text: colour_of(shown, text) for text in expected} == expected
    interpolated = next(leaf for leaf in shown.lines[10] if "port" in leaf.text)
    assert interpolated.colour == "", "what is interpolated is code"


@pytest.mark.parametrize("name", OTHERS)
def test_other_languages_have_colours(name: str, tmp_path: Path, write: Write) -> None:
    text, expected = OTHERS[name]
    shown = Project.open(write(tmp_path / "p", {name: text})).views.coloured(name)
    assert text_of(shown) == text.removesuffix("\n").split("\n")
    assert {piece: colour_of(shown, piece) for piece in expected} == expected


def test_a_part_has_the_colours_of_the_whole(tmp_path: Path, write: Write) -> None:
    body = '"""A docstring\nover lines: é ✓ 😀\n"""\n\n\ndef f(x):\n    return "ü" + x  # 1\n' * 40
    project = Project.open(write(tmp_path / "p", {"a.py": body}))
    whole = project.views.coloured("a.py").lines
    assert project.views.coloured("a.py", 2, 3).lines == whole[1:3]
    assert project.views.coloured("a.py", 135, 148).lines == whole[134:148]
    assert project.views.coloured("a.py", 279, 900).lines == whole[278:]
    assert project.views.coloured("a.py", 900, 950).lines == ()


def test_a_long_file_has_its_first_colours_at_once(tmp_path: Path, write: Write) -> None:
    body = "def f(x):\n    return x + 1\n\n\n" * 1_000
    project = Project.open(write(tmp_path / "p", {"a.py": body}))
    shown = project.views.coloured("a.py", at_once=True)
    assert shown.count == len(shown.lines) == 4_000
    assert shown.lines[0][0] == Leaf("def", "keyword")
    assert all(not leaf.colour for leaf in shown.lines[3_996])
    assert project.views.coloured("a.py", 3_997, 3_997).lines[0][0] == Leaf("def", "keyword")


def test_secrets_are_masked_and_lines_stay(tmp_path: Path, write: Write) -> None:
    key = (
        "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn9\n" * 3 + "-----END RSA PRIVATE KEY-----"
    )
    body = f'aws = "{KEY}"\nkey = """{key}"""\nafter = 1\n'
    shown = Project.open(write(tmp_path / "p", {"a.py": body})).views.coloured("a.py")
    text = text_of(shown)
    assert KEY not in "".join(text)
    assert "MIIE" not in "".join(text)
    assert len(text) == body.count("\n") == shown.count
    assert text[-1] == "after = 1"
    assert shown.masked == 2
    assert colour_of(shown, "[masked") == "masked"


def test_unseen_characters_are_written_out(tmp_path: Path, write: Write) -> None:
    body = "x = 'a\u202eb'  # \x1b[31m\u200bend\n"
    shown = Project.open(write(tmp_path / "p", {"a.py": body})).views.coloured("a.py")
    assert text_of(shown) == ["x = 'a\\u202eb'  # \\x1b[31m\\u200bend"]
    assert [leaf.text for leaf in shown.lines[0] if leaf.colour == "unseen"] == ["\\u202e", "\\x1b", "\\u200b"]


def test_only_files_of_the_project_are_shown(tmp_path: Path, write: Write) -> None:
    write(tmp_path, {"outside.py": "secret = 1\n", "linked/b.py": "secret = 1\n"})
    files: dict[str, str | bytes] = {
        "a.py": "x = 1\n", ".gitignore": "no.py\n", "no.py": "y = 2\n", ".git/config": "[a]\n",
        ".env": "PASSWORD=hunter2hunter2\n", "b.bin": b"\0\1" * 99,
    }  # fmt: skip
    root = write(tmp_path / "p", files)
    os.symlink(tmp_path / "outside.py", root / "link.py")
    os.symlink(tmp_path / "linked", root / "folder")
    views = Project.open(root).views
    assert text_of(views.coloured("a.py")) == ["x = 1"]
    Path(root, "back\\slash.py").write_text("y = 1\n")
    Project.open(root).index()
    assert text_of(views.coloured("back\\slash.py")) == ["y = 1"], "what is indexed is shown, whatever its name"
    wrong = ("../outside.py", "a.py/../../outside.py", str(tmp_path / "outside.py"), "link.py", "folder/b.py", "no.py",
             ".git/config", ".env", "b.bin", "missing.py", "", ".", "a.py\0", "\udc80", "./a.py")  # fmt: skip
    for path in wrong:
        with pytest.raises(UsageError):
            views.coloured(path)
        assert views.content_hash(path) == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "<!--" * 100_000),
        ("b.md", "`" * 300_000),
        ("c.yaml", "-" * 80 + "\n" + "- " * 200_000),
        ("d.toml", '"\\' * 150_000),
        ("e.html", "<!--" * 100_000),
        ("f.ini", ("a" * 3_000 + "\n") * 100),
    ],
)
def test_endless_signs_are_coloured_in_time(tmp_path: Path, write: Write, name: str, text: str) -> None:
    """A pattern that tries each place to the end of the text would take hours."""
    lines = "\n".join(text[start : start + 80] for start in range(0, len(text), 80))
    root = write(tmp_path / "endless", {name: lines + "\n"})
    project = Project.open(root)
    project.index()
    shown = project.views.coloured(name)
    assert text_of(shown) == lines.split("\n")
