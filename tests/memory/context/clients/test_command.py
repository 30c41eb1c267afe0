"""A program that writes summaries: its time and its output have limits, and nothing of it is left."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import psutil
import pytest
from local_services import KEY, said

from sage_code.memory.context.clients.asking import Failed
from sage_code.memory.context.clients.command import Command
from sage_code.memory.context.clients.model_summariser import ModelSummariser
from sage_code.memory.context.summary import StructuredSummary

MESSAGES = said(["We decided to rename the cache to store."])


def run(code: str, *words: str, timeout_s: float = 20.0) -> StructuredSummary:
    command = Command((sys.executable, "-c", f"import os, sys, time\n{code}", *words))
    return ModelSummariser(command, timeout_s, 8_000).summarise(MESSAGES, 100)


def test_the_prompt_comes_on_stdin_and_the_answer_from_stdout(sage_home: Path) -> None:
    code = """
text = sys.stdin.read()
assert "rename the cache" in text and text.startswith("You write summaries")
print('{"text": "%s in %s", "decisions": [{"text": "store", "message_ids": ["m1"]}]}' % (sys.argv[1], os.getcwd()))"""
    summary = run(code, "; rm -rf $HOME `x`")
    assert summary.text == f"; rm -rf $HOME `x` in {os.path.realpath(sage_home)}"
    assert summary.decisions[0].message_ids == ("id-0",)
    assert summary.by == "command"


def test_prose_is_enough_and_the_input_may_be_left_unread() -> None:
    assert run("print('The cache is called store.')").text == "The cache is called store."


def test_a_failing_program_is_an_error_with_what_it_said() -> None:
    code = f"sys.stderr.write('no model\\nkey {KEY}\\x1b[31m' + 'x' * 100000); sys.exit(3)"
    with pytest.raises(Failed, match="ended with status 3: no model key ") as failed:
        run(code)
    assert KEY not in failed.value.message
    assert "\x1b" not in failed.value.message
    assert len(failed.value.message) < 300
    with pytest.raises(Failed, match="ended with signal 9"):
        run("import signal; signal.raise_signal(9)")


def test_too_much_output_ends_the_program() -> None:
    started = time.monotonic()
    with pytest.raises(Failed, match="printed more than"):
        run("while True: sys.stdout.write('x' * 100000)")
    assert time.monotonic() - started < 15


def test_at_the_deadline_the_program_ends_with_all_that_it_started(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    code = """
import subprocess
from os import getpid
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1], "w").write(f"[{getpid()}, {child.pid}]")
time.sleep(60)"""
    with pytest.raises(Failed, match="no whole answer within 2 s"):
        run(code, str(file), timeout_s=2.0)
    assert all(_is_gone(pid) for pid in json.loads(file.read_text()))


def test_a_child_that_holds_the_output_does_not_hold_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = """
import subprocess
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(sys.argv[1], "w").write(str(child.pid))
print("A summary.")"""
    assert run(code, str(file)).text == "A summary."
    assert _is_gone(int(file.read_text()))


@pytest.mark.parametrize("words", [(), ("no-such-program-of-sage",), ("/etc/passwd",)])
def test_what_is_no_program_is_an_error(words: tuple[str, ...]) -> None:
    with pytest.raises(Failed) as failed:
        ModelSummariser(Command(words), 1.0, 8_000).summarise(MESSAGES)
    assert "summariser_command" in failed.value.hint


def _is_gone(pid: int) -> bool:
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False
