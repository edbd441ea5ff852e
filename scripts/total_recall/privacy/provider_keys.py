"""Keys and tokens that are known by their form: a provider's prefix and what follows it. Pure.

The forms are those that the providers publish, or that their keys were seen to have; lengths are lower bounds, as
providers lengthen their keys now and then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from total_recall.privacy.spans import Span

_ANY = r"[A-Za-z0-9_-]"
_ALNUM = r"[A-Za-z0-9]"
_HEX = r"[0-9a-f]"

_FORMS: tuple[tuple[str, str], ...] = (
    ("Anthropic, OpenRouter, OpenAI, DeepSeek, Langfuse …", rf"[sp]k-(?={_ANY}{{0,80}}[0-9]){_ANY}{{20,}}"),
    ("ElevenLabs and others", rf"sk_{_HEX}{{32,}}"),
    ("Stripe and others", rf"(?:sk|rk|ak)_(?:live|test|prod)_{_ALNUM}{{16,}}"),
    ("Toss and others", rf"(?:live|test)_[a-z]{{2,5}}_{_ALNUM}{{20,}}"),
    ("webhook secrets", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("Groq", rf"gsk_{_ALNUM}{{20,}}"),
    ("xAI", rf"xai-{_ALNUM}{{20,}}"),
    ("Perplexity", rf"pplx-{_ALNUM}{{30,}}"),
    ("Replicate", rf"r8_{_ALNUM}{{30,}}"),
    ("Tavily", rf"tvly-{_ANY}{{20,}}"),
    ("NVIDIA", rf"nvapi-{_ANY}{{40,}}"),
    ("Pinecone", r"pcsk_[A-Za-z0-9_]{40,}"),
    ("Firecrawl", rf"fc-{_HEX}{{32}}"),
    ("E2B", rf"e2b_{_HEX}{{40}}"),
    ("LangSmith", r"lsv2_[a-z]{2}_[A-Za-z0-9_]{30,}"),
    ("Hugging Face", r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    ("Google API", rf"AIza{_ANY}{{30,}}"),
    ("Google OAuth", rf"GOCSPX-{_ANY}{{20,}}|ya29\.[A-Za-z0-9_.-]{{20,}}|1//0{_ANY}{{30,}}"),
    ("AWS", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])|ABSK[A-Za-z0-9+/=]{40,}"),
    ("Azure AD", r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}"),
    ("DigitalOcean", rf"do[opr]_v1_{_HEX}{{40,}}"),
    ("GitHub", rf"gh[pousr]_{_ALNUM}{{30,}}|github_pat_[A-Za-z0-9_]{{30,}}"),
    ("GitLab", r"gl(?:pat|ptt|dt|rt|rtr|cbt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.-]{20,}"),
    ("Atlassian", rf"AT[ACS]TT3[A-Za-z0-9_=-]{{40,}}|ATBB{_ALNUM}{{28,}}"),
    ("Slack", r"xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9_/]{20,}"),
    ("Discord", r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("Discord webhook", rf"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/{_ANY}{{30,}}"),
    ("Telegram bot", rf"(?:bot)?[0-9]{{8,10}}:A{_ANY}{{34}}"),
    ("npm", rf"npm_(?=[A-Za-z]{{0,40}}[0-9]){_ALNUM}{{30,}}"),
    ("PyPI", rf"pypi-AgE{_ANY}{{20,}}"),
    ("RubyGems", rf"rubygems_{_HEX}{{40,}}"),
    ("Cargo", rf"cio{_ALNUM}{{32}}(?![A-Za-z0-9])"),
    ("Docker", rf"dckr_(?:pat|oat)_{_ANY}{{20,}}"),
    ("SendGrid", rf"SG\.{_ANY}{{16,}}\.{_ANY}{{16,}}"),
    ("Brevo", r"xkeysib-[A-Za-z0-9-]{40,}"),
    ("Mailgun", rf"key-{_HEX}{{32}}"),
    ("Mailchimp", rf"{_HEX}{{32}}-us[0-9]{{1,2}}"),
    ("Resend", rf"re_{_ALNUM}{{6,12}}_{_ALNUM}{{16,}}"),
    ("Twilio", rf"SK{_HEX}{{32}}"),
    ("Shopify", r"shp(?:at|ca|pa|ss|tka|ua)_[0-9a-fA-F]{32}"),
    ("Square", rf"sq0[a-z]{{3}}-{_ANY}{{20,}}"),
    ("Facebook", rf"EAA[A-Z]{_ALNUM}{{60,}}"),
    ("Linear", rf"lin_(?:api|oauth)_{_ALNUM}{{30,}}"),
    ("Notion", rf"ntn_{_ALNUM}{{30,}}|secret_{_ALNUM}{{40,}}"),
    ("Figma", rf"fig[dou]r?_{_ANY}{{30,}}"),
    ("Postman", r"PMAK-[A-Za-z0-9-]{40,}"),
    ("Airtable", rf"pat{_ALNUM}{{14}}\.{_HEX}{{40,}}"),
    ("Databricks", rf"dapi{_HEX}{{32}}"),
    ("HashiCorp", rf"hv[sbr]\.{_ANY}{{20,}}|{_ALNUM}{{14}}\.atlasv1\.{_ANY}{{40,}}"),
    ("Supabase", rf"sb(?:p|_secret)_{_ANY}{{20,}}"),
    ("PlanetScale", r"pscale_[a-z]+_[A-Za-z0-9_.-]{30,}"),
    ("Doppler", rf"dp\.[a-z]{{2,5}}\.{_ALNUM}{{40,}}"),
    ("Vercel", rf"vc[apkir]_{_ALNUM}{{24,}}"),
    ("Heroku", rf"HRKU-{_ANY}{{30,}}"),
    ("Fly", r"fm[12]_[A-Za-z0-9+/=_]{40,}"),
    ("Grafana", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}"),
    ("Sentry", r"sntry[su]_[A-Za-z0-9_+/=.-]{40,}"),
    ("New Relic", rf"NR(?:AK|JS|AA|II)-{_ALNUM}{{20,}}"),
    ("Dynatrace", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{60,}"),
    ("1Password", rf"ops_eyJ{_ANY}{{40,}}"),
    ("age", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("wallet keys", rf"[xyz]prv{_ALNUM}{{100,}}"),
    (
        "any provider: name, mode, key",
        rf"[a-z]{{2,10}}[_-](?:live|prod|secret|sk|apikey|api_key|pat)[_-](?=[A-Za-z]{{0,40}}[0-9]){_ALNUM}{{24,}}",
    ),
)

_JWT = rf"eyJ{_ANY}{{8,}}\.eyJ{_ANY}{{4,}}(?:\.{_ANY}*)?|eyJ{_ANY}{{8,}}(?:\.{_ANY}*){{4}}"

# A key may follow the "\n" of an escaped text directly.
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=bot))"
_KEY = re.compile(rf"{_BEGINS}(?:(?P<jwt>{_JWT})|{'|'.join(form for _, form in _FORMS)})")
_RUN = re.compile(r"[A-Za-z0-9_.~:+/=\\-]{20,}")
_AWS_ID = re.compile(r"A[KS]IA[A-Z2-7]{16}")
_AWS_SECRET = re.compile(
    r"(?<![A-Za-z0-9+/=_-])(?=[a-z0-9+/]{0,39}[A-Z])(?=[A-Z0-9+/]{0,39}[a-z])[A-Za-z0-9+/]{40}(?![A-Za-z0-9+/=_-])"
)
_AWS_REACH = 200

SHORTEST = 20
"""No form is shorter than this many characters of `A-Za-z0-9_.~:+/=\\-` in a row."""


def find(text: str) -> Iterator[Span]:
    """The keys, tokens and JWTs in `text` that have the form of a provider."""
    for run in _RUN.finditer(text):
        for match in _KEY.finditer(text, run.start(), run.end()):
            length = len(match.group().rstrip("."))
            yield Span("jwt" if match["jwt"] else "api-key", match.start(), match.start() + length)
    for key_id in _AWS_ID.finditer(text):
        # An AWS secret has no mark of its own; beside its id it is known.
        for match in _AWS_SECRET.finditer(text, key_id.end(), key_id.end() + _AWS_REACH):
            yield Span("api-key", *match.span())
