"""What a value looks like: drawn at random, a stand-in for a secret, or code. Pure."""

from __future__ import annotations

import re

_STAND_IN_WORDS = frozenset(
    "password passwd pass pwd passphrase passcode secret token key apikey api_key api-key credential credentials value "
    "string str text bytes any none null nil undefined true false yes no on off empty required optional example sample "
    "test changeme change_me redacted hidden masked removed placeholder todo tbd dummy foo bar foobar int bool number "
    "boolean object var let const inherit default disabled enabled user username name".split()
)
_STAND_IN = re.compile(
    r"[*•●xX.…_#?-]{3,}|<.*"
    r"|\$(?:[A-Z][A-Z0-9_]*|[A-Za-z_]+|[({].*)|\{[\w .:#-]*(?:\}.*)?|%(?:[({].*|[sd]|\w+%)"  # a variable
    r"|\[[A-Za-z ]*\]?|@[A-Za-z.]+|:[a-z_]+|&[a-z_]+",
    re.DOTALL,
)
# Each branch begins with a letter of its own: this is looked for in every value.
_STAND_IN_PART = re.compile(
    r"\*\*\*\*|xxxx|\.\.\.|…|\$\{|\{\{|your[-_ ]|insert[-_ ]|example[-_ ]|placeholder|redacted[-_ ]|-here|_here"
)
_CODE = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*[(\[].*"  # a call or an index
    r"|[A-Za-z_$][A-Za-z_$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][A-Za-z_$0-9]*)+[,;)]*"  # a.b.c
    r"|[!&*]?(?:str|string|String|bytes|int|bool|number|boolean|Any|None|Optional|Union|SecretStr)\b.*"
    r"|function\b.*|lambda\b.*|new\b.*|await\b.*|async\b.*|\(.*|[|>][-+]?",
    re.DOTALL,
)
_URL = re.compile(r"(?:https?|file)://")
_PATH = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][a-z0-9._/\\-]*|[a-z0-9_-]+(?:/[a-z0-9_.-]+)*\.[a-z]{1,5}")
_FROM_ROOT = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w. /\\-]*|(?:arn|file):.*")
_VERSION = re.compile(r"v?\d+(?:[.:-]\d+)*[a-z]{0,4}", re.IGNORECASE)
_BREAK = re.compile(r"[-_.:/+=]")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_RISE = re.compile(r"[a-z](?=[A-Z])")
_TURN = re.compile(r"\d(?=\D)|\D(?=\d)")
_LONG_ENOUGH = re.compile(r"[^-_.:/+=]{6,}")
_MIDDLING_PIECE, _LONG_PIECE = 10, 16
_TELLING = 64
"""As many characters of a long value are enough to tell what it looks like."""


def is_stand_in(value: str) -> bool:
    """Whether `value` stands for a secret that is not there: `<key>`, `${KEY}`, `****`, `changeme`, `None`."""
    small = value[:_TELLING].lower()
    if not small.strip() or small in _STAND_IN_WORDS or small.startswith("your"):
        return True
    return bool(_STAND_IN.fullmatch(value) or _STAND_IN_PART.search(small))


def is_code(value: str) -> bool:
    """Whether an unquoted `value` is an expression or a type: `os.environ["KEY"]`, `get_key()`, `str`, `self.key`."""
    return bool(_CODE.fullmatch(value))


def is_place(value: str) -> bool:
    """Whether `value` is the path of a file or a folder, from the root, the home or the current folder, or an ARN."""
    return bool(_FROM_ROOT.fullmatch(value))


def is_random(value: str, *, at_least: int = 8) -> bool:
    """Whether `value` looks drawn at random: no word, identifier, version, number, path or address."""
    start = value[:_TELLING]
    if len(value) < at_least or not _is_mixed(start):
        return False
    if is_stand_in(start) or _VERSION.fullmatch(start) or _URL.match(start) or _PATH.fullmatch(start):
        return False
    return any(map(_is_random_piece, _LONG_ENOUGH.findall(start)))


def _is_mixed(value: str) -> bool:
    """Letters and digits; or, in one piece, letters of both cases."""
    if not _LETTER.search(value):
        return False
    return bool(_DIGIT.search(value)) or not (value.islower() or value.isupper() or _BREAK.search(value.rstrip("=")))


def _is_random_piece(piece: str) -> bool:
    """Letters and digits, or both cases, in turns: not `sonnet`, `2026`, `4o`, `sha256`, `DailySummary`."""
    rises = len(_RISE.findall(piece))
    if len(piece) >= _LONG_PIECE and rises >= 3 and rises * 5 >= len(piece) - 5:
        return True
    turns = len(_TURN.findall(piece))
    return turns >= 2 or (turns == 1 and len(piece) >= _MIDDLING_PIECE)
