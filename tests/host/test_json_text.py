"""Changes to the text of JSON that leave the rest of it alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from total_recall.host.json_text import with_value, without

PATH = ("hooks", "entries", "ours")


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("{}", '{"hooks": {"entries": {"ours": true}}}'),
        ("{ }\n", '{"hooks": {"entries": {"ours": true}} }\n'),
        ('{"a": 1}', '{"a": 1, "hooks": {"entries": {"ours": true}}}'),
        ('{"a":1}', '{"a":1, "hooks": {"entries": {"ours": true}}}'),
        ('{\n\t"a": 1.50\n}\n', '{\n\t"a": 1.50,\n\t"hooks": {"entries": {"ours": true}}\n}\n'),
        ('{\r\n "hooks": {"x": [1,2]}}', '{\r\n "hooks": {"x": [1,2], "entries": {"ours": true}}}'),
        ('{"hooks": {"entries": {"ours": {"a": "}"}}}}', '{"hooks": {"entries": {"ours": true}}}'),
        ('{"a": "\\u00e9 {\\"b\\": 1}"}', '{"a": "\\u00e9 {\\"b\\": 1}", "hooks": {"entries": {"ours": true}}}'),
    ],
)
def test_a_value_is_put_in_and_nothing_else_changes(text: str, changed: str) -> None:
    assert with_value(text, PATH, True) == changed


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "{a: 1}", '{"a": 1,}', '// x\n{"a": 1}', '{"hooks": 3}', '{"a": 1}}', "[" * 9999]
)
def test_what_is_no_plain_json_or_has_something_in_the_way_is_left_alone(text: str) -> None:
    assert with_value(text, PATH, True) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"hooks": {"entries": {"ours": {}, "b": 1}}}', '{"hooks": {"entries": {"b": 1}}}'),
        ('{"hooks": {"entries": {"a": 1,\n "ours": {}\n}}}', '{"hooks": {"entries": {"a": 1\n}}}'),
        ('{"hooks": {"entries": {"a": 1, "ours": [], "b": 2}}}', '{"hooks": {"entries": {"a": 1, "b": 2}}}'),
        ('{"hooks": {"entries": {"ours": 1}}}', '{"hooks": {"entries": {}}}'),
        ('{"hooks": {"entries": 1}}', '{"hooks": {"entries": 1}}'),
        ('{"ours": 1}', '{"ours": 1}'),
    ],
)
def test_a_member_is_taken_out(text: str, left: str) -> None:
    assert without(text, PATH) == left


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=4), _VALUES, max_size=4), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_putting_in_and_taking_out_gives_the_text_again(value: dict[str, Any], indent: Any, ascii_only: bool) -> None:
    value.pop("hooks", None)
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    changed = with_value(text, PATH, {"enabled": True})
    assert changed is not None
    assert json.loads(changed) == {**value, "hooks": {"entries": {"ours": {"enabled": True}}}}
    assert without(changed, ("hooks",)) == text
