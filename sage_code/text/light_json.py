"""JSON without the module `json`, whose import takes as long as all the rest of `sage grep`: it loads `re` and `enum`.

Reading, writing and quoting are done by the functions that `json` itself uses in CPython. Where they are missing,
`json` is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

try:
    import _json
except ImportError:  # another Python than CPython
    _json = None  # type: ignore[assignment]


class _Rules:
    """How JSON is read: what the scanner of CPython asks of a `json.JSONDecoder`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def loads(data: bytes) -> Any:
    """The value of a JSON document in UTF-8 with no blanks around it; ValueError for anything else."""
    if _json is None:
        import json

        return json.loads(data)
    text = data.decode("utf-8", "surrogatepass")
    try:
        value, end = _json.make_scanner(_Rules)(text, 0)  # type: ignore[arg-type]
    except (StopIteration, SystemError):  # the latter where `json`, whose error the scanner would raise, is not loaded
        raise ValueError("no JSON document") from None
    if end != len(text):
        raise ValueError("more than one JSON document")
    return value


def dumps(value: object, *, ensure_ascii: bool = False) -> str:
    """`value` as a JSON document on one line."""
    if _json is None:
        import json

        return json.dumps(value, ensure_ascii=ensure_ascii)
    quote = _json.encode_basestring_ascii if ensure_ascii else _json.encode_basestring
    return "".join(_json.make_encoder({}, _refuse, quote, None, ": ", ", ", False, False, True)(value, 0))


def _refuse(value: object) -> None:
    raise TypeError(f"{type(value).__name__} has no form in JSON")
