"""The shapes of secrets, as data: what a vendor's token looks like, and what is written around a password.

`TOKENS` are recognised by themselves, mostly by a prefix that nothing else has. `CONTEXTS` recognise a password or a
token by what is around it on a command line, in a header, in an address or in a password file; `masking` still judges
the value itself. Every rule lists pieces of text (in lower case) without which it cannot match, so most rules cost the
search for a word. The patterns take linear time: no repetition inside a repetition, and every repetition is bounded.

`benchmarks/secrets_in_code.py` measures what the rules find and what they wrongly take for a secret.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

# How the value in a context is judged; `masking` has a function for each.
Judge: TypeAlias = Literal["any", "argument", "random", "strong", "made", "phrase", "scattered"]

_END = r"(?![A-Za-z0-9_-])"
_START = r"(?<![A-Za-z0-9_-])"
# Some headers, then base64; its lines may start with the signs of quotes, comments and escapes.
_KEY_BODY = r"(?:[^A-Za-z0-9\0]|\\[nr]|[A-Z][\w-]+: [^\n]*\n){0,40}[A-Za-z0-9+/]{30,80}(?:[^-\0]|-(?!----)){0,20000}"


class Token(NamedTuple):
    """A secret that is recognised by its shape; it is the group `secret`, or the whole match."""

    name: str
    needs: tuple[str, ...]  # one of these, in lower case, is in it or before it on its line
    pattern: str
    reach: int = 0  # how many characters it may extend beyond the line of that piece


class Context(NamedTuple):
    """A secret that is recognised by the text around it; the group `secret` is judged."""

    name: str
    needs: tuple[str, ...]
    pattern: str
    judge: Judge
    reach: int = 0
    are_words: bool = False  # `needs` are whole words


TOKENS: tuple[Token, ...] = (
    Token("private key", ("private key",), rf"-----BEGIN (?:[A-Z0-9]+ ){{0,3}}PRIVATE KEY(?: BLOCK)?-----(?P<secret>{_KEY_BODY})", 25_000),
    Token("JSON web token", ("eyj",), rf"{_START}eyJ[A-Za-z0-9_-]{{10,4000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}\.[A-Za-z0-9_-]{{16,1000}}"),
    # Clouds
    Token("AWS access key", ("akia", "asia", "abia", "acca"), rf"{_START}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}{_END}"),
    Token("Google API key", ("aiza",), rf"{_START}AIza[A-Za-z0-9_-]{{35}}{_END}"),
    Token("Google OAuth token", ("ya29.",), rf"{_START}ya29\.[A-Za-z0-9_-]{{30,500}}"),
    Token("Google OAuth secret", ("gocspx-",), rf"{_START}GOCSPX-[A-Za-z0-9_-]{{28}}{_END}"),
    Token("Azure storage key", ("accountkey=", "sharedaccesskey=", "accesskey="), r"(?i)(?:Account|SharedAccess|Access)Key=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})"),
    Token("Azure SAS", ("sig=",), r"[?&]sig=(?P<secret>[A-Za-z0-9%_-]{40,120}={0,1})"),
    Token("Azure client secret", ("8q~",), rf"{_START}[A-Za-z0-9_~.-]{{3}}8Q~[A-Za-z0-9_~.-]{{31,34}}{_END}"),
    Token("Alibaba Cloud key", ("ltai",), rf"{_START}LTAI[A-Za-z0-9]{{12,24}}{_END}"),
    Token("DigitalOcean token", ("_v1_",), rf"{_START}do[opr]_v1_[a-f0-9]{{64}}{_END}"),
    Token("Heroku token", ("hrku-",), rf"{_START}HRKU-[A-Za-z0-9_-]{{36,80}}{_END}"),
    Token("Fly token", ("flyv1 ", "fo1_", "fm1r_", "fm2_"), rf"{_START}(?:FlyV1 )?(?:fm[12]r?_[A-Za-z0-9+/]{{40,2000}}={{0,3}}|fo1_[A-Za-z0-9_-]{{43}})"),
    Token("Cloudflare key", ("v1.0-",), rf"{_START}v1\.0-[a-f0-9]{{24}}-[a-f0-9]{{146}}{_END}"),
    Token("Supabase token", ("sbp_", "sb_secret_"), rf"{_START}(?:sbp_[a-f0-9]{{40}}|sb_secret_[A-Za-z0-9_-]{{31}}){_END}"),
    Token("PlanetScale token", ("pscale_",), rf"{_START}pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{{32,64}}"),
    Token("Databricks token", ("dapi",), rf"{_START}dapi[a-f0-9]{{32}}(?:-\d)?{_END}"),
    Token("Vercel token", ("vca_", "vci_", "vcp_", "vck_", "vcr_"), rf"{_START}vc[aipkr]_[A-Za-z0-9]{{24,64}}{_END}"),
    Token("Netlify token", ("nfp_",), rf"{_START}nfp_[A-Za-z0-9]{{36,40}}{_END}"),
    Token("Pulumi token", ("pul-",), rf"{_START}pul-[a-f0-9]{{40}}{_END}"),
    # Forges and registries
    Token("GitHub token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}{_END}"),
    Token("GitHub token", ("github_pat_",), rf"{_START}github_pat_[A-Za-z0-9]{{22}}_[A-Za-z0-9]{{40,120}}{_END}"),
    Token("GitLab token", ("glpat-", "glptt-", "gldt-", "glrt-", "gloas-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-", "glffct-"), rf"{_START}gl(?:pat|ptt|dt|rt|oas|soat|cbt|ft|imt|agent|ffct)-[A-Za-z0-9_-]{{20,255}}"),
    Token("Bitbucket password", ("atbb",), rf"{_START}ATBB[A-Za-z0-9]{{32}}{_END}"),
    Token("Atlassian token", ("atatt3", "atctt3"), rf"{_START}AT[AC]TT3[A-Za-z0-9_=-]{{100,300}}"),
    Token("npm token", ("npm_",), rf"{_START}npm_[A-Za-z0-9]{{36}}{_END}"),
    Token("PyPI token", ("pypi-age",), rf"{_START}pypi-AgE[A-Za-z0-9_-]{{50,500}}"),
    Token("RubyGems token", ("rubygems_",), rf"{_START}rubygems_[a-f0-9]{{48}}{_END}"),
    Token("crates.io token", ("cio",), rf"{_START}cio[A-Za-z0-9]{{32}}{_END}"),
    Token("NuGet key", ("oy2",), rf"{_START}oy2[a-z0-9]{{43}}{_END}"),
    Token("Docker token", ("dckr_",), rf"{_START}dckr_(?:pat|oat)_[A-Za-z0-9_-]{{27,40}}"),
    Token("Artifactory key", ("akcp",), rf"{_START}AKCp[A-Za-z0-9]{{60,80}}{_END}"),
    # Secrets of secrets
    Token("HashiCorp Vault token", ("hvs.", "hvb.", "hvr."), rf"{_START}hv[sbr]\.[A-Za-z0-9_-]{{24,300}}"),
    Token("Terraform token", (".atlasv1.",), rf"{_START}[A-Za-z0-9]{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,70}}"),
    Token("Doppler token", ("dp.",), rf"{_START}dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{{40,60}}"),
    Token("1Password token", ("ops_eyj",), rf"{_START}ops_eyJ[A-Za-z0-9+/_-]{{200,2000}}={{0,3}}"),
    Token("age key", ("age-secret-key-1",), r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    # Chat
    Token("Slack token", ("xox", "xapp-", "xoxe"), r"\b(?:xox[abceoprs](?:\.xox[abp])?|xapp)-(?:[0-9]+-){0,4}[A-Za-z0-9-]{10,250}"),
    Token("Slack webhook", ("hooks.slack.com",), r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Z][A-Za-z0-9]{6,}/[A-Z][A-Za-z0-9]{6,}/[A-Za-z0-9/]{16,80})"),
    Token("Discord webhook", ("/api/webhooks/",), r"discord(?:app)?\.com/api/webhooks/\d{15,22}/(?P<secret>[A-Za-z0-9_-]{50,90})"),
    Token("Teams webhook", ("webhook.office.com",), r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/_-]{60,300})"),
    Token("Telegram bot token", (":aa",), r"(?<![A-Za-z0-9_])(?:bot)?(?P<secret>\d{8,10}:AA[A-Za-z0-9_-]{32,33})(?![A-Za-z0-9_-])"),
    # Payment and shops
    Token("Stripe key", ("_live_", "_test_"), rf"{_START}(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{{16,255}}{_END}"),
    Token("Stripe signing secret", ("whsec_",), rf"{_START}whsec_[A-Za-z0-9+/]{{24,64}}={{0,2}}"),
    Token("Square token", ("sq0", "eaaa"), rf"{_START}(?:sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{{22,43}}|EAAA[A-Za-z0-9_-]{{56,64}}){_END}"),
    Token("Shopify token", ("shpat_", "shpca_", "shppa_", "shpss_", "shpua_"), rf"{_START}shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{{32}}{_END}"),
    Token("PayPal token", ("access_token$",), r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    # Mail and phone
    Token("SendGrid key", ("sg.",), rf"{_START}SG\.[A-Za-z0-9_-]{{22}}\.[A-Za-z0-9_-]{{43}}{_END}"),
    Token("Mailgun key", ("key-",), rf"{_START}key-[a-f0-9]{{32}}{_END}"),
    Token("Mailchimp key", ("-us",), rf"{_START}[a-f0-9]{{32}}-us\d{{1,2}}{_END}"),
    Token("Brevo key", ("xkeysib-", "xsmtpsib-"), rf"{_START}x(?:key|smtp)sib-[a-f0-9]{{64}}-[A-Za-z0-9]{{16}}{_END}"),
    Token("Twilio key", ("sk",), rf"{_START}SK[a-f0-9]{{32}}{_END}"),
    # Language models
    Token("Anthropic key", ("sk-ant-",), rf"{_START}sk-ant-[A-Za-z0-9_-]{{24,255}}"),
    Token("OpenAI key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), rf"{_START}sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{{30,255}}"),
    Token("OpenAI key", ("t3blbkfj",), rf"{_START}sk-[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}{_END}"),
    Token("OpenRouter key", ("sk-or-",), rf"{_START}sk-or-v1-[a-f0-9]{{64}}{_END}"),
    Token("Hugging Face token", ("hf_", "api_org_"), rf"{_START}(?:hf_|api_org_)[A-Za-z0-9]{{34,40}}{_END}"),
    Token("Replicate token", ("r8_",), rf"{_START}r8_[A-Za-z0-9]{{37}}{_END}"),
    Token("Groq key", ("gsk_",), rf"{_START}gsk_[A-Za-z0-9]{{52}}{_END}"),
    Token("xAI key", ("xai-",), rf"{_START}xai-[A-Za-z0-9]{{70,90}}{_END}"),
    # Monitoring
    Token("Grafana token", ("glc_", "glsa_"), rf"{_START}gl(?:c|sa)_[A-Za-z0-9+/_]{{32,400}}={{0,2}}"),
    Token("New Relic key", ("nrak-", "nrii-", "nraa-", "nrjs-", "nral"), rf"{_START}(?:NR(?:AK|II|AA|JS)-[A-Za-z0-9_-]{{19,40}}|[a-f0-9]{{30,40}}(?:FFFF)?NRAL){_END}"),
    Token("Sentry token", ("sntry",), rf"{_START}sntry[su]_[A-Za-z0-9+/=_-]{{40,400}}"),
    Token("Sentry DSN", ("@",), r"https?://(?P<secret>[a-f0-9]{32}(?::[a-f0-9]{32})?)@[\w.-]{1,100}/\d"),
    Token("Dynatrace token", ("dt0",), rf"{_START}dt0[a-z]\d\d\.[A-Z0-9]{{24}}\.[A-Z0-9]{{64}}{_END}"),
    Token("PagerDuty key", ("pdus+_",), rf"{_START}pdus\+_[A-Za-z0-9_-]{{20,40}}"),
    # Tools
    Token("Linear key", ("lin_",), rf"{_START}lin_(?:api|oauth)_[A-Za-z0-9]{{40,64}}{_END}"),
    Token("Notion token", ("ntn_",), rf"{_START}ntn_[A-Za-z0-9]{{40,60}}{_END}"),
    Token("Notion token", ("secret_",), rf"{_START}secret_[A-Za-z0-9]{{43}}{_END}"),
    Token("Figma token", ("figd_", "figo_", "figu_", "figor_", "figdr_", "figur_"), rf"{_START}fig[dou]r?_[A-Za-z0-9_-]{{40,80}}"),
    Token("Postman key", ("pmak-",), rf"{_START}PMAK-[a-f0-9]{{24}}-[a-f0-9]{{34}}{_END}"),
    Token("Dropbox token", ("sl.",), rf"{_START}sl\.(?:u\.)?[A-Za-z0-9_-]{{120,1500}}"),
    Token("Okta token", ("ssws",), r"SSWS\s+(?P<secret>[A-Za-z0-9_-]{40,60})"),
    Token("Airtable token", ("pat",), rf"{_START}pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}{_END}"),
    Token("Asana token", ("0/1", "1/1", "2/1", "1/"), rf"{_START}[0-2]/\d{{13,17}}(?:/\d{{13,17}})?:[a-f0-9]{{32}}{_END}"),
    Token("Mapbox token", ("sk.eyj",), rf"{_START}sk\.eyJ[A-Za-z0-9_-]{{40,200}}\.[A-Za-z0-9_-]{{20,40}}"),
    Token("ClickUp token", ("pk_",), rf"{_START}pk_\d{{6,12}}_[A-Z0-9]{{32}}{_END}"),
    Token("LaunchDarkly key", ("sdk-", "mob-", "api-"), rf"{_START}(?:sdk|mob|api)-[a-f0-9]{{8}}-(?:[a-f0-9]{{4}}-){{3}}[a-f0-9]{{12}}{_END}"),
    Token("Tencent Cloud key", ("akid",), rf"{_START}AKID[A-Za-z0-9]{{32}}{_END}"),
    Token("extended private key", ("prv",), rf"{_START}[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{{100,112}}{_END}"),
    Token("SonarQube token", ("sqa_", "sqp_", "squ_"), rf"{_START}sq[apu]_[a-f0-9]{{40}}{_END}"),
    Token("password hash", ("$apr1$", "$1$", "$5$", "$6$", "$y$", "$2a$", "$2b$", "$2x$", "$2y$", "$argon2"), r"(?<![\w$])\$(?:apr1|1|5|6|y|2[abxy]|argon2(?:id|i|d))\$[A-Za-z0-9./$,=+-]{22,200}"),
    Token("password hash", ("{sha}", "{ssha}"), r"\{S?SHA(?:256|512)?\}[A-Za-z0-9+/]{20,120}={0,2}"),
)  # fmt: skip

# A user's name, and what follows it on a command line or in an address.
_USER = r"[^\s:/@'\"<>{}$]{0,100}"
_WORD = r"[^\s\"'`<>|;&]{4,200}"
_ARGUMENT = r"\\?['\"]?(?P<secret>[^\s'\"\\|;<>-][^\s'\"\\|;<>]{3,200})"


def _command(tools: tuple[str, ...], before: str) -> Context:
    """The password in the arguments of tools of the command line; `before` is directly before it."""
    pattern = rf"(?<![\w.-])(?:{'|'.join(tools)})(?:\.exe)?(?= )[^\n|;]{{0,160}}? {before}{_ARGUMENT}"
    return Context(f"password of {tools[0]}", tools, pattern, "argument", are_words=True)


CONTEXTS: tuple[Context, ...] = (
    _command(("curl", "wget", "httpie", "xh"), rf"(?:-u|--user|--proxy-user|-U|-a|--auth)[ =]?['\"]?{_USER}:"),
    _command(("http", "https"), rf"(?:-a|--auth)[ =]?['\"]?{_USER}:"),
    _command(("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mariadb", "mariadb-dump"), r"-p"),
    _command(("sshpass",), r"-p ?"),
    _command(("plink", "pscp", "psftp", "putty", "kitty"), r"-pw "),
    _command(("lftp", "sftp"), r"-u ?['\"]?[^\s,]{1,60},"),
    _command(("sqlcmd", "bcp", "osql", "tsql", "ipmitool", "mosquitto_pub", "mosquitto_sub", "vncdo"), r"-P ?"),
    _command(("redis-cli", "keydb-cli", "valkey-cli"), r"(?:-a|--pass) "),
    _command(("mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport", "cqlsh", "nodetool", "tabcmd"), r"-p ?"),
    _command(("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami"), r"-[ws] ?"),
    _command(("ssh-keygen",), r"-[NP] ?"),
    _command(("mc",), r"(?:alias set|config host add) \S{1,40} \S{1,100} \S{1,60} "),
    _command(("zip", "unzip", "zipcloak"), r"-P ?"),
    _command(("7z", "7za", "7zz", "rar", "unrar"), r"-h?p"),
    _command(("openssl",), r"(?:-k|-pass(?:in|out)?|-passwd) (?:pass:)?"),
    _command(("keytool", "jarsigner", "apksigner"), r"-(?:storepass|keypass|srcstorepass|deststorepass|new)(?: |:)(?:pass:)?"),
    _command(("smbclient", "winexe", "rpcclient", "smbget", "wmic"), r"-U ?['\"]?[^\s%]{1,60}%"),
    _command(("rabbitmqctl",), r"(?:add_user|change_password|authenticate_user) [^\s]{1,60} "),
    _command(("htpasswd",), r"-[a-zA-Z]{0,4}b[a-zA-Z]{0,4} (?:\S{1,100} )?\S{1,60} "),
    _command(("wpa_passphrase",), r"['\"]?\S{1,40}['\"]? "),
    _command(("net",), r"/user:\S{1,60} "),
    _command(("net",), r"user \S{1,60} (?=\S{1,60} /add)"),
    _command(("xfreerdp", "mstsc", "cmdkey", "rdesktop", "wmic", "schtasks"), r"/(?:p|pass|password|rp):"),
    _command(("psexec", "evil-winrm", "crackmapexec", "netexec", "rdesktop", "ncftpput", "ncftp"), r"-p "),
    _command(("snmpwalk", "snmpget", "snmpset", "snmpbulkwalk"), r"-[AXc] ?"),
    _command(("wandb", "vault", "snyk", "netlify", "doctl", "flyctl", "railway", "huggingface-cli", "npm"), r"(?:login|auth)(?: [a-z]{2,12}){0,2}(?: (?:-t|--token|--key|--relogin))?[ =]"),
    Context("password of a command", (" -u", " --user"), rf"\s(?:-u|-U|--user|--username)[ =]?[^\s-]\S{{0,60}} (?:[^\n|;]{{0,80}}? )?(?:-p|-P|-w|-pw)[ =]?{_ARGUMENT}", "strong"),
    Context("password of sqlplus", ("sqlplus", "expdp", "impdp", "rman", "sqlldr", "imp", "exp"), r"\b(?:sqlplus|expdp|impdp|rman|sqlldr|imp|exp)(?= )[^\n|;]{0,80}? ['\"]?(?:userid=)?[\w.]{1,40}/(?P<secret>[^\s@/'\"]{3,100})@", "any", are_words=True),
    Context("password of a login", ("docker", "podman", "helm", "nerdctl", "skopeo", "buildah", "oc", "az", "cf", "ibmcloud"), rf"\b(?:docker|podman|helm|nerdctl|skopeo|buildah|oc|az|cf|ibmcloud) (?:registry )?login\b[^\n|;]{{0,160}}? -p[ =]?{_ARGUMENT}", "argument", are_words=True),
    # What a command reads from its input
    Context("password of a command", ("echo", "printf"), r"\b(?:echo|printf)(?: -[ne]+)? ['\"]?(?:[\w.-]{1,40}:)?(?P<secret>[^\s'\"|:]{4,200})['\"]? ?\| ?(?:[\w/.-]{1,40} ){0,3}?(?:sudo -S|chpasswd|passwd|kinit|cryptsetup|gpg|openssl|[\w -]{1,30}login\b|[^\n|]{0,80}(?:-stdin|--with-token|-passphrase-fd))", "any"),
    Context("password of a command", ("<<<",), r"\b(?:kinit|passwd|chpasswd|cryptsetup|sudo|login|gpg|[A-Z_]{0,30}(?:TOKEN|PASSWORD|SECRET))\b[^\n|;<]{0,80}<<<\s?\\?['\"]?(?P<secret>[^\s'\"]{4,200})", "any"),
    Context("password of expect", ("assword", "passphrase"), r"(?i)(?:assword|passphrase)[^\n]{0,30}\n?[ \t{]{0,20}(?:exp_)?send(?:_user|line)?\(?(?: --)? ?[\"'](?P<secret>[^\s\"'\\$]{4,200})(?:\\[rn]|[\"'])", "any", 200),
    Context("password of PowerShell", ("securestring",), r"(?i)ConvertTo-SecureString\s(?:-String\s)?[\"'](?P<secret>[^\s\"'$]{4,200})[\"']", "any"),
    Context("password option", ("passw", "passphrase", "requirepass", "masterauth", "-pwd", "token", "secret", "api-key", "apikey", "-auth"), rf"(?i)(?<![\w-])--?[a-z-]{{0,30}}(?:password|passwd|passphrase|requirepass|masterauth|pwd|token|secret|api-?key|auth)[ =]\\?['\"]?(?P<secret>{_WORD})", "strong"),
    # Addresses
    Context("password in a URL", ("://",), rf"[a-zA-Z][a-zA-Z0-9+.-]{{1,20}}://{_USER}:(?P<secret>[^\s@/'\"<>]{{3,200}})@[\w.\[-]", "any"),
    Context("token in a URL", ("://",), r"https?://(?P<secret>[A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@[\w.-]", "random"),
    Context("token in a URL", ("?", "&"), r"(?i)[?&;](?:[a-z_.-]{0,20}(?:sig|signature|token|key|secret|auth|passw(?:or)?d|pwd|session|sid|code|hmac|credential)|t|s|k)=(?P<secret>[A-Za-z0-9%_.~+/-]{16,2000})", "random"),
    Context("token in a URL", ("hooks", "webhook"), r"(?i)https://[\w.-]{1,80}/[\w./-]{0,80}?(?:hooks?|webhooks?|catch|services)/[\w./@-]{0,120}?/(?P<secret>(?=[a-z0-9_-]{0,60}\d)[A-Za-z0-9_-]{7,200})(?:/|\b)", "scattered"),
    Context("OAuth code", ("code=",), r"\bcode=(?P<secret>4/[A-Za-z0-9_-]{30,200})", "any"),
    Context("password of Oracle", ("jdbc:oracle",), r"jdbc:oracle:\w{1,10}:[\w.]{1,40}/(?P<secret>[^\s@/\"']{3,200})@", "any"),
    # Headers and cookies
    Context("bearer token", ("bearer", "basic", "token", "apikey", "negotiate"), r"(?i)\b(?:bearer|basic|token|apikey|negotiate)[ \t]{1,4}(?P<secret>[A-Za-z0-9_.~+/-]{16,2000}={0,2})", "random"),
    Context("basic login", ("basic",), r"(?i)authorization\\?[\"']?\s{0,2}[:=,]\s{0,2}\\?[\"'`]?basic\s(?P<secret>[A-Za-z0-9+/]{8,2000}={0,2})", "any"),
    Context("session cookie", ("cookie",), r"(?i)\bcookie[\"']?(?::|\s{0,2}=)\s{0,2}[\"']?[^\n\"']{0,120}?(?:sess|sid|auth|token|remember|jwt|csrf)[\w.-]{0,20}=(?P<secret>[A-Za-z0-9%._+/:-]{16,2000})", "random"),
    Context("Discord token", ("discord", "bot", "token", "login", "client", "run("), rf"{_START}(?P<secret>[MNO][A-Za-z0-9]{{23,27}}\.[A-Za-z0-9_-]{{6}}\.[A-Za-z0-9_-]{{27,40}}){_END}", "any"),
    # Files of passwords
    Context("password of netrc", ("login",), r"\blogin\s{1,8}\S{1,100}\s{1,8}(?:account\s{1,8}\S{1,100}\s{1,8})?password\s{1,8}(?P<secret>\S{3,200})", "any", 400),
    Context("password of pgpass", (":5432:", ":*:", ":6432:", ":5433:"), r"(?m)^(?:[\w.-]{1,100}|\*):(?:\d{2,5}|\*):[\w*.-]{1,60}:[\w*.-]{1,60}:(?P<secret>[^\s:]{4,200})$", "any"),
    Context("registry login", ('"auth"',), r"\"auth\"\s{0,4}:\s{0,4}\"(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})\"", "random"),
    Context("registry token", ("_auth", "_password"), r"(?m):_(?:authToken|auth|password)\s{0,2}=\s{0,2}(?P<secret>[^\s\"'$]{8,2000})", "any"),
    Context("Kubernetes secret", ("kind: secret",), r"kind: Secret\b(?:[^\n]{0,200}\n){1,12}?(?:data|stringData):\s*\n(?P<secret>(?:[ \t]{1,8}[\w.-]{1,80}: [^\n]{4,4000}\n?){1,40})", "any", 20_000),
    Context("value of an entry", ("name",), r"(?i)\bname\\?[\"']?[:=][ \t]{0,2}[\"']?(?!authenticity|csrf)[\w.-]{0,40}(?:passw(?:or)?d|passwd|pwd|secret|token|api_?key|access_?key|_pass|_key)[\"']?,?\s{1,20}[\"']?value\\?[\"']?[:=][ \t]{0,2}[\"']?(?P<secret>[^\s\"'<>${]{4,400})", "strong", 500),
    Context("password element", ("assw", "secret", "token", "pwd", "key>"), r"(?i)<([\w.:-]{0,30}(?:password|passwd|passphrase|pwd|secret|token|api-?key|access-?key))>(?:<!\[CDATA\[)?(?P<secret>[^\s<>\[\]]{4,400})(?:\]\]>)?</\1", "strong"),
    Context("password attribute", ("value=",), r"(?i)\b(?:key|name|id)=[\"'](?!authenticity|csrf)[\w.:-]{0,40}(?:password|passwd|pwd|secret|token|api-?key|access-?key)[\"']\s{1,4}value=[\"'](?P<secret>[^\s\"'<>]{4,200})[\"']", "strong"),
    # Connections, statements, settings of servers
    Context("password of a connection", ("password=", "pwd=", "pass="), rf"(?i)\b(?:user(?:[ _]?id|name)?|uid|login)=[^;&\s'\"]{{1,100}}[;&\s]\s{{0,2}}(?:[\w ]{{1,20}}=[^;&\s'\"]{{1,60}}[;&\s]){{0,3}}(?:password|pwd|pass)=(?P<secret>{_WORD})", "any"),
    Context("password of a statement", ("identified", "password"), r"(?i)\b(?:identified(?: with [\w']{1,40})? (?:by|as)(?: password)?|(?:encrypted |with |for [^\n]{1,60} = |set |user \S{1,60} |role \S{1,60} )password)\s{0,2}(?:=\s?)?\(?\s?N?['\"](?P<secret>[^\s'\"]{4,200})['\"]", "argument"),
    Context("password of a server", ("requirepass", "masterauth", "bindpw", "rootpw", "community", "static:", "olcrootpw"), r"(?im)(?:^[ \t]{0,8}(?:requirepass|masterauth|bindpw|rootpw|olcRootPW:)|(?:snmp-server |\bro|\brw)community|static:\w{1,40}:)[ \t]{0,8}[\"']?(?P<secret>[^\s\"':]{4,200})", "strong"),
    Context("login", ("login", "user", "auth", "account", "cred"), r"(?i)\b(?:login|user(?:name)?|account|credentials?|creds)\b[ \t:=is]{1,6}[\w.@-]{1,60}(?: ?/ ?| ?: ?|,? ?(?:and|with|und)? ?(?:pass(?:word)?|pw)[:= ]{1,3})(?P<secret>[^\s\"'`,;]{8,200})", "made"),
    Context("login", ("auth", "connect", "login"), r"(?i)(?:auth|connect\w{0,12}|login|credentials?|signin)[ \t]{0,2}(?:=[ \t]?)?\((?:[\w./:\"'-]{1,80},[ \t]?)?[\"'][\w.@-]{1,60}[\"'],[ \t]?[\"'](?P<secret>[^\s\"']{6,200})[\"']\)", "strong"),
    Context("key of a constructor", ("client", "api(", "sdk(", "auth", "credential", "session", "token", "key(", "secret("), r"(?:[Cc]lient|[Aa]pi|API|SDK|[Aa]uth\w{0,10}|[Cc]redentials?|[Ss]ession|[Tt]oken|[Kk]ey|[Ss]ecret)\w{0,10}\(\s{0,2}(?:[\"'][^\s\"']{1,80}[\"'],[ \t])?[\"'](?P<secret>[A-Za-z0-9_+/=.-]{16,400})[\"']", "random"),
    Context("password of a network", ("pre-shared-key", "server key", "wpa-psk", "chap password"), rf"(?:pre-shared-key|-server key|wpa-psk|chap password)(?: \d| ascii| local| remote)? {_ARGUMENT}", "argument"),
    Context("app password", ("pass", "login", "smtp", "gmail"), r"[\"'=:] ?(?P<secret>[a-z]{4} [a-z]{4} [a-z]{4} [a-z]{4})(?=[\"'\n]|$)", "phrase"),
    Context("password attribute", (" value=",), r"(?i)<[\w.:-]{0,30}(?:password|passwd|secret|token|apikey) value=[\"'](?P<secret>[^\s\"'<>]{4,200})[\"']", "strong"),
    # Wallets
    Context("seed phrase", ("mnemonic", "seed", "recovery", "phrase"), r"(?i)\b(?:mnemonic|seed|recovery|wallet|secret)(?:[ _-]?(?:phrase|words?))?\b\W{1,6}(?:is:? )?(?P<secret>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})(?![\w])", "phrase"),
)  # fmt: skip

# Words that name a secret, in lower case: a value that is assigned to such a name is judged.
_SPOKEN_NAMES = (
    "passwort", "kennwort", "mot de passe", "contraseña", "contrasena", "senha", "wachtwoord", "lösenord", "hasło",
    "parola", "salasana", "adgangskode", "пароль", "密码", "密碼", "パスワード",
)  # fmt: skip
_NO_LETTER_BEFORE = r"(?<![a-z]pass)(?<![a-z]pw)(?<![a-z]psk)"
CHOSEN = (
    rf"passw(?:or)?d|passphrase|passcode|pwd|(?:pass|pw|psk){_NO_LETTER_BEFORE}(?![a-z])|"
    r"(?:db|user|smtp|root|admin|ssh|ftp|mail|bind|wifi)(?:pass|pw|psk)(?![a-z])|client[_-]?secret|"
) + "|".join(_SPOKEN_NAMES)
_NO_KEYS = ("public", "primary", "foreign", "cache", "sort", "partition", "site", "lookup", "websocket", "registry")
NAMES = (
    rf"{CHOSEN}|secret|token|credential|(?:api|app|private|access|auth|account|signing|encryption|master|shared|admin|"
    r"subscription|license|deploy|service|storage|ingest|write|session|root|host|hmac|aes)[_ -]?key|"
    rf"[_-]key(?![a-z]){''.join(f'(?<!{word}.key)' for word in _NO_KEYS)}|"
    r"key(?<![a-z_.-]key)(?![a-z])|sess(?:ion)?[_-]?id|oauth|sid(?<![a-z]sid)(?![a-z])"
)
# Every such name contains one of these.
ANCHORS = (
    "pass", "pw", "psk", "secret", "token", "credential", "key", "sess", "oauth",
    "sid", *_SPOKEN_NAMES,
)  # fmt: skip
# A name with such an ending describes a secret, and its value is none.
ABOUT = (
    r"(?i)[_.-]?(?:type|name|names|id|ids|url|uri|file|path|dir|len|length|size|header|field|prefix|suffix|format|regex|"
    r"re|pattern|hash|hashes|hasher|algorithm|alg|method|expir\w{0,10}|expiry|ttl|age|count|limit|kind|class|endpoint|"
    r"param|params|policy|version|scope|label|hint|error|errors|message|msg|provider|manager|store|list|index|pos|"
    r"position|start|end|ref|env|var|arn|validators?|generator|counter|bytes|budget|usage|chars?|words?|ized|izer\w{0,20})"
)
# Words before a random value on its line: the first say that it is a secret, the others that it is none.
TELLING = r"token|secret|key|passw|pwd|auth(?!or|en)|login|credential|bearer|private|api\b|webhook|cookie|wallet"
HARMLESS = (
    r"sha\d|sha-|md5|hash|digest|checksum|commit|revision|integrity|etag|fingerprint|public|certificate|nonce|uuid|guid|"
    r"crc|test|expected|assert|vector|signature|salt|cache|image|blob|tree|ref\b|rev\b|version|build|chunk|http|csrf|sri\b|authenticity"
)
