"""Credentials in HTTP headers, cookies, URLs and on command lines. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from total_recall.privacy.looks import is_random, is_stand_in
from total_recall.privacy.spans import Kind, Span

_BEARER = re.compile(r"bearer[ \t]+(?P<secret>[A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_BASIC = re.compile(r"basic[ \t]+(?P<secret>[A-Za-z0-9+/]{6,}={0,2})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"authorization[\"']?[ \t]*[:=,][ \t]*[frb]?[\"']?(?:[A-Za-z-]{1,20}[ \t]+)?(?P<secret>[A-Za-z0-9._~+/=-]{12,})",
    re.IGNORECASE,
)
_PAIR = r"[A-Za-z0-9_.$%-]{1,64}=[^\s;,\"'<>{}]{1,4096}"
_COOKIE = re.compile(
    rf"(?<![A-Za-z0-9_])(?<!set-)cookie[\"']?[ \t]*[:=][ \t]*[\"']?(?P<secret>{_PAIR}(?:;[ \t]*{_PAIR})*)",
    re.IGNORECASE,
)
_SET_COOKIE = re.compile(
    r"set-cookie[\"']?[ \t]*[:=][ \t]*[\"']?[A-Za-z0-9_.$%-]{1,64}=(?P<secret>[^\s;,\"'<>{}]{6,4096})", re.IGNORECASE
)
_SESSION_NAMES = ("phpsessid", "sessionid", "connect.sid", "session_token", "csrftoken", "xsrf-token")
_SESSION = re.compile(
    r"(?:sessionid=|(?:phpsessid|jsessionid|connect\.sid|session_token|csrftoken|xsrf-token)[\"']?[ \t]*[=:])"
    r"[ \t]*[\"']?(?P<secret>[A-Za-z0-9%._+/=-]{16,})",
    re.IGNORECASE,
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"://[^\s/?#@:\"'<>]{0,128}:(?P<secret>[^\s/?\"'<>]{1,256})@(?=[\w\[{.-])")
_URL_TOKEN = re.compile(r"://(?P<secret>[A-Za-z0-9_-]{20,256})@(?=[\w.-])")
_SIGNATURE = re.compile(
    r"[?&](?:sig|signature|x-amz-signature|x-goog-signature)=(?P<secret>[A-Za-z0-9%+/=_-]{16,})", re.IGNORECASE
)
_COMMAND_LINE = re.compile(
    r"(?:curl|https?|wget)\b[^\n]{0,200}?[ \t](?:-u|--user)[ =]?[\"']?[^\s:\"']{1,64}:(?P<curl>[^\s\"']{1,128})"
    r"|sshpass[ \t]+-p[ \t]*[\"']?(?P<sshpass>[^\s\"']{1,128})"
    r"|mysql(?:dump|admin)?\b[^\n]{0,200}?[ \t]-p(?P<mysql>[^\s\"']{3,128})"
)


def _is_user_and_password(encoded: str) -> bool:
    try:
        decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return False
    return ":" in decoded and decoded.isprintable()


def _is_session(value: str) -> bool:
    """A bare UUID names a session of some program; a cookie's value opens one."""
    return is_random(value) and not _UUID.fullmatch(value)


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    before = text[match.start() - 1 : match.start()] if match.start() else ""
    return not before.isalnum()


def find_in_headers(text: str, lowered: str) -> Iterator[Span]:
    """What authenticates in `Authorization`, `Cookie` and `Set-Cookie`, in a header of its own or in a text."""
    if "bearer" in lowered:
        for match in _BEARER.finditer(text):
            if _stands_alone(text, match) and is_random(match["secret"]):
                yield _span("token", match)
    if "basic" in lowered:
        for match in _BASIC.finditer(text):
            if _stands_alone(text, match) and _is_user_and_password(match["secret"]):
                yield _span("password", match)
    if "authorization" in lowered:
        for match in _AUTHORIZATION.finditer(text):
            if _stands_alone(text, match) and is_random(match["secret"]):
                yield _span("token", match)
    if "cookie" in lowered:
        for pattern in (_SET_COOKIE, _COOKIE):
            yield from (_span("cookie", match) for match in pattern.finditer(text))
    if any(name in lowered for name in _SESSION_NAMES):
        yield from (_span("cookie", match) for match in _SESSION.finditer(text) if _is_session(match["secret"]))


def find_in_urls(text: str, lowered: str) -> Iterator[Span]:
    """Passwords and tokens in URLs, connection strings and the arguments of `curl`, `mysql` and `sshpass`."""
    if "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            if not is_stand_in(match["secret"]):
                yield _span("password", match)
        yield from (_span("token", match) for match in _URL_TOKEN.finditer(text) if is_random(match["secret"]))
        if "sig" in lowered:
            yield from (_span("token", match) for match in _SIGNATURE.finditer(text))
    if " -u" in text or " -p" in text or "--user" in text:
        for match in _COMMAND_LINE.finditer(text):
            name = match.lastgroup or ""
            if not is_stand_in(match[name]):
                yield Span("password", *match.span(name))


def _span(kind: Kind, match: re.Match[str]) -> Span:
    return Span(kind, *match.span("secret"))
