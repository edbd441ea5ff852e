"""Messages with and without secrets, made anew from a seed: no secret is written down anywhere in this repository.

`TUNING` holds the sentences that the rules were written against, `HELD_OUT` others of the same kinds that were not
looked at while writing them. Every secret is drawn at run time; prefixes of providers are put together from parts.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from total_recall.privacy.seed_words import SEED_WORDS

Rng = random.Random
Maker = Callable[[Rng], str]

HEX = "0123456789abcdef"
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
BASE64 = ALNUM + "+/"
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"


@dataclass(frozen=True, slots=True)
class Case:
    """A message; `secret` is the part of `text` that has to go, None where everything stays."""

    group: str
    text: str
    secret: str | None = None


def _draw(rng: Rng, alphabet: str, length: int) -> str:
    """Random characters of `alphabet`, with a digit and a letter among them, as any long random key has."""
    while True:
        drawn = "".join(rng.choice(alphabet) for _ in range(length))
        if any(c.isdigit() for c in drawn) and any(c.isalpha() for c in drawn):
            return drawn


def _part(alphabet: str, length: int, *, before: str = "", after: str = "") -> Maker:
    return lambda rng: before + _draw(rng, alphabet, length) + after


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _jwt(rng: Rng) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")

    head = part({"alg": "HS256", "typ": "JWT"})
    return f"{head}.{part({'sub': str(rng.randrange(10**9)), 'iat': rng.randrange(10**9)})}.{_draw(rng, URLSAFE, 43)}"


# --- passwords ----------------------------------------------------------------------------------------------------

_WORDS = tuple("monkey dragon sunshine orchid falcon pepper cobalt walnut glacier saffron tulip meteor".split())
_HANGUL_WORDS = tuple("무지개 해바라기 고양이 강아지 소나무 바다거북 은하수 복숭아".split())


def _password(rng: Rng) -> str:
    word = rng.choice(_WORDS)
    return rng.choice(
        (
            f"{word}{rng.randrange(10, 9999)}",
            f"{word.capitalize()}{rng.randrange(10, 9999)}!",
            f"{word[:4]}_{_draw(rng, ALNUM, 6)}",
            _draw(rng, ALNUM + "#$%^*+", rng.randrange(8, 20)) + rng.choice(ALNUM),
            f"{word[:3].upper()}-{rng.randrange(100, 999)}-{rng.choice(_WORDS)}",
        )
    )


def _plain_word(rng: Rng) -> str:
    return rng.choice(_WORDS)


def _long_password(rng: Rng) -> str:
    return _draw(rng, ALNUM, rng.randrange(16, 40))


def _phrase(rng: Rng) -> str:
    return " ".join(rng.sample(_WORDS, 4))


# --- providers ----------------------------------------------------------------------------------------------------

PROVIDERS: dict[str, Maker] = {
    "openai": lambda r: "sk" + "-proj-" + _draw(r, URLSAFE, 74) + "T3Blbk" + "FJ" + _draw(r, URLSAFE, 74),
    "openai-old": lambda r: "s" + "k-" + _draw(r, ALNUM, 48),
    "deepseek": lambda r: "s" + "k-" + _draw(r, HEX, 32),
    "anthropic": lambda r: "sk" + "-ant-" + "api03-" + _draw(r, URLSAFE, 93) + "AA",
    "openrouter": lambda r: "sk" + "-or-" + "v1-" + _draw(r, HEX, 64),
    "groq": lambda r: "gs" + "k_" + _draw(r, ALNUM, 52),
    "xai": lambda r: "xa" + "i-" + _draw(r, ALNUM, 80),
    "google": lambda r: "AI" + "za" + _draw(r, URLSAFE, 35),
    "google-oauth": lambda r: "GOC" + "SPX-" + _draw(r, URLSAFE, 28),
    "google-access": lambda r: "ya" + "29." + _draw(r, URLSAFE, 80),
    "aws-id": lambda r: r.choice(("AK", "AS")) + "IA" + _draw(r, BASE32, 16),
    "github": lambda r: "gh" + r.choice("pousr") + "_" + _draw(r, ALNUM, 36),
    "github-fine": lambda r: "github" + "_pat_" + _draw(r, ALNUM, 22) + "_" + _draw(r, ALNUM, 59),
    "gitlab": lambda r: "gl" + "pat-" + _draw(r, URLSAFE, 20),
    "gitlab-ci": lambda r: "gl" + r.choice(("rt", "dt", "cbt", "ptt")) + "-" + _draw(r, URLSAFE, 20),
    "slack": lambda r: (
        "xo" + "xb-" + f"{r.randrange(10**11, 10**12)}-{r.randrange(10**12, 10**13)}-" + _draw(r, ALNUM, 24)
    ),
    "slack-app": lambda r: (
        "xa" + "pp-1-A" + _draw(r, UPPER, 10) + f"-{r.randrange(10**12, 10**13)}-" + _draw(r, HEX, 64)
    ),
    "stripe": lambda r: r.choice("sr") + "k_" + r.choice(("live", "test")) + "_" + _draw(r, ALNUM, r.choice((24, 99))),
    "stripe-hook": lambda r: "wh" + "sec_" + _draw(r, ALNUM, 32),
    "huggingface": lambda r: "h" + "f_" + _draw(r, string.ascii_letters + "0123", 34),
    "npm": lambda r: "np" + "m_" + _draw(r, ALNUM, 36),
    "pypi": lambda r: "py" + "pi-AgEI" + "cHlwaS5vcmc" + _draw(r, URLSAFE, 120),
    "telegram": lambda r: f"{r.randrange(10**8, 10**10)}:AA" + _draw(r, URLSAFE, 33),
    "discord": lambda r: (
        r.choice("MNO") + _draw(r, ALNUM, 25) + "." + "G" + _draw(r, URLSAFE, 5) + "." + _draw(r, URLSAFE, 38)
    ),
    "sendgrid": lambda r: "S" + "G." + _draw(r, URLSAFE, 22) + "." + _draw(r, URLSAFE, 43),
    "twilio": lambda r: "S" + "K" + _draw(r, HEX, 32),
    "mailgun": lambda r: "ke" + "y-" + _draw(r, HEX, 32),
    "mailchimp": lambda r: _draw(r, HEX, 32) + f"-us{r.randrange(1, 21)}",
    "azure-ad": lambda r: _draw(r, ALNUM, 3) + "8Q" + "~" + _draw(r, URLSAFE + ".~", 33) + "a",
    "digitalocean": lambda r: "do" + "p_v1_" + _draw(r, HEX, 64),
    "shopify": lambda r: "shp" + r.choice(("at", "ca", "pa", "ss")) + "_" + _draw(r, HEX, 32),
    "linear": lambda r: "lin" + "_api_" + _draw(r, ALNUM, 40),
    "notion": lambda r: "nt" + "n_" + _draw(r, ALNUM, 46),
    "databricks": lambda r: "da" + "pi" + _draw(r, HEX, 32),
    "vault": lambda r: "hv" + "s." + _draw(r, URLSAFE, 90),
    "docker": lambda r: "dckr" + "_pat_" + _draw(r, URLSAFE, 27),
    "supabase": lambda r: "sb" + "p_" + _draw(r, HEX, 40),
    "perplexity": lambda r: "pp" + "lx-" + _draw(r, ALNUM, 48),
    "replicate": lambda r: "r" + "8_" + _draw(r, ALNUM, 37),
    "tavily": lambda r: "tv" + "ly-" + _draw(r, ALNUM, 32),
    "nvidia": lambda r: "nv" + "api-" + _draw(r, URLSAFE, 64),
    "figma": lambda r: "fi" + "gd_" + _draw(r, URLSAFE, 40),
    "atlassian": lambda r: (
        "ATA" + "TT3xFfGF0" + _draw(r, URLSAFE, 170) + "=" + _draw(r, string.digits[1:] + "ABCDEF", 8)
    ),
    "grafana": lambda r: "gl" + "sa_" + _draw(r, ALNUM, 32) + "_" + _draw(r, HEX, 8),
    "sentry": lambda r: "sn" + "tryu_" + _draw(r, HEX, 64),
    "newrelic": lambda r: "NR" + "AK-" + _draw(r, UPPER, 27),
    "elevenlabs": lambda r: "s" + "k_" + _draw(r, HEX, 48),
    "toss": lambda r: "live" + "_sk_" + _draw(r, ALNUM, 30),
    "age": lambda r: "AGE-" + "SECRET-KEY-1" + _draw(r, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
}

# --- numbers with a check ---------------------------------------------------------------------------------------------


def _luhn_digit(digits: str) -> str:
    total = sum(sum(divmod(int(d) * 2, 10)) if i % 2 == 0 else int(d) for i, d in enumerate(reversed(digits)))
    return str(-total % 10)


def _card(rng: Rng) -> str:
    prefix, length, cuts = rng.choice(
        (
            ("4", 16, (4, 8, 12)),
            (str(rng.randrange(51, 56)), 16, (4, 8, 12)),
            (str(rng.randrange(2221, 2721)), 16, (4, 8, 12)),
            ("6011", 16, (4, 8, 12)),
            ("3530", 16, (4, 8, 12)),
            (rng.choice(("34", "37")), 15, (4, 10)),
            ("36", 14, (4, 10)),
        )
    )
    body = prefix + "".join(rng.choice(string.digits) for _ in range(length - len(prefix) - 1))
    number = body + _luhn_digit(body)
    separator = rng.choice(("", " ", "-"))
    edges = (0, *cuts, length)
    return separator.join(number[a:b] for a, b in itertools.pairwise(edges))


def _resident_number(rng: Rng, separator: str = "-") -> str:
    born = date(1940, 1, 1) + timedelta(days=rng.randrange(31_000))
    sex = rng.choice("12" if born.year < 2000 else "34")
    digits = born.strftime("%y%m%d") + sex + "".join(rng.choice(string.digits) for _ in range(5))
    total = sum(int(d) * w for d, w in zip(digits, (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5), strict=True))
    check = str((11 - total % 11) % 10) if born < date(2020, 10, 1) else rng.choice(string.digits)
    return f"{digits[:6]}{separator}{digits[6:]}{check}"


def _iban(rng: Rng) -> str:
    country, shape = rng.choice(
        (("DE", "18d"), ("FR", "23d"), ("GB", "4a14d"), ("NL", "4a10d"), ("ES", "20d"), ("CH", "17d"), ("AT", "16d"))
    )
    body = ""
    count = ""
    for character in shape:
        if character.isdigit():
            count += character
            continue
        alphabet = string.digits if character == "d" else string.ascii_uppercase
        body += "".join(rng.choice(alphabet) for _ in range(int(count)))
        count = ""
    remainder = int("".join(str(int(c, 36)) for c in f"{body}{country}00")) % 97
    whole = f"{country}{98 - remainder:02d}{body}"
    return whole if rng.random() < 0.5 else " ".join(whole[i : i + 4] for i in range(0, len(whole), 4))


# --- several lines ----------------------------------------------------------------------------------------------------


def _pem(rng: Rng) -> str:
    kind = rng.choice(("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "))
    lines = [_draw(rng, BASE64, 64) for _ in range(rng.randrange(3, 12))] + [_draw(rng, BASE64, 30) + "=="]
    dashes = "-" * 5
    whole = [f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}", *lines, f"{dashes}END {kind}PRIVATE KEY{dashes}"]
    cut = rng.randrange(4)
    if cut == 0:
        whole = whole[:-2]
    text = "\n".join(whole)
    return text.replace("\n", "\\n") if cut == 1 else text


def _seed_phrase(rng: Rng) -> str:
    chosen = [rng.choice(SEED_WORDS) for _ in range(rng.choice((12, 12, 15, 18, 24)))]
    style = rng.randrange(5)
    if style == 0:
        return ", ".join(chosen)
    if style == 1:
        return "\n".join(f"{n}. {word}" for n, word in enumerate(chosen, 1)).removeprefix("1. ")
    if style == 2:
        return " ".join(chosen).upper()
    return " ".join(chosen)


# --- what carries them -----------------------------------------------------------------------------------------------

_KEY_CARRIERS = (
    "here's my key {} , please put it in the env file",
    "export API_KEY={}",
    "use {} for the staging account",
    "curl -H 'x-api-key: {}' https://api.example.com/v1/models",
    'client = Client(api_key="{}")',
    "키는 {} 입니다. 잘 보관해 줘",
    "이걸로 해줘: {}",
    "I rotated it, the new one is {}.",
    '{{"apiKey": "{}", "model": "auto"}}',
    "`{}`",
    "token:\n{}\nthanks!",
    "({})",
)
_KEY_CARRIERS_HELD_OUT = (
    "so I pasted {} into the dashboard and it still says 401",
    "api_key: {}",
    "Set it with `tool login --token {}`",
    "요금 청구 계정 키 {} 로 바꿔 주세요",
    "**Key:** {}",
    "https://api.example.com/v1?key={}",
    "- {}",
    "{}",
    "const k = '{}';",
    "서버에 {}를 넣었어",
)

_PASSWORD_EN = (
    "my password is {}",
    "My password is {}, don't tell anyone",
    "the wifi password is {}",
    "The password for the staging server is {}.",
    "password: {}",
    "Password = {}",
    "user alice, password {}",
    "I changed my password to {}",
    "ssh into it with password {} and restart nginx",
    "ID: alice PW: {}",
    'the admin password is "{}" and the user is root',
    "new passcode is `{}`",
    "the passphrase is {}",
    "My Netflix password's {}",
    "my email password was {} until last week",
)
_PASSWORD_EN_HELD_OUT = (
    "btw my gmail password is {}",
    "Password for the router: {}",
    "login alice, password: {}",
    "the password is now {}",
    "set the password to {} please",
    "My password is: {}",
    "his pwd is {}",
    "password is {} if you need it",
    "we reset the database password to '{}'",
    "Passphrase: {}",
)
_PASSWORD_WORD_EN = (
    "my password is {}",
    "the wifi password is {}.",
    "my password is '{}'",
    "password: {}",
    "my laptop passcode is {}, ok?",
)
_PASSWORD_WORD_HELD_OUT = ("The guest password is {}", "my password is {}, remember it", "Password: {}", "my pwd is {}")
_PASSWORD_KO = (
    "내 비밀번호는 {}야",
    "비밀번호는 {}입니다",
    "비번은 {} 이에요",
    "와이파이 비밀번호: {}",
    "비밀번호를 {}로 바꿨어",
    "넷플릭스 비번 {} 이야",
    "관리자 암호는 {}예요.",
    "패스워드는 {}임",
    "아이디는 alice, 비밀번호는 {}",
    "비밀번호가 {}라고 했잖아",
)
_PASSWORD_KO_HELD_OUT = (
    "공유기 비번은 {}야 기억해줘",
    "비밀번호 {}",
    "서버 암호: {}",
    "비밀번호는 {} 입니다.",
    "비번을 {}으로 변경했어요",
    "아이디 alice 비번 {}",
    "내 구글 비밀번호는 {}이야",
)
_PASSWORD_KO_WORD = ("내 비밀번호는 {}야", "와이파이 비번은 {}입니다", "암호는 {}예요")
_PASSWORD_KO_WORD_HELD_OUT = ("비밀번호는 {}야. 기억해 둬", "공유기 비번은 {}입니다", "비밀번호: {}")

_ASSIGNMENTS = (
    "DB_PASSWORD={}",
    "export DATABASE_PASSWORD='{}'",
    '"password": "{}",',
    "  password: {}",
    "JWT_SECRET={}\nPORT=3000",
    'SECRET_KEY = "{}"',
    "client_secret: {}",
    '{{"clientSecret":"{}"}}',
    "AUTH_TOKEN={}",
    "OPENCLAW_GATEWAY_TOKEN={}",
    "aws_secret_access_key = {}",
    "encryption_key: '{}'",
    "mysql -u root --password={} shop",
    "TWILIO_AUTH_TOKEN={}",
    "Server=db;Database=shop;User Id=sa;Password={};Encrypt=true",
    "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",
    "curl 'https://api.example.com/items?access_token={}&page=2'",
    "NAVER_CLIENT_SECRET={}",
)
_ASSIGNMENTS_HELD_OUT = (
    "REDIS_PASSWORD={}\nREDIS_PORT=6379",
    "POSTGRES_PASSWORD: {}",
    "export SESSION_SECRET={}",
    '  "secretKey": "{}"',
    "KAKAO_REST_API_KEY={}",
    "spring.datasource.password={}",
    "PGPASSWORD={} psql -h db",
    "webhook_secret = '{}'",
    "refresh_token: {}",
    'os.environ["API_TOKEN"] = "{}"',
    "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}",
    "tool deploy --api-key {} --region eu",
)

_SCHEMES = ("postgres", "postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp", "smtp", "mssql+pyodbc")
_URLS = ("the database is at {} now", "DATABASE_URL={}", "git clone {}", "{}", "접속 주소는 {} 입니다", 'url = "{}"')
_HEADERS = (
    "Authorization: Bearer {}",
    "curl -H 'Authorization: Bearer {}' https://api.example.com",
    '"Authorization": "Bearer {}"',
    "authorization: bearer {}\naccept: */*",
    "it sends Bearer {} with every call",
    'headers = {{"Authorization": f"Token {}"}}',
)
_COOKIES = (
    "Cookie: {}\nHost: example.com",
    "-H 'cookie: {}'",
    "Cookie: theme=dark; {}",
)
_SENTENCES = (
    "note this down: {}",
    "{}",
    "it was {} I think",
    "번호는 {} 이야",
    "here you go:\n{}\nthanks",
    "pay with {} please",
    '{{"value": "{}"}}',
)
_SENTENCES_HELD_OUT = ("charge it to {}, ok?", "이거 써 {}", "- {}", "(it is {})", "값: {}")
_SEEDS = ("my seed phrase is {}", "{}", "recovery words:\n{}\n", "복구 문구는 {} 입니다", "wallet backup: {}.")
_SEEDS_HELD_OUT = ("please store this: {}", "지갑 {}", "the 12 words are {}", "mnemonic = {}")


def _url_password(rng: Rng) -> str:
    return _draw(rng, ALNUM + "!$%.-_", rng.randrange(8, 24)) + rng.choice(ALNUM)


def _basic(rng: Rng) -> str:
    return _b64(f"{rng.choice(_WORDS)}:{_password(rng)}")


def _cookie(rng: Rng) -> str:
    name = rng.choice(("sessionid", "PHPSESSID", "JSESSIONID", "connect.sid", "auth_token", "_gitlab_session", "sid"))
    return f"{name}={_draw(rng, ALNUM, rng.randrange(24, 64))}"


def _filled(group: str, carriers: tuple[str, ...], make: Maker, rng: Rng, count: int) -> Iterator[Case]:
    """`count` messages; where a carrier has its own prefix, the secret is what was put into it."""
    for number in range(count):
        carrier = carriers[number % len(carriers)]
        secret = make(rng)
        yield Case(group, carrier.format(secret), secret)


def positives(seed: int, *, held_out: bool = False) -> tuple[Case, ...]:
    """About 900 messages with one secret each, in 20 groups."""
    rng = Rng(seed)
    keys, sentences, seeds = (
        (_KEY_CARRIERS_HELD_OUT, _SENTENCES_HELD_OUT, _SEEDS_HELD_OUT)
        if held_out
        else (_KEY_CARRIERS, _SENTENCES, _SEEDS)
    )
    found: list[Case] = []
    for make in PROVIDERS.values():
        found += _filled("provider key", tuple(rng.sample(keys, 4)), make, rng, 4)
    plans: tuple[tuple[str, tuple[str, ...], tuple[str, ...], Maker, int], ...] = (
        ("password in English", _PASSWORD_EN, _PASSWORD_EN_HELD_OUT, _password, 90),
        ("password that is a word, English", _PASSWORD_WORD_EN, _PASSWORD_WORD_HELD_OUT, _plain_word, 50),
        ("password in Korean", _PASSWORD_KO, _PASSWORD_KO_HELD_OUT, _password, 90),
        (
            "password that is a word, Korean",
            _PASSWORD_KO_WORD,
            _PASSWORD_KO_WORD_HELD_OUT,
            lambda r: r.choice(_HANGUL_WORDS),
            50,
        ),
        (
            "passphrase of words",
            ("my password is {}", "passphrase: {}."),
            ("the passphrase is '{}'", "my passphrase is {}"),
            _phrase,
            50,
        ),
        ("assignment", _ASSIGNMENTS, _ASSIGNMENTS_HELD_OUT, _long_password, 90),
        ("bearer", _HEADERS, _HEADERS[::-1], _part(URLSAFE + ".", 40, after="x"), 60),
        ("jwt", (*_HEADERS, *sentences), (*_HEADERS, *sentences), _jwt, 60),
        (
            "basic",
            ("Authorization: Basic {}", "-H 'authorization: basic {}'"),
            ('"Authorization": "Basic {}"',),
            _basic,
            50,
        ),
        ("cookie", _COOKIES, _COOKIES[::-1], _cookie, 60),
        (
            "set-cookie",
            ("Set-Cookie: sid={}; Path=/; HttpOnly", "< set-cookie: auth={}; Secure"),
            ("Set-Cookie: id={}",),
            _part(ALNUM, 32),
            50,
        ),
        ("card number", sentences, sentences, _card, 90),
        ("resident number", sentences, sentences, _resident_number, 70),
        (
            "resident number, no hyphen",
            ("주민등록번호 {}", "주민번호는 {} 이야"),
            ("주민번호: {}",),
            lambda r: _resident_number(r, ""),
            50,
        ),
        ("iban", sentences, sentences, _iban, 80),
        ("private key", sentences, sentences, _pem, 60),
        ("seed phrase", seeds, seeds, _seed_phrase, 70),
        (
            "pin",
            ("my pin is {}", "card PIN: {}", "the door pin is {}."),
            ("my PIN is {}", "PIN번호는 {}이야"),
            lambda r: f"{r.randrange(1000, 9999)}",
            50,
        ),
    )
    for group, tuning, other, make, count in plans:
        found += _filled(group, other if held_out else tuning, make, rng, count)
    for number in range(70):
        secret = _url_password(rng)
        user = rng.choice(("admin", "app", "", "svc-mail", "alice%40example.com"))
        url = f"{rng.choice(_SCHEMES)}://{user or 'default'}:{secret}@db{number}.example.com:5432/shop"
        found.append(Case("password in a URL", _URLS[number % len(_URLS)].format(url), secret))
    for number in range(50):
        key, secret = PROVIDERS["aws-id"](rng), _draw(rng, BASE64, 40)
        text = (f"{key}\n{secret}", f"aws keys: {key} / {secret}", f"id {key}, secret {secret}")[number % 3]
        found.append(Case("cloud credentials", text, secret))
    return tuple(found)


# --- what stays -------------------------------------------------------------------------------------------------------


def _commit(rng: Rng) -> str:
    return _draw(rng, HEX, rng.choice((7, 8, 10, 40)))


def _digest(rng: Rng) -> str:
    name, length = rng.choice((("md5", 32), ("sha1", 40), ("sha256", 64), ("sha512", 128)))
    return rng.choice(("", f"{name}:")) + _draw(rng, HEX, length)


def _uuid(rng: Rng) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _phone(rng: Rng) -> str:
    a, b, c = rng.randrange(200, 999), rng.randrange(1000, 9999), rng.randrange(1000, 9999)
    return rng.choice(
        (f"010-{b}-{c}", f"+82 10 {b} {c}", f"+1 ({a}) 555-{c}", f"02-{a}-{c}", f"+4930{b}{c}", f"010{b}{c}")
    )


def _isbn(rng: Rng) -> str:
    body = "978" + "".join(rng.choice(string.digits) for _ in range(9))
    total = sum(int(d) * (3 if i % 2 else 1) for i, d in enumerate(body))
    digits = body + str(-total % 10)
    return rng.choice((digits, f"{digits[:3]}-{digits[3:5]}-{digits[5:9]}-{digits[9:12]}-{digits[12]}"))


def _order(rng: Rng) -> str:
    digits = "".join(rng.choice(string.digits) for _ in range(rng.choice((10, 12, 13, 16, 18))))
    return rng.choice(("", "ORD-", "#", "KR")) + digits


def _not_a_card(rng: Rng) -> str:
    card = _card(rng)
    return card[:-1] + str((int(card[-1]) + rng.randrange(1, 9)) % 10)


def _price(rng: Rng) -> str:
    n = rng.randrange(1000, 9_999_999)
    return rng.choice((f"₩{n:,}", f"${n / 100:,.2f}", f"{n:,}원", f"EUR {n}"))


def _when(rng: Rng) -> str:
    day = date(1990, 1, 1) + timedelta(days=rng.randrange(15_000))
    return rng.choice(
        (
            day.isoformat(),
            day.strftime("%Y%m%d") + f"-{rng.randrange(100000, 999999)}",
            day.strftime("%y%m%d"),
            f"{rng.randrange(1_600_000_000_000, 1_900_000_000_000)}",
            day.strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
    )


def _image(rng: Rng) -> str:
    return "data:image/png;base64," + base64.b64encode(rng.randbytes(90)).decode()


def _integrity(rng: Rng) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(rng.randbytes(8)).digest()).decode()


_THINGS: tuple[tuple[Maker, tuple[str, ...], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        _commit,
        ("fixed in {}", "the bug came in with commit {}, see the log"),
        ("커밋 {} 에서 고쳤어",),
        ("git revert {}", '"commit": "{}",'),
    ),
    (
        _digest,
        ("the checksum is {}", "its digest was {}."),
        ("체크섬은 {} 이야",),
        ("{}  dist/app.tar.gz", 'digest = "{}"'),
    ),
    (_uuid, ("session {} was reset", "the request id is {}"), ("세션 {} 을 봐줘",), ('"id": "{}"', "session_id: {}")),
    (
        _phone,
        ("call me at {}", "her number is {}, after six"),
        ("전화번호는 {} 이야", "엄마 번호 {}"),
        ('phone = "{}"',),
    ),
    (_isbn, ("the book is ISBN {}", "I bought {} last week"), ("책 ISBN은 {} 이야",), ('"isbn": "{}"',)),
    (_order, ("order {} ships on Friday", "tracking number {}"), ("주문번호 {} 확인해줘",), ('"order_id": "{}"',)),
    (_not_a_card, ("reference {} on the invoice",), ("관리번호 {} 입니다",), ('"ref": "{}"',)),
    (_price, ("it costs {}", "we paid {} for it"), ("가격은 {} 이야", "월세가 {}"), ('"price": "{}"',)),
    (_when, ("it happened at {}", "the backup {} is fine"), ("{} 에 만나자",), ('"at": "{}"', "cp db-{}.sql /tmp")),
    (_image, ("the picture: {}",), ("사진 {}",), ("<img src='{}'>",)),
    (_integrity, ("npm says {}",), ("무결성 값 {}",), ('"integrity": "{}",',)),
)

_STAYS_EN = """
my password is too weak
my password is not working
My password is expired again
the password is wrong
your password is incorrect, please try again
my password is the same as before
my password is in 1Password
the password is stored in the vault
my password is really hard to remember
The password is required
a password must be at least 12 characters
Password: required
password is case sensitive
the wifi password is on the fridge
my password is secure
I forgot my password
please reset my password
I changed my password yesterday
Can you remind me to change my password on Friday?
a password manager is a good idea
The key to success is patience
the key is to start early
what is the secret to a good sourdough?
the secret is slow fermentation
the token budget is 4096
we have a token budget of 200k per day
max tokens: 4096
each token is about four characters
the token is invalid
my token expired yesterday
the session token was revoked
Bearer bonds are rarely used today
the bearer of bad news
a basic introduction to baking
basic knowledge of Python is enough
the cookie recipe: 200 g flour, 100 g sugar
cookie: chocolate chip, please
I love cookies and tea
the monkey: a short story
my pin is broken, the one on the jacket
pin 13 is the built-in LED
pin this message please
PIN code 560001, Bangalore
the primary key is user_id
press any key to continue
the API key is stored in the keychain
we should rotate the API key next week
the api key is missing
the secret santa draw is on Monday
authorization is required for this endpoint
the credentials are in the team vault
12 Main Street, Springfield, IL 62704
350 Fifth Avenue, New York, NY 10118
the passport is in the drawer
she passed the exam
compass: north
pass the salt, please
password reset emails are delayed
the password policy is strict
password rules are annoying
is the password field hidden?
the password hash is stored with a salt
what is my password?
tell me if my password is good enough
my password is never shared with anyone
the password was changed by the admin
the password was leaked in a breach
passwords are hashed with argon2
The passphrase is optional
the passcode is needed at the door
your password is about to expire
a new password is on its way
the password is being reset
password is blank
password is empty by default
the default password is documented in the manual
the password prompt is annoying
my password is long enough
the passphrase is a bit too short
the secret is out
keep it secret: nobody may know
she is the key person: Alice
token: a thing that serves as a symbol
our wallet is empty and the seed is planted
about above absent abstract people always walk along the river
we use OAuth, so no password is needed
the password is case-insensitive
my password is confidential
the password is visible to everyone
my password is better than yours
password protected files are skipped
he asked for my password: I said no
the password is always the same
the password is none of your business
the password is only known to Bob
the credit card is in my wallet
the card ends in 4242
my IBAN is in the contract
what is an IBAN?
the social security office is closed
""".strip().splitlines()

_STAYS_KO = """
비밀번호는 너무 약해
비밀번호를 바꿨어
비밀번호를 잊어버렸어
비밀번호가 틀렸대
비밀번호는 필수입니다
비밀번호는 8자 이상이어야 해
비밀번호는 1Password에 저장돼 있어
비밀번호는 비밀이야
비밀번호 관리자를 추천해줘
비밀번호는 90일마다 바꿔야 해
비밀번호는 뭐야?
비밀번호가 뭐였지?
비밀번호가 문제야
비밀번호는 안전해
비밀번호를 다시 설정해줘
비밀번호는 필요 없어
비밀번호 재설정 메일이 안 와
비번은 나중에 알려줄게
비번이 기억이 안 나
비번 바꾸는 법 알려줘
암호는 잊었어
암호화는 중요해
암호화폐는 어렵다
암호를 걸어 두었어
패스워드 정책이 너무 엄격해
비밀번호는 어디에 저장하는 게 좋아?
비밀번호는 금고에 있어
비밀번호는 같은 걸 쓰지 마
비밀번호: 필수 입력
비밀번호: 8자 이상
비밀번호는 예전 그대로야
비밀번호는 회사 거야
비밀번호는 길수록 좋다
토큰 예산은 하루 20만이야
토큰이 만료됐어
토큰은 얼마나 써?
API 키는 키체인에 있어
API 키를 바꿔야 해
성공의 열쇠는 꾸준함이야
비밀 하나 알려줄게
비결은 천천히 하는 거야
쿠키를 구웠어
쿠키: 초코칩 하나
서울특별시 강남구 테헤란로 152
우편번호는 06236 이야
주민등록번호 뒷자리는 말하지 마
주민번호는 알려주지 않을래
계좌번호는 나중에 보낼게
카드를 잃어버렸어
핀이 부러졌어
핀번호를 잊었어
인증 메일이 안 와
세션을 새로 시작해줘
키는 175야
키가 크다
내 키는 180cm 이야
비밀번호를 LastPass로 관리해
비밀번호는 KeePass에서 찾아봐
비밀번호를 추천해 줄래?
비밀번호 힌트는 고양이 이름이야
비밀번호는 엄마가 알아
비밀번호가 유출됐다고 해
비밀번호는 아무한테도 말하지 마
비밀번호는 없는데
비밀번호는 나만 알아
암호는 특별한 게 아니야
비번 까먹었어
비번이 자꾸 틀려
""".strip().splitlines()

_STAYS_CODE = """
max_tokens=4096
"max_tokens": 4096,
"total_tokens": 18233
tokenizer = AutoTokenizer.from_pretrained("gpt2")
password: str
password = None
password = os.environ["DB_PASSWORD"]
password=password
connect(user=user, password=password, host=host)
token = get_token()
token = request.headers.get("Authorization")
const token = localStorage.getItem("token");
api_key = settings.api_key
api_key: ${API_KEY}
API_KEY=$API_KEY
API_KEY=<your-api-key>
API_KEY=your_api_key_here
API_KEY=
password: "********"
password: xxxxxxxx
"password": null
"password": true,
secret: {{ vault_secret }}
secretName: my-app-secret
secretKeyRef: { name: db, key: password }
password_hash = hash_password(password)
password_file: /run/secrets/db_password
primary_key=True
foreign_key: user_id
public_key: ./keys/id.pub
sort_key = "created_at"
cache_key = f"user:{user_id}"
"key": "value"
for key, value in items.items():
keyboard: us
token_type: bearer
"token_type": "Bearer"
nextPageToken: CAUQAA
if not password: raise ValueError("password is required")
def login(username: str, password: str) -> Token:
<input type="password" name="password" placeholder="Password">
<label for="password">Password:</label>
assert token == expected_token
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
headers["Authorization"] = f"Bearer {token}"
curl -H "Authorization: Bearer ${TOKEN}" https://api.example.com
git commit -m "fix: token refresh"
http://localhost:8080/api/v1
https://example.com:443/path
postgres://localhost:5432/shop
postgres://user@localhost/shop
postgres://${DB_USER}:${DB_PASSWORD}@${DB_HOST}/shop
postgres://user:password@localhost/shop
git@github.com:acme/widgets.git
ssh://git@github.com/acme/widgets.git
image: ghcr.io/acme/widgets:1.2.3
session_timeout: 3600
document.cookie
response.set_cookie("theme", "dark")
res.cookie('name', value)
cookie_consent = true
passport.authenticate("jwt")
pass
    pass  # nothing to do
compass_url: https://example.com
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
sk-learn is not the name, scikit-learn is
task-runner-with-a-very-long-name-indeed
npm_config_registry=https://registry.example.com
npm_package_version
hf_transfer is fast
basic_auth: true
auth: none
auth_method = "oauth2"
secret = secrets.token_hex(16)
SECRET_KEY = env("SECRET_KEY")
stop_token = "<|endoftext|>"
eos_token_id: 50256
pad_token: "[PAD]"
private_key_path=/etc/ssl/private/server.key
private String password;
String token = jwtService.create(user);
let password = prompt("Password? ");
PASSWORD_MIN_LENGTH=12
TOKEN_EXPIRY=3600
password.length >= 8
key=lambda item: item.name
sorted(items, key=len)
ALTER USER app WITH PASSWORD :pw
mysql -u root -p
ssh-keygen -t ed25519
model: anthropic/claude-sonnet-4.5
version: 2026.9.6
password: process.env.DB_PASSWORD,
apiKey: process.env.OPENAI_API_KEY
"apiKey": "${OPENAI_API_KEY}"
[password 3f2a]
token = "[token 90ab]"
""".strip().splitlines()

_STAYS_HELD_OUT = {
    "English": """
my old password was terrible
the password is somewhere in my notes
your password is due for a change
my password is safe with me
Password: see the wiki
password is optional here
the password is different on each machine
I set the password to something memorable
the password is the name of our first dog
we changed the password to a longer one
my password is annoyingly long
password: forgotten
the passcode is not accepted
the router password is printed on the back
the pin is mightier than the sword
is the API key valid for both regions?
our token is used up
the secret ingredient is cardamom
her secret: butter
cookies: oatmeal, ginger
Basic income was discussed at length
the bearer must show a passport
recovery words are written on paper
the account key is with Tom
access to the garage: ask Maria
session notes: bring the slides
the credentials expire in March
a private key never leaves the device
the combination of salt and pepper
remind me to pay 1,234.56 by Friday
""",
    "Korean": """
비밀번호는 복잡해야 해
비밀번호는 지난번이랑 똑같아
비밀번호를 자주 바꾸는 편이야
비번은 노트에 적어 놨어
비번이 뭔지 알아?
비밀번호: 담당자에게 문의
암호는 대소문자를 구분해
암호를 까먹지 않게 해줘
패스워드는 관리자가 바꿔줄 거야
비밀번호는 10자리로 해야 돼
비밀번호는 보안상 말할 수 없어
비밀번호는 Bitwarden으로 옮겼어
토큰은 다 썼어
쿠키는 맛있다
카드 번호는 안 알려줄래
핀번호는 비밀이야
""",
    "code": """
password: String,
passwordField.sendKeys(value)
self.password = password
this.token = token;
"tokens": {"input": 1200, "output": 340}
secrets: inherit
token: ${{ secrets.GITHUB_TOKEN }}
env: API_KEY
key: "name"
"secret": false
api_key=None
API_KEY=changeme
password = getpass.getpass("Password: ")
password = config["password"]
password = input()
const { password } = req.body;
auth_token = generate_token(user)
private_key = load_key(path)
token_limit = 8192
TOKEN_BUDGET=200000
session_id = uuid4()
if (token === null) return;
redis://localhost:6379/0
http://user@example.com/
basic = HTTPBasicAuth(user, password)
cookies = requests.cookies.RequestsCookieJar()
SELECT password FROM users WHERE id = 1
grep -rn "password" src/
total_tokens: 1_234_567
ACCESS_TOKEN_EXPIRE_MINUTES=30
""",
}

_STAYS = {"English": _STAYS_EN, "Korean": _STAYS_KO, "code": _STAYS_CODE}


def negatives(seed: int, *, held_out: bool = False) -> tuple[Case, ...]:
    """More than 500 messages in English, Korean and code where everything stays."""
    rng = Rng(seed)
    lines = {group: text.strip().splitlines() for group, text in _STAYS_HELD_OUT.items()} if held_out else _STAYS
    found = [Case(group, line) for group, texts in lines.items() for line in texts]
    for make, english, korean, code in _THINGS:
        for group, carriers in (("English", english), ("Korean", korean), ("code", code)):
            for number in range(14):
                found.append(Case(group, carriers[number % len(carriers)].format(make(rng))))
    return tuple(found)


def secret_of(name: str, seed: int = 0) -> str:
    """One secret of the provider `name`."""
    return PROVIDERS[name](Rng(seed))
