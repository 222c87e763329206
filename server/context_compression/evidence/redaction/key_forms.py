"""The forms of keys by issuer: the prefixes and the characters that follow."""

import re
from typing import NamedTuple

HEX, WORD, ANY = "[0-9a-f]", "[A-Za-z0-9]", "[A-Za-z0-9_-]"


class KeyForm(NamedTuple):
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
    KeyForm("anthropic key", "sk-ant-", f"{ANY}{{20,}}"),
    KeyForm(
        "api key", "sk-proj- sk-svcacct- sk-admin- sk-or-v1- sk-lf- sk-helicone-", f"{ANY}{{20,}}"
    ),
    KeyForm("api key", "sk-", f"{ANY}{{20,}}", sure=False),
    KeyForm("api key", "sk-", f"[a-z]{{48}}(?!{ANY})"),
    KeyForm("exoscale key", "EXO", f"{HEX}{{24}}(?!{WORD})"),
    KeyForm("api key", "gsk_ xai- pplx- nvapi- csk- pcsk_ tgp_v1_ llx- jina_", f"{ANY}{{28,}}"),
    KeyForm(
        "api key", "tvly- esecret_ flp_ fw_ fc- bb_live_ composio_", f"{ANY}{{20,}}", sure=False
    ),
    KeyForm("api key", "lsv2_pt_ lsv2_sk_ ls__", f"{WORD}{{20,}}(?:_{WORD}+)?"),
    KeyForm(
        "api key",
        "wandb_v1_ pylf_v1_ os_v2_app_ os_v2_org_ mdb_sa_sk_ hl_sk_ tpuf_ sec-c-",
        f"{ANY}{{24,}}",
    ),
    KeyForm(
        "api key", "rpa_ m0- pa- sm_pat_ sm_aat_ key_ unkey_ endr+", f"{ANY}{{16,}}", sure=False
    ),
    KeyForm("api key", "ak- as-", f"{WORD}{{22}}(?!{ANY})", sure=False),
    KeyForm("api key", "ak-", f"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}-{ANY}{{16,}}"),
    KeyForm("api key", "ak_", f"{WORD}{{20,}}", sure=False),
    KeyForm(
        "api key",
        "crsr_ dtn_ sgamp_user_ fk- sess- rlc- ste- co- alcht_ eraser_ morph_ tines_ mdn_ ctx7sk- "
        "scp-live- scp-test- salad_cloud_user_ samsara_api_ essu_ cnvca figoR_ hbp_ tss_ z_ BSA",
        f"{ANY}{{22,}}",
        sure=False,
    ),
    KeyForm("api key", "app- dataset-", f"{WORD}{{24}}(?!{ANY})", sure=False),
    KeyForm("api key", "cpk_", rf"{HEX}{{32}}\.{HEX}{{32}}\.{WORD}{{32}}"),
    KeyForm("api key", "rc_ rootly_ inc_ cu_ hb_ standard_ zpka_", f"[0-9a-f_]{{30,}}(?!{WORD})"),
    KeyForm("api key", "v1.", f"{ANY}{{120,}}(?!\\.)", sure=False),
    KeyForm("api key", "tr_prod_ tr_dev_ tr_stg_ tr_preview_ tr_pat_", f"{WORD}{{20,}}"),
    KeyForm("api key", "sk1_ pk1_", f"{HEX}{{64}}"),
    KeyForm("replicate token", "r8_", f"{WORD}{{30,}}"),
    KeyForm("hugging face token", "hf_ api_org_", f"{WORD}{{30,}}"),
    # clouds
    KeyForm("aws key", "AKIA ASIA ABIA ACCA", "[A-Z0-9]{16}(?![A-Za-z0-9])"),
    KeyForm("aws key", "ABSK bedrock-api-key-", "[A-Za-z0-9+/_-]{40,}={0,2}"),
    KeyForm("google key", "AIza", f"{ANY}{{35,}}"),
    KeyForm("google key", "GOCSPX-", f"{ANY}{{20,}}"),
    KeyForm("google token", "ya29. AQ.", f"{ANY}[A-Za-z0-9_.-]{{19,}}"),
    KeyForm("google token", "1//0", f"{ANY}{{30,}}"),
    KeyForm("azure token", "JQQJ9", f"[A-D9]{WORD}{{40,}}"),
    KeyForm(
        "microsoft token", "EwA EwB EwC EwD", f"(?<!{WORD}[+/]Ew.)[A-Za-z0-9+/]{{180,}}={{0,2}}"
    ),
    KeyForm("microsoft token", "0.A 1.A", f"{ANY}{{120,}}"),
    KeyForm("microsoft token", "M.C5 M.R3", r"[A-Za-z0-9_.!*$-]{60,}"),
    KeyForm("firebase key", "APA91b", f"{ANY}{{100,}}"),
    KeyForm("scaleway key", "SCW", f"[A-Z0-9]{{17}}(?!{WORD})", sure=False),
    KeyForm("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", f"{HEX}{{40,}}"),
    KeyForm("heroku key", "HRKU-", f"{ANY}{{30,}}"),
    KeyForm("cloudflare key", "v1.0-", f"{HEX}{{24}}-{HEX}{{100,}}"),
    KeyForm("cloudflare token", "cfut_ cfat_ cfk_", f"{ANY}{{30,}}"),
    KeyForm("alibaba key", "LTAI", f"{WORD}{{12,30}}(?!{WORD})", sure=False),
    KeyForm("tencent key", "AKID", f"{WORD}{{32}}(?!{WORD})", sure=False),
    KeyForm("alibaba token", "STS.", f"{WORD}{{20,}}(?!{WORD})", sure=False),
    KeyForm("baidu key", "bce-v3/", f"ALTAK-{WORD}{{16,}}/{HEX}{{32,}}"),
    KeyForm("volcengine key", "AKLT", f"{WORD}{{30,}}", sure=False),
    KeyForm("yandex key", "AQVN", f"{ANY}{{30,}}", sure=False),
    KeyForm("yandex token", "y0_", f"{ANY}{{50,}}", sure=False),
    KeyForm("yandex token", "t1.", rf"{ANY}{{60,}}\.{ANY}{{80,}}"),
    KeyForm("api key", "pscale_tkn_ pscale_oauth_ pscale_pw_ pscale_app_", "[A-Za-z0-9_.=-]{20,}"),
    KeyForm("aws key", "amzn.mws.", "[0-9a-f-]{36}"),
    KeyForm("aws key", "amzn1.oa2-cs.v1.", f"{HEX}{{64}}"),
    KeyForm("tigris key", "tsec_ tid_", f"{ANY}{{32,}}", sure=False),
    KeyForm("backblaze key", "K00", f"[0-9][A-Za-z0-9+/]{{27}}(?!{WORD})", sure=False),
    KeyForm("dnsimple token", "dnsimple_u_ dnsimple_a_", f"{WORD}{{24,}}"),
    KeyForm("fauna key", "fnA fnE", f"{ANY}{{37}}(?!{ANY})", sure=False),
    KeyForm(
        "api key",
        "sbp_ sb_secret_ sbp_oauth_ napi_ nfp_ nfc_ nfb_ nfo_ nfu_ vcp_ vck_ vci_ vca_ vcr_ rnd_"
        " tk-us- tk-eu- vercel_blob_rw_",
        f"{ANY}{{20,}}",
        sure=False,
    ),
    KeyForm("fly token", "fm1_ fm2_ fm1r_ fm2r_ fm1a_ fm2a_ fo1_", "[A-Za-z0-9+/_=,-]{20,}"),
    # code
    KeyForm("github token", "ghp_ gho_ ghu_ ghs_ ghr_", f"{WORD}{{20,}}"),
    KeyForm("github token", "github_pat_", "[A-Za-z0-9_]{20,}"),
    KeyForm(
        "gitlab token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct-"
        " glwt-",
        "[A-Za-z0-9_.-]{19,}",
    ),
    KeyForm("gitlab token", "GR1348941", f"{ANY}{{20,}}"),
    KeyForm("bitbucket token", "ATBB", f"{WORD}{{24,}}=*", sure=False),
    KeyForm("bitbucket token", "BBDC-", "[A-Za-z0-9+/@_-]{40,}", sure=False),
    KeyForm("atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=.-]{30,}"),
    KeyForm("gitea token", "gta_", f"{HEX}{{40}}"),
    KeyForm("snyk token", "snyk_uat. snyk_sat.", rf"{HEX}{{8}}\.{ANY}{{30,}}(?:\.{ANY}+)?"),
    KeyForm("npm token", "npm_", f"{WORD}{{30,}}"),
    KeyForm("pypi token", "pypi-", f"{ANY}{{40,}}", sure=False),
    KeyForm("rubygems key", "rubygems_", f"{HEX}{{40,}}"),
    KeyForm("package token", "CLOJARS_ cio oy2", f"{WORD}{{32,}}(?!{WORD})", sure=False),
    KeyForm("docker token", "dckr_pat_ dckr_oat_", f"{ANY}{{20,}}"),
    KeyForm("artifactory token", "AKCp cmVmdGtu", f"{WORD}{{40,}}"),
    KeyForm(
        "ci token",
        "CCIPAT_ CCIPRJ_ bkua_ bkct_ bkat_ bkaj_ sqp_ squ_ sqa_ sgp_ sgu_ slk_ dbtc_ dbtu_",
        f"{ANY}{{24,}}",
    ),
    # services
    KeyForm(
        "stripe key",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
        f"{WORD}{{10,}}{ANY}*",
    ),
    KeyForm("stripe key", "ek_live_ ek_test_", f"{WORD}{{20,}}"),
    KeyForm("stripe secret", "pi_ seti_", f"{WORD}{{20,}}_secret_{WORD}{{20,}}"),
    KeyForm("stripe key", "sk_org_live_ sk_org_test_", f"{WORD}{{20,}}"),
    KeyForm("api key", "sk_", f"{HEX}{{40,}}"),
    KeyForm("api key", "sk_ pk_", f"{ANY}{{26,}}", sure=False),
    KeyForm("api key", "sk", f"(?<!{WORD}[+/]sk){WORD}{{80,}}(?![A-Za-z0-9+/=])", sure=False),
    KeyForm("webhook secret", "whsec_", "[A-Za-z0-9+/=]{20,}"),
    KeyForm("square token", "sq0atp- sq0csp-", f"{ANY}{{20,}}"),
    KeyForm("access token", "EAAA EAA IGQV vk1.a.", f"{ANY}{{50,}}", sure=False),
    KeyForm(
        "access token",
        "AAAAAAAAAAAAAAAAAAAAA",
        f"(?<!{WORD}[+/]A{{21}})[A-Za-z0-9%]{{50,}}",
        sure=False,
    ),
    KeyForm("access token", "AQ sl. sl.u.", f"(?<!{WORD}[+/]AQ){ANY}{{90,}}", sure=False),
    KeyForm("salesforce token", "00D", rf"{WORD}{{12,15}}![A-Za-z0-9._]{{60,}}"),
    KeyForm("salesforce token", "5Aep861", "[A-Za-z0-9._]{60,}"),
    KeyForm("linkedin secret", "WPL_AP1.", rf"{WORD}{{8,}}\.{WORD}{{8,}}={{0,2}}"),
    KeyForm("zoho token", "1000.", rf"{HEX}{{32}}\.{HEX}{{32}}"),
    KeyForm("adobe secret", "p8e-", f"{ANY}{{30,}}", sure=False),
    KeyForm("bitly key", "R_", f"{HEX}{{32}}(?!{WORD})"),
    KeyForm("ubidots token", "BBFF- BBUS-", f"{WORD}{{30,}}"),
    KeyForm("42 secret", "s-s4t2ud- s-s4t2af-", f"{HEX}{{64}}"),
    KeyForm(
        "api key", "api_live. api_live_us. api_live_ca. api_sandbox.", rf"{ANY}{{8,}}\.{ANY}{{30,}}"
    ),
    KeyForm(
        "api key",
        "persona_production_ persona_sandbox_ dvc_server_",
        "[0-9A-Za-z_-]{24,}",
        sure=False,
    ),
    KeyForm("payment key", "ramp_sec_ ramp_tok_ mercury_production_", f"{WORD}{{40,}}"),
    KeyForm("twitch token", "oauth:", f"[a-z0-9]{{30}}(?!{WORD})", sure=False),
    KeyForm("incident key", "fhb-", f"{HEX}{{32,}}"),
    KeyForm("trello token", "ATTA", f"{HEX}{{64}}"),
    KeyForm("intercom token", "dG9rOm", f"{WORD}{{40,}}={{0,2}}"),
    KeyForm("pagerduty key", "u+", f"{ANY}{{18}}(?!{ANY})", sure=False),
    KeyForm("paypal token", "access_token$production$ access_token$sandbox$", r"\w{8,}\$\w{16,}"),
    KeyForm("paypal token", "A21AA", f"{ANY}{{60,}}"),
    KeyForm("adyen key", "AQE", r"[A-Za-z0-9+/]{6}[^\s\"'`<>\\]{40,}", sure=False),
    KeyForm(
        "plaid token", "access-sandbox- access-development- access-production-", "[0-9a-f-]{30,}"
    ),
    KeyForm("shopify token", "shpat_ shpca_ shppa_ shpss_ shptka_", "[A-Fa-f0-9]{30,}"),
    KeyForm(
        "payment key", "FLWSECK- FLWSECK_TEST- EZAK EZTK duffel_live_ duffel_test_", f"{ANY}{{30,}}"
    ),
    KeyForm("payment key", "rzp_live_ rzp_test_ shippo_live_ shippo_test_", f"{WORD}{{14,}}"),
    KeyForm("payment key", "live_ test_", f"{ANY}{{30,}}", sure=False),
    KeyForm("payment key", "pdl_live_apikey_ pdl_sdbx_apikey_", "[A-Za-z0-9_]{24,}"),
    KeyForm(
        "slack token",
        "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp- xwfp-",
        r"[A-Za-z0-9%-]{10,}",
    ),
    KeyForm("slack token", "xoxe.", f"xox[bp]-{ANY}{{10,}}"),
    KeyForm(
        "webhook",
        "hooks.slack.com/services/ hooks.slack.com/workflows/ hooks.slack.com/triggers/",
        "[A-Za-z0-9+/]{20,}",
    ),
    KeyForm(
        "webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        rf"\d{{8,}}/{ANY}{{20,}}",
    ),
    KeyForm("webhook", "webhook.office.com/webhookb2/", r"[\w@-]{30,}/IncomingWebhook/[\w/-]{20,}"),
    KeyForm("webhook", "hooks.zapier.com/hooks/catch/", r"\d+/\w{5,}"),
    KeyForm("webhook", "chat.googleapis.com/v1/spaces/", r"[^\s\"'<>]{0,80}[?&]token=[\w%-]{16,}"),
    KeyForm("discord token", "mfa.", f"{ANY}{{60,}}"),
    KeyForm("twilio key", "SK", f"{HEX}{{32}}(?!{WORD})"),
    KeyForm("sendgrid key", "SG.", rf"{ANY}{{16,}}\.{ANY}{{20,}}"),
    KeyForm("mailgun key", "key- pubkey-", f"{HEX}{{32}}(?!{WORD})"),
    KeyForm("mail key", "xkeysib- xsmtpsib- mlsn.", f"{ANY}{{40,}}"),
    KeyForm("resend key", "re_", f"{WORD}{{8,}}_{WORD}{{20,}}(?!{WORD})", sure=False),
    KeyForm(
        "doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", "[A-Za-z0-9_.-]{30,}"
    ),
    KeyForm("databricks token", "dapi dkea dose", f"{HEX}{{32}}(?:-\\d)?(?!{WORD})"),
    KeyForm("vault token", "hvs. hvb. hvr.", f"{ANY}{{20,}}"),
    KeyForm("vault token", "s.", f"{WORD}{{24}}(?!{WORD})(?!\\.)", sure=False),
    KeyForm("infisical token", "st.", rf"[0-9a-f-]{{8,}}\.{HEX}{{16,}}\.{HEX}{{16,}}(?:\.{HEX}+)?"),
    KeyForm("database key", "CCDB1_ cflt", "[A-Za-z0-9_+/]{40,}", sure=False),
    KeyForm("nats seed", "SUA SUO SUU SUC SUX SUN", f"[A-Z2-7]{{55}}(?!{WORD})", sure=False),
    KeyForm("datadog key", "ddapp_", f"{WORD}{{30,}}"),
    KeyForm("datadog key", "pub", f"{HEX}{{32}}(?!{WORD})"),
    KeyForm("new relic key", "NRAK- NRII- NRSP- NRRA- NRIQ- NRJS-", f"{ANY}{{19,}}"),
    KeyForm("grafana token", "glc_ glsa_", "[A-Za-z0-9_+/=-]{30,}"),
    KeyForm("grafana key", "eyJrIjoi", f"{WORD}{{40,}}={{0,2}}"),
    KeyForm("sentry token", "sntrys_ sntryu_ sntrya_ sntryi_", "[A-Za-z0-9_+/=-]{30,}"),
    KeyForm("linear key", "lin_api_ lin_oauth_", f"{WORD}{{30,}}"),
    KeyForm("notion token", "secret_", f"{WORD}{{40,}}(?!{WORD})", sure=False),
    KeyForm("api key", "secret_ secret- ser.", r"[A-Za-z0-9_.-]{20,}", sure=False),
    KeyForm("harness token", "pat. sat.", rf"{ANY}{{20,}}\.{WORD}{{20,}}\.{WORD}{{16,}}"),
    KeyForm("notion token", "ntn_", f"{WORD}{{30,}}"),
    KeyForm("figma token", "figd_ figu_ figo_", f"{ANY}{{30,}}"),
    KeyForm("postman key", "PMAK- PMAT-", f"{ANY}{{24,}}"),
    KeyForm("pulumi token", "pul-", f"{HEX}{{40}}"),
    KeyForm("airtable token", "oaa", rf"{WORD}{{14}}\.v1\.{HEX}{{40,}}"),
    KeyForm("airtable token", "pat", rf"{WORD}{{14}}\.{HEX}{{40,}}"),
    KeyForm("hubspot token", "pat-na1- pat-eu1- pat-na2-", "[0-9a-fA-F-]{30,}"),
    KeyForm("1password token", "ops_eyJ", "[A-Za-z0-9_+/=-]{40,}"),
    KeyForm("1password key", "A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{5,6}-){3,4}[A-Z0-9]{5}"),
    KeyForm("tailscale key", "tskey-", f"[a-z]{{3,10}}-{ANY}{{16,}}"),
    KeyForm("tailscale key", "tskey-", f"{WORD}{{12,}}", sure=False),
    KeyForm("dynatrace token", "dt0c01. dt0s01. dt0s02. dt0s16.", "[A-Z0-9]{8,}\\.[A-Z0-9]{40,}"),
    KeyForm("posthog key", "phx_ phs_", f"{WORD}{{30,}}"),
    KeyForm("mapbox token", "sk.eyJ tk.eyJ", f"{ANY}{{20,}}\\.{ANY}{{16,}}"),
    KeyForm("contentful token", "CFPAT-", f"{ANY}{{30,}}"),
    KeyForm("prefect key", "pnu_ pnb_", f"{WORD}{{30,}}"),
    KeyForm("typeform token", "tfp_", f"{ANY}{{40,}}"),
    KeyForm("octopus key", "API-", "[A-Z0-9]{26,}(?![A-Za-z0-9])", sure=False),
    KeyForm("openshift token", "sha256~", f"{ANY}{{40,}}"),
    KeyForm("nylas key", "nyk_v0_", f"{WORD}{{20,}}"),
    KeyForm("honeycomb key", "hcaik_ hcxik_ hcamk_", f"{WORD}{{20,}}"),
    KeyForm("axiom token", "xaat- xapt-", "[0-9a-f-]{30,}"),
    KeyForm(
        "api key",
        "rdme_ aio_ ico- apify_api_ ddp_ ddo_ dnkey- xau_ waka_ cal_live_ e2b_ retool_ fio-u-"
        " testsk_ b_",
        f"{ANY}{{24,}}",
        sure=False,
    ),
    KeyForm(
        "launchdarkly key", "sdk- api-", f"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}(?!{WORD})"
    ),
    KeyForm("signing key", "signkey-prod- signkey-test- signkey-branch-", f"{HEX}{{32,}}"),
    # keys
    KeyForm("age key", "AGE-SECRET-KEY-1 AGE-PLUGIN-", "[A-Z0-9-]{40,}"),
    KeyForm("jwt", "eyJ", r"[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    KeyForm("teamcity token", "eyJ0eXAiOiAiVENWMiJ9.", rf"{ANY}{{30,}}\.{ANY}{{30,}}"),
    KeyForm("elastic token", "AAEAAWVsYXN0aWMv", "[A-Za-z0-9+/_-]{30,}={0,2}"),
    KeyForm("jwt", "eyJ", r"[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]*){4}"),
    KeyForm("wallet key", "xprv yprv zprv tprv", f"{WORD}{{100,}}"),
    KeyForm(
        "private key",
        "LS0tLS1CRUdJTi",
        r"[A-Za-z0-9+/]{2,60}?(?:UFJJVkFURSBLRVk|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)"
        r"[A-Za-z0-9+/]*={0,2}",
    ),
)
"""The forms of keys. If several fit, the one with the longest prefix decides the kind; of equally
long ones the first."""
INSIDE = (
    ("terraform token", ".atlasv1.", 14, rf"{WORD}{{14}}\.atlasv1\.{ANY}{{50,}}"),
    ("azure key", "+ASt", 76, r"[A-Za-z0-9+/]{76}\+ASt[A-Za-z0-9+/]{6}=="),
    ("azure key", "ACDb", 76, r"[A-Za-z0-9+/]{76}ACDb[A-Za-z0-9+/]{6}=="),
    ("azure key", "+ABa", 76, r"[A-Za-z0-9+/]{76}\+ABa[A-Za-z0-9+/]{6}=="),
    ("azure key", "APIM", 44, rf"{ANY}{{44}}APIM{ANY}{{6}}=="),
    ("azure key", "+ACR", 42, rf"[A-Za-z0-9+/]{{42}}\+ACR[A-Za-z0-9+/]{{6}}(?!{WORD})"),
    *(
        ("azure key", part, 33, rf"[A-Za-z0-9+/]{{33}}{re.escape(part)}[A-Za-z0-9+/]{{5}}=")
        for part in ("AIoT", "AZEG", "+AEh", "+ASb", "+ARm", "AzCa")
    ),
    ("azure key", "AzFu", 44, rf"{ANY}{{44}}AzFu{ANY}{{6}}=="),
    ("azure key", "AzSe", 42, rf"{WORD}{{42}}AzSe{WORD}{{6}}(?!{WORD})"),
    ("azure token", "AZDO", 76, rf"{WORD}{{76}}AZDO{WORD}{{4}}(?!{WORD})"),
    (
        "rapidapi key",
        "msh",
        10,
        rf"{HEX}{{10}}msh{HEX}{{15}}p1{HEX}{{6}}jsn{HEX}{{12}}(?!{WORD})",
    ),
    ("maxmind key", "_mmk", 36, rf"{WORD}{{6}}_{WORD}{{29}}_mmk(?!{WORD})"),
    ("azure secret", "Q~", 4, r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
)
"""Keys with a fixed part in the middle: kind, part, characters before it, regular expression."""
ALONE = (
    ("discord_token", rf"[MNO]{ANY}{{23,27}}\.{ANY}{{6}}\.{ANY}{{27,}}"),
    ("telegram_token", rf"(?:bot)?[0-9]{{8,10}}:A[A-H]{ANY}{{30,}}"),
    ("convex_key", rf"(?:prod|dev|preview):[a-z0-9-]{{3,50}}\|{WORD}{{40,}}={{0,2}}"),
    ("uptimerobot_key", rf"[um][0-9]{{6,9}}-{HEX}{{24}}(?!{WORD})"),
    ("facebook_token", rf"[0-9]{{13,17}}\|{ANY}{{27}}(?!{ANY})"),
    ("mailgun_key", rf"{HEX}{{32}}-{HEX}{{8}}-{HEX}{{8}}(?!{WORD}|-)"),
    ("deepl_key", rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}:fx(?!{WORD})"),
    ("zhipu_key", rf"{HEX}{{32}}\.{WORD}{{16}}(?!{WORD})"),
    ("mailchimp_key", rf"{HEX}{{32}}-us[0-9]{{1,2}}(?!{WORD})"),
    ("fal_key", rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{12}}:{HEX}{{32}}(?!{WORD})"),
    ("ably_key", rf"{ANY}{{6}}\.{ANY}{{6}}:{ANY}{{43}}(?!{ANY})"),
    ("ngrok_token", rf"(?:2|cr_){WORD}{{26,27}}_{WORD}{{20,21}}(?!{WORD})"),
    ("new_relic_key", rf"(?:{HEX}{{36}}|(?:eu|us)[0-9]{{2}}xx{HEX}{{30}})NRAL(?!{WORD})"),
    ("asana_token", rf"(?:[0-9](?:/[0-9]{{15,20}}){{1,2}}:|0/){HEX}{{32}}(?!{WORD})"),
)
"""Keys without a fixed prefix: the kind as the name of a group, and a regular expression."""
LABELLED = (
    r"(?<![A-Za-z0-9])(?P<label>sk|pat|oat|uat|sat|key|apikey|secret|token|live|prod|api|rk|ak|auth)"
    rf"[_-](?P<rest>{WORD}{{20,}}+)(?![_-]?{WORD})"
)
"""A key of an unknown issuer: a word for a key inside its prefix, and a long random end, as in
`acme_oat_…`; its `rest` must look random (`is_mixed`)."""
