"""Guesses the definitions that a reference may mean if only its name is known, with a confidence for each.

The candidates share the confidence. A candidate gets more if the file of the reference imports or defines it, if the
receiver is named after its class, or if its class has the other members that are used on the receiver. Names that
built-in types have too (`get`, `append`) get little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sage_code.languages.kinds import TEXT_KINDS
from sage_code.values import Reference
from sage_code.xref.graph import Definition
from sage_code.xref.language_rules import family
from sage_code.xref.modules import is_test
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, FileView, owner

# The confidence of a single candidate, on a receiver of unknown type and without a receiver.
ON_RECEIVER, BARE = 0.7, 0.6
# ... times this for a name that lists, strings, files or promises have too, or (`__init__`) every object.
COMMON = 0.35
# The weight of a candidate: one, times these.
_NAMED_AFTER, _SAME_FILE, _IMPORTED, _IN_TESTS = 6.0, 3.0, 3.0, 0.25
# ... and times this for each other member used on the receiver that the candidate's class has, up to so many.
_HAS_ANOTHER, _MAX_OTHERS = 3.0, 3
# A name with more candidates is a common word and is not guessed.
_MAX_CANDIDATES = 40
_CALLABLE = FUNCTION_LIKE | CLASS_LIKE
# What a reference of a kind may mean; a value may be anything that code defines.
_TYPES = CLASS_LIKE | {"module", "namespace", "constant", "variable"}
_MEANT_BY = {"call": _CALLABLE, "inherit": _TYPES, "type": _TYPES}
# A member of a class, read without a receiver outside of the class.
_FOREIGN_MEMBER = 0.3
_COMMON_WORDS = """
    append extend insert remove pop clear index count sort reverse copy get items keys values update setdefault add
    discard union join split strip replace format encode decode lower upper startswith endswith find read write close
    open flush seek tell readline readlines writelines isatty fileno send recv start stop run wait set next iter push
    shift unshift slice splice concat map
    filter reduce forEach some every includes indexOf has delete then catch finally toString valueOf apply call bind
    on emit once off log error warn info debug put create execute connect commit rollback cancel done result match
    search group sub test assert_called_with isEmpty size length contains equals hashCode iterator Error String len
    unwrap clone into from as_ref is_some is_none expect collect new default to_string fmt
"""
_COMMON_NAMES = frozenset(_COMMON_WORDS.split())


def guess(
    candidates: Sequence[Definition],
    view: FileView,
    reference: Reference,
    imports: Callable[[str], bool],
    others: Callable[[Definition], int],
) -> list[tuple[Definition, float]]:
    """Each plausible candidate with its confidence.

    `imports(file)` says whether the file of the reference imports from that file; `others(candidate)` counts the other
    members used on the receiver that the candidate's class has.
    """
    expected = family(view.language)
    name, receiver = reference.name, reference.receiver
    meant = _MEANT_BY.get(reference.kind)
    plausible = [
        candidate
        for candidate in candidates
        if (candidate.symbol.kind in meant if meant else candidate.symbol.kind not in TEXT_KINDS)
        and family(candidate.language) == expected
        and (not receiver or _is_member(candidate))
    ]
    if not plausible or len(plausible) > _MAX_CANDIDATES:
        return []
    weights = [_weight(candidate, view, receiver, imports) for candidate in plausible]
    if receiver and len(plausible) > 1:
        weights = [
            weight * _HAS_ANOTHER ** min(others(one), _MAX_OTHERS)
            for weight, one in zip(weights, plausible, strict=True)
        ]
    shared = ON_RECEIVER if receiver else BARE
    total = sum({one.key: weight for one, weight in zip(plausible, weights, strict=True)}.values())
    common = name in _COMMON_NAMES or (name.startswith("__") and name.endswith("__"))
    found = []
    for candidate, weight in zip(plausible, weights, strict=True):
        certainty = shared * _fit(candidate, reference) * weight / total
        found.append((candidate, certainty * COMMON if common and weight < _NAMED_AFTER else certainty))
    return found


def _is_member(candidate: Definition) -> bool:
    """Whether a definition may have a receiver; in Kotlin any function may, as an extension or after `::`."""
    symbol = candidate.symbol
    return symbol.kind in ("method", "constructor") or "." in symbol.qualname or candidate.language == "kotlin"


def _fit(candidate: Definition, reference: Reference) -> float:
    """The share that is left to a candidate when a value is read without a receiver."""
    is_member = bool(owner(candidate.symbol.qualname)) and candidate.symbol.kind not in CLASS_LIKE
    return _FOREIGN_MEMBER if reference.kind == "use" and not reference.receiver and is_member else 1.0


def _weight(candidate: Definition, view: FileView, receiver: str, imports: Callable[[str], bool]) -> float:
    """The share of a candidate in the guess: by its class, its file and the imports."""
    weight = 1.0
    holder = _plain(owner(candidate.symbol.qualname).rpartition(".")[2])
    last = _plain(receiver.removesuffix("()").rpartition(".")[2])
    if len(last) > 2 and holder and (holder.endswith(last) or last.endswith(holder)):
        weight *= _NAMED_AFTER
    if candidate.file == view.file:
        weight *= _SAME_FILE
    elif imports(candidate.file):
        weight *= _IMPORTED
    elif is_test(candidate.file):
        weight *= _IN_TESTS
    return weight


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
