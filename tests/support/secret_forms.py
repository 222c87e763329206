"""Forms of secrets in texts, each with a text around it and the part that must be removed.

The known formats of issuers' keys (prefix, alphabet, length) are taken from public rule lists. The
secrets come from a seeded generator when this runs, and open nothing.
"""

import base64
import json
import re
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
ALPHABETS = {
    "": WORD, "a": ANY, "v": WORD + "_", "o": WORD + "._", "p": WORD + "+/", "q": WORD + "+/=",
    "h": HEX, "H": DIGITS + "ABCDEF", "d": DIGITS, "b": UPPER + "234567", "L": LOWER,
    "U": UPPER + DIGITS, "l": LOWER + DIGITS, "k": LOWER + DIGITS + "-",
}  # fmt: skip


def formed(forms: dict[str, str]) -> dict[str, str]:
    """Keys of forms: `fw_<24>` ends in 24 letters and digits, `r_<8h>` in 8 of `ALPHABETS["h"]`."""

    def part(it: re.Match[str]) -> str:
        if it[2] == "uuid":
            return base64_of(uuid()) if it[1] else uuid()
        return drawn(int(it[1]), ALPHABETS[it[2]])

    return {name: re.sub(r"<(\d*)(\w*)>", part, form) for name, form in forms.items()}


KEYS = formed({
    "anthropic": "sk-ant-api03-<93a>AA", "openai": "sk-<48>", "openai project": "sk-proj-<120a>",
    "openai service account": "sk-svcacct-<80a>", "openrouter": "sk-or-v1-<64h>",
    "langfuse": "sk-lf-<uuid>", "deepseek": "sk-<32h>", "langsmith": "lsv2_pt_<32h>_<10h>",
    "groq": "gsk_<52>", "xai": "xai-<80>", "hugging face": "hf_<34>", "replicate": "r8_<37>",
    "perplexity": "pplx-<48>", "fireworks": "fw_<24>", "nvidia": "nvapi-<64a>",
    "tavily": "tvly-dev-<32>", "pinecone": "pcsk_<70v>", "aws": "AKIA<16b>",
    "aws session": "ASIA<16b>", "google": "AIza<35a>", "google oauth": "ya29.a0<120a>",
    "google client secret": "GOCSPX-<28a>", "google refresh": "1//0g<60a>",
    "azure client secret": "<3>8Q~<34>", "digitalocean": "dop_v1_<64h>", "heroku": "HRKU-AA<58a>",
    "cloudflare": "v1.0-<24h>-<146h>", "alibaba": "LTAI5t<18>", "tencent": "AKID<32>",
    "planetscale": "pscale_tkn_<43a>", "supabase": "sbp_<40h>", "netlify": "nfp_<36>",
    "fly": "fm2_<120p>", "github": "ghp_<36>", "github oauth": "gho_<36>", "github app": "ghs_<36>",
    "github refresh": "ghr_<76>", "github fine": "github_pat_<22>_<59>", "gitlab": "glpat-<20a>",
    "gitlab long": "glpat-<27a>.01.<9>", "gitlab deploy": "gldt-<20a>",
    "gitlab runner": "glrt-<20a>", "gitlab trigger": "glptt-<40h>",
    "gitlab job": "glcbt-<2h>_<20a>", "bitbucket": "ATBB<32>",
    "atlassian": "ATATT3xFfGF0<170a>=<8H>", "npm": "npm_<36>", "pypi": "pypi-AgEIcHlwaS5vcmc<90a>",
    "rubygems": "rubygems_<48h>", "crates": "cio<32>", "nuget": "oy2<43l>",
    "docker": "dckr_pat_<27a>", "terraform": "<14>.atlasv1.<64a>", "vault": "hvs.<92a>",
    "vault batch": "hvb.<140a>", "vault old": "s.<24>", "doppler": "dp.pt.<43>",
    "databricks": "dapi<32h>", "new relic": "NRAK-<27U>", "grafana cloud": "glc_<60p>",
    "grafana": "glsa_<32>_<8h>", "sentry": "sntrys_eyJpYXQiO<120>_<43>", "linear": "lin_api_<40>",
    "notion": "ntn_<46>", "notion old": "secret_<43>", "figma": "figd_<40a>",
    "postman": "PMAK-<24h>-<34h>", "pulumi": "pul-<40h>", "airtable": "pat<14>.<64h>",
    "asana": "1/<16d>:<32h>", "hubspot": "pat-na1-<uuid>", "1password": "ops_eyJ<250>",
    "tailscale": "tskey-auth-<17>-<32>", "sonar": "sqp_<40h>", "sourcegraph": "sgp_<16h>_<40h>",
    "circleci": "CCIPAT_<22>_<40h>", "dynatrace": "dt0c01.<24U>.<64U>", "posthog": "phx_<43>",
    "openshift": "sha256~<43a>", "launchdarkly": "sdk-<uuid>", "stripe": "sk_live_<24>",
    "stripe restricted": "rk_live_<99>", "stripe webhook": "whsec_<32>", "square": "sq0csp-<43a>",
    "square access": "EAAA<60a>", "paypal": "access_token$production$<16l>$<32h>",
    "plaid": "access-production-<uuid>", "adyen": "AQE<120p>-<44q>-<16>", "shopify": "shpat_<32h>",
    "razorpay": "rzp_live_<14>", "slack bot": "xoxb-<12d>-<12d>-<24>",
    "slack user": "xoxp-<12d>-<12d>-<32h>", "slack app": "xapp-1-A<10U>-<13d>-<64h>",
    "discord bot": "M<25>.<6>.<38a>", "telegram": "<10d>:AA<33a>", "twilio": "SK<32h>",
    "sendgrid": "SG.<22a>.<43a>", "mailgun": "key-<32h>", "mailchimp": "<32h>-us12",
    "brevo": "xkeysib-<64h>-<16>", "resend": "re_<8>_<24>", "age": "AGE-SECRET-KEY-1<58U>",
    "jwt": "eyJ<33>.eyJ<60>.<43a>",
})  # fmt: skip
KEYS["pem in base64"] = base64_of(pem("RSA PRIVATE KEY", 3))
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
KEYS.update(formed({
    "voyage": "pa-<43a>", "together": "tgp_v1_<43a>", "cerebras": "csk-<48l>",
    "elevenlabs": "sk_<48h>", "firecrawl": "fc-<32h>", "jina": "jina_<60>", "e2b": "e2b_<40h>",
    "apify": "apify_api_<36>", "browserbase": "bb_live_<27>", "modal": "ak-<22>",
    "modal secret": "as-<22>", "weights v1": "wandb_v1_<77a>",
    "langsmith sk": "lsv2_sk_<32h>_<10h>", "helicone": "sk-helicone-<32>",
    "github user": "ghu_<36>", "supabase secret": "sb_secret_<22a>_<8>", "neon": "napi_<64l>",
    "render": "rnd_<32>", "vercel new": "vcp_<56>", "clerk": "sk_test_<42>",
    "workos": "sk_live_<50>", "stripe test": "sk_test_<99>", "stripe org": "sk_org_live_<40>",
    "paddle": "pdl_live_apikey_<26l>_<22>_<3>", "shopify app": "shpss_<32h>",
    "square sandbox": "EAAAl<59a>", "segment": "sgp_<60>", "intercom": "dG9rOm<50>",
    "pagerduty": "u+<18a>", "datadog new": "ddapp_<34>", "datadog pub": "pub<32h>",
    "newrelic license": "<36h>NRAL", "grafana sa": "glsa_<32>_<8h>", "docker org": "dckr_oat_<32a>",
    "artifactory ref": "cmVmdGtuOj<54>", "artifactory": "AKCp8<68>", "gitea": "gta_<40h>",
    "buildkite": "bkua_<40h>", "buildkite agent": "bkct_<40>", "vault service": "hvs.<24>",
    "vault recovery": "hvr.<30>", "infracost": "ico-<32>", "sourcegraph2": "slk_<64h>",
    "sourcegraph local": "sgp_local_<40h>", "contentful": "CFPAT-<43a>", "sanity": "sk<150>",
    "mapbox": "sk.eyJ<60>.<22a>", "mapbox temp": "tk.eyJ<60>.<22a>",
    "google oauth access": "ya29.<150a>", "azure devops": "<76>AZDO<4>",
    "azure storage key": "<76>+ASt<6>==", "azure cosmos": "<76>ACDb<6>==",
    "azure functions": "<44a>AzFu<6>==", "azure search": "<42>AzSe<6>", "aws bedrock": "ABSK<110>=",
    "aws sts": "ASIA<16b>", "scaleway": "SCW<17U>", "digitalocean refresh": "dor_v1_<64h>",
    "cloudflare origin ca": "v1.0-<24h>-<146h>", "yandex": "AQVN<38a>", "yandex oauth": "y0_<55a>",
    "yandex iam": "t1.<86a>.<86a>", "vk": "vk1.a.<180a>", "discord mfa": "mfa.<84a>",
    "slack config": "xoxe.xoxp-1-<160>", "slack refresh": "xoxe-1-<140>",
    "slack workflow": "xwfp-<40>", "facebook": "EAAB<100>", "instagram": "IGQV<130a>",
    "twitter bearer": "AAAAAAAAAAAAAAAAAAAAA<60>%3D<40>", "linkedin": "AQ<100a>",
    "dropbox": "sl.<130a>", "clickup": "pk_<8d>_<32U>", "trello": "ATTA<64h>",
    "jira": "ATATT3xFfGF0<170a>=<8H>", "typeform": "tfp_<44>_<14>", "hubspot eu": "pat-eu1-<uuid>",
    "salesforce": "00D<12>!<96o>", "doppler sa": "dp.sa.<40>",
    "infisical": "st.<8h>.<24h>.<32h>.<32h>", "age plugin": "AGE-PLUGIN-YUBIKEY-1<40U>",
    "nkey seed": "SUA<55b>", "tailscale client": "tskey-client-<17>-<32>", "ngrok": "2<26>_<21>",
    "ngrok api": "ak_<27>", "mailersend": "mlsn.<64h>", "brevo smtp": "xsmtpsib-<64h>-<16>",
    "onesignal": "os_v2_app_<100l>", "ably": "<6>.<6>:<43a>", "pubnub": "sec-c-<64uuid>",
    "openai admin": "sk-admin-<120a>", "anthropic admin": "sk-ant-admin01-<93a>AA",
    "anthropic oauth": "sk-ant-oat01-<93a>AA", "anthropic refresh": "sk-ant-ort01-<93a>AA",
    "moonshot": "sk-<48>", "baidu": "bce-v3/ALTAK-<21>/<40h>", "dashscope": "sk-<32h>",
    "volcengine": "AKLT<44>", "alibaba sts": "STS.<24>", "novita": "sk_<43a>",
    "llamacloud": "llx-<48>", "turbopuffer": "tpuf_<32>", "mem0": "m0-<40>", "composio": "ak_<20>",
    "cursor": "key_<64h>", "linear oauth": "lin_oauth_<64h>", "axiom": "xaat-<uuid>",
    "logfire": "pylf_v1_us_<43>", "honeycomb": "hcaik_<58l>", "flagsmith": "ser.<22>",
    "statsig": "secret-<43>", "growthbook": "secret_user_<40>",
    "pypi test": "pypi-AgENdGVzdC5weXBpLm9yZw<90a>", "clojars": "CLOJARS_<60h>",
    "databricks oauth": "dose<32h>", "confluent": "cflt<60>", "mongodb atlas": "mdb_sa_sk_<40a>",
    "cockroach": "CCDB1_<22>_<40>", "prefect": "pnu_<36>", "dbt": "dbtc_<40a>",
    "dbt u": "dbtu_<40a>", "retool": "retool_<26l>", "rapidapi": "<10h>msh<15h>p1<6h>jsn<12h>",
    "easypost": "EZAK<54>", "shippo": "shippo_live_<40h>", "lob": "live_<35h>",
    "duffel": "duffel_live_<43a>", "flutterwave": "FLWSECK-<32h>-X", "paystack": "sk_live_<40h>",
    "mollie": "live_<30>", "gocardless": "live_<40a>", "checkout": "sk_<26k>",
    "braintree": "access_token$production$<16l>$<32h>", "xprv": "xprv9<106>", "beamer": "b_<44a>",
    "frameio": "fio-u-<64a>", "readme": "rdme_<70l>", "scalingo": "tk-us-<48a>",
    "settlemint": "sm_pat_<16>", "adafruit": "aio_<28>", "wakatime": "waka_<uuid>",
    "heroku new": "HRKU-AA<58a>", "harness": "pat.<22>.<24h>.<20>", "maxmind": "<6>_<29>_mmk",
    "endor": "endr+<16>", "facebook page": "EAAM<120>", "microsoft graph": "EwB<200p>",
    "ms refresh": "0.AX<200a>", "ms refresh M": "M.C5<60>!<100>", "stytch": "secret-live-<36a>",
    "cal": "cal_live_<32h>", "polar": "polar_oat_<43>", "unkey": "unkey_<22>",
    "trigger": "tr_prod_<24>", "inngest": "signkey-prod-<64h>", "liveblocks": "sk_prod_<64a>",
    "knock": "sk_test_<43a>", "svix": "testsk_<40>", "fal": "<uuid>:<32h>", "stability": "sk-<48>",
    "runpod": "rpa_<46U>", "lambda": "secret_<30>.<32>", "anyscale": "esecret_<26l>",
    "arize": "ak-<uuid>-<32a>", "braintrust": "sk-<48>", "humanloop": "hl_sk_<48h>",
    "litellm": "sk-<22a>",
}))  # fmt: skip
FURTHER_KEYS = formed({
    "adobe": "p8e-<32>", "airtable oauth": "oaa<14>.v1.<64h>", "alchemy": "alcht_<30>",
    "amazon marketplace": "amzn.mws.<uuid>", "amazon login": "amzn1.oa2-cs.v1.<64h>",
    "amp": "sgamp_user_<26U>_<64h>", "appwrite": "standard_<256h>", "azure batch": "<76p>+ABa<6>==",
    "azure api management": "<44>APIM<6>==", "azure registry": "<42>+ACR<6>",
    "azure iot": "<33>AIoT<5>=", "azure event grid": "<33>AZEG<5>=",
    "azure event hub": "<33>+AEh<5>=", "azure service bus": "<33>+ASb<5>=",
    "azure relay": "<33>+ARm<5>=", "azure redis": "<33>AzCa<5>=", "backblaze": "K001<27>",
    "bitbucket data center": "BBDC-<44>", "bitly": "R_<32h>", "brave": "BSA<28a>",
    "buildkite job": "bkaj_<60>", "canva": "cnvca<43>", "checkly": "cu_<32h>",
    "chutes": "cpk_<32h>.<32h>.<32>", "cohere": "co-<40>", "context7": "ctx7sk-<uuid>",
    "convex": "prod:happy-otter-123|<80h>", "cursor agent": "crsr_<64h>", "daytona": "dtn_<64h>",
    "deepl": "<uuid>:fx", "devcycle": "dvc_server_<20h>_<10>", "dify": "app-<24>",
    "dify dataset": "dataset-<24>", "dnsimple": "dnsimple_u_<32>", "elastic cloud": "essu_<60>",
    "elastic account": "AAEAAWVsYXN0aWMv<60>", "eraser": "eraser_<40>", "exoscale": "EXO<24h>",
    "facebook app": "<15d>|<27>", "factory": "fk-<40>", "fauna": "fnA<37a>",
    "featherless": "rc_<64h>", "figma refresh": "figoR_<44a>", "firehydrant": "fhb-<32h>",
    "harness account": "sat.<22>.<24h>.<20>", "honeybadger": "hbp_<36>", "hyperbrowser": "hb_<30h>",
    "incident": "inc_<64h>", "infisical service": "st.<uuid>.<32h>.<32h>",
    "intra": "s-s4t2ud-<64h>", "linkedin secret": "WPL_AP1.<16>.<8>==",
    "mailgun new": "<32h>-<8h>-<8h>", "mercury": "mercury_production_<40>", "moderne": "mdn_<40>",
    "newrelic browser": "NRJS-<19h>", "newrelic of a region": "eu01xx<30h>NRAL",
    "ngrok credential": "cr_<27>_<20>", "onfido": "api_live.<12>.<32>",
    "openai session": "sess-<40>", "persona": "persona_production_<uuid>", "porkbun": "sk1_<64h>",
    "ramp": "ramp_sec_<48>", "relace": "rlc-<40>", "rootly": "rootly_<64h>",
    "salad": "salad_cloud_user_<7>_<37>", "salesforce refresh": "5Aep861<80o>",
    "scrapfly": "scp-live-<32h>", "siliconflow": "sk-<48L>",
    "snyk account": "snyk_uat.<8h>.eyJ<60>.<40>", "sourcegraph user": "sgu_<40h>",
    "stripe ephemeral": "ek_live_<60>", "stripe intent": "pi_<24>_secret_<25>",
    "teamcity": "eyJ0eXAiOiAiVENWMiJ9.<40a>.<48a>", "telegram other": "<10d>:AF<33a>",
    "thunderstore": "tss_<26>", "tigris": "tsec_<64>", "tines": "tines_<40>",
    "twitch": "oauth:<30l>", "ubidots": "BBFF-<30>", "uptimerobot": "u<7d>-<24h>",
    "vercel blob": "vercel_blob_rw_<16>_<30>", "vercel ci": "vci_<56>", "zep": "z_<60>",
    "zhipu": "<32h>.<16>", "zoho": "1000.<32h>.<32h>", "zuplo": "zpka_<32h>_<8h>",
})  # fmt: skip
"""More of them, which are recognized where nothing stands right before them."""
COMMANDS = (
    "--token %s", "--token=%s", "--auth-token %s", "--api-key=%s", "--apikey %s",
    '--access-token "%s"', "--client-secret '%s'", "--secret-key %s", "--bearer %s",
    "--password=%s", "--pass %s", "--passphrase %s", "--db-password %s", "--registry-password %s",
    "--key %s", "--auth %s", "--credentials %s", '-H "X-Api-Key: %s"', '-H "api-key: %s"',
    "-H 'X-Vault-Token: %s'", '-H "PRIVATE-TOKEN: %s"', '-H "Authorization: %s"',
    '-H "Authorization: Key %s"', '-H "apikey: %s"', '-H "X-Figma-Token: %s"',
    '-H "Proxy-Authorization: Basic %s"', '-H "X-Goog-Api-Key: %s"', '-H "DD-API-KEY: %s"',
    '-H "X-Access-Token:%s"', '-H "cookie: jwt=%s"', '-H "X-Amz-Security-Token: %s"',
    '-H "circle-token: %s"', '-H "x-functions-key: %s"', "-e API_TOKEN=%s",
    "--env=DB_PASSWORD=%s", "--build-arg NPM_TOKEN=%s", "--set auth.password=%s",
    "--set-string image.token=%s", '-var="db_password=%s"', "-var db_password=%s",
    "-P password=%s", "-Dpassword=%s", "-Dsonar.token=%s", "-Psigning.password=%s",
    "--from-literal=password=%s", "--from-literal=api-token=%s", 'gh secret set X --body "%s"',
    "gh auth login --with-token <<< %s", "vault kv put secret/x password=%s", "vault login %s",
    "vercel --token %s", "aws configure set aws_secret_access_key %s", "git config x.token %s",
    "npm config set //r/:_authToken %s", "npm config set //r/:_authToken=%s",
    "heroku config:set SECRET=%s", "fly secrets set API_KEY=%s",
    "kubectl create secret generic a --from-literal=k=%s",
    'echo "%s" | gh auth login --with-token', "echo %s | vault login -",
    'printf "%s" | docker login --password-stdin', "set TOKEN=%s", '$env:API_KEY="%s"',
    'setx API_TOKEN "%s"', "set -x API_TOKEN %s", "setenv API_TOKEN %s", "env API_TOKEN=%s cmd",
    "fish: set -gx GH_TOKEN %s", 'ssh-keygen -N "%s" -f k', "openssl enc -k %s",
    "openssl enc -pass pass:%s", "openssl -passout pass:%s", "gpg --passphrase %s",
    'restic --password-command "echo %s"', "unzip -P %s a.zip", "7z x -p%s a.7z", "zip -P %s a",
    "rar x -p%s", "pdftk a.pdf input_pw %s", "qpdf --password=%s",
    'psql "host=a password=%s dbname=x"', "psql postgresql://u:%s@h/db", "mysql -uroot -p%s",
    "mysql --password=%s", "mysqladmin -u root password %s", "mongo -u a -p %s",
    "redis-cli -a %s", "redis-cli --pass %s", "curl -u :%s https://a",
    "curl -u user:%s https://a", "curl --proxy-user u:%s https://a",
    "curl https://user:%s@a.example/", 'curl "https://a/?apikey=%s"',
    'curl "https://a/?token=%s"', 'curl "https://a/?secret=%s"',
    'curl "https://a/?client_secret=%s&x=1"', 'curl "https://a/?auth_token=%s"',
    'curl "https://a/?jwt=%s"', 'curl -d "password=%s" https://a',
    "curl -d '{\"password\":\"%s\"}' https://a", 'curl --data-urlencode "client_secret=%s"',
    "curl -F token=%s https://a", "http -a u:%s https://a", "httpie a X-API-Key:%s",
    "wget --password=%s", "sshpass -p%s ssh", "lftp -u u,%s ftp://a", "ftp://u:%s@a/",
    "smbclient //a/b -U u%%%s", 'net use x: \\\\a\\b /user:u %s', "rclone obscure %s",
    "az login -u u -p %s", "az login --service-principal -p %s", "docker login -p %s",
    "podman login --password %s", "helm registry login -p %s",
    "skopeo copy --src-creds u:%s docker://a", "skopeo --creds=u:%s",
    "crane auth login -u a -p %s", "buildah login -p %s", "snowsql -p %s", "sqlcmd -P %s",
    "sqlplus u/%s@db", "cqlsh -p %s", "influx -password %s", "clickhouse-client --password %s",
    "mc alias set a https://x AK %s", "s3cmd --secret_key=%s",
    "ansible-vault --vault-password %s", "xfreerdp /p:%s", "winexe -U u%%%s", "ldapsearch -w %s",
    "kinit <<< %s", "htpasswd -b f u %s", "chpasswd <<< u:%s", 'echo "u:%s" | chpasswd',
    "useradd -p %s u", "passwd --stdin <<< %s", "keytool -storepass %s", "jarsigner -keypass %s",
    "signtool /p %s", "certutil -p %s", "security add-generic-password -w %s",
    "security unlock-keychain -p %s", "read -s; PASS=%s", "mount -o username=u,password=%s",
    "cifs username=a,pass=%s",
)  # fmt: skip
"""Command lines with a key or a password."""
ADDRESSES = (
    "redis://:%s@h:6379/0", "redis://default:%s@h:6379", "rediss://u:%s@h",
    "mysql+pymysql://u:%s@h/db", "postgresql+asyncpg://u:%s@h/db", "mssql://sa:%s@h",
    "mongodb://u:%s@a,b,c/db?x", "amqps://u:%s@h/v",
    'kafka sasl.jaas.config=x required username="u" password="%s";', "sasl.password=%s",
    "ldap://cn=a:%s@h", "smtp://u:%s@h:587", "smtps://u%%40x.com:%s@h", "sftp://u:%s@h/p",
    "ssh://u:%s@h", "nats://u:%s@h", "clickhouse://u:%s@h", "snowflake://u:%s@acc/db",
    "https://%s@github.com/o/r.git", "https://x-access-token:%s@github.com/o/r",
    "https://oauth2:%s@gitlab.com/o/r", "https://%s:x-oauth-basic@github.com/o/r",
    "https://%s@o1.ingest.sentry.io/1", "Server=h;User=u;Password=%s;", "Server=h;Uid=u;Pwd=%s",
    'Data Source=h;User ID=u;Password="%s"', "host=h user=u password=%s",
    "host=h user=u password='%s' sslmode=x", "jdbc:postgresql://h/db?user=u&password=%s",
    "jdbc:oracle:thin:u/%s@h:1521/x", "jdbc:sqlserver://h;user=u;password=%s;",
    "Endpoint=sb://a/;SharedAccessKeyName=R;SharedAccessKey=%s",
    "AccountName=a;AccountKey=%s;EndpointSuffix=x", "HostName=a;DeviceId=b;SharedAccessKey=%s",
    "couchbase://u:%s@h", "bolt://neo4j:%s@h", "elasticsearch: https://elastic:%s@h:9200",
    "proxy http://u:%s@p:3128", "socks5://u:%s@p:1080", "cloudinary://1234567890:%s@name",
    "s3://AK:%s@bucket", "DSN=x;UID=u;PWD=%s", "user/%s@//h:1521/svc", "h:5432:db:u:%s",
    "machine h login u password %s", "u:%s@tcp(h:3306)/db", "mongodb+srv://u:%s@c.mongodb.net",
    "tcp://h:1?username=u&password=%s", "postgres://u:%s@/db", "postgres://u:%s@[::1]/db",
    "postgres://u:%s@${HOST}/db",
)  # fmt: skip
"""Connection strings with a key or a password."""
GIVEN = (
    '{"password":"%s"}', '{"Password": "%s"}', '{"db":{"pass":"%s"}}', "{'password': '%s'}",
    "password: %s", 'password: "%s"', 'password:\n  %s', 'password: >-\n  %s', "PASSWORD=%s",
    'PASSWORD="%s"', "export PASSWORD='%s'", "password = %s", 'password := "%s"',
    'password => "%s"', "<password>%s</password>", '<Password xml:x="y">%s</Password>',
    '<add key="DbPassword" value="%s" />', '<property name="password" value="%s"/>',
    '<string name="api_password">%s</string>', '<key>password</key>\n<string>%s</string>',
    "| Password | %s |", "Password: %s", "password is %s", 'my password is "%s"',
    "the password: `%s`", "pw: %s", "pw=%s", "pass: %s", "Passwort: %s", "login: bob / %s",
    'username: bob\npassword: %s', "user=bob&password=%s", "db.password=%s",
    "spring.datasource.password=%s", "setPassword('%s')", '.password("%s")', 'withPassword("%s")',
    'password=f"%s"', 'password=b"%s"', 'password: str = "%s"', 'private String password = "%s";',
    'char *password = "%s";', '#define PASSWORD "%s"', '$password = "%s";',
    "my $password = '%s';", '@password = "%s"', 'password <- "%s"', 'let password = "%s"',
    'val password = "%s"', 'var password string = "%s"', '(setq password "%s")',
    'SET password = "%s"', 'password = r"%s"', 'password = "%s" # x', 'params.password = "%s"',
    'os.environ["DB_PASSWORD"]="%s"', 'process.env.PASSWORD = "%s"', "ENV DB_PASSWORD=%s",
    "ENV DB_PASSWORD %s", "ARG PASSWORD=%s", "- DB_PASSWORD=%s", "DB_PASSWORD: %s",
    '{"name":"DB_PASSWORD","value":"%s"}', '- name: DB_PASSWORD\n  value: "%s"',
    '{"key":"password","value":"%s"}', '[["password","%s"]]', '("password", "%s")',
    '"password","%s"', "secret=%s", 'IDENTIFIED BY "%s"', "ALTER USER a WITH PASSWORD '%s'",
    "CREATE LOGIN a WITH PASSWORD = '%s'", "SET PASSWORD FOR a = PASSWORD('%s')",
    "requirepass %s", "masterauth %s", "rootpw %s", "auth_pass %s", "password 7 %s",
    "enable secret %s", 'psk="%s"', "wpa_passphrase=%s", "bindpw %s", "olcRootPW: %s",
    "smtp_pass = %s", "proxy_password=%s", "ansible_become_pass: %s", "ansible_ssh_pass=%s",
    "vault_password: %s", '"auth":{"user":"a","pass":"%s"}', 'auth=("bob","%s")',
    'auth=HTTPBasicAuth("bob", "%s")', 'login("bob", "%s")', 'connect(user="a", password="%s")',
    'connect("h","u","%s")', 'mysql_connect("h","u","%s")',
    'DriverManager.getConnection(url,"u","%s")', "Password : %s", "Your temporary password is %s",
    "default creds admin/%s", "credentials: admin:%s",
)  # fmt: skip
"""Passwords in files, in code and in prose."""
VARIABLES = (
    "ADMIN_PW", "ALGOLIA_ADMIN_KEY", "APIKEY", "APP_SECRET", "ASSEMBLYAI_API_KEY", "BEARER",
    "CLOUDINARY_API_SECRET", "CODE_VERIFIER", "COOKIE_SECRET", "CREDENTIALS", "CSRF_SECRET",
    "DBPASS", "DB_PASS", "DEEPGRAM_KEY", "DJANGO_SECRET_KEY", "ELASTIC_APIKEY",
    "ENCRYPTION_KEY_V2", "EXA_API_KEY", "FASTLY_KEY", "FERNET_KEY", "GH_PAT_2", "GPG_PASSPHRASE",
    "HASH_SALT", "HCLOUD_TOKEN", "JWT_SIGNING_KEY", "KEYSTORE_PWD", "Kennwort", "LICENSE_KEY",
    "MAPS_KEY", "MFA_SECRET", "MYSQL_PWD", "MY_PAT", "NEXTAUTH_SECRET", "OKTA_CLIENT_SECRET",
    "OTP_SEED", "PASSWORT", "PEPPER", "POSTGRES_PASSWD", "PUSHER_SECRET", "RAILS_MASTER_KEY",
    "REDIS_AUTH", "ROOTPW", "SALT", "SENTRY_DSN_SECRET", "SESSION_SECRET", "SIGNATURE_KEY",
    "SSH_PASSPHRASE", "TOTP_SECRET", "TWILIO_AUTH", "UPSTASH_REDIS_REST_TOKEN", "WANDB_API_KEY",
    "WEBHOOK_SIGNING_SECRET", "X_API_KEY", "admin_pw", "contraseña", "db.password", "dbPassword",
    "githubToken", "mot_de_passe", "myapikey", "passphrase", "senha", "slackbottoken", "пароль",
    "口令", "密码",
)  # fmt: skip
"""Names whose value is a secret."""
BEFORE = (
    "token", "KEY", "x9", "_", "my_token_", "-", "API-", "key.", "a/", "=", "@", "#", "漢字", "é",
    "\\u0022", "%3D", "__", "T-", "=b'", "~", "+", ":",
)  # fmt: skip
"""What a key may be glued behind."""
KEY_PLACES = (
    "tool -t %s", "tool --tok %s", "tool -k %s get pods", "tool -a %s", "tool -p %s",
    "register -r %s", "snapcraft login --with %s", "cargo login %s", "wandb login %s",
    "ngrok authtoken %s", "fly auth token %s", "vault operator unseal %s",
    "cloudflared service install %s", "poetry config pypi-token.pypi %s",
    "b2 authorize-account id %s", "twilio login SKxx %s", "mc config host add m http://h AK %s",
    "rclone config create r s3 secret_access_key %s", "sonar-scanner -Dsonar.login=%s",
    "wrangler secret put X <<< %s", "echo %s | wrangler secret put X", 'curl -H "Fastly-Key: %s"',
    "export FOO=%s", "export OPENAI=%s", 'SONAR="%s"', "STRIPE_SK=%s", "TELEGRAM_BOT=%s",
    "APP_KEY=base64:%s=", 'curl -b "sessionid=%s" https://a', 'curl -u "%s:" https://a',
    "https://a.example/v1?appid=%s", "https://a.example/x?sv=2022&sig=%s%%3D",
    "https://a.example/reset-password/%s", "client secret is %s", "my api key is %s",
    "the token is %s", "use this key: %s", "TOKEN %s", "secret %s", "token\t%s", "key\t%s",
    "API-Key %s", '"key":"%s"', 'jwt.sign(payload, "%s")', 'jwt.encode(p, "%s", algorithm="x")',
    'hmac.new(b"%s", m)', 'crypto.createHmac("sha256", "%s")',
    '<meta name="csrf-token" content="%s">',
)  # fmt: skip
"""Places of keys, which must look random: the place proves little."""
PASSWORD_PLACES = (
    "user:%s@db.example.com", "admin:%s@10.0.0.5", "root:%s@localhost:3306", "admin:%s",
    "login admin:%s", "admin / %s", "log in with admin and %s", "admin@a.example / %s",
    "admin@a.example:%s", "BASIC_AUTH=admin:%s", 'HTTP_AUTH="admin:%s"', "USERPASS=admin:%s",
    "curl -su admin:'%s' https://a", "twine upload -u __token__ -p %s", "rdesktop -u a -p %s h",
    "evil-winrm -i h -u a -p %s", "bcp x -U sa -P %s", "mosquitto_pub -u a -P %s",
    "hydra -l admin -p %s ssh", "swaks -ap %s", "sendemail -xp %s", "unrar x -p%s a",
    "rabbitmqctl add_user a %s", "rabbitmqctl change_password a %s", "etcdctl --user root:%s",
    "etcdctl --user=root:%s get x", "bw login a@b.example %s", "net use Z: //h/s %s /user:a",
    "sudo -S <<< '%s' ls", "the password for admin is %s",
)  # fmt: skip
"""Places of passwords behind the name of a user or of an account."""
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
