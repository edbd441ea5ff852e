"""The JSON schemas: draft 2020-12, each with a version; what is wrong with a payload is said in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from total_recall import resources
from total_recall.errors import PayloadError, StoreError
from total_recall.memory import dream_log

SCHEMAS = Path(__file__).resolve().parents[1] / "schemas"
NAMES = sorted(path.stem for path in SCHEMAS.glob("*.json"))
KEYWORDS = set(
    "$schema $id $defs $ref title description type properties required additionalProperties items enum format pattern "
    "minLength maxLength minItems maxItems uniqueItems minimum maximum anyOf oneOf".split()
)
"""What our schemas may use: it means the same in every draft since 2019-09, and `resources` has words for it."""

METRICS: dict[str, Any] = {
    "date": "2026-11-30", "model": "offline", "runtime_seconds": 0.4, "observations_total": 100,
    "observations_archived": 60, "hooks_created": 20, "tokens_before": 4000, "tokens_after": 1500,
    "tokens_saved": 2500, "reduction_pct": 62.5, "critical_false_archives": 0, "validation_passed": True,
    "dry_run": False, "notes": "",
}  # fmt: skip
ITEM = {"full_text": "- 🟡 09:00 The bus was late", "archived_reason": "expired"}
CHUNK = {"topic": "Bus 42", "finding": "Bus 42 was late on three days", "source_ids": ["aa", "bb", "cc"]}
PROPOSAL: dict[str, Any] = {
    "type": "preference", "target_file": "USER.md", "confidence": "low", "pattern_summary": "Oat milk in coffee",
    "proposed_text": "- Takes oat milk in coffee",
    "evidence": [{"id": f"a{n}", "date": f"2026-11-0{n}"} for n in (1, 2, 3)],
}  # fmt: skip


def without(value: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: field for key, field in value.items() if key != name}


def nodes(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(schema, dict):
        yield schema
        for key in ("properties", "$defs"):
            for child in schema.get(key, {}).values():
                yield from nodes(child)
        yield from nodes(schema.get("items"))
        for key in ("anyOf", "oneOf"):
            for child in schema.get(key, []):
                yield from nodes(child)


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_says_its_draft_and_version_and_uses_what_we_have_words_for(name: str) -> None:
    schema = resources.schema(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:total-recall:{name}:1"
    assert schema["description"] and schema["additionalProperties"] is False
    assert {keyword for node in nodes(schema) for keyword in node} <= KEYWORDS


def test_the_metrics_have_exactly_the_fields_that_were_promised() -> None:
    schema = resources.schema("dream-metrics")
    assert list(schema["properties"]) == schema["required"] == list(METRICS)
    metrics = dream_log.Metrics(date(2026, 11, 30), "offline", 0.4, 100, 60, 20, 4000, 1500, 0, True, False)
    assert dream_log.fields(metrics) == METRICS
    assert list(dream_log.fields(metrics)) == list(METRICS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dream-metrics", METRICS),
        ("dream-log", without(without(METRICS, "tokens_saved"), "reduction_pct")),
        ("archive-items", {"items": [ITEM]}),
        ("archive-items", {"items": [{"id": "k3f9q2", "archived_reason": "지난 일", "hooks": ["버스 지연"]}]}),
        ("chunk", CHUNK),
        ("staging-proposal", PROPOSAL),
        ("update-observations", {"content": "# Observations Log\n"}),
        ("update-observations", {"file": "new.md"}),
    ],
)
def test_what_is_right_passes(name: str, value: object) -> None:
    resources.check(value, name)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("dream-metrics", without(METRICS, "notes"), "the whole: notes is missing"),
        ("dream-metrics", METRICS | {"mood": "fine"}, "the whole: there is no field mood"),
        ("dream-metrics", METRICS | {"date": "2026-02-30"}, "date: must be a day that exists"),
        ("dream-metrics", METRICS | {"tokens_after": -1}, "tokens_after: must be 0 or more"),
        ("dream-metrics", METRICS | {"reduction_pct": 101}, "reduction_pct: must be 100 or less"),
        ("dream-metrics", METRICS | {"dry_run": "no"}, "dry_run: must be of type boolean"),
        ("dream-metrics", [METRICS], "the whole: must be of type object"),
        ("archive-items", {"items": []}, "items: must have 1 entries or more"),
        ("archive-items", {"items": [ITEM, {"archived_reason": "x"}]}, "items[1]: must have one of full_text, id"),
        ("archive-items", {"items": [ITEM | {"archived_reason": ""}]}, "items[0].archived_reason: must have 1 char"),
        ("archive-items", {"items": [ITEM | {"hooks": ["a"] * 6}]}, "items[0].hooks: must have 5 entries or fewer"),
        ("archive-items", {"items": [ITEM | {"id": "a b"}]}, "items[0].id: must be made of letters, digits"),
        ("chunk", CHUNK | {"source_ids": ["aa", "bb"]}, "source_ids: must have 3 entries or more"),
        ("chunk", CHUNK | {"source_ids": ["aa", "bb", "aa"]}, "source_ids: must not name anything twice"),
        ("chunk", CHUNK | {"topic": "x" * 41}, "topic: must have 40 characters or fewer"),
        ("staging-proposal", PROPOSAL | {"type": "context"}, "type: must be one of event, fact, preference"),
        ("staging-proposal", PROPOSAL | {"target_file": "SOUL.md"}, "target_file: must be one of AGENTS.md, MEMORY.md"),
        ("update-observations", {}, "must have exactly one of content, file"),
        ("update-observations", {"content": "a", "file": "b"}, "must have exactly one of content, file"),
        ("dream-log", {"types": {"mood": {}}}, "date"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_its_field(name: str, value: object, said: str) -> None:
    with pytest.raises(PayloadError) as error:
        resources.check(value, name)
    message = str(error.value)
    assert said in message and message.startswith(f"{name}: ")
    assert message.endswith(f"schemas/{name}.json has all fields")
    assert "\n" not in message and len(message) < 400


def test_a_field_with_a_monstrous_name_is_not_repeated_in_full() -> None:
    with pytest.raises(PayloadError) as error:
        resources.check(METRICS | {"x" * 10_000: 1}, "dream-metrics")
    assert len(str(error.value)) < 300


def test_a_schema_that_is_not_there_is_one_line() -> None:
    with pytest.raises(StoreError, match=r"nothing\.json is missing; install Total Recall again"):
        resources.schema("nothing")


def test_the_validator_is_loaded_by_a_payload_alone() -> None:
    """An idle run must not pay for it."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import total_recall.resources as r; "
        "print('fastjsonschema' in sys.modules); r.check({'content': 'x'}, 'update-observations'); "
        "print('fastjsonschema' in sys.modules)"
    )
    scripts = SCHEMAS.parent / "scripts"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(scripts)], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_written_the_way_it_is_read(name: str) -> None:
    """Two blanks of indent and a line end, so that a change shows as a change of lines."""
    text = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"
