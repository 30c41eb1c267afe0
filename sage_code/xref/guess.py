"""The definitions that a reference may mean when only its name is known, and how much that is worth.

A guess is shared among its candidates: what the caller's file imports, what stands in the same file, a class that the
receiver is named after, and one that has the other members that the receiver is asked for, weigh more. Names that
built-in types have too (`get`, `append`) are worth little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sage_code.xref.graph import Definition
from sage_code.xref.modules import ECMASCRIPT
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, FileView, owner

# What a single candidate is worth, on an object of unknown type and without one.
ON_RECEIVER, BARE = 0.7, 0.6
# A name that lists, strings, files or promises have too, or (`__init__`) every object of the language.
COMMON = 0.35
# Votes of a candidate: one, times these.
_NAMED_AFTER, _SAME_FILE, _IMPORTED, _IN_TESTS = 6.0, 3.0, 3.0, 0.25
# ... and this for each other member that the receiver is asked for and the candidate's class has, up to so many.
_HAS_ANOTHER, _MAX_OTHERS = 3.0, 3
# More candidates than this are a common word: not worth a vote.
_MAX_CANDIDATES = 40
_CALLABLE = FUNCTION_LIKE | CLASS_LIKE
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
_FAMILIES = {
    **dict.fromkeys(ECMASCRIPT, "ecmascript"),
    **dict.fromkeys(("c", "cpp", "objc"), "c"),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), "jvm"),
}


def family(language: str) -> str:
    """Languages that call each other's functions by name."""
    return _FAMILIES.get(language, language)


def guess(
    candidates: Sequence[Definition],
    view: FileView,
    name: str,
    receiver: str,
    imports: Callable[[str], bool],
    others: Callable[[Definition], int],
) -> list[tuple[Definition, float]]:
    """Each plausible candidate with its confidence.

    `imports(file)`: the caller's file imports from that file. `others(candidate)`: how many other members that the
    receiver is asked for the candidate's class has.
    """
    spoken = family(view.language)
    plausible = [
        candidate
        for candidate in candidates
        if candidate.symbol.kind in _CALLABLE
        and family(candidate.language) == spoken
        and (not receiver or candidate.symbol.kind in ("method", "constructor") or "." in candidate.symbol.qualname)
    ]
    if not plausible or len(plausible) > _MAX_CANDIDATES:
        return []
    votes = [_votes(candidate, view, receiver, imports) for candidate in plausible]
    if receiver and len(plausible) > 1:
        votes = [
            vote * _HAS_ANOTHER ** min(others(one), _MAX_OTHERS) for vote, one in zip(votes, plausible, strict=True)
        ]
    worth = ON_RECEIVER if receiver else BARE
    total = sum({(c.file, c.symbol.qualname): vote for c, vote in zip(plausible, votes, strict=True)}.values())
    common = name in _COMMON_NAMES or (name.startswith("__") and name.endswith("__"))
    return [
        (candidate, (COMMON if common and vote < _NAMED_AFTER else 1.0) * worth * vote / total)
        for candidate, vote in zip(plausible, votes, strict=True)
    ]


def _votes(candidate: Definition, view: FileView, receiver: str, imports: Callable[[str], bool]) -> float:
    votes = 1.0
    holder = _plain(owner(candidate.symbol.qualname).rpartition(".")[2])
    last = _plain(receiver.removesuffix("()").rpartition(".")[2])
    if len(last) > 2 and holder and (holder.endswith(last) or last.endswith(holder)):
        votes *= _NAMED_AFTER
    if candidate.file == view.file:
        votes *= _SAME_FILE
    elif imports(candidate.file):
        votes *= _IMPORTED
    elif is_test(candidate.file):
        votes *= _IN_TESTS
    return votes


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def is_test(file: str) -> bool:
    """Whether a file is a test by its path: nobody outside calls what it defines."""
    return any(part in ("test", "tests", "t", "spec", "__tests__") for part in file.split("/")[:-1])
