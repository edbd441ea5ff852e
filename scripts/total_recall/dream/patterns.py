"""What recurs on separate days becomes a proposal to a person: a line for one of the agent's own files. Pure.

A theme is a pair of telling words that observations of three or more days share, around the one that says it best.
Repeats of one day count once, temporary context never counts, and nothing is proposed that the files say already.
What a person has decided stands: see `is_answered`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import combinations
from typing import Final, Literal

from total_recall.records import ObservationType
from total_recall.text import CJK, STOP_WORDS, content_words, language_of, names, negations, numbers, sentences

Target = Literal["AGENTS.md", "MEMORY.md", "USER.md", "TOOLS.md", "favorites.md"]
Level = Literal["low", "medium", "high"]
Status = Literal["pending", "approved", "applied", "rejected"]

LEAST_DAYS: Final = 3
LEAST_IMPORTANCE: Final = 5.0
LEAST_CONFIDENCE: Final = 0.3
"""What is less certain is no evidence."""
UNKNOWN_CONFIDENCE: Final = 0.5
MOST_PROPOSALS: Final = 10
"""In one night, the best founded first; the others are there the next night as well."""
MOST_EVENTS: Final = 3
"""Of those, what only happened again and again: it is seldom worth a line in a file."""
LATEST: Final = 5_000
"""So many observations are looked at, the newest ones."""
AGAIN: Final = 2
"""So many times the days of a rejected proposal must be there before it is made again."""

STANDING: Final[tuple[ObservationType, ...]] = ("rule", "preference", "habit", "goal", "fact")
"""Types that say how things are rather than what happened, the weightiest first."""
LEVELS: Final[tuple[tuple[Level, int, float], ...]] = (
    ("high", 6, 0.7),
    ("medium", 4, 0.5),
    ("medium", 3, 0.9),
    ("low", 0, 0.0),
)
"""(confidence of a proposal, at least so many separate days, mean confidence at least); the first that fits."""

_ALIKE: Final = 0.5
"""Share of the shorter one's words, for a line to support a standing one."""
_SAME: Final = 0.6
"""Dice coefficient, for two events or two facts to be the same one again."""
_SAID: Final = 0.75
"""Share of a theme's words, for a sentence of a file to say it already."""
_COMMON: Final = 0.3
"""A word that so large a share of many observations have tells nothing."""
_MANY: Final = 20
_TELLING_WORDS: Final = 8
"""The rarest ones of an observation, of which every pair is looked at."""
_SUMMARY_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Noted:
    """An observation, from the document or the archive: when it was recorded, and with what importance (0-10) then.

    `id` is its `dc:id` or its name in the archive. `is_current` is False for what was superseded.
    """

    id: str
    day: date
    text: str
    type: ObservationType
    importance: float
    confidence: float | None
    is_current: bool = True


@dataclass(frozen=True, slots=True)
class Earlier:
    """A proposal that was made before: what it said, on how many days of evidence, which, and what became of it."""

    text: str
    ids: frozenset[str]
    days: int
    status: Status


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a person is asked. `evidence` are the observations in order of time, of one day the best one."""

    type: ObservationType
    target: Target
    confidence: Level
    summary: str
    text: str
    evidence: tuple[Noted, ...]


@dataclass(frozen=True, slots=True)
class _Theme:
    best: Noted
    members: tuple[Noted, ...]
    words: frozenset[str]
    days: int


def propose(
    noted: Sequence[Noted], targets: Mapping[str, str], earlier: Sequence[Earlier], today: date
) -> tuple[Proposal, ...]:
    """The proposals of this night, whatever the order of `noted`. `targets` are the texts of the files, by name."""
    said = [words for text in targets.values() for words in _sentences(text)]
    themes = [
        theme
        for theme in _themes(_unique([one for one in noted if _counts(one, today)])[-LATEST:])
        if not _is_said(theme, said) and not is_answered(theme.best.text, _days_and_ids(theme), earlier)
    ]
    made = sorted(map(_proposal, themes), key=_rank)
    events = [one for one in made if one.type == "event"]
    return tuple([one for one in made if one.type != "event"] + events[:MOST_EVENTS])[:MOST_PROPOSALS]


def is_answered(text: str, evidence: tuple[int, frozenset[str]], earlier: Sequence[Earlier]) -> bool:
    """Whether a person has this before them, or has said what they think of it.

    A proposal that waits or was approved is not made again. One that was rejected, or was applied and is gone from the
    file, is made again when there are twice as many days of evidence (`evidence` is their number and the ids).
    """
    days, ids = evidence
    for one in earlier:
        is_same = len(ids & one.ids) * 2 > min(len(ids), len(one.ids)) > 0 or _says_the_same(text, one.text)
        if is_same and (one.status in ("pending", "approved") or days < AGAIN * max(one.days, LEAST_DAYS)):
            return True
    return False


def _counts(one: Noted, today: date) -> bool:
    return (
        one.is_current
        and one.type != "context"
        and one.importance >= LEAST_IMPORTANCE
        and (one.confidence is None or one.confidence >= LEAST_CONFIDENCE)
        and one.day <= today
    )


def _unique(noted: Sequence[Noted]) -> list[Noted]:
    """Each once, in an order of their own: an observation may be in the document and in the archive."""
    return sorted({(one.day, one.text): one for one in sorted(noted, key=_order)}.values(), key=_order)


def _order(one: Noted) -> tuple[date, str, str, str, float, float]:
    return one.day, one.text, one.id, one.type, one.importance, _sureness(one)


def _sureness(one: Noted) -> float:
    return UNKNOWN_CONFIDENCE if one.confidence is None else one.confidence


# --- themes


def _themes(noted: Sequence[Noted]) -> Iterator[_Theme]:
    """Themes that share no observation, those of the most days first."""
    seeds: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, telling in enumerate(_telling(noted)):
        for pair in combinations(telling, 2):
            seeds[pair].append(number)
    days = [one.day.toordinal() for one in noted]
    counted = ((len({days[n] for n in holders}), pair) for pair, holders in seeds.items() if len(holders) >= LEAST_DAYS)
    ranked = sorted((-count, pair) for count, pair in counted if count >= LEAST_DAYS)
    taken: set[int] = set()
    for _, pair in ranked:
        left = [n for n in seeds[pair] if n not in taken]
        if len({days[n] for n in left}) < LEAST_DAYS:
            continue
        best = _best([noted[n] for n in left])
        members = [n for n in left if _supports(noted[n], best)]
        count = len({days[n] for n in members})
        if count >= LEAST_DAYS:
            taken.update(members)
            yield _theme(best, [noted[n] for n in members], count)


def _telling(noted: Sequence[Noted]) -> list[list[str]]:
    """Of each observation the words that others on three days or more have too, without those that nearly all have."""
    days: dict[str, set[date]] = defaultdict(set)
    count: Counter[str] = Counter()
    for one in noted:
        for word in theme_words(one.text):
            days[word].add(one.day)
            count[word] += 1
    most = max(_MANY, round(_COMMON * len(noted)))
    useful = {word for word in count if len(days[word]) >= LEAST_DAYS and count[word] <= most}
    return [
        sorted(sorted(theme_words(one.text) & useful, key=lambda word: (count[word], word))[:_TELLING_WORDS])
        for one in noted
    ]


def _best(noted: Sequence[Noted]) -> Noted:
    """The one that says best what all say: standing, sure, with most of the words that most have, new, and short."""
    core = _core(noted)
    return max(noted, key=lambda one: (*_foundation(one)[:2], len(theme_words(one.text) & core), *_foundation(one)[2:]))


def _core(noted: Sequence[Noted]) -> frozenset[str]:
    """The words that at least half of them have."""
    count = Counter(word for one in noted for word in theme_words(one.text))
    return frozenset(word for word, times in count.items() if times * 2 >= len(noted))


def _foundation(one: Noted) -> tuple[bool, float, date, int, str, str]:
    """What makes an observation weigh more than another: standing, sure, new, and short."""
    return one.type in STANDING, _sureness(one), one.day, -len(one.text), one.text, one.id


def _supports(one: Noted, best: Noted) -> bool:
    """Whether an observation is evidence for what another says: about the same, and neither denies the other.

    What happened may differ in its numbers; two lines that say how things are and differ in them are two things.
    """
    mine, its = theme_words(one.text), theme_words(best.text)
    if _denies(one.text) != _denies(best.text) or _weight(mine & its) < 2:
        return False
    if "event" not in (one.type, best.type) and numbers(one.text) != numbers(best.text):
        return False
    if best.type in ("event", "fact"):
        return 2 * len(mine & its) >= _SAME * (len(mine) + len(its))
    return len(mine & its) >= _ALIKE * min(len(mine), len(its))


def _denies(text: str) -> bool:
    return negations(text) % 2 == 1


def _theme(best: Noted, members: Sequence[Noted], days: int) -> _Theme:
    of_days: dict[date, Noted] = {}
    for one in sorted(members, key=_foundation):
        of_days[one.day] = one
    of_days[best.day] = best
    return _Theme(best, tuple(one for _, one in sorted(of_days.items())), _core(members), days)


# --- words

_HANGUL: Final = re.compile("[\uac00-\ud7a3]+")
_PIECE: Final = re.compile(f"[{CJK}]{{1,2}}")
_ENDINGS: Final = sorted(
    "에서는 에서도 에서 에게 에는 에도 에만 으로는 으로 까지는 까지 부터 처럼 보다 이랑 한테 마다 라고 "
    "은 는 이 가 을 를 의 에 로 와 과 도 만 랑 씩 "
    "했습니다 합니다 하였다 했다 했음 한다 하는 하기로 하기 하고 하며 하자 하지 하도록 함 해서 "
    "됐다 되었다 된다 되는 됨 이다 입니다".split(),
    key=len,
    reverse=True,
)
"""Particles, and endings of verbs made from nouns: without them 커피를 is 커피는, and 선호한다 is 선호함."""
_SAYS_LITTLE: Final = frozenset(
    "user users usual usually often again today said 사용자 오늘 매번 항상 자주 다시 것을 것이 하지 않는다 않는 않기 "
    "않기로 않도록 않음 않고 않았다 했다 한다 있다 있음 없다 없음".split()
)


@lru_cache(maxsize=16_384)
def theme_words(text: str) -> frozenset[str]:
    """The words by which two observations are about the same thing, in any script; numbers and times are none."""
    korean = {_stem(run) for run in _HANGUL.findall(text)}
    found = {word for word in content_words(_HANGUL.sub(" ", text)) if not word[0].isdigit() and len(word) > 1}
    return frozenset((found | {word for word in korean if len(word) > 1}) - _SAYS_LITTLE - STOP_WORDS)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return word[: -len(ending)]
    return word


def _weight(words: Iterable[str]) -> float:
    """How many words these are: Chinese and Japanese come as overlapping pairs of characters, two of which are one."""
    return sum(0.5 if _PIECE.fullmatch(word) and not _HANGUL.match(word) else 1.0 for word in words)


def _says_the_same(one: str, other: str) -> bool:
    mine, its = theme_words(one), theme_words(other)
    shared = len(mine & its)
    return _denies(one) == _denies(other) and _weight(mine & its) >= 2 and 2 * shared >= _SAME * (len(mine) + len(its))


def _sentences(text: str) -> Iterator[tuple[frozenset[str], bool]]:
    for line in text.split("\n"):
        for sentence in sentences(line):
            yield theme_words(sentence), _denies(sentence)


def _is_said(theme: _Theme, said: Sequence[tuple[frozenset[str], bool]]) -> bool:
    """Whether a sentence of the files has nearly all words of the theme, or of the line that says it best."""
    denied = _denies(theme.best.text)
    wanted = [words for words in (theme.words, theme_words(theme.best.text)) if _weight(words) >= 2]
    return any(len(words & its) >= _SAID * len(words) for its, denies in said if denies == denied for words in wanted)


# --- proposals

_TECHNICAL: Final = re.compile(
    r"\b(?:server|port|repo|repository|api|cli|script|config|database|deploy\w*|docker|git|ssh|url|version|command|"
    r"endpoint|cron|branch)\b|서버|포트|저장소|배포|설정|명령|버전|스크립트|데이터베이스|サーバ|設定|服务器|端口",
    re.IGNORECASE,
)
_PERSONAL: Final = re.compile(
    r"\b(?:birthday|born|wife|husband|partner|daughter|son|mother|father|sister|brother|family|lives in|allerg\w+"
    r"|name)\b"
    r"|생일|아내|남편|딸|아들|어머니|아버지|엄마|아빠|가족|이름|산다|살고|알레르기|誕生日|家族|生日|妻子|丈夫",
    re.IGNORECASE,
)
_FAVOURITE: Final = re.compile(
    r"\b(?:favou?rite\w*|loves?)\b|좋아하|좋아함|최애|즐겨|お気に入り|大好き|最喜欢", re.IGNORECASE
)
_TARGETS: Final[Mapping[ObservationType, tuple[tuple[re.Pattern[str] | None, Target], ...]]] = {
    "rule": ((None, "AGENTS.md"),),
    "preference": ((_FAVOURITE, "favorites.md"), (_TECHNICAL, "TOOLS.md"), (None, "USER.md")),
    "habit": ((None, "USER.md"),),
    "goal": ((None, "MEMORY.md"),),
    "fact": ((_PERSONAL, "USER.md"), (_TECHNICAL, "TOOLS.md"), (None, "MEMORY.md")),
    "event": ((None, "MEMORY.md"),),
}
"""Where a type belongs: the first file whose words the text has."""
_RELATIVE: Final = re.compile(r" ?\((?:in [0-9]+ days?|[0-9]+ days? ago|today|tomorrow|yesterday)\)")
_RECURRING: Final = {"ko": "반복 {days}일"}
_RECURRING_DEFAULT: Final = "recurring, {days} days"


def _proposal(theme: _Theme) -> Proposal:
    best = theme.best
    text = _RELATIVE.sub("", best.text).strip()
    first, last = theme.members[0].day, theme.members[-1].day
    line = text
    if best.type == "event":
        note = _RECURRING.get(language_of(text), _RECURRING_DEFAULT).format(days=theme.days)
        line = f"{text} ({note}, {first} … {last})"
    return Proposal(
        type=best.type,
        target=_target(best.type, text),
        confidence=_level(theme),
        summary=f"On {theme.days} separate days from {first} to {last}: {text[:_SUMMARY_CHARACTERS]}",
        text=f"- {line}",
        evidence=theme.members,
    )


def _target(kind: ObservationType, text: str) -> Target:
    has_path = any(mark in name for name in names(text) for mark in "/@_.")
    return next(
        target
        for pattern, target in _TARGETS[kind]
        if pattern is None or pattern.search(text) or (target == "TOOLS.md" and has_path)
    )


def _level(theme: _Theme) -> Level:
    mean = sum(map(_sureness, theme.members)) / len(theme.members)
    return next(level for level, days, least in LEVELS if theme.days >= days and mean >= least)


def _days_and_ids(theme: _Theme) -> tuple[int, frozenset[str]]:
    return theme.days, frozenset(one.id for one in theme.members)


def _rank(proposal: Proposal) -> tuple[int, int, str]:
    """The better founded first."""
    order = [level for level, _, _ in LEVELS]
    return order.index(proposal.confidence), -len(proposal.evidence), proposal.text
