"""log summary: the day's paragraph stands beside what others wrote into the same file, and never costs them a byte."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from pathlib import Path

import pytest

from happenings import Happened, log
from model_server import ModelServer, as_json, completion
from total_recall import clock, periods
from total_recall.commands import log_summary
from total_recall.commands.log_summary import Options, with_paragraph
from total_recall.errors import MemoryWriteError, TotalRecallError

DAY = date(2026, 11, 30)
NOW = datetime(2026, 11, 30, 14, 55, tzinfo=timezone.utc)
"""23:55 in Seoul."""
COUNTS = "10:00–10:00: 1 session; 1 message from people."
BLOCK = re.compile(rb"<!-- total-recall:log-summary .*?<!-- /total-recall:log-summary -->\r?\n", re.S)


@pytest.fixture
def memory(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory directory, with a log in which one message was written today."""
    monkeypatch.setenv("TOTAL_RECALL_TZ", "Asia/Seoul")
    monkeypatch.setattr(clock, "now", lambda: NOW)
    (home / ".openclaw" / "agents" / "main" / "sessions").mkdir(parents=True)
    folder = home / ".openclaw" / "workspace" / "memory"
    (folder / ".total-recall").mkdir(parents=True)
    log(folder / ".total-recall", [Happened("2026-11-30T01:00:00", "user_message", "human", summary="good morning")])
    return folder


def more(memory: Path, at: str = "2026-11-30T02:00:00") -> None:
    log(memory / ".total-recall", [Happened(at, name="exec", ok=False)])


def outcomes(options: Options | None = None) -> list[str]:
    return [f"{w.day} {w.outcome}" for w in log_summary.run(options or Options()).written]


def day_file(memory: Path, day: str = "2026-11-30") -> Path:
    return memory / f"{day}.md"


def test_a_file_is_made_where_there_is_none(memory: Path) -> None:
    assert outcomes() == ["2026-11-30 written"]
    lines = day_file(memory).read_text().splitlines()
    assert lines[:2] == ["# 2026-11-30", ""]
    assert lines[3] == COUNTS
    assert len(lines) == 5 and day_file(memory).stat().st_mode & 0o777 == 0o600


def test_running_it_again_changes_nothing_and_new_counts_replace_the_paragraph(memory: Path) -> None:
    log_summary.run(Options())
    before = day_file(memory).read_bytes()
    assert outcomes() == ["2026-11-30 unchanged"] and day_file(memory).read_bytes() == before
    more(memory)
    assert outcomes() == ["2026-11-30 written"]
    text = day_file(memory).read_text()
    assert text.count("<!-- total-recall:log-summary ") == 1 and "1 tool call (exec 1), 1 failed (exec 1)" in text


def test_a_day_without_events_gets_nothing(memory: Path) -> None:
    asked = Options(periods.parse("2026-11-28"))
    assert outcomes(asked) == ["2026-11-28 nothing happened"]
    assert not day_file(memory, "2026-11-28").exists()


def test_what_happened_after_last_nights_summary_is_told_tonight(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log_summary.run(Options())
    more(memory, "2026-11-30T14:59:59.999")
    monkeypatch.setattr(clock, "now", lambda: datetime(2026, 12, 1, 14, 55, tzinfo=timezone.utc))
    assert outcomes() == ["2026-11-30 written", "2026-12-01 nothing happened"]
    assert "1 tool call" in day_file(memory).read_text()
    assert outcomes() == ["2026-12-01 nothing happened"]


def test_a_dry_run_writes_nothing(memory: Path) -> None:
    (written,) = log_summary.run(Options(dry_run=True)).written
    assert (written.outcome, written.text) == ("would write", COUNTS)
    assert not day_file(memory).exists()


OTHERS = [
    b"",
    b"# 2026-11-30\n\nBought bread.\n",
    b"no end of line",
    b"# Notes\r\n\r\n- by the agent\r\n",
    "\ufeff# 메모\n\n오늘은 비가 왔다.\n".encode(),
    b"\xff\xfe not UTF-8 \x80\n",
    b"<!-- a comment of theirs -->\n<!-- total-recall:other -->\ntext\n",
    b"ends with two lines\n\n\n",
]


@pytest.mark.parametrize("content", OTHERS)
def test_what_others_wrote_stays_byte_for_byte(memory: Path, content: bytes) -> None:
    day_file(memory).write_bytes(content)
    log_summary.run(Options())
    written = day_file(memory).read_bytes()
    assert len(BLOCK.findall(written)) == 1
    rest = BLOCK.sub(b"", written)
    assert rest.startswith(content) and (not content or rest[len(content) :].strip() == b"")
    day_file(memory).write_bytes(written + b"written later\n")
    more(memory)
    log_summary.run(Options())
    again = day_file(memory).read_bytes()
    assert BLOCK.sub(b"", again) == rest + b"written later\n"
    assert (b"\r\n" in BLOCK.findall(again)[0]) == (b"\r\n" in content)


def test_a_paragraph_that_a_person_edited_stays_as_theirs(memory: Path) -> None:
    log_summary.run(Options())
    path = day_file(memory)
    path.write_text(path.read_text().replace(COUNTS, f"{COUNTS} And I fixed the bike."))
    assert outcomes() == ["2026-11-30 written"]
    text = path.read_text()
    assert "And I fixed the bike." in BLOCK.sub(b"", path.read_bytes()).decode()
    assert text.count("<!-- total-recall:log-summary ") == 1
    assert outcomes() == ["2026-11-30 unchanged"]


@pytest.mark.parametrize(
    "damaged",
    [
        b"<!-- total-recall:log-summary counts=1 text=2 -->\nits end is gone\n",
        b"its beginning is gone\n<!-- /total-recall:log-summary -->\n",
        b"<!-- total-recall:log-summary counts=zz -->\nanother mark\n<!-- /total-recall:log-summary -->\n",
        b"<!-- total-recall:log-summary counts=1 text=2 -->\n<!-- theirs -->\n<!-- /total-recall:log-summary -->\n",
    ],
)
def test_damaged_markers_go_and_the_words_between_them_stay(memory: Path, damaged: bytes) -> None:
    day_file(memory).write_bytes(b"before\n" + damaged + b"after\n")
    log_summary.run(Options())
    rest = BLOCK.sub(b"", day_file(memory).read_bytes())
    words = b"".join(line for line in damaged.splitlines(True) if b"total-recall:" not in line)
    assert rest.startswith(b"before\n" + words + b"after\n") and b"total-recall" not in rest


def test_a_copy_of_the_paragraph_that_a_sync_client_left_goes(memory: Path) -> None:
    log_summary.run(Options())
    path = day_file(memory)
    path.write_bytes(path.read_bytes() + b"mine\n" + BLOCK.findall(path.read_bytes())[0])
    more(memory)
    log_summary.run(Options())
    assert len(BLOCK.findall(path.read_bytes())) == 1 and b"mine\n" in path.read_bytes()


def test_editors_may_change_how_lines_end(memory: Path) -> None:
    log_summary.run(Options())
    path = day_file(memory)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert outcomes() == ["2026-11-30 unchanged"]


def test_an_edit_made_meanwhile_is_merged(memory: Path) -> None:
    path = day_file(memory)
    path.write_text("first\n")
    edits = iter(["second\n"])

    def step(name: str) -> None:
        if name == "compare" and (edit := next(edits, None)):
            path.write_text(f"first\n{edit}")

    log_summary.run(Options(), step=step)
    assert path.read_text().startswith("first\nsecond\n\n<!-- total-recall:log-summary ")


def test_killed_at_any_step_the_file_is_whole(memory: Path) -> None:
    path = day_file(memory)
    steps: list[str] = []
    log_summary.run(Options(), step=steps.append)
    path.unlink()
    for number in range(len(steps)):
        path.write_text("theirs\n")
        count = iter(range(1000))

        def die(_: str, number: int = number, count: object = count) -> None:
            if next(count) == number:  # type: ignore[call-overload]
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            log_summary.run(Options(), step=die)
        content = path.read_bytes()
        assert content.startswith(b"theirs\n") and (content == b"theirs\n" or len(BLOCK.findall(content)) == 1)
        log_summary.run(Options())
        assert len(BLOCK.findall(path.read_bytes())) == 1


def test_a_folder_in_its_place_is_one_line(memory: Path) -> None:
    day_file(memory).mkdir()
    with pytest.raises(MemoryWriteError, match=r"2026-11-30\.md"):
        log_summary.run(Options())


def test_the_paragraph_may_be_put_into_any_text() -> None:
    once = with_paragraph(b"a\n", DAY, "00", "text")
    assert with_paragraph(once, DAY, "00", "text") == once
    assert with_paragraph(once, DAY, "11", "other").count(b"other") == 1


# --- in a model's words ----------------------------------------------------------------------------------------


@pytest.fixture
def observed(memory: Path) -> Path:
    """A memory in which something was observed today."""
    (memory / "observations.md").write_text(
        "# Observations Log\n\n---\nDate: 2026-11-29\n- 🟡 09:00 Not of today\n\n---\nDate: 2026-11-30\n"
        "- 🔴 10:00 Invoice 4711 is due on 2026-12-04 <!-- dc:id=aaaaaa dc:type=goal dc:importance=8.0 -->\n"
    )
    return memory


def test_a_models_words_stand_before_the_counts(observed: Path) -> None:
    asked: list[str] = []

    def ask(system: str, user: str) -> str:
        asked.append(user)
        return "The day was about invoice 4711, which is due on 2026-12-04."

    (written,) = log_summary.run(Options(), ask=ask).written
    assert written.text == f"The day was about invoice 4711, which is due on 2026-12-04. ({COUNTS[:-1]})"
    assert "Invoice 4711" in asked[0] and COUNTS in asked[0] and "Not of today" not in asked[0]
    log_summary.run(Options(), ask=ask)
    assert len(asked) == 1, "nothing happened since"


def test_a_number_that_nobody_counted_costs_the_model_its_words(observed: Path) -> None:
    result = log_summary.run(Options(), ask=lambda *_: "It was a busy day with 99 messages about the invoice.")
    assert result.written[0].text == COUNTS
    assert "did not hold" in result.notes[0]


def test_a_model_that_fails_costs_only_its_words(observed: Path) -> None:
    def fail(*_: str) -> str:
        raise TotalRecallError("the model is gone")

    result = log_summary.run(Options(), ask=fail)
    assert result.written[0].text == COUNTS
    assert result.notes == ("the model is gone; the counts alone were written",)


def test_without_anything_observed_no_model_is_asked(memory: Path) -> None:
    def blow_up(*_: str) -> str:
        raise AssertionError("there is nothing to tell")

    assert log_summary.run(Options(), ask=blow_up).written[0].text == COUNTS


def test_the_model_of_the_settings_is_asked(observed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda _: as_json(completion("The day was about invoice 4711."))) as server:
        monkeypatch.setenv("LLM_BASE_URL", server.url)
        monkeypatch.setenv("LLM_MODEL", "m")
        (written,) = log_summary.run(Options()).written
    assert written.text.startswith("The day was about invoice 4711. (10:00")
    (request,) = server.requests
    assert "Invoice 4711" in request.user
