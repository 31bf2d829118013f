"""Kinds of secrets: each makes random values in its vendor's published format.

No value stands in this file: prefixes are put together at run time, everything else is drawn from the generator.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import string
import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import quote

Role = Literal["value", "assignment", "command", "header", "file"]
Gen = Callable[[random.Random], str]

SHORTEST: Final = 8
DISTINCT: Final = 6
_ATTEMPTS: Final = 200

HEX: Final = "0123456789abcdef"
DIGITS: Final = string.digits
LETTERS: Final = string.ascii_letters
LOWER: Final = string.ascii_lowercase + string.digits
UPPER: Final = string.ascii_uppercase + string.digits
ALNUM: Final = string.ascii_letters + string.digits
BASE62: Final = string.digits + string.ascii_uppercase + string.ascii_lowercase
URLSAFE: Final = ALNUM + "-_"
BASE64: Final = ALNUM + "+/"
BASE32: Final = string.ascii_uppercase + "234567"
BASE58: Final = "".join(c for c in ALNUM if c not in "0OIl")
BECH32: Final = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
SYMBOLS: Final = "!#%&*+-=?@^_~.:"

_WORD_LIST: Final = """
absorb acoustic address advice album anchor animal antenna apple arctic artist autumn badge balance bamboo banner basket
beach bicycle blanket blossom border bottle bracket bridge bronze bubble butter cabin cactus camera candy canyon carpet
castle catalog cattle century cereal champion cherry chimney cinnamon circle clarify clever clinic cluster coconut
column comfort copper coral cotton cradle cricket crystal cushion dance daring dawn debris decade deer denial desert
diagram diesel dinosaur dolphin donkey dragon drift eagle earth echo elbow elegant elephant emerge energy engine
envelope escape evidence exotic fabric faculty family fantasy fashion feather festival fiction filter flavor flower
forest fossil fragile frozen galaxy garden garlic gather gesture giraffe glance gossip gravity grocery guitar habit
hammer harvest hazard hedgehog hidden history hockey honey horizon humble hybrid iceberg imitate income insect inspire
island ivory jacket jaguar jealous jewel journey jungle kangaroo ketchup kidney kitchen ladder language laptop lava
lecture legend lemon leopard liberty lizard lobster lottery lumber machine magnet mammal mango marble market maximum
meadow medal melody mercy midnight minimum mirror mixture monitor moral mosquito mountain muffin mushroom mystery
naive napkin nature nephew network noble notable nuclear object october olympic onion orange orbit orchard ostrich
oxygen oyster paddle palace panther parade parrot pattern peanut pelican pepper phrase piano pigeon pioneer planet
plastic poem polar pottery predict pudding pumpkin puzzle pyramid quality quantum rabbit raccoon ranch raven rebuild
recycle region rhythm ribbon ritual river rocket romance rough saddle salmon satoshi sausage scatter science scorpion
season segment shadow shallow shiver silver sketch slender smooth soccer solar spatial spider spirit squirrel stadium
stairs sunset surprise swallow symbol talent tennis thunder ticket timber tobacco tomato tornado tourist traffic trumpet
tunnel turtle twelve umbrella unicorn urban vacuum valley vanish velvet venture vibrant village vintage violin volcano
voyage walnut wealth weasel whisper winter wisdom wrestle yellow zebra
"""
_WORDS: Final = _WORD_LIST.split()


@dataclass(frozen=True)
class Made:
    """A fragment as it appears, and the parts of it that must vanish."""

    text: str
    secrets: tuple[str, ...]


@dataclass(frozen=True)
class Kind:
    """A kind of secret: what it is called, how one is made, and what stands to the left of it in real life.

    `role` says what a fragment is: a bare value, or a text that brings its own surroundings.
    """

    name: str
    family: str
    make: Callable[[random.Random], Made]
    context_name: str
    role: Role = "value"


@dataclass(frozen=True)
class _Hidden:
    part: str | Gen


Part = str | Gen | _Hidden

# --- Pieces ----------------------------------------------------------------------------------------------------------


def draw(rng: random.Random, alphabet: str, count: int) -> str:
    """So many characters of an alphabet, each as likely as the others."""
    return "".join(rng.choices(alphabet, k=count))


def some(alphabet: str, count: int, most: int | None = None) -> Gen:
    """Draws `count` characters, or any number up to `most`."""
    return lambda rng: draw(rng, alphabet, rng.randint(count, most or count))


def join(*parts: str | Gen) -> Gen:
    """One after the other."""
    return lambda rng: "".join(part if isinstance(part, str) else part(rng) for part in parts)


def one_of(*options: str | Gen) -> Gen:
    """One of several."""
    return lambda rng: join(rng.choice(options))(rng)


def hide(*parts: str | Gen) -> _Hidden:
    """What must vanish from a fragment."""
    return _Hidden(join(*parts))


def uuid4(rng: random.Random) -> str:
    """A random UUID."""
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def b64(make: Callable[[random.Random], bytes | str], *, urlsafe: bool = False, padded: bool = True) -> Gen:
    """What is made, in Base64."""

    def encoded(rng: random.Random) -> str:
        made = make(rng)
        raw = made.encode() if isinstance(made, str) else made
        text = (base64.urlsafe_b64encode if urlsafe else base64.b64encode)(raw).decode()
        return text if padded else text.rstrip("=")

    return encoded


def noise(count: int, head: bytes = b"") -> Callable[[random.Random], bytes]:
    """Random bytes behind a fixed head."""
    return lambda rng: head + rng.randbytes(count)


def document(make: Callable[[random.Random], dict[str, Any]]) -> Gen:
    """A compact JSON document."""
    return lambda rng: json.dumps(make(rng), separators=(",", ":"))


def _checked(*prefix: str) -> Gen:
    """30 characters and their CRC-32 in Base62, as GitHub and npm make tokens."""

    def token(rng: random.Random) -> str:
        entropy = draw(rng, BASE62, 30)
        rest, digits = binascii.crc32(entropy.encode()), ""
        for _ in range(6):
            rest, digit = divmod(rest, 62)
            digits = BASE62[digit] + digits
        return "".join(prefix) + entropy + digits

    return token


def _grafana(rng: random.Random) -> str:
    body = "sa_" + draw(rng, ALNUM, 32)
    return f"gl{body}_{struct.pack('<I', binascii.crc32(('gl' + body).encode())).hex()}"


def word(rng: random.Random) -> str:
    """A common English word."""
    return rng.choice(_WORDS)


def phrase(rng: random.Random) -> str:
    """A password that a person can remember."""
    mark = rng.choice("-_.!")
    return f"{word(rng).title()}{mark}{word(rng).title()}{mark}{draw(rng, DIGITS, rng.randint(2, 4))}"


def strong(symbols: str = SYMBOLS, least: int = 14, most: int = 24) -> Gen:
    """A generated password in which letters, digits and symbols stand."""

    def password(rng: random.Random) -> str:
        body = draw(rng, ALNUM, rng.randint(least, most) - 4) + draw(rng, symbols, 2)
        chars = [*body, rng.choice(DIGITS), rng.choice(LETTERS)]
        rng.shuffle(chars)
        return rng.choice(LETTERS) + "".join(chars)

    return password


def percent(part: Gen) -> Gen:
    """Percent-encoded, as it stands in a URL."""
    return lambda rng: quote(part(rng), safe="")


PLAIN: Final = some(ALNUM, 14, 24)
HUMAN: Final = one_of(phrase, PLAIN, strong("-_.!@#%+="))
USER: Final = one_of("deploy", "app_user", "ci-bot", "svc_orders", "root", "reporting", "billing")
HOST: Final = join(one_of("db", "cache", "mq", "data", "primary"), some(DIGITS, 1), ".", word, ".internal")
DATABASE: Final = one_of("orders", "shop", "analytics", "billing_prod", "users")
DASHES: Final = "-" * 5

# --- How kinds are made ----------------------------------------------------------------------------------------------


def _fill(rng: random.Random, parts: tuple[Part, ...]) -> Made:
    texts: list[str] = []
    hidden: list[str] = []
    for part in parts:
        text = join(part.part if isinstance(part, _Hidden) else part)(rng)
        texts.append(text)
        if isinstance(part, _Hidden):
            hidden.append(text)
    whole = "".join(texts)
    return Made(whole, tuple(hidden) or (whole,))


def _is_rich(secret: str) -> bool:
    return len(secret) >= SHORTEST and len(set(secret)) >= DISTINCT


def _careful(make: Callable[[random.Random], Made]) -> Callable[[random.Random], Made]:
    """Draws again while a secret is short or monotonous."""

    def made(rng: random.Random) -> Made:
        for _ in range(_ATTEMPTS):
            result = make(rng)
            if all(map(_is_rich, result.secrets)):
                return result
        raise AssertionError("this kind makes no rich secrets")

    return made


def _kind(family: str, name: str, context: str, *parts: Part, role: Role = "value") -> Kind:
    return Kind(name, family, _careful(lambda rng: _fill(rng, parts)), context, role)


def _vendor(name: str, context: str, *parts: Part) -> Kind:
    return _kind("vendor", name, context, *parts)


def _cloud(name: str, context: str, *parts: Part, role: Role = "value") -> Kind:
    return _kind("cloud", name, context, *parts, role=role)


def _url(name: str, context: str, *parts: Part) -> Kind:
    return _kind("url", name, context, *parts)


def _header(name: str, *parts: Part) -> Kind:
    return _kind("header", name, "HTTP_HEADER", *parts, role="header")


def _file(name: str, context: str, *parts: Part) -> Kind:
    return _kind("file", name, context, *parts, role="file")


def _env(name: str, *parts: Part) -> Kind:
    return _kind("env", name, "LINE", *parts, role="assignment")


def _cli(name: str, *parts: Part) -> Kind:
    return _kind("cli", name, "LAST_COMMAND", *parts, role="command")


# --- Vendor tokens ---------------------------------------------------------------------------------------------------

_SLACK_ID: Final = some(DIGITS, 11, 13)
_JSON_HEAD: Final = "ey" + "J"


def _one_password(rng: random.Random) -> dict[str, Any]:
    groups = "-".join([draw(rng, UPPER, 6), draw(rng, UPPER, 6), *(draw(rng, UPPER, 5) for _ in range(4))])
    return {
        "signInAddress": "acme.1password.com",
        "userAuth": {
            "method": "SRPg-4096",
            "alg": "PBES2g-HS256",
            "iterations": 650000,
            "salt": draw(rng, URLSAFE, 22),
        },
        "email": f"{draw(rng, LOWER, 13)}@1passwordserviceaccounts.com",
        "srpX": draw(rng, HEX, 64),
        "muk": {"alg": "A256GCM", "ext": True, "k": draw(rng, URLSAFE, 43), "key_ops": ["encrypt"], "kid": "mp"},
        "secretKey": f"A3-{groups}",
        "throttleSecret": {"seed": draw(rng, HEX, 64), "uuid": draw(rng, BASE32, 26)},
        "deviceUuid": draw(rng, LOWER, 26),
    }


def _sentry_org(rng: random.Random) -> dict[str, Any]:
    return {
        "iat": rng.randint(16 * 10**8, 18 * 10**8) + rng.random(),
        "url": "https://sentry.io",
        "region_url": "https://us.sentry.io",
        "org": word(rng),
    }


def _grafana_cloud(rng: random.Random) -> dict[str, Any]:
    name = f"stack-{draw(rng, DIGITS, 6)}-hl-write"
    return {"o": draw(rng, DIGITS, 6), "n": name, "k": draw(rng, BASE64, 24), "m": {"r": "prod-eu-west-2"}}


def _macaroon(place: bytes) -> Callable[[random.Random], bytes]:
    def body(rng: random.Random) -> bytes:
        head = bytes([2, 1, len(place)]) + place + b"\x02$" + uuid4(rng).encode()
        return head + b"\x00\x02*[3," + json.dumps(uuid4(rng)).encode() + b"]\x00\x00\x06 " + rng.randbytes(32)

    return body


_INDEX: Final = b".".join((b"pypi", b"org"))
"""Where a token of the index says that it is good for; its first characters follow from it."""
_VENDORS: Final = (
    _vendor("github-pat", "GITHUB_TOKEN", _checked("gh", "p_")),
    _vendor("github-fine-grained", "GH_TOKEN", "github", "_pat_", some(ALNUM, 22), "_", some(ALNUM, 59)),
    _vendor("github-oauth", "GITHUB_OAUTH_TOKEN", _checked("gh", "o_")),
    _vendor("github-app-user", "GITHUB_USER_TOKEN", _checked("gh", "u_")),
    _vendor("github-app-server", "GITHUB_INSTALLATION_TOKEN", _checked("gh", "s_")),
    _vendor("github-refresh", "GITHUB_REFRESH_TOKEN", "gh", "r_", some(ALNUM, 76)),
    _vendor("gitlab-pat", "GITLAB_TOKEN", "gl", "pat-", some(URLSAFE, 20)),
    _vendor(
        "gitlab-routable",
        "GITLAB_ACCESS_TOKEN",
        "gl",
        "pat-",
        some(URLSAFE, 27, 60),
        ".0",
        some(LOWER, 1),
        ".",
        some(LOWER, 9),
    ),
    _vendor("gitlab-runner", "CI_RUNNER_TOKEN", "gl", "rt-", some(URLSAFE, 20)),
    _vendor("gitlab-deploy", "CI_DEPLOY_PASSWORD", "gl", "dt-", some(URLSAFE, 20)),
    _vendor("gitlab-trigger", "CI_TRIGGER_TOKEN", "gl", "ptt-", some(HEX, 40)),
    _vendor("gitlab-job", "CI_JOB_TOKEN", "gl", "cbt-", some(HEX, 2), "_", some(URLSAFE, 20)),
    _vendor("gitlab-feed", "GITLAB_FEED_TOKEN", "gl", "ft-", some(URLSAFE, 20)),
    _vendor("gitlab-oauth-app", "GITLAB_OAUTH_SECRET", "gl", "oas-", some(HEX, 64)),
    _vendor("gitlab-scim", "GITLAB_SCIM_TOKEN", "gl", "soat-", some(URLSAFE, 20)),
    _vendor("npm", "NPM_TOKEN", _checked("np", "m_")),
    _vendor("pypi", "TWINE_PASSWORD", "py", "pi-", b64(_macaroon(_INDEX), urlsafe=True, padded=False)),
    _vendor("testpypi", "TEST_PYPI_TOKEN", "py", "pi-", b64(_macaroon(b"test." + _INDEX), urlsafe=True, padded=False)),
    _vendor("rubygems", "GEM_HOST_API_KEY", "ruby", "gems_", some(HEX, 48)),
    _vendor("crates-io", "CARGO_REGISTRY_TOKEN", "ci", "o", some(ALNUM, 32)),
    _vendor("nuget", "NUGET_API_KEY", "oy", "2", some(string.ascii_lowercase + "234567", 43)),
    _vendor("clojars", "CLOJARS_PASSWORD", "CLO", "JARS_", some(HEX, 60)),
    _vendor("docker-pat", "DOCKERHUB_TOKEN", "dckr", "_pat_", some(URLSAFE, 27)),
    _vendor("docker-org", "DOCKER_ORG_TOKEN", "dckr", "_oat_", some(URLSAFE, 32)),
    _vendor("slack-bot", "SLACK_BOT_TOKEN", "xo", "xb-", _SLACK_ID, "-", _SLACK_ID, "-", some(ALNUM, 24)),
    _vendor(
        "slack-user",
        "SLACK_USER_TOKEN",
        "xo",
        "xp-",
        _SLACK_ID,
        "-",
        _SLACK_ID,
        "-",
        some(DIGITS, 13),
        "-",
        some(HEX, 32),
    ),
    _vendor("slack-app", "SLACK_APP_TOKEN", "xa", "pp-1-A0", some(UPPER, 9), "-", some(DIGITS, 13), "-", some(HEX, 64)),
    _vendor("slack-config", "SLACK_CONFIG_TOKEN", "xo", "xe.", "xo", "xp-1-", some(UPPER, 166)),
    _vendor("slack-refresh", "SLACK_REFRESH_TOKEN", "xo", "xe-1-", some(UPPER, 146)),
    _vendor(
        "discord-bot",
        "DISCORD_TOKEN",
        b64(some(DIGITS, 18, 19), padded=False),
        ".G",
        some(URLSAFE, 5),
        ".",
        some(URLSAFE, 38),
    ),
    _vendor("telegram-bot", "TELEGRAM_BOT_TOKEN", some("123456789", 1), some(DIGITS, 9), ":A", "A", some(URLSAFE, 33)),
    _vendor("stripe-live", "STRIPE_SECRET_KEY", "sk", "_live_", "51", some(ALNUM, 97)),
    _vendor("stripe-test", "STRIPE_API_KEY", "sk", "_test_", some(ALNUM, 24)),
    _vendor("stripe-restricted", "STRIPE_RESTRICTED_KEY", "rk", "_live_", "51", some(ALNUM, 97)),
    _vendor("stripe-webhook", "STRIPE_WEBHOOK_SECRET", "wh", "sec_", some(ALNUM, 32)),
    _vendor("square-access", "SQUARE_ACCESS_TOKEN", "EA", "AA", some(URLSAFE, 60)),
    _vendor("square-oauth", "SQUARE_APPLICATION_SECRET", "sq0", "csp-", some(URLSAFE, 43)),
    _vendor("twilio-auth", "TWILIO_AUTH_TOKEN", some(HEX, 32)),
    _vendor("twilio-key", "TWILIO_API_KEY", "S", "K", some(HEX, 32)),
    _vendor("sendgrid", "SENDGRID_API_KEY", "S", "G.", some(URLSAFE, 22), ".", some(URLSAFE, 43)),
    _vendor("mailgun-key", "MAILGUN_API_KEY", "ke", "y-", some(HEX, 32)),
    _vendor("mailgun-new", "MAILGUN_SENDING_KEY", some(HEX, 32), "-", some(HEX, 8), "-", some(HEX, 8)),
    _vendor("mailchimp", "MAILCHIMP_API_KEY", some(HEX, 32), "-us", some("123456789", 1)),
    _vendor("brevo", "BREVO_API_KEY", "xkey", "sib-", some(HEX, 64), "-", some(ALNUM, 16)),
    _vendor("postmark", "POSTMARK_SERVER_TOKEN", uuid4),
    _vendor("resend", "RESEND_API_KEY", "r", "e_", some(ALNUM, 8), "_", some(ALNUM, 24)),
    _vendor("openai-project", "OPENAI_API_KEY", "sk", "-proj-", some(URLSAFE, 74), "T3Blbk", "FJ", some(URLSAFE, 74)),
    _vendor(
        "openai-service", "OPENAI_API_KEY", "sk", "-svcacct-", some(URLSAFE, 74), "T3Blbk", "FJ", some(URLSAFE, 74)
    ),
    _vendor("openai-admin", "OPENAI_ADMIN_KEY", "sk", "-admin-", some(URLSAFE, 74), "T3Blbk", "FJ", some(URLSAFE, 74)),
    _vendor("openai-user", "OPENAI_KEY", "sk", "-", some(ALNUM, 20), "T3Blbk", "FJ", some(ALNUM, 20)),
    _vendor("anthropic-api", "ANTHROPIC_API_KEY", "sk", "-ant-", "api03-", some(URLSAFE, 93), "AA"),
    _vendor("anthropic-admin", "ANTHROPIC_ADMIN_KEY", "sk", "-ant-", "admin01-", some(URLSAFE, 93), "AA"),
    _vendor("anthropic-oauth", "CLAUDE_CODE_OAUTH_TOKEN", "sk", "-ant-", "oat01-", some(URLSAFE, 93), "AA"),
    _vendor("anthropic-refresh", "CLAUDE_REFRESH_TOKEN", "sk", "-ant-", "ort01-", some(URLSAFE, 93), "AA"),
    _vendor("google-ai", "GEMINI_API_KEY", "AI", "za", "Sy", some(URLSAFE, 33)),
    _vendor("huggingface", "HF_TOKEN", "h", "f_", some(LETTERS, 34)),
    _vendor("huggingface-org", "HF_ORG_TOKEN", "api", "_org_", some(LETTERS, 34)),
    _vendor("cohere", "COHERE_API_KEY", some(ALNUM, 40)),
    _vendor("groq", "GROQ_API_KEY", "gs", "k_", some(ALNUM, 52)),
    _vendor("xai", "XAI_API_KEY", "xa", "i-", some(ALNUM, 80)),
    _vendor("perplexity", "PERPLEXITY_API_KEY", "pp", "lx-", some(ALNUM, 48)),
    _vendor("replicate", "REPLICATE_API_TOKEN", "r", "8_", some(ALNUM, 37)),
    _vendor("mistral", "MISTRAL_API_KEY", some(ALNUM, 32)),
    _vendor("deepseek", "DEEPSEEK_API_KEY", "sk", "-", some(HEX, 32)),
    _vendor("together", "TOGETHER_API_KEY", "tg", "p_v1_", some(URLSAFE, 43)),
    _vendor("fireworks", "FIREWORKS_API_KEY", "f", "w_", some(ALNUM, 24)),
    _vendor("openrouter", "OPENROUTER_API_KEY", "sk", "-or-", "v1-", some(HEX, 64)),
    _vendor("cerebras", "CEREBRAS_API_KEY", "cs", "k-", some(LOWER, 48)),
    _vendor("elevenlabs", "ELEVENLABS_API_KEY", "s", "k_", some(HEX, 48)),
    _vendor("pinecone", "PINECONE_API_KEY", "pc", "sk_", some(ALNUM, 6), "_", some(ALNUM, 63)),
    _vendor("voyage", "VOYAGE_API_KEY", "p", "a-", some(URLSAFE, 43)),
    _vendor("tavily", "TAVILY_API_KEY", "tv", "ly-", "dev-", some(ALNUM, 32)),
    _vendor("jina", "JINA_API_KEY", "ji", "na_", some(HEX, 32), some(URLSAFE, 28)),
    _vendor("langsmith", "LANGSMITH_API_KEY", "ls", "v2_pt_", some(HEX, 32), "_", some(HEX, 10)),
    _vendor("langfuse", "LANGFUSE_SECRET_KEY", "sk", "-lf-", uuid4),
    _vendor("wandb", "WANDB_API_KEY", some(HEX, 40)),
    _vendor("databricks", "DATABRICKS_TOKEN", "da", "pi", some(HEX, 32)),
    _vendor("datadog-api", "DD_API_KEY", some(HEX, 32)),
    _vendor("datadog-app", "DD_APP_KEY", some(HEX, 40)),
    _vendor("newrelic-user", "NEW_RELIC_API_KEY", "NR", "AK-", some(UPPER, 27)),
    _vendor("newrelic-license", "NEW_RELIC_LICENSE_KEY", some(HEX, 36), "NR", "AL"),
    _vendor("sentry-user", "SENTRY_AUTH_TOKEN", "snt", "ryu_", some(HEX, 64)),
    _vendor("sentry-org", "SENTRY_AUTH_TOKEN", "snt", "rys_", b64(document(_sentry_org)), "_", some(BASE64, 43)),
    _vendor("pagerduty", "PAGERDUTY_API_KEY", "u+", some(URLSAFE, 18)),
    _vendor("shopify-access", "SHOPIFY_ACCESS_TOKEN", "sh", "pat_", some(HEX, 32)),
    _vendor("shopify-shared", "SHOPIFY_API_SECRET", "sh", "pss_", some(HEX, 32)),
    _vendor("shopify-private", "SHOPIFY_PRIVATE_TOKEN", "sh", "ppa_", some(HEX, 32)),
    _vendor("heroku", "HEROKU_API_KEY", "HR", "KU-", "AA", some(URLSAFE, 58)),
    _vendor("heroku-uuid", "HEROKU_API_KEY", uuid4),
    _vendor("digitalocean-pat", "DIGITALOCEAN_TOKEN", "do", "p_v1_", some(HEX, 64)),
    _vendor("digitalocean-oauth", "DIGITALOCEAN_OAUTH_TOKEN", "do", "o_v1_", some(HEX, 64)),
    _vendor("cloudflare-token", "CLOUDFLARE_API_TOKEN", some(URLSAFE, 40)),
    _vendor("cloudflare-global", "CLOUDFLARE_API_KEY", some(HEX, 37)),
    _vendor("cloudflare-origin-ca", "CLOUDFLARE_ORIGIN_CA_KEY", "v1", ".0-", some(HEX, 24), "-", some(HEX, 146)),
    _vendor("vault-service", "VAULT_TOKEN", "hv", "s.", "CAES", "I", some(URLSAFE, 90)),
    _vendor("vault-batch", "VAULT_BATCH_TOKEN", "hv", "b.", "AAAAAQ", some(URLSAFE, 138, 180)),
    _vendor("vault-legacy", "VAULT_TOKEN", "s", ".", some(ALNUM, 24)),
    _vendor("terraform-cloud", "TFE_TOKEN", some(ALNUM, 14), ".atlas", "v1.", some(ALNUM, 67)),
    _vendor("okta", "OKTA_API_TOKEN", "0", "0", some(URLSAFE, 40)),
    _vendor("auth0", "AUTH0_CLIENT_SECRET", some(URLSAFE, 64)),
    _vendor("linear", "LINEAR_API_KEY", "lin", "_api_", some(ALNUM, 40)),
    _vendor("notion", "NOTION_TOKEN", "nt", "n_", some(DIGITS, 11), some(ALNUM, 35)),
    _vendor("notion-legacy", "NOTION_API_KEY", "sec", "ret_", some(ALNUM, 43)),
    _vendor("figma", "FIGMA_TOKEN", "fi", "gd_", some(URLSAFE, 40)),
    _vendor("postman", "POSTMAN_API_KEY", "PM", "AK-", some(HEX, 24), "-", some(HEX, 34)),
    _vendor("grafana-service", "GRAFANA_TOKEN", _grafana),
    _vendor("grafana-cloud", "GRAFANA_CLOUD_API_KEY", "gl", "c_", b64(document(_grafana_cloud))),
    _vendor("posthog", "POSTHOG_PERSONAL_API_KEY", "ph", "x_", some(ALNUM, 43)),
    _vendor("supabase-pat", "SUPABASE_ACCESS_TOKEN", "sb", "p_", some(HEX, 40)),
    _vendor("supabase-secret", "SUPABASE_SECRET_KEY", "sb", "_secret_", some(URLSAFE, 22), "_", some(URLSAFE, 8)),
    _vendor("netlify", "NETLIFY_AUTH_TOKEN", "nf", "p_", some(ALNUM, 36)),
    _vendor("vercel", "VERCEL_TOKEN", some(ALNUM, 24)),
    _vendor("render", "RENDER_API_KEY", "rn", "d_", some(ALNUM, 28)),
    _vendor("neon", "NEON_API_KEY", "na", "pi_", some(LOWER, 64)),
    _vendor("tailscale", "TS_AUTHKEY", "ts", "key-", "auth-k", some(ALNUM, 11), "CNTRL-", some(ALNUM, 32)),
    _vendor("1password", "OP_SERVICE_ACCOUNT_TOKEN", "op", "s_", b64(document(_one_password), padded=False)),
    _vendor("age", "SOPS_AGE_KEY", "AGE-", "SECRET-", "KEY-", "1", some(BECH32, 58)),
    _vendor(
        "atlassian", "JIRA_API_TOKEN", "ATA", "TT3x", "FfGF0", some(URLSAFE, 171), "=", some("0123456789ABCDEF", 8)
    ),
    _vendor("bitbucket-app", "BITBUCKET_APP_PASSWORD", "AT", "BB", some(ALNUM, 24), some("0123456789ABCDEF", 8)),
    _vendor("doppler", "DOPPLER_TOKEN", "dp", ".pt.", some(ALNUM, 43)),
    _vendor("doppler-service", "DOPPLER_SERVICE_TOKEN", "dp", ".st.", "prd.", some(ALNUM, 43)),
    _vendor("dynatrace", "DT_API_TOKEN", "dt0", "c01.", some(BASE32, 24), ".", some(BASE32, 64)),
    _vendor("planetscale-token", "PLANETSCALE_SERVICE_TOKEN", "psc", "ale_tkn_", some(URLSAFE, 43)),
    _vendor("planetscale-password", "DATABASE_PASSWORD", "psc", "ale_pw_", some(URLSAFE, 43)),
    _vendor("fly", "FLY_API_TOKEN", "FlyV1 ", hide("fm", "2_", "lJPE", b64(noise(210)))),
    _vendor("pulumi", "PULUMI_ACCESS_TOKEN", "pu", "l-", some(HEX, 40)),
    _vendor("airtable", "AIRTABLE_TOKEN", "pa", "t", some(ALNUM, 14), ".", some(HEX, 64)),
    _vendor("asana", "ASANA_ACCESS_TOKEN", "2/", some(DIGITS, 16), "/", some(DIGITS, 16), ":", some(HEX, 32)),
    _vendor("dropbox", "DROPBOX_ACCESS_TOKEN", "sl", ".u.", "AF", some(URLSAFE, 140)),
    _vendor("launchdarkly-sdk", "LAUNCHDARKLY_SDK_KEY", "sd", "k-", uuid4),
    _vendor("launchdarkly-api", "LAUNCHDARKLY_ACCESS_TOKEN", "ap", "i-", uuid4),
    _vendor("algolia", "ALGOLIA_ADMIN_KEY", some(HEX, 32)),
    _vendor("fastly", "FASTLY_API_TOKEN", some(URLSAFE, 32)),
    _vendor("snyk", "SNYK_TOKEN", uuid4),
    _vendor("sonar", "SONAR_TOKEN", "sq", "u_", some(HEX, 40)),
    _vendor("circleci", "CIRCLECI_TOKEN", "CCI", "PAT_", some(ALNUM, 22), "_", some(HEX, 40)),
    _vendor("buildkite", "BUILDKITE_API_TOKEN", "bk", "ua_", some(HEX, 40)),
    _vendor("jenkins", "JENKINS_API_TOKEN", "11", some(HEX, 32)),
    _vendor("artifactory", "ARTIFACTORY_API_KEY", "AK", "Cp", some(ALNUM, 69)),
    _vendor(
        "artifactory-reference",
        "JFROG_ACCESS_TOKEN",
        b64(join("ref", "tkn:01:", some(DIGITS, 10), ":", some(ALNUM, 26))),
    ),
    _vendor("octopus", "OCTOPUS_CLI_API_KEY", "AP", "I-", some(UPPER, 26)),
    _vendor("sourcegraph", "SRC_ACCESS_TOKEN", "sg", "p_", some(HEX, 16), "_", some(HEX, 40)),
    _vendor("prefect", "PREFECT_API_KEY", "pn", "u_", some(ALNUM, 36)),
    _vendor("gitea", "GITEA_TOKEN", some(HEX, 40)),
    _vendor("facebook", "FACEBOOK_ACCESS_TOKEN", "EA", "AC", some(ALNUM, 150, 190), "ZD", "ZD"),
    _vendor("twitter-bearer", "TWITTER_BEARER_TOKEN", "A" * 21, some(ALNUM, 22), "%3D", some(ALNUM, 50)),
    _vendor("twitch", "TWITCH_CLIENT_SECRET", some(LOWER, 30)),
    _vendor("mapbox", "MAPBOX_SECRET_TOKEN", "sk", ".", _JSON_HEAD, "1Ijoi", some(ALNUM, 60), ".", some(URLSAFE, 22)),
    _vendor("contentful", "CONTENTFUL_MANAGEMENT_TOKEN", "CF", "PAT-", some(URLSAFE, 43)),
    _vendor("intercom", "INTERCOM_ACCESS_TOKEN", b64(join("to", "k:", some(HEX, 8), "_", some(HEX, 30), ":1:0"))),
    _vendor("hubspot", "HUBSPOT_ACCESS_TOKEN", "pa", "t-na1-", uuid4),
    _vendor("zendesk", "ZENDESK_API_TOKEN", some(ALNUM, 40)),
    _vendor("typeform", "TYPEFORM_TOKEN", "tf", "p_", some(ALNUM, 44), "_", some(ALNUM, 14)),
    _vendor("readme", "README_API_KEY", "rd", "me_", some(LOWER, 70)),
    _vendor("shippo", "SHIPPO_API_TOKEN", "ship", "po_live_", some(HEX, 40)),
    _vendor("easypost", "EASYPOST_API_KEY", "EZ", "AK", some(ALNUM, 54)),
    _vendor("plaid", "PLAID_ACCESS_TOKEN", "acc", "ess-production-", uuid4),
    _vendor("plaid-secret", "PLAID_SECRET", some(HEX, 30)),
    _vendor("braintree", "BRAINTREE_ACCESS_TOKEN", "access_", "token$production$", some(LOWER, 16), "$", some(HEX, 32)),
    _vendor("flutterwave", "FLW_SECRET_KEY", "FLW", "SECK-", some(HEX, 32), "-X"),
    _vendor("influxdb", "INFLUX_TOKEN", some(URLSAFE, 86), "=="),
    _vendor("mongodb-atlas", "MONGODB_ATLAS_CLIENT_SECRET", "md", "b_sa_sk_", some(URLSAFE, 40)),
    _vendor("clickhouse", "CLICKHOUSE_API_SECRET", "4b", "1d", some(ALNUM, 38)),
    _vendor("linode", "LINODE_TOKEN", some(HEX, 64)),
    _vendor("hetzner", "HCLOUD_TOKEN", some(ALNUM, 64)),
)

# --- Clouds ----------------------------------------------------------------------------------------------------------

_AWS_ID: Final = join("AK", "IA", some(BASE32, 16))
_AWS_SECRET: Final = some(BASE64, 40)
_STORAGE_KEY: Final = join(some(BASE64, 76), "+A", "St", some(BASE64, 5), some("AQgw", 1), "==")
_BUS_KEY: Final = join(some(BASE64, 33), "+A", "Sb", some(BASE64, 5), some("AEIMQUYcgkosw048", 1), "=")
_DAY: Final = join("202", some("56", 1), "-0", some("123456789", 1), "-1", some(DIGITS, 1))


def _body(raw: bytes, width: int = 64, fixed: int = 0) -> tuple[str, tuple[str, ...]]:
    """The lines of an armoured key, and those of them that differ from key to key: not the first `fixed` ones."""
    text = base64.b64encode(raw).decode()
    lines = [text[at : at + width] for at in range(0, len(text), width)]
    return "\n".join(lines), tuple(line for line in lines[fixed:] if len(line) >= 2 * SHORTEST)


def _armoured(label: str, body: str, head: str = "") -> str:
    return f"{DASHES}BEGIN {label}{DASHES}\n{head}{body}\n{DASHES}END {label}{DASHES}\n"


_PKCS8_HEAD: Final = bytes.fromhex("308204be020100300d06092a864886f70d0101010500048204a8308204a402010002820101")


def _service_account(rng: random.Random) -> Made:
    body, lines = _body(_PKCS8_HEAD + rng.randbytes(1180), fixed=1)
    key_id, project = draw(rng, HEX, 40), f"{word(rng)}-{draw(rng, DIGITS, 6)}"
    account = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": key_id,
        "private_key": _armoured("PRIVATE " + "KEY", body),
        "client_email": f"builder@{project}.iam.gserviceaccount.com",
        "client_id": draw(rng, DIGITS, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return Made(json.dumps(account, indent=2), lines)


_CLOUDS: Final = (
    _cloud("aws-key-id", "AWS_ACCESS_KEY_ID", _AWS_ID),
    _cloud("aws-temporary-id", "AWS_ACCESS_KEY_ID", "AS", "IA", some(BASE32, 16)),
    _cloud("aws-secret", "AWS_SECRET_ACCESS_KEY", _AWS_SECRET),
    _cloud("aws-session", "AWS_SESSION_TOKEN", b64(noise(600, base64.b64decode("IQoJb3JpZ2lu" + "X2Vj")))),
    _cloud("aws-bedrock", "AWS_BEARER_TOKEN_BEDROCK", "AB", "SK", b64(noise(96, b"BedrockAPIKey-"))),
    _cloud(
        "aws-profile",
        "AWS_SHARED_CREDENTIALS",
        "[default]\naws_access_key_id = ",
        hide(_AWS_ID),
        "\naws_secret_access_key = ",
        hide(_AWS_SECRET),
        "\nregion = eu-west-1\n",
        role="file",
    ),
    _cloud(
        "aws-presigned-url",
        "DOWNLOAD_URL",
        "https://reports.s3.eu-west-1.amazonaws.com/2026/summary.parquet?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=3600",
        "&X-Amz-SignedHeaders=host&X-Amz-Signature=",
        hide(some(HEX, 64)),
    ),
    _cloud("gcp-api-key", "GOOGLE_MAPS_API_KEY", "AI", "za", "Sy", some(URLSAFE, 33)),
    _cloud("gcp-oauth-access", "GOOGLE_OAUTH_ACCESS_TOKEN", "ya", "29.", "a0A", some(URLSAFE, 180, 210)),
    _cloud("gcp-oauth-refresh", "GOOGLE_REFRESH_TOKEN", "1/", "/0", some(DIGITS, 1), some(URLSAFE, 64, 98)),
    _cloud("gcp-client-secret", "GOOGLE_CLIENT_SECRET", "GOC", "SPX-", some(URLSAFE, 28)),
    _cloud("gcp-hmac-secret", "GCS_HMAC_SECRET", _AWS_SECRET),
    Kind("gcp-service-account", "cloud", _careful(_service_account), "GOOGLE_CREDENTIALS_JSON", "file"),
    _cloud("azure-storage-key", "AZURE_STORAGE_KEY", _STORAGE_KEY),
    _cloud(
        "azure-storage-connection",
        "AZURE_STORAGE_CONNECTION_STRING",
        "DefaultEndpointsProtocol=https;AccountName=",
        word,
        "prod;Account",
        "Key=",
        hide(_STORAGE_KEY),
        ";EndpointSuffix=core.windows.net",
    ),
    _cloud(
        "azure-sas",
        "AZURE_SAS_URL",
        "https://",
        word,
        ".blob.core.windows.net/exports?sv=2024-11-04&ss=b&srt=co&sp=rl&se=",
        _DAY,
        "T08:00:00Z&spr=https&si",
        "g=",
        hide(percent(b64(noise(32)))),
    ),
    _cloud(
        "azure-client-secret",
        "AZURE_CLIENT_SECRET",
        some(ALNUM, 3),
        some(DIGITS, 1),
        "Q",
        "~",
        some(URLSAFE + ".~", 34),
    ),
    _cloud("azure-devops-legacy", "AZURE_DEVOPS_EXT_PAT", some(string.ascii_lowercase + "234567", 52)),
    _cloud("azure-devops", "AZURE_DEVOPS_EXT_PAT", some(ALNUM, 76), "AZ", "DO", some(ALNUM, 4)),
    _cloud(
        "azure-openai",
        "AZURE_OPENAI_API_KEY",
        some(ALNUM, 52),
        "JQ",
        "QJ99BAAC",
        some(ALNUM, 10),
        "AAAB",
        "ACOG",
        some(ALNUM, 4),
    ),
    _cloud(
        "azure-service-bus",
        "SERVICEBUS_CONNECTION_STRING",
        "Endpoint=sb://",
        word,
        ".servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccess",
        "Key=",
        hide(_BUS_KEY),
    ),
    _cloud(
        "azure-cosmos",
        "COSMOS_CONNECTION_STRING",
        "AccountEndpoint=https://",
        word,
        ".documents.azure.com:443/;Account",
        "Key=",
        hide(some(BASE64, 76), "AC", "Db", some(BASE64, 5), some("AQgw", 1), "=="),
        ";",
    ),
    _cloud(
        "azure-sql-connection",
        "SQLCONNSTR_MAIN",
        "Server=tcp:",
        word,
        ".database.windows.net,1433;Initial Catalog=orders;User ID=app;Pass",
        "word=",
        hide(one_of(PLAIN, strong("!#%*+-_."))),
        ";Encrypt=True;",
    ),
    _cloud("alibaba-secret", "ALIBABA_CLOUD_ACCESS_KEY_SECRET", some(ALNUM, 30)),
    _cloud("ibm-api-key", "IBMCLOUD_API_KEY", some(URLSAFE, 44)),
)

# --- Private keys ----------------------------------------------------------------------------------------------------


def _pem(name: str, context: str, label: str, size: int, der: str, head: Gen | None = None) -> Kind:
    """A private key: DER head as it is in real ones, the rest random."""

    def make(rng: random.Random) -> Made:
        body, lines = _body(bytes.fromhex(der) + rng.randbytes(size), fixed=int(len(der) > 64))
        return Made(_armoured(label, body, head(rng) if head else ""), lines)

    return Kind(name, "pem", _careful(make), context)


def _openssh(rng: random.Random) -> Made:
    start = b"openssh-key-v1\x00" + b"".join(struct.pack(">I", len(part)) + part for part in (b"none", b"none", b""))
    public = struct.pack(">I", 11) + b"ssh-ed25519" + struct.pack(">I", 32)
    raw = start + struct.pack(">II", 1, len(public) + 32) + public + rng.randbytes(32 + 190)
    body, lines = _body(raw, 70, fixed=1)
    return Made(_armoured("OPENSSH PRIVATE " + "KEY", body), lines)


def _pgp(rng: random.Random) -> Made:
    body, lines = _body(bytes.fromhex("950558") + rng.randbytes(1350))
    return Made(_armoured("PGP PRIVATE " + "KEY BLOCK", f"{body}\n={draw(rng, BASE64, 4)}", "\n"), lines)


_DEK: Final = join("Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,", some("0123456789ABCDEF", 32), "\n\n")

_PEMS: Final = (
    _pem("rsa-pkcs1", "TLS_PRIVATE_KEY", "RSA PRIVATE " + "KEY", 1180, "308204a40201000282010100"),
    _pem("rsa-encrypted", "TLS_PRIVATE_KEY", "RSA PRIVATE " + "KEY", 1190, "", _DEK),
    _pem("ec-sec1", "EC_PRIVATE_KEY", "EC PRIVATE " + "KEY", 115, "30770201010420"),
    _pem("dsa", "DSA_PRIVATE_KEY", "DSA PRIVATE " + "KEY", 440, "308201bb02010002818100"),
    _pem("pkcs8", "APP_PRIVATE_KEY", "PRIVATE " + "KEY", 1180, _PKCS8_HEAD.hex()),
    _pem(
        "pkcs8-encrypted",
        "APP_PRIVATE_KEY",
        "ENCRYPTED PRIVATE " + "KEY",
        1280,
        "3082050e304006092a864886f70d01050d3033",
    ),
    Kind("openssh", "pem", _careful(_openssh), "SSH_PRIVATE_KEY"),
    Kind("pgp", "pem", _careful(_pgp), "GPG_PRIVATE_KEY"),
)

# --- URLs with passwords ---------------------------------------------------------------------------------------------

_IN_URL: Final = one_of(PLAIN, percent(strong()), percent(phrase))

_URLS: Final = (
    _url(
        "postgres-url",
        "DATABASE_URL",
        "postgres",
        one_of("", "ql"),
        "://",
        USER,
        ":",
        hide(_IN_URL),
        "@",
        HOST,
        ":5432/",
        DATABASE,
    ),
    _url(
        "mysql-url",
        "MYSQL_URL",
        "mysql",
        one_of("", "+pymysql"),
        "://",
        USER,
        ":",
        hide(_IN_URL),
        "@",
        HOST,
        ":3306/",
        DATABASE,
    ),
    _url(
        "mongodb-url",
        "MONGODB_URI",
        "mongodb",
        "+srv://",
        USER,
        ":",
        hide(_IN_URL),
        "@",
        word,
        ".ab1cd.mongodb.net/?w=majority",
    ),
    _url(
        "redis-url",
        "REDIS_URL",
        "redis",
        one_of("", "s"),
        "://",
        one_of("", "default"),
        ":",
        hide(_IN_URL),
        "@",
        HOST,
        ":6379/0",
    ),
    _url(
        "amqp-url",
        "CELERY_BROKER_URL",
        "amqp",
        one_of("", "s"),
        "://",
        USER,
        ":",
        hide(_IN_URL),
        "@",
        HOST,
        ":5672/%2F",
    ),
    _url("https-basic-url", "PROXY_URL", "https", "://", USER, ":", hide(_IN_URL), "@", HOST, "/v1/items"),
    _url("smtp-url", "EMAIL_URL", "smtp", "://", USER, ":", hide(_IN_URL), "@", HOST, ":587"),
    _url("ftp-url", "UPLOAD_TARGET", one_of("ftp", "sftp"), "://", USER, ":", hide(_IN_URL), "@", HOST, "/incoming"),
    _url(
        "git-url",
        "GIT_REMOTE",
        "https",
        "://oauth2:",
        hide("gl", "pat-", some(URLSAFE, 20)),
        "@git.",
        word,
        ".org/team/app.git",
    ),
    _url(
        "cloudinary-url",
        "CLOUDINARY_URL",
        "cloudinary",
        "://",
        some(DIGITS, 15),
        ":",
        hide(some(URLSAFE, 27)),
        "@",
        word,
    ),
    _url(
        "sentry-dsn", "SENTRY_DSN", "https", "://", some(HEX, 32), ":", hide(some(HEX, 32)), "@sentry.", word, ".org/42"
    ),
)

# --- Headers ---------------------------------------------------------------------------------------------------------

_HEADERS: Final = (
    _header("bearer", one_of("A", "a"), "uthorization: Bear", "er ", hide(some(URLSAFE, 32, 64))),
    _header("basic", "Authorization: Bas", "ic ", hide(b64(join(USER, ":", HUMAN)))),
    _header("token-scheme", "Authorization: Tok", "en ", hide(some(HEX, 40))),
    _header("x-api-key", one_of("X-Api-", "x-api-"), one_of("Key: ", "key: "), hide(some(ALNUM, 32, 40))),
    _header("private-token", "PRIVATE-", "TOKEN: ", hide(some(URLSAFE, 20))),
    _header("cookie", "Cookie: theme=dark; session", "id=", hide(some(LOWER, 32)), "; lang=en"),
    _header(
        "set-cookie",
        "Set-Cookie: connect.s",
        "id=",
        hide("s%3A", some(URLSAFE, 32), ".", some(ALNUM, 43)),
        "; Path=/; HttpOnly",
    ),
)

# --- Files -----------------------------------------------------------------------------------------------------------


def _key_file(rng: random.Random) -> str:
    body, _ = _body(bytes.fromhex("308204a40201000282010100") + rng.randbytes(1180))
    return _armoured("RSA PRIVATE " + "KEY", body)


_CONF: Final = one_of(PLAIN, phrase, strong("-_.!@%+"))
_CLUSTER: Final = "- name: deployer\n  user:\n    "

_FILES: Final = (
    _file("netrc", "NETRC", "machine api.", word, ".org\n  login ", USER, "\n  pass", "word ", hide(_CONF), "\n"),
    _file("netrc-line", "NETRC", "machine git.", word, ".org login ", USER, " pass", "word ", hide(_CONF), "\n"),
    _file("npmrc", "NPMRC", "registry=https://npm.", word, ".org/\n//npm.acme.org/:_auth", "Token=", hide(uuid4), "\n"),
    _file(
        "npmrc-basic",
        "NPMRC",
        "//npm.",
        word,
        ".org/:_au",
        "th=",
        hide(b64(join(USER, ":", PLAIN))),
        "\nalways-auth=true\n",
    ),
    _file(
        "pgpass",
        "PGPASSFILE_CONTENT",
        HOST,
        ":5432:",
        DATABASE,
        ":",
        USER,
        ":",
        hide(one_of(PLAIN, strong("-_.!@%+"))),
        "\n",
    ),
    _file(
        "docker-config",
        "DOCKER_AUTH_CONFIG",
        '{\n  "auths": {\n    "registry.',
        word,
        '.org": {\n      "au',
        'th": "',
        hide(b64(join(USER, ":", PLAIN))),
        '"\n    }\n  }\n}\n',
    ),
    _file("kubeconfig-key", "KUBECONFIG_DATA", _CLUSTER, "client-key-", "data: ", hide(b64(_key_file)), "\n"),
    _file("kubeconfig-token", "KUBECONFIG_DATA", _CLUSTER, "to", "ken: ", hide(some(URLSAFE, 60, 90)), "\n"),
    _file(
        "k8s-secret",
        "MANIFEST",
        "apiVersion: v1\nkind: Sec",
        "ret\nmetadata:\n  name: ",
        word,
        "-db\ntype: Opaque\ndata:\n  user: YXBw\n  pass",
        "word: ",
        hide(b64(one_of(PLAIN, strong()))),
        "\n",
    ),
    _file(
        "pypirc",
        "PYPIRC",
        "[distutils]\nindex-servers = internal\n\n[internal]\nrepository = https://pypi.",
        word,
        ".org/\nusername = ",
        USER,
        "\npass",
        "word = ",
        hide(_CONF),
        "\n",
    ),
    _file("htpasswd", "HTPASSWD", USER, ":$ap", "r1$", hide(some(ALNUM + "./", 8), "$", some(ALNUM + "./", 22)), "\n"),
    _file("htpasswd-bcrypt", "HTPASSWD", USER, ":", hide("$2y", "$10$", some(ALNUM + "./", 53)), "\n"),
    _file(
        "shadow",
        "SHADOW",
        USER,
        ":",
        hide("$6", "$", some(ALNUM + "./", 16), "$", some(ALNUM + "./", 86)),
        ":19700:0:99999:7:::\n",
    ),
    _file("my-cnf", "MY_CNF", "[client]\nuser=", USER, "\npass", "word=", hide(_CONF), "\nhost=", HOST, "\n"),
    _file(
        "git-credentials",
        "GIT_CREDENTIALS",
        "https",
        "://",
        USER,
        ":",
        hide(some(URLSAFE, 20, 40)),
        "@git.",
        word,
        ".org\n",
    ),
    _file(
        "maven-settings",
        "MAVEN_SETTINGS",
        "<server>\n  <id>releases</id>\n  <pass",
        "word>",
        hide(_CONF),
        "</password>\n</server>\n",
    ),
    _file("wp-config", "WP_CONFIG", "define('DB_USER', 'wp');\ndefine('DB_PASS", "WORD', '", hide(_CONF), "');\n"),
    _file("tfvars", "TFVARS", 'region = "eu-west-1"\ndb_pass', 'word = "', hide(_CONF), '"\n'),
    _file(
        "spring-yaml",
        "SPRING_CONFIG",
        "spring:\n  datasource:\n    username: app\n    pass",
        "word: ",
        hide(_CONF),
        "\n",
    ),
    _file("properties", "GRADLE_PROPERTIES", "signing.keyId=24875D73\nsigning.pass", "word=", hide(_CONF), "\n"),
)

# --- Assignments -----------------------------------------------------------------------------------------------------

_DJANGO: Final = string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)"

_ENVS: Final = (
    _env("db-password", "DB_PASS", "WORD=", hide(PLAIN)),
    _env("db-password-symbols", "DB_PASS", "WORD=", hide(strong("!#%&*+-=?@^_~."))),
    _env("postgres-password-quoted", "POSTGRES_PASS", "WORD='", hide(strong("!#$%&*+-=?@^_~.;|<>")), "'"),
    _env("mysql-root-phrase", "MYSQL_ROOT_PASS", "WORD=", hide(phrase)),
    _env("hex-secret", "SESSION_SEC", "RET=", hide(some(HEX, 64))),
    _env("django-secret", "SECRET", "_KEY = '", hide("django-", "insecure-", some(_DJANGO, 50)), "'"),
    _env("django-secret-env", "DJANGO_SECRET", '_KEY="', hide(some(_DJANGO.replace("$", ""), 50)), '"'),
    _env("jwt-secret", "JWT_SEC", "RET=", hide(b64(noise(48)))),
    _env("encryption-key", "ENCRYPTION_", "KEY=", hide(b64(noise(32)))),
    _env("rails-master-key", "RAILS_MASTER_", "KEY=", hide(some(HEX, 32))),
    _env("laravel-app-key", "APP_", "KEY=base64:", hide(b64(noise(32)))),
    _env("smtp-pass", "SMTP_PA", "SS=", hide(HUMAN)),
    _env("passphrase", "GPG_PASS", 'PHRASE="', hide(word, " ", word, " ", word, " ", some(DIGITS, 2)), '"'),
    _env("python-password", "pass", 'word = "', hide(strong("!#%&*+-=?@^_~.")), '"'),
    _env("typescript-secret", "const api", "Secret = '", hide(some(ALNUM, 32)), "';"),
    _env("client-secret", "OAUTH_CLIENT_SEC", "RET=", hide(some(URLSAFE, 40))),
    _env("access-token-lower", "access_to", "ken = ", hide(some(ALNUM, 40))),
)

# --- Command lines ---------------------------------------------------------------------------------------------------

_SHELL: Final = one_of(PLAIN, strong("-_.+%@", 12, 20))

_CLIS: Final = (
    _cli("password-equals", "backup-tool sync --user=", USER, " --pass", "word=", hide(_SHELL), " --host=", HOST),
    _cli(
        "password-space",
        "vpnctl connect --user ",
        USER,
        " --pass",
        "word '",
        hide(strong("!#%&*+-=?@^_~.")),
        "' --wait",
    ),
    _cli("token-flag", "deployer push --to", "ken ", hide(some(ALNUM, 32)), " --env staging"),
    _cli("mysql-p", one_of("mysql", "mysqldump"), " -h ", HOST, " -u ", USER, " -", "p", hide(_SHELL), " ", DATABASE),
    _cli("curl-u", "curl -sS -u ", USER, ":", hide(_SHELL), " https://api.", word, ".org/v2/status"),
    _cli(
        "curl-bearer",
        'curl -H "Authorization: Bear',
        "er ",
        hide(some(URLSAFE, 40)),
        '" https://api.',
        word,
        ".org/v2/me",
    ),
    _cli("sshpass", "sshpass -", "p ", hide(_SHELL), " ssh -o StrictHostKeyChecking=no ", USER, "@", HOST),
    _cli("redis-cli", "redis-cli -h ", HOST, " -", "a ", hide(_SHELL), " info memory"),
    _cli("docker-login", "docker login -u ", USER, " -", "p ", hide(_SHELL), " registry.", word, ".org"),
    _cli("openssl-pass", "openssl rsa -in server.key -passin pa", "ss:", hide(_SHELL), " -out plain.pem"),
    _cli("pgpassword", "PGPASS", "WORD=", hide(_SHELL), " psql -h ", HOST, " -U ", USER, " ", DATABASE),
    _cli("helm-set", "helm upgrade app ./chart --set auth.pass", "word=", hide(PLAIN), " --wait"),
    _cli("aws-configure", "aws configure set aws_secret_access", "_key ", hide(_AWS_SECRET)),
    _cli("gh-stdin", "echo ", hide(_checked("gh", "p_")), " | gh auth login --with-to", "ken"),
    _cli(
        "wget-password",
        "wget --http-user=",
        USER,
        " --http-pass",
        "word=",
        hide(_SHELL),
        " https://files.",
        word,
        ".org/a.tgz",
    ),
    _cli("kubectl-literal", "kubectl create sec", "ret generic db --from-literal=pass", "word=", hide(_SHELL)),
    _cli("git-clone", "git clone https", "://", USER, ":", hide(some(URLSAFE, 36)), "@git.", word, ".org/team/app.git"),
    _cli("ldapsearch", "ldapsearch -x -D cn=admin,dc=acme,dc=org -", "w ", hide(_SHELL), " -b dc=acme,dc=org"),
)

# --- JWT, webhooks, seeds --------------------------------------------------------------------------------------------


def _jwt(name: str, context: str, algorithm: str, size: int, claims: Callable[[random.Random], dict[str, Any]]) -> Kind:
    def header(rng: random.Random) -> dict[str, Any]:
        plain = {"alg": algorithm, "typ": "JWT"}
        return plain if algorithm.startswith("HS") else {**plain, "kid": draw(rng, URLSAFE, 22)}

    def part(make: Callable[[random.Random], bytes | str]) -> Gen:
        return b64(make, urlsafe=True, padded=False)

    return _kind("jwt", name, context, part(document(header)), ".", part(document(claims)), ".", part(noise(size)))


def _user_claims(rng: random.Random) -> dict[str, Any]:
    issued = rng.randint(17 * 10**8, 18 * 10**8)
    return {"sub": uuid4(rng), "name": word(rng).title(), "role": "editor", "iat": issued, "exp": issued + 3600}


def _service_claims(rng: random.Random) -> dict[str, Any]:
    issued = rng.randint(17 * 10**8, 18 * 10**8)
    return {"iss": "supabase", "ref": draw(rng, string.ascii_lowercase, 20), "role": "service_role", "iat": issued}


_JWTS: Final = (
    _jwt("jwt-hs256", "ACCESS_TOKEN", "HS256", 32, _user_claims),
    _jwt("jwt-hs512", "SESSION_JWT", "HS512", 64, _user_claims),
    _jwt("jwt-rs256", "ID_TOKEN", "RS256", 256, _user_claims),
    _jwt("jwt-es256", "SERVICE_TOKEN", "ES256", 64, _user_claims),
    _jwt("jwt-supabase-service", "SUPABASE_SERVICE_ROLE_KEY", "HS256", 32, _service_claims),
)


def _hook(name: str, context: str, *parts: Part) -> Kind:
    return _kind("webhook", name, context, "https", "://", *parts)


_HOOKS: Final = (
    _hook(
        "slack-webhook",
        "SLACK_WEBHOOK_URL",
        "hooks.slack",
        ".com/services/",
        hide("T0", some(UPPER, 9), "/B0", some(UPPER, 9), "/", some(ALNUM, 24)),
    ),
    _hook(
        "discord-webhook",
        "DISCORD_WEBHOOK_URL",
        "discord",
        ".com/api/webhooks/",
        some(DIGITS, 18),
        "/",
        hide(some(URLSAFE, 68)),
    ),
    _hook(
        "teams-webhook",
        "TEAMS_WEBHOOK_URL",
        word,
        ".webhook.off",
        "ice.com/webhookb2/",
        hide(uuid4, "@", uuid4, "/IncomingWebhook/", some(HEX, 32), "/", uuid4),
    ),
    _hook(
        "teams-workflow",
        "TEAMS_FLOW_URL",
        "prod-12.westeurope.logic.azure.com:443/workflows/",
        some(HEX, 32),
        "/triggers/manual/paths/invoke?api-version=2016-06-01&sp=%2Ftriggers%2Fmanual%2Frun&sv=1.0&si",
        "g=",
        hide(some(URLSAFE, 43)),
    ),
    _hook(
        "google-chat-webhook",
        "GCHAT_WEBHOOK_URL",
        "chat.googleapis.com/v1/spaces/AAAA",
        some(URLSAFE, 7),
        "/messages?key=",
        hide("AI", "za", "Sy", some(URLSAFE, 33)),
        "&to",
        "ken=",
        hide(some(URLSAFE, 43)),
    ),
    _hook(
        "zapier-webhook",
        "ZAPIER_HOOK_URL",
        "hooks.zapier",
        ".com/hooks/catch/",
        some(DIGITS, 8),
        "/",
        hide(some(LOWER, 24)),
        "/",
    ),
)


def _mnemonic(count: int) -> Callable[[random.Random], Made]:
    def make(rng: random.Random) -> Made:
        words = rng.sample(_WORDS, count)
        return Made(" ".join(words), tuple(" ".join(words[at : at + 3]) for at in range(0, count, 3)))

    return _careful(make)


_SEEDS: Final = (
    _kind(
        "seed",
        "otpauth",
        "OTP_URI",
        "otp",
        "auth://totp/acme:",
        USER,
        "?sec",
        "ret=",
        hide(some(BASE32, 32)),
        "&issuer=acme",
    ),
    _kind("seed", "totp-seed", "TOTP_SECRET", some(BASE32, 32)),
    Kind("mnemonic-12", "seed", _mnemonic(12), "WALLET_MNEMONIC"),
    Kind("mnemonic-24", "seed", _mnemonic(24), "WALLET_MNEMONIC"),
    _kind("seed", "ethereum-key", "ETH_PRIVATE_KEY", "0x", hide(some(HEX, 64))),
    _kind("seed", "bitcoin-wif", "BTC_PRIVATE_KEY", one_of("K", "L"), some(BASE58, 51)),
    _kind("seed", "bip32-xprv", "WALLET_XPRV", "xp", "rv9s21ZrQH143K", some(BASE58, 97)),
)

KINDS: Final[tuple[Kind, ...]] = (
    *_VENDORS,
    *_CLOUDS,
    *_PEMS,
    *_URLS,
    *_HEADERS,
    *_FILES,
    *_ENVS,
    *_CLIS,
    *_JWTS,
    *_HOOKS,
    *_SEEDS,
)
