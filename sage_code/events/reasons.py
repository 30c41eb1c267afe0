"""Says in one line why foreign code failed. The code may be hostile: its errors may fail while they are shown."""

from __future__ import annotations

_MAX_CHARACTERS = 300


def reason(error: BaseException) -> str:
    """An error as `Type: message`, on one line and of bounded length."""
    name = type(error).__name__[:100]
    try:
        # That of a syntax error says file and line too, which are said with every error.
        whole = error.msg if isinstance(error, SyntaxError) else str(error)
        message = " ".join(whole[: 4 * _MAX_CHARACTERS].split())
    except Exception:  # what it raises says nothing about the error
        message = "it cannot be shown"
    text = f"{name}: {message}" if message else name
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def reason_with_line(error: BaseException, file: str) -> str:
    """The same as `:LINE: Type: message`, with the last line of `file` that took part in it; `: ...` if none did."""
    line = None
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == file:
            line = frame.tb_lineno
        frame = frame.tb_next
    return f": {reason(error)}" if line is None else f":{line}: {reason(error)}"
