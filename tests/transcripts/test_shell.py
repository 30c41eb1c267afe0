"""The files that a shell command clearly uses; unclear words are left out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.transcripts.shell import file_uses

CLEAR = {
    "cat a.py": "read a.py",
    "cat 'my file.txt' b.py": "read my file.txt, read b.py",
    "head -n 30 a.py": "read a.py 1-30",
    "head a.py": "read a.py 1-10",
    "tail -20 a.log": "read a.log",
    "sed -n '10,20p' a.py | head -5": "read a.py 10-20",
    "sed -n 5p a.py": "read a.py 5-5",
    "cd sub && nl -ba x.py": "read sub/x.py",
    "grep -n foo src/a.py": "grep src/a.py",
    "rg -e foo -A 3 src/a.py": "grep src/a.py",
    "sed -i 's/a/b/' x.py y.py": "edit x.py, edit y.py",
    "echo hi >> log.txt": "write log.txt",
    "python x.py > out.txt 2>&1": "write out.txt",
    "cat > new.py <<'EOF'\nhi > no.txt\nEOF\ncat z.py": "write new.py, read z.py",
    "cat <<EOF | tee conf.ini\ncat no.py\nEOF": "write conf.ini",
    "cp a.py b.py": "read a.py, write b.py",
    "mv a.py b.py": "write b.py",
    "cat < in.txt": "read in.txt",
    "cat ../up.py": "read ../up.py",
}
UNCLEAR = [
    "cat *.py", "cat $FILE", 'cat "$(ls)"', "cat `ls`", "cat ~/x", "ls -la", "python x.py", "echo 'a > b'", "rg foo",
    "cat", "cat -", "git diff > /dev/null", "cat 'unclosed", "find . -name '*.py' | xargs cat", "cd $X && cat a.py", "",
    "cat <<< hi", "grep foo", "sed -n", "head -n", "tee", "cp a b c", "> ", "cat src/{a,b}.py",
]  # fmt: skip


def _shown(command: str) -> str:
    import os

    return ", ".join(
        f"{use.action} {os.path.relpath(use.file, '/w')}" + (f" {use.lines[0]}-{use.lines[1]}" if use.lines else "")
        for use in file_uses(command, "/w")
    )


@pytest.mark.parametrize("command", CLEAR)
def test_clear_commands(command: str) -> None:
    assert _shown(command) == CLEAR[command]


@pytest.mark.parametrize("command", UNCLEAR)
def test_unclear_commands_give_no_files(command: str) -> None:
    assert _shown(command) == ""


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet="cat sed-n'\"\\|;&<>(){}$`1,9p./\n\0xé", max_size=200))
def test_no_text_breaks_the_parser(command: str) -> None:
    for use in file_uses(command, "/w"):
        assert use.file.startswith("/")
        assert "\0" not in use.file


def test_a_huge_command_is_fast() -> None:
    assert file_uses("cat <<E > x.py\n" + "<<A " * 500_000, "/w")[0].file == "/w/x.py"
    assert file_uses("cat " + "'" * 1_000_001, "/w") == []
