"""Forms of secrets in texts, each with a text around it and the part that must be removed.

The known formats of issuers' keys (prefix, alphabet, length) are taken from public rule lists. The
secrets come from a seeded generator when this runs, and open nothing.
"""

import base64
import json
from collections.abc import Callable
from random import Random

DRAWN = Random(20)
LOWER, UPPER, DIGITS = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
WORD = LOWER + UPPER + DIGITS
HEX = DIGITS + "abcdef"


def drawn(length: int, alphabet: str = WORD) -> str:
    """Random characters; some are digits if the alphabet has letters and digits."""
    while True:
        text = "".join(DRAWN.choices(alphabet, k=length))
        figures = sum(map(str.isdigit, text))
        if DIGITS not in alphabet or alphabet == DIGITS or figures >= min(3, length // 8):
            return text


def uuid() -> str:
    return "-".join(drawn(n, HEX) for n in (8, 4, 4, 4, 12))


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def pem(label: str, lines: int = 12, width: int = 64) -> str:
    body = "\n".join(drawn(width, WORD + "+/") for _ in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n{drawn(22)}==\n-----END {label}-----"


ANY = WORD + "_-"
KEYS = {
    "anthropic": "sk-ant-" + "api03-" + drawn(93, ANY) + "AA",
    "openai": "sk-" + drawn(48),
    "openai project": "sk-" + "proj-" + drawn(120, ANY),
    "openai service account": "sk-" + "svcacct-" + drawn(80, ANY),
    "openrouter": "sk-" + "or-v1-" + drawn(64, HEX),
    "langfuse": "sk-" + "lf-" + uuid(),
    "deepseek": "sk-" + drawn(32, HEX),
    "langsmith": "lsv2_" + "pt_" + drawn(32, HEX) + "_" + drawn(10, HEX),
    "groq": "gsk_" + drawn(52),
    "xai": "xai-" + drawn(80),
    "hugging face": "hf_" + drawn(34),
    "replicate": "r8_" + drawn(37),
    "perplexity": "pplx-" + drawn(48),
    "fireworks": "fw_" + drawn(24),
    "nvidia": "nvapi-" + drawn(64, ANY),
    "tavily": "tvly-" + "dev-" + drawn(32),
    "pinecone": "pcsk_" + drawn(70, WORD + "_"),
    "aws": "AKIA" + drawn(16, UPPER + "234567"),
    "aws session": "ASIA" + drawn(16, UPPER + "234567"),
    "google": "AIza" + drawn(35, ANY),
    "google oauth": "ya29." + "a0" + drawn(120, ANY),
    "google client secret": "GOCSPX-" + drawn(28, ANY),
    "google refresh": "1//0" + "g" + drawn(60, ANY),
    "azure client secret": drawn(3) + "8Q~" + drawn(34),
    "digitalocean": "dop_v1_" + drawn(64, HEX),
    "heroku": "HRKU-" + "AA" + drawn(58, ANY),
    "cloudflare": "v1.0-" + drawn(24, HEX) + "-" + drawn(146, HEX),
    "alibaba": "LTAI" + "5t" + drawn(18),
    "tencent": "AKID" + drawn(32),
    "planetscale": "pscale_" + "tkn_" + drawn(43, ANY),
    "supabase": "sbp_" + drawn(40, HEX),
    "netlify": "nfp_" + drawn(36),
    "fly": "fm2_" + drawn(120, WORD + "+/"),
    "github": "ghp_" + drawn(36),
    "github oauth": "gho_" + drawn(36),
    "github app": "ghs_" + drawn(36),
    "github refresh": "ghr_" + drawn(76),
    "github fine": "github_" + "pat_" + drawn(22) + "_" + drawn(59),
    "gitlab": "glpat-" + drawn(20, ANY),
    "gitlab long": "glpat-" + drawn(27, ANY) + ".01." + drawn(9),
    "gitlab deploy": "gldt-" + drawn(20, ANY),
    "gitlab runner": "glrt-" + drawn(20, ANY),
    "gitlab trigger": "glptt-" + drawn(40, HEX),
    "gitlab job": "glcbt-" + drawn(2, HEX) + "_" + drawn(20, ANY),
    "bitbucket": "ATBB" + drawn(32),
    "atlassian": "ATATT3" + "xFfGF0" + drawn(170, ANY) + "=" + drawn(8, DIGITS + "ABCDEF"),
    "npm": "npm_" + drawn(36),
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + drawn(90, ANY),
    "rubygems": "rubygems_" + drawn(48, HEX),
    "crates": "cio" + drawn(32),
    "nuget": "oy2" + drawn(43, LOWER + DIGITS),
    "docker": "dckr_pat_" + drawn(27, ANY),
    "terraform": drawn(14) + ".atlasv1." + drawn(64, ANY),
    "vault": "hvs." + drawn(92, ANY),
    "vault batch": "hvb." + drawn(140, ANY),
    "vault old": "s." + drawn(24),
    "doppler": "dp.pt." + drawn(43),
    "databricks": "dapi" + drawn(32, HEX),
    "new relic": "NRAK-" + drawn(27, UPPER + DIGITS),
    "grafana cloud": "glc_" + drawn(60, WORD + "+/"),
    "grafana": "glsa_" + drawn(32) + "_" + drawn(8, HEX),
    "sentry": "sntrys_" + "eyJpYXQiO" + drawn(120, WORD) + "_" + drawn(43, WORD),
    "linear": "lin_api_" + drawn(40),
    "notion": "ntn_" + drawn(46),
    "notion old": "secret_" + drawn(43),
    "figma": "figd_" + drawn(40, ANY),
    "postman": "PMAK-" + drawn(24, HEX) + "-" + drawn(34, HEX),
    "pulumi": "pul-" + drawn(40, HEX),
    "airtable": "pat" + drawn(14) + "." + drawn(64, HEX),
    "asana": "1/" + drawn(16, DIGITS) + ":" + drawn(32, HEX),
    "hubspot": "pat-" + "na1-" + uuid(),
    "1password": "ops_" + "eyJ" + drawn(250),
    "tailscale": "tskey-" + "auth-" + drawn(17) + "-" + drawn(32),
    "sonar": "sqp_" + drawn(40, HEX),
    "sourcegraph": "sgp_" + drawn(16, HEX) + "_" + drawn(40, HEX),
    "circleci": "CCIPAT_" + drawn(22) + "_" + drawn(40, HEX),
    "dynatrace": "dt0c01." + drawn(24, UPPER + DIGITS) + "." + drawn(64, UPPER + DIGITS),
    "posthog": "phx_" + drawn(43),
    "openshift": "sha256~" + drawn(43, ANY),
    "launchdarkly": "sdk-" + uuid(),
    "stripe": "sk_" + "live_" + drawn(24),
    "stripe restricted": "rk_" + "live_" + drawn(99),
    "stripe webhook": "whsec_" + drawn(32),
    "square": "sq0csp-" + drawn(43, ANY),
    "square access": "EAAA" + drawn(60, ANY),
    "paypal": "access_token$" + "production$" + drawn(16, LOWER + DIGITS) + "$" + drawn(32, HEX),
    "plaid": "access-" + "production-" + uuid(),
    "adyen": "AQE" + drawn(120, WORD + "+/") + "-" + drawn(44, WORD + "+/=") + "-" + drawn(16),
    "shopify": "shpat_" + drawn(32, HEX),
    "razorpay": "rzp_" + "live_" + drawn(14),
    "slack bot": "xoxb-" + drawn(12, DIGITS) + "-" + drawn(12, DIGITS) + "-" + drawn(24),
    "slack user": "xoxp-" + drawn(12, DIGITS) + "-" + drawn(12, DIGITS) + "-" + drawn(32, HEX),
    "slack app": "xapp-"
    + "1-A"
    + drawn(10, UPPER + DIGITS)
    + "-"
    + drawn(13, DIGITS)
    + "-"
    + drawn(64, HEX),
    "discord bot": "M" + drawn(25) + "." + drawn(6) + "." + drawn(38, ANY),
    "telegram": drawn(10, DIGITS) + ":AA" + drawn(33, ANY),
    "twilio": "SK" + drawn(32, HEX),
    "sendgrid": "SG." + drawn(22, ANY) + "." + drawn(43, ANY),
    "mailgun": "key-" + drawn(32, HEX),
    "mailchimp": drawn(32, HEX) + "-us12",
    "brevo": "xkeysib-" + drawn(64, HEX) + "-" + drawn(16),
    "resend": "re_" + drawn(8) + "_" + drawn(24),
    "age": "AGE-SECRET-KEY-1" + drawn(58, UPPER + DIGITS),
    "jwt": f"eyJ{drawn(33)}.eyJ{drawn(60)}.{drawn(43, ANY)}",
    "pem in base64": base64_of(pem("RSA PRIVATE KEY", 3)),
}
"""By issuer: keys with a recognizable form."""
SECRET, HEXED, PASSWORD = drawn(40), drawn(32, HEX), "Tr0ub4dor-9x"
AWS, B64 = drawn(39, WORD) + "/", drawn(43, WORD) + "="
PAIR = base64_of("deploy:" + PASSWORD)
HOOK = f"T{drawn(10, UPPER + DIGITS)}/B{drawn(10, UPPER + DIGITS)}/{drawn(24)}"
PLACES: dict[str, tuple[str, str]] = {
    "slack webhook": (f"curl https://hooks.slack.com/services/{HOOK}", HOOK),
    "discord webhook": (
        f"https://discord.com/api/webhooks/{drawn(18, DIGITS)}/{SECRET}{SECRET}",
        SECRET,
    ),
    "bearer": (f'curl -H "Authorization: Bearer {SECRET}" https://a.example', SECRET),
    "basic": (f"Authorization: Basic {PAIR}", PAIR),
    "token header": (f"Authorization: token {HEXED}", HEXED),
    "bare header": (f"authorization: {HEXED}", HEXED),
    "api key scheme": (f"'Authorization': 'ApiKey {SECRET}'", SECRET),
    "digest": (f'Authorization: Digest username="a", nonce="b", response="{HEXED}"', HEXED),
    "x-api-key": (f"x-api-key: {SECRET}", SECRET),
    "x-auth-token": (f"X-Auth-Token: {HEXED}", HEXED),
    "private-token": (f'--header "PRIVATE-TOKEN: {SECRET}"', SECRET),
    "postmark": (f"X-Postmark-Server-Token: {(it := uuid())}", it),
    "subscription key": (f"Ocp-Apim-Subscription-Key: {HEXED}", HEXED),
    "cookie": (f"Cookie: theme=dark; session={SECRET}; lang=en", SECRET),
    "set-cookie": (f"Set-Cookie: sid={SECRET}; HttpOnly; Path=/", SECRET),
    "curl -u": (f"curl -u deploy:{PASSWORD} https://a.example/x", PASSWORD),
    "curl --user": (f'curl -sS --user "deploy:{PASSWORD}" https://a.example/x', PASSWORD),
    "wget": (f"wget --user=deploy --password={PASSWORD} https://a.example", PASSWORD),
    "http password": (f"wget --http-password={PASSWORD} https://a.example", PASSWORD),
    "mysql": ("mysql -u root -pSecretWord shop", "SecretWord"),
    "mysqldump": (f"mysqldump -h db -uroot -p'{PASSWORD}' shop", PASSWORD),
    "PGPASSWORD": (f"PGPASSWORD={PASSWORD} psql -h db", PASSWORD),
    "sshpass": (f"sshpass -p '{PASSWORD}' ssh root@host", PASSWORD),
    "docker login": (f"docker login -u bob -p {PASSWORD} registry.example", PASSWORD),
    "password-stdin": (f"echo {PASSWORD} | docker login -u bob --password-stdin", PASSWORD),
    "redis-cli": (f"redis-cli -h cache -a {PASSWORD} ping", PASSWORD),
    "docker -e": (f"docker run -e POSTGRES_PASSWORD={PASSWORD} postgres", PASSWORD),
    "export": (f"export DEPLOY_TOKEN={HEXED}", HEXED),
    "mongosh": (f"mongosh -u admin -p {PASSWORD} --host db", PASSWORD),
    "openssl": (f"openssl rsa -in a.pem -passin pass:{PASSWORD}", PASSWORD),
    "keytool": (f"keytool -list -storepass {PASSWORD} -keystore a.jks", PASSWORD),
    "sudo": (f"echo {PASSWORD} | sudo -S apt update", PASSWORD),
    "flag": (f"deploy --api-key {SECRET} --yes", SECRET),
    "identified by": (f"CREATE USER app IDENTIFIED BY '{PASSWORD}';", PASSWORD),
    "create role": (f"CREATE ROLE app LOGIN PASSWORD '{PASSWORD}';", PASSWORD),
    "postgres url": (f"postgres://app:{PASSWORD}@db.example:5432/shop", PASSWORD),
    "mongodb url": (f"mongodb+srv://app:{PASSWORD}@c0.example.net/db", PASSWORD),
    "amqp url": (f"amqp://guest:{PASSWORD}@mq:5672/", PASSWORD),
    "https url": (f"git clone https://bob:{SECRET}@git.example/x.git", SECRET),
    "ado": (f"Server=db;Database=shop;User Id=sa;Password={PASSWORD};Encrypt=true", PASSWORD),
    "ado with odd signs": ("Data Source=db;Pwd=a&b(c!d;Timeout=3".replace("&", "+"), "a+b(c!d"),
    "jdbc": (f"jdbc:mysql://db:3306/shop?user=app&password={PASSWORD}&useSSL=true", PASSWORD),
    "azure storage": (
        f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={drawn(43)}{B64}=;",
        B64,
    ),
    "service bus": (f"SharedAccessKeyName=Root;SharedAccessKey={B64}", B64),
    "sas": (
        f"https://a.blob.example/c?sv=2024-01-01&se=2027&sig={(it := drawn(40))}%2B{drawn(3)}%3D",
        it,
    ),
    "access_token": (f"https://a.example/cb?access_token={SECRET}&state=1", SECRET),
    "query api_key": (f"https://a.example/v1?q=x&api_key={HEXED}", HEXED),
    "signed url": (
        f"https://s3.example/x?X-Amz-Date=1&X-Amz-Signature={(it := drawn(64, HEX))}",
        it,
    ),
    "netrc": (f"machine git.example login bob password {PASSWORD}", PASSWORD),
    "netrc lines": (f"machine git.example\n  login bob\n  password {PASSWORD}\n", PASSWORD),
    "pgpass": (f"db.example:5432:shop:app:{PASSWORD}", PASSWORD),
    "npmrc": (f"//registry.example/:_authToken={uuid()[:9] + HEXED}", HEXED),
    "npmrc _auth": (f"//registry.example/:_auth={PAIR}", PAIR),
    "pypirc": (f"[pypi]\nusername = bob\npassword = {PASSWORD}\n", PASSWORD),
    "kubeconfig token": (f"users:\n- user:\n    token: {SECRET}\n", SECRET),
    "kubeconfig key": (f"    client-key-data: LS0tLS1CRUdJTi{(it := drawn(200))}==\n", it),
    "docker config": (f'{{"auths": {{"r.example": {{"auth": "{PAIR}"}}}}}}', PAIR),
    "kubernetes secret": (
        f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\ndata:\n  user: {base64_of('bobby')}\n"
        f"  pw: {(it := base64_of(PASSWORD))}\n",
        it,
    ),
    "kubernetes env": (f"- name: DB_PASSWORD\n  value: {PASSWORD}\n", PASSWORD),
    ".env": (f"DEBUG=1\nSECRET_KEY={SECRET}\n", SECRET),
    ".env short": ("SMTP_PASS=hunter2-9\nX=1", "hunter2-9"),
    "yaml": (f"database:\n  password: {PASSWORD}\n", PASSWORD),
    "yaml block": (f"password: |\n  {PASSWORD}\n", PASSWORD),
    "toml": (f'api_token = "{SECRET}"', SECRET),
    "ini": (f"[client]\npassword={PASSWORD}\n", PASSWORD),
    "json": (json.dumps({"user": "bob", "pass": PASSWORD}), PASSWORD),
    "json password": (json.dumps({"password": PASSWORD}), PASSWORD),
    "json with special signs": ('{"password": "P@ss,w0rd;1{x"}', "P@ss,w0rd;1{x"),
    "xml": (f"<password>{PASSWORD}</password>", PASSWORD),
    "xml attribute": (f'<add key="ApiKey" value="{SECRET}"/>', SECRET),
    "properties": (f"spring.datasource.password={PASSWORD}", PASSWORD),
    "python": (f'client = Client(api_key="{SECRET}")', SECRET),
    "javascript": (f"const apiSecret = '{SECRET}';", SECRET),
    "typescript": (f"const token: string = `{SECRET}`;", SECRET),
    "go": (f'secretKey := "{SECRET}"', SECRET),
    "ruby": (f":password => '{PASSWORD}',", PASSWORD),
    "php": (f"define('DB_PASSWORD', '{PASSWORD}');", PASSWORD),
    "java": (f'ds.setPassword("{PASSWORD}");', PASSWORD),
    "terraform variable": (f'  db_password   = "{PASSWORD}"', PASSWORD),
    "os.environ": (f'os.environ["STRIPE_TOKEN"] = "{SECRET}"', SECRET),
    "aws secret": (f"aws_secret_access_key = {AWS}", AWS),
    "aws json": (f'"SecretAccessKey": "{AWS}"', AWS),
    "aws session token": (f"aws_session_token = {(it := drawn(300, WORD + '+/'))}", it),
    "twilio auth": (f"TWILIO_AUTH_TOKEN={HEXED}", HEXED),
    "datadog": (f"DD_API_KEY={HEXED}", HEXED),
    "datadog app": (f"DD_APP_KEY: {(it := drawn(40, HEX))}", it),
    "mistral": (f"MISTRAL_API_KEY={drawn(32)}", ""),
    "cohere": (f'COHERE_API_KEY="{(it := drawn(40))}"', it),
    "heroku uuid": (f"HEROKU_API_KEY={(it := uuid())}", it),
    "linode": (f"LINODE_TOKEN={(it := drawn(64, HEX))}", it),
    "vercel": (f"VERCEL_TOKEN={(it := drawn(24))}", it),
    "cloudflare token": (f"CLOUDFLARE_API_TOKEN={(it := drawn(40, ANY))}", it),
    "snyk": (f"SNYK_TOKEN={(it := uuid())}", it),
    "wireguard": (f"[Interface]\nPrivateKey = {B64}\nAddress = 10.0.0.1/24", B64),
    "jwk": (
        json.dumps({"kty": "EC", "crv": "P-256", "x": drawn(43, ANY), "d": (it := drawn(43, ANY))}),
        it,
    ),
    "a simple password": ('{"pass": "hunter2"}', "hunter2"),
    "a simple one in SQL Server's": ("Password=hunter2;Server=db", "hunter2"),
    "a simple one in a file": ("[client]\nuser=bob\npassword=hunter2\n", "hunter2"),
    "a simple one in JSON in JSON": ('{\\"password\\": \\"hunter2\\"}', "hunter2"),
    "telegram address": (f"https://api.telegram.org/bot{(it := KEYS['telegram'])}/getMe", it),
    "personal access token": (f"GITHUB_PAT={(it := drawn(40, HEX))}", it),
    "prose": (f"The password is {PASSWORD}, please change it.", PASSWORD),
    "table": (f"| password | {PASSWORD} |", PASSWORD),
    "windows lines": (f"[client]\r\npassword={PASSWORD}\r\nuser=bob\r\n", PASSWORD),
    "colours around": (f"token: \x1b[32m{SECRET}\x1b[0m", SECRET),
    "colours inside": (f"ghp_\x1b[1m{SECRET[:18]}\x1b[0m{SECRET[18:]}", SECRET[18:]),
    "colours in json": (f"token=\\u001b[32m{SECRET}\\u001b[0m", SECRET),
    "percent": (f"redirect=%2Fcb%3Faccess_token%3D{SECRET}%26x%3D1", SECRET),
    "percent twice": (f"u=https%253A%252F%252Fa.example%253Ftoken%253D{HEXED}", HEXED),
    "percent in url": (f"postgres://app:p%40ss{PASSWORD}@db.example/shop", PASSWORD),
    "json in json": (json.dumps(json.dumps({"password": PASSWORD})), PASSWORD),
    "json in json in json": (json.dumps(json.dumps(json.dumps({"token": SECRET}))), SECRET),
    "json escapes": (f'"url": "https://a.example/?token\\u003d{HEXED}\\u0026x=1"', HEXED),
    "json slashes": (f"postgres:\\/\\/app:{PASSWORD}@db.example\\/x", PASSWORD),
    "json lines": (json.dumps({"stdout": f"A=1\nAPI_TOKEN={HEXED}\nB=2"}), HEXED),
    "html": (f"&quot;password&quot;: &quot;{PASSWORD}&quot;", PASSWORD),
    "html numbers": (f"&#34;api_key&#34;: &#34;{SECRET}&#34;", SECRET),
    "backticks": (f"token `{SECRET}`", SECRET),
    "typographic": (f"password=“{PASSWORD}”", PASSWORD),
    "numbered": (f"    12\tapi_key: {SECRET}", SECRET),
    "diff": (f"+API_SECRET={SECRET}\n-API_SECRET=old", SECRET),
}
"""By place: a text, and the part that must be removed from it."""
PLACES["mistral"] = (PLACES["mistral"][0], PLACES["mistral"][0].partition("=")[2])
LABELS = (
    "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK",
)  # fmt: skip
BLOCKS = {label: pem(label) for label in LABELS}
PUTTY = "\n".join(
    ["PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Private-Lines: 4",
     *[drawn(64) for _ in range(4)], f"Private-MAC: {drawn(64, HEX)}"]
)  # fmt: skip
CARRIERS: dict[str, Callable[[str], str]] = {
    "as it is": lambda text: text,
    "in JSON": lambda text: json.dumps({"key": text}),
    "in JSON in JSON": lambda text: json.dumps(json.dumps({"key": text})),
    "with Windows lines": lambda text: text.replace("\n", "\r\n"),
    "with Windows lines in JSON": lambda text: json.dumps(text.replace("\n", "\r\n")),
    "numbered": lambda text: "\n".join(f"{n:6}\t{x}" for n, x in enumerate(text.split("\n"), 7)),
    "numbered by arrows": lambda text: "\n".join(
        f"{n:6}→{x}" for n, x in enumerate(text.split("\n"))
    ),
    "added in a diff": lambda text: "\n".join(f"+{x}" for x in text.split("\n")),
    "removed in a diff": lambda text: "\n".join(f"-{x}" for x in text.split("\n")),
    "around in a diff": lambda text: "\n".join(f" {x}" for x in text.split("\n")),
    "quoted": lambda text: "\n".join(f"> {x}" for x in text.split("\n")),
    "indented": lambda text: "key: |\n" + "\n".join(f"    {x}" for x in text.split("\n")),
    "in strings": lambda text: " +\n".join(f'"{x}\\n"' for x in text.split("\n")),
    "coloured": lambda text: "\n".join(f"\x1b[32m+{x}\x1b[m" for x in text.split("\n")),
    "with escaped slashes": lambda text: json.dumps(text).replace("/", "\\/"),
    "without its end": lambda text: text[: text.rindex("-----END")],
    "without its beginning": lambda text: text[text.index("\n") + 1 :],
    "numbered without its end": lambda text: "\n".join(
        f"{n:6}\t{x}" for n, x in enumerate(text.split("\n")[:-3], 7)
    ),
    "in an address": lambda text: (
        text.replace("+", "%2B")
        .replace("/", "%2F")
        .replace("\n", "%0A")
        .replace(" ", "%20")
        .replace("=", "%3D")
    ),
}
"""The ways to embed a block of lines in a text."""


def found_of(text: str, secret: str) -> list[str]:
    """The parts of a secret, each of 12 characters, that are in a text."""
    parts = [secret[at : at + 12] for at in range(0, max(1, len(secret) - 11), 12)]
    return [part for part in parts if part in text and part != "access_token"]
