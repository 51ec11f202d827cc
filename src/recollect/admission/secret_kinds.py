"""The kinds of secrets: their patterns, and the words that indicate them.

Formats are read generously: a unique prefix is enough, and lengths are only lower bounds, because issuers lengthen
their tokens. Every pattern starts at something rare and has bounded or possessive repeats, so that no text, however
hostile, costs more than a constant per character. No pattern crosses a NUL.
"""

import re
from collections.abc import Callable

from recollect.admission.secret_values import (
    count_character_classes,
    is_basic,
    is_card,
    is_code,
    is_iban,
    is_listed_password,
    is_odd_word,
    is_passphrase,
    is_password,
    is_placeholder,
    is_quoted_password,
    is_reference,
    is_varied,
    is_wordy,
    looks_random,
)

SecretRow = tuple[str, str, str, str, Callable[[str], bool]]
"""A row: kind, description (once), words of which the text has one, pattern, value check.

The secret is the group `s` of the pattern, or else the whole match.
"""


def _accept_any(value: str) -> bool:
    return bool(value)


def _is_not_placeholder(value: str) -> bool:
    return not is_placeholder(value)


# Prefixed tokens: kind, description, prefixes, the rest


_LETTERS = r"[A-Za-z0-9]"
_URLSAFE = r"[A-Za-z0-9_-]"
_HEX = r"[A-Fa-f0-9]"
_BASE64 = r"[A-Za-z0-9+/_-]"
_UUID = r"[A-Fa-f0-9]{8}-(?:[A-Fa-f0-9]{4}-){3}[A-Fa-f0-9]{12}"
_BEGIN = r"(?<![A-Za-z0-9])"
_END = r"(?![A-Za-z0-9])"

PREFIXED_TOKENS: tuple[tuple[str, str, str, str], ...] = (
    # clouds
    ("aws access key", "AWS: id of an access key", "AKIA ASIA ABIA ACCA A3T", r"[A-Z0-9]{15,17}(?![A-Z0-9])"),
    ("aws session token", "AWS: token of a temporary session", "IQoJ FwoG FQoG", rf"{_BASE64}{{80,}}+={{0,2}}"),
    ("aws bedrock key", "AWS: key of the Bedrock service", "ABSK bedrock-api-key-", rf"{_BASE64}{{60,}}+={{0,2}}"),
    ("google api key", "Google: API key, also of Gemini and Firebase", "AIza", rf"{_URLSAFE}{{30,}}"),
    ("google oauth client secret", "Google: secret of an OAuth client", "GOCSPX-", rf"{_URLSAFE}{{20,}}"),
    ("google oauth token", "Google: access or refresh token", "ya29. 1//0", r"[A-Za-z0-9_.-]{20,}(?<!\.)"),
    ("alibaba cloud key", "Alibaba Cloud: id of an access key", "LTAI", rf"{_LETTERS}{{12,26}}{_END}"),
    ("tencent cloud key", "Tencent Cloud: id of a secret", "AKID", rf"{_LETTERS}{{28,40}}{_END}"),
    ("yandex cloud key", "Yandex Cloud: API key or token", "AQVN y0_ t1.9eu", r"[A-Za-z0-9_=.-]{35,}(?<!\.)"),
    ("scaleway key", "Scaleway: access key", "SCW", rf"[A-Z0-9]{{17}}{_END}"),
    (
        "digitalocean token",
        "DigitalOcean: personal, OAuth or refresh token",
        "dop_v1_ doo_v1_ dor_v1_",
        rf"{_HEX}{{40,}}",
    ),
    ("heroku key", "Heroku: API key", "HRKU-", rf"{_URLSAFE}{{30,}}"),
    ("fly.io token", "Fly.io: access token", "fo1_ fm1_ fm2_ fm1a_ fm1r_", r"[A-Za-z0-9_+/=,-]{40,}"),
    ("cloudflare token", "Cloudflare: API token or key", "cfut_ cfat_ cfk_", rf"{_URLSAFE}{{36,}}"),
    ("netlify token", "Netlify: personal access token", "nfp_ nfc_ nfo_ nfb_", rf"{_LETTERS}{{32,}}"),
    ("vercel token", "Vercel: access token", "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_", rf"{_URLSAFE}{{24,}}"),
    ("render key", "Render: API key", "rnd_", rf"{_LETTERS}{{26,}}"),
    ("supabase key", "Supabase: access token or secret key", "sbp_ sb_secret_", r"[A-Za-z0-9_-]{30,}"),
    (
        "planetscale token",
        "PlanetScale: token or password",
        "pscale_tkn_ pscale_pw_ pscale_oauth_",
        r"[\w.=-]{30,}(?<!\.)",
    ),
    ("neon key", "Neon: API key or password", "napi_ npg_", rf"{_LETTERS}{{12,}}"),
    # hosts of code and packages
    (
        "github token",
        "GitHub: personal, OAuth, app or refresh token",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"\w{30,}",
    ),
    (
        "gitlab token",
        "GitLab: personal, deploy, runner, pipeline or agent token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- gloas- glsoat- glffct- glwt- GR1348941",
        r"[A-Za-z0-9_.-]{18,}(?<!\.)",
    ),
    (
        "atlassian token",
        "Atlassian, Bitbucket, Jira, Trello: API token",
        "ATATT ATCTT ATSTT ATTA ATOA",
        r"[\w=.-]{40,}(?<!\.)",
    ),
    ("bitbucket app password", "Bitbucket: app password", "ATBB", r"[\w=-]{24,}"),
    ("sourcegraph token", "Sourcegraph: access token", "sgp_ sgd_ slk_", r"\w{36,}"),
    ("npm token", "npm: access token", "npm_", rf"{_LETTERS}{{34,}}"),
    ("pypi token", "PyPI: upload token", "pypi-", rf"{_URLSAFE}{{50,}}"),
    ("rubygems key", "RubyGems: API key", "rubygems_", rf"{_HEX}{{40,}}"),
    ("nuget key", "NuGet: API key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    ("crates.io token", "crates.io: API token", "cio", rf"{_LETTERS}{{32}}{_END}"),
    ("clojars token", "Clojars: deploy token", "CLOJARS_", rf"{_LETTERS}{{50,}}"),
    ("docker token", "Docker Hub: access token", "dckr_pat_ dckr_oat_", rf"{_URLSAFE}{{24,}}"),
    ("artifactory key", "JFrog Artifactory: API key or reference token", "AKCp cmVmdGtuOj", rf"{_LETTERS}{{48,}}"),
    ("circleci token", "CircleCI: token", "CCIPAT_ CCIPRJ_", r"\w{40,}"),
    ("buildkite token", "Buildkite: token", "bkua_ bkct_ bkpt_", rf"{_LETTERS}{{32,}}"),
    ("sonarqube token", "SonarQube: token", "sqa_ sqp_ squ_", rf"{_HEX}{{40}}"),
    # messaging
    (
        "slack token",
        "Slack: bot, user, app, refresh or session token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxc- xoxd- xoxe. xapp- xwfp-",
        r"[A-Za-z0-9.%/+_-]{10,}(?<![.])",
    ),
    ("twilio key", "Twilio: API key or account", "SK AC", rf"[a-f0-9]{{32}}{_END}"),
    ("sendgrid key", "SendGrid: API key", "SG.", rf"{_URLSAFE}{{16,}}\.{_URLSAFE}{{16,}}"),
    ("mailgun key", "Mailgun: API key", "key-", rf"{_HEX}{{32}}{_END}"),
    ("mandrill key", "Mandrill: API key", "md-", rf"{_URLSAFE}{{22}}(?![\w-])"),
    ("brevo key", "Brevo: API or SMTP key", "xkeysib- xsmtpsib-", rf"{_HEX}{{40,}}+(?:-{_LETTERS}{{8,}})?"),
    ("resend key", "Resend: API key", "re_", rf"{_LETTERS}{{6,12}}_{_LETTERS}{{18,}}"),
    # payment
    (
        "stripe key",
        "Stripe and alike: secret or restricted key",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_ sk_org_",
        r"\w{10,}",
    ),
    ("webhook secret", "Stripe, Svix and alike: secret that signs webhooks", "whsec_", r"[A-Za-z0-9+/_-]{20,}={0,2}"),
    (
        "square token",
        "Square: access token or OAuth secret",
        "sq0atp- sq0csp- sq0idp- sq0ids- EAAA",
        rf"{_URLSAFE}{{22,}}",
    ),
    (
        "paypal token",
        "PayPal and Braintree: access token",
        "access_token$production$ access_token$sandbox$",
        r"[A-Za-z0-9]{10,}\$[a-f0-9]{32}",
    ),
    (
        "shopify token",
        "Shopify: access token or shared secret",
        "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_",
        rf"{_LETTERS}{{32,}}",
    ),
    ("paypal token", "", "A21AA", rf"{_URLSAFE}{{60,}}"),
    ("aws access key", "", "amzn.mws.", _UUID),
    ("plaid token", "Plaid: access token", "access-sandbox- access-development- access-production-", _UUID),
    ("razorpay key", "Razorpay: key", "rzp_live_ rzp_test_", rf"{_LETTERS}{{14,}}"),
    ("flutterwave key", "Flutterwave: secret key", "FLWSECK- FLWSECK_TEST-", rf"{_LETTERS}{{12,}}(?:-X)?"),
    ("easypost key", "EasyPost: API key", "EZAK EZTK", rf"{_LETTERS}{{54}}"),
    ("shippo token", "Shippo: token", "shippo_live_ shippo_test_", rf"{_HEX}{{40}}"),
    ("duffel token", "Duffel: token", "duffel_live_ duffel_test_", rf"{_URLSAFE}{{40,}}"),
    # AI models
    ("anthropic key", "Anthropic: API, admin or OAuth key", "sk-ant-", rf"{_URLSAFE}{{20,}}"),
    ("openrouter key", "OpenRouter: API key", "sk-or-", rf"{_URLSAFE}{{32,}}"),
    ("langfuse key", "Langfuse: secret key", "sk-lf-", _UUID),
    ("openai key", "OpenAI, DeepSeek and alike: API key", "sk-", rf"{_URLSAFE}{{20,}}"),
    ("hugging face token", "Hugging Face: access token", "hf_ api_org_", rf"{_LETTERS}{{30,}}"),
    ("groq key", "Groq: API key", "gsk_", rf"{_LETTERS}{{40,}}"),
    ("replicate token", "Replicate: API token", "r8_", rf"{_LETTERS}{{36,}}"),
    ("perplexity key", "Perplexity: API key", "pplx-", rf"{_LETTERS}{{32,}}"),
    ("xai key", "xAI: API key", "xai-", rf"{_LETTERS}{{60,}}"),
    ("fireworks key", "Fireworks: API key", "fw_", rf"{_LETTERS}{{22,}}"),
    ("together key", "Together: API key", "tgp_v1_", rf"{_URLSAFE}{{40,}}"),
    ("nvidia key", "NVIDIA: API key", "nvapi-", rf"{_URLSAFE}{{50,}}"),
    ("cerebras key", "Cerebras: API key", "csk-", rf"{_LETTERS}{{40,}}"),
    ("elevenlabs key", "ElevenLabs and alike: API key", "sk_", rf"{_HEX}{{32,}}"),
    ("pinecone key", "Pinecone: API key", "pcsk_", r"\w{40,}"),
    ("langsmith key", "LangSmith: API key", "lsv2_pt_ lsv2_sk_ ls__", r"\w{32,}"),
    ("tavily key", "Tavily: API key", "tvly-", rf"{_URLSAFE}{{20,}}"),
    ("jina key", "Jina: API key", "jina_", rf"{_URLSAFE}{{50,}}"),
    ("firecrawl key", "Firecrawl: API key", "fc-", rf"{_HEX}{{32}}{_END}"),
    ("e2b key", "E2B: API key", "e2b_", rf"{_HEX}{{40}}"),
    ("runpod key", "RunPod: API key", "rpa_", rf"{_LETTERS}{{36,}}"),
    ("voyage key", "Voyage: API key", "pa-", rf"{_URLSAFE}{{43}}(?![\w-])"),
    ("kaggle token", "Kaggle: token", "KGAT_", rf"{_HEX}{{32}}"),
    ("frame.io token", "Frame.io: token", "fio-u-", rf"{_URLSAFE}{{50,}}"),
    ("telnyx key", "Telnyx: API key", "KEY0", r"[A-Za-z0-9]{20,40}_[A-Za-z0-9]{16,}"),
    ("scalingo token", "Scalingo: API token", "tk-us-", rf"{_URLSAFE}{{48}}(?![\w-])"),
    # monitoring
    ("datadog key", "Datadog: API or application key", "ddapp_ ddpat_ ddapi_", r"\w{30,}"),
    (
        "new relic key",
        "New Relic: user, ingest or admin key",
        "NRAK- NRII- NRIQ- NRAA- NRRA- NRSP- NRJS-",
        rf"{_URLSAFE}{{16,}}",
    ),
    ("sentry token", "Sentry: auth token", "sntrys_ sntryu_ sntrya_ sntryi_", r"[A-Za-z0-9+/=_-]{40,}"),
    ("grafana token", "Grafana: service account, cloud or API key", "glsa_ glc_ eyJrIjoi", r"[A-Za-z0-9+/=_-]{32,}"),
    ("honeycomb key", "Honeycomb: key", "hcaik_ hcbik_ hccik_ hcxik_ hcaic_ hcamk_", r"\w{30,}"),
    (
        "dynatrace token",
        "Dynatrace: token",
        "dt0c01. dt0s01. dt0s02. dt0s03. dt0s04. dt0s06. dt0s08. dt0s16.",
        r"[A-Z0-9-]{8,}\.[A-Z0-9]{40,}",
    ),
    ("posthog key", "PostHog: personal key", "phx_ phs_", rf"{_LETTERS}{{36,}}"),
    ("launchdarkly key", "LaunchDarkly: SDK or API key", "sdk- api- mob-", rf"{_UUID}{_END}"),
    # tools
    ("linear key", "Linear: API key or OAuth token", "lin_api_ lin_oauth_ lin_wh_", rf"{_LETTERS}{{32,}}"),
    ("notion token", "Notion: integration token", "ntn_ secret_", rf"{_LETTERS}{{40,}}"),
    ("airtable token", "Airtable: personal access token", "pat", rf"{_LETTERS}{{14}}\.{_HEX}{{40,}}"),
    ("dropbox token", "Dropbox: access token", "sl.", r"[A-Za-z0-9_.=-]{60,}(?<!\.)"),
    (
        "figma token",
        "Figma: access token",
        "figd_ figo_ figu_ figor_ figoh_ figuh_ figdh_ figp_",
        rf"{_URLSAFE}{{24,}}",
    ),
    ("postman key", "Postman: API key", "PMAK- PMAT-", rf"{_URLSAFE}{{24,}}"),
    ("clickup token", "ClickUp: personal token", "pk_", r"\d{6,12}_[A-Z0-9]{32}"),
    ("contentful token", "Contentful: personal access token", "CFPAT-", rf"{_URLSAFE}{{36,}}"),
    ("hubspot token", "HubSpot: private app token", "pat-na1- pat-na2- pat-na3- pat-eu1- pat-ap1-", _UUID),
    ("typeform token", "Typeform: personal access token", "tfp_", r"[A-Za-z0-9_.=-]{40,}(?<!\.)"),
    ("readme key", "ReadMe: API key", "rdme_", rf"{_LETTERS}{{60,}}"),
    ("mapbox token", "Mapbox: secret token", "sk.eyJ tk.eyJ", rf"{_URLSAFE}{{20,}}+\.{_URLSAFE}{{16,}}"),
    ("facebook token", "Facebook and Instagram: access token", "EAA IGQV IGAA", rf"{_LETTERS}{{80,}}"),
    ("twitter bearer token", "Twitter: bearer token", "AAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{50,}"),
    ("twitch token", "Twitch: OAuth token", "oauth:", rf"[a-z0-9]{{30}}{_END}"),
    ("1password token", "1Password: service account token", "ops_eyJ", rf"{_URLSAFE}{{80,}}=*"),
    (
        "doppler token",
        "Doppler: token",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. dp.said.",
        r"[A-Za-z0-9_.-]{32,}(?<!\.)",
    ),
    ("vault token", "HashiCorp Vault: service, batch or recovery token", "hvs. hvb. hvr.", rf"{_URLSAFE}{{20,}}"),
    ("databricks token", "Databricks: personal access token", "dapi dkea dose", rf"{_HEX}{{30,}}(?:-\d)?{_END}"),
    ("pulumi token", "Pulumi: access token", "pul-", rf"{_HEX}{{40}}"),
    ("infracost key", "Infracost: API key", "ico-", rf"{_LETTERS}{{32}}"),
    ("prefect key", "Prefect: API key", "pnu_ pnb_", rf"{_LETTERS}{{32,}}"),
    ("dbt token", "dbt Cloud: token", "dbtc_ dbtu_ dbts_", rf"{_URLSAFE}{{24,}}=*"),
    ("tailscale key", "Tailscale: auth, API or client key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9-]{16,}"),
    ("octopus key", "Octopus Deploy: API key", "API-", rf"[A-Z0-9]{{24,32}}{_END}"),
    ("openshift token", "OpenShift: user token", "sha256~", rf"{_URLSAFE}{{40,}}"),
    ("adafruit key", "Adafruit IO: key", "aio_", rf"{_LETTERS}{{28}}{_END}"),
    # key formats without a vendor
    ("age key", "age: secret key", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1 AGE-PLUGIN-", r"[A-Z0-9-]{40,}"),
    (
        "extended private key",
        "Bitcoin: extended private key of a wallet",
        "xprv yprv zprv tprv",
        rf"{_LETTERS}{{100,}}",
    ),
    ("nostr key", "Nostr: secret key", "nsec1", r"[a-z0-9]{50,}"),
    ("mollie key", "Mollie, Lob and alike: API key", "live_ test_", rf"(?=[A-Za-z]{{0,29}}[0-9]){_LETTERS}{{30,}}"),
)


FIXED_LENGTH_TOKENS: tuple[tuple[str, str, str], ...] = (
    ("aws access key", "AKIA ASIA", r"[A-Z2-7]{16}"),
    ("google api key", "AIza", r"[A-Za-z0-9_-]{35}"),
    ("google oauth client secret", "GOCSPX-", r"[A-Za-z0-9_-]{28}"),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", r"[a-f0-9]{64}"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36}"),
    ("github token", "github_pat_", r"[A-Za-z0-9]{22}_[A-Za-z0-9]{59}"),
    ("gitlab token", "glpat- gldt- glrt-", r"[A-Za-z0-9_-]{20}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}"),
    ("rubygems key", "rubygems_", r"[a-f0-9]{48}"),
    ("docker token", "dckr_pat_", r"[A-Za-z0-9_-]{27}"),
    ("slack token", "xoxb-", r"\d{10,13}-\d{10,13}-[A-Za-z0-9]{24}"),
    ("stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"(?:[A-Za-z0-9]{24}|[A-Za-z0-9]{99})"),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", r"[a-f0-9]{32}"),
    ("anthropic key", "sk-ant-api03- sk-ant-admin01-", r"[A-Za-z0-9_-]{93}AA"),
    ("openai key", "sk-", r"(?:[A-Za-z0-9]{48}|proj-[A-Za-z0-9_-]{74}T3BlbkFJ[A-Za-z0-9_-]{74})"),
    ("hugging face token", "hf_", r"[A-Za-z]{34}"),
    ("groq key", "gsk_", r"[A-Za-z0-9]{52}"),
    ("replicate token", "r8_", r"[A-Za-z0-9]{37}"),
    ("linear key", "lin_api_", r"[A-Za-z0-9]{40}"),
    ("notion token", "ntn_", r"[A-Za-z0-9]{46}"),
    ("figma token", "figd_", r"[A-Za-z0-9_-]{40}"),
    ("new relic key", "NRAK-", r"[A-Z0-9]{27}"),
    ("postman key", "PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),
    ("databricks token", "dapi", r"[a-f0-9]{32}"),
)
"""Tokens of known length: kind, prefixes, the rest.

They are recognized even if a line break splits them.
"""


# Secrets with a shape of their own

_FRAME = r"-----? ?BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_LINE = re.compile(r"[A-Za-z0-9+/=]{16}")

MULTILINE_SECRETS: tuple[SecretRow, ...] = (
    (
        "private key",
        "PEM, OpenSSH, PGP and SSH2 private keys, with or without an end",
        "private",
        rf"{_FRAME}(?:[^-\x00]++|-(?!-{{3}}))++-{{4,5}} ?END [A-Z0-9 ]{{1,50}}-{{4,5}}",
        lambda value: bool(_LINE.search(value)),
    ),
    (
        "private key",
        "",
        "private",
        (
            rf"{_FRAME}(?:(?:\\[nr]|[\s\"'+,>#|]){{0,12}}+[A-Za-z0-9+/=]{{16,}}+)++"
            rf"(?:\s{{1,4}}[A-Za-z0-9+/=]{{1,64}}\s{{0,4}}\Z)?"
        ),
        _accept_any,
    ),
    (
        "putty key",
        "PuTTY: private key file",
        "private-lines:",
        r"Private-Lines: ?\d{1,4}\s{1,40}(?P<s>[A-Za-z0-9+/=]++(?:\s{1,40}+[A-Za-z0-9+/=]++(?!\S))*+)",
        _accept_any,
    ),
    (
        "openssh key",
        "OpenSSH: private key without its frame",
        "b3blbnnzac1rzxktdje",
        r"b3BlbnNzaC1rZXktdjE(?:[A-Za-z0-9+/=]++\s{0,4})++",
        _accept_any,
    ),
)
"""Secrets of several lines."""

SHAPED_SECRETS: tuple[SecretRow, ...] = (
    (
        "json web token",
        "JWT: signed or encrypted token",
        "eyj",
        rf"(?<![\w-])eyJ{_URLSAFE}{{8,}}+\.{_URLSAFE}{{0,4000}}+(?:\.{_URLSAFE}*+){{1,3}}",
        is_varied,
    ),
    (
        "aws access key",  # one in thirty has no digit, and nothing else begins like this
        "",
        "akia abia acca",
        r"A(?<![A-Za-z0-9]A)(?:KI|BI|CC)A[A-Z2-7]{16}(?![A-Z0-9])",
        lambda value: len(set(value)) > 7,
    ),
    (
        "slack webhook",
        "Slack: address of a webhook",
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9/_+-]{20,})",
        is_varied,
    ),
    (
        "discord webhook",
        "Discord: address of a webhook",
        "/api/",
        r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/(?P<s>\d{5,25}/[\w-]{30,})",
        is_varied,
    ),
    (
        "teams webhook",
        "Microsoft Teams: address of a webhook",
        "office.com/webhook",
        r"office\.com/(?P<s>webhook(?:b2)?/[A-Za-z0-9@/-]{50,})",
        is_varied,
    ),
    (
        "zapier webhook",
        "Zapier: address of a webhook",
        "hooks.zapier.com",
        r"hooks\.zapier\.com/(?P<s>hooks/catch/[A-Za-z0-9/]{8,})",
        is_varied,
    ),
    (
        "discord token",
        "Discord: token of a bot or user",
        "<long>",
        rf"(?<![\w.-])(?:[MNO]{_URLSAFE}{{22,28}}\.{_URLSAFE}{{6}}\.{_URLSAFE}{{27,40}}|mfa\.{_URLSAFE}{{60,}})",
        looks_random,
    ),
    (
        "telegram token",
        "Telegram: token of a bot",
        "<long>",
        rf"(?<![\w.-])(?:bot)?(?P<s>\d{{8,10}}:{_URLSAFE}{{34,36}})(?![\w-])",
        looks_random,
    ),
    (
        "mailchimp key",
        "Mailchimp: API key",
        "-us",
        rf"{_BEGIN}[a-f0-9]{{32}}-us\d{{1,2}}{_END}",
        is_varied,
    ),
    (
        "mailgun key",
        "Mailgun: API key",
        "<long>",
        r"(?<![\w-])[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])",
        is_varied,
    ),
    (
        "asana token",
        "Asana: personal access token",
        "<long>",
        rf"(?<![\w/])\d{{1,2}}/\d{{13,19}}(?:/\d{{13,19}})?:{_HEX}{{32}}{_END}",
        is_varied,
    ),
    (
        "terraform token",
        "Terraform Cloud: API token",
        ".atlasv1.",
        rf"{_BEGIN}{_LETTERS}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{50,}}",
        is_varied,
    ),
    (
        "vault token",
        "HashiCorp Vault: service, batch or recovery token",
        "<long>",
        rf"(?<![\w.])[sbr]\.{_LETTERS}{{24,}}(?![\w(]|\.\w)",
        looks_random,
    ),
    (
        "cloudflare token",
        "Cloudflare: API token or key",
        "v1.0-",
        rf"{_BEGIN}v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}",
        is_varied,
    ),
    (
        "firebase key",
        "Firebase: server key of cloud messaging",
        ":apa91",
        r"(?<![\w-])AAAA[\w-]{7}:APA91[\w-]{60,}",
        is_varied,
    ),
    (
        "database password",
        "",
        "jdbc:",
        r"(?i)jdbc:\w{2,20}:thin:[^\s/@\x00]{1,40}/(?P<s>[^\s@\"'\x00]{1,200})@",
        _is_not_placeholder,
    ),
    ("new relic key", "", "nral", rf"{_BEGIN}[A-Fa-f0-9]{{36}}NRAL{_END}", is_varied),
    ("dropbox token", "", "aaaaaaaaaa", rf"{_BEGIN}[a-z0-9]{{11}}AAAAAAAAAA{_URLSAFE}{{43}}(?![\w-])", is_varied),
    (
        "azure client secret",
        "Azure: secret of an application",
        "q~",
        r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36}",
        is_varied,
    ),
    (
        "azure devops token",
        "Azure DevOps: personal access token",
        "azdo",
        rf"{_BEGIN}{_LETTERS}{{70,80}}AZDO{_LETTERS}{{4,}}",
        is_varied,
    ),
    (
        "azure key",
        "Azure: key of storage, search, functions, OpenAI and other services",
        "<long>",
        (
            r"(?<![A-Za-z0-9+/_-])(?:"
            r"[A-Za-z0-9+/]{76}(?:\+ASt|\+ABa|\+AMC|ACDb|APIM)[A-Za-z0-9+/]{5}[AQgw]=="
            r"|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]=="
            r"|[A-Za-z0-9+/]{33}(?:\+AEh|\+ASb|\+ARm|AIoT|AzCa)[A-Za-z0-9+/]{6}="
            r"|[A-Za-z0-9+/]{42}(?:\+ACR|AzSe)[A-Za-z0-9+/]{6}"
            r"|[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}(?:[A-Za-z0-9]{4})?"
            r")(?![A-Za-z0-9+/=_-])"
        ),
        looks_random,
    ),
    (
        "azure connection string",
        "Azure: key in a connection string of storage, queues, hubs or Cosmos",
        "accountkey sharedaccesskey",
        r"(?i:AccountKey|SharedAccessKey) ?= ?(?P<s>[A-Za-z0-9+/_-]{20,}+={0,2})",
        is_varied,
    ),
    (
        "azure shared access signature",
        "Azure: signature in an address",
        "sig=",
        r"(?<![A-Za-z])sig=(?P<s>[A-Za-z0-9%+/_=-]{20,})",
        is_varied,
    ),
    ("sentry token", "", "sentry", rf"://(?P<s>{_HEX}{{32}}(?::{_HEX}{{32}})?)@[\w.-]{{0,60}}sentry", is_varied),
    (
        "twitter token",
        "Twitter: OAuth access token",
        "<long>",
        rf"(?<![\w-])\d{{10,19}}-{_LETTERS}{{38,42}}(?![\w-])",
        looks_random,
    ),
    (
        "1password secret key",
        "1Password: secret key of an account",
        "a3-",
        r"(?<![A-Z0-9-])A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}(?![A-Z0-9-])",
        is_varied,
    ),
    (
        "bitcoin private key",
        "Bitcoin: private key in the wallet import format",
        "<long>",
        r"(?<![\w/+=-])(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})(?![\w/+=-])",
        lambda value: looks_random(value) and count_character_classes(value)[2] > 2,
    ),
    (
        "credit card number",
        "Payment card: number with a valid check digit",
        "<digits>",
        (
            r"[0-9](?<![\w.,/+-][0-9])(?<![0-9] [0-9])(?:[0-9]{12,18}"
            r"|[0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}(?:\1[0-9]{1,3})?"
            r"|[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5})"
            r"(?![\w/+=-]|[.,][0-9]| [0-9])"
        ),
        is_card,
    ),
    (
        "iban",
        "Bank account: IBAN with valid check digits",
        "<account>",
        r"(?<![A-Za-z0-9])(?=[A-Z]{2}\d{2} ?[A-Z0-9]{2})(?:"
        + "|".join(
            rf"(?:{countries})\d\d(?: ?[A-Z0-9]){{{length - 4}}}"
            for length, countries in (
                (15, "NO"),
                (16, "BE"),
                (18, "DK|FI|FO|GL|NL|SD"),
                (19, "MK|SI"),
                (20, "AT|BA|EE|KZ|LT|LU|XK|MN"),
                (21, "CH|HR|LI|LV"),
                (22, "BG|BH|CR|DE|GB|GE|IE|ME|RS"),
                (23, "AE|GI|IL|IQ|TL|OM|SO"),
                (24, "AD|CZ|ES|MD|PK|RO|SA|SE|SK|TN|VG"),
                (25, "LY|PT|ST"),
                (26, "IS|TR"),
                (27, "DJ|FR|GR|IT|MC|MR|SM|BI"),
                (28, "AL|AZ|BY|CY|DO|GT|HU|LB|NI|PL|SV"),
                (29, "BR|EG|PS|QA|UA"),
                (30, "JO|KW|MU"),
                (31, "MT|SC"),
                (32, "LC"),
                (33, "RU"),
            )
        )
        + r")(?![A-Za-z0-9])",
        is_iban,
    ),
    (
        "password hash",
        "Hash of a password: crypt, bcrypt, scrypt, argon2",
        "$2 $5$ $6$ $1$ $y$ $argon2 $7$ $scrypt$ $apr1$ $pbkdf2",
        r"\$(?:2[abxy]?|argon2(?:id|i|d)|[1567y]|apr1|scrypt|pbkdf2[\w-]{0,12})\$[A-Za-z0-9./=,$+]{20,}",
        is_varied,
    ),
)


# Secrets indicated by the words beside them. From here on patterns match the text in lower case, which makes
# them three times as fast as case-insensitive patterns: kind, description, words, names, value

NAME_TO_VALUE = r"[\w .\-]{0,40}?[\"'`*]{0,3}\s{0,3}(?:=>|:=|==?|:|\||\bis\b|,)\s{0,4}[\"'`*]{0,3}"

NAMED_TOKENS: tuple[tuple[str, str, str, str, str], ...] = (
    (
        "aws secret key",
        "AWS: secret access key",
        "aws secret",
        r"aws|secret[_ ]?(?:access)?[_ ]?key|secretaccesskey",
        r"[A-Za-z0-9/+]{40}",
    ),
    ("azure devops token", "", "azure ado_ vsts", r"azure|ado_|vsts", r"[a-z2-7]{52}"),
    ("heroku key", "", "heroku", "heroku", _UUID),
    ("cloudflare token", "", "cloudflare cf_ cf- x-auth-key", r"cloudflare|cf[_-]|x-auth-key", rf"{_URLSAFE}{{37,40}}"),
    ("datadog key", "", "datadog dd_ dd- ddog", r"datadog|ddog|dd[_-]", rf"(?:{_HEX}{{40}}|{_HEX}{{32}})"),
    ("twilio key", "", "twilio auth_token authtoken", r"twilio|auth_?token", rf"{_HEX}{{32}}"),
    ("paypal token", "", "paypal", "paypal", rf"[AEae]{_URLSAFE}{{70,80}}"),
    ("airtable token", "", "airtable", "airtable", rf"key{_LETTERS}{{14}}"),
    ("facebook token", "", "facebook fb_", r"facebook|fb_", rf"(?:\d{{15,16}}\|{_URLSAFE}{{27}}|{_HEX}{{32}})"),
    ("okta token", "Okta: API token", "okta ssws", r"okta|ssws", rf"00{_URLSAFE}{{40}}"),
    ("linkedin secret", "LinkedIn: secret of a client", "linkedin", "linkedin", rf"{_LETTERS}{{16}}"),
    ("algolia key", "Algolia: API key", "algolia", "algolia", rf"{_HEX}{{32}}"),
    ("pagerduty key", "PagerDuty: API key", "pagerduty pager_duty", r"pager_?duty", r"[A-Za-z0-9_+-]{18,32}"),
    ("mailgun key", "", "mailgun", "mailgun", rf"{_HEX}{{32}}"),
    ("postmark token", "Postmark: server token", "postmark", "postmark", _UUID),
    ("snyk token", "Snyk: API token", "snyk", "snyk", _UUID),
    ("codecov token", "Codecov: upload token", "codecov", "codecov", _UUID),
    ("fastly token", "Fastly: API token", "fastly", "fastly", rf"{_URLSAFE}{{32}}"),
    (
        "mistral key",
        "Mistral, Cohere, Deepgram and alike: API key",
        "mistral cohere deepgram assemblyai stability",
        r"mistral|cohere|deepgram|assemblyai|stability",
        rf"{_LETTERS}{{32,48}}",
    ),
    ("wandb key", "Weights & Biases: API key", "wandb", "wandb", rf"{_HEX}{{40}}"),
    (
        "ethereum private key",
        "Ethereum and alike: private key in hex",
        "private",
        r"private[_ ]?key|privkey",
        rf"(?:0x)?{_HEX}{{64}}",
    ),
    (
        "wireguard key",
        "WireGuard: private or preshared key",
        "privatekey presharedkey",
        r"privatekey|presharedkey",
        r"[A-Za-z0-9+/]{43}=",
    ),
)


# Secrets in addresses, headers and commands

_STORE_SCHEMES = (
    "postgres postgresql pgsql mysql mariadb mongodb redis rediss valkey amqp amqps mssql sqlserver oracle clickhouse"
    " cockroachdb couchdb couchbase kafka nats mqtt mqtts ldap ldaps smtp smtps imap imaps neo4j bolt cassandra"
    " snowflake redshift db2 hive trino presto influxdb elasticsearch opensearch firebird vertica sybase memcached"
    " cosmosdb rabbitmq stomp"
)
_USERINFO = r"://[^\s:/@\"'<>\x00]{0,120}:(?P<s>[^\s/\"'<>`\x00]{1,250})@(?=[\w\[.$%-])"


def _is_bearer_token(value: str) -> bool:
    return not is_placeholder(value) and not is_code(value) and is_varied(value)


TRANSPORT_SECRETS: tuple[SecretRow, ...] = (
    ("docker token", "", "auth", r"\"auth\"\s?:\s?\"(?P<s>[A-Za-z0-9+/]{8,}={0,2})\"", is_basic),
    (
        "database password",
        "Password in the address of a database, queue, directory or mail server",
        "://",
        rf"(?:{'|'.join(_STORE_SCHEMES.split())})(?:\+[a-z0-9]{{1,20}})?{_USERINFO}",
        _is_not_placeholder,
    ),
    ("url password", "User and password, or a token, in another address", "://", rf"{_USERINFO}", _is_not_placeholder),
    ("url password", "", "://", rf"://(?P<s>{_URLSAFE}{{20,250}})@(?=[\w.-])", looks_random),
    (
        "url secret",
        "Key, token, password or signature among the parameters of an address",
        (
            "token= key= secret= password= passwd= pwd= signature= credential= auth= sid= session= sig= pass= code="
            " jwt= appid="
        ),
        (
            r"[?&#;](?:[\w-]{0,20}(?:token|key|secret|password|passwd|pwd|signature|credential|auth|sid|session)"
            r"|sig|pass|code|jwt"
            r"|hapikey|appid)=(?P<s>[^&;\s\"'<>#\x00`]{8,})"
        ),
        looks_random,
    ),
    (
        "authorization header",
        "Credentials in an Authorization header, or behind Bearer or Basic",
        "authorization",
        (
            r"authorization[\"'\]]{0,2}\s{0,3}[:=,]\s{0,3}[\"'`]?"
            r"(?:(?:basic|bearer|token|api-?key|digest|key|ssws|negotiate|hmac"
            r"|sso-key|genie-?key|splunk|bot|jwt|oauth|aws4-hmac-sha256|klaviyo-api-key)\s{1,4})?"
            r"(?P<s>[^\s\"'`,;\x00]{6,})"
        ),
        lambda value: _is_bearer_token(value) or is_basic(value),
    ),
    (
        "authorization header",
        "",
        "bearer",
        r"\bbearer\s{1,4}[\"'`]?(?P<s>[A-Za-z0-9._~+/=-]{16,}(?<!\.))",
        looks_random,
    ),
    ("authorization header", "", "basic", r"\bbasic\s{1,4}(?P<s>[A-Za-z0-9+/]{8,}={0,2})", is_basic),
    (
        "key header",
        "Key or token in a header of its own: X-Api-Key and alike",
        "x- api-key apikey -token",
        (
            r"\b(?:x-[a-z-]{0,24}(?:key|token|secret|auth|signature)"
            r"|api-?key|private-token|job-token|deploy-token)[\"']?\s{0,3}:\s{0,3}"
            r"[\"'`]?(?P<s>[^\s\"'`,;\x00]{8,})"
        ),
        looks_random,
    ),
    (
        "session cookie",
        "Cookie that is a session",
        "sessid= sessionid= session_id= session= sid= auth_token=",
        (
            r"(?<![A-Za-z0-9.])(?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid"
            r"|[\w-]{0,20}session(?:_?id)?|sid|auth_token)="
            r"(?P<s>[^\s;\"',&\x00]{16,})"
        ),
        looks_random,
    ),
    (
        "command password",
        "Password or token given to a command",
        "curl -- sshpass",
        (
            r"(?:curl\b[^\n\x00]{0,80}?\s-u\s?[\"']?[^\s:\"']{1,64}:"
            r"|--user[= ][\"']?[^\s:\"']{1,64}:|sshpass\s{1,4}-p\s?[\"']?"
            r"|--(?:[a-z]{1,12}-)?(?:pass(?:word|wd|phrase)?|token|secret"
            r"|api-?key|auth-?token|secret-?key)[= ]{1,2}[\"']?)"
            r"(?P<s>[^\s\"'\x00]{4,})"
        ),
        is_password,
    ),
    (
        "netrc password",
        "Password in a .netrc file",
        "login",
        r"\blogin\s{1,4}\S{1,64}\s{1,8}(?:password|passwd)\s{1,4}(?P<s>[^\s\x00]{4,})",
        _is_not_placeholder,
    ),
    (
        "npm token",
        "",
        "_authtoken _password _auth",
        r"(?<![A-Za-z0-9])_(?:authtoken|password|auth)\s?=\s?[\"']?(?P<s>[A-Za-z0-9+/=_.-]{8,})",
        is_varied,
    ),
)


# Secrets that are assigned to a name, or stated in a sentence

_PASSCODE_NAME_PATTERN = (
    r"pass(?:word|wd|phrase|code|wort)|pass[_-](?:word|phrase)|passw|pswd|pwd"
    r"|kennwort|contrase(?:ñ|n)a|senha|mot[_ ]de[_ ]passe|пароль"
)
_PASSCODE_WORDS = "pass pw pswd kennwort contrase senha login пароль"
_KEY_WORDS = "secret token key credential"
_SHORT_PASSCODE_NAME_PATTERN = r"p(?<![A-Za-z]p)(?:ass|w)"
_KEY_NAME = (
    r"secret|token|credentials?"
    r"|(?:api|access|secret|private|auth|encryption|signing|master|account|license|licence"
    r"|deploy|service|app|application|shared"
    r"|storage|session|admin|consumer|subscription|webhook|ssh|hmac|jwt|crypto|client|project)[_\- .]?key"
)
_NAME_TAIL = (
    r"(?:[_-]?(?:\d{1,3}|prod|production|dev|development|test|testing|staging|live|main|old|new|value|b64|base64"
    r"|plain|base))?"
)
_EQUALS = (
    r"[\"'`*\])]{0,3}\s{0,8}"
    r"(?::\s?[A-Za-z_][\w.\[\] |]{0,30}=|=>|:=|\?=|\|\|=|={1,3}|:(?!:)|\|)"
    r"\s{0,8}[*]{0,2}\s{0,2}"
)
_QUOTED = r"(?:[bBfFrRuU@]{0,2})(?P<q>[\"'`])(?P<s>(?:\\[^\x00]|(?!(?P=q))[^\\\s\x00]){4,500})(?P=q)"
_BARE = r"(?P<s>[^\s\"'`,;<>(){}\[\]|&\x00]{4,500}(?<![.:!?*]))(?![\w(\[{])"
_SETTING = r"(?m)^[ \t]*+(?:export |set |ENV )?[A-Z][A-Z0-9_]{0,60}"
_REST = r"(?P<s>[^\s\"'`\x00#][^\s\x00]{3,500}(?<![,;(\[{]))(?=[ \t]*(?:#[^\n]*)?$)"


def _has_letters(value: str) -> bool:
    """A password within quotes may be a plain word."""
    return is_quoted_password(value) or (len(value) > 5 and value.isalpha() and not is_placeholder(value))


def _is_settings_value(value: str) -> bool:
    return not is_placeholder(value) and not is_reference(value) and not value.isdecimal()


def _is_spoken_password(value: str) -> bool:
    return is_password(value) and (not is_wordy(value) or _WORD_WITH_NUMBER.fullmatch(value) is not None)


def _is_quoted_token(value: str) -> bool:
    return len(value) > 7 and looks_random(value) and not is_reference(value)


def _is_bare_token(value: str) -> bool:
    return len(value) > 9 and looks_random(value) and not is_code(value)


_SPOKEN_ASSIGNMENT = (
    rf"\b(?:{_PASSCODE_NAME_PATTERN}|login code)\b"
    rf"(?:[ ]\(?(?:for|to|of|at|on|in|für|zu|para|de|pour)[ ](?:[\w'.&@-]{{1,30}}[ ]){{1,6}}?|[ ])"
    r"(?:is(?: now| still| currently)?|was|will be|would be|(?:(?:has been|was|is(?: now)?) )?(?:set|changed) to"
    r"|ist|lautet|es|est)[ ]?:?[ ]{1,2}"
)
_PHRASE = r"(?P<s>[a-z]{3,12}(?:(?:-[a-z]{3,12}){3,9}|(?: [a-z]{3,12}){3,9}))(?=[\"'”’`*]{0,2}[.!,;)]?\s*$)"


_WORD_WITH_NUMBER = re.compile(r"[A-Za-z]{3,}\d{1,3}")

ASSIGNED_SECRETS: tuple[SecretRow, ...] = (
    (
        "password",
        "Password, passphrase or passcode that is assigned or told",
        _PASSCODE_WORDS,
        rf"(?:{_PASSCODE_NAME_PATTERN}|{_SHORT_PASSCODE_NAME_PATTERN}){_NAME_TAIL}{_EQUALS}{_QUOTED}",
        _has_letters,
    ),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        rf"(?:{_PASSCODE_NAME_PATTERN}|{_SHORT_PASSCODE_NAME_PATTERN}){_NAME_TAIL}{_EQUALS}{_BARE}",
        is_password,
    ),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        rf"(?m)^[ \t-]{{0,40}}+[\w.-]{{0,40}}(?:password|passwd|passphrase|pwd)(?::[ \t]{{1,4}}|=){_REST}",
        is_password,
    ),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        (
            rf"(?:{_PASSCODE_NAME_PATTERN}){_NAME_TAIL}[\"*]{{0,3}}:[*]{{0,2}}[ \t]{{1,4}}"
            r"(?P<s>[^\s\"'`\x00]{4,500}(?<![.,;:?*)}\]]))"
        ),
        is_listed_password,
    ),
    ("password", "", "passphrase", rf"passphrase{_EQUALS}(?P<q>[\"'])(?P<s>[^\"'\n\x00]{{8,200}})(?P=q)", _accept_any),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        r"<(?:[\w:-]{0,20})(?:password|passwd|pwd)(?:\s[^<>\x00]{0,60})?>(?P<s>[^<>\s\x00]{4,200})</",
        _has_letters,
    ),
    (
        "password",
        "",
        "identified password",
        r"\b(?:identified\s+by|password)\s+(?P<q>['\"])(?P<s>[^'\"\s\x00]{4,200})(?P=q)",
        is_password,
    ),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        (
            rf"{_SPOKEN_ASSIGNMENT}"
            r"(?P<q>[\"'“‘`*]{0,2})(?P<s>[^\s\"'“”‘’`\x00,;()]{4,200}(?<![.:?*]))"
            r"(?!\s?(?:char|letter|digit|bit|byte|day|hour|minute|time|year)s?\b)"
        ),
        _is_spoken_password,
    ),
    (
        "password",
        "",
        _PASSCODE_WORDS,
        (
            rf"(?m)(?:{_SPOKEN_ASSIGNMENT}|(?:{_PASSCODE_NAME_PATTERN}){_NAME_TAIL}[ ]?[:=][ ]{{0,2}})"
            rf"[\"'“‘`*]{{0,2}}{_PHRASE}"
        ),
        is_passphrase,
    ),
    ("password", "", _PASSCODE_WORDS, rf"{_SPOKEN_ASSIGNMENT}[\"“`](?P<s>[a-z]{{5,20}})[\"”`]", is_odd_word),
    (
        "pin",
        "PIN or code of digits, told in words or assigned",
        "pin passcode code",
        (
            r"\b(?:pin(?:[ -]?(?:code|number))?|passcode"
            r"|(?:door|access|security|entry|gate|alarm"
            r"|unlock|safe|garage|lock|verification|card)[ ]code)\b"
            r"(?:[ ](?:for|to|of|at|on)[ ](?:[\w'.-]{1,30}[ ]){1,6}?|[ ]?)"
            r"(?:is(?: now| still)?|was|ist|[:=])[ ]{0,2}[\"'`*]{0,2}(?P<s>\d{4,10})(?![\w.-]*\w)"
        ),
        str.isdecimal,
    ),
    (
        "secret",
        "Key, token or secret that is assigned or told",
        _KEY_WORDS,
        rf"(?:{_KEY_NAME}){_NAME_TAIL}{_EQUALS}{_QUOTED}",
        _is_quoted_token,
    ),
    ("secret", "", _KEY_WORDS, rf"(?:{_KEY_NAME}){_NAME_TAIL}{_EQUALS}{_BARE}", _is_bare_token),
    (
        "secret",
        "",
        _KEY_WORDS,
        (
            rf"\b(?:{_KEY_NAME})\b(?:[ ](?:for|to|of|at|on)[ ](?:[\w'.-]{{1,30}}[ ]){{1,5}}?|[ ])"
            rf"(?:is(?: now)?|was)[ ]?:?[ ]{{1,2}}[\"'“`*]{{0,2}}"
            r"(?P<s>[A-Za-z0-9_\-./+=~!?&#@$%^*]{10,300}(?<![.!?]))"
        ),
        _is_bare_token,
    ),
    (
        "secret",
        "",
        _KEY_WORDS,
        rf"<(?:[\w:-]{{0,20}})(?:{_KEY_NAME})(?:\s[^<>\x00]{{0,60}})?>(?P<s>[^<>\s\x00]{{8,300}})</",
        _is_quoted_token,
    ),
    (
        "seed phrase",
        "Wallet: recovery phrase of twelve to twenty-four words",
        "seed recovery mnemonic",
        (
            r"(?:seed|recovery|mnemonic|backup)[_ ]?(?:phrase|words)?[\"']?\s?(?:is|=|:)[\s:\"'`]{1,4}"
            r"(?P<s>(?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})\b"
        ),
        _accept_any,
    ),
)

SETTINGS_FILE_SECRETS: tuple[SecretRow, ...] = (
    (
        "password",
        "",
        _PASSCODE_WORDS,
        rf"{_SETTING}(?:PASSWORD|PASSWD|PASSPHRASE|PWD|PASS|PW)(?:_[A-Z0-9]{{1,12}})?={_REST}",
        _is_settings_value,
    ),
    (
        "secret",
        "",
        _KEY_WORDS,
        rf"{_SETTING}(?:SECRET|TOKEN|KEY|CREDENTIALS?)(?:_[A-Z0-9]{{1,12}})?={_REST}",
        _is_quoted_token,
    ),
)
"""Secrets in settings files, whose names are upper case; matched against the original text."""
