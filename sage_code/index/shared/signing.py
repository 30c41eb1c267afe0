"""Keys and signatures of published indexes (Ed25519): who may publish has a private key, who reads trusts public ones.

The private key is in `SAGE_SIGNING_KEY` (for CI) or in a file of Sage's home that only this user can read. A published
text has one line with the key and the signature before it; `opened` returns the text only if a trusted key signed it.
"""

from __future__ import annotations

import base64
import binascii
import os
from typing import TYPE_CHECKING

from sage_code.errors import SageError, StoreError, UsageError
from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.private import make_private
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from sage_code.settings.table import Settings

VARIABLE = "SAGE_SIGNING_KEY"
_KIND = "ed25519"
_HEAD = b"sage shared index 1 "
# What is signed begins with this, so that a signature for another purpose is of no use here.
_PURPOSE = b"sage shared index, format 1\n"
_MAX_HEAD = 400
_KEY_BYTES = 32


class UntrustedError(StoreError):
    """A published index is not signed by a trusted key, or is not what was signed."""


def key_path() -> str:
    """The file of the private key."""
    return os.path.join(sage_home(), "keys", "shared_index")


def new_key(*, replace: bool = False) -> str:
    """Make the private key of this user; returns the public key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # lazy: 30 ms

    if os.path.lexists(key_path()) and not replace:
        raise UsageError(f"{key_path()} exists", "`sage share key` shows its public part; --replace makes another")
    made = Ed25519PrivateKey.generate()
    make_private(os.path.dirname(key_path()))
    write_bytes(key_path(), _text(made.private_bytes_raw()).encode() + b"\n", mode=PRIVATE_FILE)
    return f"{_KIND}:{_text(made.public_key().public_bytes_raw())}"


def own_key() -> str:
    """The public key of this user's private key; empty if there is none."""
    secret = _secret()
    if secret is None:
        return ""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # lazy: 30 ms

    return f"{_KIND}:{_text(Ed25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw())}"


def trusted_keys(settings: Settings) -> tuple[str, ...]:
    """The public keys whose signatures count: those that the user trusts, and the user's own."""
    own = own_key()
    return (*settings.shared_trusted_keys, own) if own else settings.shared_trusted_keys


def bare(key: str) -> str:
    """A public key without its name."""
    return key.partition("#")[0]


def signed(text: bytes) -> bytes:
    """The text with a signature by this user's key."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # lazy: 30 ms

    secret = _secret()
    if secret is None:
        raise UsageError(
            "there is no key to sign with", f"`sage share key` makes one; CI gives it in the variable {VARIABLE}"
        )
    signature = Ed25519PrivateKey.from_private_bytes(secret).sign(_PURPOSE + text)
    return _HEAD + f"{own_key()} {_text(signature)}\n".encode() + text


def opened(data: bytes, trusted: tuple[str, ...]) -> bytes:
    """The text of signed data; `UntrustedError` if no trusted key has signed exactly this."""
    from cryptography.exceptions import InvalidSignature  # lazy: 30 ms
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    end = data.find(b"\n", 0, _MAX_HEAD)
    words = data[:end].removeprefix(_HEAD).split(b" ") if end > 0 and data.startswith(_HEAD) else []
    if len(words) != 2:
        raise UntrustedError("it is not signed")
    key = words[0].decode("ascii", "replace")
    if key not in map(bare, trusted):
        raise UntrustedError("it is signed by a key that is not trusted", "`sage share trust KEY` trusts a key")
    try:
        public = Ed25519PublicKey.from_public_bytes(_bytes(key.partition(":")[2]))
        public.verify(_bytes(words[1].decode("ascii", "replace")), _PURPOSE + data[end + 1 :])
    except (InvalidSignature, ValueError) as error:
        raise UntrustedError("its signature is wrong") from error
    return data[end + 1 :]


def _secret() -> bytes | None:
    """The private key, from the environment or the user's file."""
    given = os.environ.get(VARIABLE, "").strip()
    where = f"the variable {VARIABLE}" if given else key_path()
    if not given:
        try:
            given = read_regular(key_path(), _MAX_HEAD).decode("ascii", "replace").strip()
        except FileNotFoundError:
            return None
    try:
        secret = _bytes(given)
    except ValueError:
        secret = b""
    if len(secret) != _KEY_BYTES:
        raise SageError(f"{where} holds no signing key", "`sage share key --replace` makes one")
    return secret


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError("no base64") from error
