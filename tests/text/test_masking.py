"""Secrets are found and masked; names, calls, hashes and placeholders are left alone."""

from __future__ import annotations

import importlib
import json
import random
import string
import time
from pathlib import Path
from typing import Any

import pytest

from sage_code.memory.files.checkpoint import Checkpoint, Source
from sage_code.memory.files.core_files import core_files, mark
from sage_code.text.masking import find, mask, mask_all
from sage_mcp.masked import masked

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
        "the password is incorrect, and the token is required",
        "password=password, passwd=passwd, self.token = token",
        "docker run -p 8080:80 -u root nginx",
        "mysql -u root -p orders",
        "zip -r backup.zip data/",
        "unzip -P $ZIP_PASSWORD backup.zip",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        '"integrity": "sha512-rqtB4lQ8LVVVFAdY5MLoW8Z4CqCZCUQx6pYLQtmYVzDJPYzqYzDGY7XGqJLNCqJq9Cn4zzDJwTVdKq8Yc3r=="',
        "send the password Base64 encoded",
        "tokenizer = AutoTokenizer.from_pretrained('google/flan-t5-base-2048')",
        "password = getpass.getpass('Password: ')",
        'cache_key = "user_profile_page_2"',
        "-e POSTGRES_PASSWORD=${POSTGRES_PASSWORD:-postgres}",
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


def test_every_text_of_a_value_is_masked() -> None:
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
    "piece",
    [
        "a", "password=", "eyJ", "://a:", "-----BEGIN PRIVATE KEY-----\n", "sk-", "a.", "\\n", "cookie:sess ",
        "curl -s ", "docker login ", "uid=a b=", "?se=a&sig=", 'Password="a1B!c2D?" ',
        "A1b2C3d4_", "token a1B2c3 ", "zip -r ", "mysql -p", " -u a -p b", "password is ", "seed able ", "echo a | ",
        "kind: Secret\ndata:\n a: bcde\n", "name: a_token\nvalue: ", "new Client(", "https://hooks/", "token\n",
        "mnemonic: " + "able " * 30, "login:a/", "Cookie: sid=", "<password>", "identified by ", "İ password=",
    ],
)  # fmt: skip
def test_hostile_text_is_masked_in_seconds(piece: str) -> None:
    started = time.process_time()
    find(piece * (250_000 // len(piece)))  # a rule that is not linear would take minutes
    assert time.process_time() - started < 10


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """The secrets of the benchmark: of the generator, of the second set, and of the formats that are held out of it."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    generator, second = importlib.import_module("made_secrets"), importlib.import_module("held_out_secrets")
    assert len(generator.FORMATS) == 40
    assert len(second.templates()) >= 50
    seeds = (1, 2, 3)
    return {
        "generator": [one for seed in seeds for one in generator.made(seed)],
        "new": [one for seed in seeds for one in second.made(seed, kept_out=False)],
        "held out": [one for seed in seeds for one in second.made(seed, kept_out=True)],
    }


@pytest.mark.parametrize("part", ["generator", "new", "held out"])
def test_at_least_95_of_100_secrets_are_masked(made_up: dict[str, list[Any]], part: str) -> None:
    made = made_up[part]
    missed = [f"{one.format}: {one.text[:80]}" for one in made if one.secret in mask(one.text)[0]]
    assert len(missed) <= 0.05 * len(made), missed
    for one in made:
        once = mask(one.text)[0]
        assert mask(once)[0] == once, one.text  # what was masked is not masked again


def test_at_least_95_of_100_secrets_are_masked_in_answers_over_mcp(made_up: dict[str, list[Any]]) -> None:
    every = [one for part in made_up.values() for one in part]
    missed = []
    for one in every:
        shown = "Found 1:\n" + "\n".join(f"{number} | {line}" for number, line in enumerate(one.text.split("\n"), 1))
        text, data = masked(shown, {"matches": [{"file": "src/deploy.py", "source": one.text}]})
        alone, _ = masked(one.text, {})
        assert text.count("\n") == shown.count("\n")
        assert alone.count("\n") == one.text.count("\n")
        lines = [line for line in one.secret.split("\n") if len(line) >= 8]
        if any(line in each for line in lines or [one.secret] for each in (text, alone, json.dumps(data))):
            missed.append(f"{one.format}: {one.text[:80]}")
    assert len(missed) <= 0.05 * len(every), missed


def test_at_most_2_false_alarms_in_a_megabyte_of_the_standard_library() -> None:
    folder = Path(json.__file__).parents[1]
    texts = [path.read_text(errors="replace") for path in sorted(folder.glob("*.py"))]
    texts += [path.read_text(errors="replace") for path in sorted(folder.glob("[a-j]*/*.py"))]
    megabytes = sum(map(len, texts)) / 1e6
    assert megabytes > 4
    assert sum(len(find(text)) for text in texts) <= 2 * megabytes


def test_summaries_of_core_files_are_masked(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("pass\n")
    secret = SECRETS["GitHub token"]
    assert mark(str(tmp_path), "a.py", f"deployed with {secret}").summary == "deployed with [masked: GitHub token]"
    listed = tmp_path / ".sage" / "core.md"
    assert secret not in listed.read_text()
    listed.write_text(f"- `a.py`: by hand {secret}\n")  # a pulled list is as little to be trusted
    assert core_files(str(tmp_path))[0].summary == "by hand [masked: GitHub token]"
