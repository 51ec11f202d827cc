"""Secrets are found in whatever stands around them, and what only looks like one is left alone.

No secret stands in this file: each is made while the tests run, from the shape of its kind.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, ascii_uppercase, digits
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st
from tests.tables import table
from tests.unit.admission.password_sentences import TOLD as PHRASES

from recollect.admission.secrets import KINDS, RULES, RedactedText, Secret, find_secrets, redact, redact_named

ALPHABETS = {
    "A": ascii_uppercase + digits,
    "a": ascii_letters + digits,
    "l": ascii_lowercase + digits,
    "h": digits + "abcdef",
    "s": ascii_letters + digits + "_-",
    "b": ascii_letters + digits + "+/",
    "d": digits,
    "x": ascii_letters + digits,
    "B": ascii_uppercase + "234567",
}
UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"

SHAPES: dict[str, tuple[str, ...]] = {
    "aws access key": ("AKIA{A16}", "ASIA{A16}"),
    "aws session token": ("IQoJb3JpZ2lu{b300}",),
    "aws bedrock key": ("ABSK{b120}",),
    "google api key": ("AIza{s35}",),
    "google oauth client secret": ("GOCSPX-{s28}",),
    "google oauth token": ("ya29.{s120}", "1//0{s80}"),
    "alibaba cloud key": ("LTAI{a20}",),
    "tencent cloud key": ("AKID{a32}",),
    "yandex cloud key": ("AQVN{s36}",),
    "scaleway key": ("SCW{A17}",),
    "digitalocean token": ("dop_v1_{h64}", "doo_v1_{h64}"),
    "heroku key": ("HRKU-" + UUID, "HRKU-AA{s58}"),
    "fly.io token": ("fo1_{s43}", "fm2_{b200}"),
    "cloudflare token": ("cfut_{a40}", "v1.0-{h24}-{h146}"),
    "netlify token": ("nfp_{a36}",),
    "vercel token": ("vcp_{a56}",),
    "render key": ("rnd_{a28}",),
    "supabase key": ("sbp_{h40}", "sb_secret_{s31}"),
    "planetscale token": ("pscale_tkn_{s43}", "pscale_pw_{s43}"),
    "neon key": ("napi_{l64}",),
    "github token": ("ghp_{a36}", "gho_{a36}", "ghs_{a36}", "github_pat_{a22}_{a59}"),
    "gitlab token": ("glpat-{s20}", "gldt-{s20}", "glrt-{s20}", "glptt-{h40}", "glcbt-1_{s20}"),
    "atlassian token": ("ATATT3xFfGF0{s180}={A8}",),
    "bitbucket app password": ("ATBB{a32}",),
    "sourcegraph token": ("sgp_{h16}_{h40}",),
    "npm token": ("npm_{a36}",),
    "pypi token": ("pypi-AgEIcHlwaS5vcmc{s150}",),
    "rubygems key": ("rubygems_{h48}",),
    "nuget key": ("oy2{l43}",),
    "crates.io token": ("cio{a32}",),
    "clojars token": ("CLOJARS_{l60}",),
    "docker token": ("dckr_pat_{s27}",),
    "artifactory key": ("AKCp{a69}",),
    "circleci token": ("CCIPAT_{a22}_{h40}",),
    "buildkite token": ("bkua_{h40}",),
    "sonarqube token": ("squ_{h40}",),
    "slack token": (
        "xoxb-{d12}-{d13}-{a24}",
        "xoxp-{d12}-{d12}-{d13}-{h32}",
        "xapp-1-A{A10}-{d13}-{h64}",
        "xoxe.xoxp-1-{a150}",
    ),
    "slack webhook": ("T{A10}/B{A10}/{a24}",),
    "discord token": ("MT{a22}.{s6}.{s38}",),
    "discord webhook": ("{d18}/{s68}",),
    "telegram token": ("{d10}:AA{s33}",),
    "twilio key": ("SK{h32}",),
    "sendgrid key": ("SG.{s22}.{s43}",),
    "mailgun key": ("key-{h32}", "{h32}-{h8}-{h8}"),
    "mailchimp key": ("{h32}-us12",),
    "mandrill key": ("md-{s22}",),
    "brevo key": ("xkeysib-{h64}-{a16}",),
    "resend key": ("re_{a8}_{a24}",),
    "stripe key": ("sk_live_{a24}", "sk_test_{a99}", "rk_live_{a24}"),
    "webhook secret": ("whsec_{a32}",),
    "square token": ("sq0atp-{s22}", "sq0csp-{s43}", "EAAA{s60}"),
    "paypal token": ("access_token$production${l16}${h32}",),
    "shopify token": ("shpat_{h32}", "shpss_{h32}"),
    "plaid token": ("access-production-" + UUID,),
    "razorpay key": ("rzp_live_{a14}",),
    "flutterwave key": ("FLWSECK-{h32}-X",),
    "easypost key": ("EZAK{a54}",),
    "shippo token": ("shippo_live_{h40}",),
    "duffel token": ("duffel_live_{s43}",),
    "anthropic key": ("sk-ant-api03-{s93}AA",),
    "openrouter key": ("sk-or-v1-{h64}",),
    "langfuse key": ("sk-lf-" + UUID,),
    "openai key": ("sk-{a48}", "sk-proj-{s120}", "sk-{a20}T3BlbkFJ{a20}"),
    "hugging face token": ("hf_{x34}",),
    "groq key": ("gsk_{a52}",),
    "replicate token": ("r8_{a37}",),
    "perplexity key": ("pplx-{a48}",),
    "xai key": ("xai-{a80}",),
    "fireworks key": ("fw_{a24}",),
    "together key": ("tgp_v1_{s43}",),
    "nvidia key": ("nvapi-{s64}",),
    "cerebras key": ("csk-{l48}",),
    "elevenlabs key": ("sk_{h48}",),
    "pinecone key": ("pcsk_{a6}_{a60}",),
    "langsmith key": ("lsv2_pt_{h32}_{h10}",),
    "tavily key": ("tvly-dev-{a32}",),
    "jina key": ("jina_{s60}",),
    "firecrawl key": ("fc-{h32}",),
    "e2b key": ("e2b_{h40}",),
    "runpod key": ("rpa_{A40}",),
    "new relic key": ("NRAK-{A27}", "{h36}NRAL"),
    "sentry token": ("sntrys_{b120}", "sntryu_{h64}"),
    "grafana token": ("glsa_{a32}_{h8}", "glc_{b120}"),
    "honeycomb key": ("hcaik_{l58}",),
    "dynatrace token": ("dt0c01.{A24}.{A64}",),
    "posthog key": ("phx_{a43}",),
    "launchdarkly key": ("sdk-" + UUID,),
    "linear key": ("lin_api_{a40}",),
    "notion token": ("ntn_{a46}", "secret_{a43}"),
    "airtable token": ("pat{a14}.{h64}",),
    "dropbox token": ("sl.u.{s130}",),
    "figma token": ("figd_{s40}",),
    "postman key": ("PMAK-{h24}-{h34}",),
    "asana token": ("2/{d16}/{d16}:{h32}",),
    "clickup token": ("pk_{d8}_{A32}",),
    "contentful token": ("CFPAT-{s43}",),
    "hubspot token": ("pat-na1-" + UUID,),
    "frame.io token": ("fio-u-{s64}",),
    "telnyx key": ("KEY0{A29}_{a22}",),
    "scalingo token": ("tk-us-{s48}",),
    "typeform token": ("tfp_{s59}",),
    "readme key": ("rdme_{l70}",),
    "mapbox token": ("sk.eyJ{s80}.{s22}",),
    "facebook token": ("EAAC{a150}",),
    "1password token": ("ops_eyJ{s300}",),
    "doppler token": ("dp.pt.{a43}", "dp.st.prd.{a43}"),
    "vault token": ("hvs.{s90}", "s.{a24}"),
    "terraform token": ("{a14}.atlasv1.{s67}",),
    "databricks token": ("dapi{h32}",),
    "pulumi token": ("pul-{h40}",),
    "prefect key": ("pnu_{a36}",),
    "tailscale key": ("tskey-auth-{a17}-{a32}",),
    "openshift token": ("sha256~{s43}",),
    "age key": ("AGE-SECRET-KEY-1{A58}",),
    "extended private key": ("xprv9{a107}",),
    "nostr key": ("nsec1{l58}",),
    "json web token": ("eyJhbGciOiJIUzI1NiJ9.eyJ{s60}.{s43}",),
    "azure client secret": ("{a3}8Q~{s34}",),
    "azure devops token": ("{a76}AZDO{a4}",),
    "azure key": ("{a76}+ASt{b5}A==", "{a42}AzSe{a6}"),
    "password hash": ("$2b$12${a53}", "$6${a8}${a86}"),
}
"""Shapes of tokens that are known by their looks alone; some need an address in front (see `FRAMES`)."""

FRAMES = {
    "slack webhook": "https://hooks.slack.com/services/{}",
    "discord webhook": "https://discord.com/api/webhooks/{}",
}

CONTEXTS: dict[str, Callable[[str], str]] = {
    "alone": lambda secret: secret,
    "prose": lambda secret: f"By the way, it is {secret}, please remember it.",
    "end of a sentence": lambda secret: f"We used {secret}.",
    "env": lambda secret: f"HOST=example.com\nSOME_NAME={secret}\nPORT=80",
    "yaml": lambda secret: f"service:\n  some-name: {secret}\n  port: 80",
    "json": lambda secret: json.dumps({"name": secret, "port": 80}),
    "json in json": lambda secret: json.dumps({"body": json.dumps({"a": f"line\n{secret}\n"})}),
    "code": lambda secret: f"client = Client('{secret}', timeout=3)",
    "markdown": lambda secret: f"Run this:\n\n```sh\nuse {secret}\n```\n",
    "inline code": lambda secret: f"It is `{secret}`",
    "header": lambda secret: f"GET / HTTP/1.1\nHost: example.com\nX-Thing: {secret}\n",
    "escaped lines": lambda secret: f"a\\n{secret}\\nb",
    "base64": lambda secret: f"blob {b64encode(f'name: {secret}'.encode()).decode()} end",
}


def made(shape: str, random: Random) -> str:
    """A secret of the shape: {a36} is thirty-six letters and digits, and so on."""

    def run(match: re.Match[str]) -> str:
        return "".join(random.choices(ALPHABETS[match[1]], k=int(match[2])))

    return re.sub(r"\{(\w)(\d+)\}", run, shape)


def samples(kind: str, count: int) -> list[str]:
    """Secrets of the kind, always the same."""
    random = Random(kind)
    return [made(shape, random) for shape in SHAPES[kind] for _ in range(count)]


def luhn(stem: str) -> str:
    """The number with the digit that makes it valid."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in stem[::-2]]
    return stem + str(-(sum(doubled) + sum(map(int, stem[-2::-2]))) % 10)


PEM = "-----BEGIN {0}PRIVATE KEY{1}-----\n{2}\n-----END {0}PRIVATE KEY{1}-----"


def pem(name: str = "RSA ", block: str = "", *, seed: int = 0) -> str:
    """A private key in its frame."""
    return PEM.format(name, block, "\n".join(made("{b64}", Random(f"{name}{seed}{line}")) for line in range(8)))


MADE = [(kind, secret) for kind in SHAPES for secret in samples(kind, 5)]


@table("context", CONTEXTS)
def test_a_secret_of_every_shape_is_found_wherever_it_stands(context: str) -> None:
    for kind, secret in MADE:
        text = CONTEXTS[context](FRAMES.get(kind, "{}").format(secret))
        told = redact(text)
        assert kind in told.kinds, text
        assert secret.strip("-_") not in told.text, text


def test_the_span_is_the_secret_and_not_the_words_around_it() -> None:
    for kind, secret in MADE:
        if kind not in FRAMES:
            assert find_secrets(f"It is ({secret}) now") == (Secret(kind, 7, 7 + len(secret)),)


KEY40 = made("{b40}", Random(1))
HEX32 = made("{h32}", Random(2))
HEX40 = made("{h40}", Random(3))
WORDY = "Tr0ub4dor" + "&3"

TOLD: list[tuple[str, str]] = [
    ("my password is {}", "hunter" + "2"),
    ("The wifi password for the guest network is {}, ok?", "Sunflower" + "22!"),
    ("Password: {}", "hunter" + "2"),
    ("**Password:** `{}`", WORDY),
    ("Mein Passwort ist {}", "Geheim" + "99"),
    ("password = '{}'", WORDY),
    ('"password": "{}"', "hunter" + "2"),
    ('db_password="{}",', WORDY),
    ("DB_PASSWORD={}", "correct" + "horse"),
    ("export PGPASSWORD={}", WORDY),
    ("spring.datasource.password={}", WORDY),
    ("  password: {}  # of the test server", WORDY),
    ("Server=db;User Id=sa;Password={};Encrypt=true", WORDY),
    ("<password>{}</password>", "sword" + "fish!"),
    ("CREATE USER ana IDENTIFIED BY '{}'", WORDY),
    ("machine example.com login ana password {}", WORDY),
    ("mysql --password={} -u ana", WORDY),
    ("curl -u ana:{} https://example.com", WORDY),
    ("curl -H 'X-Api-Key: {}'", HEX32),
    ("self.password: str = '{}'", WORDY),
    ("config['password'] = '{}'", WORDY),
    ("password => '{}'", WORDY),
    ("| password | {} |", WORDY),
    ('{{\\"password\\": \\"{}\\"}}', "hunter" + "2"),
    ("the PIN is {}", "4711"),
    ("PIN: {}", "0815"),
    ("The pin for my debit card is {}.", "4711"),
    ("the door code is {}", "90210"),
    ('api_key: "{}"', HEX32),
    ("api_key = {}", HEX32),
    ("client_secret={}", made("{a32}", Random(4))),
    ("CLIENT_SECRET: {}", made("{s40}", Random(5))),
    ("My API key is {}", made("{a24}", Random(6))),
    ("the access token for staging is {}", made("{a24}", Random(7))),
    ("auth_token => '{}'", HEX40),
    ("aws_secret_access_key = {}", KEY40),
    ('{{"SecretAccessKey": "{}"}}', KEY40),
    ("DD_API_KEY={}", HEX32),
    ("heroku api key: {}", made(UUID, Random(8))),
    ("CLOUDFLARE_API_TOKEN={}", made("{s40}", Random(9))),
    ("TWILIO_AUTH_TOKEN={}", HEX32),
    ("AccountName=x;AccountKey={};EndpointSuffix=core.windows.net", made("{b86}==", Random(10))),
    ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey={}", made("{b43}=", Random(11))),
    ("https://x.blob.core.windows.net/c?sv=2022&se=2030&sig={}", quote(made("{b43}=", Random(12)), safe="")),
    ("postgres://ana:{}@db.example.com:5432/app", "s3cr3t"),
    ("mongodb+srv://ana:{}@cluster0.example.net/app", WORDY.replace("&", "%26")),
    ("redis://:{}@localhost:6379/0", "s3cr3t"),
    ("amqp://ana:{}@queue:5672", "rabbit" + "tail"),
    ("https://ana:{}@example.com/", WORDY),
    ("https://{}@example.com/repo.git", made("{a40}", Random(13))),
    ("https://{}@o1.ingest.sentry.io/42", HEX32),
    (
        "https://outlook.office.com/{}",
        f"webhook/{made(UUID, Random(35))}@{made(UUID, Random(36))}/IncomingWebhook/{HEX32}",
    ),
    ("https://example.com/cb?state=1&access_token={}&x=2", made("{a40}", Random(14))),
    ("Authorization: Bearer {}", made("{s40}", Random(15))),
    ("Authorization: Basic {}", b64encode(b"ana:" + WORDY.encode()).decode()),
    ("'Authorization': 'token {}'", HEX40),
    ("Cookie: PHPSESSID={}; theme=dark", made("{l26}", Random(16))),
    ("//registry.example.com/:_authToken={}", made(UUID, Random(17))),
    ("[Interface]\nPrivateKey = {}", made("{b43}=", Random(18))),
    ("private_key = {}", "0x" + made("{h64}", Random(19))),
    ("my card is {}", luhn("411122223333" + "444")),
    ("card {}", "-".join(re.findall("....", luhn("550012345678" + "901")))),
    ("pay to {} please", "DE89 3704 0044 0532 0130 00"),
    ("seed phrase: {}", " ".join(["ripple", "canoe", "velvet", "orbit", "lunar", "tiger"] * 2)),
    ('passphrase = "{}"', "correct horse battery staple"),
    ("pw: {}", WORDY),
    ('"password": "{}"', "kQ7.x" + "Zp2w"),
    ("DB_PASSWORD={}", "kQ7.x" + "Zp2w"),
    ("PASSWORD: {}", "kQ7.x" + "Zp2w"),
    ("DB_PASSWORD = {}", "kQ7.x" + "Zp2w"),
    ("secret_key_base: {}", made("{h128}", Random(23))),
    ("SECRET_KEY_BASE={}", made("{h128}", Random(24))),
    ("SECRET_KEY = '{}'", "k3" + "(x&9!q#-w_e=r+t)y^u*i@o$p%a" + made("{l20}", Random(25))),
    ("SECRET_KEY={}", "k3" + "(x&9!q#-w_e=r+t)y^u*i@o$p%a" + made("{l20}", Random(26))),
    ('{{"auths": {{"registry.example.com": {{"auth": "{}"}}}}}}', b64encode(b"ana:" + WORDY.encode()).decode()),
    ("key={}", "AAAA" + made("{s7}", Random(27)) + ":APA91b" + made("{s134}", Random(28))),
    ("id {}", "AKIA" + "QWERTZPLMKNJBHVG"),
    ("https://example.com/pay?q={}&sort=asc", luhn("601112345678" + "901")),
    ("pan={}", " ".join(re.findall("....", luhn("222112345678" + "901")))),
    ("data: {}", b64encode(luhn("411122223333" + "444").encode()).decode()),
]


@table(("frame", "secret"), TOLD, ids=[frame for frame, _ in TOLD])
def test_a_secret_is_known_by_the_words_around_it(frame: str, secret: str) -> None:
    told = redact(frame.format(secret))
    before, after = frame.format("\0").split("\0")
    assert told.kinds
    assert secret not in told.text
    assert told.text.startswith(before)
    assert told.text.endswith(after)


@table("name", ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_found_with_its_frame_however_it_is_written(name: str) -> None:
    key = pem(name)
    assert redact(f"Here:\n{key}\nThanks").text == "Here:\n[REDACTED: private key]\nThanks"
    assert redact(json.dumps({"private_key": key})).text == '{"private_key": "[REDACTED: private key]"}'
    assert redact(f"Here:\n{key[:300]}").text == "Here:\n[REDACTED: private key]"
    indented = key.replace("\n", "\n    ")
    assert redact(f"key: |\n    {indented}\nport: 80").text == "key: |\n    [REDACTED: private key]\nport: 80"


@table("indent", ["", "    ", "\t\t"])
def test_the_lines_of_a_putty_key_are_found_however_far_they_are_indented(indent: str) -> None:
    lines = [made("{b64}", Random(32)), made("{b64}", Random(33)), made("{b2}==", Random(34))]
    told = redact("\n".join(indent + line for line in ("Private-Lines: 3", *lines, "Private-MAC: none")))
    assert told.text == f"{indent}Private-Lines: 3\n{indent}[REDACTED: putty key]\n{indent}Private-MAC: none"


def test_a_pgp_key_is_a_private_key() -> None:
    assert redact(pem("PGP ", " BLOCK")).text == "[REDACTED: private key]"


@table("line", [60, 64, 76])
def test_a_secret_in_base64_over_several_lines_is_found(line: int) -> None:
    (secret,) = samples("npm token", 1)
    encoded = b64encode(f"{'a line of no importance ' * 5}{secret}".encode()).decode()
    lines = "\n".join(encoded[at : at + line] for at in range(0, len(encoded), line))
    assert redact(f"blob:\n{lines}\nend").text == "blob:\n[REDACTED: npm token]\nend"


UNSEEN = ["\u200b", "\u200d", "\u00ad", "\u2060", "\ufeff", "\u034f", "\ufe0f", "\U000e0101", "\u202e", "\u3164"]
UNSEEN += ["\x01", "\x7f", "\x85", "\r", "\u2028"]
WIDE = {ord(" ") + at: 0xFF00 + at for at in range(1, 95)}


@table("unseen", UNSEEN, ids=ascii)
def test_a_character_that_no_eye_sees_hides_no_secret(unseen: str) -> None:
    for kind, secret in MADE[::5]:
        if kind not in FRAMES:
            middle = len(secret) // 2
            broken = f"{secret[:middle]}{unseen}{secret[middle:]}"
            assert redact(f"It is ({broken}) now").text == f"It is ({redact(secret).text}) now"
    assert redact(f"my pass{unseen}word{unseen} is {unseen}{WORDY}").kinds == ("password",)


def test_a_secret_with_a_character_that_no_eye_sees_behind_each_is_found() -> None:
    (secret,) = samples("npm token", 1)
    assert redact(f"It is {UNSEEN[0].join(secret)}!").text == "It is [REDACTED: npm token]!"


def test_a_secret_in_wide_or_other_letters_is_found() -> None:
    (secret,) = samples("npm token", 1)
    card = luhn("411122223333" + "444")
    assert redact(f"It is {secret.translate(WIDE)}.").text == "It is [REDACTED: npm token]."
    assert redact(f"card {card.translate(WIDE)}").kinds == ("credit card number",)
    assert redact(f"card {''.join(chr(0x660 + int(digit)) for digit in card)}").kinds == ("credit card number",)
    for gap in ("\u00a0", "\u202f", "\u2011", "\u2013"):
        assert redact(f"card {gap.join(re.findall('....', card))}").kinds == ("credit card number",)


OF_KNOWN_LENGTH = [
    *(("aws access key", "AKIA{B16}"), ("aws access key", "ASIA{B16}"), ("google api key", "AIza{s35}")),
    *(("google oauth client secret", "GOCSPX-{s28}"), ("digitalocean token", "dop_v1_{h64}")),
    *(("github token", "ghp_{a36}"), ("github token", "ghs_{a36}"), ("github token", "github_pat_{a22}_{a59}")),
    *(("gitlab token", "glpat-{s20}"), ("npm token", "npm_{a36}"), ("rubygems key", "rubygems_{h48}")),
    *(("docker token", "dckr_pat_{s27}"), ("slack token", "xoxb-{d12}-{d13}-{a24}"), ("stripe key", "sk_live_{a24}")),
    *(("stripe key", "sk_test_{a99}"), ("shopify token", "shpat_{h32}"), ("anthropic key", "sk-ant-api03-{s93}AA")),
    *(("openai key", "sk-{a48}"), ("openai key", "sk-proj-{s74}T3BlbkFJ{s74}"), ("groq key", "gsk_{a52}")),
    *(("replicate token", "r8_{a37}"), ("linear key", "lin_api_{a40}"), ("notion token", "ntn_{a46}")),
    *(("figma token", "figd_{s40}"), ("new relic key", "NRAK-{A27}"), ("postman key", "PMAK-{h24}-{h34}")),
    ("databricks token", "dapi{h32}"),
]
"""Tokens whose length their issuers document."""


@table(("kind", "shape"), OF_KNOWN_LENGTH)
def test_a_token_of_known_length_is_found_though_a_line_ends_within(kind: str, shape: str) -> None:
    secret = made(shape, Random(shape))
    begin = shape.index("{")
    for gap in ("\n", "\r\n", "\n    "):
        for middle in (begin + 4, len(secret) - 5):
            text = f"use {secret[:middle]}{gap}{secret[middle:]}, then\nrest"
            assert redact(text).text == f"use [REDACTED: {kind}], then\nrest"


def test_a_token_over_four_lines_is_found() -> None:
    secret = made("ghp_{a36}", Random(37))
    lines = "\n".join(secret[at : at + 10] for at in range(0, 40, 10))
    assert redact(f"TOKEN={lines}\nend").text == "TOKEN=[REDACTED: github token]\nend"


@table(
    "text",
    [
        "see ghp_docs\nand the notes of the release",
        "name npm_config\nregistry is set elsewhere",
        "the sk-\nlearn package",
        "AKIA\nis a prefix",
        "hf_token\nHUGGINGFACE",
    ],
)
def test_the_end_of_a_line_makes_no_token_of_words(text: str) -> None:
    assert redact(text) == RedactedText(text, ())


@table(("frame", "phrase"), PHRASES, ids=[frame for frame, _ in PHRASES])
def test_a_pass_phrase_without_a_digit_is_found_where_it_is_told(frame: str, phrase: str) -> None:
    assert redact(frame.format(phrase)).text == frame.format("[REDACTED: password]")


def test_a_value_is_known_by_its_name_alone() -> None:
    assert redact_named("wifi password", WORDY) == RedactedText("[REDACTED: password]", ("password",))
    assert redact_named("wifi name", WORDY) == RedactedText(WORDY, ())
    assert redact_named("password", "required") == RedactedText("required", ())


HARMLESS = [
    "I forgot my password",
    "the password is required",
    "The password is too short, it must have 12 characters.",
    "password is 12 characters long",
    "Reset your password: click the link below.",
    "password: str",
    "password: str | None = None",
    "password = getpass()",
    "password = os.environ['PASSWORD']",
    "password = self.password",
    "password=password,",
    "token = next(tokens)",
    "token = tokens[0]",
    "token: Token2 = parse(text)",
    'parser.add_argument("--password", help="the password of the database")',
    'PASSWORD = "password"',
    "password: ${DB_PASSWORD}",
    "api_key = '<your-api-key>'",
    "api_key: YOUR_API_KEY",
    "Authorization: Bearer <token>",
    "Authorization: Bearer {token}",
    "secret_name: my-secret",
    "the secret is patience",
    "the key is to listen",
    "the token is base64-encoded",
    "https://user:password@example.com",
    "postgres://user:pass@localhost/db",
    "http://localhost:8080/@ana",
    "ghp_" + "x" * 36,
    "AKIA" + "X" * 16,
    "sk-your-api-key-goes-right-here",
    "commit " + HEX40,
    "sha256:" + made("{h64}", Random(20)),
    "md5 " + HEX32,
    made(UUID, Random(21)),
    "version 1.24.0rc1.post2+g" + HEX40[:9],
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "test_that_a_very_long_identifier_with_numbers_123_is_left_alone",
    "AbstractSingletonProxyFactoryBeanWithManyWords2",
    "/usr/lib/python3.11/site-packages/numpy/core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so",
    "https://example.com/articles/2024/05/the-secret-of-good-tokens?utm_source=newsletter&id=1234567890123456",
    "-----BEGIN PUBLIC KEY-----\n" + made("{b64}", Random(22)) + "\n-----END PUBLIC KEY-----",
    "if '-----BEGIN RSA PRIVATE KEY-----' in text: refuse()",
    "call me at +49 170 1234567 or 0800 123 456 789",
    "order 4111 1111 1111 1112",
    "1699999999999 1700000000000",
    "I pinned 4 notes; the pin is red",
    "my zip code is 90210",
    "Bearer of bad news",
    "She keeps her passport and her pass in her bag: blue.",
    "a test that it cannot pass: 0.40 is less than 0.50",
    "ASIAPACIFICECONOMICS",
    "password = self.password2",
    "password: models.CharField(max_length=128)",
    'password="auth.newPassword2"',
    "sha512 " + made("{h128}", Random(29)),
    made("{b20}", Random(30)) + "AzFu" + made("{b19}=", Random(31)),  # the last line of an attachment
    "",
    "\\",
    "%",
]


@table("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_as_it_is(text: str) -> None:
    told = redact(text)
    assert told == RedactedText(text, ())
    assert told.text is text


def test_kinds_are_told_in_the_order_in_which_they_occur_and_once() -> None:
    npm, aws, other = (samples(kind, 2)[at] for kind, at in [("npm token", 0), ("aws access key", 0), ("npm token", 1)])
    assert redact(f"{npm} and {aws} and {other}") == RedactedText(
        "[REDACTED: npm token] and [REDACTED: aws access key] and [REDACTED: npm token]",
        ("npm token", "aws access key"),
    )


def test_a_token_in_an_address_is_told_by_its_own_kind() -> None:
    (secret,) = samples("gitlab token", 1)[:1]
    assert (
        redact(f"https://oauth2:{secret}@gitlab.com/a/b").text
        == "https://oauth2:[REDACTED: gitlab token]@gitlab.com/a/b"
    )


PIECES = st.one_of(
    st.sampled_from(UNSEEN),
    st.sampled_from([secret.translate(WIDE) for _, secret in MADE[::40]]),
    st.text(max_size=20),
    st.sampled_from([secret for kind in SHAPES for secret in samples(kind, 1)]),
    st.sampled_from([frame.format(secret) for frame, secret in TOLD]),
    st.sampled_from(
        [*HARMLESS, "[REDACTED]", "[REDACTED: npm token]", "\\n", "%3D", '"', "'", ": ", "=", "://", "@", " "]
    ),
)


@given(st.lists(PIECES, max_size=6).map("".join))
def test_redacting_twice_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == RedactedText(once.text, ())


@given(st.lists(PIECES, max_size=6).map("".join))
def test_spans_are_in_order_within_the_text_and_do_not_overlap(text: str) -> None:
    places = [place for secret in find_secrets(text) for place in (secret.start, secret.end)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)
    assert all(secret.start < secret.end and secret.kind in KINDS for secret in find_secrets(text))


@given(st.text(alphabet=st.characters(), max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    for said in (text, f"password = '{text}' token: {text} https://{text}:{text}@{text}"):
        assert all(0 <= one.start < one.end <= len(said) and one.kind in KINDS for one in find_secrets(said))


LENGTH = 50_000
"""Enough that each row would take seconds if the time grew with the square of the length."""

HOSTILE = [
    *("a", "A", "1", " ", "\n", "-", "_", ".", "=", ":", "/", "\\", "%", '"', "'", "<", "[", "\0", "é", "eyJ", "eyJ."),
    *(
        "sk-",
        "sk-.",
        "AKIA",
        "xoxb-.",
        "AAAAAAAAAA",
        "b3BlbnNzaC1rZXktdjE",
        "$2a$",
        "AQ~",
        "[REDACTED",
        "aws",
        "datadog ",
    ),
    *(
        "password",
        "password=",
        "password: ",
        "password = '",
        "password is ",
        "pass_",
        "token ",
        "secret",
        "api key ",
        "key=",
    ),
    *("://", "://a:", "://a:b", "a:b@", "http://", "?token=", "&sig=", "Authorization: ", "Bearer ", "Basic ", "x-"),
    *("--pass", "curl ", "curl -u a", "login a ", "session", "\\u0041", "\\\\", "%41", "&amp;", "private_key "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n", "----", "Private-Lines: 1\n", "PRIVATE "),
    *("\u200b", "a\u200b", "ｇ", "ghp_\n", "ghp_a\n", "AKIA\r\n", "\u2013", "password is abc ", "password: abc-def-"),
    *("4111 ", "1 ", "1-", "DE89 ", "DE89", "seed phrase: ", "abc ", "pin for a "),
]


@table("piece", HOSTILE)
def test_hostile_text_comes_to_an_end(piece: str) -> None:
    text = piece * (LENGTH // len(piece))
    told = redact(text)
    assert told.text is text or redact(told.text).kinds == ()


@table("filler", ["All work and no play. ", "x = '\\n'\n", "A pass, a key, a token: one of many.\n", "é" * 50])
@table(("frame", "secret"), TOLD[::6], ids=[frame for frame, _ in TOLD[::6]])
def test_a_secret_is_found_in_the_midst_of_a_long_text(frame: str, secret: str, filler: str) -> None:
    told = redact(f"{filler * 200}\n{frame.format(secret)}\n{filler * 200}")
    assert len(told.kinds) == 1
    assert secret not in told.text


def test_secrets_that_touch_are_all_hidden() -> None:
    aws, github = samples("aws access key", 1)[0], samples("github token", 1)[0]
    assert redact(f"{aws}{github}").text == "[REDACTED: aws access key][REDACTED: github token]"


def test_a_text_in_which_each_secret_hides_the_next_is_hidden_as_a_whole() -> None:
    assert redact("so: " + "".join(samples("pulumi token", 12))).text == "[REDACTED: pulumi token]"


def test_the_reference_lists_every_kind_with_what_it_is() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "secrets.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE) == sorted(KINDS.items())


def test_every_rule_can_be_tried() -> None:
    assert [list(rule.find_spans("nothing", "nothing", [(0, 7)])) for rule in RULES] == [[]] * len(RULES)


def test_there_are_kinds_enough() -> None:
    assert len(KINDS) >= 45
    assert set(SHAPES) <= set(KINDS)
