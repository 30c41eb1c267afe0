"""Recognises files that hold secrets: by their path, a few by their text.

They are not indexed, shown or given to an agent unless the user sets `include_secrets`. Public keys, and examples and
templates with placeholders (`.env.example`), are ordinary files.
"""

from __future__ import annotations

import re

_ENVIRONMENT = re.compile(r"\.env(?![a-z0-9]).*|\.envrc|.+\.env")
_EXAMPLE = re.compile(r"(?:^|[._-])(?:examples?|sample|template|tmpl|dist|defaults?|schema)(?:[._-]|$)")
_NAMES = re.compile(
    r"""
      [._]netrc | \.pgpass | pgpass\.conf | \.my\.cnf | \.mylogin\.cnf | \.?htpasswd | \.s3cfg | \.boto | \.dockercfg
    | \.git-credentials | \.vault[-_](?:token|pass(?:word)?) | \.terraformrc | terraform\.rc
    | credentials(?:\.(?:json|toml|ini|db|csv))? | client_secrets?[\w.-]*\.json | application_default_credentials\.json
    | secrets\.(?:ya?ml|json|toml)
    | .*\.(?:pem|key|p8|p12|pfx|jks|keystore|kdbx?|ppk|ovpn|tfvars|tfvars\.json|tfstate|tfstate\.backup)
    | id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:\.(?:bak|old|orig|key|txt))? | id_[\w-]+
    """,
    re.VERBOSE,
)
# Ordinary names in folders for secrets.
_SECRET_FOLDERS = re.compile(
    r"(?:^|/)(?:\.ssh/(?!config$|known_hosts|authorized_keys)(?!.*\.pub$)|\.gnupg/|\.aws/(?:sso|cli)/|"
    r"\.docker/config\.json$|\.kube/config$|\.config/gcloud/|gcloud/legacy_credentials/|\.azure/|\.config/gh/hosts\.yml$)"
)
# Settings of package managers: secret only if they have a token.
_MAY_HOLD_TOKENS = frozenset({
    ".npmrc", ".pypirc", ".yarnrc", ".yarnrc.yml", "pip.conf", "nuget.config", "auth.json", ".condarc", ".gemrc",
})  # fmt: skip
_TOKEN = re.compile(
    r"(?i)(?:auth(?:ident|token)?|_auth(?:token)?|_password|password|passwd|token|bearer|secret)[\"'\s]*(?:[:=]|value=)"
    r"[\"'\s]*[^\s\"'${<>%]{6}|://[^/\s:@]+:[^/\s:@$]{3,}@"
)
_HEAD_CHARS = 4_096
_PRIVATE_KEY = re.compile(r"\s*(?:Bag Attributes\b[^-]*)?-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_SERVICE_ACCOUNT = re.compile(r'"type"\s*:\s*"(?:service_account|authorized_user|external_account)"')
_ITS_KEY = re.compile(r'"(?:private_key|refresh_token|client_secret)"\s*:\s*"[^"\s]{8}')


def is_secret_path(path: str) -> bool:
    """Whether a file at this path, from the root, holds secrets."""
    path = path.lower()
    name = path.rpartition("/")[2]
    if _ENVIRONMENT.fullmatch(name):
        return not _EXAMPLE.search(name)
    return bool(_NAMES.fullmatch(name) or _SECRET_FOLDERS.search(path))


def is_secret_text(path: str, text: str) -> bool:
    """Whether a text is a private key, a key of a service account, or settings with a token."""
    name = path.lower().rpartition("/")[2]
    if name in _MAY_HOLD_TOKENS:
        return bool(_TOKEN.search(text))
    if _PRIVATE_KEY.match(text):
        return True
    return name.endswith(".json") and bool(_SERVICE_ACCOUNT.search(text, 0, _HEAD_CHARS) and _ITS_KEY.search(text))
