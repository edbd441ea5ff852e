from __future__ import annotations

import pytest

from total_recall.dream.classify import kind_of
from total_recall.records import ObservationType


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Always use the staging server first", "rule"),
        ("항상 존댓말로 답한다", "rule"),
        ("いつも敬語で話す", "rule"),
        ("User runs every morning", "habit"),
        ("매주 토요일에 달린다", "habit"),
        ("User wants to learn Greek", "goal"),
        ("Die Steuer ist fällig, Ziel ist Freitag", "goal"),
        ("User likes almonds", "preference"),
        ("User decided on Postgres", "preference"),
        ("사용자는 녹차를 좋아하고 매일 마신다", "habit"),
        ("User likes tea and wants to visit Uji", "goal"),
        ("Went to the dentist", "event"),
        ("Paid the invoice of Brandt GmbH", "event"),
        ("치과에 갔다", "event"),
        ("Currently debugging the mailer", "context"),
        ("Hana is a nurse", "fact"),
        ("Wi-Fi: Nebel", "fact"),
        ("", "fact"),
    ],
)
def test_a_line_is_what_its_words_say_the_longer_kept_kind_wins(text: str, kind: ObservationType) -> None:
    assert kind_of(text) == kind
