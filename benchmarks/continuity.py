"""Plays many sessions with real hooks, kills some of them, and counts the briefs; or measures what a hook costs.

    python benchmarks/continuity.py --compactions 1000 --kills 100        # ends with 1 when a promise was broken
    python benchmarks/continuity.py --logs DIR [--every 6] [--count N]    # plays recorded sessions (session_logs.py)
    python benchmarks/continuity.py --cost [--repeat 40] [--megabytes 200]

Sessions run in pairs, two in one folder, on one made-up machine (`tests/continuity/playing.py`). Each exchange says
something that nobody else says. After a compaction the user types up to four prompts; exactly one brief must arrive,
with this exchange in it and nothing of another session outside of its section. Kills hit hooks and background saves at
random moments. At the end no process, no waiting brief and no half-made file may be left. Costs are those of whole
processes against `python -c pass`, in turns; of a background save the processor time is counted to the hook.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil
from measure import machine as measured_machine
from measure import table

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "continuity"))
from played_logs import last_words, turns_of, write_replies
from playing import PROGRAM, Kill, Machine, Played
from records import Call, Transcript, read
from session_logs import read_session

from sage_code.text.tokens import count_tokens

_PER_SESSION = 10
_PROMPTS = 4
_PR_SET_CHILD_SUBREAPER = 36
# The hooks that are killed, and how long one of them takes at most on a machine with something else to do.
_MOMENTS = {"pre": 0.45, "start": 0.45, "prompt": 0.15, "stop": 0.15, "capture": 0.3}
_FILES = {f"part_{number}.py": f"def work_{number}():\n    return {number}\n" for number in range(4)}


@dataclass
class Tally:
    """What happened."""

    compactions: int = 0
    kills: Counter[str] = field(default_factory=Counter)  # by hook; some come too late
    outcomes: Counter[str] = field(default_factory=Counter)
    prompts: Counter[int] = field(default_factory=Counter)  # how many prompts it took; 0: the brief came by itself
    failures: list[str] = field(default_factory=list)
    messages: Counter[str] = field(default_factory=Counter)  # what the user was shown


class Runner:
    """Plays the sessions."""

    def __init__(self, machine: Machine, compactions: int, kills: int, seed: int) -> None:
        self.machine, self.wanted = machine, compactions
        self.random = Random(seed)
        self.tally = Tally()
        chances = [(number, moment) for number in range(compactions) for moment in _MOMENTS]
        self.plan = set(self.random.sample(chances, min(kills, len(chances))))
        self.number = 0  # of the compaction

    def run(self) -> Tally:
        """Play until there were enough compactions."""
        pair = 0
        while self.tally.compactions < self.wanted:
            root = self.machine.project(f"app-{pair}", _FILES)
            sessions = [Played(self.machine, root, boundary_first=self.random.random() < 0.5) for _ in range(2)]
            for session in sessions:
                session.start()
            for turn in range(_PER_SESSION):
                for at, session in enumerate(sessions):
                    if self.tally.compactions < self.wanted:
                        self._compaction(session, f"p{pair}s{at}", turn)
            for session in sessions:
                self.tally.messages.update(_plain(text) for text in session.shown)
                if self.random.random() < 0.8:  # the others crash
                    session.end()
            pair += 1
            if pair % 5 == 0:
                print(f"  {self.tally.compactions} compactions, {dict(self.tally.outcomes)}", file=sys.stderr)
        return self.tally

    def _compaction(self, session: Played, name: str, turn: int) -> None:
        """One exchange, a compaction, prompts until the brief is there, and one more: it must not come twice."""
        number, self.number = self.number, self.number + 1
        asked = f"Please rework part {turn} of {name} and keep rule-{name}-{turn}, never drop it."
        told = f"I decided to cache mark-{name}-{turn} in part_{turn % 4}.py instead of reading it again."
        if self.random.random() < 0.1:
            session.resume()
        session.prompt(asked)
        session.work(told, [read(session.cwd, f"part_{turn % 4}.py")])
        if self.random.random() < 0.3 or (number, "stop") in self.plan:
            session.stop(told, self._kill(number, "stop"))
        before = len(session.briefs)
        trigger = self.random.choice(["auto", "manual"])
        session.compact(trigger, pre=self._kill(number, "pre"), start=self._kill(number, "start"))
        if (number, "capture") in self.plan:
            self._kill_background(session)
        took, kill = 0, self._kill(number, "prompt")
        while len(session.briefs) == before and took < _PROMPTS:
            session.prompt(f"go on with step {took}", kill)
            took, kill = took + 1, None
            session.work("It goes on.")
        session.prompt("and further", kill)
        session.work("It goes further.")
        self.tally.compactions += 1
        self.tally.prompts[took] += 1
        arrived = session.briefs[before:]
        outcome = _outcome(arrived, name, turn)
        self.tally.outcomes[outcome] += 1
        if outcome != "once":
            self.tally.failures.append(f"compaction {number} ({name}, turn {turn}): {outcome}, {self._planned(number)}")

    def _planned(self, number: int) -> list[str]:
        return [moment for moment in _MOMENTS if (number, moment) in self.plan]

    def _kill(self, number: int, moment: str) -> Kill | None:
        """How the hook dies, if it is one of the chosen."""
        if (number, moment) not in self.plan:
            return None
        self.tally.kills[moment] += 1
        return Kill(after=self.random.uniform(0.0, _MOMENTS[moment]))

    def _kill_background(self, session: Played) -> None:
        """Ask for a save in the background, and kill it."""
        session.prompt("checkpoint")
        time.sleep(self.random.uniform(0.0, _MOMENTS["capture"]))
        self.tally.kills["capture"] += 1
        for process in self.machine.captures():
            with contextlib.suppress(psutil.NoSuchProcess):  # it was faster
                process.send_signal(signal.SIGKILL)


def _outcome(arrived: Sequence[str], name: str, turn: int) -> str:
    """How a compaction was answered."""
    if not arrived:
        return "never"
    own = arrived[0].partition("Other sessions here:")[0]
    words = own.replace("rule-", " rule-").split()
    marks = {word.strip(".,") for word in words if word.startswith(("mark-", "rule-"))}
    if any(not mark.startswith((f"mark-{name}-", f"rule-{name}-")) for mark in marks):
        return "wrong session"
    if f"mark-{name}-{turn}" not in marks:
        return "old"
    return "once" if len(arrived) == 1 else "twice"


def _plain(text: str) -> str:
    return " ".join(text.split())[:120]


def count_briefs(options: argparse.Namespace) -> int:
    """Play, and report what arrived; the number of broken promises."""
    folder = Path(tempfile.mkdtemp(prefix="sage-continuity-"))
    machine = Machine(folder)
    started = time.perf_counter()
    try:
        tally = Runner(machine, options.compactions, options.kills, options.seed).run()
        orphans = machine.settle(130.0)
        left = [state for state in machine.states() if _waits(state)]
        half_made = list(machine.sage.rglob("*.tmp"))
        rubbish = _after_an_hour(machine, half_made)
        saved = len(machine.checkpoints())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    took = ", ".join(f"{count} after {prompts}" for prompts, count in sorted(tally.prompts.items()))
    rows = [
        ("compactions", tally.compactions),
        ("hooks and saves killed", f"{sum(tally.kills.values())} ({_counts(tally.kills)})"),
        ("briefs arrived", _counts(tally.outcomes)),
        ("prompts until then", took),
        ("processes left", orphans),
        ("briefs left waiting", len(left)),
        ("half-made files of killed writers", f"{len(half_made)}, after an hour {len(rubbish)}"),
        ("checkpoints kept", saved),
        ("shown to the user", _counts(tally.messages) or "nothing"),
        ("minutes", f"{(time.perf_counter() - started) / 60:.1f}"),
    ]
    print(measured_machine(), f"Seed {options.seed}.\n", sep=" ")
    print(table(["what", "count"], rows))
    print(*tally.failures[:20], *rubbish, sep="\n")
    return len(tally.failures) + orphans + len(left) + len(rubbish)


def _after_an_hour(machine: Machine, half_made: Sequence[Path]) -> list[str]:
    """The half-made files that are still there when a session begins and saves an hour later."""
    for path in half_made:
        os.utime(path, (time.time() - 4_000,) * 2)
    session = Played(machine, machine.project("later"))
    session.start()
    session.prompt("Please make it faster, but never drop a row.")
    session.work("I decided to batch it instead of streaming.")
    session.compact()
    return [str(path.relative_to(machine.sage)) for path in half_made if path.exists()]


def _waits(state: dict[str, Any]) -> bool:
    return (state.get("compaction") or {}).get("state") in ("pending", "offered")


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counter.most_common())


def play_logs(options: argparse.Namespace) -> int:
    """Play recorded sessions, and compact them now and then; the number of compactions without exactly one brief."""
    folder = Path(tempfile.mkdtemp(prefix="sage-continuity-"))
    machine, started = Machine(folder), time.perf_counter()
    outcomes: Counter[str] = Counter()
    named: list[int] = []  # of the files that were changed, whether the brief names them
    tokens: list[int] = []
    messages: Counter[str] = Counter()
    logs = sorted(options.logs.glob("*.md"))[: options.count]
    try:
        for number, log in enumerate(logs):
            session = Played(machine, machine.project(f"log-{number}"))
            session.start()
            for outcome, brief, changed in _played(session, log, options.every):
                outcomes[outcome] += 1
                if brief:
                    named += [name in brief for name in changed]
                    tokens.append(count_tokens(brief))
            session.end()
            messages.update(_plain(text) for text in session.shown)
        orphans = machine.settle(130.0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [
        ("sessions", len(logs)),
        ("compactions", sum(outcomes.values())),
        ("briefs arrived", _counts(outcomes)),
        ("changed files that the brief names", f"{sum(named)} of {len(named)}"),
        ("tokens of a brief", f"median {statistics.median(tokens or [0]):.0f}, most {max(tokens, default=0)}"),
        ("processes left", orphans),
        ("shown to the user", _counts(messages) or "nothing"),
        ("minutes", f"{(time.perf_counter() - started) / 60:.1f}"),
    ]
    print(measured_machine(), table(["what", "count"], rows), sep="\n\n")
    return orphans + sum(count for outcome, count in outcomes.items() if outcome not in ("once", "nothing to say"))


def _played(session: Played, log: Path, every: int) -> Iterator[tuple[str, str, list[str]]]:
    """Play a log. For each compaction: how it was answered, the brief, and the names of the files changed so far."""
    changed: dict[str, None] = {}
    before, waits, said_something = 0, False, False
    for number, turn in enumerate(turns_of(read_session(log), session.cwd)):
        if turn.asked:
            session.prompt(turn.asked)
        if waits:
            briefs, waits = session.briefs[before:], False
            outcome = {0: "never" if said_something else "nothing to say", 1: "once"}.get(len(briefs), "twice")
            yield outcome, briefs[0] if briefs else "", list(changed)
        write_replies(session.transcript, turn)
        done = [call for reply in turn.replies for call in reply.calls if call.tool in ("Edit", "Write")]
        paths = [str(call.given.get("file_path", "")) for call in done if not call.is_error]
        changed.update(dict.fromkeys(os.path.basename(path) for path in paths if path.startswith(str(session.cwd))))
        said_something |= bool(turn.replies and turn.asked)
        if turn.replies:
            session.stop(last_words(turn))
        if turn.summary or number % every == every - 1:
            before, waits = len(session.briefs), True
            session.compact(summary=turn.summary or "The work goes on.")


class Stopwatch:
    """Runs hooks one by one, and counts the processor time of what they leave behind."""

    def __init__(self, machine: Machine, command: Sequence[str]) -> None:
        self.machine, self.command = machine, tuple(command)
        self._input = machine.folder / "event.json"

    def run(self, command: Sequence[str], given: dict[str, Any] | None = None) -> tuple[float, float, float]:
        """Wall and processor seconds of a process, and of the processes that it left behind."""
        self._input.write_text(json.dumps(given or {}))
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, str(self._input), os.O_RDONLY, 0),
            *((os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)),
        ]
        started = time.perf_counter()
        process = os.posix_spawn(command[0], command, self.machine.environment, file_actions=actions)
        _, status, used = os.wait4(process, 0)
        wall = time.perf_counter() - started
        if os.waitstatus_to_exitcode(status):
            raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        behind = sum(_cpu(rest) for rest in _orphans())
        return wall, _cpu(used), behind

    def hook(self, session: Played, event: str, **more: Any) -> tuple[float, float, float]:
        """The cost of one hook."""
        given = {"session_id": session.id, "transcript_path": str(session.transcript.path), "cwd": str(session.cwd)}
        return self.run(self.command, {**given, "hook_event_name": event, **more})


def _orphans() -> Iterator[Any]:
    """What the children's children used that have become ours, once they have ended."""
    while True:
        try:
            _, _, used = os.wait4(-1, 0)
        except ChildProcessError:
            return
        yield used


def _cpu(used: Any) -> float:
    return float(used.ru_utime + used.ru_stime)


def _exchange(session: Played, number: int) -> str:
    """Something new in the transcript."""
    text = f"I decided to keep step {number} in `part_{number % 4}.py` instead of the caller, which is simpler."
    session.transcript.user(f"Please look at step {number} of the import, it must not drop rows.")
    session.work(text, [read(session.cwd, f"part_{number % 4}.py")])
    return text


def _grow(transcript: Transcript, megabytes: int) -> None:
    """Results of tools, as they fill real transcripts."""
    block = "\n".join(f"{number:6}→    value_{number} = compute({number})" for number in range(3_000))
    while (os.path.getsize(transcript.path) if transcript.path.exists() else 0) < megabytes << 20:
        calls = [Call("Read", {"file_path": f"{transcript.cwd}/part_{at}.py"}, block) for at in range(8)]
        transcript.assistant("It looks fine.", calls)


def measure_cost(options: argparse.Namespace) -> None:
    """What hooks cost, in turns with a process that does nothing."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    script = Path(sys.executable).with_name("sage-hook")
    programs = {"python -P -m": PROGRAM} | ({"sage-hook": (str(script),)} if script.exists() else {})
    rows = []
    for name, command in programs.items():
        for megabytes in (0, options.megabytes):
            folder = Path(tempfile.mkdtemp(prefix="sage-continuity-"))
            try:
                rows += _costs(Machine(folder), command, name, megabytes, options.repeat)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    print(measured_machine(), f"Medians of {options.repeat}; `python -c pass` in turns with each.\n", sep=" ")
    head = ["program", "transcript", "hook", "wall", "ratio", "processor", "ratio", "in the background"]
    print(table(head, rows))


def _costs(machine: Machine, command: Sequence[str], name: str, megabytes: int, repeat: int) -> list[list[str]]:
    watch = Stopwatch(machine, command)
    session = Played(machine, machine.project("app", _FILES))
    if megabytes:
        _grow(session.transcript, megabytes)
    watch.hook(session, "SessionStart", source="startup")  # compiles the modules, and reads the settings
    watch.hook(session, "UserPromptSubmit", prompt="hello")
    found: dict[str, list[tuple[float, float, float]]] = {}
    for number in range(repeat):
        found.setdefault("nothing", []).append(watch.run((sys.executable, "-c", "pass")))
        prompt = watch.hook(session, "UserPromptSubmit", prompt=f"Look at step {number}.")
        found.setdefault("UserPromptSubmit", []).append(prompt)
        text = _exchange(session, number)
        stop = watch.hook(session, "Stop", stop_hook_active=False, last_assistant_message=text)
        found.setdefault("Stop, saved" if stop[2] else "Stop", []).append(stop)
    for number in range(repeat, repeat + max(3, repeat // 4)):
        _exchange(session, number)
        found.setdefault("checkpoint on request", []).append(
            watch.hook(session, "UserPromptSubmit", prompt="checkpoint")
        )
        _exchange(session, number + 10_000)
        found.setdefault("PreCompact", []).append(watch.hook(session, "PreCompact", trigger="auto"))
        session.transcript.boundary()
        found.setdefault("SessionStart compact", []).append(watch.hook(session, "SessionStart", source="compact"))
    base = [statistics.median(one[at] for one in found["nothing"]) for at in range(2)]
    rows = []
    for hook, costs in found.items():
        wall, cpu, behind = (statistics.median(cost[at] for cost in costs) for at in range(3))
        total = f"{behind * 1e3:.0f} ms" + (f", together {(cpu + behind) * 1e3:.0f} ms" if behind else "")
        times = [f"{wall * 1e3:.0f} ms", f"{wall / base[0]:.1f}", f"{cpu * 1e3:.0f} ms", f"{cpu / base[1]:.1f}"]
        rows.append([name, f"{megabytes} MB" if megabytes else "small", f"{hook} ({len(costs)})", *times, total])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compactions", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--logs", type=Path, help="play the Markdown logs of this folder instead")
    parser.add_argument("--every", type=int, default=6, help="exchanges between two compactions of a log")
    parser.add_argument("--count", type=int, help="play only so many logs")
    parser.add_argument("--cost", action="store_true", help="measure what hooks cost instead")
    parser.add_argument("--repeat", type=int, default=40)
    parser.add_argument("--megabytes", type=int, default=200, help="the size of the large transcript")
    options = parser.parse_args()
    if options.cost:
        measure_cost(options)
    else:
        sys.exit(1 if (play_logs if options.logs else count_briefs)(options) else 0)


if __name__ == "__main__":
    main()
