"""The settings of a session, kept in its state: reading YAML would take longer than a whole hook.

They are loaded again when a settings file or a variable has changed, which two looks at files tell.
"""

from __future__ import annotations

import os

from sage_code.paths import DOT_SAGE, sage_home

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KEYS = (
    "continuity_enabled", "capture_checkpoints", "ask_for_checkpoint", "brief_tokens", "subagent_tokens",
    "trigger_cooldown", "context_threshold", "context_window", "context_cooldown", "share_worktrees",
    "trigger_threshold", "topic_drift_threshold", "convergence_question_drop", "depth_min_messages",
    "depth_min_tokens", "remember_conversations",
)  # fmt: skip
_TUNING_FILE = "tuning.yaml"


def dials_of(root: str, data: dict[str, Any]) -> dict[str, Any]:
    """The settings for a session with the state `data`, which keeps them for the next time.

    With an invalid settings file the last good settings hold, or the defaults; `data["complaint"]` says what is wrong.
    """
    stamp = _stamp(root)
    kept = data.get("dials")
    if not isinstance(kept, dict) or data.get("dials_stamp") != stamp or set(kept) != set(KEYS):
        from sage_code.errors import SageError
        from sage_code.settings.loading import load_settings  # lazy: YAML
        from sage_code.settings.table import TABLE

        try:
            settings = load_settings(root)
            kept = {key: getattr(settings, key) for key in KEYS}
        except SageError as error:
            kept = {**{key: TABLE[key].default for key in KEYS}, **(kept if isinstance(kept, dict) else {})}
            data["complaint"] = f"{error.message}; {error.hint}"
        data["dials"], data["dials_stamp"] = kept, stamp
    return kept


def _stamp(root: str) -> list[Any]:
    """What changes with the settings: the times of both files, and the variables."""
    files = (os.path.join(sage_home(), _TUNING_FILE), os.path.join(root, DOT_SAGE, _TUNING_FILE))
    return [*map(_file_stamp, files), *(os.environ.get(f"SAGE_{key.upper()}", "") for key in KEYS)]


def _file_stamp(path: str) -> str:
    try:
        state = os.stat(path)
    except OSError:
        return ""
    return f"{state.st_mtime_ns:x}-{state.st_size:x}-{state.st_ino:x}"
