"""What every request shares: the projects, the templates, the keys and the live events of one running page."""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import cached_property
from typing import TYPE_CHECKING

from sage_code.serving.requester import current
from sage_web.projects import Projects
from sage_web.running.index_runs import IndexRuns
from sage_web.running.live import Live

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request

FOLDER = os.path.dirname(os.path.abspath(__file__))


class Site:
    """One running page."""

    def __init__(self, token: str, port: int, root: str = "") -> None:
        self.token, self.port = token, port
        self.projects = Projects(root)
        self.live = Live(self.projects)
        self.runs = IndexRuns(self.live, self.projects)
        self.live.on_end(_end_children)

    @cached_property
    def cookie(self) -> str:
        """What the browser shows instead of the token: whoever gets to see it does not know the token."""
        return self._derived("cookie")

    @property
    def change_key(self) -> str:
        """What a request must carry that changes something; only a page of this site can read it, each user's own."""
        asking = current()
        return self._derived(f"changes of {asking.name}" if asking else "changes")

    @property
    def cookie_name(self) -> str:
        """Cookies do not know ports: two pages of one machine need two names."""
        return f"sage_web_{self.port}"

    @cached_property
    def templates(self) -> Environment:
        """The templates, which are shipped with the package and never change."""
        from sage_web.templating import environment  # lazy: the port is open before they are needed

        return environment(FOLDER)

    def _derived(self, purpose: str) -> str:
        return hmac.new(self.token.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def _end_children() -> None:
    from sage_code.views.state.apart import end_all  # lazy: the port is open before anything else is loaded

    end_all()


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    site: Site = request.app.state.site
    return site
