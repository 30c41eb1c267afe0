"""How many secrets are masked, and how often something that is none: `sage_code/text/masking.py`, measured.

    python benchmarks/secrets_in_code.py [DIR ...] [--seed 1] [--megabytes 40] [--show N]

Found are made-up secrets, five of each format: of the generator that the rules were first written for
(`made_secrets.py`), of a second set that was written without a look at the rules (`held_out_secrets.py`), and of ten
formats of that set that nothing was tuned on. A secret counts as found if neither it nor its second half is left.

False alarms are counted in real source code: the packages that this Python can import and, where there are any, Node's;
or the folders that are given. Public code holds next to no live credentials, so nearly everything found there is a
false alarm or a test's made-up key; `--show` prints samples to be judged by hand.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import held_out_secrets
import made_secrets

from sage_code.text.masking import find, mask

_SUFFIXES = {".py", ".js", ".ts", ".go", ".rs", ".java", ".rb", ".php", ".c", ".h", ".cpp", ".cs", ".kt", ".md", ".yml"}
_MAX_BYTES = 300_000
_NODE = (Path("/usr/lib/node_modules"), Path("/usr/local/lib/node_modules"))
_MISSED_SHOWN = 10
_HALF_CHARS = 6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=40)
    parser.add_argument("--show", type=int, default=0)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    _found("generator", made_secrets.made(given.seed), show=True)
    _found("new formats", held_out_secrets.made(given.seed, kept_out=False), show=True)
    _found("held-out formats", held_out_secrets.made(given.seed, kept_out=True), show=False)
    _false_alarms(given.folders or [*map(Path, sys.path), *_NODE], given.megabytes, given.show)


def _found(name: str, secrets: Iterable[made_secrets.Made], *, show: bool) -> None:
    every = list(secrets)
    missed = [one for one in every if is_left(one, mask(one.text)[0])]
    found = len(every) - len(missed)
    formats = len({one.format for one in every})
    print(f"{name}: found {found} of {len(every)} secrets in {formats} formats ({found / len(every):.1%})")
    for one in missed[: _MISSED_SHOWN if show else 0]:
        print(f"  missed, {one.format}: {one.text[:120]!r}")


def is_left(one: made_secrets.Made, masked: str) -> bool:
    """Whether a secret, or the half of it that a prefix does not give away, can still be read."""
    half = one.secret[len(one.secret) // 2 :]
    return one.secret in masked or (len(half) >= _HALF_CHARS and half in masked)


def _false_alarms(folders: list[Path], megabytes: float, show: int) -> None:
    """Count and print what is masked in real source code."""
    paths = list(_sources(folders))
    random.Random(1).shuffle(paths)
    kinds: Counter[str] = Counter()
    samples: list[str] = []
    size = files = touched = 0
    seconds = 0.0
    for path in paths:
        if size > megabytes * 1e6:
            break
        text = path.read_text(errors="replace")
        size, files = size + len(text), files + 1
        started = time.process_time()
        found = find(text)
        seconds += time.process_time() - started
        touched += bool(found)
        for secret in found:
            kinds["value of a name" if secret.rule.startswith("value of") else secret.rule] += 1
            line = text[max(0, secret.start - 60) : secret.end + 20].replace("\n", "\\n")[:180]
            samples.append(f"{path.name}: {secret.rule}: {line}")
    million = max(size, 1) / 1e6
    print(f"{files:,} files, {million:.1f} MB of source code: {sum(kinds.values())} findings in {touched} files,")
    print(f"{sum(kinds.values()) / million:.2f} a MB; {seconds / million:.2f} s a MB")
    for kind, count in kinds.most_common():
        print(f"| {kind} | {count} |")
    for sample in random.Random(2).sample(samples, min(show, len(samples))):
        print(sample)


def _sources(folders: list[Path]) -> Iterator[Path]:
    """Source files, each once, without this repository's own."""
    own = Path(__file__).resolve().parents[1]
    seen: set[Path] = set()
    for folder in folders:
        resolved = folder.resolve()
        if not resolved.is_dir() or (resolved.is_relative_to(own) and ".venv" not in resolved.parts):
            continue
        for path in sorted(resolved.rglob("*")):
            is_new = path.suffix in _SUFFIXES and path not in seen
            if is_new and not path.is_symlink() and path.is_file() and path.stat().st_size <= _MAX_BYTES:
                seen.add(path)
                yield path


if __name__ == "__main__":
    main()
