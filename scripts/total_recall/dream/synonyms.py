"""Other words for everyday things, so that what was noted in one way is found when it is asked for in another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

FAMILIES: Final[tuple[str, ...]] = (
    "dentist dental tooth teeth cavity",
    "doctor physician clinic medical appointment",
    "medicine pills medication prescription tablets",
    "hospital surgery operation ward",
    "ill sick unwell fever cold flu",
    "pain hurt ache sore injury",
    "run ran jog jogging running exercise",
    "gym workout training exercise treadmill",
    "car vehicle automobile garage mechanic",
    "train rail railway station",
    "flight plane fly airline airport",
    "hotel accommodation lodging room booking",
    "trip travel journey vacation holiday",
    "ticket booking reservation",
    "invoice bill billing payment",
    "paid payment pay transfer settled",
    "bank account money transfer",
    "tax taxes accountant receipts filing",
    "rent lease landlord tenancy",
    "salary wage pay income",
    "price cost expense fee",
    "bought purchase buy shopping order",
    "groceries shopping supermarket food shop",
    "dinner meal supper food restaurant",
    "lunch meal food canteen",
    "breakfast meal morning food",
    "recipe cooking cook kitchen",
    "pizza delivery dinner takeaway",
    "parcel package delivery post mail",
    "letter mail post",
    "email mail message e-mail",
    "phone mobile call cell smartphone",
    "meeting appointment call conversation",
    "call phone conversation talk",
    "talk presentation speech lecture slides",
    "slides presentation deck",
    "deadline due date",
    "project work task",
    "colleague coworker teammate",
    "boss manager lead supervisor",
    "customer client user",
    "interview application job hiring",
    "intern trainee student",
    "school class pupil lesson",
    "exam test grade score",
    "lesson class course tutoring",
    "book novel reading read",
    "podcast listening audio episode",
    "film movie cinema",
    "song music tune",
    "guitar instrument music strings",
    "garden plants gardening balcony",
    "tomatoes plants vegetables balcony garden",
    "aphids pests bugs insects",
    "basil herbs plants",
    "cat pet kitten",
    "dog pet puppy walk",
    "neighbour neighbor next door",
    "mother mum mom parent",
    "father dad parent",
    "son child kid boy",
    "daughter child kid girl",
    "wife husband partner spouse",
    "birthday party celebration present",
    "wedding marriage ceremony",
    "house home flat apartment",
    "kitchen cooking renovation cupboards",
    "renovation remodel refurbishment building work",
    "electrician wiring electricity cables power",
    "wiring cables electricity wires",
    "breaker fuse power cut electricity",
    "plumber pipe water leak",
    "tiler tiles tiling wall grout",
    "cabinets cupboards furniture kitchen units",
    "washing laundry clothes",
    "shirts clothes laundry",
    "cleaning tidy housework chores",
    "backup copy snapshot saved",
    "server machine host computer",
    "database data tables storage",
    "deploy deployment release rollout shipped",
    "migrate migration move moved transfer",
    "build pipeline ci continuous integration",
    "test tests testing suite",
    "flaky unreliable intermittent unstable",
    "bug defect error issue",
    "failed failure error broken broke",
    "crash crashed outage down",
    "fixed solved repaired resolved fix",
    "slow latency performance speed",
    "cache cached memory",
    "queue jobs messages backlog",
    "review feedback approval pull request",
    "password login credentials access",
    "printer print paper",
    "internet network wifi connection",
    "update upgrade version",
    "delete removed deleted erased",
    "weather rain snow temperature",
    "stolen theft lost missing",
    "moving move relocation removal",
    "photos pictures images",
    "contract agreement signed",
    "insurance policy claim cover",
    "치과 치아 이빨 충치 치료",
    "병원 의사 진료 치료",
    "약 처방 복용",
    "이사 이삿짐 견적 이전",
    "자동차 차 정비 수리",
    "브레이크 제동 정비 자동차",
    "시험 성적 점수 학교",
    "아들 아이 자녀",
    "딸 아이 자녀",
    "엄마 어머니 부모",
    "회의 미팅 약속",
    "배포 릴리스 출시",
    "오류 에러 버그 고장",
    "돈 결제 지불 비용",
    "여행 항공권 비행기 호텔",
)
"""Each row's words, case-folded, lead to each other, the first ones before the last."""

MOST: Final = 4
_WORD: Final = re.compile(r"[^\W\d_]+")


@cache
def _families() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for row in FAMILIES:
        words = tuple(row.split())
        for word in words:
            found[word] = (*found.get(word, ()), words)
    return found


def others_for(text: str) -> tuple[str, ...]:
    """Up to four other words for what a text speaks of; none that stand in it."""
    folded = text.casefold()
    rows = [row for word in dict.fromkeys(_WORD.findall(folded)) for row in _rows(word)]
    found: dict[str, None] = {}
    for row in rows:
        for word in row:
            if word not in found and word not in folded:
                found[word] = None
                break
        if len(found) == MOST:
            return tuple(found)
    for row in rows:
        found.update((word, None) for word in row if word not in folded)
    return tuple(found)[:MOST]


@lru_cache(maxsize=2**14)
def _rows(word: str) -> tuple[tuple[str, ...], ...]:
    """The families of a word, or of it without an ending."""
    families = _families()
    endings = [word.removesuffix(ending) for ending in ("s", "es", "ed", "ing")]
    return next((families[form] for form in (word, *endings, *_korean(word)) if form in families), ())


def _korean(word: str) -> tuple[str, ...]:
    """A Korean word without its last one or two letters, which may be a particle."""
    return (word[:-1], word[:-2]) if "가" <= word[0] <= "힣" and len(word) > 1 else ()
