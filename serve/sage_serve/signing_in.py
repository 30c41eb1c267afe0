"""How a browser comes in: it sends the user's token once and gets a cookie that proves it, for a while.

The cookie names the user, its end and a signature over both and the hash of the token: it ends by itself, and at once
when the token is rotated or the user revoked. No state is kept, so every process knows it, also after a restart.
"""

from __future__ import annotations

import hashlib
import hmac
import html
import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sage_code.serving.users import KnownUsers, User

PATH = "/enter"
MAX_FORM_BYTES = 8_192
_COOKIE = "sage_serve"
_LASTS_S = 12 * 3600
HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)


def form(problem: str = "") -> bytes:
    """The page that asks for a token."""
    said = f'<p role="alert">{html.escape(problem)}</p>' if problem else ""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Sage: sign in</title>'
        '<meta name="viewport" content="width=device-width"><main><h1>Sage</h1>'
        f'{said}<form method="post" action="{PATH}"><label>Your token '
        '<input type="password" name="token" autocomplete="current-password" required autofocus></label> '
        "<button>Sign in</button></form></main></html>"
    ).encode()


def token_in(body: bytes) -> str:
    """The token of a sent form."""
    try:
        return parse_qs(body.decode("ascii", "replace"), max_num_fields=5).get("token", [""])[0].strip()
    except ValueError:
        return ""


def cookie_for(user: User, secret: bytes, *, is_secure: bool) -> bytes:
    """The header that gives a browser its cookie."""
    ends = int(time.time()) + _LASTS_S
    value = f"{user.name}:{ends}:{_signature(user, ends, secret)}"
    flags = "; Secure" if is_secure else ""
    return f"{_COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={_LASTS_S}{flags}".encode()


def user_of(lines: Iterable[bytes], users: KnownUsers, secret: bytes) -> User | None:
    """The user whom a request's cookie proves."""
    for line in lines:
        try:
            found = SimpleCookie(line.decode("latin-1")).get(_COOKIE)
        except CookieError:
            continue
        name, _, rest = (found.value if found else "").partition(":")
        ends, _, given = rest.partition(":")
        if not ends.isascii() or not ends.isdigit() or len(ends) > 12 or int(ends) < time.time():
            continue
        user = users.by_name(name)
        if user and hmac.compare_digest(_signature(user, int(ends), secret), given.encode("utf-8", "replace").decode()):
            return user
    return None


def _signature(user: User, ends: int, secret: bytes) -> str:
    return hmac.new(secret, f"{user.name}\n{ends}\n{user.hash}".encode(), hashlib.sha256).hexdigest()
