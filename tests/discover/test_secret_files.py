"""Which files hold secrets, by path and by text."""

from __future__ import annotations

import pytest

from sage_code.discover.secret_files import is_secret_path, is_secret_text

_SECRET = """
    .env .env.local .env.production .env-prod .envrc prod.env docker/secrets.env .netrc _netrc server.pem DIR/Server.PEM
    a.key b.p12 b.pfx c.jks d.keystore e.kdbx id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk id_deploy id_rsa.bak
    .pgpass .htpasswd .git-credentials .aws/credentials credentials.json .docker/config.json terraform.tfstate
    terraform.tfstate.backup prod.tfvars x/.ssh/mykey .gnupg/secring.gpg .kube/config client_secret_1.apps.json
    .config/gcloud/x.json secrets.yml
"""
_PLAIN = """
    .env.example .env.sample .env.template .env.dist .env.production.example example.env env.py .environment
    src/env/config.ts id_rsa.pub id_generator.py identity.py key.py keys.py config.json credentials.py secrets.py
    secret.go .npmrc .ssh/config .ssh/id_rsa.pub a.tfvars.example monkey token.go .editorconfig docs/pem.md keystore.rs
"""


@pytest.mark.parametrize("path", _SECRET.split())
def test_a_path_that_says_secret(path: str) -> None:
    assert is_secret_path(path)


@pytest.mark.parametrize("path", _PLAIN.split())
def test_a_path_that_says_nothing_of_secrets(path: str) -> None:
    assert not is_secret_path(path)


@pytest.mark.parametrize(
    ("path", "text", "secret"),
    [
        (".npmrc", "//r.example.org/:_authToken=npm_abcdefgh\n", True),
        (".npmrc", "//r.example.org/:_authToken=${NPM_TOKEN}\nsave-exact=true\n", False),
        (".pypirc", "[pypi]\nusername = __token__\npassword = pypi-AgEIcHlw\n", True),
        (".pypirc", "[distutils]\nindex-servers = pypi\n", False),
        ("pip.conf", "[global]\nindex-url = https://me:hunter22@pypi.example.org/simple\n", True),
        ("deploy", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n", True),
        ("README.md", "A key begins with\n-----BEGIN PRIVATE KEY-----\n", False),
        ("sa.json", '{\n "type": "service_account",\n "private_key": "-----BEGIN"\n}', True),
        ("sa.json", '{\n "type": "service_account"\n}', False),
        ("sa.py", '{\n "type": "service_account",\n "private_key": "-----BEGIN"\n}', False),
    ],
)
def test_a_text_that_is_a_secret(path: str, text: str, secret: bool) -> None:
    assert is_secret_text(path, text) == secret
