"""Numbers that carry a check: payment cards, Korean resident numbers, bank accounts (IBAN). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from total_recall.privacy.spans import Span

FEWEST_DIGITS = 10
"""Each of these numbers has at least so many digits in a row, spaces and hyphens aside."""

# --- payment cards ---------------------------------------------------------------------------------------------------

_BRANDS: tuple[tuple[str, str], ...] = (
    ("Visa", r"4\d{15}"),
    ("Mastercard", r"5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"),
    ("Discover", r"6(?:011|22\d|4[4-9]\d|5\d\d)\d{12}"),
    ("JCB", r"35(?:2[89]|[3-8]\d)\d{12}"),
    ("UnionPay", r"62\d{14}|62\d{17}"),
    ("American Express", r"3[47]\d{13}"),
    ("Diners Club", r"3(?:0[0-5]|[689]\d)\d{11}"),
    ("Korean local cards", r"9\d{15}"),
)

_CARD_DIGITS = re.compile("|".join(pattern for _, pattern in _BRANDS))
_CARD = re.compile(
    r"(?<![\w.+-])"
    r"(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5}|\d{14,16}|62\d{17})(?![\w-]|\.\d)",
    re.ASCII,
)
_OTHER_NUMBER = re.compile(
    r"(?:order|tracking|invoice|reference|ref|serial|imei|isbn|parcel|shipment|ticket|timestamp|snowflake|message|"
    r"channel|user|guild|주문|송장|운송장|등록|관리|일련|접수|예약)"
    r"[\w ]{0,12}[\"'#:.= ]{0,6}(?:번호)?(?:는|은)?[\"'#:.= ]{0,4}$",
    re.IGNORECASE,
)
_BEFORE = 40


def luhn(digits: str) -> bool:
    """Whether the last of `digits` is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (doubled + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


def _cards(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        digits = "".join(filter(str.isdigit, match.group()))
        if not (_CARD_DIGITS.fullmatch(digits) and luhn(digits)):
            continue
        is_bare = digits == match.group()
        # One bare number in ten passes the check by chance; an order or parcel number says what it is.
        if is_bare and (digits[0] == "9" or _OTHER_NUMBER.search(text, max(0, match.start() - _BEFORE), match.start())):
            continue
        yield Span("card-number", *match.span())


# --- Korean resident registration numbers ----------------------------------------------------------------------------

_RESIDENT = re.compile(r"(?<![\w.-])(\d{6})( ?[-–] ?| )?([0-9]\d{6})(?![\w-]|\.\d)", re.ASCII)
_RESIDENT_WORD = re.compile(r"주민|외국인 ?등록|resident (?:registration )?(?:number|id)|\brrn\b", re.IGNORECASE)
_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
_CENTURY = {
    "9": 1800, "0": 1800, "1": 1900, "2": 1900, "5": 1900, "6": 1900, "3": 2000, "4": 2000, "7": 2000, "8": 2000,
}  # fmt: skip
_NO_CHECK_SINCE = date(2020, 10, 1)
"""Numbers given since then are random behind the digit for the sex."""


def _born(digits: str) -> date | None:
    try:
        return date(_CENTURY[digits[6]] + int(digits[:2]), int(digits[2:4]), int(digits[4:6]))
    except ValueError:
        return None


def _has_resident_check(digits: str) -> bool:
    remainder = sum(int(digit) * weight for digit, weight in zip(digits, _WEIGHTS, strict=False)) % 11
    base = 13 if digits[6] in "5678" else 11
    return (base - remainder) % 10 == int(digits[12])


def _resident_numbers(text: str) -> Iterator[Span]:
    for match in _RESIDENT.finditer(text):
        digits = match[1] + match[3]
        born = _born(digits)
        if born is None:
            continue
        is_named = bool(_RESIDENT_WORD.search(text, max(0, match.start() - _BEFORE), match.start()))
        is_checked = born >= _NO_CHECK_SINCE or _has_resident_check(digits)
        is_written_so = bool(match[2]) and "-" in match[2].replace("–", "-")
        # Thirteen digits alone may be a time in milliseconds.
        if is_named or (is_written_so and is_checked):
            yield Span("resident-number", *match.span())


# --- IBAN -------------------------------------------------------------------------------------------------------------

_IBAN_LENGTHS = dict(
    pair.split(":")
    for pair in (
        "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 "
        "DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 HU:28 "
        "IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 "
        "MD:24 ME:22 MK:19 MR:27 MT:31 MU:30 NL:18 NO:15 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 RS:22 SA:24 "
        "SC:31 SE:24 SI:19 SK:24 SM:27 ST:25 SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 VG:24 XK:20 "
    ).split()
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d\d(?:[ -]?[A-Za-z0-9]){11,28}", re.ASCII)


def _ibans(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        length = int(_IBAN_LENGTHS.get(match.group()[:2].upper(), 0))
        end = _end_of(text, match.start(), match.end(), length)
        if end is None or text[end : end + 1].isalnum():
            continue
        compact = "".join(filter(str.isalnum, text[match.start() : end])).upper()
        if int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 == 1:
            yield Span("iban", match.start(), end)


def _end_of(text: str, start: int, end: int, length: int) -> int | None:
    """Where the first `length` letters and digits of `text[start:end]` end; None where there are fewer."""
    seen = 0
    for at in range(start, end):
        seen += text[at].isalnum()
        if seen == length:
            return at + 1
    return None


def find(text: str) -> Iterator[Span]:
    """The payment-card, Korean resident and bank account numbers in `text` whose checks hold."""
    yield from _cards(text)
    yield from _resident_numbers(text)
    yield from _ibans(text)
