"""How fast is Sage's index, as ratios to semble's on the same tree, in the same run, on the same machine?

    python benchmarks/speed.py --projects DIR... --semble-python PYTHON [--repeat N] [--max-files N]

Every project is copied to a scratch folder with a SAGE_HOME of its own; nothing stays behind. The two tools take turns,
each run in a fresh process that imports first, then indexes and reports how long that took; the medians are compared.
On a busy machine trust the ratio of processor time: where processes compete, the tool with more of them gets more time,
and Sage has several. semble runs up to four times a turn: its default (code files) and all its content types, each in
one process, as its library does, and with the worker processes that its command line turns on. Its model has random
weights (no hub is needed for its true speed); loading it is left out like the imports.

The other figures are Sage's own, in a process that has imported everything: a run with nothing changed, one with
one changed file, and one after the compiled files were deleted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import Finished, machine, run, table, verdict

COLD_LIMIT, UNCHANGED_LIMIT, ONE_FILE_LIMIT, MEMORY_LIMIT_MB = 1.0, 3.0, 5.0, 600
# (content types, worker processes): 0 is what its library does, 4 what its command line sets.
SEMBLE = {
    "semble code": ("code", 0),
    "semble all": ("all", 0),
    "semble code, workers": ("code", 4),
    "semble all, workers": ("all", 4),
}
_VOCABULARY, _DIM = 62_500, 256
_TRAINING_FILES = 2_000
_BEST_OF = 3
# Everything that `sage index` loads on its way, most of it lazily.
_SAGE_MODULES = (
    "sage_cli.app",
    "sage_code.chunk.workers",
    "sage_code.compiled.generation",
    "sage_code.embed.hashing",
    "sage_code.index.vectors",
    "sage_code.index.pipeline",
    "sage_code.store.lance",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", nargs="+", type=Path, required=True)
    parser.add_argument(
        "--semble-python", default="", help="interpreter of an environment with semble; without it: Sage alone"
    )
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--max-files", type=int, default=0, help="take this many files of a larger project")
    parser.add_argument("--variants", nargs="+", choices=SEMBLE, default=list(SEMBLE), help="ways to run semble")
    given = parser.parse_args()
    variants = given.variants if given.semble_python else []
    measured = []
    for project in given.projects:
        with tempfile.TemporaryDirectory(prefix="sage-speed-") as scratch:
            bench = Bench(Path(scratch), given.semble_python, variants)
            bench.check_out(project, given.max_files)
            measured.append(bench.measure(project.name, given.repeat))
            print(f"{project.name}: {json.dumps(measured[-1])}", file=sys.stderr, flush=True)
    print(report(measured))


class Bench:
    """One project in a scratch folder."""

    def __init__(self, scratch: Path, semble_python: str, variants: list[str]) -> None:
        self.root, self.home, self.model = scratch / "project", scratch / "home", scratch / "model"
        self.semble_python, self.variants = semble_python, variants

    def check_out(self, project: Path, max_files: int) -> None:
        """Copy the tracked files (evenly chosen ones, when there are more than `max_files`) into a new repository."""
        listed = subprocess.run(["git", "-C", project, "ls-files", "-z"], capture_output=True, check=True).stdout
        names = [os.fsdecode(name) for name in listed.split(b"\0") if name and (project / os.fsdecode(name)).is_file()]
        if 0 < max_files < len(names):
            names = sorted(random.Random(0).sample(names, max_files))
        for name in names:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(project / name, self.root / name, follow_symlinks=False)
        subprocess.run(["git", "-C", self.root, "init", "-q"], check=True)
        subprocess.run(["git", "-C", self.root, "add", "-A", "-f"], check=True, capture_output=True)

    def measure(self, name: str, repeat: int) -> dict[str, Any]:
        """All figures of the project, medians where something ran more than once."""
        if self.variants:
            self._child(self.semble_python, "make-model", str(self.model))
        runs: dict[str, list[Finished]] = {variant: [] for variant in (*self.variants, "sage")}
        # Sage comes last in a round: the figures below start from its index.
        for _ in range(repeat):
            for variant, finished in runs.items():
                finished.append(self._cold_sage() if variant == "sage" else self._cold_semble(*SEMBLE[variant]))
        again = self._child(sys.executable, "sage-again").json()
        return {"project": name, "again": again} | {variant: _summary(finished) for variant, finished in runs.items()}

    def _cold_sage(self) -> Finished:
        shutil.rmtree(self.root / ".sage", ignore_errors=True)
        shutil.rmtree(self.home, ignore_errors=True)
        return self._child(sys.executable, "sage-cold")

    def _cold_semble(self, content: str, workers: int) -> Finished:
        shutil.rmtree(self.root / ".sage", ignore_errors=True)
        return self._child(self.semble_python, "semble-cold", str(self.model), content, workers=workers)

    def _child(self, python: str, *words: str, workers: int = 0) -> Finished:
        env = {"SAGE_HOME": str(self.home), "SEMBLE_INDEX_WORKERS": str(workers), "HF_HUB_OFFLINE": "1"}
        return run([python, __file__, "--child", str(self.root), *words], env)


def _summary(finished: list[Finished]) -> dict[str, Any]:
    """The medians of several runs."""
    reports = [each.json() for each in finished]
    return {
        "seconds": median(report["seconds"] for report in reports),
        "cpu": median(report["cpu"] for report in reports),
        "whole": median(each.seconds for each in finished),
        "files": reports[0]["files"],
        "chunks": reports[0]["chunks"],
        "own_mb": max(report["peak_mb"] for report in reports),
        "tree_mb": max(each.tree_mb for each in finished),
    }


# -- inside the measured processes --------------------------------------------------------------------------------


def child(root: str, task: str, *words: str) -> None:
    """Do one task and print one line of JSON."""
    tasks = {"sage-cold": sage_cold, "sage-again": sage_again, "semble-cold": semble_cold, "make-model": make_model}
    print(json.dumps(tasks[task](root, *words)))


def _timed(work: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def _cold(index: Any) -> tuple[dict[str, float], Any]:
    """A cold run: its wall time, and the processor time of the process and of the workers that it has waited for."""
    before = sum(os.times()[:4])
    seconds, result = _timed(index)
    return {"seconds": seconds, "cpu": sum(os.times()[:4]) - before, "peak_mb": _peak_mb()}, result


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _import_sage() -> None:
    for module in _SAGE_MODULES:
        importlib.import_module(module)


def sage_cold(root: str) -> dict[str, Any]:
    _import_sage()
    from sage_code.project import Project

    figures, stats = _cold(Project.open(root).index)
    return {**figures, "files": stats.files_indexed, "chunks": stats.chunks_created + stats.chunks_reused}


def sage_again(root: str) -> dict[str, Any]:
    """The runs after the first one; the best of three, since noise only adds time."""
    _import_sage()
    from sage_code.index.manifest import load_manifest
    from sage_code.project import Project

    project = Project.open(root)
    unchanged = min(_timed(project.index)[0] for _ in range(_BEST_OF))
    known = load_manifest(project.root)
    assert known is not None
    most_used, _ = Counter(state.language for state in known.files.values() if state.chunks > 1).most_common(1)[0]
    sources = sorted((state.size, path) for path, state in known.files.items() if state.language == most_used)
    middle = Path(root, sources[len(sources) // 2][1])
    text = middle.read_text().splitlines(keepends=True)
    one_file = []
    for number in range(_BEST_OF):
        half = len(text) // 2
        middle.write_text("".join([*text[:half], f"# benchmark: edit {number}\n", *text[half:]]))
        seconds, stats = _timed(project.index)
        assert stats.files_indexed == 1, stats
        one_file.append(seconds)
    codebase = Path(root, ".sage", "codebase")
    os.unlink(codebase / "compiled")
    shutil.rmtree(codebase / "generations")
    seconds, rebuilt = _timed(project.index)
    return {
        "unchanged": unchanged,
        "one_file": min(one_file),
        "edited": f"{middle.relative_to(root)}, {middle.stat().st_size} bytes",
        "rebuild": seconds,
        "rebuild_embedded": rebuilt.chunks_created,
        "symbols": rebuilt.functions_compiled + rebuilt.classes_compiled + rebuilt.constants_compiled,
        "peak_mb": _peak_mb(),
    }


def semble_cold(root: str, model_folder: str, content: str) -> dict[str, Any]:
    """Index a project with semble; the time, and the files and chunks."""
    from model2vec import StaticModel
    from semble.index.create import create_index_from_path
    from semble.types import ContentType

    model = StaticModel.from_pretrained(model_folder)
    types = tuple(ContentType) if content == "all" else (ContentType.CODE,)
    path = Path(root).resolve()
    figures, (_, _, chunks, files) = _cold(
        lambda: create_index_from_path(path, model, content=types, display_root=path)
    )
    return {**figures, "files": len(files), "chunks": len(chunks)}


def make_model(root: str, folder: str) -> dict[str, Any]:
    """A model2vec model of semble's shape: a WordPiece vocabulary of the project's own words, random vectors."""
    import numpy as np
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    sources = sorted(path for path in Path(root).rglob("*") if path.suffix and path.is_file() and _is_text(path))
    sources = random.Random(0).sample(sources, min(_TRAINING_FILES, len(sources)))
    trainer = trainers.WordPieceTrainer(vocab_size=_VOCABULARY, special_tokens=["[PAD]", "[UNK]"], show_progress=False)

    def tokenizer(words: dict[str, int]) -> Any:
        made = Tokenizer(models.WordPiece(words, unk_token="[UNK]"))
        made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        return made

    trained = tokenizer({"[UNK]": 0})
    trained.train([str(path) for path in sources], trainer)
    words = trained.get_vocab()
    # A small project has fewer words; the table gets its full size with words that never occur.
    words |= {f"unused{number}": number for number in range(len(words), _VOCABULARY)}
    vectors = np.random.default_rng(0).standard_normal((len(words), _DIM)).astype(np.float32)
    StaticModel(vectors, tokenizer(words)).save_pretrained(folder)
    return {"words": len(words)}


def _is_text(path: Path) -> bool:
    try:
        path.read_text()
    except UnicodeDecodeError:
        return False
    return True


# -- the report -------------------------------------------------------------------------------------------------


def report(measured: list[dict[str, Any]]) -> str:
    """The report, as Markdown."""
    parts = [
        machine(),
        "Cold index, in process, imports left out (medians):",
        table(
            [
                "project",
                "tool",
                "files",
                "chunks",
                "s",
                "Sage / tool",
                "CPU s",
                "Sage / tool",
                "whole process s",
                "start-up s",
            ],
            [row for each in measured for row in _cold_rows(each)],
        ),
        "Sage after the first run (best of 3, in process, imports left out):",
        table(
            ["project", "nothing changed", "% of cold", "one file changed", "% of cold", "edited"],
            [_again_row(each) for each in measured],
        ),
        "Compiled files deleted and brought back from the store; memory of a cold run:",
        table(
            ["project", "rebuild s", "% of cold", "chunks embedded", "own peak MB", "process tree peak MB"],
            [_rebuild_row(each) for each in measured],
        ),
    ]
    return "\n\n".join(parts)


def _cold_rows(each: dict[str, Any]) -> list[list[object]]:
    """The rows about cold runs: Sage beside each way to run semble."""
    sage = each["sage"]
    rows = []
    for tool in ("sage", *SEMBLE):
        if tool not in each:
            continue
        figures = each[tool]
        startup = figures["whole"] - figures["seconds"]
        rows.append(
            [
                each["project"],
                tool,
                f"{figures['files']:,}",
                f"{figures['chunks']:,}",
                f"{figures['seconds']:.2f}",
                "" if tool == "sage" else verdict(sage["seconds"] / figures["seconds"], COLD_LIMIT),
                f"{figures['cpu']:.2f}",
                "" if tool == "sage" else f"{sage['cpu'] / figures['cpu']:.2f}",
                f"{figures['whole']:.2f}",
                f"{startup:.2f}",
            ]
        )
    return rows


def _again_row(each: dict[str, Any]) -> list[object]:
    cold, again = each["sage"]["seconds"], each["again"]
    return [
        each["project"],
        f"{again['unchanged'] * 1000:.0f} ms",
        verdict(100 * again["unchanged"] / cold, UNCHANGED_LIMIT),
        f"{again['one_file'] * 1000:.0f} ms",
        verdict(100 * again["one_file"] / cold, ONE_FILE_LIMIT),
        again["edited"],
    ]


def _rebuild_row(each: dict[str, Any]) -> list[object]:
    sage, again = each["sage"], each["again"]
    return [
        each["project"],
        f"{again['rebuild']:.2f}",
        f"{100 * again['rebuild'] / sage['seconds']:.0f}",
        again["rebuild_embedded"],
        verdict(sage["own_mb"], MEMORY_LIMIT_MB, "{:.0f}"),
        f"{sage['tree_mb']:.0f}",
    ]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main()
