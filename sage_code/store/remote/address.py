"""Where object storage is and with which key it is asked.

Credentials come from the environment, by the names that every S3 tool uses, or from the user's `config.yaml`; a project
cannot set any of them. They are in no message: `str()` of an address is its URI.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.settings.loading import Settings

# Environment variables of S3 tools, in the order in which they are asked, and the option that each one sets.
_FROM_ENVIRONMENT = (
    ("AWS_ENDPOINT_URL_S3", "endpoint"),
    ("AWS_ENDPOINT_URL", "endpoint"),
    ("AWS_ENDPOINT", "endpoint"),
    ("AWS_ACCESS_KEY_ID", "access_key_id"),
    ("AWS_SECRET_ACCESS_KEY", "secret_access_key"),
    ("AWS_SESSION_TOKEN", "session_token"),
    ("AWS_REGION", "region"),
    ("AWS_DEFAULT_REGION", "region"),
)
# Servers that are not Amazon's accept any region, but the clients want one.
_ANY_REGION = "us-east-1"
# How Lance deals with a server that does not answer. Without these it waits for minutes.
_PATIENCE = {
    "connect_timeout": "5s", "request_timeout": "60s", "client_max_retries": "2", "client_retry_timeout": "20",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Address:
    """A URI with the options that Lance and the object client need to reach it."""

    uri: str
    options: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_remote(self) -> bool:
        """Whether other machines may use it, beyond the reach of this one's locks."""
        return "://" in self.uri

    def below(self, name: str) -> Address:
        """The address of a part of it."""
        return Address(f"{self.uri.rstrip('/')}/{name}", self.options)

    def __str__(self) -> str:
        return self.uri


def address_of(uri: str, settings: Settings | None = None) -> Address:
    """The address of a URI, with credentials from the environment, or else from the user's settings."""
    if not uri.startswith(("s3://", "s3a://")):
        return Address(uri)
    if settings is None:
        from sage_code.settings.loading import load_settings  # lazy: only remote stores need it

        settings = load_settings(None)
    options: dict[str, str] = {}
    for variable, option in _FROM_ENVIRONMENT:
        if value := os.environ.get(variable):
            options.setdefault(option, value)
    _add(options, "endpoint", settings.store_endpoint)
    _add(options, "region", settings.store_region)
    if "secret_access_key" not in options:  # a key of one place never goes with the secret of another
        options.pop("access_key_id", None)
        _add(options, "access_key_id", settings.store_access_key_id)
        _add(options, "secret_access_key", settings.store_secret_access_key)
    options.setdefault("region", _ANY_REGION)
    options.update(_PATIENCE)
    if options.get("endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    return Address(uri, options)


def _add(options: dict[str, str], name: str, value: str) -> None:
    if value:
        options.setdefault(name, value)
