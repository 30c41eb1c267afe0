"""How often is something masked that is no secret? The rules of `sage_code/text/masking.py` on real source code.

    python benchmarks/secrets_in_code.py --repos DIR [NAME ...] [--show N]

Public code holds next to no live credentials, so nearly everything found is a false alarm or a test's made-up key.
Printed are findings per rule and per MB; `--show` prints samples to be judged by hand.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

from sage_code.text.masking import find

_SUFFIXES = {".py", ".js", ".ts", ".go", ".rs", ".java", ".rb", ".php", ".c", ".h", ".cpp", ".cs", ".kt", ".md", ".yml"}
_MAX_BYTES = 300_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--megabytes", type=float, default=40)
    given = parser.parse_args()
    projects = [given.repos / name for name in given.names] or sorted(given.repos.iterdir())
    paths = [path for project in projects for path in sorted(project.rglob("*")) if path.suffix in _SUFFIXES]
    random.Random(1).shuffle(paths)
    kinds: Counter[str] = Counter()
    samples: list[str] = []
    size = files = touched = 0
    for path in paths:
        if size > given.megabytes * 1e6:
            break
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_BYTES:
            continue
        text = path.read_text(errors="replace")
        size, files = size + len(text), files + 1
        found = find(text)
        touched += bool(found)
        for finding in found:
            kinds["value of a name" if finding.rule.startswith("value of") else finding.rule] += 1
            line = text[max(0, finding.start - 60) : finding.end + 20].replace("\n", "\\n")[:180]
            samples.append(f"{path.relative_to(given.repos)}: {finding.rule}: {line}")
    print(f"{files:,} files, {size / 1e6:.1f} MB: {sum(kinds.values())} findings in {touched} files,")
    print(f"{sum(kinds.values()) / (size / 1e6):.2f} a MB")
    for kind, count in kinds.most_common():
        print(f"| {kind} | {count} |")
    for sample in random.Random(2).sample(samples, min(given.show, len(samples))):
        print(sample)


if __name__ == "__main__":
    main()
