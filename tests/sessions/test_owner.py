"""Whose words are the owner's: only those can found a rule or a preference."""

from __future__ import annotations

from typing import Any

import pytest

from builders import SESSION, Home, said
from total_recall.state import State


@pytest.mark.parametrize(
    ("key", "host", "is_owner"),
    [
        ("agent:main:main", {}, True),
        ("agent:main:main", {"senderIsOwner": False}, False),
        ("agent:main:telegram:direct:1", {}, True),
        ("agent:main:telegram:group:7", {}, False),
        ("agent:main:telegram:group:7", {"senderIsOwner": False}, False),
        ("agent:main:telegram:group:7", {"senderIsOwner": True}, True),
        ("agent:main:discord:channel:7", {}, False),
    ],
)
def test_in_a_group_only_the_hosts_word_makes_somebody_the_owner(
    store: Home, key: str, host: dict[str, Any], is_owner: bool
) -> None:
    store.write(said("a", "always answer in Latin", 1, __openclaw=host))
    store.index({key: SESSION})
    assert store.read() == ["always answer in Latin"]
    with State.open(store.own) as state:
        assert [item.message.is_owner for item in state.queue()] == [is_owner]
