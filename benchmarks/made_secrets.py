"""Made-up secrets in 40 formats, as people leave them in notes, configurations, shells and code. None is valid.

The formats were written before the rules of `sage_code/text/secret_shapes.py`. Everything that a scanner could take for
a live token is put together here from pieces and a seeded source of randomness.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_ALNUM = string.ascii_letters + string.digits
_UPPER = string.ascii_uppercase + string.digits
_HEX = "0123456789abcdef"
_DASHES = "-" * 5
_WORDS = (
    "sunflower", "copper", "lantern", "orbit", "walnut", "harbor", "velvet", "thunder", "maple", "pickle", "granite",
    "willow", "saffron", "comet", "badger", "meadow", "cobalt", "anchor", "ginger", "falcon",
)  # fmt: skip
_USERS = ("app", "deploy", "svc_orders", "anna", "reporting", "etl")
_HOSTS = ("db.internal", "10.4.0.17", "cache-1.prod.example.net", "mail.corp.lan", "queue.eu-west-1.example.com")


@dataclass(frozen=True, slots=True)
class Made:
    """A text with one secret in it."""

    format: str
    text: str
    secret: str


class Source:
    """Random pieces."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """A text of this length."""
        return "".join(self.random.choices(alphabet, k=length))

    def one(self, *choices: str) -> str:
        """One of these."""
        return self.random.choice(choices)

    def strong(self, length: int = 14) -> str:
        """A password that a manager makes: letters, a digit, a sign that means nothing to a shell or a URL."""
        body = [*self.of(string.ascii_letters, length - 3), *self.of(string.digits, 2), self.one("!", "_", "-", "+")]
        self.random.shuffle(body)
        return "x" + "".join(body)

    def human(self) -> str:
        """A password that a person makes: words, often with a number."""
        first, second = self.random.sample(_WORDS, 2)
        number = str(self.random.randint(10, 2029))
        return self.one(
            first + number,
            f"{first}-{second}",
            f"{first.title()}{number}!",
            first + second,
            f"{first}_{second}{number}",
        )

    def user(self) -> str:
        """A login."""
        return self.random.choice(_USERS)

    def host(self) -> str:
        """A host."""
        return self.random.choice(_HOSTS)

    def b64(self, count: int) -> str:
        """So many bytes in base64."""
        return base64.b64encode(self.random.randbytes(count)).decode()

    def url64(self, count: int) -> str:
        """So many bytes in base64 for addresses."""
        return base64.urlsafe_b64encode(self.random.randbytes(count)).decode().rstrip("=")


Pair = tuple[str, str]


def _env_words(s: Source) -> Pair:
    value = s.human()
    return (
        f"{s.one('DB_PASSWORD', 'MYSQL_ROOT_PASSWORD', 'ADMIN_PASS', 'SMTP_PASSWORD', 'REDIS_PASSWORD')}={value}",
        value,
    )


def _plain_password(s: Source) -> Pair:
    value = s.strong()
    return s.one(
        f"password={value}", f"login works with user=anna password={value} on staging", f"passwd={value};"
    ), value


def _yaml(s: Source) -> Pair:
    value = s.strong()
    return (
        f"database:\n  user: app\n  {s.one('password', 'db_password', 'adminPassword')}: {value}\n  port: 5432",
        value,
    )


def _json(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return f'{{"user": "app", "{s.one("password", "dbPassword", "client_secret")}": "{value}", "retries": 3}}', value


def _code(s: Source) -> Pair:
    value = s.strong()
    return s.one(
        f'password = "{value}"', f"const dbPassword = '{value}';", f'  private String password = "{value}";',
        f'conn = connect(host, user="app", password="{value}")', f'Password: "{value}",',
    ), value  # fmt: skip


def _sql_url(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    scheme = s.one("postgres", "postgresql+asyncpg", "mysql+pymysql", "mariadb", "mssql+pyodbc", "cockroachdb")
    return f"{scheme}://{s.user()}:{value}@{s.host()}:5432/orders", value


def _other_url(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    scheme = s.one("mongodb+srv", "mongodb", "amqps", "ftp", "smtp", "https", "clickhouse", "neo4j+s")
    return f"{scheme}://{s.user()}:{value}@{s.host()}/main", value


def _redis(s: Source) -> Pair:
    value = s.one(s.strong(), s.human(), s.of(_ALNUM, 24))
    return f"{s.one('redis', 'rediss')}://:{value}@{s.host()}:6379/0", value


def _netrc(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return s.one(
        f"machine {s.host()} login {s.user()} password {value}",
        f"machine {s.host()}\n  login {s.user()}\n  password {value}",
    ), value


def _curl(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return s.one(
        f"curl -u {s.user()}:{value} https://{s.host()}/v1", f"curl -s --user '{s.user()}:{value}' https://{s.host()}/"
    ), value


def _mysql(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return f"{s.one('mysql', 'mysqldump', 'mysqladmin')} -h {s.host()} -u {s.user()} -p{value} orders", value


def _pgpass(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return f"{s.host()}:5432:orders:{s.user()}:{value}", value


def _htpasswd(s: Source) -> Pair:
    value = s.one(
        f"$apr1${s.of(_ALNUM, 8)}${s.of(_ALNUM, 22)}", f"$2y$10${s.of(_ALNUM, 53)}", f"{{SHA}}{s.b64(20)}",
        f"$6${s.of(_ALNUM, 12)}${s.of(_ALNUM, 86)}",
    )  # fmt: skip
    return f"{s.user()}:{value}", value


def _basic(s: Source) -> Pair:
    value = base64.b64encode(f"{s.user()}:{s.strong()}".encode()).decode()
    return s.one(f"Authorization: Basic {value}", f'headers = {{"Authorization": "Basic {value}"}}'), value


def _cookie(s: Source) -> Pair:
    value = s.one(s.of(_ALNUM, 40), s.url64(33), s.of(_HEX, 64))
    name = s.one("sessionid", "connect.sid", "PHPSESSID", "session", "_gitlab_session")
    return s.one(f"Cookie: theme=dark; {name}={value}", f"Set-Cookie: {name}={value}; Path=/; HttpOnly"), value


def _jwt(s: Source) -> Pair:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": s.of(_HEX, 12), "iat": 1}).encode()).decode().rstrip("=")
    value = f"{head}.{body}.{s.url64(32)}"
    return s.one(f"token {value} was refused", f"Authorization: Bearer {value}", f"?jwt={value}"), value


def _key_body(s: Source, lines: int) -> list[str]:
    return [s.of(_ALNUM + "+/", 64) for _ in range(lines)]


def _pem(s: Source) -> Pair:
    kind = s.one("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY")
    body = "\n".join(_key_body(s, 6))
    return f"{_DASHES}BEGIN {kind}{_DASHES}\n{body}\n{_DASHES}END {kind}{_DASHES}", body


def _one_line_key(s: Source) -> Pair:
    kind = s.one("OPENSSH PRIVATE KEY", "RSA PRIVATE KEY")
    body = "\\n".join(_key_body(s, 5))
    return f'"key": "{_DASHES}BEGIN {kind}{_DASHES}\\n{body}\\n{_DASHES}END {kind}{_DASHES}\\n"', body


def _pgp(s: Source) -> Pair:
    body = "\n".join([*_key_body(s, 5), "=" + s.of(_ALNUM, 4)])
    head = f"{_DASHES}BEGIN PGP PRIVATE KEY BLOCK{_DASHES}\n{s.one('', 'Version: GnuPG v2')}\n"
    return f"{head}\n{body}\n{_DASHES}END PGP PRIVATE KEY BLOCK{_DASHES}", body


def _aws_id(s: Source) -> Pair:
    value = s.one("AKI" + "A", "ASI" + "A") + s.of(string.ascii_uppercase + "234567", 16)
    return s.one(f"aws_access_key_id = {value}", f"the key {value} belongs to the old account"), value


def _aws_secret(s: Source) -> Pair:
    value = s.of(_ALNUM + "/+", 40)
    return s.one(
        f"aws_secret_access_key = {value}", f"AWS_SECRET_ACCESS_KEY={value}", f'"SecretAccessKey": "{value}"',
        f"export AWS_SESSION_TOKEN={value}",
    ), value  # fmt: skip


def _gcp(s: Source) -> Pair:
    body = "\\n".join(_key_body(s, 4))
    record = {"type": "service_account", "project_id": "x-1", "private_key_id": s.of(_HEX, 40)}
    text = json.dumps(record)[:-1]
    return (
        f'{text}, "private_key": "{_DASHES}BEGIN PRIVATE KEY{_DASHES}\\n{body}\\n{_DASHES}END PRIVATE KEY{_DASHES}\\n"}}',
        body,
    )


def _azure(s: Source) -> Pair:
    value = s.b64(64)
    return s.one(
        f"DefaultEndpointsProtocol=https;AccountName=orders;AccountKey={value};EndpointSuffix=core.windows.net",
        f"Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={value}",
    ), value


def _sas(s: Source) -> Pair:
    value = s.b64(32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return f"https://orders.blob.core.windows.net/a?sv=2022-11-02&ss=b&srt=sco&se=2027-01-01&sp=rl&sig={value}", value


def _ado(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return s.one(
        f"Server=tcp:{s.host()},1433;Database=orders;User ID={s.user()};Password={value};Encrypt=True;",
        f"Data Source={s.host()};Initial Catalog=x;UID=sa;PWD={value}",
        f"jdbc:postgresql://{s.host()}/orders?user={s.user()}&password={value}&ssl=true",
        f"host={s.host()} dbname=orders user={s.user()} password={value} sslmode=require",
    ), value  # fmt: skip


def _github(s: Source) -> Pair:
    value = s.one(
        "gh" + "p_" + s.of(_ALNUM, 36),
        "gh" + "s_" + s.of(_ALNUM, 36),
        "github" + "_pat_" + s.of(_ALNUM, 22) + "_" + s.of(_ALNUM, 59),
    )
    return s.one(
        f"git clone https://{value}@github.com/a/b", f"GITHUB_TOKEN={value}", f"it uses {value} for now"
    ), value


def _forges(s: Source) -> Pair:
    value = s.one(
        "glp" + "at-" + s.of(_ALNUM + "-_", 20),
        "AT" + "BB" + s.of(_ALNUM, 32),
        "AT" + "ATT3xFfGF0" + s.of(_ALNUM, 170) + "=" + s.of(_UPPER, 8),
        "glr" + "t-" + s.of(_ALNUM, 20),
    )
    return f"push with {value}", value


def _packages(s: Source) -> Pair:
    npm = "np" + "m_" + s.of(_ALNUM, 36)
    old = s.of(_HEX, 8) + "-" + "-".join(s.of(_HEX, 4) for _ in range(3)) + "-" + s.of(_HEX, 12)
    pypi = "py" + "pi-AgEIcHlwaS5vcmc" + s.of(_ALNUM, 120)
    gem = "rubygems" + "_" + s.of(_HEX, 48)
    return s.random.choice([
        (f"//registry.example.org/:_authToken={npm}", npm), (f"//registry.example.org/:_authToken={old}", old),
        (f"[testpypi]\nusername = __token__\npassword = {pypi}", pypi), (f":rubygems_api_key: {gem}", gem),
    ])  # fmt: skip


def _docker(s: Source) -> Pair:
    value = base64.b64encode(f"{s.user()}:{s.strong()}".encode()).decode()
    token = "dckr" + "_pat_" + s.of(_ALNUM + "-_", 27)
    password = s.one(s.strong(), s.human())
    return s.random.choice([
        (f'{{"auths": {{"{s.host()}": {{"auth": "{value}"}}}}}}', value), (f"docker login -u anna -p {token}", token),
        (f"docker login {s.host()} -u {s.user()} -p {password}", password),
    ])  # fmt: skip


def _hashicorp(s: Source) -> Pair:
    value = s.one(
        "hv" + "s." + s.of(_ALNUM, 24),
        "hv" + "s.CAES" + s.url64(70),
        s.of(_ALNUM, 14) + ".atlas" + "v1." + s.of(_ALNUM, 64),
    )
    return s.one(f"vault login {value}", f'credentials "app.terraform.io" {{ token = "{value}" }}'), value


def _chat(s: Source) -> Pair:
    slack = "xo" + s.one("xb", "xp") + f"-{s.of(string.digits, 12)}-{s.of(string.digits, 12)}-{s.of(_ALNUM, 24)}"
    hook = f"T{s.of(_UPPER, 8)}/B{s.of(_UPPER, 8)}/{s.of(_ALNUM, 24)}"
    bot = s.of(string.digits, 10) + ":AA" + s.of(_ALNUM + "-_", 33)
    discord = s.one("M", "N") + s.of(_ALNUM, 25) + "." + s.of(_ALNUM, 6) + "." + s.of(_ALNUM + "-_", 38)
    webhook = s.of(_ALNUM + "-_", 68)
    return s.random.choice([
        (f"the bot has {slack}", slack), (f"post to https://hooks.slack.com/services/{hook}", hook),
        (f"https://api.telegram.org/bot{bot}/getMe", bot), (f"client.run('{discord}')", discord),
        (f"https://discord.com/api/webhooks/{s.of(string.digits, 18)}/{webhook}", webhook),
    ])  # fmt: skip


def _payment(s: Source) -> Pair:
    value = s.one(
        "sk" + "_live_" + s.of(_ALNUM, 24),
        "rk" + "_live_" + s.of(_ALNUM, 99),
        "wh" + "sec_" + s.of(_ALNUM, 32),
        "sq0" + "atp-" + s.of(_ALNUM + "-_", 22),
        "EAAA" + "l" + s.of(_ALNUM + "-_", 59),
    )
    return f"it was charged with {value} by mistake", value


def _mail(s: Source) -> Pair:
    value = s.one(
        "SG" + "." + s.of(_ALNUM + "-_", 22) + "." + s.of(_ALNUM + "-_", 43),
        "key-" + s.of(_HEX, 32),
        s.of(_HEX, 32) + "-us" + s.one("6", "14", "21"),
        "xkey" + "sib-" + s.of(_HEX, 64) + "-" + s.of(_ALNUM, 16),
        s.of(_HEX, 8) + "-" + s.of(_HEX, 4) + "-" + s.of(_HEX, 4) + "-" + s.of(_HEX, 4) + "-" + s.of(_HEX, 12),
    )
    name = s.one("MAIL_API_KEY", "mailgun_api_key", "MAILCHIMP_API_KEY", "POSTMARK_SERVER_TOKEN")
    return f"{name}={value}", value


def _phone(s: Source) -> Pair:
    value = s.one("SK" + s.of(_HEX, 32), s.of(_HEX, 32))
    return s.one(f"TWILIO_AUTH_TOKEN={value}", f'twilio_auth_token: "{value}"', f"auth_token = '{value}'"), value


def _commerce(s: Source) -> Pair:
    value = s.one(
        "shp" + s.one("at", "ss", "pa") + "_" + s.of(_HEX, 32),
        "dap" + "i" + s.of(_HEX, 32),
        "do" + "p_v1_" + s.of(_HEX, 64),
        "LTA" + "I5t" + s.of(_ALNUM, 18),
    )
    return f"configured with {value} today", value


def _models(s: Source) -> Pair:
    value = s.one(
        "sk-" + "proj-" + s.of(_ALNUM + "-_", 120),
        "sk-" + "ant-api03-" + s.of(_ALNUM + "-_", 93) + "AA",
        "h" + "f_" + s.of(string.ascii_letters, 34),
        "AI" + "za" + s.of(_ALNUM + "-_", 35),
        "r8" + "_" + s.of(_ALNUM, 37),
        "gsk" + "_" + s.of(_ALNUM, 52),
    )
    return s.one(f"key {value} is on the free plan", f"OPENAI_API_KEY={value}"), value


def _watching(s: Source) -> Pair:
    dsn, hexa, relic = s.of(_HEX, 32), s.of(_HEX, 32), "NRA" + "K-" + s.of(_UPPER, 27)
    grafana, sentry = "gl" + "sa_" + s.of(_ALNUM, 32) + "_" + s.of(_HEX, 8), "sntr" + "ys_" + s.of(_ALNUM, 60)
    return s.random.choice([
        (f"dsn=https://{dsn}@o4501.ingest.sentry.io/4502", dsn), (f"DD_API_KEY={hexa}", hexa),
        (f"NEW_RELIC_API_KEY: {relic}", relic), (f"dashboards read with {grafana}", grafana),
        (f"upload with {sentry}", sentry),
    ])  # fmt: skip


def _platforms(s: Source) -> Pair:
    fly = "Fly" + "V1 fm2_" + s.of(_ALNUM + "+/", 120)
    flare, heroku = s.of(_ALNUM + "-_", 40), "HRKU" + "-AA" + s.of(_ALNUM + "-_", 58)
    base, planet = "sb" + "p_" + s.of(_HEX, 40), "pscale" + "_tkn_" + s.of(_ALNUM, 43)
    return s.random.choice([
        (f"FLY_API_TOKEN='{fly}'", fly), (f"CLOUDFLARE_API_TOKEN={flare}", flare), (f"netrc has {heroku}", heroku),
        (f"supabase login --token {base}", base), (f"planetscale with {planet}", planet),
    ])  # fmt: skip


def _tools(s: Source) -> Pair:
    value = s.one(
        "lin" + "_api_" + s.of(_ALNUM, 40),
        "nt" + "n_" + s.of(_ALNUM, 46),
        "figd" + "_" + s.of(_ALNUM + "-_", 40),
        "PMAK" + "-" + s.of(_HEX, 24) + "-" + s.of(_HEX, 34),
        "sl." + "B" + s.of(_ALNUM + "-_", 135),
        "AGE-SECRET-" + "KEY-1" + s.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
        "00" + s.of(_ALNUM + "-_", 40),
    )
    return s.one(f"SSWS {value}", f"API_TOKEN={value}") if value.startswith("00") else f"we use {value} there", value


def _options(s: Source) -> Pair:
    value = s.one(s.strong(), s.human())
    return s.one(
        f"sshpass -p {value} ssh {s.user()}@{s.host()}", f"sshpass -p '{value}' scp a b", f"PGPASSWORD={value} psql -h {s.host()}",
        f"wget --user=anna --password={value} https://{s.host()}/x", f"./run --db-password {value} --verbose",
        f"kubectl create secret generic db --from-literal=password={value}",
    ), value  # fmt: skip


def _query(s: Source) -> Pair:
    value = s.one(s.of(_ALNUM, 32), s.of(_HEX, 40), s.url64(24))
    return s.one(
        f"GET https://{s.host()}/v1/items?page=2&api_key={value}", f"X-Api-Key: {value}", f"x-auth-token: {value}",
        f"https://{s.host()}/hook?access_token={value}&v=1", f"PRIVATE-TOKEN: {value}",
    ), value  # fmt: skip


def _documents(s: Source) -> Pair:
    value = s.strong()
    encoded = base64.b64encode(value.encode()).decode()
    return s.random.choice([
        (f"<password>{value}</password>", value), (f"spring.datasource.password={value}", value),
        (f'<add key="DbPassword" value="{value}" />', value), (f"ansible_become_pass: {value}", value),
        (f"kind: Secret\ndata:\n  password: {encoded}", encoded),
    ])  # fmt: skip


def _prose(s: Source) -> Pair:
    value = s.strong()
    return s.one(
        f"The password is {value}, ask Anna.", f"Login: {s.user()} / Password: {value}", f"password: `{value}` (staging)",
    ), value  # fmt: skip


FORMATS: dict[str, Callable[[Source], Pair]] = {
    "password in the environment": _env_words,
    "password=, unquoted": _plain_password,
    "YAML": _yaml,
    "JSON": _json,
    "assignment in code": _code,
    "URL with a password": lambda s: s.random.choice([_sql_url, _other_url])(s),
    "redis://:password@": _redis,
    "netrc": _netrc,
    "curl -u": _curl,
    "mysql -p": _mysql,
    "pgpass": _pgpass,
    "htpasswd and shadow": _htpasswd,
    "Authorization: Basic": _basic,
    "session cookie": _cookie,
    "JSON web token": _jwt,
    "PEM": _pem,
    "key on one line": _one_line_key,
    "PGP": _pgp,
    "AWS": lambda s: s.random.choice([_aws_id, _aws_secret])(s),
    "Google service account": _gcp,
    "Azure": lambda s: s.random.choice([_azure, _sas])(s),
    "connection string": _ado,
    "GitHub": _github,
    "GitLab and Atlassian": _forges,
    "package registries": _packages,
    "Docker": _docker,
    "HashiCorp": _hashicorp,
    "chat": _chat,
    "payment": _payment,
    "mail": _mail,
    "Twilio": _phone,
    "Shopify, Databricks, clouds": _commerce,
    "language models": _models,
    "monitoring": _watching,
    "platforms": _platforms,
    "tools": _tools,
    "command line": _options,
    "query and header": _query,
    "documents": _documents,
    "prose": _prose,
}


def made(seed: int, each: int = 5) -> Iterator[Made]:
    """`each` secrets of every format."""
    for name, make in FORMATS.items():
        source = Source(seed * 1_000 + sum(map(ord, name)))
        for _ in range(each):
            text, secret = make(source)
            yield Made(name, text, secret)
