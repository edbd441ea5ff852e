"""The hook's switch in openclaw.json: seen, put on, taken out."""

from __future__ import annotations

import json

import pytest

from total_recall.host.openclaw_hooks import is_open, switch, with_hook, without_hook

ON = {"enabled": True, "entries": {"total-recall": {"enabled": True}}}
OTHER = {"enabled": True, "entries": {"session-memory": {"enabled": True}}}


@pytest.mark.parametrize(
    ("internal", "state"),
    [
        ({}, "missing"),
        (ON, "on"),
        (OTHER, "missing"),
        ({**ON, "enabled": False}, "off"),
        ({"entries": ON["entries"]}, "off"),
        ({"enabled": True, "entries": {"total-recall": {"enabled": False}}}, "off"),
        ({"enabled": True, "entries": ["total-recall"]}, "missing"),
        ("x", "missing"),
    ],
)
def test_whether_it_is_on(internal: object, state: str) -> None:
    assert switch({"hooks": {"internal": internal}}) == state


@pytest.mark.parametrize(
    ("internal", "open_now"),
    [
        ({"enabled": True}, True),
        ({"enabled": True, "entries": {}}, True),
        (OTHER, False),
        ({"enabled": False}, False),
        ({}, False),
        ({"enabled": True, "load": {"extraDirs": ["/x"]}}, False),
    ],
)
def test_whether_naming_a_first_hook_would_switch_others_off(internal: object, open_now: bool) -> None:
    assert is_open({"hooks": {"internal": internal}}) == open_now


PLAIN = [
    {},
    {"gateway": {"port": 1}},
    {"hooks": {}},
    {"hooks": {"internal": {"enabled": False}}},
    {"hooks": {"internal": {"enabled": True}}, "z": [1]},
    {"hooks": {"internal": OTHER}},
    {"hooks": {"internal": {"enabled": True, "entries": {"total-recall": {"enabled": False, "env": {"A": "집"}}}}}},
]


@pytest.mark.parametrize("config", PLAIN)
@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_put_on_and_taken_out_the_file_is_as_it_was(config: dict[str, object], indent: int | str | None) -> None:
    before = json.dumps(config, indent=indent, ensure_ascii=False).encode()
    after = with_hook(before)
    assert after is not None and switch(json.loads(after)) == "on"
    assert with_hook(after) == after
    left = without_hook(after, before)
    assert left is not None and json.loads(left) == config
    if indent is None:
        assert left == before


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{a: 1}", b"// x\n{}", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b'{"hooks": []}']
)
def test_what_is_no_plain_json_is_not_touched(content: bytes) -> None:
    assert with_hook(content) is None


def test_what_somebody_changed_since_stays() -> None:
    """Written anew by the host, with another hook that needs the main switch."""
    before = b'{"gateway": {"port": 1}}'
    now = json.dumps({"gateway": {"port": 2}, "hooks": {"internal": {**ON, "x": 1}}, "meta": {}}, indent=2).encode()
    left = without_hook(now, before)
    assert left is not None
    assert json.loads(left) == {"gateway": {"port": 2}, "hooks": {"internal": {"x": 1}}, "meta": {}}
    both = {"enabled": True, "entries": {**ON["entries"], **OTHER["entries"]}}  # type: ignore[dict-item]
    left = without_hook(json.dumps({"hooks": {"internal": both}}).encode(), before)
    assert left is not None and json.loads(left) == {"hooks": {"internal": OTHER}}


def test_without_a_record_only_the_entry_goes() -> None:
    left = without_hook(json.dumps({"hooks": {"internal": ON}}).encode(), None)
    assert left is not None and json.loads(left)["hooks"]["internal"]["enabled"] is True
    assert without_hook(b"{a: 1}", None) is None
