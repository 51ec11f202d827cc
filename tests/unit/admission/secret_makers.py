"""Secrets as their issuers document them, ways they stand in a text, and texts that have none."""

import base64
import binascii
import json
import math
import re
import string
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from types import MappingProxyType
from typing import Literal
from urllib.parse import quote

Make = Callable[[Random], str]
Shape = Literal["token", "url", "block"]

DIGITS = string.digits
LOWER = string.ascii_lowercase + DIGITS
UPPER = string.ascii_uppercase + DIGITS
ALNUM = string.ascii_letters + DIGITS
HEX = DIGITS + "abcdef"
B64URL = ALNUM + "-_"
B64 = ALNUM + "+/"
BASE62 = DIGITS + string.ascii_uppercase + string.ascii_lowercase


def whole(secret: str) -> str:
    return secret


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of secret: how it is made and how it stands in life.

    `names` are what it is assigned to; without `bare`, nothing but that name tells it from other text. `vital`
    is the confidential part of it: what must not be left. `unfit` are dressings that it is never seen in.
    """

    make: Make
    names: tuple[str, ...]
    bare: bool = True
    shape: Shape = "token"
    vital: Callable[[str], str] = whole
    unfit: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Dressed:
    """A text with a secret in it, and the secret's confidential lines as they stand there."""

    text: str
    needles: tuple[str, ...]


# -- Letters ---------------------------------------------------------------------------------------------------------


def some(random: Random, alphabet: str, length: int) -> str:
    return "".join(random.choices(alphabet, k=length))


def between(random: Random, alphabet: str, low: int, high: int) -> str:
    return some(random, alphabet, random.randint(low, high))


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def in_base(number: int, alphabet: str, width: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(alphabet))
        digits = alphabet[digit] + digits
    return digits.rjust(width, alphabet[0])


def crc(text: str) -> int:
    return zlib.crc32(text.encode())


def an_id(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


def a_password(random: Random) -> str:
    """Ten to twenty characters with a digit, a capital and a sign, as sites ask for them."""
    letters = [
        *random.choices(ALNUM, k=random.randint(7, 17)),
        random.choice(DIGITS),
        random.choice(string.ascii_uppercase),
        random.choice("!$*-_.~+"),
    ]
    random.shuffle(letters)
    return random.choice(string.ascii_letters) + "".join(letters[1:]) + random.choice(ALNUM)


def prefixed(prefixes: str | Sequence[str], alphabet: str, low: int, high: int | None = None) -> Make:
    """A prefix, then letters."""
    choices = [prefixes] if isinstance(prefixes, str) else list(prefixes)
    return lambda random: random.choice(choices) + between(random, alphabet, low, high or low)


def parts(separator: str, *makes: Make) -> Make:
    return lambda random: separator.join(make(random) for make in makes)


def letters(alphabet: str, low: int, high: int | None = None) -> Make:
    return prefixed("", alphabet, low, high)


# -- Kinds with a form of their own ----------------------------------------------------------------------------------


def github_classic(random: Random) -> str:
    """Thirty random digits of base 62 and their CRC-32 in six more."""
    body = some(random, BASE62, 30)
    return f"gh{random.choice('pousr')}_{body}{in_base(crc(body), BASE62, 6)}"


def github_fine_grained(random: Random) -> str:
    return f"github_pat_{some(random, ALNUM, 22)}_{some(random, ALNUM, 59)}"


def npm_token(random: Random) -> str:
    body = some(random, BASE62, 30)
    return f"npm_{body}{in_base(crc(body), BASE62, 6)}"


def gitlab_classic(random: Random) -> str:
    prefix = random.choice(["glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glagent-"])
    return prefix + some(random, B64URL, {"glptt-": 40, "glagent-": 50}.get(prefix, 20))


def gitlab_routable(random: Random) -> str:
    """A payload that says where to route, its length and a CRC-32, both in base 36."""
    where = f"o:{in_base(random.randint(1, 10**6), LOWER, 1)}\nu:{in_base(random.randint(1, 10**7), LOWER, 1)}".encode()
    payload = b64url(where + random.randbytes(16) + bytes([16]))
    rest = f"glpat-{payload}.01.{in_base(len(payload), DIGITS + string.ascii_lowercase, 2)}"
    return rest + in_base(crc(rest), DIGITS + string.ascii_lowercase, 7)


def pypi_macaroon(random: Random) -> str:
    """A version-2 macaroon: location, identifier, caveats, signature."""
    location = ".".join(("pypi", "org")).encode()
    body = b"\x02\x01" + bytes([len(location)]) + location
    body += b"\x02\x24" + an_id(random).encode()
    body += b"\x00\x02\x2c" + json.dumps([1, [an_id(random)]], separators=(",", ":")).encode()
    return "pypi-" + b64url(body + b"\x00\x00\x06\x20" + random.randbytes(32))


def json_web_token(random: Random) -> str:
    header: dict[str, object] = {"alg": random.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    if random.random() < 0.5:
        header = {"kid": some(random, ALNUM, 12), **header}
    start = random.randint(1_500_000_000, 1_900_000_000)
    claims = {"iss": "https://id.example.com/", "sub": some(random, DIGITS, 10), "iat": start, "exp": start + 3600}
    signature = random.randbytes({"HS256": 32, "ES256": 64}.get(str(header["alg"]), 256))
    compact = [json.dumps(part, separators=(",", ":")).encode() for part in (header, claims)]
    return ".".join(map(b64url, [*compact, signature]))


def grafana_service_account(random: Random) -> str:
    body = some(random, ALNUM, 32)
    return f"glsa_{body}_{crc(body):08x}"


def grafana_cloud(random: Random) -> str:
    say = {"o": some(random, DIGITS, 6), "n": "agent-write", "k": some(random, ALNUM, 24), "m": {"r": "us"}}
    return "glc_" + b64(json.dumps(say, separators=(",", ":")).encode())


def sentry_organisation(random: Random) -> str:
    say = {"iat": random.random() * 1e9, "url": "https://sentry.example.com", "region_url": "", "org": "acme"}
    return f"sntrys_{b64(json.dumps(say).encode())}_{some(random, B64, 43)}"


def atlassian(prefix: str) -> Make:
    def make(random: Random) -> str:
        body = prefix + some(random, B64URL, 171)
        return f"{body}={crc(body):08X}"

    return make


def bitbucket_app_password(random: Random) -> str:
    body = "ATBB" + some(random, ALNUM, 24)
    return f"{body}{crc(body):08X}"


def discord_bot(random: Random) -> str:
    """The bot's id, the time it was issued, and an HMAC."""
    bot = b64url(str(random.randint(10**17, 10**18)).encode())
    issued = b64url(random.randint(2**24, 2**31).to_bytes(4, "big"))
    return f"{bot}.{issued}.{some(random, B64URL, random.choice([27, 38]))}"


def telegram_bot(random: Random) -> str:
    return f"{random.randint(10**8, 10**10 - 1)}:AA{some(random, B64URL, 33)}"


def openai_key(random: Random) -> str:
    """The letters in the middle are the name of the issuer in base 64."""
    middle = b64(b"OpenAI")
    if random.random() < 0.3:
        return f"sk-{some(random, ALNUM, 20)}{middle}{some(random, ALNUM, 20)}"
    size = random.choice([58, 74])
    start = random.choice(["sk-proj-", "sk-svcacct-", "sk-admin-"])
    return start + some(random, B64URL, size) + middle + some(random, B64URL, size)


def anthropic_key(random: Random) -> str:
    return f"sk-ant-{random.choice(['api03', 'admin01'])}-{some(random, B64URL, 93)}AA"


def stripe_key(random: Random) -> str:
    start = random.choice(["sk", "rk"]) + random.choice(["_live_", "_test_"])
    return start + (some(random, ALNUM, 24) if random.random() < 0.4 else "51" + some(random, ALNUM, 97))


def slack_bot(random: Random) -> str:
    team, app, user = (some(random, DIGITS, random.choice([11, 12, 13])) for _ in range(3))
    if random.random() < 0.5:
        return f"xoxb-{team}-{app}-{some(random, ALNUM, 24)}"
    return f"xoxp-{team}-{user}-{app}-{some(random, HEX, 32)}"


def slack_app(random: Random) -> str:
    return f"xapp-1-A{some(random, UPPER, 10)}-{some(random, DIGITS, 13)}-{some(random, HEX, 64)}"


def slack_webhook(random: Random) -> str:
    team, hook = some(random, UPPER, 10), some(random, UPPER, 10)
    return f"https://hooks.slack.com/services/T{team}/B{hook}/{some(random, ALNUM, 24)}"


def discord_webhook(random: Random) -> str:
    return f"https://discord.com/api/webhooks/{random.randint(10**17, 10**19)}/{some(random, B64URL, 68)}"


def teams_webhook(random: Random) -> str:
    end = f"{some(random, HEX, 32)}/{an_id(random)}"
    return f"https://acme.webhook.office.com/webhookb2/{an_id(random)}@{an_id(random)}/IncomingWebhook/{end}"


def bech32(human: str, data: bytes) -> str:
    """BIP 173: groups of five bits and a checksum of six more."""
    letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
    number = int.from_bytes(data, "big") << (-len(data) * 8 % 5)
    count = math.ceil(len(data) * 8 / 5)
    values = [number >> 5 * place & 31 for place in reversed(range(count))]

    def polymod(items: Sequence[int]) -> int:
        check = 1
        for item in items:
            top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ item
            for bit, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                check ^= generator if top >> bit & 1 else 0
        return check

    spread = [ord(each) >> 5 for each in human] + [0] + [ord(each) & 31 for each in human]
    check = polymod([*spread, *values, *[0] * 6]) ^ 1
    return human + "1" + "".join(letters[each] for each in [*values, *(check >> 5 * (5 - at) & 31 for at in range(6))])


def age_key(random: Random) -> str:
    return bech32("age-secret-key-", random.randbytes(32)).upper()


def luhn(digits: str) -> str:
    """The check digit of ISO/IEC 7812."""
    doubled = (int(each) * (2 - at % 2) for at, each in enumerate(reversed(digits)))
    return str(-sum(value // 10 + value % 10 for value in doubled) % 10)


def card(random: Random) -> str:
    scheme = random.choice(["visa", "mastercard", "mastercard-2", "amex", "discover"])
    start = {
        "visa": "4",
        "mastercard": f"5{random.randint(1, 5)}",
        "mastercard-2": str(random.randint(2221, 2720)),
        "amex": random.choice(["34", "37"]),
        "discover": "6011",
    }[scheme]
    body = start + some(random, DIGITS, (14 if scheme == "amex" else 15) - len(start))
    number = body + luhn(body)
    groups = (4, 6, 5) if scheme == "amex" else (4, 4, 4, 4)
    edges = [sum(groups[:at]) for at in range(len(groups) + 1)]
    pieces = [number[low:high] for low, high in pairwise(edges)]
    return random.choice(["", " ", "-"]).join(pieces)


def firebase_server_key(random: Random) -> str:
    return f"AAAA{some(random, B64URL, 7)}:APA91b{some(random, B64URL, 134)}"


def aws_session_token(random: Random) -> str:
    """Its first bytes name where it came from, so its first letters are always the same."""
    return b64(b"\x21\x0a\x09origin_ec" + random.randbytes(random.randint(300, 600)))


def azure_client_secret(random: Random) -> str:
    return f"{some(random, ALNUM, 3)}8Q~{some(random, ALNUM + '-_.~', 33)}{random.choice(ALNUM)}"


def fly_token(random: Random) -> str:
    return f"FlyV1 fm2_{b64(random.randbytes(random.randint(180, 300)))}"


def terraform_token(random: Random) -> str:
    return f"{some(random, ALNUM, 14)}.atlasv1.{between(random, ALNUM, 60, 70)}"


def vault_token(random: Random) -> str:
    start = random.choice(["hvs.", "hvs.", "hvb."])
    if start == "hvs." and random.random() < 0.3:
        return start + some(random, ALNUM, 24)
    return f"{start}{'CAESI' if start == 'hvs.' else 'AAAAAQ'}{between(random, B64URL, 86, 140)}"


# -- Kinds that are addresses and connection strings -----------------------------------------------------------------


def host(random: Random) -> str:
    return random.choice(["db.internal", "localhost", "10.0.3.7", "pg-1.eu-west-1.rds.example.com", "cache.acme.test"])


def connection(schemes: str | Sequence[str], port: int, users: Sequence[str], ends: Sequence[str]) -> Make:
    choices = [schemes] if isinstance(schemes, str) else list(schemes)

    def make(random: Random) -> str:
        user, end = random.choice(users), random.choice(ends)
        return f"{random.choice(choices)}://{user}:{a_password(random)}@{host(random)}:{port}/{end}"

    return make


def mongo(random: Random) -> str:
    where = f"cluster{random.randint(0, 9)}.{some(random, LOWER, 5)}.mongodb.net"
    return f"mongodb+srv://app:{a_password(random)}@{where}/shop?retryWrites=true&w=majority"


def address_with_password(random: Random) -> str:
    where = random.choice(["git.example.com/acme/app.git", "jenkins.acme.test/job/build/1", "files.example.org/a.zip"])
    return f"https://{random.choice(['alice', 'deploy', 'ci-bot'])}:{a_password(random)}@{where}"


def address_with_token(random: Random) -> str:
    user, token = random.choice([("x-access-token", github_classic), ("oauth2", gitlab_classic)])
    return f"https://{user}:{token(random)}@git.example.com/acme/app.git"


def password_of(address: str) -> str:
    return address.rsplit("@", 1)[0].rsplit(":", 1)[1]


def azure_storage(random: Random) -> str:
    key = b64(random.randbytes(64))
    ends = "EndpointSuffix=core.windows.net"
    return f"DefaultEndpointsProtocol=https;AccountName={some(random, LOWER, 12)};AccountKey={key};{ends}"


def azure_service_bus(random: Random) -> str:
    rule = f"SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey={b64(random.randbytes(32))}"
    return f"Endpoint=sb://{some(random, LOWER, 9)}.servicebus.windows.net/;{rule}"


def azure_cosmos(random: Random) -> str:
    where = f"https://{some(random, LOWER, 9)}.documents.azure.com:443/"
    return f"AccountEndpoint={where};AccountKey={b64(random.randbytes(64))};"


def azure_sas(random: Random) -> str:
    until = f"20{random.randint(24, 33)}-0{random.randint(1, 9)}-1{random.randint(0, 9)}T08:00:00Z"
    rights = f"sv=2022-11-02&ss=b&srt=co&sp=rwdl&se={quote(until, safe='')}&spr=https"
    return (
        f"https://{some(random, LOWER, 10)}.blob.core.windows.net/backups/a.tar?{rights}"
        f"&sig={quote(b64(random.randbytes(32)), safe='')}"
    )


def ado_net(random: Random) -> str:
    where = f"Server=tcp:{some(random, LOWER, 8)}.database.windows.net,1433;Initial Catalog=shop"
    return f"{where};User ID=sa;Password={a_password(random)};Encrypt=True;Connection Timeout=30;"


def presigned_s3(random: Random) -> str:
    who = f"{aws_access_key_id(random)}%2F20260304%2Feu-west-1%2Fs3%2Faws4_request"
    query = f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={who}&X-Amz-Date=20260304T101112Z&X-Amz-Expires=3600"
    signature = f"X-Amz-SignedHeaders=host&X-Amz-Signature={some(random, HEX, 64)}"
    return f"https://acme-backups.s3.eu-west-1.amazonaws.com/a.tar?{query}&{signature}"


def after(mark: str) -> Callable[[str], str]:
    """What stands behind the last such mark, up to the next semicolon."""
    return lambda secret: secret.rsplit(mark, 1)[1].split(";", 1)[0]


# -- Kinds of several lines ------------------------------------------------------------------------------------------


def wrapped(text: str, width: int) -> str:
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def armoured(label: str, body: str) -> str:
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


def der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x80 | (size.bit_length() + 7) // 8])
    return bytes([tag]) + length + (b"" if size < 128 else size.to_bytes((size.bit_length() + 7) // 8, "big")) + content


def integer(random: Random, size: int) -> bytes:
    return der(2, b"\0" + bytes([0x80 | random.getrandbits(7)]) + random.randbytes(size - 1))


def rsa(random: Random) -> bytes:
    """RFC 8017, appendix A.1.2, with numbers of the right sizes (and no other relation to each other)."""
    half = random.choice([64, 128])
    sizes = (2 * half, 0, 2 * half, half, half, half, half, half)
    exponent = der(2, (65537).to_bytes(3, "big"))
    return der(0x30, der(2, b"\0") + b"".join(integer(random, size) if size else exponent for size in sizes))


def rsa_pem(random: Random) -> str:
    return armoured("RSA PRIVATE" + " KEY", wrapped(b64(rsa(random)), 64))


def pkcs8(random: Random) -> str:
    """RFC 5958: version, algorithm, key."""
    algorithm = der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
    return armoured("PRIVATE" + " KEY", wrapped(b64(der(0x30, der(2, b"\0") + algorithm + der(4, rsa(random)))), 64))


def ec_pem(random: Random) -> str:
    """RFC 5915 on the curve P-256."""
    curve = der(0xA0, bytes.fromhex("06082a8648ce3d030107"))
    public = der(0xA1, der(3, b"\0\x04" + random.randbytes(64)))
    content = der(0x30, der(2, b"\x01") + der(4, random.randbytes(32)) + curve + public)
    return armoured("EC PRIVATE" + " KEY", wrapped(b64(content), 64))


def encrypted_pem(random: Random) -> str:
    head = f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{some(random, HEX, 32).upper()}\n\n"
    return armoured("RSA PRIVATE" + " KEY", head + wrapped(b64(random.randbytes(608)), 64))


def openssh(random: Random) -> str:
    def field(data: bytes) -> bytes:
        return len(data).to_bytes(4, "big") + data

    public = field(b"ssh-ed25519") + field(random.randbytes(32))
    check = random.randbytes(4)
    private = check + check + public + field(random.randbytes(64)) + field(b"alice@laptop") + b"\x01\x02\x03"
    start = b"openssh-key-v1\0" + field(b"none") + field(b"none") + field(b"") + (1).to_bytes(4, "big")
    return armoured("OPENSSH PRIVATE" + " KEY", wrapped(b64(start + field(public) + field(private)), 70))


def pgp(random: Random) -> str:
    """RFC 4880: armour with a checksum behind an equals sign."""
    content = b"\x95\x03\x98\x04" + random.randbytes(random.randint(600, 1200))
    body = f"\n{wrapped(b64(content), 64)}\n={b64(random.randbytes(3))}"
    return armoured("PGP PRIVATE" + " KEY BLOCK", body)


def putty(random: Random) -> str:
    public = wrapped(b64(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + random.randbytes(32)), 64)
    return "\n".join(
        (
            "PuTTY-User-Key-File-3: ssh-ed25519",
            "Encryption: none",
            "Comment: alice@laptop",
            f"Public-Lines: 2\n{public}",
            f"Private-Lines: 1\n{b64(b'    ' + random.randbytes(32))}",
            f"Private-MAC: {some(random, HEX, 64)}",
        )
    )


def body_of(block: str) -> str:
    return "\n".join(line for line in block.splitlines() if re.fullmatch(r"[A-Za-z0-9+/]{16,}=*", line))


def private_lines_of(block: str) -> str:
    return block.split("Private-Lines: 1\n")[1].split("\n")[0]


def service_account(random: Random) -> str:
    name = f"app@acme-{random.randint(100, 999)}.iam.gserviceaccount.com"
    account = {
        "type": "service_account",
        "project_id": f"acme-{random.randint(100, 999)}",
        "private_key_id": some(random, HEX, 40),
        "private_key": pkcs8(random) + "\n",
        "client_email": name,
        "client_id": some(random, DIGITS, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps(account, indent=random.choice([None, 2]))


def aws_access_key_id(random: Random) -> str:
    return random.choice(["AKIA", "ASIA"]) + some(random, string.ascii_uppercase + "234567", 16)


def aws_secret(random: Random) -> str:
    return some(random, B64, 40)


def aws_pair(random: Random) -> str:
    id, secret = aws_access_key_id(random), aws_secret(random)
    if random.random() < 0.5:
        return f"[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\nregion = eu-west-1"
    return f"AWS_ACCESS_KEY_ID={id}\nAWS_SECRET_ACCESS_KEY={secret}\nAWS_DEFAULT_REGION=eu-west-1"


def pair_of(block: str) -> str:
    return "\n".join(line.split("=", 1)[1].strip() for line in block.splitlines() if "access_key" in line.lower())


def netrc(random: Random) -> str:
    return f"machine git.example.com\nlogin alice\npassword {a_password(random)}"


def docker_config(random: Random) -> str:
    auth = b64(f"alice:{a_password(random)}".encode())
    return json.dumps({"auths": {"registry.example.com": {"auth": auth}}}, indent=random.choice([None, 2]))


def docker_auth(block: str) -> str:
    found = re.search(r'"auth": "([^"]+)"', block)
    return found[1] if found else block


# -- Kinds that only their name gives away ---------------------------------------------------------------------------


def django_key(random: Random) -> str:
    return some(random, LOWER + "!@#$%^&*(-_=+)", 50)


def basic_header(random: Random) -> str:
    user = random.choice(["alice", "api", "svc-build"])
    return f"Basic {b64(f'{user}:{a_password(random)}'.encode())}"


def bearer_header(random: Random) -> str:
    return f"Bearer {between(random, B64URL, 32, 64)}"


def second_word(secret: str) -> str:
    return secret.split(" ")[1]


def last_part(secret: str) -> str:
    return secret.rsplit("/", 1)[1]


HEX32, HEX40 = letters(HEX, 32), letters(HEX, 40)

# Dressings in which a header, and a key that never leaves its server, are not seen.
NO_HEADER = frozenset({"url_query", "env_file"})
ON_NO_WIRE = frozenset({"url_query", "http_header"})

KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "github_classic": Kind(github_classic, ("GITHUB_TOKEN", "GH_TOKEN")),
        "github_fine_grained": Kind(github_fine_grained, ("GITHUB_TOKEN", "GH_PAT")),
        "gitlab_classic": Kind(gitlab_classic, ("GITLAB_TOKEN", "CI_JOB_TOKEN")),
        "gitlab_routable": Kind(gitlab_routable, ("GITLAB_TOKEN",)),
        "bitbucket_app_password": Kind(bitbucket_app_password, ("BITBUCKET_APP_PASSWORD",)),
        "bitbucket_access_token": Kind(atlassian("ATCTT3xFfGN0"), ("BITBUCKET_TOKEN",)),
        "atlassian_api_token": Kind(atlassian("ATATT3xFfGF0"), ("JIRA_API_TOKEN", "ATLASSIAN_TOKEN")),
        "npm": Kind(npm_token, ("NPM_TOKEN",)),
        "pypi": Kind(pypi_macaroon, ("TWINE_PASSWORD", "PYPI_TOKEN")),
        "rubygems": Kind(prefixed("rubygems_", HEX, 48), ("GEM_HOST_API_KEY",)),
        "crates": Kind(prefixed("cio", ALNUM, 32), ("CARGO_REGISTRY_TOKEN",)),
        "docker_pat": Kind(prefixed("dckr_pat_", B64URL, 27), ("DOCKER_PASSWORD", "DOCKERHUB_TOKEN")),
        "docker_config": Kind(docker_config, ("DOCKER_AUTH_CONFIG",), shape="block", vital=docker_auth),
        "aws_access_key_id": Kind(aws_access_key_id, ("AWS_ACCESS_KEY_ID",)),
        "aws_secret_access_key": Kind(aws_secret, ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key"), bare=False),
        "aws_pair": Kind(aws_pair, ("credentials",), shape="block", vital=pair_of),
        "aws_session_token": Kind(aws_session_token, ("AWS_SESSION_TOKEN",)),
        "aws_presigned_url": Kind(presigned_s3, ("DOWNLOAD_URL",), shape="url", vital=after("Signature=")),
        "gcp_service_account": Kind(
            service_account,
            ("GOOGLE_CREDENTIALS",),
            shape="block",
            vital=lambda text: body_of(json.loads(text)["private_key"]),
        ),
        "google_api_key": Kind(prefixed("AI" + "za", B64URL, 35), ("GOOGLE_API_KEY", "MAPS_KEY")),
        "google_oauth_client_secret": Kind(prefixed("GOCSPX-", B64URL, 28), ("GOOGLE_CLIENT_SECRET",)),
        "google_access_token": Kind(prefixed("ya29.a0", B64URL, 130, 200), ("GOOGLE_ACCESS_TOKEN",)),
        "google_refresh_token": Kind(prefixed("1//0", B64URL, 95, 105), ("GOOGLE_REFRESH_TOKEN", "refresh_token")),
        "firebase_server_key": Kind(firebase_server_key, ("FCM_SERVER_KEY",)),
        "azure_storage": Kind(
            azure_storage, ("AZURE_STORAGE_CONNECTION_STRING",), shape="url", vital=after("AccountKey=")
        ),
        "azure_service_bus": Kind(
            azure_service_bus, ("SERVICEBUS_CONNECTION_STRING",), shape="url", vital=after("SharedAccessKey=")
        ),
        "azure_cosmos": Kind(azure_cosmos, ("COSMOS_CONNECTION_STRING",), shape="url", vital=after("AccountKey=")),
        "azure_sas": Kind(azure_sas, ("BLOB_URL", "SAS_URL"), shape="url", vital=after("sig=")),
        "azure_client_secret": Kind(azure_client_secret, ("AZURE_CLIENT_SECRET",)),
        "azure_devops_pat": Kind(letters(string.ascii_lowercase + "234567", 52), ("AZURE_DEVOPS_PAT",), bare=False),
        "ado_net_connection": Kind(ado_net, ("ConnectionStrings__Default",), shape="url", vital=after("Password=")),
        "digitalocean": Kind(prefixed(["dop_v1_", "doo_v1_", "dor_v1_"], HEX, 64), ("DIGITALOCEAN_TOKEN",)),
        "heroku": Kind(prefixed("HRKU-AA", B64URL, 58), ("HEROKU_API_KEY",)),
        "heroku_legacy": Kind(an_id, ("HEROKU_API_KEY",), bare=False),
        "cloudflare": Kind(
            parts("", prefixed(["cfut_", "cfat_", "cfk_"], ALNUM, 40), letters(HEX, 8)), ("CLOUDFLARE_API_TOKEN",)
        ),
        "cloudflare_legacy": Kind(letters(B64URL, 40), ("CLOUDFLARE_API_TOKEN", "CF_API_TOKEN"), bare=False),
        "fly": Kind(fly_token, ("FLY_API_TOKEN",), vital=second_word),
        "netlify": Kind(prefixed("nfp_", ALNUM, 36), ("NETLIFY_AUTH_TOKEN",)),
        "supabase": Kind(prefixed("sbp_", HEX, 40), ("SUPABASE_ACCESS_TOKEN",)),
        "planetscale": Kind(prefixed(["pscale_tkn_", "pscale_pw_"], B64URL, 43), ("PLANETSCALE_TOKEN",)),
        "databricks": Kind(prefixed("dapi", HEX, 32), ("DATABRICKS_TOKEN",)),
        "terraform_cloud": Kind(terraform_token, ("TFE_TOKEN", "TF_API_TOKEN")),
        "vault": Kind(vault_token, ("VAULT_TOKEN",)),
        "doppler": Kind(
            parts("", prefixed(["dp.pt.", "dp.sa.", "dp.st.prd.", "dp.ct."], ALNUM, 43)), ("DOPPLER_TOKEN",)
        ),
        "pulumi": Kind(prefixed("pul-", HEX, 40), ("PULUMI_ACCESS_TOKEN",)),
        "tailscale": Kind(
            parts("-", prefixed(["tskey-auth-k", "tskey-api-k"], ALNUM, 16), letters(ALNUM, 32)), ("TS_AUTHKEY",)
        ),
        "grafana_service_account": Kind(grafana_service_account, ("GRAFANA_TOKEN",)),
        "grafana_cloud": Kind(grafana_cloud, ("GRAFANA_CLOUD_TOKEN",)),
        "datadog_api_key": Kind(HEX32, ("DD_API_KEY", "DATADOG_API_KEY"), bare=False),
        "datadog_app_key": Kind(HEX40, ("DD_APP_KEY", "DD_APPLICATION_KEY"), bare=False),
        "new_relic_user_key": Kind(prefixed("NRAK-", UPPER, 27), ("NEW_RELIC_API_KEY",)),
        "new_relic_licence": Kind(lambda random: some(random, HEX, 32) + "FFFFNRAL", ("NEW_RELIC_LICENSE_KEY",)),
        "sentry_organisation": Kind(sentry_organisation, ("SENTRY_AUTH_TOKEN",)),
        "sentry_user": Kind(prefixed("sntryu_", HEX, 64), ("SENTRY_AUTH_TOKEN",)),
        "dynatrace": Kind(
            parts(".", prefixed("dt0c01.", UPPER, 24), letters(UPPER, 64)), ("DT_API_TOKEN", "DYNATRACE_TOKEN")
        ),
        "sonarqube": Kind(prefixed(["sqp_", "squ_", "sqa_"], HEX, 40), ("SONAR_TOKEN",)),
        "buildkite": Kind(prefixed("bkua_", HEX, 40), ("BUILDKITE_API_TOKEN",)),
        "slack_token": Kind(slack_bot, ("SLACK_BOT_TOKEN", "SLACK_TOKEN")),
        "slack_app": Kind(slack_app, ("SLACK_APP_TOKEN",)),
        "slack_webhook": Kind(slack_webhook, ("SLACK_WEBHOOK_URL",), shape="url", vital=last_part),
        "discord_bot": Kind(discord_bot, ("DISCORD_TOKEN", "BOT_TOKEN")),
        "discord_webhook": Kind(discord_webhook, ("DISCORD_WEBHOOK",), shape="url", vital=last_part),
        "teams_webhook": Kind(teams_webhook, ("TEAMS_WEBHOOK",), shape="url", vital=last_part),
        "telegram_bot": Kind(telegram_bot, ("TELEGRAM_BOT_TOKEN",)),
        "twilio_api_key": Kind(prefixed("SK", HEX, 32), ("TWILIO_API_KEY",)),
        "twilio_auth_token": Kind(HEX32, ("TWILIO_AUTH_TOKEN",), bare=False),
        "sendgrid": Kind(
            parts(".", prefixed("SG.", B64URL, 22), letters(B64URL, 43)), ("SENDGRID_API_KEY", "SMTP_PASSWORD")
        ),
        "mailgun": Kind(prefixed("key-", HEX, 32), ("MAILGUN_API_KEY",)),
        "mailgun_modern": Kind(parts("-", HEX32, letters(HEX, 8), letters(HEX, 8)), ("MAILGUN_API_KEY",)),
        "mailchimp": Kind(parts("-", HEX32, lambda random: f"us{random.randint(1, 21)}"), ("MAILCHIMP_API_KEY",)),
        "brevo": Kind(parts("-", prefixed("xkeysib-", HEX, 64), letters(ALNUM, 16)), ("BREVO_API_KEY",)),
        "openai": Kind(openai_key, ("OPENAI_API_KEY",)),
        "anthropic": Kind(anthropic_key, ("ANTHROPIC_API_KEY",)),
        "openrouter": Kind(prefixed("sk-or-v1-", HEX, 64), ("OPENROUTER_API_KEY",)),
        "hugging_face": Kind(prefixed("hf_", string.ascii_letters, 34), ("HF_TOKEN", "HUGGINGFACE_TOKEN")),
        "replicate": Kind(prefixed("r8_", ALNUM, 37), ("REPLICATE_API_TOKEN",)),
        "groq": Kind(prefixed("gsk_", ALNUM, 52), ("GROQ_API_KEY",)),
        "perplexity": Kind(prefixed("pplx-", ALNUM, 48), ("PERPLEXITY_API_KEY",)),
        "xai": Kind(prefixed("xai-", ALNUM, 80), ("XAI_API_KEY",)),
        "langsmith": Kind(
            parts("_", prefixed(["lsv2_pt_", "lsv2_sk_"], HEX, 32), letters(HEX, 10)), ("LANGSMITH_API_KEY",)
        ),
        "cohere": Kind(letters(ALNUM, 40), ("COHERE_API_KEY", "CO_API_KEY"), bare=False),
        "mistral": Kind(letters(ALNUM, 32), ("MISTRAL_API_KEY",), bare=False),
        "stripe": Kind(stripe_key, ("STRIPE_SECRET_KEY", "STRIPE_API_KEY")),
        "stripe_webhook": Kind(prefixed("whsec_", ALNUM, 32), ("STRIPE_WEBHOOK_SECRET",)),
        "square_access_token": Kind(prefixed("EAAA", B64URL, 60), ("SQUARE_ACCESS_TOKEN",)),
        "square_oauth_secret": Kind(prefixed("sq0csp-", B64URL, 43), ("SQUARE_OAUTH_SECRET",)),
        "paypal_client_secret": Kind(prefixed("E", B64URL, 79), ("PAYPAL_CLIENT_SECRET",), bare=False),
        "braintree": Kind(
            parts("$", lambda _: "access_token$production", letters(LOWER, 16), HEX32), ("BRAINTREE_ACCESS_TOKEN",)
        ),
        "shopify": Kind(prefixed(["shpat_", "shpss_", "shpca_", "shppa_"], HEX, 32), ("SHOPIFY_ACCESS_TOKEN",)),
        "linear": Kind(prefixed("lin_api_", ALNUM, 40), ("LINEAR_API_KEY",)),
        "notion": Kind(parts("", prefixed("ntn_", DIGITS, 11), letters(ALNUM, 35)), ("NOTION_TOKEN",)),
        "notion_legacy": Kind(prefixed("secret_", ALNUM, 43), ("NOTION_TOKEN",)),
        "airtable": Kind(parts(".", prefixed("pat", ALNUM, 14), letters(HEX, 64)), ("AIRTABLE_API_KEY",)),
        "dropbox": Kind(prefixed(["sl.", "sl.u."], B64URL, 136, 200), ("DROPBOX_ACCESS_TOKEN",)),
        "figma": Kind(prefixed("figd_", B64URL, 40), ("FIGMA_TOKEN",)),
        "postman": Kind(parts("-", prefixed("PMAK-", HEX, 24), letters(HEX, 34)), ("POSTMAN_API_KEY",)),
        "hubspot": Kind(parts("-", lambda random: f"pat-{random.choice(['na1', 'eu1'])}", an_id), ("HUBSPOT_TOKEN",)),
        "contentful": Kind(prefixed("CFPAT-", B64URL, 43), ("CONTENTFUL_TOKEN",)),
        "okta": Kind(prefixed("00", B64URL, 40), ("OKTA_API_TOKEN",), bare=False),
        "facebook": Kind(
            lambda random: f"EAA{between(random, ALNUM, 160, 190)}ZDZD", ("FACEBOOK_ACCESS_TOKEN", "FB_PAGE_TOKEN")
        ),
        "json_web_token": Kind(json_web_token, ("ACCESS_TOKEN", "id_token")),
        "rsa_private_key": Kind(rsa_pem, ("SIGNING_KEY",), shape="block", vital=body_of),
        "pkcs8_private_key": Kind(pkcs8, ("TLS_KEY",), shape="block", vital=body_of),
        "ec_private_key": Kind(ec_pem, ("JWT_PRIVATE_KEY",), shape="block", vital=body_of),
        "encrypted_private_key": Kind(encrypted_pem, ("TLS_KEY",), shape="block", vital=body_of),
        "openssh_private_key": Kind(openssh, ("DEPLOY_KEY", "SSH_PRIVATE_KEY"), shape="block", vital=body_of),
        "pgp_private_key": Kind(pgp, ("GPG_PRIVATE_KEY",), shape="block", vital=body_of),
        "putty_private_key": Kind(putty, ("SSH_KEY",), shape="block", vital=private_lines_of),
        "age": Kind(age_key, ("SOPS_AGE_KEY",)),
        "postgres_url": Kind(
            connection(["postgres", "postgresql", "postgresql+psycopg"], 5432, ["app", "postgres"], ["shop", "app"]),
            ("DATABASE_URL",),
            shape="url",
            vital=password_of,
        ),
        "mysql_url": Kind(
            connection(["mysql", "mysql+pymysql", "mariadb"], 3306, ["root", "app"], ["shop", "wp"]),
            ("DATABASE_URL", "MYSQL_URL"),
            shape="url",
            vital=password_of,
        ),
        "mongodb_url": Kind(mongo, ("MONGO_URI", "MONGODB_URL"), shape="url", vital=password_of),
        "redis_url": Kind(
            connection(["redis", "rediss"], 6379, ["", "default"], ["0", "1"]),
            ("REDIS_URL",),
            shape="url",
            vital=password_of,
        ),
        "amqp_url": Kind(
            connection(["amqp", "amqps"], 5672, ["guest", "worker"], ["", "jobs"]),
            ("AMQP_URL", "CELERY_BROKER_URL"),
            shape="url",
            vital=password_of,
        ),
        "address_with_password": Kind(address_with_password, ("REPO_URL", "REMOTE"), shape="url", vital=password_of),
        "address_with_token": Kind(address_with_token, ("REPO_URL",), shape="url", vital=password_of),
        "bearer_header": Kind(bearer_header, ("Authorization",), bare=False, vital=second_word, unfit=NO_HEADER),
        "basic_header": Kind(basic_header, ("Authorization",), bare=False, vital=second_word, unfit=NO_HEADER),
        "netrc": Kind(netrc, ("NETRC",), shape="block", vital=lambda text: text.rsplit(" ", 1)[1]),
        "card": Kind(card, ("card_number", "pan")),
        "env_password": Kind(a_password, ("DB_PASSWORD", "POSTGRES_PASSWORD", "SMTP_PASSWORD", "PASSWORD"), bare=False),
        "client_secret": Kind(letters(B64URL, 32, 44), ("client_secret", "CLIENT_SECRET"), bare=False),
        "django_secret_key": Kind(django_key, ("SECRET_KEY", "DJANGO_SECRET_KEY"), bare=False, unfit=ON_NO_WIRE),
        "rails_secret_key": Kind(
            letters(HEX, 128), ("SECRET_KEY_BASE", "secret_key_base"), bare=False, unfit=ON_NO_WIRE
        ),
    }
)

MAKERS: Mapping[str, Make] = MappingProxyType({name: kind.make for name, kind in KINDS.items()})


# -- Dressings: how a secret stands in a text ------------------------------------------------------------------------

PROSE = (
    "The migration went through on Tuesday and nobody noticed.",
    "Please ask before you restart the worker; last time it lost a batch of four hundred.",
    "We agreed that the report is due at the end of each month, not at the beginning.",
    "She prefers short answers, in German if that is possible.",
    "The cache is cold after a deploy, so the first minute looks worse than it is.",
    "Nothing in the logs says why the second run took twice as long as the first one.",
    "He is allergic to nuts and does not fly on Mondays.",
    "The office in Lisbon closes at 17:30, the one in Porto half an hour later.",
)


def plain(text: str) -> str:
    return text


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def in_query(text: str) -> str:
    return quote(text, safe="")


def needles(kind: Kind, secret: str, written: Callable[[str], str] = plain) -> tuple[str, ...]:
    return tuple(written(line) for line in kind.vital(secret).splitlines())


def name_of(random: Random, kind: Kind) -> str:
    """The name it is usually given, and now and then one that says nothing where the secret speaks for itself."""
    return random.choice(("VALUE", "X", "note")) if kind.bare and random.random() < 0.3 else random.choice(kind.names)


def spoken(random: Random, kind: Kind, secret: str) -> str:
    """The secret as it is named in prose: by itself where it has a form, else behind its name."""
    if kind.bare:
        return secret
    name = random.choice(kind.names)
    between = ": " if name == "Authorization" else random.choice([": ", " = ", "="])
    return f"{name}{between}{in_marks(secret)}"


def in_marks(secret: str) -> str:
    """The secret, within quotation marks if shells and parsers would not take it without."""
    return secret if re.fullmatch(r"[\w .~+/=!$*-]+", secret) else f"'{secret}'"


def apart(kind: Kind, secret: str) -> str:
    """Several lines stand on lines of their own, also within a sentence."""
    return f"\n\n{secret}\n\n" if kind.shape == "block" else secret


def alone(random: Random, kind: Kind, secret: str) -> Dressed:
    return Dressed(spoken(random, kind, secret), needles(kind, secret))


def sentence(random: Random, kind: Kind, secret: str) -> Dressed:
    before, behind = random.choice(
        [("Remember that the new one is", "and expires in May."), ("Use", "for staging"), ("I put", "into the vault")]
    )
    return Dressed(f"{before} {apart(kind, spoken(random, kind, secret))} {behind}", needles(kind, secret))


def env_file(random: Random, kind: Kind, secret: str) -> Dressed:
    mark = '"' if kind.shape == "block" else random.choice(["", '"', "'"])
    written = in_json if mark == '"' else plain
    value = f"{mark}{written(secret)}{mark}" if mark or kind.shape == "url" else in_marks(secret)
    lines = ["DEBUG=false", f"{name_of(random, kind)}={value}", "PORT=8080"]
    return Dressed("\n".join(lines), needles(kind, secret, written))


def yaml(random: Random, kind: Kind, secret: str) -> Dressed:
    name = name_of(random, kind)
    if kind.shape == "block":
        lines = "\n".join(f"    {line}" for line in secret.splitlines())
        return Dressed(f"service:\n  {name}: |\n{lines}\n  port: 8080\n", needles(kind, secret))
    mark = random.choice(["", '"', "'"])
    value = f"{mark}{secret}{mark}" if mark or kind.shape == "url" else in_marks(secret)
    return Dressed(f"service:\n  {name}: {value}\n  port: 8080\n", needles(kind, secret))


def json_file(random: Random, kind: Kind, secret: str) -> Dressed:
    say = {"host": "api.example.com", name_of(random, kind): secret, "retries": 3}
    return Dressed(json.dumps(say, indent=random.choice([None, 2])), needles(kind, secret, in_json))


def python(random: Random, kind: Kind, secret: str) -> Dressed:
    name = name_of(random, kind)
    if kind.shape == "block":
        return Dressed(f'{name} = """{secret}\n"""\nclient = connect({name})', needles(kind, secret))
    mark = random.choice("\"'")
    if name == "Authorization" or random.random() < 0.3:
        return Dressed(f'call(url, headers={{"{name}": {mark}{secret}{mark}}})', needles(kind, secret))
    return Dressed(f"import os\n\n{name} = {mark}{secret}{mark}\nclient = connect({name})", needles(kind, secret))


def shell(random: Random, kind: Kind, secret: str) -> Dressed:
    name = name_of(random, kind)
    if name == "Authorization":
        return Dressed(f"curl -H '{name}: {secret}' https://api.example.com/v1/items", needles(kind, secret))
    mark = random.choice("\"'")
    return Dressed(f"$ export {name}={mark}{secret}{mark}\n$ make deploy", needles(kind, secret))


def http_header(random: Random, kind: Kind, secret: str) -> Dressed:
    if kind.bare:
        header = random.choice(["Authorization: Bearer", "Authorization: token", "X-Api-Key:", "X-Value:"])
    else:
        header = f"{random.choice(kind.names).replace('_', '-')}:"
    lines = ["GET /v1/items HTTP/1.1", "Host: api.example.com", f"{header} {secret}", "Accept: */*"]
    return Dressed("\r\n".join(lines), needles(kind, secret))


def url_query(random: Random, kind: Kind, secret: str) -> Dressed:
    name = random.choice(["token", "key", "api_key", "q"]) if kind.bare else random.choice(kind.names).lower()
    address = f"https://api.example.com/v1/items?page=2&{name}={in_query(secret)}&sort=asc"
    return Dressed(f"GET {address} failed", needles(kind, secret, in_query))


def code_block(random: Random, kind: Kind, secret: str) -> Dressed:
    fence = random.choice(["```", "```sh", "```text"])
    say = f"Log in like this:\n\n{fence}\n{spoken(random, kind, secret)}\n```\n\nThen retry."
    return Dressed(say, needles(kind, secret))


def log_line(random: Random, kind: Kind, secret: str) -> Dressed:
    written = in_json if kind.shape == "block" else plain
    name = random.choice(["value", "token", "detail"]) if kind.bare else random.choice(kind.names)
    start = f"2026-0{random.randint(1, 9)}-04T10:11:{random.randint(10, 59)}.{some(random, DIGITS, 3)}Z ERROR http"
    say = f'{start} - refused {name}="{written(secret)}" status=401 after 12 ms'
    return Dressed(say, needles(kind, secret, written))


def punctuated(random: Random, kind: Kind, secret: str) -> Dressed:
    before, behind = random.choice([("", "."), ("", ","), ("(", ")"), ("", ";"), ('"', '"'), ("`", "`"), ("<", ">")])
    ends = random.choice([" ok?", " thanks!", "", "\nbob: got it"])
    say = f"alice: here you go {before}{spoken(random, kind, secret)}{behind}{ends}"
    return Dressed(say, needles(kind, secret))


def paragraph(random: Random, kind: Kind, secret: str) -> Dressed:
    before, behind = (" ".join(random.choices(PROSE, k=random.randint(4, 12))) for _ in range(2))
    return Dressed(f"{before} {apart(kind, spoken(random, kind, secret))} {behind}", needles(kind, secret))


def twice(random: Random, kind: Kind, secret: str) -> Dressed:
    first, second = spoken(random, kind, secret), spoken(random, kind, secret)
    return Dressed(f"old: {first}\nnew: {second}\n", needles(kind, secret))


def encoded(random: Random, kind: Kind, secret: str) -> Dressed:
    """Base 64 over all of it, as in a manifest or a pasted dump."""
    said = b64(spoken(random, kind, secret).encode())
    before, behind = random.choice([("", ""), ("data:\n  value: ", "\n"), ("echo ", " | base64 -d")])
    return Dressed(f"{before}{said}{behind}", (said,))


Dress = Callable[[Random, Kind, str], Dressed]

DRESSINGS: Mapping[str, Dress] = MappingProxyType(
    {
        "alone": alone,
        "sentence": sentence,
        "env_file": env_file,
        "yaml": yaml,
        "json_file": json_file,
        "python": python,
        "shell": shell,
        "http_header": http_header,
        "url_query": url_query,
        "code_block": code_block,
        "log_line": log_line,
        "punctuated": punctuated,
        "paragraph": paragraph,
        "twice": twice,
        "encoded": encoded,
    }
)


def fits(dressing: str, kind: Kind) -> bool:
    """Whether it is seen in life: no address within another's query, no lines within a header, no header in a query."""
    lines = frozenset({"url_query", "http_header"}) if kind.shape != "token" else frozenset[str]()
    return dressing not in lines | kind.unfit


def dressed(random: Random, count: int) -> Iterator[tuple[str, str, Dressed]]:
    """That many secrets with the names of their kind and dressing, evenly over both."""
    ways = {name: [way for way in DRESSINGS if fits(way, kind)] for name, kind in KINDS.items()}
    names = list(KINDS)
    for at in range(count):
        turn, place = divmod(at, len(names))
        name = names[place]
        way = ways[name][(turn + place) % len(ways[name])]
        yield name, way, DRESSINGS[way](random, KINDS[name], KINDS[name].make(random))


# -- Texts without a secret ------------------------------------------------------------------------------------------

SENTENCES = (
    "Alice moved to flat {n} in {year} and pays {n} euros a month.",
    "The password is kept in the vault; ask Bob for access.",
    "Passwords must have at least {n} characters, one digit and one sign.",
    "My password is too short, says the site.",
    "The secret of good bread is time.",
    "He was the bearer of bad news, and basic manners were beyond him.",
    "A token is about four letters of English, so {n} tokens are a page.",
    "The API key is rotated every {n} days and is never written to a log.",
    "Reset your password: follow the link that we sent to alice@example.com.",
    "Authorization: Basic authentication is switched off since version {n}.",
    "Her secret: she gets up at {n} past five.",
    "Set max_tokens={n} and temperature=0.{n} for the summary.",
    "Das Passwort steht nicht im Code, sondern im Tresor; das Token läuft nach {n} Tagen ab.",
    "パスワードは{n}日ごとに変更してください。",
    "Le mot de passe doit contenir au moins {n} caractères.",
    "Token: the smallest unit of text a model reads.",
    "The key to the shed hangs behind the door, third hook from the left 🔑.",
    "The primary key is user_id; the foreign key refers to orders.id.",
    "Press Ctrl+Shift+{n}, then type the access code that your phone shows.",
    "She scored {n} of {year} points in the credential stuffing exercise.",
    "secret santa is on 2{n} December, the budget is {n} euros",
    "password manager: we settled on the one with the blue icon",
)

CODE = (
    "password = getpass()",
    "def login(user, password):",
    "if token is None:",
    "token = request.headers.get('Authorization')",
    "password: str | None = None",
    "self.api_key = api_key or os.environ['API_KEY']",
    "parser.add_argument('--password', help='the password to log in with')",
    'raise ValueError("password must not be empty")',
    "assert response.json()['token_type'] == 'Bearer'",
    "const secret = process.env.CLIENT_SECRET;",
    "headers = {'Authorization': f'Bearer {token}'}",
    "secret = hmac.new(key, message, hashlib.sha256).hexdigest()",
    "passwd = config['database']['password']",
    "tokens = tokenizer.encode(text, add_special_tokens=False)",
    "password=password,",
    "API_KEY = os.getenv('API_KEY', '')",
    "class PasswordField(forms.CharField):",
    "SELECT id, password_hash FROM users WHERE email = $1",
    "export TOKEN=$(vault read -field=token secret/ci)",
    "password: ${DB_PASSWORD}",
    'password: "{{ vault_db_password }}"',
    "API_KEY=<your key>",
    'api_key = "your-api-key"',
    "PASSWORD=********",
    "token = secrets.token_urlsafe(32)",
    "const token = await auth.getToken({ audience });",
    'password = input("Password: ")',
    "  - name: GITHUB_TOKEN\n    value: ${{ secrets.GITHUB_TOKEN }}",
    "private_key = serialization.load_pem_private_key(data, password=None)",
    "client_secret=settings.client_secret,",
    "if (!user.checkPassword(password)) return null;",
    "auth_token = session.get('auth_token')",
    "<input type='password' name='password' autocomplete='current-password'>",
    "access_token: Optional[str] = Field(default=None, repr=False)",
)


def prose(random: Random) -> str:
    return random.choice(SENTENCES).format(n=random.randint(2, 64), year=random.randint(1950, 2030))


def sentences(random: Random) -> str:
    return " ".join(prose(random) if random.random() < 0.5 else random.choice(PROSE) for _ in range(6))


def code(random: Random) -> str:
    return random.choice(CODE)


def identifier(random: Random) -> str:
    id = an_id(random)
    forms = [
        f"request_id={id}",
        f"order {id} was shipped",
        f'{{"id": "{id}", "name": "lamp"}}',
        f"/users/{id}/edit",
        id,
    ]
    return random.choice(forms)


def digest(random: Random) -> str:
    sha, long = some(random, HEX, 40), some(random, HEX, 64)
    return random.choice(
        [
            f"Fixed in commit {sha}.",
            f"{long}  dist.tar.gz",
            f"image: app@sha256:{long}",
            f"commit {sha}\nAuthor: Alice <alice@example.com>",
            f"md5 {some(random, HEX, 32)}",
            f'ETag: "{some(random, HEX, 32)}"',
            f"index {sha[:7]}..{sha[7:14]} 100644",
            f"cache-key: v1-linux-{long}",
            f"    uses: actions/checkout@{sha}",
        ]
    )


def lock_line(random: Random) -> str:
    sha = some(random, HEX, 64)
    return random.choice(
        [
            f'      "integrity": "sha512-{b64(random.randbytes(64))}",',
            f'  {{file = "six-1.16.0-py2.py3-none-any.whl", hash = "sha256:{sha}"}},',
            f"    --hash=sha256:{sha} \\",
            f"golang.org/x/text v0.{random.randint(1, 20)}.0 h1:{b64(random.randbytes(32))}",
            f'checksum = "{sha}"',
            f'  resolved "https://packages.example.org/a/-/a-1.2.3.tgz#{some(random, HEX, 40)}"',
        ]
    )


def image(random: Random) -> str:
    start = random.choice([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"GIF89a", b"\xff\xd8\xff\xe0\0\x10JFIF\0"])
    kind = {0x89: "png", 0x47: "gif", 0xFF: "jpeg"}[start[0]]
    return f"![logo](data:image/{kind};base64,{b64(start + random.randbytes(random.randint(60, 1200)))})"


def number(random: Random) -> str:
    isbn = "978" + some(random, DIGITS, 9)
    check = -sum(int(each) * (1 + 2 * (at % 2)) for at, each in enumerate(isbn)) % 10
    return random.choice(
        [
            f"ISBN {isbn[:3]}-{isbn[3]}-{isbn[4:8]}-{isbn[8:]}-{check}",
            f"call +49 30 {some(random, DIGITS, 8)} or (0){random.randint(100, 999)} {some(random, DIGITS, 6)}",
            f"Order {some(random, DIGITS, 3)}-{some(random, DIGITS, 7)}-{some(random, DIGITS, 7)} was shipped.",
            f"Ticket INC{some(random, DIGITS, 7)} is closed, see #{random.randint(1, 9999)}",
            f"tracking 1Z{some(random, UPPER, 6)}{some(random, DIGITS, 10)}",
            f"at {random.randint(1_500_000_000_000, 1_900_000_000_000)} ms",
            f"ts=1{some(random, DIGITS, 15)}",
            f"https://social.example.com/alice/status/1{some(random, DIGITS, 18)}",
            f"invoice 2026-{some(random, DIGITS, 6)} over 1,{some(random, DIGITS, 3)}.{some(random, DIGITS, 2)} EUR",
            f"pi is 3.14159265358979 and the run took 0.{some(random, DIGITS, 16)} s",
        ]
    )


def style(random: Random) -> str:
    return f"  --accent: #{some(random, HEX, 6)}; background: #{some(random, HEX, 3)}; color: #{some(random, HEX, 8)};"


def version(random: Random) -> str:
    one, two, three = (random.randint(0, 40) for _ in range(3))
    build = some(random, HEX, 7)
    return random.choice(
        [
            f"numpy=={one}.{two}.{three}",
            f"v{one}.{two}.{three}-rc.1+build.{build}",
            f"Python 3.{one}.{two} (main, Mar  4 2026, 10:11:12) [GCC 13.{three}.0] on linux",
            f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{one + 90}.0.{two}.{three}",
            f"libfoo.so.{one}.{two}.{three} => /usr/lib/x86_64-linux-gnu/libfoo.so.{one} ({some(random, HEX, 12)})",
        ]
    )


def log(random: Random) -> str:
    start = f"2026-03-{random.randint(10, 28)}T10:11:12.{some(random, DIGITS, 3)}Z"
    return random.choice(
        [
            f"{start} INFO auth - token refreshed for user {random.randint(1, 99999)} in {random.randint(1, 90)} ms",
            f"{start} WARN login: wrong password for alice from 10.0.{random.randint(0, 255)}.{random.randint(0, 255)}",
            f'{start} DEBUG trace_id={some(random, HEX, 32)} span_id={some(random, HEX, 16)} "GET /health" 200',
            f'10.0.0.1 - - [04/Mar/2026:10:11:12 +0000] "POST /login HTTP/1.1" 401 {random.randint(100, 9999)}',
            f"{start} INFO usage prompt_tokens={random.randint(1, 9999)} completion_tokens={random.randint(1, 999)}",
            f'  File "/srv/app/auth/password.py", line {random.randint(1, 900)}, in check_password',
            f"pod/web-{some(random, HEX, 10)}-{some(random, LOWER, 5)}   1/1   Running   0   {random.randint(1, 90)}d",
        ]
    )


def address(random: Random) -> str:
    title = "how-we-moved-the-whole-of-our-old-password-reset-flow-to-short-lived-tokens-without-downtime"
    words = title.split("-")
    slug = "-".join(words[random.randint(0, 4) : random.randint(9, len(words))])
    return random.choice(
        [
            f"https://blog.example.com/2026/03/{slug}",
            f"https://example.com/reset-password?step=2&lang=en#{slug}",
            f"https://docs.example.com/en/latest/api/authentication/{slug}.html",
            f"https://www.example.com/watch?v={some(random, B64URL, 11)}&t={random.randint(1, 999)}s",
            f"https://docs.example.com/document/d/{some(random, B64URL, 44)}/edit",
            f"https://github.com/acme/app/blob/{some(random, HEX, 40)}/src/password.py#L{random.randint(1, 900)}",
            f"ssh://git@git.example.com:22/acme/{slug}.git",
            f"postgres://localhost:5432/app_{random.randint(1, 99)}",
        ]
    )


def public_key(random: Random) -> str:
    ed25519 = b64(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + random.randbytes(32))
    return random.choice(
        [
            f"ssh-ed25519 {ed25519} alice@laptop",
            f"ED25519 key fingerprint is SHA256:{b64(random.randbytes(32)).rstrip('=')}.",
            armoured("CERTIFICATE", wrapped(b64(der(0x30, random.randbytes(700))), 64)),
            armoured("PUBLIC" + " KEY", wrapped(b64(der(0x30, random.randbytes(290))), 64)),
            "age recipient " + bech32("age", random.randbytes(32)),
        ]
    )


def base64_text(random: Random) -> str:
    """Ordinary text and data in base 64: nothing to hide."""
    inner = " ".join(random.choices(PROSE, k=2)).encode() if random.random() < 0.5 else random.randbytes(90)
    return f"Content-Transfer-Encoding: base64\n\n{wrapped(b64(inner), 76)}"


def hexdump(random: Random) -> str:
    row = random.randbytes(16)
    return f"{random.randint(0, 2**20) * 16:08x}: {binascii.hexlify(row, ' ', 2).decode()}"


ORDINARY: Mapping[str, Make] = MappingProxyType(
    {
        "prose": prose,
        "sentences": sentences,
        "code": code,
        "identifier": identifier,
        "digest": digest,
        "lock_line": lock_line,
        "image": image,
        "number": number,
        "style": style,
        "version": version,
        "log": log,
        "address": address,
        "public_key": public_key,
        "base64_text": base64_text,
        "hexdump": hexdump,
    }
)


def ordinary(random: Random, count: int) -> Iterator[tuple[str, str]]:
    """That many texts that hold no secret, with the names of their families."""
    names = list(ORDINARY)
    for at in range(count):
        name = names[at % len(names)]
        yield name, ORDINARY[name](random)
