"""Secrets are found and masked; names, calls, hashes and placeholders are left alone."""

from __future__ import annotations

import random
import string
import time

import pytest

from sage_code.memory.checkpoint import Checkpoint, Source
from sage_code.text.masking import find, mask, mask_all

# Made here, so that no text in this repository looks like a real credential to anybody's scanner.
_MIXED = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=400))
_UPPER = "".join(random.Random(8).choices(string.ascii_uppercase + string.digits, k=100))
_HEX = "".join(random.Random(9).choices("0123456789abcdef", k=100))
_DASHES = "-" * 5

SECRETS = {
    "AWS access key": "AKI" + "A" + _UPPER[:16],
    "GitHub token": "gh" + "p_" + _MIXED[:36],
    "GitLab token": "glp" + "at-" + _MIXED[:20],
    "Slack token": "xo" + "xb-123456789012-" + _MIXED[:24],
    "Stripe key": "sk" + "_live_" + _MIXED[:24],
    "Google API key": "AI" + "za" + _MIXED[:35],
    "Anthropic key": "sk-" + "ant-api03-" + _MIXED[:80],
    "OpenAI key": "sk-" + "proj-" + _MIXED[:48],
    "npm token": "np" + "m_" + _MIXED[:36],
    "PyPI token": "py" + "pi-AgE" + _MIXED[:60],
    "Hugging Face token": "h" + "f_" + _MIXED[:34],
    "DigitalOcean token": "do" + "p_v1_" + _HEX[:64],
    "JSON web token": "ey" + "J" + _MIXED[:20] + ".ey" + "J" + _MIXED[20:60] + "." + _MIXED[60:100],
    "private key": f"{_DASHES}BEGIN RSA PRIVATE KEY{_DASHES}\n{_MIXED[:64]}\n{_MIXED[64:128]}\n{_DASHES}END",
    "value of DB_PASSWORD": f'DB_PASSWORD = "{_MIXED[:9]}7!"',
    "value of api_key": f"api_key: {_MIXED[:32]}",
    "bearer token": f"Authorization: Bearer {_MIXED[:40]}",
    "password in a URL": "postgres://app:" + _MIXED[:12] + "@db.internal/orders",
}


@pytest.mark.parametrize("rule", SECRETS)
def test_a_secret_is_masked_and_named(rule: str) -> None:
    text = f"We found out that {SECRETS[rule]} is used.\nAnd more."
    masked, kinds = mask(text)
    assert kinds == (rule,)
    assert f"[masked: {rule}]" in masked
    assert masked.startswith("We found out that ")
    assert masked.endswith("And more.")
    assert _MIXED[1:12] not in masked
    assert mask(masked) == (masked, ())  # what was masked stays as it is


@pytest.mark.parametrize(
    "text",
    [
        "token = get_token(request)",
        "password: str = Field(..., min_length=8)",
        "api_key = os.environ['API_KEY']",
        "The secret is rotated every night by the scheduler.",
        "secret_key = settings.SECRET_KEY_FALLBACKS_2024",
        "password = 'changeme123'",
        "postgres://user:password@localhost/db",
        "https://${USER}:${TOKEN}@example.com/x",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id: 123e4567-e89b-12d3-a456-426614174000",
        "token: <your token here>",
        "access_token=None, refresh_token=undefined",
        "csrf_token_field_name_2 = csrf_token_header_name_2",
        "sk-learn-contrib/some-package-name-that-is-long",
        "Bearer authentication is described in RFC 6750",
        f"{_DASHES}BEGIN CERTIFICATE{_DASHES}\n{_MIXED[:64]}\n{_DASHES}END CERTIFICATE{_DASHES}",
        'private_key = f"-----BEGIN PRIVATE KEY-----{encode(key)}-----END PRIVATE KEY-----"',
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert mask(text) == (text, ())


def test_every_text_of_a_value_is_looked_at() -> None:
    secret = SECRETS["GitHub token"]
    kinds: list[str] = []
    checkpoint = Checkpoint(
        "x", "", f"q {secret}", "t", key_evidence=(secret,), sources=(Source("a", take=secret),), fields={"k": secret}
    )
    masked = mask_all(checkpoint, kinds)
    assert kinds == ["GitHub token"] * 4
    assert secret not in repr(masked)
    assert masked.thesis == "t"


@pytest.mark.parametrize(
    "piece", ["a", "password=", "eyJ", "://a:", "-----BEGIN PRIVATE KEY-----\n", "sk-", "a.", "\\n"]
)
def test_time_follows_size(piece: str) -> None:
    started = time.process_time()
    find(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 6
