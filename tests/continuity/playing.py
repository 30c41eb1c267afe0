"""Plays sessions as Claude Code would: grows transcripts, and calls `sage-hook` as a real process at the real moments.

A `Machine` is a computer of its own: home, Sage's home, Claude Code's folder. A `Played` session knows what it said,
and which briefs its model was given: as Claude Code does, it takes a hook's answer only if the hook ended with 0, and
writes the context that a hook added into the transcript. Any hook can be killed: after a while, or at the moment when
it calls a function. `python -P -m sage_code.continuity.hooks.entry` is the hook, unless another command is given.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from records import Call, Transcript

_HERE = Path(__file__).resolve().parents[2]
PROGRAM = (sys.executable, "-P", "-m", "sage_code.continuity.hooks.entry")
# Claude Code gives longer context as a file.
MAX_CONTEXT = 10_000
_BRIEF = re.compile(r"<sage-brief n=(\d+)>")
_CAPTURE = "sage_code.continuity.hooks.entry"
_HOOK_LIMIT_S = 60.0
# Dies like a process that is killed, at the moment when it calls a function.
_DIES = """
import importlib, signal
module, _, name = {where!r}.partition(":")
holder = importlib.import_module(module)
*path, name = name.split(".")
for one in path:
    holder = getattr(holder, one)
real, left = getattr(holder, name), [{calls}]
def dies(*words, **more):
    left[0] -= 1
    if left[0] < 0:
        signal.raise_signal(signal.SIGKILL)
    return real(*words, **more)
setattr(holder, name, dies)
from sage_code.continuity.hooks.entry import main
main()
"""


class Ran(NamedTuple):
    """One call of the hook."""

    event: str
    code: int
    out: str
    err: str
    seconds: float

    @property
    def answer(self) -> dict[str, Any]:
        """What Claude Code takes from it: nothing from a hook that failed."""
        if self.code != 0 or not self.out.strip():
            return {}
        answer = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer

    @property
    def context(self) -> str:
        """The context that it adds."""
        return str(self.answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    @property
    def said(self) -> str:
        """What the user sees of it."""
        return str(self.answer.get("systemMessage", ""))

    @property
    def is_block(self) -> bool:
        """Whether it holds up what Claude Code was about to do."""
        return self.answer.get("decision") == "block" or self.code == 2


@dataclass(frozen=True)
class Kill:
    """How a hook dies: after some seconds, or when it calls a function (`module:name`) for the nth time."""

    after: float | None = None
    at: str = ""
    calls: int = 0


class Machine:
    """A computer for agents, with Sage on it."""

    def __init__(self, folder: Path, program: Sequence[str] = PROGRAM, **variables: str) -> None:
        self.folder = folder
        self._sessions = 0
        self.program = tuple(program)
        self.home = folder / "home"
        self.sage = self.home / ".sage"
        self.claude = self.home / ".claude"
        self.home.mkdir(parents=True, exist_ok=True)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("SAGE_", "CLAUDE_", "PYTHON"))}
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "SAGE_HOME": str(self.sage),
            "CLAUDE_CONFIG_DIR": str(self.claude),
            "PYTHONPATH": os.pathsep.join([str(_HERE), str(_HERE / "cli"), str(_HERE / "mcp")]),
            **variables,
        }

    def new_id(self) -> str:
        """The id of a new session: the first of a machine is always the same."""
        self._sessions += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"session {self._sessions}"))

    def project(self, name: str = "shop", files: dict[str, str] | None = None) -> Path:
        """A project with some files and the folder of git that Sage looks at."""
        root = self.folder / name
        for path, text in {".git/HEAD": "ref: refs/heads/main\n", **(files or {})}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        head = root / ".git" / "refs" / "heads" / "main"
        head.parent.mkdir(parents=True, exist_ok=True)
        head.write_text("0123456789abcdef0123456789abcdef01234567\n")
        return root

    def worktree(self, main: Path, name: str) -> Path:
        """Another checkout of a project's repository."""
        root = self.folder / name
        inner = main / ".git" / "worktrees" / name
        inner.mkdir(parents=True)
        (inner / "commondir").write_text("../..\n")
        (inner / "HEAD").write_text(f"ref: refs/heads/{name}\n")
        root.mkdir()
        (root / ".git").write_text(f"gitdir: {inner}\n")
        return root

    def hook(
        self, given: Any, kill: Kill | None = None, *, project: str = "", before: Callable[[], None] | None = None
    ) -> Ran:
        """Call the hook with an event, or with any bytes. `before` runs in the new process.

        `project` is the folder that the session was started in, which Claude Code tells its hooks.
        """
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        event = str(given.get("hook_event_name", "")) if isinstance(given, dict) else ""
        cwd = given.get("cwd") if isinstance(given, dict) else None
        command: Sequence[str] = self.program
        if kill is not None and kill.at:
            command = (sys.executable, "-P", "-c", _DIES.format(where=kill.at, calls=kill.calls))
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment | ({"CLAUDE_PROJECT_DIR": project} if project else {}),
            cwd=cwd if isinstance(cwd, str) and "\0" not in cwd and os.path.isdir(cwd) else self.folder,
            preexec_fn=before,
        )
        if kill is not None and kill.after is not None:
            return self._killed(process, event, data, kill.after, started)
        out, err = process.communicate(data, timeout=_HOOK_LIMIT_S)
        return Ran(event, process.returncode, out.decode(), err.decode(), time.monotonic() - started)

    def _killed(self, process: subprocess.Popen[bytes], event: str, data: bytes, after: float, started: float) -> Ran:
        assert process.stdin is not None
        try:
            process.stdin.write(data)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None  # `communicate` would close it again
        try:
            process.wait(timeout=max(0.0, after - (time.monotonic() - started)))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        out, err = process.communicate(timeout=_HOOK_LIMIT_S)
        return Ran(event, process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), after)

    def captures(self) -> Iterator[psutil.Process]:
        """The processes of Sage on this machine that are still running."""
        for process in psutil.process_iter(["cmdline", "status"]):
            words = process.info["cmdline"] or []
            if _CAPTURE not in words or process.info["status"] == psutil.STATUS_ZOMBIE:
                continue
            try:
                if process.environ().get("SAGE_HOME") == str(self.sage):
                    yield process
            except psutil.Error:
                continue

    def settle(self, limit_s: float = 60.0) -> int:
        """Wait until the background processes have ended; how many have not."""
        end = time.monotonic() + limit_s
        while (running := list(self.captures())) and time.monotonic() < end:
            time.sleep(0.02)
        return len(running)

    def checkpoints(self) -> dict[str, str]:
        """The texts of all checkpoints in the user's home, by id."""
        return {path.stem: path.read_text() for path in sorted((self.sage / "checkpoints").glob("*.md"))}

    def states(self) -> list[dict[str, Any]]:
        """The states of all sessions."""
        return [json.loads(path.read_text()) for path in sorted((self.sage / "continuity/sessions").glob("*.json"))]

    def forget(self) -> None:
        """Lose the state of everything that was followed; the checkpoints stay."""
        for path in (self.sage / "continuity").rglob("*.json"):
            path.unlink()

    def tune(self, **settings: Any) -> None:
        """Set settings of the user."""
        self.sage.mkdir(parents=True, exist_ok=True)
        lines = [f"{key}: {json.dumps(value)}\n" for key, value in settings.items()]
        (self.sage / "tuning.yaml").write_text("".join(lines))


@dataclass
class Played:
    """One session that is played."""

    machine: Machine
    cwd: Path
    id: str = ""
    now: float | None = None  # the time at which it begins; the clock's if not given
    branch: str = "main"
    boundary_first: bool = True  # whether the transcript shows a compaction before the hook is called
    briefs: list[str] = field(default_factory=list)  # what the model was given, in order
    shown: list[str] = field(default_factory=list)  # what the user was shown
    ran: list[Ran] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.id = self.id or self.machine.new_id()
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.cwd.resolve()))
        path = self.machine.claude / "projects" / slug / f"{self.id}.jsonl"
        self.transcript = Transcript(path, self.id, str(self.cwd), branch=self.branch, now=self.now)

    def event(self, name: str, kill: Kill | None = None, matcher: str = "", **more: Any) -> Ran:
        """Call the hook, and take its answer as Claude Code does."""
        given = {
            "session_id": self.id,
            "transcript_path": str(self.transcript.path),
            "cwd": str(self.cwd),
            "permission_mode": "default",
            "hook_event_name": name,
            **more,
        }
        ran = self.machine.hook(given, kill, project=str(self.cwd))
        self.ran.append(ran)
        if kill is None:
            assert ran.code == 0, f"{name} ended with {ran.code}: {ran.err}"
        if ran.said and name != "PreCompact":  # Claude Code drops that one
            self.shown.append(ran.said)
        if ran.context:
            assert len(ran.context) <= MAX_CONTEXT
            if name != "SubagentStart":
                self.briefs.append(ran.context)
                self.transcript.hook_context(name, matcher, ran.context)
        return ran

    def start(self, source: str = "startup", kill: Kill | None = None) -> Ran:
        """The session begins, or its context does."""
        return self.event("SessionStart", kill, source, source=source, model="claude-opus-4-5")

    def prompt(self, text: str, kill: Kill | None = None, *, has_hook: bool = True) -> Ran | None:
        """The user types something. Claude Code writes it down once the hooks have answered."""
        self.transcript.snapshot()
        ran = self.event("UserPromptSubmit", kill, prompt=text) if has_hook else None
        self.transcript.user(text)
        return ran

    def work(self, text: str, calls: Sequence[Call] = ()) -> None:
        """The agent works and answers."""
        for call in calls:
            self.transcript.assistant("", [call])
        self.transcript.assistant(text)

    def stop(
        self, last: str = "", kill: Kill | None = None, *, stop_hook_active: bool = False, is_late: bool = False
    ) -> Ran:
        """The agent stops. With `is_late` its last words reach the transcript after the hook."""
        more = {"stop_hook_active": stop_hook_active, "last_assistant_message": last}
        if not is_late:
            return self.event("Stop", kill, **more)
        with self.transcript.held():
            self.transcript.assistant(last)
            return self.event("Stop", kill, **more)

    def turn(self, asked: str, answered: str, calls: Sequence[Call] = ()) -> None:
        """A whole exchange."""
        self.prompt(asked)
        self.work(answered, calls)
        self.stop(answered)

    def compact(
        self,
        trigger: str = "auto",
        *,
        summary: str = "Summary: the work goes on.",
        pre: Kill | None = None,
        start: Kill | None = None,
        has_pre: bool = True,
        has_start: bool = True,
    ) -> bool:
        """The context is compacted; whether it was, since a hook may hold a manual one."""
        if has_pre:
            ran = self.event("PreCompact", pre, trigger, trigger=trigger, custom_instructions="")
            if ran.is_block:
                return False
        if self.boundary_first:
            self._compacted(trigger, summary)
            if has_start:
                self.start("compact", start)
            return True
        with self.transcript.held():
            self._compacted(trigger, summary)
            if has_start:
                self.start("compact", start)
        return True

    def _compacted(self, trigger: str, summary: str) -> None:
        self.transcript.boundary(trigger)
        self.transcript.summary(summary, as_blocks=len(self.briefs) % 2 == 1)

    def subagent(self, task: str, kind: str = "Explore") -> Ran:
        """A subagent is started; it has a transcript of its own."""
        given = {"description": "Look", "prompt": task, "subagent_type": kind}
        self.transcript.assistant("", [Call("Agent", given, "Done.")])
        return self.event("SubagentStart", None, kind, agent_id="a1b2c3", agent_type=kind)

    def end(self, reason: str = "prompt_input_exit", kill: Kill | None = None) -> Ran:
        """The session ends in order."""
        return self.event("SessionEnd", kill, reason, reason=reason)

    def resume(self) -> Ran:
        """The same session goes on, after its end or after a crash."""
        return self.start("resume")

    def clear(self) -> Played:
        """The user clears the context: a new session begins in the same window."""
        self.end("clear")
        fresh = Played(self.machine, self.cwd, now=self.transcript.now, branch=self.branch)
        fresh.start("clear")
        return fresh

    def fork(self) -> Played:
        """A new session that begins with the messages of this one."""
        fresh = Played(self.machine, self.cwd, now=self.transcript.now, branch=self.branch)
        old = self.transcript.path.read_bytes()
        fresh.transcript.path.write_bytes(old.replace(self.id.encode(), fresh.id.encode()))
        fresh.start("fork")
        return fresh


def number_of(brief: str) -> int:
    """The number of a brief."""
    found = _BRIEF.match(brief)
    assert found, f"no brief: {brief[:80]!r}"
    return int(found[1])


def body_of(brief: str) -> str:
    """A brief without its number."""
    return _BRIEF.sub("<sage-brief>", brief, count=1)


def is_well_formed(brief: str) -> bool:
    """Whether a brief is one element, which nothing inside of it opens or closes."""
    inner = brief.removeprefix(brief.partition("\n")[0]).removesuffix("</sage-brief>")
    is_closed = brief.endswith("</sage-brief>") and brief.count("</sage-brief>") == 1
    return is_closed and bool(_BRIEF.match(brief)) and not re.search(r"</?[a-zA-Z!?]", inner)


def section(brief: str, title: str) -> list[str]:
    """The items below a title."""
    lines = brief.split("\n")
    if f"{title}:" not in lines:
        return []
    found = []
    for line in lines[lines.index(f"{title}:") + 1 :]:
        if not line.startswith("- "):
            break
        found.append(line[2:])
    return found
