"""The forms of keys by issuer: the prefixes and the characters that follow."""

from typing import NamedTuple

HEX, WORD, ANY = "[0-9a-f]", "[A-Za-z0-9]", "[A-Za-z0-9_-]"


class Form(NamedTuple):
    """The form of an issuer's keys.

    Attributes:
        kind: the name that the mark shows: `[redacted: github token]`.
        prefixes: the beginnings of the keys, separated by blanks.
        rest: a regular expression for the text after a prefix.
        sure: whether no ordinary word begins like this. Otherwise the text must also look like a
            key (`is_key`).
    """

    kind: str
    prefixes: str
    rest: str
    sure: bool = True


FORMS = (
    # models
    Form("anthropic key", "sk-ant-", f"{ANY}{{20,}}"),
    Form(
        "api key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf- sk-helicone-", f"{ANY}{{20,}}"
    ),
    Form("api key", "sk-", f"{ANY}{{20,}}", sure=False),
    Form("api key", "gsk_ xai- pplx- nvapi- csk- pcsk_ tgp_v1_ llx- jina_", f"{ANY}{{28,}}"),
    Form("api key", "tvly- esecret_ flp_ fw_ fc- bb_live_ composio_", f"{ANY}{{20,}}", sure=False),
    Form("api key", "lsv2_pt_ lsv2_sk_ ls__", f"{WORD}{{20,}}(?:_{WORD}+)?"),
    Form("replicate token", "r8_", f"{WORD}{{30,}}"),
    Form("hugging face token", "hf_ api_org_", f"{WORD}{{30,}}"),
    # clouds
    Form("aws key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    Form("aws key", "ABSK bedrock-api-key-", "[A-Za-z0-9+/_-]{40,}={0,2}"),
    Form("google key", "AIza", f"{ANY}{{35,}}"),
    Form("google key", "GOCSPX-", f"{ANY}{{20,}}"),
    Form("google token", "ya29. AQ.", f"{ANY}[A-Za-z0-9_.-]{{19,}}"),
    Form("google token", "1//0", f"{ANY}{{30,}}"),
    Form("azure token", "JQQJ9", f"[A-D9]{WORD}{{40,}}"),
    Form("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", f"{HEX}{{40,}}"),
    Form("heroku key", "HRKU-", f"{ANY}{{30,}}"),
    Form("cloudflare key", "v1.0-", f"{HEX}{{24}}-{HEX}{{100,}}"),
    Form("cloudflare token", "cfut_ cfat_ cfk_", f"{ANY}{{30,}}"),
    Form("alibaba key", "LTAI", f"{WORD}{{12,30}}(?!{WORD})", sure=False),
    Form("tencent key", "AKID", f"{WORD}{{32}}(?!{WORD})", sure=False),
    Form("yandex key", "AQVN", f"{ANY}{{30,}}", sure=False),
    Form("api key", "pscale_tkn_ pscale_oauth_ pscale_pw_ pscale_app_", "[A-Za-z0-9_.=-]{20,}"),
    Form(
        "api key",
        "sbp_ sb_secret_ sbp_oauth_ napi_ nfp_ vcp_ vck_ rnd_",
        f"{ANY}{{20,}}",
        sure=False,
    ),
    Form("fly token", "fm1_ fm2_ fm1r_ fm2r_ fm1a_ fm2a_ fo1_", "[A-Za-z0-9+/_=,-]{20,}"),
    # code
    Form("github token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{WORD}{{20,}}"),
    Form("github token", "github_pat_", "[A-Za-z0-9_]{20,}"),
    Form(
        "gitlab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-"
        " glwt-",
        "[A-Za-z0-9_.-]{19,}",
    ),
    Form("gitlab token", "GR1348941", f"{ANY}{{20,}}"),
    Form("bitbucket token", "ATBB", f"{WORD}{{24,}}=*", sure=False),
    Form("atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=.-]{30,}"),
    Form("npm token", "npm_", f"{WORD}{{30,}}"),
    Form("pypi token", "pypi-", f"{ANY}{{40,}}", sure=False),
    Form("rubygems key", "rubygems_", f"{HEX}{{40,}}"),
    Form("package token", "CLOJARS_ cio oy2", f"{WORD}{{32,}}(?!{WORD})", sure=False),
    Form("docker token", "dckr_pat_ dckr_oat_", f"{ANY}{{20,}}"),
    Form("artifactory token", "AKCp cmVmdGtuO", f"{WORD}{{40,}}"),
    Form("ci token", "CCIPAT_ CCIPRJ_ bkua_ bkct_ bkat_ sqp_ squ_ sqa_ sgp_", "[A-Za-z0-9_]{24,}"),
    # services
    Form("stripe key", "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_", f"{WORD}{{10,}}"),
    Form("stripe key", "sk_", f"{HEX}{{40,}}"),
    Form("webhook secret", "whsec_", "[A-Za-z0-9+/=]{20,}"),
    Form("square token", "sq0atp- sq0csp-", f"{ANY}{{20,}}"),
    Form("access token", "EAAA EAA", f"{ANY}{{50,}}", sure=False),
    Form("paypal token", "access_token$production$ access_token$sandbox$", r"\w{8,}\$\w{16,}"),
    Form("paypal token", "A21AA", f"{ANY}{{60,}}"),
    Form("adyen key", "AQE", r"[A-Za-z0-9+/]{6}[^\s\"'`<>\\]{40,}", sure=False),
    Form("plaid token", "access-sandbox- access-development- access-production-", "[0-9a-f-]{30,}"),
    Form("shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_", "[A-Fa-f0-9]{30,}"),
    Form(
        "payment key", "FLWSECK- FLWSECK_TEST- EZAK EZTK duffel_live_ duffel_test_", f"{ANY}{{30,}}"
    ),
    Form("payment key", "rzp_live_ rzp_test_ shippo_live_ shippo_test_", f"{WORD}{{14,}}"),
    Form("payment key", "live_ test_", f"{WORD}{{30,}}", sure=False),
    Form(
        "slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
        r"[A-Za-z0-9%-]{10,}",
    ),
    Form("slack token", "xoxe.", f"xox[bp]-{ANY}{{10,}}"),
    Form(
        "webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        "[A-Za-z0-9+/]{20,}",
    ),
    Form(
        "webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"\d{{8,}}/{ANY}{{20,}}",
    ),
    Form("webhook", "webhook.office.com/webhookb2/", r"[\w@-]{30,}/IncomingWebhook/[\w/-]{20,}"),
    Form("webhook", "hooks.zapier.com/hooks/catch/", r"\d+/\w{5,}"),
    Form("webhook", "chat.googleapis.com/v1/spaces/", r"[^\s\"'<>]{0,80}[?&]token=[\w%-]{16,}"),
    Form("discord token", "mfa.", f"{ANY}{{60,}}"),
    Form("twilio key", "SK", f"{HEX}{{32}}(?!{WORD})"),
    Form("sendgrid key", "SG.", rf"{ANY}{{16,}}\.{ANY}{{20,}}"),
    Form("mailgun key", "key- pubkey-", f"{HEX}{{32}}(?!{WORD})"),
    Form("mail key", "xkeysib- xsmtpsib-", f"{ANY}{{40,}}"),
    Form("resend key", "re_", f"{WORD}{{8,}}_{WORD}{{20,}}(?!{WORD})", sure=False),
    Form("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9_.-]{30,}"),
    Form("databricks token", "dapi dkea dose", f"{HEX}{{32}}(?:-\\d)?(?!{WORD})"),
    Form("vault token", "hvs. hvb. hvr.", f"{ANY}{{20,}}"),
    Form("vault token", "s.", f"{WORD}{{24}}(?!{WORD})(?!\\.)", sure=False),
    Form("new relic key", "NRAK- NRII- NRSP- NRRA- NRIQ-", f"{ANY}{{20,}}"),
    Form("grafana token", "glc_ glsa_", "[A-Za-z0-9_+/=-]{30,}"),
    Form("grafana key", "eyJrIjoi", f"{WORD}{{40,}}={{0,2}}"),
    Form("sentry token", "sntrys_ sntryu_ sntrya_ sntryi_", "[A-Za-z0-9_+/=-]{30,}"),
    Form("linear key", "lin_api_ lin_oauth_", f"{WORD}{{30,}}"),
    Form("notion token", "secret_", f"{WORD}{{40,}}(?!{WORD})", sure=False),
    Form("notion token", "ntn_", f"{WORD}{{30,}}"),
    Form("figma token", "figd_ figu_ figo_", f"{ANY}{{30,}}"),
    Form("postman key", "PMAK- PMAT-", f"{ANY}{{24,}}"),
    Form("pulumi token", "pul-", f"{HEX}{{40}}"),
    Form("airtable token", "pat", rf"{WORD}{{14}}\.{HEX}{{40,}}"),
    Form("hubspot token", "pat-na1- pat-eu1- pat-na2-", "[0-9a-fA-F-]{30,}"),
    Form("1password token", "ops_eyJ", "[A-Za-z0-9_+/=-]{40,}"),
    Form("1password key", "A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5}"),
    Form("tailscale key", "tskey-", f"[a-z]{{3,10}}-{ANY}{{16,}}"),
    Form("tailscale key", "tskey-", f"{WORD}{{12,}}", sure=False),
    Form("dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s16.", "[A-Z0-9]{8,}\\.[A-Z0-9]{40,}"),
    Form("posthog key", "phx_ phs_", f"{WORD}{{30,}}"),
    Form("mapbox token", "sk.eyJ", f"{ANY}{{20,}}\\.{ANY}{{16,}}"),
    Form("contentful token", "CFPAT-", f"{ANY}{{30,}}"),
    Form("prefect key", "pnu_ pnb_", f"{WORD}{{30,}}"),
    Form("typeform token", "tfp_", f"{ANY}{{40,}}"),
    Form("octopus key", "API-", "[A-Z0-9]{26,}(?![A-Za-z0-9])", sure=False),
    Form("openshift token", "sha256~", f"{ANY}{{40,}}"),
    Form("nylas key", "nyk_v0_", f"{WORD}{{20,}}"),
    Form("honeycomb key", "hcaik_ hcxik_ hcamk_", f"{WORD}{{20,}}"),
    Form("axiom token", "xaat- xapt-", "[0-9a-f-]{30,}"),
    Form(
        "api key",
        "rdme_ aio_ ico- apify_api_ ddp_ ddo_ dnkey- xau_ waka_ cal_live_ e2b_",
        f"{ANY}{{24,}}",
        sure=False,
    ),
    Form("launchdarkly key", "sdk- api-", f"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}(?!{WORD})"),
    Form("signing key", "signkey-prod- signkey-test- signkey-branch-", f"{HEX}{{32,}}"),
    # keys
    Form("age key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", "[A-Z0-9-]{40,}"),
    Form("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    Form("jwt", "eyJ", r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]*){4}"),
    Form(
        "private key",
        "LS0tLS1CRUdJTi",
        r"[A-Za-z0-9+/]{2,60}?(?:UFJJVkFURSBLRVk|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)"
        r"[A-Za-z0-9+/]*={0,2}",
    ),
)
"""The forms of keys. A prefix may be in several rows; the first form that fits decides the kind."""
INSIDE = (
    ("terraform token", ".atlasv1.", 14, rf"{WORD}{{14}}\.atlasv1\.{ANY}{{50,}}"),
    ("azure secret", "Q~", 4, r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
)
"""Keys with a fixed part in the middle: kind, part, characters before it, regular expression."""
ALONE = (
    ("discord_token", rf"[MNO]{ANY}{{23,27}}\.{ANY}{{6}}\.{ANY}{{27,}}"),
    ("telegram_token", rf"(?:bot)?[0-9]{{8,10}}:AA{ANY}{{30,}}"),
    ("mailchimp_key", rf"{HEX}{{32}}-us[0-9]{{1,2}}(?!{WORD})"),
    ("new_relic_key", rf"{HEX}{{36}}NRAL(?!{WORD})"),
    ("asana_token", rf"(?:[0-9](?:/[0-9]{{15,20}}){{1,2}}:|0/){HEX}{{32}}(?!{WORD})"),
)
"""Keys without a fixed prefix: the kind as the name of a group, and a regular expression."""
