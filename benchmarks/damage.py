"""Damages the files that Sage reads, one at a time, and runs every command.

    python benchmarks/damage.py --flips 1000 --replaced 200

Each round takes a fresh copy of a small project with its index, memories, home and transcripts, flips a bit of one
file, cuts it or puts a link, a pipe, a folder or an endless device in its place, and runs every command. Each must give
the right answer (that of the undamaged copy) or a clear error with exit code 2, within 10 s and 1 GB. Then what the
errors name as the remedy is done (`sage index` when there was none), and every answer must be right again.

A file that is the truth itself (a source, a memory, a setting) may change the answers: then a fresh index of the
changed files must give the same ones (in every few rounds), and once the file is put back they must be the old ones.
Ends with 1 when a promise was broken, and prints how to repeat each failure.

A round is a fork of a process that has imported everything; every few rounds a real MCP server is asked too.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import damage_material as material
import typer.main
from damage_processes import CRASH, MAX_BYTES, ask_server, in_a_child, patience
from measure import table

_VOLATILE = {
    "took_ms", "duration_ms", "indexed_at", "age_days", "compiled_bytes", "note", "took", "damaged", "warnings",
}  # fmt: skip
_ALWAYS = ("search", "grep")


class _OutOfTime(BaseException):
    """A command took too long."""


@dataclass(slots=True)
class Answer:
    """The result of a command."""

    code: int
    out: str
    err: str
    seconds: float
    document: Any = None

    def crash(self) -> str:
        """Why this is neither an answer nor a clear error; empty if it is one."""
        said = self.out + self.err
        if found := CRASH.search(said):
            return said[max(0, found.start() - 40) : found.end() + 200]
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        if self.code == 2 and self.out and not isinstance(self.document, dict):
            return "no document of the error"
        return ""


@dataclass(slots=True)
class Outcome:
    """The result of a round."""

    result: str  # right, mended, put back, FAILED
    failures: list[str] = field(default_factory=list)
    errors: int = 0  # clear ones
    remedies: list[str] = field(default_factory=list)  # that these name


def main() -> int:
    """Run the rounds and print the table."""
    given = _arguments()
    if given.base:
        return _rounds(given.base, given)
    base = Path(tempfile.mkdtemp(prefix="sage-damage-"))
    try:
        return _rounds(base, given)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _arguments() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--replaced", type=int, default=200)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--base", type=Path, help="keep the material in this folder, and take what is there")
    parser.add_argument("--only", help="only files of this kind")
    parser.add_argument("--case", type=int, action="append", help="only this round, by its number")
    parser.add_argument(
        "--mcp-every", type=int, default=40, help="ask the MCP server in every so many rounds; 0: never"
    )
    parser.add_argument("--times", action="store_true", help="print what each command takes, and end")
    parser.add_argument("--doctor-every", type=int, default=40)
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many; 0: when all is done")
    parser.add_argument("--turns", type=int, default=1, help="beside search and grep, one of so many commands a round")
    parser.add_argument("--fresh-every", type=int, default=4, help="compare with a fresh index so often; 0: never")
    return parser.parse_args()


def _rounds(base: Path, given: argparse.Namespace) -> int:
    """Run all rounds and print the table; the exit code."""
    pristine, work = base / "pristine", base / "work"
    _environment(work)
    if not pristine.exists():
        _make(work)
        shutil.move(work, pristine)
    _import_everything()
    _renew(pristine, work)
    asked = material.questions(str(work / "project"))
    if given.times:
        print(in_a_child(lambda: {name: round(_sage(words).seconds, 3) for name, words in asked.items()}))
        return 0
    right = in_a_child(lambda: {name: _comparable(_sage(words)) for name, words in asked.items()})
    names = _files(pristine)
    by_kind: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if (found := material.kind_of(name)) and (not given.only or found[0] == given.only):
            by_kind[found[0]].append(name)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    failed: list[str] = []
    started = time.monotonic()
    total = given.flips + given.replaced
    for number in range(total):
        if given.case and number not in given.case:
            continue
        if given.minutes and time.monotonic() - started > 60 * given.minutes:
            print(f"stopped after {number} rounds of {total}")
            break
        chance = Random(f"{given.seed} {number}")
        kinds = sorted(by_kind)
        # Replacements are strewn among the flips, so that a part of the rounds shows some of everything.
        replaced = number * given.replaced // total
        is_flip = (number + 1) * given.replaced // total == replaced
        own = number - replaced if is_flip else replaced
        usable = [kind for kind in kinds if not is_flip or any(_has_bytes(pristine / name) for name in by_kind[kind])]
        visit, kind = own // len(usable), usable[own % len(usable)]
        choices = [name for name in by_kind[kind] if not is_flip or _has_bytes(pristine / name)]
        name = chance.choice(choices)
        _renew(pristine, work)
        if is_flip:
            done = material.flip(work / name, chance)
        else:
            done = sorted(material.REPLACEMENTS)[(own + visit) % len(material.REPLACEMENTS)]
            material.replace(work / name, done)
        truth = next(is_truth for pattern, its_kind, is_truth in material.KINDS if its_kind == kind)
        extras = {
            "doctor": bool(given.doctor_every) and number % given.doctor_every == 0,
            "mcp": bool(given.mcp_every) and number % given.mcp_every == 1,
            "fresh": bool(given.fresh_every) and visit % given.fresh_every == 0,
        }
        turn = {what: what in _ALWAYS or (at + visit) % given.turns == 0 for at, what in enumerate(asked)}
        outcome = _one(work, pristine / name, name, truth, right, extras, turn)
        counts[kind][outcome.result] += 1
        counts[kind]["clear errors"] += outcome.errors
        for failure in outcome.failures:
            failed.append(f"--seed {given.seed} --case {number}: {kind}: {name}: {done}: {failure}")
            print(failed[-1], flush=True)
        if number % 50 == 49:
            print(f"# {number + 1} rounds, {len(failed)} failures, {time.monotonic() - started:.0f} s", flush=True)
        if number % 200 == 199:
            _print(counts, time.monotonic() - started)
    _print(counts, time.monotonic() - started)
    return 1 if failed else 0


def _make(work: Path) -> None:
    work.mkdir(parents=True)
    work.parent.chmod(0o755)

    def sage(*words: str) -> None:
        _demand_good(in_a_child(lambda: asdict(_sage(list(words)))))

    material.make(work, sage)


def _one(
    work: Path,
    original: Path,
    name: str,
    truth: bool,
    right: dict[str, Any],
    extras: dict[str, bool],
    turn: dict[str, bool],
) -> Outcome:
    """One round, its commands in a child."""
    project = str(work / "project")

    def ask() -> dict[str, Any]:
        """Run the commands of one round and judge their answers."""
        outcome = Outcome("right")
        wrong = _ask_all(project, right, outcome, turn, judged=not truth)
        _no_crash(["status", project, "--json"], outcome)
        if turn["map"]:
            _no_crash(["admin", "verify", project, "--check", "--json"], outcome)
        if extras["doctor"]:
            _no_crash(["doctor", project, "--json"], outcome)
        if extras["mcp"]:
            outcome.failures += ask_server(project)
        if truth:
            outcome.result = "put back"
            _no_crash(["index", project, "--json"], outcome)
            if extras["fresh"]:
                outcome.failures += _as_in_a_fresh_index(work, right)
            _put_back(original, work / name)
            _no_crash(["index", project, "--json"], outcome)
        else:
            outcome.result = "mended" if wrong else "right"
            if wrong and not outcome.remedies:
                outcome.failures.append(f"no remedy is named: {wrong[0]}")
            _mend(work / name, project, outcome)
        again = Outcome("")
        left = _ask_all(project, right, again, turn, judged=True)
        outcome.failures += [f"after mending: {failure}" for failure in again.failures]
        outcome.failures += [f"not mended: {what}" for what in left]
        peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1024
        if peak > MAX_BYTES:
            outcome.failures.append(f"took {peak >> 20} MB")
        return asdict(outcome)

    found = Outcome(
        **in_a_child(ask, failure={"result": "FAILED", "failures": ["the process died or hung"], "errors": 0})
    )
    if found.failures:
        found.result = "FAILED"
    return found


def _ask_all(
    project: str, right: dict[str, Any], outcome: Outcome, turn: dict[str, bool], *, judged: bool
) -> list[str]:
    """Run the questions of this turn; returns those with a wrong answer."""
    wrong = []
    for name, words in material.questions(project).items():
        if not turn[name]:
            continue
        answer = _sage(words)
        if crash := answer.crash():
            outcome.failures.append(f"{name}: {crash}")
            wrong.append(f"{name}: {crash[:80]}")
        elif answer.code == 2:
            outcome.errors += 1
            outcome.remedies += _remedies(answer)
            wrong.append(f"{name}: {answer.err[:160].strip()}")
        elif judged and (given := _comparable(answer)) != right[name]:
            wrong.append(f"{name}: another answer")
            # An answer that is wrong and does not say so is worse than none.
            remedies = _remedies(answer)
            outcome.remedies += remedies
            if not remedies:
                outcome.failures.append(f"{name}: a wrong answer, {_difference(given, right[name])}")
    return wrong


def _remedies(answer: Answer) -> list[str]:
    """The remedy that a message or a note names."""
    said = answer.err + answer.out
    return re.findall(r"`sage ((?:index|admin)\b[^`]*)`", said) + ["move it away"] * ("move it away" in said)


def _mend(path: Path, project: str, outcome: Outcome) -> None:
    """Do what the errors say, and index."""
    if "move it away" in outcome.remedies:
        _remove(path)
    for remedy in sorted({remedy for remedy in outcome.remedies if remedy.startswith("admin")}):
        _no_crash([*remedy.split()[:2], project, "--json"], outcome)
    indexed = _no_crash(["index", project, "--json"], outcome)
    if indexed.code == 2 and (path.is_symlink() or path.exists()):
        remedies = _remedies(indexed)
        if "move it away" in remedies:
            _remove(path)
        for remedy in remedies:
            if remedy.startswith("admin"):
                _no_crash([*remedy.split()[:2], project, "--json"], outcome)
        if not remedies:
            outcome.failures.append(f"index names no remedy: {indexed.err[:200]}")
        _no_crash(["index", project, "--json"], outcome)


def _as_in_a_fresh_index(work: Path, right: dict[str, Any]) -> list[str]:
    """The questions that a fresh index of the present files answers differently."""
    project = str(work / "project")
    now = {name: _comparable(_sage(words)) for name, words in material.questions(project).items()}
    made = [work / "project/.sage/codebase", work / "home/codebase"]
    for folder in made:
        folder.rename(f"{folder}.kept")
    indexed = _sage(["index", project, "--json"])
    fresh = {name: _comparable(_sage(words)) for name, words in material.questions(project).items()}
    for folder in made:
        shutil.rmtree(folder, ignore_errors=True)
        Path(f"{folder}.kept").rename(folder)
    if indexed.code == 2:
        return []  # with such a setting nothing is indexed: there is only the last good index
    return [f"{name}: unlike in a fresh index, {_difference(now[name], fresh[name])}" for name in right
            if now[name][0] != 2 and now[name] != fresh[name]]  # fmt: skip


def _no_crash(words: list[str], outcome: Outcome) -> Answer:
    answer = _sage(words)
    if crash := answer.crash():
        outcome.failures.append(f"{' '.join(words[:2])}: {crash}")
    return answer


def _sage(words: list[str]) -> Answer:
    """Run a command in this process, with a time limit."""
    from sage_cli.entry import main as entry

    sys.argv = ["sage", *words]
    out, err = io.StringIO(), io.StringIO()
    started = time.monotonic()
    code: Any = None
    signal.signal(signal.SIGALRM, _ring)
    seconds = patience()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            entry()
    except SystemExit as ended:
        code = ended.code or 0
    except _OutOfTime:
        code = f"out of time after {seconds:.0f} s"
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    answer = Answer(code, out.getvalue(), err.getvalue(), time.monotonic() - started)
    with contextlib.suppress(ValueError):
        answer.document = json.loads(answer.out)
    return answer


def _ring(*_: object) -> None:
    raise _OutOfTime


def _comparable(answer: Answer | dict[str, Any]) -> Any:
    document = answer.document if isinstance(answer, Answer) else answer["document"]
    code = answer.code if isinstance(answer, Answer) else answer["code"]
    return json.loads(json.dumps([code, _steady(document)]))


def _steady(value: Any) -> Any:
    """An answer without the values that differ in each run."""
    if isinstance(value, dict):
        return {key: _steady(part) for key, part in value.items() if key not in _VOLATILE}
    return [_steady(part) for part in value] if isinstance(value, list) else value


def _difference(given: Any, wanted: Any) -> str:
    one, other = json.dumps(given), json.dumps(wanted)
    at = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{one[max(0, at - 40) : at + 60]!r} for {other[max(0, at - 40) : at + 60]!r}"


def _demand_good(answer: dict[str, Any]) -> None:
    if answer["code"] not in (0, 1):
        raise SystemExit(f"the material cannot be made: {answer}")


def _environment(work: Path) -> None:
    for variable in [name for name in os.environ if name.startswith(("SAGE_", "CLAUDE_"))]:
        del os.environ[variable]
    os.environ.update(HOME=str(work), SAGE_HOME=str(work / "home"), OPENBLAS_NUM_THREADS="1")
    os.environ["GIT_CONFIG_COUNT"], os.environ["GIT_CONFIG_KEY_0"] = "1", "safe.directory"
    os.environ["GIT_CONFIG_VALUE_0"] = "*"


def _import_everything() -> None:
    """Load what the commands need, so that each forked round starts warm."""
    import lance  # noqa: F401

    import sage_cli.app  # noqa: F401
    import sage_code.compiled.generation
    import sage_code.index.upkeep
    import sage_code.memory.memory
    import sage_code.search.engine
    import sage_code.search.hits  # noqa: F401
    from sage_code.embed import default_embedder

    default_embedder().embed_code(["warm"])
    typer.main.get_command = cache(typer.main.get_command)  # built once and not for every command
    for words in (["--help"], ["status", "--help"], ["no-such-command"]):
        _sage(words)
    gc.freeze()


def _files(base: Path) -> list[str]:
    """Everything below `base` that is no folder."""
    found = [path for path in base.rglob("*") if path.is_symlink() or path.is_file()]
    return sorted(str(path.relative_to(base)) for path in found)


def _has_bytes(path: Path) -> bool:
    return path.is_file() and not path.is_symlink() and path.stat().st_size > 0


def _renew(pristine: Path, work: Path) -> None:
    if work.exists():
        subprocess.run(["chmod", "-R", "u+rwX", str(work)], check=False, capture_output=True)
        shutil.rmtree(work)
    subprocess.run(["cp", "-a", str(pristine), str(work)], check=True)


def _put_back(original: Path, path: Path) -> None:
    """Put the original file back, as a person with a copy would do."""
    _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(original, path, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif path.is_symlink() or path.exists():
        path.unlink()


def _print(counts: dict[str, Counter[str]], seconds: float) -> None:
    columns = ("right", "mended", "put back", "FAILED", "clear errors")
    rows = [
        [kind, sum(counts[kind][c] for c in columns[:-1]), *(counts[kind][c] for c in columns)]
        for kind in sorted(counts)
    ]
    total = ["all", *(sum(int(row[place]) for row in rows) for place in range(1, len(columns) + 2))]
    print(table(["damaged", "rounds", *columns], [*rows, total]))
    print(f"{seconds:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
