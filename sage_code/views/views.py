"""The façade of the views: `Project.views` has a method for each."""

from __future__ import annotations

from sage_code.settings.table import Settings


class Views:
    """The views of one project."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root, self._settings = root, settings
