"""Values that a name in front of them makes secret: "my password is …", "비밀번호는 …", `API_KEY=…`. Pure.

A strong name (password, 비밀번호) makes a secret of whatever is given as its value, a plain word included; a weak one
(key, token, secret), which has other meanings too, only of a value that looks drawn at random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from total_recall.privacy.looks import is_code, is_place, is_random, is_stand_in
from total_recall.privacy.spans import Kind, Span

# --- names ------------------------------------------------------------------------------------------------------------

CUES = re.compile(
    r"p(?:ass(?:w(?:or[dt]|d)|phrase|code)|wd?(?![a-z])|in(?![a-z]))|se(?:cret|nha)|token|key|c(?:redential"
    r"|v[cv](?![a-z])|ontrase[nñ]a)|mot de passe"
    r"|비밀번호|비번|패스워드|패스코드|암호|핀 ?번호|토큰|키(?=[는:은가 ])|パスワード|密[码碼]"
)
"""Looked for in the lowered text: the places where a name begins."""

_KEY_OWNERS = re.compile(
    r"(?:api|app|access|secret|private|encryption|encrypt|signing|sign|master|auth|account|shared|service|client|"
    r"subscription|deploy|consumer|storage|wallet|license|webhook|rest|admin|aes|hmac|jwt|root|ssh)[ _.-]?$"
)
_NOT_THESE_TOKENS = re.compile(
    r"(?:page|next|cursor|continuation|sync|eos|bos|pad|unk|sep|mask|stop|special|max|min|per|prompt|input"
    r"|output|total|"
    r"num|completion|new|cached|client|change|request|idempotency)[ _.-]?$"
)
_ASKS_ABOUT_IT = re.compile(
    r"(?:\b|_)(?:is|has|use|no|needs?|requires?|show|hide|verify|check|validate|hash|get|forgot|change)_$"
)
_PART_OF_A_NAME = re.compile(r"::\w*$|[a-z0-9]:$|zas$")
"""`AWS::IAM::AccessKey`, `arn:aws:…:secret:name`."""
_NAME_GOES_ON = re.compile(r"[A-Za-z0-9_-]{0,32}")
_SAYS_ABOUT_IT = re.compile(
    r"s?[_-]?(?:hash|file|path|count|type|name|ur[li]|len|min|max|limit|budget|expir|ttl|policy|field|manager|reset|"
    r"hint|prompt|label|placeholder|iz|ref|id(?![a-z])|usage|used|version|strength|rotation|age|size|regex"
    r"|pattern|valid|verif|"
    r"changed|updated|created|required|enabled|algo|format|encod|column|input|form|page|error|dir|store|protect|"
    r"last|less|box|board|word|note|frame|stone|chain|ring|pair|hole|s(?![a-z]))",
    re.IGNORECASE,
)
_NOT_FOR_KEYS = re.compile(r"[A-Za-z]")
_BEFORE = 24

_STRONG: Kind = "password"
_KINDS: dict[str, Kind] = {
    "token": "token",
    "토큰": "token",
    "key": "api-key",
    "키": "api-key",
    "pin": "pin",
    "cvc": "pin",
    "cvv": "pin",
}
_WEAK = frozenset(("secret", "token", "key", "credential", "토큰", "키"))

# --- what stands between a name and its value ------------------------------------------------------------------------

_ASSIGNS = re.compile(
    r"[\"'`\]\\*)_]{0,4}(?:[ \t]+(?:for|of|to|on|you|I"
    r"|we)[ \t]+[^\n.:;=!?\"'(]{1,48}?)?(?:[ \t]\([^()\n]{1,32}\))?[ \t]{0,8}"
    r"(?P<op>:[ \t]*(?:str|string|String)(?:[ \t]*\|[ \t]*\w+)?[ \t]*=|:=|=>|===?|=|:|->|→|＝|：|\|(?=[ \t])"
    r"|>(?=[^\s<>=])|,(?=[ \t]*\\?[\"']))"
    r"\**[ \t]{0,8}(?:\r?\n[ \t]*(?=\S))?(?:[fbru]{1,2}(?=[\"']))?"
)
_IS = re.compile(
    r"[\"'`*)]{0,3}(?:[ \t]+(?:for|to|on|of|at|in|with)[ \t]+[^\n.:;=!?]{1,48}?)?"
    r"(?:['’]s|[ \t]+(?:is|was|are|ist|lautet|es|est|era|will[ ]be|should[ ]be|has[ ]been))"
    r"(?:[ \t]*[:=]|[ \t]+(?:now|still|always|currently|just|actually|called|set[ ]to|changed[ ]to"
    r"|simply)(?=[ \t:]))*[ \t:]*(?:(?<=[ \t:])|(?=\r?\n))",
    re.IGNORECASE,
)
_CHANGED = re.compile(r"\b(?:chang\w+|set|reset\w*|updat\w+|switch\w+|rotat\w+|mak\w+)\b[^.\n]{0,24}$", re.IGNORECASE)
_TO = re.compile(r"(?:[ \t]+(?:for|on|of|at)[ \t]+[^\n.:;=!?]{1,32}?)?[ \t]+(?:in)?to[ \t]+", re.IGNORECASE)
_NEXT_LINE = re.compile(r"\r?\n[ \t]*(?=\S)")
_AS = re.compile(
    r"(?<!\S)[\"'`]?([^\s\"'`]{3,64})[\"'`]?[ \t]+(?:as|is)[ \t]+"
    r"(?:my|the|his|her|our|your|a)[ \t]+(?:[a-z]+[ \t]+){0,2}$"
)
_LONGEST_BEFORE = 96
_BESIDE = re.compile(r"[\"'`]?[ \t]+(?:of[ \t]+)?")
_FLAG = re.compile(r"(?<![\w-])--?[a-z-]{0,24}$", re.IGNORECASE)
_CJK_IS = re.compile(r"[ \t]*(?:は|是|为|為|：|:|=)[ \t]*")

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」", '\\"': '\\"', "\\'": "\\'"}
_QUOTE = re.compile(r"\\?[\"'`“‘「]")
_BARE = re.compile(r"[^\s\"'`<>“”‘’「」]{1,256}")
_BARE_ENDS = re.compile(r"&[\w.-]+=|;(?:\s|\w[\w ]*=|$)|,(?:\s|$)|\\[nrt\"']")
_NO_SPACE = re.compile(r"\S{1,96}")
_TRAILING = ".,;:)]}?…。"
_LONGEST_QUOTED = 200

# --- words after "is" that are not the password itself ----------------------------------------------------------------

_NOT_VALUES = frozenset(
    """
    a an the this that these those it its my your his her our their mine yours hers theirs ours who whom whose
    what which
    why how when where there here i you he she we they one ones none nothing something anything everything
    someone nobody
    not no never always ever only just also too very so really quite pretty rather fairly extremely super totally a-bit
    still already now again currently actually probably maybe perhaps apparently obviously literally kinda sorta almost
    in on at by for from of to with within without under over behind inside near next as than like about around between
    and or but if because since until while unless then when whenever after before during though although per via
    is are was were be been being am has have had do does did will would shall should can could may might must cannot
    weak strong wrong right correct incorrect invalid valid secure insecure safe unsafe good bad fine ok okay great
    terrible awful horrible stupid silly simple complex complicated hard easy difficult tough long short longer shorter
    better worse best worst same different similar identical unique new old older newer fresh stale due overdue missing
    empty blank null none unknown unclear visible invisible secret private public confidential personal sensitive
    optional mandatory necessary important critical essential case case-sensitive case-insensitive sensitive strict
    somewhere anywhere nowhere elsewhere everywhere random numeric alphanumeric plain plaintext clear gone lost
    stolen out up down off back away down ready live dead
    broken stuck fine useless useful annoying available unavailable compulsory temporary permanent enough impossible
    possible true false fake real trash garbage crap rubbish nonsense compromised pwned common rare ambiguous unusable
    raise return throw continue break pass see ask use check enter type reset forgot forgotten written kept held
    known shown hidden sent set put made given taken
    found left seen built hung begun stuck spent bought brought taught told sold said read hashed salted n/a tbd minimum
    maximum min max required needed none-of-your-business contact ungültig falsch richtig sicher zu nicht sehr
    incorrecta
    incorrecto muy demasiado no incorrect trop très pas
    """.split()
)
_NOT_ENDINGS = ("ed", "ing", "able", "ible", "ful", "less", "ly", "ally", "tory", "'t", "’t")
_ENDS_PHRASE = frozenset(
    """
    and or but if because since until while unless so then when for from in on at by to with as than is are was were be
    please thanks thank ok okay right remember i you he she it we they my your the a an this that just not don't do does
    did will would can could should let also too now btw though which who what where how use using after before same
    """.split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NEXT_WORD = re.compile(r"[ \t]([^\W\d_]+(?:['’][^\W\d_]+)?)(?=[\s.,;:!?)\"']|$)")
_AFTER_FLAGS = frozenset("option options flag flags argument arguments parameter parameters switch value".split())
_MOST_WORDS = 12
_MEASURED = re.compile(
    r"[ \t]*(?:\+|or more|%|-?(?:characters?|chars?|digits?|letters?|symbols?|words?|days?|weeks?|months?"
    r"|years?|minutes?|hours?|times?|bits?|bytes?)\b)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d[\d.,]*[+%]?")


_RUN = re.compile(r"[^\s\"'`]{1,256}")
_MOST_NAMES_IN_A_RUN = 8


def find(text: str, lowered: str) -> Iterator[Span]:
    """The values that names make secret; `lowered` is `text` in small letters, place for place."""
    run_end = left = 0
    for cue in CUES.finditer(lowered):
        name = cue.group()
        if cue.start() >= run_end and (run := _RUN.match(text, cue.start())):
            run_end, left = run.end(), _MOST_NAMES_IN_A_RUN
        # "token=token=token=…" would be judged again and again.
        left -= 1
        if left < 0:
            continue
        span = _HANDLERS.get(name, _western)(text, lowered, cue)
        if span is not None:
            yield span


# --- English and code -------------------------------------------------------------------------------------------------


def _western(text: str, lowered: str, cue: re.Match[str]) -> Span | None:
    name = cue.group()
    before = lowered[max(0, cue.start() - _BEFORE) : cue.start()]
    rest = _NAME_GOES_ON.match(text, cue.end())
    after = rest.group() if rest else ""
    is_weak = name in _WEAK
    is_plural = not is_weak and after == "s"
    if (_SAYS_ABOUT_IT.match(after) and not is_plural) or (name in ("pw", "pwd", "senha") and before[-1:].isalpha()):
        return None
    if is_weak and _PART_OF_A_NAME.search(before):
        return None
    if name == "key" and (not _KEY_OWNERS.search(before) or _NOT_FOR_KEYS.match(after)):
        return None
    if not is_weak and _ASKS_ABOUT_IT.search(before):
        return None
    if name == "token" and _NOT_THESE_TOKENS.search(before):
        return None
    kind = _KINDS.get(name, "secret" if is_weak else _STRONG)
    at = cue.end() + len(after)
    for read in (_assigned, _stated, _changed_to, _beside, _used_as):
        place = read(text, cue.start(), at, is_weak)
        if place is not None:
            return Span(kind, *place)
    return None


Place = tuple[int, int]


def _assigned(text: str, name_at: int, at: int, is_weak: bool) -> Place | None:
    """`NAME=value`, `"name": "value"`, `name: value`, `Name := value`, `(…"NAME", "value")`."""
    assign = _ASSIGNS.match(text, at)
    if assign is None:
        return None
    op = assign["op"]
    quoted = _quoted(text, assign.end())
    if quoted is not None:
        value = text[slice(*quoted)]
        if _same_name(value, text, name_at, at) or is_place(value) or (op == "," and not _has_both(value)):
            return None
        if not (is_random(value) if is_weak and not _is_constant(text, name_at, at) else not is_stand_in(value)):
            return None
        return quoted if len(value) >= _SHORTEST else None
    place = _bare(text, assign.end())
    if place is None or op.startswith(("==", ",")):
        return None
    value = text[slice(*place)]
    if (op == "|" and not _has_both(value)) or (op == ">" and not text.startswith("</", place[1])):
        return None
    if len(value) < _SHORTEST or is_place(value) or is_code(_up_to_space(text, place[0])):
        return None
    if is_weak and not (_is_constant(text, name_at, at) and _is_dense(value)):
        return place if is_random(value) else None
    if is_stand_in(value):
        return None
    if is_weak:
        return place
    if "\n" in assign.group() and not _has_both(value):
        return None
    is_variable = bool(_VARIABLE.fullmatch(value)) and not value.isalpha()
    if is_variable and op.endswith(":") and _SECRET_WORD.search(value):
        return None
    if not _WORD.fullmatch(value) and not (is_variable and op.endswith("=")):
        return None if _is_measure(text, place) else place
    if op.endswith("="):
        # `connect(password=password)` passes a variable; `DB_PASSWORD=word` and `?password=word` are values.
        return (
            place
            if _is_constant(text, name_at, at) or text[_name_start(text, name_at) - 1 : name_at][:1] in tuple("?&;")
            else None
        )
    return _word_or_phrase(text, place[0])


_SHORTEST = 3
_VARIABLE = re.compile(r"[A-Za-z]*(?:_[A-Za-z]*)+")
_SECRET_WORD = re.compile(r"pass|pwd|secret|token|key|auth|user|cred", re.IGNORECASE)


def _has_both(value: str) -> bool:
    """Letters and digits."""
    return any(character.isdigit() for character in value) and any(character.isalpha() for character in value)


def _same_name(value: str, text: str, start: int, end: int) -> bool:
    """Whether a value only repeats its name: `CHALLENGE_WORD: "challengeWord"`."""
    name = "".join(filter(str.isalnum, text[_name_start(text, start) : end])).lower()
    return "".join(filter(str.isalnum, value)).lower() == name


def _is_dense(value: str) -> bool:
    return len(value) >= 6 and " " not in value and not value.isdigit() and "/" not in value and "." not in value


def _name_start(text: str, at: int) -> int:
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    return at


def _is_constant(text: str, start: int, end: int) -> bool:
    """Whether the name is written as environment variables are: `DB_PASSWORD`, and says secret or password."""
    name = text[_name_start(text, start) : end]
    return name == name.upper() and any(part in name for part in ("SECRET", "PASS", "PWD"))


def _up_to_space(text: str, at: int) -> str:
    match = _NO_SPACE.match(text, at)
    return match.group() if match else ""


def _stated(text: str, name_at: int, at: int, is_weak: bool) -> Place | None:
    """ "my password is …", "the password for the router is now …" """
    says = _IS.match(text, at)
    if says is None:
        return None
    next_line = _NEXT_LINE.match(text, says.end())
    place = _told(text, next_line.end() if next_line else says.end(), is_weak)
    return None if place and next_line and not _has_both(text[slice(*place)]) else place


def _used_as(text: str, name_at: int, at: int, is_weak: bool) -> Place | None:
    """ "I use … as my password" """
    before = _AS.search(text, max(0, name_at - _LONGEST_BEFORE), name_at)
    if before is None or is_weak or len(before[1]) < 6 or not _has_both(before[1]):
        return None
    return before.span(1)


def _changed_to(text: str, name_at: int, at: int, is_weak: bool) -> Place | None:
    """ "I changed my password to …" """
    to = _TO.match(text, at)
    if to is None or not _CHANGED.search(text, max(0, name_at - 40), name_at):
        return None
    return _told(text, to.end(), is_weak)


def _beside(text: str, name_at: int, at: int, is_weak: bool) -> Place | None:
    """ "with password …", `--token …`: nothing between, so the value must not look like a word."""
    beside = _BESIDE.match(text, at)
    if beside is None:
        return None
    place = _quoted(text, beside.end()) or _bare(text, beside.end())
    if place is None:
        return None
    value = text[slice(*place)]
    if len(value) < _SHORTEST or value.startswith(("-", "=", "(", "|", "/")) or is_stand_in(value) or is_code(value):
        return None
    if is_weak:
        return place if is_random(value, at_least=12) else None
    if _FLAG.search(text, max(0, name_at - _BEFORE), name_at):
        return None if value.lower() in _AFTER_FLAGS or value.lower() in _NOT_VALUES else place
    return place if _has_both(value) and len(value) >= 6 and not _is_measure(text, place) else None


def _told(text: str, at: int, is_weak: bool) -> Place | None:
    """The value in a sentence, from `at` on."""
    quoted = _quoted(text, at)
    place = quoted or _bare(text, at)
    if place is None:
        return None
    value = text[slice(*place)]
    if len(value) < _SHORTEST or is_stand_in(value) or (quoted is None and is_code(value) and not is_random(value)):
        return None
    if is_weak:
        return place if is_random(value, at_least=12) else None
    if quoted is not None:
        return quoted
    if (
        _WORD.match(value)
        and (word := _WORD.match(text, at))
        and word.end() >= place[1] - 1
        and value.strip("!").replace("-", "").replace("'", "").isalpha()
    ):
        return _word_or_phrase(text, at)
    return None if _is_measure(text, place) or value.startswith("http") else place


def _is_measure(text: str, place: Place) -> bool:
    """ "12 characters", "90 days", "8+", "100%" """
    return bool(_NUMBER.fullmatch(text, *place)) and bool(_MEASURED.match(text, place[1]) or text[place[1] - 1] in "+%")


def _word_or_phrase(text: str, at: int) -> Place | None:
    """A plain word, or words up to the end of the phrase, unless they say something about the password."""
    word = _WORD.match(text, at)
    if word is None:
        return None
    first = word.group().casefold()
    if first in _NOT_VALUES or first.endswith(_NOT_ENDINGS):
        return None
    end = word.end()
    for _ in range(_MOST_WORDS):
        following = _NEXT_WORD.match(text, end)
        if following is None or following[1].casefold() in _ENDS_PHRASE:
            break
        end = following.end()
    return at, end + (text[end : end + 1] == "!")


def _quoted(text: str, at: int) -> Place | None:
    opening = _QUOTE.match(text, at)
    closing = _QUOTES.get(opening.group()) if opening else None
    if opening is None or closing is None:
        return None
    end = text.find(closing, opening.end(), opening.end() + _LONGEST_QUOTED)
    if end < 0 or "\n" in text[opening.end() : end]:
        return None
    return (opening.end(), end) if end > opening.end() else None


def _bare(text: str, at: int) -> Place | None:
    match = _BARE.match(text, at)
    if match is None:
        return None
    ends = _BARE_ENDS.search(text, at, match.end() + 1)
    value = text[at : min(match.end(), ends.start()) if ends else match.end()].rstrip(_TRAILING)
    return (at, at + len(value)) if value else None


# --- PIN and card codes -----------------------------------------------------------------------------------------------

_PIN = re.compile(
    r"(?:[ -]?(?:code|number|번호))?(?:[ \t]+(?:for|to|of|on)[ \t]+[^\n.:;=!?\d]{1,32}?)?"
    r"(?:[ \t]*[:=][ \t]*|['’]s[ \t]+|[ \t]+(?:is|was|code|number)[ \t:]+|[ \t]*(?:은|는"
    r"|이)[ \t]*)(?:now[ \t]+)?[\"'`]?(?P<secret>\d{3,8})(?![\d.,:-]*\d)",
    re.IGNORECASE,
)
_POSTAL_DIGITS = 6


def _pin(text: str, lowered: str, cue: re.Match[str]) -> Span | None:
    if lowered[cue.start() - 1 : cue.start()].isalnum():
        return None
    match = _PIN.match(text, cue.end())
    if match is None or (cue.group() == "pin" and len(match["secret"]) < 4):
        return None
    # In India a PIN code is a postal code.
    is_postal = "code" in match.group().lower() and len(match["secret"]) == _POSTAL_DIGITS
    return None if is_postal else Span("pin", *match.span("secret"))


# --- Korean -----------------------------------------------------------------------------------------------------------

_KO_LINK = re.compile(
    r"(?P<particle>는|은|가|이|를|을|도)?[\"'`*]{0,3}(?P<op>[ \t]*(?:[:=：]|->"
    r"|→)[ \t]*)?(?P<space>[ \t]*)(?:(?:지금|현재|이제|그냥|새로|바꿨\w{1,3}|변경했\w{1,3})[,.]?[ \t]+)?"
)
_KO_BARE = re.compile(r"[!#-&(-;=?-_a-~]{2,64}")
_KO_COPULA = r"(?:이?야|이?에요|예요|이?다|임|입니다|이었\w*|였\w*|이?고|이?며|인데|이?라고|이?라|이?지|이?구|란|이?랑)"
_KO_GOES_ON = re.compile(
    rf"[\"'`]?(?:[ \t]+(?:기억|적어|메모)|으?로[ \t]*(?:$|[\n.,!]))|[\"'`]?[ \t]*(?:$|[\r\n,.!?~)]"
    rf"|{_KO_COPULA}(?:[\s.,!?~)]|$)|(?:으?로|을|를)[ \t]*(?:바[꾸꿔꿨뀌뀐]|변경"
    rf"|설정|했|해[^야]|하[고자]|정했|초기화|업데이트|교체|쓰|써|사용|입력|들어|로그인))"
)
_KO_WORD = re.compile(
    r"(?P<secret>[가-힣]{2,12})(?=(?:야|에요|예요|입니다|임|이다|라고|인데)(?:[.,!?~)\n]|$|[ \t]+(?!해|돼|한|하"
    r"|됩|되|함|지|겠)))"
)
_KO_ALONE = re.compile(r"(?P<secret>[가-힣]{2,12})[ \t]*(?=[\n.,!]|$)")
_KO_NOT_VALUES = re.compile(
    r"(?:뭐|무엇|그거|그것|이거|이것|저거|거|것|내|네|제|우리|비밀|문제|필수|선택|안전|중요|동일|똑같|같은"
    r"|그대로|다음|아래|위|별로|최악|엉망|없|있|변경|만료|오류|"
    r"누구|어디|언제|영문|숫자|한글|특수|아직|진짜|정말|임시|기본|초기|예전|나중|틀린|맞는|노출|유출|입력"
    r"|재설정|잊|모르|설정|저장|관리|사용|필요|불필요|하나|전부|여기|거기|최소|최대|"
    r"대소문자|자동|보안|담당|공개|비공개|개인|아무|너무|매우).*"
)


def _korean(text: str, lowered: str, cue: re.Match[str]) -> Span | None:
    link = _KO_LINK.match(text, cue.end())
    if link is None:
        return None
    is_weak = cue.group() in _WEAK
    place = _korean_value(text, link, is_weak)
    if place is None or (is_weak and not is_random(text[slice(*place)], at_least=12)):
        return None
    return Span(_KINDS.get(cue.group(), _STRONG), *place)


def _korean_value(text: str, link: re.Match[str], is_weak: bool) -> Place | None:
    is_linked = bool(link["particle"] or link["op"])
    quoted = _quoted(text, link.end())
    if quoted is not None:
        return None if is_stand_in(text[slice(*quoted)]) else quoted
    if not is_linked and not link["space"]:
        return None
    bare = _KO_BARE.match(text, link.end())
    if bare is not None:
        return _korean_ascii(text, bare, bool(link["op"]))
    if is_weak or not is_linked:
        return None
    word = _KO_WORD.match(text, link.end()) or (_KO_ALONE.match(text, link.end()) if link["op"] else None)
    if word is None or _KO_NOT_VALUES.fullmatch(word["secret"]):
        return None
    return word.span("secret")


def _korean_ascii(text: str, bare: re.Match[str], has_op: bool) -> Place | None:
    value = bare.group().rstrip(_TRAILING)
    end = bare.start() + len(value)
    if len(value) < _SHORTEST or is_stand_in(value) or is_code(value):
        return None
    goes_on = _KO_GOES_ON.match(text, end)
    is_mixed = not value.isalpha() and not _NUMBER.fullmatch(value)
    at_end = not text[end : end + 40].strip(" \t.,!?~").split("\n")[0]
    if goes_on is not None and (is_mixed or has_op or not at_end or value.isdigit()):
        return bare.start(), end
    return (bare.start(), end) if has_op and is_mixed and text[end : end + 1].isspace() else None


# --- Chinese and Japanese ---------------------------------------------------------------------------------------------


def _cjk(text: str, lowered: str, cue: re.Match[str]) -> Span | None:
    link = _CJK_IS.match(text, cue.end())
    if link is None:
        return None
    place = _quoted(text, link.end())
    if place is None and (bare := _KO_BARE.match(text, link.end())):
        place = (bare.start(), bare.start() + len(bare.group().rstrip(_TRAILING)))
    if place is None or place[1] - place[0] < _SHORTEST or is_stand_in(text[slice(*place)]):
        return None
    return Span(_STRONG, *place)


_HANDLERS: dict[str, Callable[[str, str, re.Match[str]], Span | None]] = {
    "pin": _pin, "cvc": _pin, "cvv": _pin, "핀번호": _pin, "핀 번호": _pin,
    "비밀번호": _korean, "비번": _korean, "패스워드": _korean, "패스코드": _korean,
    "암호": _korean, "토큰": _korean, "키": _korean,
    "パスワード": _cjk, "密码": _cjk, "密碼": _cjk,
}  # fmt: skip
