"""Does knowledge come back for a question in other words, and stay away from one that only shares a keyword?

    python benchmarks/recall_pairs.py [--model NAME]

The 36 items of `recall_pairs.txt` are one collection. Printed are, for the even lines (on which the weights were looked
at) and the odd ones (held out): the share recalled for their own question, for a question that shares no more than a
keyword, and for the questions of all other items.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.settings.loading import load_settings

PAIRS = Path(__file__).parent / "recall_pairs.txt"


def items() -> list[tuple[KnowledgeItem, str, str]]:
    """Each item with its own question and one that is not about it."""
    found = []
    for number, line in enumerate(PAIRS.read_text().splitlines()[1:]):
        keywords, text, own, other = (part.strip() for part in line.split("|"))
        found.append((KnowledgeItem(f"item-{number}", text, keywords=tuple(keywords.split(","))), own, other))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / ".sage").mkdir()
        memory = Memory(folder, load_settings(folder, {"embedding_model": given.model}))
        for item, _, _ in items():
            memory.knowledge.save(item)
        for name, half in (("looked at", items()[::2]), ("held out", items()[1::2])):
            own = other = elsewhere = 0
            for item, question, unrelated in half:
                scores = {one.id: one for one in memory.recaller.scores(question)}
                own += item.id in scores and scores[item.id].is_recalled
                elsewhere += sum(one.is_recalled for one in scores.values() if one.id != item.id)
                other += any(one.is_recalled for one in memory.recaller.scores(unrelated) if one.id == item.id)
            pairs = len(half) * (len(items()) - 1)
            print(f"{name}: recalled for its own question {own} of {len(half)}, for one that only shares a keyword")
            print(f"{other} of {len(half)}, for other items' questions {elsewhere} of {pairs}")


if __name__ == "__main__":
    main()
