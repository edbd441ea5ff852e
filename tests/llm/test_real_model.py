"""A real model makes memory of one English and one Korean conversation; by hand, where one is served.

    TOTAL_RECALL_REAL_MODEL_URL=http://127.0.0.1:8000/v1 pytest tests/llm/test_real_model.py

TOTAL_RECALL_REAL_MODEL names the model where the server has several. What a small model writes differs from run to run,
so what is asserted is what must stand in the end, whoever wrote it, and what must never.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from talk import SEOUL, batch_of
from total_recall import resources
from total_recall.llm.client import Answer, ChatMessage, Client, Endpoint
from total_recall.llm.observer import Compressed, ModelObserver
from total_recall.text import language_of

URL = os.environ.get("TOTAL_RECALL_REAL_MODEL_URL", "")
MODEL = os.environ.get("TOTAL_RECALL_REAL_MODEL", "default")
ANSWER_SECONDS = 1200.0

pytestmark = pytest.mark.skipif(not URL, reason="needs a model: TOTAL_RECALL_REAL_MODEL_URL is not set")

ENGLISH = """
U: good morning
A: Good morning! How can I help?
U: the roofer sent his invoice, 2,480 EUR, payable by 18 December
A: Noted: 2,480 EUR to the roofer by 18 December.
U: my sister Ilse moved to Ghent
A: Nice, Ghent is a lovely town.
U: thanks
A: You're welcome!
"""
KOREAN = """
U: 좋은 아침
A: 좋은 아침입니다! 무엇을 도와드릴까요?
U: 다음 주 금요일 오후 2시에 건강검진 예약했어
A: 네, 다음 주 금요일 오후 2시 건강검진으로 기억하겠습니다.
U: 조카가 우유 알레르기가 있어
A: 알겠습니다. 우유가 들어가지 않은 것을 고르겠습니다.
U: 고마워
A: 천만에요!
"""


def compressed(said: str) -> Compressed:
    with Client(Endpoint(URL), lambda _: None) as client:

        def ask(model: str, messages: Sequence[ChatMessage], max_tokens: int) -> Answer:
            return client.chat(
                model, messages, max_tokens=max_tokens, purpose="observe", deadline_seconds=ANSWER_SECONDS
            )

        system = resources.prompt("observer-system.txt", Path("/nowhere"))
        return ModelObserver(ask, [MODEL], system=system, tz=SEOUL).compress(batch_of(said))


@pytest.mark.parametrize(
    ("said", "language", "wanted", "unwanted"),
    [
        (ENGLISH, "en", (r"2,?480", r"2026-12-18", r"Ghent"), (r"welcome", r"lovely", r"plumber|120")),
        (KOREAN, "ko", (r"건강\s?검진", r"2026-12-11", r"우유"), (r"천만에요", r"무엇을 도와", r"배관공|plumber")),
    ],
)
def test_what_stands_in_the_end(said: str, language: str, wanted: tuple[str, ...], unwanted: tuple[str, ...]) -> None:
    result = compressed(said)
    told = "\n".join(f"{o.text} dc:refers={o.refers}" for o in result.observations)
    assert all(re.search(pattern, told) for pattern in wanted), (result.by, result.notes, told)
    assert not any(re.search(pattern, told) for pattern in unwanted), (result.by, result.notes, told)
    assert {language_of(o.text) for o in result.observations} == {language}, told
    assert all(o.sources and 0 <= o.importance <= 10 for o in result.observations)
