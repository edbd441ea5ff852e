"""Which models of a provider's own list are free, write text and read enough, and in which order."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from model_server import listed
from total_recall.llm.catalogue import FREE_ROUTER, free_text_models, taken_of

TODAY = date(2026, 11, 30)
FREE = {"prompt": "0", "completion": "0"}
PICTURES = {"input_modalities": ["text", "image"], "output_modalities": ["text"]}


def found(*models: object) -> tuple[str, ...]:
    names = free_text_models(json.dumps({"data": models}).encode(), TODAY)
    assert names is not None
    return names


def test_larger_windows_come_first_then_names() -> None:
    models = [listed("b/small:free", 32_000), listed("c/large:free", 262_144), listed("a/large:free", 262_144)]
    assert found(*models) == found(*reversed(models)) == ("a/large:free", "c/large:free", "b/small:free")


@pytest.mark.parametrize(
    "pricing",
    [
        {"prompt": "0.0000001", "completion": "0"},
        {"prompt": "0", "completion": "0.0000004"},
        {"prompt": "-1", "completion": "-1"},
        {"prompt": "0"},
        {"prompt": None, "completion": None},
        {"prompt": "", "completion": ""},
        {"prompt": "free", "completion": "free"},
        {**FREE, "request": "0.01"},
        {**FREE, "internal_reasoning": "0.000002"},
        {},
        None,
        "0",
    ],
)
def test_what_costs_or_may_cost_is_not_free(pricing: object) -> None:
    assert found(listed("some/model:free", pricing=pricing)) == ()


@pytest.mark.parametrize(
    "pricing", [FREE, {"prompt": 0, "completion": 0.0}, {**FREE, "image": "0", "discount": 0, "web_search": None}]
)
def test_zero_however_it_is_written_is_free(pricing: object) -> None:
    assert found(listed("some/model", pricing=pricing)) == ("some/model",)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("openrouter/auto", {"pricing": {"prompt": "-1", "completion": "-1"}}),
        ("nvidia/embed-1b:free", {}),
        ("some/text-embedding:free", {}),
        ("meta/llama-guard-4-12b:free", {}),
        ("openai/gpt-safeguard-20b:free", {}),
        ("some/omni-moderation", {}),
        ("some/reranker-v2:free", {}),
        ("some/short:free", {"context_length": 8_192}),
        ("some/unknown:free", {"context_length": None}),
        ("some/painter:free", {"architecture": {"input_modalities": ["text"], "output_modalities": ["text", "image"]}}),
        ("some/eye:free", {"architecture": {"input_modalities": ["image"], "output_modalities": ["text"]}}),
        ("some/speaker:free", {"architecture": {"modality": "text->audio"}}),
        ("some/odd:free", {"architecture": None}),
        ("some/leaving:free", {"expiration_date": "2026-11-30"}),
        ("two words", {}),
        ("line\nbreak", {}),
        ("a" * 121, {}),
        ("", {}),
    ],
)
def test_what_cannot_do_this_work_is_left_out(name: str, more: dict[str, Any]) -> None:
    assert found(listed(name, **more)) == ()


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("some/model:free", {"architecture": PICTURES}),
        ("some/older:free", {"architecture": {"modality": "text->text"}}),
        ("some/older-eyes:free", {"architecture": {"modality": "text+image->text"}}),
        ("some/staying:free", {"expiration_date": "2026-12-24"}),
        ("some/just:free", {"context_length": 16_000}),
    ],
)
def test_what_can_is_taken(name: str, more: dict[str, Any]) -> None:
    assert found(listed(name, **more)) == (name,)


def test_two_models_are_taken_and_the_free_router_behind_them() -> None:
    names = found(
        listed(FREE_ROUTER, 2_000_000), listed("c/c:free", 50_000), listed("a/a:free", 70_000), listed("b/b", 60_000)
    )
    assert names == ("a/a:free", "b/b", "c/c:free", FREE_ROUTER)
    assert taken_of(names) == ("a/a:free", "b/b", FREE_ROUTER)
    assert taken_of((FREE_ROUTER,)) == (FREE_ROUTER,)
    assert taken_of(()) == ()


def test_what_will_not_last_is_taken_only_where_nothing_else_is_there() -> None:
    passing = [listed("x/stealth-alpha", 1_000_000), listed("y/large-preview:free", 900_000), listed("z/12b-vl:free")]
    assert taken_of(found(*passing, listed("a/a:free", 16_384))) == ("a/a:free",)
    assert taken_of(found(*passing)) == ("x/stealth-alpha", "y/large-preview:free")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"data": null}', b'{"error": {"code": 500}}'])
def test_what_is_no_list_is_none(body: bytes) -> None:
    assert free_text_models(body, TODAY) is None


@pytest.mark.parametrize("entry", [None, 1, "name", [], {}, {"id": 5}, {"id": "a/a", "context_length": "many"}])
def test_an_odd_entry_does_not_spoil_the_others(entry: object) -> None:
    assert found(entry, listed("a/a:free")) == ("a/a:free",)
