"""No secret reaches the file of the log, whichever part of an event it stands in, also where a text is cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import corpus
from builders import Home, said
from corpus import Case
from total_recall.commands import logging_events
from total_recall.privacy.secrets import placeholders, redact
from total_recall.sidecar.database import Events, Session
from total_recall.sidecar.events import Draft, digest_of
from total_recall.sidecar.sanitising import ARGUMENT, COLUMNS, DETAILS, FAILED_RESULT, RESULT, SUMMARY, TEXT, Sanitiser

SEED = 20270101
PLACEHOLDER = placeholders(bytes(range(32)))


def without_secrets(text: str) -> str:
    return redact(text, PLACEHOLDER).text


def leaks(case: Case, written: bytes) -> bool:
    """Whether the secret, or for a long one either half of it, is in these bytes, as it is or as JSON has it."""
    secret = case.secret or ""
    half = len(secret) // 2
    parts = [secret] if len(secret) < 16 else [secret, secret[:half], secret[-half:]]
    return any(form in written for part in parts for form in (part.encode(), json.dumps(part)[1:-1].encode()))


CASES = [
    case
    for case in corpus.positives(SEED)
    # What a message does not lose either is another module's; a short one is found by chance.
    if len(case.secret or "") >= 6 and not leaks(case, without_secrets(case.text).encode())
]


def drafts(place: Callable[[Draft, str], None]) -> list[Draft]:
    found = []
    for number, case in enumerate(CASES):
        draft = Draft(digest_of(number), number, "tool_call", f"e{number}", "exec", ok=1)
        place(draft, case.text)
        found.append(draft)
    return found


def _nested(draft: Draft, text: str) -> None:
    draft.arguments = {"steps": [{"run": text, "n": 1}], "cwd": "/tmp"}


def _around(limit: int, into: Callable[[Draft, str], None]) -> Callable[[Draft, str], None]:
    """Puts the text where what is kept ends: the secret begins before that, and goes on behind it."""

    def place(draft: Draft, text: str) -> None:
        padding = ("all is well here\n" * 500)[: max(0, limit - len(text) // 2)]
        into(draft, f"{padding}\n{text}\n" + "and so on\n" * 100)

    return place


PLACES: dict[str, Callable[[Draft, str], None]] = {
    "text": lambda draft, text: setattr(draft, "text", text),
    "error": lambda draft, text: setattr(draft, "error", text),
    "result": lambda draft, text: setattr(draft, "result", text),
    "argument": lambda draft, text: setattr(draft, "arguments", {"command": text}),
    "nested argument": _nested,
    "name of an argument": lambda draft, text: setattr(draft, "arguments", {text: "x"}),
    "arguments that are no object": lambda draft, text: setattr(draft, "arguments", [text]),
    "name": lambda draft, text: setattr(draft, "name", text),
    "where the text is cut": _around(TEXT, lambda draft, text: setattr(draft, "text", text)),
    "where the result is cut": _around(RESULT, lambda draft, text: setattr(draft, "result", text)),
    "where an argument is cut": _around(ARGUMENT, lambda draft, text: setattr(draft, "arguments", {"x": text})),
    "where the summary is cut": _around(SUMMARY, lambda draft, text: setattr(draft, "text", text)),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_written_down(place: str, tmp_path: Path) -> None:
    assert len(CASES) > 200
    rows = Sanitiser(without_secrets).rows(drafts(PLACES[place]))
    with Events.open(tmp_path) as events:
        with events.transaction():
            number = events.session(Session("s", "main"))
            assert events.add([(number, row) for row in rows]) == len(CASES)
        written = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
        assert (tmp_path / "events.sqlite-wal").stat().st_size > 0
    assert [case.text for case in CASES if leaks(case, written)] == []


def test_what_was_taken_out_is_marked_as_sensitive() -> None:
    plain = Draft(1, 1, "user_message", text="The rent is due on Friday.")
    secret = Draft(2, 2, "user_message", text=f"my key is {SECRET}")
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in Sanitiser(without_secrets).rows([plain, secret, plain])]
    assert [row["sensitive"] for row in rows] == [0, 1, 0]
    assert rows[0]["summary"] == "The rent is due on Friday."


def test_an_argument_whose_name_makes_it_a_secret_leaves() -> None:
    for arguments in (
        {"password": "Walnut-91-orchid"},
        {"env": {"DB_PASSWORD": "Walnut-91-orchid"}},
        {"api_key": ["Walnut91orchidXq7"]},
    ):
        (row,) = Sanitiser(without_secrets).rows([Draft(1, 1, "tool_call", name="exec", arguments=arguments)])
        assert "alnut" not in str(row), arguments


SECRET = corpus.secret_of("openai")


def test_no_secret_of_a_transcript_reaches_the_file(home: Path) -> None:
    """From the store to the bytes: database, write-ahead log and shared memory."""
    host = Home(home / ".openclaw", home / ".openclaw" / "workspace" / "memory" / ".total-recall")
    command = f"curl -H 'Authorization: Bearer {SECRET}'"
    block = {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": command}}
    host.write(
        said("u", f"use {SECRET} please"),
        said("a", [{"type": "text", "text": f"I use {SECRET}"}, block], 2, "assistant", model="m"),
        said("r", [{"type": "text", "text": f"refused: {SECRET}"}], 3, "toolResult", toolCallId="c", isError=True),
        said("e", [], 4, "assistant", stopReason="error", errorMessage=f"401 for {SECRET}", model="m"),
    )
    logging_events.run(logging_events.Options())
    written = b"".join(path.read_bytes() for path in sorted(host.own.glob("events.sqlite*")))
    assert b"refused" in written and SECRET.encode() not in written and SECRET[:20].encode() not in written


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=10), inner, max_size=6),
    max_leaves=40,
)


@given(text=st.text(), arguments=JSON, result=st.text(max_size=3000) | st.none(), ok=st.sampled_from([0, 1, None]))
@settings(max_examples=150, deadline=None)
def test_anything_becomes_a_row_that_a_database_takes(
    text: str, arguments: Any, result: str | None, ok: int | None
) -> None:
    """Whatever JSON a model writes: valid JSON comes out, within its limit, and the summary is one line."""
    draft = Draft(1, 1, "tool_call", "e", "exec", ok=ok, arguments=arguments, result=result, text=text, error=text)
    row = dict(zip(COLUMNS, Sanitiser(without_secrets).rows([draft])[0], strict=True))
    details = json.loads(row["details"] or "{}")
    assert isinstance(details, dict) and len(row["details"] or "") <= 2 * DETAILS
    assert "\n" not in row["summary"] and len(row["summary"]) <= SUMMARY
    (row["summary"] + (row["details"] or "") + (row["error"] or "")).encode()
    if result and len(result) <= (RESULT if ok else FAILED_RESULT) and result.isascii():
        assert details["result"] == without_secrets(result) or "redacted" in details
